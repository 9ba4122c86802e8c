# SPDX-License-Identifier: MIT
"""The candidates of a kernel compiled when it is met first, by several threads."""

import copy
import logging
from typing import Any

from tdtune import _native, triton_ahead
from tdtune.contextual.launch import Job
from tdtune.triton_launches import Launch, is_plain_kernel, launch

_logger = logging.getLogger("tdtune")


def compile_configs(job: Job, configs: list[Any]) -> None:
    """Compile what a launch needs with each of its configurations; nothing is launched.

    Which arguments the kernel then gets, Triton says; hooks of the configurations are not called.
    What is not understood, or fails, is left to the launches themselves.

    Parameters
    ----------
    job
        The launch.
    configs
        Its candidates.
    """
    n_workers = _native.n_workers()
    if n_workers < 2 or not is_plain_kernel(job.kernel):
        return
    made = [found for config in configs if (found := _expect(job, config)) is not None]
    triton_ahead.compile_all(made, n_workers)


def _expect(job: Job, config: Any) -> Launch | None:
    try:
        if getattr(config, "pre_hook", None) is not None:
            config = copy.copy(config)
            config.pre_hook = None
        call = job.call_with(config)
        options = {k: v for k, v in call.kwargs.items() if k not in ("grid", "warmup")}
        return triton_ahead.without_heuristics(launch(job.kernel, call.args, options))
    except Exception as reason:
        _logger.debug("a configuration is not compiled ahead: %s", reason)
        return None
