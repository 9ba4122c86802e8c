# SPDX-License-Identifier: MIT
"""One launch of a kernel that is being tuned."""

import contextlib
from typing import Any

from tdtune.contextual import ask
from tdtune.contextual.clock import DriverPlace


class Job:
    """Runs candidates of a launch until one works; the engine says which.

    What prepares a candidate (hooks, zeroing, copies, clearing the cache) is outside of the timed
    part. Hooks that the user gave are called as Triton calls them around a measured launch. Those
    that Triton makes from ``reset_to_zero`` and ``restore_value`` would undo a launch that worked;
    in their place, arguments are zeroed before each launch, and values put back only after a
    failed one.
    """

    def __init__(
        self,
        autotuner: Any,
        run: ask.Run,
        args: Any,
        kwargs: Any,
        configs: list[Any],
        place: DriverPlace | None,
    ) -> None:
        self._autotuner = autotuner
        self._run = run
        self._args = args
        self._kwargs = kwargs
        self._configs = configs
        self._place = place
        self._call: ask.Call | None = None
        self._values: dict[str, Any] = {}
        self._copies: dict[str, Any] = {}
        self.result: Any = None

    @property
    def kernel(self) -> Any:
        """What is launched."""
        return self._autotuner.fn

    def call_with(self, config: Any) -> ask.Call:
        """Return what the kernel would be called with if `config` were the choice."""
        return ask.call(self._autotuner, self._run, self._args, self._kwargs, config)

    def before(self, candidate: int, marked: bool) -> None:
        """Prepare a launch; a marked one is timed, or a warm-up that is done like one."""
        if self._call is not None:
            self._undo(RuntimeError("it was not launched"))
        self._call = ask.call(
            self._autotuner, self._run, self._args, self._kwargs, self._configs[candidate]
        )
        self._values = {**self._call.nargs, **self._call.kwargs}
        if getattr(self._autotuner, "user_defined_pre_hook", False):
            self._autotuner.pre_hook(self._values)
        else:
            zero(self._autotuner, self._values)
        if not self._has_post_hook():
            kept = named(self._autotuner, "restore_value", self._values)
            self._copies = {name: value.clone() for name, value in kept.items()}
        if marked and self._place is not None:
            self._place.clear_cache()

    def launch(self, candidate: int) -> None:
        """Launch what was prepared."""
        call, self._call = self._call, None
        assert call is not None
        try:
            self.result = self._autotuner.fn.run(*call.args, **call.kwargs)
        except Exception as exception:
            self._undo(exception)
            raise

    def finish(self) -> Any:
        """Return what the launch that worked returned."""
        if self._has_post_hook():
            self._autotuner.post_hook(self._values, exception=None)
        return self.result

    def _undo(self, exception: Exception) -> None:
        # A device that is broken breaks this too; the candidate's own failure is what counts.
        with contextlib.suppress(Exception):
            if self._has_post_hook():
                self._autotuner.post_hook(self._values, exception=exception)
            for name, copy in self._copies.items():
                self._values[name].copy_(copy)
        self._copies = {}

    def _has_post_hook(self) -> bool:
        return bool(getattr(self._autotuner, "user_defined_post_hook", False))


def reset(autotuner: Any, nargs: dict[str, Any], kwargs: dict[str, Any], config: Any) -> None:
    """Do what Triton does between its measuring and the launch that counts."""
    values = {**nargs, **kwargs, **config.all_kwargs()}
    if getattr(autotuner, "user_defined_pre_hook", False):
        autotuner.pre_hook(values, reset_only=True)
    else:
        zero(autotuner, values)


def zero(autotuner: Any, values: dict[str, Any]) -> None:
    """Apply ``reset_to_zero``."""
    for value in named(autotuner, "reset_to_zero", values).values():
        value.zero_()


def named(autotuner: Any, names: str, values: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments in one of the autotuner's lists of names, without those of None."""
    found = {name: values[name] for name in getattr(autotuner, names, ())}
    return {name: value for name, value in found.items() if value is not None}
