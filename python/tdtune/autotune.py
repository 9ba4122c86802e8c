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
    warmup: int | None = None,
    repeat: int | None = None,
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
        candidate. Kernels of Triton that the function launches are compiled ahead without it.
    warmup, repeat
        Runs of each candidate before timing, and timed runs; 5 and 10 if None.
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
            warmup=warmup,
            repeat=repeat,
            on_progress=on_progress,
        )
    )
