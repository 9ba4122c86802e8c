# SPDX-License-Identifier: MIT
"""The accelerator that a call works on, and its events as a clock.

Nothing here imports torch or wakes an accelerator up: only what the process uses already counts.
"""

import itertools
import sys
from collections.abc import Callable, Iterable, Iterator
from types import ModuleType
from typing import Any

from tdtune.facts import accelerator_hardware

# In the order in which one is chosen if the arguments do not say.
ACCELERATORS = ("npu", "cuda", "xpu", "mps")
# Of a GPU that does not say how fast it is. If it is slower the pause is longer: no harm.
_CYCLES_PER_MS = 2e6
# Of a list of a million numbers none is a tensor.
_MOST_ITEMS = 1000


class Place:
    """One accelerator, seen through its module in torch (``torch.cuda``, ``torch.npu``, ...).

    A place belongs to one tuning. Its marks are events that are made once and recorded again and
    again, always on the stream that is current on the device at that moment.

    Parameters
    ----------
    kind
        Type of the device, ``"cuda"``.
    index
        Its number.
    module
        The module of torch that drives it.

    Attributes
    ----------
    delay
        ``delay(ms)`` queues a pause of about that long on the current stream and returns at once;
        None where that cannot be done.
    """

    def __init__(self, kind: str, index: int, module: Any) -> None:
        self._module = module
        self._index = index
        self._kind = kind
        self._events: list[Any] = []
        self.delay = _delay_of(module, kind, index)
        self.clock = f"torch.{kind}.Event"
        self.id = f"{kind}:{index}"

    def __repr__(self) -> str:
        return f"Place({self.id!r})"

    def hardware(self) -> str:
        """Return the facts about the device as the text of a JSON object."""
        return accelerator_hardware(self._module, self._kind, self._index)

    def reserve(self, n: int) -> None:
        """Make the marks 0 to n-1 usable.

        Each is recorded once: torch makes an event when it is recorded first, and that should not
        happen between two marks.
        """
        while len(self._events) < n:
            self._events.append(self._module.Event(enable_timing=True))
            self.mark(len(self._events) - 1)

    def mark(self, i: int) -> None:
        """Mark "here" on the current stream; return at once."""
        current = getattr(self._module, "current_stream", None)
        if current is None:  # mps has one stream, and its events know it
            self._events[i].record()
        else:
            self._events[i].record(current(self._index))

    def elapsed_ms(self, a: int, b: int) -> float:
        """Wait until mark b was passed and return the milliseconds from mark a to it."""
        self._events[b].synchronize()
        return float(self._events[a].elapsed_time(self._events[b]))

    def synchronize(self) -> None:
        """Wait for all work of the device; raise whatever torch raises if it is broken."""
        if self._kind == "mps":
            self._module.synchronize()
        else:
            self._module.synchronize(self._index)

    def enter(self) -> None:
        """Make the device the current one of this thread."""
        enter = getattr(self._module, "set_device", None)
        if enter is not None:
            enter(self._index)

    def capturing(self) -> bool:
        """Tell whether the current stream records a graph. Touches nothing else of the device."""
        ask = getattr(self._module, "is_current_stream_capturing", None)
        return bool(ask()) if ask is not None else False

    def empty_cache(self) -> None:
        """Hand memory that torch keeps for later back to the device."""
        empty = getattr(self._module, "empty_cache", None)
        if empty is not None:
            empty()


def _delay_of(module: Any, kind: str, index: int) -> Callable[[float], None] | None:
    """Return what queues a pause of some milliseconds on the current stream of a device; None where
    no way is known.
    """
    sleep = getattr(module, "_sleep", None)
    is_hip = getattr(getattr(sys.modules.get("torch"), "version", None), "hip", None) is not None
    if kind != "cuda" or sleep is None or is_hip:
        return None
    cycles_per_ms: list[float] = []

    def delay(ms: float) -> None:
        if not cycles_per_ms:
            rate_khz = getattr(module.get_device_properties(index), "clock_rate", 0)
            cycles_per_ms.append(float(rate_khz) or _CYCLES_PER_MS)
        with module.device(index):
            sleep(int(ms * cycles_per_ms[0]))

    return delay


def find_place(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Place | None:
    """Return the accelerator that a call works on.

    Parameters
    ----------
    args, kwargs
        The call's arguments; looked at themselves and one level inside lists, tuples and dicts, of
        long ones only at the first items.

    Returns
    -------
    Place or None
        Where the first argument on an accelerator lives; else an accelerator that this process has
        initialised; None if there is neither.
    """
    torch = sys.modules.get("torch")
    if torch is None:
        return None
    for value in _within(args, kwargs):
        place = _place_of(value, torch)
        if place is not None:
            return place
    return _initialised(torch)


def _within(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[Any]:
    for value in (*args, *kwargs.values()):
        yield value
        inner: Iterable[Any] = ()
        if isinstance(value, (list, tuple)):
            inner = value
        elif isinstance(value, dict):
            inner = value.values()
        yield from itertools.islice(inner, _MOST_ITEMS)


def _place_of(value: Any, torch: ModuleType) -> Place | None:
    try:
        device = getattr(value, "device", None)
        kind, index = getattr(device, "type", None), getattr(device, "index", None)
    except Exception:  # an argument's own property failed: it does not say where it lives
        return None
    module = getattr(torch, kind, None) if isinstance(kind, str) and kind in ACCELERATORS else None
    if module is None:
        return None
    return Place(str(kind), _index(module) if index is None else int(index), module)


def _initialised(torch: ModuleType) -> Place | None:
    for kind in ACCELERATORS:
        module = getattr(torch, kind, None)
        ask = getattr(module, "is_initialized", None)
        if ask is not None and ask():
            return Place(kind, _index(module), module)
    return None


def _index(module: Any) -> int:
    current = getattr(module, "current_device", None)
    return int(current()) if current is not None else 0
