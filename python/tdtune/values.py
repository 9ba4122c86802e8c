# SPDX-License-Identifier: MIT
"""Small questions about a value: its type's name, whether it is a tensor, what its repr hides."""

import functools
import re
import sys
from typing import Any

# "object at 0x7f..." in the default repr; some libraries write "@ 0x..." or "stream=0x7f...".
_ADDRESS = re.compile(r"(?:\bat |@ ?)0x[0-9a-fA-F]+|0x[0-9a-fA-F]{9,}")
_DOTTED = re.compile(r"[\w.<>]+")

# Types of torch whose values are a few, each with one name.
TORCH_NAMES = ("dtype", "layout", "memory_format", "qscheme")

# What array libraries put on the type of an array. NumPy's scalars have some of them too.
_ARRAY_MARKS = ("__dlpack__", "__array_interface__", "__cuda_array_interface__", "__array__")


def loaded(module: str, attribute: str) -> Any:
    """Return an attribute of a module that the process has imported already, else None."""
    return getattr(sys.modules.get(module), attribute, None)


def is_a(value: object, module: str, *attributes: str) -> bool:
    """Tell whether a value is of one of the classes of a module, without importing the module."""
    return _is_subclass(type(value), module, attributes)  # type: ignore[arg-type]


@functools.lru_cache(maxsize=1024)
def _is_subclass(cls: type, module: str, attributes: tuple[str, ...]) -> bool:
    # What holds for a class holds for good: it cannot derive from one that is loaded later.
    found = (loaded(module, name) for name in attributes)
    return any(isinstance(other, type) and issubclass(cls, other) for other in found)


def type_name(cls: type) -> str:
    """Return the full name of a class; builtins without their module."""
    module, name = str(cls.__module__), str(cls.__qualname__)
    full = name if module == "builtins" else f"{module}.{name}"
    return full if _DOTTED.fullmatch(full) else repr(full)


def is_tensor(value: object) -> bool:
    """Tell whether a value is an array: too large, and too short-lived, to describe."""
    return _is_tensor_type(type(value))  # type: ignore[arg-type]


@functools.lru_cache(maxsize=1024)
def _is_tensor_type(cls: type) -> bool:
    if _is_subclass(cls, "torch", ("Tensor",)) or _is_subclass(cls, "numpy", ("ndarray",)):
        return True
    is_scalar = _is_subclass(cls, "numpy", ("generic",))
    return not is_scalar and any(hasattr(cls, mark) for mark in _ARRAY_MARKS)


def holds_address(text: str, value: object) -> bool:
    """Tell whether a repr names a place in memory, so that it differs from process to process."""
    if _ADDRESS.search(text):
        return True
    place = id(value)
    return f"{place:x}" in text.lower() or str(place) in text


def own_repr(value: object) -> str | None:
    """Return the repr that a type defines for its values; None if it says nothing stable."""
    if type(value).__repr__ is object.__repr__:
        return None
    try:
        text = repr(value)
    except Exception:
        return None
    return None if holds_address(text, value) else text


def attributes(value: object) -> dict[str, object]:
    """Return what an object holds in its ``__dict__`` and slots, sorted by name."""
    found: dict[str, object] = {}
    for cls in type(value).__mro__:
        slots = cls.__dict__.get("__slots__", ())
        for slot in (slots,) if isinstance(slots, str) else tuple(slots):
            if slot not in ("__dict__", "__weakref__") and hasattr(value, slot):
                found[slot] = getattr(value, slot)
    found.update(getattr(value, "__dict__", {}))
    return dict(sorted(found.items()))


def is_pure_python(cls: type) -> bool:
    """Tell whether all state of a class's objects is in their attributes (no base made in C)."""
    heap_type = 1 << 9  # Py_TPFLAGS_HEAPTYPE: made by a class statement, or by a modern C module
    return all(base is object or base.__flags__ & heap_type for base in cls.__mro__)
