# SPDX-License-Identifier: MIT
"""Contextual tuning and what is around it: other tuners, threads, interrupts, forks."""

from __future__ import annotations

import gc
import logging
import sys
import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("triton")

from contextual_stand_ins import (
    GRID,
    N_PASSES,
    Clock,
    Tensor,
    autotuned,
    bad_value,
    chosen,
    kernels_as_before,
    triton_as_before,
)
from stand_ins import run_script
from triton.runtime.autotuner import Autotuner
from triton_dist.autotuner import contextual_autotune

pytestmark = pytest.mark.usefixtures("triton_left_alone")


@contextual_autotune()
def at_module_level(x: int) -> int:
    return x


# -- C09 one at a time ---------------------------------------------------------------------------


def test_C09_a_nested_tuner_is_refused_and_disturbs_nothing(clock: Clock) -> None:
    kernel = autotuned(clock, [3.0, 1.0])
    refused: list[str] = []

    @contextual_autotune()
    def inner() -> None:
        raise AssertionError("must not run")

    @contextual_autotune()
    def outer() -> Any:
        try:
            inner()
        except RuntimeError as error:
            refused.append(str(error))
        return kernel[GRID](Tensor(), 1)

    assert outer() == "launched 1"
    assert len(refused) == N_PASSES
    assert repr(outer) in refused[0]
    assert repr(inner) in refused[0]
    with pytest.raises(RuntimeError, match="only one contextual tuner"):
        contextual_autotune()(lambda: at_module_level(inner()))()


def test_C09_C11_other_threads_are_refused_as_tuners_and_left_alone_as_callers(
    clock: Clock,
) -> None:
    kernel = autotuned(clock, [3.0, 1.0])
    benched: list[int] = []

    def bench(call: Callable[[], object], **options: object) -> list[float]:
        benched.append(threading.get_ident())
        return [1.0, 1.0, 1.0]

    theirs = autotuned(Clock(), [3.0, 1.0], name="theirs", do_bench=bench)
    inside, go_on = threading.Event(), threading.Event()
    found: dict[str, Any] = {}

    @contextual_autotune()
    def outer() -> Any:
        inside.set()
        assert go_on.wait(30)
        return kernel[GRID](Tensor(), 1)

    def elsewhere() -> None:
        assert inside.wait(30)
        try:
            at_module_level(1)
        except RuntimeError as error:
            found["refused"] = str(error)
        found["launched"] = theirs[GRID](Tensor(), 1)
        found["thread"] = threading.get_ident()
        go_on.set()

    thread = threading.Thread(target=elsewhere)
    thread.start()
    assert outer() == "launched 1"
    thread.join()
    assert "outer" in found["refused"]
    assert found["launched"] == "launched 0"
    assert set(benched) == {found["thread"]}
    assert at_module_level(1) == 1


def test_C09_only_one_of_many_threads_gets_in() -> None:
    n_runs = 0
    refused: list[str] = []
    all_others_refused = threading.Event()

    @contextual_autotune()
    def outer() -> None:
        nonlocal n_runs
        n_runs += 1
        assert all_others_refused.wait(60)

    def call() -> None:
        try:
            outer()
        except RuntimeError as error:
            refused.append(str(error))
            if len(refused) == 7:
                all_others_refused.set()

    threads = [threading.Thread(target=call) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert n_runs == 1
    assert len(refused) == 7
    assert all("is active" in text for text in refused)


# -- C11 Triton as it was ------------------------------------------------------------------------


def test_C11_triton_is_taken_over_only_while_a_tuner_is_active(clock: Clock) -> None:
    before = vars(Autotuner)["run"]
    seen: list[Any] = []
    outer = contextual_autotune()(lambda: seen.append(vars(Autotuner)["run"]))
    assert vars(Autotuner)["run"] is before
    outer()
    assert seen[0] is not before
    assert vars(Autotuner)["run"] is before


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit, GeneratorExit])
@pytest.mark.parametrize("at", [1, 2, 8, 9, 16, N_PASSES])
@pytest.mark.parametrize("after", [False, True])
def test_C11_case_X2_an_exception_of_the_outer_function_is_passed_on(
    clock: Clock, error: type[BaseException], at: int, after: bool
) -> None:
    kernel = autotuned(clock, [3.0, 1.0])
    raised: list[BaseException] = []
    n_passes = 0

    @contextual_autotune()
    def outer(n: int) -> Any:
        nonlocal n_passes
        n_passes += 1
        if after:
            kernel[GRID](Tensor(), n)
        if n_passes == at:
            raised.append(error("mine"))
            raise raised[0]
        return kernel[GRID](Tensor(), n)

    with kernels_as_before(kernel), triton_as_before():
        if after and at > 9:  # two launches in a pass: it is through by then
            outer(1)
        else:
            with pytest.raises(error) as caught:
                outer(1)
            assert caught.value is raised[0]
            frames = [entry.name for entry in caught.traceback]
            assert frames[-1] == "outer"
            assert set(kernel.cache) <= {(1, "float32")}
        # The next call, with another key, belongs to itself.
        at = 0
        kernel.fn.calls.clear()
        assert outer(2) == "launched 1"
        assert {call["n"] for call in kernel.fn.calls} == {2}
    assert chosen(kernel)[(2, "float32")] == 1


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_C11_case_F4_an_interrupt_in_a_candidate_ends_it_at_once(
    clock: Clock, error: type[BaseException]
) -> None:
    kernel = autotuned(clock, [3.0, 1.0])
    kernel.fn.failing[1] = lambda: error("stop")
    followed = 0

    @contextual_autotune()
    def outer(hides: bool) -> None:
        nonlocal followed
        try:
            kernel[GRID](Tensor(), 1)
        except BaseException:
            if not hides:
                raise
        followed += 1

    for hides in (False, True):
        kernel.fn.ran.clear()
        with kernels_as_before(kernel), triton_as_before(), pytest.raises(error, match="stop"):
            outer(hides)
        assert kernel.fn.ran == [0] * 8 + [1]
        assert not kernel.cache
    assert followed == 8 + 9


def test_C11_a_signal_leaves_nothing_behind() -> None:
    printed = run_script(
        """
        import os, signal, sys
        sys.path.insert(0, sys.argv[1])
        from contextual_stand_ins import *
        from triton_dist.autotuner import contextual_autotune

        clock = Clock()
        kernel = autotuned(clock, [1.0, 2.0])
        outer = contextual_autotune(n_repeat=100000)(lambda: kernel[(1,)](None, 1))
        before = vars(Autotuner)["run"]
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        with on_clock(clock):
            for i in range(300):
                try:
                    signal.setitimer(signal.ITIMER_REAL, 0.0001 + i * 0.00002)
                    outer()
                    raise SystemExit("it was not interrupted")
                except KeyboardInterrupt:
                    pass
                assert vars(Autotuner)["run"] is before, i
                assert not kernel.cache
                assert vars(kernel).get("nargs") is None
        print("as before")
        """,
        str(Path(__file__).parent),
    )
    assert printed == "as before\n"


def test_C11_a_method_that_somebody_else_replaced_meanwhile_is_theirs(clock: Clock) -> None:
    original = vars(Autotuner)["run"]

    def theirs(self: Any, *args: Any, **kwargs: Any) -> str:
        return "theirs"

    def outer() -> None:
        Autotuner.run = theirs

    try:
        contextual_autotune()(outer)()
        assert vars(Autotuner)["run"] is theirs
    finally:
        Autotuner.run = original


def test_C11_nothing_of_a_pass_stays_alive(clock: Clock) -> None:
    kernel = autotuned(clock, [3.0, 1.0, 2.0], restore_value=["x"])
    kernel.fn.failing[0] = bad_value
    alive: list[weakref.ref[Tensor]] = []

    @contextual_autotune()
    def outer(x: Tensor, fails: bool = False) -> None:
        mine = Tensor(1.0)
        alive.append(weakref.ref(mine))
        kernel[GRID](mine, 1)
        kernel[GRID](x, 1)
        if fails:
            raise ValueError("mine")

    gc.collect()
    gc.disable()
    try:
        x = Tensor(2.0)
        alive.append(weakref.ref(x))
        outer(x)
        kernel.fn.calls.clear()
        kernel.cache.clear()
        with pytest.raises(ValueError, match="mine"):
            outer(x, fails=True)
        kernel.fn.calls.clear()
        del x
        assert [reference() for reference in alive] == [None] * len(alive)
    finally:
        gc.enable()


def test_C11_a_call_leaks_nothing(clock: Clock) -> None:
    kernel = autotuned(clock, [3.0, 1.0, 2.0])
    kernel.fn.failing[0] = bad_value
    outer = contextual_autotune(n_repeat=1, n_warmup=0)(lambda: kernel[GRID](Tensor(), 1))

    def work() -> None:
        kernel.cache.clear()
        kernel.fn.calls.clear()
        kernel.fn.ran.clear()
        clock.events.clear()
        outer()

    for _ in range(50):
        work()
    gc.collect()
    blocks = sys.getallocatedblocks()
    for _ in range(500):
        work()
    gc.collect()
    assert sys.getallocatedblocks() - blocks < 250


# -- graphs, ranks, no Triton --------------------------------------------------------------------


def test_nothing_is_measured_while_a_graph_is_recorded(
    clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    kernel = autotuned(clock, [3.0, 1.0])
    clock.is_capturing = True
    with caplog.at_level(logging.WARNING, "tdtune"):
        assert contextual_autotune()(lambda: kernel[GRID](Tensor(), 1))() == "launched 0"
    assert clock.events == ["run 0"]
    assert not kernel.cache
    assert "kernels.kernel" in caplog.messages[0]
    clock.is_capturing = False


def test_C05_ranks_need_torch_distributed() -> None:
    ran: list[int] = []
    outer = contextual_autotune(is_dist=True)(lambda: ran.append(1))
    with pytest.raises(RuntimeError, match="init_process_group"):
        outer()
    assert not ran


def test_case_X5_without_torch_distributed_and_without_triton(run_python: Any) -> None:
    printed = run_python(
        """
        import sys
        sys.modules["torch"] = sys.modules["triton"] = sys.modules["torch.distributed"] = None
        from triton_dist.autotuner import contextual_autotune
        print(contextual_autotune(is_dist=False)(lambda x: x + 1)(1))
        """
    )
    assert printed == "2\n"


def test_case_X5_one_process_imports_no_distributed(run_python: Any) -> None:
    printed = run_python(
        f"""
        import sys
        sys.path.insert(0, {str(Path(__file__).parent)!r})
        sys.modules["torch.distributed"] = None
        from contextual_stand_ins import *
        from triton_dist.autotuner import contextual_autotune
        kernel = autotuned(Clock(), [1.0, 2.0])
        with on_clock(kernel.fn.clock):
            print(contextual_autotune(is_dist=False)(lambda: kernel[(1,)](None, 1))())
        """
    )
    assert printed == "launched 0\n"


def test_S07_a_forked_child_can_tune_while_its_parent_does(clock: Clock) -> None:
    import os

    kernel = autotuned(clock, [3.0, 1.0])
    other = autotuned(clock, [3.0, 1.0], name="other")
    before = vars(Autotuner)["run"]
    status: list[int] = []

    @contextual_autotune(n_repeat=1, n_warmup=0)
    def outer() -> Any:
        if not status:
            child = os.fork()
            if child == 0:
                good = contextual_autotune()(lambda: other[GRID](Tensor(), 1))() == "launched 1"
                os._exit(0 if good and vars(Autotuner)["run"] is before else 1)
            status.append(os.waitpid(child, 0)[1])
        return kernel[GRID](Tensor(), 1)

    assert outer() == "launched 1"
    assert status == [0]
