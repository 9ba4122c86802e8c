# SPDX-License-Identifier: MIT
"""The quick ways to a function's text and names give what the slow ways give."""

import argparse
import ast
import dataclasses
import dis
import functools
import inspect
import logging
import os
import py_compile
import subprocess
import sys
import textwrap
import types
import typing
from collections.abc import Iterator
from importlib.util import cache_from_source
from pathlib import Path

import pytest
from conftest import MakeModule, RunPython
from tdtune import _native, origin, places
from tdtune._cold import identify
from tdtune.body import body_text, code_text
from tdtune.names import outer_names

# Files with many styles of code, of which one is full of strings within strings.
SAMPLES = [argparse, ast, dataclasses, functools, inspect, logging, subprocess, textwrap, typing]


def functions_in(node: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for inner in ast.walk(node):
        if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef):
            yield inner


def first_line(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


def assert_as_parsed(source: str) -> int:
    """Compare every function's name and text with those of Python's parser; return their number."""
    lines = source.split("\n")
    n = 0
    for node in functions_in(ast.parse(source)):
        found = _native.definition(source, first_line(node))
        text = "\n".join(lines[node.lineno - 1 : node.end_lineno])
        assert found == (node.name, text)
        assert places.dedented(found[1]) == textwrap.dedent(text)
        n += 1
    return n


@pytest.mark.parametrize("module", SAMPLES, ids=lambda module: module.__name__)
def test_F16_text_of_functions_as_the_parser_finds_it(module: types.ModuleType) -> None:
    assert assert_as_parsed(inspect.getsource(module)) > 5


TRICKY = {
    "closing brackets at the margin": """
def f(
    x,
    y=(
1,
    ),
) -> int:
    return g(
        x,
)

y = 1
""",
    "strings that look like code": r'''
def f(x):
    """def g():
# no comment
" \""" '"""
    y = "#" + '(' + r"\"" + b'[' + "it's" + \
"def h():"
    return y  # a "quote" (
    # the end

# not of f
def g(x): return """# no end
""".upper() if 0 else x
''',
    "decorators": r"""
class A:
    @first(
        [{"x": i} for i in range(3)],
        key="a)",
    )
    # between

    @second
    async   def f(self):

        pass


    @third
    def g(self): return 1; \
        2
    x = 3
""",
    "fields": r"""
def f(x, y):
    a = f"{x['(']!r:{y}}" + f'{{(' + rf"\{x}" + f"{x:'>10}" + f"{y:%H:%M}"
    return F'''{x
    + '['}''' + a
""",
    "comments and blank lines": """
def f(x):
    if x:
        y

  # here
#there

    z
   #
""",
    "no line end": "def f(x):\n\treturn x # end",
    "names": "def größe(x):\n    return 1\ndef f_1(x): return 2\n",
    "one inside another": "def f():\n    def g():\n        def h(): pass\n\n    return g\nx = 1\n",
}


@pytest.mark.parametrize("case", TRICKY)
def test_F16_text_of_functions_written_in_odd_ways(case: str) -> None:
    assert assert_as_parsed(TRICKY[case]) > 0


def test_F16_strings_inside_fields_of_strings() -> None:
    # Python 3.12's grammar, whatever Python this is.
    text = 'def f(x):\n    return f"{x["("]} {f"{x[\'"\']}"}"'
    assert _native.definition(text + "\n\nx = 1\n", 1) == ("f", text)


@pytest.mark.parametrize(
    "text",
    [
        "x = 1\n",
        "",
        "def f(x:\n    return x\n",
        "def f(x):\n    return x)\n",
        'def f(x):\n    return "\n',
        'def f(x):\n    return """\n',
        "    def f(x):\n\treturn x\n",
        "def f(x):\n    x\n\f    y\n",
        "@a\n",
        "@a\n  def f(): pass\n",
        'def f(x):\n    return f"{x\n',
        'def f(x): return f"' + "{f'" * 5000,
    ],
)
def test_F16_text_that_is_no_function_is_given_up(text: str) -> None:
    assert _native.definition(text, 1) is None
    assert _native.definition(text, -1) is None
    assert _native.definition(text, 10**9) is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a",
        "  a\n    b\n \n  c",
        "\ta\n  b",
        "a\n  \n\t\nb\n   ",
        "    a\n\n   b\nc",
        "  a\n\t\n  b",
    ],
)
def test_F16_text_is_dedented_as_textwrap_does(text: str) -> None:
    assert places.dedented(text) == textwrap.dedent(text)


def named_by_dis(code: types.CodeType) -> list[tuple[str, ...]]:
    """Return what `outer_names` promises, by way of the standard disassembler."""
    free, written = frozenset(code.co_freevars), set()
    chains: set[tuple[str, ...]] = set()
    for nested in [code, *(inner for _, inner in places.codes(code))]:
        chain: tuple[str, ...] = ()
        for step in dis.get_instructions(nested):
            name, value = step.opname, str(step.argval)
            if name in ("EXTENDED_ARG", "CACHE", "PRECALL", "PUSH_NULL"):
                continue
            if chain and name in ("LOAD_ATTR", "LOAD_METHOD"):
                chain = (*chain, value)
                continue
            chains.add(chain)
            if name in ("STORE_GLOBAL", "DELETE_GLOBAL"):
                written.add(value)
            closure = name in ("LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF")
            root = name in ("LOAD_GLOBAL", "LOAD_NAME") or (closure and value in free)
            chain = (value,) if root else ()
        chains.add(chain)
    return sorted(chain for chain in chains if chain and chain[0] not in written)


@pytest.mark.parametrize("module", SAMPLES, ids=lambda module: module.__name__)
def test_F16_names_as_the_disassembler_finds_them(module: types.ModuleType) -> None:
    whole = compile(inspect.getsource(module), "sample", "exec")
    found = [code for _, code in places.codes(whole)]
    assert len(found) > 5
    for code in found:
        assert list(outer_names(code)) == named_by_dis(code)


def test_F16_names_beyond_a_byte() -> None:
    text = "def f():\n global s300\n s300 = 1\n"
    text += "".join(f" g{i}.a{i}.b{i}\n" for i in range(400)) + " def h(): return g399.c\n"
    names: dict[str, typing.Any] = {}
    exec(text, names)
    code = names["f"].__code__
    assert list(outer_names(code)) == named_by_dis(code)
    assert ("g399", "a399", "b399") in outer_names(code)


TEXT = """
    import functools

    def plain(x, cfg):
        return x + 1

    @functools.lru_cache(
        maxsize=2,
    )
    def decorated(x):
        return x

    def make(n):
        def made(x, cfg):
            return x * n
        return made

    class Work:
        def __run(self, x, cfg):
            return self.__x
        run = __run
    """
DIGESTS = """
import sys
from tdtune._cold import identify
from tdtune.body import body_text, code_text
import sample as m
for fn in (m.plain, m.decorated.__wrapped__, m.make(3), m.Work.run):
    assert body_text(fn).startswith("source def "), body_text(fn)
    print(identify(fn, None).source)
"""


def test_case_U1_with_and_without_a_compiled_copy(
    make_module: MakeModule, run_python: RunPython, tmp_path: Path
) -> None:
    make_module("sample", TEXT)
    file = tmp_path / "modules" / "sample.py"
    os.utime(file, (1e9, 1e9))
    without = run_python(DIGESTS, path=file.parent)
    py_compile.compile(str(file), doraise=True)
    assert run_python(DIGESTS, path=file.parent) == without
    copy = Path(cache_from_source(str(file)))
    for content in (b"", copy.read_bytes()[:40], copy.read_bytes()[:16] + b"\xff" * 50):
        make_module("sample", TEXT)  # imported while the copy is whole
        os.utime(file, (1e9, 1e9))
        copy.write_bytes(content)
        assert body_text(sys.modules["sample"].make(3)).startswith("source def made")


def test_F16_nothing_is_parsed_where_a_quick_proof_works(
    make_module: MakeModule, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = make_module("sample", TEXT)
    monkeypatch.setattr(origin, "_by_parsing", lambda *args: None)
    functions = [module.plain, module.decorated.__wrapped__, module.make(3), module.Work.run]
    kinds = [body_text(fn).partition(" ")[0] for fn in functions]
    assert kinds == ["source", "source", "code", "code"]  # each text alone
    file = tmp_path / "modules" / "sample.py"
    os.utime(file, (1e9, 1e9))
    py_compile.compile(str(file), doraise=True)
    assert all(body_text(fn).startswith("source ") for fn in functions)


def test_case_U1_an_edit_that_the_compiled_copy_does_not_show(
    make_module: MakeModule, tmp_path: Path
) -> None:
    old, new = "def f(x, cfg):\n    return x + 1\n", "def f(x, cfg):\n    return x + 2\n"
    file = tmp_path / "modules" / "edited.py"
    module = make_module("edited", old)
    tenth = 10**8
    os.utime(file, ns=(0, 10**18 + 5 * tenth))
    py_compile.compile(str(file), doraise=True)
    os.utime(cache_from_source(str(file)), ns=(0, 10**18 + 6 * tenth))
    # As long as before, and in the same second.
    file.write_text(new, encoding="utf-8")
    os.utime(file, ns=(0, 10**18 + 7 * tenth))
    assert body_text(module.f).startswith("code ")


def test_case_U1_a_compiled_copy_of_something_else_is_not_believed(
    make_module: MakeModule, tmp_path: Path
) -> None:
    old, new = "def f(x, cfg):\n    return x + 1\n", "def f(x, cfg):\n    return x + 2\n"
    file = tmp_path / "modules" / "swapped.py"
    module = make_module("swapped", old)
    file.write_text(new, encoding="utf-8")
    os.utime(file, (1e9, 1e9))
    py_compile.compile(str(file), doraise=True)
    assert body_text(module.f).startswith("code ")


@pytest.mark.parametrize(
    ("head", "encoding", "line_end"),
    [
        ("", "utf-8", "\n"),
        ("", "utf-8-sig", "\n"),
        ("", "utf-8", "\r\n"),
        ("", "utf-8", "\r"),
        ("# coding: latin-1\n", "latin-1", "\n"),
        ("\n# -*- coding: cp1252 -*-\n", "cp1252", "\r\n"),
        ("from __future__ import annotations\n", "utf-8", "\n"),
    ],
)
def test_F16_text_in_every_encoding(
    make_module: MakeModule, tmp_path: Path, head: str, encoding: str, line_end: str
) -> None:
    text = "def f(x: 'int', cfg: int = 0):\n    return 'größe', x\n"
    make_module("encoded", "")
    file = tmp_path / "modules" / "encoded.py"
    file.write_bytes((head + text).replace("\n", line_end).encode(encoding))
    spec = __import__("importlib.util").util.spec_from_file_location("encoded", file)
    module = __import__("importlib.util").util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert body_text(module.f) == f"source {text.rstrip()}"


def test_F16_an_unknown_encoding_is_no_error(tmp_path: Path) -> None:
    file = tmp_path / "strange.py"
    file.write_text("# coding: no-such-thing\ndef f(x, cfg):\n    return x\n")
    names: dict[str, typing.Any] = {"__name__": "strange"}
    exec(compile("\ndef f(x, cfg):\n    return x\n", str(file), "exec"), names)
    assert body_text(names["f"]).startswith("code ")
    assert identify(names["f"], None).uncertain is None


def test_F16_cores_are_those_of_the_first_question(run_python: RunPython) -> None:
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("one core")
    code = """
    import json, os
    from tdtune import facts
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    print(json.loads(facts.host_hardware())["cores"])
    """
    assert run_python(code) == "1\n"


def test_F16_what_was_proved_stays_proved(tmp_path: Path) -> None:
    """An edit of the file after the function was decorated does not change what runs."""
    file = tmp_path / "edited.py"
    file.write_text("def scale(x):\n    return x * 2\n")
    names: dict[str, typing.Any] = {}
    exec(compile(file.read_text(), str(file), "exec"), names)
    scale = names["scale"]
    before = origin.source_text(scale.__code__, code_text)
    assert before is not None
    file.write_text("def scale(x):\n    return x * 3\n")
    assert origin.source_text(scale.__code__, code_text) == before
    exec(compile("\n\n\ndef scale(x):\n    return x * 4\n", str(file), "exec"), names)
    other = names["scale"]
    assert origin.source_text(other.__code__, code_text) is None
