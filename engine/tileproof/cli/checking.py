"""What ``check`` and ``run`` share: how to check, and where the report goes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tileproof.base.records import dataclass
from tileproof.cli.options import (
    FORMATS,
    fail,
    listed,
    load_rules,
    no_garbage_collection,
    processes,
    progress,
    rule_options,
    write,
)

if TYPE_CHECKING:
    from tileproof.base.source import Source
    from tileproof.judge.outcome import Options
    from tileproof.report.values import Report, Unread
    from tileproof.rulebase.book import Rulebook

_OPTIONS = (
    click.option("--format", "form", type=click.Choice(FORMATS), default="text", show_default=True),
    click.option(
        "--output-file",
        "output",
        type=click.Path(dir_okay=False, path_type=Path),
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
        "--fail-on",
        type=click.Choice(["error", "warning", "note"]),
        help="The least severity that makes the exit status 1.  [default: error]",
    ),
    click.option(
        "--require-verified", is_flag=True, help="Exit status 1 where a kernel's protocol is not wholly verified."
    ),
    click.option(
        "--statistics", is_flag=True, help="Count findings by rule, kernels by status, and steps (text and json)."
    ),
    click.option(
        "--thorough", is_flag=True, help="Run loops of unknown length more often, and try more decisions: minutes."
    ),
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
    click.option("--no-colour", "--no-color", "colourless", is_flag=True, help="No colour on a terminal."),
    rule_options,
)


def check_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of a command that checks; it gets them as the arguments of ``Wanted``."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@dataclass(slots=True)
class Wanted:
    """What the options of ``check_options`` say, completed by the settings of the project.

    Attributes:
        threshold: the least severity that makes the exit status 1.
        rules: the rule files, for other processes.
    """

    book: Rulebook
    rules: tuple[Source, ...]
    options: Options
    threshold: str
    require_verified: bool
    form: str
    output: Path | None
    jobs: int | None
    colourless: bool

    @classmethod
    def of(
        cls,
        *,
        form: str,
        output: Path | None,
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
    ) -> Wanted:
        """Read the rules and the settings; a line and exit status 2 where they cannot be used."""
        from tileproof import api  # noqa: PLC0415
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
        verified = require_verified or settings.require_verified
        return cls(book, rules, options, threshold, verified, form, output, jobs, colourless)

    def check(self, items: list[str | Source | Unread]) -> Report:
        """Check, with progress on a terminal."""
        from tileproof import api  # noqa: PLC0415

        with progress(len(items)) as step, no_garbage_collection():
            return api.check_all(self.book, items, self.options, processes(self.jobs, items), self.rules, step)

    def report(self, report: Report) -> int:
        """Write a report; the exit status that it asks for."""
        from tileproof.base.diagnostic import Severity  # noqa: PLC0415

        if self.output is None:
            write(report, self.form, self.colourless)
        else:
            try:
                with self.output.open("w", encoding="utf-8") as file:
                    write(report, self.form, self.colourless, file)
            except OSError as error:
                fail(f"{self.output}: {error.strerror or error}")
        return report.exit_status(Severity(self.threshold), self.require_verified)
