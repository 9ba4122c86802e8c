# SPDX-License-Identifier: MIT
"""Decorators for functions, and for the static and class methods around them."""

from collections.abc import Callable
from typing import Any, Protocol, TypeVar, overload

Tuner = TypeVar("Tuner", covariant=True)


class Decorator(Protocol[Tuner]):
    """Turns a function into a tuner; static and class methods stay what they are."""

    @overload  # a staticmethod is a callable, too; the first that fits counts
    def __call__(self, fn: "staticmethod[..., Any]", /) -> "staticmethod[..., Any]": ...
    @overload
    def __call__(self, fn: "classmethod[Any, ..., Any]", /) -> "classmethod[Any, ..., Any]": ...
    @overload
    def __call__(self, fn: Callable[..., Any], /) -> Tuner: ...


def decorator(make: Callable[[Callable[..., Any]], Tuner]) -> Decorator[Tuner]:
    """Return the decorator that makes its tuners with `make`."""

    def decorate(fn: Any) -> Any:
        if isinstance(fn, (staticmethod, classmethod)):
            return type(fn)(decorate(fn.__func__))
        return make(fn)

    return decorate
