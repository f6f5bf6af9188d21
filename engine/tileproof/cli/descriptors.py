"""``tileproof descriptors``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from tileproof.cli.options import inputs, load_rules, rule_options


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--contract", type=click.Choice(["ptx", "tileiras"]), default="ptx", show_default=True)
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@rule_options
def descriptors(files: tuple[str, ...], contract: str, form: str, folders: tuple[Path, ...]) -> None:
    """The 64-bit shared-memory descriptors (at address 0) of the MMA operands of kernels in IR or PTX.

    Exit status: 0 all were listed, 1 an operand has no descriptor or its swizzle is not known, 2 a file that cannot be
    read or has no IR.
    """
    from tileproof.checking import descriptors as verb  # noqa: PLC0415
    from tileproof.checking.reading import read  # noqa: PLC0415
    from tileproof.memory.listing import Listed  # noqa: PLC0415
    from tileproof.report.values import Unread  # noqa: PLC0415

    book, _ = load_rules(folders)
    listed: list[Listed] = []
    status = 0
    for item in (item for name in files for item in inputs(name)):
        source = read(item)
        found = source if isinstance(source, Unread) else verb.descriptors(book, source, contract)
        if isinstance(found, Unread):
            click.echo(f"tileproof: {found.name}: {found.reason}", err=True)
            status = 2
        else:
            listed += found
    if form == "json":
        click.echo(json.dumps({"descriptors": [one.as_json() for one in listed]}, indent=2))
    else:
        for one in listed:
            click.echo(str(one))
    sys.exit(max(status, int(any(one.swizzle is None for one in listed))))
