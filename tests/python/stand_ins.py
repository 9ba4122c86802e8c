# SPDX-License-Identifier: MIT
"""Stand-ins for what is around a tuned function: an accelerator whose clock the test sets, and a
count of what ran on it.

`stage` is a global of this module, so that a function that names it keeps the same identity from
one test, and one tuner, to the next.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import time
import types
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

PLAN_RUNS = 15  # the documented plan: 5 warm-ups and 10 timed runs


class Stage:
    """What ran, and how long it takes there."""

    def __init__(self) -> None:
        self.ran: list[Any] = []
        self.now_ms = 0.0
        self.cost_ms: dict[Any, float] = {}
        self.failing: dict[Any, Callable[[], BaseException]] = {}
        self.before_run: Callable[[Any], object] | None = None
        self.device_calls: list[str] = []
        self.capturing = False
        self.broken = False

    def run(self, candidate: Any) -> Any:
        """What a tuned function does in these tests."""
        self.ran.append(candidate)
        self.now_ms += self.cost_ms.get(candidate, 1.0)
        if self.before_run is not None:
            self.before_run(candidate)
        if candidate in self.failing:
            raise self.failing[candidate]()
        return candidate

    def take_ran(self) -> list[Any]:
        """What ran since the last time this was asked."""
        ran, self.ran = self.ran, []
        return ran


stage = Stage()


class Event:
    """A mark on the stand-in's stream."""

    def __init__(self, enable_timing: bool = False) -> None:
        assert enable_timing
        self.at_ms = -1.0

    def record(self, stream: object = None) -> None:
        stage.device_calls.append("record")
        self.at_ms = stage.now_ms

    def synchronize(self) -> None:
        stage.device_calls.append("event.synchronize")

    def elapsed_time(self, stop: Event) -> float:
        stage.device_calls.append("elapsed_time")
        return stop.at_ms - self.at_ms


def _synchronize(index: int = 0) -> None:
    stage.device_calls.append("synchronize")
    if stage.broken:
        raise RuntimeError("an illegal memory access was encountered")


def fake_torch() -> types.ModuleType:
    """A module that says of torch what tdtune asks, with one accelerator of kind cuda."""
    torch = types.ModuleType("torch")
    torch.__version__ = "0.0+stand.in"  # type: ignore[attr-defined]
    torch.cuda = types.SimpleNamespace(  # type: ignore[attr-defined]
        Event=Event,
        current_stream=lambda index=0: None,
        synchronize=_synchronize,
        is_current_stream_capturing=lambda: stage.capturing,
        is_initialized=lambda: False,
        current_device=lambda: 0,
        device_count=lambda: 1,
        get_device_properties=lambda index: types.SimpleNamespace(
            name="Stand-in", major=1, minor=0
        ),
        empty_cache=lambda: stage.device_calls.append("empty_cache"),
    )
    return torch


class Tensor:
    """An argument that lives on the stand-in accelerator."""

    device = types.SimpleNamespace(type="cuda", index=0)


def records(root: Path) -> list[Path]:
    """The record files below a store's folder."""
    return sorted(root.glob("*/*.json"))


def read(path: Path | str) -> dict[str, Any]:
    """A record as its file has it."""
    found = json.loads(Path(path).read_text(encoding="utf-8"))
    assert isinstance(found, dict)
    return found


def only_record(root: Path) -> dict[str, Any]:
    """The one record of a store."""
    (path,) = records(root)
    return read(path)


def run_script(script: str, *arguments: str, **environment: str) -> str:
    """Run a Python script in a process of its own and return what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def in_child(work: Callable[[], bool]) -> bool:
    """Fork, do it there, and say whether it came out true in time."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # about threads and fork
        pid = os.fork()
    if pid == 0:
        code = 1
        try:
            code = 0 if work() else 2
        finally:
            os._exit(code)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status) == 0
        time.sleep(0.01)
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    return False
