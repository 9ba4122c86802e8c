# SPDX-License-Identifier: MIT
"""The documents' `scale` over several ranks: one winner for all, by the time of the slowest.

usage: torchrun --nproc-per-node 2 ranks_scale.py [--stores FOLDER [--forget RANK]]

Run it twice: the second time all ranks take the winner from disk. With --stores each rank keeps its
results in a folder of its own, and --forget throws those of one rank away first: it gets them back
from another.

With an accelerator for each rank the ranks talk over NCCL, HCCL or XCCL; with fewer they share
them, and talk over gloo. Without one it runs on the CPU, in Triton's interpreter.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist


def find_device() -> str:
    """Return the accelerator that Triton can use here, else the CPU."""
    if torch.accelerator.is_available():
        accelerator = torch.accelerator.current_accelerator()
        if accelerator is not None and accelerator.type != "mps":  # no Triton for mps
            return accelerator.type
    return "cpu"


DEVICE = find_device()
if DEVICE == "cpu":
    os.environ["TRITON_INTERPRET"] = "1"  # Triton reads it when it is imported

import tdtune  # noqa: E402
import triton  # type: ignore[import-untyped]  # noqa: E402
import triton.language as tl  # type: ignore[import-untyped]  # noqa: E402
from triton_dist.tune import autotune  # noqa: E402

# -- what is tuned ---------------------------------------------------------------------------------


@triton.jit  # type: ignore[untyped-decorator]
def scale_kernel(x_ptr, y_ptr, alpha, n, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    """Write alpha * x to y, BLOCK numbers in each program."""
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    tl.store(y_ptr + offsets, alpha * x, mask=mask)


def config_space() -> list[dict[str, Any]]:
    """Return the candidates, a safe one first; the same on all ranks."""
    return [
        {"cfg": triton.Config({"BLOCK": block}, num_warps=warps)}
        for block in (256, 512, 1024)
        for warps in (4, 8)
    ]


def key_fn(x: torch.Tensor, alpha: float) -> tuple[object, ...]:
    """What the fastest candidate depends on. The rank is no part of it, the number of ranks is."""
    return (tuple(x.shape), str(x.dtype), dist.get_world_size())


def prune_fn(config: dict[str, Any], x: torch.Tensor, alpha: float) -> bool:
    """Leave out blocks larger than the tensor; the same ones on all ranks."""
    return bool(config["cfg"].all_kwargs()["BLOCK"] <= x.numel())


own_ms: dict[int, float] = {}  # this rank's times


def note_time(progress: tdtune.Progress) -> None:
    """Keep what this rank measured; called after each candidate."""
    if progress.candidate is not None and progress.time_ms is not None:
        own_ms[progress.candidate] = progress.time_ms


@autotune(config_space(), key_fn, prune_fn, on_progress=note_time)
def scale(x: torch.Tensor, alpha: float, cfg: Any) -> torch.Tensor:
    """Return alpha * x; `cfg` is filled in by the tuner."""
    y = torch.empty_like(x)
    meta = cfg.all_kwargs()
    grid = (triton.cdiv(x.numel(), meta["BLOCK"]),)
    scale_kernel[grid](x, y, alpha, x.numel(), **meta)
    return y


# -- the ranks -------------------------------------------------------------------------------------


def join_ranks() -> str:
    """Join the other processes that torchrun has started; return what they talk over."""
    local_rank, n_local = int(os.environ["LOCAL_RANK"]), int(os.environ["LOCAL_WORLD_SIZE"])
    backend = "gloo"
    if DEVICE != "cpu":
        n_devices = torch.accelerator.device_count()
        torch.accelerator.set_device_index(local_rank % n_devices)
        if n_local <= n_devices:
            backend = {"cuda": "nccl", "npu": "hccl", "xpu": "xccl"}.get(DEVICE, "gloo")
    dist.init_process_group(backend)
    return backend


def from_all_ranks(mine: Any) -> list[Any]:
    """Return what each rank brings."""
    everybody = [None] * dist.get_world_size()
    dist.all_gather_object(everybody, mine)
    return everybody


# -- the program -----------------------------------------------------------------------------------


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Tune a Triton kernel over several ranks.")
    parser.add_argument("--stores", metavar="FOLDER", help="each rank has a store of its own here")
    parser.add_argument("--forget", metavar="RANK", type=int, help="which loses its results first")
    arguments = parser.parse_args()
    if arguments.forget is not None and arguments.stores is None:
        parser.error("--forget needs --stores")
    if "LOCAL_RANK" not in os.environ:
        parser.error("start it with torchrun --nproc-per-node 2")
    return arguments


def choose_store(arguments: argparse.Namespace) -> None:
    """Give this rank a store of its own if that is wanted, and make it forget."""
    if arguments.stores is None:
        return
    store = Path(arguments.stores) / f"rank-{dist.get_rank()}"
    os.environ["TRITON_DIST_AUTOTUNE_DIR"] = str(store)
    if arguments.forget == dist.get_rank():
        shutil.rmtree(store / "scale", ignore_errors=True)


def describe(candidate: dict[str, Any]) -> str:
    """Return the text of one candidate of a record."""
    cfg = candidate["config"]["cfg"]
    return f"BLOCK={cfg['kwargs']['BLOCK']}, num_warps={cfg['num_warps']}"


def find_record(x: torch.Tensor) -> dict[str, Any]:
    """Return this rank's record of what was tuned for `x`."""
    path = scale.record_path(x, 1.0)
    record = None if path is None else tdtune.load_autotune_data(path)
    if record is None:
        sys.exit("nothing could be stored, so there is nothing to show")
    return record


def show_times(record: dict[str, Any], times_ms: list[dict[int, float]]) -> None:
    """Print each rank's times, and the slowest rank's, by which the winner was chosen."""
    ranks = "".join(f"{f'rank {rank}':>10}" for rank in range(len(times_ms)))
    print(f"{'milliseconds':24}{ranks}   slowest")
    for i, candidate in enumerate(record["candidates"]):
        if candidate["time_ms"] is None:
            continue
        cells = "".join(f"{own[i]:10.4f}" if i in own else f"{'':10}" for own in times_ms)
        best = "  the winner" if i == record["best"] else ""
        print(f"{describe(candidate):24}{cells}{candidate['time_ms']:10.4f}{best}")


def main() -> None:
    """Tune over all ranks, and show what each of them found."""
    arguments = parse_arguments()
    backend = join_ranks()
    choose_store(arguments)
    process_group = dist.group.WORLD

    n = 1 << 18 if DEVICE != "cpu" else 1 << 12  # the interpreter is slow
    x = torch.randn(n, device=DEVICE, dtype=torch.float32)
    path = scale.record_path(x, 2.5)
    knew = path is not None and Path(path).exists()

    y = scale(x, 2.5, autotune=True, autotune_pg=process_group)
    torch.testing.assert_close(y, 2.5 * x, atol=1e-5, rtol=1e-4)
    n_measured = len(own_ms)
    y = scale(x, 3.0)  # no group is named: all ranks; they find the result in their stores
    torch.testing.assert_close(y, 3.0 * x, atol=1e-5, rtol=1e-4)

    how = (
        f"measured {n_measured} candidates"
        if n_measured
        else "found the result in its store"
        if knew
        else "had no result and got that of another rank"
    )
    times_ms = from_all_ranks(own_ms)  # and now all who write have written
    record = find_record(x)
    winner = describe(record["candidates"][record["best"]])
    told = from_all_ranks((how, winner))
    if dist.get_rank() == 0:
        print(f"{len(told)} ranks over {backend} on {DEVICE}")
        if n_measured:
            show_times(record, times_ms)
        for rank, (how, winner) in enumerate(told):
            print(f"rank {rank} {how}: {winner}")
        assert len({winner for _, winner in told}) == 1
        print("all ranks have the same winner")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
