# SPDX-License-Identifier: MIT
"""Contextual tuning on a CUDA (or ROCm) device; skipped where there is none.

Run by hand on such a machine: ``pytest tests/python/test_contextual_cuda.py``.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton")
if not torch.cuda.is_available():
    pytest.skip("no CUDA device", allow_module_level=True)

import contextual_kernels  # noqa: E402
from contextual_kernels import SCENARIOS, Scenario, cover, tuned  # noqa: E402
from contextual_stand_ins import autotuned, chosen, kernels_as_before, triton_as_before  # noqa: E402
from tdtune.contextual.clock import find_place  # noqa: E402

EXAMPLE = Path(__file__).parents[2] / "examples" / "python" / "contextual_scale.py"


@pytest.fixture(autouse=True)
def _compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    with triton_as_before():
        yield


class Sleeper:
    """Stands for a clock in a pretended kernel that keeps the device busy."""

    def __init__(self) -> None:
        self.events: list[Any] = []

    def work(self, cycles: float) -> None:
        torch.cuda._sleep(int(cycles))


def test_the_documents_example_runs_as_printed(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(EXAMPLE)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "on cuda" in done.stdout
    assert "the winner" in done.stdout


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_C08_results_are_those_of_torch_in_every_pass(scenario: Scenario) -> None:
    assert scenario("cuda") > 5


def test_C03_times_are_those_of_the_device_not_of_the_launch(tmp_path: Path) -> None:
    kernel = autotuned(Sleeper(), [40_000_000, 400_000, 4_000_000])  # type: ignore[arg-type]
    outer = tuned(lambda: kernel[(1,)](None, 1))
    with kernels_as_before(kernel):
        assert outer() == "launched 1"
    times = [timings[0] for timings in kernel.configs_timings.values()]
    assert times[0] > times[2] > times[1] > 0
    assert find_place().id.startswith("cuda:")  # type: ignore[union-attr]


def test_C03_what_else_the_outer_function_does_is_not_measured() -> None:
    kernel = autotuned(Sleeper(), [4_000_000, 400_000])  # type: ignore[arg-type]

    @tuned
    def outer() -> Any:
        torch.cuda._sleep(100_000_000)
        result = kernel[(1,)](None, 1)
        torch.cuda._sleep(100_000_000)
        time.sleep(0.002)
        return result

    assert outer() == "launched 1"
    slow, fast = (timings[0] for timings in kernel.configs_timings.values())
    assert slow > 3 * fast


def test_events_follow_the_current_stream() -> None:
    kernel = autotuned(Sleeper(), [20_000_000, 200_000])  # type: ignore[arg-type]
    with torch.cuda.stream(torch.cuda.Stream()):
        assert tuned(lambda: kernel[(1,)](None, 1))() == "launched 1"
    slow, fast = (timings[0] for timings in kernel.configs_timings.values())
    assert slow > 10 * fast


def test_C10_a_candidate_that_needs_too_much_is_replaced() -> None:
    # 2**21 elements in a block are more than Triton allows: refused when it is compiled.
    scale = contextual_kernels.scale_kernel(contextual_kernels.blocks(1 << 21, 1024, 512))
    x = torch.randn(5000, device="cuda")

    @tuned
    def outer() -> Any:
        y = torch.full_like(x, -1.0)
        scale[cover(5000)](x, y, 2.0, 5000)
        torch.testing.assert_close(y, 2.0 * x)
        return y

    outer()
    assert scale.best_config.kwargs["BLOCK"] in (512, 1024)
    assert scale.configs_timings[scale.configs[0]] == [float("inf")] * 3


def test_during_graph_capture_the_capture_stays_valid() -> None:
    scale = contextual_kernels.scale_kernel(contextual_kernels.blocks(512, 1024))
    x = torch.randn(5000, device="cuda")
    y = torch.empty_like(x)
    for config in scale.configs:  # compiled, as a capture wants it
        scale.fn[cover(5000)](x, y, 2.0, 5000, **config.all_kwargs())
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        tuned(lambda: scale[cover(5000)](x, y, 3.0, 5000))()
    graph.replay()
    torch.testing.assert_close(y, 3.0 * x)
    assert not chosen_blocks(scale)


def chosen_blocks(tuner: Any) -> list[int]:
    return [config.kwargs["BLOCK"] for config in tuner.cache.values()]


def test_two_devices_in_one_outer_function() -> None:
    if torch.cuda.device_count() < 2:
        pytest.skip("one device")
    kernel = autotuned(Sleeper(), [4_000_000, 400_000])  # type: ignore[arg-type]

    @tuned
    def outer() -> None:
        for device in (0, 1):
            with torch.cuda.device(device):
                kernel[(1,)](None, device)

    outer()
    assert chosen(kernel) == {(0,): 1, (1,): 1}
