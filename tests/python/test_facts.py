# SPDX-License-Identifier: MIT
"""What the times depend on, and who else is there."""

import io
import json
import logging
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from conftest import RunPython
from tdtune._cold import Situation, emit, progress, situation
from tdtune.devices import Place
from tdtune.facts import dependencies
from tdtune.progress import Progress


def hardware(kind: str = "cuda", **properties: Any) -> Any:
    extra = properties.pop("module", {})
    module = SimpleNamespace(
        device_count=lambda: 2,
        get_device_properties=lambda index: SimpleNamespace(**properties),
        **extra,
    )
    return json.loads(Place(kind, 0, module).hardware())


def test_F16_hardware_of_accelerators() -> None:
    nvidia = hardware(name="NVIDIA H200", major=9, minor=0)
    assert nvidia == {"device": "NVIDIA H200", "count": 2, "arch": "sm_90"}
    amd = hardware(name="AMD Instinct", major=9, minor=4, gcnArchName="gfx942:xnack-")
    assert amd["arch"] == "gfx942:xnack-"
    ascend = hardware("npu", name="Ascend910B3", module={"get_soc_version": lambda: 223})
    assert ascend == {"device": "Ascend910B3", "count": 2, "arch": "soc_223"}
    unknown = hardware("npu", module={"get_device_name": lambda index: f"unit {index}"})
    assert unknown == {"device": "unit 0", "count": 2}


def test_F16_hardware_of_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    found = situation((1,), {}, None)
    assert isinstance(found, Situation)
    assert isinstance(json.loads(found.hardware), dict)


def test_F16_dependencies_are_those_of_loaded_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("torch", "torch_npu", "triton", "numpy", "torch_npu.npu.utils"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    bare = json.loads(dependencies())
    assert set(bare) == {"python", "tdtune"}
    assert bare["python"] == ".".join(map(str, sys.version_info[:2]))

    triton = ModuleType("triton")
    triton.__version__ = "3.2.0"  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "triton", triton)
    monkeypatch.setitem(sys.modules, "triton.backends.ascend", ModuleType("ascend"))
    utils = ModuleType("torch_npu.npu.utils")
    utils.get_cann_version = lambda: "8.5.0"  # type: ignore[attr-defined]
    torch = ModuleType("torch")
    torch.__version__ = "9.8.7"  # type: ignore[attr-defined]
    torch.version = SimpleNamespace(cuda="13.0", hip=None)  # type: ignore[attr-defined]
    npu = ModuleType("torch_npu")
    npu.__version__ = "9.8.7.post1"  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "torch_npu", npu)
    monkeypatch.setitem(sys.modules, "torch_npu.npu.utils", utils)
    found = json.loads(dependencies())
    assert found == {
        **bare,
        "torch": "9.8.7",
        "torch_npu": "9.8.7.post1",
        "triton": "3.2.0",
        "triton-ascend": "3.2.0",
        "CUDA": "13.0",
        "CANN": "8.5.0",
    }


GROUPS = """
import sys, types
from tdtune._cold import situation
world = types.SimpleNamespace(rank=lambda: 0, size=lambda: 1)
{setup}
print(situation((), {{}}, {pg})[3:])
"""


@pytest.mark.parametrize(
    ("setup", "pg", "expected"),
    [
        ("", "None", "(0, 1)"),
        ("", "world", "(0, 1)"),
        ("import triton_dist, triton_dist.tune", "None", "(0, 1)"),
    ],
)
def test_F11_groups_of_one_rank(run_python: RunPython, setup: str, pg: str, expected: str) -> None:
    assert run_python(GROUPS.format(setup=setup, pg=pg)).strip() == expected


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in ("torch", "torch.distributed", "triton_dist.utils"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return monkeypatch


def group(rank: int, size: int) -> Any:
    return SimpleNamespace(rank=lambda: rank, size=lambda: size)


def distributed(rank: int, size: int, *, initialised: bool = True) -> ModuleType:
    module = ModuleType("torch.distributed")
    module.__dict__.update(
        is_available=lambda: True,
        is_initialized=lambda: initialised,
        get_rank=lambda: rank,
        get_world_size=lambda: size,
    )
    return module


def test_F11_which_group_counts(alone: pytest.MonkeyPatch) -> None:
    alone.setitem(sys.modules, "torch.distributed", distributed(0, 1))
    assert situation((), {}, None)[3:] == (0, 1)
    alone.setitem(sys.modules, "torch.distributed", distributed(3, 8, initialised=False))
    assert situation((), {}, None)[3:] == (0, 1)
    alone.setitem(sys.modules, "torch.distributed", distributed(3, 8))
    assert situation((), {}, group(0, 1))[3:] == (0, 1)  # the call's own group comes first
    utils = ModuleType("triton_dist.utils")
    utils._TRITON_DIST_WORLD = group(0, 1)  # type: ignore[attr-defined]
    alone.setitem(sys.modules, "triton_dist.utils", utils)
    assert situation((), {}, None)[3:] == (0, 1)  # then Triton-distributed's
    utils._TRITON_DIST_WORLD = None  # type: ignore[attr-defined]
    with pytest.raises(NotImplementedError):
        situation((), {}, None)  # then torch's


def test_F11_several_ranks_are_for_a_later_version(alone: pytest.MonkeyPatch) -> None:
    with pytest.raises(NotImplementedError, match=r"has 8; call with autotune=False"):
        situation((), {}, group(1, 8))


@pytest.mark.parametrize("pg", [-100, object(), "world"])
def test_F11_what_is_no_group_is_refused(alone: pytest.MonkeyPatch, pg: object) -> None:
    with pytest.raises(TypeError, match="autotune_pg must be"):
        situation((), {}, pg)


def test_F09_information_goes_to_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    emit(1, "tuning f", True)
    emit(1, "not asked for", False)
    emit(0, "detail", True)
    assert capsys.readouterr().out == "tdtune: tuning f\n"


def test_F09_warnings_go_to_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, logger="tdtune"):
        emit(2, "100% odd", False)
        emit(1, "quiet", False)
    assert [(r.levelname, r.getMessage()) for r in caplog.records] == [
        ("WARNING", "100% odd"),
        ("DEBUG", "quiet"),
    ]


def test_F09_telling_never_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    closed = io.StringIO()
    closed.close()
    for stream in (closed, None):
        monkeypatch.setattr(sys, "stdout", stream)
        emit(1, "\ud800", True)


def test_progress_is_told_in_pythons_terms() -> None:
    told: list[Progress] = []
    progress(told.append, 3, 0, -1, 0, 0.0, None, -1, 0.0)
    progress(told.append, 3, 1, 0, 2, 0.0, "no room", -1, 0.0)
    progress(told.append, 3, 2, 1, 1, 1.5, None, 1, 1.5)
    assert told == [
        Progress(3, 0, None, "unknown", None, None, None, None),
        Progress(3, 1, 0, "failed", None, "no room", None, None),
        Progress(3, 2, 1, "timed", 1.5, None, 1, 1.5),
    ]

    def fails(_: Progress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        progress(fails, 1, 0, -1, 0, 0.0, None, -1, 0.0)
