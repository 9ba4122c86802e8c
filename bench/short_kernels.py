# SPDX-License-Identifier: MIT
"""How well a plan chooses among kernels so short that launching them takes longer.

usage: short_kernels.py RESULT.json [--repetitions N]

One program of one block runs so many dependent multiplications that it takes about 5 us, and each
candidate a few per cent more. What they really take comes from CUDA graphs, in which no launch
waits for the host. Plans take turns; "careful, gaps not hidden" is careful without its delay.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tdtune
import torch
import triton  # type: ignore[import-untyped]
import triton.language as tl  # type: ignore[import-untyped]
from rows import Row, row, show
from tdtune import devices

STEPS = 2000  # about 5 us of an H200
SLOWER_BY = (0, 1, 2, 3, 5, 8, 12, 20)  # per cent
WAYS = ("documented", "race", "careful", "careful, gaps not hidden")


@triton.jit  # type: ignore[untyped-decorator]
def chain(x_ptr, factor, STEPS: tl.constexpr):  # type: ignore[no-untyped-def]
    """Multiply and add so often, each time what the last time gave."""
    offsets = tl.arange(0, 128)
    x = tl.load(x_ptr + offsets)
    for _ in range(STEPS):
        x = x * factor + 1.0
    tl.store(x_ptr + offsets, x)


def run(x: torch.Tensor, steps: int) -> None:
    """What is tuned."""
    chain[(1,)](x, 0.5, STEPS=steps, num_warps=4)


def config_space() -> list[dict[str, Any]]:
    """The candidates, not in the order of their times."""
    configs = [{"steps": STEPS * (100 + more) // 100} for more in SLOWER_BY]
    random.Random(7).shuffle(configs)
    return configs


def real_us(x: torch.Tensor, steps: int) -> float:
    """Microseconds of one run among many that follow one another without a gap."""
    n_runs = 200
    graph = torch.cuda.CUDAGraph()
    run(x, steps)
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        for _ in range(n_runs):
            run(x, steps)
    times = []
    for _ in range(15):
        start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        graph.replay()
        stop.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(stop) * 1e3 / n_runs)
    return statistics.median(times)


def tune(way: str, x: torch.Tensor) -> dict[str, Any]:
    """Tune once, with nothing remembered; return the winner and every candidate's time."""
    find_delay = devices._delay_of
    if "not hidden" in way:
        devices._delay_of = lambda module, kind, index: None
    try:
        tuner = tdtune.autotune(config_space(), lambda x: None, plan=way.partition(",")[0])(run)
        tuner(x)
    finally:
        devices._delay_of = find_delay
    path = tuner.record_path(x)
    assert path is not None
    record = json.loads(Path(path).read_text())
    times = [candidate["time_ms"] * 1e3 for candidate in record["candidates"]]
    return {"winner": record["best"], "times_us": times}


def judge(runs: list[dict[str, Any]], truth: list[float]) -> dict[str, float]:
    """How good the choices were, and how far the times are from the real ones and one another."""
    best = truth.index(min(truth))
    of_best = [one["times_us"][best] for one in runs]
    return {
        "wrong": sum(one["winner"] != best for one in runs) / len(runs),
        "regret": statistics.mean(truth[one["winner"]] / truth[best] - 1 for one in runs),
        "time_us": statistics.median(of_best),
        "spread": statistics.stdev(of_best) / statistics.mean(of_best) if len(runs) > 1 else 0.0,
    }


def measure(n_repetitions: int) -> dict[str, Any]:
    """All repetitions."""
    x = torch.ones(128, device="cuda")
    steps = [config["steps"] for config in config_space()]
    truth = [real_us(x, one) for one in steps]
    told: dict[str, list[dict[str, Any]]] = {way: [] for way in WAYS}
    for _ in range(n_repetitions):
        for way, found in told.items():
            found.append(tune(way, x))
    judged = {way: judge(found, truth) for way, found in told.items()}
    return {"steps": steps, "real_us": truth, "judged": judged, "tunings": told}


def rows_of(result: dict[str, Any]) -> list[Row]:
    """The table."""
    judged = result["judged"]
    real = min(result["real_us"])
    kernel = f"kernel of {real:.1f} us"
    columns: list[tuple[str, str, Callable[[dict[str, float]], float]]] = [
        ("wrong choices", "%", lambda one: 100 * one["wrong"]),
        ("regret", "%", lambda one: 100 * one["regret"]),
        ("spread of its time", "%", lambda one: 100 * one["spread"]),
    ]
    rows = [
        row(f"{kernel}, measured: {way}", "us", judged[way]["time_us"], ("in a graph", real))
        for way in WAYS
    ]
    for what, unit, figure in columns:
        documented = figure(judged["documented"])
        rows += [
            row(f"{kernel}, {what}: {way}", unit, figure(judged[way]), ("documented", documented))
            for way in WAYS[1:]
        ]
    return rows


def main() -> None:
    """Measure, print and keep."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("result", type=Path)
    parser.add_argument("--repetitions", type=int, default=20)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TRITON_DIST_AUTOTUNE_DIR"] = folder
        os.environ["TRITON_DIST_AUTOTUNE_ALWAYS_TUNE"] = "1"
        result = measure(options.repetitions)
    result["machine"] = {
        "device": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "triton": triton.__version__,
    }
    result["rows"] = rows_of(result)
    show(result["rows"])
    options.result.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
