# SPDX-License-Identifier: MIT
"""What is checked when a function is decorated."""

import asyncio
import functools
import inspect
import warnings
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from tdtune._cold import blueprint


def key(*args: object, **kwargs: object) -> object:
    return None


def scale(x: object, alpha: object, cfg: object) -> object:
    return x


def fields(*names: str) -> list[dict[str, object]]:
    return [dict.fromkeys(names, 1)]


def test_F02_an_empty_space_is_refused() -> None:
    with pytest.raises(ValueError, match="config_space of scale is empty"):
        blueprint(scale, [], key, None)


@pytest.mark.parametrize(
    ("space", "text"),
    [
        ([{"cfg": 1}, 7], r"config_space\[1\] of scale must be a dict, but is a int"),
        ([{"cfg": 1}, [("cfg", 1)]], r"config_space\[1\]"),
        ([{"cfg": 1}, {"a b": 1}], r"config_space\[1\] of scale has the field 'a b'"),
        ([{1: 1}], r"config_space\[0\] of scale has the field 1"),
        ([{"": 1}], r"config_space\[0\]"),
        ({"cfg": [1, 2]}, "must be a list of dicts, but is of type dict"),
        ("cfg", "must be a list of dicts"),
        (None, "must be a list of dicts"),
        ([{"cfg": 1}, {"autotune": False}], r"config_space\[1\].*the tuner's own"),
    ],
)
def test_F02_a_space_that_is_none_is_refused(space: Any, text: str) -> None:
    with pytest.raises(TypeError, match=text):
        blueprint(scale, space, key, None)


def test_F02_values_are_the_callers_objects() -> None:
    value = [1]
    config: dict[str, object] = {"cfg": value}
    found = blueprint(scale, [config], key, None)
    config["more"] = 2
    assert found.candidates == ({"cfg": value},)
    assert found.candidates[0]["cfg"] is value
    assert found.configs == ('{"cfg": [1]}',)
    assert found.name == "scale"
    assert found.fn is scale


def test_F03_any_iterable_is_read_once() -> None:
    reads: list[int] = []

    def space() -> Iterator[dict[str, object]]:
        for n in range(3):
            reads.append(n)
            yield {"cfg": n}

    assert len(blueprint(scale, space(), key, None).candidates) == 3
    assert reads == [0, 1, 2]


def test_F03_what_the_iterable_raises_is_passed_on() -> None:
    def space() -> Iterator[dict[str, object]]:
        yield {"cfg": 1}
        raise LookupError("no more")

    with pytest.raises(LookupError, match="no more"):
        blueprint(scale, space(), key, None)


def positional(x: object, cfg: object, /, alpha: object = 1) -> None: ...
def anything(x: object, **kwargs: object) -> None: ...
def both(cfg: object, /, **kwargs: object) -> None: ...
def variadic(x: object, *cfg: object) -> None: ...


@pytest.mark.parametrize(
    ("fn", "field", "text"),
    [
        (scale, "block", r"config_space\[0\] has the field 'block', which scale\(.*no parameter"),
        (positional, "cfg", "by position only"),
        (variadic, "cfg", "further positional"),
        (functools.partial(scale, 1, 2, 3), "cfg", "no parameter"),
    ],
)
def test_F03_a_field_that_the_function_cannot_take(fn: Any, field: str, text: str) -> None:
    with pytest.raises(TypeError, match=text):
        blueprint(fn, fields(field), key, None)


def test_F03_the_second_candidate_is_checked_too() -> None:
    with pytest.raises(TypeError, match=r"config_space\[1\] has the field 'extra'"):
        blueprint(scale, [{"cfg": 1}, {"cfg": 1, "extra": 2}], key, None)


class Launcher:
    def __call__(self, x: object, cfg: object) -> None: ...
    def run(self, x: object, cfg: object) -> None: ...


@pytest.mark.parametrize(
    ("fn", "free", "names"),
    [
        (scale, 2, ("x", "alpha", "cfg")),
        (anything, 2**31 - 1, ("x",)),
        (both, 2**31 - 1, ("cfg",)),
        (lambda x, *args, cfg: x, 2**31 - 1, ("x",)),
        (lambda cfg, *args: cfg, 0, ("cfg", "args")[:1]),
        (functools.partial(scale, 1), 1, ("alpha", "cfg")),
        (functools.partial(scale, cfg=1), 2**31 - 1, ("x", "alpha")),
        (Launcher(), 1, ("x", "cfg")),
        (Launcher().run, 1, ("x", "cfg")),
        (Launcher.run, 2, ("self", "x", "cfg")),
        (max, 2**31 - 1, ()),
    ],
)
def test_F10_where_positional_arguments_meet_a_field(
    fn: Any, free: int, names: tuple[str, ...]
) -> None:
    found = blueprint(fn, fields("cfg"), key, None)
    assert (found.n_positional_free, found.positional_names) == (free, names)


def test_F10_fields_of_every_candidate_count() -> None:
    def two(x: object, a: object = 0, b: object = 0) -> None: ...

    assert blueprint(two, [{"b": 1}, {"a": 1}], key, None).n_positional_free == 1


def test_F03_wrappers_are_asked_too() -> None:
    @functools.wraps(scale)
    def passes_on(*args: Any, **kwargs: Any) -> object:
        return scale(*args, **kwargs)

    @functools.wraps(scale)
    def takes_block(*args: Any, block: int, **kwargs: Any) -> object:
        return scale(*args, **kwargs)

    blueprint(passes_on, fields("cfg"), key, None)
    blueprint(takes_block, fields("cfg", "block"), key, None)
    with pytest.raises(TypeError, match="'block'"):
        blueprint(passes_on, fields("block"), key, None)


@pytest.mark.parametrize(
    ("fn", "key_fn", "prune_fn", "text"),
    [
        (7, key, None, "the function to tune must be callable, but is of type int"),
        (scale, None, None, "key_fn of scale must be callable"),
        (scale, (1,), None, "key_fn of scale must be callable"),
        (scale, key, True, "prune_fn of scale must be callable"),
        (property(lambda self: self), key, None, "must be callable"),
    ],
)
def test_F02_what_must_be_callable(fn: Any, key_fn: Any, prune_fn: Any, text: str) -> None:
    with pytest.raises(TypeError, match=text):
        blueprint(fn, fields("cfg"), key_fn, prune_fn)


async def coroutine(x: object, cfg: object) -> None: ...
async def async_generator(x: object, cfg: object) -> AsyncIterator[int]:
    yield 1


def generator(x: object, cfg: object) -> Iterator[int]:
    yield 1


class AsyncCall:
    async def __call__(self, x: object, cfg: object) -> None: ...
    async def run(self, x: object, cfg: object) -> None: ...
    def steps(self, x: object, cfg: object) -> Iterator[int]:
        yield 1


@functools.wraps(coroutine)
def wrapper(*args: Any, **kwargs: Any) -> Any:
    return coroutine(*args, **kwargs)


UNTIMED = [
    (coroutine, "coroutine function"),
    (generator, "is a generator function"),
    (async_generator, "asynchronous generator"),
    (functools.partial(coroutine, cfg=1), "coroutine function"),
    (functools.partial(functools.partial(generator, 1), 2), "generator function"),
    (functools.partial(async_generator), "asynchronous generator"),
    (wrapper, "coroutine function"),
    (functools.partial(wrapper, 1), "coroutine function"),
    (AsyncCall(), "coroutine function"),
    (functools.partial(AsyncCall(), 1), "coroutine function"),
    (AsyncCall().run, "coroutine function"),
    (AsyncCall().steps, "generator function"),
]


@pytest.mark.parametrize(("fn", "kind"), UNTIMED)
def test_case_T2_functions_that_return_before_the_work_is_done(fn: Any, kind: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # "was never awaited" above all
        with pytest.raises(TypeError, match=kind):
            blueprint(fn, fields("cfg"), key, None)
        with pytest.raises(TypeError, match="key_fn of scale"):
            blueprint(scale, fields("cfg"), fn, None)
        with pytest.raises(TypeError, match="prune_fn of scale"):
            blueprint(scale, fields("cfg"), key, fn)


def test_F21_plain_functions_that_run_a_loop_are_fine() -> None:
    def runs(x: object, cfg: object) -> None:
        asyncio.run(coroutine(x, cfg))

    assert blueprint(runs, fields("cfg"), key, None).name == "runs"
    assert inspect.iscoroutinefunction(coroutine)


def test_F05_a_value_without_description_names_its_candidate() -> None:
    with pytest.raises(TypeError, match=r"config_space\[1\]\['cfg'\] is of type object"):
        blueprint(scale, [{"cfg": 1}, {"cfg": object()}], key, None)
