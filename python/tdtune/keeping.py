# SPDX-License-Identifier: MIT
"""What happens around the runs of a candidate: arguments that are put back before each."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from tdtune import layers
from tdtune.signature import check_plain
from tdtune.values import type_name

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def around(
    fn: Callable[..., Any],
    candidates: tuple[dict[str, object], ...],
    check_fn: Callable[..., object] | None,
    reset_to_zero: Iterable[str] | None,
    restore_value: Iterable[str] | None,
) -> "Keep | None":
    """Check what is to happen around the runs of a candidate.

    Parameters
    ----------
    fn
        The function to tune.
    candidates
        Its configurations, whose fields are no arguments of a call.
    check_fn
        What tells whether a result is right; may be None.
    reset_to_zero, restore_value
        Names of arguments; None means none.

    Returns
    -------
    Keep or None
        What puts arguments back; None if there are none.

    Raises
    ------
    TypeError
        `check_fn` is no plain function; a list of names is none, or names what the function has no
        parameter for, a configuration field, or one argument twice.
    """
    name = layers.short_name(fn)
    if check_fn is not None:
        check_plain(check_fn, f"check_fn of {name}")
    zero = _read_names(reset_to_zero, f"reset_to_zero of {name}")
    restore = _read_names(restore_value, f"restore_value of {name}")
    for one in zero:
        if one in restore:
            raise TypeError(f"{name}: {one!r} is in reset_to_zero and in restore_value")
    if not zero and not restore:
        return None
    fields = {field for candidate in candidates for field in candidate}
    positions = _find_positions(fn, (*zero, *restore), fields, name)
    return Keep(name, zero, restore, positions)


def _read_names(names: Iterable[str] | None, what: str) -> tuple[str, ...]:
    if names is None:
        return ()
    if isinstance(names, (str, bytes)) or not isinstance(names, Iterable):
        raise TypeError(f"{what} must be a list of names, but is of type {type_name(type(names))}")
    found = tuple(names)
    for one in found:
        if not isinstance(one, str):
            raise TypeError(f"{what} names arguments, but has an item of {type_name(type(one))}")
    return found


def _find_positions(
    fn: Callable[..., Any], names: tuple[str, ...], fields: set[str], name: str
) -> dict[str, int]:
    """Return where arguments are if they are passed by position."""
    for one in names:
        if one in fields:
            raise TypeError(f"{name}: {one!r} is a configuration field, which cannot be put back")
    try:
        signature = inspect.signature(fn)
    except (ValueError, TypeError):  # many builtins have none
        return {}
    parameters = signature.parameters
    takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    variable = {p.name for p in parameters.values() if p.kind in (p.VAR_KEYWORD, p.VAR_POSITIONAL)}
    unknown = [one for one in names if one in variable or not (takes_any or one in parameters)]
    if unknown:
        raise TypeError(
            f"there is nothing to put back for {', '.join(map(repr, unknown))}: {name}{signature} "
            "has no such parameter"
        )
    positional = [p.name for p in parameters.values() if p.kind in _POSITIONAL]
    return {one: positional.index(one) for one in names if one in positional}


class Keep(NamedTuple):
    """Which arguments of a function are put back before each run.

    Attributes
    ----------
    name
        Of the function.
    zero, restore
        Names of those that are set to zero, and to what they held.
    positions
        Where they are in a call that passes them by position.
    """

    name: str
    zero: tuple[str, ...]
    restore: tuple[str, ...]
    positions: Mapping[str, int]

    def begin(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> "Kept":
        """Return what puts the arguments of one call back, as they are now.

        Raises
        ------
        TypeError
            An argument is neither a tensor nor an array.
        """
        zeroed = [
            _writable(self.name, one, value) for one, value in self._find(self.zero, args, kwargs)
        ]
        restored = [
            _writable(self.name, one, value)
            for one, value in self._find(self.restore, args, kwargs)
        ]
        return Kept(zeroed, [(value, value.copy()) for value in restored])

    def _find(
        self, names: tuple[str, ...], args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> list[tuple[str, Any]]:
        """Return the arguments that are there and not None."""
        found = []
        for one in names:
            position = self.positions.get(one, len(args))
            value = args[position] if position < len(args) else kwargs.get(one)
            if value is not None:
                found.append((one, value))
        return found


class Kept:
    """The arguments of one call; those of torch are written on the current stream."""

    def __init__(
        self, zeroed: "list[_Tensor | _Array]", restored: "list[tuple[_Tensor | _Array, Any]]"
    ) -> None:
        self._zeroed = zeroed
        self._restored = restored

    def put_back(self) -> None:
        """Write them; for a device with a stream this is queued."""
        for value in self._zeroed:
            value.write(0)
        for value, held in self._restored:
            value.write(held)


class _Tensor:
    """A tensor of torch, apart from the graph of gradients."""

    def __init__(self, tensor: Any) -> None:
        self._tensor = tensor.detach()

    def copy(self) -> Any:
        return self._tensor.clone()

    def write(self, value: Any) -> None:
        if isinstance(value, int):
            self._tensor.zero_()
        else:
            self._tensor.copy_(value)


class _Array:
    """An array of NumPy, or of a library that follows it."""

    def __init__(self, array: Any) -> None:
        self._array = array

    def copy(self) -> Any:
        return self._array.copy()

    def write(self, value: Any) -> None:
        self._array[...] = value


def _writable(function: str, name: str, value: Any) -> "_Tensor | _Array":
    if hasattr(value, "zero_") and hasattr(value, "copy_") and hasattr(value, "detach"):
        return _Tensor(value)
    if hasattr(value, "dtype") and hasattr(value, "copy") and hasattr(value, "__setitem__"):
        return _Array(value)
    raise TypeError(
        f"{function}: the argument {name!r} is to be put back before each run, but is neither a "
        f"tensor nor an array: {type_name(type(value))}"
    )
