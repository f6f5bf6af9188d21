"""Options and results of a check, for every language."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tileproof.base.diagnostic import Diagnostic, Severity
from tileproof.base.records import dataclass
from tileproof.base.source import Source, Span
from tileproof.judge import suppressions
from tileproof.judge.coverage import KernelCoverage
from tileproof.judge.target import Target
from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.findings import Stated, state


@dataclass(frozen=True, slots=True)
class Options:
    """How to check.

    Attributes:
        contract: ``ptx`` (rules of the hardware and ptxas) or ``tileiras`` (rules of the reference pages).
        target: ``sm_90a`` and the like; None to find it out.
        select, ignore: codes, prefixes of codes, or names of rules; an empty ``select`` selects everything.
        split: whether ``// -----`` separates texts that are checked each for itself.
        verify: whether comments in the text state the expected diagnostics; then only differences are reported.
        explain_path: whether findings of the protocol show their execution path.
        mend: whether hints give the nearest legal form of an illegal atom, found by Z3.
        thorough: whether to take the larger budget for loops of unknown length and decisions that the text leaves open.
        statistics: whether reports count findings by rule, kernels by status, and steps.
    """

    contract: str
    target: str | None = None
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    split: bool = False
    verify: bool = False
    explain_path: bool = False
    mend: bool = True
    statistics: bool = False
    thorough: bool = False

    def current(self, book: Rulebook) -> Options:
        """The same with the codes of rules that are chosen by a name that they had before."""

        def codes(items: tuple[str, ...]) -> tuple[str, ...]:
            known = ((item, book.by_name.get(item)) for item in items)
            return tuple(item if rule is None else rule.code for item, rule in known)

        return replace(self, select=codes(self.select), ignore=codes(self.ignore))

    def reports(self, code: str, name: str) -> bool:
        """Whether a rule's diagnostics are wanted."""

        def named(items: tuple[str, ...]) -> bool:
            return any(code.startswith(item) or name == item for item in items)

        return (not self.select or named(self.select)) and not named(self.ignore)


@dataclass(frozen=True, slots=True)
class FileReport:
    """What was found in one file.

    Attributes:
        empty: whether it has no IR.
        kernels: what was verified of each kernel that uses a protocol, in textual order.
        unjudged: how many statements no rule or table knows: operations of ``cute``, ``cute_nvgpu`` and ``nvvm``, or
            instructions of PTX.
    """

    source: Source
    diagnostics: tuple[Diagnostic, ...]
    target: Target | None
    empty: bool = False
    kernels: tuple[KernelCoverage, ...] = ()
    unjudged: int = 0

    @property
    def wrong(self) -> bool:
        """Whether it has an error."""
        return any(diagnostic.severity is Severity.ERROR for diagnostic in self.diagnostics)


def finding(book: Rulebook, source: Source, span: Span, stated: Stated) -> Diagnostic:
    """A diagnostic of the engine itself: what it states at one place, with name, severity and sources of its rule."""
    found = book.findings[stated.code]
    return Diagnostic(source, span, stated.code, found.name, found.severity, stated.message, stated.hint, found.sources)


def finish(
    book: Rulebook,
    source: Source,
    options: Options,
    found: Iterable[Diagnostic],
    comments: Iterable[tuple[int, str]],
) -> tuple[Diagnostic, ...]:
    """Diagnostics that are wanted and not suppressed, in textual order, each once."""
    wanted = [d for d in found if options.reports(d.code, d.name)]
    kept, unused = suppressions.apply(book, wanted, suppressions.suppressions(source, comments))
    for suppression in unused:
        item = book.named(suppression.code)
        if item is not None and not options.reports(item.code, item.name):
            continue
        if item is not None:
            stated = state(book, "IR010", "unused", rule=suppression.code)
        else:
            stated = state(book, "IR010", "unknown", rule=suppression.code)
        diagnostic = finding(book, source, suppression.span, stated)
        if options.reports(diagnostic.code, diagnostic.name):
            kept.append(diagnostic)
    return tuple(sorted(dict.fromkeys(kept), key=lambda d: d.order))
