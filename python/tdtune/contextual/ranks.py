# SPDX-License-Identifier: MIT
"""The ranks of ``torch.distributed``, as contextual tuning needs them."""

import os
import struct
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

from tdtune import groups

_LOW = 0x7FFF_FFFF_FFFF_FFFF


class Ranks(NamedTuple):
    """Attributes: this process's rank, how many there are, and the greatest of values over all
    ranks (None if this process is alone).
    """

    rank: int
    n_ranks: int
    greatest: Callable[[list[float]], list[float]] | None


def world(is_dist: bool) -> Ranks:
    """Return the WORLD group; this process alone unless `is_dist`.

    Raises
    ------
    RuntimeError
        `is_dist`, and ``torch.distributed`` is not initialised.
    """
    if not is_dist:
        return Ranks(0, 1, None)
    distributed = groups.distributed()
    if distributed is None:
        raise RuntimeError(
            "contextual_autotune(is_dist=True) needs torch.distributed: call "
            "torch.distributed.init_process_group() on every rank before this function, or use "
            "is_dist=False for one process"
        )

    def greatest(values: list[float]) -> list[float]:
        torch = sys.modules["torch"]
        ordinals = torch.tensor(_ordinals(values), dtype=torch.int64, device=_device(torch))
        distributed.all_reduce(ordinals, op=distributed.ReduceOp.MAX)
        return _values(ordinals.tolist())

    return Ranks(int(distributed.get_rank()), int(distributed.get_world_size()), greatest)


def log_rank() -> int:
    """Return the rank by which this process's log is known."""
    distributed = groups.distributed()
    if distributed is not None:
        return int(distributed.get_rank())
    rank = os.environ.get("RANK", "")
    return int(rank) if rank.isdecimal() else 0


def _device(torch: Any) -> str:
    """Where the default group takes tensors: on the CPU if it can, else on an accelerator."""
    config = str(torch.distributed.get_backend_config())
    kinds = [part.partition(":")[0] for part in config.split(",")]
    if "cpu" in kinds or ":" not in config:
        return "cpu"
    return f"{kinds[0]}:{getattr(torch, kinds[0]).current_device()}"


# Not every backend reduces double precision (HCCL does not). As integers of 64 bits in the same
# order the values go through all of them, bit for bit.


def _ordinals(values: list[float]) -> list[int]:
    bits = struct.unpack(f"{len(values)}q", struct.pack(f"{len(values)}d", *values))
    return [b if b >= 0 else b ^ _LOW for b in bits]


def _values(ordinals: list[int]) -> list[float]:
    bits = [b if b >= 0 else b ^ _LOW for b in ordinals]
    return list(struct.unpack(f"{len(bits)}d", struct.pack(f"{len(bits)}q", *bits)))
