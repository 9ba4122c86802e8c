# SPDX-License-Identifier: MIT
"""prepare_fn: candidates are made ready ahead, in threads."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from typing import Any

import pytest
import stand_ins
from stand_ins import PLAN_RUNS, Stage, Tensor, stage
from tdtune import AutoTuner, autotune

SPACE = [{"n": n, "m": 1} for n in range(6)]


def key_fn(*args: Any, **kwargs: Any) -> str:
    return "k"


def scale(x: Any = None, alpha: float = 1.0, n: int = 0, m: int = 0) -> Any:
    return stage.run(n)


class Preparer:
    """A prepare_fn that notes its calls."""

    def __init__(self) -> None:
        self.calls: list[tuple[int, dict[str, Any], tuple[Any, ...], dict[str, Any]]] = []
        self.n_ran: list[int] = []
        self.on_call: Any = lambda n: None

    def __call__(self, config: dict[str, Any], *args: Any, **kwargs: Any) -> None:
        n = config["n"]
        self.calls.append((threading.get_ident(), dict(config), args, kwargs))
        self.n_ran.append(len(stage.ran))
        config.clear()  # it is a copy
        self.on_call(n)

    def prepared(self) -> list[int]:
        return [config["n"] for _, config, _, _ in self.calls]

    def threads(self) -> set[int]:
        return {thread for thread, _, _, _ in self.calls}


@pytest.fixture
def preparer(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> Preparer:
    monkeypatch.setenv("TRITON_DIST_AUTOTUNE_COMPILE_WORKERS", "6")
    return Preparer()


def make(preparer: Any, **options: Any) -> AutoTuner:
    tuner: AutoTuner = autotune(SPACE, key_fn, prepare_fn=preparer, **options)(scale)
    return tuner


def assert_ran_as_planned() -> None:
    assert stage.ran[:-1] == [n for n in range(6) for _ in range(PLAN_RUNS)]


def test_B02_all_are_prepared_at_the_same_time_before_any_runs(preparer: Preparer) -> None:
    together = threading.Barrier(6, timeout=60)  # opens only when six are at work at once
    preparer.on_call = lambda n: together.wait()
    x = Tensor()
    make(preparer)(x, alpha=2.0)
    assert sorted(preparer.prepared()) == list(range(6))
    assert threading.get_ident() not in preparer.threads()
    assert len(preparer.threads()) == 6
    assert preparer.n_ran == [0] * 6
    assert {(args, tuple(kwargs.items())) for _, _, args, kwargs in preparer.calls} == {
        ((x,), (("alpha", 2.0),))
    }
    assert_ran_as_planned()


def test_B02_hits_and_stored_winners_are_not_prepared(preparer: Preparer) -> None:
    tuner = make(preparer)
    tuner()
    tuner()
    make(preparer)()
    tuner(autotune=False)
    assert len(preparer.calls) == 6


def test_B02_only_what_takes_part_is_prepared(preparer: Preparer) -> None:
    make(preparer, prune_fn=lambda config, *args: config["n"] % 2 == 1)()
    assert sorted(preparer.prepared()) == [1, 3, 5]


def test_B02_what_the_call_fixes_is_in_the_config(preparer: Preparer) -> None:
    make(preparer)(m=7, autotune_allow_arg_overwrite=True)
    assert [config["m"] for _, config, _, _ in preparer.calls] == [7] * 6


@pytest.mark.parametrize("workers", ["1", "6"])
def test_B02_not_prepared_is_not_failed(
    preparer: Preparer, monkeypatch: pytest.MonkeyPatch, root: Any, workers: str
) -> None:
    def fail(n: int) -> None:
        raise ValueError(f"no compiler for {n}")

    monkeypatch.setenv("TRITON_DIST_AUTOTUNE_COMPILE_WORKERS", workers)
    preparer.on_call = fail
    stage.cost_ms = {3: 0.5}
    assert make(preparer)(Tensor()) == 3
    assert_ran_as_planned()
    assert not [c for c in stand_ins.only_record(root)["candidates"] if "error" in c]


def test_B02_a_prepare_fn_that_never_works_is_a_warning(
    preparer: Preparer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    works: set[int] = set()

    def fail(n: int) -> None:
        if n not in works:
            raise ValueError(f"no compiler for {n}")

    preparer.on_call = fail
    monkeypatch.setenv("TRITON_DIST_AUTOTUNE_ALWAYS_TUNE", "1")
    make(preparer)(Tensor())
    [told] = [r for r in caplog.records if "could not be prepared" in r.getMessage()]
    assert told.levelname == "WARNING"
    assert "ValueError: no compiler for 0" in told.getMessage()
    caplog.clear()
    works.add(4)
    make(preparer)(Tensor())
    assert not [r for r in caplog.records if r.levelname == "WARNING"]


def test_B02_one_worker_is_the_calling_thread_in_order(
    preparer: Preparer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRITON_DIST_AUTOTUNE_COMPILE_WORKERS", "1")
    make(preparer)()
    assert preparer.prepared() == list(range(6))
    assert preparer.threads() == {threading.get_ident()}
    assert_ran_as_planned()


@pytest.mark.parametrize("raised", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("workers", ["1", "2"])
def test_B02_what_is_no_exception_ends_the_tuning(
    preparer: Preparer,
    monkeypatch: pytest.MonkeyPatch,
    raised: type[BaseException],
    workers: str,
) -> None:
    def leave(n: int) -> None:
        raise raised("enough")

    monkeypatch.setenv("TRITON_DIST_AUTOTUNE_COMPILE_WORKERS", workers)
    preparer.on_call = leave
    with pytest.raises(raised, match="enough"):
        make(preparer)()
    assert stage.ran == []
    assert len(preparer.calls) <= 2
    preparer.on_call = lambda n: None
    make(preparer)()
    assert_ran_as_planned()


def test_B02_ctrl_c_while_preparing(preparer: Preparer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_DIST_AUTOTUNE_COMPILE_WORKERS", "2")
    pressed, finished = threading.Event(), []

    def press(n: int) -> None:
        if not pressed.is_set():
            pressed.set()
            os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.3)
        finished.append(n)

    preparer.on_call = press
    with pytest.raises(KeyboardInterrupt):
        make(preparer)()
    assert stage.ran == []
    assert len(finished) == len(preparer.calls) < 6  # those at work were finished
    preparer.on_call = lambda n: None
    make(preparer)()
    assert_ran_as_planned()


def test_B02_workers_are_on_the_device_of_the_arguments(
    preparer: Preparer, monkeypatch: pytest.MonkeyPatch
) -> None:
    entered: list[tuple[int, int]] = []
    cuda = sys.modules["torch"].cuda
    monkeypatch.setattr(
        cuda, "set_device", lambda i: entered.append((threading.get_ident(), i)), raising=False
    )
    x = Tensor()
    x.device = type(x.device)(type="cuda", index=5)  # type: ignore[misc]
    make(preparer)(x)
    assert {index for _, index in entered} == {5}
    assert {thread for thread, _ in entered} == preparer.threads()
    assert threading.get_ident() not in preparer.threads()


def test_B02_the_calling_threads_device_is_its_own(
    preparer: Preparer, monkeypatch: pytest.MonkeyPatch
) -> None:
    entered: list[int] = []
    monkeypatch.setattr(sys.modules["torch"].cuda, "set_device", entered.append, raising=False)
    monkeypatch.setenv("TRITON_DIST_AUTOTUNE_COMPILE_WORKERS", "1")
    make(preparer)(Tensor())
    assert len(preparer.calls) == 6
    assert entered == []


def test_B02_a_device_that_cannot_be_entered(
    preparer: Preparer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(index: int) -> None:
        raise RuntimeError("no such device")

    monkeypatch.setattr(sys.modules["torch"].cuda, "set_device", refuse, raising=False)
    make(preparer)(Tensor())
    assert preparer.calls == []
    assert_ran_as_planned()


@pytest.mark.parametrize("wrong", ["0", "two"])
def test_B02_a_wrong_number_of_workers_is_named(
    preparer: Preparer, monkeypatch: pytest.MonkeyPatch, wrong: str
) -> None:
    monkeypatch.setenv("TRITON_DIST_AUTOTUNE_COMPILE_WORKERS", wrong)
    with pytest.raises(ValueError, match="TRITON_DIST_AUTOTUNE_COMPILE_WORKERS"):
        make(preparer)()


def test_B02_prepare_fn_is_a_function(stage: Stage) -> None:
    with pytest.raises(TypeError, match="prepare_fn is a function or None, not 7"):
        make(7)


def test_B02_prepare_fn_may_call_a_tuned_function(preparer: Preparer) -> None:
    def other(n: int) -> Any:
        return stage.run(n)

    inner: AutoTuner = autotune([{"n": 10}, {"n": 11}], key_fn)(other)
    preparer.on_call = lambda n: inner()
    make(preparer)(Tensor())
    assert stage.ran.count(0) == PLAN_RUNS + 1
    assert stage.ran.count(10) + stage.ran.count(11) == 2 * PLAN_RUNS + 6
