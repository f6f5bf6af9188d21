"""The outcome of a run over files."""

from __future__ import annotations

from functools import cached_property

from tileproof.base.diagnostic import Diagnostic, Severity
from tileproof.base.records import dataclass
from tileproof.judge.outcome import FileReport, Options
from tileproof.rulebase.book import Rulebook


@dataclass(frozen=True, slots=True)
class Unread:
    """An input that could not be checked: unreadable, or without IR."""

    name: str
    reason: str


@dataclass(frozen=True)
class Report:
    """What was found in all files, in the order in which they were given."""

    files: tuple[FileReport, ...]
    unread: tuple[Unread, ...]
    options: Options
    book: Rulebook

    @cached_property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """All diagnostics, file by file, in textual order."""
        return tuple(diagnostic for file in self.files for diagnostic in file.diagnostics)

    def count(self, severity: Severity) -> int:
        """How many diagnostics have that severity."""
        return sum(diagnostic.severity is severity for diagnostic in self.diagnostics)

    def exit_status(self, fail_on: Severity = Severity.ERROR) -> int:
        """2 where an input could not be checked, 1 where something as bad as ``fail_on`` was found, else 0."""
        if self.unread:
            return 2
        return int(any(diagnostic.severity.rank >= fail_on.rank for diagnostic in self.diagnostics))
