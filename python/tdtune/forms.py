# SPDX-License-Identifier: MIT
"""How a described value is spelled: as one line of text (keys) or as JSON (configurations).

Both spellings are injective: two values that differ in type or content never look the same.
"""

import json
import math
from collections.abc import Iterable, Sequence
from typing import Protocol

# Beyond this many bits repr() of an int is slow, and by default refused (int_max_str_digits).
_DECIMAL_BITS = 4096

Fields = Sequence[tuple[str, str]]


class Form(Protocol):
    """A spelling. Every argument named `text` or `items` is already spelled."""

    def plain(self, value: object) -> str:
        """Spell None, Ellipsis, a bool, int, float, complex, str or bytes of exactly that type."""

    def plain_items(self, name: str, values: Iterable[object]) -> str | None:
        """Spell a tuple or list of plain values in one go; None to do it one by one."""

    def listing(self, name: str, items: Sequence[str]) -> str:
        """Spell values in a row; `name` is the type's."""

    def mapping(self, pairs: Sequence[tuple[object, str, str]]) -> str:
        """Spell a dict from its (key, key text, value text)."""

    def record(self, name: str, fields: Fields) -> str:
        """Spell an object with named parts; a part named "" is the object's plain value."""

    def literal(self, name: str, text: str) -> str:
        """Spell a value whose text already says its type, such as ``torch.float32``."""

    def leaf(self, name: str, text: str) -> str:
        """Spell a value by its type and the one name that tells it from others of that type."""

    def opaque(self, name: str, text: str) -> str:
        """Spell a value of a type unknown here by its repr."""


def int_text(value: int) -> str:
    """Return an int as text, however large."""
    return repr(value) if value.bit_length() <= _DECIMAL_BITS else hex(value)


class TextForm:
    """Looks like repr() wherever repr() is unambiguous."""

    def plain(self, value: object) -> str:
        if type(value) is int:
            return int_text(value)
        if type(value) is complex:  # its repr() loses signs of zeros
            return f"complex({value.real!r}, {value.imag!r})"
        return repr(value)

    def plain_items(self, name: str, values: Iterable[object]) -> str | None:
        try:
            return repr(values)  # one pass in C: long keys stay fast
        except ValueError:  # an int too long for repr()
            return None

    def listing(self, name: str, items: Sequence[str]) -> str:
        inner = ", ".join(items)
        if name == "tuple":
            return f"({inner},)" if len(items) == 1 else f"({inner})"
        if name == "list":
            return f"[{inner}]"
        if name == "set":
            return f"{{{inner}}}" if items else "set()"
        if name == "frozenset":
            return f"frozenset({{{inner}}})" if items else "frozenset()"
        return f"{name}([{inner}])"

    def mapping(self, pairs: Sequence[tuple[object, str, str]]) -> str:
        return "{" + ", ".join(sorted(f"{key}: {value}" for _, key, value in pairs)) + "}"

    def record(self, name: str, fields: Fields) -> str:
        spelled = (f"{_field(key)}{text}" for key, text in fields)
        return f"{name}({', '.join(spelled)})"

    def literal(self, name: str, text: str) -> str:
        return text

    def leaf(self, name: str, text: str) -> str:
        return f"<{name} {text}>"

    def opaque(self, name: str, text: str) -> str:
        return f"<{name} {text!r}>"


def _field(name: str) -> str:
    if not name:
        return ""
    return f"{name if name.isidentifier() else repr(name)}="


class JsonForm:
    """Values that JSON has are themselves; all others are objects with a field "type"."""

    def plain(self, value: object) -> str:
        if value is None or type(value) is bool:
            return json.dumps(value)
        if type(value) is int:
            if -(2**63) <= value < 2**63:
                return repr(value)
            return self.leaf("int", int_text(value))
        if type(value) is float:
            if math.isfinite(value) and (value != 0.0 or math.copysign(1.0, value) > 0):
                return repr(value)
            return self.leaf("float", repr(value))
        if type(value) is str:
            return json_string(value) if _is_text(value) else self.leaf("str", repr(value))
        if type(value) is bytes:
            return self.record("bytes", [("hex", f'"{value.hex()}"')])
        if type(value) is complex:
            return self.leaf("complex", f"complex({value.real!r}, {value.imag!r})")
        return self.leaf(type(value).__name__, repr(value))  # Ellipsis

    def plain_items(self, name: str, values: Iterable[object]) -> str | None:
        return None

    def listing(self, name: str, items: Sequence[str]) -> str:
        array = f"[{', '.join(items)}]"
        return array if name == "list" else self.record(name, [("items", array)])

    def mapping(self, pairs: Sequence[tuple[object, str, str]]) -> str:
        # A dict that could be taken for one of the tagged objects, or has keys that JSON has not.
        if any(type(key) is not str or key == "type" or not _is_text(key) for key, _, _ in pairs):
            items = sorted(f"[{key}, {value}]" for _, key, value in pairs)
            return self.record("dict", [("items", f"[{', '.join(items)}]")])
        return "{" + ", ".join(sorted(f"{key}: {value}" for _, key, value in pairs)) + "}"

    def record(self, name: str, fields: Fields) -> str:
        names = {key for key, _ in fields}
        unnamed = "" if "value" in names else "value"
        spelled = [f"{json_string(key or unnamed)}: {text}" for key, text in fields]
        if "type" in names:
            spelled = [f'"fields": {{{", ".join(spelled)}}}']
        return "{" + ", ".join([f'"type": {json_string(name)}', *spelled]) + "}"

    def literal(self, name: str, text: str) -> str:
        return self.leaf(name, text)

    def leaf(self, name: str, text: str) -> str:
        return self.record(name, [("value", json_string(text))])

    def opaque(self, name: str, text: str) -> str:
        return self.leaf(name, text)


def _is_text(value: str) -> bool:
    """Tell whether a str is valid UTF-8 without NUL, which a JSON reader in C can hold."""
    if value.isascii():
        return "\0" not in value
    return "\0" not in value and not any("\ud800" <= char <= "\udfff" for char in value)


def json_string(value: str) -> str:
    """Return a str as JSON; characters that JSON cannot hold are spelled as repr() does."""
    return json.dumps(value if _is_text(value) else repr(value), ensure_ascii=False)
