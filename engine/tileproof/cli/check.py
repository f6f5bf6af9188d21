"""``tileproof check``."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import click

from tileproof.cli.check_options import check_options
from tileproof.cli.checking import Wanted, check_files
from tileproof.cli.options import fail, inputs, no_garbage_collection

_LOOK_EVERY = 0.3  # seconds, with --watch


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@check_options
@click.option("--fix", is_flag=True, help="Repair what can be repaired safely, each edit proved by a check.")
@click.option(
    "--unsafe-fixes", "unsafe", is_flag=True, help="With --fix or --diff: also edits that may mean another thing."
)
@click.option("--diff", is_flag=True, help="Show what --fix would change; exit status 1 where it is anything.")
@click.option("--watch", is_flag=True, help="Check again whenever a file changes, until interrupted.")
def check(files: tuple[str, ...], fix: bool, unsafe: bool, diff: bool, watch: bool, **given: Any) -> None:
    """Check IR and PTX files, directories (*.mlir, *.ptx), globs, or - for standard input.

    Exit status: 0 no error, 1 an error (see --fail-on and --require-verified), 2 an input that cannot be read or has
    no IR, or bad arguments.

    A line is silenced by the comment `tileproof: ignore[CODE] reason` on it or above it, after // or #.
    """
    with no_garbage_collection():
        wanted = Wanted.of(**given)
    if watch:
        _watch(wanted, files)
    if fix or diff:
        from tileproof.cli.fixes import fix_files  # noqa: PLC0415

        if "-" in files:
            fail("--fix and --diff need files, not standard input")
        changed = fix_files(wanted, [item for name in files for item in inputs(name)], unsafe, write=not diff)
        if diff:
            sys.exit(int(changed))
    sys.exit(check_files(wanted, files))


def _watch(wanted: Wanted, files: tuple[str, ...]) -> None:
    """Check now and after each change, until interrupted."""
    if "-" in files:
        fail("--watch needs files, not standard input")
    before: dict[str, tuple[int, int]] | None = None
    try:
        while True:
            items = [item for name in files for item in inputs(name)]
            now = {item: _stamp(item) for item in items if isinstance(item, str)}
            if now != before:
                before = now
                if sys.stdout.isatty():
                    click.clear()
                wanted.report(wanted.check(items))
                sys.stdout.flush()
            time.sleep(_LOOK_EVERY)
    except KeyboardInterrupt:
        sys.exit(0)


def _stamp(name: str) -> tuple[int, int]:
    try:
        stat = Path(name).stat()
    except OSError:
        return (0, 0)
    return (stat.st_mtime_ns, stat.st_size)
