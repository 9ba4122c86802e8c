# SPDX-License-Identifier: MIT
"""The texts of keys and configurations."""

import collections
import copy
import dataclasses
import datetime
import decimal
import enum
import fractions
import functools
import json
import math
import pathlib
import textwrap
import threading
from typing import Any, NamedTuple

import pytest
from conftest import MakeModule, RunPython
from hypothesis import given, settings
from hypothesis import strategies as st
from tdtune._cold import describe_config, describe_key

# About how the strategies below would look in print.
pytestmark = pytest.mark.filterwarnings("ignore::hypothesis.errors.HypothesisWarning")


class Color(enum.Enum):
    RED = 1
    GREEN = 2


class Level(enum.IntEnum):
    LOW = 1


class Mode(enum.Flag):
    A = 1
    B = 2


@dataclasses.dataclass
class Point:
    x: object
    y: object = 0


@dataclasses.dataclass
class Cached:
    n: int
    handle: object = dataclasses.field(default=None, compare=False)


class Pair(NamedTuple):
    left: object
    right: object


class Number(int):
    pass


class Opaque:
    """Known by its address only."""


class Speaking:
    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


class Symbol:
    """Like a symbolic size: a number on request, and no repr of its own."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __index__(self) -> int:
        return self.value


class Settings:
    def __init__(self, **held: object) -> None:
        self.__dict__.update(held)


def double(x: int) -> int:
    return 2 * x


def adder(n: object) -> Any:
    return lambda x: x + n


PLAIN_KEYS: list[tuple[object, str]] = [
    (((262144,), "torch.float32"), "((262144,), 'torch.float32')"),
    (None, "None"),
    (..., "Ellipsis"),
    (True, "True"),
    (1, "1"),
    (1.0, "1.0"),
    (-0.0, "-0.0"),
    (math.inf, "inf"),
    (math.nan, "nan"),
    (2**100, str(2**100)),
    ("it's", '"it\'s"'),
    (b"\0a", "b'\\x00a'"),
    ((), "()"),
    ([1, [2]], "[1, [2]]"),
    ({}, "{}"),
    (set(), "set()"),
    ({"b": 1, "a": (2,)}, "{'a': (2,), 'b': 1}"),
    (frozenset({3, 1, 2}), "frozenset({1, 2, 3})"),
    (range(3), "range(0, 3)"),
    (Point(1, "a"), f"{__name__}.Point(x=1, y='a')"),
    (Pair(1, 2), f"{__name__}.Pair(left=1, right=2)"),
    (Color.RED, f"<enum {__name__}.Color.RED>"),
    (int, "<class int>"),
]


@pytest.mark.parametrize(("key", "text"), PLAIN_KEYS)
def test_F05_plain_keys_look_like_their_repr(key: object, text: str) -> None:
    assert describe_key(key) == text


# Every pair of these must differ, as keys and as values of a configuration.
DISTINCT: list[object] = [
    None,
    ...,
    True,
    False,
    0,
    1,
    1.0,
    0.0,
    -0.0,
    math.inf,
    -math.inf,
    math.nan,
    2**63 - 1,
    2**63,
    2**20000,
    2**20000 + 1,
    1j,
    complex(0.0, 1.0) * -1,
    "1",
    "",
    "None",
    "nan",
    "\0",
    "\\x00",
    "\ud800",
    "\\ud800",
    "中",
    b"1",
    b"",
    bytearray(b"1"),
    (),
    (1,),
    [1],
    [],
    ((1,),),
    (1, 2),
    (12,),
    ("1, 2",),
    {},
    set(),
    frozenset(),
    {1},
    frozenset({1}),
    {1: 2},
    {"1": 2},
    {"type": "tuple", "items": [1]},
    {"type": "int", "value": "9223372036854775808"},
    [["type", 1]],
    {"type": 1},
    {1: {"type": 1}},
    collections.OrderedDict([("a", 1), ("b", 2)]),
    collections.OrderedDict([("b", 2), ("a", 1)]),
    {"a": 1, "b": 2},
    Color.RED,
    Color.GREEN,
    Level.LOW,
    Mode.A,
    Mode.A | Mode.B,
    Number(1),
    Point(1),
    Point(1, 1),
    Pair(1, 0),
    Symbol(1),
    Symbol(2),
    Speaking("1"),
    Speaking("None"),
    Speaking("(1, 2)"),
    int,
    float,
    Color,
    double,
    len,
    "abc".upper,
    adder(1),
    adder(2),
    functools.partial(double, 1),
    functools.partial(double, 2),
    functools.partial(double, x=1),
    slice(1),
    slice(1, None, 2),
    range(2),
    range(0, 4, 3),
    pathlib.PurePosixPath("1"),
    fractions.Fraction(1, 3),
    decimal.Decimal("1"),
    decimal.Decimal("1.0"),
    datetime.date(2020, 1, 1),
    datetime.datetime(2020, 1, 1),
    datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone.utc),
    datetime.timedelta(1),
    list[int],
    math,
]


@pytest.mark.parametrize("wrap", [lambda v: v, lambda v: [v, Color.RED]], ids=["bare", "nested"])
def test_F05_different_keys_have_different_texts(wrap: Any) -> None:
    texts = [describe_key(wrap(key)) for key in DISTINCT]
    assert len(set(texts)) == len(texts)
    for text in texts:
        assert "\0" not in text
        text.encode("utf-8")


def test_case_S1_different_values_have_different_configs() -> None:
    texts = [describe_config({"v": value}) for value in DISTINCT]
    canonical = {json.dumps(json.loads(text), sort_keys=True) for text in texts}
    assert len(canonical) == len(DISTINCT)
    for text in texts:
        assert "\0" not in text
        assert "\\u0000" not in text
        text.encode("utf-8")


plain = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.text("\ud800\0\\'a中")
    | st.binary()
)
hashables = st.recursive(
    plain, lambda inner: st.tuples(inner) | st.tuples(inner, inner) | st.frozensets(inner)
)
anything = st.recursive(
    hashables,
    lambda inner: (
        st.lists(inner)
        | st.sets(hashables)
        | st.dictionaries(hashables, inner)
        | st.builds(Point, inner, inner)
    ),
    max_leaves=12,
)


def same(a: object, b: object) -> bool:
    """Tell whether two values are equal, and of equal types, all the way down."""
    if type(a) is not type(b):
        return False
    if isinstance(a, float):
        return repr(a) == repr(b)
    if isinstance(a, Point) and isinstance(b, Point):
        return same([a.x, a.y], [b.x, b.y])
    if isinstance(a, (tuple, list)) and isinstance(b, (tuple, list)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return same_sets(list(a.items()), list(b.items()))
    if isinstance(a, (set, frozenset)) and isinstance(b, (set, frozenset)):
        return same_sets(list(a), list(b))
    return a == b


def same_sets(a: list[Any], b: list[Any]) -> bool:
    return len(a) == len(b) and all(any(same(x, y) for y in b) for x in a)


@given(anything, anything)
@settings(max_examples=150, deadline=None)
def test_F05_key_texts_are_equal_only_for_equal_keys(a: object, b: object) -> None:
    assert (describe_key(a) == describe_key(b)) == same(a, b)


@given(anything, anything)
@settings(max_examples=150, deadline=None)
def test_case_S1_config_texts_are_equal_only_for_equal_values(a: object, b: object) -> None:
    def canonical(value: object) -> str:
        text = describe_config({"v": value})
        return json.dumps(json.loads(text.encode("utf-8")), sort_keys=True)

    assert (canonical(a) == canonical(b)) == same(a, b)


@given(anything)
@settings(max_examples=150, deadline=None)
def test_F05_equal_keys_have_equal_texts(key: object) -> None:
    again = copy.deepcopy([key, {"k": key}])
    assert describe_key(again) == describe_key([key, {"k": key}])
    assert describe_config({"v": again[0]}) == describe_config({"v": key})


@given(st.lists(hashables, unique=True), st.randoms(use_true_random=False))
def test_F05_order_of_sets_and_dicts_does_not_count(items: list[Any], shuffler: Any) -> None:
    shuffled = list(items)
    shuffler.shuffle(shuffled)
    assert describe_key(dict.fromkeys(items)) == describe_key(dict.fromkeys(shuffled))
    assert describe_key(set(items)) == describe_key(set(shuffled))
    first, second = dict.fromkeys(items, 1), dict.fromkeys(shuffled, 1)
    assert describe_config({"v": first}) == describe_config({"v": second})


def test_case_K1_nan_is_one_key() -> None:
    assert describe_key((float("nan"), 1)) == describe_key((-math.nan, 1))


@pytest.mark.parametrize(
    ("key", "place"),
    [
        (Opaque(), "key is of type"),
        ([{"cfg": Point(Opaque())}], "key[0]['cfg'].x is of type"),
        ((1, {2: [Opaque()]}), "key[1][2][0] is of type"),
        ({Opaque(): 1}, "key{key} is of type"),
        ({1, Opaque()}, "key{...} is of type"),
        (Speaking("<thing at 0x7f3a12cd>"), "key is of type"),
        (functools.partial(describe_key, Opaque()), "key.args[0] is of type"),
        (Opaque().__repr__, "key"),
        (adder(threading.Lock()), "closure variable n"),
    ],
)
def test_F05_an_address_is_refused_with_its_place(key: object, place: str) -> None:
    with pytest.raises(TypeError) as caught:
        describe_key(key)
    assert place in str(caught.value)


@pytest.mark.parametrize("spelling", ["{:#x}", "{:x}", "{:X}", "{}"])
def test_F05_an_address_in_disguise_is_refused(spelling: str) -> None:
    key = Speaking("")
    key.text = f"Buffer({spelling.format(id(key))})"
    with pytest.raises(TypeError, match="memory address"):
        describe_key(key)
    assert "Register(0x1f)" in describe_key(Speaking("Register(0x1f)"))


def test_F05_a_repr_that_fails_is_refused() -> None:
    class Broken:
        def __repr__(self) -> str:
            raise RuntimeError("no")

    with pytest.raises(TypeError, match=r"key\[1\] is of type"):
        describe_key((1, Broken()))


def test_F05_only_what_compares_is_part_of_a_key() -> None:
    assert describe_key(Cached(1, object())) == describe_key(Cached(1))
    with pytest.raises(TypeError, match=r"config\['v'\].handle"):
        describe_config({"v": Cached(1, object())})


def test_case_K1_containers_that_contain_themselves_are_refused() -> None:
    ring: list[object] = [1]
    ring.append({"ring": ring})
    with pytest.raises(TypeError, match=r"key\[1\]\['ring'\] contains itself"):
        describe_key(ring)
    loop = Settings()
    loop.__dict__["self"] = loop
    with pytest.raises(TypeError, match="contains itself"):
        describe_config({"v": loop})
    twice = [1]
    assert describe_key([twice, twice]) == "[[1], [1]]"


def test_case_K1_deep_nesting_is_an_error_with_a_sentence() -> None:
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep, Color.RED]
    with pytest.raises(TypeError, match="key is nested too deeply"):
        describe_key(deep)


def test_case_K1_a_tensor_is_refused_with_the_remedy() -> None:
    numpy = pytest.importorskip("numpy")
    torch = pytest.importorskip("torch")
    for tensor in (torch.ones(3), torch.tensor(1.0), numpy.ones(3), numpy.ones(())):
        with pytest.raises(TypeError, match=r"key\[0\] is a tensor .*to_hashable"):
            describe_key((tensor,))
        with pytest.raises(TypeError, match=r"config_space\[3\]\['v'\] is a tensor .*argument"):
            describe_config({"v": tensor}, "config_space[3]")


def test_case_K1_long_keys_are_described_whole() -> None:
    # Anything that grows faster than the key would not end in the time a test run has.
    for key in ("x" * 10_000_000, tuple(range(1_000_000)), [(i, "x") for i in range(200_000)]):
        assert describe_key(key) == repr(key)


TWO_PROCESSES = """
import collections, enum, functools, math, sys
from tdtune._cold import describe_config, describe_key
import zoo
for key in zoo.KEYS:
    print(describe_key(key))
    print(describe_config({"v": key}))
"""

ZOO = """
import collections, dataclasses, enum, functools, math, pathlib
class Color(enum.Enum):
    RED = 1
@dataclasses.dataclass(frozen=True)
class Point:
    x: object
class Sym:
    def __index__(self): return 7
def double(x, words=frozenset({"b", "a"})):
    return x in {"alpha", "beta", "gamma"}
def make(n):
    return lambda x: x in {"one", "two"} or n
KEYS = [
    {"alpha", "beta", "gamma", 1, 2.5, None, Color.RED, Point(1)},
    {c: {c + "x", c + "y"} for c in "hgfedcba"},
    frozenset({("a", 1), ("b", 2), frozenset({"x", "y", "z"})}),
    [math.nan, -0.0, math.inf, 2**100, b"\\0", "\\ud800", ..., None],
    (Color.RED, Point({"x", "y"}), Sym(), Color, int),
    (double, make(3), functools.partial(double, words={"p", "q"}), len, "x".join),
    pathlib.PurePosixPath("a/b"),
    collections.Counter("banana"),
]
"""


def test_case_K1_texts_are_the_same_in_another_process(
    run_python: RunPython, make_module: MakeModule
) -> None:
    make_module("zoo", ZOO)
    import zoo  # type: ignore[import-not-found]

    here = "".join(f"{describe_key(k)}\n{describe_config({'v': k})}\n" for k in zoo.KEYS)
    assert here.isprintable() or "\n" in here
    for seed in (1, 2):
        assert run_python(TWO_PROCESSES, seed=seed) == here


DTYPES = """
import sys
import torch
from tdtune._cold import describe_key
names = sorted(n for n in dir(torch) if isinstance(getattr(torch, n), torch.dtype))
keys = [getattr(torch, n) for n in names]
keys += [torch.Size([1, 2]), torch.device("cuda:1"), torch.device("cpu"), torch.strided]
keys += [torch.channels_last, torch.Tensor, (torch.Size([]), (torch.float32, ...))]
for key in keys:
    print(describe_key(key))
"""


def test_case_S3_torch_keys_are_the_same_in_another_process(run_python: RunPython) -> None:
    torch = pytest.importorskip("torch")
    first, second = run_python(DTYPES, seed=1), run_python(DTYPES, seed=2)
    assert first == second
    for name in ("float32", "int8", "bool", "complex64", "float8_e4m3fn"):
        assert f"torch.{name}\n" in first
    assert describe_key(torch.Size([1, 2])) == "torch.Size([1, 2])" in first
    assert describe_key(torch.Size([1, 2])) != describe_key((1, 2))
    assert describe_key(torch.float) == describe_key(torch.float32) == "torch.float32"
    assert describe_key(torch.float32) != describe_key("torch.float32")


def test_case_S3_numpy_keys() -> None:
    numpy = pytest.importorskip("numpy")
    scalars = [kind(1) for kind in (numpy.int8, numpy.int32, numpy.int64, numpy.uint8)]
    scalars += [kind(1) for kind in (numpy.float16, numpy.float32, numpy.float64)]
    scalars += [numpy.bool_(True), numpy.complex64(1), numpy.str_("1"), numpy.bytes_(b"1")]
    scalars += [numpy.longdouble(1), numpy.datetime64("2020-01-01"), numpy.datetime64("2020")]
    keys = [*scalars, *(scalar.dtype for scalar in scalars[:-2]), numpy.float32, 1, 1.0, True, "1"]
    keys += [numpy.float64("nan"), numpy.float64(-0.0), numpy.dtype([("a", "i4")])]
    texts = [describe_key(key) for key in keys]
    assert len(set(texts)) == len(texts)
    assert describe_key(numpy.float32(0.1)) == describe_key(numpy.array([0.1], "float32")[0])


class TensorLike:
    """An array of a library that nobody here has heard of."""

    def __array__(self) -> None:
        raise AssertionError("must not be converted")


def test_case_K1_arrays_of_other_libraries_are_tensors() -> None:
    with pytest.raises(TypeError, match="tensor"):
        describe_key(TensorLike())


# Configurations


def loaded(config: dict[str, object]) -> Any:
    return json.loads(describe_config(config))


def test_case_S1_json_values_are_themselves() -> None:
    config: dict[str, object] = {
        "type": "a field's own name",
        "tile": 32,
        "f": 0.1,
        "big": 1e300,
        "none": None,
        "on": True,
        "list": [1, {"a": "中"}],
    }
    assert loaded(config) == config


def test_case_S1_other_types_say_what_they_are() -> None:
    found = loaded({"t": (1, "a"), "s": {2, 1}, "p": Point((1,)), "b": b"\xff", "e": Color.RED})
    assert found == {
        "t": {"type": "tuple", "items": [1, "a"]},
        "s": {"type": "set", "items": [1, 2]},
        "p": {"type": f"{__name__}.Point", "x": {"type": "tuple", "items": [1]}, "y": 0},
        "b": {"type": "bytes", "hex": "ff"},
        "e": {"type": "enum", "value": f"{__name__}.Color.RED"},
    }


def test_case_S1_objects_are_their_attributes() -> None:
    assert loaded({"v": Settings(b=1, a=[2])}) == {
        "v": {"type": f"{__name__}.Settings", "a": [2], "b": 1}
    }
    tricky = loaded({"v": Settings(type=1)})["v"]
    assert tricky == {"type": f"{__name__}.Settings", "fields": {"type": 1}}
    assert loaded({"v": Settings()}) == {"v": {"type": f"{__name__}.Settings"}}

    class Slotted:
        __slots__ = ("a", "b")

        def __init__(self) -> None:
            self.a = 3

    assert loaded({"v": Slotted()})["v"]["a"] == 3


def test_case_S1_a_repr_stands_in_for_attributes_that_cannot_be_described() -> None:
    thing = Speaking("Plan(7)")
    thing.__dict__["lock"] = threading.Lock()
    assert loaded({"v": thing})["v"]["value"] == "Plan(7)"


def test_F05_a_config_known_by_its_address_is_refused_with_its_place() -> None:
    with pytest.raises(TypeError, match=r"config_space\[2\]\['cfg'\]\.handle is of type object"):
        describe_config({"cfg": Settings(handle=object())}, "config_space[2]")


def hook(args: object) -> None:
    del args


def test_case_S1_triton_configs_list_their_fields() -> None:
    triton = pytest.importorskip("triton")
    found = loaded({"cfg": triton.Config({"BLOCK": 256}, num_warps=8, pre_hook=hook)})["cfg"]
    assert found["type"] == "triton.Config"
    assert found["kwargs"] == {"BLOCK": 256}
    assert found["num_warps"] == 8
    assert found["pre_hook"]["value"].startswith(f"{__name__}.hook ")
    assert "maxnreg" not in found
    one, two = triton.Config({"B": 1}), triton.Config({"B": 1}, num_warps=2)
    assert loaded({"cfg": one}) != loaded({"cfg": two})
    assert describe_key(one) != describe_key(two)
    assert describe_key(one) == describe_key(triton.Config({"B": 1}))


def test_case_S1_a_stand_in_config_of_another_triton_counts_too() -> None:
    class Config:
        def __init__(self) -> None:
            self.kwargs = {"B": 1}
            self.num_warps = 4
            self.multibuffer = True

    Config.__module__ = "triton.runtime.autotuner"
    found = loaded({"cfg": Config()})["cfg"]
    assert found == {
        "type": "triton.Config",
        "kwargs": {"B": 1},
        "num_warps": 4,
        "multibuffer": True,
    }


def test_F05_a_function_is_known_by_its_code_and_closure(make_module: MakeModule) -> None:
    text = textwrap.dedent("""
        def make(n):
            def act(x):
                return x * n
            return act
        """)
    first = make_module("acts", text)
    keys = [first.make(1), first.make(2)]
    again = make_module("acts", text)
    assert describe_key(again.make(1)) == describe_key(keys[0]) != describe_key(keys[1])
    edited = make_module("acts", text.replace("x * n", "x + n"))
    assert describe_key(edited.make(1)) != describe_key(keys[0])
