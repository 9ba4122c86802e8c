# SPDX-License-Identifier: MIT
"""Run every bench that fits this machine, and print what they found as one table.

What cannot run here is skipped with a line that says why. Triton-distributed's rows come from the
checkout that PEER names. The figures are kept under bench/results/, one file for each bench and one
with the table.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from rows import Row, row, show

ROOT = Path(__file__).resolve().parent.parent
BENCH = ROOT / "bench"
NATIVE = ROOT / "build" / "native" / "bench"


class Bench(NamedTuple):
    """One program.

    Attributes
    ----------
    name
        Of the bench and of its file of results.
    command
        What to run. RESULT stands for that file; a program that has no such argument prints what it
        found.
    n_gpus
        How many it needs.
    rows
        Makes rows of what is in the file; those in the file itself if there is no such function.
    """

    name: str
    command: list[str]
    n_gpus: int = 0
    rows: Callable[[Any], list[Row]] | None = None


def rows_of_ranks(result: Any) -> list[Row]:
    """What agreement adds to a tuning."""
    found: list[Row] = []
    for n, world in result["cost"]["worlds"].items():
        together, alone = world["together"]["whole_ms"], world["alone"]["whole_ms"]
        found.append(row(f"tuning of 32 x 1 ms, {n} ranks", "ms", together, ("each alone", alone)))
    return found


def rows_of_noise(result: Any) -> list[Row]:
    """Regret of each plan, beside plain means of ten, and what it spends, beside `documented`."""
    # plan, regret, worst, best chosen, a leader, runs, cost
    lines = re.findall(
        r"^(\S.*?)\s+([\d.]+) %\s+([\d.]+) %\s+([\d.]+) %\s+([\d.]+) %\s+(\d+)\s+(\d+)$",
        result["output"],
        re.MULTILINE,
    )
    regret = {line[0]: float(line[1]) for line in lines}
    cost = {line[0]: float(line[6]) for line in lines}
    plain = ("mean of 10", regret["mean of 10"])
    found = [
        row(f"scripted noise, regret: {plan}", "%", regret[plan], plain)
        for plan in ("documented", "race")
    ]
    best = min(value for plan, value in regret.items() if plan != "careful")
    others = ("the best other", best)
    found.append(
        row("scripted noise, regret: careful", "%", regret["careful"], others, at_most_times=1)
    )
    documented = ("documented", cost["documented"])
    for plan, bar in (("race", 0.4), ("careful", None)):
        what = f"scripted noise, cost: {plan}"
        found.append(row(what, "", cost[plan], documented, at_most_times=bar))
    return found


def benches(n_gpus: int) -> list[Bench]:
    """All of them; smaller where there is no accelerator."""
    small = [] if n_gpus else ["--size", "64", "--candidates", "2", "--ranks", "1", "2"]
    return [
        Bench("hit", ["hit.py", "--json", "RESULT"]),
        Bench("start", ["start.py", "--json", "RESULT"]),
        Bench("noise", [str(NATIVE / "noise")], rows=rows_of_noise),
        Bench("ranks", ["ranks.py", "RESULT", *small], rows=rows_of_ranks),
        Bench("cold", ["cold.py", "RESULT"], n_gpus=1),
        Bench("plans", ["plans.py", "RESULT"], n_gpus=1),
        Bench("short-kernels", ["short_kernels.py", "RESULT"], n_gpus=1),
        Bench("first-run", ["first_run.py", "RESULT"], n_gpus=1, rows=lambda result: []),
        Bench("contextual", ["contextual_run.py", "RESULT"], n_gpus=1, rows=lambda result: []),
        Bench("two-gpus", ["two_gpus.py", "--out", "RESULT"], n_gpus=2, rows=lambda result: []),
    ]


def accelerators() -> list[str]:
    """Names of this machine's GPUs."""
    code = """if True:
        import torch
        for i in range(torch.cuda.device_count()):
            print(torch.cuda.get_device_name(i))
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    return [line for line in done.stdout.splitlines() if line]


def machine_name(gpus: list[str]) -> str:
    """What files of results begin with: "h200" for an "NVIDIA H200"."""
    return re.sub(r"[^a-z0-9]+", "-", gpus[0].lower().removeprefix("nvidia ")) if gpus else "cpu"


def run(bench: Bench, file: Path) -> list[Row]:
    """Run one bench and return its rows; raise RuntimeError if it failed."""
    program, *arguments = bench.command
    command = [str(file) if word == "RESULT" else word for word in arguments]
    python = [sys.executable] if program.endswith(".py") else []
    prints = "RESULT" not in bench.command
    done = subprocess.run(
        [*python, str(BENCH / program), *command],
        stdout=subprocess.PIPE if prints else None,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(f"it ended with {done.returncode}")
    if prints:
        print(done.stdout, end="")
        file.write_text(json.dumps({"output": done.stdout}, indent=1) + "\n")
    if file.is_dir():
        return []
    result = json.loads(file.read_text())
    found: list[Row] = bench.rows(result) if bench.rows else result.get("rows", [])
    return found


def why_not(bench: Bench, n_gpus: int) -> str | None:
    """Why a bench cannot run here."""
    if not (BENCH / bench.command[0]).is_file():
        return f"there is no {bench.command[0]}"
    if n_gpus < bench.n_gpus:
        return f"it needs {bench.n_gpus} GPU(s), here are {n_gpus}"
    return None


def main() -> int:
    """Run them one after another; 1 if one failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", help="names of benches; all if left out")
    parser.add_argument("--results", type=Path, default=BENCH / "results")
    options = parser.parse_args()
    gpus = accelerators()
    options.results.mkdir(parents=True, exist_ok=True)
    rows: list[Row] = []
    skipped: list[str] = []
    failed: list[str] = []
    for bench in benches(len(gpus)):
        if options.only is not None and bench.name not in options.only:
            continue
        reason = why_not(bench, len(gpus))
        if reason is not None:
            skipped.append(f"{bench.name}: skipped, {reason}")
            continue
        print(f"== {bench.name}", flush=True)
        start = time.monotonic()
        try:
            rows += run(bench, options.results / f"{machine_name(gpus)}-{bench.name}.json")
        except (RuntimeError, OSError, ValueError, KeyError) as error:
            failed.append(f"{bench.name}: FAILED: {error!r}")
        print(f"== {bench.name}: {time.monotonic() - start:.0f} s\n", flush=True)
    show(rows)
    peer = os.environ.get("PEER")
    if not peer or not Path(peer).is_dir():
        skipped.append("Triton-distributed: its rows are skipped, PEER= names no checkout of it")
    print(*skipped, *failed, sep="\n")
    bars = [line["met"] for line in rows if line["met"] is not None]
    print(f"{sum(bars)} of {len(bars)} bars met")
    table = {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "machine": {"gpus": gpus, "cores": len(os.sched_getaffinity(0))},
        "rows": rows,
        "skipped": skipped,
        "failed": failed,
    }
    file = options.results / f"{machine_name(gpus)}-all.json"
    file.write_text(json.dumps(table, indent=1) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
