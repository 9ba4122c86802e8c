# SPDX-License-Identifier: MIT
"""What calls and tunings leave behind: nothing. Each in a process of its own."""

from __future__ import annotations

import textwrap

import pytest
from stand_ins import run_script

PRELUDE = """
    import ctypes, gc, logging, sys, threading
    from tdtune import AutoTuner

    logging.disable()

    value = object.__new__(type("Value", (), {"__repr__": lambda self: "Value()"}))

    def fail(kind):
        raise kind("no")

    # With a lock for a default nothing is stored: files would take most of the time.
    def scale(x, alpha=1.0, *, cfg=None, n=0, lock=threading.Lock(), **more):
        if n == 3:
            fail(ValueError)
        return [x]  # something new

    def key_fn(x, alpha=1.0, **more):
        return (x, "key")

    SPACE = [{"cfg": value, "n": n} for n in range(5)]

    class MallInfo(ctypes.Structure):
        _fields_ = [(name, ctypes.c_size_t) for name in "abcdefg"] + [
            ("in_use", ctypes.c_size_t), ("i", ctypes.c_size_t), ("j", ctypes.c_size_t)
        ]

    def bytes_in_use():
        # Of the C library's heap, which getallocatedblocks() knows nothing of.
        ask = getattr(ctypes.CDLL(None), "mallinfo2", None)
        if ask is None:
            return 0
        ask.restype = MallInfo
        return ask().in_use

    def check(work, rounds):
        # The interpreter's own caches fill up for a while. What leaks, leaks every time.
        left = []
        for _ in range(12):
            heap = bytes_in_use()
            blocks, references = sys.getallocatedblocks(), sys.getrefcount(value)
            work(rounds)
            gc.collect()
            assert sys.getrefcount(value) == references, sys.getrefcount(value) - references
            left.append((sys.getallocatedblocks() - blocks, bytes_in_use() - heap))
            if left[-1][0] < rounds // 4 and left[-1][1] < 50 * rounds:
                break
        else:
            raise AssertionError(left)
        print("clean")
"""

WORKS = {
    "hits": """
        tuned = AutoTuner(scale, SPACE, key_fn)
        def work(n):
            for i in range(n):
                tuned(1)
                tuned(1, alpha=2.0)
                tuned(1, autotune=True, alpha=2.0)
                tuned(1, autotune=False)
                tuned(1, **{f"k{i % 9}": 1})
                tuned(1.0)
                tuned(True)
        check(work, 10_000)
        """,
    "tunings": """
        def work(n):
            for i in range(n):
                tuned = AutoTuner(
                    scale, SPACE, key_fn, lambda c, x, **k: c["n"] != 2,
                    warmup=1, repeat=2, on_progress=lambda p: None,
                )
                tuned(i)
                tuned(i)
                tuned(i, alpha=1.0, autotune_verbose=False)
        check(work, 200)
        """,
    "records": """
        def scale(x, *, cfg, n):
            return x
        AutoTuner(scale, SPACE, key_fn)(1)
        def work(n):
            for i in range(n):
                tuned = AutoTuner(scale, SPACE, key_fn)
                tuned(1)
                tuned.record_path(1)
        check(work, 200)
        """,
    "failures": """
        def broken(x, *, cfg, n, lock=threading.Lock()):
            fail(ValueError)
        def interrupted(x, *, cfg, n, lock=threading.Lock()):
            fail(KeyboardInterrupt)
        def bad_key(x):
            raise LookupError
        def bad_rule(config, x):
            raise LookupError
        def attempt(tuned, *args, **kwargs):
            try:
                tuned(*args, **kwargs)
            except BaseException:
                return
            raise AssertionError
        def work(n):
            for i in range(n):
                attempt(AutoTuner(broken, SPACE, lambda x: 0), 1)
                attempt(AutoTuner(interrupted, SPACE, lambda x: 0), 1)
                attempt(AutoTuner(scale, SPACE, bad_key), 1)
                attempt(AutoTuner(scale, SPACE, lambda x: object()), 1)
                attempt(AutoTuner(scale, SPACE, lambda x: 0, bad_rule), 1)
                attempt(AutoTuner(scale, SPACE, lambda x: 0, lambda c, x: False), 1)
                attempt(AutoTuner(scale, SPACE, key_fn), 1, n=2)
                attempt(AutoTuner, scale, [{"cfg": value}, {"not valid": 1}], key_fn)
                attempt(AutoTuner, scale, SPACE, key_fn, warmup=-1)
                attempt(AutoTuner, scale, SPACE, 3)
        check(work, 200)
        """,
    "groups": """
        from tdtune import groups
        from tdtune._native import Group

        class Ranks:
            def __init__(self, size):
                self.size = lambda: size
            def rank(self):
                return 0

        class Board:
            rank, n_ranks, numbers = 0, 2, [0, 1]
            def put(self, key, data):
                return [key]
            def get(self, key, slice_s):
                fail(OSError)
            def drop(self, key):
                fail(KeyboardInterrupt)

        def attempt(tuned, pg):
            try:
                tuned(1, autotune_pg=pg)
            except BaseException:
                return
            raise AssertionError

        tuned = AutoTuner(scale, SPACE, key_fn, warmup=0, repeat=1)
        no_key = AutoTuner(scale, SPACE, lambda x: fail(LookupError))
        def work(n):
            for i in range(n):
                tuned(1, autotune_pg=Ranks(1))
                pg = Ranks(2)
                groups._groups[pg] = Group(Board())
                attempt(tuned, pg)
                attempt(no_key, pg)
                attempt(tuned, i)
        check(work, 200)
        """,
    "around": """
        class Array:
            dtype = None
            def __setitem__(self, where, what):
                if self.stubborn:
                    fail(ValueError)
            def copy(self):
                return [1]

        class Terminal:
            def isatty(self):
                return True
            def write(self, text):
                return len(text)
            def flush(self):
                pass

        def attempt(tuned, *args, **kwargs):
            try:
                tuned(*args, **kwargs)
            except BaseException:
                return
            raise AssertionError

        def right(result, x, **more):
            return result == [x]

        from tdtune import progress
        progress.SHOWN_AFTER_S = 0.0
        sys.modules["tqdm"] = None
        sys.stderr = Terminal()
        soft, hard = Array(), Array()
        soft.stubborn, hard.stubborn = False, True
        def work(n):
            for i in range(n):
                tuned = AutoTuner(
                    scale, SPACE, key_fn, plan="race", check_fn=right,
                    reset_to_zero=["out"], restore_value=["state"],
                )
                tuned(1, out=soft, state=soft)
                attempt(tuned, 2, out=soft, state=hard)
                attempt(tuned, 3, out=[1])
                for kind in (OSError, KeyboardInterrupt):
                    wrong = AutoTuner(scale, SPACE, key_fn, check_fn=lambda r, x: fail(kind))
                    attempt(wrong, 1)
                attempt(AutoTuner, scale, SPACE, key_fn, plan="none")
                attempt(AutoTuner, scale, SPACE, key_fn, check_fn=3)
                attempt(AutoTuner, scale, SPACE, key_fn, reset_to_zero="x")
        check(work, 100)
        """,
    "by_layout": """
        from tdtune import by_layout

        class Tensor:  # with properties, not a C type's own attributes
            dtype = "float32"
            @property
            def shape(self):
                return [4, 5]
            def stride(self):
                if self.stubborn:
                    fail(KeyboardInterrupt)
                return (5, 1)

        def attempt(call, *args, **kwargs):
            try:
                call(*args, **kwargs)
            except BaseException:
                return
            raise AssertionError

        x, bad = Tensor(), Tensor()
        x.stubborn, bad.stubborn = False, True
        def work(n):
            for i in range(n):
                for names in (["x"], ["x", "alpha"], ["alpha", "more_of_it"]):
                    tuned = AutoTuner(scale, SPACE, by_layout(*names), warmup=0, repeat=1)
                    attempt(tuned, bad, bad)
                    if "more_of_it" in names:
                        attempt(tuned, x)
                    for _ in range(2):
                        tuned(x, 2.0, more_of_it=1)
                        tuned(alpha=2.0, x=x, more_of_it=x)
                    repr(tuned), repr(by_layout(*names))
                    class Other(Tensor):
                        pass
                    other = Other()
                    other.stubborn = False
                    tuned(other, more_of_it=1)
                attempt(by_layout)
                attempt(by_layout, "x", "x")
                attempt(by_layout, 3)
                attempt(by_layout("x"), x)
                attempt(AutoTuner, scale, SPACE, by_layout("n"))
        check(work, 50)
        """,
    "preparing": """
        import os, types

        class KernelInterface:
            def __getitem__(self, grid):
                return self

        jit = types.ModuleType("triton.runtime.jit")  # so that runs are watched
        jit.KernelInterface = KernelInterface
        sys.modules[jit.__name__] = jit
        os.environ["TRITON_DIST_AUTOTUNE_COMPILE_WORKERS"] = "3"

        def attempt(tuned, *args):
            try:
                tuned(*args)
            except BaseException:
                return
            raise AssertionError

        def odd(config, x, **more):
            if config["n"] % 2:
                fail(ValueError)

        def watched(x, *, cfg=None, n=0, lock=threading.Lock()):
            seen.append(KernelInterface.__getitem__ is not method)
            if n == 0:
                fail(x)
            return KernelInterface()[1]

        method, seen = KernelInterface.__getitem__, []
        def work(n):
            for i in range(n):
                AutoTuner(scale, SPACE, key_fn, lambda c, x: c["n"] > 0, prepare_fn=odd)(1)
                for kind in (KeyboardInterrupt, SystemExit):
                    attempt(AutoTuner(scale, SPACE, key_fn, prepare_fn=lambda c, x: fail(kind)), 1)
                seen.clear()
                AutoTuner(watched, SPACE, key_fn)(ValueError)
                assert seen[:3] == [True, True, False]
                seen.clear()
                attempt(AutoTuner(watched, SPACE, key_fn), KeyboardInterrupt)
                assert seen == [True]
                assert KernelInterface.__getitem__ is method
        check(work, 50)
        """,
    "readers of code": """
        import inspect
        from tdtune import _native, names, triton_launches
        text = inspect.getsource(triton_launches)
        code = compile(text, "x", "exec").co_code
        def work(n):
            for i in range(n):
                for line in range(1, 60):
                    _native.definition(text, line)
                _native.look_ups(code, names._TABLE)
                try:
                    _native.look_ups(code, b"short")
                except ValueError:
                    pass
        check(work, 50)
        """,
    "overwriting": """
        def work(n):
            for i in range(n):
                tuned = AutoTuner(scale, SPACE, key_fn, warmup=0, repeat=1)
                tuned(1, n=9, autotune_allow_arg_overwrite=True)
                tuned(1, n=9, cfg=1, autotune_allow_arg_overwrite=True)
        check(work, 200)
        """,
}


@pytest.mark.parametrize("work", WORKS)
def test_nothing_is_left(work: str) -> None:
    script = textwrap.dedent(PRELUDE) + textwrap.dedent(WORKS[work])
    assert run_script(script).strip() == "clean"


def test_L03_out_of_memory_is_an_error_and_nothing_is_lost() -> None:
    """Each allocation that a hit may make fails once.

    Only calls that run no Python code of ours: CPython 3.12 and later themselves crash where, say,
    a generator expression finds no memory.
    """
    pytest.importorskip("_testcapi")
    script = """
        import _testcapi

        tuned = AutoTuner(scale, SPACE, key_fn)
        tuned(1)
        many = {f"name{i}": i for i in range(30)}
        fixed = {"cfg": 2, "n": 9, "autotune_allow_arg_overwrite": True}
        tuned(1, **fixed)
        n = 0

        def hits():
            global n
            n += 1
            assert tuned(1) == tuned(1, alpha=2.0, autotune=True) == [1]
            assert tuned(1, **{names[n % 2]: 1}) == tuned(1, **many) == [1]
            assert tuned(1, autotune=False, **many) == tuned(1, **fixed) == [1]

        names = ["beta", "gamma"]
        failed = passed = 0
        while passed < 300:
            _testcapi.set_nomemory(failed + passed, failed + passed + 1)
            try:
                hits()
                passed += 1
            except MemoryError:
                failed, passed = failed + passed + 1, 0
            finally:
                _testcapi.remove_mem_hooks()
        assert failed
        hits()
        print("survived")
    """
    assert run_script(textwrap.dedent(PRELUDE) + textwrap.dedent(script)).strip() == "survived"
