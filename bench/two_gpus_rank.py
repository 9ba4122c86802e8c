# SPDX-License-Identifier: MIT
"""What one rank does in a part of two_gpus.py, which starts it.

usage: two_gpus_rank.py PART RESULT.json

Ends without taking leave of the other ranks: some of them may be dead.
"""

from __future__ import annotations

import datetime
import faulthandler
import importlib
import json
import os
import signal
import sys
import time
import traceback
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "examples" / "python"))

import allgather_gemm as example
import torch
import torch.distributed as dist
import triton  # type: ignore[import-untyped]
from tdtune.torch_group import TorchGroup
from triton_dist.autotuner import contextual_autotune
from triton_dist.tune import autotune

SMALL = example.DEVICE == "cpu"
SHAPE = (64, 64, 64) if SMALL else (4096, 4096, 4096)
Told = dict[str, Any]


def is_last() -> bool:
    """Whether this is the rank that has the fault."""
    return dist.get_rank() == dist.get_world_size() - 1


def few_configs() -> list[dict[str, Any]]:
    """Return some candidates, for what is not about speed."""
    cfg = example.kernel_configs()[0]
    return [{"cfg": cfg, "chunks": chunks} for chunks in (1, 2, 4)]


def multiply(a: Any, b: Any, group: Any, cfg: Any, chunks: int) -> Any:
    """Multiply as the example does."""
    return example.multiply_chunks(example.gemm_kernel, a, b, group, chunks, **cfg.all_kwargs())


def outcome(call: Callable[[], Any], inputs: Any) -> Told:
    """Return what came of a call: a right or a wrong product, or an error; and after how long."""
    start = time.perf_counter()
    try:
        product = call()
        told = {"error": None}
    except Exception as error:
        told = {"error": f"{type(error).__name__}: {error}"}
    told["seconds"] = time.perf_counter() - start
    if told["error"] is None:
        told["right"] = is_right(product, *inputs)
    return told


def is_right(product: Any, a: Any, b: Any) -> bool:
    """Whether a product agrees with torch's; asked on all ranks at once."""
    try:
        example.check(product, a, b)
    except AssertionError:
        return False
    return True


# -- faults after which all ranks live ---------------------------------------------------------


def key_with_rank(a: Any, b: Any, group: Any) -> object:
    """A key as it must not be."""
    return (*example.key_fn(a, b, group), dist.get_rank())


def key_that_raises(a: Any, b: Any, group: Any) -> object:
    """A key that one rank cannot make."""
    if is_last():
        raise ValueError("on purpose")
    return (*example.key_fn(a, b, group), "raises")


def key_of_failing(a: Any, b: Any, group: Any) -> object:
    """A good key."""
    return (*example.key_fn(a, b, group), "fails")


def fail_where_last(a: Any, b: Any, group: Any, cfg: Any, chunks: int) -> Any:
    """Multiply; one rank has no room for a kernel, with all communication under way."""
    product = multiply(a, b, group, cfg, chunks)
    if is_last() and chunks == 1:
        raise triton.runtime.OutOfResources(300_000, 232_448, "shared memory, on purpose")
    return product


def hook_that_fails(named_args: Any) -> None:
    """Run before a kernel is launched."""
    if is_last():
        raise RuntimeError("no launch, on purpose")


def configs_with_a_failing_one() -> list[Any]:
    """Return two of the kernel's configurations; the first fails on one rank."""
    blocks = {"BLOCK_M": 64, "BLOCK_N": 128, "BLOCK_K": 64, "GROUP_M": 8}
    return [
        triton.Config(blocks, num_warps=4, num_stages=2, pre_hook=hook_that_fails),
        triton.Config(blocks, num_warps=4, num_stages=3),
    ]


failing_kernel = triton.autotune(configs=configs_with_a_failing_one(), key=["m", "n", "k"])(
    example.gemm_kernel
)
raising_kernel = triton.autotune(configs=example.kernel_configs()[:2], key=["m", "n", "k"])(
    example.gemm_kernel
)


def fail_in_place(a: Any, b: Any, group: Any) -> Any:
    """Multiply with the kernel that fails on one rank."""
    return example.multiply_chunks(failing_kernel, a, b, group, 2)


def raise_in_place(a: Any, b: Any, group: Any) -> Any:
    """Multiply; one rank raises when all its communication is under way."""
    product = example.multiply_chunks(raising_kernel, a, b, group, 2)
    if is_last():
        raise ValueError("on purpose")
    return product


def faults() -> Told:
    """One fault after another in one world, and at last a tuning without any."""
    a, b = inputs = example.make_inputs(SHAPE)
    group = example.world()
    configs = few_configs()
    uneven = configs[: 2 if is_last() else 3]
    tuners: dict[str, Any] = {
        "different key": autotune(configs, key_with_rank)(multiply),
        "different candidates": autotune(uneven, example.key_fn)(multiply),
        "key_fn raises": autotune(configs, key_that_raises)(multiply),
        "in place, a candidate fails": contextual_autotune(is_dist=True)(fail_in_place),
        "in place, the function raises": contextual_autotune(is_dist=True)(raise_in_place),
        "no fault": autotune(configs, example.key_fn)(multiply),
    }
    told = {}
    for name, tuner in tuners.items():
        dist.barrier()
        more = {} if "in place" in name else {"autotune_pg": group}
        print(name, flush=True)
        told[name] = outcome(lambda tuner=tuner, more=more: tuner(a, b, group, **more), inputs)
    return told


def candidate_fails() -> Told:
    """A candidate fails on one rank while the others are in its collectives."""
    a, b = inputs = example.make_inputs(SHAPE)
    group = example.world()
    tuner = autotune(few_configs(), key_of_failing)(fail_where_last)
    told = outcome(lambda: tuner(a, b, group, autotune_pg=group), inputs)
    if told["error"] is None:
        record = json.loads(Path(tuner.record_path(a, b, group)).read_text())
        told["times_ms"] = [c["time_ms"] for c in record["candidates"]]
        told["errors"] = [c.get("error") for c in record["candidates"]]
    return told


# -- a rank that is killed -----------------------------------------------------------------------


def is_victim() -> bool:
    """Whether this is the rank that is killed."""
    return dist.get_rank() == int(os.environ["VICTIM"])


def die(progress: Any) -> None:
    """End as by `kill -9`, between two candidates."""
    if progress.candidate == 0 and is_victim():
        os.kill(os.getpid(), signal.SIGKILL)


def multiply_and_die(a: Any, b: Any, group: Any, cfg: Any, chunks: int) -> Any:
    """Multiply; one rank ends when others wait for its rows."""
    if chunks == 2 and is_victim():
        os.kill(os.getpid(), signal.SIGKILL)
    return multiply(a, b, group, cfg, chunks)


def killed_between() -> Told:
    """A rank is killed between two candidates, when nobody communicates."""
    a, b = inputs = example.make_inputs(SHAPE)
    group = example.world()
    tuner = autotune(few_configs(), example.key_fn, on_progress=die)(multiply)
    return outcome(lambda: tuner(a, b, group, autotune_pg=group), inputs)


def killed_inside() -> Told:
    """A rank is killed where others are, or will be, in the middle of a collective with it."""
    a, b = inputs = example.make_inputs(SHAPE)
    group = example.world()
    tuner = autotune(few_configs(), example.key_fn)(multiply_and_die)
    return outcome(lambda: tuner(a, b, group, autotune_pg=group), inputs)


# -- what it costs -------------------------------------------------------------------------------


class Meter:
    """Counts what ranks say to one another, and the seconds that it takes, waiting included."""

    methods = ("put", "get", "drop", "start_max", "wait_max")

    def __init__(self) -> None:
        self.calls = dict.fromkeys(self.methods, 0)
        self.seconds = dict.fromkeys(self.methods, 0.0)

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Listen meanwhile."""
        originals = {name: getattr(TorchGroup, name) for name in self.methods}
        for name, original in originals.items():
            setattr(TorchGroup, name, self._metered(name, original))
        try:
            yield
        finally:
            for name, original in originals.items():
                setattr(TorchGroup, name, original)

    def _metered(self, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def method(*args: Any) -> Any:
            start = time.perf_counter()
            try:
                return original(*args)
            finally:
                self.calls[name] += 1
                self.seconds[name] += time.perf_counter() - start

        return method


first_launch: list[float] = []


def multiply_noting(a: Any, b: Any, group: Any, cfg: Any, chunks: int) -> Any:
    """Multiply, and note when."""
    first_launch.append(time.perf_counter())
    return multiply(a, b, group, cfg, chunks)


def do_nothing(x: Any, cfg: int) -> None:
    """What is called when a hit is timed."""


def miss_ms(a: Any, b: Any, n_keys: int) -> list[float]:
    """The time from a call with a new key to the first launch, of several keys."""
    group = example.world()
    salt = [0]
    tuner = autotune(few_configs()[:2], lambda *args: (*example.key_fn(*args), "miss", salt[0]))(
        multiply_noting
    )
    times_ms = []
    for salt[0] in range(n_keys + 1):
        first_launch.clear()
        dist.barrier()
        start = time.perf_counter()
        tuner(a, b, group, autotune_pg=group)
        times_ms.append((first_launch[0] - start) * 1e3)
    return times_ms[1:]  # in the first one much happens for the first time


def hit_ns(n_calls: int = 20_000, n_batches: int = 9) -> dict[str, float]:
    """The time of one call that hits; with the group named, and left out."""
    tuner = autotune([{"cfg": 1}, {"cfg": 2}], lambda x: (x, 4096))(do_nothing)
    group = example.world()
    told = {}
    for name, more in (("group named", {"autotune_pg": group}), ("no group named", {})):
        tuner(1, **more)
        batches = []
        for _ in range(n_batches):
            start = time.perf_counter_ns()
            for _ in range(n_calls):
                tuner(1, **more)
            batches.append((time.perf_counter_ns() - start) / n_calls)
        told[name] = min(batches)
    return told


def tuning(a: Any, b: Any, make: Callable[..., Any], salt: str) -> tuple[float, Any]:
    """Tune the example's launcher with some tuner and a key that is new; seconds and the tuner."""
    group = example.world()
    configs = few_configs() if SMALL else example.config_space()
    tuner = make(configs, lambda *args: (*example.key_fn(*args), salt), example.prune_fn)(
        example.allgather_gemm.fn
    )
    took_s = example.seconds(lambda: tuner(a, b, group, autotune_pg=group))
    return took_s, tuner


def costs() -> Told:
    """What agreeing costs: on a miss, in a tuning, on a hit."""
    a, b = example.make_inputs(SHAPE)
    tuning(a, b, autotune, "everything for the first time")
    told: Told = {"miss_ms": miss_ms(a, b, 3 if SMALL else 20), "tunings": []}
    for i in range(1 if SMALL else 3):
        meter = Meter()
        with meter.installed():
            took_s, _ = tuning(a, b, autotune, f"measured {i}")
        exchange = {"calls": meter.calls, "seconds": meter.seconds}
        told["tunings"].append({"seconds": took_s, "exchanges": exchange})
    told["hit_ns"] = hit_ns()
    return told


# -- Triton-distributed's own tuner --------------------------------------------------------------


def load_peer(checkout: str) -> Any:
    """Return the module of Triton-distributed's tuner.

    What it asks of its own `utils` about the machine stands still as constants, in its favour; the
    barrier is one all-reduce on the device, as there.
    """
    utils: Any = types.ModuleType("triton_dist.utils")
    package: Any = types.ModuleType("triton_dist")
    package.__path__ = [str(Path(checkout).resolve() / "python" / "triton_dist")]
    package.__version__ = "0"

    def barrier_async(group: Any) -> None:
        group.allreduce(torch.empty(1, device=example.DEVICE, dtype=torch.int32))

    def anything_else(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *args, **kwargs: None

    utils.is_cuda = lambda: torch.version.cuda is not None
    utils.get_bool_env = utils.get_int_env = lambda name, default=None: default
    utils.get_triton_dist_world = example.world
    utils.get_triton_dist_local_world_size = lambda: int(os.environ["LOCAL_WORLD_SIZE"])
    utils.barrier_async = barrier_async
    utils.__getattr__ = anything_else
    for name in [name for name in sys.modules if name.partition(".")[0] == "triton_dist"]:
        del sys.modules[name]
    sys.modules["triton_dist"], sys.modules["triton_dist.utils"] = package, utils
    tune = importlib.import_module("triton_dist.tune")
    tune.get_deps = dict
    tune.get_hardware_info = lambda with_nic: {"gpu.count": 1, "gpu.name": "one"}
    return tune


def peer() -> Told:
    """Both tuners on one launcher, in turns; what is compiled and loaded, is so for both."""
    a, b = example.make_inputs(SHAPE)
    group = example.world()
    tune = load_peer(os.environ["PEER"])
    tuning(a, b, autotune, "everything for the first time")
    told: Told = {"seconds": {"tdtune": [], "Triton-distributed": []}, "right": []}
    for i in range(3):
        for name, make in (("tdtune", autotune), ("Triton-distributed", tune.autotune)):
            took_s, tuner = tuning(a, b, make, f"in turns {i}")
            told["seconds"][name].append(took_s)
            told["right"].append(is_right(tuner(a, b, group, autotune_pg=group), a, b))
    return told


def peer_again() -> Told:
    """A call that is stored, but in one rank's home."""
    inputs = example.make_inputs(SHAPE)
    make = load_peer(os.environ["PEER"]).autotune
    told = outcome(lambda: tuning(*inputs, make, "in turns 0")[1](*inputs, example.world()), inputs)
    return told


# -- the program ---------------------------------------------------------------------------------


PARTS = {
    part.__name__: part
    for part in (faults, candidate_fails, killed_between, killed_inside, costs, peer, peer_again)
}


def shorten_collectives() -> None:
    """Have collectives give up after a while, so that a hang is seen as one."""
    init, limit_s = dist.init_process_group, float(os.environ["COLLECTIVE_TIMEOUT_S"])

    def init_process_group(*args: Any, **kwargs: Any) -> None:
        init(*args, timeout=datetime.timedelta(seconds=limit_s), **kwargs)

    dist.init_process_group = init_process_group


def main() -> None:
    """Do one part, tell, and go."""
    if len(sys.argv) != 3 or sys.argv[1] not in PARTS:
        sys.exit(__doc__)
    shorten_collectives()
    faulthandler.dump_traceback_later(float(os.environ["TRACEBACK_AFTER_S"]))
    status = 0
    try:
        backend = example.join_ranks()
        dist.barrier()
        told = {"backend": backend, **PARTS[sys.argv[1]]()}
        Path(sys.argv[2]).write_text(json.dumps(told))
    except BaseException:
        traceback.print_exc()
        status = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    main()
