# SPDX-License-Identifier: MIT
"""What a Python function does, as text: its source where that is sure, else its code.

The source text is preferred because it is the same under every version of Python. It is used only
where it is proved that the file on disk gives exactly the code that runs here (see `origin`): not
for a file edited since it was imported, not for exec, REPL and notebook cells (whose files do not
exist), and not for lambdas (of which a line may hold several). Otherwise bytecode, constants and
names take its place, without anything that tells where they came from: file names, line numbers,
addresses.
"""

import types

from tdtune import origin
from tdtune.forms import int_text


def body_text(function: types.FunctionType) -> str:
    """Return what the function does, without its decorators, defaults' values and closure."""
    text = origin.source_text(function.__code__, code_text)
    return f"source {text}" if text is not None else f"code {code_text(function.__code__)}"


def code_text(code: types.CodeType) -> str:
    """Return bytecode, constants and names of a code object, the same in every process."""
    return repr(
        (
            code.co_name,
            (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags),
            code.co_code.hex(),
            getattr(code, "co_exceptiontable", b"").hex(),
            [_constant_text(constant) for constant in code.co_consts],
            code.co_names,
            code.co_varnames,
            code.co_freevars,
            code.co_cellvars,
        )
    )


def _constant_text(value: object) -> str:
    if isinstance(value, types.CodeType):
        return code_text(value)
    if isinstance(value, tuple):
        return f"tuple {[_constant_text(item) for item in value]}"
    if isinstance(value, frozenset):
        return f"frozenset {sorted(_constant_text(item) for item in value)}"
    return int_text(value) if type(value) is int else repr(value)
