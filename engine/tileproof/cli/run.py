"""``tileproof run``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from tileproof.cli.check_options import check_options
from tileproof.cli.checking import Wanted
from tileproof.cli.options import fail


@click.command(context_settings={"allow_interspersed_args": False})
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED, metavar="[--] COMMAND...")
@check_options
@click.option("--keep", type=click.Path(file_okay=False, path_type=Path), help="Keep what was dumped in this folder.")
@click.option(
    "--ptx", "every_ptx", is_flag=True, help="Check also PTX of nvcc, and PTX files written below this folder."
)
@click.option("--fix", is_flag=True, help="Refused: no edit of IR repairs the program. --diff shows the edits.")
@click.option("--unsafe-fixes", "unsafe", is_flag=True, help="With --diff: also edits that may mean another thing.")
@click.option(
    "--diff", is_flag=True, help="Show the edits of the IR that repair it; exit status 1 where there are any."
)
def run(
    command: tuple[str, ...], keep: Path | None, every_ptx: bool, fix: bool, unsafe: bool, diff: bool, **given: Any
) -> None:
    """Run a program and check the CuTe DSL IR and the Triton PTX that it compiles.

    The options of `check` hold. Findings name the line of the program. Standard output has the report alone: what the
    program writes there goes to standard error, unless --output-file takes the report.

    The exit status is the worse of the two, and 2 where nothing was compiled.
    """
    from tileproof.checking.run import DISTRIBUTION, CannotRun, dump  # noqa: PLC0415

    if fix:
        fail("run --fix cannot edit the program: --diff shows what repairs the IR; --keep DIR keeps it for check --fix")
    wanted = Wanted.of(**given)
    output = sys.stderr.fileno() if wanted.output is None else None
    try:
        with dump(wanted.book, command, keep, every_ptx, output) as done:
            release = f"{DISTRIBUTION} {done.release or 'of an unknown release'}"
            if not done.ir and not done.ptx:
                said = f"tileproof: the command compiled no CuTe DSL or Triton kernel: nothing was checked ({release})"
                click.echo(said, err=True)
                sys.exit(max(done.status, 2))
            if done.ir:
                click.echo(f"tileproof: the IR is of {release}", err=True)
            if diff:
                from tileproof.cli.fixes import fix_files  # noqa: PLC0415

                sys.exit(max(done.status, int(fix_files(wanted, [*done.ir, *done.ptx], unsafe, write=False))))
            status = wanted.report(wanted.check([*done.ir, *done.ptx]))
            sys.exit(max(done.status, status))
    except CannotRun as error:
        fail(str(error))
