# SPDX-License-Identifier: MIT
"""R, F11: `autotune` over several real processes with gloo."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

import worlds
from stand_ins import read, records

# The function that most tests tune. What each candidate costs on this rank is in stage.cost_ms.
BEFORE = (
    worlds.STAGE
    + """
# What differs between ranks is in attributes of an object, so that the sources are the same.
stage.key_of = lambda key: key
stage.keeps = lambda C: True
@autotune([{"C": C} for C in range(4)], key_fn=lambda x, key: stage.key_of(key),
          prune_fn=lambda config, x, key: stage.keeps(config["C"]), warmup=1, repeat=2)
def tuned(x, key, C):
    return stage.run(C)
def costs(*of):
    stage.cost_ms = dict(enumerate(of))
meet()
"""
)


def run_ranks(n_ranks: int, folder: Path, code: str, **options: Any) -> list[Any]:
    """Run the code on every rank and return what each handed back."""
    return worlds.results(worlds.run_world(n_ranks, folder, code, before=BEFORE, **options))


# Each rank alone would choose another candidate; the best for all is nobody's favourite.
OPPOSED = """
costs(*[1.0 if C == rank else 9.0 + rank for C in range(3)], 4.0 + rank)
"""


@pytest.mark.parametrize("n_ranks", [2, 3, 4])
def test_R01_F11_the_greatest_time_over_the_default_group_counts(
    n_ranks: int, tmp_path: Path, root: Path
) -> None:
    results = run_ranks(
        n_ranks,
        tmp_path,
        OPPOSED
        + """
RESULT["winner"] = tuned(1, "key")
RESULT["ran"] = stage.take_ran()
RESULT["hit"] = tuned(1, "key")
RESULT["ran_on_hit"] = stage.take_ran()
""",
    )
    for result in results:
        assert result["winner"] == result["hit"] == 3
        assert result["ran"] == [C for C in range(4) for _ in range(3)] + [3]
        assert result["ran_on_hit"] == [3]
    (path,) = records(root)  # R06: of all ranks one writes
    record = read(path)
    assert record["ranks"] == n_ranks
    times = [candidate["time_ms"] for candidate in record["candidates"]]
    slowest = [max(9.0 + r for r in range(n_ranks) if r != C) for C in range(3)]
    assert times == [*slowest, 4.0 + n_ranks - 1]


def test_R01_case_R3_equal_times_go_to_the_lowest_index(tmp_path: Path) -> None:
    results = run_ranks(
        2,
        tmp_path,
        """
costs(*([9.0, 2.0, 3.0, 1.0] if rank == 0 else [9.0, 3.0, 2.0, 8.0]))
RESULT["winner"] = tuned(1, "key")
""",
    )
    assert [result["winner"] for result in results] == [1, 1]


def test_F11_case_R6_a_subgroup_tunes_while_the_others_do_nothing(
    tmp_path: Path, root: Path
) -> None:
    results = run_ranks(
        4,
        tmp_path,
        """
group = dist.new_group([0, 1])
costs(*[[1.0, 9.0, 5.0, 9.0], [9.0, 1.0, 5.0, 9.0]][rank % 2])
if rank < 2:
    RESULT["winner"] = tuned(1, "key", autotune_pg=group)
RESULT["n_groups"] = len(groups._groups)
""",
    )
    assert [result.get("winner") for result in results] == [2, 2, None, None]
    assert [result["n_groups"] for result in results] == [1, 1, 0, 0]
    assert [read(path)["ranks"] for path in records(root)] == [2]


def test_F11_a_rank_outside_the_group_is_told_so(tmp_path: Path) -> None:
    results = run_ranks(
        2,
        tmp_path,
        """
group = dist.new_group([0])
RESULT["told"] = error_of(tuned, 1, "key", autotune_pg=group)
""",
    )
    assert results[0]["told"].isdecimal()
    assert results[1]["told"].startswith("TypeError: autotune_pg must be")


def test_F11_the_group_of_triton_distributed_comes_before_the_default_group(
    tmp_path: Path,
) -> None:
    results = run_ranks(
        3,
        tmp_path,
        OPPOSED
        + """
import types
utils = sys.modules["triton_dist.utils"] = types.ModuleType("triton_dist.utils")
utils._TRITON_DIST_WORLD = dist.new_group([0, 2])
if rank != 1:
    RESULT["winner"] = tuned(1, "key")
""",
    )
    assert [result.get("winner") for result in results] == [3, None, 3]


def test_F11_before_the_ranks_meet_each_is_alone(tmp_path: Path) -> None:
    results = worlds.results(
        worlds.run_world(
            2,
            tmp_path,
            """
costs(*[[1.0, 9.0, 5.0, 9.0], [9.0, 1.0, 5.0, 9.0]][rank])
RESULT["alone"] = tuned(1, "before")
meet()
RESULT["together"] = tuned(1, "after")
RESULT["remembered"] = tuned(1, "before")
""",
            before=BEFORE.replace("meet()", ""),
            TRITON_DIST_AUTOTUNE_DIR=str(tmp_path / "store-{rank}"),
        )
    )
    assert [result["alone"] for result in results] == [0, 1]
    assert [result["together"] for result in results] == [2, 2]
    assert [result["remembered"] for result in results] == [0, 1]


def test_F11_what_one_group_knows_another_agrees_upon_again(tmp_path: Path) -> None:
    results = run_ranks(
        3,
        tmp_path,
        """
a, b = dist.new_group([0, 1]), dist.new_group([1, 2])
costs(*[[1.0, 9.0, 9.0, 9.0], [2.0, 2.0, 9.0, 9.0], [9.0, 1.0, 9.0, 9.0]][rank])
def call(**kwargs):
    stage.take_ran()
    return tuned(1, "key", **kwargs), len(stage.take_ran())
if rank < 2:
    RESULT["a"] = call(autotune_pg=a)
if rank > 0:
    RESULT["b"] = call(autotune_pg=b)
if rank == 1:  # hits: nobody is asked
    RESULT["hits"] = [call(autotune_pg=a), call(autotune_pg=b)]
RESULT["all"] = call()
""",
        TRITON_DIST_AUTOTUNE_ALWAYS_TUNE="1",
    )
    n_runs = 4 * 3 + 1
    assert [result.get("a") for result in results] == [[0, n_runs], [0, n_runs], None]
    assert [result.get("b") for result in results] == [None, [1, n_runs], [1, n_runs]]
    assert results[1]["hits"] == [[0, 1], [1, 1]]
    assert {result["all"][1] for result in results} == {n_runs}
    assert len({result["all"][0] for result in results}) == 1


def test_R03_F11_a_group_takes_over_what_another_has_stored(tmp_path: Path) -> None:
    results = run_ranks(
        3,
        tmp_path,
        """
a, b = dist.new_group([0, 1]), dist.new_group([1, 2])
costs(9.0, 9.0, 1.0, 9.0)
if rank < 2:
    RESULT["a"] = tuned(1, "key", autotune_pg=a)
stage.take_ran()
if rank > 0:
    RESULT["b"] = tuned(1, "key", autotune_pg=b)
RESULT["ran"] = stage.take_ran()
RESULT["n_records"] = len(records(__import__("pathlib").Path(
    os.environ["TRITON_DIST_AUTOTUNE_DIR"])))
""",
        TRITON_DIST_AUTOTUNE_DIR=str(tmp_path / "store-{rank}"),
    )
    assert [result.get("b") for result in results] == [None, 2, 2]
    assert [result["ran"] for result in results] == [[], [2], [2]]
    assert [result["n_records"] for result in results] == [1, 1, 1]


@pytest.mark.parametrize("n_ranks", [2, 4])
def test_R03_case_R1_a_hit_on_one_rank_is_handed_to_the_others(
    n_ranks: int, tmp_path: Path
) -> None:
    results = run_ranks(
        n_ranks,
        tmp_path,
        """
alone = [dist.new_group([r]) for r in range(n_ranks)][rank]
costs(3.0, 2.0, 1.0, 4.0)
if rank == n_ranks - 1:
    RESULT["warm"] = tuned(1, "key", autotune_pg=alone)
stage.take_ran()
dist.barrier()
costs(1.0, 2.0, 3.0, 4.0)
RESULT["winner"] = tuned(1, "key")
RESULT["ran"] = stage.take_ran()
RESULT["again"] = tuned(1, "key", autotune_pg=alone)
RESULT["ran_again"] = stage.take_ran()
""",
        TRITON_DIST_AUTOTUNE_DIR=str(tmp_path / "store-{rank}"),
    )
    for result in results:
        assert result["winner"] == result["again"] == 2
        assert result["ran"] == result["ran_again"] == [2]


@pytest.mark.parametrize("failing", [0, 1])
@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("stage.key_of = raising(ValueError('mine'))", "ValueError: mine"),
        ("stage.key_of = lambda key: object()", "TypeError: key"),
        ("stage.key_of = raising(KeyboardInterrupt())", "KeyboardInterrupt"),
        ("stage.keeps = raising(ValueError('mine'))", "ValueError: mine"),
        ("stage.before_run = raising(SystemExit(5))", "SystemExit: 5"),
    ],
)
def test_R04_a_rank_whose_call_raises_is_named_to_the_others(
    failing: int, code: str, told: str, tmp_path: Path
) -> None:
    results = run_ranks(
        2,
        tmp_path,
        f"""
def raising(error):
    def fail(*args):
        raise error
    return fail
own = stage.key_of, stage.keeps
if rank == {failing}:
    {code}
RESULT["error"] = error_of(tuned, 1, "key")
stage.before_run = None
stage.key_of, stage.keeps = own
costs(4.0, 3.0, 2.0, 1.0)
RESULT["again"] = error_of(tuned, 1, "key")
""",
    )
    assert results[failing]["error"].startswith(told)
    assert results[1 - failing]["error"].startswith("RuntimeError: ")
    assert f"rank {failing}" in results[1 - failing]["error"]
    assert told in results[1 - failing]["error"]
    assert " tuned, " in results[1 - failing]["error"]  # R05: the function as well
    assert [result["again"] for result in results] == ["3", "3"]


@pytest.mark.parametrize("fails", [0, 3])
def test_R04_case_R2_a_candidate_that_fails_on_one_rank_is_out_for_all(
    fails: int, tmp_path: Path
) -> None:
    results = run_ranks(
        2,
        tmp_path,
        f"""
costs(1.0, 2.0, 3.0, 0.5)
if rank == 1:
    stage.failing[{fails}] = lambda: MemoryError("not here")
RESULT["winner"] = tuned(1, "key")
""",
    )
    assert [result["winner"] for result in results] == [3 if fails == 0 else 0] * 2


def test_F14_R04_where_no_candidate_works_for_all_every_rank_says_so(tmp_path: Path) -> None:
    results = run_ranks(
        2,
        tmp_path,
        """
for C in range(2 * rank, 2 * rank + 2):
    stage.failing[C] = lambda: ValueError(f"not on {rank}")
RESULT["error"] = error_of(tuned, 1, "key")
RESULT["first"] = error_of(tuned, 1, "key", autotune=False)
""",
    )
    for result in results:
        assert result["error"].startswith("RuntimeError: cannot find valid config")
        assert "not on 0" in result["error"]
        assert "not on 1" in result["error"]


def test_R02_case_R5_ranks_that_tune_different_keys_get_the_same_error(tmp_path: Path) -> None:
    results = run_ranks(
        2,
        tmp_path,
        """
RESULT["error"] = error_of(tuned, 1, f"key of {rank}")
RESULT["again"] = error_of(tuned, 1, "one for all")
""",
    )
    assert results[0]["error"] == results[1]["error"]
    assert results[0]["error"].startswith("RuntimeError: ")
    assert "key of 0" in results[0]["error"]
    assert "key of 1" in results[0]["error"]
    assert results[0]["again"] == results[1]["again"]
    assert results[0]["again"].isdecimal()


def test_R02_case_R5_ranks_that_keep_different_candidates_get_the_same_error(
    tmp_path: Path,
) -> None:
    results = run_ranks(
        2,
        tmp_path,
        """
stage.keeps = lambda C: C != rank
RESULT["error"] = error_of(tuned, 1, "key")
""",
    )
    assert results[0]["error"] == results[1]["error"]
    assert results[0]["error"].startswith("RuntimeError: ")


def test_R04_messages_call_ranks_by_their_numbers_in_the_world(tmp_path: Path) -> None:
    results = run_ranks(
        4,
        tmp_path,
        """
group = dist.new_group([1, 3])
def key_of(key):
    if rank == 3:
        raise ValueError("mine")
    return key
stage.key_of = key_of
if rank in (1, 3):
    RESULT["error"] = error_of(tuned, 1, "key", autotune_pg=group)
""",
    )
    assert results[3]["error"] == "ValueError: mine"
    assert "rank 3" in results[1]["error"]
    assert "rank 0" not in results[1]["error"]


@pytest.mark.parametrize("absent", [0, 1])
def test_R05_a_rank_that_does_not_come_is_named_at_the_deadline(
    absent: int, tmp_path: Path
) -> None:
    results = run_ranks(
        2,
        tmp_path,
        f"""
if rank != {absent}:
    RESULT["error"] = error_of(tuned, 1, "key")
""",
        TRITON_DIST_AUTOTUNE_RANK_TIMEOUT="1.5",
    )
    error = results[1 - absent]["error"]
    assert error.startswith("RuntimeError: ")
    assert f"rank {absent}" in error
    assert "1.5 s" in error


def test_R05_an_interrupt_ends_the_wait_for_another_rank(tmp_path: Path) -> None:
    results = run_ranks(
        2,
        tmp_path,
        """
import signal, threading
if rank == 0:
    threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    RESULT["error"] = error_of(tuned, 1, "key")
else:
    while not os.path.exists("interrupted"):
        pass
    RESULT["error"] = error_of(tuned, 1, "key")
if rank == 0:
    open("interrupted", "w").close()
""",
    )
    assert results[0]["error"].startswith("KeyboardInterrupt")
    assert "KeyboardInterrupt" in results[1]["error"]
    assert "rank 0" in results[1]["error"]


def test_F08_without_autotune_a_rank_needs_nobody(tmp_path: Path) -> None:
    results = run_ranks(
        2,
        tmp_path,
        """
if rank == 1:
    stage.key_of = None  # never asked
    RESULT["first"] = tuned(1, "key", autotune=False)
RESULT["n_groups"] = len(groups._groups)
""",
    )
    assert results[1]["first"] == 0
    assert [result["n_groups"] for result in results] == [0, 0]


def test_R01_a_tuned_function_may_call_another(tmp_path: Path) -> None:
    results = run_ranks(
        2,
        tmp_path,
        """
@autotune([{"D": 0}, {"D": 1}], key_fn=lambda key: key, warmup=1, repeat=1)
def outer(key, D):
    stage.now_ms += stage.outer_ms[D]
    return D, tuned(1, key)
stage.outer_ms = [5.0, 1.0 + 9.0 * rank]
costs(4.0, 3.0, 2.0, 1.0)
RESULT["result"] = outer("key")
""",
    )
    assert [result["result"] for result in results] == [[0, 3], [0, 3]]


# -- over a store that somebody else keeps ---------------------------------------------------------


@pytest.fixture
def server() -> Iterator[worlds.StoreServer]:
    server = worlds.StoreServer()
    yield server
    server.kill()


OVER_TCP = """
tcp_store = dist.TCPStore("127.0.0.1", int(os.environ["STORE_PORT"]), n_ranks, False)
def meet(time=0):
    store = dist.PrefixStore(f"time-{time}", tcp_store)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=n_ranks)
"""


def run_over_tcp(
    n_ranks: int, folder: Path, code: str, server: worlds.StoreServer, **settings: str
) -> list[worlds.Rank]:
    return worlds.run_world(
        n_ranks, folder, code, before=OVER_TCP + BEFORE, STORE_PORT=str(server.port), **settings
    )


def test_F11_over_a_tcp_store_nothing_but_the_result_is_printed(
    tmp_path: Path, server: worlds.StoreServer
) -> None:
    ranks = run_over_tcp(
        2,
        tmp_path,
        """
import time
time.sleep(0.5 * rank)
costs(4.0, 3.0 - rank, 2.0 + rank, 8.0)
RESULT["winner"] = tuned(1, "key")
""",
        server,
    )
    assert [result["winner"] for result in worlds.results(ranks)] == [1, 1]
    assert [rank.output for rank in ranks] == ["", ""]
    assert not any("Socket" in rank.errors or "timed out" in rank.errors for rank in ranks)


def test_F11_a_default_group_that_is_made_again_is_another_group(
    tmp_path: Path, server: worlds.StoreServer
) -> None:
    ranks = run_over_tcp(
        2,
        tmp_path,
        """
costs(4.0, 3.0, 2.0, 1.0)
RESULT["winners"] = [tuned(1, "first")]
for time in (1, 2):
    dist.barrier()
    dist.destroy_process_group()
    RESULT["n_groups"] = len(groups._groups)
    meet(time)
    RESULT["winners"] += [tuned(1, f"again {time}"), tuned(1, "first")]
""",
        server,
    )
    for result in worlds.results(ranks):
        assert result["winners"] == [3] * 5
        assert result["n_groups"] == 0
