"""What ``check`` and ``run`` share: how to check, and where the report goes.

Nothing of click is loaded here: a plain ``check`` needs none of it (``cli/plain.py``).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tileproof.base.records import dataclass, replace
from tileproof.cli.options import (
    fail,
    inputs,
    launches_said,
    listed,
    load_rules,
    no_garbage_collection,
    processes,
    progress,
    tell,
    write,
)

if TYPE_CHECKING:
    from tileproof.base.diagnostic import Severity
    from tileproof.base.source import Source
    from tileproof.judge.outcome import Options
    from tileproof.report.values import Report, Unread
    from tileproof.rulebase.book import Rulebook


@dataclass(slots=True)
class Wanted:
    """What the options of ``check_options`` say, completed by the settings of the project.

    Attributes:
        rules: the rule files, for other processes.
        threshold: the least severity that makes the exit status 1.
        baseline, write_baseline: files with what is known.
        exclude: patterns of files that are not checked.
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
    baseline: Path | None
    write_baseline: Path | None
    add_ignore: bool
    exclude: tuple[str, ...]

    @classmethod
    def of(
        cls,
        *,
        form: str = "text",
        output: Path | None = None,
        target: str | None = None,
        contract: str | None = None,
        select: tuple[str, ...] = (),
        ignore: tuple[str, ...] = (),
        severities: tuple[str, ...] = (),
        fail_on: str | None = None,
        baseline: Path | None = None,
        write_baseline: Path | None = None,
        add_ignore: bool = False,
        require_verified: bool = False,
        statistics: bool = False,
        thorough: bool = False,
        block: str | None = None,
        cluster: str | None = None,
        split: bool = False,
        verify: bool = False,
        explain_path: bool = False,
        jobs: int | None = None,
        anew: bool = False,
        colourless: bool = False,
        folders: tuple[Path, ...] = (),
    ) -> Wanted:
        """Read the rules and the settings; a line and exit status 2 where they cannot be used."""
        from tileproof import api  # noqa: PLC0415
        from tileproof.checking import settings  # noqa: PLC0415
        from tileproof.checking.results import state_of  # noqa: PLC0415

        book, rules = load_rules(folders)
        project = settings.find(Path.cwd())
        here = project.options()
        options = replace(
            here,
            contract=contract or here.contract,
            target=target or here.target,
            select=listed(select) or here.select,
            ignore=listed(ignore) or here.ignore,
            split=split,
            verify=verify,
            explain_path=explain_path,
            statistics=statistics,
            thorough=thorough,
            state="" if anew else state_of(rules),
            launches=launches_said(book, block, cluster, here),
            severities=(*here.severities, *map(_severity, severities)),
        )
        threshold = fail_on or project.fail_on or "error"
        if threshold not in settings.LEVELS:
            fail(f"[tool.tileproof] fail-on must be error, warning or note, not '{threshold}'")
        try:
            api.validate(book, options)
        except ValueError as error:
            fail(str(error))
        verified = require_verified or project.require_verified
        return cls(
            *(book, rules, options, threshold, verified, form, output, jobs, colourless),
            *(baseline or project.baseline, write_baseline, add_ignore, project.exclude),
        )

    def check(self, items: list[str | Source | Unread]) -> Report:
        """Check what is not excluded, with progress on a terminal."""
        from tileproof import api  # noqa: PLC0415
        from tileproof.checking.results import prune  # noqa: PLC0415
        from tileproof.judge.outcome import matches  # noqa: PLC0415

        def excluded(item: str | Source | Unread) -> bool:
            name = item if isinstance(item, str) else item.name
            return any(matches(name, pattern, self.options.root) for pattern in self.exclude)

        if self.exclude:
            kept = [item for item in items if not excluded(item)]
            if len(kept) < len(items):
                tell(f"tileproof: {len(items) - len(kept)} of {len(items)} files are excluded")
            items = kept
        with progress(len(items)) as step, no_garbage_collection():
            jobs = processes(self.jobs, items)
            report = api.check_all(self.book, items, self.options, jobs, self.rules, step, step.more)
        if self.options.state:
            prune()
        return report

    def report(self, report: Report) -> int:
        """Write a report; the exit status that it asks for."""
        from tileproof.base.diagnostic import Severity  # noqa: PLC0415

        try:
            if self.write_baseline is not None:
                self.remember(report, self.write_baseline)
            if (baseline := self.write_baseline or self.baseline) is not None:
                report = self.unknown(report, baseline)
            if self.add_ignore:
                report = self.silence(report)
            if self.output is None:
                write(report, self.form, self.colourless)
            else:
                from io import StringIO  # noqa: PLC0415

                from tileproof.base.files import replace_file  # noqa: PLC0415

                file = StringIO()
                write(report, self.form, self.colourless, file)
                replace_file(self.output, file.getvalue())
        except BrokenPipeError:  # a reader that stops early
            raise
        except OSError as error:
            fail(f"{error.filename or self.output or 'standard output'}: {error.strerror or error}")
        return report.exit_status(Severity(self.threshold), self.require_verified)

    def remember(self, report: Report, path: Path) -> None:
        """Write the findings of a report as known."""
        from tileproof.base.files import replace_file  # noqa: PLC0415
        from tileproof.report.baseline import baseline_of  # noqa: PLC0415

        replace_file(path, baseline_of(report, str(path.absolute().parent)))

    def unknown(self, report: Report, path: Path) -> Report:
        """The report without what is known; a line about known findings that are gone."""
        from tileproof.report.baseline import BadBaseline, read_baseline, without  # noqa: PLC0415

        try:
            known = read_baseline(path.read_text(encoding="utf-8"))
        except (BadBaseline, UnicodeDecodeError) as error:
            fail(f"{path}: {error}")
        report, gone = without(report, known, str(path.absolute().parent))
        if gone:
            tell(f"tileproof: {path}: {gone} of {len(known)} known findings are gone")
        return report

    def silence(self, report: Report) -> Report:
        """Write comments, and check again."""
        from tileproof.cli.ignoring import add_ignores  # noqa: PLC0415

        written, left = add_ignores(report.diagnostics)
        for path, count in written.items():
            tell(f"tileproof: {path}: {count} {'line' if count == 1 else 'lines'} silenced")
        if left:
            tell(f"tileproof: {len(left)} findings cannot be silenced by a comment")
        return self.check([file.source.name for file in report.files]) if written else report


def check_files(wanted: Wanted, names: tuple[str, ...]) -> int:
    """Check files, directories, globs, or - for standard input, and report; the exit status."""
    report = wanted.check([item for name in names for item in inputs(name)])
    return wanted.report(report)


def _severity(text: str) -> tuple[str, Severity]:
    from tileproof.base.diagnostic import Severity  # noqa: PLC0415

    rule, equals, level = (part.strip() for part in text.partition("="))
    if not equals:
        fail(f"--severity must be RULE=LEVEL, not '{text}'")
    try:
        return rule, Severity(level)
    except ValueError:
        fail(f"the severity of {rule} must be error, warning or note, not '{level}'")
