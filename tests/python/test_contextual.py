# SPDX-License-Identifier: MIT
"""Contextual tuning with Triton's own autotuner, pretended kernels and a scripted clock."""

from __future__ import annotations

import copy
import functools
import inspect
import json
import logging
import pickle
import re
import shlex
import weakref
from collections.abc import Callable, Iterator
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
    chosen,
    kernels_as_before,
)
from tdtune import ContextualAutoTuner
from triton_dist.autotuner import contextual_autotune

pytestmark = pytest.mark.usefixtures("triton_left_alone")


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
    assert clock.events[:8] == [*timed, *timed]  # a warm-up is done like a timed run
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


# -- C13 no record -------------------------------------------------------------------------------


def test_C13_no_record_is_written_and_there_is_no_pruning(clock: Clock, root: Path) -> None:
    kernel = autotuned(clock, [3.0, 1.0])
    contextual_autotune()(lambda: kernel[GRID](Tensor(), 1))()
    assert not root.exists()
    assert not hasattr(at_module_level, "record_path")
    with pytest.raises(TypeError, match="prune_fn"):
        contextual_autotune(prune_fn=None)  # type: ignore[call-arg]
