"""The kernels of a file as they are drawn: each with its findings and the study that they are of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from tileproof.base.diagnostic import Severity
from tileproof.base.records import dataclass
from tileproof.base.source import Source, Span
from tileproof.dataflow.checks import check_threads
from tileproof.drawing.picture import NoPicture
from tileproof.judge.launches import StatedLaunch, of_kernel
from tileproof.memory.tensor_maps import kernel_name
from tileproof.mlir.ir import Operation
from tileproof.mlir.scanner import scan
from tileproof.protocol.confirmed import by_cause, confirmed, unsaid
from tileproof.protocol.faults import ProtocolFault
from tileproof.protocol.runs import Outcome
from tileproof.protocol.structuring import Unstructured
from tileproof.protocol.study import Study
from tileproof.protocol.verify import verify, verify_function
from tileproof.ptx.graph import Graphs
from tileproof.ptx.module import is_ptx, read_module
from tileproof.ptx.names import name_faults
from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.findings import state

_NAME = 80


@dataclass(frozen=True, slots=True)
class Finding:
    """What ``check`` reports of a kernel, at a span."""

    code: str
    span: Span
    message: str


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel that uses a protocol and was run.

    Attributes:
        name: as titles have it.
        unconfirmed: what the runs of PTX show and its text leaves open.
    """

    source: Source
    name: str
    study: Study
    findings: tuple[Finding, ...]
    unconfirmed: tuple[Finding, ...] = ()

    def line(self, operation: Operation) -> int:
        """The line of an operation."""
        return self.line_of(operation.name_span)

    def line_of(self, span: Span) -> int:
        """The line of a span."""
        return self.source.position(span.start).line

    def said(self, operation: Operation) -> str:
        """An operation as its text names it: of PTX the opcode."""
        return self.source.text[operation.name_span.start : operation.name_span.end] or operation.name


def kernels_of(
    book: Rulebook,
    source: Source,
    wanted: str | None = None,
    contract: str = "ptx",
    thorough: bool = False,
    launches: Sequence[StatedLaunch] = (),
) -> list[Kernel]:
    """The kernels of IR or PTX that use a protocol and could be run, in textual order.

    Args:
        wanted: the name of the only one, or its number among those with a protocol, from 1.
        contract, thorough, launches: as of ``check``.

    Raises:
        NoPicture: the text is malformed, or no module.
    """
    found: list[Kernel] = []
    count = 0

    def keep(name: str, study: Study, findings: Sequence[Finding], open_: Sequence[Finding]) -> None:
        nonlocal count
        count += 1
        if study.judged is not None and wanted in (None, name, str(count)):
            found.append(Kernel(source, (name or "kernel")[:_NAME], study, tuple(findings), tuple(open_)))

    def line(operation: Operation) -> int:
        return source.position(operation.name_span.start).line

    if is_ptx(source):
        for one in _of_ptx(book, source, contract, thorough, launches, line):
            keep(*one)
        return found
    read = scan(source)
    if read.faults:
        raise _malformed(source, read.faults[0].span, read.faults[0].message)
    if not read.holds_ir:
        raise NoPicture(f"{source.name}: holds no IR")

    def seen(outcome: Outcome, study: Study) -> None:
        keep(kernel_name(outcome.kernel) or "", study, list(map(_finding, outcome.faults)), ())

    said = partial(of_kernel, launches)
    operations, aliases = read.module.operations, read.module.aliases
    for _ in verify(book, operations, aliases, thorough=thorough, line=line, seen=seen, said=said):
        pass
    return found


def _of_ptx(
    book: Rulebook,
    source: Source,
    contract: str,
    thorough: bool,
    launches: Sequence[StatedLaunch],
    line: Callable[[Operation], int],
) -> Iterator[tuple[str, Study, list[Finding], list[Finding]]]:
    """The kernels of a PTX module by their names, with their findings and those that are not confirmed."""
    module = read_module(book, source)
    if malformed := [*module.faults, *name_faults(book, module)]:
        first = min(malformed, key=lambda one: one.span)
        raise _malformed(source, first.span, state(book, first.code, first.case, **first.facts).message)
    graphs = Graphs(book, module)
    reported = tuple(check_threads(book.under(contract), source, graphs, lambda facts: ()))
    alone = [Finding(one.code, one.span, one.message) for one in reported if one.severity is Severity.ERROR]
    done: list[tuple[Outcome, Study]] = []
    for function in module.functions:
        if function.kind != "entry" or function.body is None:
            continue
        try:
            graph = graphs.whole(function)
            verify_function(
                book,
                graph,
                thorough=thorough,
                line=line,
                seen=lambda outcome, study: done.append((outcome, study)),
                said=of_kernel(launches, function.name),
            )
        except Unstructured:
            continue
        while done:
            outcome, study = done.pop()
            bodies = [one.body for one in graphs.parts(function) if one.body is not None]
            mine = [one for one in alone if any(low <= one.span.start < high for low, high in bodies)]
            places = {(one.code, one.span) for one in mine}
            codes = {one.code for one in reported if any(low <= one.span.start < high for low, high in bodies)}
            rest = unsaid(book, outcome, codes)
            standing = confirmed(book, rest, codes)
            sure = list(map(_finding, by_cause(book, outcome, standing)))
            others = [_finding(one) for one in rest.faults if one not in standing]
            yield (
                function.name,
                study,
                sorted([*mine, *(one for one in sure if (one.code, one.span) not in places)], key=lambda one: one.span),
                [one for one in others if (one.code, one.span) not in places],
            )


def _finding(fault: ProtocolFault) -> Finding:
    return Finding(fault.code, fault.operation.name_span, fault.message)


def _malformed(source: Source, span: Span, said: str) -> NoPicture:
    line, column = source.position(span.start)
    return NoPicture(f"{source.name}:{line}:{column}: {said}")


__all__ = ["Finding", "Kernel", "kernels_of"]
