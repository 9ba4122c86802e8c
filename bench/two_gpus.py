# SPDX-License-Identifier: MIT
"""Several ranks on this machine's accelerators: the all-gather with a matrix product, and faults.

usage: two_gpus.py --out FOLDER [--only PART,...] [--ranks N] [--minutes M]

Written for two GPUs and NCCL, for any number of GPUs; on fewer it does what can be done, and says
what it leaves out. Prints as it goes, and leaves two-gpus.json and two-gpus.txt in FOLDER. Every
process is started under a time limit, and none is left behind. With PEER=<checkout of
Triton-distributed> its tuner works on the same launcher.
"""

from __future__ import annotations

import argparse
import datetime
import json
import math
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = str(ROOT / "examples" / "python" / "allgather_gemm.py")
RANK = str(Path(__file__).with_name("two_gpus_rank.py"))

RANK_TIMEOUT_S = 8.0  # of the tuner, where ranks are to be missing
SLACK_S = 6.0  # beyond it: processes take turns, and a busy rank looks up now and then
COLLECTIVE_TIMEOUT_S = 20  # of NCCL, in parts where collectives can hang

MACHINE = """
import json, os, platform, sys, torch, triton
n = torch.accelerator.device_count()
cuda = torch.cuda.is_available()
print(json.dumps({
    "devices": [torch.cuda.get_device_name(i) for i in range(n)] if cuda else [],
    "cores": len(os.sched_getaffinity(0)), "processor": platform.machine(),
    "python": platform.python_version(), "torch": torch.__version__, "triton": triton.__version__,
    "nccl": ".".join(map(str, torch.cuda.nccl.version())) if cuda else None,
}))
"""

STORE = """
import sys, torch.distributed as dist
store = dist.TCPStore("127.0.0.1", 0, None, True, wait_for_workers=False)
print(store.port, flush=True)
sys.stdin.read()
"""

# Keeps an accelerator busy with short kernels, so that others get their turns between them.
BUSY = """
import sys, torch
kind = sys.argv[1]
device = torch.device(kind, int(sys.argv[2])) if kind != "cpu" else torch.device("cpu")
a = torch.randn((2048 if kind != "cpu" else 256,) * 2, device=device).half()
for i in range(10**9):
    for _ in range(20):
        a @ a
    if kind != "cpu":
        torch.accelerator.synchronize(device)
    if i == 0:
        print("busy", flush=True)
"""

Told = dict[str, Any]

# -- what is printed and kept ----------------------------------------------------------------------


def without_places(text: str) -> str:
    """Return a text without the names of folders of this machine."""
    for place in (ROOT, sys.prefix, tempfile.gettempdir()):
        text = text.replace(f"{place}/", "")
    return text


class Report:
    """All that was printed, whether checks held, and the figures."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.figures: Told = {"checks": [], "skipped": []}
        self._text = (folder / "two-gpus.txt").open("w", encoding="utf-8")
        self._start = time.monotonic()

    def say(self, text: str = "") -> None:
        """Print, at once."""
        text = without_places(text)
        print(text, flush=True)
        print(text, file=self._text, flush=True)

    def title(self, text: str) -> None:
        """Print what comes next, and when."""
        self.say(f"\n== {text} [{time.monotonic() - self._start:.0f} s]")

    def check(self, what: str, holds: bool, detail: object = "") -> bool:
        """Say and keep whether something holds."""
        text = f"  {'ok  ' if holds else 'FAIL'} {what}" + (
            "" if holds else f": {str(detail)[-3000:]}"
        )
        self.say(text)
        self.figures["checks"].append({"what": what, "holds": holds})
        if not holds:
            self.figures["checks"][-1]["detail"] = str(detail)
        return holds

    def skip(self, what: str) -> None:
        """Say what is left out, and why."""
        self.say(f"  skipped: {what}")
        self.figures["skipped"].append(what)

    def keep(self, name: str, figures: object) -> None:
        """Keep figures, also if something breaks later."""
        self.figures[name] = figures
        text = json.dumps(self.figures, indent=1)
        text = without_places(text)
        (self.folder / "two-gpus.json").write_text(text + "\n", encoding="utf-8")

    @property
    def n_failed(self) -> int:
        """How many checks did not hold."""
        return sum(not check["holds"] for check in self.figures["checks"])


# -- ranks -----------------------------------------------------------------------------------------


class Ended(NamedTuple):
    """How a process ended: its status (None: killed at its limit), after how long, what it told."""

    status: int | None
    seconds: float
    told: Any
    output: str

    @property
    def last_lines(self) -> str:
        """The end of what it printed."""
        return "\n".join(self.output.splitlines()[-30:])


class Process:
    """A child, with all that it starts; what it prints is kept, and shown if wanted."""

    def __init__(
        self, command: Sequence[str], show: Callable[[str], None] | None = None, **options: Any
    ) -> None:
        self._start = time.monotonic()
        self._ended: float | None = None
        self._show = show
        self._lines: list[str] = []
        self._child = subprocess.Popen(
            [sys.executable, "-u", *command],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
            **options,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._child.stdout is not None
        for line in self._child.stdout:
            self._lines.append(line.rstrip("\n"))
            if self._show is not None and "Warning" not in line:
                self._show("  | " + line.rstrip("\n"))

    def is_over(self) -> bool:
        """Whether it has ended."""
        if self._ended is None and self._child.poll() is not None:
            self._ended = time.monotonic()
        return self._ended is not None

    def first_line(self, limit_s: float) -> str:
        """Wait for the first line that it prints."""
        end = time.monotonic() + limit_s
        while not self._lines and time.monotonic() < end and not self.is_over():
            time.sleep(0.02)
        if not self._lines:
            raise RuntimeError("a process that others need has printed nothing")
        return self._lines[0]

    def end(self, told: Path | None = None) -> Ended:
        """Kill what is left, and return how it ended."""
        was_over = self.is_over()
        with suppress(ProcessLookupError):
            os.killpg(self._child.pid, signal.SIGKILL)
        self._child.wait()
        self._reader.join(5)
        result = json.loads(told.read_text()) if told is not None and told.exists() else None
        return Ended(
            self._child.returncode if was_over else None,
            (self._ended or time.monotonic()) - self._start,
            result,
            "\n".join(self._lines),
        )


class Machine:
    """The accelerators that are here, and a folder for the stores of ranks."""

    def __init__(self, report: Report, folder: Path, n_ranks: int | None) -> None:
        probe = subprocess.run(
            [sys.executable, "-c", MACHINE],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            env=self._base({"TRITON_INTERPRET": "0"}),
        )
        if probe.returncode != 0:
            sys.exit(f"this machine cannot be asked what it has:\n{probe.stderr}")
        self.about: Told = json.loads(probe.stdout.splitlines()[-1])
        self.report, self.folder = report, folder
        self.n_devices = len(self.about["devices"])
        self.n_ranks = n_ranks or max(2, self.n_devices)
        self.kind = "cuda" if self.n_devices else "cpu"
        self._n_worlds = 0
        self.end = math.inf

    @property
    def has_one_each(self) -> bool:
        """Whether there is an accelerator for each rank."""
        return self.n_devices >= self.n_ranks

    @staticmethod
    def _base(more: dict[str, str]) -> dict[str, str]:
        ours = ("TRITON_DIST_", "TORCHELASTIC_", "TRITON_INTERPRET")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
        # Multicast over NVLink stays off: it can put GPUs that others share out of service.
        return {**kept, "NCCL_NVLS_ENABLE": "0", "OMP_NUM_THREADS": "1", **more}

    def store(self, name: str, rank: int) -> Path:
        """Where a rank keeps its results, in stores of that name."""
        return self.folder / "stores" / name / f"rank-{rank}"

    def run(
        self,
        command: Sequence[str],
        *,
        stores: str,
        n_ranks: int | None = None,
        limit_s: float = 120.0,
        show: bool = False,
        per_rank: Callable[[int], dict[str, str]] = lambda rank: {},
        **settings: str,
    ) -> list[Ended]:
        """Run a program on several ranks; {told} in it is a file for what a rank tells."""
        n_ranks = n_ranks or self.n_ranks
        limit_s = min(limit_s, self.end - time.monotonic())
        if limit_s < 20.0:
            raise TimeoutError("the time is up (--minutes)")
        self._n_worlds += 1
        place = self.folder / f"world-{self._n_worlds}"
        place.mkdir(parents=True)
        told = [place / f"rank-{rank}.json" for rank in range(n_ranks)]
        # As under torchrun the ranks' store is in none of them, and dies with none.
        keeper = Process(["-c", STORE], stdin=subprocess.PIPE, env=self._base({}))
        processes: list[Process] = []
        try:
            port = keeper.first_line(60.0)
            for rank in range(n_ranks):
                of_ranks = self._of_rank(rank, n_ranks, port, stores, place)
                of_ranks["TRACEBACK_AFTER_S"] = str(max(1.0, limit_s - 10.0))
                environment = self._base({**of_ranks, **settings, **per_rank(rank)})
                words = [word.replace("{told}", str(told[rank])) for word in command]
                say = self.report.say if show and rank == 0 else None
                processes.append(Process(words, say, env=environment, cwd=place))
            self._wait(processes, limit_s)
        finally:
            ended = [process.end(told[i]) for i, process in enumerate(processes)]
            keeper.end()
        return ended

    def _of_rank(
        self, rank: int, n_ranks: int, port: str, stores: str, place: Path
    ) -> dict[str, str]:
        return {
            "RANK": str(rank),
            "LOCAL_RANK": str(rank),
            "WORLD_SIZE": str(n_ranks),
            "LOCAL_WORLD_SIZE": str(n_ranks),
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": port,
            "TORCHELASTIC_USE_AGENT_STORE": "True",
            "TORCHELASTIC_RESTART_COUNT": "0",
            "TRITON_DIST_AUTOTUNE_DIR": str(self.store(stores, rank)),
            "TRITON_CACHE_DIR": str(self.folder / "triton"),
            "COLLECTIVE_TIMEOUT_S": "600",
        }

    @staticmethod
    def _wait(processes: list[Process], limit_s: float) -> None:
        end = time.monotonic() + limit_s
        while time.monotonic() < end and any(not p.is_over() for p in processes):
            time.sleep(0.02)

    @property
    def last_place(self) -> Path:
        """The folder in which the last ranks ran."""
        return self.folder / f"world-{self._n_worlds}"


def all_ended_well(report: Report, what: str, ended: list[Ended]) -> bool:
    """Check that all ranks ended with status 0."""
    bad = [
        f"rank {i}, status {one.status}:\n{one.last_lines}"
        for i, one in enumerate(ended)
        if one.status != 0
    ]
    return report.check(what, not bad, "\n".join(bad))


# -- the all-gather with a matrix product ---------------------------------------------------------


def shapes(machine: Machine) -> list[str]:
    """Return three shapes: a square one, one with many rows, one with a long inner dimension."""
    n = machine.n_ranks
    if machine.kind == "cpu":
        return [f"{32 * n}x{16 * n}x40", f"{50 * n}x{16 * n}x40", f"{32 * n}x{16 * n}x72"]
    return [
        f"{4096 * n // 2}x{4096 * n // 2}x4096",
        f"{8192 * n}x{2048 * n}x2048",
        f"{1024 * n}x{4096 * n}x8192",
    ]


def run_example(
    machine: Machine, stores: str, which: list[str], *options: str, **more: Any
) -> tuple[list[Ended], Told]:
    """Run the example on all ranks; also what rank 0 wrote about it."""
    figures = machine.folder / "figures.json"
    figures.unlink(missing_ok=True)
    words = [EXAMPLE, "--json", str(figures), *options]
    for shape in which:
        words += ["--shape", shape]
    ended = machine.run(words, stores=stores, show=True, **more)
    return ended, json.loads(figures.read_text()) if figures.exists() else {"shapes": []}


def means_in_log(file: Path) -> dict[tuple[str, str], float]:
    """Return what a rank measured in place, by key and candidate."""
    pattern = re.compile(r'event=mean .*key="?([^"=]*?)"? config=(\d+) mean_ms=(\S+)')
    found = pattern.findall(file.read_text()) if file.exists() else []
    return {(key, config): float(mean_ms) for key, config, mean_ms in found}


def bests_in_log(file: Path) -> list[tuple[str, str, float]]:
    """Return the winners that a rank's log names: key, candidate, time of the slowest rank."""
    pattern = re.compile(r'event=best .*key="?([^"=]*?)"? config=(\d+) mean_ms=(\S+)')
    found = pattern.findall(file.read_text()) if file.exists() else []
    return [(key, config, float(mean_ms)) for key, config, mean_ms in found]


def check_whole(report: Report, shape: object, told: list[Told]) -> None:
    """Check what the ranks tell of the launcher tuned as a whole."""
    record = told[0]["record"]
    times = [candidate["time_ms"] for candidate in record["candidates"]]
    own = [{int(i): ms for i, ms in one["own_ms"].items()} for one in told]
    measured = [i for i, time_ms in enumerate(times) if time_ms is not None]
    wrong = [i for i in measured if times[i] != max(one.get(i, 0.0) for one in own)]
    report.check(f"{shape}: each time in the record is the slowest rank's", not wrong, wrong)
    same = len({one["winner"] for one in told}) == 1
    best = min(measured, key=lambda i: times[i])
    report.check(f"{shape}: one winner, the fastest of these", same and record["best"] == best)


def check_in_place(report: Report, place: Path, n_ranks: int) -> list[Told]:
    """Check what the ranks' logs tell of kernels tuned in place; return it."""
    files = [place / ".autotune_logs" / f"rank-{rank}.log" for rank in range(n_ranks)]
    means = [means_in_log(file) for file in files]
    bests = [bests_in_log(file) for file in files]
    report.check(
        "in place: all ranks log the same winners",
        bests[0] != [] and all(one == bests[0] for one in bests),
        bests,
    )
    kernels = []
    for key, config, slowest_ms in bests[0]:
        own = {c: [one.get((key, c)) for one in means] for k, c in means[0] if k == key}
        slowest = {c: max(ms for ms in row if ms is not None) for c, row in own.items()}
        kernels.append({"key": key, "best": config, "own_ms": own})
        near = abs(slowest[config] - slowest_ms) < 2e-6
        report.check(
            f"in place, {key}: the winner has the least of the slowest ranks' times",
            near and slowest[config] <= min(slowest.values()) + 1e-6,
            (config, slowest_ms, slowest),
        )
    return kernels


def ways(machine: Machine) -> None:
    """Tune both ways, three shapes; then again; then with the store of one rank removed."""
    report = machine.report
    report.title("the all-gather with a matrix product, tuned both ways")
    ended, result = run_example(machine, "ways", shapes(machine), limit_s=240.0)
    if not all_ended_well(report, "results agree with torch on all ranks", ended):
        return
    for one in result["shapes"]:
        check_whole(report, one["shape"], one["host"])
    result["kernels"] = check_in_place(report, machine.last_place, machine.n_ranks)
    report.keep("ways", slim(result))

    report.title("a second start")
    told_again = start_again(machine, "all ranks find the result in their stores")
    report.keep("again", told_again)

    report.title("a second start, with the store of one rank removed")
    lost = machine.store("ways", machine.n_ranks - 1)
    shutil.rmtree(lost)
    told_again = start_again(machine, "the rank without a store is handed what it lacks")
    kept, given = records_in(machine.store("ways", 0)), records_in(lost)
    report.check("and has stored it", given != {} and given == kept, sorted(given))
    report.keep("handed_over", told_again)


def start_again(machine: Machine, what: str) -> list[list[Told]]:
    """Start the example where nothing may be measured; return what ranks tell of each shape."""
    settings = {"TRITON_DIST_AUTOTUNE_ON_MISS": "error"}
    ended, result = run_example(machine, "ways", shapes(machine), "--how", "host", **settings)
    all_ended_well(machine.report, what, ended)
    told = [one["host"] for one in result["shapes"]]
    n_measured = [rank["n_measured"] for one in told for rank in one]
    machine.report.check("nothing is measured", n_measured != [] and not any(n_measured))
    names = ("first_call_s", "steady_ms", "n_measured", "winner")
    return [[{name: rank[name] for name in names} for rank in one] for one in told]


def slim(result: Told) -> Told:
    """Return figures without what they say twice: each rank's copy of the record, single runs."""
    for one in result["shapes"]:
        for rank, told in enumerate(one["host"]):
            if rank > 0:
                del told["record"]
            else:
                for candidate in told["record"]["candidates"]:
                    candidate.pop("samples_ms", None)
    return result


def records_in(store: Path) -> Told:
    """Return the records of a store, without when they were written there."""
    records = {}
    for file in store.rglob("*.json"):
        records[file.name] = {**json.loads(file.read_text()), "created": None}
    return records


# -- one rank slower than the others -------------------------------------------------------------


@contextmanager
def busy(machine: Machine) -> Iterator[None]:
    """Keep the last rank's accelerator busy meanwhile, with two processes beside the rank's own."""
    device = (machine.n_ranks - 1) % max(1, machine.n_devices)
    processes = [Process(["-c", BUSY, machine.kind, str(device)]) for _ in range(2)]
    try:
        for process in processes:
            process.first_line(60.0)
        yield
    finally:
        for process in processes:
            process.end()


def slow(machine: Machine) -> None:
    """Tune while a rank is slower than the others."""
    report = machine.report
    report.title("two busy processes beside the last rank")
    if not machine.has_one_each:
        report.skip("which rank is slower says nothing where ranks share what they run on")
    with busy(machine):
        ended, result = run_example(machine, "slow", shapes(machine)[:1], limit_s=180.0)
    if not all_ended_well(report, "results agree with torch on all ranks", ended):
        return
    (one,) = result["shapes"]
    check_whole(report, one["shape"], one["host"])
    result["kernels"] = check_in_place(report, machine.last_place, machine.n_ranks)
    record = one["host"][0]["record"]
    by_rank = [rank["own_ms"] for rank in one["host"]]
    whole = {config: [own.get(config) for own in by_rank] for config in by_rank[0]}
    show_own(report, "the launcher", whole, str(record["best"]))
    for kernel in result["kernels"]:
        show_own(report, f"kernel, {kernel['key']}", kernel["own_ms"], kernel["best"])
    report.keep("slow", slim(result))


def show_own(report: Report, what: str, own_ms: dict[str, list[float | None]], best: str) -> None:
    """Print each rank's times, and who decided how often.

    That is not judged: how the busy accelerator's time is sliced decides it, and in a collective
    the rank that is early measures the wait for the one that is late.
    """
    report.say(f"  {what}: milliseconds by candidate, on each rank and the greatest")
    rows = {
        config: [math.inf if ms is None else ms for ms in own]
        for config, own in sorted(own_ms.items(), key=lambda item: int(item[0]))
    }
    slowest = {config: max(own) for config, own in rows.items()}
    for config, own in rows.items():
        cells = "".join(f"{ms:10.4f}" for ms in own)
        mark = "  the winner" if config == best else ""
        report.say(f"    {config:>3}{cells}{slowest[config]:10.4f}{mark}")
    n_last = sum(own[-1] == slowest[config] for config, own in rows.items())
    report.say(f"    the busy rank's time is the greatest {n_last} of {len(rows)} times")
    for rank in range(len(rows[best])):
        alone = min(rows, key=lambda config: rows[config][rank])
        report.say(
            f"    by rank {rank}'s times alone: {alone}, {slowest[alone]:.4f} on the slowest rank"
        )


# -- faults --------------------------------------------------------------------------------------


def run_part(machine: Machine, part: str, **more: Any) -> list[Ended]:
    """Run a part of two_gpus_rank.py on all ranks."""
    return machine.run([RANK, part, "{told}"], stores=more.pop("stores", part), **more)


def faults(machine: Machine) -> None:
    """Try faults: those that all survive in one world, then those that kill a rank."""
    report, last = machine.report, machine.n_ranks - 1
    report.title("faults that all ranks survive")
    timeout = {"TRITON_DIST_AUTOTUNE_RANK_TIMEOUT": str(RANK_TIMEOUT_S)}
    ended = run_part(machine, "faults", limit_s=60.0, **timeout)
    if all_ended_well(report, "no rank hangs or breaks", ended):
        check_faults(report, [one.told for one in ended], last)
        report.keep("faults", [one.told for one in ended])
    report.title(f"a candidate fails on rank {last}, where others are in its collectives")
    timeout["COLLECTIVE_TIMEOUT_S"] = str(COLLECTIVE_TIMEOUT_S)
    ended = run_part(machine, "candidate_fails", limit_s=60.0, **timeout)
    if all_ended_well(report, "no rank hangs or breaks", ended):
        check_failed_candidate(report, [one.told for one in ended])
        report.keep("candidate_fails", [one.told for one in ended])
    killed = {}
    for victim in (last, 0):
        report.title(f"rank {victim} is killed between two candidates")
        killed[f"rank {victim}, between"] = kill(machine, "killed_between", victim)
    report.title(f"rank {last} is killed where others wait for its rows")
    killed[f"rank {last}, inside"] = kill(machine, "killed_inside", last)
    report.keep("killed", killed)


def check_faults(report: Report, told: list[Told], last: int) -> None:
    """Check what came of each fault on each rank."""
    expected: dict[str, tuple[str, str]] = {  # text on the guilty rank, and on the others
        "different key": ("RuntimeError: .*key:", "RuntimeError: .*key:"),
        "different candidates": ("RuntimeError: .*candidates:", "RuntimeError: .*candidates:"),
        "key_fn raises": ("ValueError: on purpose", f"RuntimeError: .*rank {last}.*on purpose"),
        "in place, the function raises": (
            "ValueError: on purpose",
            f"RuntimeError: .*rank {last}.*on purpose",
        ),
        "in place, a candidate fails": ("", ""),
        "no fault": ("", ""),
    }
    for name, (guilty, others) in expected.items():
        bad = []
        for rank, one in enumerate(told):
            pattern, error = guilty if rank == last else others, one[name]["error"]
            if pattern:
                holds = error is not None and re.match(pattern, error, re.DOTALL)
            else:
                holds = error is None and one[name]["right"]
            if not holds:
                bad.append(f"rank {rank}: {one[name]}")
        report.check(
            f"{name}: {'the documented error' if guilty else 'the right answer'}",
            not bad,
            "\n".join(bad),
        )
        slowest_s = max(one[name]["seconds"] for one in told)
        if guilty:
            report.check(f"  in {slowest_s:.2f} s, not at the deadline", slowest_s < RANK_TIMEOUT_S)
            report.say(f"       rank 0: {told[0][name]['error'].splitlines()[0][:230]}")


def check_failed_candidate(report: Report, told: list[Told]) -> None:
    """Check what came of a candidate that failed on one rank."""
    right = all(one["error"] is None and one["right"] for one in told)
    if report.check("all ranks have a right answer", right, told):
        times_ms = [one["times_ms"] for one in told]
        out = times_ms[0][0] is None and all(row == times_ms[0] for row in times_ms)
        report.check("the candidate counts as failed on all ranks", out, told)
        report.say(f"       rank 0: {told[0]['errors'][0]}")


def kill(machine: Machine, part: str, victim: int) -> list[Told]:
    """Run a part in which a rank is killed; return what came of the others."""
    report = machine.report
    ended = run_part(
        machine,
        part,
        stores=f"{part}-{victim}",
        limit_s=90.0,
        VICTIM=str(victim),
        COLLECTIVE_TIMEOUT_S=str(COLLECTIVE_TIMEOUT_S),
        TRITON_DIST_AUTOTUNE_RANK_TIMEOUT=str(RANK_TIMEOUT_S),
    )
    report.check("the rank was killed", ended[victim].status == -signal.SIGKILL, ended[victim])
    outcomes: list[Told] = []
    for rank, one in enumerate(ended):
        if rank == victim:
            continue
        told = one.told or {"error": None, "last lines": one.last_lines}
        outcomes.append({"rank": rank, "status": one.status, "seconds": one.seconds, **told})
        error = told["error"] or ""
        if part == "killed_between":
            pattern = f"RuntimeError: .*rank {victim}"
            report.check(
                f"rank {rank} has an error that names it",
                re.match(pattern, error, re.DOTALL) is not None,
                outcomes[-1],
            )
            limit_s = RANK_TIMEOUT_S + SLACK_S
            report.check(
                f"  in {told.get('seconds', 0):.1f} s",
                told.get("seconds", limit_s) < limit_s,
                outcomes[-1],
            )
        else:  # the collective's own deadline decides, not the tuner's: nothing to judge
            report.say(f"       rank {rank} {how_it_went(one)}")
        reason = error or collective_timeout(one) or "it said nothing"
        report.say(f"       rank {rank}: {reason.splitlines()[0][:230]}")
    return outcomes


def how_it_went(one: Ended) -> str:
    """Say how a rank ended that was left in a collective."""
    if one.status is None:
        return f"was still there after {one.seconds:.0f} s, and was killed then"
    return f"ended with status {one.status} after {one.seconds:.1f} s"


def collective_timeout(one: Ended) -> str:
    """Return what the backend said about a collective that took too long, if it did."""
    said = (line for line in one.output.splitlines() if "caught collective operation" in line)
    return next(said, "").rpartition("] ")[2]


# -- what agreement costs ------------------------------------------------------------------------


def costs(machine: Machine) -> None:
    """Measure a miss, a tuning and a hit on all ranks, and on one alone."""
    report = machine.report
    report.title("what agreement costs, beside one rank alone")
    told: dict[str, Told] = {}
    for n_ranks in (1, machine.n_ranks):
        ended = run_part(
            machine, "costs", stores=f"costs-{n_ranks}", n_ranks=n_ranks, limit_s=150.0
        )
        if not all_ended_well(report, f"measured on {n_ranks}", ended):
            return
        told[str(n_ranks)] = {"ranks": [one.told for one in ended]}
    report.keep("costs", told)
    report.say(f"\n  {'slowest rank of':44}" + "".join(f"{n:>12}" for n in told))

    def row(what: str, value: Callable[[Told], float], digits: int) -> None:
        cells = [max(value(rank) for rank in one["ranks"]) for one in told.values()]
        report.say(f"  {what:44}" + "".join(f"{cell:12.{digits}f}" for cell in cells))

    def median_of(name: str) -> Callable[[Told], float]:
        return lambda rank: statistics.median(
            t["exchanges"]["calls"][name] for t in rank["tunings"]
        )

    def exchange_s(tuning: Told) -> float:
        return float(sum(tuning["exchanges"]["seconds"].values()))

    row("call to first launch, a miss (ms, median)", lambda r: statistics.median(r["miss_ms"]), 3)
    row("a tuning (s, median)", lambda r: statistics.median(t["seconds"] for t in r["tunings"]), 4)
    row(
        "  of it what ranks say, and waits (s)",
        lambda r: statistics.median(exchange_s(t) for t in r["tunings"]),
        4,
    )
    row(
        "  share (%)",
        lambda r: 100 * statistics.median(exchange_s(t) / t["seconds"] for t in r["tunings"]),
        2,
    )
    row("  messages sent by a rank", median_of("put"), 0)
    row("  reductions", median_of("start_max"), 0)
    row("a hit, the group named (ns)", lambda r: r["hit_ns"]["group named"], 1)
    row("a hit, no group named (ns)", lambda r: r["hit_ns"]["no group named"], 1)


# -- Triton-distributed ----------------------------------------------------------------------------


def peer(machine: Machine) -> None:
    """Triton-distributed's tuner on the same launcher; then where one rank alone has a result."""
    report = machine.report
    report.title("Triton-distributed's tuner on the same launcher")
    checkout = os.environ.get("PEER", "")
    if not (Path(checkout) / "python" / "triton_dist" / "tune.py").is_file():
        return report.skip("PEER names no checkout of Triton-distributed")
    if machine.kind != "cuda":
        return report.skip("it measures with CUDA's events only")
    home, empty = machine.folder / "peer-home", machine.folder / "peer-empty"
    settings = {"PEER": checkout, "COLLECTIVE_TIMEOUT_S": str(COLLECTIVE_TIMEOUT_S)}
    ended = run_part(machine, "peer", limit_s=150.0, HOME=str(home), **settings)
    if not all_ended_well(report, "both tuners tune", ended):
        return report.keep("peer", {"last_lines": [one.last_lines for one in ended]})
    told = [one.told for one in ended]
    report.check("all results are right", all(all(one["right"]) for one in told))
    for name in told[0]["seconds"]:
        times = [max(one["seconds"][name][i] for one in told) for i in range(3)]
        report.say(f"  {name:20} {statistics.median(times):.4f} s (median of the slowest rank)")

    report.title("the same, where the last rank's home has no result")
    last = machine.n_ranks - 1
    ended = run_part(
        machine,
        "peer_again",
        limit_s=60.0,
        per_rank=lambda rank: {"HOME": str(empty if rank == last else home)},
        **settings,
    )
    outcomes = []
    for rank, one in enumerate(ended):
        told_by = one.told or {"error": None, "last lines": one.last_lines}
        outcomes.append({"rank": rank, "status": one.status, "seconds": one.seconds, **told_by})
        reason = told_by["error"] or collective_timeout(one) or "no error"
        report.say(f"  rank {rank} {how_it_went(one)}: {reason.splitlines()[0][:230]}")
    report.keep("peer", {"tuning": told, "one_rank_without_result": outcomes})


# -- the program ---------------------------------------------------------------------------------


PARTS: dict[str, Callable[[Machine], None]] = {
    part.__name__: part for part in (ways, slow, faults, costs, peer)
}


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="folder for what was found")
    parser.add_argument("--only", default=",".join(PARTS), help=f"of {','.join(PARTS)}")
    parser.add_argument("--minutes", type=float, default=9.0, help="nothing is begun after (9)")
    parser.add_argument("--ranks", type=int, help="how many (one for each device, at least 2)")
    arguments = parser.parse_args()
    arguments.only = arguments.only.split(",")
    if unknown := set(arguments.only) - set(PARTS):
        parser.error(f"there is no part {', '.join(sorted(unknown))}")
    if arguments.ranks is not None and arguments.ranks < 2:
        parser.error("--ranks must be at least 2")
    return arguments


def main() -> int:
    """Do all parts that are wanted; the status tells whether all checks held."""
    arguments = parse_arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))  # and no child is left
    arguments.out.mkdir(parents=True, exist_ok=True)
    report = Report(arguments.out)
    with tempfile.TemporaryDirectory() as folder:
        machine = Machine(report, Path(folder), arguments.ranks)
        machine.end = time.monotonic() + 60 * arguments.minutes
        report.keep("what", "ranks of one machine: an all-gather with a matrix product, and faults")
        now = datetime.datetime.now(datetime.timezone.utc)
        report.keep("date", now.isoformat(timespec="seconds"))
        report.keep("machine", {**machine.about, "ranks": machine.n_ranks})
        report.say(json.dumps(report.figures["machine"]))
        if not machine.has_one_each:
            report.skip("NCCL: there is no accelerator for each rank, so they talk over gloo")
        for name in arguments.only:
            try:
                PARTS[name](machine)
            except Exception as error:  # the other parts are worth having
                report.check(f"part {name}", False, repr(error))
    report.title("done")
    report.say(f"{report.n_failed} of {len(report.figures['checks'])} checks failed")
    report.keep("n_failed", report.n_failed)
    return 1 if report.n_failed else 0


if __name__ == "__main__":
    sys.exit(main())
