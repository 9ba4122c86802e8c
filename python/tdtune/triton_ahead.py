# SPDX-License-Identifier: MIT
"""Kernels of Triton compiled before they are launched, by several threads.

Triton compiles a kernel when it is launched first, one candidate after another. It lets go of the
interpreter lock while it does, so that threads compile at the same time; and a kernel that is
compiled is found by the launch that needs it, in memory or, by other processes, on disk.

Nothing here imports Triton, and nothing launches anything.
"""

import contextlib
import logging
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from tdtune import groups
from tdtune.triton_launches import Launch, Pattern, heuristics_class, launch

_logger = logging.getLogger("tdtune")

# Different launches of one run that are looked at.
_MOST_LAUNCHES = 64

# Who watches which thread. The extension writes it, see foresee().
_watchers: dict[int, "Watcher"] = {}
# A thread of a forked child may have the number that a watched one had in the parent. The method
# that is replaced there is put back when the child watches, and does nothing until then.
os.register_at_fork(after_in_child=_watchers.clear)


class Watch(NamedTuple):
    """What the extension needs to let a run be watched; see `foresee`."""

    watcher: "Watcher"
    cls: type
    name: str
    replacement: Callable[..., Any]
    watchers: dict[int, "Watcher"]


class Watcher:
    """Sees the launches of one candidate's run, and compiles what others will launch.

    Parameters
    ----------
    configs
        All candidates.
    candidate
        The number of the one that runs.
    kept
        The numbers of those that take part; all if None.
    n_workers
        Most threads that compile.
    """

    def __init__(
        self,
        configs: tuple[dict[str, Any], ...],
        candidate: int,
        kept: list[int] | None,
        n_workers: int,
    ) -> None:
        self._config = configs[candidate]
        numbers = range(len(configs)) if kept is None else kept
        self._others = [configs[i] for i in numbers if i != candidate]
        self._n_workers = n_workers
        self._known: set[Any] = set()  # launches that are compiled or about to be
        self._n_seen = 0

    def see(self, kernel: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Compile a launch that is about to be made, and what it tells about other candidates.

        They are compiled at the same time, before the launch is made.
        """
        try:
            seen = launch(kernel, args, kwargs) if self._n_seen < _MOST_LAUNCHES else None
            pattern = Pattern(seen, self._config) if seen is not None else None
            own = without_heuristics(seen) if pattern else None
            if pattern and own is not None and self._is_new(own):
                self._n_seen += 1
                compile_all([own, *self._expect(pattern)], self._n_workers)
        except Exception as reason:
            _logger.debug("a launch of %r tells nothing: %s", kernel, reason)

    def _expect(self, pattern: Pattern) -> Iterator[Launch]:
        for config in self._others:
            try:
                expected = without_heuristics(pattern.predict(config))
            except Exception as reason:
                _logger.debug("a launch cannot be predicted: %s", reason)
                continue
            if expected is not None and self._is_new(expected):
                yield expected

    def _is_new(self, made: Launch) -> bool:
        kwargs = frozenset((name, _identity(value)) for name, value in made.kwargs.items())
        text = (id(made.kernel), tuple(map(_identity, made.args)), kwargs, made.device)
        if text in self._known:
            return False
        self._known.add(text)
        return True


def _identity(value: Any) -> Any:
    if hasattr(value, "data_ptr"):
        return ("tensor", str(value.dtype), value.data_ptr() % 16)
    return (type(value).__name__, str(value))


# -- watching --------------------------------------------------------------------------------------


def foresee(
    configs: tuple[dict[str, Any], ...], candidate: int, kept: list[int] | None, n_workers: int
) -> Watch | None:
    """Return how to watch the run of a candidate; None if there is nothing to see. As `Watcher`.

    The extension replaces the method ``name`` of ``cls`` for the time of the run, and makes the
    watcher that of the thread in ``watchers``.
    """
    jit = sys.modules.get("triton.runtime.jit")
    if jit is None or _interprets():
        return None
    cls = jit.KernelInterface
    replacement = _watched(vars(cls)["__getitem__"])
    watcher = Watcher(configs, candidate, kept, n_workers)
    return Watch(watcher, cls, "__getitem__", replacement, _watchers)


def _watched(original: Callable[..., Any]) -> Callable[..., Any]:
    def __getitem__(kernel: Any, grid: Any) -> Any:
        run = original(kernel, grid)
        if threading.get_ident() not in _watchers:
            return run

        def watched_run(*args: Any, **kwargs: Any) -> Any:
            watcher = _watchers.get(threading.get_ident())  # it may have been kept for later
            if watcher is not None:
                watcher.see(kernel, args, kwargs)
            return run(*args, **kwargs)

        return watched_run

    return __getitem__


def _interprets() -> bool:
    knobs = getattr(sys.modules.get("triton"), "knobs", None)
    if knobs is not None:
        return bool(knobs.runtime.interpret)
    return False  # of Triton 3.2: kernels that are interpreted are none of JITFunction


# -- compiling -------------------------------------------------------------------------------------


def compile_launch(made: Launch) -> None:
    """Compile what a launch needs, on the device on which it is made."""
    driver = sys.modules["triton.runtime.driver"].driver.active
    enter = getattr(driver, "set_current_device", None)
    if enter is not None and driver.get_current_device() != made.device:
        enter(made.device)
    made.kernel.run(*made.args, grid=(1,), warmup=True, **made.kwargs)


class _Told(NamedTuple):
    """Stands for a kernel, and returns what it is called with."""

    fn: Any

    def run(self, *args: Any, **kwargs: Any) -> Launch:
        return Launch(self.fn, args, kwargs, None)


def without_heuristics(made: Launch | None) -> Launch | None:
    """Return the launch that heuristics make of a launch, without making it."""
    while made is not None and isinstance(made.kernel, heuristics_class()):
        outer = made.kernel
        double = object.__new__(type(outer))
        vars(double).update(vars(outer), fn=_Told(outer.fn))
        told: Launch = double.run(*made.args, **made.kwargs)
        made = told._replace(device=made.device)
    return made


def _is_open(made: Launch) -> bool:
    """Let Triton set up what all compilations of a kernel share, as far as that can be told.

    It takes no care of threads that do so at the same time: what one of them compiles is lost.
    """
    caches = getattr(made.kernel, "device_caches", None)
    if caches is None:  # Triton 3.2
        return False
    return caches[made.device] is not None


def _by_rank(launches: list[Launch]) -> list[Launch]:
    distributed = groups.distributed()
    if distributed is None:
        return launches
    first = int(distributed.get_rank()) * len(launches) // int(distributed.get_world_size())
    return launches[first:] + launches[:first]


def compile_all(launches: Iterable[Launch], n_workers: int) -> None:
    """Compile what several launches need, in threads; return when all are done.

    What cannot be compiled is left to the launch. An interrupt lets those at work finish and
    begins no others. Each rank begins at another place of the list, so that ranks of a machine
    find each other's work on disk.
    """
    left = _by_rank(list(launches))[::-1]
    n_workers = min(n_workers, len(left))
    if n_workers < 2:
        return
    with contextlib.suppress(Exception):
        if not all(_is_open(made) for made in left):
            compile_launch(left.pop())
    # Not join(): in some versions of Python an interrupt makes that take a thread for ended.
    workers: list[threading.Event] = []

    def work(ended: threading.Event) -> None:
        try:
            while True:
                made = left.pop()
                with contextlib.suppress(Exception):
                    compile_launch(made)
        except IndexError:
            pass
        finally:
            ended.set()

    try:
        with contextlib.suppress(RuntimeError):  # as many as there can be
            for _ in range(n_workers):
                ended = threading.Event()
                threading.Thread(target=work, args=(ended,), name="tdtune-compile").start()
                workers.append(ended)
        for ended in workers:
            ended.wait()
    finally:
        left.clear()
        for ended in workers:
            ended.wait()
