# SPDX-License-Identifier: MIT
"""Outer functions with real Triton kernels, for the interpreter and for devices alike.

Each compares what its kernels wrote with torch in every pass, and returns how many there were.
"""

# No `from __future__ import annotations`: Triton reads the annotations of kernels.

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import torch
import triton
import triton.language as tl
from contextual_stand_ins import kernels_as_before, triton_as_before
from triton.runtime import driver
from triton_dist.autotuner import contextual_autotune

Scenario = Callable[[str], int]
N_REPEAT, N_WARMUP = 3, 2
RUNS = N_REPEAT + N_WARMUP
tuned = contextual_autotune(is_dist=False, n_repeat=N_REPEAT, n_warmup=N_WARMUP)


@contextmanager
def a_driver() -> Iterator[None]:
    """Let kernels be made without a device: Triton 3.2 asks one for its benchmark at once."""
    if not triton.__version__.startswith("3.2."):
        yield
        return
    before = driver.active
    driver.set_active(SimpleNamespace(get_benchmarker=lambda: None))
    try:
        yield
    finally:
        driver.set_active(before)


def config(**values: Any) -> triton.Config:
    made = triton.Config(values, num_warps=4)
    for name in vars(made):  # options that Triton 3.2's own interpreter does not know
        if name.startswith(("num_buffers", "num_consumer", "reg_")):
            setattr(made, name, None)
    return made


def blocks(*sizes: int) -> list[triton.Config]:
    return [config(BLOCK=size) for size in sizes]


def cover(n: int) -> Callable[[dict[str, Any]], tuple[int]]:
    return lambda meta: (triton.cdiv(n, meta["BLOCK"]),)


def scale_kernel(configs: list[triton.Config]) -> Any:
    @triton.autotune(configs=configs, key=["n"])
    @triton.jit
    def scale(x_ptr, y_ptr, alpha, n, BLOCK: tl.constexpr):
        offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        mask = offsets < n
        tl.store(y_ptr + offsets, alpha * tl.load(x_ptr + offsets, mask=mask), mask=mask)

    return scale


def add_kernel(configs: list[triton.Config]) -> Any:
    @triton.autotune(configs=configs, key=["n"])
    @triton.jit
    def add(x_ptr, y_ptr, z_ptr, n, BLOCK: tl.constexpr):
        offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        mask = offsets < n
        x = tl.load(x_ptr + offsets, mask=mask)
        y = tl.load(y_ptr + offsets, mask=mask)
        tl.store(z_ptr + offsets, x + y, mask=mask)

    return add


def double_kernel(configs: list[triton.Config]) -> Any:
    @triton.autotune(configs=configs, key=["n"], restore_value=["x_ptr"])
    @triton.jit
    def double(x_ptr, n, BLOCK: tl.constexpr, GOOD: tl.constexpr):
        offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        mask = offsets < n
        tl.store(x_ptr + offsets, 2 * tl.load(x_ptr + offsets, mask=mask), mask=mask)
        tl.static_assert(GOOD, "this candidate is refused")

    return double


def count_kernel(configs: list[triton.Config]) -> Any:
    @triton.autotune(configs=configs, key=["n"], reset_to_zero=["sums_ptr"])
    @triton.jit
    def count(x_ptr, sums_ptr, n, BLOCK: tl.constexpr):
        offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        mask = offsets < n
        x = tl.load(x_ptr + offsets, mask=mask, other=0)
        tl.atomic_add(sums_ptr + offsets % 4, x, mask=mask)

    return count


def two_kernels_and_a_copy(device: str) -> int:
    scale, add = scale_kernel(blocks(64, 128)), add_kernel(blocks(32, 64, 128))
    x = torch.randn(300, device=device)
    n_passes = 0

    @tuned
    def outer(x: torch.Tensor) -> torch.Tensor:
        nonlocal n_passes
        n_passes += 1
        y, z = torch.full_like(x, -1.0), torch.full_like(x, -1.0)
        scale[cover(x.numel())](x, y, 3.0, x.numel())
        between = torch.empty_like(y)
        between.copy_(y)
        add[cover(x.numel())](between, y_ptr=x, z_ptr=z, n=x.numel())
        torch.testing.assert_close(y, 3.0 * x)
        torch.testing.assert_close(z, 4.0 * x)
        return z

    with kernels_as_before(scale, add):
        torch.testing.assert_close(outer(x), 4.0 * x)
    assert len(scale.cache) == len(add.cache) == 1
    assert scale.best_config in scale.configs
    assert all(t[0] > 0 for t in add.configs_timings.values())
    assert n_passes == 3 * RUNS + 1
    return n_passes


def two_shapes(device: str) -> int:
    scale = scale_kernel(blocks(32, 64, 128))
    n_passes = 0

    @tuned
    def outer(*xs: torch.Tensor) -> list[torch.Tensor]:
        nonlocal n_passes
        n_passes += 1
        ys = []
        for x in xs:
            y = torch.full_like(x, -1.0)
            scale[cover(x.numel())](x, y, 2.0, x.numel())
            torch.testing.assert_close(y, 2.0 * x)
            ys.append(y)
        return ys

    xs = [torch.randn(n, device=device) for n in (200, 90)]
    with kernels_as_before(scale):
        torch.testing.assert_close(outer(*xs), [2.0 * x for x in xs])
    assert [key[0] for key in scale.cache] == [200, 90]
    assert n_passes == 3 * RUNS + 1
    return n_passes


def restored(device: str) -> int:
    good = [config(BLOCK=size, GOOD=True) for size in (64, 128)]
    refused = [config(BLOCK=size, GOOD=False) for size in (64, 128)]
    double = double_kernel([refused[0], *good, refused[1]])
    add = add_kernel(blocks(64, 128))
    n_passes = 0

    @tuned
    def outer(x: torch.Tensor) -> torch.Tensor:
        nonlocal n_passes
        n_passes += 1
        y = x.clone()
        double[cover(x.numel())](y, x.numel())
        z = torch.empty_like(x)
        add[cover(x.numel())](x, y, z, x.numel())
        torch.testing.assert_close(y, 2.0 * x)
        torch.testing.assert_close(z, 3.0 * x)
        return z

    x = torch.randn(200, device=device)
    with kernels_as_before(double, add):
        torch.testing.assert_close(outer(x), 3.0 * x)
    assert double.best_config.kwargs["GOOD"]
    assert not getattr(double, "restore_copies", {})
    return n_passes


def reset(device: str) -> int:
    count, scale = count_kernel(blocks(32, 64, 128)), scale_kernel(blocks(4, 8))
    sums = torch.full((4,), 1e6, device=device)
    n_passes = 0

    @tuned
    def outer(x: torch.Tensor) -> torch.Tensor:
        nonlocal n_passes
        n_passes += 1
        count[cover(x.numel())](x, sums, x.numel())
        y = torch.empty_like(sums)
        scale[cover(4)](sums, y, 0.5, 4)
        torch.testing.assert_close(sums, x.view(-1, 4).sum(0))
        torch.testing.assert_close(y, 0.5 * x.view(-1, 4).sum(0))
        return y

    x = torch.randint(0, 9, (200,), device=device).float()
    with kernels_as_before(count, scale):
        torch.testing.assert_close(outer(x), 0.5 * x.view(-1, 4).sum(0))
    return n_passes


def interrupted(device: str) -> int:
    scale = scale_kernel(blocks(64, 128))
    n_passes = 0
    x = torch.randn(100, device=device)

    @tuned
    def outer(error: type[BaseException] | None) -> torch.Tensor:
        nonlocal n_passes
        n_passes += 1
        y = torch.empty_like(x)
        scale[cover(100)](x, y, 2.0, 100)
        if error is not None and n_passes % 4 == 0:
            raise error
        return y

    for error in (ValueError, KeyboardInterrupt):
        with kernels_as_before(scale), triton_as_before():
            try:
                outer(error)
                raise AssertionError("it was not passed on")
            except error:
                assert not scale.cache
    torch.testing.assert_close(outer(None), 2.0 * x)
    return n_passes


SCENARIOS: list[Scenario] = [two_kernels_and_a_copy, two_shapes, restored, reset, interrupted]
