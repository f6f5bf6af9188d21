"""``check --fix`` and ``--diff``."""

from __future__ import annotations

from difflib import unified_diff
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tileproof.cli.options import fail

if TYPE_CHECKING:
    from tileproof.base.source import Source
    from tileproof.cli.checking import Wanted
    from tileproof.report.values import Unread


def fix_files(wanted: Wanted, items: list[str | Source | Unread], unsafe: bool, write: bool) -> bool:
    """Repair files, or show what would change; whether anything does.

    What was done is listed on standard error. A file that cannot be written ends the run with a line; those before it
    are written.
    """
    from tileproof.base.files import replace_file  # noqa: PLC0415
    from tileproof.base.source import Source  # noqa: PLC0415
    from tileproof.checking.file import check_source  # noqa: PLC0415
    from tileproof.checking.fixing import fix  # noqa: PLC0415
    from tileproof.checking.reading import read  # noqa: PLC0415

    changed = False
    for item in items:
        source = read(item)
        if not isinstance(source, Source):
            continue  # the report that follows says why
        fixed = fix(wanted.book, source, wanted.options, check_source, unsafe)
        if not fixed.done:
            continue
        changed = True
        if not write:
            old, new = source.text.splitlines(keepends=True), fixed.source.text.splitlines(keepends=True)
            click.echo("".join(unified_diff(old, new, fromfile=source.name, tofile=source.name)), nl=False)
            continue
        try:
            replace_file(Path(source.name), fixed.source.text)
        except OSError as error:
            fail(f"{source.name}: {error.strerror or error}")
        for said in fixed.done:
            click.echo(f"tileproof: {source.name}: {said}", err=True)
    return changed
