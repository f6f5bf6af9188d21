"""``tileproof rules``: the rule base itself."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tileproof.cli.explain import find
from tileproof.cli.options import fail, load_rules, progress, rule_options, source_name

if TYPE_CHECKING:
    from tileproof.base.source import Source
    from tileproof.rulebase.book import Rulebook

FEW_RULES = 20  # that one process checks as fast as several


@click.group()
def rules() -> None:
    """The rule base: list, show, check and compare rules; what the reference pages have, and where they are wrong."""


@rules.command("list")
@click.option("--contract", type=click.Choice(["ptx", "tileiras"]), help="Only the rules of one contract.")
@click.option("--deviations", is_flag=True, help="Only deliberate deviations from ptxas or the PTX ISA.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@rule_options
def list_rules(contract: str | None, deviations: bool, form: str, folders: tuple[Path, ...]) -> None:
    """List all rules, one a line."""
    from tileproof.rulebase.explain import as_json, contract_of, is_deviation, listing  # noqa: PLC0415

    book, _ = load_rules(folders, whole=True)
    documented = book.documented().values()
    chosen = [item for item in documented if contract is None or contract_of(item) in (None, contract)]
    if deviations:
        chosen = [item for item in chosen if is_deviation(item)]
    click.echo(as_json(chosen) if form == "json" else listing(chosen))


@rules.command("show")
@click.argument("code")
@rule_options
def show_rule(code: str, folders: tuple[Path, ...]) -> None:
    """Show the text of a rule from its file."""
    from tileproof.rulebase.explain import text_of  # noqa: PLC0415

    book, _ = load_rules(folders, whole=True)
    click.echo(text_of(find(book, code)))


@rules.command("check")
@click.argument("chosen", nargs=-1, metavar="[CODE | FILE]...")
@click.option("--timeout", default=10.0, show_default=True, help="Time limit of Z3 for one query, in seconds.")
@click.option("--jobs", "-j", type=click.IntRange(0), default=0, help="Number of processes. Default: one per core.")
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="Compare the two readings on all configurations: minutes for all rules.",
)
@rule_options
def check_rules(
    chosen: tuple[str, ...], timeout: float, jobs: int, everything: bool, folders: tuple[Path, ...]
) -> None:
    """Check the rule base itself, or the rules of these codes, names and files.

    Each rule can hold and can fail, is not implied by the others, has a source and examples that pass and fail,
    and its two readings, the Python function and the Z3 formula, agree: of rules that are named, and with --all, on
    every configuration, or a hundred thousand where numbers of bytes make millions; else on about thirty thousand of
    each rule, with the ends of each range and what the rule names.

    Exit status: 0 nothing is wrong, 1 the rule files are at fault, 2 bad arguments.
    """
    from tileproof.audit.rules import LARGEST_LATTICE, SHARE, check_book, check_files  # noqa: PLC0415
    from tileproof.checking.implemented import unimplemented  # noqa: PLC0415

    paths = [Path(name) for name in chosen if Path(name).is_file()]
    if missing := [name for name in chosen if name.endswith(".rule") and not Path(name).is_file()]:
        fail(f"{missing[0]}: no such file of rules")
    book, files = load_rules(folders, paths, status=1, whole=True)
    codes = _codes(book, files, chosen) if chosen else None
    count = len(book.rules) if codes is None else len(codes)
    processes = jobs or os.cpu_count() or 1
    most = LARGEST_LATTICE if everything or codes is not None else SHARE
    with progress(count) as step:
        if processes == 1 or count < FEW_RULES:
            outcome = check_book(book, timeout, step, codes, most)
        else:
            outcome = check_files(files, timeout, processes, step, codes, most)
    schemas = len(book.schemas) if codes is None else len({book.rules[code].schema for code in codes})
    outcome.faults += unimplemented(book)
    for fault in outcome.faults:
        click.echo(f"{fault.place}: error: {fault.message}")
    for fault in outcome.unknown:
        click.echo(f"{fault.place}: warning: {fault.message}")
    part = f", about {SHARE:,} of each rule (--all: more)" if most == SHARE else ""
    click.echo(
        f"{count} rules in {schemas} schemas: {outcome.questions} questions to Z3,"
        f" {outcome.configurations} configurations compared{part}, {len(outcome.faults)} errors,"
        f" {len(outcome.unknown)} unknown"
    )
    sys.exit(bool(outcome.faults))


def _codes(book: Rulebook, files: tuple[Source, ...], chosen: tuple[str, ...]) -> tuple[str, ...]:
    """The codes of the rules that arguments name, those of a file in its order. Findings have nothing to check."""
    found: dict[str, None] = {}
    for name in chosen:
        if Path(name).is_file():
            file = source_name(Path(name), files)
            found |= dict.fromkeys(code for code, rule in book.rules.items() if rule.place.source.name == file)
        elif (item := find(book, name)).code in book.rules:
            found[item.code] = None
    return tuple(found)


@rules.command("diff")
@click.argument("left", type=click.Choice(["ptx", "tileiras"]))
@click.argument("right", type=click.Choice(["ptx", "tileiras"]))
@click.option("--timeout", default=2.0, show_default=True, help="Time limit of Z3 for one query, in seconds.")
@click.option("--format", "form", type=click.Choice(["text", "json", "markdown"]), default="text", show_default=True)
@rule_options
def diff_rules(left: str, right: str, timeout: float, form: str, folders: tuple[Path, ...]) -> None:
    """Where two contracts differ, by contradiction, the most important first.

    Each has the claim and what stands against it, the rules that reject, the sources of both sides, and a complete
    witness: an instruction that `tileproof legal --contract` answers differently. What LEFT accepts comes first.
    """
    from tileproof.reference import differences as verb  # noqa: PLC0415

    book, _ = load_rules(folders, whole=True)
    with progress(len(book.contradictions), "comparing") as step:
        found = verb.differences(book, left, right, timeout, step)
    if form == "json":
        click.echo(verb.as_json(found))
    else:
        for line in verb.as_markdown(found) if form == "markdown" else verb.as_text(found):
            click.echo(line)


@rules.command("ledger")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@rule_options
def show_ledger(form: str, folders: tuple[Path, ...]) -> None:
    """Each row of the checklist of the reference pages with the rules, tables, tests and contradictions that carry it.

    Exit status: 0 every row has rule data, and a test where the tests are there, 1 one has not, 2 bad arguments.
    """
    from tileproof.audit.ledger import as_json, as_text, ledger  # noqa: PLC0415
    from tileproof.base import resources  # noqa: PLC0415

    book, _ = load_rules(folders, whole=True)
    rows = ledger(book, resources.tests())
    click.echo(as_json(rows) if form == "json" else "\n".join(as_text(rows)))
    sys.exit(any(not row.data or row.tests == () for row in rows))


@rules.command("contradictions")
@click.argument("codes", nargs=-1, metavar="[CODE]...")
@click.option("--timeout", default=20.0, show_default=True, help="Time limit of Z3 for one query, in seconds.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@rule_options
def show_contradictions(codes: tuple[str, ...], timeout: float, form: str, folders: tuple[Path, ...]) -> None:
    """Where the reference pages contradict themselves, each other or the hardware; each is proved.

    The proof is a configuration or a word that shows it, or that none can keep a claim. RP1: within the page of
    builtins, RP2: between pages, RP3: pages and hardware, RP4: second readings. A code may be a prefix.

    Exit status: 0 all are proved, 1 one is not, 2 bad arguments.
    """
    from tileproof.audit import contradictions as verb  # noqa: PLC0415

    book, _ = load_rules(folders, whole=True)
    chosen = [
        code for code in sorted(book.contradictions) if not codes or code.startswith(tuple(map(str.upper, codes)))
    ]
    for code in codes:
        if not any(one.startswith(code.upper()) for one in chosen):
            fail(f"no contradiction has the code '{code}'")
    found = []
    with progress(len(chosen), "proving") as step:
        for proved in verb.prove_all(book, timeout, chosen):
            found.append(proved)
            if form == "text":
                click.echo("\n".join(verb.as_text(proved)))
            step()
    if form == "json":
        click.echo(verb.as_json(found))
    else:
        unproved = sum(one.by == verb.UNPROVED for one in found)
        click.echo(f"{len(found)} contradictions, {len(found) - unproved} proved")
    sys.exit(any(one.by == verb.UNPROVED for one in found))
