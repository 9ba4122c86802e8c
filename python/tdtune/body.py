# SPDX-License-Identifier: MIT
"""What a Python function does, as text: its source where that is sure, else its code.

The source text is preferred because it is the same under every version of Python. It is used only
where the file on disk, compiled anew, gives exactly the code that runs here: not for a file edited
since it was imported, not for exec, REPL and notebook cells (whose files do not exist), and not for
lambdas (of which a line may hold several). Otherwise bytecode, constants and names take its place,
without anything that tells where they came from: file names, line numbers, addresses.
"""

import ast
import functools
import os
import textwrap
import threading
import tokenize
import types
from collections.abc import Iterator

from tdtune.forms import int_text

_Definition = ast.FunctionDef | ast.AsyncFunctionDef
# CPython 3.11 counts the depth of a tree for all threads together, and fails where two make one.
_parsing = threading.Lock()
os.register_at_fork(
    before=_parsing.acquire, after_in_parent=_parsing.release, after_in_child=_parsing.release
)
# Parts of a statement that hold statements, or handlers and cases which do.
_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")
# Where a function starts in its file: name and line of its first decorator, or of its def.
_Place = tuple[str, int]


def body_text(function: types.FunctionType) -> str:
    """Return what the function does, without its decorators, defaults' values and closure."""
    text = _source_text(function.__code__)
    return f"source {text}" if text is not None else f"code {code_text(function.__code__)}"


def code_text(code: types.CodeType) -> str:
    """Return bytecode, constants and names of a code object, the same in every process."""
    return repr(
        (
            code.co_name,
            (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags),
            code.co_code.hex(),
            getattr(code, "co_exceptiontable", b"").hex(),
            [_constant_text(constant) for constant in code.co_consts],
            code.co_names,
            code.co_varnames,
            code.co_freevars,
            code.co_cellvars,
        )
    )


def _constant_text(value: object) -> str:
    if isinstance(value, types.CodeType):
        return code_text(value)
    if isinstance(value, tuple):
        return f"tuple {[_constant_text(item) for item in value]}"
    if isinstance(value, frozenset):
        return f"frozenset {sorted(_constant_text(item) for item in value)}"
    return int_text(value) if type(value) is int else repr(value)


def _source_text(code: types.CodeType) -> str | None:
    if code.co_name == "<lambda>":
        return None
    try:
        status = os.stat(code.co_filename)
        definitions = _definitions(code.co_filename, status.st_mtime_ns, status.st_size)
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    known = definitions.get((code.co_name, code.co_firstlineno))
    if known is None or code_text(known[0]) != code_text(code):
        return None
    return known[1]


@functools.lru_cache(maxsize=64)
def _definitions(path: str, _mtime_ns: int, _size: int) -> dict[_Place, tuple[types.CodeType, str]]:
    """Return code and text of every function in a file, as the file is now."""
    with tokenize.open(path) as file:
        source = file.read()
    with _parsing:
        tree = ast.parse(source)
    texts = _texts(tree, source.split("\n"))
    codes = _codes(compile(source, path, "exec", dont_inherit=True))
    return {place: (code, texts[place]) for place, code in codes if place in texts}


def _texts(tree: ast.Module, lines: list[str]) -> dict[_Place, str]:
    """Return the text of each function from its def on.

    Decorators are left out: they hold the candidates themselves, and adding one to the list must
    not make all results of the others unknown.
    """
    texts: dict[_Place, str] = {}
    for node in _functions_in(tree):
        first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
        text = "\n".join(lines[node.lineno - 1 : node.end_lineno])
        texts[node.name, first] = textwrap.dedent(text)
    return texts


def _functions_in(node: ast.AST) -> Iterator[_Definition]:
    """Yield every function in a block of statements; expressions, which hold none, are skipped."""
    for part in _BLOCKS:
        for inner in getattr(node, part, ()):
            if isinstance(inner, _Definition):
                yield inner
            yield from _functions_in(inner)


def _codes(code: types.CodeType) -> Iterator[tuple[_Place, types.CodeType]]:
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield (constant.co_name, constant.co_firstlineno), constant
            yield from _codes(constant)
