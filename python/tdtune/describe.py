# SPDX-License-Identifier: MIT
"""The texts by which keys and configurations are known outside this process."""

import enum
from typing import Any

from tdtune import values
from tdtune.forms import JsonForm, TextForm
from tdtune.walk import Undescribable, Walker

_KEY_REMEDY = "use to_hashable(tensor) in key_fn, or its shape, stride and dtype"
_CONFIG_REMEDY = "a configuration cannot hold one; pass it as an argument of the function"


def describe_key(key: object) -> str:
    """Describe a business key.

    Parameters
    ----------
    key
        What ``key_fn`` returned. It need not be hashable.

    Returns
    -------
    str
        One line, the same for equal keys in every process and different for different keys. ``1``,
        ``1.0`` and ``True`` are different keys; all NaN are one. Sets and dicts are sorted.

    Raises
    ------
    TypeError
        A part cannot be described (a tensor, an object known by its address only, a container
        that contains itself); the text says which, such as ``key[0]['cfg'].x``.
    """
    return _described(Walker(TextForm(), _fingerprint, _KEY_REMEDY, False), key, "key")


def may_be_compared(part: Any) -> bool:
    """Tell whether a part of a key may be compared with those of other calls, and kept for that.

    So it is where equal values of one type always have one description, and where there is no end
    of new values only if there is no end of descriptions. For all else (sets, dates, objects of
    unknown classes, functions, ...) the description has to be made at every call.
    """
    if isinstance(part, (type, enum.Enum)) or type(part) is bytes or part is ...:
        return True
    if values.is_a(part, "numpy", "generic"):
        return part.dtype.kind in "biu"
    if values.is_a(part, "numpy", "dtype"):
        return part.fields is None
    return values.is_a(part, "torch", *values.TORCH_NAMES, "device")


def describe_config(config: dict[str, object], name: str = "config") -> str:
    """Describe one configuration as the text of a JSON object.

    Parameters
    ----------
    config
        Field names and values. Values that JSON has stand for themselves; all others become
        objects with a field ``type``, so that ``(1, 2)`` and ``[1, 2]`` stay apart.
    name
        What messages call it, such as ``config_space[2]``.

    Returns
    -------
    str
        Valid UTF-8 without NUL, the same for equal configurations in every process.

    Raises
    ------
    TypeError
        A part cannot be described; the text says which.
    """
    walker = Walker(JsonForm(), _fingerprint, _CONFIG_REMEDY, True)
    fields: list[str] = []
    for field in sorted(config):
        text = _described(walker, config[field], f"{name}[{field!r}]")
        fields.append(f'"{field}": {text}')
    return "{" + ", ".join(fields) + "}"


def _described(walker: Walker, value: object, name: str) -> str:
    try:
        return walker.describe(value)
    except Undescribable as reason:
        raise TypeError(f"{name}{reason.path} {reason.reason}") from None
    except RecursionError:
        raise TypeError(f"{name} is nested too deeply to be described") from None


def _fingerprint(function: object) -> str:
    # Imported late: the description of a function needs those of its defaults and closure.
    from tdtune.source import fingerprint

    return fingerprint(function)
