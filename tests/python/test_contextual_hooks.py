# SPDX-License-Identifier: MIT
"""Contextual tuning with the pruning and the hooks of kernels: C08."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("triton")

from contextual_stand_ins import (
    GRID,
    Clock,
    Tensor,
    autotuned,
    bad_value,
    chosen,
    kernels_as_before,
)
from triton import Config
from triton.runtime.errors import OutOfResources
from triton_dist.autotuner import contextual_autotune

pytestmark = pytest.mark.usefixtures("triton_left_alone")


# -- C08 pruning and hooks -----------------------------------------------------------------------


def test_C08_pruning_is_the_kernels_own(clock: Clock) -> None:
    calls: list[Any] = []

    def prune(configs: list[Config], nargs: dict[str, Any], **kwargs: Any) -> list[Config]:
        calls.append((len(configs), nargs["n"], kwargs["m"]))
        return [config for config in configs if config.kwargs["C"] != 1]

    kernel = autotuned(
        clock,
        [3.0, 1.0, 2.0],
        arg_names=("x", "n", "m"),
        prune_configs_by={"early_config_prune": prune},
    )
    outer = contextual_autotune()(lambda m: kernel[GRID](Tensor(), 4, m=m))
    assert outer(9) == "launched 2"
    assert set(kernel.fn.take_ran()) == {0, 2}
    assert calls == [(3, 4, 9)]  # once, as in Triton
    assert set(kernel.configs_timings) == {kernel.configs[0], kernel.configs[2]}


def test_C08_a_performance_model_prunes_too(clock: Clock) -> None:
    kernel = autotuned(
        clock,
        [3.0, 1.0, 2.0, 0.5],
        prune_configs_by={"perf_model": lambda C, **kwargs: C, "top_k": 2},
    )
    assert contextual_autotune()(lambda: kernel[GRID](Tensor(), 4))() == "launched 1"
    assert set(kernel.fn.ran) == {0, 1}


def test_C08_one_left_after_pruning_just_runs(clock: Clock) -> None:
    kernel = autotuned(
        clock,
        [3.0, 1.0],
        prune_configs_by={"early_config_prune": lambda configs, *a, **k: configs[:1]},
    )
    outer = contextual_autotune()(lambda: kernel[GRID](Tensor(), 4))
    with kernels_as_before(kernel):
        assert outer() == "launched 0"
    assert kernel.fn.ran == [0]
    assert kernel.best_config is kernel.configs[0]
    assert chosen(kernel) == {(4, "float32"): 0}


def test_C08_a_failing_pruning_function_is_the_callers(clock: Clock) -> None:
    class Mine(Exception):
        pass

    def prune(*args: Any, **kwargs: Any) -> Any:
        raise Mine

    kernel = autotuned(clock, [3.0, 1.0], prune_configs_by={"early_config_prune": prune})
    with kernels_as_before(kernel), pytest.raises(Mine):
        contextual_autotune()(lambda: kernel[GRID](Tensor(), 4))()


def hooked(clock: Clock, hooks: list[Any], failing: bool, **options: Any) -> Any:
    def note(name: str) -> Callable[..., None]:
        def hook(values: dict[str, Any], **more: Any) -> None:
            error = more.pop("exception", None)
            hooks.append((name, sorted(values), values["C"], type(error).__name__, more))
            clock.work(500.0)

        return hook

    configs = [Config({"C": c}, pre_hook=note(f"config {c}")) for c in range(2)]
    kernel = autotuned(
        clock,
        [2.0, 1.0],
        arg_names=("x", "n", "m"),
        configs=configs,
        pre_hook=note("pre"),
        post_hook=note("post"),
        **options,
    )

    def ran(values: dict[str, Any]) -> None:
        hooks.append("run")
        if failing and values["C"] == 0:
            raise OutOfResources(2, 1, "threads")

    kernel.fn.effect = ran
    return kernel


@pytest.mark.parametrize("failing", [False, True])
@pytest.mark.parametrize(
    ("args", "kwargs"), [((Tensor(), 1, 2), {}), ((Tensor(),), {"n": 1, "m": None})]
)
def test_C08_hooks_are_called_as_triton_calls_them(
    clock: Clock, failing: bool, args: Any, kwargs: Any
) -> None:
    def once(call: Callable[[], object], **options: object) -> list[float]:
        call()
        return [1.0, 1.0, 1.0]

    by_triton: list[Any] = []
    by_us: list[Any] = []
    hooked(clock, by_triton, failing, do_bench=once)[GRID](*args, **kwargs)
    kernel = hooked(clock, by_us, failing)
    contextual_autotune(n_repeat=1, n_warmup=0)(lambda: kernel[GRID](*args, **kwargs))()

    # Two measured launches, then the one that counts. We choose what Triton does not: the fastest.
    def without_number(events: list[Any]) -> list[Any]:
        return [e if e == "run" else (e[0].partition(" ")[0], e[1], *e[3:]) for e in events]

    if failing:  # in the same pass candidate 1 takes over, and then has its own turn
        assert without_number(by_us[:8]) == without_number(by_triton[:8])
        assert without_number(by_us[-3:]) == without_number(by_triton[-3:])
    else:
        assert without_number(by_us) == without_number(by_triton)
    assert [t[0] for t in kernel.configs_timings.values()] == [
        float("inf") if failing else 2.0,
        1.0,
    ]


def test_C08_case_H1_reset_to_zero_comes_before_every_launch(clock: Clock) -> None:
    kernel = autotuned(
        clock, [3.0, 1.0, 2.0], arg_names=("x", "n", "none"), reset_to_zero=["x", "none"]
    )

    def add(values: dict[str, Any]) -> None:
        values["x"].values[0] += 1.0

    kernel.fn.effect = add
    kernel.fn.failing[2] = bad_value
    seen: list[float] = []
    total = Tensor(100.0)

    @contextual_autotune()
    def outer() -> None:
        kernel[GRID](total, 1, none=None)
        seen.append(total.values[0])

    outer()
    assert set(seen) == {1.0}
    kernel[GRID](total, 1, None)
    assert total.values == [2.0]  # from then on as Triton has it: known keys are not reset


def test_C08_case_H1_restore_value_undoes_failures_only(clock: Clock) -> None:
    kernel = autotuned(
        clock, [3.0, 1.0, 2.0], arg_names=("x", "n", "none"), restore_value=["x", "none"]
    )

    def double(values: dict[str, Any]) -> None:
        values["x"].values[0] *= 2.0

    kernel.fn.effect = double
    kernel.fn.failing = {0: bad_value, 2: bad_value}
    seen: list[float] = []

    @contextual_autotune()
    def outer() -> float:
        x = Tensor(3.0)
        kernel[GRID](x, n=1, none=None)
        seen.append(x.values[0])
        return x.values[0]

    assert outer() == 6.0
    assert set(seen) == {6.0}
    assert getattr(kernel, "restore_copies", {}) == {}


def test_C08_case_H2_what_follows_sees_the_candidates_own_output(clock: Clock) -> None:
    kernel = autotuned(clock, [3.0, 1.0])
    kernel.fn.effect = lambda values: values["x"].copy_(Tensor(float(values["C"])))
    seen: list[float] = []

    @contextual_autotune(n_repeat=1, n_warmup=0)
    def outer() -> None:
        x = Tensor(-1.0)
        kernel[GRID](x, 1)
        seen.append(x.values[0])

    outer()
    assert seen == [0.0, 1.0, 1.0]
