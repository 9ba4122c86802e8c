# SPDX-License-Identifier: MIT
"""Tuning of a kernel that is not compiled yet: 32 candidates of a matrix product.

usage: cold.py [RESULT.json] [--size N] [--candidates N] [--rounds N]

Each tuner runs in a process of its own with an empty cache of kernels, and its time is that of the
first call, from the call to the end of its work. Both ways are measured, `autotune` and
`contextual_autotune`. With PEER=<checkout of Triton-distributed> its tuners do the same in the same
run. A tuner's figure is the least of the rounds, in which they take turns.

Winners are compared by name and, since candidates that are equally fast may change places, by how
long they take when only one of them runs.
"""

from __future__ import annotations

import argparse
import datetime
import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rows import Row, row, show

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples" / "python"
FEED = ROOT / "build" / "native" / "bench" / "c" / "feed"
BAR = 4.0
# How much longer a winner may take than another tuner's, of equally fast ones.
SAME_TIME = 1.02

OURS = ("ours", "ours, one after another")
PEER = "Triton-distributed"
WAYS = ("autotune", "contextual")
Figures = dict[str, Any]


# -- in a process of its own -----------------------------------------------------------------------


def load_peer(checkout: str, module: str) -> Any:
    """Return a module of Triton-distributed, whose own `utils` would want to be built.

    What it asks of those about the machine stands still as constants, in its favour.
    """
    utils: Any = types.ModuleType("triton_dist.utils")
    package: Any = types.ModuleType("triton_dist")
    package.__path__ = [str(Path(checkout).resolve() / "python" / "triton_dist")]
    package.__version__ = "0"

    def anything_else(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *args, **kwargs: None

    utils.is_cuda = lambda: True
    utils.get_bool_env = utils.get_int_env = lambda name, default=None: default
    utils.__getattr__ = anything_else
    for name in [name for name in sys.modules if name.partition(".")[0] == "triton_dist"]:
        del sys.modules[name]
    sys.modules["triton_dist"], sys.modules["triton_dist.utils"] = package, utils
    loaded: Any = importlib.import_module(f"triton_dist.{module}")
    if module == "tune":
        loaded.get_deps = dict
        loaded.get_hardware_info = lambda with_nic: {"gpu.count": 1, "gpu.name": "one"}
    return loaded


def make_autotuned(example: Any, configs: list[dict[str, Any]], peer: str | None) -> Any:
    """The example's function behind a tuner; it remembers which candidate ran last."""
    last: list[Any] = []

    def gemm(a: Any, b: Any, cfg: Any) -> Any:
        last[:] = [cfg]
        return example.gemm(a, b, cfg)

    if peer is None:
        from tdtune import autotune

        tuner = autotune(configs, example.key_fn, example.prune_fn)(gemm)
    else:
        tuner = load_peer(peer, "tune").autotune(configs, example.key_fn, example.prune_fn)(gemm)
    return tuner, lambda: last[0]


def make_contextual(example: Any, configs: list[dict[str, Any]], peer: str | None) -> Any:
    """The example's kernel behind Triton's autotuner, in an outer function behind a tuner."""
    import torch
    import triton  # type: ignore[import-untyped]

    kernel = triton.autotune(configs=[c["cfg"] for c in configs], key=["m", "n", "k"])(
        example.gemm_kernel
    )

    def gemm(a: Any, b: Any) -> Any:
        (m, k), (_, n) = a.shape, b.shape
        c = torch.empty((m, n), device=a.device, dtype=a.dtype)
        kernel[lambda meta: (triton.cdiv(m, meta["BLOCK_M"]) * triton.cdiv(n, meta["BLOCK_N"]),)](
            a, b, c, m, n, k, *a.stride(), *b.stride(), *c.stride()
        )
        return c

    if peer is None:
        from tdtune import contextual_autotune
    else:
        # It asks for its rank to name its log.
        store = torch.distributed.HashStore()
        torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
        contextual_autotune = load_peer(peer, "autotuner").contextual_autotune
    return contextual_autotune()(gemm), lambda: kernel.best_config


def measure_alone(options: argparse.Namespace) -> Figures:
    """Tune once; how long that took, the winner, and how long that takes."""
    sys.path.insert(0, str(EXAMPLES))
    example: Any = importlib.import_module("gemm_triton")
    torch = example.torch
    a, b = example.make_inputs(options.size, torch.float16)
    example.seconds(lambda: torch.matmul(a, b))  # start everything that is not a tuner's
    space = example.config_space()[: options.candidates]
    if options.way == "contextual":
        space = [config for config in space if example.prune_fn(config, a, b)]
    make: Callable[..., Any] = {"autotune": make_autotuned, "contextual": make_contextual}[
        options.way
    ]
    tuner, winner = make(example, space, os.environ.get("PEER") if options.tuner == PEER else None)
    first_call_s = example.seconds(lambda: tuner(a, b))
    example.check(tuner(a, b), a, b)
    chosen = winner()
    return {
        "first_call_s": first_call_s,
        "winner": str(chosen),
        "winner_ms": example.steady_ms(lambda: example.gemm(a, b, chosen)),
    }


# -- all of them -----------------------------------------------------------------------------------


def run_alone(way: str, tuner: str, options: argparse.Namespace) -> Figures:
    """Let a process that has compiled nothing tune."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            **os.environ,
            "HOME": folder,
            "TRITON_CACHE_DIR": str(Path(folder) / "triton"),
            "TRITON_DIST_AUTOTUNE_DIR": str(Path(folder) / "records"),
        }
        if tuner == OURS[1]:
            environment["TRITON_DIST_AUTOTUNE_COMPILE_WORKERS"] = "1"
        command = [sys.executable, str(Path(__file__).resolve()), "--way", way, "--tuner", tuner]
        command += ["--size", str(options.size), "--candidates", str(options.candidates)]
        start = time.monotonic()
        done = subprocess.run(
            command, env=environment, cwd=folder, stdout=subprocess.PIPE, text=True, check=False
        )
        if done.returncode != 0:
            raise RuntimeError(f"{tuner}, {way}: the process ended with {done.returncode}")
        figures: Figures = json.loads(done.stdout.splitlines()[-1])
        print(
            f"{way}, {tuner}: {figures['first_call_s']:.2f} s (process: "
            f"{time.monotonic() - start:.1f} s), {figures['winner']}",
            flush=True,
        )
        return figures


def measure_all(options: argparse.Namespace) -> dict[str, dict[str, list[Figures]]]:
    """Figures of each way and tuner, one of each round."""
    tuners = [*OURS, *([PEER] if os.environ.get("PEER") else [])]
    found: dict[str, dict[str, list[Figures]]] = {way: {t: [] for t in tuners} for way in WAYS}
    for _ in range(options.rounds):
        for way in WAYS:
            for tuner in tuners:
                found[way][tuner].append(run_alone(way, tuner, options))
    return found


def least_s(rounds: list[Figures]) -> float:
    """The time that counts."""
    return min(float(figures["first_call_s"]) for figures in rounds)


def make_rows(found: dict[str, dict[str, list[Figures]]], n_candidates: int) -> list[Row]:
    """What is shown."""
    rows = []
    for way, tuners in found.items():
        ours = least_s(tuners[OURS[0]])
        what = f"first tuning of {n_candidates} GEMMs, {way}"
        alone = (OURS[1].removeprefix("ours, "), least_s(tuners[OURS[1]]))
        rows.append(row(what, "s", ours, alone))
        if PEER in tuners:
            rows.append(row(what, "s", ours, (PEER, least_s(tuners[PEER])), faster_by=BAR))
            times = [min(f["winner_ms"] for f in tuners[t]) for t in (OURS[0], PEER)]
            what = f"the winner's time, {way}"
            rows.append(row(what, "ms", times[0], (PEER, times[1]), at_most_times=SAME_TIME))
    return rows


def feed_rows() -> tuple[Figures | None, list[Row]]:
    """What the engine itself needs to feed 16 workers; see bench/c/feed.c."""
    if not FEED.is_file():
        return None, []
    done = subprocess.run([str(FEED)], stdout=subprocess.PIPE, text=True, check=True)
    figures: Figures = json.loads(done.stdout)
    ideal = ("without any cost", figures["ideal_ms"])
    what = f"feeding {figures['n_workers']} workers, a scripted compiler"
    return figures, [row(what, "ms", figures["prepared_ms"], ideal)]


def describe_winners(found: dict[str, dict[str, list[Figures]]]) -> dict[str, Any]:
    """Whether all tuners came to the same, for each way."""
    return {
        way: {tuner: sorted({f["winner"] for f in rounds}) for tuner, rounds in tuners.items()}
        for way, tuners in found.items()
    }


def main() -> None:
    """Measure, print, keep."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("result", nargs="?", type=Path)
    parser.add_argument("--size", type=int, default=4096)
    parser.add_argument("--candidates", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--way", help=argparse.SUPPRESS)
    parser.add_argument("--tuner", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.way is not None:
        print(json.dumps(measure_alone(options)))
        return
    found = measure_all(options)
    feed, rows = feed_rows()
    rows = [*make_rows(found, options.candidates), *rows]
    show(rows)
    winners = describe_winners(found)
    for way, tuners in winners.items():
        print(f"{way}:", *(f"\n  {tuner}: {' | '.join(ws)}" for tuner, ws in tuners.items()))
    if options.result is not None:
        from first_run import describe_machine

        result = {
            "what": "the first tuning of a kernel of which nothing is compiled",
            "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
            "machine": describe_machine(),
            "candidates": options.candidates,
            "size": options.size,
            "rounds": found,
            "winners": winners,
            "feed": feed,
            "rows": rows,
        }
        options.result.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
