# SPDX-License-Identifier: MIT
"""The README's programs run as printed, the C one against the installed library."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tdtune import autotune, load_autotune_data, table

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


@pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="needs torch and Triton")
def test_R01_the_command_for_several_ranks_works_as_printed(tmp_path: Path) -> None:
    (command,) = re.findall(r"^torchrun .*$", README, re.MULTILINE)
    environment = {
        **os.environ,
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "TRITON_DIST_AUTOTUNE_DIR": str(tmp_path / "store"),
        "PET_STANDALONE": "1",  # as --standalone: a port that nothing else uses just now
    }
    started = subprocess.Popen(
        command,
        shell=True,
        cwd=ROOT,
        env=environment,
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
    assert "all ranks have the same winner" in printed


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


def compile_c(text: str, program: Path, installed: Path) -> dict[str, str]:
    """Compile against the installed library; return the environment to run the program in."""
    (pkgconfig,) = installed.rglob("pkgconfig")
    flags = run(
        "pkg-config",
        "--cflags",
        "--libs",
        "tdtune",
        PKG_CONFIG_PATH=str(pkgconfig),
        PKG_CONFIG_SYSROOT_DIR=str(installed),
    ).split()
    source = program.with_suffix(".c")
    source.write_text(text, encoding="utf-8")
    warnings = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    run(shutil.which("cc") or "gcc", *warnings, source, "-o", program, *flags)
    return {"LD_LIBRARY_PATH": str(pkgconfig.parent)}


def test_L01_the_c_example_runs_with_the_installed_library(tmp_path: Path, installed: Path) -> None:
    environment = compile_c(WORK + block("c"), tmp_path / "work", installed)
    environment["TRITON_DIST_AUTOTUNE_DIR"] = str(tmp_path / "store")
    assert 'fastest: {"tile":64}' in run(tmp_path / "work", **environment)
    (record,) = (tmp_path / "store").glob("work/*.json")
    written = record.stat().st_mtime_ns
    run(tmp_path / "work", **environment)
    assert record.stat().st_mtime_ns == written


# Asks for the winner of what Python tuned, and is not able to measure anything itself.
ASK = """
#include <stdio.h>
#include <tdtune/tdtune.h>
static tdt_status launch(void *user, size_t i, tdt_error *e) { (void)user; (void)i;
  return tdt_error_set(e, TDT_ESTOPPED, "nothing should be measured"); }
int main(void) {
  const char *configs[] = {CONFIGS};
  tdt_function function = {NAME, MODULE, QUALNAME, SOURCE};
  tdt_context *context; tdt_space *space; tdt_tuner *tuner; tdt_store *store; tdt_choice choice;
  tdt_error error = TDT_ERROR_INIT; tdt_request request;
  if (tdt_context_create(&context, &error) ||
      tdt_space_create(configs, sizeof configs / sizeof *configs, &space, &error) ||
      tdt_tuner_create(context, &function, space, NULL, &tuner, &error) ||
      tdt_store_open(ROOT, &store, &error))
    return puts(tdt_error_text(&error)), 1;
  tdt_request_init(&request);
  request.key = KEY; request.hardware = HARDWARE; request.dependencies = DEPENDENCIES;
  request.store = store; request.launch = launch;
  if (tdt_tuner_resolve(tuner, &request, &choice, &error))
    return puts(tdt_error_text(&error)), 1;
  printf("%zu %d", choice.candidate, (int)choice.origin);
  tdt_tuner_destroy(tuner); tdt_space_destroy(space); tdt_store_close(store);
  tdt_context_destroy(context);
}
"""


def test_L02_a_c_program_uses_what_python_tuned(
    tmp_path: Path, installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "store"
    monkeypatch.setenv("TRITON_DIST_AUTOTUNE_DIR", str(store))
    configs = [{"pause": pause} for pause in (0.02, 0.001, 0.04)]

    @autotune(configs, lambda n: (n, "float32"), warmup=0, repeat=1)
    def shared(n: int, pause: float) -> int:
        time.sleep(pause)
        return n

    shared(7)
    record = json.loads(Path(shared.record_path(7)).read_text())
    function, values = record["function"], [c["config"] for c in record["candidates"]]
    texts = {
        "CONFIGS": ", ".join(json.dumps(json.dumps(value)) for value in values),
        "NAME": json.dumps(function["name"]),
        "MODULE": json.dumps(function["module"]),
        "QUALNAME": json.dumps(function["qualname"]),
        "SOURCE": json.dumps(function["source"]),
        "ROOT": json.dumps(str(store)),
        "KEY": json.dumps(record["key"]),
        "HARDWARE": json.dumps(json.dumps(record["hardware"])),
        "DEPENDENCIES": json.dumps(json.dumps(record["dependencies"])),
    }
    defines = "".join(f"#define {name} {text}\n" for name, text in texts.items())
    environment = compile_c(defines + ASK, tmp_path / "ask", installed)
    assert run(tmp_path / "ask", **environment) == f"{record['best']} 1"  # TDT_ORIGIN_STORED


def test_L02_python_reads_what_a_c_program_tuned(tmp_path: Path, installed: Path) -> None:
    environment = compile_c(WORK + block("c"), tmp_path / "work", installed)
    run(tmp_path / "work", TRITON_DIST_AUTOTUNE_DIR=str(tmp_path / "store"), **environment)
    (path,) = (tmp_path / "store").rglob("*.json")
    record = load_autotune_data(path)
    assert record is not None
    assert record["candidates"][record["best"]]["config"] == {"tile": 64}
    assert "tile=64" in table(path)


def test_the_examples_are_as_short_as_promised() -> None:
    for language in ("python", "c"):
        lines = [line for line in block(language).splitlines() if line.strip()]
        assert len(lines) <= 20, language
