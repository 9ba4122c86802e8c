# SPDX-License-Identifier: MIT
"""Reading records, and the helpers around them."""

import logging
import sys
import threading
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import tdtune
from tdtune import load_autotune_data, pretty_triton_config_repr, table, to_hashable


def tuned(n: int) -> Any:
    @tdtune.autotune([{"step": 1}, {"step": 2}], key_fn=lambda x: (x, n), warmup=0, repeat=1)
    def work(x: int, step: int) -> int:
        return len(range(0, x, step))

    return work


def test_F25_a_record_is_read_as_a_dict() -> None:
    work = tuned(1)
    work(10)
    path = work.record_path(10)
    record = load_autotune_data(path)
    assert record == load_autotune_data(Path(path))
    assert record is not None
    assert record["function"]["name"] == "work"
    assert record["key"] == "(10, 1)"
    assert [c["config"] for c in record["candidates"]] == [{"step": 1}, {"step": 2}]
    assert record["best"] in (0, 1)
    assert "step=2" in table(path)


@pytest.mark.parametrize("content", [None, b"", b"{", b"[]", b"{}", b"\xff\xfe", b"null"])
def test_F25_what_is_no_record_is_none_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, content: bytes | None
) -> None:
    path = tmp_path / "record.json"
    if content is not None:
        path.write_bytes(content)
    with caplog.at_level(logging.WARNING, logger="tdtune"):
        assert load_autotune_data(path) is None
    assert len(caplog.records) == 1
    assert str(path) in caplog.text
    with pytest.raises((OSError, ValueError)):
        table(path)


def test_F25_to_hashable() -> None:
    torch = pytest.importorskip("torch")
    tensor = torch.empty(4, 6, dtype=torch.float16).t()
    found = to_hashable(tensor)
    assert found == ((6, 4), (1, 6), torch.float16)
    assert [type(part) for part in found[:2]] == [tuple, tuple]
    assert len({found, to_hashable(tensor.contiguous()), to_hashable(tensor.float())}) == 3


def test_F25_to_hashable_of_an_array() -> None:
    numpy = pytest.importorskip("numpy")
    array = numpy.empty((4, 6), dtype="float32")
    assert to_hashable(array) == ((4, 6), (24, 4), numpy.dtype("float32"))


class Config:
    def __str__(self) -> str:
        return "B: 1"


class Custom(Config):
    def __repr__(self) -> str:
        return "own"


@pytest.fixture(params=[Config, Custom])
def config(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    triton = ModuleType("triton")
    triton.Config = request.param  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "triton", triton)
    return request.param()


def test_F25_pretty_repr_is_there_inside_only(config: Any) -> None:
    before, names = repr(config), dict(vars(type(config)))
    with pretty_triton_config_repr():
        assert repr([config]) == "[B: 1]"
        with pretty_triton_config_repr():
            assert repr(config) == "B: 1"
        assert repr(config) == "B: 1"
    assert repr(config) == before
    assert dict(vars(type(config))) == names


def test_F25_pretty_repr_ends_with_an_exception(config: Any) -> None:
    before = repr(config)
    with pytest.raises(KeyboardInterrupt), pretty_triton_config_repr():
        raise KeyboardInterrupt
    assert repr(config) == before


def test_F25_pretty_repr_of_threads_that_overlap(config: Any) -> None:
    before = repr(config)
    inside, leave = threading.Event(), threading.Event()

    def other() -> None:
        with pretty_triton_config_repr():
            inside.set()
            leave.wait(60)

    thread = threading.Thread(target=other)
    with pretty_triton_config_repr():
        thread.start()
        assert inside.wait(60)
    assert repr(config) == "B: 1"  # the other one is still inside
    leave.set()
    thread.join()
    assert repr(config) == before


def test_F25_pretty_repr_without_triton(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "triton", raising=False)
    with pretty_triton_config_repr():
        pass


def test_F25_pretty_repr_of_triton_itself() -> None:
    triton = pytest.importorskip("triton")
    one = triton.Config({"B": 1})
    with pretty_triton_config_repr():
        assert repr(one) == str(one)
    assert repr(one) != str(one)
