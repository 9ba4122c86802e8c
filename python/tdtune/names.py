# SPDX-License-Identifier: MIT
"""The names that a function's code looks up outside itself.

Bytecode is searched as text: of its units every first byte is what to do and every second byte a
number. What to do becomes a letter, and a pattern of letters finds each look-up together with the
attributes that follow it.
"""

import opcode
import re
import sys
import types
from collections.abc import Iterator

# ("helper",) for a global, ("module", "helper") for an attribute of one.
Chain = tuple[str, ...]

# Letters, each with the operations that it stands for; all others become a dot.
_LETTERS = {
    "g": ("LOAD_GLOBAL", "LOAD_NAME"),
    "c": ("LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF"),
    "a": ("LOAD_ATTR", "LOAD_METHOD"),
    "s": ("STORE_GLOBAL", "DELETE_GLOBAL"),
    # Between a look-up and its attribute; nothing of their own.
    "e": ("EXTENDED_ARG",),
    "-": ("CACHE", "PRECALL", "PUSH_NULL"),
}
_LOOK_UP = re.compile("[gcs](?:[e-]*a)*")
# Since these versions the lowest bit of the number says something else.
_SHIFTED_SINCE = {"LOAD_GLOBAL": (3, 11), "LOAD_ATTR": (3, 12)}
_SHIFTED = frozenset(
    opcode.opmap[name] for name, since in _SHIFTED_SINCE.items() if sys.version_info >= since
)


def _letter_table() -> bytes:
    """Return the letter of each operation."""
    table = bytearray(b"." * 256)
    for letter, names in _LETTERS.items():
        for name in names:
            number = opcode.opmap.get(name, 256)
            if number < 256:  # the others are the compiler's own, and in no code
                table[number] = ord(letter)
    return bytes(table)


_TABLE = _letter_table()


def _variable(code: types.CodeType, number: int) -> str:
    if sys.version_info >= (3, 11):
        name: str = code._varname_from_oparg(number)  # type: ignore[attr-defined]
        return name
    return (*code.co_cellvars, *code.co_freevars)[number]


def outer_names(code: types.CodeType) -> list[Chain]:
    """Return what the code and the functions inside it look up by name, sorted.

    Names that the code itself assigns as globals are left out: they are state, not definition.
    """
    written: set[str] = set()
    chains: set[Chain] = set()
    free = frozenset(code.co_freevars)
    for nested in _with_nested(code):
        chains.update(_chains(nested, free, written))
    return sorted(chain for chain in chains if chain[0] not in written)


def _with_nested(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _with_nested(constant)


def _chains(code: types.CodeType, free: frozenset[str], written: set[str]) -> Iterator[Chain]:
    """Yield the chains of one code object; of its free variables only those in `free`."""
    raw = code.co_code
    operations, arguments = raw[::2], raw[1::2]
    letters = operations.translate(_TABLE).decode("ascii")

    def name(i: int) -> str:
        number = arguments[i]
        if letters[i - 1] == "e":
            number |= _extension(letters, arguments, i)
        if letters[i] == "c":
            return _variable(code, number)
        return code.co_names[number >> 1 if operations[i] in _SHIFTED else number]

    for found in _LOOK_UP.finditer(letters):
        start, end = found.span()
        root = name(start)
        if letters[start] == "s":
            written.add(root)
        elif letters[start] == "g" or root in free:
            yield (root, *[name(i) for i in range(start + 1, end) if letters[i] == "a"])


def _extension(letters: str, arguments: bytes, i: int) -> int:
    """Return what units before unit `i` add to its number: the upper bytes."""
    number, place = 0, 8
    while i > 0 and letters[i - 1] == "e":
        i -= 1
        number |= arguments[i] << place
        place += 8
    return number
