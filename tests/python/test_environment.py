# SPDX-License-Identifier: MIT
"""Variables of the environment: when they count, and what they do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from stand_ins import PLAN_RUNS, Stage, Tensor, records, run_script
from stand_ins import stage as the_stage
from tdtune import AutoTuner

ALWAYS = "TRITON_DIST_AUTOTUNE_ALWAYS_TUNE"
ON_MISS = "TRITON_DIST_AUTOTUNE_ON_MISS"


def work(x: Any, alpha: float = 1.0, *, tile: int = 0) -> int:
    return the_stage.run(tile)


def by_alpha(x: Any, alpha: float = 1.0) -> float:
    return alpha


def make() -> AutoTuner:
    return AutoTuner(work, [{"tile": tile} for tile in (1, 2, 3)], by_alpha)


def test_F17_always_tune_ignores_the_store_once_per_key_and_process(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    make()(Tensor())
    stage.take_ran()
    monkeypatch.setenv(ALWAYS, "1")
    stage.cost_ms = {2: 0.5}
    tuned = make()
    assert tuned(Tensor()) == 2
    assert len(stage.take_ran()) == 3 * PLAN_RUNS + 1
    assert tuned(Tensor()) == 2
    assert stage.take_ran() == [2]
    monkeypatch.setenv(ALWAYS, "0")
    assert make()(Tensor()) == 2
    assert stage.take_ran() == [2]


def test_F24_first(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(ON_MISS, "first")
    tuned = make()
    for alpha in (1.0, 2.0):
        for _ in range(3):
            assert tuned(Tensor(), alpha) == 1
    assert stage.take_ran() == [1] * 6
    assert "record" not in stage.device_calls
    told = [r.getMessage() for r in caplog.records if "work" in r.getMessage()]
    assert len(told) == 2
    assert "2.0" in told[1]


def test_F24_error(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ON_MISS, "error")
    tuned = make()
    for _ in range(2):
        with pytest.raises(LookupError, match=r"work.*3\.5"):
            tuned(Tensor(), 3.5)
    assert stage.take_ran() == []
    assert tuned(Tensor(), 3.5, autotune=False) == 1
    monkeypatch.setenv(ON_MISS, "tune")
    stage.cost_ms = {3: 0.5}
    assert tuned(Tensor(), 3.5) == 3
    monkeypatch.setenv(ON_MISS, "error")
    assert make()(Tensor(), 3.5) == 3


@pytest.mark.parametrize("name", [ALWAYS, ON_MISS, "TRITON_DIST_AUTOTUNE_VERSION_CHECK"])
def test_a_value_that_means_nothing_is_refused(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "perhaps")
    with pytest.raises(ValueError, match=rf"{name}.*perhaps"):
        make()(Tensor())
    assert stage.take_ran() == []


def test_F26_variables_count_when_a_key_is_first_looked_up(
    stage: Stage, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tuned = make()
    other = tmp_path / "other"
    monkeypatch.setenv("TRITON_DIST_AUTOTUNE_DIR", str(other))
    tuned(Tensor(), 1.0)
    assert len(records(other)) == 1
    assert not root.exists()
    monkeypatch.setenv("TRITON_DIST_AUTOTUNE_DIR", str(root))
    tuned(Tensor(), 2.0)
    assert len(records(root)) == 1
    monkeypatch.setenv(ON_MISS, "error")
    assert tuned(Tensor(), 1.0) == 1
    with pytest.raises(LookupError):
        tuned(Tensor(), 9.0)


def test_F26_a_hit_reads_no_variable_and_no_file() -> None:
    """Seen from outside: system calls between two marks, and a trap around getenv."""
    out = run_script(
        """
        import os, sys
        from tdtune import autotune

        @autotune([{"tile": 1}, {"tile": 2}], key_fn=lambda x, **k: (x, "k"))
        def scale(x, tile, more=0):
            return x

        scale(1)
        scale(1, more=2)
        asked = []
        events = []
        sys.addaudithook(lambda name, args: events.append(name) if watching else None)
        watching = False

        class Trap(dict):
            def __getitem__(self, name):
                asked.append(name)
                raise KeyError(name)

        os.environ = Trap()
        os.environb = Trap()
        sys.modules["tdtune._cold"].__dict__.clear()
        watching = True
        for _ in range(100):
            scale(1)
            scale(1, more=2)
            scale(1, more=2, autotune=True)
        watching = False
        print(asked, events)
        """
    )
    assert out.strip() == "[] []"
