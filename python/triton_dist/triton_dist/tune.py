# SPDX-License-Identifier: MIT
"""Function-level tuning: choose the fastest configuration of a host function."""

from tdtune import (
    AutoTuner,
    autotune,
    load_autotune_data,
    pretty_triton_config_repr,
    to_hashable,
)

__all__ = [
    "AutoTuner",
    "autotune",
    "load_autotune_data",
    "pretty_triton_config_repr",
    "to_hashable",
]
