"""``tileproof legal``."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from tileproof.cli.options import fail, load_rules, no_garbage_collection, rule_options, write


@click.command()
@click.argument("instructions", nargs=-1, metavar="INSTRUCTION...")
@click.option("--target", metavar="SM", default="sm_90a", show_default=True)
@click.option(
    "--ptx", metavar="VERSION", help="PTX ISA version, such as 8.7. Default: the latest that supports the target."
)
@click.option("--contract", type=click.Choice(["ptx", "tileiras"]), default="ptx", show_default=True)
@click.option("--jsonl", is_flag=True, help='Read {"target": ..., "instr": ...} lines from standard input.')
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@rule_options
def legal(
    instructions: tuple[str, ...],
    target: str,
    ptx: str | None,
    contract: str,
    jsonl: bool,
    form: str,
    folders: tuple[Path, ...],
) -> None:
    """Check one PTX instruction or atom type for a target. `tileproof legal --target sm_80 'ldmatrix.sync...;'`

    Registers are named by class: r0 .b32, f0 .f32, d0 .f64, l0 .b64, h0 .b16, p0 .pred, q0 .b128.

    Exit status: 0 all are legal, 1 one is not, 2 bad arguments. With --jsonl always 0.
    """
    from tileproof.checking import instruction as verb  # noqa: PLC0415

    book, _ = load_rules(folders)
    if jsonl:
        with no_garbage_collection():
            for answer in verb.answers(book.under(contract), sys.stdin):
                sys.stdout.write(answer + "\n")
        return
    if not instructions:
        fail("legal requires an instruction or --jsonl")
    try:
        where = verb.context(book, target, verb.version(ptx) if ptx else None)
    except ValueError as error:
        fail(str(error))
    report = verb.report(book.under(contract), instructions, where)
    if form == "json":
        for instruction in instructions:
            click.echo(verb.as_json(verb.legal(book.under(contract), instruction, where)))
    else:
        write(report, "text", colourless=False)
    sys.exit(report.exit_status())
