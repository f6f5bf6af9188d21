"""``tileproof encode``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from tileproof.cli.options import fail, load_rules, rule_options


@click.command()
@click.argument("name", metavar="FIELDSET")
@click.argument("fields", nargs=-1, metavar="[FIELD=VALUE]...")
@click.option("--contract", type=click.Choice(["ptx", "tileiras"]), help="Default: ptx where it declares the word.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@rule_options
def encode(name: str, fields: tuple[str, ...], contract: str | None, form: str, folders: tuple[Path, ...]) -> None:
    """The packed word for some fields; `tileproof decode --list` has the names.

    `tileproof encode wgmma.descriptor lbo=16 sbo=1024 swizzle=128`

    Fields that are not given are zero. A value is that of a fact (an address in bytes), or, by the name of a field that
    is no fact, the code in its bits.

    Exit status: 0 done, 1 the word means nothing (a rule rejects it), 2 bad arguments.
    """
    from tileproof.reference import words as verb  # noqa: PLC0415
    from tileproof.reference.facts import BadQuery, arguments  # noqa: PLC0415

    book, _ = load_rules(folders)
    try:
        encoded = verb.encode(book, name, arguments(fields), contract)
    except BadQuery as error:
        fail(str(error))
    if form == "json":
        click.echo(json.dumps(verb.as_json(encoded), indent=2))
    else:
        click.echo("\n".join((encoded.hexadecimal, *verb.remarks(encoded))))
    sys.exit(encoded.status)
