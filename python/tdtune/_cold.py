# SPDX-License-Identifier: MIT
"""Everything that the extension calls in Python, in one place; it calls nothing else.

Imported by the extension when the first function is decorated.
"""

from typing import Any

from tdtune.contextual.run import contextual, contextual_name
from tdtune.describe import describe_config, describe_key, may_be_compared
from tdtune.groups import resolve as resolve_group
from tdtune.keeping import around
from tdtune.messages import emit
from tdtune.progress import progress, progress_bar
from tdtune.signature import Blueprint, blueprint
from tdtune.situation import Situation, device_enter, device_memory_release, situation
from tdtune.source import FunctionIdentity, identify

__all__ = [
    "Blueprint",
    "FunctionIdentity",
    "Situation",
    "around",
    "blueprint",
    "contextual",
    "contextual_name",
    "describe_config",
    "describe_key",
    "device_enter",
    "device_memory_release",
    "emit",
    "foresee",
    "identify",
    "may_be_compared",
    "progress",
    "progress_bar",
    "resolve_group",
    "situation",
]


def foresee(
    configs: tuple[dict[str, Any], ...], candidate: int, kept: list[int] | None, n_workers: int
) -> Any:
    """See `tdtune.triton_ahead`, which is imported where something is tuned beside Triton."""
    from tdtune import triton_ahead

    return triton_ahead.foresee(configs, candidate, kept, n_workers)
