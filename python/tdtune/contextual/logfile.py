# SPDX-License-Identifier: MIT
"""The log of contextual tuning, one event a line; its lines are in ``docs/contextual.md``."""

import datetime
import logging
from pathlib import Path
from typing import TextIO

_FOLDER = Path(".autotune_logs")
_FIRST = "event=found "  # what comes before it is about calls in which nothing is tuned

_logger = logging.getLogger("tdtune")


class LogFile:
    """``./.autotune_logs/rank-<rank>.log``, appended to. Made when the first kernel is found.

    Parameters
    ----------
    rank
        Of this process.
    """

    def __init__(self, rank: int) -> None:
        self._path = (_FOLDER / f"rank-{rank}.log").absolute()
        self._file: TextIO | None = None
        self._tried = False

    def write(self, line: str) -> None:
        """Append a line with the time in front. Where that is impossible, warn once."""
        if not self._tried and line.startswith(_FIRST):
            self._tried = True
            self._file = self._open()
        if self._file is None:
            return
        now = datetime.datetime.now().astimezone().isoformat(timespec="milliseconds")
        try:
            self._file.write(f"{now} {line}\n")
        except (OSError, ValueError) as reason:
            self._give_up(reason)

    def close(self) -> None:
        """Close the file, if there is one."""
        file, self._file = self._file, None
        if file is not None:
            try:
                file.close()
            except OSError as reason:
                self._warn(reason)

    def _open(self) -> TextIO | None:
        try:
            self._path.parent.mkdir(exist_ok=True)
            return self._path.open("a", encoding="utf-8", errors="backslashreplace", buffering=1)
        except OSError as reason:
            self._warn(reason)
            return None

    def _give_up(self, reason: Exception) -> None:
        self._warn(reason)
        self.close()

    def _warn(self, reason: Exception) -> None:
        _logger.warning("no log of contextual tuning in %s: %s", self._path, reason)
