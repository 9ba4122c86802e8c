# SPDX-License-Identifier: MIT
"""Where times come from: the device that Triton's driver works on."""

import logging
import os
import sys
from typing import Any

from tdtune.devices import Place

_logger = logging.getLogger("tdtune")


class DriverPlace(Place):
    """The device of Triton's driver. The marks of a launch are on whatever device is current.

    Parameters
    ----------
    driver
        ``triton.runtime.driver.active``.
    """

    def __init__(self, driver: Any) -> None:
        module = driver.get_device_interface()
        index = int(module.current_device())
        super().__init__(_kind(driver, module), index, module)
        self._driver = driver
        self._by_device: dict[tuple[int, int], Any] = {}
        self._marked: dict[int, Any] = {}
        self._cache: Any = None
        self._has_cache = True

    def reserve(self, n: int) -> None:
        """Make the marks 0 to n-1 usable on the current device."""
        device = int(self._module.current_device())
        for i in range(n):
            self._event(device, i)

    def _event(self, device: int, i: int) -> Any:
        # An event belongs to the device on which it was recorded first.
        event = self._by_device.get((device, i))
        if event is None:
            event = self._by_device[device, i] = self._module.Event(enable_timing=True)
        return event

    def mark(self, i: int) -> None:
        """Mark "here" on the current stream of the current device; return at once."""
        device = int(self._module.current_device())
        event = self._marked[i] = self._event(device, i)
        event.record(self._module.current_stream(device))

    def elapsed_ms(self, a: int, b: int) -> float:
        """Wait until mark b was passed and return the milliseconds from mark a to it."""
        start, stop = self._marked[a], self._marked[b]
        stop.synchronize()
        return float(start.elapsed_time(stop))

    def synchronize(self) -> None:
        """Wait for all work of the current device; raise what it raises if it is broken."""
        self._module.synchronize()

    def clear_cache(self) -> None:
        """Let nothing of an earlier launch be in the device's cache."""
        if self._cache is None and self._has_cache:
            try:
                self._cache = self._driver.get_empty_cache_for_benchmark()
            except Exception as reason:  # a full device, or a driver without it
                self._has_cache = False
                _logger.warning("the device's cache is not cleared before timed runs: %s", reason)
        if self._cache is None:
            return
        clear = getattr(self._driver, "clear_cache", None)
        if clear is not None:
            clear(self._cache)
        else:  # Triton 3.2
            self._cache.zero_()


def _kind(driver: Any, module: Any) -> str:
    active = getattr(driver, "get_active_torch_device", None)
    kind = getattr(active() if active is not None else None, "type", None)
    return str(kind) if kind else str(getattr(module, "__name__", "device")).rpartition(".")[2]


def find_place() -> DriverPlace | None:
    """Return the device of Triton's driver.

    None if there is none, and for Triton's interpreter, which works on the host; a device is then
    left alone.
    """
    runtime = sys.modules.get("triton.runtime")
    if runtime is None or _interprets():
        return None
    try:
        return DriverPlace(runtime.driver.active)
    except RuntimeError:  # no driver fits this machine
        return None


def _interprets() -> bool:
    knobs = getattr(sys.modules.get("triton"), "knobs", None)
    if knobs is not None:
        return bool(knobs.runtime.interpret)
    return os.environ.get("TRITON_INTERPRET", "0") == "1"
