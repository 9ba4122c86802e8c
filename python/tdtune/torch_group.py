# SPDX-License-Identifier: MIT
"""Ranks of a process group of torch, as the engine talks to them.

Messages go through the key-value store by which the group's ranks have met: there a rank that does
not come is a key that is not there, and not a collective that blocks. Only times are reduced by the
group itself.
"""

import itertools
import sys
import time
import uuid
import weakref
from collections.abc import Callable
from typing import Any, TypeVar

from tdtune import ordinals

_PREFIX = "tdtune"
_SHORTEST_S, _LONGEST_S = 50e-6, 0.05
# Backends that some versions of torch list for the CPU as well, where they reduce nothing.
_ACCELERATOR_BACKENDS = ("nccl", "hccl", "xccl", "rccl")

Answer = TypeVar("Answer")


class TorchGroup:
    """One process group, of which this process is a rank and which has several.

    Made once for each process group and process (`tdtune.groups`), and used by one thread at a
    time. The process group itself is not kept alive.

    Parameters
    ----------
    pg
        A ``torch.distributed.ProcessGroup``.

    Attributes
    ----------
    rank, n_ranks
        This process in the group.
    numbers
        The rank in the world of each of the group's ranks, for messages.

    Raises
    ------
    RuntimeError
        The group has no key-value store.
    """

    def __init__(self, pg: Any) -> None:
        self.rank = int(pg.rank())
        self.n_ranks = int(pg.size())
        self.numbers = _numbers(pg, self.n_ranks)
        self._pg = weakref.ref(pg)
        self._base = _store_of(pg)
        self._token = uuid.uuid4().bytes
        self._store: Any = None
        self._drops = True
        self._awaited = ""  # the key
        self._pace = _Pace()
        self._reduction: _Reduction | None = None

    def put(self, key: str, data: bytes) -> None:
        """Store bytes under a key that nobody has used."""
        self._ask(lambda store: store.set(key, data))

    def get(self, key: str, slice_s: float) -> bytes | None:
        """Return the bytes under a key, or None if they are not there within `slice_s` seconds.

        Asks for them from time to time: in torch a wait that runs out is a warning on standard
        error (TCPStore), lasts a second (FileStore), or for ever if it is for no time at all.
        """
        if slice_s > 0.0 and key != self._awaited:
            self._awaited = key
            self._pace = _Pace()
        if not self._pace.wait(slice_s, lambda: bool(self._ask(lambda s: s.check([key])))):
            return None
        return bytes(self._ask(lambda store: store.get(key)))

    def drop(self, key: str) -> None:
        """Remove a key. Not all stores can; then it stays."""
        if not self._drops:
            return
        try:
            self._open().delete_key(key)
        except Exception:  # if the store itself is lost, the next message will say so
            self._drops = False

    def start_max(self, values: list[float]) -> None:
        """Begin to reduce numbers by MAX over all ranks."""
        if self._reduction is not None:
            raise RuntimeError(
                "an earlier reduction over this process group was never finished, so that its "
                "ranks may be out of step; make a new process group"
            )
        self._reduction = _Reduction()
        self._reduction.start(self._alive(), values)
        self._pace = _Pace()

    def wait_max(self, slice_s: float) -> list[float] | None:
        """Return the greatest numbers, or None if they are not there within `slice_s` seconds."""
        reduction = self._reduction
        if reduction is None:
            raise RuntimeError("no reduction was begun")
        if not self._pace.wait(slice_s, reduction.is_done):
            return None
        values = reduction.values()
        self._reduction = None
        return values

    def _alive(self) -> Any:
        pg = self._pg()
        if pg is None:
            raise RuntimeError("the process group was destroyed")
        return pg

    def _open(self) -> Any:
        """Return the store of the messages, whose keys nobody has used.

        A group may be destroyed and made again over one and the same store, where it finds what
        its predecessor left behind: each has its number in its keys.
        """
        if self._store is None:
            prefix_store = sys.modules["torch.distributed"].PrefixStore
            number = self._join(prefix_store(_PREFIX, self._base))
            self._store = prefix_store(f"{_PREFIX}/{number}", self._base)
        return self._store

    def _join(self, store: Any) -> int:
        # Nobody else writes this rank's keys. If a signal interrupts this, it is done again and
        # comes to the same number.
        for number in itertools.count(1):
            key = f"joined/{self.rank}/{number}"
            if not store.check([key]):
                store.set(key, self._token)
                return number
            if store.get(key) == self._token:
                return number
        raise AssertionError

    def _ask(self, question: Callable[[Any], Answer]) -> Answer:
        try:
            return question(self._open())
        except Exception as error:
            reason = str(error).partition("\n")[0]
            raise RuntimeError(
                f"the key-value store of the process group cannot be reached: {reason}"
            ) from error


class _Pace:
    """How often to ask for something: the longer it has been awaited, the seldomer, so that what
    comes is noticed within a tenth of the time that it took.
    """

    def __init__(self) -> None:
        self._start = time.monotonic()

    def wait(self, slice_s: float, is_there: Callable[[], bool]) -> bool:
        end = time.monotonic() + slice_s
        while not is_there():
            now = time.monotonic()
            if now >= end:
                return False
            pause = min(max((now - self._start) / 10, _SHORTEST_S), _LONGEST_S)
            time.sleep(min(pause, end - now))
        return True


class _Reduction:
    """An all-reduce under way. The ordinals are what the group reduces; see `tdtune.ordinals`."""

    def __init__(self) -> None:
        self._work: Any = None
        self._tensor: Any = None

    def start(self, pg: Any, values: list[float]) -> None:
        torch = sys.modules["torch"]
        self._tensor = torch.tensor(
            ordinals.from_values(values), dtype=torch.int64, device=_device(torch, pg)
        )
        greatest = torch.distributed.ReduceOp.MAX
        self._work = torch.distributed.all_reduce(
            self._tensor, op=greatest, group=pg, async_op=True
        )

    def is_done(self) -> bool:
        if self._work is None:
            raise RuntimeError("the process group began no reduction")
        return bool(self._work.is_completed())

    def values(self) -> list[float]:
        self._work.wait()  # raises what went wrong
        return ordinals.to_values(self._tensor.tolist())


def _store_of(pg: Any) -> Any:
    c10d = sys.modules.get("torch.distributed.distributed_c10d")
    ways: list[Callable[[], Any]] = [
        lambda: c10d._get_process_group_store(pg),  # type: ignore[union-attr]
        lambda: c10d._world.pg_map[pg][1],  # type: ignore[union-attr]
        lambda: pg.get_group_store(),
    ]
    for way in ways:
        try:
            store = way()
        except Exception:  # each exists in some versions of torch, and knows some groups
            continue
        if hasattr(store, "check"):
            return store
    raise RuntimeError(
        f"the ranks of {pg!r} cannot talk to one another: torch.distributed knows no key-value "
        "store of this process group (it was destroyed, or is of another kind)"
    )


def _numbers(pg: Any, n_ranks: int) -> list[int]:
    try:
        numbers = sys.modules["torch.distributed"].get_process_group_ranks(pg)
        return [int(number) for number in numbers]
    except Exception:  # a group that torch.distributed has not made itself
        return list(range(n_ranks))


def _device(torch: Any, pg: Any) -> str:
    """Where a group takes tensors: on the CPU if it can, else on the accelerator in use."""
    config = str(torch.distributed.get_backend_config(pg)).lower()
    backends = dict(part.partition(":")[::2] for part in config.split(","))
    kinds = [kind for kind, backend in backends.items() if backend]
    if not kinds or backends.get("cpu", "nccl") not in _ACCELERATOR_BACKENDS:
        return "cpu"
    kind = next(kind for kind in kinds if kind != "cpu")
    return f"{kind}:{getattr(torch, kind).current_device()}"
