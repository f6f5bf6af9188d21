"""What a text is, by what is in it: IR, PTX, or neither; and bytes as a text.

Broken IR must get its diagnostics, and prose none. So lines count: those that begin as statements of MLIR do, against
those that no IR has at the beginning of a line.
"""

from __future__ import annotations

import re
import sys

from tileproof.base.patterns import regex
from tileproof.base.source import Source
from tileproof.ptx.module import is_ptx
from tileproof.report.values import Unread

BYTECODE = b"ML\xefR"  # the first bytes of MLIR bytecode
PYTHON = "Python source: use `tileproof run -- python ...`"
NOTHING = "holds no IR"
UNCONVERTED = "MLIR bytecode: install nvidia-cutlass-dsl or print it as text"

_MOST_LINES = 400  # of a text that are looked at
_BEGINNING = 4000  # characters in which a Python program imports or defines something
_NEUTRAL = regex(r"\s*(?://|[\])}>,;({\[]|$)")
# What only IR has at the beginning of a line, and what other languages have as well: `dialect.operation ...`.
_IR = regex(
    r'\s*(?:%[\w$.#-]+\s*[=:,]|"[\w$.]+"\s*\(|\^[\w$.-]+\s*[(:]|![\w$.-]+\s*=|#[\w$.-]+ = '
    r"|(?:builtin\.)?module\b.*[{@]|(?:gpu|func|llvm|cuda|nvvm|cute|cute_nvgpu|lir|scf|arith|cf)\.[\w.]+(?![^;]*;\s*$))"
)
_OPERATION = regex(r"\s*(?:[a-z_]\w*\.[a-z_][\w.]*(?=$|[\s<(])|return$)")
_PTX = regex(r"\s*(?:[.@]|[$%\w]+:|.*[;,{]\s*(?://.*)?$)")
_PYTHON = regex(r"^(?:import [\w.]+|from [\w.]+ import |(?:async )?def \w+\(|class \w+[(:])", re.M)

_CONVERT = """
import sys
try:
    from cutlass._mlir import ir
    with ir.Context() as context:
        context.allow_unregistered_dialects = True
        text = str(ir.Module.parse(sys.stdin.buffer.read()))
except Exception:
    sys.exit(1)
sys.stdout.buffer.write(text.encode())
"""
_SECONDS = 300  # that a conversion may take


def text_of(name: str, data: bytes) -> Source | Unread:
    """The text of a file, or why there is none. Bytecode is printed by NVIDIA's dialect where that is installed."""
    if data.startswith(BYTECODE):
        printed = _printed(data)
        return Unread(name, UNCONVERTED) if printed is None else Source(name, printed)
    try:
        return Source(name, data.decode("utf-8"))
    except UnicodeDecodeError:
        return Unread(name, "not UTF-8 text")


def refusal(source: Source) -> str | None:
    """Why a text cannot be checked: it is neither IR nor PTX. None where it is one of them, broken or not."""
    text = source.text
    if is_ptx(source):
        return None if source.name.endswith(".ptx") or _is_mostly(text, _PTX) else NOTHING
    if _is_ir(text) and not _is_python(text):
        return None
    if source.name.endswith((".py", ".pyi")) or (not source.name.endswith(".mlir") and _is_python(text)):
        return PYTHON
    return NOTHING


def _is_ir(text: str) -> bool:
    """Whether one line in four is what only IR has, of those that say anything; or most lines may be operations."""
    certain = possible = others = 0
    for line in text.split("\n", _MOST_LINES)[:_MOST_LINES]:
        if _IR.match(line):
            certain += 1
        elif _OPERATION.match(line):
            possible += 1
        elif not _NEUTRAL.match(line):
            others += 1
    if certain:
        return 3 * (certain + possible) >= others
    return possible > 0 and possible >= 3 * others


def _is_mostly(text: str, statement: re.Pattern[str]) -> bool:
    """Whether at least half of the lines that say anything begin as statements."""
    lines = [line for line in text.split("\n", _MOST_LINES)[:_MOST_LINES] if not _NEUTRAL.match(line)]
    return 2 * sum(statement.match(line) is not None for line in lines) >= len(lines)


def _is_python(text: str) -> bool:
    if _PYTHON.search(text, 0, _BEGINNING) is None:
        return False
    import ast  # noqa: PLC0415  only for what is neither IR nor PTX

    try:
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _printed(data: bytes) -> str | None:
    """Bytecode as text; None where NVIDIA's dialect is not installed or does not read it.

    In a process of its own: the native library may die of a malformed module.
    """
    import subprocess  # noqa: PLC0415  only for bytecode

    try:
        done = subprocess.run(
            [sys.executable, "-c", _CONVERT], input=data, capture_output=True, timeout=_SECONDS, check=False
        )
        return done.stdout.decode("utf-8") if done.returncode == 0 and done.stdout else None
    except (OSError, subprocess.TimeoutExpired, UnicodeDecodeError):
        return None
