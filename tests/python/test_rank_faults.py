# SPDX-License-Identifier: MIT
"""R02 to R05, C05: the matrix of faults, tried with real processes and gloo."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("triton")

import fault_cases
import fault_worlds
import rank_faults
from fault_cases import CASES, Trial
from fault_worlds import Result

TRIALS = list(fault_cases.trials())
Matrix = dict[Trial, Result]


@pytest.fixture(scope="session")
def matrix(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Matrix:
    """What came of all trials that this session asks for; they are tried together."""
    wanted = [
        item.callspec.params["trial"]
        for item in request.session.items
        if isinstance(item, pytest.Function)
        and item.function is test_R05_no_rank_hangs_and_all_get_what_the_matrix_says
    ]
    found = fault_worlds.try_all(wanted, tmp_path_factory.mktemp("faults"))
    capture = request.config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        print(f"\n{rank_faults.table(found)}")
    return found


@pytest.mark.parametrize("trial", TRIALS, ids=str)
def test_R05_no_rank_hangs_and_all_get_what_the_matrix_says(trial: Trial, matrix: Matrix) -> None:
    faults = rank_faults.faults_of(trial, matrix[trial])
    assert not faults, "\n".join([*faults, matrix[trial].output])


def test_the_matrix_has_each_fault_on_the_first_and_the_last_rank() -> None:
    for case in CASES:
        for n_ranks in (3,) if case.fault == "15 s delay" else (2, 3):
            ranks = {t.guilty for t in TRIALS if t.case == case and t.n_ranks == n_ranks}
            assert ranks == {0, n_ranks - 1}


def test_the_documents_show_this_matrix() -> None:
    lines = Path(rank_faults.DOC).read_text(encoding="utf-8").splitlines()
    rows = [tuple(re.split(r" \| ", line[2:-2])) for line in lines if line.startswith("| ")]
    rows = [row for row in rows if len(row) > len(rank_faults.HEADS)][2:]
    assert [row[: len(rank_faults.HEADS)] for row in rows] == [
        rank_faults.row_of(case) for case in CASES
    ]
    assert all(re.fullmatch(r"\d+ as expected", row[-1]) for row in rows)
