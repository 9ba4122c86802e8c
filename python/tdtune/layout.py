# SPDX-License-Identifier: MIT
"""Ready-made key functions: the layouts of tensors and the values of other arguments."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from tdtune import values
from tdtune._native import ByLayout

if TYPE_CHECKING:  # slow to import, and only needed when a function is decorated
    import inspect

# What `ByLayout` calls the types; see LayoutKind in its source.
_VALUE, _STRIDE, _STRIDES = range(3)


def by_layout(*names: str) -> ByLayout:
    """Make the key function that most tuned functions need, in C.

    Parameters
    ----------
    names
        Names of the function's parameters. A call may pass them by position, as keywords or not at
        all, which means their defaults; the key is the same.

    Returns
    -------
    ByLayout
        To be given to `autotune` as its ``key_fn``. Of a torch tensor or NumPy array the key holds
        what `to_hashable` returns, (shape, stride, dtype), and of every other argument its value.
        With one name that is the key, with several it is a tuple of them.

    Raises
    ------
    TypeError
        There is no name, or one that is no text; at decoration: the function has no such parameter.
    ValueError
        A name is there twice.
    """
    return ByLayout(*names)


def bind(
    key_fn: Callable[..., object],
    signature: "inspect.Signature | None",
    fields: Iterable[str],
    function: str,
) -> Callable[..., object]:
    """Tell a `ByLayout` whose arguments it names; all other key functions are left alone.

    Parameters
    ----------
    key_fn
        The key function.
    signature, function
        Of the function to tune, and its name; None if it has no signature.
    fields
        Of the configurations; a key function does not get them.

    Raises
    ------
    TypeError
        A name is none of the function's parameters, or one that the configurations set.
    """
    if not isinstance(key_fn, ByLayout):
        return key_fn
    if signature is None:
        raise TypeError(f"{key_fn!r}: the parameters of {function} are not known")
    names = [f"'{name}'" for name in key_fn.names if not _has(signature, name)]
    if names:
        raise TypeError(f"{key_fn!r}: {function}{signature} has no parameter {', '.join(names)}")
    names = [f"'{name}'" for name in key_fn.names if name in set(fields)]
    if names:
        raise TypeError(
            f"{key_fn!r}: {', '.join(names)} of {function} is for the candidates to set"
        )
    places = tuple(_place(signature, name) for name in key_fn.names)
    return key_fn.bind(function, places, kind_of)


def kind_of(cls: type) -> int:
    """Say whether, and how, the values of a type tell their layout."""
    scalar = values.loaded("numpy", "generic")  # which has the attributes of an array
    if scalar is not None and issubclass(cls, scalar):
        return _VALUE
    if not (hasattr(cls, "shape") and hasattr(cls, "dtype")):
        return _VALUE
    if callable(getattr(cls, "stride", None)):
        return _STRIDE
    return _STRIDES if hasattr(cls, "strides") else _VALUE


def _has(signature: "inspect.Signature", name: str) -> bool:
    parameter = signature.parameters.get(name)
    if parameter is None:
        return any(p.kind is p.VAR_KEYWORD for p in signature.parameters.values())
    return parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)


def _place(signature: "inspect.Signature", name: str) -> tuple[Any, ...]:
    """Say where a call has an argument: what `ByLayout.bind` wants."""
    parameter = signature.parameters.get(name)
    if parameter is None:  # one of **kwargs
        return (-1, True)
    by_position = parameter.kind is not parameter.KEYWORD_ONLY
    position = list(signature.parameters).index(name) if by_position else -1
    place = (position, parameter.kind is not parameter.POSITIONAL_ONLY)
    return place if parameter.default is parameter.empty else (*place, parameter.default)
