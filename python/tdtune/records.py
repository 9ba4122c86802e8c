# SPDX-License-Identifier: MIT
"""Reading what was stored, and small helpers around keys and configurations."""

import json
import logging
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tdtune import _native
from tdtune.values import loaded

_logger = logging.getLogger("tdtune")


def to_hashable(tensor: Any) -> tuple[tuple[int, ...], tuple[int, ...], Any]:
    """Return what of a tensor usually decides which configuration is fastest.

    Parameters
    ----------
    tensor
        A torch tensor or a NumPy array.

    Returns
    -------
    tuple
        Shape, strides (in elements; of a NumPy array in bytes, as it counts them) and dtype.
    """
    stride = tensor.stride() if callable(getattr(tensor, "stride", None)) else tensor.strides
    return tuple(tensor.shape), tuple(stride), tensor.dtype


def load_autotune_data(path: str | os.PathLike[str]) -> dict[str, Any] | None:
    """Read the record of one tuned key.

    Parameters
    ----------
    path
        The record's file, such as ``AutoTuner.record_path()`` gives.

    Returns
    -------
    dict or None
        The record, as its JSON file has it. None, with a warning, if there is no such file or it
        is not a whole record.
    """
    try:
        record = json.loads(_native.record_json(os.fspath(path)))
    except (OSError, ValueError) as error:
        _logger.warning("no record can be read: %s", error)
        return None
    return record if isinstance(record, dict) else None


def table(path: str | os.PathLike[str]) -> str:
    """Return a record as a table: a line for each candidate, the winner and its gain.

    Raises
    ------
    OSError, ValueError
        There is no such file, or it is not a whole record.
    """
    return _native.record_table(os.fspath(path))


class _PrettyRepr:
    """Counts who wants triton.Config's short repr; the last one out puts the old one back."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._cls: Any = None
        self._before: Any = None

    def enter(self, cls: Any) -> None:
        with self._lock:
            self._users += 1
            if self._users == 1:
                self._cls, self._before = cls, cls.__dict__.get("__repr__")
                cls.__repr__ = cls.__str__

    def leave(self) -> None:
        with self._lock:
            self._users -= 1
            if self._users:
                return
            if self._before is None:
                del self._cls.__repr__
            else:
                self._cls.__repr__ = self._before
            self._cls = self._before = None


_pretty = _PrettyRepr()


@contextmanager
def pretty_triton_config_repr() -> Iterator[None]:
    """Make ``repr()`` of a ``triton.Config`` say what is in it, for as long as the block lasts.

    Nests, and may be used by several threads at once. Does nothing if the process has not imported
    Triton.
    """
    cls = loaded("triton", "Config")
    if cls is None:
        yield
        return
    _pretty.enter(cls)
    try:
        yield
    finally:
        _pretty.leave()
