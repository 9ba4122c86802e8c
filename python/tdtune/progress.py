# SPDX-License-Identifier: MIT
"""How far a tuning is, for those who want to show it."""

from collections.abc import Callable
from typing import NamedTuple

# By the number of tdt_outcome in the C interface.
_OUTCOMES = ("unknown", "timed", "failed", "pruned")
_TIMED = 1


class Progress(NamedTuple):
    """State of a tuning after a candidate was measured.

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
