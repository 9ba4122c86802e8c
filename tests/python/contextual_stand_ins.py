# SPDX-License-Identifier: MIT
"""Stand-ins for contextual tuning: Triton's own autotuner around kernels that only pretend, and a
clock that the test sets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import tdtune.contextual.run
from triton import Config
from triton.runtime.autotuner import Autotuner
from triton.runtime.jit import KernelInterface

Cost = float | Callable[[dict[str, Any]], float]
Failure = Callable[[], BaseException]

GRID = (1,)
N_PASSES = 2 * (3 + 5) + 1  # two candidates with the defaults, and the last pass


class Clock:
    """A device on which time passes only in `work`; what happens on it is in `events`."""

    clock = "scripted"
    id = "scripted:0"

    def __init__(self) -> None:
        self.now_ms = 0.0
        self.events: list[Any] = []
        self.is_capturing = False
        self.is_broken = False
        self._marks: dict[int, float] = {}

    def work(self, ms: float) -> None:
        self.now_ms += ms

    def reserve(self, n: int) -> None:
        pass

    def mark(self, i: int) -> None:
        self.events.append("start" if i % 2 == 0 else "stop")
        self._marks[i] = self.now_ms

    def elapsed_ms(self, a: int, b: int) -> float:
        return self._marks[b] - self._marks[a]

    def synchronize(self) -> None:
        if self.is_broken:
            raise RuntimeError("an illegal memory access was encountered")

    def capturing(self) -> bool:
        return self.is_capturing

    def clear_cache(self) -> None:
        self.events.append("clear")
        self.work(1000.0)

    def take_events(self) -> list[Any]:
        """What happened since the last time this was asked."""
        events, self.events = self.events, []
        return events


class Kernel(KernelInterface):
    """What stands where a compiled kernel would: costs time, does what it is told, may fail.

    A cost is that of configuration number `C`, for a call or fixed; `failing` says which raise.
    """

    def __init__(
        self, clock: Clock, name: str, arg_names: Sequence[str], costs: Sequence[Cost]
    ) -> None:
        def body() -> None:
            pass

        body.__name__ = body.__qualname__ = name
        body.__module__ = "kernels"
        self.fn = body
        self.clock = clock
        self.arg_names = list(arg_names)
        self.costs = costs
        self.failing: dict[int, Failure] = {}
        self.effect: Callable[[dict[str, Any]], object] = lambda values: None
        self.ran: list[int] = []
        self.calls: list[dict[str, Any]] = []

    def run(self, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> str:
        values = {**dict(zip(self.arg_names, args, strict=False)), **kwargs}
        number = values["C"]
        self.ran.append(number)
        self.calls.append({name: values.get(name) for name in self.arg_names})
        self.clock.events.append(f"run {number}")
        cost = self.costs[number]
        self.clock.work(cost(values) if callable(cost) else cost)
        self.effect(values)
        if number in self.failing:
            raise self.failing[number]()
        return f"launched {number}"

    def take_ran(self) -> list[int]:
        """The configurations that ran since the last time this was asked."""
        ran, self.ran = self.ran, []
        return ran


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


def bad_value() -> BaseException:
    return ValueError("no such tile")


def never(*args: object, **kwargs: object) -> Any:
    """Triton's own benchmark, which contextual tuning must leave alone."""
    raise AssertionError("Triton measured by itself")


def autotuned(
    clock: Clock,
    costs: Sequence[Cost],
    *,
    name: str = "kernel",
    arg_names: Sequence[str] = ("x", "n"),
    key: Sequence[str] = ("n",),
    cls: type = Autotuner,
    configs: Sequence[Any] | None = None,
    do_bench: Callable[..., Any] = never,
    **options: Any,
) -> Any:
    """A kernel with Triton's autotuner around it; its candidates are {"C": 0}, {"C": 1}, ..."""
    kernel = Kernel(clock, name, arg_names, costs)
    if configs is None:
        configs = [Config({"C": number}) for number in range(len(costs))]
    reset_to_zero = options.pop("reset_to_zero", None)
    restore_value = options.pop("restore_value", None)
    return cls(
        kernel,
        kernel.arg_names,
        list(configs),
        list(key),
        reset_to_zero,
        restore_value,
        do_bench=do_bench,
        **options,
    )


def chosen(tuner: Any) -> dict[Any, int]:
    """Number of the winner for each key."""
    return {key: config.kwargs["C"] for key, config in tuner.cache.items()}


def classes() -> list[type]:
    """Triton's autotuner and everything that derives from it."""
    found = [Autotuner]
    for cls in found:
        found.extend(derived for derived in cls.__subclasses__() if derived not in found)
    return found


@contextmanager
def triton_as_before() -> Iterator[None]:
    """Check that the classes are the same afterwards, object for object and in the same order."""
    before = {cls: list(vars(cls).items()) for cls in classes()}
    yield
    for cls, items in before.items():
        now = list(vars(cls).items())
        assert [name for name, _ in now] == [name for name, _ in items]
        assert all(a is b for (_, a), (_, b) in zip(now, items, strict=True)), cls


@contextmanager
def kernels_as_before(*tuners: Any) -> Iterator[None]:
    """Check that kernels got no attribute but those that Triton's own `run` sets."""
    before = {id(tuner): set(vars(tuner)) for tuner in tuners}
    yield
    for tuner in tuners:
        new = set(vars(tuner)) - before[id(tuner)]
        assert new <= {"nargs", "best_config", "configs_timings"}, new
        assert vars(tuner).get("nargs") is None


@contextmanager
def on_clock(clock: Clock) -> Iterator[None]:
    """Let contextual tuners take their times from here."""
    found = tdtune.contextual.run.find_place
    tdtune.contextual.run.find_place = lambda: clock  # type: ignore[assignment,return-value]
    try:
        yield
    finally:
        tdtune.contextual.run.find_place = found
