# SPDX-License-Identifier: MIT
"""C05: contextual tuning over several real processes with gloo."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("triton")

import worlds
from tdtune._native import Group, Session

# `follow` is the communication that an outer function goes on to after its launch.
PRELUDE = """
import contextlib
from contextual_stand_ins import *
from triton_dist.autotuner import contextual_autotune
meet()
clock = Clock()
n_passes = 0
def follow():
    global n_passes
    n_passes += 1
    total = torch.ones(1)
    dist.all_reduce(total)
    assert total.item() == n_ranks
tune = contextual_autotune(is_dist=True, n_repeat=3, n_warmup=2)
stack = contextlib.ExitStack()
stack.enter_context(on_clock(clock))
stack.enter_context(triton_as_before())
"""

PART = """
stack.close()
RESULT["passes"] = n_passes
"""


def run_ranks(n_ranks: int, folder: Path, code: str, **settings: str) -> list[dict[str, Any]]:
    """Run the code on every rank and return what each handed back."""
    return worlds.results(
        worlds.run_world(
            n_ranks,
            folder,
            code,
            before=PRELUDE,
            part=PART + worlds.PART,
            **settings,
        )
    )


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
    for result in results:
        assert result["error"].startswith("RuntimeError: cannot find valid config")
        assert "RuntimeError: not on rank 0" in result["error"]
        assert "RuntimeError: not on rank 1" in result["error"]
        assert result["again"] == "None"
        assert result["chosen"] == [0]
    assert results[0]["passes"] == results[1]["passes"]


def test_R02_ranks_that_launch_different_keys_get_the_same_error(tmp_path: Path) -> None:
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
    assert results[0]["error"] == results[1]["error"]
    assert results[0]["error"].startswith("RuntimeError: outer, pass 1: launches: ")
    assert "(64,)" in results[0]["error"]
    assert "(65,)" in results[0]["error"]
    assert [result["passes"] for result in results] == [1, 1]


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
    assert results[0]["error"] == "RuntimeError: rank 1 gave up at outer, pass 3: ValueError: mine"
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


class Board:
    """Carries messages to ranks that never answer."""

    rank, n_ranks = 1, 2

    def __init__(self) -> None:
        self.numbers = [0, 1]
        self.said: list[bytes] = []
        self.asked: list[str] = []

    def put(self, key: str, data: bytes) -> None:
        self.said.append(data)

    def get(self, key: str, slice_s: float) -> bytes | None:
        self.asked.append(key)
        return None

    def drop(self, key: str) -> None:
        pass

    def start_max(self, values: list[float]) -> None:
        self.asked.append("max")

    def wait_max(self, slice_s: float) -> list[float] | None:
        return None


@pytest.mark.parametrize("raised", [ValueError, KeyboardInterrupt, SystemExit])
def test_C11_a_rank_that_leaves_says_so_and_waits_for_nobody(raised: type[BaseException]) -> None:
    def outer() -> None:
        raise raised("over")

    board = Board()
    session = Session(
        None,
        name="outer",
        n_warmup=0,
        n_repeat=1,
        on_log=lambda line: None,
        on_decided=lambda *tuning: None,
        group=Group(board),
    )
    with pytest.raises(raised):
        session.run(outer)
    assert board.asked == []
    assert len(board.said) == 1
    assert f"{raised.__name__}: over".encode() in board.said[0]


def test_R04_a_long_name_is_cut_between_characters() -> None:
    def outer() -> None:
        raise ValueError("over")

    board = Board()
    session = Session(
        None,
        name="x" + "ä" * 100,
        n_warmup=0,
        n_repeat=1,
        on_log=lambda line: None,
        on_decided=lambda *tuning: None,
        group=Group(board),
    )
    with pytest.raises(ValueError, match="over"):
        session.run(outer)
    assert f"x{'ä' * 63}, pass 1".encode() in board.said[0]
