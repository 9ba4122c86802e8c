# SPDX-License-Identifier: MIT
"""The documents' second `scale`: a kernel tuned inside the function that launches it.

Runs on the accelerator that torch finds; without one, in Triton's interpreter on the CPU, which
is slow. What was measured is in .autotune_logs/rank-0.log afterwards.
"""

from __future__ import annotations

import os

import torch


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


@contextual_autotune(is_dist=False, n_repeat=3, n_warmup=2)
def run_scale(x: torch.Tensor, alpha: float) -> torch.Tensor:
    """Return alpha * x."""
    y = torch.empty_like(x)
    grid = (triton.cdiv(x.numel(), BLOCK),)
    scale_kernel[grid](x, y, alpha, x.numel())
    return y


def main() -> None:
    """Tune, check, and show what was found."""
    n = 1 << 18 if DEVICE != "cpu" else 1 << 12  # the interpreter is slow, and has no warps
    x = torch.randn(n, device=DEVICE, dtype=torch.float32)
    y = run_scale(x, 3.0)
    torch.testing.assert_close(y, 3.0 * x, atol=1e-5, rtol=1e-4)
    assert scale_kernel.best_config is not None
    print(f"on {DEVICE}:")
    for config, timings in scale_kernel.configs_timings.items():
        best = "  the winner" if config is scale_kernel.best_config else ""
        print(f"  num_warps={config.num_warps}: {timings[0]:.4f} ms{best}")


if __name__ == "__main__":
    main()
