# SPDX-License-Identifier: MIT
"""What the extension calls for a contextual tuner."""

import functools
import importlib
from collections.abc import Callable
from typing import Any

from tdtune import layers
from tdtune._native import Session
from tdtune.contextual.clock import find_place
from tdtune.contextual.logfile import LogFile
from tdtune.contextual.ranks import log_rank, world
from tdtune.contextual.stage import Stage
from tdtune.signature import check_plain


def contextual_name(fn: Callable[..., Any]) -> str:
    """Return the name of an outer function for messages; refuse what is none.

    Raises
    ------
    TypeError
        `fn` is not callable, or is asynchronous or a generator.
    """
    check_plain(fn, "the function to tune in")
    return layers.short_name(fn)


def contextual(tuner: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a tuner's function until its kernels are tuned, and once more.

    Parameters
    ----------
    tuner
        The `ContextualAutoTuner`, which is the active one.
    args, kwargs
        Of the call.
    """
    group = world(tuner.is_dist)
    base = _autotuner_class()
    if base is None:
        return tuner.fn(*args, **kwargs)
    try:
        place = find_place()
        stage = Stage(base, place)
        log = LogFile(log_rank())
        session = Session(
            place,
            name=layers.short_name(tuner.fn).replace("\0", "\\0"),
            n_warmup=tuner.n_warmup,
            n_repeat=tuner.n_repeat,
            on_log=log.write,
            on_decided=stage.decided,
            group=group,
        )
    except BaseException as error:
        if group is not None:
            group.withdraw(f"{type(error).__name__}: {error}".replace("\0", "\\0"))
        raise
    try:
        return stage.run(session, functools.partial(tuner.fn, *args, **kwargs))
    finally:
        log.close()


def _autotuner_class() -> type | None:
    """Triton's, imported now; None if there is no Triton, and so nothing to tune."""
    try:
        autotuner: type = importlib.import_module("triton.runtime.autotuner").Autotuner
    except ImportError:
        return None
    return autotuner
