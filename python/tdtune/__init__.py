# SPDX-License-Identifier: MIT
"""Picks the fastest of several ways to run a function, on the machine where it runs, and
remembers it.
"""

from tdtune._native import AutoTuner, version
from tdtune.autotune import autotune
from tdtune.contextual import ContextualAutoTuner, contextual_autotune
from tdtune.layout import by_layout
from tdtune.progress import Progress
from tdtune.records import (
    load_autotune_data,
    pretty_triton_config_repr,
    table,
    to_hashable,
)

__version__ = version()

__all__ = [
    "AutoTuner",
    "ContextualAutoTuner",
    "Progress",
    "__version__",
    "autotune",
    "by_layout",
    "contextual_autotune",
    "load_autotune_data",
    "pretty_triton_config_repr",
    "table",
    "to_hashable",
]
