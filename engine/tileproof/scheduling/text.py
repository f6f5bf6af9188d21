"""``schedule``: a text with what its protocol lacks, and the findings that no insertion repairs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from tileproof.base.source import Source
from tileproof.judge.launches import StatedLaunch
from tileproof.mlir.scanner import scan
from tileproof.ptx.module import is_ptx
from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.findings import state
from tileproof.scheduling.forms import IrForm
from tileproof.scheduling.synthesis import Scheduled
from tileproof.scheduling.synthesis import schedule as search


class NotScheduled(ValueError):
    """A text that cannot be scheduled."""


def schedule(
    book: Rulebook,
    source: Source,
    progress: Callable[[], None] = lambda: None,
    launches: Sequence[StatedLaunch] = (),
) -> Scheduled:
    """The text with the fences, commits and waits that it lacks; all other bytes are as they were.

    Args:
        progress: called after each run of the verifier.
        launches: how kernels are launched whose text does not say it.

    Raises:
        NotScheduled: the text holds no IR or PTX, or is malformed.
    """
    if is_ptx(source):
        return _of_ptx(book, source, progress, launches)
    found = scan(source)
    if found.faults:
        fault = found.faults[0]
        line, column = source.position(fault.span.start)
        raise NotScheduled(f"{source.name}:{line}:{column}: {fault.message}")
    if not found.module.operations:
        raise NotScheduled(f"{source.name}: holds no IR")
    return search(book, source, progress, IrForm(book, source, launches))


def _of_ptx(
    book: Rulebook, source: Source, progress: Callable[[], None], launches: Sequence[StatedLaunch]
) -> Scheduled:
    from tileproof.ptx.module import read_module  # noqa: PLC0415  a kernel in IR needs none of it
    from tileproof.ptx.names import name_faults  # noqa: PLC0415
    from tileproof.scheduling.ptx_form import PtxForm  # noqa: PLC0415

    module = read_module(book, source)
    fault = next(iter((*module.faults, *name_faults(book, module))), None)
    if fault is not None:
        line, column = source.position(fault.span.start)
        said = state(book, fault.code, fault.case, **fault.facts).message
        raise NotScheduled(f"{source.name}:{line}:{column}: {said}")
    if not any(one.body is not None for one in module.functions):
        raise NotScheduled(f"{source.name}: holds no function")
    return search(book, source, progress, PtxForm(book, source, launches))


def remaining(book: Rulebook, scheduled: Scheduled) -> Iterator[str]:
    """What the verifier still finds, a line each."""
    for one in scheduled.left:
        severity = book.findings[one.code].severity.value
        yield f"{scheduled.source.name}:{one.line}:{one.column}: {severity}[{one.code}]: {one.message}"


__all__ = ["NotScheduled", "remaining", "schedule"]
