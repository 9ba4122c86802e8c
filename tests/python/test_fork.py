# SPDX-License-Identifier: MIT
"""Children that are forked, also in the middle of things."""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path

import pytest
from stand_ins import in_child, only_record
from tdtune import AutoTuner

TILES = [{"tile": 2}, {"tile": 1}]


@pytest.fixture(autouse=True)
def _no_accelerator(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep to the host's clock: a device that another test woke up is dead in a forked child."""
    monkeypatch.delitem(sys.modules, "torch", raising=False)


def make(runs: list[int], delay_s: float = 0.0005, stored: bool = True) -> AutoTuner:
    secret = None if stored else threading.Lock()  # which nothing can be stored for

    def scale(x: int, *, tile: int) -> int:
        assert secret is None or not stored
        runs.append(tile)
        time.sleep(delay_s * tile)
        return tile

    return AutoTuner(scale, TILES, lambda x: x, warmup=1, repeat=2)


def test_S07_a_child_remembers_and_can_tune() -> None:
    runs: list[int] = []
    tuned = make(runs)
    winner = tuned(0)

    def child() -> bool:
        runs.clear()
        hit = tuned(0) == winner and runs == [winner]
        runs.clear()
        return hit and tuned(7) in (1, 2) and len(runs) == 7

    assert in_child(child)
    runs.clear()
    assert tuned(0) == winner
    assert runs == [winner]


@pytest.mark.parametrize("stored", [True, False])
@pytest.mark.parametrize("key", [5, 6])
def test_S07_a_child_forked_while_another_thread_tunes(key: int, stored: bool) -> None:
    """The thread's tuning of key 5 is not the child's: it waits for the parent's record, if there
    will be one, and for no thread that it does not have.
    """
    runs: list[int] = []
    tuned = make(runs, 0.05, stored)
    winner = tuned(0)
    before = len(runs)
    thread = threading.Thread(target=tuned, args=(5,))
    thread.start()
    while len(runs) < before + 2:
        time.sleep(0.001)

    def child() -> bool:
        hit = tuned(0) == winner
        del runs[:]
        return hit and tuned(key) in (1, 2) and len(runs) == (1 if key == 5 and stored else 7)

    assert in_child(child)
    thread.join()
    del runs[:]
    assert tuned(5) in (1, 2)
    assert len(runs) == 1


def scale(x: int, *, tile: int) -> int:
    return tile


def test_S07_a_child_uses_and_fills_the_store(root: Path) -> None:
    def child() -> bool:
        tuned = AutoTuner(scale, TILES, lambda x: x, warmup=0, repeat=1)
        return tuned(3) in (1, 2)

    assert in_child(child)
    best = only_record(root)["best"]
    tuned = AutoTuner(scale, TILES, lambda x: x, warmup=0, repeat=1)
    assert tuned(3) == TILES[best]["tile"]
