# SPDX-License-Identifier: MIT
"""Text and code of all functions of a file, from the file alone: slow, but always works."""

import ast
import functools
import os
import threading
import types
from collections.abc import Iterator

from tdtune.places import Place, SourceFile, codes, dedented

_Definition = ast.FunctionDef | ast.AsyncFunctionDef
# CPython 3.11 counts the depth of a tree for all threads together, and fails where two make one.
_parsing = threading.RLock()  # a fork may come from within
os.register_at_fork(
    before=_parsing.acquire, after_in_parent=_parsing.release, after_in_child=_parsing.release
)
# Parts of a statement that hold statements, or handlers and cases which do.
_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")


def definitions(file: SourceFile) -> dict[Place, tuple[types.CodeType, str]]:
    """Return code and text of every function in a file.

    Raises
    ------
    SyntaxError, ValueError, RecursionError, MemoryError
        It cannot be compiled.
    """
    return _definitions(file.path, file.text)


@functools.lru_cache(maxsize=64)
def _definitions(path: str, source: str) -> dict[Place, tuple[types.CodeType, str]]:
    with _parsing:
        tree = ast.parse(source)
    texts = _texts(tree, source.split("\n"))
    made = codes(compile(source, path, "exec", dont_inherit=True))
    return {place: (code, texts[place]) for place, code in made if place in texts}


def _texts(tree: ast.Module, lines: list[str]) -> dict[Place, str]:
    """Return the text of each function from its def on."""
    texts: dict[Place, str] = {}
    for node in _functions_in(tree):
        first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
        text = "\n".join(lines[node.lineno - 1 : node.end_lineno])
        texts[node.name, first] = dedented(text)
    return texts


def _functions_in(node: ast.AST) -> Iterator[_Definition]:
    """Yield every function in a block of statements; expressions, which hold none, are skipped."""
    for part in _BLOCKS:
        for inner in getattr(node, part, ()):
            if isinstance(inner, _Definition):
                yield inner
            yield from _functions_in(inner)
