# SPDX-License-Identifier: MIT
"""What the extension module offers."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

class AutoTuner:
    """A callable that runs a function with the fastest of its candidates; see `tdtune.autotune`."""

    fn: Callable[..., Any]
    config_space: tuple[dict[str, Any], ...]
    key_fn: Callable[..., object]
    prune_fn: Callable[..., object] | None
    __wrapped__: Callable[..., Any]
    __name__: str
    __qualname__: str

    def __init__(
        self,
        fn: Callable[..., Any],
        config_space: Iterable[Mapping[str, Any]],
        key_fn: Callable[..., object],
        prune_fn: Callable[..., object] | None = None,
        *,
        prepare_fn: Callable[..., object] | None = None,
        plan: str | None = None,
        warmup: int | None = None,
        repeat: int | None = None,
        check_fn: Callable[..., object] | None = None,
        reset_to_zero: Iterable[str] | None = None,
        restore_value: Iterable[str] | None = None,
        on_progress: Callable[..., object] | None = None,
    ) -> None: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    def __get__(self, instance: object, owner: type | None = None, /) -> Any: ...
    def record_path(self, *args: Any, **kwargs: Any) -> str | None: ...

class ContextualAutoTuner:
    """A callable in which kernels are tuned where they run; see `tdtune.contextual_autotune`."""

    fn: Callable[..., Any]
    is_dist: bool
    n_repeat: int
    n_warmup: int
    __wrapped__: Callable[..., Any]
    __name__: str
    __qualname__: str

    def __init__(
        self,
        fn: Callable[..., Any],
        is_dist: bool = False,
        n_repeat: int = 5,
        n_warmup: int = 3,
    ) -> None: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    def __get__(self, instance: object, owner: type | None = None, /) -> Any: ...

class ByLayout:
    """A key function that names arguments; see `tdtune.by_layout`."""

    names: tuple[str, ...]

    def __init__(self, *names: str) -> None: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    def bind(
        self,
        owner: str,
        places: tuple[tuple[Any, ...], ...],
        kind_of: Callable[[type], int],
        /,
    ) -> ByLayout: ...

class Tunable:
    """What a session tunes: a kernel with one key, and its candidates."""

    kernel: str
    key: str

    def __init__(self, kernel: str, key: str, configs: tuple[str, ...]) -> None: ...

class Group:
    """Ranks that tune together. A board, such as a `tdtune.torch_group.TorchGroup`, carries what
    they say; how much it was is counted here.
    """

    rank: int
    n_ranks: int

    def __init__(self, board: object) -> None: ...
    def withdraw(self, reason: str, /) -> None: ...

class Session:
    """Kernels tuned where an outer function launches them."""

    def __init__(
        self,
        place: object,
        *,
        name: str,
        n_warmup: int,
        n_repeat: int,
        on_log: Callable[[str], object],
        on_decided: Callable[[str, str, int, list[Any]], object],
        group: Group | None,
    ) -> None: ...
    def run(self, outer: Callable[[], Any], /) -> Any: ...
    def launch(self, tunable: Tunable, job: object, /) -> None: ...

def take_over(cls: type, name: str, replacement: object, /) -> None: ...
def look_ups(code: bytes, letters: bytes, /) -> list[tuple[int, ...]]: ...
def definition(text: str, line: int, /) -> tuple[str, str] | None: ...
def host_hardware() -> str: ...
def record_json(path: str) -> str: ...
def record_table(path: str) -> str: ...
def default_root() -> str: ...
def n_workers() -> int: ...
def digest(data: bytes) -> str: ...
def version() -> str: ...
