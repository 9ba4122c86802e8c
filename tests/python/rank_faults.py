# SPDX-License-Identifier: MIT
"""The matrix of faults among ranks: tries them, and shows what came of each.

usage: rank_faults.py [--write] [WORD ...]

Tries all faults (of which the name has every WORD) and prints the matrix. --write keeps it in
docs/ranks-matrix.md.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fault_cases import ANSWER, BROKEN, CASES, DEAD, ERROR, HITS, OWN, Case, Trial, trials
from fault_worlds import DELAY_S, SLACK_S, TIMEOUT_S, Outcome, Result, try_all

ROOT = Path(__file__).resolve().parent.parent.parent
DOC = ROOT / "docs" / "ranks-matrix.md"

# -- judging ------------------------------------------------------------------------------------


def limit_s(trial: Trial) -> float:
    """How long a rank may take: nobody waits longer than for a delay, or to the deadline."""
    fault = trial.case.fault
    waits_s = TIMEOUT_S[fault] if fault in ("kill -9", "too late") else 0.0
    return 2 * waits_s + DELAY_S.get(fault, 0.0) + SLACK_S


def faults_of_one(trial: Trial, rank: int, outcome: Any) -> Iterator[str]:
    """What is wrong with what one rank got."""
    expected = trial.case.guilty if rank == trial.guilty else trial.case.others
    if isinstance(outcome, str):
        if (outcome, expected) != ("dead", DEAD):
            yield f"rank {rank}: {outcome}"
        return
    got = f"rank {rank}: {outcome['error']}: {outcome['text']}"
    if not outcome["happened"]:
        yield f"rank {rank}: the fault did not happen"
    if outcome["seconds"] > limit_s(trial):
        yield f"rank {rank} took {outcome['seconds']:.1f} s"
    if expected in (ANSWER, HITS) and outcome["error"]:
        yield got
    if expected == OWN and outcome["error"] != own_error(trial):
        yield got
    if expected == ERROR:
        parts = [part.format(g=trial.guilty) for part in trial.case.text]
        missing = [part for part in parts if part not in outcome["text"]]
        if outcome["error"] != "RuntimeError" or missing:
            yield f"{got} (lacks {missing})"


def own_error(trial: Trial) -> str:
    return "KeyboardInterrupt" if trial.case.fault == "interrupt" else "ValueError"


def faults_of_all(trial: Trial, outcomes: list[Outcome]) -> Iterator[str]:
    """What is wrong with what ranks got together."""
    answers = {json.dumps(one["answer"]) for one in outcomes if not one["error"]}
    if len(answers) > 1 and trial.case.guilty != HITS:
        yield f"different answers: {sorted(answers)}"
    failing = trial.case.fault == "exception" and trial.case.guilty == ANSWER
    if failing and answers & {"1", '"launched 0"'}:
        yield f"the answer is the candidate that failed: {sorted(answers)}"
    for one in outcomes:
        if trial.case.measured is False and one.get("n_ran", 1) > 1:
            yield "a rank has measured"
        if trial.case.measured is True and one.get("n_ran", 2) < 2:
            yield "a rank has not measured"


def faults_of(trial: Trial, result: Result) -> list[str]:
    """What is wrong with a result; nothing, it is to be hoped."""
    found = [
        fault
        for rank, outcome in result.first.items()
        for fault in faults_of_one(trial, rank, outcome)
    ]
    found += faults_of_all(
        trial, [one for one in result.first.values() if one not in ("dead", "hung")]
    )
    for rank, text in result.outputs.items():
        line = trial.case.log.format(o=rank, g=trial.guilty)
        if rank != trial.guilty and line not in text:
            found.append(f"the log of rank {rank} lacks: {line}")
    return [*found, *faults_of_next(trial, result.again or {})]


def faults_of_next(trial: Trial, again: dict[int, Any]) -> Iterator[str]:
    """What is wrong with the next call, in which there was no fault."""
    for rank, outcome in again.items():
        got = outcome if isinstance(outcome, str) else outcome["text"]
        good = trial.case.again in got if trial.case.again == BROKEN else got == ""
        if not good:
            yield f"the next call on rank {rank}: {outcome}"
        if not isinstance(outcome, str) and outcome["seconds"] > SLACK_S:
            yield f"the next call on rank {rank} took {outcome['seconds']:.1f} s"
    if len({json.dumps(one["answer"]) for one in again.values() if not isinstance(one, str)}) > 1:
        yield f"the next call's answers differ: {again}"


# -- telling ------------------------------------------------------------------------------------

HEADS = (
    "tuner",
    "fault",
    "in",
    "rank G gets",
    "the others get",
    "errors or logs say",
    "the next call",
    "worlds",
)


def row_of(case: Case) -> tuple[str, ...]:
    """A row of the matrix, as expected."""
    worlds = dict.fromkeys(trial.world for trial in trials() if trial.case == case)
    texts = [f"`{part.format(g='G', o='R')}`" for part in (*case.text, case.log) if part]
    return (
        case.tuner,
        case.fault,
        case.phase or "-",
        case.guilty,
        case.others,
        ", ".join(texts) or "-",
        next_of(case),
        "; ".join(worlds),
    )


def next_of(case: Case) -> str:
    """What the table says of the next call."""
    if case.fault == "kill -9":
        return "-"
    return f"RuntimeError, `{BROKEN}`" if case.again == BROKEN else "works"


def table(found: dict[Trial, Result]) -> str:
    """The matrix, as it turned out."""
    by_case = defaultdict(list)
    for trial in found:
        by_case[trial.case].append(trial)
    rows = [(*HEADS, "slowest", "trials"), ("---",) * (len(HEADS) + 2)]
    rows += [
        (*row_of(case), f"{slowest_s(case, found):.1f} s", tally(by_case[case], found))
        for case in CASES
        if case in by_case
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def slowest_s(case: Case, found: dict[Trial, Result]) -> float:
    """The longest that a rank took that lived."""
    outcomes = [one for trial in found if trial.case == case for one in found[trial].first.values()]
    return max((one["seconds"] for one in outcomes if not isinstance(one, str)), default=0.0)


def tally(tried: list[Trial], found: dict[Trial, Result]) -> str:
    bad = sum(bool(faults_of(trial, found[trial])) for trial in tried)
    return f"{bad} of {len(tried)} NOT as expected" if bad else f"{len(tried)} as expected"


INTRODUCTION = """\
# Faults among ranks

What comes of a fault on one rank, G: what that rank gets, what the others get, and how the next
call of all ranks ends. Each line was tried in worlds of real processes with gloo, with the fault on
the first rank and on the last; `{1, 3} of 4` is a group of two ranks in a world of four. In worlds
of two and four the key-value store by which ranks meet is one of rank 0 and dies with it; in worlds
of three it outlives all, as under `torchrun`.

The deadline (`TRITON_DIST_AUTOTUNE_RANK_TIMEOUT`) was KILL s for kills, LATE s where a rank comes
too late, and LONG s for all else, where nobody was to wait for it.

| in | when exactly |
| --- | --- |
| check-in | while the rank waits for the others: it is hit from outside |
| before the reduction | in the call that begins the all-reduce of times, right before |
| the reduction | in that call, right after |
| the end of the reduction | while the rank waits for the all-reduce |
| the record | in the system call that puts the file in its place |

A rank that is interrupted in the very call that begins the all-reduce may or may not have begun it.
After that nobody reduces over this process group any more, since ranks that are out of step would
mix up its collectives: the next tuning that measures is an error on all ranks at once. Make a new
process group; results that are stored already are still used.

This page is written by `tests/python/rank_faults.py --write`; `fault_cases.py` beside it is what
the tests expect.

"""


def document(found: dict[Trial, Result]) -> str:
    """The page of the documents."""
    introduction = INTRODUCTION
    for word, kind in ("KILL", "kill -9"), ("LATE", "too late"), ("LONG", ""):
        introduction = introduction.replace(word, f"{TIMEOUT_S[kind]:g}")
    return f"{introduction}{table(found)}\n"


def main(words: list[str]) -> int:
    write = "--write" in words
    words = [word for word in words if word != "--write"]
    wanted = [trial for trial in trials() if all(word in str(trial) for word in words)]
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        found = try_all(wanted, Path(folder))
    bad = {trial: faults for trial in wanted if (faults := faults_of(trial, found[trial]))}
    for trial, faults in bad.items():
        print("\n    ".join([f"FAILED {trial}", *faults]))
        if os.environ.get("RANK_FAULTS_OUTPUT"):
            print(found[trial].output)
    print(table(found))
    print(f"{len(wanted)} trials, {len(bad)} failed, {time.monotonic() - start:.0f} s")
    if write and not bad and not words:
        DOC.write_text(document(found), encoding="utf-8")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
