"""``schedule``: a text with what its protocol lacks, and the findings that no insertion repairs."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tileproof.base.source import Source
from tileproof.mlir.scanner import scan
from tileproof.rulebase.book import Rulebook
from tileproof.scheduling.synthesis import Scheduled
from tileproof.scheduling.synthesis import schedule as search


class NotScheduled(ValueError):
    """A text that cannot be scheduled."""


def schedule(book: Rulebook, source: Source, progress: Callable[[], None] = lambda: None) -> Scheduled:
    """The text with the fences, commits and waits that it lacks; all other bytes are as they were.

    Args:
        progress: called after each run of the verifier.

    Raises:
        NotScheduled: the text holds no IR, or is malformed.
    """
    found = scan(source)
    if found.faults:
        fault = found.faults[0]
        line, column = source.position(fault.span.start)
        raise NotScheduled(f"{source.name}:{line}:{column}: {fault.message}")
    if not found.module.operations:
        raise NotScheduled(f"{source.name}: holds no IR")
    return search(book, source, progress)


def remaining(book: Rulebook, scheduled: Scheduled) -> Iterator[str]:
    """What the verifier still finds in the new text, a line each, with the places of the new text."""
    source = scheduled.source
    for outcome in scheduled.outcomes:
        found = [(fault.code, fault.operation, fault.message) for fault in outcome.faults]
        found += [("PR190", doubt.operation, doubt.message) for doubt in outcome.doubts]
        for code, operation, message in found:
            line, column = source.position(operation.name_span.start)
            severity = book.findings[code].severity.value
            yield f"{source.name}:{line}:{column}: {severity}[{code}]: {message}"


__all__ = ["NotScheduled", "remaining", "schedule"]
