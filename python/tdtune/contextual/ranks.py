# SPDX-License-Identifier: MIT
"""The ranks of ``torch.distributed``, as contextual tuning needs them."""

import os

from tdtune import groups
from tdtune._native import Group


def world(is_dist: bool) -> Group | None:
    """Return the ranks of the WORLD group; None for this process alone, as unless `is_dist`.

    Raises
    ------
    RuntimeError
        `is_dist`, and ``torch.distributed`` is not initialised.
    """
    if not is_dist:
        return None
    if groups.distributed() is None:
        raise RuntimeError(
            "contextual_autotune(is_dist=True) needs torch.distributed: call "
            "torch.distributed.init_process_group() on every rank before this function, or use "
            "is_dist=False for one process"
        )
    return groups.world()


def log_rank() -> int:
    """Return the rank by which this process's log is known."""
    distributed = groups.distributed()
    if distributed is not None:
        return int(distributed.get_rank())
    rank = os.environ.get("RANK", "")
    return int(rank) if rank.isdecimal() else 0
