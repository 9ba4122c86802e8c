# SPDX-License-Identifier: MIT
"""Where a call runs and what its clock is, with stand-ins for the accelerators."""

import json
import sys
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from tdtune._cold import device_memory_release, situation
from tdtune.devices import find_place


class Accelerator(ModuleType):
    """Behaves like torch.npu or torch.cuda and writes down what is asked of it."""

    def __init__(self, kind: str, *, awake: bool = False) -> None:
        super().__init__(f"torch.{kind}")
        self.kind = kind
        self.log: list[tuple[Any, ...]] = []
        self.awake = awake
        self.recording = False
        self.now_ms = 0.0

    def is_initialized(self) -> bool:
        return self.awake

    def current_device(self) -> int:
        assert self.awake, "asked for the device of an accelerator that sleeps"
        return 1

    def device_count(self) -> int:
        return 4

    def get_device_properties(self, index: int) -> Any:
        assert index in range(4)
        return SimpleNamespace(name=f"Unit of {self.kind}", major=9, minor=0)

    def current_stream(self, index: int) -> str:
        return f"stream of {self.kind}:{index}"

    def is_current_stream_capturing(self) -> bool:
        self.log.append(("capturing",))
        return self.recording

    def synchronize(self, index: int) -> None:
        self.log.append(("synchronize", index))

    def empty_cache(self) -> None:
        self.log.append(("empty_cache",))

    def Event(self, *, enable_timing: bool) -> "Event":
        assert enable_timing
        self.log.append(("event",))
        return Event(self, len([entry for entry in self.log if entry == ("event",)]) - 1)


class Event:
    def __init__(self, owner: Accelerator, number: int) -> None:
        self.owner, self.number, self.at_ms = owner, number, -1.0

    def record(self, stream: str) -> None:
        assert isinstance(stream, str)
        self.owner.log.append(("record", self.number, stream))
        self.at_ms = self.owner.now_ms

    def synchronize(self) -> None:
        self.owner.log.append(("wait", self.number))

    def elapsed_time(self, end: "Event") -> float:
        assert ("wait", end.number) in self.owner.log, "read before it was passed"
        self.owner.log.append(("elapsed", self.number, end.number))
        return end.at_ms - self.at_ms


class SingleStream(ModuleType):
    """Behaves like torch.mps: no streams, no numbers, no properties."""

    def __init__(self) -> None:
        super().__init__("torch.mps")
        self.log: list[str] = []

    def Event(self, *, enable_timing: bool) -> Any:
        assert enable_timing
        return SimpleNamespace(
            record=lambda: self.log.append("record"),
            synchronize=lambda: self.log.append("wait"),
            elapsed_time=lambda end: 2.5,
        )

    def synchronize(self) -> None:
        self.log.append("synchronize")

    def device_count(self) -> int:
        return 1


class Torch(ModuleType):
    def __init__(self, **modules: ModuleType) -> None:
        super().__init__("torch")
        self.__version__ = "9.9"
        self.__dict__.update(modules)


def tensor(kind: str, index: int | None = 0) -> Any:
    return SimpleNamespace(device=SimpleNamespace(type=kind, index=index))


@pytest.fixture
def npu(monkeypatch: pytest.MonkeyPatch) -> Accelerator:
    accelerator = Accelerator("npu")
    torch = Torch(npu=accelerator, cuda=Accelerator("cuda"), mps=SingleStream())
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.delitem(sys.modules, "torch.distributed", raising=False)
    return accelerator


def test_F12_a_process_without_torch_has_the_hosts_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    monkeypatch.delitem(sys.modules, "torch.distributed", raising=False)
    found = situation((tensor("npu"),), {}, None)
    assert found.place is None
    assert set(json.loads(found.hardware)) >= {"device"}
    assert "torch" not in json.loads(found.dependencies)
    assert found.group is None


def test_F12_the_arguments_say_which_device(npu: Accelerator) -> None:
    place = find_place((1, "a", tensor("cpu"), tensor("npu", 2), tensor("cuda", 3)), {})
    assert place is not None
    assert (place.clock, place.id) == ("torch.npu.Event", "npu:2")
    assert npu.log == []


@pytest.mark.parametrize(
    ("args", "kwargs", "place_id"),
    [
        ((), {"x": tensor("cuda", 3)}, "cuda:3"),
        (([1, tensor("npu", 1)],), {}, "npu:1"),
        (((tensor("npu", 1),),), {}, "npu:1"),
        (({"w": tensor("cuda", 0)},), {}, "cuda:0"),
        ((), {"ws": [tensor("npu", 0)]}, "npu:0"),
        ((tensor("mps", None),), {}, "mps:0"),
        (([[tensor("npu")]],), {}, None),
        ((tensor("meta"), tensor("cpu"), tensor("xpu")), {}, None),
        ((SimpleNamespace(device="cpu"), SimpleNamespace(device=None)), {}, None),
    ],
)
@pytest.mark.usefixtures("npu")
def test_F12_where_the_arguments_are_looked_for(args: Any, kwargs: Any, place_id: Any) -> None:
    place = find_place(args, kwargs)
    assert (place and place.id) == place_id


def test_F12_of_a_long_list_the_first_items_are_looked_at(npu: Accelerator) -> None:
    class Numbers(list[Any]):
        def __iter__(self) -> Iterator[Any]:
            for n in range(10**9):
                assert n < 10**5, "looked at all of them"
                yield n

    assert find_place((Numbers(),), {}) is None
    place = find_place((Numbers(), tensor("npu", 1)), {})
    assert place is not None
    assert place.id == "npu:1"


def test_F12_a_device_without_number_is_the_current_one(npu: Accelerator) -> None:
    npu.awake = True
    place = find_place((tensor("npu", None),), {})
    assert place is not None
    assert place.id == "npu:1"


class Hostile:
    @property
    def device(self) -> Any:
        raise RuntimeError("not now")


def test_F12_an_argument_that_fails_to_say_is_passed_over(npu: Accelerator) -> None:
    place = find_place((Hostile(), tensor("npu", 3)), {})
    assert place is not None
    assert place.id == "npu:3"
    assert npu.log == []


def test_F12_an_accelerator_in_use_is_the_second_choice(npu: Accelerator) -> None:
    assert find_place((tensor("cpu"),), {}) is None  # none is woken up
    sys.modules["torch"].cuda.awake = True
    place = find_place((tensor("cpu"),), {})
    assert place is not None
    assert place.id == "cuda:1"
    npu.awake = True
    place = find_place((), {})
    assert place is not None
    assert place.id == "npu:1"


def test_F12_events_are_made_once_and_recorded_on_the_current_stream(npu: Accelerator) -> None:
    place = find_place((tensor("npu", 2),), {})
    assert place is not None
    place.reserve(2)
    place.reserve(1)
    place.mark(0)
    npu.now_ms = 3.25
    place.mark(1)
    assert place.elapsed_ms(0, 1) == 3.25
    npu.now_ms = 10.0
    place.mark(0)
    place.mark(1)
    assert place.elapsed_ms(0, 1) == 0.0
    place.synchronize()
    stream = "stream of npu:2"
    once = [("record", 0, stream), ("record", 1, stream), ("wait", 1), ("elapsed", 0, 1)]
    made = [("event",), ("record", 0, stream), ("event",), ("record", 1, stream)]
    assert npu.log == [*made, *once, *once, ("synchronize", 2)]


def test_F12_places_do_not_share_marks(npu: Accelerator) -> None:
    # A tuned function that is tuned inside another's measurement must not move its marks.
    outer, inner = (find_place((tensor("npu"),), {}) for _ in range(2))
    assert outer is not None
    assert inner is not None
    for place in (outer, inner):
        place.reserve(2)
    outer.mark(0)
    npu.now_ms = 1.0
    inner.mark(0)
    inner.mark(1)
    npu.now_ms = 5.0
    outer.mark(1)
    assert (outer.elapsed_ms(0, 1), inner.elapsed_ms(0, 1)) == (5.0, 0.0)


@pytest.mark.usefixtures("npu")
def test_F12_a_device_with_one_stream() -> None:
    place = find_place((tensor("mps", None),), {})
    assert place is not None
    place.reserve(2)
    place.mark(0)
    place.mark(1)
    assert place.elapsed_ms(0, 1) == 2.5
    place.synchronize()
    assert not place.capturing()
    place.empty_cache()
    assert sys.modules["torch"].mps.log == [*["record"] * 4, "wait", "synchronize"]
    assert json.loads(place.hardware())["device"].startswith("mps of ")


@pytest.mark.parametrize("recording", [False, True])
def test_case_G1_asking_about_a_capture_touches_nothing_else(
    npu: Accelerator, recording: bool
) -> None:
    npu.recording = recording
    place = situation((tensor("npu"),), {}, None).place
    assert place is not None
    assert place.capturing() is recording
    assert npu.log == [("capturing",)]


def test_F13_memory_is_handed_back_after_a_failure(
    npu: Accelerator, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = find_place((tensor("npu"),), {})
    device_memory_release(place)
    assert npu.log == [("empty_cache",)]

    def fails() -> None:
        raise RuntimeError("device is gone")

    monkeypatch.setattr(npu, "empty_cache", fails)
    device_memory_release(place)  # must not hide why the candidate failed
    device_memory_release(None)


def test_F13_what_a_failed_candidate_held_is_collected() -> None:
    import weakref

    class Buffer:
        def __init__(self) -> None:
            self.itself = self

    buffer = Buffer()
    alive = weakref.ref(buffer)
    del buffer
    device_memory_release(None)
    assert alive() is None


def test_F12_torch_of_this_machine() -> None:
    torch = pytest.importorskip("torch")
    woken = {kind: getattr(torch, kind).is_initialized() for kind in ("cuda", "xpu")}
    place = find_place((torch.ones(3),), {"x": [torch.ones(1)]})
    assert (place is None) == (not any(woken.values()))
    assert woken == {kind: getattr(torch, kind).is_initialized() for kind in woken}
