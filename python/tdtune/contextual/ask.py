# SPDX-License-Identifier: MIT
"""What Triton would do in a launch: its own code is asked, whatever version or subclass it is.

`Autotuner.run` computes the key, looks into ``self.cache``, prunes, measures and launches. Here it
runs on a double of the autotuner, an object of the same class with the same attributes but for
those that would measure, remember or launch; they stop it as soon as it has said what is to be
known. The autotuner itself is not touched.
"""

import contextlib
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

Run = Callable[..., Any]


class Choice(NamedTuple):
    """What a launch chooses from.

    Attributes
    ----------
    asked
        Whether the cache was asked at all; there is nothing to choose otherwise.
    key
        What it was asked for.
    nargs
        The kernel's positional arguments by name.
    configs
        What is left after pruning; None if the key needs no choice, or none was made.
    listed
        All that the autotuner had at that moment.
    """

    asked: bool
    key: Hashable
    nargs: dict[str, Any]
    configs: list[Any] | None
    listed: list[Any]


class Call(NamedTuple):
    """What the kernel itself would be called with."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    nargs: dict[str, Any]


def choice(
    autotuner: Any, run: Run, args: Any, kwargs: Any, is_settled: Callable[[Hashable], bool]
) -> Choice:
    """Ask for the key of a launch, and for the candidates unless the key is settled.

    Parameters
    ----------
    autotuner
        An instance of Triton's ``Autotuner`` or of a class derived from it.
    run
        The class's own ``run``.
    args, kwargs
        Of the launch.
    is_settled
        Tells whether the candidates for a key need not be found out.

    Raises
    ------
    Exception
        Whatever Triton, or a user's pruning function, raises.
    """
    cache = _Question(is_settled)
    double = _Double(autotuner, cache)
    listener = _Listener(double, cache)
    try:
        with contextlib.suppress(_Told):
            run(double.autotuner, *args, **kwargs)
        listed = list(vars(double.autotuner).get("configs") or ())
        return Choice(cache.asked, cache.key, double.nargs(args), listener.configs, listed)
    finally:
        double.forget()


def call(autotuner: Any, run: Run, args: Any, kwargs: Any, config: Any) -> Call:
    """Ask what the kernel is called with if `config` is the configuration for the launch.

    The configuration's own hook is called by that, as before any launch.
    """
    double = _Double(autotuner, _Answer(config))
    try:
        run(double.autotuner, *args, **kwargs)
    except _Told as told:
        return Call(told.args, told.kwargs, double.nargs(args))
    finally:
        double.forget()
    raise TypeError(f"{type(autotuner).__name__}.run launched nothing")


def is_double(autotuner: Any) -> bool:
    """Tell whether this is one of the doubles made here."""
    return isinstance(vars(autotuner).get("cache"), (_Question, _Answer))


class _Told(BaseException):
    """Leaves Triton's code, past its own handlers: what was to be found out is known."""

    def __init__(self, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None) -> None:
        super().__init__()
        self.args = args
        self.kwargs = kwargs or {}


class _Question(dict[Any, Any]):
    """A cache that notes what it is asked for, and knows nothing."""

    def __init__(self, is_settled: Callable[[Hashable], bool]) -> None:
        super().__init__()
        self._is_settled = is_settled
        self.asked = False
        self.key: Hashable = None

    def _ask(self, key: Hashable) -> None:
        self.asked, self.key = True, key
        if self._is_settled(key):
            raise _Told

    def __contains__(self, key: object) -> bool:
        self._ask(key)
        return False

    def __missing__(self, key: Hashable) -> Any:
        self._ask(key)
        raise KeyError(key)

    def get(self, key: Any, default: Any = None) -> Any:
        self._ask(key)
        return default

    def __setitem__(self, key: Hashable, config: Any) -> None:
        raise _Told  # it has measured: all candidates are known


class _Answer(dict[Any, Any]):
    """A cache in which every key has the one configuration."""

    def __init__(self, config: Any) -> None:
        super().__init__()
        self._config = config

    def __contains__(self, key: object) -> bool:
        return True

    def __missing__(self, key: Hashable) -> Any:
        return self._config

    def get(self, key: Any, default: Any = None) -> Any:
        return self._config


class _Kernel:
    """The kernel, except that it does not run. Passes for what it stands for."""

    def __init__(self, fn: Any) -> None:
        self._fn = fn

    def __getattr__(self, name: str) -> Any:
        return getattr(self._fn, name)

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return type(self._fn)

    def run(self, *args: Any, **kwargs: Any) -> Any:
        raise _Told(args, kwargs)


class _Double:
    def __init__(self, autotuner: Any, cache: _Question | _Answer) -> None:
        self.autotuner = object.__new__(type(autotuner))
        self._values = vars(self.autotuner)
        self._values.update(vars(autotuner))
        self._values.update(cache=cache, fn=_Kernel(autotuner.fn), nargs=None)

    def nargs(self, args: Any) -> dict[str, Any]:
        """What Triton made of the positional arguments."""
        made = self._values.get("nargs")
        if made is not None:
            return dict(made)
        return dict(zip(self._values["arg_names"], args, strict=False))

    def forget(self) -> None:
        """Let go of the arguments at once: a double refers to itself."""
        self._values.clear()


class _Listener:
    """Learns the candidates of a double: from its pruning, else from what it wants to measure."""

    def __init__(self, double: _Double, cache: _Question) -> None:
        self.configs: list[Any] | None = None
        prune = double.autotuner.prune_configs

        def prune_configs(*args: Any, **kwargs: Any) -> Any:
            pruned = prune(*args, **kwargs)
            if not cache.asked:
                return pruned
            self.configs = list(pruned)
            raise _Told

        def bench(*args: Any, config: Any, **kwargs: Any) -> list[float]:
            self.configs = [*(self.configs or ()), config]
            return [0.0, 0.0, 0.0]

        vars(double.autotuner).update(prune_configs=prune_configs, _bench=bench)
