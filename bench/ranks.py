# SPDX-License-Identifier: MIT
"""What it costs that ranks agree, and ranks that share one device and tune a Triton matrix product.

usage: ranks.py RESULT.json [--limit SECONDS] [--backend nccl]

First, on the host: a function that takes 1 ms, 32 candidates, gloo. Each rank tunes it alone and
all together in turns, so that both find the machine alike. Then, on the accelerator: one rank tunes
the candidates of gemm_triton.py; after that two ranks do it together, on that same device (gloo),
or on one each (--backend nccl). Every world has its own records and compiles anew.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from first_run import describe_machine
from worlds import end_on_signals, run_world

TASKS = str(Path(__file__).resolve().parent / "rank_tasks.py")


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else None)
    parser.add_argument("result", metavar="RESULT.json")
    parser.add_argument("--limit", type=float, default=480, help="seconds; then it ends (480)")
    parser.add_argument("--backend", choices=("gloo", "nccl"), default="gloo", help="of the GEMM")
    parser.add_argument("--ranks", type=int, nargs="*", default=[1, 2, 4], help="of the first part")
    parser.add_argument("--rounds", type=int, default=5, help="of the first part (5)")
    parser.add_argument("--size", type=int, default=4096, help="of the matrices (4096)")
    parser.add_argument("--candidates", type=int, default=32, help="take the first N only (32)")
    return parser.parse_args()


class Runs:
    """Worlds one after another, under one time limit, each in a folder of its own."""

    def __init__(self, folder: Path, limit_s: float) -> None:
        self.folder = folder
        self.limit_s = limit_s
        self.until = time.monotonic() + limit_s
        self.n = 0

    def world(self, n_ranks: int, **task: Any) -> list[dict[str, Any]]:
        """Run one world to its end; what its ranks handed back."""
        self.n += 1
        folder = self.folder / f"world-{self.n}"
        folder.mkdir()
        print(f"{task['task']} with {n_ranks} ranks over {task['backend']}", flush=True)
        task["limit_s"] = self.limit_s
        return run_world(n_ranks, [TASKS], task, folder, self.until)


# -- what agreement costs --------------------------------------------------------------------------


def slowest(ranks: list[dict[str, Any]], how: str, figure: str) -> float:
    """Return the greatest figure of all ranks."""
    return float(max(rank[how][figure] for rank in ranks))


def summarise_cost(ranks: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the figures of one world: the slowest rank's; what is sent and received, rank 0's."""
    figures: dict[str, Any] = {"hit_ns": ranks[0]["hit_ns"]}
    for how in ("alone", "together"):
        figures[how] = {
            name: slowest(ranks, how, name)
            for name in ("first_launch_ms", "whole_ms", "exchanges_ms")
        }
    figures["together"]["share_of_exchanges"] = max(
        rank["together"]["exchanges_ms"] / rank["together"]["whole_ms"] for rank in ranks
    )
    figures["rank_0"] = {
        name: ranks[0]["together"][name] for name in ("sent", "received", "reductions")
    }
    figures["ratio"] = figures["together"]["whole_ms"] / figures["alone"]["whole_ms"]
    return figures


def measure_cost(runs: Runs, arguments: argparse.Namespace) -> dict[str, Any]:
    """Run and print the first part."""
    task = {"task": "cost", "backend": "gloo", "n_candidates": 32, "pause_ms": 1.0}
    worlds = {
        str(n): summarise_cost(runs.world(n, **task, n_rounds=arguments.rounds))
        for n in arguments.ranks
    }
    print("a tuning of 32 candidates of 1 ms, 5 + 10 runs each; milliseconds, the slowest rank's")
    print("ranks  first launch          whole tuning          exchanges      hit, ns")
    print("       alone     together    alone     together    ms     share   no group  group")
    for n, world in worlds.items():
        alone, together, hit = world["alone"], world["together"], world["hit_ns"]
        print(
            f"{n:>5}{alone['first_launch_ms']:9.2f}{together['first_launch_ms']:11.2f}"
            f"{alone['whole_ms']:12.1f}{together['whole_ms']:11.1f}"
            f"{together['exchanges_ms']:9.1f}{together['share_of_exchanges']:8.1%}"
            f"{hit['no group named']:10.0f}{hit['autotune_pg=group']:8.0f}",
            flush=True,
        )
    return {**task, "n_rounds": arguments.rounds, "worlds": worlds}


# -- a Triton matrix product -----------------------------------------------------------------------


def show_gemm(n_ranks: int, ranks: list[dict[str, Any]]) -> None:
    """Print each candidate's time on each rank and the slowest, and the winner of each rank."""
    if n_ranks > 1:
        print("candidate" + "".join(f"{f'rank {i}':>10}" for i in range(n_ranks)) + "   slowest")
        for i, slowest_ms in enumerate(ranks[0]["slowest_ms"]):
            if slowest_ms is not None:
                own = "".join(f"{rank['own_ms'][i] or float('nan'):10.4f}" for rank in ranks)
                best = "  the winner" if i == ranks[0]["winner"] else ""
                print(f"{i:9}{own}{slowest_ms:10.4f}{best}")
    for i, rank in enumerate(ranks):
        cfg = rank["winner_config"]
        print(
            f"rank {i} of {n_ranks}: winner [{rank['winner']}] {cfg['kwargs']} "
            f"num_warps={cfg['num_warps']} num_stages={cfg['num_stages']}, "
            f"{rank['slowest_ms'][rank['winner']]:.4f} ms; first call "
            f"{rank['first_call_s']:.2f} s, {rank['exchanges_s']:.2f} s of it in exchanges; "
            f"{rank['n_measured']} measured; a new tuner finds it in "
            f"{rank['new_tuner_finds_it_s'] * 1e3:.1f} ms",
            flush=True,
        )


def measure_gemm(runs: Runs, arguments: argparse.Namespace) -> dict[str, Any]:
    """Run and print the second part; all ranks must have come to the same."""
    task = {"task": "gemm", "size": arguments.size, "n_candidates": arguments.candidates}
    alone = runs.world(1, **task, backend="gloo")
    show_gemm(1, alone)
    together = runs.world(2, **task, backend=arguments.backend)
    show_gemm(2, together)
    for name in ("winner", "winner_config", "slowest_ms"):
        if together[0][name] != together[1][name]:
            sys.exit(f"the ranks differ in {name}: {together[0][name]} and {together[1][name]}")
    print("both ranks have the same winner and the same times")
    ratio = together[0]["first_call_s"] / alone[0]["first_call_s"]
    print(f"first call of two ranks: {ratio:.2f} times that of one", flush=True)
    return {
        **task,
        "backend": arguments.backend,
        "one_device": arguments.backend == "gloo",
        "alone": alone[0],
        "together": together,
        "ratio": ratio,
    }


# -- the program -----------------------------------------------------------------------------------


def machine() -> dict[str, Any]:
    """Return what was measured with what, also where there is no accelerator."""
    import torch

    if torch.cuda.is_available():
        return describe_machine()
    return {
        "device": "cpu, Triton's interpreter",
        "cores": len(os.sched_getaffinity(0)),
        "python": sys.version.split()[0],
        "torch": torch.__version__,
    }


def main() -> None:
    """Do both parts and keep the figures."""
    arguments = parse_arguments()
    end_on_signals()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        runs = Runs(Path(folder), arguments.limit)
        result = {
            "what": "tuning over ranks: what agreement costs, and a Triton GEMM that ranks tune",
            "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
            "machine": machine(),
            "cost": measure_cost(runs, arguments),
            "gemm": measure_gemm(runs, arguments),
        }
    Path(arguments.result).write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
