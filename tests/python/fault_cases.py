# SPDX-License-Identifier: MIT
"""The faults among ranks that are tried, and what is to come of each."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import NamedTuple

ANSWER = "the same answer"
ERROR = "RuntimeError"
OWN = "its own exception"
DEAD = "-"
HITS = "its own hit"
BROKEN = "reductions begun over this process group"


class Case(NamedTuple):
    """A fault, and what is to come of it.

    Attributes
    ----------
    guilty, others
        What the rank with the fault gets, and what all others get.
    text
        Parts of each ERROR. {g} is the number of the rank with the fault.
    measured
        Whether candidates are measured by all, by none (False), or this is open (None).
    log
        What the others' logs say meanwhile.
    again
        What all ranks get from their next call, where all live: ANSWER or BROKEN.
    """

    tuner: str
    fault: str
    phase: str
    guilty: str
    others: str
    text: tuple[str, ...] = ()
    measured: bool | None = None
    log: str = ""
    again: str = ANSWER

    def __str__(self) -> str:
        return f"{self.tuner}, {self.fault}" + (f" in {self.phase}" if self.phase else "")


A, C = "autotune", "contextual_autotune"
NAMED = "rank {g}"
GONE = ("waited", "in vain for", NAMED)
LEFT = (NAMED + " gave up", "KeyboardInterrupt")
RAISED = (NAMED + " gave up", "ValueError: on purpose")
WAITING = "{a}: rank {{o}} has waited 10 s for rank {{g}}, and will for at most 60 s"

CASES = [
    Case(A, "different key", "", ERROR, ERROR, ("key:", "of another", NAMED)),
    Case(
        A,
        "different candidates",
        "",
        ERROR,
        ERROR,
        ("candidates:", "3 in number", "2 in number", NAMED),
    ),
    Case(
        A,
        "different pruning",
        "",
        ERROR,
        ERROR,
        ("candidates that pruning keeps:", "0-2", "1-2", NAMED),
    ),
    Case(A, "different pruning rule", "", ERROR, ERROR, ("pruning rule:", NAMED)),
    Case(A, "different source", "", ERROR, ERROR, ("source (with", NAMED)),
    Case(A, "hit on one rank only", "", ANSWER, ANSWER, measured=False),
    Case(A, "hits with different winners", "", ANSWER, ANSWER, measured=False),
    Case(A, "exception", "key_fn", OWN, ERROR, RAISED),
    Case(A, "exception", "pruning", OWN, ERROR, RAISED),
    Case(A, "exception", "warm-up", ANSWER, ANSWER, measured=True),
    Case(A, "exception", "timed runs", ANSWER, ANSWER, measured=True),
    Case(
        A,
        "all candidates fail",
        "",
        ERROR,
        ERROR,
        ("cannot find valid config", "on purpose", NAMED),
    ),
    Case(A, "kill -9", "key_fn", DEAD, ERROR, (NAMED,)),
    Case(A, "kill -9", "check-in", DEAD, ERROR, (NAMED,)),
    Case(A, "kill -9", "pruning", DEAD, ERROR, (NAMED,)),
    Case(A, "kill -9", "warm-up", DEAD, ERROR, (NAMED,)),
    Case(A, "kill -9", "timed runs", DEAD, ERROR, (NAMED,)),
    Case(A, "kill -9", "before the reduction", DEAD, ERROR, (NAMED,)),
    Case(A, "kill -9", "the reduction", DEAD, ERROR, (NAMED,)),
    Case(A, "kill -9", "the end of the reduction", DEAD, ERROR, (NAMED,)),
    Case(A, "kill -9", "the record", DEAD, ANSWER),
    Case(A, "interrupt", "key_fn", OWN, ERROR, LEFT),
    Case(A, "interrupt", "check-in", OWN, ERROR, LEFT),
    Case(A, "interrupt", "pruning", OWN, ERROR, LEFT),
    Case(A, "interrupt", "warm-up", OWN, ERROR, LEFT),
    Case(A, "interrupt", "timed runs", OWN, ERROR, LEFT),
    Case(A, "interrupt", "before the reduction", OWN, ERROR, LEFT, again=BROKEN),
    Case(A, "interrupt", "the reduction", OWN, ERROR, LEFT, again=BROKEN),
    Case(A, "interrupt", "the end of the reduction", OWN, ERROR, LEFT),
    Case(A, "interrupt", "the record", OWN, ANSWER),
    *(
        Case(A, "delay", phase, ANSWER, ANSWER, measured=True)
        for phase in (
            "key_fn",
            "check-in",
            "pruning",
            "warm-up",
            "timed runs",
            "before the reduction",
            "the end of the reduction",
            "the record",
        )
    ),
    Case(
        A,
        "15 s delay",
        "warm-up",
        ANSWER,
        ANSWER,
        log=WAITING.format(a="candidate [0], timed runs"),
    ),
    *(
        Case(A, "too late", phase, ERROR, ERROR, GONE)
        for phase in (
            "key_fn",
            "check-in",
            "pruning",
            "warm-up",
            "timed runs",
            "before the reduction",
        )
    ),
    Case(A, "too late", "the record", ANSWER, ANSWER),
    # ------------------------------------------------------------------------------------------
    Case(C, "different key", "", ERROR, ERROR, ("kernels and keys being tuned", "(65,)", NAMED)),
    Case(
        C,
        "different candidates",
        "",
        ERROR,
        ERROR,
        ("candidates:", "3 of kernels.kernel", "2 of kernels.kernel", NAMED),
    ),
    Case(
        C,
        "different pruning",
        "",
        ERROR,
        ERROR,
        ("candidates:", "3 of kernels.kernel", "2 of kernels.kernel", NAMED),
    ),
    Case(C, "different source", "", ERROR, ERROR, ("kernels and keys being tuned", NAMED)),
    Case(C, "hit on one rank only", "", ERROR, ERROR, ("kernels and keys being tuned", NAMED)),
    Case(C, "hits with different winners", "", HITS, HITS, measured=False),
    Case(C, "exception", "the outer function", OWN, ERROR, RAISED),
    Case(C, "exception", "pruning", OWN, ERROR, RAISED),
    Case(C, "exception", "warm-up", ANSWER, ANSWER, measured=True),
    Case(C, "exception", "timed runs", ANSWER, ANSWER, measured=True),
    Case(C, "all candidates fail", "", ERROR, ERROR, ("cannot find valid config", "on purpose")),
    Case(C, "kill -9", "the outer function", DEAD, ERROR, (NAMED,)),
    Case(C, "kill -9", "check-in", DEAD, ERROR, (NAMED,)),
    Case(C, "kill -9", "pruning", DEAD, ERROR, (NAMED,)),
    Case(C, "kill -9", "warm-up", DEAD, ERROR, (NAMED,)),
    Case(C, "kill -9", "timed runs", DEAD, ERROR, (NAMED,)),
    Case(C, "kill -9", "before the reduction", DEAD, ERROR, (NAMED,)),
    Case(C, "kill -9", "the reduction", DEAD, ERROR, (NAMED,)),
    Case(C, "kill -9", "the end of the reduction", DEAD, ERROR, (NAMED,)),
    Case(C, "interrupt", "the outer function", OWN, ERROR, LEFT),
    Case(C, "interrupt", "check-in", OWN, ERROR, LEFT),
    Case(C, "interrupt", "pruning", OWN, ERROR, LEFT),
    Case(C, "interrupt", "warm-up", OWN, ERROR, LEFT),
    Case(C, "interrupt", "timed runs", OWN, ERROR, LEFT),
    Case(C, "interrupt", "before the reduction", OWN, ERROR, LEFT, again=BROKEN),
    Case(C, "interrupt", "the reduction", OWN, ERROR, LEFT, again=BROKEN),
    Case(C, "interrupt", "the end of the reduction", OWN, ERROR, LEFT),
    *(
        Case(C, "delay", phase, ANSWER, ANSWER, measured=True)
        for phase in (
            "the outer function",
            "check-in",
            "pruning",
            "warm-up",
            "timed runs",
            "before the reduction",
            "the end of the reduction",
        )
    ),
    Case(C, "15 s delay", "warm-up", ANSWER, ANSWER, log=WAITING.format(a="launches")),
    *(
        Case(C, "too late", phase, ERROR, ERROR, GONE)
        for phase in (
            "the outer function",
            "check-in",
            "pruning",
            "warm-up",
            "timed runs",
            "before the reduction",
            "the end of the reduction",
        )
    ),
]


class Trial(NamedTuple):
    """A case in a world of `n_ranks`, of which `members` tune; `guilty` has the fault."""

    case: Case
    n_ranks: int
    members: tuple[int, ...]
    guilty: int

    def __str__(self) -> str:
        return f"{self.case}, rank {self.guilty} of {self.world}"

    @property
    def world(self) -> str:
        if len(self.members) == self.n_ranks:
            return str(self.n_ranks)
        return f"{{{', '.join(map(str, self.members))}}} of {self.n_ranks}"


WORLDS = [(2, (0, 1)), (3, (0, 1, 2)), (4, (0, 1, 2, 3)), (4, (1, 3))]

# In the worlds of 4, one of each kind.
IN_FOUR = [
    ("different key", ""),
    ("hit on one rank only", ""),
    ("exception", "key_fn"),
    ("exception", "warm-up"),
    ("kill -9", "warm-up"),
    ("kill -9", "check-in"),
    ("interrupt", "pruning"),
    ("delay", "timed runs"),
    ("too late", "warm-up"),
]


def trials() -> Iterator[Trial]:
    """The matrix."""
    for (n_ranks, members), case in itertools.product(WORLDS, CASES):
        if case.fault == "15 s delay" and n_ranks != 3:
            continue
        if n_ranks == 4 and (case.fault, case.phase) not in IN_FOUR:
            continue
        if case.tuner == C and len(members) < n_ranks:
            continue  # it always tunes with all
        yield Trial(case, n_ranks, members, members[0])
        yield Trial(case, n_ranks, members, members[-1])
