"""``tileproof run``."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from tileproof.cli.options import FORMATS, fail, load_rules, write


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- COMMAND...")
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", show_default=True)
@click.option(
    "--target", metavar="SM", help="The target, such as sm_90a. Default: that of the IR, else the lowest possible."
)
@click.option("--keep", type=click.Path(file_okay=False, path_type=Path), help="Keep the dumped IR in this folder.")
def run(command: tuple[str, ...], form: str, target: str | None, keep: Path | None) -> None:
    """Run a CuTe DSL program and check the IR that it compiles.

    The command runs with CuTe DSL's dump variables set to a private folder; what it dumped is then checked. The exit
    status is the worse of the two, and 2 where nothing was compiled.
    """
    from tileproof import api  # noqa: PLC0415
    from tileproof.checking.run import DISTRIBUTION, CannotRun, dump  # noqa: PLC0415
    from tileproof.judge.outcome import Options  # noqa: PLC0415

    book, rules = load_rules(())
    options = Options("ptx", target)
    try:
        api.validate(book, options)
        with dump(book, command, keep) as done:
            release = f"{DISTRIBUTION} {done.release or 'of an unknown release'}"
            if not done.files:
                said = f"tileproof: the command compiled no CuTe DSL kernel: nothing was checked ({release})"
                click.echo(said, err=True)
                sys.exit(max(done.status, 2))
            click.echo(f"tileproof: the IR is of {release}", err=True)
            report = api.check_all(book, done.files, options, 1, rules)
            write(report, form, colourless=False)
            sys.exit(max(done.status, report.exit_status()))
    except (CannotRun, ValueError) as error:
        fail(str(error))
