"""``check`` on PTX: every instruction of the families in rules/, for the target of the module."""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterator
from difflib import get_close_matches
from functools import lru_cache

from tileproof.base.diagnostic import Diagnostic
from tileproof.base.records import dataclass
from tileproof.base.source import Source, Span
from tileproof.checking.coverage import note
from tileproof.checking.instruction import BadRequest, context, diagnostics, version, violations
from tileproof.dialects.facts import Facts
from tileproof.judge.coverage import KernelCoverage, Reason
from tileproof.judge.outcome import FileReport, Options, finding, finish
from tileproof.judge.target import Target
from tileproof.protocol.assembly import counterpart
from tileproof.protocol.verify import is_step, relevant
from tileproof.ptx.module import Module, is_ptx, read_module
from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.expression import Scalar
from tileproof.rulebase.findings import state

__all__ = ["check_ptx", "is_ptx"]

_OPCODE = re.compile(r"(?:@\s*!?\s*[%$\w.]+\s+)?([a-z]\w*(?:[.:]+\w+)*)")
_FUNCTION = re.compile(r"\.(?:entry|func)\b[^{};]*?([%$_a-zA-Z][\w$]*)\s*(?=(?:\((?:[^()]|\([^()]*\))*\))?[^{};()]*\{)")
_MMA = re.compile(r"(?:^|\.)mma(?:_async)?(?:\.|$)")
_CTA_GROUP = re.compile(r"\.cta_group::[12](?!\d)")
_ALIKE = 0.85  # an unknown name this near to a known one is a misspelling, not another instruction


def check_ptx(book: Rulebook, source: Source, options: Options) -> FileReport:
    """Check one PTX module."""
    module = read_module(book, source)
    if module.version is None and not module.instructions:
        return FileReport(source, (), None, empty=True)
    found: list[Diagnostic] = []
    where = _context(book, source, options, module, found)
    target = None
    if where is not None:
        target = Target(str(where["target"]), "given" if options.target else "named in the module")
        found += _instructions(book, source, options, module, where)
    kernels, unjudged = _coverage(book, source, module)
    found += filter(None, (note(book, source, kernel) for kernel in kernels))
    diagnostics = finish(book, source, options, found, module.comments)
    return FileReport(source, diagnostics, target, kernels=kernels, unjudged=unjudged)


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


def _coverage(book: Rulebook, source: Source, module: Module) -> tuple[tuple[KernelCoverage, ...], int]:
    """The functions that use a protocol, none of which is followed yet, and how many instructions no rule knows."""
    reason = Reason("ptx", state(book, "PR190", "ptx").message, None)
    functions = [(found.start(1), found) for found in _FUNCTION.finditer(source.text)]
    starts = [start for start, _ in functions]
    counts: dict[int, list[int]] = {}  # by function: steps, those that are asynchronous, MMAs
    unjudged = 0
    for statement in module.instructions:
        opcode = _OPCODE.match(source.text, statement.start, statement.end)
        if opcode is None:
            continue
        kind = _kind(book, opcode[1])
        unjudged += not kind.judged
        if kind.step or kind.multiplies:
            at = counts.setdefault(bisect(starts, statement.start) - 1, [0, 0, 0])
            at[0] += kind.step
            at[1] += kind.asynchronous
            at[2] += kind.multiplies
    kernels = []
    for index, (steps, asynchronous, multiplies) in sorted(counts.items()):
        if asynchronous and index >= 0:
            name = functions[index][1]
            span = Span(name.start(1), name.end(1))
            kernels.append(KernelCoverage(name[1], span, steps, 0, multiplies, None, (reason,)))
    return tuple(kernels), unjudged


@dataclass(frozen=True, slots=True)
class _Kind:
    """What an opcode is: known to a rule, a step of a protocol, an asynchronous one or on an mbarrier, an MMA."""

    judged: bool
    step: bool
    asynchronous: bool
    multiplies: bool


@lru_cache(maxsize=4096)
def _kind(book: Rulebook, opcode: str) -> _Kind:
    same = counterpart(book, opcode)
    step = same is not None and any(is_step(book, one.partition(" ")[0]) for one in same.operations)
    return _Kind(_judged(book, opcode), step, step and relevant(book, opcode), _MMA.search(opcode) is not None)


def _module_rules(book: Rulebook) -> frozenset[str]:
    """Codes of the rules about target and version alone: they are broken once a module, not once an instruction."""
    return frozenset(rule.code for rule in book.rules.values() if rule.facts <= {"target", "ptx"})


def _instructions(
    book: Rulebook, source: Source, options: Options, module: Module, where: dict[str, Scalar]
) -> Iterator[Diagnostic]:
    said = _module_rules(book)
    groups: dict[int, str] = {}
    for statement in module.instructions:
        opcode = _OPCODE.match(source.text, statement.start, statement.end)
        if opcode is None or not _judged(book, opcode[1]):
            continue
        found = diagnostics(
            book.under(options.contract), source, statement.start, statement.end, statement.registers, where
        )
        yield from (diagnostic for diagnostic in found if diagnostic.code not in said)
        group = _CTA_GROUP.search(opcode[1]) if opcode[1].startswith("tcgen05.") else None
        if group and groups.setdefault(statement.body, group[0]) != group[0]:
            place = Span(opcode.start(1) + group.start(), opcode.start(1) + group.end())
            stated = state(book, "PT012", "here", group=group[0], first=groups[statement.body])
            yield finding(book, source, place, stated)


@lru_cache(maxsize=4096)
def _judged(book: Rulebook, opcode: str) -> bool:
    """Whether an opcode is of a family in rules/, or misspells one."""
    words = opcode.split(".")
    if words[0] in book.enums["unjudged_family"].by_spelling:
        return False
    names = [".".join(words[:k]) for k in range(1, len(words) + 1)]
    return any(name in book.instructions or get_close_matches(name, book.instructions, 1, _ALIKE) for name in names)
