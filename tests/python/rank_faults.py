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
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from fault_cases import ANSWER, CASES, DEAD, ERROR, HITS, OWN, Case, Trial, trials
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
    again = result.again or {}
    for rank, outcome in again.items():
        if isinstance(outcome, str) or outcome["error"]:
            found.append(f"the next call on rank {rank}: {outcome}")
    if len({json.dumps(one["answer"]) for one in again.values() if not isinstance(one, str)}) > 1:
        found.append(f"the next call's answers differ: {again}")
    return found


# -- telling ------------------------------------------------------------------------------------

HEADS = ("tuner", "fault", "in", "rank G gets", "the others get", "errors or logs say", "worlds")


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
        "; ".join(worlds),
    )


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

What comes of a fault on one rank, G: what that rank gets, and what the others get. Each line was tried
in worlds of real processes with gloo, with the fault on the first rank and on the last; `{1, 3} of 4` is
a group of two ranks in a world of four. Where all ranks lived and none had left the process group in the
middle of a reduction, their next call worked. No rank waits longer than the deadline
(`TRITON_DIST_AUTOTUNE_RANK_TIMEOUT`), which was {killed:g} s for kills, {late:g} s for what comes too late, and
{long:g} s for all else, where nobody was to wait for it.

*check-in* is a fault that hits the rank from outside while it waits for the others; *the reduction* is
right before the rank begins the all-reduce of times; *the record*, in the system call that puts the
file in its place.

This page is written by `tests/python/rank_faults.py --write`; `fault_cases.py` beside it is what the
tests expect.

"""


def document(found: dict[Trial, Result]) -> str:
    introduction = INTRODUCTION.replace("{1, 3}", "{{1, 3}}").format(
        killed=TIMEOUT_S["kill -9"], late=TIMEOUT_S["too late"], long=TIMEOUT_S[""]
    )
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
