# SPDX-License-Identifier: MIT
"""What several tests need: other processes, and modules written for the occasion."""

import importlib
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import stand_ins

RunPython = Callable[..., str]
MakeModule = Callable[[str, str], ModuleType]


def pytest_configure() -> None:
    """Let Ctrl-C interrupt, also where the parent of pytest ignored it (`nohup`, `&`)."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep every test away from the user's records and from the caller's settings."""
    for name in [name for name in os.environ if name.startswith("TRITON_DIST_AUTOTUNE_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("TRITON_DIST_AUTOTUNE_DIR", str(tmp_path / "store"))


@pytest.fixture
def run_python(tmp_path: Path) -> RunPython:
    """Run code in a fresh process, with its own hash seed; returns what it printed."""

    def run(code: str, *, seed: int = 0, path: Path | None = None) -> str:
        places = [str(path)] if path else []
        places += [place for place in sys.path if place]
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(code)],
            env={**os.environ, "PYTHONHASHSEED": str(seed), "PYTHONPATH": os.pathsep.join(places)},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.fixture
def make_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MakeModule]:
    """Write a module and import it anew; a dotted name makes a package.

    Modules of one test live in one folder, `tmp_path / "modules"`.
    """
    root = tmp_path / "modules"
    root.mkdir()
    monkeypatch.syspath_prepend(str(root))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    made: set[str] = set()

    def make(name: str, text: str) -> ModuleType:
        file = root.joinpath(*name.split(".")).with_suffix(".py")
        for package in list(file.relative_to(root).parents)[:-1]:
            (root / package).mkdir(exist_ok=True)
            (root / package / "__init__.py").touch()
        file.write_text(textwrap.dedent(text), encoding="utf-8")
        for known in [known for known in sys.modules if known.split(".")[0] == name.split(".")[0]]:
            del sys.modules[known]
        made.add(name.split(".")[0])
        importlib.invalidate_caches()
        return importlib.import_module(name)

    yield make
    for known in [known for known in sys.modules if known.split(".")[0] in made]:
        del sys.modules[known]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The folder in which this test's records are kept; see `_own_store`."""
    return tmp_path / "store"


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Iterator[stand_ins.Stage]:
    """A stand-in accelerator; pass `stand_ins.Tensor()` to a tuned function to be on it."""
    monkeypatch.setitem(sys.modules, "torch", stand_ins.fake_torch())
    stand_ins.stage.__init__()  # type: ignore[misc]
    yield stand_ins.stage
    stand_ins.stage.__init__()  # type: ignore[misc]


@pytest.fixture
def clock() -> Any:
    """The scripted device of contextual tests."""
    from contextual_stand_ins import Clock  # needs Triton, which not all tests do

    return Clock()


@pytest.fixture
def triton_left_alone(
    clock: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """Scripted time, a working folder for the log, and Triton as it was after the test."""
    from contextual_stand_ins import on_clock, triton_as_before
    from triton_dist.autotuner import contextual_autotune

    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RANK", raising=False)
    with on_clock(clock), triton_as_before():
        yield
    # The next tuner can run: none is active any more.
    assert contextual_autotune()(lambda: 5)() == 5
