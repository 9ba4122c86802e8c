# SPDX-License-Identifier: MIT
"""The decorator."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tdtune._native import AutoTuner
from tdtune.decorator import Decorator, decorator
from tdtune.progress import Progress


def autotune(
    config_space: Iterable[Mapping[str, Any]],
    key_fn: Callable[..., object],
    prune_fn: Callable[..., object] | None = None,
    *,
    prepare_fn: Callable[..., object] | None = None,
    plan: str | None = None,
    warmup: int | None = None,
    repeat: int | None = None,
    check_fn: Callable[..., object] | None = None,
    reset_to_zero: Iterable[str] | None = None,
    restore_value: Iterable[str] | None = None,
    on_progress: Callable[[Progress], object] | None = None,
) -> Decorator[AutoTuner]:
    """Decorate a function so that it runs with the fastest of several configurations.

    Parameters
    ----------
    config_space
        The candidates: dicts whose fields are passed to the function as keyword arguments. The
        first one is used with ``autotune=False``. Read once, when the function is decorated.
    key_fn
        ``key_fn(*args, **kwargs)`` gives the business key. Calls with the same key share a result;
        every new key is tuned on its own.
    prune_fn
        ``prune_fn(config, *args, **kwargs)`` tells whether a candidate takes part; all do if None.
    prepare_fn
        ``prepare_fn(config, *args, **kwargs)`` makes a candidate ready, compiles it say. Called
        once for each that takes part, before any runs, from several threads at the same time, in
        which the device of the arguments is the current one. An exception does not fail the
        candidate; it is logged, as a warning if none can be prepared. Kernels of Triton that the
        function launches are compiled ahead without it.
    plan
        How candidates are measured. ``"documented"`` (None means that): 5 warm-ups and 10 timed
        runs of each, the mean is compared. ``"race"``: 1 warm-up and 2 timed runs, then up to 10
        of those only that could still win; medians. ``"careful"``: 5 warm-ups and 10 timed runs,
        then those that lie within each other's noise again in turns, up to 100 times; medians,
        and of those that cannot be told apart the first one wins.
    warmup, repeat
        Runs of each candidate before timing, and timed runs, instead of the plan's. For a race the
        most timed runs.
    check_fn
        ``check_fn(result, *args, **kwargs)`` gets what the function returned in a candidate's first
        warm-up; if it returns false or raises an exception the candidate is out, its reason is
        "wrong result".
    reset_to_zero, restore_value
        Names of arguments, tensors or arrays, that are set to zero, or to what they held when the
        call began, before every run and before the one that counts. Not part of the time.
    on_progress
        Called with a `Progress` when a tuning starts and after each candidate.

    Returns
    -------
    callable
        A decorator that turns a function into an `AutoTuner`, which is called like it. Static and
        class methods stay what they are.

    Notes
    -----
    A call may bring ``autotune_pg=``, the process group whose ranks tune together: all of them make
    the call, and all run the same winner. Each group has a memory of its own. None, or nothing,
    means the group that Triton-distributed has initialised, else the default group of
    ``torch.distributed``, else this process alone, as it is when a key is first met; those calls
    share one memory, so a key that was met by a process alone is not tuned again with others.

    Raises
    ------
    TypeError, ValueError
        At decoration, if function and candidates do not fit together; the text says where.
    """

    return decorator(
        lambda fn: AutoTuner(
            fn,
            config_space,
            key_fn,
            prune_fn,
            prepare_fn=prepare_fn,
            plan=plan,
            warmup=warmup,
            repeat=repeat,
            check_fn=check_fn,
            reset_to_zero=reset_to_zero,
            restore_value=restore_value,
            on_progress=on_progress,
        )
    )
