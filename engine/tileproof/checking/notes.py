"""The one note on each kernel that is not wholly verified."""

from __future__ import annotations

from tileproof.base.diagnostic import Diagnostic, Related
from tileproof.base.records import replace
from tileproof.base.source import Source
from tileproof.judge.coverage import KernelCoverage
from tileproof.judge.outcome import finding
from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.findings import state


def note(book: Rulebook, source: Source, kernel: KernelCoverage) -> Diagnostic | None:
    """The note on a kernel that is not wholly verified: all that is open, in one message; None for any other."""
    if not kernel.reasons:
        return None
    said = [
        reason.message
        if reason.span is None or reason.case == "not_executed"
        else f"line {source.position(reason.span.start).line}: {reason.message}"
        for reason in kernel.reasons
    ]
    if kernel.trip_counts is not None:
        said.append(state(book, "PR190", "iterations", most=kernel.trip_counts).message)
    reasons = "; ".join(said)
    if kernel.executed:
        stated = state(book, "PR190", "partly", reasons=reasons)
    else:
        stated = state(book, "PR190", "unfollowed", reasons=reasons)
    places = tuple(Related(reason.span, reason.message) for reason in kernel.reasons if reason.span is not None)
    hints = dict.fromkeys(reason.hint for reason in kernel.reasons if reason.hint)
    found = finding(book, source, kernel.span, replace(stated, hint="; ".join(hints)))
    return replace(found, related=places)
