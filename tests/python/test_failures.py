# SPDX-License-Identifier: MIT
"""Candidates that fail, devices that break, users who interrupt."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from stand_ins import PLAN_RUNS, Stage, Tensor, only_record, read, records, run_script
from stand_ins import stage as the_stage
from tdtune import AutoTuner


def work(x: Any, *, tile: int = 0) -> int:
    return the_stage.run(tile)


def one_key(x: Any) -> int:
    return 0


TILES = [{"tile": tile} for tile in (1, 2, 3)]


def make() -> AutoTuner:
    return AutoTuner(work, TILES, one_key)


@pytest.mark.parametrize("failing", [{1}, {2}, {3}, {1, 2}, {2, 3}])
def test_F13_a_candidate_that_fails_is_out_and_its_reason_kept(
    stage: Stage, root: Path, failing: set[int]
) -> None:
    stage.failing = dict.fromkeys(failing, lambda: RuntimeError("out of resource: shared memory"))
    winner = make()(Tensor())
    assert winner == min({1, 2, 3} - failing)
    for index, candidate in enumerate(only_record(root)["candidates"]):
        if index + 1 in failing:
            assert candidate["time_ms"] is None
            assert candidate["error"] == "RuntimeError: out of resource: shared memory"
        else:
            assert candidate["time_ms"] == 1.0
    (log,) = root.glob("work/*.log-*")
    assert "RuntimeError: out of resource: shared memory" in log.read_text()


class OutOfResources(Exception):
    """As compilers have them."""


class Wordless(Exception):
    def __str__(self) -> str:
        raise ValueError("no words")


FAILURES: list[tuple[Callable[[], BaseException], str]] = [
    (lambda: OutOfResources("shared memory"), "OutOfResources: shared memory"),
    (lambda: ValueError(), "ValueError"),
    (lambda: KeyError("name"), "KeyError: 'name'"),
    (lambda: MemoryError(), "MemoryError"),
    (lambda: AssertionError("not aligned"), "AssertionError: not aligned"),
    (lambda: StopIteration(3), "StopIteration: 3"),
    (lambda: StopAsyncIteration(), "StopAsyncIteration"),
    (lambda: RecursionError("deep"), "RecursionError: deep"),
    (lambda: Wordless(), "Wordless (its message cannot be shown)"),
    (lambda: ValueError("lone \udcff surrogate"), "ValueError: lone \\udcff surrogate"),
    (lambda: ValueError("a \0 and more"), "ValueError: a \\0 and more"),
    (lambda: ValueError("zwei\nZeilen: größer ✓ "), "ValueError: zwei\nZeilen: größer ✓"),
]


@pytest.mark.parametrize(("failure", "text"), FAILURES, ids=[text for _, text in FAILURES])
def test_case_F2_any_exception_is_a_reason(
    stage: Stage, root: Path, failure: Callable[[], BaseException], text: str
) -> None:
    stage.failing = {1: failure}
    assert make()(Tensor()) == 2
    assert only_record(root)["candidates"][0]["error"] == text


def test_a_long_message_is_cut(stage: Stage, root: Path) -> None:
    stage.failing = {1: lambda: ValueError("ü" * 100_000)}
    assert make()(Tensor()) == 2
    error = only_record(root)["candidates"][0]["error"]
    assert 1000 < len(error) < 3000


def test_F13_a_failed_candidate_is_not_run_again(stage: Stage) -> None:
    stage.failing = {2: lambda: ValueError("no")}
    make()(Tensor())
    assert stage.take_ran() == [1] * PLAN_RUNS + [2] + [3] * PLAN_RUNS + [1]


@pytest.mark.parametrize("run", [1, 5, 6, 15])
def test_F13_it_may_fail_in_any_run(stage: Stage, run: int) -> None:
    def fail(tile: int) -> None:
        if tile == 1 and stage.ran.count(1) == run:
            raise ValueError("now")

    stage.before_run = fail
    stage.cost_ms = {1: 0.1}
    assert make()(Tensor()) == 2


class Memory:
    """Something large."""


@pytest.mark.parametrize("chained", ["plain", "from", "context", "group"])
def test_F13_memory_is_released_before_the_next_candidate(stage: Stage, chained: str) -> None:
    held: list[weakref.ref[Memory]] = []
    alive: list[bool] = []

    def inner() -> None:
        memory = Memory()
        held.append(weakref.ref(memory))
        raise ValueError("inner")

    def hungry(x: object, *, tile: int) -> int:
        alive.append(any(ref() is not None for ref in held))
        memory = Memory()
        held.append(weakref.ref(memory))
        if tile == 3:
            return tile
        if chained == "plain":
            raise MemoryError("full")
        try:
            inner()
        except ValueError as error:
            if chained == "from":
                raise MemoryError("full") from error
            if chained == "context":
                raise MemoryError("full")  # noqa: B904
        raise MemoryError("full")

    gc.disable()
    try:
        assert AutoTuner(hungry, TILES, one_key)(Tensor()) == 3
    finally:
        gc.enable()
    assert not any(alive)
    assert "empty_cache" in stage.device_calls


def test_F13_an_exception_being_handled_keeps_its_traceback(stage: Stage) -> None:
    """A candidate's exception has it as its context, and it is not the tuner's to clean up."""
    stage.failing = {1: lambda: ValueError("no")}
    before: list[object] = []

    def handle() -> None:
        try:
            raise LookupError("the caller's")
        except LookupError as error:
            before.append(error.__traceback__)
            assert make()(Tensor()) == 2
            raise

    with pytest.raises(LookupError) as caught:
        handle()
    traceback = caught.value.__traceback__
    while traceback is not None and traceback is not before[0]:
        traceback = traceback.tb_next
    assert traceback is before[0] is not None


ENDS: list[Callable[[], BaseException]] = [
    KeyboardInterrupt,
    lambda: SystemExit(3),
    asyncio.CancelledError,
    GeneratorExit,
]


@pytest.mark.parametrize("end", ENDS)
def test_F13_case_F4_an_interrupt_ends_it_and_keeps_what_was_measured(
    stage: Stage, root: Path, end: Callable[[], BaseException]
) -> None:
    error = end()

    def interrupt() -> BaseException:
        return error

    stage.failing = {2: interrupt}
    tuned = make()
    handlers = list(logging.getLogger().handlers)
    files = len(os.listdir("/proc/self/fd"))
    with pytest.raises(type(error)) as caught:
        tuned(Tensor())
    assert caught.value is error
    assert any(entry.name == "work" for entry in caught.traceback)
    assert stage.take_ran() == [1] * PLAN_RUNS + [2]
    assert logging.getLogger().handlers == handlers
    assert len(os.listdir("/proc/self/fd")) == files
    record = only_record(root)
    assert record["complete"] is False
    assert record["best"] is None
    stage.failing.clear()
    stage.cost_ms = {1: 9.0, 3: 0.5}
    assert make()(Tensor()) == 3
    assert stage.take_ran() == [2] * PLAN_RUNS + [3] * PLAN_RUNS + [3]


def test_F13_case_F2_a_ruined_device_ends_it_at_once(stage: Stage, root: Path) -> None:
    def ruin(tile: int) -> None:
        stage.broken = tile == 2

    def fault() -> BaseException:
        return OSError("illegal address")

    stage.before_run = ruin
    stage.failing = {2: fault}
    with pytest.raises(RuntimeError, match=r'\{"tile":2\}') as caught:
        make()(Tensor())
    assert "illegal address" in str(caught.value)
    assert isinstance(caught.value.__cause__, Exception)
    assert 3 not in stage.take_ran()
    assert all(read(path)["best"] is None for path in records(root))


def test_F13_a_device_that_only_complained_goes_on(stage: Stage) -> None:
    """What a candidate left behind is reported by the next synchronisation, once."""

    def complain(tile: int) -> None:
        stage.broken = tile == 2 and stage.ran.count(2) == 1

    tuned = make()
    stage.cost_ms = {2: 0.1}
    stage.before_run = complain
    stage.broken = False
    result = tuned(Tensor())
    assert result in (1, 2)


@pytest.mark.parametrize("pruned", [0, 1])
def test_F14_case_F1_all_failed(stage: Stage, root: Path, pruned: int) -> None:
    reasons = {tile: ValueError(f"reason {tile}") for tile in (1, 2, 3)}
    stage.failing = {tile: (lambda tile=tile: reasons[tile]) for tile in reasons}
    tuned = AutoTuner(work, TILES, one_key, lambda config, x: config["tile"] > pruned)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="cannot find valid config") as caught:
            tuned(Tensor())
        for tile in (1, 2, 3):
            told = f"ValueError: reason {tile}" in str(caught.value)
            assert told == (tile > pruned)
        assert caught.value.__cause__ is reasons[3]
        assert stage.take_ran() == [1, 2, 3][pruned:]
        assert records(root) == []
    stage.failing.clear()
    assert tuned(Tensor(), autotune=False) == 1
    stage.take_ran()
    assert tuned(Tensor()) == pruned + 1
    assert len(stage.take_ran()) == (3 - pruned) * PLAN_RUNS + 1


def test_ctrl_c_reaches_a_tuning() -> None:
    """A real signal, in the midst of a launch that does nothing but compute."""
    out = run_script(
        """
        import os, signal, threading
        from tdtune import autotune

        # A shell may have started us with the signal ignored.
        signal.signal(signal.SIGINT, signal.default_int_handler)

        @autotune([{"tile": 1}, {"tile": 2}], key_fn=lambda x: 0)
        def endless(x, tile):
            os.kill(os.getpid(), signal.SIGINT)
            while True:
                pass

        try:
            endless(1)
        except KeyboardInterrupt:
            print("interrupted")
        """
    )
    assert out.split() == ["interrupted"]


def test_no_warning_counts_as_a_failure_of_the_tuning(stage: Stage) -> None:
    """Also where the user's log handler raises."""

    class Angry(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            raise ValueError("handler")

    logger = logging.getLogger("tdtune")
    handler = Angry()
    logger.addHandler(handler)
    try:
        tuned = AutoTuner(work, TILES, one_key)
        assert tuned(Tensor(), tile=5, autotune_allow_arg_overwrite=True) == 5
    finally:
        logger.removeHandler(handler)
