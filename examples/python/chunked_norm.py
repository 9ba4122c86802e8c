# SPDX-License-Identifier: MIT
"""Tune a NumPy row normalisation: how many rows at a time, on how many threads?

Run it twice: the second run finds its answer on disk and measures nothing.

usage: chunked_norm.py [--rows N]     (N x 4096 numbers; 16384 rows are 256 MiB)
"""

from __future__ import annotations

import argparse
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import numpy.typing as npt
import tdtune
from triton_dist.tune import AutoTuner, autotune

Matrix = npt.NDArray[np.float32]

COLUMNS = 4096
EPSILON = 1e-5


def config(chunk_rows: int, n_threads: int) -> dict[str, object]:
    """Return a candidate: the arguments of `normalize` that are to be tuned."""
    return {"chunk_rows": chunk_rows, "n_threads": n_threads}


# The first one is what one would write without thinking: all rows at once.
CONFIGS = [config(16384, 1)] + [
    config(chunk_rows, n_threads) for chunk_rows in (2048, 512, 64) for n_threads in (1, 2, 4)
]


def key_fn(x: Matrix, out: Matrix) -> tuple[object, ...]:
    """What the fastest candidate depends on."""
    return (x.shape, str(x.dtype))


def prune_fn(config: dict[str, int], x: Matrix, out: Matrix) -> bool:
    """Leave out candidates that have no chunk for some of their threads."""
    return config["chunk_rows"] * config["n_threads"] <= len(x)


def normalize_rows(x: Matrix, out: Matrix) -> None:
    """Write (x - mean) / sqrt(variance + EPSILON) of each row to `out`."""
    np.subtract(x, x.mean(axis=1, keepdims=True), out=out)
    variance = np.einsum("ij,ij->i", out, out)[:, np.newaxis] / np.float32(x.shape[1])
    np.multiply(out, 1 / np.sqrt(variance + np.float32(EPSILON)), out=out)


def normalize(x: Matrix, out: Matrix, chunk_rows: int, n_threads: int) -> Matrix:
    """Normalise all rows of `x`, a chunk at a time; NumPy works without the interpreter lock."""
    starts = range(0, len(x), chunk_rows)

    def one_chunk(start: int) -> None:
        rows = slice(start, start + chunk_rows)
        normalize_rows(x[rows], out[rows])

    if n_threads == 1:
        for start in starts:
            one_chunk(start)
    else:
        with ThreadPoolExecutor(n_threads) as pool:
            list(pool.map(one_chunk, starts))
    return out


class Display:
    """Shows how far a tuning is: on a terminal one line that is written over, else many."""

    def __init__(self) -> None:
        self.n_measured = 0

    def __call__(self, progress: tdtune.Progress) -> None:
        """Take the news; called after each candidate."""
        if progress.candidate is None:  # the start
            return
        self.n_measured = progress.n_done
        best = "" if progress.best is None else f", best so far {progress.best_ms:.1f} ms"
        line = f"  {progress.n_done} of {progress.n_candidates} candidates done{best}"
        if not sys.stdout.isatty():
            print(line, flush=True)
        else:
            last = progress.n_done == progress.n_candidates
            print(f"\r{line}\033[K", end="\n" if last else "", flush=True)


def make_tuner(display: Display) -> AutoTuner:
    """Return a new tuner of `normalize`, which remembers nothing but what is on disk.

    Usually one writes ``@autotune(...)`` above the function. Each run takes a noticeable part of a
    second here, so fewer than the documented 5 + 10 are made of each candidate.
    """
    tuner: AutoTuner = autotune(CONFIGS, key_fn, prune_fn, warmup=1, repeat=5, on_progress=display)(
        normalize
    )
    return tuner


def check(x: Matrix, out: Matrix) -> None:
    """Compare some rows, spread over all of them, with the same in double precision."""
    some = np.linspace(0, len(x) - 1, num=min(64, len(x)), dtype=int)
    rows = x[some].astype(np.float64)
    centred = rows - rows.mean(axis=1, keepdims=True)
    expected = centred / np.sqrt(rows.var(axis=1, keepdims=True) + EPSILON)
    np.testing.assert_allclose(out[some], expected, rtol=1e-4, atol=1e-4)


def call(label: str, tuner: AutoTuner, x: Matrix, out: Matrix, n: int = 1, **how: bool) -> None:
    """Call the tuned function `n` times and print how many seconds one took."""
    start = time.perf_counter()
    for _ in range(n):
        tuner(x, out, **how)
    print(f"{label}: {(time.perf_counter() - start) / n:.3f} s", flush=True)


def main() -> None:
    """Tune, show what was found out, and show that it is remembered."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else None)
    parser.add_argument("--rows", type=int, default=16384, help="of the matrix, at least 128")
    rows = parser.parse_args().rows
    if rows < 128:
        parser.error(f"--rows must be at least 128, not {rows}")

    x = np.random.default_rng(0).random((rows, COLUMNS), dtype=np.float32)
    out = np.empty_like(x)
    print(f"normalising {rows} rows of {COLUMNS} numbers, {x.nbytes / 2**20:.0f} MiB")

    display = Display()
    tuner = make_tuner(display)
    call("first call", tuner, x, out)
    check(x, out)
    if display.n_measured:
        print(f"{display.n_measured} candidates were measured")
    else:
        print("nothing was measured: the winner was found on disk")
    path = tuner.record_path(x, out)
    if path is None or not Path(path).exists():
        print("nothing could be stored, so the next process will measure again")
        return
    print(f"\n{path}\n{tdtune.table(path)}")

    call("the first candidate, mean of 5 calls", tuner, x, out, n=5, autotune=False)
    call("the winner, mean of 5 calls", tuner, x, out, n=5)
    again = Display()
    call("a new tuner, as in a new process, answers from disk", make_tuner(again), x, out)
    print(f"  and measured {again.n_measured} candidates for it")


if __name__ == "__main__":
    main()
