# SPDX-License-Identifier: MIT
"""The documents' `run_scale_dist`: a kernel tuned in place, on several ranks at once.

usage: torchrun --nproc-per-node 2 contextual_ranks.py

The kernel stands between two steps of communication. All ranks run the same candidate in the same
pass, and the slowest rank's times decide. What rank r measured is in .autotune_logs/rank-<r>.log
afterwards.

With an accelerator for each rank the ranks talk over NCCL, HCCL or XCCL; with fewer they share
them, and talk over gloo. Without one it runs on the CPU, in Triton's interpreter.
"""

from __future__ import annotations

import os
import sys
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

import triton  # type: ignore[import-untyped]  # noqa: E402
import triton.language as tl  # type: ignore[import-untyped]  # noqa: E402
from triton_dist.autotuner import contextual_autotune  # noqa: E402

BLOCK = 512


@triton.autotune(  # type: ignore[untyped-decorator]
    configs=[triton.Config({"BLOCK": BLOCK}, num_warps=warps) for warps in (4, 8)],
    key=["n"],
)
@triton.jit  # type: ignore[untyped-decorator]
def scale_kernel(x_ptr, y_ptr, alpha, n, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    """Write alpha * x to y, BLOCK numbers in each program."""
    pid = tl.program_id(0)
    offsets = pid * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    tl.store(y_ptr + offsets, alpha * x, mask=mask)


def launch_scale_in_context(x: torch.Tensor, alpha: float) -> torch.Tensor:
    """Return alpha times the sum of all ranks' x, each rank's part of the work added up again."""
    n_ranks = dist.get_world_size()
    total = x.clone()
    dist.all_reduce(total)
    y = torch.empty_like(total)
    grid = (triton.cdiv(total.numel(), BLOCK),)
    scale_kernel[grid](total, y, alpha / n_ranks, total.numel())
    dist.all_reduce(y)  # reads what the candidate of this pass wrote
    return y


@contextual_autotune(is_dist=True, n_repeat=3, n_warmup=2)
def run_scale_dist(x: torch.Tensor, alpha: float) -> torch.Tensor:
    """The outer function: called again and again, by all ranks alike."""
    return launch_scale_in_context(x, alpha)


def join_ranks() -> str:
    """Join the other processes that torchrun has started; return what they talk over."""
    if "LOCAL_RANK" not in os.environ:
        sys.exit("start it with torchrun --nproc-per-node 2")
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


def main() -> None:
    """Tune on all ranks, check, and show what was found."""
    backend = join_ranks()
    n_ranks, rank = dist.get_world_size(), dist.get_rank()
    n = 1 << 18 if DEVICE != "cpu" else 1 << 12  # the interpreter is slow, and has no warps
    x = torch.arange(n, device=DEVICE, dtype=torch.float32) * (rank + 1) / n
    y = run_scale_dist(x, 3.0)
    total = torch.arange(n, device=DEVICE, dtype=torch.float32) / n * sum(range(1, n_ranks + 1))
    torch.testing.assert_close(y, 3.0 * total, atol=1e-5, rtol=1e-4)

    assert scale_kernel.best_config is not None
    times = [(c.num_warps, t[0]) for c, t in scale_kernel.configs_timings.items()]
    told = from_all_ranks((scale_kernel.best_config.num_warps, times))
    if rank == 0:
        print(f"{n_ranks} ranks over {backend} on {DEVICE}; times of the slowest:")
        for num_warps, time_ms in times:
            best = "  the winner" if num_warps == scale_kernel.best_config.num_warps else ""
            print(f"  num_warps={num_warps}: {time_ms:.4f} ms{best}")
        assert all(one == told[0] for one in told)
        print("all ranks have the same winner and the same times")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
