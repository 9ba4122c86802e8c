# SPDX-License-Identifier: MIT
"""What surrounds one call when its key is first met."""

import gc
import logging
from typing import Any, NamedTuple

from tdtune import devices, facts, groups
from tdtune._native import Group
from tdtune.devices import Place


class Situation(NamedTuple):
    """Where, on what and with whom a key is tuned.

    Attributes
    ----------
    place
        The accelerator whose events are the clock; None for the host's clock.
    hardware, dependencies
        Texts of JSON objects.
    group
        The ranks that tune together; None for this process alone.
    """

    place: Place | None
    hardware: str
    dependencies: str
    group: Group | None


def situation(args: tuple[Any, ...], kwargs: dict[str, Any], pg: Any) -> Situation:
    """Look around before a key is looked up or tuned.

    Parameters
    ----------
    args, kwargs
        The call's arguments.
    pg
        Its ``autotune_pg``.

    Raises
    ------
    RuntimeError, TypeError
        As `tdtune.groups.resolve`.
    """
    group = groups.resolve(pg)
    place = devices.find_place(args, kwargs)
    hardware = facts.host_hardware() if place is None else place.hardware()
    return Situation(place, hardware, facts.dependencies(), group)


def device_enter(place: Place | None) -> None:
    """Make the device of a tuning the current one of this thread."""
    if place is not None:
        place.enter()


def device_memory_release(place: Place | None) -> None:
    """Let go of what a failed candidate held, before the next one needs it.

    Its objects may sit in a cycle with the traceback of its exception, where only the garbage
    collector finds them. They are young: on the host, where memory is plenty, a quick collection
    will do.
    """
    gc.collect(1 if place is None else 2)
    if place is None:
        return
    try:
        place.empty_cache()
    except Exception as error:  # a ruined device; the engine finds out when it synchronises
        logging.getLogger("tdtune").debug("emptying the cache of %s failed: %s", place.id, error)
