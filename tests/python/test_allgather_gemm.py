# SPDX-License-Identifier: MIT
"""The all-gather with a matrix product, as `torchrun` starts it, over gloo on the CPU."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch.distributed")
pytest.importorskip("triton")

from test_examples import EXAMPLES, clean_environment, files, run_ranks
from worlds import results, run_world

SCRIPT = str(EXAMPLES / "allgather_gemm.py")
# Rows of a rank that neither 2 nor 4 chunks divide.
SHAPE = ("--shape", "50x24x40")

REFUSED = {
    "--shape 65x24x40": "M = 65 and N = 24 must both divide by the number of ranks, 2",
    "--shape 50x25x40": "M = 50 and N = 25 must both divide by the number of ranks, 2",
    "--shape 50x24": "argument --shape: invalid parse_shape value: '50x24'",
    "--shape 4x4x4 --chunks 3": "--chunks must be from 1 to the 2 rows of a rank",
}

WHOLE = """
import contextlib, io
sys.path.insert(0, os.environ["EXAMPLES"])
import allgather_gemm as example
a, b = example.make_inputs((2 * 13, 2 * 9, 40))
expected = example.torch_allgather_gemm(a, b, example.world())
cfg = example.kernel_configs()[0]
for chunks in (1, 2, 3, 5, 13):
    c = example.allgather_gemm.fn(a, b, example.world(), cfg, chunks)
    torch.testing.assert_close(c, expected, rtol=1e-2, atol=1e-2)
allowed = [c for c in (1, 13, 14) if example.prune_fn({"cfg": cfg, "chunks": c}, a, b, None)]
RESULT.update(allowed=allowed, wrong=error_of(example.make_inputs, (27, 2 * 9, 40)), refused={})
os.environ["LOCAL_RANK"] = str(rank)
for line in REFUSED:
    sys.argv = [sys.argv[0], *line.split()]
    with contextlib.redirect_stderr(io.StringIO()) as errors, contextlib.suppress(SystemExit):
        example.parse_arguments()
    RESULT["refused"][line] = errors.getvalue().splitlines()[-1]
"""


def run_example(folder: Path, *options: str, **settings: str) -> tuple[str, Any]:
    """Run the program on two ranks; return what it printed and its figures."""
    figures = folder / "figures.json"
    script = (SCRIPT, *SHAPE, "--json", str(figures), *options)
    printed = run_ranks(folder / "store", *script, **settings)
    (result,) = json.loads(figures.read_text())["shapes"]
    return printed, result


def check_times(told: list[dict[str, Any]]) -> None:
    """The record of all ranks is one, and its times are those of the slowest."""
    record = told[0]["record"]
    assert all(one["record"] == record for one in told)
    assert record["ranks"] == len(told)
    times_ms = [candidate["time_ms"] for candidate in record["candidates"]]
    for i, time_ms in enumerate(times_ms):
        assert time_ms == max(one["own_ms"][str(i)] for one in told)
    assert record["best"] == times_ms.index(min(times_ms))
    assert len({one["winner"] for one in told}) == 1


def test_R01_R06_C05_example_allgather_gemm_both_ways(tmp_path: Path) -> None:
    printed, result = run_example(tmp_path, "--chunks", "2")
    assert "2 ranks over gloo on cpu" in printed
    check_times(result["host"])
    n_candidates = len(result["host"][0]["record"]["candidates"])
    assert [one["n_measured"] for one in result["host"]] == [n_candidates] * 2
    assert f"measured on each rank: {n_candidates}, {n_candidates}" in printed
    # Chunks of 13 and of 12 rows are two keys.
    told = result["in-place"]
    assert told[0]["winner"].count("chunks of ") == 2
    assert told[0]["winner"] == told[1]["winner"]
    assert told[0]["kernel_ms"] == told[1]["kernel_ms"]
    before = files(tmp_path / "store")

    printed, result = run_example(tmp_path, "--how", "host", TRITON_DIST_AUTOTUNE_ON_MISS="error")
    assert "measured on each rank: 0, 0" in printed
    assert [one["n_measured"] for one in result["host"]] == [0, 0]
    assert "in-place" not in result
    assert files(tmp_path / "store") == before


def test_example_allgather_gemm_is_right_for_all_chunks(tmp_path: Path) -> None:
    code = f"REFUSED = {list(REFUSED)}\n{WHOLE}"
    ranks = run_world(2, tmp_path, code, EXAMPLES=str(EXAMPLES))
    for result in results(ranks):
        assert result["allowed"] == [1, 13]
        assert result["wrong"] == "ValueError: M = 27 does not divide by 2 ranks"
        for line, reason in REFUSED.items():
            assert result["refused"][line].endswith(reason)


def test_example_allgather_gemm_refuses_before_ranks_wait(tmp_path: Path) -> None:
    environment = clean_environment(tmp_path) | {"LOCAL_RANK": "0", "WORLD_SIZE": "2"}
    done = subprocess.run(
        [sys.executable, SCRIPT, "--shape", "65x24x40"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].endswith(REFUSED["--shape 65x24x40"])
    assert not os.listdir(tmp_path)
