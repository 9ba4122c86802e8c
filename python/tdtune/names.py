# SPDX-License-Identifier: MIT
"""The names that a function's code looks up outside itself."""

import functools
import opcode
import sys
import types
from collections.abc import Iterator

from tdtune import _native

# ("helper",) for a global, ("module", "helper") for an attribute of one.
Chain = tuple[str, ...]

# What `_native.look_ups` calls the operations that matter; all others are a dot.
_LETTERS = {
    "g": ("LOAD_GLOBAL", "LOAD_NAME"),
    "c": ("LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF"),
    "a": ("LOAD_ATTR", "LOAD_METHOD"),
    "s": ("STORE_GLOBAL", "DELETE_GLOBAL"),
    "e": ("EXTENDED_ARG",),
    "-": ("CACHE", "PRECALL", "PUSH_NULL"),
}
# Since these versions the lowest bit of the number says something else: an upper case letter.
_SHIFTED_SINCE = {"LOAD_GLOBAL": (3, 11), "LOAD_ATTR": (3, 12)}
_CLOSURE, _STORE = ord("c"), ord("s")


def _letter_table() -> bytes:
    table = bytearray(b"." * 256)
    for letter, names in _LETTERS.items():
        for name in names:
            number = opcode.opmap.get(name, 256)
            if number < 256:  # the others are the compiler's own, and in no code
                shifted = sys.version_info >= _SHIFTED_SINCE.get(name, (4,))
                table[number] = ord(letter.upper() if shifted else letter)
    return bytes(table)


_TABLE = _letter_table()


@functools.lru_cache(maxsize=1024)
def outer_names(code: types.CodeType) -> tuple[Chain, ...]:
    """Return what the code and the functions inside it look up by name, sorted.

    Names that the code itself assigns as globals are left out: they are state, not definition.
    """
    written: set[str] = set()
    chains: set[Chain] = set()
    free = frozenset(code.co_freevars)
    for nested in _with_nested(code):
        chains.update(_chains(nested, free, written))
    return tuple(sorted(chain for chain in chains if chain[0] not in written))


def _with_nested(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _with_nested(constant)


def _chains(code: types.CodeType, free: frozenset[str], written: set[str]) -> Iterator[Chain]:
    """Yield the chains of one code object; of its free variables only those in `free`."""
    names = code.co_names
    for kind, number, *attributes in _native.look_ups(code.co_code, _TABLE):
        if kind == _STORE:
            written.add(names[number])
        elif kind != _CLOSURE:
            yield (names[number], *[names[i] for i in attributes])
        elif (root := _variable(code, number)) in free:
            yield (root, *[names[i] for i in attributes])


def _variable(code: types.CodeType, number: int) -> str:
    if sys.version_info >= (3, 11):
        name: str = code._varname_from_oparg(number)  # type: ignore[attr-defined]
        return name
    return (*code.co_cellvars, *code.co_freevars)[number]
