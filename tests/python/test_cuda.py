# SPDX-License-Identifier: MIT
"""What only a CUDA (or ROCm) device can show; skipped where there is none.

Run by hand on such a machine: ``pytest tests/python/test_cuda.py``.
"""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("no CUDA device", allow_module_level=True)

from triton_dist.tune import autotune  # noqa: E402


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give every test a store of its own."""
    monkeypatch.setenv("TRITON_DIST_AUTOTUNE_DIR", str(tmp_path))
    return tmp_path


def shape_key(x: Any, *args: object, **kwargs: object) -> tuple[object, ...]:
    return (tuple(x.shape), str(x.dtype))


def read_record(tuner: Any, *args: object) -> dict[str, Any]:
    record: dict[str, Any] = json.loads(Path(tuner.record_path(*args)).read_text())
    return record


def spin(cycles: int) -> None:
    """Keep the current stream busy; the host goes on at once."""
    torch.cuda._sleep(cycles)


def test_F12_times_are_those_of_the_device_not_of_the_launch() -> None:
    @autotune([{"cycles": 40_000_000}, {"cycles": 400_000}, {"cycles": 4_000_000}], shape_key)
    def busy(x: Any, cycles: int) -> int:
        spin(cycles)  # returns at once: the host's clock could not tell the candidates apart
        return cycles

    x = torch.zeros(4, device="cuda")
    assert busy(x) == 400_000
    record = read_record(busy, x)
    assert record["clock"] == "torch.cuda.Event"
    assert record["hardware"]["device"] == torch.cuda.get_device_name()
    times = [candidate["time_ms"] for candidate in record["candidates"]]
    assert times[0] > times[2] > times[1] > 0
    assert [len(candidate["samples_ms"]) for candidate in record["candidates"]] == [10, 10, 10]


def test_F12_events_follow_the_current_stream() -> None:
    @autotune([{"cycles": 20_000_000}, {"cycles": 200_000}], shape_key)
    def busy(x: Any, cycles: int) -> int:
        spin(cycles)
        return cycles

    x = torch.zeros(5, device="cuda")
    with torch.cuda.stream(torch.cuda.Stream()):
        assert busy(x) == 200_000
    slow, fast = (candidate["time_ms"] for candidate in read_record(busy, x)["candidates"])
    assert slow > 10 * fast


def test_F12_an_accelerator_in_use_times_calls_without_tensors() -> None:
    torch.cuda.init()

    @autotune([{"cycles": 8_000_000}, {"cycles": 80_000}], lambda n: n)
    def busy(n: int, cycles: int) -> int:
        spin(cycles)
        return cycles

    assert busy(3) == 80_000
    assert read_record(busy, 3)["clock"] == "torch.cuda.Event"


def test_F13_out_of_memory_is_a_failed_candidate_and_lets_its_memory_go() -> None:
    _, total = torch.cuda.mem_get_info()

    @autotune([{"n_bytes": 4 * total}, {"n_bytes": 1 << 20}], shape_key)
    def allocate(x: Any, n_bytes: int) -> int:
        held = torch.empty(total // 4, device="cuda", dtype=torch.uint8)
        more = torch.empty(n_bytes, device="cuda", dtype=torch.uint8)
        return held.numel() + more.numel()

    x = torch.zeros(6, device="cuda")
    before = torch.cuda.memory_allocated()
    allocate(x)
    assert torch.cuda.memory_allocated() == before
    failed, worked = read_record(allocate, x)["candidates"]
    assert failed["time_ms"] is None
    assert failed["error"].startswith("OutOfMemoryError: ")
    assert worked["time_ms"] > 0


def test_F13_a_ruined_device_ends_the_tuning_and_names_the_candidate(store: Path) -> None:
    program = textwrap.dedent(
        """
        import torch
        from triton_dist.tune import autotune

        @autotune([{"index": 0}, {"index": 10**6}, {"index": 1}], lambda x: tuple(x.shape))
        def gather(x, index):
            return x[torch.tensor([index], device="cuda")]

        x = torch.zeros(8, device="cuda")
        try:
            gather(x)
        except RuntimeError as error:
            print("caught:", error)
            print("cause:", type(error.__cause__).__name__)
        """
    )
    path = store / "ruin.py"
    path.write_text(program)
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, check=False)
    caught = next(line for line in done.stdout.splitlines() if line.startswith("caught:"))
    assert '{"index":1000000}' in caught, done.stdout + done.stderr
    assert not list(store.rglob("*.json"))


def test_F23_nothing_is_measured_while_a_graph_is_captured(
    caplog: pytest.LogCaptureFixture, store: Path
) -> None:
    calls: list[int] = []

    @autotune([{"by": 2}, {"by": 3}], shape_key)
    def multiply(x: Any, by: int) -> Any:
        calls.append(by)
        return x * by

    x = torch.ones(7, device="cuda")
    graph = torch.cuda.CUDAGraph()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        y = multiply(x)
    assert calls == [2]  # the first candidate, once
    assert "captur" in caplog.text
    x.fill_(5)
    graph.replay()
    torch.cuda.synchronize()
    assert y.tolist() == [10.0] * 7  # the capture stayed valid
    assert not list(store.rglob("*.json"))

    multiply(x)  # nothing was remembered: now it is tuned
    assert len(calls) == 1 + 2 * 15 + 1


def test_F23_a_winner_is_used_in_a_capture() -> None:
    @autotune([{"cycles": 20_000_000}, {"cycles": 200_000}], shape_key)
    def busy(x: Any, cycles: int) -> int:
        spin(cycles)
        return cycles

    x = torch.ones(9, device="cuda")
    assert busy(x) == 200_000
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        assert busy(x) == 200_000
