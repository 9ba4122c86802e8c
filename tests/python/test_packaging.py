# SPDX-License-Identifier: MIT
"""What is there after installation, under which name, and what importing it costs."""

import ast
import inspect
from pathlib import Path

import tdtune
import triton_dist.autotuner
import triton_dist.tune
from conftest import RunPython
from tdtune import _cold, _native

IMPORTS = """
import sys
before = set(sys.modules)
import tdtune
import triton_dist.tune, triton_dist.autotuner

@triton_dist.tune.autotune([{"n": 1}, {"n": 2}], key_fn=lambda x: x)
def f(x, n):
    return x * n

assert f(3) in (3, 6)
heavy = {"torch", "triton", "numpy", "torch_npu", "pytest"}
print(sorted(heavy & {name.split(".")[0] for name in sys.modules}))
"""


def test_import_brings_in_no_framework(run_python: RunPython) -> None:
    assert run_python(IMPORTS).strip() == "[]"


def test_import_does_nothing_else(run_python: RunPython, tmp_path: Path) -> None:
    code = "import threading, tdtune; print(threading.active_count())"
    assert run_python(code).strip() == "1"
    assert not (tmp_path / "store").exists()


def test_public_names() -> None:
    assert tdtune.__version__ == _native.version()
    for name in tdtune.__all__:
        assert getattr(tdtune, name) is not None
    public = [name for name in tdtune.__all__ if not name.startswith("_")]
    for name in public:
        assert inspect.getdoc(getattr(tdtune, name)), name


def test_F25_the_documented_names_are_the_same_objects() -> None:
    assert set(triton_dist.tune.__all__) == {
        "AutoTuner",
        "autotune",
        "load_autotune_data",
        "pretty_triton_config_repr",
        "to_hashable",
    }
    for name in triton_dist.tune.__all__:
        assert getattr(triton_dist.tune, name) is getattr(tdtune, name)
    assert set(triton_dist.autotuner.__all__) == {"ContextualAutoTuner", "contextual_autotune"}
    for name in triton_dist.autotuner.__all__:
        assert getattr(triton_dist.autotuner, name) is getattr(tdtune, name)


def test_the_stub_agrees_with_the_extension() -> None:
    stub = Path(inspect.getfile(tdtune)).with_name("_native.pyi")
    tree = ast.parse(stub.read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            assert callable(getattr(_native, node.name))
    made = {
        "AutoTuner": tdtune.autotune([{"n": 1}], key_fn=lambda: 1)(lambda n: n),
        "ContextualAutoTuner": tdtune.contextual_autotune()(lambda: 1),
    }
    for node in tree.body:
        for part in node.body if isinstance(node, ast.ClassDef) else ():
            name = part.name if isinstance(part, ast.FunctionDef) else ""
            if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name):
                name = part.target.id
            owner = made.get(node.name, getattr(_native, node.name))
            assert not name or hasattr(owner, name), (node.name, name)


def test_the_package_says_that_it_is_typed() -> None:
    for package in (tdtune, triton_dist):
        assert Path(inspect.getfile(package)).with_name("py.typed").exists()


def test_F20_static_and_class_methods() -> None:
    class Work:
        @tdtune.autotune([{"n": 1}], key_fn=lambda x: x)
        @staticmethod
        def alone(x: int, n: int) -> tuple[int, int]:
            return x, n

        @tdtune.autotune([{"n": 1}], key_fn=lambda cls, x: x)
        @classmethod
        def of_class(cls, x: int, n: int) -> tuple[type, int, int]:
            return cls, x, n

    class Derived(Work):
        pass

    assert Work.alone(2) == Work().alone(2) == (2, 1)
    assert Derived.of_class(2) == Derived().of_class(2) == (Derived, 2, 1)


def test_the_extension_finds_all_that_it_calls() -> None:
    for name in _cold.__all__:
        assert callable(getattr(_cold, name))
