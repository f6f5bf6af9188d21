"""``legal``: whether a target supports a PTX instruction, and which rules it violates if not."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

from tileproof.base.diagnostic import Diagnostic, Severity
from tileproof.base.records import dataclass, replace
from tileproof.base.source import Source, Span
from tileproof.base.spelling import get_close_matches
from tileproof.dialects.configuration import Facts
from tileproof.evaluate.python import Judge, judge_for
from tileproof.judge.outcome import FileReport, Options, finding
from tileproof.judge.spans import span_of
from tileproof.judge.target import Target
from tileproof.ptx.parse_facts import Registers, lower
from tileproof.ptx.registers import by_letter
from tileproof.report.values import Report
from tileproof.rulebase.book import Rulebook, Ruleset
from tileproof.rulebase.declarations import Rule
from tileproof.rulebase.expression import Scalar
from tileproof.rulebase.findings import state


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether an instruction is legal, the codes of what was found, warnings too, and the first message."""

    legal: bool
    codes: tuple[str, ...]
    message: str


class BadRequest(ValueError):
    """An unknown target or PTX version."""


@lru_cache(maxsize=256)
def context(book: Rulebook, target: str, ptx: tuple[int, int] | None = None) -> dict[str, Scalar]:
    """The facts that are not in the text: the target and the PTX version.

    Args:
        target: such as ``sm_90a``.
        ptx: such as (8, 7); None for the latest that supports the target.

    Raises:
        BadRequest: no such target, or no such version.
    """
    rows = book.shared_table("target").rows
    member = f".{target}"
    if (member,) not in rows:
        shown = target if len(target) <= 40 else target[:37] + "..."
        close = get_close_matches(shown.lower(), [name[1:] for (name,) in rows], 1, 0.5)
        raise BadRequest(f"unknown target '{shown}'" + (f"; did you mean {close[0]}?" if close else ""))
    if ptx is None:
        newest = book.shared_table("target").column("last")
        assert newest is not None, "rules/targets.rule"
        version = rows[member,][newest]
        assert isinstance(version, int), "rules/targets.rule"
        return {"target": member, "ptx": version}
    major, minor = ptx
    version = 100 * major + minor
    if version not in book.domain("ptx", "ptx") or not 0 <= minor < 10:
        raise BadRequest(f"unknown PTX ISA version {major}.{minor}")
    return {"target": member, "ptx": version}


def contexts(book: Rulebook, target: str) -> Iterator[dict[str, Scalar]]:
    """``context`` of a target in each PTX version that has it, the oldest first.

    Raises:
        BadRequest: no such target.
    """
    newest, table = context(book, target), book.shared_table("target")
    column = table.column("ptx")
    oldest = None if column is None else table.rows[str(newest["target"]),][column]
    assert isinstance(oldest, int), "rules/targets.rule"
    for version in range(oldest, int(newest["ptx"]) + 1):
        if version % 100 < 10:
            yield {**newest, "ptx": version}


def legal(ruleset: Ruleset, text: str, where: dict[str, Scalar]) -> Verdict:
    """Judge one instruction whose registers are named by class (``r0`` .b32, ``f0`` .f32, ...), or an atom's type.

    Args:
        where: ``context`` of the target.
    """
    if is_atom(text):
        return _of_diagnostics(check_atom(ruleset, text, where).diagnostics)
    return _verdicts(ruleset, *where.items()).of(text)


_LONG = 1000
"""Longer texts are judged and forgotten: many of them would fill the memory."""
_MOST = 65536
"""So many verdicts are kept of each kind."""


class _Verdicts:
    """The verdicts for one target and PTX version; programs that search for an instruction repeat the same queries.

    Instructions that differ in the numbers of their registers alone have one verdict.
    """

    def __init__(self, ruleset: Ruleset, where: tuple[tuple[str, Scalar], ...]) -> None:
        self.ruleset = ruleset
        self.where = where
        self.by_text: dict[str, Verdict] = {}
        # By what is before the first blank: the first operands that came with it, until others do, and the verdicts by
        # operands as ``_alike`` has them. Where most opcodes come once, few operands need to be compared.
        self.first: dict[str, tuple[str, Verdict]] = {}
        self.alike: dict[tuple[str, str], Verdict] = {}

    def of(self, text: str) -> Verdict:
        """The verdict on an instruction."""
        found = self.by_text.get(text)
        if found is not None:
            return found
        if len(text) > _LONG:
            return _verdict(self.ruleset, text, *self.where)[0]
        start = max(text.find(" "), 0)
        opcode = text[:start]
        operands = None
        first = self.first.get(opcode)
        if first is not None:
            operands = _alike(self.ruleset.book, text[start:])
            if first[0]:
                self.keep(opcode, _alike(self.ruleset.book, first[0]), first[1])
                self.first[opcode] = "", first[1]
            if operands is not None:
                found = self.alike.get((opcode, operands))
        if found is None:
            found, said = _verdict(self.ruleset, text, *self.where)
            if not said and first is None:
                if len(self.first) == _MOST:
                    self.first.clear()
                self.first[opcode] = text[start:], found
            elif not said:
                self.keep(opcode, operands, found)
        if len(self.by_text) == _MOST:
            self.by_text.clear()
        self.by_text[text] = found
        return found

    def keep(self, opcode: str, operands: str | None, verdict: Verdict) -> None:
        """Know the verdict on instructions with these operands; None where it is theirs alone."""
        if operands is not None:
            if len(self.alike) == _MOST:
                self.alike.clear()
            self.alike[opcode, operands] = verdict


@lru_cache(maxsize=64)
def _verdicts(ruleset: Ruleset, *where: tuple[str, Scalar]) -> _Verdicts:
    return _Verdicts(ruleset, where)


@lru_cache(maxsize=65536)
def _alike(book: Rulebook, operands: str) -> str | None:
    """The text of operands with one number for all registers; None where a tuple may have a register twice.

    A rule reads the classes of registers, and whether a tuple has one twice.
    """
    if "/" in operands or not operands.isprintable():
        return None  # comments, and other blanks between registers than one looks for here
    tuples, numbers = _registers(book)
    repeated = False

    def shown(found: re.Match[str]) -> str:
        nonlocal repeated
        members = found[0].replace(" ", "")[1:-1].split(",")
        repeated |= len(set(members)) < len(members)
        return f"{{\t{len(members)}{found[1]}}}" if found[1] else found[0]

    text = numbers.sub("0", tuples.sub(shown, operands))
    return None if repeated else text


@lru_cache(maxsize=8)
def _registers(book: Rulebook) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Tuples, with the letter where all members are registers of one class, and the numbers of registers.

    Registers that are named by class begin with its letter.
    """
    letters = "".join(one for one in book.enums["operand_class"].by_spelling if len(one) == 1 and one.isalpha())
    tuples = re.compile(rf"\{{(?:([{letters}])\d+(?:, *\1\d+)*+\}}|[^{{}}]*+\}})", re.ASCII)
    return tuples, re.compile(rf"(?<=[^\w%$.][{letters}])\d+(?![\w$.])", re.ASCII)


# One instruction is often asked about for several targets.
_lowered = lru_cache(maxsize=_MOST)(lower)


def _verdict(ruleset: Ruleset, text: str, *where: tuple[str, Scalar]) -> tuple[Verdict, bool]:
    """The verdict on an instruction, and whether it may say a name or a place of the text."""
    read = _lowered if len(text) <= _LONG else lower
    lowered = read(ruleset.book, text, by_letter(ruleset.book))
    if lowered.faults:
        fault = lowered.faults[0]
        place = f" (column {fault.span.start + 1})" if fault.code == "PT001" else ""
        codes = tuple(dict.fromkeys([f.code for f in lowered.faults]))
        return Verdict(False, codes, fault.stated.message + place), True
    assert lowered.declaration is not None
    assert lowered.opcode is not None
    judge = judge_for(ruleset, lowered.declaration.schema)
    values = {**lowered.opcode.values, **lowered.read, **dict(where)}
    violated = judge.violated(values)
    if not violated:
        return _LEGAL, False
    errors = [rule for rule in violated if rule.severity is Severity.ERROR]
    first = (errors or violated)[0]
    message = _message(judge, first, Facts(judge.schema, values, lowered.opcode.spelled, {}, Span(0, 0)))
    return Verdict(not errors, tuple(rule.code for rule in violated), message), False


_LEGAL = Verdict(True, (), "")
_LEGAL_JSON = '{"legal": true, "codes": [], "message": ""}'


def is_atom(text: str) -> bool:
    """Whether a text is a type of the IR, such as ``!cute_nvgpu.sm90.mma<...>``, and no instruction."""
    return text.lstrip().startswith(("!cute", "cute_nvgpu."))


def check_atom(ruleset: Ruleset, text: str, where: dict[str, Scalar], any_type: bool = False) -> FileReport:
    """Check a type as ``check`` would in a file.

    Args:
        any_type: a type of the dialect that is not an atom is ignored, as in a file.
    """
    from tileproof.checking.mlir import check_ir  # noqa: PLC0415  what instructions do not need
    from tileproof.dialects.atom_names import unknown_atom  # noqa: PLC0415

    atom = text.strip()
    source = Source("<atom>", f'"use"() : () -> {atom if atom.startswith("!") else "!" + atom}\n')
    report = check_ir(ruleset.book, source, Options(ruleset.contract, str(where["target"])[1:], mend=False))
    known = ruleset.book.enums["atom"].by_spelling
    start = source.text.index(" -> ") + len(" -> ")
    name = atom.removeprefix("!").partition("<")[0].strip()
    said = [one for one in report.diagnostics if one.code != "IR025"]  # a note, where only an atom is legal
    if any_type or said or name.startswith("cute.") or name in known:
        return report
    span = Span(start, start + 1 + len(name))
    return replace(report, diagnostics=(finding(ruleset.book, source, span, unknown_atom(ruleset.book, name)),))


def _of_diagnostics(found: Sequence[Diagnostic]) -> Verdict:
    errors = [d for d in found if d.severity is Severity.ERROR]
    message = (errors or list(found))[0].message if found else ""
    return Verdict(not errors, tuple(dict.fromkeys(d.code for d in found)), message)


def _message(judge: Judge, rule: Rule, facts: Facts) -> str:
    from tileproof.judge.messages import render  # noqa: PLC0415  for what is wrong only

    return render(judge, rule, rule.message, facts) or rule.message


def diagnostics(
    ruleset: Ruleset,
    source: Source,
    start: int,
    end: int,
    registers: Registers,
    where: dict[str, Scalar],
) -> Iterator[Diagnostic]:
    """What is wrong with the instruction between two offsets of a text, with hints and places."""
    lowered = lower(ruleset.book, source.text[start:end], registers)
    for fault in lowered.faults:
        span = Span(start + fault.span.start, start + fault.span.end)
        yield finding(ruleset.book, source, span, fault.stated)
    if not lowered.faults:
        assert lowered.declaration is not None
        yield from violations(ruleset, source, lowered.facts(where, start))


def violations(ruleset: Ruleset, source: Source, facts: Facts) -> Iterator[Diagnostic]:
    """The rules that a configuration violates, those of the schemas that its own extends included."""
    judge = judge_for(ruleset, facts.schema)
    for rule in judge.violated(facts.values):
        from tileproof.judge.messages import render  # noqa: PLC0415  for what is wrong only

        hint = render(judge, rule, rule.hint, facts)
        message = _message(judge, rule, facts)
        yield Diagnostic(source, span_of(rule, facts), rule.code, rule.name, rule.severity, message, hint, rule.sources)


def answers(ruleset: Ruleset, lines: Iterable[str]) -> Iterator[str]:
    """For each line ``{"target": ..., "instr": ...}`` a line ``{"legal": ..., "codes": [...], "message": ...}``."""
    for line in lines:
        if line.strip():
            yield answer(ruleset, line)


def answer(ruleset: Ruleset, line: str) -> str:
    """The answer to one request; a fault of the request is an answer too."""
    try:
        request = _decoded(line)
        target, text, ptx = _fields(request)
        verdict = legal(ruleset, text, context(ruleset.book, target, ptx))
    except BadRequest as error:
        stated = state(ruleset.book, "PT010", "bad", problem=error)
        verdict = Verdict(False, (stated.code,), stated.message)
    except (ValueError, RecursionError) as error:
        stated = state(ruleset.book, "PT010", "no_json", problem=error)
        verdict = Verdict(False, (stated.code,), stated.message)
    return as_json(verdict)


@lru_cache(maxsize=1)
def _json() -> tuple[Callable[[str, int], tuple[Any, int]], Callable[[str], Any], Callable[[str], str]]:
    """To scan JSON from a place on, to decode it, and to quote a string, with the usual options."""
    import json  # noqa: PLC0415  a check does neither

    decoder: Any = json.JSONDecoder()
    return decoder.scan_once, decoder.decode, json.encoder.encode_basestring_ascii


def _decoded(line: str) -> Any:
    """What a line says; of lines as they are usually written, without the decoder's search for blanks around it."""
    scan, decode, _ = _json()
    try:
        request, end = scan(line, 0)
    except StopIteration:
        return decode(line)
    return request if line[end:] in ("\n", "") else decode(line)


def as_json(verdict: Verdict) -> str:
    """A verdict as one line."""
    if verdict is _LEGAL:
        return _LEGAL_JSON
    codes = '"' + '", "'.join(verdict.codes) + '"' if verdict.codes else ""
    legal = "true" if verdict.legal else "false"
    return f'{{"legal": {legal}, "codes": [{codes}], "message": {_json()[2](verdict.message)}}}'


def version(text: str) -> tuple[int, int]:
    """``8.7`` as (8, 7).

    Raises:
        BadRequest: it is not a version.
    """
    major, _, minor = text.partition(".")
    if not (major.isdecimal() and minor.isdecimal()):
        raise BadRequest(f"'{text}' is not a PTX ISA version such as 8.7")
    return int(major), int(minor)


def report(ruleset: Ruleset, instructions: Iterable[str], where: dict[str, Scalar], any_type: bool = False) -> Report:
    """What is wrong with each of some instructions and atoms, as ``check`` shows it."""
    registers = by_letter(ruleset.book)
    files = []
    for text in instructions:
        if is_atom(text):
            files.append(check_atom(ruleset, text, where, any_type))
            continue
        source = Source("<instruction>", text)
        found = tuple(diagnostics(ruleset, source, 0, len(text), registers, where))
        files.append(FileReport(source, found, Target(str(where["target"]), "given")))
    return Report(tuple(files), (), Options(ruleset.contract, str(where["target"])[1:]), ruleset.book)


def _fields(request: Any) -> tuple[str, str, tuple[int, int] | None]:
    if not isinstance(request, dict):
        raise BadRequest("expected an object with 'target' and 'instr'")
    target, text, ptx = request.get("target"), request.get("instr"), request.get("ptx")
    if not isinstance(target, str) or not isinstance(text, str):
        raise BadRequest("'target' and 'instr' must be strings")
    if ptx is None:
        return target, text, None
    if not (isinstance(ptx, list) and len(ptx) == 2 and type(ptx[0]) is type(ptx[1]) is int):
        raise BadRequest("'ptx' must be a version such as [8, 7]")
    return target, text, (ptx[0], ptx[1])
