"""What the abstract machine found, as diagnostics."""

from __future__ import annotations

import re
from dataclasses import replace

from tileproof.base.diagnostic import Diagnostic, Edit, Fix, Related
from tileproof.base.source import Source, Span
from tileproof.dialects.operations import Operations
from tileproof.judge.outcome import finding
from tileproof.protocol.faults import HAZARDS, Correction, ProtocolFault
from tileproof.protocol.ptx_kernels import LOADS
from tileproof.protocol.study import Doubt, Outcome
from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.findings import Stated

_SAID = 2  # other places of a finding that its message names; all are `related`


def diagnostic(book: Rulebook, source: Source, fault: ProtocolFault, as_written: bool = False) -> Diagnostic:
    """A finding of the machine, with the other places that it is about and the path to it, where it keeps one.

    Args:
        as_written: whether steps of the path are named as the text spells them: those of PTX have no name of their own.
    """
    said = fault.trace[:_SAID]
    traced = "".join(f"; {what}: line {source.position(at.name_span.start).line}" for what, at in said)
    stated = Stated(fault.code, fault.message + traced, fault.hint)
    places = [Related(at.name_span, what) for what, at in fault.trace]
    for step in fault.path:
        span = step.operation.name_span
        places.append(Related(span, step.said(source.text[span.start : span.end]) if as_written else str(step)))
    found = finding(book, source, fault.operation.name_span, stated)
    return replace(found, related=tuple(places), fix=_fix(source, fault.correction))


_CONSTANT = r"(?m)^[ \t]*{name} = ((?:arith|llvm\.mlir)\.constant[ (])(-?\d+)\b([^\n]*)$"


def _fix(source: Source, correction: Correction | None) -> Fix | None:
    """The number written right: in the operation itself, or as a constant of its own before it.

    A constant may have other uses, which stay as they are.
    """
    edits: list[Edit] = []
    for operation in correction.operations if correction is not None else ():
        assert correction is not None, "it has operations"
        span, text = operation.span, source.text[operation.span.start : operation.span.end]
        literal = [one for one in re.finditer(r"(?<![\w.%$#])\d+(?![\w.])", text) if int(one[0]) == correction.written]
        if len(literal) == 1:
            start = span.start + literal[0].start()
            edits.append(Edit(Span(start, start + len(literal[0][0])), str(correction.right)))
            continue
        for name in dict.fromkeys(operation.operands):
            before = source.text[: span.start]
            constant = next(reversed(list(re.finditer(_CONSTANT.format(name=re.escape(name)), before))), None)
            used = list(re.finditer(re.escape(name) + r"(?![\w$.#-])", text))
            if constant is None or int(constant[2]) != correction.written or len(used) != 1:
                continue
            line = before.rfind("\n") + 1
            own = f"%tileproof_{source.position(span.start).line}"
            indent = before[line:][: len(before[line:]) - len(before[line:].lstrip())]
            edits.append(Edit(Span(line, line), f"{indent}{own} = {constant[1]}{correction.right}{constant[3]}\n"))
            start = span.start + used[0].start()
            edits.append(Edit(Span(start, start + len(name)), own))
            break
        else:
            return None
    return (
        Fix(f"{correction.right} for {correction.written}", tuple(edits), safe=True) if correction and edits else None
    )


def open_findings(book: Rulebook, outcome: Outcome) -> tuple[ProtocolFault, ...]:
    """The findings about a kernel in PTX that the checks of single threads do not judge."""
    kinds = book.enums["ptx_finding"].by_spelling
    return tuple(one for one in outcome.faults if one.code not in kinds or kinds[one.code] != ".thread")


def confirmed(book: Rulebook, outcome: Outcome) -> tuple[ProtocolFault, ...]:
    """The findings about a kernel in PTX that do not rest on what its text leaves open.

    None does where the launch is assumed. Else each is judged by itself: it stands unless a step may take it away that
    was not executed, or a thread went past a wait that is not followed, for then nothing is in step any more. A hang
    may be the consequence of a hazard. Hazards and what is wrong at the end stand only where nothing is in doubt and
    no other finding is open. Where roles go by integers that each loads for itself, two accesses without an order may
    be those of roles that never differ so; the threads of a warpgroup meet at its wgmma.
    """
    if any(doubt.assumed for doubt in outcome.doubts):
        return ()
    known = Operations.of(book)
    ahead = _steps(book, "waiting_step")
    out_of_step = any(known.step(doubt.operation.name) in ahead for doubt in outcome.doubts if not _of_loops(doubt))
    missing = {
        known.step(step.name)
        for step in outcome.steps
        if id(step) not in outcome.executed or id(step) in outcome.guessed
    }

    codes = book.enums["ptx_finding"].by_spelling
    others = any(codes.get(fault.code, ".thread") == ".thread" for fault in outcome.faults)
    loads = outcome.kernel.attribute(LOADS) is not None
    hazards = any(codes.get(fault.code) == ".whole" for fault in outcome.faults)
    together = (_steps(book, "warpgroup_step"), _steps(book, "thread_copy_step"))

    def within_warpgroup(fault: ProtocolFault) -> bool:
        steps = {known.step(one.name) for one in (fault.operation, *(other for _, other in fault.trace))}
        return not any(map(steps.isdisjoint, together))

    def stands(fault: ProtocolFault) -> bool:
        match codes.get(fault.code):
            case ".alone":
                return True
            case ".uninitialised":
                return missing.isdisjoint(_steps(book, "initialising_step"))
            case ".unfenced":
                return not out_of_step and missing.isdisjoint(_steps(book, "proxy_step"))
            case ".waiting":
                return not out_of_step and not hazards
            case ".whole":
                unsure = outcome.doubts or missing or others or (loads and fault.code in HAZARDS)
                return not (unsure or within_warpgroup(fault))
        return False

    return tuple(filter(stands, outcome.faults))


def _of_loops(doubt: Doubt) -> bool:
    """Whether it is about how often loops run, which takes no other finding away."""
    return doubt.fault is not None or doubt.case in ("loop_turns", "short_loops", "guessed_steps", "too_many_steps")


def _steps(book: Rulebook, enum: str) -> frozenset[str]:
    return frozenset(step[1:] for step in book.enums[enum].members)
