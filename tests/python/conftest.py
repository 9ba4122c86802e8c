# SPDX-License-Identifier: MIT
"""Every test has a store of its own, and none of the user's settings."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import stand_ins


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the records of this test."""
    for name in list(os.environ):
        if name.startswith("TRITON_DIST_AUTOTUNE_"):
            monkeypatch.delenv(name)
    folder = tmp_path / "store"
    monkeypatch.setenv("TRITON_DIST_AUTOTUNE_DIR", str(folder))
    return folder


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Iterator[stand_ins.Stage]:
    """A stand-in accelerator; pass `stand_ins.Tensor()` to a tuned function to be on it."""
    monkeypatch.setitem(sys.modules, "torch", stand_ins.fake_torch())
    stand_ins.stage.__init__()  # type: ignore[misc]
    yield stand_ins.stage
    stand_ins.stage.__init__()  # type: ignore[misc]
