# SPDX-License-Identifier: MIT
"""Describes values part by part; the rules that keys and configurations share.

A description depends on the value alone: not on the process, the hash seed or the order in which
sets and dicts were filled.
"""

import collections
import dataclasses
import datetime
import decimal
import enum
import fractions
import functools
import pathlib
import types
from collections.abc import Callable
from typing import Any

from tdtune import layers, values
from tdtune.forms import Form, int_text

# Types whose repr() says all, and that have no parts.
_PLAIN = {type(None), type(...), bool, int, float, complex, str, bytes}
_FAST = _PLAIN - {complex}
# Likewise, with a repr that names the type.
_SPEAKING = {
    range,
    bytearray,
    decimal.Decimal,
    fractions.Fraction,
    datetime.date,
    datetime.datetime,
    datetime.time,
    datetime.timedelta,
    datetime.timezone,
}
_CONTAINERS = (tuple, list, dict, set, frozenset)
_BASES: tuple[type, ...] = (int, float, complex, str, bytes, *_CONTAINERS)


class Undescribable(TypeError):
    """A value that has no description that would be the same in another process.

    `path` leads from the value that was asked about to the part that cannot be described.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.path = ""

    def __str__(self) -> str:
        return f"{self.path} {self.reason}".strip()


class Walker:
    """Describes values in one form.

    Parameters
    ----------
    form
        The spelling.
    fingerprint
        Gives the digest of a function's source; raises `Undescribable`.
    tensor_remedy
        What to do instead of handing over a tensor, for the message.
    by_attributes
        Whether an object counts as its attributes. Otherwise only objects that compare by value do.
    """

    def __init__(
        self,
        form: Form,
        fingerprint: Callable[[object], str],
        tensor_remedy: str,
        by_attributes: bool,
    ) -> None:
        self._form = form
        self._fingerprint = fingerprint
        self._tensor_remedy = tensor_remedy
        self._by_attributes = by_attributes
        self._open: set[int] = set()

    def describe(self, value: object) -> str:
        """Return the description; raise `Undescribable`."""
        cls = type(value)
        if cls in _PLAIN:
            return self._form.plain(value)
        if id(value) in self._open:
            raise Undescribable("contains itself")
        self._open.add(id(value))
        try:
            if cls in _CONTAINERS:
                return self._container(value, cls.__name__)
            return self._by_rule(value)
        finally:
            self._open.discard(id(value))

    def _by_rule(self, value: object) -> str:
        if values.is_tensor(value):
            kind = values.type_name(type(value))
            raise Undescribable(f"is a tensor ({kind}); {self._tensor_remedy}")
        for rule in (self._simple, self._foreign, self._callable, self._structured):
            text = rule(value)
            if text is not None:
                return text
        return self._object(value)

    def part(self, value: object, place: str) -> str:
        """Describe a part of a value; `place` is how one gets there, such as ``.x`` or ``[0]``."""
        try:
            return self.describe(value)
        except Undescribable as reason:
            reason.path = place + reason.path
            raise

    def _simple(self, value: object) -> str | None:
        """Enums and the standard library's value types."""
        cls = type(value)
        if isinstance(value, enum.Flag):
            return self._form.record(values.type_name(cls), [("value", int_text(value.value))])
        if isinstance(value, enum.Enum):
            return self._form.leaf("enum", f"{values.type_name(cls)}.{value.name}")
        if cls in _SPEAKING:
            return self._speaking(value)
        if cls is slice:
            parts = ("start", "stop", "step")
            fields = [(name, self.part(getattr(value, name), f".{name}")) for name in parts]
            return self._form.record("slice", fields)
        if isinstance(value, pathlib.PurePath):
            return self._form.opaque(f"pathlib.{cls.__name__}", str(value))
        return None

    def _speaking(self, value: object) -> str | None:
        text = repr(value)
        if values.holds_address(text, value):  # a time zone of the user's making
            return None
        name = values.type_name(type(value))
        prefix = name.rpartition(".")[0]
        return self._form.literal(
            name, text if not prefix or text.startswith(prefix) else f"{prefix}.{text}"
        )

    def _foreign(self, value: object) -> str | None:
        """What torch, NumPy and Triton bring along."""
        if values.is_a(value, "torch", *values.TORCH_NAMES):
            return self._form.literal(values.type_name(type(value)), repr(value))
        if values.is_a(value, "torch", "device"):
            return self._form.literal("torch.device", f"torch.device({str(value)!r})")
        if values.is_a(value, "numpy", "dtype"):
            return self._form.literal("numpy.dtype", f"numpy.{value!r}")
        if values.is_a(value, "numpy", "generic"):
            return self._numpy_scalar(value)
        if is_triton_config(value):
            held = values.attributes(value)
            return self._record("triton.Config", {k: v for k, v in held.items() if v is not None})
        return None

    def _numpy_scalar(self, value: object) -> str:
        dtype = getattr(value, "dtype", None)
        name = f"numpy.{getattr(dtype, 'name', dtype)}"
        item = value.item() if hasattr(value, "item") else value
        if type(item) in _PLAIN and getattr(dtype, "kind", "") != "M":
            return self._form.literal(name, f"{name}({self._plain_text(item)})")
        # Longer than Python's own types, or a date: NumPy's text says all, with the dtype.
        return self._form.literal(name, f"{name}({str(value)!r})")

    @staticmethod
    def _plain_text(value: object) -> str:
        return int_text(value) if type(value) is int else repr(value)

    def _callable(self, value: object) -> str | None:
        """Functions, classes and modules."""
        if isinstance(value, functools.partial):
            fields = {"func": value.func, "args": value.args, "keywords": value.keywords}
            return self._record("functools.partial", fields)
        if issubclass(type(value), type):
            return self._form.leaf("class", values.type_name(value))  # type: ignore[arg-type]
        if isinstance(value, types.ModuleType):
            return self._form.opaque("module", value.__name__)
        if isinstance(value, types.MethodType):
            return self._record("method", {"function": value.__func__, "self": value.__self__})
        if isinstance(value, types.BuiltinFunctionType):
            owner = value.__self__
            if owner is None or isinstance(owner, types.ModuleType):
                return self._form.leaf("built-in", layers.dotted_name(value))
            return self._record("built-in", {"name": value.__name__, "self": owner})
        if layers.is_function_like(value):
            digest = self._fingerprint(value)
            return self._form.leaf("function", f"{layers.dotted_name(value)} {digest}".rstrip())
        return None

    def _structured(self, value: object) -> str | None:
        """Dataclasses, named tuples and classes derived from the builtins."""
        name = values.type_name(type(value))
        if dataclasses.is_dataclass(value):
            # A key is what compares equal; a configuration is all it holds.
            fields = [f for f in dataclasses.fields(value) if f.compare or self._by_attributes]
            held = {f.name: getattr(value, f.name) for f in fields if hasattr(value, f.name)}
            return self._record(name, held)
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return self._record(name, dict(zip(value._fields, value, strict=False)))
        for base in _BASES:
            if isinstance(value, base):
                return self._derived(value, base, name)
        return None

    def _derived(self, value: object, base: type, name: str) -> str:
        if base is tuple and name == "torch.Size":
            return self._container(value, name)
        if isinstance(value, collections.OrderedDict):  # compares by order too
            pairs = [[k, v] for k, v in value.items()]
            return self._form.record(name, [("items", self.describe(pairs))])
        held = values.attributes(value)
        fields = [(key, self.part(held[key], f".{key}")) for key in held]
        return self._form.record(name, [("", self._as_base(value, base)), *fields])

    def _as_base(self, value: Any, base: type) -> str:
        """Describe a value of a derived class as if it were of the base class."""
        if base in _CONTAINERS:
            return self._container(base(value), base.__name__)
        if base is complex:
            return self._form.plain(complex(value.real, value.imag))
        if base is bytes:
            return self._form.plain(bytes(memoryview(value)))
        # Not base(value): a derived class may say there that it is something else.
        convert = {int: int.__index__, float: float.__float__, str: str.__str__}
        return self._form.plain(convert[base](value))

    def _container(self, value: object, name: str) -> str:
        if isinstance(value, dict):
            return self._form.mapping(
                [
                    (k, self.part(k, "{key}"), self.part(v, f"[{_short(k)}]"))
                    for k, v in value.items()
                ]
            )
        if isinstance(value, (set, frozenset)):
            return self._form.listing(name, sorted(self.part(v, "{...}") for v in value))
        assert isinstance(value, (tuple, list))
        if name in ("tuple", "list") and _FAST.issuperset(map(type, value)):
            text = self._form.plain_items(name, value)
            if text is not None:
                return text
        items: list[str] = []
        try:
            for item in value:
                items.append(self.describe(item))
        except Undescribable as reason:
            reason.path = f"[{len(items)}]{reason.path}"
            raise
        return self._form.listing(name, items)

    def _record(self, name: str, held: dict[str, object]) -> str:
        return self._form.record(name, [(k, self.part(v, f".{k}")) for k, v in held.items()])

    def _object(self, value: object) -> str:
        """An object of a class unknown here."""
        cls = type(value)
        name = values.type_name(cls)
        doubt: Undescribable | None = None
        if self._by_attributes:
            held = values.attributes(value)
            if held or (hasattr(value, "__dict__") and values.is_pure_python(cls)):
                try:
                    return self._record(name, held)
                except Undescribable as reason:
                    doubt = reason
        text = values.own_repr(value)
        if text is not None:
            return self._form.opaque(name, text)
        if not self._by_attributes and cls.__eq__ is not object.__eq__:
            held = values.attributes(value)
            if held:
                return self._record(name, held)
        number = _as_number(value)
        if number is not None:
            return self._form.record(name, [("", self._form.plain(number))])
        raise doubt or Undescribable(
            f"is of type {name}, whose only description holds a memory address and differs in "
            "every process; give the class a __repr__ that says what matters, or use plain values"
        )


def is_triton_config(value: object) -> bool:
    """Tell whether a value is a triton.Config, from whichever Triton it comes."""
    cls = type(value)
    return (
        cls.__name__ == "Config"
        and str(cls.__module__).partition(".")[0] == "triton"
        and hasattr(value, "kwargs")
        and hasattr(value, "num_warps")
    )


def _as_number(value: object) -> object:
    """Return the number that an object stands for, such as a symbolic size; None if it is none."""
    for convert in ("__index__", "__int__", "__float__"):
        method = getattr(type(value), convert, None)
        if method is None:
            continue
        try:
            number = method(value)
        except Exception:
            continue
        if type(number) in (int, float):
            return number
    return None


def _short(key: object) -> str:
    text = repr(key) if isinstance(key, (str, int, float, bytes, bool, type(None))) else "..."
    return text if len(text) <= 60 else f"{text[:57]}..."
