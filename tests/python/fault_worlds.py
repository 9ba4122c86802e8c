# SPDX-License-Identifier: MIT
"""Worlds of real processes, in which faults are tried."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, NamedTuple

from fault_cases import BROKEN, Trial

# Seconds. A rank waits for others at most TIMEOUT_S, by kind of fault. In the world of delays and
# notes nobody is to wait that long; where ranks come too late or never, all must.
Outcome = dict[str, Any]

TIMEOUT_S = {"": 60.0, "too late": 1.0, "kill -9": 1.5}
DELAY_S = {"delay": 0.5, "15 s delay": 15.0, "too late": 3.5}
SLACK_S = 10.0  # the machine may be busy
LIMIT_S = 90.0  # after which a world is killed

SHIM = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <unistd.h>

/* What happens in the next renameat(), once. */
int rename_signal;
int rename_delay_ms;

int renameat(int old_folder, const char *old, int new_folder, const char *new) {
  static int (*real)(int, const char *, int, const char *);
  const int number = rename_signal;
  const int delay_ms = rename_delay_ms;
  if (real == NULL) {
    real = (int (*)(int, const char *, int, const char *))dlsym(RTLD_NEXT, "renameat");
  }
  rename_signal = rename_delay_ms = 0;
  if (number != 0) {
    (void)kill(getpid(), number);
  }
  usleep(1000u * (unsigned)delay_ms);
  return real(old_folder, old, new_folder, new);
}
"""


def build_shim(folder: Path) -> Path:
    """Compile what stands between the engine and the system call that puts files in place."""
    source, shim = folder / "shim.c", folder / "shim.so"
    source.write_text(SHIM, encoding="ascii")
    compiler = shutil.which("cc") or "gcc"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", str(shim), str(source), "-ldl"], check=True)
    return shim


class Nursery:
    """The process that ranks are forked from."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock = threading.Lock()
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("TRITON_DIST_AUTOTUNE_")
        }
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("fault_rank.py")), str(theirs.fileno())],
            env={**environment, "LD_PRELOAD": str(build_shim(folder)), "OMP_NUM_THREADS": "1"},
            pass_fds=[theirs.fileno()],
            start_new_session=True,
        )
        theirs.close()
        self._socket.settimeout(120)
        assert self._socket.recv(16) == b"ready"

    def fork(self, request: dict[str, Any]) -> Connection:
        ours, theirs = Pipe()
        with self._lock:
            socket.send_fds(self._socket, [json.dumps(request).encode()], [theirs.fileno()])
        theirs.close()
        return ours

    def close(self) -> None:
        self._socket.close()
        self._process.wait(30)


class World:
    """A few ranks, until the first of them is lost."""

    def __init__(self, nursery: Nursery, folder: Path, kind: str, trial: Trial) -> None:
        self.folder = folder
        self.members = trial.members
        # The store by which ranks meet dies with rank 0, or, as under torchrun, does not.
        store = "file" if trial.n_ranks == 3 else "tcp"
        self._pipes = {
            rank: nursery.fork(self._request(trial, rank, store, TIMEOUT_S[kind]))
            for rank in range(trial.n_ranks)
        }
        self._pids = self._hear(LIMIT_S)
        port = self._hear(LIMIT_S)[0]
        for pipe in self._pipes.values():
            pipe.send(port)
        self._hear(LIMIT_S)

    def _request(self, trial: Trial, rank: int, store: str, timeout_s: float) -> dict[str, Any]:
        folder = self.folder / f"rank-{rank}"
        folder.mkdir(parents=True)
        return {
            "rank": rank,
            "n_ranks": trial.n_ranks,
            "members": trial.members,
            "store": store,
            "meeting": str(self.folder / "meeting"),
            "folder": str(folder),
            "environment": {
                "RANK": str(rank),
                "WORLD_SIZE": str(trial.n_ranks),
                "TRITON_DIST_AUTOTUNE_DIR": str(folder / "store"),
                "TRITON_DIST_AUTOTUNE_RANK_TIMEOUT": str(timeout_s),
            },
        }

    def _hear(self, limit_s: float, ranks: Iterable[int] | None = None) -> dict[int, Any]:
        """What each rank says: "dead" of those that died, "hung" of those that said nothing."""
        until = time.monotonic() + limit_s
        awaited = {self._pipes[rank]: rank for rank in (self._pipes if ranks is None else ranks)}
        heard: dict[int, Any] = {}
        while awaited and (left_s := until - time.monotonic()) > 0:
            for pipe in wait(list(awaited), left_s):
                assert isinstance(pipe, Connection)
                rank = awaited.pop(pipe)
                try:
                    heard[rank] = pipe.recv()
                except (EOFError, ConnectionError):
                    heard[rank] = "dead"
        return {**heard, **dict.fromkeys(awaited.values(), "hung")}

    def ask(self, trial: Trial, name: str, again: bool) -> dict[int, Any]:
        """Have all members do something, and hear what came of it."""
        for rank in self.members:
            ask = {
                "tuner": trial.case.tuner,
                "fault": trial.case.fault,
                "phase": trial.case.phase,
                "guilty": rank == trial.guilty,
                "name": name,
                "delay_s": DELAY_S.get(trial.case.fault, 0.0),
                "again": again,
            }
            self._pipes[rank].send(ask)
        return self._hear(LIMIT_S, self.members)

    def outputs(self) -> dict[int, str]:
        """What each rank has printed so far."""
        return {
            rank: (self.folder / f"rank-{rank}" / "output.txt").read_text(errors="replace")
            for rank in self._pipes
        }

    def close(self) -> None:
        """Let ranks go, or kill those that would not."""
        for pipe in self._pipes.values():
            try:
                pipe.send(None)
            except (OSError, ValueError):
                continue
        for rank, heard in self._hear(5.0).items():
            if heard == "hung":
                os.kill(self._pids[rank], 9)
        for pipe in self._pipes.values():
            pipe.close()


# -- one after another --------------------------------------------------------------------------


class Result(NamedTuple):
    """What came of a trial on each rank, and of the next call; None where there was none."""

    first: dict[int, Any]
    again: dict[int, Any] | None
    outputs: dict[int, str]

    @property
    def output(self) -> str:
        """What all ranks have printed since their world began."""
        return "\n".join(f"===== rank {rank}\n{text}" for rank, text in self.outputs.items())


def is_lost(heard: dict[int, Any]) -> bool:
    return any(isinstance(one, str) for one in heard.values())


def kind_of(trial: Trial) -> str:
    return trial.case.fault if trial.case.fault in TIMEOUT_S else ""


def ends_world(trial: Trial) -> bool:
    """Whether no more can be tried where this was."""
    return trial.case.fault == "kill -9" or trial.case.again == BROKEN


def try_in(world: World, trial: Trial, name: str) -> Result:
    first = world.ask(trial, name, again=False)
    again = None if is_lost(first) else world.ask(trial, name, again=True)
    return Result(first, again, world.outputs())


def try_in_turn(nursery: Nursery, number: int, job: Sequence[Trial]) -> dict[Trial, Result]:
    """Try faults one after another, in one world as long as it lives."""
    found: dict[Trial, Result] = {}
    world: World | None = None
    for i, trial in enumerate(job):
        if world is None:
            world = World(nursery, nursery.folder / f"world-{number}-{i}", kind_of(trial), trial)
        result = found[trial] = try_in(world, trial, f"trial {i}")
        if ends_world(trial) or is_lost(result.first) or is_lost(result.again or {}):
            world.close()
            world = None
    if world is not None:
        world.close()
    return found


def jobs_of(wanted: Sequence[Trial]) -> list[list[Trial]]:
    """What is tried in worlds of its own; the longest come first."""
    together: dict[Any, list[Trial]] = defaultdict(list)
    alone: list[list[Trial]] = []
    for trial in wanted:
        if ends_world(trial):
            alone.append([trial])
        else:
            delay_s = DELAY_S.get(trial.case.fault, 0.0)
            which = trial.guilty if delay_s > 10.0 else 0
            together[trial.case.tuner, trial.world, delay_s, which].append(trial)
    longest = sorted(
        together.values(), key=lambda job: -sum(DELAY_S.get(t.case.fault, 0.0) for t in job)
    )
    return [*longest, *alone]


def try_all(wanted: Sequence[Trial], folder: Path, n_at_once: int = 8) -> dict[Trial, Result]:
    """Try faults, in several worlds at a time."""
    nursery = Nursery(folder)
    found: dict[Trial, Result] = {}
    try:
        with ThreadPoolExecutor(n_at_once) as pool:
            jobs = [
                pool.submit(try_in_turn, nursery, number, job)
                for number, job in enumerate(jobs_of(wanted))
            ]
            for job in jobs:
                found.update(job.result())
    finally:
        nursery.close()
    return found
