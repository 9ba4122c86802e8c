# SPDX-License-Identifier: MIT
"""Which ranks a call is tuned with."""

import sys
import weakref
from typing import Any

from tdtune._native import Group
from tdtune.torch_group import TorchGroup

# One for each process group, for as long as that lives: it counts what was said in it.
_groups: "weakref.WeakKeyDictionary[Any, Group]" = weakref.WeakKeyDictionary()


def resolve(pg: Any) -> Group | None:
    """Return the ranks that tune together, or None for this process alone.

    Parameters
    ----------
    pg
        The group that the call names. None: the one that Triton-distributed has initialised, else
        the default group of ``torch.distributed``, else this process alone; as it is now.

    Raises
    ------
    RuntimeError
        The ranks of the group have no way to talk to one another.
    TypeError
        `pg` is no process group.
    """
    if pg is None:
        pg = _triton_dist_world()
    if pg is None:
        pg = _default_group()
    return None if pg is None or _size(pg) == 1 else _group_of(pg)


def world() -> Group | None:
    """Return all ranks of ``torch.distributed``, which is initialised; None if there is one."""
    pg = _default_group()
    return None if pg is None or _size(pg) == 1 else _group_of(pg)


def distributed() -> Any:
    """Return ``torch.distributed`` if it is initialised, else None."""
    module = sys.modules.get("torch.distributed")
    if module is None or not module.is_available() or not module.is_initialized():
        return None
    return module


def _triton_dist_world() -> Any:
    # tdtune's own package of that name has no `utils`; only Triton-distributed's has.
    return getattr(sys.modules.get("triton_dist.utils"), "_TRITON_DIST_WORLD", None)


def _default_group() -> Any:
    module = distributed()
    return None if module is None else module.group.WORLD


def _size(pg: Any) -> int:
    try:
        weakref.ref(pg)
        pg.rank()
        return int(pg.size())
    except (AttributeError, TypeError):
        raise TypeError(
            "autotune_pg must be a torch.distributed.ProcessGroup that this rank is part of, "
            f"but is {pg!r}"
        ) from None


def _group_of(pg: Any) -> Group:
    group = _groups.get(pg)
    if group is None:  # of two threads here the first one's stays
        group = _groups.setdefault(pg, Group(TorchGroup(pg)))
    return group
