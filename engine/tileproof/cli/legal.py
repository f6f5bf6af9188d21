"""``tileproof legal``."""

from __future__ import annotations

import gc
import sys
from collections import deque
from collections.abc import Iterator
from contextvars import ContextVar
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tileproof.cli.options import cores, fail, load_rules, no_garbage_collection, rule_options, write

if TYPE_CHECKING:
    from tileproof.base.source import Source
    from tileproof.rulebase.book import Rulebook, Ruleset


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

    book, files = load_rules(folders)
    if jsonl:
        with no_garbage_collection():
            for block in _answered(book, files, contract):
                sys.stdout.write(block)
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


def _answered(book: Rulebook, files: tuple[Source, ...], contract: str) -> Iterator[str]:
    """The answers to the lines of standard input, block by block; of more than one block in a process a core."""
    blocks = iter(lambda: list(islice(sys.stdin, _BLOCK)), [])
    first = list(islice(blocks, 2))
    if len(first) < 2 or cores() == 1:
        _RULES.set(book.under(contract))
        yield from map(_answers, chain(first, blocks))
        return
    from concurrent.futures import Future, ProcessPoolExecutor  # noqa: PLC0415  where it is used only: 15 ms

    with ProcessPoolExecutor(cores(), initializer=_begin, initargs=(files, contract)) as pool:
        begun: deque[Future[str]] = deque()
        for block in chain(first, blocks):
            begun.append(pool.submit(_answers, block))
            if len(begun) > 2 * cores():  # so much is read ahead, and no more
                yield begun.popleft().result()
        while begun:
            yield begun.popleft().result()


_BLOCK = 2000  # lines
_RULES: ContextVar[Ruleset] = ContextVar("_RULES")


def _begin(files: tuple[Source, ...], contract: str) -> None:
    """Make a process ready that answers."""
    from tileproof.base.parent import end_with_parent  # noqa: PLC0415
    from tileproof.rulebase.load import load  # noqa: PLC0415

    end_with_parent()
    gc.disable()
    _RULES.set(load(files).under(contract))


def _answers(lines: list[str]) -> str:
    from tileproof.checking.instruction import answers  # noqa: PLC0415

    return "".join(answer + "\n" for answer in answers(_RULES.get(), lines))
