# SPDX-License-Identifier: MIT
"""Kernels that Triton really compiles, for a GPU that need not be there: launches only compile."""

# No `from __future__ import annotations`: Triton reads the annotations of kernels.

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, NamedTuple

import torch
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.runtime import driver
from triton.runtime.jit import JITFunction, KernelInterface

GRID = (1,)
N = 256


class Driver:
    """A driver of a GPU with several devices, one of which is current in each thread."""

    def __init__(self) -> None:
        self.current: dict[int, int] = {}

    def get_current_target(self) -> GPUTarget:
        return GPUTarget("cuda", 90, 32)

    def get_current_device(self) -> int:
        return self.current.get(threading.get_ident(), 0)

    def set_current_device(self, device: int) -> None:
        self.current[threading.get_ident()] = device

    def get_current_stream(self, device: int) -> int:
        return 0

    def get_benchmarker(self) -> Any:
        return lambda call, quantiles=None, **options: (call(), [1.0, 1.0, 1.0])[1]

    def get_device_interface(self) -> Any:
        return SimpleNamespace(current_device=self.get_current_device)


class Made(NamedTuple):
    """A launch (or what was compiled only): its named values."""

    launched: bool
    here: bool
    device: int
    values: dict[str, Any]


class Compiler:
    """Launches and compilations so far, in order."""

    def __init__(self) -> None:
        self.driver = Driver()
        self.made: list[Made] = []
        self.compiled: list[tuple[bool, int]] = []
        self.on_compile: Any = lambda: None
        self._here = threading.get_ident()

    def note(self, kernel: Any, args: Any, kwargs: dict[str, Any], launched: bool) -> None:
        values = dict(zip(kernel.arg_names, args, strict=False)) | kwargs
        values = {k: v for k, v in values.items() if isinstance(v, (int, str, float))}
        device = self.driver.get_current_device()
        self.made.append(Made(launched, self._is_here(), device, values))

    def hook(self, *args: Any, **kwargs: Any) -> None:
        """What Triton calls when a kernel was compiled."""
        self.compiled.append((self._is_here(), self.driver.get_current_device()))
        self.on_compile()

    def _is_here(self) -> bool:
        return threading.get_ident() == self._here

    def n_compiled(self) -> tuple[int, int]:
        """How many were compiled by this thread, and by others."""
        here = sum(is_here for is_here, _ in self.compiled)
        return here, len(self.compiled) - here

    def launches(self, *names: str) -> list[tuple[Any, ...]]:
        """What was launched, each value once."""
        found = [tuple(m.values.get(n) for n in names) for m in self.made if m.launched]
        return list(dict.fromkeys(found))

    def ahead(self, *names: str) -> list[tuple[Any, ...]]:
        """What was compiled only."""
        return sorted(tuple(m.values.get(n) for n in names) for m in self.made if not m.launched)


@contextmanager
def compiling() -> Iterator[Compiler]:
    """Let Triton compile, and nothing be launched."""
    compiler = Compiler()
    run = JITFunction.run
    before = dict(vars(driver))
    getitem = vars(KernelInterface)["__getitem__"]

    def compile_only(self: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
        compiler.note(self, args, kwargs, not warmup)
        return run(self, *args, grid=grid, warmup=True, **kwargs)

    JITFunction.run = compile_only
    driver.set_active(compiler.driver)
    hooks, name = JITFunction, "compiled_hook"  # Triton 3.2
    if not hasattr(hooks, name):
        hooks, name = triton.knobs.runtime, "jit_post_compile_hook"
    hook_before = getattr(hooks, name)
    setattr(hooks, name, compiler.hook)
    try:
        yield compiler
    finally:
        setattr(hooks, name, hook_before)
        JITFunction.run = run
        vars(driver).clear()
        vars(driver).update(before)
    assert vars(KernelInterface)["__getitem__"] is getitem


def tensor(n: int = N) -> torch.Tensor:
    return torch.zeros(n)


def config(block: int, warps: int = 4) -> triton.Config:
    return triton.Config({"BLOCK": block}, num_warps=warps)


def copy_kernel() -> Any:
    """A new kernel, of which nothing is compiled."""

    @triton.jit
    def copy(x_ptr, y_ptr, n, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)

    return copy


def even_kernel(asked: list[Any]) -> Any:
    """A new kernel with a heuristic that looks at tensors, too."""

    def is_even(values: dict[str, Any]) -> bool:
        asked.append(values["BLOCK"])
        return bool(values["x_ptr"].numel() % values["BLOCK"] == 0)

    @triton.heuristics({"EVEN": is_even})
    @triton.jit
    def copy(x_ptr, y_ptr, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):  # type: ignore[no-untyped-def]
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        if EVEN:
            tl.store(y_ptr + at, tl.load(x_ptr + at))
        else:
            tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)

    return copy


def tuned_copy_kernel(configs: list[triton.Config]) -> Any:
    """A new kernel with an autotuner of Triton's own."""

    @triton.autotune(configs=configs, key=["n"])
    @triton.jit
    def copy(x_ptr, y_ptr, n, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)

    return copy
