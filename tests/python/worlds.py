# SPDX-License-Identifier: MIT
"""Worlds of real processes that meet over gloo.

A test gives the code that every rank runs. RESULT, a dict, is what a rank hands back; `rank` and
`n_ranks` say who it is. A rank that hangs is killed, and the test fails with what every rank was
doing at that moment.
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import runpy
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Mapping
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any, NamedTuple

RANK_TIMEOUT_S = 20  # of the tuner: long on a busy machine, and far below that of the test
TIMEOUT_S = 100

MEET = """
import faulthandler, json, os, sys
faulthandler.dump_traceback_later(float(os.environ["GIVE_UP_AFTER_S"]))
sys.path.insert(0, os.environ["STAND_INS"])
import torch, torch.distributed as dist
rank, n_ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
RESULT = {}
def meet(**more):
    dist.init_process_group("gloo", init_method="file://" + os.environ["MEETING"], rank=rank,
                            world_size=n_ranks, **more)
def error_of(call, *args, **kwargs):
    try:
        return repr(call(*args, **kwargs))
    except BaseException as error:
        return f"{type(error).__name__}: {error}"
"""

# What a test of `autotune` has: a stand-in accelerator whose clock is the stage's.
STAGE = """
from stand_ins import fake_torch, only_record, records, stage
from tdtune import autotune, devices, groups
accelerator = fake_torch().cuda
devices.find_place = lambda args, kwargs: devices.Place("cuda", 0, accelerator)
"""

PART = """
with open(os.environ["RESULT"], "w") as file:
    json.dump(RESULT, file)
if dist.is_initialized():
    dist.barrier()
    dist.destroy_process_group()
"""


SERVER = """
import sys, torch.distributed as dist
store = dist.TCPStore("127.0.0.1", 0, None, True, wait_for_workers=False)
print(store.port, flush=True)
sys.stdin.read()
"""


class StoreServer:
    """A process that keeps a TCPStore, as torchrun does; `port` is where it is."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        self.port = int(self._process.stdout.readline())

    def kill(self) -> None:
        self._process.kill()
        self._process.communicate()


# Ranks are forked from a process that has imported what takes long to import.
_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["torch.distributed", "triton"])


class Rank(NamedTuple):
    """How a rank ended: its exit status, what it handed back, and what it printed."""

    status: int | None
    result: Any
    output: str
    errors: str


def run_world(
    n_ranks: int,
    folder: Path,
    code: str,
    *,
    before: str = "meet()\n",
    part: str = PART,
    **settings: str,
) -> list[Rank]:
    """Run code on every rank of a world and return how each ended.

    Parameters
    ----------
    n_ranks
        How many there are.
    folder
        Where they run; with one world in it.
    code
        Of every rank, after `MEET` and `before`.
    before, part
        How ranks come together before the code, and part after it.
    settings
        Variables of the environment; ``{rank}`` in them is the rank's number.
    """
    script = folder / "world.py"
    script.write_text(MEET + before + textwrap.dedent(code) + part, encoding="utf-8")
    places = [folder / f"of-rank-{rank}" for rank in range(n_ranks)]
    for place in places:
        place.mkdir()
    processes = [
        _start(script, place, _environment(rank, n_ranks, place, settings))
        for rank, place in enumerate(places)
    ]
    try:
        _wait(processes)
    finally:
        for process in processes:
            _end(process)
    return [_rank(process, place) for process, place in zip(processes, places, strict=True)]


def results(ranks: list[Rank]) -> list[Any]:
    """What the ranks handed back, all of which have ended well."""
    for number, rank in enumerate(ranks):
        assert rank.status == 0, f"rank {number}, status {rank.status}:\n{rank.errors}"
    return [rank.result for rank in ranks]


def _environment(
    rank: int, n_ranks: int, place: Path, settings: Mapping[str, str]
) -> dict[str, str]:
    return {
        **os.environ,
        "STAND_INS": str(Path(__file__).parent),
        "MEETING": str(place.parent / "meeting"),
        "RESULT": str(place / "result"),
        "RANK": str(rank),
        "WORLD_SIZE": str(n_ranks),
        "OMP_NUM_THREADS": "1",
        "GIVE_UP_AFTER_S": str(TIMEOUT_S - 10),
        "TRITON_DIST_AUTOTUNE_RANK_TIMEOUT": str(RANK_TIMEOUT_S),
        **{name: value.format(rank=rank) for name, value in settings.items()},
    }


def _start(script: Path, place: Path, environment: dict[str, str]) -> ForkServerProcess:
    process = _context.Process(target=_be_a_rank, args=(script, place, environment))
    process.start()
    return process


def _be_a_rank(script: Path, place: Path, environment: dict[str, str]) -> None:
    os.setsid()
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(script.parent)
    for number, name in ((1, "output"), (2, "errors")):
        with (place / name).open("wb") as file:
            os.dup2(file.fileno(), number)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.argv = [str(script)]
    runpy.run_path(str(script), run_name="__main__")


def _wait(processes: list[ForkServerProcess]) -> None:
    end = time.monotonic() + TIMEOUT_S
    for process in processes:
        process.join(max(end - time.monotonic(), 0.0))


def _end(process: ForkServerProcess) -> None:
    """Kill a rank with all that it started; nothing happens if it has ended."""
    if process.exitcode is None:
        with contextlib.suppress(ProcessLookupError):  # it has not even begun
            os.killpg(process.pid or 0, signal.SIGKILL)
        process.kill()
        process.join()


def _rank(process: ForkServerProcess, place: Path) -> Rank:
    result = place / "result"
    return Rank(
        process.exitcode,
        json.loads(result.read_text()) if result.exists() else None,
        (place / "output").read_text(errors="replace"),
        (place / "errors").read_text(errors="replace"),
    )
