# SPDX-License-Identifier: MIT
"""Which ranks a call is tuned with, and how they talk: over stores, in one process."""

from __future__ import annotations

import gc
import math
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from conftest import RunPython
from stand_ins import Stage, stage
from tdtune import autotune, devices, facts, groups, ordinals, torch_group
from tdtune._native import Group
from tdtune.torch_group import TorchGroup
from worlds import StoreServer

# -- which group counts ------------------------------------------------------------------------


class Ranks:
    """A process group that is not one of torch's own."""

    def __init__(self, rank: int, size: int, store: object = None) -> None:
        self._rank, self._size, self._store = rank, size, store

    def rank(self) -> int:
        return self._rank

    def size(self) -> int:
        return self._size

    def get_group_store(self) -> object:
        return self._store


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in ("torch", "torch.distributed", "triton_dist.utils"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, "torch.distributed.distributed_c10d", ModuleType("c10d"))
    return monkeypatch


def distributed(world: Ranks, *, initialised: bool = True) -> ModuleType:
    module = ModuleType("torch.distributed")
    module.__dict__.update(
        is_available=lambda: True,
        is_initialized=lambda: initialised,
        group=SimpleNamespace(WORLD=world),
    )
    return module


def place_of(group: Group | None) -> tuple[int, int] | None:
    return None if group is None else (group.rank, group.n_ranks)


def test_F11_which_group_counts(alone: pytest.MonkeyPatch) -> None:
    store = SimpleNamespace(check=None)
    assert groups.resolve(None) is None
    world = Ranks(3, 8, store)
    alone.setitem(sys.modules, "torch.distributed", distributed(world, initialised=False))
    assert groups.resolve(None) is None
    alone.setitem(sys.modules, "torch.distributed", distributed(world))
    assert place_of(groups.resolve(None)) == (3, 8)
    utils = ModuleType("triton_dist.utils")
    own = utils._TRITON_DIST_WORLD = Ranks(1, 4, store)  # type: ignore[attr-defined]
    alone.setitem(sys.modules, "triton_dist.utils", utils)
    assert place_of(groups.resolve(None)) == (1, 4)  # Triton-distributed's before torch's
    given = Ranks(0, 2, store)
    assert place_of(groups.resolve(given)) == (0, 2)  # the call's own before all
    utils._TRITON_DIST_WORLD = None  # type: ignore[attr-defined]
    assert place_of(groups.resolve(None)) == (3, 8)
    assert place_of(groups.world()) == (3, 8)
    assert own.size() == 4


def test_F11_a_group_of_one_rank_is_this_process_alone(alone: pytest.MonkeyPatch) -> None:
    assert groups.resolve(Ranks(0, 1)) is None
    alone.setitem(sys.modules, "torch.distributed", distributed(Ranks(0, 1)))
    assert groups.resolve(None) is None
    assert groups.world() is None


ALONE = """
import sys
{setup}
from tdtune._cold import situation
print(situation((), {{}}, None).group)
"""


@pytest.mark.parametrize(
    "setup", ["", "import triton_dist, triton_dist.tune", "sys.modules['torch.distributed'] = None"]
)
def test_F11_without_a_group_this_process_is_alone(run_python: RunPython, setup: str) -> None:
    assert run_python(ALONE.format(setup=setup)).strip() == "None"


@pytest.mark.parametrize("pg", [-100, object(), "world", SimpleNamespace(size=lambda: 2)])
def test_F11_what_is_no_group_is_refused(pg: object) -> None:
    with pytest.raises(TypeError, match="autotune_pg must be"):
        groups.resolve(pg)


def test_a_group_without_a_store_is_refused(alone: pytest.MonkeyPatch) -> None:
    with pytest.raises(RuntimeError, match="no key-value store of this process group"):
        groups.resolve(Ranks(0, 2))


def test_there_is_one_group_for_each_process_group_while_that_lives() -> None:
    store = SimpleNamespace(check=None)
    one, other = Ranks(0, 2, store), Ranks(0, 2, store)
    assert groups.resolve(one) is groups.resolve(one)
    assert groups.resolve(one) is not groups.resolve(other)
    n_groups = len(groups._groups)
    gone = weakref.ref(one)
    del one
    gc.collect()
    assert gone() is None
    assert len(groups._groups) == n_groups - 1


# -- messages ----------------------------------------------------------------------------------

dist: Any = pytest.importorskip("torch.distributed")


@pytest.fixture
def server() -> Iterator[StoreServer]:
    server = StoreServer()
    yield server
    server.kill()


def connect(server: StoreServer) -> Any:
    return dist.TCPStore("127.0.0.1", server.port, None, False)


@pytest.fixture(params=["hash", "file", "tcp"])
def clients(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Any]:
    """Makes clients of one store."""
    if request.param == "hash":
        store = dist.HashStore()
        return lambda: store
    if request.param == "file":
        return lambda: dist.FileStore(str(tmp_path / "store"), -1)
    server = request.getfixturevalue("server")
    return lambda: connect(server)


# A TorchGroup does not keep its process group alive.
alive: list[Ranks] = []


def group_over(store: Any, rank: int, n_ranks: int = 2) -> TorchGroup:
    alive.append(Ranks(rank, n_ranks, store))
    return TorchGroup(alive[-1])


DATA = bytes(range(256)) * 3


def test_messages_go_from_rank_to_rank(
    clients: Callable[[], Any], capfd: pytest.CaptureFixture[str]
) -> None:
    store = clients()
    timeout = store.timeout
    one, other = group_over(store, 0), group_over(clients(), 1)
    assert other.get("1/0", 0.0) is None
    assert other.get("1/0", 0.01) is None
    one.put("1/0", DATA)
    one.put("2/0", b"")
    assert other.get("1/0", 0.0) == DATA
    assert other.get("1/0", 0.01) == DATA
    assert other.get("2/0", 1.0) == b""
    one.drop("1/0")
    one.drop("never was")
    assert other.get("1/0", 0.01) is None
    one.put("large", DATA * 1000)
    assert other.get("large", 1.0) == DATA * 1000
    assert store.timeout == timeout
    printed = capfd.readouterr()
    assert printed.out + printed.err == ""


def test_a_wait_ends_when_the_message_comes(clients: Callable[[], Any]) -> None:
    one, other = group_over(clients(), 0), group_over(clients(), 1)
    one.put("ready", b"")
    timer = threading.Timer(0.05, one.put, ("1/0", b"late"))
    timer.start()
    assert other.get("1/0", 60.0) == b"late"
    timer.join()


def test_a_group_made_again_over_a_store_finds_nothing_of_the_one_before() -> None:
    store = dist.HashStore()
    one, other = group_over(store, 0), group_over(store, 1)
    one.put("1/0", b"old")
    assert other.get("1/0", 0.0) == b"old"
    again = group_over(store, 1)
    assert again.get("1/0", 0.0) is None
    group_over(store, 0).put("1/0", b"new")
    assert again.get("1/0", 0.0) == b"new"
    assert other.get("1/0", 0.0) == b"old"


def test_an_interrupted_beginning_is_begun_again(monkeypatch: pytest.MonkeyPatch) -> None:
    store = dist.HashStore()
    one, other = group_over(store, 0), group_over(store, 1)
    join = TorchGroup._join

    def interrupted(self: TorchGroup, base: Any) -> int:
        join(self, base)
        raise KeyboardInterrupt

    with monkeypatch.context() as while_interrupted:
        while_interrupted.setattr(TorchGroup, "_join", interrupted)
        with pytest.raises(KeyboardInterrupt):
            one.put("1/0", b"lost")
    one.put("1/0", b"here")
    assert other.get("1/0", 0.0) == b"here"


def test_R05_a_store_that_is_lost_is_an_error_that_says_so(
    server: StoreServer,
) -> None:
    group = group_over(connect(server), 1)
    group.put("1/1", b"")
    server.kill()
    lost = "the key-value store of the process group cannot be reached"
    with pytest.raises(RuntimeError, match=lost):
        group.get("1/0", 1.0)
    with pytest.raises(RuntimeError, match=lost) as raised:
        group.put("2/1", b"")
    assert "\n" not in str(raised.value)
    group.drop("1/1")  # the next message says it


def test_a_store_that_cannot_remove_keys_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    group = group_over(dist.HashStore(), 0)
    n_asked = 0

    def delete_key(self: object, key: str) -> bool:
        nonlocal n_asked
        n_asked += 1
        raise RuntimeError("not implemented")

    monkeypatch.setattr(dist.PrefixStore, "delete_key", delete_key)
    group.drop("1/0")
    group.drop("2/0")
    assert n_asked == 1


# -- the reduction -----------------------------------------------------------------------------


class Work:
    """An all-reduce of a process group whose other ranks had `others`."""

    def __init__(self, tensor: Any, others: list[float], error: str | None) -> None:
        self.is_over = False
        self._tensor, self._others, self._error = tensor, others, error

    def is_completed(self) -> bool:
        return self.is_over

    def wait(self) -> None:
        assert self.is_over
        if self._error is not None:
            raise RuntimeError(self._error)
        theirs = ordinals.from_values(self._others)
        for i, mine in enumerate(self._tensor.tolist()):
            self._tensor[i] = max(mine, theirs[i])


class Reducer:
    """Stands in for ``torch.distributed.all_reduce``."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.works: list[Work] = []
        self.groups: list[object] = []
        self.others = [0.0]
        self.error: str | None = None
        monkeypatch.setattr(dist, "all_reduce", self._reduce)
        monkeypatch.setattr(dist, "get_backend_config", lambda pg: "cpu:gloo,cuda:gloo")

    def _reduce(self, tensor: Any, *, op: object, group: object, async_op: bool) -> Work:
        assert op == dist.ReduceOp.MAX
        assert async_op
        self.groups.append(group)
        self.works.append(Work(tensor, self.others, self.error))
        return self.works[-1]


@pytest.fixture
def reducer(monkeypatch: pytest.MonkeyPatch) -> Reducer:
    return Reducer(monkeypatch)


def test_F11_values_are_reduced_over_the_given_group(reducer: Reducer) -> None:
    pg = Ranks(1, 2, dist.HashStore())
    group = TorchGroup(pg)
    reducer.others = [0.25, math.inf, 7.0]
    group.start_max([0.5, 1.0, -3.0])
    assert reducer.groups == [pg]
    assert group.wait_max(0.0) is None
    assert group.wait_max(0.01) is None
    reducer.works[0].is_over = True
    assert group.wait_max(0.01) == [0.5, math.inf, 7.0]
    group.start_max([1.0, 1.0, 1.0])
    reducer.works[1].is_over = True
    assert group.wait_max(0.0) == [1.0, math.inf, 7.0]


@pytest.mark.parametrize("error", [None, "Connection closed by peer"])
def test_a_reduction_that_was_not_finished_ends_all_reductions(
    reducer: Reducer, error: str | None
) -> None:
    group = group_over(dist.HashStore(), 0)
    reducer.error = error
    group.start_max([1.0])
    assert group.wait_max(0.0) is None
    if error is not None:
        reducer.works[0].is_over = True
        with pytest.raises(RuntimeError, match=error):
            group.wait_max(0.0)
    for _ in range(2):
        with pytest.raises(RuntimeError, match=r"never finished.*make a new process group"):
            group.start_max([1.0])
    assert len(reducer.works) == 1


def test_a_destroyed_process_group_is_named(reducer: Reducer) -> None:
    group = group_over(dist.HashStore(), 0)
    alive.clear()
    gc.collect()
    with pytest.raises(RuntimeError, match="the process group was destroyed"):
        group.start_max([1.0])


@pytest.mark.parametrize(
    ("config", "device"),
    [
        ("cpu:gloo,cuda:gloo", "cpu"),
        ("cpu:gloo,cuda:nccl", "cpu"),
        ("cpu:gloo,npu:hccl", "cpu"),
        ("cuda:nccl", "cuda:5"),
        ("cpu:nccl,cuda:nccl", "cuda:5"),  # torch 2.0
        ("npu:hccl", "npu:6"),
        ("cpu:mpi", "cpu"),
        ("gloo", "cpu"),
    ],
)
def test_F11_the_reduction_is_on_the_groups_device(config: str, device: str) -> None:
    torch = SimpleNamespace(
        distributed=SimpleNamespace(get_backend_config=lambda pg: config),
        cuda=SimpleNamespace(current_device=lambda: 5),
        npu=SimpleNamespace(current_device=lambda: 6),
    )
    assert torch_group._device(torch, object()) == device


VALUES = [0.0, 1e-300, 0.1, 1.0, 3.5, 2.0**53, 1.7e308, math.inf]


def test_R01_values_travel_bit_for_bit_and_in_their_order() -> None:
    values = [*(-value for value in reversed(VALUES[1:])), *VALUES]
    found = ordinals.from_values(values)
    assert found == sorted(found)
    assert len(set(found)) == len(found)
    assert ordinals.to_values(found) == values
    assert math.isnan(ordinals.to_values(ordinals.from_values([math.nan]))[0])
    every = ordinals.from_values([-0.0, math.nan, *values])
    assert all(-(2**63) <= ordinal < 2**63 for ordinal in every)


# -- what the extension makes of a board --------------------------------------------------------


class Board:
    """Carries messages to ranks that never answer."""

    def __init__(self, rank: int = 1, n_ranks: int = 2) -> None:
        self.rank, self.n_ranks = rank, n_ranks
        self.numbers: Any = list(range(n_ranks))
        self.said: list[bytes] = []
        self.raising: list[BaseException] = []

    def put(self, key: str, data: bytes) -> None:
        if self.raising:
            raise self.raising.pop()
        self.said.append(data)

    def get(self, key: str, slice_s: float) -> bytes | None:
        return None

    def drop(self, key: str) -> None:
        pass

    def start_max(self, values: list[float]) -> None:
        pass

    def wait_max(self, slice_s: float) -> list[float] | None:
        return None


@pytest.mark.parametrize(
    ("attribute", "value", "error"),
    [
        ("rank", 2, "no rank 2 among 2"),
        ("rank", 2**40, "is a smaller number"),
        ("rank", -1, "negative"),
        ("numbers", [0], "the numbers of 2 ranks are not"),
        ("numbers", (0, 1), "the numbers of 2 ranks are not"),
        ("numbers", [0, -1], "negative"),
    ],
)
def test_a_board_that_contradicts_itself_is_refused(
    attribute: str, value: object, error: str
) -> None:
    board = Board()
    setattr(board, attribute, value)
    with pytest.raises((ValueError, OverflowError), match=error):
        Group(board)


def test_R04_a_rank_that_withdraws_says_why() -> None:
    board = Board()
    group = Group(board)
    assert (group.rank, group.n_ranks) == (1, 2)
    group.withdraw("ValueError: mine")
    assert len(board.said) == 1
    assert b"ValueError: mine" in board.said[0]
    board.raising = [OSError("lost")]
    group.withdraw("nobody hears it")
    assert len(board.said) == 1
    with pytest.raises(TypeError, match="a reason is text"):
        group.withdraw(5)  # type: ignore[arg-type]


def test_R04_a_message_that_a_signal_interrupts_is_sent_again() -> None:
    board = Board()
    board.raising = [KeyboardInterrupt()]
    with pytest.raises(KeyboardInterrupt):
        Group(board).withdraw("first")
    assert len(board.said) == 1
    assert b"first" in board.said[0]


# -- what a tuner tells the others ----------------------------------------------------------------


def tuner(key_fn: Callable[..., object] = lambda x: x) -> Any:
    @autotune([{"C": 0}, {"C": 1}], key_fn=key_fn, warmup=0, repeat=1)
    def tuned(x: object, C: int) -> Any:
        return stage.run(C)

    return tuned


@pytest.fixture
def board() -> Board:
    return Board()


@pytest.fixture
def pg(board: Board) -> Ranks:
    pg = Ranks(1, 2)
    groups._groups[pg] = Group(board)
    return pg


def raises(exception: BaseException) -> Callable[..., object]:
    def key_fn(x: object) -> object:
        raise exception

    return key_fn


class Hashing:
    """A key whose own code fails."""

    def __hash__(self) -> int:
        raise ValueError("mine")


@pytest.mark.parametrize(
    ("key_fn", "expected", "told"),
    [
        (raises(ValueError("mine")), ValueError, "ValueError: mine"),
        (raises(KeyboardInterrupt()), KeyboardInterrupt, "KeyboardInterrupt"),
        (raises(SystemExit(3)), SystemExit, "SystemExit: 3"),
        (lambda x: object(), TypeError, "TypeError: "),
    ],
)
def test_R04_what_ends_a_call_before_it_looks_anything_up_is_told(
    board: Board,
    pg: Ranks,
    stage: Stage,
    key_fn: Callable[..., object],
    expected: type[BaseException],
    told: str,
) -> None:
    with pytest.raises(expected) as raised:
        tuner(key_fn)(1, autotune_pg=pg)
    assert raised.value.__cause__ is None
    assert raised.value.__context__ is None or raised.value.__suppress_context__
    (note,) = board.said
    assert told.encode() in note
    assert stage.take_ran() == []


def test_R04_a_key_whose_own_code_fails_is_told(
    board: Board, pg: Ranks, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(groups, "_triton_dist_world", lambda: pg)
    with pytest.raises(ValueError, match="mine"):
        tuner(lambda x: Hashing())(1)
    (note,) = board.said
    assert b"ValueError: mine" in note


@pytest.mark.parametrize("broken", ["find_place", "host_hardware", "dependencies"])
def test_R04_what_fails_on_the_way_to_the_engine_is_told(
    board: Board, pg: Ranks, stage: Stage, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    def fail(*args: object) -> object:
        raise OSError(f"no {broken}")

    monkeypatch.setattr(devices if broken == "find_place" else facts, broken, fail)
    with pytest.raises(OSError, match=f"no {broken}"):
        tuner()(1, autotune_pg=pg)
    (note,) = board.said
    assert f"OSError: no {broken}".encode() in note


def test_R04_a_wrong_setting_and_a_wrong_call_are_told(
    board: Board, pg: Ranks, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ValueError, match="C"):
        tuner()(1, C=1, autotune_pg=pg)
    monkeypatch.setenv("TRITON_DIST_AUTOTUNE_RANK_TIMEOUT", "soon")
    with pytest.raises(ValueError, match="RANK_TIMEOUT"):
        tuner()(1, autotune_pg=pg)
    assert len(board.said) == 2


def test_F08_without_autotune_the_others_are_told_nothing(
    board: Board, pg: Ranks, stage: Stage
) -> None:
    assert tuner(raises(ValueError("mine")))(1, autotune=False, autotune_pg=pg) == 0
    with pytest.raises(ValueError, match="C"):
        tuner()(1, C=1, autotune=False, autotune_pg=pg)
    assert board.said == []


def test_R04_where_the_others_cannot_be_told_the_exception_is_the_same(
    board: Board, pg: Ranks, stage: Stage
) -> None:
    board.raising = [OSError("lost")]
    with pytest.raises(ValueError, match="mine") as raised:
        tuner(raises(ValueError("mine")))(1, autotune_pg=pg)
    assert raised.value.__context__ is None


def test_R04_an_interrupt_while_the_others_are_told_is_not_lost(
    board: Board, pg: Ranks, stage: Stage
) -> None:
    board.raising = [KeyboardInterrupt()]
    with pytest.raises(KeyboardInterrupt):
        tuner(raises(ValueError("mine")))(1, autotune_pg=pg)
    (note,) = board.said
    assert b"ValueError: mine" in note


def test_R05_a_board_that_fails_is_a_runtime_error(board: Board, pg: Ranks, stage: Stage) -> None:
    board.raising = [OSError("lost")] * 9
    with pytest.raises(RuntimeError, match="OSError: lost"):
        tuner()(1, autotune_pg=pg)
    assert stage.take_ran() == []


def test_R05_the_time_out_is_that_of_the_environment(
    board: Board, pg: Ranks, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRITON_DIST_AUTOTUNE_RANK_TIMEOUT", "0.2")
    with pytest.raises(RuntimeError, match=r"0\.2"):
        tuner()(1, autotune_pg=pg)


@pytest.mark.parametrize("raised", [KeyboardInterrupt, SystemExit])
def test_R04_an_interrupt_while_waiting_for_ranks_ends_the_wait(
    board: Board, pg: Ranks, stage: Stage, raised: type[BaseException]
) -> None:
    def get(key: str, slice_s: float) -> bytes | None:
        raise raised("enough")

    board.get = get  # type: ignore[method-assign]
    with pytest.raises(raised, match="enough"):
        tuner()(1, autotune_pg=pg)
    assert b"enough" in board.said[-1]


# -- what is remembered for each group -------------------------------------------------------------


@pytest.fixture
def anew(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> Stage:
    """Nothing comes from the store, and time is the stage's."""
    accelerator = sys.modules["torch"].cuda
    place = devices.Place("cuda", 0, accelerator)
    monkeypatch.setattr(devices, "find_place", lambda args, kwargs: place)
    monkeypatch.setenv("TRITON_DIST_AUTOTUNE_ALWAYS_TUNE", "1")
    return stage


def test_F11_a_key_is_remembered_for_each_group_on_its_own(anew: Stage) -> None:
    tuned, one, other = tuner(), Ranks(0, 1), Ranks(0, 1)
    given: list[dict[str, Any]] = [
        {"autotune_pg": one},
        {"autotune_pg": other},
        {},
    ]
    for kwargs in given:
        anew.cost_ms = {0: 2.0, 1: 1.0}
        assert tuned(5, **kwargs) == 1
        assert anew.take_ran() == [0, 1, 1]
    anew.cost_ms = {0: 1.0, 1: 2.0}
    for kwargs in [*given, {"autotune_pg": None}]:
        assert tuned(5, **kwargs) == 1
        assert anew.take_ran() == [1]


def test_F11_groups_that_come_and_go_leave_nothing_behind(anew: Stage) -> None:
    tuned, stays = tuner(), Ranks(0, 1)
    tuned(5)
    tuned(5, autotune_pg=stays)
    sizes = set()
    for _ in range(10):
        pg = Ranks(0, 1)
        tuned(5, autotune_pg=pg)
        sizes.add(len(gc.get_referents(tuned)))
        gone = weakref.ref(pg)
        del pg
        gc.collect()
        assert gone() is None
    assert len(sizes) == 1
    anew.take_ran()
    assert tuned(5, autotune_pg=stays) == 0
    assert anew.take_ran() == [0]


def test_F11_a_remembered_key_may_bring_new_groups_while_it_goes(anew: Stage) -> None:
    tuned = tuner()
    kept = []

    class Text(str):
        """A key that tunes when it goes."""

        def __del__(self) -> None:
            kept.append(Ranks(0, 1))
            tuned(len(kept), autotune_pg=kept[-1])

    pg = Ranks(0, 1)
    tuned(Text("one"), autotune_pg=pg)
    tuned("two", autotune_pg=pg)
    del pg
    gc.collect()
    for n in range(3):
        kept.append(Ranks(0, 1))
        tuned(n, autotune_pg=kept[-1])
    assert len(kept) >= 3


@pytest.mark.parametrize("pg", [5, "world", SimpleNamespace()])
def test_F11_a_wrong_group_is_refused_by_a_call(anew: Stage, pg: object) -> None:
    tuned = tuner()
    for _ in range(2):
        with pytest.raises(TypeError, match="autotune_pg must be"):
            tuned(5, autotune_pg=pg)
    assert anew.take_ran() == []
    assert tuned(5, autotune=False, autotune_pg=pg) == 0
