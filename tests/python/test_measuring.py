# SPDX-License-Identifier: MIT
"""Plans, checked results, arguments that are put back, and the bar of a long tuning."""

from __future__ import annotations

import io
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tdtune
from stand_ins import Stage, Tensor, only_record
from stand_ins import stage as the_stage
from tdtune import AutoTuner, progress


def work(x: Any, out: Any = None, scale: float = 1.0, *, tile: int = 0) -> int:
    if out is not None:
        out += tile
    return the_stage.run(tile)


def no_key(*args: Any, **kwargs: Any) -> None:
    return None


TILES = [{"tile": tile} for tile in (1, 2, 3, 4)]


def make(**options: Any) -> AutoTuner:
    return AutoTuner(work, TILES, no_key, **options)


def runs_of(stage: Stage) -> dict[int, int]:
    ran = stage.take_ran()
    return {tile: ran.count(tile) for tile in sorted(set(ran))}


# -- plans ---------------------------------------------------------------------------------------


def test_B01_race_measures_on_only_what_could_win(stage: Stage, root: Path) -> None:
    stage.cost_ms = {1: 3.0, 2: 1.01, 3: 1.0, 4: 1.5}
    assert make(plan="race")(Tensor()) == 3
    assert runs_of(stage) == {1: 3, 2: 11, 3: 11 + 1, 4: 3}  # and one with the winner
    record = only_record(root)
    assert record["plan"] == {
        "name": "race",
        "warmup": 1,
        "repeat": 10,
        "statistic": "median",
    }
    assert [len(c["samples_ms"]) for c in record["candidates"]] == [2, 10, 10, 2]


def test_B01_careful_times_leaders_again_and_the_first_of_equals_wins(
    stage: Stage, root: Path
) -> None:
    stage.cost_ms = {1: 3.0, 2: 1.00001, 3: 1.0, 4: 1.5}
    assert make(plan="careful")(Tensor()) == 2
    assert runs_of(stage) == {1: 15, 2: 105 + 1, 3: 105, 4: 15}
    assert only_record(root)["plan"]["name"] == "careful"


def test_B01_documented_is_the_default(stage: Stage) -> None:
    for plan in (None, "documented"):
        make(plan=plan)(Tensor(), autotune=True)
        monkey = runs_of(stage)
        if monkey != {1: 1}:  # the second answers from the store
            assert sum(monkey.values()) == 4 * 15 + 1


def test_B01_counts_override_the_plans(stage: Stage) -> None:
    stage.cost_ms = {1: 3.0, 2: 1.01, 3: 1.0, 4: 1.5}
    make(plan="race", warmup=0, repeat=5)(Tensor())
    assert runs_of(stage) == {1: 2, 2: 5, 3: 5 + 1, 4: 2}


@pytest.mark.parametrize(("plan", "kind"), [("fast", ValueError), (3, TypeError)])
def test_B01_an_unknown_plan_is_refused_at_decoration(plan: Any, kind: type[Exception]) -> None:
    with pytest.raises(kind, match='"documented", "race" or "careful"'):
        make(plan=plan)


def test_B01_autotune_passes_it_on(stage: Stage) -> None:
    stage.cost_ms = {1: 3.0, 2: 2.0, 3: 1.0, 4: 1.5}

    @tdtune.autotune(TILES, no_key, plan="race")
    def tuned(x: Any, *, tile: int) -> int:
        return the_stage.run(tile)

    assert tuned(Tensor()) == 3
    assert runs_of(stage) == {1: 3, 2: 3, 3: 4, 4: 3}


def test_B06_every_record_holds_the_samples(stage: Stage, root: Path) -> None:
    costs = iter(float(i) for i in range(1, 1000))
    stage.before_run = lambda tile: stage.cost_ms.update({tile: next(costs)})
    make(warmup=0, repeat=3)(Tensor())
    for candidate in only_record(root)["candidates"]:
        samples = candidate["samples_ms"]
        assert len(samples) == 3
        assert candidate["time_ms"] == pytest.approx(sum(samples) / 3)
        assert max(samples) > min(samples)


# -- a delay -------------------------------------------------------------------------------------


@pytest.fixture
def sleeps(stage: Stage) -> list[int]:
    """What the stand-in accelerator was told to sleep, in cycles."""
    told: list[int] = []
    torch = sys.modules["torch"]

    class Device:
        def __init__(self, index: int) -> None:
            assert index == 0

        def __enter__(self) -> None:
            stage.device_calls.append("device")

        def __exit__(self, *exception: object) -> None: ...

    torch.cuda.device = Device
    torch.cuda._sleep = told.append
    return told


@pytest.mark.parametrize("plan", ["careful", "race"])
def test_B01_gaps_are_hidden_behind_a_delay(plan: str, stage: Stage, sleeps: list[int]) -> None:
    stage.cost_ms = {1: 3.0, 2: 2.0, 3: 1.0, 4: 1.5}
    make(plan=plan)(Tensor())
    assert len(sleeps) >= 4
    assert all(0.05 * 2e6 <= cycles <= 10 * 2e6 for cycles in sleeps)
    calls = stage.device_calls
    assert calls[calls.index("device") + 1] == "record"  # the first mark is behind it


def test_F12_the_documented_plan_delays_nothing(stage: Stage, sleeps: list[int]) -> None:
    AutoTuner(work, TILES, no_key)(Tensor(), scale=2.0)
    assert sleeps == []


def test_B01_where_no_delay_is_known_there_is_none(stage: Stage, sleeps: list[int]) -> None:
    sys.modules["torch"].version = types.SimpleNamespace(hip="6.0")  # type: ignore[attr-defined]
    make(plan="careful")(Tensor())
    assert sleeps == []


# -- checked results -----------------------------------------------------------------------------


def test_B03_results_are_checked_once_each_after_the_first_warm_up(stage: Stage) -> None:
    seen: list[tuple[Any, ...]] = []

    def check_fn(result: int, *args: Any, **kwargs: Any) -> object:
        seen.append((result, args, kwargs, stage.ran.count(result)))
        return 1

    x = Tensor()
    stage.cost_ms = {1: 3.0, 2: 2.0, 3: 1.0, 4: 1.0}
    tuned = make(check_fn=check_fn, plan="race")
    assert tuned(x, scale=2.0) == 3
    assert seen == [(tile, (x,), {"scale": 2.0}, 1) for tile in (1, 2, 3, 4)]
    tuned(x, scale=2.0)
    assert len(seen) == 4


def odd_is_wrong(result: int, x: Any) -> bool:
    if result == 3:
        raise ArithmeticError("off by 7")
    return result % 2 == 0


def test_B03_a_wrong_result_excludes_the_candidate(
    stage: Stage, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stage.cost_ms = {1: 0.1, 2: 2.0, 3: 0.1, 4: 1.0}
    assert make(check_fn=odd_is_wrong)(Tensor(), autotune_verbose=True) == 4
    assert runs_of(stage) == {1: 1, 2: 15, 3: 1, 4: 16}
    errors = [c.get("error") for c in only_record(root)["candidates"]]
    assert errors == ["wrong result", None, "wrong result: ArithmeticError: off by 7", None]
    assert "failed: wrong result: ArithmeticError: off by 7" in capsys.readouterr().out


def test_B03_all_wrong(stage: Stage) -> None:
    with pytest.raises(RuntimeError, match=r"(?s)cannot find valid config.*wrong result"):
        make(check_fn=lambda result, x: False)(Tensor())


def test_B03_an_interrupt_in_check_fn_ends_the_tuning(stage: Stage) -> None:
    def check_fn(result: int, x: Any) -> bool:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make(check_fn=check_fn)(Tensor())
    assert runs_of(stage) == {1: 1}


def test_B03_a_result_is_not_kept_longer_than_it_is_checked(stage: Stage) -> None:
    import weakref

    class Result:
        pass

    alive: list[weakref.ref[Result]] = []

    def tuned(x: Any, *, tile: int) -> Result:
        assert sum(ref() is not None for ref in alive) <= 0
        the_stage.run(tile)
        result = Result()
        alive.append(weakref.ref(result))
        return result

    AutoTuner(tuned, TILES, no_key, check_fn=lambda result, x: True)(Tensor())
    assert len(alive) == 4 * 15 + 1


def test_B03_check_fn_is_refused_at_decoration() -> None:
    with pytest.raises(ValueError, match="first warm-up"):
        make(check_fn=odd_is_wrong, warmup=0)
    with pytest.raises(TypeError, match="check_fn of work must be callable"):
        make(check_fn=3)

    async def later(result: int, x: Any) -> bool:
        return True

    with pytest.raises(TypeError, match=r"check_fn of work.*coroutine"):
        make(check_fn=later)


# -- arguments that are put back -----------------------------------------------------------------


class FakeTensor(Tensor):
    """A tensor that writes down when it is written."""

    def __init__(self, value: float) -> None:
        self.value = value
        self.detached = False

    def detach(self) -> FakeTensor:
        view = FakeTensor(0.0)
        view.detached = True
        view.owner = self  # type: ignore[attr-defined]
        return view

    def clone(self) -> float:
        assert self.detached
        return float(self.owner.value)  # type: ignore[attr-defined]

    def zero_(self) -> None:
        assert self.detached
        the_stage.device_calls.append("zero_")
        the_stage.now_ms += 50.0
        self.owner.value = 0.0  # type: ignore[attr-defined]

    def copy_(self, value: float) -> None:
        assert self.detached
        the_stage.device_calls.append("copy_")
        the_stage.now_ms += 50.0
        self.owner.value = value  # type: ignore[attr-defined]


def test_B04_tensors_are_put_back_before_every_run_outside_the_time(
    stage: Stage, root: Path
) -> None:
    held: list[tuple[float, float]] = []

    def tuned(x: Any, *, out: Any, tile: int) -> int:
        held.append((x.value, out.value))
        x.value += 1.0
        out.value += 1.0
        return the_stage.run(tile)

    x, out = FakeTensor(5.0), FakeTensor(7.0)
    stage.cost_ms = {1: 2.0, 2: 1.0}
    function = AutoTuner(
        tuned, TILES[:2], no_key, reset_to_zero=["out"], restore_value=["x"], repeat=3
    )
    assert function(x, out=out) == 2
    assert held == [(5.0, 0.0)] * (2 * 8 + 1)  # the last one is the run that counts
    assert [c["time_ms"] for c in only_record(root)["candidates"]] == [2.0, 1.0]
    # In front of the first mark, and nothing between the marks.
    calls = [call for call in stage.device_calls if call in ("zero_", "copy_", "record")]
    assert calls[-6:] == ["zero_", "copy_", "record", "record", "zero_", "copy_"]
    function(x, out=out)  # a hit puts nothing back
    assert held[-1] == (6.0, 1.0)


def test_B04_arrays_by_position_and_by_keyword() -> None:
    for by_keyword in (False, True):
        out = np.full(3, 9.0)
        table = np.arange(3)
        held: list[tuple[list[float], list[int]]] = []

        def tuned(
            out: Any,
            table: Any,
            tile: int = 0,
            held: list[tuple[list[float], list[int]]] = held,
        ) -> None:
            held.append((out.tolist(), table.tolist()))
            out += tile
            table *= tile

        function = AutoTuner(
            tuned,
            TILES,
            lambda *args, keyword=by_keyword, **kwargs: keyword,
            reset_to_zero=("out",),
            restore_value=("table",),
            repeat=2,
        )
        if by_keyword:
            function(out=out, table=table)
        else:
            function(out, table)
        assert held == [([0.0] * 3, [0, 1, 2])] * (4 * 7 + 1)
        assert out.tolist() in [[float(tile)] * 3 for tile in (1, 2, 3, 4)]


def test_B04_torch_tensors_with_gradients() -> None:
    torch = pytest.importorskip("torch")
    weight = torch.ones(4, requires_grad=True)
    out = torch.full((2, 2), 3.0)

    def tuned(weight: Any, out: Any, tile: int = 0) -> Any:
        with torch.no_grad():
            assert weight.tolist() == [1.0] * 4
            assert out.tolist() == [[0.0, 0.0], [0.0, 0.0]]
            weight += tile
            out += 1
        return out.clone()

    function = AutoTuner(
        tuned,
        TILES,
        no_key,
        reset_to_zero=["out"],
        restore_value=["weight"],
        check_fn=lambda result, weight, out: bool((result == 1).all()),
    )
    assert function(weight, out).sum() == 4
    assert weight.requires_grad


def test_B04_none_and_absent_arguments_are_left_alone(stage: Stage) -> None:
    tuned = make(reset_to_zero=["out"])
    assert tuned(Tensor(), None) in (1, 2, 3, 4)
    assert make(restore_value=["out"])(Tensor(), scale=3.0) in (1, 2, 3, 4)


def test_B04_what_cannot_be_put_back_is_the_callers_error(stage: Stage) -> None:
    for option in ("reset_to_zero", "restore_value"):
        with pytest.raises(TypeError, match=r"'out'.*neither a tensor nor an array: .*list"):
            make(**{option: ["out"]})(Tensor(), [1, 2])
    assert stage.ran == []


@pytest.mark.parametrize("option", ["reset_to_zero", "restore_value"])
def test_B04_names_are_checked_at_decoration(option: str) -> None:
    with pytest.raises(TypeError, match=r"'y'.*work\(x: "):
        make(**{option: ["out", "y"]})
    with pytest.raises(TypeError, match="'tile' is a configuration field"):
        make(**{option: ["tile"]})
    with pytest.raises(TypeError, match=f"{option} of work must be a list of names"):
        make(**{option: "out"})
    with pytest.raises(TypeError, match=f"{option} of work names arguments"):
        make(**{option: [3]})
    with pytest.raises(TypeError, match="'out' is in reset_to_zero and in restore_value"):
        make(reset_to_zero=["out"], restore_value=["out"])

    def takes_any(x: Any, *rest: Any, tile: int, **more: Any) -> None: ...

    AutoTuner(takes_any, TILES, no_key, **{option: ["y"]})
    with pytest.raises(TypeError, match="'rest'"):
        AutoTuner(takes_any, TILES, no_key, **{option: ["rest"]})


def test_B04_methods() -> None:
    class Layer:
        @tdtune.autotune(TILES, no_key, reset_to_zero=["out"], repeat=1)
        def run(self, out: Any, *, tile: int) -> float:
            out += tile
            return float(out[0])

    out = np.ones(1)
    assert Layer().run(out) in (1.0, 2.0, 3.0, 4.0)


def test_B04_an_exception_while_putting_back_fails_the_candidate(stage: Stage) -> None:
    class Stubborn(FakeTensor):
        def detach(self) -> FakeTensor:
            view = super().detach()
            view.zero_ = lambda: 1 / 0  # type: ignore[method-assign,assignment,return-value]
            return view

    with pytest.raises(RuntimeError, match=r"(?s)cannot find valid config.*ZeroDivisionError"):
        make(reset_to_zero=["out"])(Tensor(), Stubborn(1.0))


# -- a bar for long tunings ----------------------------------------------------------------------


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def open_terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """A terminal as standard error, and every tuning counts as a long one.

    In the test itself: pytest sets standard error anew after the fixtures.
    """
    made = Terminal()
    monkeypatch.setattr(sys, "stderr", made)
    monkeypatch.setattr(progress, "SHOWN_AFTER_S", 0.0)
    return made


def without_tqdm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tqdm", None)


def test_B05_a_long_tuning_shows_itself(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = open_terminal(monkeypatch)
    without_tqdm(monkeypatch)
    stage.cost_ms = {1: 3.0, 2: 1.0}
    make()(Tensor())
    lines = terminal.getvalue().split("\r")
    assert lines[0] == ""
    assert lines[1].startswith("tuning work: 1 of 4, ")
    assert ' s left, best {"tile":1} 3 ms' in lines[1]
    assert "tuning work: 4 of 4, 0 s left" in lines[4]
    assert "1 ms" in lines[4]
    assert [line.strip() for line in lines[-2:]] == ["", ""]  # and it is gone


def test_B05_by_tqdm_if_it_is_installed(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = open_terminal(monkeypatch)
    tqdm = pytest.importorskip("tqdm")
    made: list[Any] = []

    class Watched(tqdm.tqdm):  # type: ignore[misc,name-defined]
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            made.append(self)

    monkeypatch.setattr(tqdm, "tqdm", Watched)
    make()(Tensor())
    assert "tuning work" in terminal.getvalue()
    assert "4/4" in terminal.getvalue()
    assert made[0].n == 4


def test_B05_nothing_before_five_seconds(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    assert progress.SHOWN_AFTER_S == 5.0
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    without_tqdm(monkeypatch)
    now_s = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now_s[0])
    stage.before_run = lambda tile: now_s.__setitem__(0, now_s[0] + 0.1)
    make()(Tensor())
    shown = [line for line in terminal.getvalue().split("\r") if line.strip()]
    assert len(shown) == 1  # 15 runs are 1.5 s: only the fourth comes after 5 s
    assert shown[0].startswith("tuning work: 4 of 4")


@pytest.mark.parametrize("case", ["no terminal", "verbose", "no stream"])
def test_B05_no_bar(case: str, stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = open_terminal(monkeypatch)
    terminal = open_terminal(monkeypatch)
    if case == "no terminal":
        monkeypatch.setattr(terminal, "isatty", lambda: False)
    if case == "no stream":
        monkeypatch.setattr(sys, "stderr", None)
    make()(Tensor(), autotune_verbose=case == "verbose")
    assert terminal.getvalue() == ""


def test_B05_verbose_always_prints_lines(stage: Stage, capsys: pytest.CaptureFixture[str]) -> None:
    make()(Tensor(), autotune_verbose=True)
    printed = capsys.readouterr().out
    assert all(f"tdtune: work: [{i}] " in printed for i in range(4))


def test_B05_a_broken_terminal_breaks_no_tuning(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = open_terminal(monkeypatch)
    without_tqdm(monkeypatch)

    def write(text: str) -> int:
        raise OSError("no such device")

    monkeypatch.setattr(terminal, "write", write)
    assert make()(Tensor()) in (1, 2, 3, 4)


def test_B05_the_bar_goes_when_a_tuning_fails(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = open_terminal(monkeypatch)
    without_tqdm(monkeypatch)
    for tile in (1, 2, 3, 4):
        stage.failing[tile] = lambda: RuntimeError("no")
    with pytest.raises(RuntimeError, match="cannot find valid config"):
        make()(Tensor())
    assert "none works yet" in terminal.getvalue()
    assert terminal.getvalue().endswith("\r")
