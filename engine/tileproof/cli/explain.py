"""``tileproof explain``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tileproof.cli.options import (
    fail,
    load_rules,
    rule_options,
)

if TYPE_CHECKING:
    from tileproof.rulebase.book import Rulebook
    from tileproof.rulebase.declarations import Finding, Rule


@click.command()
@click.argument("code")
@rule_options
def explain(code: str, folders: tuple[Path, ...]) -> None:
    """Explain a rule by its code or name: what it demands, why, where that is written, and examples.

    A mnemonic such as atom.tma_load is explained by its contract, a concept of CUTLASS such as cute::TiledMMA by its
    form in the IR.
    """
    from tileproof.judge import registry  # noqa: PLC0415
    from tileproof.rulebase.explain import explanation  # noqa: PLC0415

    book, _ = load_rules(folders)
    if (atom := registry.contract_of(book, code, "ptx")) is not None:
        click.echo(registry.as_text(atom))
    elif (form := registry.porting(book).get(code)) is not None:
        click.echo(f"{code}: {form[0]}\n{form[1]}")
    else:
        click.echo(explanation(book, find(book, code)))


def find(book: Rulebook, code: str) -> Rule | Finding:
    documented = book.documented()
    for item in documented.values():
        if code.upper() == item.code or code == item.name:
            return item
    from difflib import get_close_matches  # noqa: PLC0415

    near = get_close_matches(code, [*documented, *(item.name for item in documented.values())], 3)
    return fail(f"no rule has the code or name '{code}'" + (f"; did you mean {' or '.join(near)}?" if near else ""))
