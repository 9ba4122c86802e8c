# SPDX-License-Identifier: MIT
"""Tuned functions as methods, and as objects."""

from __future__ import annotations

import copy
import functools
import gc
import inspect
import operator
import pickle
import weakref
from typing import Any

import pytest
from stand_ins import Stage, Tensor
from stand_ins import stage as the_stage
from tdtune import AutoTuner, autotune

TILES = [{"tile": 1}, {"tile": 2}]


def tuned() -> Any:
    return autotune(TILES, key_fn=lambda *args, **kwargs: len(args), warmup=0, repeat=1)


class Base:
    def __init__(self) -> None:
        self.seen: list[int] = []

    @tuned()
    def method(self, x: Any, tile: int) -> tuple[Base, int]:
        """Says hello."""
        return self, the_stage.run(tile)

    @classmethod
    @tuned()
    def of_class(cls, x: Any, tile: int) -> tuple[type, int]:
        return cls, the_stage.run(tile)

    @staticmethod
    @tuned()
    def static(x: Any, tile: int) -> int:
        return the_stage.run(tile)

    @tuned()
    @classmethod
    def of_class_inside(cls, x: Any, tile: int) -> tuple[type, int]:
        return cls, the_stage.run(tile)

    @tuned()
    @staticmethod
    def static_inside(x: Any, tile: int) -> int:
        return the_stage.run(tile)


class Derived(Base):
    pass


class Overriding(Base):
    @tuned()
    def method(self, x: Any, tile: int) -> Any:
        return ("more", *super().method(x))


@tuned()
def module_level(x: Any, alpha: float = 1.0, *, tile: int) -> int:
    """Documented."""
    return the_stage.run(tile)


def test_F20_case_U2_methods_bind(stage: Stage) -> None:
    stage.cost_ms = {2: 0.5}
    for cls in (Base, Derived):
        instance = cls()
        assert instance.method(Tensor()) == (instance, 2)
        assert cls.method(instance, Tensor()) == (instance, 2)
        bound = instance.method
        assert bound(Tensor(), autotune=True) == (instance, 2)
        assert bound.__self__ is instance
        for target in (cls, instance):
            assert target.of_class(Tensor()) == (cls, 2)
            assert target.of_class_inside(Tensor()) == (cls, 2)
            assert target.static(Tensor()) == 2
            assert target.static_inside(Tensor()) == 2
    assert isinstance(Base.method, AutoTuner)
    assert Base.method is Derived.method


def test_case_U2_an_override_calls_the_one_below(stage: Stage) -> None:
    stage.cost_ms = {2: 0.5}
    instance = Overriding()
    assert instance.method(Tensor()) == ("more", instance, 2)


def test_case_U2_self_is_passed_to_key_and_rule(stage: Stage) -> None:
    seen: list[object] = []

    class Layer:
        @autotune(
            TILES,
            key_fn=lambda self, x: seen.append(self) or 0,
            prune_fn=lambda config, self, x: seen.append(self) or True,
        )
        def run(self, x: Any, tile: int) -> int:
            return the_stage.run(tile)

    layer = Layer()
    layer.run(Tensor())
    assert seen == [layer] * 3


def test_case_U2_nothing_pins_the_instance(stage: Stage) -> None:
    instance = Base()
    instance.method(Tensor())
    instance.method(Tensor(), autotune=True)
    gone = weakref.ref(instance)
    del instance
    gc.collect()
    assert gone() is None


def test_case_U2_a_tuner_among_the_attributes_of_its_own_object(stage: Stage) -> None:
    """Describing the object leads back to the tuner, and from there to the object."""

    class Holder:
        def __init__(self, bias: int) -> None:
            self.bias = bias
            self.tuned = tuned()(self.work)
            self.table = {"part": tuned()(functools.partial(self.work, Tensor()))}

        def work(self, x: Any, tile: int) -> int:
            return the_stage.run(tile) + self.bias

    holder, other = Holder(10), Holder(20)
    assert holder.tuned(Tensor()) in (11, 12)
    assert holder.table["part"]() in (11, 12)
    paths = [each.tuned.record_path(Tensor()) for each in (holder, other, Holder(10))]
    assert paths[0] == paths[2] != paths[1]


def test_case_U2_a_failed_tuning_does_not_pin_it_either(stage: Stage) -> None:
    class Layer:
        @tuned()
        def run(self, x: Any, tile: int) -> int:
            raise ValueError("no")

    instance = Layer()
    with pytest.raises(RuntimeError, match="cannot find valid config"):
        instance.run(Tensor())
    gone = weakref.ref(instance)
    del instance
    gc.collect()
    assert gone() is None


def test_F20_wraps_attributes() -> None:
    for name in ("__name__", "__doc__", "__module__", "__qualname__"):
        assert getattr(module_level, name) == getattr(module_level.fn, name)
    assert module_level.__wrapped__ is module_level.fn
    assert module_level.__signature__ == inspect.signature(module_level.fn)
    assert str(inspect.signature(module_level)).startswith("(x: 'Any', alpha: 'float' = 1.0")
    assert list(inspect.signature(Base().method).parameters) == ["x", "tile"]
    assert inspect.getdoc(Base.method) == "Says hello."
    assert callable(module_level)


def test_F20_pickles_by_name_and_copies_to_itself(stage: Stage) -> None:
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(module_level, protocol)) is module_level
        assert pickle.loads(pickle.dumps(Base.method, max(protocol, 4))) is Base.method
    assert copy.copy(module_level) is module_level
    assert copy.deepcopy([module_level])[0] is module_level

    @tuned()
    def local(x: Any, tile: int) -> int:
        return tile

    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(local)


def test_F20_repr(stage: Stage) -> None:
    assert repr(module_level) == f"<tdtune.AutoTuner {__name__}.module_level, 2 candidates>"
    assert repr(Base.method) == f"<tdtune.AutoTuner {__name__}.Base.method, 2 candidates>"
    one = AutoTuner(lambda x, a: a, [{"a": 1}], lambda x: 0)
    assert "<lambda>, 1 candidate>" in repr(one)
    del one.__module__
    assert repr(one).startswith("<tdtune.AutoTuner ")
    one.__module__ = 7
    one.__qualname__ = None
    assert "1 candidate>" in repr(one)


class Callable:
    """An object that is called."""

    def __call__(self, x: Any, tile: int) -> int:
        return the_stage.run(tile)


def test_case_U2_partials_objects_and_builtins(stage: Stage) -> None:
    stage.cost_ms = {2: 0.5}
    partial = AutoTuner(functools.partial(module_level.fn, alpha=2.0), TILES, lambda x: 0)
    assert partial(Tensor()) == 2
    assert "module_level" in repr(partial)
    called = AutoTuner(Callable(), TILES, lambda x: 0)
    assert called(Tensor()) == 2
    assert "Callable" in repr(called)
    bound = AutoTuner(Callable().__call__, TILES, lambda x: 0)
    assert bound(Tensor()) == 2
    builtin = AutoTuner(sorted, [{"reverse": False}], lambda x: len(x))
    assert builtin([2, 1]) == [1, 2]
    assert builtin.__name__ == "sorted"
    unsigned = AutoTuner(dict, [{"a": 1}, {"b": 2}], lambda: 0)
    assert unsigned() in ({"a": 1}, {"b": 2})
    getter = AutoTuner(operator.itemgetter(0), [{}], lambda x: 0)
    assert getter([5]) == 5


def test_weak_references_and_attributes(stage: Stage) -> None:
    one = AutoTuner(lambda x, a: a, [{"a": 1}], lambda x: 0)
    gone = weakref.ref(one)
    one.note = 1
    assert one.__dict__["note"] == 1
    del one
    gc.collect()
    assert gone() is None


def test_the_type_cannot_be_changed_or_set_up_twice() -> None:
    with pytest.raises(TypeError):
        AutoTuner.__call__ = None  # type: ignore[method-assign, assignment]
    before = module_level.fn
    module_level.__init__(len, [{}], len)  # of object: does nothing
    assert module_level.fn is before
