"""Matrix and instruction descriptors of wgmma and tcgen05.mma, as far as they are known before the kernel runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain

from tileproof.base.patterns import regex
from tileproof.base.records import dataclass
from tileproof.base.source import Span
from tileproof.dialects.configuration import Facts
from tileproof.evaluate import bitfields
from tileproof.memory.instruction_words import judged_fields, plain_shape, scaled_shape
from tileproof.ptx.abstract import Integer
from tileproof.ptx.graph import Graph
from tileproof.ptx.text import Operand, cut
from tileproof.ptx.values import Values
from tileproof.ptx.wgmma import read_wgmma
from tileproof.rulebase.book import Ruleset
from tileproof.rulebase.expression import Scalar
from tileproof.syntax import SyntaxFault

_WORD, _INSTRUCTION = "tcgen05.descriptor", "tcgen05.instruction_descriptor"
_WGMMA_WORD = "wgmma.descriptor"
_KIND = regex(r"\.kind::(\w+)")


@dataclass(frozen=True, slots=True)
class MatrixDescriptor:
    """A descriptor that an instruction reads an operand by.

    Attributes:
        number: of the statement; ``operand``: its index among the operands of the instruction.
        role: ``a`` or ``b``.
        word: the packed word, whose declaration says what the bits mean.
        value: what is known of the 64 bits.
        major: ``.k`` or ``.mn``; None where that is not known.
    """

    number: int
    operand: int
    role: str
    word: str
    value: Integer
    major: str | None


def matrix_descriptors(ruleset: Ruleset, graph: Graph, values: Values, number: int) -> Iterator[MatrixDescriptor]:
    """The descriptors of a statement, A before B; none where it is no wgmma or tcgen05.mma, or lacks operands."""
    opcode = graph.module.instructions[number].opcode
    if not opcode.startswith(("tcgen05.mma", "wgmma.mma")):
        return
    operands = values.operands(number)
    majors: Callable[[str], str | None]
    if opcode.startswith("wgmma"):
        found = read_wgmma(ruleset.book, opcode, operands)
        if found is None:
            return
        word, in_memory = _WGMMA_WORD, found.in_memory
        majors = {"a": found.a_major, "b": found.b_major}.__getitem__
    else:
        kind, at = _KIND.search(opcode), _instruction_operand(operands)
        if kind is None or at is None:
            return
        word, in_memory = _WORD, not operands[1].address
        instruction = values.operand(number, at, 32)
        majors = partial(_major, ruleset, {"kind": f".{kind[1]}"}, instruction)
    for index, role in ((1, "a"), (2, "b")):
        if role == "b" or in_memory:
            value = values.operand(number, index, 64)
            yield MatrixDescriptor(number, index, role, word, value, majors(role))


def _instruction_operand(operands: Sequence[Operand]) -> int | None:
    """Which operand of a tcgen05.mma is its instruction descriptor; None where there are too few."""
    if len(operands) < 4:
        return None
    return 4 if operands[3].address and len(operands) > 4 else 3


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
    kind, at = _KIND.search(opcode), _instruction_operand(operands)
    if at is None or kind is None:
        return
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
