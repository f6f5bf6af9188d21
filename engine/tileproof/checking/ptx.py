"""``check`` on PTX: every instruction of the families in rules/, for the target of the module."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache, partial
from operator import attrgetter
from typing import TYPE_CHECKING

from tileproof.base.diagnostic import Diagnostic, Origin, Related
from tileproof.base.patterns import regex
from tileproof.base.records import dataclass, replace
from tileproof.base.source import Source, Span
from tileproof.checking.consequences import one_of_copies, one_of_many
from tileproof.checking.instruction import BadRequest, context, diagnostics, version, violations
from tileproof.checking.notes import note
from tileproof.dataflow.checks import check_threads
from tileproof.dialects.configuration import Facts
from tileproof.judge.coverage import KernelCoverage, Reason
from tileproof.judge.outcome import FileReport, Options, errors_in, finding, finish
from tileproof.judge.target import Target
from tileproof.protocol.counterparts import counterpart, in_ptx, is_step, relevant
from tileproof.ptx.graph import Graphs
from tileproof.ptx.module import Fault, Function, Module, Statement, is_ptx, read_module
from tileproof.ptx.names import name_faults
from tileproof.ptx.vocabulary import nearest, word_of
from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.expression import Scalar
from tileproof.rulebase.findings import place, state

if TYPE_CHECKING:
    from tileproof.checking.kept_kernels import Kernels

__all__ = ["check_ptx", "is_ptx"]

_MMA = regex(r"(?:^|\.)mma(?:_async)?(?:\.|$)")
_CTA_GROUP = regex(r"\.cta_group::[12](?!\d)")


def check_ptx(book: Rulebook, source: Source, options: Options) -> FileReport:
    """Check one PTX module."""
    module = read_module(book, source)
    if module.version is None and not module.instructions and not module.faults:
        return FileReport(source, (), None, empty=True)
    found: list[Diagnostic] = []
    where = _context(book, source, options, module, found)
    malformed = [*module.faults, *name_faults(book, module)]
    found += [_malformed(book, source, fault) for fault in malformed]
    graphs = Graphs(book, module)
    target = None
    if where is not None:
        target = Target(str(where["target"]), "given" if options.target else "named in the module")
        found += _instructions(book, source, options, module, where, malformed)
        if not malformed:
            ruleset = book.under(options.contract)
            found += check_threads(ruleset, source, graphs, lambda facts: violations(ruleset, source, facts))
    kernels = []
    refuted: dict[Diagnostic, bool] = {}  # by each kernel that they are in
    for kernel, wrong, verdicts in _protocols(book, source, graphs, options, bool(malformed), tuple(found)):
        kernels.append(kernel)
        refuted.update((one, gone and refuted.get(one, True)) for one, gone in verdicts.items())
        places = {(one.code, one.span) for one in found}  # what the checks of single threads found as well
        found += (one for one in wrong if (one.code, one.span) not in places)
        found += filter(None, [note(book, source, kernel)])
    found = one_of_many(book, [one for one in found if not refuted.get(one)])
    unknown = _unknown(book, module)
    found += _unjudged(book, source, unknown)
    found = [_placed(module, one) for one in found] if module.frames else found
    comments = module.comments if "tileproof" in source.text else []
    starts = [one.start for one in module.functions]
    ended = finish(book, source, options, found, comments)
    diagnostics = tuple(one_of_copies(ended, partial(bisect_right, starts))) if module.frames else ended
    silenced = errors_in(found) and not errors_in(diagnostics)
    number = sum(map(len, unknown.values()))
    return FileReport(source, diagnostics, target, kernels=tuple(kernels), unjudged=number, silenced=silenced)


def _placed(module: Module, diagnostic: Diagnostic) -> Diagnostic:
    """A diagnostic with its places in the sources that the PTX was compiled from."""
    related = tuple(replace(one, origins=_origins(module, one.span)) for one in diagnostic.related)
    return replace(diagnostic, origins=_origins(module, diagnostic.span), related=related)


def _origins(module: Module, span: Span) -> tuple[Origin, ...]:
    at = bisect_right(module.instructions, span.start, key=attrgetter("start")) - 1
    if at < 0 or module.instructions[at].end < span.end:
        return ()
    return module.origins(module.instructions[at])


def _malformed(book: Rulebook, source: Source, fault: Fault) -> Diagnostic:
    found = finding(book, source, fault.span, state(book, fault.code, fault.case, **fault.facts))
    related = [Related(span, place(book, fault.code, fault.case, name, fault.facts)) for name, span in fault.at]
    return replace(found, related=tuple(related)) if related else found


def _context(
    book: Rulebook, source: Source, options: Options, module: Module, found: list[Diagnostic]
) -> dict[str, Scalar] | None:
    """Target and PTX version; None, with the reason among the diagnostics, where the module names none."""
    start = Span(0, min(1, len(source.text)))
    name, place = module.target or (None, start)
    if options.target is not None:
        name = options.target
    if name is None:
        found.append(finding(book, source, start, state(book, "PT011", "no_target")))
        return None
    try:
        context(book, name)
    except BadRequest as error:
        found.append(finding(book, source, place, state(book, "PT011", "unknown", problem=error)))
        return None
    number, place = module.version or (None, start)
    try:
        where = context(book, name, version(number) if number is not None else None)
    except BadRequest as error:
        found.append(finding(book, source, place, state(book, "PT011", "unknown", problem=error)))
        return context(book, name)
    found += violations(book.under(options.contract), source, Facts("ptx", where, {}, {}, place))
    return where


def _unknown(book: Rulebook, module: Module) -> dict[str, list[Statement]]:
    """The instructions that are neither judged nor known to be outside, by their opcodes."""
    found: dict[str, list[Statement]] = {}
    for statement in module.instructions:
        if not word_of(book, statement.opcode).known:
            found.setdefault(statement.opcode, []).append(statement)
    return found


def _unjudged(book: Rulebook, source: Source, unknown: dict[str, list[Statement]]) -> Iterator[Diagnostic]:
    """One note on each opcode that nothing is known of."""
    for opcode, statements in unknown.items():
        first, count = statements[0], len(statements)
        shown = opcode if len(opcode) <= 40 else opcode[:37] + "..."
        close = nearest(book, opcode)
        if close:
            stated = state(book, "PT016", "near", opcode=shown, count=count, nearest=close)
        else:
            stated = state(book, "PT016", "here", opcode=shown, count=count)
        yield finding(book, source, Span(first.opcode_start, first.opcode_start + len(opcode)), stated)


def _protocols(
    book: Rulebook,
    source: Source,
    graphs: Graphs,
    options: Options,
    malformed: bool,
    known: Sequence[Diagnostic],
) -> Iterator[tuple[KernelCoverage, list[Diagnostic], dict[Diagnostic, bool]]]:
    """The functions that use a protocol: what was verified of each, and what is wrong beside what is known.

    Also what is known of each, and whether that is wrong only on paths that no thread takes.
    """
    kept: Kernels | None = None
    for function, parts in _asynchronous(book, graphs, malformed):
        bodies = [one.body for one in parts if one.body is not None]
        inside = [one for one in known if any(low <= one.span.start < high for low, high in bodies)]
        reasons = (("malformed", None),) if malformed else tuple(_tangled(graphs, function))
        if not reasons:
            # The machine is imported only where a kernel uses a protocol: most of the time of a small file is imports.
            from tileproof.checking.kept_kernels import Kernels  # noqa: PLC0415

            kept = kept or Kernels(book, graphs, options)
            found = _followed(book, source, kept, function, inside)
            if not isinstance(found[0], str):
                yield found
                continue
            reasons = (found,)
        said = tuple(Reason(case, state(book, "PR190", case).message, span) for case, span in reasons)
        kinds = list(_kinds(book, graphs, parts))
        steps, multiplies = sum(one.step for one in kinds), sum(one.multiplies for one in kinds)
        upheld = dict.fromkeys(inside, False)
        yield KernelCoverage(function.name, function.span, steps, 0, multiplies, None, said), [], upheld


def followed(book: Rulebook, source: Source) -> tuple[Graphs, list[Function]]:
    """The kernels of a text that are run on the abstract machine."""
    module = read_module(book, source)
    graphs = Graphs(book, module)
    if module.faults or any(name_faults(book, module)):
        return graphs, []
    every = (one for one, _ in _asynchronous(book, graphs, malformed=False))
    return graphs, [one for one in every if not any(_tangled(graphs, one))]


def _asynchronous(book: Rulebook, graphs: Graphs, malformed: bool) -> Iterator[tuple[Function, Sequence[Function]]]:
    """The functions with an asynchronous step, each with the functions that it calls; those called are none."""
    functions = [one for one in graphs.module.functions if one.body is not None]
    parts = {one.number: graphs.parts(one) for one in functions if one.kind == "entry" and not malformed}
    called = {part.number for kernel, among in parts.items() for part in among if part.number != kernel}
    for function in functions:
        among = parts.get(function.number, (function,))
        if function.number not in called and any(one.asynchronous for one in _kinds(book, graphs, among)):
            yield function, among


def _kinds(book: Rulebook, graphs: Graphs, parts: Sequence[Function]) -> Iterator[_Kind]:
    """What the opcodes of functions are."""
    for part in parts:
        yield from (_kind(book, one.opcode) for one in graphs.module.instructions[part.first : part.last])


def _tangled(graphs: Graphs, function: Function) -> Iterator[tuple[str, Span | None]]:
    """Why a function is not followed: cases of finding PR190, and where."""
    if function.kind != "entry":
        yield "device_function", None
        return
    graph = graphs.whole(function)
    for case, at in (("irreducible", graph.irreducible), ("indirect", graph.indirect)):
        if at is not None:
            written = graph.module.written(at)
            yield case, Span(written.start, written.end)


def _followed(
    book: Rulebook,
    source: Source,
    kept: Kernels,
    function: Function,
    told: Sequence[Diagnostic],
) -> tuple[KernelCoverage, list[Diagnostic], dict[Diagnostic, bool]] | tuple[str, Span | None]:
    """A kernel on the abstract machine; where it is not followed the case of finding PR190, and where.

    Args:
        told: what the checks of single threads reported in it, which is not said again.
    """
    from tileproof.checking.coverage import covered  # noqa: PLC0415
    from tileproof.checking.kept_outcomes import with_lines  # noqa: PLC0415
    from tileproof.checking.protocol import diagnostic  # noqa: PLC0415
    from tileproof.protocol.confirmed import by_cause, confirmed, refuted, unsaid, within_warpgroup  # noqa: PLC0415
    from tileproof.protocol.faults import HAZARDS  # noqa: PLC0415
    from tileproof.protocol.runs import key_of  # noqa: PLC0415
    from tileproof.protocol.structuring import Unstructured  # noqa: PLC0415

    try:
        outcome = kept.outcome(function)
    except Unstructured as reason:
        return reason.case, reason.operation.name_span
    if outcome is None:
        return "ptx", None
    gone = [one for one in told if refuted(book, outcome, one.code, one.span.start)]
    known = {one.code for one in told if one not in gone}
    whole = with_lines(outcome, lambda at: str(source.position(at).line))
    outcome = unsaid(book, whole, known)
    sure = confirmed(book, outcome, known)
    kernel = covered(book, source, outcome, function.name, function.span)
    if kernel is None:
        return "ptx", None
    stated = set(map(key_of, sure))
    open_ = [fault for fault in outcome.faults if key_of(fault) not in stated and fault.code not in known]
    never = [one for one in gone if any(step.span.start <= one.span.start < step.span.end for step in outcome.told)]
    if open_ or never:
        shown = [
            (diagnostic(book, source, one, as_written=True), one.code in HAZARDS and within_warpgroup(book, one))
            for one in open_
        ]
        more = tuple(_unconfirmed(book, *one) for one in (*shown, *((one, False) for one in never)))
        kernel = replace(kernel, reasons=(*kernel.reasons, *more))
    said = [replace(fault, hint=in_ptx(book, fault.hint)) for fault in by_cause(book, whole, sure)]
    return (
        kernel,
        [diagnostic(book, source, fault, as_written=True) for fault in said],
        {one: one in gone for one in told},
    )


def _unconfirmed(book: Rulebook, found: Diagnostic, together: bool) -> Reason:
    """A finding that may rest on what the text leaves open, with what it would say.

    Args:
        together: whether it is none if the warps of a warpgroup meet at its wgmma.
    """
    if together:
        whole = state(book, "PR190", "warpgroup_finding", code=found.code, what=found.message)
        short = state(book, "PR190", "warpgroup", code=found.code)
    else:
        whole = state(book, "PR190", "unconfirmed_finding", code=found.code, what=found.message)
        short = state(book, "PR190", "unconfirmed", code=found.code)
    return Reason("unconfirmed", whole.message, found.span, short=short.message)


@dataclass(frozen=True, slots=True)
class _Kind:
    """What an opcode is: a step of a protocol, an asynchronous one or on an mbarrier, an MMA."""

    step: bool
    asynchronous: bool
    multiplies: bool


@lru_cache(maxsize=4096)
def _kind(book: Rulebook, opcode: str) -> _Kind:
    same = counterpart(book, opcode)
    step = same is not None and any(is_step(book, one.partition(" ")[0]) for one in same.operations)
    return _Kind(step, step and relevant(book, opcode), _MMA.search(opcode) is not None)


@lru_cache(maxsize=4)
def _module_rules(book: Rulebook) -> frozenset[str]:
    """Codes of the rules about target and version alone: they are broken once a module, not once an instruction."""
    return frozenset(rule.code for rule in book.rules.values() if rule.facts <= {"target", "ptx"})


def _instructions(
    book: Rulebook,
    source: Source,
    options: Options,
    module: Module,
    where: dict[str, Scalar],
    malformed: list[Fault],
) -> Iterator[Diagnostic]:
    ruleset = book.under(options.contract)
    groups: dict[int, str] = {}
    undeclared = sorted(fault.span.start for fault in malformed if fault.code == "PT008")
    text = source.text
    for statement in module.instructions:
        word = word_of(book, statement.opcode)
        if not word.judged:
            yield from _outside(book, source, statement)
            continue
        if undeclared and any(statement.start <= at < statement.end for at in undeclared):
            continue
        for diagnostic in diagnostics(ruleset, source, statement.start, statement.end, statement.registers, where):
            if diagnostic.code not in _module_rules(book):
                yield diagnostic
        group = _CTA_GROUP.search(statement.opcode) if statement.opcode.startswith("tcgen05.") else None
        if group and groups.setdefault(statement.body, group[0]) != group[0]:
            start = text.index(group[0], statement.opcode_start)
            stated = state(book, "PT012", "here", group=group[0], first=groups[statement.body])
            yield finding(book, source, Span(start, start + len(group[0])), stated)


def _outside(book: Rulebook, source: Source, statement: Statement) -> Iterator[Diagnostic]:
    """What is wrong with the text of an instruction that no rule judges."""
    start = statement.opcode_start
    if statement.gap:
        core = word_of(book, statement.opcode).core
        if statement.gap < len(core):
            span = Span(start, start + len(core))
            yield finding(book, source, span, state(book, "PT001", "gap", name=core))
