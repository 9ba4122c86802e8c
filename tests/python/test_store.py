# SPDX-License-Identifier: MIT
"""What outlives the process, and how it is used again."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from stand_ins import PLAN_RUNS, Stage, Tensor, only_record, read, records, run_script
from stand_ins import stage as the_stage
from tdtune import AutoTuner, _native


def work(x: Any, alpha: float = 1.0, *, tile: int = 0) -> int:
    return the_stage.run(tile)


def by_alpha(x: Any, alpha: float = 1.0) -> float:
    return alpha


def make(*tiles: int) -> AutoTuner:
    """As a new process would: it remembers nothing, but the function is the same."""
    return AutoTuner(work, [{"tile": tile} for tile in tiles or (1, 2, 3)], by_alpha)


def test_F15_records_and_logs_lie_in_the_functions_folder(stage: Stage, root: Path) -> None:
    tuned = make()
    tuned(Tensor())
    names = sorted(path.name for path in (root / "work").iterdir() if path.name != ".lock")
    record, log = names
    assert record == Path(str(tuned.record_path(Tensor()))).name
    assert len(record) == 32 + len(".json")
    assert log.startswith(record.removesuffix("json") + "log-")


def test_F15_the_home_folder_is_the_default(tmp_path: Path) -> None:
    out = run_script(
        """
        from tdtune import autotune

        @autotune([{"tile": 1}], key_fn=lambda x: x)
        def scale(x, tile):
            return x

        scale(1)
        print(scale.record_path(1))
        """,
        TRITON_DIST_AUTOTUNE_DIR="",
        HOME=str(tmp_path),
    )
    path = Path(out.strip())
    assert path.parent == tmp_path / ".triton_dist" / "autotune" / "scale"
    # A lambda's or script's function that -c gave has no text; it is stored all the same.
    assert path.exists()


def test_F16_the_record_holds_times_and_what_it_belongs_to(stage: Stage, root: Path) -> None:
    stage.cost_ms = {1: 2.0, 2: 1.0}
    stage.failing = {3: lambda: ValueError("no")}
    make()(Tensor(), 2.5)
    record = only_record(root)
    assert record["function"]["name"] == "work"
    assert record["function"]["module"] == __name__
    assert record["key"] == "2.5"
    assert record["dependencies"]["tdtune"] == _native.version()
    assert [c["time_ms"] for c in record["candidates"]] == [2.0, 1.0, None]
    assert record["best"] == 1
    assert record["complete"] is True


def test_S01_the_next_process_measures_nothing(stage: Stage) -> None:
    stage.cost_ms = {2: 0.5}
    assert make()(Tensor()) == 2
    stage.take_ran()
    assert make()(Tensor()) == 2
    assert stage.take_ran() == [2]


def test_case_S1_a_second_process_gets_the_live_object(tmp_path: Path) -> None:
    """A stored result names a candidate; what is passed is the candidate of this process."""
    script = """
        import sys, time
        from tdtune import autotune

        class Config:
            def __init__(self, block):
                self.block = block
            def __repr__(self):
                return f"Config({self.block})"

        configs = [{"cfg": Config(block)} for block in (3, 1, 2)]
        runs = []

        @autotune(configs, key_fn=lambda x: ((x, 2), "torch.float32", None))
        def scale(x, cfg):
            runs.append(cfg.block)
            time.sleep(cfg.block * 1e-3)
            return cfg

        winner = scale(1)
        print(len(runs), [winner is config["cfg"] for config in configs].index(True))
    """
    path = tmp_path / "script.py"
    path.write_text(textwrap.dedent(script))
    outs = [
        subprocess.run(
            [sys.executable, path], capture_output=True, text=True, check=True, env=os.environ
        ).stdout.split()
        for _ in range(2)
    ]
    assert [out[0] for out in outs] == [str(3 * PLAN_RUNS + 1), "1"]
    assert outs[0][1] == outs[1][1]


def test_a_different_function_or_hardware_is_another_record(
    stage: Stage, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def other(x: Any, alpha: float = 1.0, *, tile: int = 0) -> int:
        return the_stage.run(tile)

    make()(Tensor())
    AutoTuner(other, [{"tile": 1}, {"tile": 2}], by_alpha)(Tensor())
    make()(0)  # on the host
    assert len(records(root)) == 3


BAD: list[Callable[[bytes], bytes]] = [
    lambda good: b"",
    lambda good: b"\xff\xfe" + good,
    lambda good: good + b"x",
    lambda good: b"[]",
    lambda good: b"null",
    lambda good: b"{}",
    lambda good: good.replace(b'"format": 1', b'"format": 2'),
    lambda good: good.replace(b'"best": 0', b'"best": 99'),
    lambda good: good.replace(b'"best": 0', b'"best": "0"'),
    lambda good: good.replace(b'"time_ms": 1,', b'"time_ms": NaN,', 1),
    lambda good: good.replace(b'"time_ms": 1,', b'"time_ms": "fast",', 1),
    lambda good: b'{"format": 1,' * 100_000,
]


@pytest.mark.parametrize("spoil", BAD)
def test_S01_case_C1_a_bad_file_is_a_miss_with_a_warning_and_replaced(
    stage: Stage,
    root: Path,
    caplog: pytest.LogCaptureFixture,
    spoil: Callable[[bytes], bytes],
) -> None:
    make()(Tensor())
    (path,) = records(root)
    good = path.read_bytes()
    bad = spoil(good)
    assert bad != good
    path.write_bytes(bad)
    stage.take_ran()
    caplog.clear()
    tuned = make()
    stage.cost_ms = {3: 0.5}
    assert tuned(Tensor()) == 3
    warnings = [r for r in caplog.records if path.name in r.getMessage()]
    assert len(warnings) == 1
    assert len(stage.take_ran()) == 3 * PLAN_RUNS + 1
    assert read(path)["best"] == 2


def test_case_C1_cut_at_any_length(stage: Stage, root: Path) -> None:
    make()(Tensor())
    (path,) = records(root)
    good = path.read_bytes()
    stage.take_ran()
    for length in range(0, len(good) - 1, 7):
        path.write_bytes(good[:length])
        assert make()(Tensor()) == 1
        assert len(stage.take_ran()) == 3 * PLAN_RUNS + 1, length
        assert read(path)["best"] == 0


def test_S02_nobody_else_can_read_it(stage: Stage, root: Path) -> None:
    old = os.umask(0)
    try:
        make()(Tensor())
    finally:
        os.umask(old)
    for path in [root, *root.rglob("*")]:
        allowed = 0o700 if path.is_dir() else 0o600
        assert stat.S_IMODE(path.stat().st_mode) == allowed, path


def test_S02_a_killed_writer_leaves_the_old_record_or_the_new_one(root: Path) -> None:
    script = """
        import itertools
        from tdtune import autotune

        @autotune([{"tile": 1}, {"tile": 2}], key_fn=lambda x: 0, warmup=0, repeat=1)
        def scale(x, tile):
            return tile

        scale(0)
        print(scale.record_path(0), flush=True)
        for i in itertools.count():
            fresh = autotune(
                [{"tile": j} for j in range(i % 50 + 1)], key_fn=lambda x: 0, warmup=0, repeat=1
            )(scale.fn)
            fresh(0)
    """
    for round_ in range(10):
        writer = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(script)],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "TRITON_DIST_AUTOTUNE_ALWAYS_TUNE": "1"},
        )
        assert writer.stdout is not None
        path = Path(writer.stdout.readline().strip())
        time.sleep(0.01 * (round_ + 1))
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        writer.stdout.close()
        assert json.loads(_native.record_json(str(path)))["complete"] is True


def test_S03_what_was_replaced_is_kept_beside_it(
    stage: Stage, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make()(Tensor())
    (path,) = records(root)
    before = path.read_bytes()
    monkeypatch.setenv("TRITON_DIST_AUTOTUNE_ALWAYS_TUNE", "1")
    stage.cost_ms = {2: 0.5}
    make()(Tensor())
    (kept,) = path.parent.glob(f"{path.name}-*")
    assert kept.read_bytes() == before
    assert read(path)["best"] == 1


def test_S04_many_processes_one_tuning(tmp_path: Path) -> None:
    script = """
        import sys, time
        from tdtune import autotune

        @autotune([{"tile": 2}, {"tile": 1}], key_fn=lambda x: 0, warmup=1, repeat=3)
        def scale(x, tile):
            global runs
            runs += 1
            time.sleep(tile * 5e-3)
            return tile

        runs = 0
        print(scale(0), runs)
    """
    path = tmp_path / "script.py"
    path.write_text(textwrap.dedent(script))
    crowd = [
        subprocess.Popen([sys.executable, path], stdout=subprocess.PIPE, text=True)
        for _ in range(32)
    ]
    outs = [process.communicate(timeout=120)[0].split() for process in crowd]
    assert len({out[0] for out in outs}) == 1
    assert sorted(out[1] for out in outs) == ["1"] * 31 + ["9"]


def names() -> list[str]:
    return ["<lambda>", "a/b", "../../escape", "x" * 500, "größe", "..", "Scale", "scale", "con\0"]


def test_S06_every_name_stays_inside_the_store(stage: Stage, root: Path, tmp_path: Path) -> None:
    paths = set()
    for name in names():

        def named(x: Any, *, tile: int) -> int:
            return the_stage.run(tile)

        named.__name__ = name
        named.__qualname__ = name
        tuned = AutoTuner(named, [{"tile": 1}], lambda x: 0)
        try:
            tuned(Tensor())
        except ValueError:
            assert "\0" in name
            continue
        path = Path(str(tuned.record_path(Tensor())))
        assert path.exists()
        assert path.resolve().is_relative_to(root.resolve())
        paths.add(str(path.parent).casefold())
    assert len(paths) == len(names()) - 1
    assert {p.name for p in tmp_path.iterdir()} == {"store"}


def test_F18_other_dependencies_warn_and_are_used(
    stage: Stage,
    root: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    make()(Tensor())
    (path,) = records(root)
    record = read(path)
    record["dependencies"]["torch"] = "0.0.1"
    path.write_text(json.dumps(record))
    stage.take_ran()
    caplog.clear()
    assert make()(Tensor()) == 1
    (warning,) = [r.getMessage() for r in caplog.records if "torch" in r.getMessage()]
    assert "0.0.1" in warning
    assert stage.take_ran() == [1]

    monkeypatch.setenv("TRITON_DIST_AUTOTUNE_VERSION_CHECK", "1")
    stage.cost_ms = {2: 0.5}
    assert make()(Tensor()) == 2
    assert len(stage.take_ran()) == 3 * PLAN_RUNS + 1
    assert read(path)["dependencies"] != record["dependencies"]
    assert make()(Tensor()) == 2
    assert stage.take_ran() == [2]


def test_F19_case_C3_new_candidates_are_measured_with_the_winner(stage: Stage, root: Path) -> None:
    stage.cost_ms = {1: 3.0, 2: 1.0, 3: 0.5}
    assert make(1, 2)(Tensor()) == 2
    stage.take_ran()
    assert make(2, 3)(Tensor()) == 3
    ran = stage.take_ran()
    assert sorted(set(ran)) == [2, 3]
    assert len(ran) == 2 * PLAN_RUNS + 1
    assert make(3, 2)(Tensor()) == 3
    assert stage.take_ran() == [3]


def test_F19_case_C3_a_winner_that_is_gone_is_never_used(stage: Stage) -> None:
    stage.cost_ms = {1: 3.0, 2: 1.0}
    make(1, 2)(Tensor())
    stage.take_ran()
    assert make(7)(Tensor()) == 7
    assert 2 not in stage.take_ran()
    assert make(1)(Tensor()) == 1


def test_case_C3_another_order_measures_nothing(stage: Stage) -> None:
    stage.cost_ms = {2: 0.5}
    make(1, 2, 3)(Tensor())
    stage.take_ran()
    assert make(3, 2, 1)(Tensor()) == 2
    assert stage.take_ran() == [2]


def test_case_E1_a_store_that_cannot_be_written(
    stage: Stage,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A path that is a file: nobody can make a folder there, not even root."""
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("TRITON_DIST_AUTOTUNE_DIR", str(blocked / "store"))
    tuned = make()
    for alpha in (1.0, 2.0):
        assert tuned(Tensor(), alpha) == 1
        stage.take_ran()
        assert tuned(Tensor(), alpha) == 1
        assert stage.take_ran() == [1]
    warnings = [r for r in caplog.records if str(blocked) in r.getMessage()]
    assert len(warnings) == 1


def test_case_E1_no_home_and_an_unknown_user(tmp_path: Path) -> None:
    out = run_script(
        """
        import os
        from tdtune import _native

        if os.getuid() == 0:
            os.setuid(54321)
        print(_native.default_root())
        """,
        TRITON_DIST_AUTOTUNE_DIR="",
        HOME="",
        TMPDIR=str(tmp_path),
    )
    assert out.strip()
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_written_by_import_or_decoration(root: Path) -> None:
    make()
    assert not root.exists()


def test_uncertain_identity_stays_in_memory(
    stage: Stage, root: Path, caplog: pytest.LogCaptureFixture
) -> None:
    secret = threading.Lock()

    def closed(x: Any, *, tile: int) -> int:
        assert secret is not None
        return the_stage.run(tile)

    tuned = AutoTuner(closed, [{"tile": 1}, {"tile": 2}], lambda x: x is None)
    tuned(Tensor())
    tuned(None)
    stage.take_ran()
    assert tuned(Tensor()) == 1
    assert stage.take_ran() == [1]
    assert records(root) == []
    assert tuned.record_path(Tensor()) is None
    (warning,) = [r.getMessage() for r in caplog.records]
    assert warning.startswith("closed: results are kept in memory only")
    assert "closure variable secret" in warning


def test_record_functions(stage: Stage, root: Path, tmp_path: Path) -> None:
    make()(Tensor())
    (path,) = records(root)
    assert json.loads(_native.record_json(str(path))) == read(path)
    assert "tile=1" in _native.record_table(path)  # type: ignore[arg-type]
    with pytest.raises(FileNotFoundError):
        _native.record_json(str(tmp_path / "none"))
    with pytest.raises(ValueError, match="null"):
        _native.record_json("\0")
    with pytest.raises(TypeError):
        _native.record_json(3)  # type: ignore[arg-type]


def test_digest() -> None:
    assert len(_native.digest(b"")) == 32
    assert _native.digest(b"a") != _native.digest(b"b")
    assert _native.digest(memoryview(b"a")) == _native.digest(b"a")
    with pytest.raises(TypeError):
        _native.digest("a")  # type: ignore[arg-type]
