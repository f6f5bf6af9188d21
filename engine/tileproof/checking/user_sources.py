"""Comments in the user's own source: ``# tileproof: ignore[PR110] reason`` in Python, ``//`` in CUDA C++.

IR and PTX are made anew at each run, so a finding is silenced where the engineer works. One source is compiled to many
kernels, and a comment has no effect only where no report of a run needed it: so what was used is kept with each report,
and a whole run is asked in the end (``unused``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from tileproof.base.diagnostic import Diagnostic
from tileproof.base.patterns import regex
from tileproof.base.source import Source
from tileproof.judge.outcome import FileReport, Options, finding, ineffective
from tileproof.judge.suppressions import Suppression, suppressions_anywhere
from tileproof.ptx.module import is_ptx
from tileproof.rulebase.book import Rulebook

_MARK = "tileproof:"
_MOST = 5_000_000  # characters of a source that is looked into
_IN_IR = regex(r'"((?:[^"\\\n]|\\.)+)":(\d+):\d+')
_FILE = regex(r'^\s*\.file\s+(\d+)\s+"((?:[^"\\\n]|\\.)+)"', re.M)
_LINE = regex(r"(?:^\s*\.loc|inlined_at)\s+(\d+)\s+(\d+)\s+\d+", re.M)


def comments(source: Source) -> tuple[Suppression, ...]:
    """The suppressions in the sources of a text that speak for lines which it was compiled from."""
    if is_ptx(source):
        files = dict(_FILE.findall(source.text)) if ".loc" in source.text else {}
        named = set(files.values())
    else:
        named = {name for name, _ in _IN_IR.findall(source.text)} if "loc(" in source.text else set()
    said = [one for name in sorted(named) for one in suppressions_anywhere(_read(name))]
    if not said:
        return ()
    if is_ptx(source):
        lines = {(files.get(number, ""), int(line)) for number, line in _LINE.findall(source.text)}
    else:
        lines = {(name, int(line)) for name, line in _IN_IR.findall(source.text)}
    return tuple(
        one for one in said if one.lines is None or any((one.source.name, line) in lines for line in one.lines)
    )


def _read(name: str) -> Source:
    try:
        path = Path(name)
        text = path.read_text(encoding="utf-8") if path.is_file() and path.stat().st_size <= _MOST else ""
    except (OSError, ValueError):  # not readable, no UTF-8
        text = ""
    return Source(name, text if _MARK in text else "")


def unused(book: Rulebook, options: Options, reports: Iterable[FileReport]) -> Iterator[Diagnostic]:
    """A note on each comment in a user's source that silenced nothing in any report of a run."""
    heard: dict[Suppression, bool] = {}
    for report in reports:
        for comment, used in report.comments:
            heard[comment] = heard.get(comment, False) or used
    for comment, used in heard.items():
        stated = None if used else ineffective(book, options, comment)
        if stated is not None:
            found = finding(book, comment.source, comment.span, stated)
            if options.reports(found.code, found.name):
                yield found
