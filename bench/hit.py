# SPDX-License-Identifier: MIT
"""What a call costs that is already tuned.

Prints, for some ways to call, what the tuner itself adds: the call, minus its key function, minus
the function called directly with the configuration; and the same for a hit of
`functools.lru_cache`, which is the yardstick. Figures are the least of several rounds, in
nanoseconds a call.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import sys
import tempfile
import timeit
from collections.abc import Callable


def least_ns(
    statements: list[str], names: dict[str, object], rounds: int, calls: int
) -> list[float]:
    """Nanoseconds of one run of each statement, the loop around it taken off.

    They take turns, so that a busy moment of the machine hits all of them alike.
    """
    timers = [timeit.Timer(statement, globals=names) for statement in ["pass", *statements]]
    best = [float("inf")] * len(timers)
    for _ in range(rounds):
        for i, timer in enumerate(timers):
            best[i] = min(best[i], timer.timeit(calls))
    return [(least - best[0]) / calls * 1e9 for least in best[1:]]


def scale(x: object, alpha: float = 1.0, *, cfg: object = None) -> object:
    """The function that is tuned: nothing."""
    return x


def key_int(x: object, alpha: float = 1.0) -> object:
    """A key that costs little to make and to hash."""
    return x


def key_shape(x: object, alpha: float = 1.0) -> object:
    """A key as the documents show it."""
    return ((4096, 4096), "torch.float32")


# Name, key function, arguments of the call, and the same with the configuration written out.
CASES: list[tuple[str, Callable[..., object], str, str, str]] = [
    ("positional, int key", key_int, "(x)", "(x)", "(x, cfg=c)"),
    ("positional, shape key", key_shape, "(x, 2.0)", "(x, 2.0)", "(x, 2.0, cfg=c)"),
    ("keyword", key_int, "(x, alpha=2.0)", "(x, alpha=2.0)", "(x, alpha=2.0, cfg=c)"),
    ("control", key_int, "(x, autotune=True)", "(x)", "(x, cfg=c)"),
    (
        "keyword and control",
        key_int,
        "(x, alpha=2.0, autotune=True)",
        "(x, alpha=2.0)",
        "(x, alpha=2.0, cfg=c)",
    ),
]


def measure(rounds: int, calls: int) -> dict[str, dict[str, float]]:
    """All cases; nanoseconds."""
    from tdtune import AutoTuner

    cfg = object()
    names: dict[str, object] = {"x": 1024, "c": cfg, "scale": scale}
    figures: dict[str, dict[str, float]] = {}

    names |= {"cached": functools.lru_cache(maxsize=None)(key_int), "plain": key_int}
    cost, plain = least_ns(["cached(x)", "plain(x)"], names, rounds, calls)
    # The cache does not call the function it stands for: all of a hit is its own.
    figures["functools.lru_cache"] = {"call_ns": cost, "own_ns": cost, "function_ns": plain}

    for name, key_fn, call, key_call, plain_call in CASES:
        tuner = AutoTuner(scale, [{"cfg": 1}, {"cfg": 2}], key_fn, warmup=0, repeat=1)
        names |= {"tuned": tuner, "key_fn": key_fn}
        eval("tuned" + call, names)  # tunes
        statements = ["tuned" + call, "key_fn" + key_call, "scale" + plain_call]
        whole, key, function = least_ns(statements, names, rounds, calls)
        figures[name] = {
            "call_ns": whole,
            "key_ns": key,
            "function_ns": function,
            "own_ns": whole - key - function,
        }
    yardstick = figures["functools.lru_cache"]["own_ns"]
    for line in figures.values():
        line["ratio"] = line["own_ns"] / yardstick
    return figures


def main() -> int:
    """Measures and prints a table, or JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--calls", type=int, default=20_000)
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    options = parser.parse_args()
    from tdtune._native import host_hardware

    with tempfile.TemporaryDirectory() as folder:
        os.environ["TRITON_DIST_AUTOTUNE_DIR"] = folder
        figures = measure(options.rounds, options.calls)
    if options.json:
        result = {
            "what": "a call that is already tuned, beside a hit of functools.lru_cache; in ns",
            "machine": {**json.loads(host_hardware()), "python": sys.version.split()[0]},
            "figures": figures,
        }
        json.dump(result, sys.stdout, indent=1)
        print()
        return 0
    print(f"{'a call that hits':24}{'call':>8}{'key_fn':>8}{'function':>9}{'own':>8}  ratio")
    for name, line in figures.items():
        print(
            f"{name:24}{line['call_ns']:8.0f}{line.get('key_ns', 0):8.0f}"
            f"{line['function_ns']:9.0f}{line['own_ns']:8.0f}{line['ratio']:7.2f}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
