"""``tileproof check``."""

from __future__ import annotations

import sys
from typing import Any

import click

from tileproof.cli.checking import Wanted, check_options
from tileproof.cli.options import inputs


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@check_options
def check(files: tuple[str, ...], **given: Any) -> None:
    """Check IR and PTX files, directories (*.mlir, *.ptx), globs, or - for standard input.

    Exit status: 0 no error, 1 an error (see --fail-on and --require-verified), 2 an input that cannot be read or has
    no IR, or bad arguments.

    A line is silenced by the comment `// tileproof: ignore[CODE] reason` on it or above it.
    """
    wanted = Wanted.of(**given)
    report = wanted.check([item for name in files for item in inputs(name)])
    sys.exit(wanted.report(report))
