# SPDX-License-Identifier: MIT
"""Runs every suite and counts: the last line reads ``N passed, N failed``.

usage: run.py [SUITE ...]      (no SUITE: all of them, in the order below)

native     C unit tests and examples, gcc, warnings are errors; each cmocka test counts
python     pytest over tests/python; each test counts
triton     pytest over the contextual tests again, with the oldest supported Triton
sanitize   the C tests under AddressSanitizer and UndefinedBehaviorSanitizer; each program counts
threads    the C tests under ThreadSanitizer, but those that an MPI starts
valgrind   the C tests under valgrind, leaks are errors, but those that an MPI starts
lint       clang with warnings as errors, headers as C++, clang-format, mypy --strict, ruff
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
# Under ThreadSanitizer MPIs report lock orders of their own or crash, and valgrind would look at
# the launcher, not at the ranks. There the MPI group is tested over a stand-in only (group-mpi).
WITHOUT_MPI = "--no-suite=mpi"
BIN = Path(sys.executable).parent


class Count(NamedTuple):
    """Tests that passed and failed."""

    passed: int
    failed: int

    def __add__(self, other: object) -> Count:
        assert isinstance(other, Count)
        return Count(self.passed + other.passed, self.failed + other.failed)


def run(command: Sequence[str | Path], **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command in the project's root and keep what it prints."""
    return subprocess.run(
        [str(word) for word in command],
        cwd=ROOT,
        env={
            **os.environ,
            "HYPOTHESIS_STORAGE_DIRECTORY": str(BUILD / "hypothesis"),
            **environment,
        },
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )


def check(what: str, command: Sequence[str | Path], **environment: str) -> Count:
    """Run a command that is one test: it passes if it exits with 0."""
    done = run(command, **environment)
    if done.returncode == 0:
        return Count(1, 0)
    print(f"FAILED {what}\n{done.stdout}", flush=True)
    return Count(0, 1)


def meson_build(folder: Path, *options: str, **environment: str) -> Count:
    """Configure (once) and compile a build folder of its own."""
    if not (folder / "build.ninja").exists():
        shutil.rmtree(folder, ignore_errors=True)
        setup: list[str | Path] = [BIN / "meson", "setup", folder, "-Dwerror=true", *options]
        configured = check(f"configure {folder.name}", setup, **environment)
        if configured.failed:
            return configured
    return check(f"compile {folder.name}", [BIN / "meson", "compile", "-C", folder], **environment)


def cmocka_count(program: dict[str, object]) -> Count:
    """Count the tests of one program from the lines cmocka prints; none printed: one test."""
    text = f"{program.get('stdout', '')}\n{program.get('stderr', '')}"
    passed = sum(map(int, re.findall(r"^\[  PASSED  \] (\d+) test", text, re.MULTILINE)))
    failed = sum(map(int, re.findall(r"^\[  FAILED  \] (\d+) test", text, re.MULTILINE)))
    good = program["result"] in ("OK", "EXPECTEDFAIL")
    if passed + failed == 0:
        return Count(1, 0) if good else Count(0, 1)
    return Count(passed, failed if good else max(failed, 1))


def program_count(program: dict[str, object]) -> Count:
    """Count one program as one test."""
    return Count(1, 0) if program["result"] in ("OK", "EXPECTEDFAIL") else Count(0, 1)


def meson_test(
    folder: Path,
    count: Callable[[dict[str, object]], Count],
    *options: str,
    **environment: str,
) -> Count:
    """Run the tests of a build folder; what a failed program printed is shown."""
    for old in (folder / "meson-logs").glob("testlog*.json"):
        old.unlink()
    done = run([BIN / "meson", "test", "-C", folder, "--no-rebuild", *options], **environment)
    log = next((folder / "meson-logs").glob("testlog*.json"), None)  # a wrapper is in its name
    if log is None:
        print(f"FAILED {folder.name}: no test ran\n{done.stdout}", flush=True)
        return Count(0, 1)
    total = Count(0, 0)
    for line in log.read_text(errors="replace").splitlines():
        program = json.loads(line)
        if program["result"] == "SKIP":
            continue
        one = count(program)
        if one.failed:
            print(f"FAILED {program['name']} ({program['result']})")
            print(program.get("stdout", ""), program.get("stderr", ""), flush=True)
        total += one
    return total if total != Count(0, 0) else Count(0, 1)


def native() -> Count:
    """C unit tests and examples with gcc."""
    folder = BUILD / "tests"
    built = meson_build(folder, CC="gcc")
    if built.failed:
        return built
    # The others stop at fewer simulated ranks, each of which is a thread.
    return meson_test(folder, cmocka_count, TDTUNE_MOST_RANKS="4096")


def sanitize() -> Count:
    """AddressSanitizer and UndefinedBehaviorSanitizer."""
    folder = BUILD / "sanitize"
    built = meson_build(folder, "-Db_sanitize=address,undefined", "-Db_lundef=false", CC="gcc")
    if built.failed:
        return built
    return meson_test(
        folder,
        program_count,
        "--timeout-multiplier=4",
        ASAN_OPTIONS="detect_leaks=1:abort_on_error=0",
        UBSAN_OPTIONS="halt_on_error=1:print_stacktrace=1",
    )


def threads() -> Count:
    """ThreadSanitizer."""
    folder = BUILD / "threads"
    built = meson_build(folder, "-Db_sanitize=thread", "-Db_lundef=false", CC="gcc")
    if built.failed:
        return built
    return meson_test(
        folder,
        program_count,
        "--timeout-multiplier=4",
        WITHOUT_MPI,
        TSAN_OPTIONS="halt_on_error=1",
    )


def valgrind() -> Count:
    """Memcheck over the programs of the native build."""
    folder = BUILD / "tests"
    built = meson_build(folder, CC="gcc")
    if built.failed:
        return built
    wrapper = (
        "valgrind --quiet --error-exitcode=9 --leak-check=full "
        "--show-leak-kinds=definite,indirect,possible"
    )
    return meson_test(
        folder,
        program_count,
        "--timeout-multiplier=10",
        f"--wrapper={wrapper}",
        WITHOUT_MPI,
        TDTUNE_SLOW="1",
    )


def run_pytest(name: str, *arguments: str, **environment: str) -> Count:
    """Run pytest and count by its report; what it printed is shown if a test failed."""
    report = BUILD / f"{name}.xml"
    report.unlink(missing_ok=True)
    done = run([BIN / "python", "-m", "pytest", f"--junitxml={report}", *arguments], **environment)
    if done.returncode or not report.exists():
        print(done.stdout, flush=True)
    if not report.exists():
        return Count(0, 1)
    suite = next(ElementTree.parse(report).iter("testsuite")).attrib
    failed = int(suite["failures"]) + int(suite["errors"])
    passed = int(suite["tests"]) - failed - int(suite["skipped"])
    if done.returncode and not failed:
        failed = 1
    return Count(passed, failed)


def python() -> Count:
    """Pytest over everything."""
    return run_pytest("pytest", TRITON_INTERPRET="")


def triton() -> Count:
    """The contextual tests with the oldest Triton."""
    folder = BUILD / "triton-oldest"
    if not folder.exists():
        print("FAILED triton: build/triton-oldest is missing; `make test` installs it", flush=True)
        return Count(0, 1)
    files = sorted(str(f) for f in (ROOT / "tests" / "python").glob("test_contextual*.py"))
    return run_pytest("triton", *files, TRITON_INTERPRET="", PYTHONPATH=str(folder))


def headers_as_cplusplus() -> Count:
    """The public headers compile as C++ without a warning."""
    source = BUILD / "headers.cpp"
    source.write_text("#include <tdtune/tdtune.h>\nint main() { return !tdt_version(); }\n")
    flags = ["-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only"]
    return check("headers as C++", ["g++", *flags, "-Iinclude", source])


def formatted() -> Count:
    """clang-format agrees with every C file of the project."""
    folders = ("include", "src", "python/ext", "examples/c", "tests/c")
    files: list[Path] = sorted(f for d in folders for f in (ROOT / d).rglob("*.[ch]"))
    return check(
        "clang-format", [str(BIN / "clang-format"), "--dry-run", "--Werror", *map(str, files)]
    )


def lint() -> Count:
    """What can be said without running anything."""
    total = meson_build(BUILD / "clang", "-Dpython=enabled", CC="clang")
    total += headers_as_cplusplus()
    total += formatted()
    total += check("mypy", [BIN / "mypy", "python/tdtune", "python/triton_dist/triton_dist"])
    total += check("mypy examples", [BIN / "mypy", "examples/python", "tests/run.py"])
    total += check("ruff check", [BIN / "ruff", "check", "python", "tests", "examples", "bench"])
    total += check("ruff format", [BIN / "ruff", "format", "--check", "python", "tests"])
    return total


SUITES: dict[str, Callable[[], Count]] = {
    suite.__name__: suite for suite in (native, python, triton, sanitize, threads, valgrind, lint)
}


def main(names: Sequence[str]) -> int:
    """Run the named suites, or all, and print the count."""
    unknown = sorted(set(names) - set(SUITES))
    if unknown:
        print(f"no suite {', '.join(unknown)}; there are: {', '.join(SUITES)}", file=sys.stderr)
        return 2
    BUILD.mkdir(exist_ok=True)
    total = Count(0, 0)
    for name in names or SUITES:
        print(f"== {name}", flush=True)
        start = time.monotonic()
        one = SUITES[name]()
        seconds = time.monotonic() - start
        print(f"   {name}: {one.passed} passed, {one.failed} failed, {seconds:.0f} s", flush=True)
        total += one
    print(f"{total.passed} passed, {total.failed} failed")
    return 1 if total.failed or not total.passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
