# SPDX-License-Identifier: MIT
"""What each rank of `ranks.py` does; not to be started by hand."""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import wraps
from pathlib import Path
from typing import Any

from first_run import EXAMPLES
from hit import least_ns
from worlds import follow_parent, hand_back

TASK = follow_parent()
FOLDER = Path(os.environ["BENCH_FOLDER"])
RANK = int(os.environ["RANK"])
os.environ["TRITON_CACHE_DIR"] = str(FOLDER / "triton")  # nothing is compiled yet

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from tdtune import AutoTuner, load_autotune_data  # noqa: E402
from tdtune.torch_group import TorchGroup  # noqa: E402

# -- what is spent on exchanges --------------------------------------------------------------------


class Spent:
    """Seconds inside of a group's functions, waiting for other ranks included, and what went."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.sent = 0
        self.received = 0
        self.reductions = 0


@contextmanager
def spending() -> Iterator[Spent]:
    """Count what goes through the groups of this process."""
    spent = Spent()
    counted = {"put": "sent", "get": "received", "wait_max": "reductions"}
    before = {
        name: getattr(TorchGroup, name) for name in ("put", "get", "drop", "start_max", "wait_max")
    }

    def timed(name: str) -> Any:
        @wraps(before[name])
        def call(*args: Any) -> Any:
            start = time.perf_counter()
            result = before[name](*args)
            spent.seconds += time.perf_counter() - start
            if name == "put" or (name in counted and result is not None):
                setattr(spent, counted[name], getattr(spent, counted[name]) + 1)
            return result

        return call

    for name in before:
        setattr(TorchGroup, name, timed(name))
    try:
        yield spent
    finally:
        for name, function in before.items():
            setattr(TorchGroup, name, function)


# -- what agreement costs --------------------------------------------------------------------------


def work(notes: list[float], key: object, pause_s: float) -> None:
    """Take a while without using the processor, as a launch on a device does."""
    if not notes:
        notes.append(time.perf_counter())
    time.sleep(pause_s)


def key_fn(notes: list[float], key: object) -> object:
    """The key as it is."""
    return key


def nothing(x: object, cfg: object = None) -> object:
    """A function of which the call is all that costs."""
    return x


def same(x: object) -> object:
    """The argument as the key."""
    return x


def tune(tuner: AutoTuner, key: object, group: Any) -> dict[str, float]:
    """Tune a new key when all ranks are there; return what it took, in milliseconds."""
    notes: list[float] = []
    dist.barrier()
    with spending() as spent:
        start = time.perf_counter()
        tuner(notes, key, autotune_pg=group)
        whole_s = time.perf_counter() - start
    return {
        "first_launch_ms": (notes[0] - start) * 1e3,
        "whole_ms": whole_s * 1e3,
        "exchanges_ms": spent.seconds * 1e3,
        "sent": spent.sent,
        "received": spent.received,
        "reductions": spent.reductions,
    }


def medians(tunings: list[dict[str, float]]) -> dict[str, float]:
    """Return the median of each figure. The first tuning also starts everything: it is left out."""
    return {name: statistics.median(one[name] for one in tunings[1:]) for name in tunings[0]}


def hits() -> dict[str, float]:
    """Return nanoseconds of a call that is tuned: no group named, and this one."""
    tuner = AutoTuner(nothing, [{"cfg": 1}, {"cfg": 2}], same, warmup=0, repeat=1)
    names: dict[str, object] = {"tuner": tuner, "group": dist.group.WORLD}
    tuner(0, autotune_pg=dist.group.WORLD)
    tuner(0)
    figures = {"no group named": 0.0, "autotune_pg=group": 0.0}
    if RANK == 0:
        calls = ["tuner(0)", "tuner(0, autotune_pg=group)"]
        figures = dict(zip(figures, least_ns(calls, names, 60, 5000), strict=True))
    dist.barrier()
    return figures


def cost() -> dict[str, Any]:
    """Tune again and again, each rank alone and all together, in turns."""
    alone = [dist.new_group([rank]) for rank in range(dist.get_world_size())][RANK]
    pauses = [TASK["pause_ms"] * 1e-3 * (1 + i / 100) for i in range(TASK["n_candidates"])]
    tuner = AutoTuner(work, [{"pause_s": pause} for pause in pauses], key_fn)
    both: dict[str, list[dict[str, float]]] = {"alone": [], "together": []}
    for i in range(TASK["n_rounds"] + 1):
        both["alone"].append(tune(tuner, ("alone", RANK, i), alone))
        both["together"].append(tune(tuner, ("together", i), dist.group.WORLD))
    return {**{how: medians(tunings) for how, tunings in both.items()}, "hit_ns": hits()}


# -- a Triton matrix product -----------------------------------------------------------------------


def gemm() -> dict[str, Any]:
    """Tune the 32 candidates of gemm_triton.py over all ranks, then find them in the store."""
    sys.path.insert(0, str(EXAMPLES))
    import gemm_triton  # type: ignore[import-not-found]

    own_ms: dict[int, float] = {}

    def note(progress: Any) -> None:
        if progress.candidate is not None and progress.time_ms is not None:
            own_ms[progress.candidate] = progress.time_ms
        if RANK == 0 and progress.n_done % 8 == 0 and progress.n_done > 0:
            print(f"  {progress.n_done} of {progress.n_candidates} candidates", flush=True)

    def make_tuner() -> AutoTuner:
        configs = gemm_triton.config_space()[: TASK["n_candidates"]]
        return AutoTuner(
            gemm_triton.gemm, configs, gemm_triton.key_fn, gemm_triton.prune_fn, on_progress=note
        )

    def first_call() -> tuple[AutoTuner, float]:
        tuner = make_tuner()
        dist.barrier()
        return tuner, gemm_triton.seconds(lambda: tuner(a, b, autotune_pg=dist.group.WORLD))

    a, b = gemm_triton.make_inputs(TASK["size"], torch.float16)
    gemm_triton.seconds(lambda: torch.matmul(a, b))  # start everything that is not ours
    with spending() as spent:
        tuner, first_call_s = first_call()
    n_measured = len(own_ms)
    gemm_triton.check(tuner(a, b, autotune_pg=dist.group.WORLD), a, b)
    dist.barrier()  # all who write have written
    record = load_autotune_data(tuner.record_path(a, b) or "")
    if record is None:
        sys.exit("nothing could be stored, so there is nothing to show")
    again, second_call_s = first_call()
    gemm_triton.check(again(a, b, autotune_pg=dist.group.WORLD), a, b)
    assert len(own_ms) == n_measured, "the second tuner has measured"
    return {
        "device": torch.cuda.get_device_name() if gemm_triton.DEVICE == "cuda" else "cpu",
        "n_measured": n_measured,
        "winner": record["best"],
        "winner_config": record["candidates"][record["best"]]["config"]["cfg"],
        "own_ms": [own_ms.get(i) for i in range(len(record["candidates"]))],
        "slowest_ms": [candidate["time_ms"] for candidate in record["candidates"]],
        "first_call_s": first_call_s,
        "exchanges_s": spent.seconds,
        "sent": spent.sent,
        "received": spent.received,
        "reductions": spent.reductions,
        "new_tuner_finds_it_s": second_call_s,
    }


# -- the program -----------------------------------------------------------------------------------


def main() -> None:
    """Join the others, do the task, and hand back what came of it."""
    if torch.cuda.is_available():
        torch.cuda.set_device(RANK if TASK["backend"] == "nccl" else 0)
    dist.init_process_group(TASK["backend"], timeout=timedelta(seconds=TASK["limit_s"]))
    os.environ["TRITON_DIST_AUTOTUNE_DIR"] = str(FOLDER / f"records-{RANK}")
    hand_back({"cost": cost, "gemm": gemm}[TASK["task"]]())
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
