"""``tileproof explain``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tileproof.cli.options import fail, load_rules, rule_options

if TYPE_CHECKING:
    from tileproof.rulebase.book import Rulebook
    from tileproof.rulebase.declarations import Finding, Rule


@click.command()
@click.argument("code")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@rule_options
def explain(code: str, form: str, folders: tuple[Path, ...]) -> None:
    """Explain a rule by its code or name: its condition, source and examples.

    A mnemonic such as atom.tma_load is explained by its contract, a concept of CUTLASS such as cute::TiledMMA by its
    form in the IR.
    """
    from tileproof.checking import explain as rules  # noqa: PLC0415
    from tileproof.judge import registry  # noqa: PLC0415

    book, _ = load_rules(folders, whole=True)
    if (atom := registry.contract_of(book, code, "ptx")) is not None:
        shown = registry.as_text(atom)
    elif (porting := registry.porting(book).get(code)) is not None:
        shown = f"{code}: {porting[0]}\n{porting[1]}"
    else:
        item = find(book, code)
        click.echo(rules.as_json(book, item) if form == "json" else rules.as_text(book, item))
        return
    click.echo(json.dumps({"name": code, "text": shown}, indent=2) if form == "json" else shown)


def find(book: Rulebook, name: str) -> Rule | Finding:
    """What has this code or name; exits with status 2 and the nearest ones where nothing has."""
    from tileproof.checking import explain as rules  # noqa: PLC0415

    item = rules.find(book, name)
    if item is not None:
        return item
    near = [
        f"{code} ({book.documented()[code].name})" if code in book.documented() else code
        for code in rules.nearest(book, name)
    ]
    return fail(f"no rule has the code or name '{name}'" + (f"; nearest: {', '.join(near)}" if near else ""))
