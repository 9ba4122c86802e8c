# SPDX-License-Identifier: MIT
"""The README's programs run as printed, the C one against the installed library."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")

# What the README leaves to the reader: the work that is tuned.
WORK = """
#include <tdtune/tdtune.h>
static tdt_status work(int tile) {
  volatile double sum = 0;
  for (int i = 0; i < 1 << 21; i += tile) sum = sum + i;
  return TDT_OK;
}
"""


def block(language: str) -> str:
    """Return the README's code block in this language."""
    blocks = re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)
    assert len(blocks) == 1
    return str(blocks[0])


def run(*command: object, **environment: str) -> str:
    done = subprocess.run(
        [str(word) for word in command],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_F01_the_python_example_runs_as_printed(tmp_path: Path) -> None:
    program = tmp_path / "example.py"
    program.write_text(block("python"), encoding="utf-8")
    store = tmp_path / "store"
    first = run(sys.executable, program, TRITON_DIST_AUTOTUNE_DIR=str(store))
    assert "tuning begins: 4 candidates" in first
    (record,) = store.glob("normalize/*.json")
    second = run(sys.executable, program, TRITON_DIST_AUTOTUNE_DIR=str(store))
    assert "tuning begins" not in second
    assert str(record) in second


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the C library that `make build` built into a folder."""
    build = ROOT / "build" / "native"
    assert (build / "build.ninja").exists(), "run `make build` first"
    root = tmp_path_factory.mktemp("root")
    run(
        Path(sys.executable).parent / "meson",
        "install",
        "-C",
        build,
        "--no-rebuild",
        "--destdir",
        root,
    )
    return root


def test_L01_the_c_example_runs_with_the_installed_library(tmp_path: Path, installed: Path) -> None:
    (pkgconfig,) = installed.rglob("pkgconfig")
    flags = run(
        "pkg-config",
        "--cflags",
        "--libs",
        "tdtune",
        PKG_CONFIG_PATH=str(pkgconfig),
        PKG_CONFIG_SYSROOT_DIR=str(installed),
    ).split()
    source = tmp_path / "work.c"
    source.write_text(WORK + block("c"), encoding="utf-8")
    compiler = shutil.which("cc") or "gcc"
    warnings = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    run(compiler, *warnings, source, "-o", tmp_path / "work", *flags)
    environment = {
        "TRITON_DIST_AUTOTUNE_DIR": str(tmp_path / "store"),
        "LD_LIBRARY_PATH": str(pkgconfig.parent),
    }
    assert 'fastest: {"tile":64}' in run(tmp_path / "work", **environment)
    (record,) = (tmp_path / "store").glob("work/*.json")
    written = record.stat().st_mtime_ns
    run(tmp_path / "work", **environment)
    assert record.stat().st_mtime_ns == written


def test_the_examples_are_as_short_as_promised() -> None:
    for language in ("python", "c"):
        lines = [line for line in block(language).splitlines() if line.strip()]
        assert len(lines) <= 20, language
