"""``tileproof check``."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from tileproof.cli.options import (
    FORMATS,
    fail,
    inputs,
    listed,
    load_rules,
    no_garbage_collection,
    processes,
    progress,
    rule_options,
    write,
)


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", show_default=True)
@click.option(
    "--target", metavar="SM", help="The target, such as sm_90a. Default: that of the IR, or the lowest possible."
)
@click.option(
    "--contract",
    type=click.Choice(["ptx", "tileiras"]),
    help="ptx: rules of the hardware and ptxas (default); tileiras: the reference pages.",
)
@click.option(
    "--select", multiple=True, metavar="RULES", help="Only these rules: codes, prefixes or names, comma-separated."
)
@click.option("--ignore", multiple=True, metavar="RULES", help="Not these rules.")
@click.option(
    "--fail-on",
    type=click.Choice(["error", "warning", "note"]),
    help="The least severity that makes the exit status 1.  [default: error]",
)
@click.option(
    "--require-verified", is_flag=True, help="Exit status 1 where a kernel's protocol is not wholly verified."
)
@click.option(
    "--statistics", is_flag=True, help="Count findings by rule, kernels by status, and steps (text and json)."
)
@click.option(
    "--thorough", is_flag=True, help="Run loops of unknown length more often, and try more decisions: minutes."
)
@click.option("--split-input-file", "split", is_flag=True, help="Check the parts between lines `// -----` separately.")
@click.option(
    "--verify-diagnostics",
    "verify",
    is_flag=True,
    help="Report only differences from comments `expected-error@+1 {{text}}`, as in MLIR.",
)
@click.option("--explain-path", is_flag=True, help="Show the execution path of a protocol finding.")
@click.option(
    "--jobs", "-j", type=click.IntRange(0), help="Number of processes; 0: one per core. Default: by input size."
)
@click.option("--no-colour", "--no-color", "colourless", is_flag=True, help="No colour on a terminal.")
@rule_options
def check(
    files: tuple[str, ...],
    form: str,
    target: str | None,
    contract: str | None,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    fail_on: str | None,
    require_verified: bool,
    statistics: bool,
    thorough: bool,
    split: bool,
    verify: bool,
    explain_path: bool,
    jobs: int | None,
    colourless: bool,
    folders: tuple[Path, ...],
) -> None:
    """Check IR and PTX files, directories (*.mlir, *.ptx), globs, or - for standard input.

    Exit status: 0 no error, 1 an error (see --fail-on and --require-verified), 2 an input that cannot be read or has
    no IR, or bad arguments.

    A line is silenced by the comment `// tileproof: ignore[CODE] reason` on it or above it.
    """
    from tileproof import api  # noqa: PLC0415
    from tileproof.base.diagnostic import Severity  # noqa: PLC0415
    from tileproof.cli import config  # noqa: PLC0415
    from tileproof.judge.outcome import Options  # noqa: PLC0415

    book, rules = load_rules(folders)
    settings = config.find(Path.cwd())
    options = Options(
        contract or settings.contract or "ptx",
        target or settings.target,
        listed(select) or settings.select,
        listed(ignore) or settings.ignore,
        split,
        verify,
        explain_path,
        statistics=statistics,
        thorough=thorough,
    )
    threshold = fail_on or settings.fail_on or "error"
    if threshold not in ("error", "warning", "note"):
        fail(f"[tool.tileproof] fail-on must be error, warning or note, not '{threshold}'")
    try:
        api.validate(book, options)
    except ValueError as error:
        fail(str(error))
    items = [item for name in files for item in inputs(name)]
    with progress(len(items)) as step, no_garbage_collection():
        report = api.check_all(book, items, options, processes(jobs, items), rules, step)
    write(report, form, colourless)
    sys.exit(report.exit_status(Severity(threshold), require_verified or settings.require_verified))
