"""Findings of the checks: a code, a case and facts at a statement, made into a diagnostic."""

from __future__ import annotations

from collections.abc import Collection

from tileproof.base.diagnostic import Diagnostic, Related
from tileproof.base.records import dataclass, replace
from tileproof.base.source import Source, Span
from tileproof.judge.outcome import finding
from tileproof.ptx.module import Module
from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.findings import place, state

Found = Diagnostic
_SHOWN = 3  # registers in a message


@dataclass(frozen=True, slots=True, eq=False)
class Reporter:
    """Makes diagnostics of what is wrong at a statement of a module."""

    book: Rulebook
    source: Source
    module: Module

    def span(self, number: int) -> Span:
        """The opcode of a statement."""
        statement = self.module.written(self.module.instructions[number])
        return Span(statement.opcode_start, statement.opcode_start + len(statement.opcode))

    def __call__(
        self, code: str, case: str, number: int, at: tuple[tuple[str, int], ...] = (), **facts: object
    ) -> Diagnostic:
        """A finding; its hint is the general one where there is one: that of a case may be written for the IR.

        Args:
            number: of the statement.
            at: other statements that it is about, by the names that the finding gives them.
        """
        stated = state(self.book, code, case, **facts)
        general = self.book.findings[code].hint
        found = finding(self.book, self.source, self.span(number), replace(stated, hint=general or stated.hint))
        related = tuple(Related(self.span(one), place(self.book, code, case, name, facts)) for name, one in at)
        return replace(found, related=related) if related else found


def listed(registers: Collection[str]) -> str:
    """The first few of some registers, by their numbers, and how many more there are."""
    found = sorted(registers, key=lambda name: (len(name), name))
    more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    return ", ".join(found[:_SHOWN]) + more
