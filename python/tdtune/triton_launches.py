# SPDX-License-Identifier: MIT
"""Launches of Triton's kernels: what one says about the same launch by another candidate.

A launch is kept without its tensors, which would otherwise live longer than the function that made
them: what the compiler asks of a tensor takes its place. What is not understood is not kept, so
that nothing is predicted from it.
"""

import re
import sys
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

# What a launch passes besides tensors, and what a field of a configuration can be.
_PLAIN = (bool, int, float, str, type(None))


class Launch(NamedTuple):
    """One launch of a kernel.

    Attributes
    ----------
    kernel
        What was launched: a kernel, or one with heuristics.
    args, kwargs
        Its arguments, and options of the compiler among the latter.
    device
        The number of the device that was current.
    """

    kernel: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    device: Any


class TensorLike:
    """What is asked of a tensor when a kernel is compiled, or by a heuristic."""

    def __init__(self, tensor: Any) -> None:
        self.dtype = tensor.dtype
        self._address = tensor.data_ptr()
        self._n_bytes = _n_bytes(tensor)
        for name in ("device", "shape", "ndim", "is_cuda"):
            if hasattr(tensor, name):
                setattr(self, name, getattr(tensor, name))
        self._stride = tuple(tensor.stride()) if hasattr(tensor, "stride") else ()

    def data_ptr(self) -> int:
        """Return the address, of which the compiler asks how it is aligned."""
        return int(self._address)

    def ptr_range(self) -> int:
        """Return how many bytes there are behind the address."""
        return self._n_bytes

    def stride(self, dim: int | None = None) -> Any:
        """Return one stride or all."""
        return self._stride if dim is None else self._stride[dim]

    def size(self, dim: int | None = None) -> Any:
        """Return the length of one dimension or of all."""
        shape: Any = self.shape  # type: ignore[attr-defined]
        return shape if dim is None else shape[dim]

    def numel(self) -> int:
        """Return the number of elements."""
        return int(self.shape.numel())  # type: ignore[attr-defined]

    def element_size(self) -> int:
        """Return the bytes of one element."""
        return int(self.dtype.itemsize)


def _n_bytes(tensor: Any) -> int:
    storage = getattr(tensor, "untyped_storage", None)
    return int(storage().size()) if storage is not None else 0


def launch(kernel: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Launch | None:
    """Keep a launch; None if it is of another kind than those that are understood."""
    if not is_plain_kernel(kernel):
        return None
    kept = [_keep(value) for value in args]
    named = {name: _keep(value) for name, value in kwargs.items()}
    if any(value is _UNKNOWN for value in (*kept, *named.values())):
        return None
    driver = sys.modules["triton.runtime.driver"].driver.active
    return Launch(kernel, tuple(kept), named, driver.get_current_device())


_UNKNOWN = object()


def _keep(value: Any) -> Any:
    if isinstance(value, _PLAIN) or _is_triton(value):
        return value
    if hasattr(value, "data_ptr") and hasattr(value, "dtype"):
        return TensorLike(value)
    if type(value) is tuple:
        kept = tuple(_keep(item) for item in value)
        return _UNKNOWN if any(item is _UNKNOWN for item in kept) else kept
    return _UNKNOWN


def _is_triton(value: Any) -> bool:
    """Tell whether a value is one of Triton's own kinds of constants, which have no state."""
    core = sys.modules.get("triton.language.core")
    jit = sys.modules["triton.runtime.jit"]
    constants = (getattr(core, "constexpr", ()), getattr(core, "dtype", ()))
    return isinstance(value, (*(c for c in constants if c), jit.JITFunction))


def heuristics_class() -> Any:
    """Return Triton's class of kernels with heuristics."""
    return sys.modules["triton.runtime.autotuner"].Heuristics


def is_plain_kernel(kernel: Any) -> bool:
    """Tell whether compiling a kernel calls nothing of the user's but heuristics."""
    while isinstance(kernel, heuristics_class()):
        kernel = kernel.fn
    jit = sys.modules["triton.runtime.jit"].JITFunction
    return isinstance(kernel, jit) and not getattr(kernel, "pre_run_hooks", ())


# -- configurations --------------------------------------------------------------------------------


class Field(NamedTuple):
    """One value of a configuration.

    Attributes
    ----------
    group
        The configuration's own field that it is (in).
    name, value
        As a kernel would be given it.
    """

    group: str
    name: str
    value: Any


def fields(config: Mapping[str, Any]) -> list[Field]:
    """Return the values of a configuration, also those inside of a ``triton.Config``."""
    return [
        Field(group, name, value)
        for group, entry in config.items()
        for name, value in _values(group, entry)
        if isinstance(value, _PLAIN) or _is_triton(value)
    ]


def _values(group: str, entry: Any) -> Iterator[tuple[str, Any]]:
    inner: Any = None
    if callable(getattr(entry, "all_kwargs", None)):
        inner = entry.all_kwargs()
    elif isinstance(entry, Mapping):
        inner = entry
    elif hasattr(entry, "__dataclass_fields__"):
        inner = {name: getattr(entry, name) for name in entry.__dataclass_fields__}
    elif hasattr(entry, "_asdict"):
        inner = entry._asdict()
    if inner is None:
        yield group, entry
    else:
        yield from ((str(name), value) for name, value in inner.items())


# -- predictions -----------------------------------------------------------------------------------


class Pattern:
    """Where a configuration shows up in a launch.

    Parameters
    ----------
    seen
        The launch.
    config
        The configuration with which it was made.
    """

    def __init__(self, seen: Launch, config: Mapping[str, Any]) -> None:
        self._seen = seen
        self._names = list(getattr(seen.kernel, "arg_names", ()))
        own = fields(config)
        values = dict(zip(self._names, seen.args, strict=False)) | seen.kwargs
        self._sources = _match(values, own)
        # A group of which everything was passed on under its own names was passed on as it is
        # (`**cfg.all_kwargs()`), and so is what another candidate has besides.
        self._whole = {
            group
            for group in {field.group for field in own}
            if all(
                field.name in seen.kwargs and self._sources.get(field.name) == field[:2]
                for field in own
                if field.group == group
            )
        }

    def __bool__(self) -> bool:
        """Tell whether it shows up at all."""
        return bool(self._sources)

    def predict(self, config: Mapping[str, Any]) -> Launch | None:
        """Return the launch with another configuration; None if that does not say enough."""
        others = {field[:2]: field.value for field in fields(config)}
        args, kwargs = list(self._seen.args), dict(self._seen.kwargs)
        for name, source in self._sources.items():
            if source in others:
                if name in kwargs:
                    kwargs[name] = others[source]
                else:
                    args[self._names.index(name)] = others[source]
            elif source[0] in self._whole:
                del kwargs[name]
            else:
                return None
        for (group, name), value in others.items():
            if group in self._whole:
                kwargs[name] = value
        return Launch(self._seen.kernel, tuple(args), kwargs, self._seen.device)


def _match(values: Mapping[str, Any], own: list[Field]) -> dict[str, tuple[str, str]]:
    """Return from which field each argument has its value, as far as that is plain.

    That is so under the same name, spelled alike (``block_m`` and ``BLOCK_SIZE_M``) too, or where
    a number that is not small is the only one of its value on both sides.
    """
    found: dict[str, tuple[str, str]] = {}
    for spell in (str, _spelling):
        for name, value in values.items():
            sources = [f for f in own if spell(f.name) == spell(name) and _same(f.value, value)]
            if name not in found and len(sources) == 1 and sources[0][:2] not in found.values():
                found[name] = sources[0][:2]
    for field in own:
        if field[:2] in found.values() or not _is_telling(field.value):
            continue
        names = [name for name, value in values.items() if _same(field.value, value)]
        alike = [other for other in own if _same(other.value, field.value)]
        if len(names) == len(alike) == 1 and names[0] not in found:
            found[names[0]] = field[:2]
    return found


def _spelling(name: str) -> str:
    return re.sub("_|size", "", name.casefold())


def _same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and bool(one == other)


def _is_telling(value: Any) -> bool:
    return type(value) is int and value >= 16
