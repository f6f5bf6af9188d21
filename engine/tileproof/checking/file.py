"""``check``: from a text to its diagnostics.

A file is scanned; each distinct type in it is parsed once, its layouts with it; the atoms found there and the
operations that use them become facts; the rules judge the facts. One cause gives one error: an atom is judged once a
file, where it first occurs, and the uses of an illegal atom are not judged.
"""

from __future__ import annotations

from collections.abc import Iterator

from tileproof.base.diagnostic import Diagnostic
from tileproof.base.source import Source
from tileproof.checking.results import is_known, kept
from tileproof.checking.user_sources import comments
from tileproof.judge.outcome import FileReport, Options, errors_in, finding
from tileproof.judge.suppressions import Suppression, apply
from tileproof.ptx.module import is_ptx
from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.findings import state


def check_source(book: Rulebook, source: Source, options: Options) -> FileReport:
    """Check one file, in parts where it is split, and against what it expects where that is verified."""
    options = options.current(book)
    one = _ptx if is_ptx(source) else _ir
    texts = [source]
    if options.split:
        from tileproof.checking.expectations import split  # noqa: PLC0415  as good as no run asks for it

        texts = split(source)
    parts = [(part, one(book, part, options)) for part in texts]
    held = [report for _, report in parts if not report.empty]
    if options.verify:
        found = tuple(d for part, report in parts for d in _unexpected(book, part, report.diagnostics))
    else:
        found = tuple(d for report in held for d in report.diagnostics)
    silenced = any(report.silenced for report in held)
    heard: tuple[tuple[Suppression, bool], ...] = ()
    if not options.verify:
        said = comments(source)
        wrong = errors_in(found)
        left, idle = apply(book, filter(options.allows, found), said)
        found = tuple(map(options.weighed, left))
        heard = tuple((one, one not in idle) for one in said)
        silenced |= wrong and not errors_in(found)
    return FileReport(
        source,
        found,
        held[0].target if held else None,
        empty=not held,
        kernels=tuple(kernel for report in held for kernel in report.kernels),
        unjudged=sum(report.unjudged for report in held),
        comments=heard,
        silenced=silenced,
    )


def is_checked(book: Rulebook, source: Source, options: Options) -> bool:
    """Whether the cache has what a check of this text finds."""
    return is_known(source, options.current(book), is_ptx(source))


def _ir(book: Rulebook, source: Source, options: Options) -> FileReport:
    def make() -> FileReport:
        from tileproof.checking.mlir import check_ir  # noqa: PLC0415  what neither PTX nor a result in the cache needs

        return check_ir(book, source, options)

    return kept(source, options, ptx=False, make=make)


def _ptx(book: Rulebook, source: Source, options: Options) -> FileReport:
    def make() -> FileReport:
        from tileproof.checking.ptx import check_ptx  # noqa: PLC0415  what neither IR nor a result in the cache needs

        return check_ptx(book, source, options)

    return kept(source, options, ptx=True, make=make)


def _unexpected(book: Rulebook, source: Source, found: tuple[Diagnostic, ...]) -> Iterator[Diagnostic]:
    """What differs from the expectations in a text."""
    from tileproof.checking.expectations import verify  # noqa: PLC0415

    for unmet in verify(source, found):
        if unmet.produced:
            stated = state(book, "IR030", "unexpected", severity=unmet.severity, message=unmet.message)
        else:
            stated = state(book, "IR030", "missing", severity=unmet.severity, message=unmet.message)
        yield finding(book, source, unmet.span, stated)
