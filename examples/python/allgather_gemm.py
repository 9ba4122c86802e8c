# SPDX-License-Identifier: MIT
"""All-gather and matrix product, tuned over several ranks: C = (rows of A from all ranks) B.

usage: torchrun --nproc-per-node 2 allgather_gemm.py [--how host|in-place|both] [--shape MxNxK]...

Each rank has M / ranks rows of A and N / ranks columns of B. The rows travel in chunks: while one
is multiplied the next ones are on their way. More chunks overlap more and multiply less well; what
is best depends on shape, machine and kernel. So it is tuned, in two ways:

host      the launcher as a whole: candidates choose the kernel's blocks, warps and stages together
          with the number of chunks, and the time is that of everything. The winner is stored.
in-place  the kernel alone, while --chunks chunks travel beside it. The winner is remembered for
          this process.

Either way all ranks run the same candidate at the same time, and the time of the slowest counts.
The result is compared with torch. The first call, which tunes, and the steady state are timed
apart, on each rank.

With an accelerator for each rank the ranks talk over NCCL, HCCL or XCCL; with fewer they share
them, and talk over gloo. Without one it runs on the CPU, in Triton's interpreter, which is for
trying it out only.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable
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
from triton_dist.autotuner import contextual_autotune  # noqa: E402
from triton_dist.tune import autotune  # noqa: E402

Shape = tuple[int, int, int]  # M, N, K of the whole product

# The name that newer versions of torch give it.
all_gather_rows = getattr(dist, "all_gather_single", dist.all_gather_into_tensor)

# -- the operator ----------------------------------------------------------------------------------


@triton.jit  # type: ignore[untyped-decorator]
def gemm_kernel(  # type: ignore[no-untyped-def]
    a_ptr,
    b_ptr,
    c_ptr,
    m,
    n,
    k,
    chunk_rows,
    rank_rows,
    stride_am,
    stride_ak,
    stride_bk,
    stride_bn,
    stride_cm,
    stride_cn,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP_M: tl.constexpr,
):
    """Compute one BLOCK_M x BLOCK_N block of A B, where A is a chunk from every rank.

    A holds `chunk_rows` rows of each rank, one rank after another; in C the rows of a rank are
    `rank_rows` apart.
    """
    # Programs that run at the same time share rows of A and columns of B in the cache: go down
    # GROUP_M blocks of rows before the next block of columns.
    pid = tl.program_id(0)
    blocks_m = tl.cdiv(m, BLOCK_M)
    blocks_n = tl.cdiv(n, BLOCK_N)
    group_size = GROUP_M * blocks_n
    first_m = pid // group_size * GROUP_M
    group_m = min(blocks_m - first_m, GROUP_M)
    block_m = first_m + pid % group_size % group_m
    block_n = pid % group_size // group_m

    # Rows and columns beyond the edge are taken from the beginning instead, and never stored.
    rows = block_m * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = block_n * BLOCK_N + tl.arange(0, BLOCK_N)
    inner = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + (rows % m)[:, None] * stride_am + inner[None, :] * stride_ak
    b_ptrs = b_ptr + inner[:, None] * stride_bk + (columns % n)[None, :] * stride_bn

    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for step in range(tl.cdiv(k, BLOCK_K)):
        left = k - step * BLOCK_K
        a = tl.load(a_ptrs, mask=inner[None, :] < left, other=0.0)
        b = tl.load(b_ptrs, mask=inner[:, None] < left, other=0.0)
        total = tl.dot(a, b, total)
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk

    rows_of_c = rows // chunk_rows * rank_rows + rows % chunk_rows
    c_ptrs = c_ptr + rows_of_c[:, None] * stride_cm + columns[None, :] * stride_cn
    inside = (rows[:, None] < m) & (columns[None, :] < n)
    tl.store(c_ptrs, total.to(c_ptr.dtype.element_ty), mask=inside)


def multiply_chunks(
    kernel: Any,
    a: torch.Tensor,
    b: torch.Tensor,
    group: dist.ProcessGroup,
    chunks: int,
    **meta: Any,
) -> torch.Tensor:
    """Return (a of all ranks) b; each chunk is multiplied as soon as all ranks have it."""
    rank_rows, k = a.shape
    n_ranks, n = group.size(), b.shape[1]
    c = torch.empty((n_ranks * rank_rows, n), device=a.device, dtype=a.dtype)

    # All chunks are sent off at once; they travel in this order, beside what is computed here.
    under_way = []
    for chunk in a.tensor_split(chunks):  # their sizes differ by one row at most
        gathered = torch.empty((n_ranks * len(chunk), k), device=a.device, dtype=a.dtype)
        work = all_gather_rows(gathered, chunk, group=group, async_op=True)
        under_way.append((gathered, work))

    def grid(meta: dict[str, Any]) -> tuple[int]:
        return (triton.cdiv(m, meta["BLOCK_M"]) * triton.cdiv(n, meta["BLOCK_N"]),)

    first = 0
    for gathered, work in under_way:
        work.wait()  # NCCL and its like: this stream waits, not this thread
        m = len(gathered)
        chunk_rows, part_of_c = m // n_ranks, c[first:]
        strides = (*gathered.stride(), *b.stride(), *c.stride())
        kernel[grid](gathered, b, part_of_c, m, n, k, chunk_rows, rank_rows, *strides, **meta)
        first += chunk_rows
    return c


# -- tuned as a whole ------------------------------------------------------------------------------


def kernel_configs() -> list[triton.Config]:
    """Return what the kernel can be run with; the first is one that runs everywhere."""
    blocks = [(64, 128), (128, 128), (128, 256)]
    stages_and_warps = [(3, 4), (3, 8), (4, 4), (4, 8)]
    if DEVICE == "cpu":  # the interpreter is slow, and has neither stages nor warps
        blocks, stages_and_warps = blocks[:2], stages_and_warps[:1]
    return [
        triton.Config(
            {"BLOCK_M": block_m, "BLOCK_N": block_n, "BLOCK_K": 64, "GROUP_M": 8},
            num_warps=warps,
            num_stages=stages,
        )
        for block_m, block_n in blocks
        for stages, warps in stages_and_warps
    ]


def config_space() -> list[dict[str, Any]]:
    """Return the candidates; the same on all ranks, as is their order."""
    return [{"cfg": cfg, "chunks": chunks} for cfg in kernel_configs() for chunks in (1, 2, 4)]


def key_fn(a: torch.Tensor, b: torch.Tensor, group: dist.ProcessGroup) -> tuple[object, ...]:
    """What the fastest candidate depends on: the number of ranks is part of it, the rank is not."""
    return (tuple(a.shape), tuple(b.shape), a.stride(), b.stride(), str(a.dtype), group.size())


def fits(cfg: triton.Config, dtype: torch.dtype) -> bool:
    """Whether the stages of a kernel fit into the device's shared memory, where that is known."""
    if DEVICE != "cuda":
        return True
    available = getattr(
        torch.cuda.get_device_properties(), "shared_memory_per_block_optin", 1 << 30
    )
    meta = cfg.all_kwargs()
    per_stage = meta["BLOCK_K"] * (meta["BLOCK_M"] + meta["BLOCK_N"]) * dtype.itemsize
    return bool(per_stage * cfg.num_stages <= available)


def prune_fn(
    config: dict[str, Any], a: torch.Tensor, b: torch.Tensor, group: dist.ProcessGroup
) -> bool:
    """Leave out what cannot run; the same candidates on all ranks."""
    return config["chunks"] <= len(a) and fits(config["cfg"], a.dtype)


own_ms: dict[int, float] = {}  # what this rank measured, by candidate


def note_time(progress: tdtune.Progress) -> None:
    """Keep what this rank measured; called after each candidate."""
    if progress.candidate is not None and progress.time_ms is not None:
        own_ms[progress.candidate] = progress.time_ms


@autotune(config_space(), key_fn, prune_fn, on_progress=note_time)
def allgather_gemm(
    a: torch.Tensor, b: torch.Tensor, group: dist.ProcessGroup, cfg: Any, chunks: int
) -> torch.Tensor:
    """Return (a of all ranks) b; `cfg` and `chunks` are filled in by the tuner."""
    return multiply_chunks(gemm_kernel, a, b, group, chunks, **cfg.all_kwargs())


# -- its kernel tuned in place ---------------------------------------------------------------------


def prune_kernel_configs(
    configs: list[triton.Config], named_args: dict[str, Any], **kwargs: Any
) -> list[triton.Config]:
    """Leave out what cannot run, as Triton's own tuner asks for it."""
    return [cfg for cfg in configs if fits(cfg, named_args["a_ptr"].dtype)]


tuned_kernel = triton.autotune(
    configs=kernel_configs(),
    key=["m", "n", "k"],
    prune_configs_by={"early_config_prune": prune_kernel_configs},
)(gemm_kernel)


@contextual_autotune(is_dist=True)
def allgather_gemm_in_place(
    a: torch.Tensor, b: torch.Tensor, group: dist.ProcessGroup, chunks: int
) -> torch.Tensor:
    """Return (a of all ranks) b; the kernel is tuned between its neighbours, by all of WORLD."""
    return multiply_chunks(tuned_kernel, a, b, group, chunks)


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
    device = None if backend == "gloo" else torch.device(DEVICE, local_rank)
    dist.init_process_group(backend, device_id=device)
    return backend


def world() -> dist.ProcessGroup:
    """Return the group of all ranks."""
    group = dist.group.WORLD
    assert group is not None
    return group


def from_all_ranks(mine: Any) -> list[Any]:
    """Return what each rank brings."""
    everybody = [None] * dist.get_world_size()
    dist.all_gather_object(everybody, mine)
    return everybody


def make_inputs(shape: Shape) -> tuple[torch.Tensor, torch.Tensor]:
    """Return this rank's rows of A and columns of B, normally distributed numbers."""
    m, n, k = shape
    n_ranks = dist.get_world_size()
    for name, size in (("M", m), ("N", n)):
        if size % n_ranks != 0:
            raise ValueError(f"{name} = {size} does not divide by {n_ranks} ranks")
    torch.manual_seed(dist.get_rank())
    a = torch.randn((m // n_ranks, k), device=DEVICE, dtype=torch.float32)
    b = torch.randn((k, n // n_ranks), device=DEVICE, dtype=torch.float32)
    return a.half(), b.half()


def torch_allgather_gemm(
    a: torch.Tensor, b: torch.Tensor, group: dist.ProcessGroup
) -> torch.Tensor:
    """Return the same as torch computes it: all rows first, then the product."""
    rows = torch.empty((group.size() * len(a), a.shape[1]), device=a.device, dtype=a.dtype)
    all_gather_rows(rows, a, group=group)
    return rows @ b


def check(c: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> None:
    """Compare with torch, in single precision."""
    expected = torch_allgather_gemm(a.float(), b.float(), world())
    torch.testing.assert_close(c.float(), expected, rtol=1e-2, atol=1e-2)


# -- measuring -------------------------------------------------------------------------------------


def seconds(call: Callable[[], object], n_calls: int = 1) -> float:
    """Return how long `n_calls` calls take on this rank, from when all ranks are ready."""
    dist.barrier()
    if DEVICE != "cpu":
        torch.accelerator.synchronize()
    start = time.perf_counter()
    for _ in range(n_calls):
        call()
    if DEVICE != "cpu":
        torch.accelerator.synchronize()
    return time.perf_counter() - start


def steady_ms(call: Callable[[], object]) -> float:
    """Return the milliseconds of one call when many follow one another: median of 5 batches."""
    slowest_s = max(from_all_ranks(seconds(call)))  # so that all make equally many calls
    n_calls = max(1, min(1000, int(0.1 / slowest_s)))
    return statistics.median(seconds(call, n_calls) for _ in range(5)) / n_calls * 1e3


# -- the program -----------------------------------------------------------------------------------


def tune_as_a_whole(a: torch.Tensor, b: torch.Tensor) -> dict[str, Any]:
    """Tune the launcher, or take what is stored; return what this rank has to tell."""
    group = world()
    own_ms.clear()
    result = {
        "first_call_s": seconds(lambda: allgather_gemm(a, b, group, autotune_pg=group)),
        "n_measured": len(own_ms),
        "own_ms": dict(own_ms),
    }
    check(allgather_gemm(a, b, group, autotune_pg=group), a, b)
    result["steady_ms"] = steady_ms(lambda: allgather_gemm(a, b, group, autotune_pg=group))
    path = allgather_gemm.record_path(a, b, group)
    record = None if path is None else tdtune.load_autotune_data(path)
    if record is not None:
        result["record"] = record
        config = record["candidates"][record["best"]]["config"]
        result["winner"] = f"{config['chunks']} chunks, {describe(config['cfg'])}"
    return result


def tune_in_place(a: torch.Tensor, b: torch.Tensor, chunks: int) -> dict[str, Any]:
    """Tune the kernel where it runs; return what this rank has to tell."""
    group = world()
    known = set(tuned_kernel.cache)
    result: dict[str, Any] = {
        "chunks": chunks,
        "first_call_s": seconds(lambda: allgather_gemm_in_place(a, b, group, chunks)),
    }
    new = {key: config for key, config in tuned_kernel.cache.items() if key not in known}
    check(allgather_gemm_in_place(a, b, group, chunks), a, b)
    result["steady_ms"] = steady_ms(lambda: allgather_gemm_in_place(a, b, group, chunks))
    # The winners are the kernel's own now; the decorator still asks whether all ranks know them.
    result["plain_ms"] = steady_ms(lambda: allgather_gemm_in_place.fn(a, b, group, chunks))
    result["n_measured"] = len(tuned_kernel.configs_timings) * len(new) if new else 0
    # Of several keys (chunks of several sizes) Triton keeps the last one's times.
    times = tuned_kernel.configs_timings or {}
    result["kernel_ms"] = {describe(cfg.__dict__): ms[0] for cfg, ms in times.items()}
    winners = [f"chunks of {key[0]} rows: {describe(cfg.__dict__)}" for key, cfg in new.items()]
    result["winner"] = "; ".join(winners)
    return result


def describe(cfg: dict[str, Any]) -> str:
    """Return the text of one of the kernel's configurations."""
    block_m, block_n, block_k = (cfg["kwargs"][f"BLOCK_{side}"] for side in "MNK")
    return f"{block_m}x{block_n}x{block_k}, {cfg['num_stages']} stages, {cfg['num_warps']} warps"


def show_row(what: str, values: list[float], digits: int) -> None:
    """Print the times of all ranks and that of the slowest."""
    cells = "".join(f"{value:12.{digits}f}" for value in [*values, max(values)])
    print(f"  {what:28}{cells}", flush=True)


def show(how: str, told: list[dict[str, Any]], torch_ms: list[float], shape: Shape) -> None:
    """Print what came of one way of tuning."""
    titles = "".join(
        f"{title:>12}" for title in [*(f"rank {i}" for i in range(len(told))), "slowest"]
    )
    print(f"\n{how:30}{titles}")
    show_row("first call (s)", [one["first_call_s"] for one in told], 3)
    record = told[0].get("record")
    if record is not None and told[0]["own_ms"]:
        show_row("the winner, tuning (ms)", [one["own_ms"][record["best"]] for one in told], 4)
    steady = [one["steady_ms"] for one in told]
    show_row("steady state (ms)", steady, 4)
    if "plain_ms" in told[0]:
        show_row("same, not decorated (ms)", [one["plain_ms"] for one in told], 4)
    show_row("torch, steady state (ms)", torch_ms, 4)
    tflops = 2e-9 * shape[0] * shape[1] * shape[2] / max(steady)
    print(f"  {tflops:.4g} TFLOP/s over all ranks, {max(torch_ms) / max(steady):.2f} x torch")
    print("  measured on each rank: " + ", ".join(str(one["n_measured"]) for one in told))
    if "winner" in told[0]:
        assert len({one["winner"] for one in told}) == 1
        print(f"  winner on all ranks: {told[0]['winner']}", flush=True)


def run_shape(shape: Shape, arguments: argparse.Namespace) -> dict[str, Any]:
    """Tune, check and time one shape in the ways that are wanted; return all of it."""
    a, b = make_inputs(shape)
    torch_ms = from_all_ranks(steady_ms(lambda: torch_allgather_gemm(a, b, world())))
    if dist.get_rank() == 0:
        print(f"\nM, N, K = {shape}: {tuple(a.shape)} of A and {tuple(b.shape)} of B on each rank")
    result: dict[str, Any] = {"shape": shape, "torch_ms": torch_ms}
    for how in ("host", "in-place"):
        if arguments.how not in (how, "both"):
            continue
        mine = tune_as_a_whole(a, b) if how == "host" else tune_in_place(a, b, arguments.chunks)
        told = result[how] = from_all_ranks(mine)
        if dist.get_rank() == 0:
            show(how, told, torch_ms, shape)
    return result


def parse_shape(text: str) -> Shape:
    """Return the numbers of MxNxK."""
    m, n, k = (int(size) for size in text.split("x"))
    if min(m, n, k) < 1:
        raise ValueError
    return m, n, k


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Tune an all-gather with a matrix product.")
    parser.add_argument("--how", choices=("host", "in-place", "both"), default="both")
    parser.add_argument(
        "--shape",
        metavar="MxNxK",
        type=parse_shape,
        action="append",
        help="of the whole product; several are done one after another",
    )
    parser.add_argument("--chunks", type=int, default=2, help="in which rows travel, in place (2)")
    parser.add_argument("--json", metavar="FILE", help="write all figures to this file")
    arguments = parser.parse_args()
    if "LOCAL_RANK" not in os.environ:
        parser.error("start it with torchrun --nproc-per-node 2")
    n_ranks = int(os.environ["WORLD_SIZE"])
    if arguments.shape is None:
        arguments.shape = [
            (4096, 4096, 4096) if DEVICE != "cpu" else (50 * n_ranks, 24 * n_ranks, 72)
        ]
    for m, n, _ in arguments.shape:
        if m % n_ranks != 0 or n % n_ranks != 0:
            parser.error(f"M = {m} and N = {n} must both divide by the number of ranks, {n_ranks}")
        if not 1 <= arguments.chunks <= m // n_ranks:
            parser.error(f"--chunks must be from 1 to the {m // n_ranks} rows of a rank")
    return arguments


def main() -> None:
    """Do what the command line says."""
    arguments = parse_arguments()
    backend = join_ranks()
    if dist.get_rank() == 0:
        print(f"{dist.get_world_size()} ranks over {backend} on {DEVICE}, float16")
    shapes = [run_shape(shape, arguments) for shape in arguments.shape]
    if arguments.json is not None and dist.get_rank() == 0:
        result = {"ranks": dist.get_world_size(), "backend": backend, "shapes": shapes}
        Path(arguments.json).write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
