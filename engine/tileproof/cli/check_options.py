"""The options of the commands that check: ``check`` and ``run``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from tileproof.checking.settings import LEVELS
from tileproof.cli.options import FORMATS, launch_options, rule_options

_FILE = click.Path(dir_okay=False, path_type=Path)
_OPTIONS = (
    click.option("--format", "form", type=click.Choice(FORMATS), default="text", show_default=True),
    click.option(
        "--output-file",
        "output",
        type=_FILE,
        help="Write the report to this file, not to standard output.",
    ),
    click.option(
        "--target", metavar="SM", help="The target, such as sm_90a. Default: that of the IR, or the lowest possible."
    ),
    click.option(
        "--contract",
        type=click.Choice(["ptx", "tileiras"]),
        help="ptx: rules of the hardware and ptxas (default); tileiras: the reference pages.",
    ),
    click.option(
        "--select", multiple=True, metavar="RULES", help="Only these rules: codes, prefixes or names, comma-separated."
    ),
    click.option("--ignore", multiple=True, metavar="RULES", help="Not these rules."),
    click.option(
        "--severity",
        "severities",
        multiple=True,
        metavar="RULE=LEVEL",
        help="Report a rule as error, warning or note; repeatable.",
    ),
    click.option(
        "--fail-on",
        type=click.Choice(LEVELS),
        help="The least severity that makes the exit status 1.  [default: error]",
    ),
    click.option("--baseline", type=_FILE, help="Report only what is not in this file, which --write-baseline made."),
    click.option("--write-baseline", type=_FILE, help="Write errors and warnings to this file as known."),
    click.option("--add-ignore", is_flag=True, help="Write a comment that silences it at each error and warning."),
    click.option(
        "--require-verified", is_flag=True, help="Exit status 1 where a kernel's protocol is not wholly verified."
    ),
    click.option(
        "--statistics", is_flag=True, help="Count findings by rule, kernels by status, and steps (text and json)."
    ),
    click.option(
        "--thorough", is_flag=True, help="Run loops of unknown length more often, and try more decisions: minutes."
    ),
    launch_options,
    click.option("--split-input-file", "split", is_flag=True, help="Check the parts between lines `// -----` apart."),
    click.option(
        "--verify-diagnostics",
        "verify",
        is_flag=True,
        help="Report only differences from comments `expected-error@+1 {{text}}`, as in MLIR.",
    ),
    click.option("--explain-path", is_flag=True, help="Show the execution path of a protocol finding."),
    click.option(
        "--jobs", "-j", type=click.IntRange(0), help="Number of processes; 0: one per core. Default: by input size."
    ),
    click.option(
        "--no-cache",
        "anew",
        is_flag=True,
        envvar="TILEPROOF_NO_CACHE",
        help="Check again what did not change since it was checked.",
    ),
    click.option("--no-colour", "--no-color", "colourless", is_flag=True, help="No colour on a terminal."),
    rule_options,
)


def check_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of a command that checks; it gets them as the arguments of ``Wanted.of``."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
