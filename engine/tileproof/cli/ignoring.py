"""``--add-ignore``: suppression comments written where findings stand.

A finding is silenced in the user's own source where the text says it and the file is there, else in the text itself.
A comment is added behind its line, or above it where it could not stand behind: a Python file must say the same after.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from pathlib import Path

from tileproof.base.diagnostic import Diagnostic, Severity
from tileproof.base.files import replace_file

_REASON = "known"
_THERE = re.compile(r"(tileproof:\s*ignore\s*\[)([^\]\n]*)\]")


def add_ignores(diagnostics: Iterable[Diagnostic]) -> tuple[dict[Path, int], list[Diagnostic]]:
    """Write a comment for each line with errors or warnings; how many each file got, and what cannot be silenced so.

    Raises:
        OSError: a file cannot be written; those before it are.
    """
    wanted: dict[Path, dict[int, list[Diagnostic]]] = {}
    left = []
    for one in diagnostics:
        if one.severity is Severity.NOTE:
            continue
        origin = one.origin
        if origin is not None and Path(origin.file).is_file():
            path, line = Path(origin.file), origin.line
        elif Path(one.source.name).is_file():
            path, line = Path(one.source.name), one.source.position(one.span.start).line
        else:
            left.append(one)
            continue
        wanted.setdefault(path, {}).setdefault(line, []).append(one)
    written = {}
    for path, lines in wanted.items():
        try:
            text = path.read_bytes().decode("utf-8")
        except UnicodeDecodeError:
            left += [one for found in lines.values() for one in found]
            continue
        count = 0
        for number, found in sorted(lines.items(), reverse=True):
            changed = _with_comment(text, number, {one.code for one in found}, "#" if path.suffix == ".py" else "//")
            if changed is None:
                left += found
            else:
                text = changed
                count += 1
        if count:
            replace_file(path, text)
            written[path] = count
    return written, left


def _with_comment(text: str, number: int, codes: set[str], mark: str) -> str | None:
    lines = text.splitlines(keepends=True)
    if not 0 < number <= len(lines):
        return None
    line = lines[number - 1]
    body = line.rstrip("\r\n")
    end = line[len(body) :] or "\n"
    there = _THERE.search(body)
    if there is not None:
        merged = ", ".join(sorted({*re.findall(r"[^,\s]+", there[2]), *codes}))
        return _joined(lines, number, f"{body[: there.start(2)]}{merged}{body[there.end(2) :]}{end}")
    comment = f"{mark} tileproof: ignore[{', '.join(sorted(codes))}] {_REASON}"
    behind = _joined(lines, number, f"{body}  {comment}{end}")
    if mark == "//" or _same(text, behind):
        return behind
    above = _joined(lines, number, f"{body[: len(body) - len(body.lstrip())]}{comment}{end}{line}")
    return above if _same(text, above) else None


def _joined(lines: list[str], number: int, line: str) -> str:
    return "".join([*lines[: number - 1], line, *lines[number:]])


def _same(before: str, after: str) -> bool:
    """Whether two Python texts are the same program."""
    try:
        return ast.dump(ast.parse(before)) == ast.dump(ast.parse(after))
    except (SyntaxError, ValueError, RecursionError):
        return False
