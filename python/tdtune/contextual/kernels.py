# SPDX-License-Identifier: MIT
"""The kernels that one call of an outer function launches, and the texts that name them."""

import json
import re
from collections.abc import Hashable
from typing import Any

from tdtune._native import Tunable
from tdtune.describe import describe_config, describe_key
from tdtune.values import type_name

_ADDRESS = re.compile(r"0x[0-9a-fA-F]+")
_FAILED = float("inf")


class Tuning:
    """One kernel with one key.

    Attributes
    ----------
    tunable
        It and its candidates for the engine.
    configs
        The candidates.
    keys
        The key, as Triton has it; several where they have one text (NaN is not equal to itself).
    winner
        The configuration that won; None as long as none has.
    is_compiled
        Whether the candidates were compiled ahead, as far as they could be.
    """

    def __init__(self, kernel: str, key_text: str, configs: list[Any]) -> None:
        self.tunable = Tunable(kernel, key_text, tuple(_config_text(c) for c in configs))
        self.configs = configs
        self.keys: list[Hashable] = []
        self.winner: Any = None
        self.is_compiled = False

    def decide(
        self, autotuner: Any, winner: int, times: list[tuple[float | None, tuple[float, ...]]]
    ) -> None:
        """Write the winner where Triton keeps it, and the times in Triton's form."""
        self.winner = self.configs[winner]
        for key in self.keys:
            autotuner.cache[key] = self.winner
        autotuner.best_config = self.winner
        autotuner.configs_timings = {
            config: _triton_timing(time_ms, samples_ms)
            for config, (time_ms, samples_ms) in zip(self.configs, times, strict=True)
        }


class Kernel:
    """One autotuner of Triton."""

    def __init__(self, autotuner: Any, name: str) -> None:
        self.autotuner = autotuner
        self.name = name
        self.tunings: dict[Hashable, Tuning] = {}
        self._by_text: dict[str, Tuning] = {}

    def is_settled(self, key: Hashable) -> bool:
        """Tell whether there is a tuning or a winner for the key."""
        return key in self.tunings or key in self.autotuner.cache

    def open(self, key: Hashable, text: str, configs: list[Any]) -> Tuning:
        """Return the tuning for a new key."""
        tuning = self._by_text.get(text)
        if tuning is None:
            tuning = self._by_text[text] = Tuning(self.name, text, configs)
        self.tunings[key] = tuning
        tuning.keys.append(key)
        return tuning

    def decide(self, text: str, winner: int, times: list[Any]) -> None:
        """Take the outcome of the tuning whose key has this text."""
        self._by_text[text].decide(self.autotuner, winner, times)


class Kernels:
    """All kernels that were launched so far."""

    def __init__(self) -> None:
        self._by_id: dict[int, Kernel] = {}
        self._by_name: dict[str, Kernel] = {}
        self._numbers: dict[tuple[str, Any], int] = {}

    def of(self, autotuner: Any) -> Kernel:
        """Return what is known of an autotuner; it stays alive, so its id stays its own."""
        kernel = self._by_id.get(id(autotuner))
        if kernel is None:
            kernel = Kernel(autotuner, self._new_name(autotuner))
            self._by_id[id(autotuner)] = self._by_name[kernel.name] = kernel
        return kernel

    def named(self, name: str) -> Kernel:
        """Return the kernel of this name."""
        return self._by_name[name]

    def _new_name(self, autotuner: Any) -> str:
        function = getattr(autotuner, "base_fn", autotuner)
        name = getattr(function, "__name__", type(autotuner).__name__)
        module = getattr(function, "__module__", None)
        plain = _clean(f"{module}.{name}" if module else str(name))
        name, number = plain, 1
        while name in self._by_name:
            number += 1
            name = f"{plain}#{number}"
        return name

    def key_text(self, key: Hashable) -> str:
        """Describe a key of Triton's; what has no lasting text of its own is numbered."""
        try:
            return _clean(describe_key(key))
        except TypeError:
            parts = key if isinstance(key, tuple) else (key,)
            return _clean(f"({', '.join(self._part_text(part) for part in parts)})")

    def _part_text(self, part: Any) -> str:
        try:
            return describe_key(part)
        except TypeError:
            name = type_name(type(part))
            number = self._numbers.setdefault((name, part), len(self._numbers) + 1)
            return f"<{name} #{number}>"


def _clean(text: str) -> str:
    return text.replace("\0", "\\0").encode("utf-8", "backslashreplace").decode()


def _config_text(config: Any) -> str:
    try:
        return describe_config(config.all_kwargs())
    except TypeError:
        return json.dumps({"config": _ADDRESS.sub("0x?", str(config))})


def _triton_timing(time_ms: float | None, samples_ms: tuple[float, ...]) -> list[float]:
    if time_ms is None:
        return [_FAILED, _FAILED, _FAILED]
    return [time_ms, _quantile(samples_ms, 0.2), _quantile(samples_ms, 0.8)]


def _quantile(samples: tuple[float, ...], q: float) -> float:
    ordered = sorted(samples)
    at = q * (len(ordered) - 1)
    low = int(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (at - low) * (ordered[high] - ordered[low])
