# SPDX-License-Identifier: MIT
"""B07: the ready-made key function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from stand_ins import Stage, run_script
from stand_ins import stage as the_stage
from tdtune import AutoTuner, autotune, by_layout, to_hashable
from tdtune.describe import describe_key

torch: Any = pytest.importorskip("torch")
numpy: Any = pytest.importorskip("numpy")

TILES = [{"tile": 1}, {"tile": 2}]


def work(x: Any, w: Any = None, n: int = 3, *, mode: str = "a", tile: int = 0) -> int:
    the_stage.run(tile)
    return tile


def make(*names: str, fn: Callable[..., Any] = work) -> AutoTuner:
    return AutoTuner(fn, TILES, by_layout(*names), warmup=0, repeat=1)


def test_B07_the_key_of_one_tensor_is_what_to_hashable_returns() -> None:
    key_fn = make("x").key_fn
    tensors = [
        torch.ones(4, 6),
        torch.ones(4, 6).t(),
        torch.ones(4, 6, dtype=torch.bfloat16),
        torch.ones(()),
        torch.nn.Parameter(torch.ones(2)),
        torch.ones(1, device="meta"),
    ]
    for tensor in tensors:
        key = key_fn(tensor)
        assert key == to_hashable(tensor)
        assert describe_key(key) == describe_key(to_hashable(tensor))
    assert len({key_fn(tensor) for tensor in tensors}) == len(tensors)


def test_B07_the_key_of_an_array_is_what_to_hashable_returns() -> None:
    key_fn = make("x").key_fn
    for array in (numpy.ones((4, 6), "float32"), numpy.ones((4, 6)).T, numpy.ones(3)[::2]):
        assert key_fn(array) == to_hashable(array)
        assert describe_key(key_fn(array)) == describe_key(to_hashable(array))


def test_B07_what_is_no_tensor_counts_by_its_value() -> None:
    key_fn = make("x").key_fn
    shaped = type("Shaped", (), {"shape": (1,), "dtype": 2})()
    for value in (3, 3.0, "x", None, (1, 2), [1], numpy.float32(2), torch.float32, int, shaped):
        assert key_fn(value) is value


def test_B07_several_names_make_a_tuple_in_their_order() -> None:
    x, w = torch.ones(4), torch.ones(2, 2)
    assert make("w", "n", "x").key_fn(x, w) == (to_hashable(w), 3, to_hashable(x))


def test_B07_the_key_is_the_same_however_an_argument_is_passed() -> None:
    x, w = torch.ones(4), torch.ones(2, 2)
    key_fn = make("x", "w", "n", "mode").key_fn
    key = key_fn(x, w, 5, mode="b")
    assert key == (to_hashable(x), to_hashable(w), 5, "b")
    copied = "".join(["mo", "de"])  # another text than the one the code names
    assert key == key_fn(x, w, n=5, **{copied: "b"})
    assert key == key_fn(mode="b", n=5, w=w, x=x)
    assert key_fn(x) == key_fn(x, None, 3, mode="a") == (to_hashable(x), None, 3, "a")


def test_B07_a_default_that_is_a_tensor() -> None:
    ones = torch.ones(3)

    def own(x: Any, scale: Any = ones, *, tile: int) -> None:
        the_stage.run(tile)

    assert make("scale", fn=own).key_fn(0) == to_hashable(ones)


def test_B07_arguments_by_position_only_and_among_others() -> None:
    def own(x: Any, /, y: Any, *rest: Any, tile: int, **more: Any) -> None:
        the_stage.run(tile)

    key_fn = make("x", "z", fn=own).key_fn
    assert key_fn(1, 2, 3, z=4, x=5) == (1, 4)
    with pytest.raises(TypeError, match=r"own\(\) lacks the argument 'z'"):
        key_fn(1, 2)


def test_B07_hits_and_misses(stage: Stage) -> None:
    tuned = make("x", "n")
    x = torch.ones(4, 6)
    tuned(x, n=1)
    assert len(stage.take_ran()) == len(TILES) + 1
    tuned(torch.zeros(4, 6), None, 1, autotune_verbose=False)
    tuned(x=torch.zeros(4, 6), n=1, mode="other", autotune=True)
    assert len(stage.take_ran()) == 2
    for changed in (x.t(), x.double(), x[:3]):
        tuned(changed, n=1)
        assert len(stage.take_ran()) == len(TILES) + 1
    tuned(x)
    assert len(stage.take_ran()) == len(TILES) + 1


def test_B07_methods(stage: Stage) -> None:
    class Layer:
        @autotune(TILES, by_layout("x"), warmup=0, repeat=1)
        def run(self, x: Any, *, tile: int) -> int:
            return int(the_stage.run(tile))

        @staticmethod
        def never(x: Any) -> None: ...

    Layer().run(torch.ones(3))
    stage.take_ran()
    Layer().run(x=torch.ones(3))
    assert len(stage.take_ran()) == 1


def test_B07_one_for_several_functions() -> None:
    def other(first: Any, x: Any, *, tile: int) -> None:
        the_stage.run(tile)

    key_fn = by_layout("x")
    one, two = AutoTuner(work, TILES, key_fn), AutoTuner(other, TILES, key_fn)
    assert one.key_fn(1, 2) == 1
    assert two.key_fn(1, 2) == 2
    assert repr(one.key_fn) == "by_layout('x') of work"
    assert repr(key_fn) == "by_layout('x')"
    with pytest.raises(TypeError, match=r"by_layout\('x'\) is a key function for autotune"):
        key_fn(1)


def test_B07_a_name_that_is_no_parameter() -> None:
    with pytest.raises(
        TypeError, match=r"by_layout\('y', 'x', 'z'\): work\(.* no parameter 'y', 'z'"
    ):
        make("y", "x", "z")

    def own(*args: Any, tile: int, **kwargs: Any) -> None: ...

    with pytest.raises(TypeError, match=r"no parameter 'args', 'kwargs'"):
        make("args", "kwargs", fn=own)
    with pytest.raises(TypeError, match="parameters of print are not known"):
        AutoTuner(_without_signature(), [{"end": "a"}], by_layout("x"))


def _without_signature() -> Any:
    class Print:
        __name__ = "print"
        __signature__ = "none"

        def __call__(self, *args: Any, **kwargs: Any) -> None: ...

    return Print()


def test_B07_a_name_that_the_candidates_set() -> None:
    with pytest.raises(TypeError, match=r"'tile' of work is for the candidates to set"):
        make("x", "tile")


def test_B07_what_names_are() -> None:
    with pytest.raises(TypeError, match="at least one argument"):
        by_layout()
    with pytest.raises(TypeError, match="names of arguments, not 3"):
        by_layout("x", 3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="unexpected keyword argument 'y'"):
        by_layout("x", y="z")  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="'x' twice"):
        by_layout("x", "y", "x")
    assert by_layout("x", "y").names == ("x", "y")


def test_B07_an_error_of_a_tensor_is_the_callers() -> None:
    class Broken:
        shape = (1,)
        dtype = "float"

        def stride(self) -> None:
            raise ArithmeticError("no stride")

    with pytest.raises(ArithmeticError, match="no stride"):
        make("x").key_fn(Broken())
    with pytest.raises(ArithmeticError, match="no stride"):
        make("n", "x").key_fn(Broken())


def test_B07_many_types() -> None:
    """More than are remembered at a time."""
    key_fn = make("x").key_fn
    kinds = [type(f"Kind{i}", (numpy.ndarray,), {}) for i in range(20)]
    for kind in [*kinds, *kinds]:
        assert key_fn(numpy.ones(3).view(kind)) == ((3,), (8,), numpy.dtype("float64"))
        assert key_fn(3) == 3


def test_B07_nothing_is_left() -> None:
    script = """
        import gc, sys
        import numpy
        from tdtune import AutoTuner, by_layout

        def fn(x, w=None, *, tile): ...

        array = numpy.ones((3, 4))
        key_fn = AutoTuner(fn, [{"tile": 1}], by_layout("x", "w")).key_fn

        def work():
            for _ in range(2000):
                key_fn(array, w=array)
                key_fn(array)
                try:
                    key_fn()
                except TypeError:
                    pass
            for _ in range(100):
                AutoTuner(fn, [{"tile": 1}], by_layout("x")).key_fn(array)

        for _ in range(12):
            before = sys.getallocatedblocks(), sys.getrefcount(array), sys.getrefcount(array.dtype)
            work()
            gc.collect()
            after = sys.getallocatedblocks(), sys.getrefcount(array), sys.getrefcount(array.dtype)
            assert after[1:] == before[1:], (before, after)
            if after[0] - before[0] < 50:
                break
        else:
            raise AssertionError((before, after))
        print("clean")
    """
    assert run_script(script).strip() == "clean"
