# SPDX-License-Identifier: MIT
"""Contextual tuning with Triton's own autotuner, pretended kernels and a scripted clock."""

from __future__ import annotations

import copy
import functools
import gc
import inspect
import json
import logging
import pickle
import re
import shlex
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("triton")

from contextual_stand_ins import (
    Clock,
    Failure,
    autotuned,
    chosen,
    kernels_as_before,
    on_clock,
    triton_as_before,
)
from stand_ins import run_script
from tdtune import ContextualAutoTuner
from triton import Config
from triton.compiler.errors import CompileTimeAssertionFailure
from triton.runtime.autotuner import Autotuner
from triton.runtime.errors import OutOfResources
from triton_dist.autotuner import contextual_autotune

GRID = (1,)
N_PASSES = 2 * (3 + 5) + 1  # two candidates with the defaults, and the last pass


class Tensor:
    """A few numbers with what hooks ask of a tensor."""

    dtype = "float32"

    def __init__(self, *values: float) -> None:
        self.values = list(values)

    def zero_(self) -> None:
        self.values = [0.0] * len(self.values)

    def clone(self) -> Tensor:
        return Tensor(*self.values)

    def copy_(self, other: Tensor) -> None:
        self.values = list(other.values)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(autouse=True)
def _as_before(clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Scripted time, a working folder for the log, and Triton as it was after every test."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RANK", raising=False)
    with on_clock(clock), triton_as_before():
        yield
    # The next tuner can run: none is active any more.
    assert contextual_autotune()(lambda: 5)() == 5


@pytest.fixture
def log(tmp_path: Path) -> Callable[[], list[dict[str, str]]]:
    """The lines of the log as dicts."""

    def read(rank: int = 0) -> list[dict[str, str]]:
        text = (tmp_path / ".autotune_logs" / f"rank-{rank}.log").read_text()
        lines = [line.split(" ", 1) for line in text.splitlines()]
        assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]+[+-]\d\d:\d\d", at) for at, _ in lines)
        return [dict(word.split("=", 1) for word in shlex.split(rest)) for _, rest in lines]

    return read


# -- C01 the callable ----------------------------------------------------------------------------


def test_C01_the_last_pass_runs_the_winners_and_gives_the_result(clock: Clock) -> None:
    kernel = autotuned(clock, [3.0, 1.0])
    passes: list[int] = []

    @contextual_autotune(n_repeat=3, n_warmup=2)
    def outer(n: int) -> tuple[int, str]:
        passes.append(n)
        return len(passes), kernel[GRID](Tensor(), n)

    assert isinstance(outer, ContextualAutoTuner)
    assert outer(7) == (11, "launched 1")
    assert len(passes) == 2 * (2 + 3) + 1
    assert kernel.fn.take_ran() == [0] * 5 + [1] * 5 + [1]
    assert outer(7) == (12, "launched 1")
    assert kernel.fn.take_ran() == [1]


def test_C01_results_of_earlier_passes_are_dropped_at_once(clock: Clock) -> None:
    kernel = autotuned(clock, [1.0, 2.0])
    results: list[weakref.ref[Tensor]] = []

    @contextual_autotune()
    def outer() -> Tensor:
        assert all(result() is None for result in results)
        kernel[GRID](Tensor(), 1)
        result = Tensor()
        results.append(weakref.ref(result))
        return result

    assert outer() is results[-1]()
    assert len(results) == N_PASSES


def test_C01_it_looks_like_the_function(clock: Clock) -> None:
    @contextual_autotune(n_repeat=2)
    def outer(x: int, *, alpha: float = 2.0) -> int:
        """Doc."""
        return x

    assert (outer.__name__, outer.__doc__, outer.__module__) == ("outer", "Doc.", __name__)
    assert outer.__wrapped__ is outer.fn
    assert list(inspect.signature(outer).parameters) == ["x", "alpha"]
    assert (outer.n_repeat, outer.n_warmup, outer.is_dist) == (2, 3, False)
    assert repr(outer) == f"<tdtune.ContextualAutoTuner {__name__}.{outer.__qualname__}>"
    assert copy.copy(outer) is outer
    assert copy.deepcopy(outer) is outer
    assert weakref.ref(outer)() is outer
    outer.note = 1
    assert outer.note == 1


@contextual_autotune()
def at_module_level(x: int) -> int:
    return x


def test_C01_it_pickles_by_its_name() -> None:
    assert pickle.loads(pickle.dumps(at_module_level)) is at_module_level


def test_C01_methods_are_bound() -> None:
    class Model:
        scale = 3

        @contextual_autotune()
        def forward(self, x: int) -> int:
            return self.scale * x

        @contextual_autotune()
        @classmethod
        def build(cls, x: int) -> tuple[type, int]:
            return cls, x

        @contextual_autotune()
        @staticmethod
        def plain(x: int) -> int:
            return x

    assert Model().forward(2) == 6
    assert Model.forward(Model(), 2) == 6
    assert Model.build(1) == (Model, 1)
    assert Model().plain(4) == 4
    assert contextual_autotune()(functools.partial(divmod, 7))(2) == (3, 1)


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({"n_repeat": 0}, ValueError),
        ({"n_warmup": -1}, ValueError),
        ({"n_repeat": 10**9}, ValueError),
        ({"n_repeat": 1.5}, TypeError),
        ({"n_warmup": "3"}, TypeError),
        ({"is_dist": 1}, TypeError),
    ],
)
def test_C01_wrong_settings_are_refused(settings: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error) as caught:
        contextual_autotune(**settings)(lambda: 1)
    assert error is TypeError or next(iter(settings)) in str(caught.value)


def test_C01_what_does_not_run_to_its_end_is_refused() -> None:
    async def coroutine() -> None: ...

    def generator() -> Iterator[int]:
        yield 1

    for function in (coroutine, generator, functools.partial(generator), 5):
        with pytest.raises(TypeError, match="the function to tune in"):
            contextual_autotune()(function)
    with pytest.raises(TypeError, match="parentheses"):
        contextual_autotune(lambda: 1)  # type: ignore[arg-type]


def test_C01_no_warmup_and_one_run_are_enough(clock: Clock) -> None:
    kernel = autotuned(clock, [2.0, 1.0, 3.0])

    @contextual_autotune(n_repeat=1, n_warmup=0)
    def outer() -> Any:
        return kernel[GRID](Tensor(), 1)

    assert outer() == "launched 1"
    assert kernel.fn.take_ran() == [0, 1, 2, 1]


# -- C02 what is found ---------------------------------------------------------------------------


def test_C02_kernels_share_the_passes(clock: Clock) -> None:
    first = autotuned(clock, [3.0, 1.0], name="first")
    second = autotuned(clock, [1.0, 2.0, 3.0], name="second")
    n_passes = 0

    @contextual_autotune(n_repeat=3, n_warmup=1)
    def outer() -> None:
        nonlocal n_passes
        n_passes += 1
        first[GRID](Tensor(), 1)
        second[GRID](Tensor(), 1)

    with kernels_as_before(first, second):
        outer()
    assert n_passes == 3 * 4 + 1
    assert first.fn.take_ran() == [0] * 4 + [1] * 4 + [1] * 4 + [1]
    assert second.fn.take_ran() == [0] * 4 + [1] * 4 + [2] * 4 + [0]


@pytest.mark.parametrize("appears", [2, 9, N_PASSES])
def test_C02_a_kernel_that_appears_late_is_tuned_too(clock: Clock, appears: int) -> None:
    early = autotuned(clock, [3.0, 1.0], name="early")
    late = autotuned(clock, [5.0, 2.0, 4.0], name="late")
    n_passes = 0

    @contextual_autotune()
    def outer() -> Any:
        nonlocal n_passes
        n_passes += 1
        early[GRID](Tensor(), 1)
        return late[GRID](Tensor(), 1) if n_passes >= appears else None

    assert outer() == "launched 1"
    assert list(chosen(early).values()) == [1]
    assert list(chosen(late).values()) == [1]
    assert n_passes == appears + 3 * 8


# -- C03 the winner ------------------------------------------------------------------------------


def test_C03_the_least_mean_of_the_timed_runs_wins(clock: Clock) -> None:
    def script(*costs: float) -> Callable[[dict[str, Any]], float]:
        left = iter(costs)
        return lambda values: next(left)

    # Warm-ups do not count; neither the best single run nor the last one decides.
    costs = [
        script(0.1, 0.1, 5.0, 5.0, 5.0),
        script(99.0, 99.0, 3.0, 4.0, 5.0, 1.0),
        script(0.1, 0.1, 0.1, 9.0, 6.0),
    ]
    kernel = autotuned(clock, costs)

    @contextual_autotune(n_repeat=3, n_warmup=2)
    def outer() -> Any:
        return kernel[GRID](Tensor(), 1)

    assert outer() == "launched 1"
    means = {config.kwargs["C"]: t for config, t in kernel.configs_timings.items()}
    assert [means[number][0] for number in range(3)] == pytest.approx([5.0, 4.0, 15.1 / 3])
    assert means[1] == pytest.approx([4.0, 3.4, 4.6])  # mean, and the quantiles Triton shows
    assert kernel.best_config is kernel.configs[1]
    assert kernel.cache == {(1, "float32"): kernel.configs[1]}
    assert min(kernel.configs_timings, key=kernel.configs_timings.get) is kernel.best_config


def test_C03_equal_times_go_to_the_first(clock: Clock) -> None:
    kernel = autotuned(clock, [2.0, 1.0, 1.0])
    contextual_autotune()(lambda: kernel[GRID](Tensor(), 1))()
    assert list(chosen(kernel).values()) == [1]


def test_C03_known_keys_and_single_configurations_just_run(clock: Clock) -> None:
    known = autotuned(clock, [3.0, 1.0])
    known.cache[(1, "float32")] = known.configs[0]
    single = autotuned(clock, [1.0], name="single")
    n_passes = 0

    @contextual_autotune()
    def outer() -> Any:
        nonlocal n_passes
        n_passes += 1
        single[GRID](Tensor(), 1)
        return known[GRID](Tensor(), 1)

    with kernels_as_before(known, single):
        assert outer() == "launched 0"
    assert n_passes == 1
    assert not {"start", "stop", "clear"} & set(clock.events)
    assert not Path(".autotune_logs").exists()


def test_C03_the_cache_is_cleared_before_timed_runs_and_outside_of_them(clock: Clock) -> None:
    kernel = autotuned(clock, [2.0, 1.0])

    @contextual_autotune(n_repeat=1, n_warmup=1)
    def outer() -> Any:
        return kernel[GRID](Tensor(), 1)

    outer()
    timed = ["clear", "start", "run 0", "stop"]
    assert clock.events[:5] == ["run 0", *timed]
    assert [timings[0] for timings in kernel.configs_timings.values()] == [2.0, 1.0]


# -- C04 keys ------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_repeat", [1, 2, 3, 4, 5])
def test_C04_case_X1_each_key_is_tuned_with_its_own_arguments(clock: Clock, n_repeat: int) -> None:
    def cost(best: int) -> Callable[[dict[str, Any]], float]:
        return lambda values: 1.0 if values["n"] == best else 5.0 + values["C"]

    kernel = autotuned(clock, [cost(10), cost(20), cost(30)])
    given: list[tuple[Any, int]] = []

    @contextual_autotune(n_repeat=n_repeat, n_warmup=2)
    def outer() -> None:
        for n in (20, 30, 10):
            x = Tensor(n)
            given.append((x, n))
            kernel[GRID](x, n)

    outer()
    assert chosen(kernel) == {(10, "float32"): 0, (20, "float32"): 1, (30, "float32"): 2}
    assert [(call["x"], call["n"]) for call in kernel.fn.calls] == given
    assert kernel.best_config is kernel.configs[0]  # the last launch's, as with Triton


def test_C04_the_same_key_twice_in_a_pass(clock: Clock) -> None:
    kernel = autotuned(clock, [3.0, 1.0])
    written: list[Any] = []
    kernel.fn.effect = lambda values: written.append(values["x"])
    n_passes = 0

    @contextual_autotune(n_repeat=5, n_warmup=2)
    def outer(xs: list[Tensor]) -> None:
        nonlocal n_passes
        n_passes += 1
        for x in xs:
            kernel[GRID](x, 1)
        assert written[-len(xs) :] == xs

    outer([Tensor(1.0), Tensor(2.0), Tensor(3.0)])
    assert n_passes == 5 + 1  # 14 launches, three in a pass
    assert chosen(kernel) == {(1, "float32"): 1}


def test_C04_kernels_of_one_name_do_not_mix(clock: Clock, log: Any) -> None:
    one = autotuned(clock, [3.0, 1.0], name="same")
    other = autotuned(clock, [1.0, 3.0], name="same")

    @contextual_autotune()
    def outer() -> None:
        one[GRID](Tensor(), 1)
        other[GRID](Tensor(), 1)

    outer()
    assert list(chosen(one).values()) == [1]
    assert list(chosen(other).values()) == [0]
    assert {line["kernel"] for line in log() if "kernel" in line} == {
        "kernels.same",
        "kernels.same#2",
    }


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        1.5,
        "text",
        (1, (2, "x")),
        float("nan"),
        b"\0",
        "\ud800\n",
        object(),
        Tensor(1.0),
    ],
    ids=lambda value: type(value).__name__,
)
def test_C04_a_key_may_hold_anything_that_triton_takes(clock: Clock, value: Any, log: Any) -> None:
    kernel = autotuned(clock, [3.0, 1.0])

    @contextual_autotune()
    def outer() -> Any:
        return kernel[GRID](Tensor(), value)

    assert outer() == "launched 1"
    assert kernel.fn.take_ran() == [0] * 8 + [1] * 9
    assert outer() == "launched 1"
    assert kernel.fn.take_ran() == [1]
    assert "0x" not in log()[0]["key"]


def test_C04_a_key_that_never_equals_itself_ends_all_the_same(clock: Clock) -> None:
    kernel = autotuned(clock, [3.0, 1.0])

    @contextual_autotune()
    def outer() -> Any:
        return kernel[GRID](Tensor(), float("nan"))

    assert outer() == "launched 1"
    assert kernel.fn.take_ran() == [0] * 8 + [1] * 9


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [
        ((Tensor(), 3), {}),
        ((Tensor(),), {"n": 3}),
        ((), {"n": 3, "x": Tensor()}),
        ((None, None), {}),
        ((Tensor(),), {}),
        ((Tensor(), 3), {"C0": 1}),
        ((Tensor(), Tensor()), {}),
    ],
)
def test_C04_keys_are_those_of_triton(clock: Clock, args: Any, kwargs: Any) -> None:
    def bench(call: Callable[[], object], **options: object) -> list[float]:
        call()
        return [1.0, 1.0, 1.0]

    names = ("x", "n", "C0")
    by_triton = autotuned(clock, [1.0, 2.0], arg_names=names, key=("n", "C0"), do_bench=bench)
    by_us = autotuned(clock, [1.0, 2.0], arg_names=names, key=("n", "C0"))
    by_triton[GRID](*args, **kwargs)
    contextual_autotune()(lambda: by_us[GRID](*args, **kwargs))()
    assert list(by_us.cache) == list(by_triton.cache)


# -- C06 the log ---------------------------------------------------------------------------------


def test_C06_the_log_holds_what_happened(clock: Clock, log: Any) -> None:
    kernel = autotuned(clock, [3.0, 1.0, 2.0])
    kernel.fn.failing[2] = lambda: ValueError('a "bad" one\nindeed')

    @contextual_autotune(n_repeat=2, n_warmup=1)
    def outer() -> Any:
        return kernel[GRID](Tensor(), 64)

    outer()
    lines = log()
    of_kernel = [line for line in lines if line["event"] not in ("pass",)]
    assert {line["kernel"] for line in of_kernel} == {"kernels.kernel"}
    assert {line["key"] for line in of_kernel} == {"(64, 'float32')"}
    timed = [line for line in lines if line["event"] == "run" and line["round"] == "timed"]
    assert [(line["config"], line["run"], float(line["ms"])) for line in timed] == [
        ("0", "1", 3.0),
        ("0", "2", 3.0),
        ("1", "1", 1.0),
        ("1", "2", 1.0),
    ]
    means = {line["config"]: float(line["mean_ms"]) for line in lines if line["event"] == "mean"}
    assert means == {"0": 3.0, "1": 1.0}
    (failed,) = [line for line in lines if line["event"] == "failed"]
    assert failed["config"] == "2"
    assert 'ValueError: a "bad" one' in failed["error"]
    (best,) = [line for line in lines if line["event"] == "best"]
    assert (best["config"], best["failed"]) == ("1", "1")
    assert json.loads(best["description"])["C"] == 1


def test_C06_it_is_appended_to_and_closed(clock: Clock, log: Any) -> None:
    kernel = autotuned(clock, [3.0, 1.0])
    outer = contextual_autotune()(lambda n: kernel[GRID](Tensor(), n))
    outer(1)
    n_lines = len(log())
    outer(1)
    assert len(log()) == n_lines  # nothing was tuned
    outer(2)
    assert len(log()) > n_lines
    open_files = [str(path.resolve()) for path in Path("/proc/self/fd").iterdir() if path.exists()]
    assert not [path for path in open_files if path.endswith(".log")]


@pytest.mark.parametrize(("rank", "name"), [("3", "rank-3"), ("", "rank-0"), ("x", "rank-0")])
def test_C06_the_rank_is_that_of_the_launcher(
    clock: Clock, monkeypatch: pytest.MonkeyPatch, rank: str, name: str
) -> None:
    monkeypatch.setenv("RANK", rank)
    kernel = autotuned(clock, [3.0, 1.0])
    contextual_autotune()(lambda: kernel[GRID](Tensor(), 1))()
    assert Path(f".autotune_logs/{name}.log").exists()


@pytest.mark.parametrize("what", ["folder", "file"])
def test_C06_case_E1_an_unwritable_log_is_a_warning(
    clock: Clock, what: str, caplog: pytest.LogCaptureFixture
) -> None:
    if what == "folder":
        Path(".autotune_logs").touch()
    else:
        Path(".autotune_logs/rank-0.log").mkdir(parents=True)
    kernel = autotuned(clock, [3.0, 1.0])
    with caplog.at_level(logging.WARNING, "tdtune"):
        assert contextual_autotune()(lambda: kernel[GRID](Tensor(), 1))() == "launched 1"
    (message,) = caplog.messages
    assert "rank-0.log" in message


def test_C06_a_full_disk_is_a_warning(clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    Path(".autotune_logs").mkdir()
    Path(".autotune_logs/rank-0.log").symlink_to("/dev/full")
    kernel = autotuned(clock, [3.0, 1.0])
    with caplog.at_level(logging.WARNING, "tdtune"):
        assert contextual_autotune()(lambda: kernel[GRID](Tensor(), 1))() == "launched 1"
    assert len([message for message in caplog.messages if "rank-0.log" in message]) >= 1


# -- C07, C10 failures ---------------------------------------------------------------------------


def bad_value() -> BaseException:
    return ValueError("no such tile")


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
    n_inside = 0
    most = 0
    lock = threading.Lock()

    @contextual_autotune()
    def outer() -> None:
        nonlocal n_inside, most
        with lock:
            n_inside += 1
            most = max(most, n_inside)
        time.sleep(0.02)
        with lock:
            n_inside -= 1

    refused: list[BaseException] = []

    def call() -> None:
        try:
            outer()
        except RuntimeError as error:
            refused.append(error)

    threads = [threading.Thread(target=call) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1
    assert 0 < len(refused) < 8


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


# -- C13 no record -------------------------------------------------------------------------------


def test_C13_no_record_is_written_and_there_is_no_pruning(clock: Clock, root: Path) -> None:
    kernel = autotuned(clock, [3.0, 1.0])
    contextual_autotune()(lambda: kernel[GRID](Tensor(), 1))()
    assert not root.exists()
    assert not hasattr(at_module_level, "record_path")
    with pytest.raises(TypeError, match="prune_fn"):
        contextual_autotune(prune_fn=None)  # type: ignore[call-arg]


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
