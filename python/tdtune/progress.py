# SPDX-License-Identifier: MIT
"""How far a tuning is, for those who want to show it."""

import importlib
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

# By the number of tdt_outcome in the C interface.
_OUTCOMES = ("unknown", "timed", "failed", "pruned")
_TIMED = 1
# Only a tuning that takes longer shows itself.
SHOWN_AFTER_S = 5.0
_MOST_CONFIG = 40


class Progress(NamedTuple):
    """State of a tuning after a candidate was measured; a plan that measures some of them on tells
    of these again each time.

    Attributes
    ----------
    n_candidates
        How many take part.
    n_done
        How many of them were measured or failed.
    candidate
        Index of the one just done; None at the start.
    outcome
        Of it: ``"unknown"``, ``"timed"``, ``"failed"`` or ``"pruned"``.
    time_ms
        Of it, in milliseconds; None unless timed.
    error
        Why it failed; None otherwise.
    best
        Index of the fastest so far; None if none ran.
    best_ms
        Its time in milliseconds; None if none ran.
    """

    n_candidates: int
    n_done: int
    candidate: int | None
    outcome: str
    time_ms: float | None
    error: str | None
    best: int | None
    best_ms: float | None


def progress(
    on_progress: Callable[[Progress], object],
    n_candidates: int,
    n_done: int,
    candidate: int,
    outcome: int,
    time_ms: float,
    error: str | None,
    best: int,
    best_ms: float,
) -> None:
    """Tell a callback how far a tuning is; an index of -1 means that there is none.

    What the callback raises is passed on.
    """
    on_progress(
        Progress(
            n_candidates,
            n_done,
            candidate if candidate >= 0 else None,
            _OUTCOMES[outcome],
            time_ms if outcome == _TIMED else None,
            error,
            best if best >= 0 else None,
            best_ms if best >= 0 else None,
        )
    )


def progress_bar(name: str, n_candidates: int, verbose: bool) -> "Bar | None":
    """Return what shows how far a tuning is; None if nothing does.

    Parameters
    ----------
    name
        Of the tuned function.
    n_candidates
        How many take part.
    verbose
        Whether there is a line for each of them anyway.
    """
    try:
        shows = not verbose and sys.stderr.isatty()
    except Exception:  # no standard error, or a strange one
        shows = False
    return Bar(name, n_candidates) if shows else None


class Bar:
    """One line on standard error while a tuning takes long: how many candidates are done, the best
    so far, the time left. Drawn by tqdm if that is installed.

    Showing must not break what it shows: whatever fails here ends the showing.

    Parameters
    ----------
    name
        Of the tuned function.
    n_candidates
        How many take part.
    """

    def __init__(self, name: str, n_candidates: int) -> None:
        self._name = name
        self._n = n_candidates
        self._start = time.monotonic()
        self._line: _TqdmLine | _PlainLine | None = None
        self._broken = False

    def update(self, n_done: int, best: str | None, best_ms: float) -> None:
        """Show how many candidates are done, and the best one with its milliseconds."""
        elapsed_s = time.monotonic() - self._start
        if self._broken or elapsed_s < SHOWN_AFTER_S:
            return
        try:
            if self._line is None:
                self._line = _make_line(self._name, self._n, elapsed_s)
            text = "none works yet" if best is None else f"best {_cut(best)} {best_ms:.4g} ms"
            self._line.show(n_done, text, elapsed_s)
        except Exception:
            self._broken = True

    def close(self) -> None:
        """Remove the line."""
        try:
            if self._line is not None:
                self._line.close()
        except Exception:
            self._broken = True


def _cut(config: str) -> str:
    return config if len(config) <= _MOST_CONFIG else config[: _MOST_CONFIG - 3] + "..."


def _make_line(name: str, n: int, elapsed_s: float) -> "_TqdmLine | _PlainLine":
    try:
        tqdm = importlib.import_module("tqdm").tqdm
    except ImportError:
        return _PlainLine(name, n)
    return _TqdmLine(tqdm(total=n, desc=f"tuning {name}", leave=False, file=sys.stderr), elapsed_s)


class _TqdmLine:
    def __init__(self, bar: Any, elapsed_s: float) -> None:
        self._bar = bar
        bar.start_t -= elapsed_s  # it counts from the start of the tuning

    def show(self, n_done: int, text: str, _elapsed_s: float) -> None:
        self._bar.set_postfix_str(text, refresh=False)
        self._bar.n = n_done
        self._bar.refresh()

    def close(self) -> None:
        self._bar.close()


class _PlainLine:
    def __init__(self, name: str, n: int) -> None:
        self._name = name
        self._n = n
        self._width = 0

    def show(self, n_done: int, text: str, elapsed_s: float) -> None:
        left_s = elapsed_s * (self._n - n_done) / n_done if n_done > 0 else float("nan")
        left = f"{left_s:.0f} s left" if n_done > 0 else "time left unknown"
        self._write(f"tuning {self._name}: {n_done} of {self._n}, {left}, {text}")

    def close(self) -> None:
        self._write("")
        sys.stderr.write("\r")
        sys.stderr.flush()

    def _write(self, line: str) -> None:
        sys.stderr.write("\r" + line.ljust(self._width))
        sys.stderr.flush()
        self._width = len(line)
