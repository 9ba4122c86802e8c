# SPDX-License-Identifier: MIT
"""What a call costs that is already tuned: what the tuner itself adds to key function and function.

That is the call, minus its key function, minus the function called directly with the configuration.
The yardstick is what a hit of `functools.lru_cache` costs beyond an empty call. With PEER=<checkout
of Triton-distributed> its tuner does the same, and with the program bench/c/hit the C library, too.
Figures are the least of several rounds, in which those that are compared take turns.
"""

from __future__ import annotations

import argparse
import datetime
import functools
import gc
import json
import logging
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
import timeit
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rows import Row, row, show

ROOT = Path(__file__).resolve().parent.parent
C_PROGRAM = ROOT / "build" / "native" / "bench" / "c" / "hit"

SPACE = [{"cfg": 1}, {"cfg": 2}]
# With a lock for a default nothing is stored: only memory counts here.
LOCK = threading.Lock()


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


# -- positional, keywords, controls ----------------------------------------------------------------


def scale(x: object, alpha: float = 1.0, beta: float = 1.0, *, cfg: object = None) -> object:
    """The function that is tuned: nothing."""
    return x


def key_int(x: object, alpha: float = 1.0, beta: float = 1.0) -> object:
    """A key that costs little to make and to hash."""
    return x


def key_shape(x: object, alpha: float = 1.0, beta: float = 1.0) -> object:
    """A key as the documents show it."""
    return ((4096, 4096), "torch.float32")


class Group:
    """Stands for a process group of one rank."""

    def rank(self) -> int:
        """Return this process's number."""
        return 0

    def size(self) -> int:
        """Return how many there are."""
        return 1


# Name, key function, arguments of the call, and those of them that are the function's own.
CASES: list[tuple[str, Callable[..., object], str, str]] = [
    ("positional, int key", key_int, "x", "x"),
    ("positional, shape key", key_shape, "x", "x"),
    ("three positional", key_int, "x, 2.0, 3.0", "x, 2.0, 3.0"),
    ("one keyword", key_int, "x, alpha=2.0", "x, alpha=2.0"),
    ("two keywords", key_int, "x, alpha=2.0, beta=3.0", "x, alpha=2.0, beta=3.0"),
    ("a control", key_int, "x, autotune=True", "x"),
    ("a control and a keyword", key_int, "x, alpha=2.0, autotune=True", "x, alpha=2.0"),
    ("autotune_pg given", key_int, "x, autotune_pg=group", "x"),
]


def own_costs(make_tuner: Callable[..., object], rounds: int, calls: int) -> dict[str, Any]:
    """What a tuner adds in each of the cases; all of them, and the yardsticks, take turns."""
    names: dict[str, Any] = {"x": 1024, "c": 1, "scale": scale, "group": Group(), "s": key_shape(0)}
    names |= {"int_key": key_int, "shape_key": key_shape}
    names["cached"] = functools.lru_cache(maxsize=None)(key_int)
    statements = ["cached(x)", "cached(s)", "int_key(x)"]
    cases: dict[str, int] = {}
    for i, (name, key_fn, call, own) in enumerate(CASES):
        names[f"tuned{i}"] = make_tuner(scale, SPACE, key_fn)
        try:
            eval(f"tuned{i}({call})", names)  # tunes
        except Exception as error:
            print(f"{name}: skipped: {error}")
            continue
        cases[name] = len(statements)
        key = "int_key" if key_fn is key_int else "shape_key"
        statements += [f"tuned{i}({call})", f"{key}({own})", f"scale({own}, cfg=c)"]
    found = least_ns(statements, names, rounds, calls)
    return {
        "lru_cache_int_ns": found[0],
        "lru_cache_shape_ns": found[1],
        "empty_call_ns": found[2],
        "own_ns": {name: found[i] - found[i + 1] - found[i + 2] for name, i in cases.items()},
        "call_ns": {name: found[i] for name, i in cases.items()},
    }


def make_ours(fn: Callable[..., object], space: Any, key_fn: Callable[..., object]) -> object:
    """A tuner of ours, with as few runs as there can be."""
    from tdtune import AutoTuner

    return AutoTuner(fn, space, key_fn, warmup=0, repeat=1)


def compare_calls(options: argparse.Namespace) -> tuple[Any, list[Row]]:
    """Ours beside `functools.lru_cache`, keywords beside positional, and all else."""
    costs = own_costs(make_ours, options.rounds, options.calls)
    own, empty = costs["own_ns"], costs["empty_call_ns"]
    rows = [
        row(
            f"own cost of a hit: {name}",
            "ns",
            own[name],
            ("lru_cache - empty call", costs[f"lru_cache_{kind}_ns"] - empty),
            at_most_times=3,
        )
        for name, kind in (("positional, int key", "int"), ("positional, shape key", "shape"))
    ]
    three = ("three positional", own["three positional"])
    rows.append(row("own cost: two keywords", "ns", own["two keywords"], three, at_most_times=2))
    one = ("positional, int key", own["positional, int key"])
    for name in ("one keyword", "a control", "a control and a keyword", "autotune_pg given"):
        if name in own:
            rows.append(row(f"own cost: {name}", "ns", own[name], one))
    return costs, rows


# -- Triton-distributed ----------------------------------------------------------------------------

PEER_SCRIPT = """
import json, sys
sys.path.insert(0, {bench!r})
import hit, start
exec(start.PEER.replace("__PEER__", repr({peer!r})), globals())
hit.CASES = [case for case in hit.CASES if case[0].startswith("positional")]
def make(fn, space, key_fn):
    tuner = tune.autotune(space, key_fn)(fn)
    for x in (1024,):
        tuner.save_tune_config(key_fn(x), [(1.0 + i, c) for i, c in enumerate(space)])
    return tuner
print(json.dumps(hit.own_costs(make, {rounds}, {calls})))
"""


def compare_peer(options: argparse.Namespace, ours: dict[str, float]) -> tuple[Any, list[Row]]:
    """Triton-distributed's tuner in a process of its own, straight after ours."""
    checkout = os.environ.get("PEER")
    if not checkout or not Path(checkout).is_dir():
        print("Triton-distributed: skipped, PEER names no checkout of it")
        return None, []
    script = PEER_SCRIPT.format(
        bench=str(ROOT / "bench"),
        peer=str(Path(checkout).resolve()),
        rounds=options.rounds,
        calls=max(1, options.calls // 10),
    )
    with tempfile.TemporaryDirectory() as home:
        environment = {**os.environ, "HOME": home}
        done = subprocess.run(
            [sys.executable, "-c", script],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode != 0:
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        print(f"Triton-distributed: skipped, its tuner does not run here: {reason}")
        return None, []
    theirs = json.loads(done.stdout.splitlines()[-1])
    rows = [
        row(
            f"own cost of a hit: {name}",
            "ns",
            ours[name],
            ("Triton-distributed", theirs["own_ns"][name]),
            faster_by=25,
        )
        for name in theirs["own_ns"]
    ]
    return theirs, rows


# -- by_layout -------------------------------------------------------------------------------------


def launch(x: Any, w: Any = None, n: int = 3, *, cfg: object = None) -> object:
    """What `by_layout` names arguments of."""
    return x


def documented_one(x: Any, w: Any = None, n: int = 3) -> object:
    """The documents' spelling, one tensor."""
    return (tuple(x.shape), str(x.dtype))


def documented_two(x: Any, w: Any = None, n: int = 3) -> object:
    """The documents' spelling, two tensors."""
    return ((tuple(x.shape), str(x.dtype)), (tuple(w.shape), str(w.dtype)))


def with_stride_one(x: Any, w: Any = None, n: int = 3) -> object:
    """The same key as `by_layout` makes, one tensor."""
    return (tuple(x.shape), x.stride(), x.dtype)


def with_stride_two(x: Any, w: Any = None, n: int = 3) -> object:
    """The same key as `by_layout` makes, two tensors."""
    return ((tuple(x.shape), x.stride(), x.dtype), (tuple(w.shape), w.stride(), w.dtype))


def compare_layouts(options: argparse.Namespace) -> tuple[Any, list[Row]]:
    """`by_layout` beside key functions in Python, by themselves and in a whole call."""
    if find_spec("torch") is None:
        print("by_layout: skipped, there is no torch")
        return None, []
    import torch
    from tdtune import AutoTuner, by_layout

    names: dict[str, Any] = {"x": torch.ones(64, 32), "w": torch.ones(32, 16)}
    spelled = {"documented": (documented_one, documented_two)}
    spelled["with stride"] = (with_stride_one, with_stride_two)
    statements: list[str] = []
    for i, arguments in enumerate((["x"], ["x", "w"])):
        tuners = {"by_layout": AutoTuner(launch, SPACE, by_layout(*arguments), warmup=0, repeat=1)}
        for name, key_fns in spelled.items():
            tuners[name] = AutoTuner(launch, SPACE, key_fns[i], warmup=0, repeat=1)
        for j, tuner in enumerate(tuners.values()):
            tuner(names["x"], names["w"])
            names |= {f"tuner_{i}{j}": tuner, f"key_{i}{j}": tuner.key_fn}
            statements += [f"key_{i}{j}(x, w)", f"tuner_{i}{j}(x, w)"]
    statements += ["x.shape", "x.stride()", "x.dtype"]
    found = least_ns(statements, names, options.rounds, max(1, options.calls // 4))
    rows: list[Row] = []
    for i, what in enumerate(("one tensor", "two tensors")):
        key, _, documented, _, stride, _ = found[6 * i : 6 * i + 6]
        bar = {"faster_by": 1.0}
        rows.append(row(f"by_layout, {what}", "ns", key, ("as documented", documented), **bar))
        rows.append(row(f"by_layout, {what}", "ns", key, ("the same key", stride), **bar))
    figures = dict(zip(statements, found, strict=True))
    shape, stride, dtype = found[-3:]
    rows.append(
        row("by_layout, one tensor", "ns", found[0], ("asking torch", shape + stride + dtype))
    )
    return figures, rows


# -- many keys, many threads -----------------------------------------------------------------------


def resident_bytes() -> int:
    """What of this process is in memory."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def identity(x: object) -> object:
    """The key is the argument."""
    return x


def boxed(x: object) -> object:
    """Something new, as a winner is beside its key."""
    return (x,)


def plain(x: object, *, cfg: object = None, lock: object = LOCK) -> object:
    """A function of which nothing is stored."""
    return x


def sweep_ns(call: Callable[[object], object], keys: list[object], rounds: int) -> float:
    """Nanoseconds of one call, over all keys in their order."""
    best = float("inf")
    for _ in range(rounds):
        start = time.perf_counter_ns()
        for key in keys:
            call(key)
        best = min(best, (time.perf_counter_ns() - start) / len(keys))
    return best


def compare_growth(options: argparse.Namespace) -> tuple[Any, list[Row]]:
    """Few keys and many, in random order; a cache's hits on the same keys suffer as much."""
    from tdtune import AutoTuner

    few, many = 1000, options.keys
    cached = functools.lru_cache(maxsize=None)(boxed)
    tuned = AutoTuner(plain, SPACE[:1], identity, warmup=0, repeat=1)
    figures: dict[str, Any] = {"keys": many}
    before, done = resident_bytes(), 0
    start = time.perf_counter()
    for n in (few, many):
        for i in range(done, n):
            tuned((i, "torch.float16"))
        if n == many:
            gc.collect()
            figures["bytes_per_key"] = (resident_bytes() - before) / n
            figures["seconds_to_tune"] = time.perf_counter() - start
        for i in range(done, n):
            cached((i, "torch.float16"))
        done = n
        order = random.Random(1).sample(range(n), n)
        keys: list[object] = [(i, "torch.float16") for i in order]
        rounds = 3 if n == many else 30
        figures[f"{n}"] = {
            "tuned_ns": sweep_ns(tuned, keys, rounds),
            "lru_cache_ns": sweep_ns(cached, keys, rounds),
        }
    first, last = figures[f"{few}"], figures[f"{many}"]
    growth = last["tuned_ns"] - first["tuned_ns"]
    rows = [
        row(
            f"a hit of {many:,} keys at random, beyond one of {few:,}",
            "ns",
            growth,
            ("lru_cache's growth", last["lru_cache_ns"] - first["lru_cache_ns"]),
            at_most_times=2,
        ),
        row(
            f"memory of a remembered key, of {many:,} (both tables)", "B", figures["bytes_per_key"]
        ),
    ]
    return figures, rows


def in_threads(calls: list[Callable[[object], object]], n: int) -> float:
    """Seconds until each of some threads has made `n` calls of its own callable."""
    barrier = threading.Barrier(len(calls) + 1)

    def work(call: Callable[[object], object]) -> None:
        barrier.wait()
        for _ in range(n):
            call(1024)

    threads = [threading.Thread(target=work, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    barrier.wait()
    start = time.perf_counter()
    for thread in threads:
        thread.join()
    return time.perf_counter() - start


def compare_threads(options: argparse.Namespace) -> tuple[Any, list[Row]]:
    """Four threads with a tuner each, and one that does all that work; likewise plain functions."""
    tuners: list[Any] = [make_ours(plain, SPACE, identity) for _ in range(4)]
    plains: list[Any] = [functools.partial(plain, cfg=1) for _ in range(4)]
    for tuner in tuners:
        tuner(1024)
    best = {"tuned": [float("inf")] * 2, "plain": [float("inf")] * 2}
    for _ in range(10):
        for name, calls in (("tuned", tuners), ("plain", plains)):
            times = [in_threads(calls, options.calls), in_threads(calls[:1], 4 * options.calls)]
            best[name] = [min(pair) for pair in zip(best[name], times, strict=True)]
    ours, theirs = (four / one for four, one in best.values())
    what = "four threads, four tuners: time beside one thread's"
    return best, [row(what, "x", ours, ("plain functions", theirs), at_most_times=1.25)]


# -- the C library ---------------------------------------------------------------------------------


def measure_c(options: argparse.Namespace) -> tuple[Any, list[Row]]:
    """What bench/c/hit says."""
    if not options.c_program.is_file():
        print(f"C: skipped, there is no program {options.c_program}")
        return None, []
    done = subprocess.run(
        [options.c_program, str(options.keys)], stdout=subprocess.PIPE, text=True, check=True
    )
    found = json.loads(done.stdout)
    few, many = found["hits"][0], found["hits"][-1]
    what = f"C: a hit of {many['keys']:,} keys"
    cold = ("a cold access", found["cold_access_huge_pages_ns"])
    rows = [
        row("C: a hit, the same key", "ns", few["at_random_ns"]),
        row(f"{what}, at random", "ns", many["at_random_ns"], cold, at_most=60),
        row(f"{what}, at random, each after the last", "ns", many["at_random_waiting_ns"], cold),
        row(f"C: memory of a remembered key, of {many['keys']:,}", "B", many["bytes_per_key"]),
    ]
    one, most = found["threads"][0], found["threads"][-1]
    hits, hashes = (most[name] / one[name] for name in ("hit_ns", "hash_ns"))
    what = f"C: hits of {most['threads']} threads at once: time beside one thread's"
    rows.append(row(what, "x", hits, ("hashing alone", hashes), at_most_times=1.25))
    return found, rows


# -- the program -----------------------------------------------------------------------------------


def measure(options: argparse.Namespace) -> tuple[dict[str, Any], list[Row]]:
    """All parts."""
    figures: dict[str, Any] = {}
    rows: list[Row] = []

    def add(name: str, part: tuple[Any, list[Row]]) -> None:
        figures[name] = part[0]
        rows.extend(part[1])

    add("calls", compare_calls(options))
    add("peer", compare_peer(options, figures["calls"]["own_ns"]))
    add("by_layout", compare_layouts(options))
    add("threads", compare_threads(options))
    add("c", measure_c(options))
    add("growth", compare_growth(options))
    return figures, rows


def main() -> int:
    """Measures, prints a table, and keeps the figures if a file is named."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--calls", type=int, default=20_000)
    parser.add_argument("--keys", type=int, default=1_000_000, help="to be remembered")
    parser.add_argument("--c-program", type=Path, default=C_PROGRAM, help="bench/c/hit, built")
    parser.add_argument("--json", type=Path, help="file to write the figures to")
    options = parser.parse_args()
    from tdtune._native import host_hardware

    logging.disable()  # that nothing is stored is on purpose
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TRITON_DIST_AUTOTUNE_DIR"] = folder
        figures, rows = measure(options)
    result = {
        "what": "a call that is already tuned; in ns",
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "machine": {**json.loads(host_hardware()), "python": sys.version.split()[0]},
        "figures": figures,
        "rows": rows,
    }
    show(rows)
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(result, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
