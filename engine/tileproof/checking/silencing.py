"""Suppression comments as text: how a line reads with one.

A comment is added behind its line, or above it where it could not stand behind: a Python file must say the same after.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from tileproof.base.patterns import regex

_REASON = "known"
_THERE = regex(r"(tileproof:\s*ignore\s*\[)([^\]\n]*)\]")
_LINE = regex(r"[^\n]*\n|[^\n]+")


def mark_of(file: str) -> str:
    """What begins a comment in a file of that name."""
    return "#" if file.endswith(".py") else "//"


def silenced(text: str, number: int, codes: Iterable[str], mark: str) -> str | None:
    """A text with a comment that silences rules at a line (counted from 1); None where that cannot be."""
    changed = silenced_line(text, number, codes, mark)
    return None if changed is None else _joined(_LINE.findall(text), number, changed[1])


def silenced_line(text: str, number: int, codes: Iterable[str], mark: str) -> tuple[str, str] | None:
    """The line that ``silenced`` changes, before and after, with their ends."""
    lines = _LINE.findall(text)
    if not 0 < number <= len(lines):
        return None
    new = _with_comment(lines, number, set(codes), mark)
    return None if new is None else (lines[number - 1], new)


def _with_comment(lines: list[str], number: int, codes: set[str], mark: str) -> str | None:
    line = lines[number - 1]
    body = line.rstrip("\r\n")
    end = line[len(body) :] or "\n"
    there = _THERE.search(body)
    if there is not None:
        merged = ", ".join(sorted({*re.findall(r"[^,\s]+", there[2]), *codes}))
        return f"{body[: there.start(2)]}{merged}{body[there.end(2) :]}{end}"
    comment = f"{mark} tileproof: ignore[{', '.join(sorted(codes))}] {_REASON}"
    behind = f"{body}  {comment}{end}"
    text = "".join(lines)
    if mark == "//" or _same(text, _joined(lines, number, behind)):
        return behind
    above = f"{body[: len(body) - len(body.lstrip())]}{comment}{end}{line}"
    return above if _same(text, _joined(lines, number, above)) else None


def _joined(lines: list[str], number: int, line: str) -> str:
    return "".join([*lines[: number - 1], line, *lines[number:]])


def _same(before: str, after: str) -> bool:
    """Whether two Python texts are the same program."""
    try:
        return ast.dump(ast.parse(before)) == ast.dump(ast.parse(after))
    except (SyntaxError, ValueError, RecursionError):
        return False
