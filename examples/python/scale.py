# SPDX-License-Identifier: MIT
"""The documents' `scale`: a Triton launcher whose block size and warps are tuned.

Runs on the accelerator that torch finds; without one, in Triton's interpreter on the CPU. Run it
twice: the second run takes the winner from disk.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

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
from triton_dist.tune import autotune  # noqa: E402


@triton.jit  # type: ignore[untyped-decorator]
def scale_kernel(x_ptr, y_ptr, alpha, n, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    """Write alpha * x to y, BLOCK numbers in each program."""
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    tl.store(y_ptr + offsets, alpha * x, mask=mask)


def config_space() -> list[dict[str, Any]]:
    """Return the candidates, a safe one first."""
    return [
        {"cfg": triton.Config({"BLOCK": block}, num_warps=warps)}
        for block in (256, 512, 1024, 2048)
        for warps in (4, 8)
    ]


def key_fn(x: torch.Tensor, alpha: float) -> tuple[object, ...]:
    """What the fastest candidate depends on; alpha does not matter."""
    return (tuple(x.shape), str(x.dtype))


def prune_fn(config: dict[str, Any], x: torch.Tensor, alpha: float) -> bool:
    """Leave out blocks larger than the tensor."""
    return bool(config["cfg"].all_kwargs()["BLOCK"] <= x.numel())


@autotune(config_space=config_space(), key_fn=key_fn, prune_fn=prune_fn)
def scale(x: torch.Tensor, alpha: float, cfg: Any) -> torch.Tensor:
    """Return alpha * x; `cfg` is filled in by the tuner."""
    y = torch.empty_like(x)
    meta = cfg.all_kwargs()
    grid = (triton.cdiv(x.numel(), meta["BLOCK"]),)
    scale_kernel[grid](x, y, alpha, x.numel(), **meta)
    return y


def main() -> None:
    """Tune on the first call, and compare with torch."""
    n = 1 << 18 if DEVICE != "cpu" else 1 << 12  # the interpreter is slow
    x = torch.randn(n, device=DEVICE, dtype=torch.float32)

    y = scale(x, 2.5, autotune_verbose=True)
    torch.testing.assert_close(y, 2.5 * x, atol=1e-5, rtol=1e-4)

    y = scale(x, 3.0)  # same key: the winner, from memory
    torch.testing.assert_close(y, 3.0 * x, atol=1e-5, rtol=1e-4)
    path = scale.record_path(x, 2.5)
    where = f"; the record is {path}" if path is not None and Path(path).exists() else ""
    print(f"scale agrees with torch on {DEVICE}{where}")


if __name__ == "__main__":
    main()
