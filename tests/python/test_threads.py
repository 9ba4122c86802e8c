# SPDX-License-Identifier: MIT
"""Several threads, one tuned function."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from stand_ins import PLAN_RUNS, Stage, Tensor, run_script
from tdtune import AutoTuner

N_THREADS = 8


@pytest.fixture(autouse=True)
def _switch_often() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def together(work: Callable[[int], Any]) -> list[Any]:
    """Run it in all threads at the same moment."""
    barrier = threading.Barrier(N_THREADS)

    def one(number: int) -> Any:
        barrier.wait()
        return work(number)

    with ThreadPoolExecutor(N_THREADS) as pool:
        return list(pool.map(one, range(N_THREADS)))


def test_case_T1_one_key_is_tuned_once(stage: Stage) -> None:
    runs: list[int] = []

    def slow(x: object, *, tile: int) -> int:
        runs.append(tile)
        time.sleep(0.0002 * tile)
        return tile

    tuned = AutoTuner(slow, [{"tile": 8}, {"tile": 1}, {"tile": 4}], lambda x: 0)
    assert len(set(together(lambda number: tuned(1)))) == 1
    assert len(runs) == 3 * PLAN_RUNS + N_THREADS


def test_case_T1_many_keys_each_tuned_once_and_alone(stage: Stage) -> None:
    counts: dict[int, int] = {}
    inside: list[int] = []
    overlaps: list[bool] = []
    tuning = threading.local()

    def slow(x: int, *, tile: int) -> int:
        counts[x] = counts.get(x, 0) + 1
        if getattr(tuning, "on", False):
            inside.append(x)
            overlaps.append(len(set(inside)) > 1)
        time.sleep(0.0001 * tile)
        if getattr(tuning, "on", False):
            inside.remove(x)
        return tile

    def measuring(progress: Any) -> None:
        tuning.on = progress.n_done < progress.n_candidates

    tuned = AutoTuner(slow, [{"tile": 8}, {"tile": 1}], lambda x: x, on_progress=measuring)
    winners = together(tuned)
    assert counts == dict.fromkeys(range(N_THREADS), 2 * PLAN_RUNS + 1)
    assert not any(overlaps), "measurements on one device overlapped"
    assert together(tuned) == winners


def test_case_T1_a_failed_tuning_is_tried_by_the_next(stage: Stage) -> None:
    attempts: list[int] = []

    def failing(x: object, *, tile: int) -> int:
        attempts.append(tile)
        time.sleep(0.001)
        raise ValueError("never")

    tuned = AutoTuner(failing, [{"tile": 1}], lambda x: 0)

    def attempt(number: int) -> str:
        with pytest.raises(RuntimeError, match="cannot find valid config"):
            tuned(1)
        return "failed"

    assert together(attempt) == ["failed"] * N_THREADS
    assert len(attempts) == N_THREADS


def test_case_T1_hits_while_others_tune(stage: Stage) -> None:
    def slow(x: int, *, tile: int) -> int:
        if x != 0:
            time.sleep(0.0002)
        return tile

    tuned = AutoTuner(slow, [{"tile": 1}, {"tile": 2}], lambda x: x, warmup=0, repeat=3)
    tuned(0)

    def work(number: int) -> bool:
        if number == 0:
            return all(tuned(0) in (1, 2) for _ in range(5000))
        return tuned(number) in (1, 2)

    assert all(together(work))


def test_the_interpreter_is_free_while_one_waits(stage: Stage) -> None:
    """A thread that waits for another's tuning does not keep the lock of the interpreter."""
    started = threading.Event()
    release = threading.Event()

    def held(x: object, *, tile: int) -> int:
        started.set()
        assert release.wait(30)
        return tile

    tuned = AutoTuner(held, [{"tile": 1}], lambda x: 0, warmup=0, repeat=1)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(tuned, 1)
        assert started.wait(30)
        second = pool.submit(tuned, 1)
        time.sleep(0.1)
        release.set()
        assert (first.result(30), second.result(30)) == (1, 1)


def test_ctrl_c_ends_the_wait_for_another_thread() -> None:
    out = run_script(
        """
        import os, signal, threading, time
        from tdtune import autotune

        # A shell may have started us with the signal ignored.
        signal.signal(signal.SIGINT, signal.default_int_handler)

        started = threading.Event()
        release = threading.Event()

        @autotune([{"tile": 1}], key_fn=lambda x: 0, warmup=0, repeat=1)
        def held(x, tile):
            started.set()
            release.wait()
            return tile

        other = threading.Thread(target=held, args=(1,))
        other.start()
        started.wait()
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
        try:
            held(1)
        except KeyboardInterrupt:
            print("interrupted")
        release.set()
        other.join()
        print(held(1))
        """
    )
    assert out.split() == ["interrupted", "1"]


def test_many_shapes_of_calls_from_many_threads(stage: Stage) -> None:
    """Shapes of keywords are remembered and dropped while other threads call with them."""

    def free(x: object, *, tile: int, **kwargs: int) -> int:
        return sum(kwargs.values())

    tuned = AutoTuner(free, [{"tile": 1}, {"tile": 2}], lambda x, **k: 0, warmup=0, repeat=1)
    tuned(Tensor())

    def work(number: int) -> bool:
        return all(tuned(1, **{f"k{number}_{i % 7}": i}, autotune=True) == i for i in range(2000))

    assert all(together(work))
