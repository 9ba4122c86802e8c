# SPDX-License-Identifier: MIT
"""The source text of running code, given only where it is proved that this code comes from it.

There are three proofs, the quickest first; all say that the text, compiled, gives this very code:

- Python's own compiled copy of the file (``__pycache__``), if it was made from the file as it is
  now, holds the code at that place.
- The text of the function alone, compiled, gives the code.
- The whole file, compiled, gives the code; see `reparse`.
"""

import functools
import io
import marshal
import os
import tokenize
import types
import weakref
from collections.abc import Callable, Iterator
from importlib.util import MAGIC_NUMBER, cache_from_source

from tdtune import _native
from tdtune.places import Place, SourceFile, codes, dedented

CodeText = Callable[[types.CodeType], str]

# What the future statements of a file change in all code of it (CO_FUTURE_... of CPython).
_FUTURE = 0x1FE0000
_HEADER_BYTES = 16
# What was proved stays so, even if the file is edited: by the code's id, as long as there is one.
_proved: dict[int, tuple[weakref.ref[types.CodeType], str]] = {}


def source_text(code: types.CodeType, code_text: CodeText) -> str | None:
    """Return the text from which code was compiled, from its def on; None where that is not sure.

    Not sure are files edited since they were imported, code of exec, REPL and notebook cells (whose
    files do not exist), and lambdas (of which a line may hold several).

    Parameters
    ----------
    code
        Of a function.
    code_text
        Tells codes apart.
    """
    known = _proved.get(id(code))
    if known is not None and known[0]() is code:
        return known[1]
    if code.co_name == "<lambda>":
        return None
    try:
        file = _file(code.co_filename)
        found = _definition(file, code, code_text) or _by_parsing(file, code, code_text)
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    if found is not None:
        _remember(code, found)
    return found


def _remember(code: types.CodeType, text: str) -> None:
    key = id(code)
    _proved[key] = (weakref.ref(code, lambda _: _proved.pop(key, None)), text)


def same(one: types.CodeType, other: types.CodeType, code_text: CodeText) -> bool:
    """Tell whether two codes do the same."""
    return one == other or code_text(one) == code_text(other)


def _file(path: str) -> SourceFile:
    status = os.stat(path)
    return _file_as_of(path, status.st_mtime_ns, status.st_size)


@functools.lru_cache(maxsize=64)
def _file_as_of(path: str, mtime_ns: int, size: int) -> SourceFile:
    return SourceFile(path, _read(path), dict(_compiled(path, mtime_ns, size)))


def _read(path: str) -> str:
    with open(path, "rb", buffering=0) as file:
        raw = file.readall()
    try:
        text = raw.decode(_encoding(raw))
    except LookupError as error:
        raise SyntaxError(str(error)) from None
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _encoding(raw: bytes) -> str:
    # Only the first two lines can name it, or a mark before them.
    if raw[:1] != b"\xef" and b"coding" not in raw[: raw.find(b"\n", raw.find(b"\n") + 1)]:
        return "utf-8"
    return tokenize.detect_encoding(io.BytesIO(raw).readline)[0]


def _compiled(path: str, mtime_ns: int, size: int) -> Iterator[tuple[Place, types.CodeType]]:
    """Yield the codes that Python keeps of a file, if they were made from the file as it is."""
    try:
        with open(cache_from_source(path), "rb", buffering=0) as file:
            # A file edited twice in one second, without growing, shows only here.
            older = os.fstat(file.fileno()).st_mtime_ns <= mtime_ns
            content = file.readall()
        seconds, length = mtime_ns // 10**9 & 0xFFFFFFFF, size & 0xFFFFFFFF
        stamp = seconds.to_bytes(4, "little") + length.to_bytes(4, "little")
        if older or content[:_HEADER_BYTES] != MAGIC_NUMBER + bytes(4) + stamp:
            return
        module = marshal.loads(memoryview(content)[_HEADER_BYTES:])
    except (OSError, ValueError, EOFError, TypeError, NotImplementedError):
        return
    if isinstance(module, types.CodeType):
        yield from codes(module)


def _definition(file: SourceFile, code: types.CodeType, code_text: CodeText) -> str | None:
    """Return the text where one of the two quick proofs works."""
    found = _native.definition(file.text, code.co_firstlineno)
    if found is None or found[0] != code.co_name:
        return None
    text = dedented(found[1])
    compiled = file.compiled.get((code.co_name, code.co_firstlineno))
    if compiled is not None and same(compiled, code, code_text):
        return text
    return text if _compiles_to(text, code, code_text) else None


def _compiles_to(text: str, code: types.CodeType, code_text: CodeText) -> bool:
    """Tell whether a function's text alone gives its code; it does not inside others or classes."""
    if code.co_freevars or not text.startswith(("def", "async")):
        return False
    try:
        flags = code.co_flags & _FUTURE
        module = compile(text, code.co_filename, "exec", flags=flags, dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    return any(
        isinstance(constant, types.CodeType) and same(constant, code, code_text)
        for constant in module.co_consts
    )


def _by_parsing(file: SourceFile, code: types.CodeType, code_text: CodeText) -> str | None:
    from tdtune import reparse  # rarely needed

    known = reparse.definitions(file).get((code.co_name, code.co_firstlineno))
    return known[1] if known is not None and same(known[0], code, code_text) else None
