"""``--fix``: edits that make findings go, each proved by a check of what it gives.

A candidate is what a finding has as its fix, and the fences, commits and waits that the scheduler inserts. Whatever it
is, the text that it gives is checked, and taken only where it has fewer errors, none of a kind that was not there
before, and where no less of any kernel is verified.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from tileproof.base.diagnostic import Diagnostic, Edit, Severity
from tileproof.base.records import dataclass
from tileproof.base.source import Source
from tileproof.judge.outcome import FileReport, Options
from tileproof.ptx.module import is_ptx
from tileproof.rulebase.book import Rulebook

_MOST_ROUNDS = 10  # a repair may make room for another
_PROTOCOL = "PR"  # beginning of the codes that the scheduler may repair


@dataclass(frozen=True, slots=True)
class Fixed:
    """A text after its repairs.

    Attributes:
        report: of the new text.
        done: what was repaired, a line each; empty where nothing was.
    """

    source: Source
    report: FileReport
    done: tuple[str, ...]


def fix(
    book: Rulebook,
    source: Source,
    options: Options,
    check: Callable[[Rulebook, Source, Options], FileReport],
    unsafe: bool = False,
) -> Fixed:
    """Repair what can be repaired.

    Args:
        check: a check of a text.
        unsafe: whether to take also edits that may mean something else than the author did.
    """
    now = Fixed(source, check(book, source, options), ())
    for _ in range(_MOST_ROUNDS):
        found = [one for one in now.report.diagnostics if one.fix is not None and (unsafe or one.fix.safe)]
        attempts = [found, *([one] for one in found)] if len(found) > 1 else [found] if found else []
        for attempt in attempts:
            improved = _attempt(book, now, options, check, _with_fixes(now.source, attempt), list(map(_said, attempt)))
            if improved is not None:
                now = improved
                break
        else:
            break
    return _scheduled(book, now, options, check)


def _said(diagnostic: Diagnostic) -> str:
    line = diagnostic.source.position(diagnostic.span.start).line
    assert diagnostic.fix is not None, "it is chosen for its fix"
    return f"line {line}: {diagnostic.fix.what} [{diagnostic.code}]"


def _with_fixes(source: Source, found: Iterable[Diagnostic]) -> Source:
    """The text with the edits of some findings, of those that overlap the first."""
    edits: list[Edit] = []
    for one in found:
        wanted = one.fix.edits if one.fix is not None else ()
        if not any(_overlap(edit, other) for edit in wanted for other in edits):
            edits += wanted
    return edited(source, edits)


def edited(source: Source, edits: Iterable[Edit]) -> Source:
    """The text with edits, which do not overlap."""
    pieces, at = [], 0
    for edit in sorted(edits, key=lambda edit: edit.span):
        pieces += [source.text[at : edit.span.start], edit.text]
        at = edit.span.end
    return Source(source.name, "".join([*pieces, source.text[at:]]))


def _overlap(a: Edit, b: Edit) -> bool:
    return (a.span.start < b.span.end and b.span.start < a.span.end) or a.span == b.span


def _attempt(
    book: Rulebook,
    now: Fixed,
    options: Options,
    check: Callable[[Rulebook, Source, Options], FileReport],
    source: Source,
    said: Sequence[str],
) -> Fixed | None:
    if source.text == now.source.text:
        return None
    report = check(book, source, options)
    return Fixed(source, report, (*now.done, *said)) if better(now.report, report) else None


def better(before: FileReport, after: FileReport) -> bool:
    """Whether errors went and none came, and each kernel is verified as far as it was."""
    had, has = (
        Counter(one.code for one in report.diagnostics if one.severity is Severity.ERROR) for report in (before, after)
    )
    if after.empty or not has < had or len(before.kernels) != len(after.kernels):
        return False
    return all(
        new.steps - new.executed <= old.steps - old.executed and (new.status == old.status or old.status != "followed")
        for old, new in zip(before.kernels, after.kernels, strict=True)
    )


def _scheduled(
    book: Rulebook, now: Fixed, options: Options, check: Callable[[Rulebook, Source, Options], FileReport]
) -> Fixed:
    """With what the scheduler inserts, where there are errors of the protocol."""
    wrong = [d for d in now.report.diagnostics if d.severity is Severity.ERROR]
    if is_ptx(now.source) or not any(d.code.startswith(_PROTOCOL) for d in wrong):
        return now
    from tileproof.scheduling.text import NotScheduled, schedule  # noqa: PLC0415  most files need no schedule

    try:
        found = schedule(book, now.source)
    except NotScheduled:
        return now
    said = [f"line {line}: inserted {text}" for line, text in found.inserted]
    return _attempt(book, now, options, check, found.source, said) or now
