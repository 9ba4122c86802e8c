# SPDX-License-Identifier: MIT
"""Kernels of Triton that are compiled ahead: what is predicted, and that it changes nothing."""

from __future__ import annotations

import gc
import os
import signal
import threading
import weakref
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
from stand_ins import PLAN_RUNS, in_child
from tdtune import autotune, triton_ahead
from triton.runtime.jit import KernelInterface

BLOCKS = (64, 128, 256)


def _key_fn(*args: Any, **kwargs: Any) -> int:
    return N


@pytest.fixture(scope="module")
def _kernel_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("triton")


@pytest.fixture
def compiler(_kernel_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Compiler]:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(_kernel_cache))  # the same kernels again and again
    monkeypatch.setenv("TRITON_DIST_AUTOTUNE_COMPILE_WORKERS", "3")
    with compiling() as made:
        yield made


def assert_ahead(compiler: Compiler, n: int, later: int = 0) -> None:
    """All was compiled by other threads; Triton 3.2 must have done so once before it can share."""
    here = 1 if triton.__version__.startswith("3.2.") else 0
    assert compiler.n_compiled() == (here + later, n - here)


class Host:
    """A host function's runs: which configuration, in order."""

    def __init__(self, *configs: dict[str, Any]) -> None:
        self.configs = list(configs)
        self.ran: list[int] = []

    def begin(self, **config: Any) -> None:
        self.ran.append(self.configs.index(config))

    def assert_ran_as_planned(self, failing: tuple[int, ...] = ()) -> int:
        """Every candidate as often as the plan says, in order; returns the winner."""
        *planned, winner = self.ran
        expected = []
        for i in range(len(self.configs)):
            expected += [i] * (1 if i in failing else PLAN_RUNS)
        assert planned == expected
        return winner


# -- right predictions -----------------------------------------------------------------------------


def test_B02_a_config_is_predicted(compiler: Compiler) -> None:
    kernel = copy_kernel()
    host = Host(*({"cfg": config(b, w)} for b in BLOCKS for w in (4, 8)))

    @autotune(host.configs, _key_fn)
    def copy(x: Any, y: Any, cfg: Any) -> Any:
        host.begin(cfg=cfg)
        kernel[GRID](x, y, N, **cfg.all_kwargs())
        return y

    y = tensor()
    assert copy(tensor(), y) is y
    host.assert_ran_as_planned()
    assert_ahead(compiler, 6)
    expected = [(b, w) for b in BLOCKS for w in (4, 8)]
    assert compiler.ahead("BLOCK", "num_warps") == sorted(expected)
    assert compiler.launches("BLOCK", "num_warps") == expected
    assert [made.launched for made in compiler.made[:8]] == 6 * [False] + 2 * [True]
    n = len(compiler.made)
    copy(tensor(), y)  # a hit
    assert len(compiler.made) == n + 1


def test_B02_plain_fields_are_predicted(compiler: Compiler) -> None:
    kernel = copy_kernel()
    host = Host(*({"BLOCK": b, "num_warps": w} for b in BLOCKS for w in (4, 8)))

    @autotune(host.configs, _key_fn)
    def copy(x: Any, y: Any, BLOCK: int, num_warps: int) -> None:
        host.begin(BLOCK=BLOCK, num_warps=num_warps)
        kernel[GRID](x, y, N, BLOCK, num_warps=num_warps)

    copy(tensor(), tensor())
    host.assert_ran_as_planned()
    assert_ahead(compiler, 6)


@pytest.mark.parametrize("name", ["block", "block_size", "bs"])
def test_B02_fields_under_other_names_are_predicted(compiler: Compiler, name: str) -> None:
    kernel = copy_kernel()
    host = Host(*({name: b, "stages": s} for b in BLOCKS for s in (2, 3)))

    @autotune(host.configs, _key_fn)
    def copy(x: Any, y: Any, stages: int, **more: int) -> None:
        host.begin(stages=stages, **more)
        kernel[GRID](x, y, N, BLOCK=more[name], num_stages=3)

    copy(tensor(), tensor())
    host.assert_ran_as_planned()
    assert compiler.ahead("BLOCK") == [(64,), (128,), (256,)]  # each once
    assert_ahead(compiler, 3)


def test_B02_heuristics_are_asked_for_the_others(compiler: Compiler) -> None:
    asked: list[Any] = []
    kernel = even_kernel(asked)
    host = Host(*({"cfg": config(b)} for b in (64, 512, 128)))

    @autotune(host.configs, _key_fn)
    def copy(x: Any, y: Any, cfg: Any) -> None:
        host.begin(cfg=cfg)
        kernel[GRID](x, y, N, **cfg.all_kwargs())

    copy(tensor(), tensor())
    host.assert_ran_as_planned()
    assert compiler.ahead("BLOCK", "EVEN") == [(64, True), (128, True), (512, False)]
    assert_ahead(compiler, 3)
    assert len(asked) == 3 * PLAN_RUNS + 1 + 3


def test_B02_options_that_only_some_have(compiler: Compiler) -> None:
    kernel = copy_kernel()
    with_more = triton.Config({"BLOCK": 128}, maxnreg=64)
    host = Host(*({"cfg": c} for c in (config(64), with_more, config(256))))

    @autotune(host.configs, _key_fn)
    def copy(x: Any, y: Any, cfg: Any) -> None:
        host.begin(cfg=cfg)
        kernel[GRID](x, y, N, **cfg.all_kwargs())

    copy(tensor(), tensor())
    host.assert_ran_as_planned()
    assert_ahead(compiler, 3)


def test_B02_only_so_many_launches_of_a_run_are_looked_at(
    compiler: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(triton_ahead, "_MOST_LAUNCHES", 2)  # fewer than there are candidates
    kernels = [copy_kernel() for _ in range(3)]
    looked_at: list[list[Any]] = []

    def note(launches: Any, n_workers: int) -> None:
        looked_at.append([made.kernel for made in launches])

    monkeypatch.setattr(triton_ahead, "compile_all", note)

    @autotune([{"BLOCK": b} for b in BLOCKS], _key_fn, warmup=1, repeat=1)
    def copy(x: Any, y: Any, BLOCK: int) -> None:
        for kernel in kernels:
            for _ in range(2):
                kernel[GRID](x, y, N, BLOCK=BLOCK)

    copy(tensor(), tensor())
    assert looked_at == [len(BLOCKS) * [kernel] for kernel in kernels[:2]]


def test_B02_a_value_that_the_call_fixes_is_not_predicted(compiler: Compiler) -> None:
    kernel = copy_kernel()
    host = Host(*({"BLOCK": b, "num_warps": w} for b in BLOCKS for w in (4, 8)))

    @autotune(host.configs, _key_fn)
    def copy(x: Any, y: Any, BLOCK: int, num_warps: int) -> None:
        kernel[GRID](x, y, N, BLOCK, num_warps=num_warps)

    copy(tensor(), tensor(), BLOCK=512, autotune_allow_arg_overwrite=True)
    assert compiler.ahead("BLOCK", "num_warps") == [(512, 4), (512, 8)]
    assert_ahead(compiler, 2)


# -- nothing else changes --------------------------------------------------------------------------


def test_B02_a_wrong_prediction_changes_nothing(compiler: Compiler) -> None:
    kernel = copy_kernel()
    host = Host(*({"BLOCK": b} for b in BLOCKS))

    @autotune(host.configs, _key_fn)
    def copy(x: Any, y: Any, BLOCK: int) -> int:
        host.begin(BLOCK=BLOCK)
        kernel[GRID](x, y, N, BLOCK=BLOCK if BLOCK == 64 else 2 * BLOCK)
        return BLOCK

    winner = copy(tensor(), tensor())
    assert BLOCKS[host.assert_ran_as_planned()] == winner
    assert compiler.ahead("BLOCK") == [(64,), (128,), (256,)]
    assert compiler.launches("BLOCK") == [(64,), (256,), (512,)]
    # 256 was compiled for the wrong candidate, and need not be compiled again.
    assert_ahead(compiler, 3, later=1)


def test_B02_what_cannot_be_compiled_fails_where_it_is_launched(compiler: Compiler) -> None:
    kernel = copy_kernel()
    host = Host(*({"BLOCK": b} for b in (64, 48, 128)))  # 48 is no power of 2
    progress: list[Any] = []

    @autotune(host.configs, _key_fn, on_progress=progress.append)
    def copy(x: Any, y: Any, BLOCK: int) -> None:
        host.begin(BLOCK=BLOCK)
        kernel[GRID](x, y, N, BLOCK=BLOCK)

    copy(tensor(), tensor())
    host.assert_ran_as_planned(failing=(1,))
    (reason,) = [p.error for p in progress if p.error is not None]
    assert "CompilationError" in reason
    assert_ahead(compiler, 2)


def test_B02_the_first_that_runs_tells(compiler: Compiler) -> None:
    kernel = copy_kernel()
    host = Host(*({"BLOCK": b} for b in (48, 64, 128, 256)))

    @autotune(host.configs, _key_fn)
    def copy(x: Any, y: Any, BLOCK: int) -> None:
        host.begin(BLOCK=BLOCK)
        kernel[GRID](x, y, N, BLOCK=BLOCK)

    copy(tensor(), tensor())
    host.assert_ran_as_planned(failing=(0,))
    assert set(compiler.ahead("BLOCK")) == {(48,), (64,), (128,), (256,)}
    assert compiler.n_compiled() == (0, 3)


def test_B02_a_kernel_without_the_config_is_left_alone(compiler: Compiler) -> None:
    first, second = copy_kernel(), copy_kernel()
    host = Host(*({"BLOCK": b} for b in BLOCKS))

    @autotune(host.configs, _key_fn)
    def copy(x: Any, y: Any, BLOCK: int) -> None:
        host.begin(BLOCK=BLOCK)
        first[GRID](x, y, N, BLOCK=512)
        second[GRID](y, x, N, BLOCK=BLOCK)

    copy(tensor(), tensor())
    host.assert_ran_as_planned()
    assert compiler.ahead("BLOCK") == [(64,), (128,), (256,)]


def test_B02_a_kernel_with_hooks_is_left_alone(compiler: Compiler) -> None:
    kernel, calls = copy_kernel(), []
    kernel.add_pre_run_hook(lambda *args, **kwargs: calls.append(threading.get_ident()))
    host = Host(*({"BLOCK": b} for b in BLOCKS))

    @autotune(host.configs, _key_fn)
    def copy(x: Any, y: Any, BLOCK: int) -> None:
        host.begin(BLOCK=BLOCK)
        kernel[GRID](x, y, N, BLOCK=BLOCK)

    copy(tensor(), tensor())
    host.assert_ran_as_planned()
    assert calls == [threading.get_ident()] * (3 * PLAN_RUNS + 1)
    assert compiler.ahead("BLOCK") == []


def test_B02_what_is_not_understood_is_left_alone(compiler: Compiler) -> None:
    class Odd:
        def __index__(self) -> int:
            return N

    kernel = copy_kernel()
    assert triton_ahead.launch(kernel, (tensor(), tensor(), Odd()), {"BLOCK": 64}) is None
    assert triton_ahead.launch(kernel, (tensor(), tensor(), [N]), {"BLOCK": 64}) is None
    assert triton_ahead.launch(object(), (), {}) is None
    assert triton_ahead.launch(kernel, (tensor(), None, (N, 1.0)), {"BLOCK": 64}) is not None


def test_B02_an_autotuner_of_tritons_inside(compiler: Compiler) -> None:
    inner = tuned_copy_kernel([config(64), config(128)])
    kernel = copy_kernel()
    host = Host(*({"BLOCK": b} for b in BLOCKS))

    @autotune(host.configs, _key_fn)
    def copy(x: Any, y: Any, BLOCK: int) -> None:
        host.begin(BLOCK=BLOCK)
        inner[GRID](x, y, N)
        kernel[GRID](x, y, N, BLOCK=BLOCK)

    copy(tensor(), tensor())
    host.assert_ran_as_planned()
    assert compiler.ahead("BLOCK") == [(64,), (128,), (256,)]
    assert inner.best_config in inner.configs


def test_B02_a_tuned_function_inside(compiler: Compiler) -> None:
    kernel, other = copy_kernel(), copy_kernel()

    @autotune([{"BLOCK": b} for b in BLOCKS], _key_fn)
    def inner(x: Any, y: Any, BLOCK: int) -> None:
        kernel[GRID](x, y, N, BLOCK=BLOCK)

    @autotune([{"num_warps": w} for w in (1, 2, 4)], _key_fn)
    def outer(x: Any, y: Any, num_warps: int) -> None:
        inner(x, y)
        other[GRID](x, y, N, BLOCK=64, num_warps=num_warps)

    outer(tensor(), tensor())
    ahead = [
        (m.values["BLOCK"], m.values.get("num_warps")) for m in compiler.made if not m.launched
    ]
    assert sorted(ahead, key=str) == [
        (128, None),
        (256, None),
        (64, 1),
        (64, 2),
        (64, 4),
        (64, None),
    ]


def test_B02_launches_of_other_threads_are_not_seen(compiler: Compiler) -> None:
    kernel, other = copy_kernel(), copy_kernel()

    @autotune([{"BLOCK": b} for b in BLOCKS], _key_fn)
    def copy(x: Any, y: Any, BLOCK: int) -> None:
        def launch() -> None:
            other[GRID](x, y, N, BLOCK=BLOCK, num_warps=8)

        thread = threading.Thread(target=launch)
        thread.start()
        thread.join()
        kernel[GRID](x, y, N, BLOCK=BLOCK)

    copy(tensor(), tensor())
    assert compiler.ahead("BLOCK", "num_warps") == [(64, None), (128, None), (256, None)]


def test_B02_no_tensor_outlives_the_run_that_made_it(compiler: Compiler) -> None:
    kernel = copy_kernel()
    alive: list[Any] = []

    @autotune([{"BLOCK": b} for b in BLOCKS], _key_fn)
    def copy(x: Any, BLOCK: int) -> None:
        y = tensor()
        kernel[GRID](x, y, N, BLOCK=BLOCK)
        made = weakref.ref(y)
        del y
        gc.collect()
        alive.append(made())

    copy(tensor())
    assert alive == [None] * (3 * PLAN_RUNS + 1)
    assert_ahead(compiler, 3)


def test_B02_only_what_takes_part_is_compiled(compiler: Compiler) -> None:
    kernel = copy_kernel()

    @autotune([{"BLOCK": b} for b in BLOCKS], _key_fn, lambda config, *args: config["BLOCK"] != 128)
    def copy(x: Any, y: Any, BLOCK: int) -> None:
        kernel[GRID](x, y, N, BLOCK=BLOCK)

    copy(tensor(), tensor())
    assert compiler.ahead("BLOCK") == [(64,), (256,)]
    assert_ahead(compiler, 2)


# -- Triton is left as it was ----------------------------------------------------------------------


@pytest.mark.parametrize("raised", [ValueError, KeyboardInterrupt, SystemExit])
def test_B02_triton_is_left_as_it_was(compiler: Compiler, raised: type[BaseException]) -> None:
    kernel = copy_kernel()
    method = vars(KernelInterface)["__getitem__"]
    methods: list[Any] = []

    @autotune([{"BLOCK": b} for b in BLOCKS], _key_fn)
    def copy(x: Any, y: Any, BLOCK: int) -> None:
        methods.append(vars(KernelInterface)["__getitem__"])
        kernel[GRID](x, y, N, BLOCK=BLOCK)
        if len(methods) == 1:
            raise raised

    if raised is ValueError:
        copy(tensor(), tensor())
        assert methods[1] is not method  # the first failed, so the second was watched
        assert set(methods[2:]) == {method}
    else:
        with pytest.raises(raised):
            copy(tensor(), tensor())
    assert methods[0] is not method
    assert vars(KernelInterface)["__getitem__"] is method
    assert not triton_ahead._watchers


def test_B02_S07_a_forked_child_watches_nobody_of_its_parent(compiler: Compiler) -> None:
    method = vars(KernelInterface)["__getitem__"]
    inside, forked = threading.Event(), threading.Event()
    runs: list[int] = []

    @autotune([{"BLOCK": b} for b in BLOCKS], _key_fn)
    def copy(BLOCK: int) -> None:
        runs.append(BLOCK)
        inside.set()
        assert forked.wait(60)

    def watch_again() -> bool:
        seen: list[Any] = []

        @autotune([{"BLOCK": b} for b in BLOCKS], _key_fn)
        def other(BLOCK: int) -> None:
            seen.append(vars(KernelInterface)["__getitem__"])

        other()
        return seen[0] is not method and not triton_ahead._watchers

    thread = threading.Thread(target=copy)
    thread.start()
    assert inside.wait(60)
    try:
        assert list(triton_ahead._watchers) == [thread.ident]
        assert in_child(lambda: not triton_ahead._watchers)
        assert in_child(lambda: watch_again() and vars(KernelInterface)["__getitem__"] is method)
    finally:
        forked.set()
        thread.join()
    assert vars(KernelInterface)["__getitem__"] is method
    assert len(runs) == len(BLOCKS) * PLAN_RUNS + 1


def test_B02_a_launcher_that_is_kept_is_tritons_again(compiler: Compiler) -> None:
    kernel, kept = copy_kernel(), []

    @autotune([{"BLOCK": b} for b in BLOCKS], _key_fn)
    def copy(x: Any, y: Any, BLOCK: int) -> None:
        kept.append(kernel[GRID])
        kept[0](x, y, N, BLOCK=BLOCK)

    copy(tensor(), tensor())
    assert_ahead(compiler, 3)
    assert len(compiler.launches("BLOCK")) == 3


def test_B02_somebody_elses_replacement_stays(
    compiler: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel, seen = copy_kernel(), []
    method = vars(KernelInterface)["__getitem__"]

    @autotune([{"BLOCK": b} for b in BLOCKS], _key_fn)
    def copy(x: Any, y: Any, BLOCK: int) -> None:
        if not seen:
            ours = vars(KernelInterface)["__getitem__"]

            def theirs(self: Any, grid: Any) -> Any:
                seen.append(grid)
                return ours(self, grid)

            monkeypatch.setattr(KernelInterface, "__getitem__", theirs)
        kernel[GRID](x, y, N, BLOCK=BLOCK)

    copy(tensor(), tensor())
    assert len(seen) == 3 * PLAN_RUNS + 1
    assert_ahead(compiler, 3)
    monkeypatch.undo()
    KernelInterface.__getitem__ = method


def test_B02_an_interrupt_while_compiling(compiler: Compiler) -> None:
    kernel = copy_kernel()
    pressed = threading.Event()

    def press() -> None:
        if threading.current_thread() is not threading.main_thread() and not pressed.is_set():
            pressed.set()
            os.kill(os.getpid(), signal.SIGINT)

    ran: list[int] = []

    @autotune([{"BLOCK": b} for b in BLOCKS], _key_fn)
    def copy(x: Any, y: Any, BLOCK: int) -> int:
        ran.append(BLOCK)
        kernel[GRID](x, y, N, BLOCK=BLOCK)
        return BLOCK

    compiler.on_compile = press
    with pytest.raises(KeyboardInterrupt):
        copy(tensor(), tensor())
    assert ran == [64]  # it was about to launch
    assert compiler.launches("BLOCK") == []
    assert copy(tensor(), tensor()) in BLOCKS
    assert len(ran) == 1 + 3 * PLAN_RUNS + 1


# -- where, and whether at all ---------------------------------------------------------------------


def test_B02_on_the_device_of_the_launch(compiler: Compiler) -> None:
    kernel = copy_kernel()

    @autotune([{"BLOCK": b} for b in BLOCKS], _key_fn)
    def copy(x: Any, y: Any, BLOCK: int) -> None:
        compiler.driver.set_current_device(3)
        kernel[GRID](x, y, N, BLOCK=BLOCK)
        compiler.driver.set_current_device(0)

    copy(tensor(), tensor())
    assert {m.device for m in compiler.made} == {3}
    assert_ahead(compiler, 3)
    assert compiler.driver.get_current_device() == 0


def test_B02_one_worker_is_off(compiler: Compiler, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_DIST_AUTOTUNE_COMPILE_WORKERS", "1")
    kernel = copy_kernel()
    method = vars(KernelInterface)["__getitem__"]

    @autotune([{"BLOCK": b} for b in BLOCKS], _key_fn)
    def copy(x: Any, y: Any, BLOCK: int) -> None:
        assert vars(KernelInterface)["__getitem__"] is method
        kernel[GRID](x, y, N, BLOCK=BLOCK)

    copy(tensor(), tensor())
    assert compiler.n_compiled() == (3, 0)
    assert compiler.ahead("BLOCK") == []


def test_B02_a_stored_winner_compiles_itself_only(compiler: Compiler) -> None:
    def copy(x: Any, y: Any, BLOCK: int) -> None:
        triton_kernels[-1][GRID](x, y, N, BLOCK=BLOCK)

    triton_kernels = [copy_kernel()]
    space = [{"BLOCK": b} for b in BLOCKS]
    autotune(space, _key_fn)(copy)(tensor(), tensor())
    n = sum(compiler.n_compiled())
    autotune(space, _key_fn)(copy)(tensor(), tensor())
    assert sum(compiler.n_compiled()) == n


def test_B02_the_interpreter_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    if not hasattr(triton, "knobs"):
        pytest.skip("its kernels are of another class")
    assert triton_ahead.foresee(({"BLOCK": 64},), 0, None, 2) is not None
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    assert triton_ahead.foresee(({"BLOCK": 64},), 0, None, 2) is None
