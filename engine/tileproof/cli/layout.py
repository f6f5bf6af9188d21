"""``tileproof layout``."""

from __future__ import annotations

import json
import sys
from typing import Any

import click

from tileproof.cli.options import fail


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("expression", required=False)
@click.option(
    "--jsonl", is_flag=True, help='Read {"expr": ...} lines from standard input, write one result line for each.'
)
@click.option("--functions", is_flag=True, help="List the functions of the expression language.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def layout(expression: str | None, jsonl: bool, functions: bool, form: str) -> None:
    """Compute with CuTe layouts: `tileproof layout 'composition((20):(2), (5,4):(4,1))'` prints `(5,4):(8,2)`.

    Exit status: 0 a value, 1 the expression has none (one sentence says why), 2 bad arguments. With --jsonl, 0.
    """
    from tileproof.calculate import text as verb  # noqa: PLC0415

    if functions:
        click.echo("\n".join(verb.functions()))
    elif jsonl:
        for answer in verb.answers(sys.stdin):
            click.echo(answer)
    elif expression is None:
        fail("layout requires an expression, --jsonl or --functions")
    else:
        _show_value(verb, expression, form)


def _show_value(verb: Any, expression: str, form: str) -> None:
    try:
        value = verb.value_of(expression)
    except verb.ExpressionError as error:
        if form == "json":
            click.echo(json.dumps({"error": str(error)}))
        else:
            click.echo(f"tileproof: {error}", err=True)
        sys.exit(1)
    click.echo(json.dumps({"result": value}) if form == "json" else value)
