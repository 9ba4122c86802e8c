# SPDX-License-Identifier: MIT
"""What starting costs: the import, the first call with a stored record, and many keys at once.

Every figure comes from fresh processes. Those of two sides that are compared take turns, so that a
busy moment of the machine hits both alike. With PEER=<checkout of Triton-distributed> its tuner
makes the same first call; what it needs of a GPU stands still as constants, in its favour.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import py_compile
import statistics
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rows import Row, row, show

IMPORT_BAR_MS = 20.0
FIRST_CALL_BAR_US = 300.0
# Of the last third of the keys to the first third, blocks of a thousand, their medians.
LINEAR_BAR = 1.5

# What is tuned: a function with a helper, and the launcher of a Triton kernel. They note how long
# they themselves took, and when they return.
PLAIN = """
from time import perf_counter_ns
from tdtune import autotune

spans = []

def helper(x):
    return x + 1

def key(x):
    return ((x, 4096), "torch.float32")

@autotune([{"cfg": {"BLOCK": 64 << i, "num_warps": 4}} for i in range(8)], key_fn=key, repeat=1)
def subject(x, cfg):
    start = perf_counter_ns()
    y = helper(x)
    spans.append(perf_counter_ns() - start)
    return y
"""

TRITON = """
from time import perf_counter_ns
from tdtune import autotune
import triton
import triton.language as tl

spans = []

@triton.jit
def act(x):
    return x * 2

@triton.jit
def kernel(x_ptr, y_ptr, n, alpha, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(y_ptr + offsets, act(x) * alpha, mask=offsets < n)

def key(x):
    return ((x, 4096), "torch.float32")

@autotune(
    [{"cfg": triton.Config({"BLOCK": 64 << i}, num_warps=4)} for i in range(8)],
    key_fn=key,
    repeat=1,
)
def subject(x, cfg):
    start = perf_counter_ns()
    if x is None:  # never here: the launch itself is not what is measured
        kernel[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, x, x.numel(), 1.0)
    spans.append(perf_counter_ns() - start)
    return x
"""

# The same with the tuner of Triton-distributed; its own `utils` would ask a GPU.
PEER = """
import sys, types
utils = types.ModuleType("triton_dist.utils")
utils.is_cuda = lambda: False
utils.get_bool_env = utils.get_int_env = lambda name, default=None: default
utils.__all__ = ["get_triton_dist_world", "get_nvshmem_hash", "get_nvshmem_version"]
utils.__all__ += ["get_rocshmem_hash", "get_rocshmem_version", "get_cpu_info_linux"]
utils.__all__ += ["triton_dist_key", "warn_if_cuda_launch_blocking", "barrier_async"]
utils.__all__ += ["wait_until_max_gpu_clock_or_warning", "get_triton_dist_local_world_size"]
vars(utils).update(dict.fromkeys(utils.__all__, lambda *args, **kwargs: None))
package = types.ModuleType("triton_dist")
package.__path__ = [__PEER__ + "/python/triton_dist"]
package.__version__ = "0"
sys.modules["triton_dist"], sys.modules["triton_dist.utils"] = package, utils
from triton_dist import tune
tune.get_deps = lambda: {"versions": "none"}
tune.get_hardware_info = lambda with_nic: {"gpu.count": 1, "gpu.name": "none"}
autotune = lambda configs, key_fn, repeat: tune.autotune(configs, key_fn)
"""

TUNE = "import {module} as m; m.subject(1)"
PEER_TUNE = """
import {module} as m
m.subject.save_tune_config(m.key(1), [(1.0 + i, c) for i, c in enumerate(m.subject.config_space)])
"""
FIRST_CALL = """
from time import perf_counter_ns
import {module} as m
start = perf_counter_ns()
m.subject(1)
end = perf_counter_ns()
assert len(m.spans) == 1, "not the stored result: the function ran more than once"
print(end - start - m.spans[0])
"""
IMPORT = """
from time import perf_counter_ns
import {needed}
start = perf_counter_ns()
import tdtune
print(perf_counter_ns() - start)
"""
NEEDED = """
import sys
known = set(sys.modules)
import tdtune
print(",".join(n for n in sys.modules if n not in known and n.partition(".")[0] != "tdtune"))
"""
MANY_KEYS = """
from time import perf_counter_ns
import {module} as m
for block in range({n} // 1000):
    start = perf_counter_ns()
    for i in range(block * 1000, block * 1000 + 1000):
        m.subject(i)
    print(perf_counter_ns() - start)
"""

Figures = dict[str, Any]


def python(code: str, folder: Path, *options: str) -> list[str]:
    """Run code in a fresh process and return the words it printed; RuntimeError if it failed."""
    environment = {
        **os.environ,
        "HOME": str(folder),
        "TRITON_DIST_AUTOTUNE_DIR": str(folder / "records"),
        "PYTHONPATH": os.pathsep.join([str(folder), *[place for place in sys.path[1:] if place]]),
    }
    done = subprocess.run(
        [sys.executable, *options, "-c", code],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError((done.stderr.strip().splitlines() or ["no reason given"])[-1])
    return done.stdout.split()


def write_module(folder: Path, name: str, text: str, compiled: bool = True) -> str:
    """Write a module as an installed package has it: older than its compiled copy."""
    file = folder / f"{name}.py"
    file.write_text(text)
    os.utime(file, (time.time() - 3600,) * 2)
    if compiled:
        py_compile.compile(str(file), doraise=True)
    return name


def spread(values: list[float]) -> Figures:
    """Return least and median; the least is what the work costs, the rest is the machine."""
    return {"least": min(values), "median": statistics.median(values), "n": len(values)}


def measure_import(folder: Path, n: int) -> Figures:
    """The import of tdtune alone, all of Python's own modules being there; and whole processes."""
    needed = python(NEEDED, folder)[0]
    inside: list[float] = []
    plain: list[float] = []
    whole: list[float] = []
    for _ in range(n):
        inside.append(int(python(IMPORT.format(needed=needed), folder)[0]) / 1e6)
        for code, times in (("pass", plain), ("import tdtune", whole)):
            start = time.perf_counter()
            python(code, folder)
            times.append((time.perf_counter() - start) * 1e3)
    return {
        "own_ms": spread(inside),
        "process_pass_ms": spread(plain),
        "process_import_ms": spread(whole),
    }


def first_calls(folder: Path, modules: list[str], n: int) -> dict[str, Figures]:
    """The first call of several modules' subjects, in turns; microseconds."""
    times: dict[str, list[float]] = {module: [] for module in modules}
    for _ in range(n):
        for module in modules:
            times[module].append(int(python(FIRST_CALL.format(module=module), folder)[0]) / 1e3)
    return {module: spread(values) for module, values in times.items()}


def crowd(records: Path, n: int) -> None:
    """Fill the folder of a function with n further names of records."""
    (one, *_) = records.glob("*.json")
    for i in range(n):
        if i % 10_000 == 0:  # a file has a limited number of names
            source = records / f"{i:032x}.json"
            source.write_bytes(one.read_bytes())
        else:
            os.link(source, records / f"{i:032x}.json")


def add_peer(folder: Path, text: str, name: str) -> str | None:
    """Write a module for Triton-distributed's tuner, with its record; None if it cannot be."""
    checkout = os.environ.get("PEER")
    if not checkout:
        print("Triton-distributed: skipped, PEER names no checkout of it")
        return None
    peer = PEER.replace("__PEER__", repr(str(Path(checkout).resolve())))
    write_module(folder, name, text.replace("from tdtune import autotune\n", peer))
    try:
        python(PEER_TUNE.format(module=name), folder)
        python(FIRST_CALL.format(module=name), folder)
    except RuntimeError as reason:
        print(f"Triton-distributed: skipped, its tuner does not run here: {reason}")
        return None
    return name


def measure_first_call(folder: Path, n: int, n_records: int) -> dict[str, Figures]:
    """First calls with one record in the folder, then with many."""
    modules = [
        write_module(folder, "plain", PLAIN),
        write_module(folder, "script", PLAIN, compiled=False),
    ]
    if find_spec("triton") is not None:
        modules.append(write_module(folder, "triton_launcher", TRITON))
    else:
        print("Triton launcher: skipped, there is no triton")
    for module in modules:
        # Python keeps no compiled copy of a script; here it must not make one either.
        python(TUNE.format(module=module), folder, "-B")
    peer = add_peer(folder, PLAIN, "peer")
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    figures = first_calls(folder, [*modules, *([peer] if peer else [])], n)
    # Functions of one name share a folder.
    crowd(folder / "records" / "subject", n_records)
    crowded = first_calls(folder, ["plain"], n)
    figures[f"plain, {n_records} records"] = crowded["plain"]
    return figures


def measure_many_keys(folder: Path, n: int) -> dict[str, Figures]:
    """Keys first met in a fresh process: tuned and stored, then found in the store."""
    module = write_module(folder, "many", PLAIN.replace("repeat=1", "warmup=0, repeat=1"))
    code = MANY_KEYS.format(module=module, n=n)
    figures: dict[str, Figures] = {}
    for name in ("new", "stored"):
        blocks_us = [int(block_ns) / 1e6 for block_ns in python(code, folder)]
        third = max(1, len(blocks_us) // 3)
        first = statistics.median(blocks_us[:third])
        last = statistics.median(blocks_us[-third:])
        figures[name] = {"us_per_key": blocks_us, "first": first, "last": last}
    return figures


def table(result: Figures) -> list[Row]:
    """Return the rows of the table; the least of each figure."""
    imports = result["import"]
    own, passing = imports["own_ms"]["least"], imports["process_pass_ms"]["least"]
    rows = [
        row("import, without Python's own modules", "ms", own, at_most=IMPORT_BAR_MS),
        row(
            "a process that imports",
            "ms",
            imports["process_import_ms"]["least"],
            ("one that does nothing", passing),
        ),
    ]
    first = result["first_call_us"]
    peer = first["peer"]["least"] if "peer" in first else None
    for name, figures in first.items():
        if name != "peer":
            what, least = f"first call, stored: {name}", figures["least"]
            alternative = None if peer is None else ("Triton-distributed", peer)
            rows.append(row(what, "us", least, alternative, at_most=FIRST_CALL_BAR_US))
    for name, figures in result["keys"].items():
        what = f"a key of {len(figures['us_per_key'])},000, {name}: the last"
        before = ("the first", figures["first"])
        rows.append(row(what, "us", figures["last"], before, at_most_times=LINEAR_BAR))
    return rows


def main() -> int:
    """Measures, prints a table, and keeps the figures if a file is named."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--processes", type=int, default=20, help="of each kind")
    parser.add_argument("--records", type=int, default=100_000, help="in the crowded folder")
    parser.add_argument("--keys", type=int, default=10_000, help="in one process, whole thousands")
    parser.add_argument("--json", type=Path, help="file to write the figures to")
    options = parser.parse_args()
    from tdtune._native import host_hardware

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        result = {
            "what": "starting: import, first call with a stored record, many keys in one process",
            "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
            "machine": {**json.loads(host_hardware()), "python": sys.version.split()[0]},
            "bars": {"import_ms": IMPORT_BAR_MS, "first_call_us": FIRST_CALL_BAR_US},
            "import": measure_import(folder, options.processes),
            "keys": measure_many_keys(folder, options.keys),
            "first_call_us": measure_first_call(folder, options.processes, options.records),
        }
    result["rows"] = table(result)
    show(result["rows"])
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(result, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
