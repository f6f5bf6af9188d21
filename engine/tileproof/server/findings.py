"""A text to its findings, as the editor shows them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tileproof.base.diagnostic import Diagnostic, Origin
from tileproof.base.records import replace
from tileproof.base.source import Source
from tileproof.checking.reading import check_one
from tileproof.judge.outcome import FileReport, matches
from tileproof.report.baseline import BadBaseline, read_baseline, without
from tileproof.report.values import Report, Unread
from tileproof.rulebase.book import Rulebook
from tileproof.server.project import Project, project_of
from tileproof.server.replies import Away, Checked, Document, Found, Mark, Unusable

UNUSED = "IR010"  # the finding that a comment silences nothing


def checked(document: Document, keep: bool = False) -> Checked:
    """The findings of a text under the rules and settings of its folder.

    Comments in the user's own source that silence nothing are not among them: one source is compiled to many kernels,
    and only a run over all of them knows.

    Args:
        keep: whether the result is taken from the cache and kept there: not of each text on the way to another.

    Raises:
        Unusable: the settings, the rules or the baseline of the project cannot be used.
    """
    project = project_of(document.file)
    if any(matches(document.file, pattern, project.options.root) for pattern in project.settings.exclude):
        return Checked((), "excluded by the settings of the project")
    options = replace(project.options, state=project.state) if keep else project.options
    outcome = check_one(project.book, Source(document.file, document.text), options)
    if isinstance(outcome, Unread):
        return Checked((), outcome.reason)
    return Checked(tuple(_found(project.book, one) for one in _new(project, outcome)))


def _new(project: Project, report: FileReport) -> tuple[Diagnostic, ...]:
    """The diagnostics that the baseline of the project does not have."""
    path = project.settings.baseline
    if path is None:
        return report.diagnostics
    try:
        known = read_baseline(path.read_text(encoding="utf-8"))
    except (BadBaseline, OSError, UnicodeDecodeError) as error:
        raise Unusable(f"{path}: {error}") from None
    found, _ = without(Report((report,), (), project.options, project.book), known, str(path.absolute().parent))
    return found.diagnostics


def _found(book: Rulebook, one: Diagnostic) -> Found:
    item = book.named(one.code)
    return Found(
        *(one.span.start, one.span.end, one.severity.value, one.code, one.name, one.message, one.hint),
        next(filter(None, item.urls), "") if item is not None else "",
        one.code == UNUSED,
        tuple(_related(one)),
        one.fix,
    )


def _related(one: Diagnostic) -> Iterator[Mark | Away]:
    for i, origin in enumerate(one.origins):
        yield _away(origin, "compiled from this" if i == 0 else "in this, which was inlined or calls it")
    for place in one.related:
        yield Mark(place.span.start, place.span.end, place.message)
        if place.origins:
            yield _away(place.origins[0], place.message)


def _away(origin: Origin, message: str) -> Away:
    return Away(str(Path(origin.file).absolute()), origin.line, origin.column, message)
