# SPDX-License-Identifier: MIT
"""Pruning, the plan, the clock, progress, calls within calls."""

from __future__ import annotations

import gc
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from stand_ins import PLAN_RUNS, Stage, Tensor, only_record, records
from stand_ins import stage as the_stage
from tdtune import AutoTuner


def work(x: Any, alpha: float = 1.0, *, tile: int = 0) -> int:
    return the_stage.run(tile)


def by_alpha(x: Any, alpha: float = 1.0) -> float:
    return alpha


TILES = [{"tile": tile} for tile in (1, 2, 3, 4)]


def make(prune_fn: Callable[..., object] | None = None, **options: Any) -> AutoTuner:
    return AutoTuner(work, TILES, by_alpha, prune_fn, **options)


def test_F06_prune_fn_is_asked_once_per_candidate_in_order_and_only_to_tune(stage: Stage) -> None:
    asked: list[tuple[Any, ...]] = []

    def prune_fn(config: dict[str, int], *args: Any, **kwargs: Any) -> object:
        asked.append((config["tile"], args, kwargs, list(stage.ran)))
        return [] if config["tile"] in (1, 3) else "yes"

    x = Tensor()
    tuned = make(prune_fn)
    stage.cost_ms = {1: 0.1, 4: 0.5}
    assert tuned(x, alpha=2.0, autotune=True) == 4
    assert asked == [(tile, (x,), {"alpha": 2.0}, []) for tile in (1, 2, 3, 4)]
    assert set(stage.take_ran()) == {2, 4}
    tuned(x, alpha=2.0)
    assert len(asked) == 4


ASKED: list[int] = []


def odd_only(config: dict[str, int], x: object) -> bool:
    ASKED.append(config["tile"])
    return config["tile"] % 2 == 1


def test_F06_a_stored_result_of_the_same_rule_asks_nobody(stage: Stage) -> None:
    ASKED.clear()
    make(odd_only)(Tensor())
    assert ASKED == [1, 2, 3, 4]
    stage.take_ran()
    assert make(odd_only)(Tensor()) == 1
    assert ASKED == [1, 2, 3, 4]
    assert stage.take_ran() == [1]


def test_F06_what_prune_fn_does_to_its_config_changes_nothing(stage: Stage) -> None:
    def prune_fn(config: dict[str, Any], x: object) -> bool:
        config["tile"] = 77
        config["more"] = 1
        return True

    tuned = make(prune_fn)
    assert tuned(Tensor()) == 1
    assert set(stage.take_ran()) == {1, 2, 3, 4}
    assert tuned.config_space == tuple(TILES)


def test_F06_without_a_rule_all_take_part(stage: Stage, root: Path) -> None:
    make()(Tensor())
    assert stage.take_ran() == [tile for tile in (1, 2, 3, 4) for _ in range(PLAN_RUNS)] + [1]


def test_F07_all_pruned(stage: Stage, root: Path) -> None:
    tuned = make(lambda config, x, alpha: False)
    with pytest.raises(ValueError, match=r"work.*4.*8\.5") as caught:
        tuned(Tensor(), 8.5)
    assert "4" in str(caught.value)
    assert stage.take_ran() == []
    assert records(root) == []
    assert tuned(Tensor(), 8.5, autotune=False) == 1


def test_F07_prune_fn_raises(stage: Stage, root: Path) -> None:
    error = OverflowError("too large")

    def prune_fn(config: dict[str, int], x: object, alpha: float) -> bool:
        if config["tile"] == 3:
            raise error
        return True

    tuned = make(prune_fn)
    for _ in range(2):
        with pytest.raises(OverflowError, match="too large") as caught:
            tuned(Tensor(), 2.0)
        assert caught.value is error
        (*_, note) = error.__notes__  # type: ignore[attr-defined]
        assert '{"tile":3}' in note
        assert "work" in note
        assert any(entry.name == "prune_fn" for entry in caught.traceback)
    assert stage.take_ran() == []
    assert records(root) == []


@pytest.mark.parametrize("end", [KeyboardInterrupt, SystemExit])
def test_F07_prune_fn_ends_the_program(stage: Stage, end: type[BaseException]) -> None:
    def prune_fn(config: object, x: object) -> bool:
        raise end

    with pytest.raises(end):
        make(prune_fn)(Tensor())
    assert stage.take_ran() == []


def test_F07_an_answer_that_is_neither_true_nor_false(stage: Stage) -> None:
    class Ambiguous:
        def __bool__(self) -> bool:
            raise ValueError("ambiguous")

    with pytest.raises(ValueError, match="ambiguous"):
        make(lambda config, x: Ambiguous())(Tensor())


def test_F12_the_documented_plan_on_the_hosts_clock(root: Path) -> None:
    ran: list[int] = []

    def on_host(x: int, tile: int) -> int:
        ran.append(tile)
        time.sleep(0.0002 * tile)
        return tile

    winner = AutoTuner(on_host, TILES, lambda x: 0)(0)
    assert len(ran) == 4 * PLAN_RUNS + 1
    record = only_record(root)
    assert winner == TILES[record["best"]]["tile"]
    assert record["clock"] == "host"
    assert record["plan"]["warmup"] == 5
    assert record["plan"]["repeat"] == 10
    assert [len(c["samples_ms"]) for c in record["candidates"]] == [10] * 4
    assert all(c["time_ms"] >= 0.2 * (i + 1) for i, c in enumerate(record["candidates"]))


def test_F12_the_mean_of_the_devices_events(stage: Stage, root: Path) -> None:
    ticks = iter(range(1000))
    stage.before_run = lambda tile: setattr(stage, "now_ms", stage.now_ms + 0.001 * next(ticks))
    make()(Tensor())
    record = only_record(root)
    assert record["clock"] == "torch.cuda.Event"
    assert record["hardware"]["device"] == "Stand-in"
    for candidate in record["candidates"]:
        samples = candidate["samples_ms"]
        assert len(set(samples)) == 10
        assert candidate["time_ms"] == pytest.approx(sum(samples) / 10)
    assert "synchronize" in stage.device_calls


@pytest.mark.parametrize(("warmup", "repeat"), [(0, 1), (2, 3), (None, 4), (1, None)])
def test_B01_other_counts(stage: Stage, root: Path, warmup: int | None, repeat: int | None) -> None:
    make(warmup=warmup, repeat=repeat)(Tensor())
    expected = (5 if warmup is None else warmup) + (10 if repeat is None else repeat)
    assert len(stage.take_ran()) == 4 * expected + 1
    assert len(only_record(root)["candidates"][0]["samples_ms"]) == expected - (
        5 if warmup is None else warmup
    )


def test_results_are_let_go_at_once(stage: Stage) -> None:
    alive: list[int] = []
    weak: list[weakref.ref[object]] = []

    class Result:
        pass

    def allocate(x: object, *, tile: int) -> Result:
        alive.append(sum(1 for ref in weak if ref() is not None))
        result = Result()
        weak.append(weakref.ref(result))
        return result

    AutoTuner(allocate, TILES, lambda x: 0)(Tensor())
    assert set(alive) == {0}


def test_progress_is_told_after_each_candidate(stage: Stage) -> None:
    told: list[Any] = []
    stage.cost_ms = {1: 3.0, 2: 2.0, 3: 5.0}
    stage.failing = {4: lambda: MemoryError("too much")}
    make(lambda c, x: c["tile"] != 1, on_progress=told.append)(Tensor())
    done = [(p.n_done, p.n_candidates, p.candidate, p.outcome) for p in told if p.n_done]
    assert done == [(1, 3, 1, "timed"), (2, 3, 2, "timed"), (3, 3, 3, "failed")]
    assert [p.time_ms for p in told if p.n_done] == [2.0, 5.0, None]
    assert told[-1].error == "MemoryError: too much"
    assert (told[-1].best, told[-1].best_ms) == (1, 2.0)


@pytest.mark.parametrize("kind", [ArithmeticError, KeyboardInterrupt])
def test_what_on_progress_raises_ends_the_tuning(stage: Stage, kind: type[BaseException]) -> None:
    def on_progress(progress: Any) -> None:
        if progress.n_done == 2:
            raise kind("enough")

    tuned = make(on_progress=on_progress)
    with pytest.raises(kind, match="enough"):
        tuned(Tensor())
    assert set(stage.take_ran()) == {1, 2}


def test_F22_a_function_that_calls_itself_runs_with_the_candidate_in_hand(stage: Stage) -> None:
    pairs: list[tuple[int, int]] = []

    def recursive(x: object, depth: int = 2, *, tile: int) -> int:
        stage.run(tile)
        if depth > 0:
            inner = tuned(x, depth - 1)
            pairs.append((tile, inner))
        return tile

    tuned = AutoTuner(recursive, TILES, lambda x, depth=2: 0)
    stage.cost_ms = {3: 0.1}
    assert tuned(Tensor()) == 3
    assert len(pairs) == 2 * (4 * PLAN_RUNS + 1)
    assert all(outer == inner for outer, inner in pairs)
    assert tuned(Tensor(), 0) == 3


def test_F22_another_key_of_the_same_function_inside(stage: Stage) -> None:
    def recursive(x: object, depth: int = 2, *, tile: int) -> int:
        stage.run((depth, tile))
        return tile if depth == 0 else 10 * tuned(x, depth - 1) + tile

    tuned = AutoTuner(recursive, TILES, lambda x, depth=2: depth)
    stage.cost_ms = {(0, 2): 0.1, (1, 3): 0.1, (2, 4): 0.1}
    assert tuned(Tensor()) == 234
    stage.take_ran()
    assert tuned(Tensor()) == 234
    assert stage.take_ran() == [(2, 4), (1, 3), (0, 2)]


def test_F22_tuned_functions_call_tuned_functions(stage: Stage) -> None:
    def inner(x: object, *, tile: int) -> int:
        return stage.run(("inner", tile)) and tile

    tuned_inner = AutoTuner(inner, TILES, lambda x: 0)

    def outer(x: object, *, tile: int) -> tuple[int, int]:
        stage.run(("outer", tile))
        return tile, tuned_inner(x)

    stage.cost_ms = {("inner", 2): 0.1, ("outer", 3): 0.1}
    assert AutoTuner(outer, TILES, lambda x: 0)(Tensor()) == (3, 2)


def test_a_tuned_function_of_a_tuned_function(stage: Stage) -> None:
    def both(x: object, *, a: int, b: int) -> tuple[int, int]:
        stage.run((a, b))
        return a, b

    inner = AutoTuner(both, [{"b": 1}, {"b": 2}], lambda x, a: a)
    outer = AutoTuner(inner, [{"a": 1}, {"a": 2}], lambda x: 0)
    stage.cost_ms = {(2, 1): 0.1}
    assert outer(Tensor()) == (2, 1)


def test_a_tuner_in_a_cycle_is_collected(stage: Stage) -> None:
    class Key:
        """A key that refers back to the tuner."""

    def forget() -> list[weakref.ref[object]]:
        key = Key()
        tuned = AutoTuner(work, [{"tile": key}], lambda x, **k: (1, "key"))
        tuned.me = tuned
        key.tuned = tuned  # type: ignore[attr-defined]
        return [weakref.ref(tuned), weakref.ref(key)]

    Key.__repr__ = lambda self: "Key()"  # type: ignore[method-assign, assignment]
    gone = forget()
    gc.collect()
    assert [ref() for ref in gone] == [None, None]


def test_a_key_that_refers_back_to_its_tuner_is_collected(stage: Stage) -> None:
    class Key:
        def __repr__(self) -> str:
            return "Key()"

    def forget() -> list[weakref.ref[object]]:
        key = Key()
        tuned = AutoTuner(work, TILES, lambda x: key)
        key.tuned = tuned  # type: ignore[attr-defined]
        tuned(Tensor())
        tuned(Tensor())
        return [weakref.ref(tuned), weakref.ref(key)]

    gone = forget()
    gc.collect()
    assert [ref() for ref in gone] == [None, None]
