# SPDX-License-Identifier: MIT
"""C05: contextual tuning over several real processes with gloo."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("triton")

from tdtune._native import Session
from tdtune.contextual.ranks import _ordinals, _values

# Every rank runs this. RESULT is what it hands back; `follow` is the communication that an outer
# function goes on to after its launch.
PRELUDE = """
import json, os, sys
sys.path.insert(0, os.environ["STAND_INS"])
import torch, torch.distributed as dist
from contextual_stand_ins import *
from triton_dist.autotuner import contextual_autotune
rank, n_ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
dist.init_process_group("gloo", init_method="file://" + os.environ["MEETING"], rank=rank,
                        world_size=n_ranks)
clock = Clock()
n_passes = 0
RESULT = {}
def follow():
    global n_passes
    n_passes += 1
    total = torch.ones(1)
    dist.all_reduce(total)
    assert total.item() == n_ranks
def error_of(call):
    try:
        return repr(call())
    except Exception as error:
        return f"{type(error).__name__}: {error}"
tune = contextual_autotune(is_dist=True, n_repeat=3, n_warmup=2)
with on_clock(clock), triton_as_before():
"""

END = """
RESULT["passes"] = n_passes
print(json.dumps(RESULT), flush=True)
dist.barrier()
dist.destroy_process_group()
"""


def run_ranks(n_ranks: int, folder: Path, code: str, **settings: str) -> list[dict[str, Any]]:
    """Run the code on every rank and return what each handed back."""
    script = PRELUDE + textwrap.indent(textwrap.dedent(code), "    ") + END
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", script],
            cwd=folder,
            env={
                **os.environ,
                "STAND_INS": str(Path(__file__).parent),
                "MEETING": str(folder / "meeting"),
                "RANK": str(rank),
                "WORLD_SIZE": str(n_ranks),
                "OMP_NUM_THREADS": "1",
                **settings,
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(n_ranks)
    ]
    try:
        outputs = [process.communicate(timeout=120) for process in processes]
    finally:
        for process in processes:
            process.kill()
    for process, (_, errors) in zip(processes, outputs, strict=True):
        assert process.returncode == 0, errors
    return [json.loads(output) for output, _ in outputs]


@pytest.mark.parametrize("n_ranks", [2, 3])
def test_C05_R01_the_greatest_time_over_the_ranks_counts(n_ranks: int, tmp_path: Path) -> None:
    results = run_ranks(
        n_ranks,
        tmp_path,
        """
        # Each rank alone would choose another: rank r is slow with candidate r. The last candidate
        # is nobody's favourite and the best for all.
        costs = [1.0] * n_ranks + [4.0]
        costs[rank] = 5.0 + rank
        kernel = autotuned(clock, costs)
        @tune
        def outer():
            launched = kernel[(1,)](None, 64)
            follow()
            return launched
        with kernels_as_before(kernel):
            RESULT["launched"] = outer()
        RESULT["times"] = [t[0] for t in kernel.configs_timings.values()]
        RESULT["chosen"] = list(chosen(kernel).values())
        """,
    )
    passes = (n_ranks + 1) * 5 + 1
    times = [5.0 + rank for rank in range(n_ranks)] + [4.0]
    for result in results:
        assert result == {
            "launched": f"launched {n_ranks}",
            "times": times,
            "chosen": [n_ranks],
            "passes": passes,
        }
    for rank in range(n_ranks):  # C06
        log = (tmp_path / ".autotune_logs" / f"rank-{rank}.log").read_text()
        assert f"event=best kernel=kernels.kernel key=(64,) config={n_ranks}" in log


@pytest.mark.parametrize("n_ranks", [2, 3])
@pytest.mark.parametrize("fails", [0, 1, 2])
def test_C10_R04_ranks_stay_in_step_when_one_has_a_failing_candidate(
    n_ranks: int, fails: int, tmp_path: Path
) -> None:
    results = run_ranks(
        n_ranks,
        tmp_path,
        f"""
        kernel = autotuned(clock, [1.0, 2.0, 3.0])
        other = autotuned(clock, [2.0, 1.0], name="other")
        if rank == n_ranks - 1:
            kernel.fn.failing[{fails}] = lambda: RuntimeError("not here")
        @tune
        def outer():
            launched = kernel[(1,)](None, 64), other[(1,)](None, 64)
            follow()
            return launched
        RESULT["launched"] = outer()
        RESULT["times"] = [t[0] for t in kernel.configs_timings.values()]
        RESULT["n_launches"] = len(kernel.fn.ran)
        """,
    )
    best = 1 if fails == 0 else 0
    for rank, result in enumerate(results):
        assert result["launched"] == [f"launched {best}", "launched 1"]
        assert result["times"][fails] == math.inf
        assert result["passes"] == results[0]["passes"]
        # A launch more than passes where the failed one was replaced.
        assert result["n_launches"] == result["passes"] + (rank == n_ranks - 1)


def test_C07_a_kernel_of_which_no_candidate_works_for_all(tmp_path: Path) -> None:
    results = run_ranks(
        2,
        tmp_path,
        """
        kernel = autotuned(clock, [1.0, 2.0])
        kernel.fn.failing[rank] = lambda: RuntimeError(f"not on rank {rank}")
        @tune
        def outer():
            kernel[(1,)](None, 64)
            follow()
        RESULT["error"] = error_of(outer)
        kernel.fn.failing.clear()
        RESULT["again"] = error_of(outer)
        RESULT["chosen"] = list(chosen(kernel).values())
        """,
    )
    for rank, result in enumerate(results):
        assert result["error"].startswith("RuntimeError: cannot find valid config")
        assert f"not on rank {rank}" in result["error"]
        assert "failed on another rank" in result["error"]
        assert result["again"] == "None"
        assert result["chosen"] == [0]
    assert results[0]["passes"] == results[1]["passes"]


def test_R02_ranks_that_launch_different_kernels_get_the_same_kind_of_error(
    tmp_path: Path,
) -> None:
    results = run_ranks(
        2,
        tmp_path,
        """
        kernel = autotuned(clock, [1.0, 2.0])
        @tune
        def outer():
            kernel[(1,)](None, 64 + rank)
            follow()
        RESULT["error"] = error_of(outer)
        """,
    )
    for result in results:
        assert result["error"].startswith("RuntimeError: ")
        assert "rank" in result["error"]
        assert result["passes"] == 1


def test_C05_a_rank_whose_outer_function_raises_tells_the_others(tmp_path: Path) -> None:
    results = run_ranks(
        2,
        tmp_path,
        """
        kernel = autotuned(clock, [1.0, 2.0])
        @tune
        def outer():
            launched = kernel[(1,)](None, 64)
            follow()
            if n_passes == 3 and rank == 1:
                raise ValueError("mine")
            return launched
        RESULT["error"] = error_of(outer)
        RESULT["again"] = error_of(outer)
        """,
    )
    assert results[1]["error"] == "ValueError: mine"
    assert results[0]["error"].startswith("RuntimeError: ")
    assert "1" in results[0]["error"]
    assert [result["again"] for result in results] == ["'launched 0'"] * 2


def test_C05_one_process_of_a_world_can_tune_alone(tmp_path: Path) -> None:
    results = run_ranks(
        2,
        tmp_path,
        """
        kernel = autotuned(clock, [1.0 + rank, 2.0 - rank])
        outer = contextual_autotune(is_dist=False)(lambda: kernel[(1,)](None, 64))
        RESULT["launched"] = outer()
        """,
    )
    assert [result["launched"] for result in results] == ["launched 0", "launched 1"]


@pytest.mark.parametrize(
    ("raised", "n_exchanges"), [(ValueError, 1), (KeyboardInterrupt, 0), (SystemExit, 0)]
)
def test_C11_an_interrupted_rank_waits_for_nobody(
    raised: type[BaseException], n_exchanges: int
) -> None:
    exchanges: list[list[float]] = []

    def greatest(values: list[float]) -> list[float]:
        exchanges.append(values)
        return values

    def outer() -> None:
        raise raised

    session = Session(
        None,
        n_warmup=0,
        n_repeat=1,
        on_log=lambda line: None,
        on_decided=lambda *tuning: None,
        rank=0,
        n_ranks=2,
        on_max=greatest,
    )
    with pytest.raises(raised):
        session.run(outer)
    assert len(exchanges) == n_exchanges


VALUES = [0.0, 1e-300, 0.1, 1.0, 3.5, 2.0**53, 1.7e308, math.inf]


def test_C05_values_travel_bit_for_bit_and_in_their_order() -> None:
    values = [*(-value for value in reversed(VALUES[1:])), *VALUES]
    ordinals = _ordinals(values)
    assert ordinals == sorted(ordinals)
    assert len(set(ordinals)) == len(ordinals)
    assert _values(ordinals) == values
    assert math.isnan(_values(_ordinals([math.nan]))[0])
    assert all(-(2**63) <= ordinal < 2**63 for ordinal in _ordinals([-0.0, math.nan, *values]))
