# SPDX-License-Identifier: MIT
"""What a callable is made of: wrappers, partials, methods and kernels around a plain function."""

import functools
import types
from collections.abc import Callable
from typing import Any, NamedTuple

from tdtune.values import type_name

FUNCTION_TYPES = (types.FunctionType, types.MethodType, types.BuiltinFunctionType)
_MAX_LAYERS = 100  # a chain of __wrapped__ may be a ring


def _get(value: object, name: str) -> Any:
    """Return an attribute, None where asking for it fails in any way."""
    try:
        return getattr(value, name, None)
    except Exception:
        return None


def kernel_function(value: object) -> Callable[..., Any] | None:
    """Return the Python function inside a Triton kernel (or Triton's tuner around one)."""
    if isinstance(value, (type, types.ModuleType, *FUNCTION_TYPES)):
        return None
    function: Callable[..., Any] | None = _get(value, "fn")
    if not callable(function):
        return None
    root = str(type(value).__module__).partition(".")[0]
    launches = hasattr(type(value), "__getitem__")  # kernel[grid](...)
    if root == "triton" or (launches and isinstance(_get(value, "src"), str)):
        return function
    return None


def next_layer(value: object) -> Callable[..., Any] | None:
    """Return what lies directly inside a callable; None for a plain function and all else."""
    if type(value) is types.FunctionType:
        wrapped = value.__dict__.get("__wrapped__")
        return wrapped if callable(wrapped) else None
    if isinstance(value, functools.partial):
        return value.func
    if isinstance(value, types.MethodType):
        return value.__func__
    if isinstance(value, (type, types.ModuleType, types.BuiltinFunctionType)):
        return None
    wrapped = _get(value, "__wrapped__")
    return wrapped if callable(wrapped) else kernel_function(value)


def layers(value: object) -> list[object]:
    """Return the callable and all that lies inside it, outermost first."""
    found = [value]
    if type(value) is types.FunctionType and not value.__dict__:
        return found
    while len(found) < _MAX_LAYERS:
        inner = next_layer(found[-1])
        if inner is None or any(inner is known for known in found):
            break
        found.append(inner)
    return found


def is_function_like(value: object) -> bool:
    """Tell whether a value stands for a function rather than for data."""
    return isinstance(value, FUNCTION_TYPES) or (
        not isinstance(value, functools.partial) and next_layer(value) is not None
    )


def call_of(value: object) -> types.FunctionType | None:
    """Return the plain function that runs when the value is called, if it is written in Python."""
    if isinstance(value, types.FunctionType):
        return value
    call = type(value).__call__ if callable(value) else None
    return call if isinstance(call, types.FunctionType) else None


class About(NamedTuple):
    """What a callable is and where it comes from.

    Attributes
    ----------
    layers
        The callable and all that lies inside it, outermost first.
    module
        The module that it (or a callable object's class) was defined in.
    qualified
        Its full name within the module.
    dotted
        Module and full name.
    """

    layers: list[object]
    module: str
    qualified: str
    dotted: str


def about(value: object) -> About:
    """Return all about one callable; quicker than asking for one thing after the other."""
    found = layers(value)
    module, qualified = _module_of(found[-1]), _name_of(found[-1])
    if isinstance(value, type):
        return About(found, module, qualified, type_name(value))
    return About(found, module, qualified, f"{module}.{qualified}" if module else qualified)


def module_name(value: object) -> str:
    """Return the module that a callable (or a callable object's class) was defined in."""
    return _module_of(layers(value)[-1])


def _module_of(innermost: object) -> str:
    module = getattr(innermost, "__module__", None)
    return module if isinstance(module, str) else ""


def qualified_name(value: object) -> str:
    """Return the full name of a callable within its module."""
    return _name_of(layers(value)[-1])


def _name_of(innermost: object) -> str:
    for name in ("__qualname__", "__name__"):
        found = getattr(innermost, name, None)
        if isinstance(found, str) and found:
            return found
    return type(innermost).__qualname__


def short_name(value: object) -> str:
    """Return the name of a callable that messages and folders use."""
    found = getattr(layers(value)[-1], "__name__", None)
    return found if isinstance(found, str) and found else type(value).__name__


def dotted_name(value: object) -> str:
    """Return module and full name of a callable."""
    return about(value).dotted
