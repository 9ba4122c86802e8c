# SPDX-License-Identifier: MIT
"""The names that a function's code looks up outside itself."""

import dis
import types
from collections.abc import Iterator

# ("helper",) for a global, ("module", "helper") for an attribute of one.
Chain = tuple[str, ...]

_GLOBALS = {"LOAD_GLOBAL", "LOAD_NAME"}
_CLOSURE = {"LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF"}
_ATTRIBUTES = {"LOAD_ATTR", "LOAD_METHOD"}
_SILENT = {"EXTENDED_ARG", "CACHE", "PRECALL", "PUSH_NULL"}


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
    chain: Chain = ()
    for step in dis.get_instructions(code):
        if step.opname in _SILENT:
            continue
        if step.opname in _ATTRIBUTES and chain:
            chain = (*chain, str(step.argval))
            continue
        if chain:
            yield chain
        if step.opname in ("STORE_GLOBAL", "DELETE_GLOBAL"):
            written.add(str(step.argval))
        is_root = step.opname in _GLOBALS or (step.opname in _CLOSURE and step.argval in free)
        chain = (str(step.argval),) if is_root else ()
    if chain:
        yield chain
