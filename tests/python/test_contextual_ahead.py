# SPDX-License-Identifier: MIT
"""Contextual tuning: a kernel's candidates are compiled ahead when it is met first."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("triton")

import triton
from compiled_kernels import (
    GRID,
    Compiler,
    N,
    compiling,
    config,
    copy_kernel,
    even_kernel,
    tensor,
    tuned_copy_kernel,
)
from contextual_stand_ins import Clock
from triton_dist.autotuner import contextual_autotune

BLOCKS = (64, 128, 256)
N_REPEAT, N_WARMUP = 2, 1
N_PASSES = len(BLOCKS) * (N_REPEAT + N_WARMUP) + 1
tuned = contextual_autotune(is_dist=False, n_repeat=N_REPEAT, n_warmup=N_WARMUP)


@pytest.fixture(scope="module")
def _kernel_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("triton")


@pytest.fixture
def compiler(
    _kernel_cache: Path, monkeypatch: pytest.MonkeyPatch, triton_left_alone: None
) -> Iterator[Compiler]:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(_kernel_cache))  # the same kernels again and again
    monkeypatch.setenv("TRITON_DIST_AUTOTUNE_COMPILE_WORKERS", "3")
    with compiling() as made:
        yield made


def assert_ahead(compiler: Compiler, n: int, n_keys: int = 1) -> None:
    """All was compiled by other threads; Triton 3.2 must have done so once before it can share."""
    here = n_keys if triton.__version__.startswith("3.2.") else 0
    assert compiler.n_compiled() == (here, n - here)


def make_outer(kernel: Any, passes: list[int]) -> Any:
    @tuned
    def outer(x: Any, y: Any) -> Any:
        passes.append(len(passes))
        kernel[GRID](x, y, x.numel())
        return y

    return outer


def test_B02_candidates_are_compiled_before_any_is_launched(
    compiler: Compiler, clock: Clock
) -> None:
    kernel, passes = tuned_copy_kernel([config(b) for b in BLOCKS]), []
    compiler.on_compile = lambda: clock.events.append("compile")
    y = tensor()
    assert make_outer(kernel, passes)(tensor(), y) is y
    assert len(passes) == N_PASSES
    assert_ahead(compiler, 3)
    assert compiler.ahead("BLOCK") == [(64,), (128,), (256,)]
    assert [m.launched for m in compiler.made] == [False] * 3 + [True] * N_PASSES
    assert clock.events[:3] == ["compile"] * 3  # before anything is timed
    assert clock.events.count("compile") == 3
    assert kernel.best_config in kernel.configs


def test_B02_each_key_is_compiled(compiler: Compiler) -> None:
    kernel = tuned_copy_kernel([config(b) for b in BLOCKS])

    @tuned
    def outer(x: Any, y: Any) -> None:
        kernel[GRID](x, y, N)
        kernel[GRID](x, y, N + 1)  # an odd number is another kernel to Triton

    outer(tensor(), tensor())
    assert_ahead(compiler, 6, n_keys=2)


def test_B02_heuristics_under_an_autotuner(compiler: Compiler) -> None:
    asked: list[Any] = []
    kernel = triton.autotune(configs=[config(b) for b in (64, 512)], key=["n"])(even_kernel(asked))
    passes: list[int] = []
    make_outer(kernel, passes)(tensor(), tensor())
    assert len(passes) == 2 * (N_REPEAT + N_WARMUP) + 1
    assert compiler.ahead("BLOCK", "EVEN") == [(64, True), (512, False)]
    assert_ahead(compiler, 2)


def test_B02_hooks_are_called_for_launches_only(compiler: Compiler) -> None:
    called: list[int] = []
    configs = [
        triton.Config({"BLOCK": b}, pre_hook=lambda values: called.append(values["BLOCK"]))
        for b in BLOCKS
    ]
    kernel, passes = tuned_copy_kernel(configs), []
    make_outer(kernel, passes)(tensor(), tensor())
    assert_ahead(compiler, 3)
    assert len(called) == len(passes) == N_PASSES


def test_B02_what_cannot_be_compiled_fails_where_it_is_launched(compiler: Compiler) -> None:
    kernel, passes = tuned_copy_kernel([config(b) for b in (64, 48, 128)]), []
    make_outer(kernel, passes)(tensor(), tensor())
    assert_ahead(compiler, 2)
    failed = [c for c, t in kernel.configs_timings.items() if t[0] == float("inf")]
    assert [c.kwargs["BLOCK"] for c in failed] == [48]


def test_B02_a_kernel_with_hooks_of_its_own_is_left_alone(compiler: Compiler) -> None:
    kernel, passes, calls = tuned_copy_kernel([config(b) for b in BLOCKS]), [], []
    kernel.fn.add_pre_run_hook(lambda *args, **kwargs: calls.append(threading.get_ident()))
    make_outer(kernel, passes)(tensor(), tensor())
    assert calls == [threading.get_ident()] * N_PASSES
    assert compiler.ahead("BLOCK") == []


def test_B02_on_the_device_of_the_launch(compiler: Compiler) -> None:
    kernel = tuned_copy_kernel([config(b) for b in BLOCKS])

    @tuned
    def outer(x: Any, y: Any) -> None:
        compiler.driver.set_current_device(3)
        kernel[GRID](x, y, N)
        compiler.driver.set_current_device(0)

    outer(tensor(), tensor())
    assert {m.device for m in compiler.made} == {3}
    assert_ahead(compiler, 3)


def test_B02_one_worker_is_off(compiler: Compiler, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_DIST_AUTOTUNE_COMPILE_WORKERS", "1")
    kernel, passes = tuned_copy_kernel([config(b) for b in BLOCKS]), []
    make_outer(kernel, passes)(tensor(), tensor())
    assert compiler.n_compiled() == (3, 0)
    assert len(passes) == N_PASSES


def test_B02_nothing_is_compiled_ahead_while_a_graph_is_recorded(
    compiler: Compiler, clock: Clock
) -> None:
    kernel, passes = tuned_copy_kernel([config(b) for b in BLOCKS]), []
    clock.is_capturing = True
    make_outer(kernel, passes)(tensor(), tensor())
    assert compiler.ahead("BLOCK") == []


def test_B02_C11_an_interrupt_while_compiling(compiler: Compiler) -> None:
    kernel, passes = tuned_copy_kernel([config(b) for b in BLOCKS]), []
    pressed = threading.Event()

    def press() -> None:
        if threading.current_thread() is not threading.main_thread() and not pressed.is_set():
            pressed.set()
            os.kill(os.getpid(), signal.SIGINT)

    compiler.on_compile = press
    outer = make_outer(kernel, passes)
    with pytest.raises(KeyboardInterrupt):
        outer(tensor(), tensor())
    assert compiler.launches("BLOCK") == []
    n_compiled = len(compiler.compiled)
    outer(tensor(), tensor())
    assert len(passes) == 1 + N_PASSES
    assert n_compiled >= 1


def test_B02_plain_kernels_inside_are_left_alone(compiler: Compiler) -> None:
    kernel, plain = tuned_copy_kernel([config(b) for b in BLOCKS]), copy_kernel()

    @tuned
    def outer(x: Any, y: Any) -> None:
        plain[GRID](x, y, N, BLOCK=512)
        kernel[GRID](x, y, N)

    outer(tensor(), tensor())
    assert compiler.ahead("BLOCK") == [(64,), (128,), (256,)]
