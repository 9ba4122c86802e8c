# SPDX-License-Identifier: MIT
"""Contextual tuning: choose configurations of Triton kernels inside the function that runs them."""

from tdtune import ContextualAutoTuner, contextual_autotune

__all__ = ["ContextualAutoTuner", "contextual_autotune"]
