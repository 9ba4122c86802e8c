# SPDX-License-Identifier: MIT
"""Where messages go: warnings to the log, information to standard output if it was asked for."""

import logging
import sys

DEBUG, INFO, WARNING = 0, 1, 2

_logger = logging.getLogger("tdtune")
# It remembers the answer until a level is set; not in the first call, whose time is counted.
_logger.isEnabledFor(logging.DEBUG)


def emit(level: int, message: str, verbose: bool) -> None:
    """Pass a message on. Never fails: telling must not break what it tells about.

    Parameters
    ----------
    level
        0 for debugging, 1 for information, 2 for a warning.
    message
        One or more lines.
    verbose
        Whether information goes to standard output; otherwise it is for the debug log.
    """
    try:
        if level >= WARNING:
            _logger.warning("%s", message)
        elif level == INFO and verbose:
            print(f"tdtune: {message}", file=sys.stdout, flush=True)
        else:
            _logger.debug("%s", message)
    except Exception:  # a closed or strange stream
        return
