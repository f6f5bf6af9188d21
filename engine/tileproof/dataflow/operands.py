"""Matrix and instruction descriptors of wgmma and tcgen05.mma, as far as they are known before the kernel runs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tileproof.base.records import dataclass
from tileproof.base.source import Span
from tileproof.dialects.facts import Facts
from tileproof.evaluate import bitfields
from tileproof.memory.instruction_words import known_fields, plain_shape, scaled_shape
from tileproof.ptx.abstract import Integer
from tileproof.ptx.graph import Graph
from tileproof.ptx.text import cut
from tileproof.ptx.values import Values
from tileproof.ptx.vocabulary import word_of
from tileproof.ptx.wgmma import read_wgmma
from tileproof.rulebase.book import Ruleset
from tileproof.rulebase.expression import Scalar
from tileproof.syntax import SyntaxFault

_WORD, _INSTRUCTION = "tcgen05.descriptor", "tcgen05.instruction_descriptor"
_WGMMA_WORD = "wgmma.descriptor"
_KIND = re.compile(r"\.kind::(\w+)")


@dataclass(frozen=True, slots=True)
class _Judged:
    """Facts at an operand of a statement."""

    number: int
    operand: int
    schema: str
    values: dict[str, Scalar]
    spelled: dict[str, str]


def operand_facts(ruleset: Ruleset, graph: Graph, values: Values) -> Iterator[Facts]:
    """The configurations that the rules judge, each once a function, at the first instruction that has it."""
    seen: set[object] = set()
    for number in range(graph.function.first, graph.function.last):
        opcode = graph.module.instructions[number].opcode
        if not opcode.startswith(("tcgen05.mma", "wgmma.mma")):
            continue
        match word_of(ruleset.book, opcode).name:
            case "tcgen05.mma" | "tcgen05.mma.ws":
                found = _tcgen05(ruleset, graph, values, number)
            case _:
                found = _wgmma(ruleset, graph, values, number)
        for one in found:
            key = (one.schema, one.operand, *one.values.items(), *one.spelled.items())
            if key not in seen:
                seen.add(key)
                yield Facts(one.schema, one.values, one.spelled, {}, _place(graph, one.number, one.operand))


def _place(graph: Graph, number: int, operand: int) -> Span:
    statement = graph.module.instructions[number]
    try:
        start, end = cut(graph.module.text[statement.start : statement.end]).span(operand)
    except SyntaxFault:
        return Span(statement.start, statement.end)
    return Span(statement.start + start, statement.start + end)


def _tcgen05(ruleset: Ruleset, graph: Graph, values: Values, number: int) -> Iterator[_Judged]:
    opcode = graph.module.instructions[number].opcode
    operands = values.operands(number)
    kind = _KIND.search(opcode)
    if len(operands) < 4 or kind is None:
        return
    at = 4 if operands[3].address and len(operands) > 4 else 3
    in_memory = not operands[1].address
    word = values.operand(number, at, 32)
    known = {"kind": f".{kind[1]}"}
    instruction: dict[str, Scalar] | None = None
    if word.value is not None:
        try:
            instruction = bitfields.unpack(ruleset, _INSTRUCTION, word.value, known)
        except bitfields.PackError as error:
            yield _Judged(number, at, "assembled_instruction", {"meaningful": ".no"}, {"meaningful": str(error)})
    if instruction is not None:
        yield from _shape(ruleset, opcode, number, at, instruction, in_memory)
    for index, role in ((1, "a"), (2, "b")):
        if role == "a" and not in_memory:
            continue
        major = _major(ruleset, known, word, role)
        yield from _matrix(ruleset, _WORD, values.operand(number, index, 64), number, index, role, major)


def _major(ruleset: Ruleset, known: dict[str, str], word: Integer, role: str) -> str | None:
    """The major of an operand, where its bit of the instruction descriptor is known."""
    try:
        declared = bitfields.word_for(ruleset, _INSTRUCTION, known)
    except bitfields.PackError:
        return None
    for one in declared.fields:
        if one.name == f"major_{role}":
            code = word.bits(one.low, one.high)
            return None if code is None else str(bitfields.solved(ruleset, one.value, code, {})[f"{role}.major"])
    return ".k"


def _shape(
    ruleset: Ruleset, opcode: str, number: int, at: int, instruction: dict[str, Scalar], in_memory: bool
) -> Iterator[_Judged]:
    ctas = 2 if ".cta_group::2" in opcode else 1
    kind = str(instruction["kind"])
    if (kind,) in ruleset.book.shared_table("umma_scaled_k").rows:
        vector = _scale_vector(ruleset, opcode)
        yield _Judged(number, at, "umma.scaled", scaled_shape(ruleset, instruction, ctas, in_memory, vector), {})
        ids = {name: instruction[name] for name in ("kind", "sfa_id", "sfb_id")}
        yield _Judged(number, at, _INSTRUCTION, ids, {})
        return
    shape = plain_shape(ruleset, instruction, ctas, in_memory)
    if shape is not None:
        shape["ws"] = ".yes" if opcode.startswith("tcgen05.mma.ws") else ".no"
        yield _Judged(number, at, "umma", shape, {})


def _scale_vector(ruleset: Ruleset, opcode: str) -> int | None:
    """The elements that one scale factor is for, where an instruction says it."""
    spellings = ruleset.book.enums["scale_vector"].by_spelling
    for word in opcode.split("."):
        member = spellings.get(f".{word}")
        if member is not None:
            elements = ruleset.table("scale_vector").rows[member,][-1]
            assert isinstance(elements, int)
            return elements
    return None


def _wgmma(ruleset: Ruleset, graph: Graph, values: Values, number: int) -> Iterator[_Judged]:
    found = read_wgmma(ruleset.book, graph.module.instructions[number].opcode, values.operands(number))
    if found is None:
        return
    for index, role, major in ((1, "a", found.a_major), (2, "b", found.b_major)):
        if role == "a" and not found.in_memory:
            continue
        yield from _matrix(ruleset, _WGMMA_WORD, values.operand(number, index, 64), number, index, role, major)


def _matrix(
    ruleset: Ruleset, word: str, value: Integer, number: int, index: int, role: str, major: str | None
) -> Iterator[_Judged]:
    """A matrix descriptor: that its fields have a meaning, and that they agree."""
    judged: dict[str, Scalar] = {"operand": f".{role}", "meaningful": ".yes"}
    spelled: dict[str, str] = {}
    fields: dict[str, Scalar] = {}
    try:
        fields = known_fields(ruleset, word, value.ones, value.unknown)
    except bitfields.PackError as error:
        judged["meaningful"], spelled["meaningful"] = ".no", str(error)
    if judged["meaningful"] == ".no":
        yield _Judged(number, index, "assembled_descriptor", judged, spelled)
        return
    held: dict[str, Scalar] = {name: fields[name] for name in ("swizzle", "lbo", "sbo") if name in fields}
    if major is not None:
        held["major"] = major
    yield _Judged(number, index, "matrix_descriptor", {"operand": f".{role}", **held}, {})
