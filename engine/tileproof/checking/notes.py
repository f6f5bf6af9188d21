"""The one note on each kernel that is not wholly verified."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tileproof.base.diagnostic import Diagnostic, Related
from tileproof.base.records import replace
from tileproof.base.source import Source
from tileproof.judge.coverage import KernelCoverage, Reason
from tileproof.judge.outcome import finding
from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.findings import state


def note(book: Rulebook, source: Source, kernel: KernelCoverage) -> Diagnostic | None:
    """The note on a kernel that is not wholly verified: all that is open, in one message; None for any other."""
    if not kernel.reasons:
        return None
    said = list(_said(source, kernel.reasons))
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


def _said(source: Source, reasons: Sequence[Reason]) -> Iterator[str]:
    """The reasons in words, those of a kind together with all their lines."""
    groups: dict[str, list[Reason]] = {}
    for one in reasons:
        groups.setdefault(one.short or one.message, []).append(one)
    for words, group in groups.items():
        numbers = sorted({source.position(one.span.start).line for one in group if one.span is not None})
        if not numbers or group[0].case == "not_executed":
            yield words
        elif len(group) == 1:
            yield f"line {numbers[0]}: {group[0].message}"
        else:
            yield f"line{'s' * (len(numbers) > 1)} {', '.join(map(str, numbers))}: {words}"
