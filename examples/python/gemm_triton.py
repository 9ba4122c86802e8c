# SPDX-License-Identifier: MIT
"""Tune a Triton matrix product over 32 candidates and compare it with torch.matmul.

Prints the table of candidates, the winner and its gain, how long the first call took, how long it
takes in a fresh process that finds the winner on disk, and the speed from then on.

usage: gemm_triton.py [--size N] [--candidates N] [--dtype float16|bfloat16] [--json FILE]

Without an accelerator it runs in Triton's interpreter, which is for trying it out only, and then at
a small size with two candidates unless told otherwise.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
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

import tdtune  # noqa: E402
import triton  # type: ignore[import-untyped]  # noqa: E402
import triton.language as tl  # type: ignore[import-untyped]  # noqa: E402
from triton_dist.tune import AutoTuner, autotune  # noqa: E402

# -- the kernel and its launcher -------------------------------------------------------------------


@triton.jit  # type: ignore[untyped-decorator]
def gemm_kernel(  # type: ignore[no-untyped-def]
    a_ptr,
    b_ptr,
    c_ptr,
    m,
    n,
    k,
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
    """Compute one BLOCK_M x BLOCK_N block of C = A B."""
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
    rows = (block_m * BLOCK_M + tl.arange(0, BLOCK_M)) % m
    columns = (block_n * BLOCK_N + tl.arange(0, BLOCK_N)) % n
    inner = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + rows[:, None] * stride_am + inner[None, :] * stride_ak
    b_ptrs = b_ptr + inner[:, None] * stride_bk + columns[None, :] * stride_bn

    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for step in range(tl.cdiv(k, BLOCK_K)):
        left = k - step * BLOCK_K
        a = tl.load(a_ptrs, mask=inner[None, :] < left, other=0.0)
        b = tl.load(b_ptrs, mask=inner[:, None] < left, other=0.0)
        total = tl.dot(a, b, total)
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk

    rows = block_m * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = block_n * BLOCK_N + tl.arange(0, BLOCK_N)
    c_ptrs = c_ptr + rows[:, None] * stride_cm + columns[None, :] * stride_cn
    inside = (rows[:, None] < m) & (columns[None, :] < n)
    tl.store(c_ptrs, total.to(c_ptr.dtype.element_ty), mask=inside)


def gemm(a: torch.Tensor, b: torch.Tensor, cfg: Any) -> torch.Tensor:
    """Return A B; `cfg` is filled in by the tuner."""
    m, k = a.shape
    _, n = b.shape
    c = torch.empty((m, n), device=a.device, dtype=a.dtype)
    meta = cfg.all_kwargs()
    grid = (triton.cdiv(m, meta["BLOCK_M"]) * triton.cdiv(n, meta["BLOCK_N"]),)
    gemm_kernel[grid](a, b, c, m, n, k, *a.stride(), *b.stride(), *c.stride(), **meta)
    return c


# -- what is tuned ---------------------------------------------------------------------------------


def config_space() -> list[dict[str, Any]]:
    """Return the 32 candidates; the first is one that runs everywhere."""
    return [
        {
            "cfg": triton.Config(
                {"BLOCK_M": block_m, "BLOCK_N": block_n, "BLOCK_K": block_k, "GROUP_M": 8},
                num_warps=warps,
                num_stages=stages,
            )
        }
        for block_m in (64, 128)
        for block_n in (128, 256)
        for block_k in (32, 64)
        for stages in (3, 4)
        for warps in (4, 8)
    ]


def key_fn(a: torch.Tensor, b: torch.Tensor) -> tuple[object, ...]:
    """What the fastest candidate depends on."""
    return (tuple(a.shape), tuple(b.shape), a.stride(), b.stride(), str(a.dtype))


def shared_memory_size(device: torch.device) -> int:
    """Return how many bytes of shared memory one program may use; if unknown, plenty."""
    if device.type != "cuda":
        return 1 << 30
    properties = torch.cuda.get_device_properties(device)
    return int(getattr(properties, "shared_memory_per_block_optin", 1 << 30))


def prune_fn(config: dict[str, Any], a: torch.Tensor, b: torch.Tensor) -> bool:
    """Leave out candidates whose stages do not fit into shared memory."""
    meta = config["cfg"].all_kwargs()
    per_stage = meta["BLOCK_K"] * (meta["BLOCK_M"] + meta["BLOCK_N"]) * a.element_size()
    return bool(per_stage * meta["num_stages"] <= shared_memory_size(a.device))


class Display:
    """Shows how far a tuning is: on a terminal one line that is written over, else some."""

    def __init__(self) -> None:
        self.n_measured = 0

    def __call__(self, progress: tdtune.Progress) -> None:
        """Take the news; called after each candidate."""
        if progress.candidate is None:  # the start
            return
        self.n_measured = progress.n_done
        last = progress.n_done == progress.n_candidates
        best = "" if progress.best is None else f", best so far {progress.best_ms:.3f} ms"
        line = f"  {progress.n_done} of {progress.n_candidates} candidates done{best}"
        if sys.stdout.isatty():
            print(f"\r{line}\033[K", end="\n" if last else "", flush=True)
        elif last or progress.n_done % 8 == 0:
            print(line, flush=True)


def make_tuner(n_candidates: int, display: Display) -> AutoTuner:
    """Return a new tuner of `gemm`, which remembers nothing but what is on disk.

    Usually one writes ``@autotune(...)`` above the function.
    """
    configs = config_space()[:n_candidates]
    tuner: AutoTuner = autotune(configs, key_fn, prune_fn, on_progress=display)(gemm)
    return tuner


# -- measuring -------------------------------------------------------------------------------------


def synchronize() -> None:
    """Wait until the accelerator has done all its work."""
    if DEVICE != "cpu":
        torch.accelerator.synchronize()


def seconds(call: Callable[[], object], n_calls: int = 1) -> float:
    """Return how long `n_calls` calls take, until their work is done."""
    synchronize()
    start = time.perf_counter()
    for _ in range(n_calls):
        call()
    synchronize()
    return time.perf_counter() - start


def steady_ms(call: Callable[[], object]) -> float:
    """Return the milliseconds of one call when many follow one another: median of 5 batches."""
    n_calls = max(1, int(0.1 / seconds(call)))  # a batch takes about 0.1 s
    n_calls = max(1, int(n_calls * 0.1 / seconds(call, n_calls)))
    return statistics.median(seconds(call, n_calls) for _ in range(5)) / n_calls * 1e3


def make_inputs(size: int, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    """Return two square matrices of normally distributed numbers."""
    torch.manual_seed(0)
    a = torch.randn((size, size), device=DEVICE, dtype=torch.float32).to(dtype)
    b = torch.randn((size, size), device=DEVICE, dtype=torch.float32).to(dtype)
    return a, b


def check(c: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> None:
    """Compare with torch.matmul in single precision."""
    torch.testing.assert_close(c.float(), torch.matmul(a.float(), b.float()), rtol=1e-2, atol=1e-2)


# -- the fresh process -----------------------------------------------------------------------------


def answer_from_disk(a: torch.Tensor, b: torch.Tensor, n_candidates: int) -> dict[str, float]:
    """Time the first call of this process, and what looking up the winner on disk takes of it."""
    first_call_s = seconds(lambda: make_tuner(n_candidates, Display())(a, b))
    # Now the kernel is loaded, and a new tuner differs from an old one by the look-up alone.
    tuners = [make_tuner(n_candidates, Display()) for _ in range(9)]
    from_disk_s = statistics.median(seconds(partial(tuner, a, b)) for tuner in tuners)
    from_memory_s = statistics.median(seconds(partial(tuner, a, b)) for tuner in tuners)
    return {"first_call_s": first_call_s, "lookup_ms": (from_disk_s - from_memory_s) * 1e3}


def ask_fresh_process(arguments: argparse.Namespace) -> dict[str, float]:
    """Run this program again, forbidden to measure, and return its `answer_from_disk`."""
    command = [sys.executable, __file__, "--answer-from-disk", "--dtype", arguments.dtype]
    command += ["--size", str(arguments.size), "--candidates", str(arguments.candidates)]
    environment = {**os.environ, "TRITON_DIST_AUTOTUNE_ON_MISS": "error"}
    environment.pop("TRITON_DIST_AUTOTUNE_ALWAYS_TUNE", None)
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    answer: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return answer


# -- the program -----------------------------------------------------------------------------------


def describe_machine() -> dict[str, Any]:
    """Return what the times were measured with."""
    name = torch.cuda.get_device_name() if DEVICE == "cuda" else DEVICE
    return {
        "device": name if DEVICE != "cpu" else "Triton's interpreter on the CPU",
        "processor": platform.machine(),
        "system": platform.system(),
        "python": platform.python_version(),
        "cuda": torch.version.cuda,
        "tdtune": tdtune.__version__,
        "torch": torch.__version__,
        "triton": triton.__version__,
    }


def gain_over_first(record: dict[str, Any]) -> float:
    """Return how much faster the winner is than the first candidate that ran."""
    times_ms = [candidate["time_ms"] for candidate in record["candidates"]]
    first_ms = next(time_ms for time_ms in times_ms if time_ms is not None)
    return float(first_ms / times_ms[record["best"]])


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """Tune, check, time and print; return all of it."""
    size = arguments.size
    a, b = make_inputs(size, getattr(torch, arguments.dtype))
    machine = describe_machine()
    print(f"C = A B, {size} x {size}, {arguments.dtype}, on {machine['device']}")
    seconds(lambda: torch.matmul(a, b))  # start everything that is not ours

    display = Display()
    tuner = make_tuner(arguments.candidates, display)
    first_call_s = seconds(lambda: tuner(a, b))
    check(tuner(a, b), a, b)
    path = tuner.record_path(a, b)
    if path is None or not Path(path).exists():
        sys.exit("nothing could be stored, so there is nothing to show")
    print(f"{path}\n{tdtune.table(path)}")
    record: dict[str, Any] = json.loads(Path(path).read_text(encoding="utf-8"))

    tuned_ms = steady_ms(lambda: tuner(a, b))
    torch_ms = steady_ms(lambda: torch.matmul(a, b))
    result = {
        "size": size,
        "dtype": arguments.dtype,
        "machine": machine,
        "n_measured": display.n_measured,
        "first_call_s": first_call_s,
        "fresh_process": ask_fresh_process(arguments),
        "gain_over_first_candidate": gain_over_first(record),
        "winner": record["candidates"][record["best"]]["config"],
        "tuned": {"time_ms": tuned_ms, "tflops": 2e-9 * size**3 / tuned_ms},
        "torch_matmul": {"time_ms": torch_ms, "tflops": 2e-9 * size**3 / torch_ms},
        "record": record,
    }
    show(result)
    return result


def show(result: dict[str, Any]) -> None:
    """Print the figures."""
    fresh = result["fresh_process"]
    print(f"first call:    {result['first_call_s']:.2f} s, {result['n_measured']} measured")
    print(f"fresh process: {fresh['first_call_s']:.3f} s for its first call, measuring nothing")
    if fresh["lookup_ms"] > 0:  # a difference of two times, which may drown in their noise
        print(f"               ({fresh['lookup_ms']:.2f} ms of it to look up the winner on disk)")
    for name in ("tuned", "torch_matmul"):
        speed = result[name]
        print(f"{name + ':':<14} {speed['time_ms']:.4f} ms, {speed['tflops']:.4g} TFLOP/s")


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Tune a Triton matrix product.")
    size, candidates = (64, 2) if DEVICE == "cpu" else (4096, 32)  # the interpreter is slow
    parser.add_argument("--size", type=int, default=size, help=f"rows and columns ({size})")
    parser.add_argument(
        "--candidates", type=int, default=candidates, help=f"take the first N only ({candidates})"
    )
    parser.add_argument("--dtype", choices=("float16", "bfloat16"), default="float16")
    parser.add_argument("--json", metavar="FILE", help="write all figures to this file")
    parser.add_argument("--answer-from-disk", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.size < 1 or not 1 <= arguments.candidates <= len(config_space()):
        parser.error("--size must be positive, --candidates from 1 to 32")
    if DEVICE == "cpu" and arguments.dtype != "float16":
        parser.error("Triton's interpreter multiplies float16 only")
    return arguments


def main() -> None:
    """Do what the command line says."""
    arguments = parse_arguments()
    if arguments.answer_from_disk:
        a, b = make_inputs(arguments.size, getattr(torch, arguments.dtype))
        seconds(lambda: torch.matmul(a, b))
        print(json.dumps(answer_from_disk(a, b, arguments.candidates)))
        return
    result = measure(arguments)
    if arguments.json is not None:
        text = json.dumps(result, indent=2)
        Path(arguments.json).write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
