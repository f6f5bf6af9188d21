"""``tileproof decode``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from tileproof.cli.options import fail, load_rules, rule_options


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("word", required=False)
@click.argument("facts", nargs=-1, metavar="[FACT=VALUE]...")
@click.option("--as", "name", metavar="FIELDSET", help="What the word is, such as wgmma.descriptor.")
@click.option("--list", "listing", is_flag=True, help="The names of all field sets.")
@click.option("--contract", type=click.Choice(["ptx", "tileiras"]), help="Default: ptx where it declares the word.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@rule_options
def decode(
    word: str | None,
    facts: tuple[str, ...],
    name: str | None,
    listing: bool,
    contract: str | None,
    form: str,
    folders: tuple[Path, ...],
) -> None:
    """What the bits of a packed word mean: a descriptor of the hardware, or a word of the reference pages.

    `tileproof decode 0x4000004000010000 --as wgmma.descriptor`

    Facts that the word needs and does not hold are given after it: `--as tcgen05.instruction_descriptor kind=f16`.

    Exit status: 0 it means something, 1 it means nothing, 2 bad arguments.
    """
    from tileproof.reference import words as verb  # noqa: PLC0415
    from tileproof.reference.facts import BadQuery, arguments  # noqa: PLC0415

    book, _ = load_rules(folders)
    if listing:
        if word is not None or name is not None:
            fail("--list takes neither a word nor --as")
        found = verb.listing(book)
        if form == "json":
            click.echo(json.dumps(found, indent=2))
        else:
            for one in found:
                click.echo(f"{one['as']:<32} {one['contract'] or 'both':<9} {one['width']:>2} bits  {one['title']}")
        return
    if word is None or name is None:
        fail("decode requires a word and --as FIELDSET, or --list")
    try:
        decoded = verb.decode(book, name, word, arguments(facts), contract)
    except verb.Meaningless as error:
        click.echo(f"tileproof: {error}", err=True)
        sys.exit(1)
    except BadQuery as error:
        fail(str(error))
    click.echo(json.dumps(verb.as_json(decoded), indent=2) if form == "json" else "\n".join(verb.lines(decoded)))
    sys.exit(decoded.status)
