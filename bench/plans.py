# SPDX-License-Identifier: MIT
"""What each plan takes for a compiled GEMM of 32 candidates, and how good its choice is.

usage: plans.py RESULT.json [--size N] [--candidates N] [--repetitions N]

The plans take turns, so that a warm or busy moment of the machine hits all of them alike. A choice
is judged by a long measurement of every candidate, before and after. With PEER=<checkout of
Triton-distributed> its tuner takes part: same launcher, same candidates, everything compiled.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import statistics
import sys
import tempfile
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rows import Row, row, show

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "examples" / "python"))

import gemm_triton as example  # noqa: E402
import torch  # noqa: E402
from tdtune import autotune  # noqa: E402

PLANS = ("documented", "race", "careful")
Inputs = tuple[torch.Tensor, torch.Tensor]


def load_peer(checkout: str) -> Any:
    """Return the module of Triton-distributed's tuner; what it asks of its own `utils` about the
    machine stands still as constants, in its favour.
    """
    utils: Any = types.ModuleType("triton_dist.utils")
    package: Any = types.ModuleType("triton_dist")
    package.__path__ = [str(Path(checkout).resolve() / "python" / "triton_dist")]
    package.__version__ = "0"

    def anything_else(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *args, **kwargs: None

    utils.is_cuda = lambda: torch.version.cuda is not None
    utils.get_bool_env = utils.get_int_env = lambda name, default=None: default
    utils.get_triton_dist_local_world_size = lambda: 1
    utils._TRITON_DIST_WORLD = None  # what tdtune asks for as well: there are no ranks
    utils.__getattr__ = anything_else
    for name in [name for name in sys.modules if name.partition(".")[0] == "triton_dist"]:
        del sys.modules[name]
    sys.modules["triton_dist"], sys.modules["triton_dist.utils"] = package, utils
    tune = importlib.import_module("triton_dist.tune")
    tune.get_deps = dict
    tune.get_hardware_info = lambda with_nic: {"gpu.count": 1, "gpu.name": "one"}
    tune._autotune_always_tune = lambda: True
    return tune


def long_measurement(configs: list[dict[str, Any]], inputs: Inputs) -> list[float]:
    """Milliseconds of every candidate: the median of many runs, in turns."""
    n_turns, n_runs = (9, 20) if example.DEVICE != "cpu" else (3, 1)
    samples: list[list[float]] = [[] for _ in configs]
    for _ in range(n_turns):
        for config, found in zip(configs, samples, strict=True):
            example.gemm(*inputs, **config)
            found += timed_runs(lambda config=config: example.gemm(*inputs, **config), n_runs)
    return [statistics.median(found) for found in samples]


def timed_runs(call: Callable[[], object], n_runs: int) -> list[float]:
    """Milliseconds of each of some runs in a row."""
    if example.DEVICE == "cpu":
        return [example.seconds(call) * 1e3 for _ in range(n_runs)]
    marks = [torch.cuda.Event(enable_timing=True) for _ in range(2 * n_runs)]
    for i in range(n_runs):
        marks[2 * i].record()
        call()
        marks[2 * i + 1].record()
    torch.cuda.synchronize()
    return [marks[2 * i].elapsed_time(marks[2 * i + 1]) for i in range(n_runs)]


def tune(configs: list[dict[str, Any]], plan: str, inputs: Inputs) -> dict[str, Any]:
    """Tune once by a plan, with nothing remembered; return seconds, winner and runs."""
    tuner = autotune(configs, example.key_fn, plan=plan)(example.gemm)
    took_s = example.seconds(lambda: tuner(*inputs))
    path = tuner.record_path(*inputs)
    assert path is not None
    record = json.loads(Path(path).read_text())
    runs = [len(candidate.get("samples_ms", [])) for candidate in record["candidates"]]
    return {"seconds": took_s, "winner": record["best"], "timed_runs": runs}


def tune_peer(peer: Any, configs: list[dict[str, Any]], inputs: Inputs) -> dict[str, Any]:
    """The same with Triton-distributed's tuner."""
    tuner = peer.autotune(configs, example.key_fn)(example.gemm)
    took_s = example.seconds(lambda: tuner(*inputs))
    (winner,) = tuner.best_configs.values()
    same = [i for i, config in enumerate(configs) if config["cfg"] is winner["cfg"]]
    return {"seconds": took_s, "winner": same[0], "timed_runs": [10] * len(configs)}


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """All repetitions, between two long measurements."""
    inputs = example.make_inputs(options.size, torch.float16)
    configs = [
        config
        for config in example.config_space()[: options.candidates]
        if example.prune_fn(config, *inputs)
    ]
    peer = load_peer(os.environ["PEER"]) if os.environ.get("PEER") else None
    ways: dict[str, Callable[[], dict[str, Any]]] = {
        plan: lambda plan=plan: tune(configs, plan, inputs) for plan in PLANS
    }
    if peer is not None:
        ways["Triton-distributed"] = lambda: tune_peer(peer, configs, inputs)
    for way in ways.values():  # compiles, loads, and imports what is imported late
        way()
    before = long_measurement(configs, inputs)
    told: dict[str, list[dict[str, Any]]] = {name: [] for name in ways}
    for _ in range(options.repetitions):
        for name, way in ways.items():
            told[name].append(way())
    after = long_measurement(configs, inputs)
    truth = [statistics.mean(both) for both in zip(before, after, strict=True)]
    for runs in told.values():
        for one in runs:
            one["regret"] = truth[one["winner"]] / min(truth) - 1
    return {"truth_ms": truth, "tunings": told}


def rows_of(result: dict[str, Any]) -> list[Row]:
    """The table, with bars."""
    seconds = {
        name: statistics.median(one["seconds"] for one in runs)
        for name, runs in result["tunings"].items()
    }
    worst = {
        name: 100 * max(one["regret"] for one in runs) for name, runs in result["tunings"].items()
    }
    ours = 1e3 * seconds["documented"]
    peer = seconds.get("Triton-distributed")
    against = None if peer is None else ("Triton-distributed", 1e3 * peer)
    name = f"compiled GEMM, {len(result['truth_ms'])} candidates"
    rows = [row(f"{name}: documented", "ms", ours, against, at_most_times=1.05)]
    for plan, bar in (("race", 0.4), ("careful", None)):
        took_ms = 1e3 * seconds[plan]
        rows.append(row(f"{name}: {plan}", "ms", took_ms, ("documented", ours), at_most_times=bar))
    n = len(result["tunings"]["race"])
    for plan in result["tunings"]:
        bar = 1.0 if plan == "race" else None
        rows.append(row(f"worst regret of {n}: {plan}", "%", worst[plan], at_most=bar))
    return rows


def main() -> None:
    """Measure, print and keep."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("result", type=Path)
    parser.add_argument("--size", type=int, default=4096)
    parser.add_argument("--candidates", type=int, default=32)
    parser.add_argument("--repetitions", type=int, default=20)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TRITON_DIST_AUTOTUNE_DIR"] = str(Path(folder) / "records")
        os.environ["TRITON_DIST_AUTOTUNE_ALWAYS_TUNE"] = "1"
        os.environ["HOME"] = folder  # where the peer keeps its records
        result = measure(options)
    result["rows"] = rows_of(result)
    result["machine"] = example.describe_machine()
    show(result["rows"])
    options.result.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
