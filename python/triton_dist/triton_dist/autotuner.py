# SPDX-License-Identifier: MIT
"""Contextual tuning: choose configurations of Triton kernels inside the function that runs them."""

from collections.abc import Callable
from typing import Any

__all__ = ["contextual_autotune"]


def contextual_autotune(
    is_dist: bool = False, n_repeat: int = 5, n_warmup: int = 3
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Tune the kernels inside a function while it runs.

    Parameters
    ----------
    is_dist
        Whether a candidate's time is the greatest over all ranks.
    n_repeat, n_warmup
        Timed runs of each candidate, and runs before them.

    Raises
    ------
    NotImplementedError
        Always, in this version.
    """
    raise NotImplementedError(
        "contextual_autotune comes with the next version; triton_dist.tune.autotune is there now"
    )
