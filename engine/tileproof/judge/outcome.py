"""Options and results of a check, for every language."""

from __future__ import annotations

import os
from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import PurePath

from tileproof.base.diagnostic import Diagnostic, Severity
from tileproof.base.records import dataclass, replace
from tileproof.base.source import Source, Span
from tileproof.judge import suppressions
from tileproof.judge.coverage import KernelCoverage
from tileproof.judge.launches import StatedLaunch
from tileproof.judge.suppressions import Suppression
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
        launches: with how many threads and CTAs kernels run whose text does not say it.
        statistics: whether reports count findings by rule, kernels by status, and steps.
        root: the folder from which patterns of file names count.
        per_file_ignores: patterns of file names (``*`` also matches ``/``), each with what is not reported for files
            whose name or path from ``root`` is such, be it the file that is checked or the one it was compiled from.
        severities: codes, prefixes or names with the severity that their diagnostics have here, the last one counts.
        state: of rules and code, by which results are kept in the cache; empty where none are.
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
    root: str = ""
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    severities: tuple[tuple[str, Severity], ...] = ()
    state: str = ""
    launches: tuple[StatedLaunch, ...] = ()

    def current(self, book: Rulebook) -> Options:
        """The same with the codes of rules that are chosen by a name that they had before."""

        def codes(items: tuple[str, ...]) -> tuple[str, ...]:
            known = ((item, book.by_name.get(item)) for item in items)
            return tuple(item if rule is None else rule.code for item, rule in known)

        return replace(
            self,
            select=codes(self.select),
            ignore=codes(self.ignore),
            per_file_ignores=tuple((pattern, codes(items)) for pattern, items in self.per_file_ignores),
            severities=tuple((codes((item,))[0], severity) for item, severity in self.severities),
        )

    @property
    def named(self) -> tuple[str, ...]:
        """All codes, prefixes and names that it has."""
        more = (item for _, items in self.per_file_ignores for item in items)
        return (*self.select, *self.ignore, *more, *(item for item, _ in self.severities))

    def reports(self, code: str, name: str) -> bool:
        """Whether a rule's diagnostics are wanted."""
        return (not self.select or _named(self.select, code, name)) and not _named(self.ignore, code, name)

    def allows(self, diagnostic: Diagnostic) -> bool:
        """Whether a diagnostic is wanted of its files."""
        for pattern, items in self.per_file_ignores:
            if _named(items, diagnostic.code, diagnostic.name):
                files = (diagnostic.source.name, *(one.file for one in diagnostic.origins))
                if any(matches(file, pattern, self.root) for file in files):
                    return False
        return True

    def weighed(self, diagnostic: Diagnostic) -> Diagnostic:
        """A diagnostic with the severity that it has here."""
        for item, severity in reversed(self.severities):
            if _named((item,), diagnostic.code, diagnostic.name):
                return replace(diagnostic, severity=severity)
        return diagnostic


def _named(items: tuple[str, ...], code: str, name: str) -> bool:
    return any(code.startswith(item) or name == item for item in items)


def matches(file: str, pattern: str, root: str) -> bool:
    """Whether a file's name, its path from a folder, or a folder above it on that path, is as a pattern says."""
    path = PurePath(os.path.relpath(file, root or None) if os.path.isabs(file) or root else file)  # noqa: PTH117
    names = (path.as_posix(), path.name, *(one.as_posix() for one in path.parents))
    return any(fnmatchcase(name, pattern.rstrip("/")) for name in names)


@dataclass(frozen=True, slots=True)
class FileReport:
    """What was found in one file.

    Attributes:
        empty: whether it has no IR.
        kernels: what was verified of each kernel that uses a protocol, in textual order.
        unjudged: how many statements no rule or table knows: operations of ``cute``, ``cute_nvgpu`` and ``nvvm``, or
            instructions of PTX.
        comments: suppressions in the user's source that speak for its lines, and whether they silenced something.
        silenced: whether it has errors of which none is reported as one: what is silent so is not verified.
    """

    source: Source
    diagnostics: tuple[Diagnostic, ...]
    target: Target | None
    empty: bool = False
    kernels: tuple[KernelCoverage, ...] = ()
    unjudged: int = 0
    comments: tuple[tuple[Suppression, bool], ...] = ()
    silenced: bool = False

    @property
    def wrong(self) -> bool:
        """Whether it has an error."""
        return errors_in(self.diagnostics)

    @property
    def sound(self) -> bool:
        """Whether it has no error, reported or not."""
        return not (self.wrong or self.silenced)


def errors_in(diagnostics: Iterable[Diagnostic]) -> bool:
    """Whether there is an error among findings."""
    return any(diagnostic.severity is Severity.ERROR for diagnostic in diagnostics)


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
        stated = ineffective(book, options, suppression)
        if stated is None:
            continue
        diagnostic = finding(book, source, suppression.span, stated)
        if options.reports(diagnostic.code, diagnostic.name):
            kept.append(diagnostic)
    return tuple(sorted(dict.fromkeys(kept), key=lambda d: d.order))


def ineffective(book: Rulebook, options: Options, suppression: Suppression) -> Stated | None:
    """What to say of a suppression that silenced nothing; None where its rule was not asked for."""
    item = book.named(suppression.code)
    if item is None:
        return state(book, "IR010", "unknown", rule=suppression.code)
    wanted = options.reports(item.code, item.name)
    return state(book, "IR010", "unused", rule=suppression.code) if wanted else None
