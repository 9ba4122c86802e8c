# SPDX-License-Identifier: MIT
"""Calls while a graph is being captured."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from stand_ins import PLAN_RUNS, Stage, Tensor, records
from stand_ins import stage as the_stage
from tdtune import AutoTuner


def work(x: Any, *, tile: int = 0) -> int:
    return the_stage.run(tile)


def make() -> AutoTuner:
    return AutoTuner(work, [{"tile": tile} for tile in (1, 2)], lambda x: 0)


def test_F23_case_G1_a_miss_runs_the_first_and_measures_nothing(
    stage: Stage, root: Path, caplog: pytest.LogCaptureFixture
) -> None:
    tuned = make()
    stage.cost_ms = {2: 0.5}
    stage.capturing = True
    for _ in range(2):
        assert tuned(Tensor()) == 1
    assert stage.take_ran() == [1, 1]
    assert stage.device_calls == []
    assert records(root) == []
    assert any("captur" in record.getMessage() for record in caplog.records)
    stage.capturing = False
    assert tuned(Tensor()) == 2
    assert len(stage.take_ran()) == 2 * PLAN_RUNS + 1


def test_F23_case_G1_what_is_known_is_used(stage: Stage) -> None:
    stage.cost_ms = {2: 0.5}
    tuned = make()
    tuned(Tensor())
    stage.take_ran()
    stage.device_calls.clear()
    stage.capturing = True
    assert tuned(Tensor()) == 2
    fresh = make()
    for _ in range(2):
        assert fresh(Tensor()) == 2
    assert stage.take_ran() == [2, 2, 2]
    assert stage.device_calls == []
