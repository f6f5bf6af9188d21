"""``--add-ignore``: suppression comments written where findings stand.

A finding is silenced in the user's own source where the text says it and the file is there, else in the text itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tileproof.base.diagnostic import Diagnostic, Severity
from tileproof.base.files import replace_file
from tileproof.checking.silencing import mark_of, silenced


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
            changed = silenced(text, number, {one.code for one in found}, mark_of(path.name))
            if changed is None:
                left += found
            else:
                text = changed
                count += 1
        if count:
            replace_file(path, text)
            written[path] = count
    return written, left
