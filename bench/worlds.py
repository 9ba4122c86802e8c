# SPDX-License-Identifier: MIT
"""Worlds of ranks on this machine: a process for each, a time limit, and none left behind.

The parent calls `run_world`; a rank's program begins with `follow_parent` and ends with
`hand_back`.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

# -- the parent ------------------------------------------------------------------------------------


def free_port() -> int:
    """Return a port of this machine that nobody listens at now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def end_on_signals() -> None:
    """Make SIGTERM and SIGHUP end this program as Ctrl-C does: by way of every `finally`."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda got, _: sys.exit(128 + got))


def start_rank(
    command: list[str], rank: int, n_ranks: int, port: int, settings: dict[str, str]
) -> subprocess.Popen[bytes]:
    """Start one rank, in a session of its own; its standard input tells it that we are alive."""
    environment = {
        **os.environ,
        "RANK": str(rank),
        "LOCAL_RANK": str(rank),
        "WORLD_SIZE": str(n_ranks),
        "LOCAL_WORLD_SIZE": str(n_ranks),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "OMP_NUM_THREADS": "1",
        **settings,
    }
    return subprocess.Popen(
        [sys.executable, "-u", *command],
        env=environment,
        stdin=subprocess.PIPE,
        start_new_session=True,
    )


def wait_for_all(ranks: list[subprocess.Popen[bytes]], until: float) -> None:
    """Wait until all ranks have ended well; one that has not ends the program."""
    while any(rank.poll() is None for rank in ranks):
        if time.monotonic() > until:
            sys.exit("the time limit is over")
        failed = [i for i, rank in enumerate(ranks) if rank.poll() not in (None, 0)]
        if failed:
            time.sleep(1)  # the others may have something to say about it
            break
        time.sleep(0.05)
    for i, rank in enumerate(ranks):
        if rank.poll() != 0:
            sys.exit(f"rank {i} ended with {rank.poll()}")


def run_world(
    n_ranks: int, command: list[str], task: dict[str, Any], folder: Path, until: float
) -> list[dict[str, Any]]:
    """Run a Python program on ranks and return what each handed back.

    `until` is by the monotonic clock; `folder` must be there, and is for this world alone.
    """
    port = free_port()
    settings = {"BENCH_TASK": json.dumps(task), "BENCH_FOLDER": str(folder)}
    ranks: list[subprocess.Popen[bytes]] = []
    try:
        for rank in range(n_ranks):
            ranks.append(start_rank(command, rank, n_ranks, port, settings))
        wait_for_all(ranks, until)
    finally:
        for process in ranks:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # and what it may have started
            process.wait()
    return [json.loads((folder / f"rank-{rank}.json").read_text()) for rank in range(n_ranks)]


# -- a rank ----------------------------------------------------------------------------------------


def follow_parent() -> dict[str, Any]:
    """Return this rank's task. From here on it dies with its parent, however that dies."""

    def watch() -> None:
        os.read(0, 1)  # nothing is ever written: this is its end
        os.killpg(os.getpgrp(), signal.SIGKILL)

    threading.Thread(target=watch, daemon=True).start()
    task: dict[str, Any] = json.loads(os.environ["BENCH_TASK"])
    return task


def hand_back(result: dict[str, Any]) -> None:
    """Give this rank's result to the parent."""
    path = Path(os.environ["BENCH_FOLDER"]) / f"rank-{os.environ['RANK']}.json"
    path.write_text(json.dumps(result))
