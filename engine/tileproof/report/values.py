"""The outcome of a run over files."""

from __future__ import annotations

from functools import cached_property

from tileproof.base.diagnostic import Diagnostic, Severity
from tileproof.base.records import dataclass
from tileproof.base.shown import described
from tileproof.judge.outcome import FileReport, Options
from tileproof.report.coverage import Coverage, total
from tileproof.rulebase.book import Rulebook


@dataclass(frozen=True, slots=True)
class Unread:
    """An input that could not be checked: unreadable, or without IR."""

    name: str
    reason: str


@dataclass(frozen=True)
class Report:
    """What was found in all files, in the order in which they were given.

    Attributes:
        strays: diagnostics of what is not one of the files: comments without effect in the user's source.
        known: how many diagnostics are not here because a baseline has them.
    """

    files: tuple[FileReport, ...]
    unread: tuple[Unread, ...]
    options: Options
    book: Rulebook
    strays: tuple[Diagnostic, ...] = ()
    known: int = 0

    def __repr__(self) -> str:
        counts = ", ".join(f"{one.value}s={self.count(one)}" for one in Severity)
        return f"Report(files={len(self.files)}, unread={len(self.unread)}, {counts})"

    def _repr_html_(self) -> str:
        return described(self)

    @cached_property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """All diagnostics, file by file, in textual order, those of no file last."""
        return (*(diagnostic for file in self.files for diagnostic in file.diagnostics), *self.strays)

    def count(self, severity: Severity) -> int:
        """How many diagnostics have that severity."""
        return sum(diagnostic.severity is severity for diagnostic in self.diagnostics)

    @cached_property
    def coverage(self) -> Coverage:
        """How much of the kernels that use a protocol was verified."""
        return total(self.files)

    @property
    def verified(self) -> bool:
        """Whether every input was checked, nothing is wrong, and every kernel that uses a protocol was followed."""
        return self.exit_status(require_verified=True) == 0

    def exit_status(self, fail_on: Severity = Severity.ERROR, require_verified: bool = False) -> int:
        """2 where an input could not be checked, 1 where something as bad as ``fail_on`` was found, else 0.

        Args:
            require_verified: whether a kernel that is not wholly followed gives 1 too.
        """
        if self.unread:
            return 2
        if require_verified and not self.coverage.complete:
            return 1
        return int(any(diagnostic.severity.rank >= fail_on.rank for diagnostic in self.diagnostics))
