# SPDX-License-Identifier: MIT
"""Functions in a file of source text, by the place where they start."""

import os
import re
import types
from collections.abc import Iterator
from typing import NamedTuple

# Where a function starts in its file: name and line of its first decorator, or of its def.
Place = tuple[str, int]

_BLANK_LINES = re.compile(r"\n[ \t]+(?![^\n])")


class SourceFile(NamedTuple):
    """A file of Python code as it is on disk now, and as Python itself compiled it.

    Attributes
    ----------
    path
        Its name.
    text
        What is in it; lines end in a line feed.
    compiled
        The code of its functions; empty where Python keeps no copy, or an older one.
    """

    path: str
    text: str
    compiled: dict[Place, types.CodeType]


def codes(code: types.CodeType) -> Iterator[tuple[Place, types.CodeType]]:
    """Yield all code objects inside one, with their places."""
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield (constant.co_name, constant.co_firstlineno), constant
            yield from codes(constant)


def dedented(text: str) -> str:
    """Return text without what all its lines begin with, as `textwrap.dedent` would."""
    if text[:1] not in (" ", "\t"):
        return _BLANK_LINES.sub("\n", text)
    lines = [line if line.strip(" \t") else "" for line in text.split("\n")]
    indents = [line[: len(line) - len(line.lstrip(" \t"))] for line in lines if line]
    n = len(os.path.commonprefix(indents))  # noqa: RUF071
    return "\n".join([line[n:] for line in lines] if n else lines)
