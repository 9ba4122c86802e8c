# SPDX-License-Identifier: MIT
"""What the times depend on besides the function: hardware and software, as texts of JSON objects.

Only modules that the process has loaded are looked at; versions come from the modules themselves,
which is quick, not from the metadata of installed packages.
"""

import functools
import json
import os
import platform
import sys
from collections.abc import Iterator
from typing import Any

from tdtune import _native

# Modules whose version counts.
_MODULES = ("torch", "torch_npu", "triton", "numpy")


@functools.cache
def host_hardware() -> str:
    """Return the facts about the processor."""
    return _host_hardware(_n_cores())


def _n_cores() -> int:
    return len(os.sched_getaffinity(0))


@functools.lru_cache(maxsize=4)
def _host_hardware(_n_cores: int) -> str:
    return _native.host_hardware()


# Not in the first call: the kernel takes its time. Only the cores can change until then.
_host_hardware(_n_cores())


def accelerator_hardware(module: Any, kind: str, index: int) -> str:
    """Return the facts about one accelerator.

    Parameters
    ----------
    module
        The module of torch that drives it.
    kind, index
        Type and number of the device.
    """
    ask = getattr(module, "get_device_properties", None)
    properties = ask(index) if ask is not None else None
    facts = {
        "device": _name(module, kind, index, properties),
        "count": int(module.device_count()) if hasattr(module, "device_count") else 1,
        "arch": _arch(module, properties),
    }
    return _json({key: value for key, value in facts.items() if value})


def _name(module: Any, kind: str, index: int, properties: Any) -> str:
    name = getattr(properties, "name", None)
    if not name and hasattr(module, "get_device_name"):
        name = module.get_device_name(index)
    return str(name or f"{kind} of {platform.processor() or platform.machine()}")


def _arch(module: Any, properties: Any) -> str:
    """Return the instruction set: "sm_90", "gfx942:sramecc+:xnack-", the number of an NPU's SoC."""
    amd = getattr(properties, "gcnArchName", None)
    if amd:
        return str(amd)
    soc = getattr(module, "get_soc_version", None)
    if soc is not None:
        return f"soc_{soc()}"
    intel = getattr(properties, "architecture", None)
    if intel is not None:
        return f"xe_{intel}"
    if hasattr(properties, "major") and hasattr(properties, "minor"):
        return f"sm_{properties.major}{properties.minor}"
    return ""


def dependencies() -> str:
    """Return versions of the software that the times depend on."""
    versions = {name: getattr(sys.modules.get(name), "__version__", None) for name in _MODULES}
    if "triton.backends.ascend" in sys.modules:  # triton-ascend comes under Triton's name
        versions["triton-ascend"] = versions["triton"]
    return _dependencies(frozenset((n, str(v)) for n, v in versions.items() if v is not None))


@functools.lru_cache(maxsize=32)
def _dependencies(versions: frozenset[tuple[str, str]]) -> str:
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    found = {"python": python, "tdtune": _native.version(), **dict(versions)}
    found.update(_toolkits())
    return _json(found)


def _toolkits() -> Iterator[tuple[str, str]]:
    """Yield the vendors' toolkits that torch was built for or runs with."""
    built_for = getattr(sys.modules.get("torch"), "version", None)
    for attribute, name in (("cuda", "CUDA"), ("hip", "HIP"), ("xpu", "XPU")):
        version = getattr(built_for, attribute, None)
        if version:
            yield name, str(version)
    ask = getattr(sys.modules.get("torch_npu.npu.utils"), "get_cann_version", None)
    if ask is not None:
        try:
            yield "CANN", str(ask())
        except Exception:  # it reads files of an installation that may be incomplete
            return


def _json(facts: dict[str, Any]) -> str:
    # What json.dumps(facts, sort_keys=True) gives, without making an encoder for it.
    fields = [f"{json.dumps(key)}: {json.dumps(facts[key])}" for key in sorted(facts)]
    return "{" + ", ".join(fields) + "}"
