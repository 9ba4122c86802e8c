# SPDX-License-Identifier: MIT
"""Contextual tuning with kernels on Triton's interpreter, and the device of Triton's driver."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("triton")

import stand_ins
import triton
from contextual_kernels import SCENARIOS, Scenario, a_driver
from contextual_stand_ins import triton_as_before
from tdtune.contextual.clock import DriverPlace, find_place

EXAMPLE = Path(__file__).parents[2] / "examples" / "python" / "contextual_scale.py"


@pytest.fixture
def _interpreter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    with a_driver(), triton_as_before():
        yield


@pytest.mark.usefixtures("_interpreter")
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_C08_results_are_those_of_torch_in_every_pass(scenario: Scenario) -> None:
    assert scenario("cpu") > 5


@pytest.mark.usefixtures("_interpreter")
def test_the_interpreter_leaves_devices_alone() -> None:
    assert find_place() is None


@pytest.mark.skipif(triton.__version__.startswith("3.2."), reason="its autotune needs a device")
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
    assert "the winner" in done.stdout
    assert "event=best" in (tmp_path / ".autotune_logs" / "rank-0.log").read_text()


# -- the device of the driver --------------------------------------------------------------------


def fake_driver(**more: Any) -> Any:
    """A driver of Triton's for the stand-in accelerator."""
    return SimpleNamespace(
        get_device_interface=lambda: stand_ins.fake_torch().cuda,
        get_active_torch_device=lambda: SimpleNamespace(type="cuda", index=0),
        **more,
    )


@pytest.fixture
def stage() -> Iterator[stand_ins.Stage]:
    """The accelerator's state; torch itself stays what it is."""
    stand_ins.stage.__init__()  # type: ignore[misc]
    yield stand_ins.stage
    stand_ins.stage.__init__()  # type: ignore[misc]


def test_times_are_events_on_the_current_stream(stage: stand_ins.Stage) -> None:
    place = DriverPlace(fake_driver())
    assert (place.clock, place.id) == ("torch.cuda.Event", "cuda:0")
    place.reserve(2)
    place.mark(0)
    stage.now_ms += 3.5
    place.mark(1)
    assert place.elapsed_ms(0, 1) == 3.5
    place.synchronize()
    assert "synchronize" in stage.device_calls
    assert not place.capturing()
    stage.capturing = True
    assert place.capturing()


def test_marks_are_on_the_device_that_is_current(stage: stand_ins.Stage) -> None:
    streams: list[tuple[int, object]] = []
    current = 0

    class Event(stand_ins.Event):
        def record(self, stream: object = None) -> None:
            streams.append((id(self), stream))
            super().record(stream)

    interface = SimpleNamespace(
        Event=Event, current_device=lambda: current, current_stream=lambda index: f"stream {index}"
    )
    place = DriverPlace(SimpleNamespace(get_device_interface=lambda: interface))
    for device in (0, 1, 0):
        current = device
        place.mark(0)
        place.mark(1)
    assert [stream for _, stream in streams] == [f"stream {d}" for d in (0, 0, 1, 1, 0, 0)]
    assert streams[0] == streams[4]
    assert streams[0][0] != streams[2][0]


def test_the_drivers_way_to_clear_the_cache_is_used(stage: stand_ins.Stage) -> None:
    class Buffer:
        n_zeroed = 0

        def zero_(self) -> None:
            self.n_zeroed += 1

    buffer = Buffer()
    cleared: list[object] = []
    newer = fake_driver(
        get_empty_cache_for_benchmark=lambda: buffer,
        clear_cache=lambda cache: cleared.append(cache),
    )
    DriverPlace(newer).clear_cache()
    assert cleared == [buffer]
    place = DriverPlace(fake_driver(get_empty_cache_for_benchmark=lambda: buffer))
    place.clear_cache()
    place.clear_cache()
    assert buffer.n_zeroed == 2


def test_no_room_for_the_cache_is_a_warning(
    stage: stand_ins.Stage, caplog: pytest.LogCaptureFixture
) -> None:
    def full() -> None:
        raise MemoryError("device is full")

    place = DriverPlace(fake_driver(get_empty_cache_for_benchmark=full))
    with caplog.at_level(logging.WARNING, "tdtune"):
        place.clear_cache()
        place.clear_cache()
    assert len(caplog.messages) == 1
    assert "device is full" in caplog.messages[0]


def test_a_machine_without_a_device_uses_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    class NoDriver:
        @property
        def active(self) -> Any:
            raise RuntimeError("0 active drivers ([]). There should only be one.")

    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    monkeypatch.setattr(sys.modules["triton.runtime"], "driver", NoDriver())
    assert find_place() is None
