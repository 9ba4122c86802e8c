# SPDX-License-Identifier: MIT
"""Checks, at decoration, that a function and its candidates fit together."""

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from tdtune import layers, layout
from tdtune.body import body_text
from tdtune.describe import describe_config
from tdtune.names import outer_names
from tdtune.values import type_name

# More positional arguments than a call can have.
NEVER = 2**31 - 1
# What a call itself understands; see `AutoTuner.__call__`.
CONTROLS = ("autotune", "autotune_verbose", "autotune_allow_arg_overwrite", "autotune_pg")

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_BY_NAME = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class Blueprint(NamedTuple):
    """What a tuner is built from.

    Attributes
    ----------
    fn
        The callable to run.
    key_fn
        What makes the business key; it knows the function's parameters if it names any.
    candidates
        Copies of the caller's dicts; their values are the caller's own objects.
    configs
        For each candidate its description, the text of a JSON object.
    name
        Of the function, for messages and the folder of the records.
    n_positional_free
        How many positional arguments a call can pass before one lands on a configuration field.
    positional_names
        Names of the parameters that can be passed by position, in order.
    """

    fn: Callable[..., Any]
    key_fn: Callable[..., object]
    candidates: tuple[dict[str, object], ...]
    configs: tuple[str, ...]
    name: str
    n_positional_free: int
    positional_names: tuple[str, ...]


def blueprint(
    fn: Callable[..., Any],
    config_space: Iterable[dict[str, object]],
    key_fn: Callable[..., object],
    prune_fn: Callable[..., object] | None = None,
) -> Blueprint:
    """Check what a tuner is made of.

    Parameters
    ----------
    fn
        The function to tune.
    config_space
        The candidates; any iterable, read once.
    key_fn, prune_fn
        The business key and the pruning rule; the latter may be None.

    Raises
    ------
    TypeError
        `fn`, `key_fn` or `prune_fn` is not callable or is asynchronous or a generator; an item of
        `config_space` is no dict; a field is no identifier, cannot be passed to `fn`, or has a
        value that cannot be described.
    ValueError
        `config_space` is empty.

    See `layout.bind` for what `by_layout` raises.
    """
    check_plain(fn, "the function to tune")
    name = layers.short_name(fn)
    check_plain(key_fn, f"key_fn of {name}")
    if prune_fn is not None:
        check_plain(prune_fn, f"prune_fn of {name}")
    candidates = read_space(config_space, name)
    _read_ahead(fn)
    signature = _signature(fn)
    if signature is not None:
        _check_fields(fn, signature, candidates, name)
    names = _positional(signature)
    return Blueprint(
        fn,
        layout.bind(key_fn, signature, {field for c in candidates for field in c}, name),
        candidates,
        tuple(describe_config(c, f"config_space[{i}]") for i, c in enumerate(candidates)),
        name,
        _n_positional_free(signature, names, candidates),
        names,
    )


def _read_ahead(fn: Callable[..., Any]) -> None:
    """Find out what a function's code says, which is remembered: the first call need not wait."""
    function = layers.call_of(layers.layers(fn)[-1])
    if function is not None:
        body_text(function)
        outer_names(function.__code__)


def check_plain(function: object, what: str) -> None:
    """Refuse what is not callable, or does not do its work when it is called."""
    if not callable(function):
        raise TypeError(f"{what} must be callable, but is of type {type_name(type(function))}")
    for layer in layers.layers(function):
        kind = _kind(layer) or _kind(layers.call_of(layer))
        if kind is not None:
            raise TypeError(
                f"{what}, {layers.dotted_name(function)}, is {kind}: a call of it returns before "
                "the work is done. Tune a plain function; if this is one that runs such a "
                "function to its end, delete its __wrapped__"
            )


def _kind(function: object) -> str | None:
    if isinstance(function, functools.partial):
        return None  # what it calls is the next layer
    if inspect.iscoroutinefunction(function):
        return "a coroutine function (async def)"
    if inspect.isasyncgenfunction(function):
        return "an asynchronous generator function"
    if inspect.isgeneratorfunction(function):
        return "a generator function"
    return None


def read_space(config_space: Iterable[dict[str, object]], name: str) -> tuple[dict[str, Any], ...]:
    """Return copies of the candidates; raise if they are not what a space is made of."""
    if isinstance(config_space, (str, bytes, dict)) or not isinstance(config_space, Iterable):
        raise TypeError(
            f"config_space of {name} must be a list of dicts, "
            f"but is of type {type_name(type(config_space))}"
        )
    candidates: list[dict[str, Any]] = []
    for index, item in enumerate(config_space):
        if not isinstance(item, dict):
            kind = type_name(type(item))
            raise TypeError(f"config_space[{index}] of {name} must be a dict, but is a {kind}")
        for field in item:
            if not isinstance(field, str) or not field.isidentifier():
                raise TypeError(
                    f"config_space[{index}] of {name} has the field {field!r}, "
                    "which is no identifier and cannot be a keyword argument"
                )
            if field in CONTROLS:
                raise TypeError(
                    f"config_space[{index}] of {name} has the field {field!r}, "
                    "which is a parameter of the tuner's own; give it another name"
                )
        candidates.append(dict(item))
    if not candidates:
        raise ValueError(f"config_space of {name} is empty: it needs at least one configuration")
    return tuple(candidates)


def _signature(fn: Callable[..., Any]) -> inspect.Signature | None:
    try:
        return inspect.signature(fn)
    except (ValueError, TypeError):  # many builtins have none
        return None


def _check_fields(
    fn: Callable[..., Any],
    signature: inspect.Signature,
    candidates: tuple[dict[str, Any], ...],
    name: str,
) -> None:
    takes_any = any(p.kind is p.VAR_KEYWORD for p in signature.parameters.values())
    if takes_any:
        return
    # A wrapper may take a field for itself and not hand it on to the function that it names.
    named = _parameters(signature) | _parameters(_own_signature(fn))
    for index, candidate in enumerate(candidates):
        for field in candidate:
            if field not in named:
                parameter = signature.parameters.get(field)
                why = "takes by position only" if parameter is not None else "has no parameter for"
                if parameter is not None and parameter.kind is parameter.VAR_POSITIONAL:
                    why = "takes as further positional arguments"
                raise TypeError(
                    f"config_space[{index}] has the field {field!r}, which {name}{signature} {why}"
                )


def _own_signature(fn: Callable[..., Any]) -> inspect.Signature | None:
    try:
        return inspect.signature(fn, follow_wrapped=False)
    except (ValueError, TypeError):
        return None


def _parameters(signature: inspect.Signature | None) -> set[str]:
    if signature is None:
        return set()
    return {p.name for p in signature.parameters.values() if p.kind in _BY_NAME}


def _positional(signature: inspect.Signature | None) -> tuple[str, ...]:
    if signature is None:
        return ()
    return tuple(p.name for p in signature.parameters.values() if p.kind in _POSITIONAL)


def _n_positional_free(
    signature: inspect.Signature | None,
    names: tuple[str, ...],
    candidates: tuple[dict[str, Any], ...],
) -> int:
    if signature is None:
        return NEVER
    fields = {field for candidate in candidates for field in candidate}
    for position, name in enumerate(names):
        # One that is taken by position only never meets a field: the field goes to **kwargs.
        if name in fields and signature.parameters[name].kind in _BY_NAME:
            return position
    return NEVER
