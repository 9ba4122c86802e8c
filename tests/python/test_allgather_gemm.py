# SPDX-License-Identifier: MIT
"""The all-gather with a matrix product, as `torchrun` starts it, over gloo on the CPU."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch.distributed")
pytest.importorskip("triton")

from test_examples import EXAMPLES, files, run_ranks

SCRIPT = str(EXAMPLES / "allgather_gemm.py")
# Rows of a rank that neither 2 nor 4 chunks divide.
SHAPE = ("--shape", "50x24x40")

REFUSED = {
    "--shape 65x24x40": "M = 65 and N = 24 must both divide by the number of ranks, 2",
    "--shape 50x25x40": "M = 50 and N = 25 must both divide by the number of ranks, 2",
    "--shape 50x24": "argument --shape: invalid parse_shape value: '50x24'",
    "--shape 4x4x4 --chunks 3": "--chunks must be from 1 to the 2 rows of a rank",
}

PROGRAM = """
import contextlib, io, os, sys
import torch, torch.distributed as dist
sys.path.insert(0, {examples!r})
import allgather_gemm as example

for line, reason in {refused!r}.items():  # said before any rank waits for another
    sys.argv = [sys.argv[0], *line.split()]
    with contextlib.redirect_stderr(io.StringIO()) as errors, contextlib.suppress(SystemExit):
        example.parse_arguments()
    assert errors.getvalue().splitlines()[-1].endswith(reason), errors.getvalue()

assert example.join_ranks() == "gloo"
a, b = example.make_inputs((2 * 13, 2 * 9, 40))
cfg = example.kernel_configs()[0]
for chunks in (1, 2, 3, 5, 13):
    example.check(example.allgather_gemm.fn(a, b, example.world(), cfg, chunks), a, b)
kept = [c for c in (1, 13, 14) if example.prune_fn({{"cfg": cfg, "chunks": c}}, a, b, None)]
assert kept == [1, 13]
wrong = example.torch_allgather_gemm(a, b, example.world()).roll(1, 0)
try:
    example.check(wrong, a, b)
except AssertionError:
    print("the check can fail", flush=True)
dist.destroy_process_group()
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


def test_example_allgather_gemm_is_right_for_all_chunks_and_refuses(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.format(examples=str(EXAMPLES), refused=REFUSED), encoding="utf-8")
    printed = run_ranks(tmp_path / "store", str(program))
    assert printed.count("the check can fail") == 2
    assert not (tmp_path / "store").exists()
