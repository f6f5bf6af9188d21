"""What the abstract machine verified of a kernel of IR, as a value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from tileproof.base.source import Source, Span
from tileproof.dialects.infer import operations as inferred
from tileproof.dialects.operations import Operations
from tileproof.judge.coverage import KernelCoverage, Reason
from tileproof.memory.tensor_maps import kernel_name
from tileproof.mlir.ir import Operation
from tileproof.protocol.runs import Doubt, Outcome
from tileproof.protocol.steps import Step
from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.findings import state

_MULTIPLIES = {"mma", "raw_mma", "raw_wgmma"}
_JUDGED = ("cute.", "cute_nvgpu.", "nvvm.")  # dialects whose operations the rules are about


def covered(
    book: Rulebook, source: Source, outcome: Outcome, name: str | None = None, span: Span | None = None
) -> KernelCoverage | None:
    """What the abstract machine did with a kernel; None for one that uses no protocol.

    Args:
        name, span: of the kernel, where it is no operation of the text.
    """
    if not outcome.steps and not outcome.doubts:
        return None
    known = Operations.of(book)
    steps, executed = outcome.steps, outcome.executed
    doubts = sorted(outcome.doubts, key=lambda doubt: doubt.operation.name_span.start)
    reasons = [_reason(book, doubt, outcome.kernel) for doubt in doubts]
    if any(id(step) not in executed for step in steps):
        reasons.insert(0, _unreached(book, source, steps, executed))
    return KernelCoverage(
        kernel_name(outcome.kernel) or "" if name is None else name,
        name_span(source, outcome.kernel) if span is None else span,
        len(steps),
        sum(id(step) in executed for step in steps),
        sum(known.step(step.name) in _MULTIPLIES for step in steps),
        outcome.trip_counts,
        tuple(reasons),
    )


def _reason(book: Rulebook, doubt: Doubt, kernel: Operation) -> Reason:
    """A doubt as a reason, with the finding that is in doubt where that rests on how often loops run."""
    message, short, fault = doubt.message, "", doubt.fault
    if fault is not None and doubt.case == "loop_turns":
        message = state(book, "PR190", "loop_turns_finding", code=fault.code, what=fault.message).message
        short = state(book, "PR190", "loop_turns_findings", code=fault.code).message
    span = None if doubt.operation is kernel else doubt.operation.name_span
    return Reason(doubt.case, message, span, doubt.hint, short)


def malformed(book: Rulebook, source: Source, kernel: Operation) -> KernelCoverage | None:
    """A kernel of a text that is not followed because it is malformed; None for one that uses no protocol."""
    known = Operations.of(book)
    steps = [found for one in kernel.walk() if (found := known.step(one.name)) and not _silent(found)]
    if not steps:
        return None
    name, span = kernel_name(kernel) or "", name_span(source, kernel)
    reason = Reason("malformed", state(book, "PR190", "malformed").message, None)
    multiplies = sum(step in _MULTIPLIES for step in steps)
    return KernelCoverage(name, span, len(steps), 0, multiplies, None, (reason,))


def _silent(step: str) -> bool:
    """Whether a step alone does not show that a kernel uses a protocol."""
    return step in ("read", "write") or Step(step, 0, 0, 0).pure


def name_span(source: Source, kernel: Operation) -> Span:
    """The name of a kernel in its header, or of the operation where it has none."""
    name = kernel_name(kernel)
    if name is not None:
        start = source.text.find(f"@{name}", kernel.span.start, kernel.span.end)
        if start >= 0:
            return Span(start, start + len(name) + 1)
        attribute = kernel.attribute("sym_name")
        if attribute is not None:
            return attribute.span
    return kernel.name_span


def unjudged(book: Rulebook, names: Sequence[str]) -> int:
    """How many operations of the dialects that the rules are about no rule, table or inference of types knows."""
    known, beginnings = _known(book)
    return sum(name.startswith(_JUDGED) and name not in known and not name.startswith(beginnings) for name in names)


@lru_cache(maxsize=8)
def _known(book: Rulebook) -> tuple[frozenset[str], tuple[str, ...]]:
    """The names of operations that are known, and beginnings of such names."""
    operations = Operations.of(book)
    names = {*operations.steps, *operations.aliasing, *book.enums["atom_use"].by_spelling, *inferred()}
    beginnings = [beginning for beginning, _ in operations.beginnings]
    return frozenset(names), (*beginnings, *book.enums["operation"].by_spelling)


def _unreached(book: Rulebook, source: Source, steps: Sequence[Operation], executed: frozenset[int]) -> Reason:
    """The steps that no run executed, by their lines; neighbours among the steps as one range."""
    steps = sorted(steps, key=lambda one: one.name_span.start)  # the machine may have them in another order
    missing = [step for step in steps if id(step) not in executed]
    ranges = list(_ranges([(source.position(s.name_span.start).line, id(s) in executed) for s in steps]))
    listed = ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)
    lines = f"line {listed}" if len(ranges) == 1 and ranges[0][0] == ranges[0][1] else f"lines {listed}"
    said = state(book, "PR190", "not_executed", missing=len(missing), steps=len(steps), lines=lines)
    return Reason("not_executed", said.message, missing[0].name_span)


def _ranges(lines: Sequence[tuple[int, bool]]) -> Iterator[tuple[int, int]]:
    """First and last line of each run of steps that were not executed."""
    first = last = 0
    for line, done in lines:
        if not done:
            first, last = first or line, line
        elif first:
            yield first, last
            first = 0
    if first:
        yield first, last
