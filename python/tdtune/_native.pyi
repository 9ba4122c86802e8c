# SPDX-License-Identifier: MIT
"""What the extension module offers."""

from collections.abc import Callable, Iterable
from typing import Any

class AutoTuner:
    """A callable that runs a function with the fastest of its candidates; see `tdtune.autotune`."""

    fn: Callable[..., Any]
    config_space: tuple[dict[str, object], ...]
    key_fn: Callable[..., object]
    prune_fn: Callable[..., object] | None
    __wrapped__: Callable[..., Any]
    __name__: str
    __qualname__: str

    def __init__(
        self,
        fn: Callable[..., Any],
        config_space: Iterable[dict[str, object]],
        key_fn: Callable[..., object],
        prune_fn: Callable[..., object] | None = None,
        *,
        warmup: int | None = None,
        repeat: int | None = None,
        on_progress: Callable[..., object] | None = None,
    ) -> None: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    def record_path(self, *args: Any, **kwargs: Any) -> str | None: ...

def host_hardware() -> str: ...
def record_json(path: str) -> str: ...
def record_table(path: str) -> str: ...
def default_root() -> str: ...
def digest(data: bytes) -> str: ...
def version() -> str: ...
