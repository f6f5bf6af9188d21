"""What the abstract machine found, as diagnostics."""

from __future__ import annotations

import re

from tileproof.base.diagnostic import Diagnostic, Edit, Fix, Related
from tileproof.base.records import replace
from tileproof.base.source import Source, Span
from tileproof.judge.outcome import finding
from tileproof.protocol.faults import Correction, ProtocolFault
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
