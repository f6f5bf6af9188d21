"""Matrix and instruction descriptors of wgmma and tcgen05.mma, as far as they are known before the kernel runs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from tileproof.base.records import dataclass
from tileproof.base.source import Span
from tileproof.dialects.configuration import Facts
from tileproof.evaluate import bitfields
from tileproof.memory.instruction_words import judged_fields, plain_shape, scaled_shape
from tileproof.ptx.graph import Graph
from tileproof.ptx.matrices import INSTRUCTION, MatrixDescriptor, instruction_operand, kind_of, matrix_descriptors
from tileproof.ptx.text import cut
from tileproof.ptx.values import Values
from tileproof.rulebase.book import Ruleset
from tileproof.rulebase.expression import Scalar
from tileproof.syntax import SyntaxFault


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
        found = _tcgen05(ruleset, graph, values, number) if opcode.startswith("tcgen05") else iter(())
        matrices = (_matrix(ruleset, one) for one in matrix_descriptors(ruleset, graph, values, number))
        for one in chain(found, *matrices):
            key = (one.schema, one.operand, *one.values.items(), *one.spelled.items())
            if key not in seen:
                seen.add(key)
                yield Facts(one.schema, one.values, one.spelled, {}, place(graph, one.number, one.operand))


def place(graph: Graph, number: int, operand: int) -> Span:
    """An operand of a statement; the statement where its text cannot be cut."""
    statement = graph.module.instructions[number]
    try:
        start, end = cut(graph.module.text[statement.start : statement.end]).span(operand)
    except SyntaxFault:
        return Span(statement.start, statement.end)
    return Span(statement.start + start, statement.start + end)


def _tcgen05(ruleset: Ruleset, graph: Graph, values: Values, number: int) -> Iterator[_Judged]:
    opcode = graph.module.instructions[number].opcode
    operands = values.operands(number)
    kind, at = kind_of(opcode), instruction_operand(operands)
    if at is None or kind is None:
        return
    in_memory = not operands[1].address
    word = values.operand(number, at, 32)
    known = {"kind": kind}
    instruction: dict[str, Scalar] | None = None
    if word.value is not None:
        try:
            instruction = bitfields.unpack(ruleset, INSTRUCTION, word.value, known)
        except bitfields.PackError as error:
            yield _Judged(number, at, "assembled_instruction", {"meaningful": ".no"}, {"meaningful": str(error)})
    if instruction is not None:
        yield from _shape(ruleset, opcode, number, at, instruction, in_memory)


def _shape(
    ruleset: Ruleset, opcode: str, number: int, at: int, instruction: dict[str, Scalar], in_memory: bool
) -> Iterator[_Judged]:
    ctas = 2 if ".cta_group::2" in opcode else 1
    kind = str(instruction["kind"])
    if (kind,) in ruleset.book.shared_table("umma_scaled_k").rows:
        vector = _scale_vector(ruleset, opcode)
        yield _Judged(number, at, "umma.scaled", scaled_shape(ruleset, instruction, ctas, in_memory, vector), {})
        ids = {name: instruction[name] for name in ("kind", "sfa_id", "sfb_id")}
        yield _Judged(number, at, INSTRUCTION, ids, {})
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


def _matrix(ruleset: Ruleset, one: MatrixDescriptor) -> Iterator[_Judged]:
    """A matrix descriptor: that its fields have a meaning, and that they agree."""
    operand = f".{one.role}"
    try:
        fields, unset = judged_fields(ruleset, one.word, one.value.ones, one.value.unknown)
    except bitfields.PackError as error:
        values: dict[str, Scalar] = {"operand": operand, "meaningful": ".no"}
        yield _Judged(one.number, one.operand, "assembled_descriptor", values, {"meaningful": str(error)})
        return
    if unset:
        values = {"operand": operand, "versioned": ".no"}
        yield _Judged(one.number, one.operand, "assembled_descriptor", values, {"versioned": unset})
    held: dict[str, Scalar] = {name: fields[name] for name in ("swizzle", "lbo", "sbo") if name in fields}
    if one.major is not None:
        held["major"] = one.major
    yield _Judged(one.number, one.operand, "matrix_descriptor", {"operand": operand, **held}, {})
