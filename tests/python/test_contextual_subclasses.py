# SPDX-License-Identifier: MIT
"""C14: classes derived from Triton's Autotuner that bring their own run, key or candidates."""

from __future__ import annotations

import builtins
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("triton")

from contextual_stand_ins import (
    GRID,
    Clock,
    autotuned,
    chosen,
    classes,
    kernels_as_before,
)
from triton import Config
from triton.runtime.autotuner import Autotuner
from triton_dist.autotuner import contextual_autotune

pytestmark = pytest.mark.usefixtures("triton_left_alone")


class Counting(Autotuner):
    """Has a run of its own that relies on its base's."""

    def run(self, *args: Any, **kwargs: Any) -> Any:
        self.n_runs = getattr(self, "n_runs", 0) + 1
        return super().run(*args, **kwargs)


class Inheriting(Counting):
    """Has no run of its own."""


class TilingTuner(Autotuner):
    """Of the shape of triton-ascend's AutoTilingTuner: `key` becomes a dict of axes, and key and
    candidates are made when it is called, from the sizes of the call.
    """

    def __init__(self, fn: Any, arg_names: Any, configs: Any, key: Any, *args: Any, **kw: Any):
        super().__init__(fn, arg_names, configs, key, *args, **kw)
        self.user_configs = list(configs or ())
        self.gen_configs: list[Config] = []
        self.keys = dict(zip("xyz", key, strict=False))

    def generate_key_and_configs(self, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        self.nargs = dict(zip(self.arg_names, args, strict=False))
        named = {k: v for k, v in {**self.nargs, **kwargs}.items() if k in self.arg_names}
        key = [named[name] for name in self.keys.values() if name in named]
        key += [str(value.dtype) for value in named.values() if hasattr(value, "dtype")]
        if tuple(key) not in self.cache:
            self.gen_configs = [Config({"C": c}) for c in range(int(named["n"]) // 100)]
            self.configs = [*self.gen_configs, *self.user_configs] or [Config({"C": 0})]
        return tuple(key)

    def _batch_bench(self, *args: Any, configs: Any, **kwargs: Any) -> Any:
        raise AssertionError("it measured by itself")

    def run(self, *args: Any, **kwargs: Any) -> Any:
        key = self.generate_key_and_configs(*args, **kwargs)
        kwargs["from_run"] = True  # what only this run knows must reach the kernel
        if key not in self.cache:
            pruned = self.prune_configs(kwargs)
            if len(pruned) > 1:
                timings = self._batch_bench(*args, configs=pruned, **kwargs)
                self.cache[key] = builtins.min(timings, key=timings.get)
                self.pre_hook({**self.nargs, **kwargs}, reset_only=True)
                self.configs_timings = timings
            else:
                self.cache[key] = pruned[0]
        config = self.cache[key]
        self.best_config = config
        if config.pre_hook is not None:
            config.pre_hook({**self.nargs, **kwargs, **config.all_kwargs()})
        result = self.fn.run(*args, **dict(kwargs, **config.all_kwargs()))
        self.nargs = None
        return result


class InlineTuner(TilingTuner):
    """An older one: all of it inside run, measured one by one, no pruning."""

    def run(self, *args: Any, **kwargs: Any) -> Any:
        key = self.generate_key_and_configs(*args, **kwargs)
        if key not in self.cache:
            timings = {c: self._bench(*args, config=c, **kwargs) for c in self.configs}
            self.cache[key] = builtins.min(timings, key=timings.get)
        config = self.best_config = self.cache[key]
        result = self.fn.run(*args, from_run=True, **kwargs, **config.all_kwargs())
        self.nargs = None
        return result


class OwnSearch(TilingTuner):
    """Launches by itself what it wants to know."""

    def run(self, *args: Any, **kwargs: Any) -> Any:
        key = self.generate_key_and_configs(*args, **kwargs)
        config = self.cache.get(key)
        if config is None:
            for config in self.configs:
                self.fn.run(*args, **kwargs, **config.all_kwargs())
            self.cache[key] = config
        self.best_config = config
        return self.fn.run(*args, from_run=True, **kwargs, **config.all_kwargs())


@pytest.mark.parametrize("cls", [Counting, Inheriting])
def test_C14_a_run_that_calls_its_base(clock: Clock, cls: type) -> None:
    kernel = autotuned(clock, [3.0, 1.0], cls=cls)
    outer = contextual_autotune()(lambda: kernel[GRID](None, 1))
    assert outer() == "launched 1"
    assert kernel.fn.take_ran() == [0] * 8 + [1] * 9
    assert chosen(kernel) == {(1,): 1}
    assert kernel.n_runs == 1  # the launch that counts
    assert outer() == "launched 1"
    assert kernel.n_runs == 2
    assert kernel.fn.take_ran() == [1]


@pytest.mark.parametrize("cls", [TilingTuner, InlineTuner, OwnSearch])
def test_C14_key_and_candidates_are_made_at_call_time(clock: Clock, cls: type) -> None:
    costs = [lambda values: abs(values["n"] - 150.0 * (1 + values["C"]))] * 6
    kernel = autotuned(clock, costs, cls=cls, configs=[])
    from_run: list[Any] = []
    kernel.fn.effect = lambda values: from_run.append(values.get("from_run"))
    ran: list[int] = []

    @contextual_autotune()
    def outer() -> None:
        for n in (300, 600):
            kernel[GRID](None, n=n)
            ran.append(kernel.fn.ran[-1])

    keys_before = set(vars(kernel))
    outer()
    assert chosen(kernel) == {(300,): 1, (600,): 3}
    assert ran[-2:] == [1, 3]
    assert len(kernel.fn.take_ran()) == 2 * (6 * 8 + 1)  # as many passes as the longer list needs
    assert from_run == [True] * len(from_run)
    assert set(vars(kernel)) - keys_before <= {"nargs", "best_config", "configs_timings"}
    assert len(kernel.configs_timings) in (3, 6)
    kernel[GRID](None, n=300)
    assert kernel.fn.take_ran() == [1]


def test_C14_generated_and_given_candidates_together(clock: Clock) -> None:
    kernel = autotuned(
        clock, [4.0, 3.0, 2.0, 1.0], cls=TilingTuner, configs=[Config({"C": 3}), Config({"C": 2})]
    )
    assert contextual_autotune()(lambda: kernel[GRID](None, 200))() == "launched 3"
    assert set(kernel.fn.ran) == {0, 1, 2, 3}


def test_C14_one_generated_candidate_just_runs(clock: Clock) -> None:
    kernel = autotuned(clock, [1.0, 2.0], cls=TilingTuner, configs=[])
    with kernels_as_before(kernel):
        assert contextual_autotune()(lambda: kernel[GRID](None, 100))() == "launched 0"
    assert kernel.fn.ran == [0]


def test_C14_failures_are_replaced(clock: Clock) -> None:
    kernel = autotuned(clock, [1.0, 2.0, 3.0], cls=TilingTuner, configs=[])
    kernel.fn.failing[0] = lambda: RuntimeError("the tile does not fit")
    assert contextual_autotune()(lambda: kernel[GRID](None, 300))() == "launched 1"
    kernel.fn.failing.update({1: kernel.fn.failing[0], 2: kernel.fn.failing[0]})
    with pytest.raises(RuntimeError, match=r"valid config.*\n.*the tile does not fit"):
        contextual_autotune()(lambda: kernel[GRID](None, 301))()


def test_C14_a_class_made_inside_the_outer_function(clock: Clock) -> None:
    made: list[Any] = []

    @contextual_autotune()
    def outer() -> Any:
        if not made:

            class Late(Autotuner):
                def run(self, *args: Any, **kwargs: Any) -> Any:
                    return super().run(*args, **kwargs)

            made.append(autotuned(clock, [3.0, 1.0], cls=Late))
        return made[0][GRID](None, 1)

    assert outer() == "launched 1"
    assert type(made[0]).run.__qualname__.endswith("Late.run")
    own = [vars(cls)["run"] for cls in classes() if "run" in vars(cls)]
    assert not [run for run in own if "launch" in run.__qualname__]
