# SPDX-License-Identifier: MIT
"""Contextual tuning where candidates fail, or kernels are not reached any more: C07, C10, C12."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("triton")

from contextual_stand_ins import (
    GRID,
    Clock,
    Failure,
    Tensor,
    autotuned,
    bad_value,
    chosen,
    kernels_as_before,
)
from triton.compiler.errors import CompileTimeAssertionFailure
from triton.runtime.errors import OutOfResources
from triton_dist.autotuner import contextual_autotune

pytestmark = pytest.mark.usefixtures("triton_left_alone")


# -- C07, C10 failures ---------------------------------------------------------------------------


def no_resources() -> BaseException:
    return OutOfResources(100, 50, "shared memory")


def no_compile() -> BaseException:
    return CompileTimeAssertionFailure("def f(): pass", None, "BLOCK too large")


@pytest.mark.parametrize("failure", [bad_value, no_resources, no_compile], ids=lambda f: f.__name__)
@pytest.mark.parametrize("which", [(0,), (1,), (2,), (0, 1), (1, 2), (0, 2)])
def test_C10_case_X3_a_failing_candidate_is_replaced_in_the_same_call(
    clock: Clock, which: tuple[int, ...], failure: Failure
) -> None:
    kernel = autotuned(clock, [3.0, 1.0, 2.0])
    kernel.fn.failing = dict.fromkeys(which, failure)
    followed: list[Any] = []

    @contextual_autotune(n_repeat=2, n_warmup=1)
    def outer() -> Any:
        launched = kernel[GRID](Tensor(), 1)
        followed.append(launched)
        return launched

    with kernels_as_before(kernel):
        result = outer()
    left = [number for number in (1, 2, 0) if number not in which]
    assert result == f"launched {left[0]}"
    # Every pass had a launch that worked, whatever its turn was.
    assert set(followed) <= {f"launched {number}" for number in left}
    assert [kernel.fn.ran.count(number) for number in which] == [1] * len(which)
    timings = {config.kwargs["C"]: t for config, t in kernel.configs_timings.items()}
    assert all(timings[number] == [float("inf")] * 3 for number in which)


def test_C10_a_candidate_that_fails_late_is_replaced_too(clock: Clock) -> None:
    kernel = autotuned(clock, [1.0, 2.0])
    n_passes = 0

    @contextual_autotune()
    def outer() -> Any:
        nonlocal n_passes
        n_passes += 1
        if n_passes == 6:
            kernel.fn.failing[0] = bad_value
        return kernel[GRID](Tensor(), 1)

    assert outer() == "launched 1"
    assert kernel.fn.ran[5:7] == [0, 1]


def test_C07_all_failed_is_an_error_that_says_it_all(clock: Clock) -> None:
    kernel = autotuned(clock, [3.0, 1.0, 2.0])
    kernel.fn.failing = {0: bad_value, 1: no_resources, 2: lambda: TypeError("not that type")}
    outer = contextual_autotune()(lambda: kernel[GRID](Tensor(), 64))
    for _ in range(2):  # nothing is remembered of it
        with kernels_as_before(kernel), pytest.raises(RuntimeError) as caught:
            outer()
        text = str(caught.value)
        assert text.startswith("cannot find valid config")
        for part in ("kernels.kernel", "(64, 'float32')", "no such tile", "shared memory"):
            assert part in text
        assert repr(caught.value.__cause__) == "TypeError('not that type')"
        assert kernel.fn.take_ran() == [0, 1, 2]
        assert not kernel.cache
    kernel.fn.failing = {}
    assert outer() == "launched 1"


def test_C07_an_outer_function_cannot_hide_it(clock: Clock) -> None:
    kernel = autotuned(clock, [3.0, 1.0])
    kernel.fn.failing = {0: bad_value, 1: bad_value}

    @contextual_autotune()
    def outer() -> str:
        try:
            kernel[GRID](Tensor(), 1)
        except RuntimeError:
            return "hidden"
        return "fine"

    with pytest.raises(RuntimeError, match="cannot find valid config"):
        outer()


def test_C07_nothing_left_by_pruning_is_an_error(clock: Clock) -> None:
    kernel = autotuned(
        clock, [1.0, 2.0], prune_configs_by={"early_config_prune": lambda *a, **k: []}
    )
    with pytest.raises(Exception, match=r"(?i)prun"):
        contextual_autotune()(lambda: kernel[GRID](Tensor(), 1))()


def test_C10_a_ruined_device_ends_it_and_is_named(clock: Clock) -> None:
    kernel = autotuned(clock, [1.0, 2.0])

    def ruin() -> BaseException:
        clock.is_broken = True
        return RuntimeError("an illegal memory access was encountered")

    kernel.fn.failing[1] = ruin
    with pytest.raises(RuntimeError, match=r"\[1\].*ruined the device") as caught:
        contextual_autotune()(lambda: kernel[GRID](Tensor(), 1))()
    assert isinstance(caught.value.__cause__, RuntimeError)
    assert not kernel.cache
    clock.is_broken = False


# -- C12 stalls ----------------------------------------------------------------------------------


@pytest.mark.parametrize("stops", [2, 5, 16])
def test_C12_case_X3_a_kernel_that_is_not_reached_any_more_is_named(
    clock: Clock, stops: int
) -> None:
    kernel = autotuned(clock, [3.0, 1.0], name="lost")
    n_passes = 0

    @contextual_autotune()
    def outer() -> None:
        nonlocal n_passes
        n_passes += 1
        if n_passes < stops:
            kernel[GRID](Tensor(), 64)

    with kernels_as_before(kernel), pytest.raises(RuntimeError, match=r"kernels\.lost.*64"):
        outer()
    assert n_passes == stops - 1 + 3
    assert not kernel.cache


def test_C12_a_kernel_that_is_reached_now_and_then_is_fine(clock: Clock) -> None:
    kernel = autotuned(clock, [3.0, 1.0])
    n_passes = 0

    @contextual_autotune()
    def outer() -> None:
        nonlocal n_passes
        n_passes += 1
        if n_passes % 3 == 1:
            kernel[GRID](Tensor(), 64)

    outer()
    assert list(chosen(kernel).values()) == [1]
