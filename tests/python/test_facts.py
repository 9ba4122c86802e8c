# SPDX-License-Identifier: MIT
"""What the times depend on."""

import io
import json
import logging
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
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
