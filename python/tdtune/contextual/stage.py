# SPDX-License-Identifier: MIT
"""Triton's launches while a contextual tuner is active."""

import functools
import logging
import threading
from collections.abc import Callable, Iterator
from typing import Any

from tdtune._native import Session, take_over
from tdtune.contextual import ask
from tdtune.contextual.clock import DriverPlace
from tdtune.contextual.kernels import Kernel, Kernels, Tuning
from tdtune.contextual.launch import Job, reset

_logger = logging.getLogger("tdtune")


class Stage:
    """Stands between an outer function and Triton for one call of that function's tuner.

    Only launches of the thread that called the tuner are looked at; all others, and all after the
    end, are Triton's.

    Parameters
    ----------
    base
        Triton's class ``Autotuner``.
    place
        Where the kernels run; None is the host.
    """

    def __init__(self, base: type, place: DriverPlace | None) -> None:
        self._base = base
        self._place = place
        self._thread: int | None = threading.get_ident()
        self._taken: set[type] = set()
        self._inside: list[Any] = []
        self._kernels = Kernels()
        self._told: set[str] = set()
        self._session: Session | None = None

    def run(self, session: Session, outer: Callable[[], Any]) -> Any:
        """Let a session run the outer function with Triton taken over."""

        def one_pass() -> Any:
            self._take_over()
            return outer()

        self._session = session
        try:
            return session.run(one_pass)
        finally:
            self._thread = self._session = None
            self._kernels = Kernels()

    def decided(self, kernel: str, key: str, winner: int, times: list[Any]) -> None:
        """Take a winner from the session."""
        self._kernels.named(kernel).decide(key, winner, times)

    def _take_over(self) -> None:
        # In every pass, since the outer function may import further subclasses. What replaces a
        # method is undone by the extension when the tuner ends.
        for cls in _with_own_run(self._base):
            if cls not in self._taken:
                self._taken.add(cls)
                take_over(cls, "run", self._replacement(vars(cls)["run"]))

    def _replacement(self, run: ask.Run) -> ask.Run:
        @functools.wraps(run)
        def launch(autotuner: Any, /, *args: Any, **kwargs: Any) -> Any:
            if self._thread != threading.get_ident() or self._is_inside(autotuner):
                return run(autotuner, *args, **kwargs)
            if kwargs.get("warmup"):  # compiles only
                return self._untouched(autotuner, run, args, kwargs)
            return self._launch(autotuner, run, args, kwargs)

        return launch

    def _is_inside(self, autotuner: Any) -> bool:
        # A class's run may call that of its base.
        return ask.is_double(autotuner) or any(autotuner is other for other in self._inside)

    def _untouched(self, autotuner: Any, run: ask.Run, args: Any, kwargs: Any) -> Any:
        self._inside.append(autotuner)
        try:
            return run(autotuner, *args, **kwargs)
        finally:
            self._inside.pop()

    def _launch(self, autotuner: Any, run: ask.Run, args: Any, kwargs: Any) -> Any:
        if len(autotuner.configs) <= 1 and _run_class(autotuner) is self._base:
            return self._untouched(autotuner, run, args, kwargs)
        kernel = self._kernels.of(autotuner)
        choice = ask.choice(autotuner, run, args, kwargs, kernel.is_settled)
        tuning = self._tuning(kernel, choice) if choice.asked else None
        if tuning is None:
            return self._untouched(autotuner, run, args, kwargs)
        if tuning.winner is not None:
            autotuner.cache.setdefault(choice.key, tuning.winner)
            reset(autotuner, choice.nargs, kwargs, tuning.winner)
            return self._untouched(autotuner, run, args, kwargs)
        job = Job(autotuner, run, args, kwargs, tuning.configs, self._place)
        self._inside.append(autotuner)
        try:
            return self._run_job(job, tuning)
        finally:
            self._inside.pop()

    def _run_job(self, job: Job, tuning: Tuning) -> Any:
        if self._place is not None and self._place.capturing():
            self._tell_capturing(tuning)
            job.before(0, False)
            job.launch(0)
        else:
            assert self._session is not None
            self._compile_ahead(job, tuning)
            self._session.launch(tuning.tunable, job)
        return job.finish()

    def _compile_ahead(self, job: Job, tuning: Tuning) -> None:
        # Before anything of the tuning is measured: threads that compile disturb who launches.
        if not tuning.is_compiled:
            from tdtune.contextual import ahead  # here, since most processes tune nothing

            tuning.is_compiled = True
            ahead.compile_configs(job, tuning.configs)

    def _tuning(self, kernel: Kernel, choice: ask.Choice) -> Tuning | None:
        """Return what a launch belongs to; None if it has nothing to do with this call's tuning."""
        tuning = kernel.tunings.get(choice.key)
        if tuning is not None:
            return tuning
        if choice.key in kernel.autotuner.cache:
            return None
        configs = choice.configs
        if configs is None:
            configs = choice.listed
        text = self._kernels.key_text(choice.key)
        if not configs:
            raise RuntimeError(
                f"cannot find valid config for kernel {kernel.name}, key {text}: its pruning left "
                f"none of its {len(choice.listed)} configurations"
            )
        if len(configs) == 1:
            # Nothing to measure: Triton's own case of a single configuration.
            kernel.autotuner.cache[choice.key] = configs[0]
            return None
        return kernel.open(choice.key, text, configs)

    def _tell_capturing(self, tuning: Tuning) -> None:
        name = tuning.tunable.kernel
        if name not in self._told:
            self._told.add(name)
            _logger.warning(
                "kernel %s is launched while a graph is recorded: its first configuration runs, "
                "and nothing is measured there",
                name,
            )


def _with_own_run(base: type) -> Iterator[type]:
    """The class and all that derive from it and have a `run` of their own, each once."""
    found = [base]
    derived: type
    for cls in found:
        if "run" in vars(cls):
            yield cls
        for derived in cls.__subclasses__():
            if derived not in found:
                found.append(derived)


def _run_class(autotuner: Any) -> type | None:
    """The class that an autotuner has its `run` from."""
    return next((cls for cls in type(autotuner).__mro__ if "run" in vars(cls)), None)
