# SPDX-License-Identifier: MIT
"""Kernels of Triton tuned where an outer function launches them."""

from tdtune._native import ContextualAutoTuner
from tdtune.decorator import Decorator, decorator

__all__ = ["ContextualAutoTuner", "contextual_autotune"]


def contextual_autotune(
    is_dist: bool = False, n_repeat: int = 5, n_warmup: int = 3
) -> Decorator[ContextualAutoTuner]:
    """Decorate a function so that the kernels inside it are tuned where it launches them.

    The function is called again and again, and each call runs one candidate of every kernel with
    ``triton.autotune`` that has no configuration for its key yet. When all are measured it is
    called once more with the winners, and what that call returns is the result. So it must be
    possible to call it several times with the same arguments; see ``docs/contextual.md``.

    Parameters
    ----------
    is_dist
        Whether a candidate's time is the greatest over all ranks of ``torch.distributed``. All of
        them must then call the function alike.
    n_repeat, n_warmup
        Timed runs of each candidate, and runs of each before those.

    Returns
    -------
    callable
        A decorator that turns a function into a `ContextualAutoTuner`, which is called like it.
        Static and class methods stay what they are.

    Raises
    ------
    TypeError, ValueError
        At decoration: a parameter is of the wrong type or out of bounds, or the function is
        asynchronous or a generator.
    RuntimeError
        From a call: no candidate of a kernel works (``cannot find valid config``); the function
        stopped reaching a kernel before it was measured; another contextual tuner is active; or
        `is_dist` without an initialised ``torch.distributed``.
    """

    if callable(is_dist):
        raise TypeError("write @contextual_autotune(), with parentheses")
    return decorator(lambda fn: ContextualAutoTuner(fn, is_dist, n_repeat, n_warmup))
