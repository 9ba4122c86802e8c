# SPDX-License-Identifier: MIT
"""What identifies a function: a digest of all that decides what it does.

That is its own text or code, module and qualified name, the values of its defaults and closure, the
module-level constants that it names, and, likewise in full, the plain functions and Triton kernels
that it names within its own top-level package (for a script: within ``__main__``). Names are
followed through globals, closures and attributes of modules; imports inside a function are not,
since what they give is not known before they run.

Digests are made when a function is first tuned or looked up, not when it is decorated: helpers may
be defined below it.
"""

import enum
import functools
import hashlib
import os
import sys
import types
from collections.abc import Callable
from typing import Any, NamedTuple

from tdtune import layers, values
from tdtune.body import body_text
from tdtune.forms import TextForm
from tdtune.names import Chain, outer_names
from tdtune.walk import Undescribable, Walker

_CONSTANTS = (type(None), type(...), bool, int, float, complex, str, bytes)
_MISSING = object()


class FunctionIdentity(NamedTuple):
    """What results of a function are filed under.

    Attributes
    ----------
    name
        Short name, for messages and the folder of the records.
    module, qualname
        Where the function is defined.
    source
        Digest, hexadecimal, of all that decides what the function does.
    prune_rule
        Likewise of the pruning function; empty if there is none.
    uncertain
        None, or why `source` may mean different things in different processes, so that results
        must stay in memory.
    """

    name: str
    module: str
    qualname: str
    source: str
    prune_rule: str
    uncertain: str | None


def identify(
    fn: Callable[..., Any], prune_fn: Callable[..., Any] | None = None
) -> FunctionIdentity:
    """Identify a function and its pruning rule.

    Parameters
    ----------
    fn
        The function to tune: a plain function, partial, bound method, callable object or builtin.
    prune_fn
        The pruning function, if any.
    """
    walk = _Walk(fn)
    source = walk.digest()
    about = walk.about(fn)
    return FunctionIdentity(
        layers.short_name(fn),
        about.module,
        about.qualified,
        source,
        "" if prune_fn is None else _prune_rule(prune_fn),
        walk.doubts[0] if walk.doubts else None,
    )


def fingerprint(function: object) -> str:
    """Return the digest of a function that is part of a key or configuration.

    Raises
    ------
    Undescribable
        The function holds a value that cannot be described.
    """
    walk = _Walk(function)
    digest = walk.digest()
    if walk.doubts:
        raise Undescribable(f"is a function that cannot be described: {walk.doubts[0]}")
    return digest


def _prune_rule(prune_fn: Callable[..., Any]) -> str:
    walk = _Walk(prune_fn)
    digest = walk.digest()
    # A rule that is not certain is never the same as that of another process.
    return f"{digest}-{os.urandom(8).hex()}" if walk.doubts else digest


class _SourceWalker(Walker):
    """Describes defaults and closure values; bare object() sentinels all do the same."""

    def _object(self, value: object) -> str:
        return "object()" if type(value) is object else super()._object(value)


class _Walk:
    """One walk from a function to all that it names; every function is visited once."""

    def __init__(self, root: object) -> None:
        self.doubts: list[str] = []
        self._known: dict[int, layers.About] = {}  # by id of what it holds
        self._package = _package(self.about(root).module)
        self._root = root
        self._seen: dict[int, object] = {}  # by id; holding them keeps ids from being used again
        self._pending: list[object] = []
        self._form = TextForm()

    def about(self, value: object) -> layers.About:
        """Return all about one callable, which is found out once."""
        known = self._known.get(id(value))
        if known is None:
            known = self._known[id(value)] = layers.about(value)
        return known

    def digest(self) -> str:
        own = self._entry(self._root)
        others: set[str] = set()
        while self._pending:
            others.add(self._entry(self._pending.pop()))
        content = "\0".join([own, *sorted(others - {own, ""})])
        return hashlib.blake2b(content.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()

    def _follow(self, value: object) -> str:
        """Note a function for a visit, if it is of the package; return "" (its name says it)."""
        about = self.about(value)
        if self._is_ours(about.module) and layers.call_of(about.layers[-1]) is not None:
            self._pending.append(value)
        return ""

    def _entry(self, value: object) -> str:
        """Return all that is to say about one callable, "" if that was said before."""
        about = self.about(value)
        name = about.dotted
        lines: list[str] = []
        for layer in about.layers:
            if id(layer) in self._seen:
                break
            self._seen[id(layer)] = layer
            lines += self._layer(layer, name, kernel=any(x.startswith("kernel") for x in lines))
        return "\n".join([name, *lines]) if lines else ""

    def _layer(self, layer: object, name: str, kernel: bool) -> list[str]:
        if isinstance(layer, functools.partial):
            arguments = (layer.args, layer.keywords)
            return [f"partial {self._describe(arguments, f'an argument bound in {name}')}"]
        if isinstance(layer, types.MethodType):
            return [f"self {self._describe(layer.__self__, f'the object that {name} is bound to')}"]
        if layers.next_layer(layer) is not None:
            # A kernel's text is what Triton compiles. A wrapper made by a decorator says nothing.
            text = None if isinstance(layer, types.FunctionType) else getattr(layer, "src", None)
            return [f"kernel {text}"] if isinstance(text, str) else []
        function = layers.call_of(layer)
        if function is None:
            return [f"built-in {_version(layer)}"]
        lines = [] if kernel else [body_text(function)]
        lines += self._outside(function, self.about(function).dotted)
        if layer is not function and not isinstance(layer, type):
            lines.append(self._describe(layer, f"the object {name}"))
        return lines

    def _outside(self, function: types.FunctionType, name: str) -> list[str]:
        """Say what a function takes from around it: defaults, closure, names."""
        lines: list[str] = []
        parts = [f"default {value}" for value in _names_of_defaults(function)]
        for part, value in zip(parts, function.__defaults__ or (), strict=False):
            lines.append(f"{part} = {self._describe(value, f'{part} of {name}')}")
        for key, value in sorted((function.__kwdefaults__ or {}).items()):
            lines.append(f"default {key} = {self._describe(value, f'default {key} of {name}')}")
        closure = _closure(function)
        for key, value in closure.items():
            part = f"closure variable {key}"
            lines.append(f"{part} = {self._describe(value, f'{part} of {name}')}")
        for chain in outer_names(function.__code__):
            lines += self._named(chain, function.__globals__, closure)
        return lines

    def _describe(self, value: object, what: str) -> str:
        if value is _MISSING:
            return "(not set)"
        if type(value) in _CONSTANTS:
            return self._form.plain(value)
        # Not kept: it refers back to this walk, which would keep all that it has seen alive.
        walker = _SourceWalker(self._form, self._follow, "pass it as an argument instead", True)
        try:
            return walker.describe(value)
        except Undescribable as reason:
            self.doubts.append(f"{what}{reason.path} {reason.reason}")
        except RecursionError:
            self.doubts.append(f"{what} is nested too deeply to be described")
        return "?"

    def _named(self, chain: Chain, outer: dict[str, Any], closure: dict[str, Any]) -> list[str]:
        """Say what a name stands for, if that is a constant or a function of the package."""
        value = closure.get(chain[0], _MISSING)
        from_closure = value is not _MISSING
        if not from_closure:
            value = outer.get(chain[0], _MISSING)
        rest = chain[1:]
        while rest and isinstance(value, types.ModuleType) and self._is_ours(value.__name__):
            value, rest = getattr(value, rest[0], _MISSING), rest[1:]
        name = ".".join(chain[: len(chain) - len(rest)])
        if (from_closure and len(rest) + 1 == len(chain)) or value is _MISSING:
            return []  # described with the closure; or a builtin, or not defined yet
        return self._meaning(name, value)

    def _meaning(self, name: str, value: object) -> list[str]:
        if isinstance(value, (types.ModuleType, types.BuiltinFunctionType)):
            return []
        constant = _MISSING if type(value) is types.FunctionType else _constant(value)
        if constant is not _MISSING and not _is_dunder(name):
            return [f"{name} = {self._describe(constant, f'the constant {name}')}"]
        followable = isinstance(value, (type, functools.partial)) or layers.is_function_like(value)
        if not followable or not self._is_ours(self.about(value).module):
            return []
        if not isinstance(value, type):
            self._follow(value)
        return [f"{name} -> {self.about(value).dotted}"]

    def _is_ours(self, module: str) -> bool:
        return _package(module) == self._package


def _package(module: str) -> str:
    return module.partition(".")[0]


def _is_dunder(name: str) -> bool:
    last = name.rpartition(".")[2]
    return last.startswith("__") and last.endswith("__")  # __file__ differs between machines


def _constant(value: object) -> object:
    """Return the plain value that a module-level name stands for; _MISSING if it is none."""
    if type(value).__name__ == "constexpr" and hasattr(value, "value"):
        value = value.value
    if type(value) in _CONSTANTS or isinstance(value, enum.Enum):
        return value
    if values.is_a(value, "torch", "dtype"):
        return value
    if isinstance(value, tuple) and all(_constant(item) is not _MISSING for item in value):
        return value
    return _MISSING


def _names_of_defaults(function: types.FunctionType) -> tuple[str, ...]:
    code = function.__code__
    names = code.co_varnames[: code.co_argcount]
    return names[len(names) - len(function.__defaults__ or ()) :]


def _closure(function: types.FunctionType) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # assigned after the function was made, and not yet
            found[name] = _MISSING
    return found


def _version(value: object) -> str:
    """Return the version of the package that a function without Python code comes from."""
    package = sys.modules.get(_package(layers.module_name(value)))
    return str(getattr(package, "__version__", ""))
