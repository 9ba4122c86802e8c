# SPDX-License-Identifier: MIT
"""What identifies a function."""

import functools
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from conftest import MakeModule, RunPython
from tdtune._cold import identify

PACKAGE = {
    "pack.helpers": """
        SCALE = 2

        def helper(x, bias=1):
            return inner(x) * SCALE + bias

        def inner(x):
            return x + 1

        def unused(x):
            return x
        """,
    "pack.main": """
        import functools
        import json
        from . import helpers
        from .helpers import inner as renamed

        BLOCK = 512
        SIZES = (1, 2)
        _calls = 0

        def decorate(fn):
            @functools.wraps(fn)
            def wrapper(*args, **kwargs):
                return fn(*args, **kwargs)
            return wrapper

        def tuned(x, cfg):
            # a comment
            global _calls
            _calls += 1
            json.dumps(x)
            return [later(y) for y in helpers.helper(x) if y in {"a", "b", "c"}] + BLOCK * SIZES

        def later(x):
            return tuned and renamed(x)

        @decorate
        @functools.lru_cache(maxsize=3)
        def decorated(x, cfg):
            return later(x)

        def factory(n, lock=None):
            def made(x, cfg):
                return x * n
            return made

        def holder(lock):
            def made(x, cfg):
                return lock and x
            return made

        class Work:
            def run(self, x, cfg):
                return later(x)
        """,
}


class Package:
    """Writes the package above, with some of its text replaced, and imports it."""

    def __init__(self, make_module: MakeModule) -> None:
        self._make = make_module

    def __call__(self, old: str = "", new: str = "") -> ModuleType:
        assert not old or any(old in text for text in PACKAGE.values())
        for name, text in PACKAGE.items():
            module = self._make(name, text.replace(old, new) if old else text)
        return module


@pytest.fixture
def package(make_module: MakeModule) -> Package:
    return Package(make_module)


def source(fn: Callable[..., Any]) -> str:
    return identify(fn, None).source


def test_F16_the_identity_names_the_function(package: Package) -> None:
    found = identify(package().tuned, None)
    assert (found.name, found.module, found.qualname) == ("tuned", "pack.main", "tuned")
    assert len(found.source) == 32
    assert int(found.source, 16) >= 0
    assert (found.prune_rule, found.uncertain) == ("", None)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("BLOCK * SIZES", "SIZES * BLOCK"),
        ("# a comment", "# another"),
        ("BLOCK = 512", "BLOCK = 256"),
        ("SIZES = (1, 2)", "SIZES = (1, 2.0)"),
        ("SCALE = 2", "SCALE = 3"),
        ("bias=1", "bias=2"),
        ("return x + 1", "return x + 2"),
        ("tuned and renamed(x)", "renamed(x)"),
        ("from .helpers import inner as renamed", "from .helpers import unused as renamed"),
    ],
)
def test_F16_an_edit_changes_the_source(package: Package, old: str, new: str) -> None:
    before = source(package().tuned)
    assert source(package(old, new).tuned) != before


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("def unused(x):\n            return x", "def unused(x):\n            return -x"),
        ("_calls = 0", "_calls = 7"),
        ("import functools", "import functools\n        import collections\n"),
        ("class Work:", "class Work:\n            extra = 1"),
    ],
)
def test_F16_what_the_function_does_not_name_does_not_count(
    package: Package, old: str, new: str
) -> None:
    before = source(package().tuned)
    assert source(package(old, new).tuned) == before


def test_F16_decorators_do_not_count(package: Package) -> None:
    # Above all not the list of candidates that stands in one (F19).
    before = source(package().decorated)
    assert source(package("maxsize=3", "maxsize=4").decorated) == before
    assert source(package("@decorate\n", "\n").decorated) == before
    assert (
        source(package("def decorated(x, cfg):", "def decorated(x, *, cfg):").decorated) != before
    )


def test_F16_globals_of_other_packages_do_not_count(make_module: MakeModule) -> None:
    user = "import otherpack.lib as lib\ndef f(x, cfg):\n    return lib.g(x) + lib.N\n"
    make_module("otherpack.lib", "N = 1\ndef g(x):\n    return x\n")
    before = source(make_module("userpack.m", user).f)
    make_module("otherpack.lib", "N = 2\ndef g(x):\n    return -x\n")
    assert source(make_module("userpack.m", user).f) == before


RESTART = """
import sys
from tdtune._cold import identify
import pack.main as m
for fn in (m.tuned, m.later, m.decorated, m.factory(3), m.Work().run, m.Work.run,
           lambda x: x in {"p", "q", "r"}, len, eval("lambda x, cfg: {'a', 'b'} and m.BLOCK")):
    found = identify(fn, m.later)
    print(found.source, found.prune_rule, found.uncertain)
"""


def test_case_U1_a_restart_without_change_gives_the_same(
    package: Package, run_python: RunPython, tmp_path: Path
) -> None:
    here = identify(package().tuned, None).source
    first = run_python(RESTART, seed=1, path=tmp_path / "modules")
    second = run_python(RESTART, seed=2, path=tmp_path / "modules")
    assert first == second
    assert first.split()[0] == here
    assert [line.split()[2] for line in first.splitlines()] == ["None"] * 9


def test_case_U1_the_same_text_in_two_modules_differs(make_module: MakeModule) -> None:
    text = "def f(x, cfg):\n    return x\n"
    assert source(make_module("one", text).f) != source(make_module("two", text).f)


def test_case_U1_captured_values_count(package: Package) -> None:
    module = package()
    digests = [source(module.factory(n)) for n in (1, 2, 1.0, True, (1,), "1", module.later)]
    assert len(set(digests)) == len(digests)
    assert source(module.factory(1)) == digests[0]


def test_case_U1_a_captured_value_without_description_is_said(package: Package) -> None:
    found = identify(package().holder(threading.Lock()), None)
    assert found.uncertain is not None
    assert "closure variable lock of pack.main.holder.<locals>.made is of type" in found.uncertain


def test_case_U1_a_default_without_description_is_said(package: Package) -> None:
    module = package("bias=1", "bias=__import__('threading').Lock()")
    found = identify(module.tuned, None)
    assert found.uncertain is not None
    assert "default bias of pack.helpers.helper" in found.uncertain


def test_case_U1_a_bare_sentinel_is_no_doubt(package: Package) -> None:
    assert identify(package("bias=1", "bias=object()").tuned, None).uncertain is None


def run(text: str, module: str = "cell") -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": module}
    exec(compile(text, "<ipython-input-1>", "exec"), names)
    return names


def test_case_U1_functions_without_source_are_known_by_their_code() -> None:
    text = "N = 3\ndef f(x, cfg):\n    return [g(y) for y in x if y in {1, 2}]\n"
    text += "def g(x):\n    return x * N\n"
    first = source(run(text)["f"])
    assert source(run("\n\n# moved\n" + text)["f"]) == first
    for old, new in [("{1, 2}", "{1, 3}"), ("x * N", "N * x"), ("N = 3", "N = 4"), ("g(y)", "N")]:
        assert source(run(text.replace(old, new))["f"]) != first
    assert source(run(text, "othercell")["f"]) != first


def test_case_U1_a_cell_run_again_with_other_code_differs() -> None:
    names = run("def f(x, cfg):\n    return x\n")
    before = source(names["f"])
    exec(compile("def f(x, cfg):\n    return -x\n", "<ipython-input-2>", "exec"), names)
    assert source(names["f"]) != before


def test_case_U1_lambdas_on_one_line_differ(make_module: MakeModule) -> None:
    made = make_module("lambdas", "a, b = (lambda x, cfg: x), (lambda x, cfg: -x)\n")
    assert source(made.a) != source(made.b)


def test_case_U1_a_file_edited_after_import_is_not_believed(
    make_module: MakeModule, tmp_path: Path
) -> None:
    text = "def f(x, cfg):\n    return x + 1\n"
    module = make_module("edited", text)
    file = tmp_path / "modules" / "edited.py"
    file.write_text(text.replace("x + 1", "x + 2"), encoding="utf-8")
    os.utime(file, ns=(1, 1))
    stale = source(module.f)
    assert source(make_module("edited", text.replace("x + 1", "x + 2")).f) != stale
    assert source(make_module("edited", text).f) != source(
        make_module("edited", text.replace("x + 1", "x + 2")).f
    )


def test_F16_the_text_is_what_counts_where_it_is_sure(make_module: MakeModule) -> None:
    # The same code with another spelling: only the text tells them apart.
    before = source(make_module("spelled", "def f(x, cfg):\n    return (x)\n").f)
    assert source(make_module("spelled", "def f(x, cfg):\n    return x\n").f) != before


def test_F16_methods_partials_objects_builtins(package: Package) -> None:
    module = package()

    class Launcher:
        def __init__(self, n: int) -> None:
            self.n = n

        def __call__(self, x: int, cfg: int) -> int:
            return x * self.n + cfg

    forms: list[Any] = [
        module.Work.run,
        functools.partial(module.tuned, 1),
        functools.partial(module.tuned, 2),
        functools.partial(module.later),
        Launcher(1),
        Launcher(2),
        Launcher(1).__call__,
        len,
        max,
        "abc".upper,
    ]
    found = [identify(form, None) for form in forms]
    assert len({one.source for one in found}) == len(forms)
    assert all(one.uncertain is None for one in found)
    assert [one.name for one in found[:2]] == ["run", "tuned"]
    assert (found[4].name, found[7].name) == ("Launcher", "len")
    assert source(Launcher(1)) == found[4].source


def test_F16_recursion_ends(make_module: MakeModule) -> None:
    text = """
        def even(n, cfg=None):
            return n == 0 or odd(n - 1)

        def odd(n):
            return n != 0 and even(n - 1)

        def make():
            steps = []
            def loop(x, cfg):
                return steps[0](x, cfg)
            steps.append(loop)
            return loop

        def ring(x, cfg):
            return x
        ring.__wrapped__ = ring
        """
    module = make_module("cycles", text)
    assert source(module.even) != source(module.odd)
    assert source(module.make()) == source(module.make())
    assert identify(module.make(), None).uncertain is None
    assert source(module.ring)


def test_F16_a_tuned_function_inside_another_counts(make_module: MakeModule) -> None:
    text = """
        import functools

        class Tuner:
            def __init__(self, fn):
                self.__wrapped__ = fn
            def __call__(self, *args):
                return self.__wrapped__(*args)

        @Tuner
        def inner(x):
            return x + 1

        def outer(x, cfg):
            return inner(x)
        """
    before = source(make_module("nested", text).outer)
    assert source(make_module("nested", text.replace("x + 1", "x + 2")).outer) != before


KERNELS = """
    import triton
    import triton.language as tl

    BLOCK = tl.constexpr(64)

    @triton.jit
    def double(x):
        return x * 2

    @triton.autotune(configs=[triton.Config({"B": 1})], key=["n"])
    @triton.jit
    def kernel(x_ptr, n, B: tl.constexpr):
        tl.store(x_ptr, double(n) + BLOCK)

    def launch(x, cfg):
        kernel[(1,)](x, 3)
    """


@pytest.mark.parametrize("interpret", ["0", "1"])
def test_F16_triton_kernels_count(
    make_module: MakeModule, monkeypatch: pytest.MonkeyPatch, interpret: str
) -> None:
    pytest.importorskip("triton")
    monkeypatch.setenv("TRITON_INTERPRET", interpret)
    before = source(make_module("kernels", KERNELS).launch)
    assert source(make_module("kernels", KERNELS).launch) == before
    for old, new in [
        ("x * 2", "x * 3"),
        ("constexpr(64)", "constexpr(32)"),
        ("+ BLOCK", "- BLOCK"),
    ]:
        assert source(make_module("kernels", KERNELS.replace(old, new)).launch) != before


def test_F16_kernels_are_known_by_their_looks(make_module: MakeModule) -> None:
    text = """
        class Kernel:
            def __init__(self, fn, src):
                self.fn, self.src = fn, src
                self.__module__ = fn.__module__
            def __getitem__(self, grid):
                return self.fn

        def body(x):
            return x

        kernel = Kernel(body, "text one")

        def launch(x, cfg):
            return kernel[1](x)
        """
    before = source(make_module("looks", text).launch)
    assert source(make_module("looks", text.replace("text one", "text two")).launch) != before


def test_F16_closures_over_kernels_and_modules(make_module: MakeModule) -> None:
    text = """
        import closing.tools

        def make():
            tools = closing.tools
            def launch(x, cfg):
                return tools.act(x)
            return launch
        """
    tools = "def act(x):\n    return x + 1\n"
    make_module("closing.tools", tools)
    before = source(make_module("closing.main", text).make())
    path = sys.modules["closing"].__path__[0]
    Path(path, "tools.py").write_text(tools.replace("+ 1", "+ 2"), encoding="utf-8")
    assert source(make_module("closing.main", text).make()) != before


def test_F16_prune_rule(package: Package) -> None:
    module = package()
    rule = identify(module.tuned, module.later).prune_rule
    assert rule == identify(module.decorated, module.later).prune_rule
    assert rule != identify(module.tuned, module.factory(1)).prune_rule
    unsure = module.holder(threading.Lock())
    # A rule that cannot be known again never counts as the same.
    rules = {identify(module.tuned, unsure).prune_rule for _ in range(2)}
    assert len(rules) == 2
