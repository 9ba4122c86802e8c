# SPDX-License-Identifier: MIT
"""The examples run as a user would run them, and remember what they found in a second run."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "python"

needs_numpy = pytest.mark.skipif(importlib.util.find_spec("numpy") is None, reason="needs NumPy")
needs_triton = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None or importlib.util.find_spec("triton") is None,
    reason="needs torch and Triton",
)

# Runs a script in a process in which torch and Triton cannot be imported.
WITHOUT_TORCH = """
import runpy, sys
sys.modules["torch"] = sys.modules["triton"] = None
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def clean_environment(store: Path) -> dict[str, str]:
    """Return the environment without settings of the caller's, with records in `store`."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("TRITON_DIST_", "TRITON_INTERPRET"))
    }
    return environment | {"TRITON_DIST_AUTOTUNE_DIR": str(store)}


def run(store: Path, *command: str, **settings: str) -> str:
    """Run Python with records in `store`, and return what it printed; failing is an error."""
    done = subprocess.run(
        [sys.executable, *command],
        env=clean_environment(store) | settings,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


def files(store: Path) -> dict[str, tuple[int, bytes]]:
    """Return every file of the store with the time of its last change and its content."""
    return {
        str(path.relative_to(store)): (path.stat().st_mtime_ns, path.read_bytes())
        for path in store.rglob("*")
        if path.is_file()
    }


def only_record(store: Path, name: str) -> dict[str, object]:
    """Return the one record of the function `name`."""
    (path,) = (store / name).glob("*.json")
    record = json.loads(path.read_text())
    assert isinstance(record, dict)
    return record


@needs_triton
def test_F01_example_scale_tunes_once_and_for_all(tmp_path: Path) -> None:
    script = str(EXAMPLES / "scale.py")
    assert "scale agrees with torch" in run(tmp_path, script)
    record = only_record(tmp_path, "scale")
    assert record["complete"]
    assert len(record["candidates"]) == 8  # type: ignore[arg-type]
    before = files(tmp_path)

    again = run(tmp_path, script, TRITON_DIST_AUTOTUNE_ON_MISS="error")
    assert "scale agrees with torch" in again
    assert files(tmp_path) == before


@needs_numpy
def test_F12_example_chunked_norm_without_torch(tmp_path: Path) -> None:
    script = ("-c", WITHOUT_TORCH, str(EXAMPLES / "chunked_norm.py"), "--rows", "512")
    first = run(tmp_path, *script)
    record = only_record(tmp_path, "normalize")
    candidates = record["candidates"]
    assert isinstance(candidates, list)
    measured = [candidate for candidate in candidates if candidate["time_ms"] is not None]
    pruned = [candidate for candidate in candidates if candidate.get("pruned")]
    assert measured
    assert pruned
    assert len(measured) + len(pruned) == len(candidates)
    assert record["clock"] == "host"
    assert f"{len(measured)} candidates were measured" in first
    assert "measured 0 candidates" in first
    before = files(tmp_path)

    again = run(tmp_path, *script)
    assert "nothing was measured" in again
    assert files(tmp_path) == before


@needs_numpy
def test_F15_case_E1_example_chunked_norm_with_a_store_that_cannot_be_written(
    tmp_path: Path,
) -> None:
    (tmp_path / "file").write_text("no folder")
    printed = run(tmp_path / "file", str(EXAMPLES / "chunked_norm.py"), "--rows", "128")
    assert "nothing could be stored" in printed


@needs_triton
def test_F16_example_gemm_triton_writes_its_figures(tmp_path: Path) -> None:
    store = tmp_path / "store"
    figures = tmp_path / "figures.json"
    script = [str(EXAMPLES / "gemm_triton.py"), "--size", "64", "--candidates", "2"]
    script += ["--json", str(figures)]
    run(store, *script)
    result = json.loads(figures.read_text())
    assert result["n_measured"] == 2
    assert result["record"] == only_record(store, "gemm")
    best = result["record"]["candidates"][result["record"]["best"]]
    assert result["winner"] == best["config"]
    assert best["time_ms"] == min(c["time_ms"] for c in result["record"]["candidates"])
    # The example has asked a fresh process as well, which was not allowed to measure and has
    # stored nothing: there is one record with one log, and it is the one that was printed.
    assert result["fresh_process"]["first_call_s"] > 0
    kept = [path.name.partition(".")[2] for path in (store / "gemm").glob("?*.*")]
    assert sorted(kind.partition("-")[0] for kind in kept) == ["json", "log"]


def run_ranks(store: Path, *command: str, **settings: str) -> str:
    """Run a program on two ranks as torchrun does; none of its processes is left behind."""
    launcher = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")
    started = subprocess.Popen(
        [sys.executable, *launcher, *command],
        env=clean_environment(store) | {"OMP_NUM_THREADS": "1"} | settings,
        cwd=store.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        printed, errors = started.communicate(timeout=300)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(started.pid, signal.SIGKILL)
    assert started.returncode == 0, f"{printed}\n{errors}"
    return printed


@needs_triton
def test_R01_R06_example_ranks_scale_tunes_once_for_all_ranks(tmp_path: Path) -> None:
    store, script = tmp_path / "store", str(EXAMPLES / "ranks_scale.py")
    printed = run_ranks(store, script)
    assert "2 ranks over " in printed
    assert "rank 0 measured 6 candidates" in printed
    assert "rank 1 measured 6 candidates" in printed
    assert "all ranks have the same winner" in printed
    record = only_record(store, "scale")
    assert record["ranks"] == 2
    times_ms = [c["time_ms"] for c in record["candidates"]]  # type: ignore[attr-defined]
    assert record["best"] == times_ms.index(min(times_ms))
    # Each line of the table: the times of both ranks, and the greater one, which the record has.
    lines = [re.findall(r" (\d+\.\d{4})", row) for row in printed.splitlines()]
    rows = [[float(number) for number in row] for row in lines if row]
    assert [row[2] for row in rows] == [max(row[:2]) for row in rows]
    assert [row[2] for row in rows] == [round(time_ms, 4) for time_ms in times_ms]
    before = files(store)

    again = run_ranks(store, script, TRITON_DIST_AUTOTUNE_ON_MISS="error")
    assert again.count("found the result in its store") == 2
    assert files(store) == before


@needs_triton
def test_R03_case_R1_example_ranks_scale_hands_a_record_over(tmp_path: Path) -> None:
    stores, elsewhere = tmp_path / "stores", tmp_path / "elsewhere"
    script = (str(EXAMPLES / "ranks_scale.py"), "--stores", str(stores))
    run_ranks(elsewhere, *script)
    for rank in (1, 0):
        kept = files(stores / f"rank-{1 - rank}")
        printed = run_ranks(
            elsewhere, *script, "--forget", str(rank), TRITON_DIST_AUTOTUNE_ON_MISS="error"
        )
        assert f"rank {rank} had no result and got that of another rank" in printed
        assert f"rank {1 - rank} found the result in its store" in printed
        records = [only_record(stores / f"rank-{r}", "scale") for r in range(2)]
        for record in records:
            del record["created"]  # when it was written in this place
        assert records[0] == records[1]
        assert files(stores / f"rank-{1 - rank}") == kept


@needs_triton
def test_C05_example_contextual_ranks_agrees(tmp_path: Path) -> None:
    printed = run_ranks(tmp_path / "store", str(EXAMPLES / "contextual_ranks.py"))
    assert "all ranks have the same winner and the same times" in printed
    logs = [tmp_path / ".autotune_logs" / f"rank-{rank}.log" for rank in range(2)]
    bests = [re.findall("event=best .*", log.read_text()) for log in logs]
    assert len(bests[0]) == 1
    assert bests[0] == bests[1]
