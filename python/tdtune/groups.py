# SPDX-License-Identifier: MIT
"""Which ranks a call is tuned with."""

import sys
from typing import Any


def resolve(pg: Any) -> tuple[int, int]:
    """Return this process's rank, and the number of ranks, in the group that tunes together.

    Parameters
    ----------
    pg
        The group that the call names. None: the one that Triton-distributed has initialised, else
        the default group of ``torch.distributed``, else this process alone.

    Raises
    ------
    NotImplementedError
        The group has more than one rank.
    TypeError
        `pg` is no process group.
    """
    group = pg if pg is not None else _triton_dist_world()
    rank, n_ranks = _default_group() if group is None else _place_in(group)
    if n_ranks > 1:
        raise NotImplementedError(
            f"tuning over several ranks is not in this version, and the group has {n_ranks}; "
            "call with autotune=False, or with autotune_pg= a group of this rank alone"
        )
    return rank, n_ranks


def _triton_dist_world() -> Any:
    # tdtune's own package of that name has no `utils`; only Triton-distributed's has.
    return getattr(sys.modules.get("triton_dist.utils"), "_TRITON_DIST_WORLD", None)


def distributed() -> Any:
    """Return ``torch.distributed`` if it is initialised, else None."""
    module = sys.modules.get("torch.distributed")
    if module is None or not module.is_available() or not module.is_initialized():
        return None
    return module


def _default_group() -> tuple[int, int]:
    module = distributed()
    return (0, 1) if module is None else (int(module.get_rank()), int(module.get_world_size()))


def _place_in(group: Any) -> tuple[int, int]:
    try:
        return int(group.rank()), int(group.size())
    except (AttributeError, TypeError):
        raise TypeError(
            "autotune_pg must be a torch.distributed.ProcessGroup that this rank is part of, "
            f"but is {group!r}"
        ) from None
