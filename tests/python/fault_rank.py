# SPDX-License-Identifier: MIT
"""One rank of the worlds in which faults are tried; `fault_worlds.py` makes them.

Run as a program this is a nursery: it imports what ranks need, once, and forks a rank for every
request. A rank then does what it is told, one fault after another, until its pipe is closed.
"""

from __future__ import annotations

import ctypes
import functools
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

WARMUP, REPEAT = 1, 2  # of both tuners
TILES = (1, 2, 3)  # the candidates
COST_S = {1: 0.001, 2: 0.003, 3: 0.005}
ON_PURPOSE = "on purpose"
HEAD_START_S = 0.4  # of a rank that is to be alone at a meeting

Ask = dict[str, Any]


class Stage:
    """What has run in one attempt, and the fault that happens once a phase is reached."""

    def __init__(self) -> None:
        self.begin()

    def begin(self, phase: str = "", act: Callable[[], object] = lambda: None) -> None:
        self._phase = phase
        self._act = act
        self.happened = phase == ""
        self.ran: list[int] = []
        self.kept: tuple[int, ...] = TILES
        self.failing: tuple[int, ...] = ()

    def reach(self, phase: str) -> None:
        """Let the fault happen if its time has come; it happens once."""
        if phase == self._phase:
            self._phase = ""
            self.happened = True
            self._act()

    def run(self, tile: int) -> int:
        """One run of a candidate."""
        self.ran.append(tile)
        n = self.ran.count(tile)
        if tile == TILES[0]:
            self.reach("warm-up" if n <= WARMUP else "timed runs")
        if tile in self.failing:
            raise ValueError(ON_PURPOSE)
        return tile


stage = Stage()


# -- acts -------------------------------------------------------------------------------------


def fail() -> None:
    raise ValueError(ON_PURPOSE)


def send(number: int) -> None:
    os.kill(os.getpid(), number)


def freeze(seconds: float) -> None:
    """Stop this process, all of its threads, for a while."""
    subprocess.Popen(["sh", "-c", f"sleep {seconds}; kill -CONT {os.getpid()}"])
    send(signal.SIGSTOP)


def act_of(ask: Ask) -> Callable[[], object]:
    fault: str = ask["fault"]
    if fault == "kill -9":
        return functools.partial(send, signal.SIGKILL)
    if fault == "interrupt":
        return functools.partial(send, signal.SIGINT)
    if ask["delay_s"] > 0.0:
        return functools.partial(time.sleep, ask["delay_s"])
    return fail


def while_waiting(ask: Ask) -> None:
    """The fault happens to this rank from outside, a moment after it began to wait."""
    act = act_of(ask)
    if ask["delay_s"] > 0.0:
        act = functools.partial(freeze, ask["delay_s"])
    threading.Timer(HEAD_START_S / 2, act).start()
    stage.happened = True


def shim() -> ctypes.CDLL:
    """What stands between the engine and the system call that puts a record in its place."""
    return ctypes.CDLL(os.environ["LD_PRELOAD"])


def while_writing(ask: Ask) -> None:
    """The fault happens in that call."""
    signals = {"kill -9": int(signal.SIGKILL), "interrupt": int(signal.SIGINT)}
    ctypes.c_int.in_dll(shim(), "rename_delay_ms").value = 1 + int(1000 * ask["delay_s"])
    ctypes.c_int.in_dll(shim(), "rename_signal").value = signals.get(ask["fault"], 0)


def watch_reductions() -> None:
    """Let the stage know of every reduction of the tuner's."""
    import torch.distributed as dist
    from tdtune.torch_group import TorchGroup

    begin, end = dist.all_reduce, TorchGroup.wait_max

    def all_reduce(*args: Any, **kwargs: Any) -> Any:
        stage.reach("before the reduction")
        work = begin(*args, **kwargs)
        stage.reach("the reduction")
        return work

    def wait_max(group: Any, slice_s: float) -> Any:
        stage.reach("the end of the reduction")
        return end(group, slice_s)

    dist.all_reduce = all_reduce
    TorchGroup.wait_max = wait_max  # type: ignore[method-assign]


# -- autotune ---------------------------------------------------------------------------------

SOURCE = "def work(name, *, tile):\n    time.sleep(COST_S[tile])\n    return stage.run({tile})\n"


def work_of(tile: str) -> Callable[..., Any]:
    """The function to tune; with another `tile` it has another source."""
    exec(SOURCE.format(tile=tile), globals(), made := {})
    work: Callable[..., Any] = made["work"]
    work.__module__ = "fault_rank"
    return work


def key_fn(name: str) -> str:
    stage.reach("key_fn")
    return name


def prune_fn(config: dict[str, int], name: str) -> bool:
    stage.reach("pruning")
    return config["tile"] in stage.kept


def other_prune_fn(config: dict[str, int], name: str) -> bool:
    return config["tile"] in stage.kept and name != ""


def autotuner(ask: Ask) -> Any:
    from triton_dist.tune import autotune

    fault = ask["fault"]
    return autotune(
        [{"tile": tile} for tile in (TILES[:-1] if fault == "different candidates" else TILES)],
        key_fn,
        other_prune_fn if fault == "different pruning rule" else prune_fn,
        warmup=WARMUP,
        repeat=REPEAT,
    )(work_of("int(tile)" if fault == "different source" else "tile"))


def store_hit(ask: Ask, pg: Any, name: str) -> None:
    """Have a result in the store of the ranks that are to know one; all have tuned it before."""
    path = Path(autotuner({"fault": ""}).record_path(name))
    if not ask["guilty"] and ask["fault"] == "hit on one rank only":
        path.unlink()
    if ask["guilty"] and ask["fault"] == "hits with different winners":
        record = json.loads(path.read_text(encoding="utf-8"))
        times = [candidate["time_ms"] for candidate in record["candidates"]]
        record["best"] = times.index(max(times))
        for candidate in record["candidates"]:
            candidate["time_ms"] = max(times) + min(times) - candidate["time_ms"]
        path.write_text(json.dumps(record), encoding="utf-8")


def call_autotune(ask: Ask, name: str, pg: Any) -> Callable[[], Any]:
    """Everything but the call itself."""
    if ask["fault"].startswith("hit"):
        stage.begin()
        autotuner({"fault": ""})(name, autotune_pg=pg)
        store_hit(ask, pg, name)
    mine = ask if ask["guilty"] else {**ask, "fault": "", "phase": ""}
    tuner = autotuner(mine)
    stage.begin(mine["phase"], act_of(mine))
    if mine["fault"] == "different pruning":
        stage.kept = TILES[1:]
    if mine["fault"] == "all candidates fail":
        stage.failing = TILES
    if mine["fault"] == "different key":
        name += " of another"
    return lambda: tuner(name, autotune_pg=pg)


# -- contextual_autotune ----------------------------------------------------------------------


def prune_configs(configs: list[Any], named_args: Any, **kwargs: Any) -> list[Any]:
    stage.reach("pruning")
    return [config for config in configs if config.kwargs["C"] + 1 in stage.kept]


def kernel_of(mine: Ask) -> Any:
    """A kernel that only pretends; its candidate C is tile C + 1."""
    from contextual_stand_ins import autotuned, on_clock  # noqa: F401

    kernel = autotuned(
        clock(),
        [COST_S[tile] for tile in TILES],
        name="other" if mine["fault"] == "different source" else "kernel",
        configs=configs_of(TILES[:-1] if mine["fault"] == "different candidates" else TILES),
        prune_configs_by={"early_config_prune": prune_configs},
    )
    kernel.fn.effect = lambda values: stage.run(values["C"] + 1)
    return kernel


def configs_of(tiles: tuple[int, ...]) -> list[Any]:
    from triton import Config

    return [Config({"C": tile - 1}) for tile in tiles]


@functools.cache
def clock() -> Any:
    from contextual_stand_ins import Clock

    return Clock()


def call_contextual(ask: Ask, name: str, pg: Any) -> Callable[[], Any]:
    from triton_dist.autotuner import contextual_autotune

    mine = ask if ask["guilty"] else {**ask, "fault": "", "phase": ""}
    kernel = kernel_of(mine)
    stage.begin(mine["phase"], act_of(mine))
    if mine["fault"] == "different pruning":
        stage.kept = TILES[1:]
    if mine["fault"] == "all candidates fail":
        stage.failing = TILES
    n = 64 if mine["fault"] != "different key" else 65
    if mine["fault"] == "hit on one rank only":
        kernel.cache[(n,)] = kernel.configs[-1]
    if ask["fault"] == "hits with different winners":
        kernel.cache[(n,)] = kernel.configs[-1 if ask["guilty"] else 0]

    @contextual_autotune(is_dist=True, n_warmup=WARMUP, n_repeat=REPEAT)
    def outer() -> Any:
        stage.reach("the outer function")
        return kernel[(1,)](None, n)

    return outer


# -- a rank -----------------------------------------------------------------------------------

CALLS = {"autotune": call_autotune, "contextual_autotune": call_contextual}


def attempt(call: Callable[[], Any]) -> Ask:
    """What came of a call, and how long it took."""
    start = time.monotonic()
    try:
        outcome = {"answer": call(), "error": "", "text": ""}
    except BaseException as error:
        outcome = {"answer": None, "error": type(error).__name__, "text": str(error)}
        traceback.print_exc()
    outcome["seconds"] = time.monotonic() - start
    return outcome


def do_fault(ask: Ask, pg: Any) -> Ask:
    """Have the fault."""
    call = CALLS[ask["tuner"]](ask, ask["name"], pg)
    if ask["phase"] == "check-in" and not ask["guilty"]:
        time.sleep(HEAD_START_S)
    if ask["guilty"] and ask["phase"] == "check-in":
        while_waiting(ask)
    if ask["guilty"] and ask["phase"] == "the record":
        while_writing(ask)
    outcome = attempt(call)
    outcome["n_ran"] = len(stage.ran)
    if ask["guilty"] and ask["phase"] == "the record":
        stage.happened = ctypes.c_int.in_dll(shim(), "rename_delay_ms").value == 0
    outcome["happened"] = stage.happened
    return outcome


def do_again(ask: Ask, pg: Any) -> Ask:
    """The next call of all ranks, without a fault."""
    plain = {**ask, "fault": "", "phase": "", "guilty": False}
    return attempt(CALLS[ask["tuner"]](plain, f"{ask['name']} again", pg))


def hold_talk(pipe: Connection, pg: Any) -> None:
    while True:
        ask = pipe.recv()
        if ask is None:
            return
        print(f"--- {ask}", flush=True)
        outcome = do_again(ask, pg) if ask["again"] else do_fault(ask, pg)
        print(f"    {outcome}", flush=True)
        pipe.send(outcome)


def join(pipe: Connection, request: Ask) -> Any:
    """Join the world; return the group to tune with, None for the default one."""
    import torch.distributed as dist

    rank, n_ranks = request["rank"], request["n_ranks"]
    if request["store"] == "file":
        store: Any = dist.FileStore(request["meeting"], n_ranks)
        pipe.send(0)
        pipe.recv()
    elif rank == 0:  # the store lives and dies with rank 0
        store = dist.TCPStore("127.0.0.1", 0, n_ranks, is_master=True, wait_for_workers=False)
        pipe.send(store.port)
        pipe.recv()
    else:
        pipe.send(0)
        store = dist.TCPStore("127.0.0.1", pipe.recv(), n_ranks, wait_for_workers=False)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=n_ranks)
    members = request["members"]
    if len(members) == n_ranks:
        return None
    group = dist.new_group(members)
    return group if rank in members else None


def be_rank(pipe: Connection, request: Ask) -> None:
    from contextual_stand_ins import on_clock

    os.environ.update(request["environment"])
    os.chdir(request["folder"])
    output = os.open("output.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(output, 1)
    os.dup2(output, 2)
    import logging

    logging.basicConfig(stream=sys.stderr, level=logging.WARNING)
    pipe.send(os.getpid())
    watch_reductions()
    with on_clock(clock()):
        pg = join(pipe, request)
        pipe.send("ready")
        hold_talk(pipe, pg)


# -- the nursery ------------------------------------------------------------------------------


def die_with_parent() -> None:
    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)


def serve(requests: socket.socket) -> None:
    import contextual_stand_ins  # noqa: F401
    import torch.distributed  # noqa: F401
    import triton_dist.autotuner
    import triton_dist.tune  # noqa: F401

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    requests.send(b"ready")
    while True:
        message, handles, _, _ = socket.recv_fds(requests, 1 << 16, 1)
        if not message:
            return
        if os.fork() == 0:
            die_with_parent()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            requests.close()
            status = 1
            try:
                be_rank(Connection(handles[0]), json.loads(message))
                status = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(status)
        os.close(handles[0])


if __name__ == "__main__":
    import fault_rank  # the stage that tuned functions name is that module's

    fault_rank.serve(socket.socket(fileno=int(sys.argv[1])))
