"""Matrix and instruction descriptors of wgmma and tcgen05.mma, as far as they are known before the kernel runs."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import chain

from tileproof.base.records import dataclass
from tileproof.base.source import Span
from tileproof.dataflow.starts import start_of
from tileproof.dialects.configuration import Facts
from tileproof.evaluate import bitfields, hardware
from tileproof.memory.instruction_words import judged_fields, plain_shape, scaled_shape
from tileproof.ptx.graph import Graph
from tileproof.ptx.matrices import INSTRUCTION, MatrixDescriptor, instruction_operand, kind_of, matrix_descriptors
from tileproof.ptx.text import cut
from tileproof.ptx.values import Definition, Values
from tileproof.ptx.wgmma import read_wgmma
from tileproof.rulebase.book import Ruleset
from tileproof.rulebase.expression import Scalar
from tileproof.syntax import SyntaxFault

_BYTE = 8
_MULTIPLY = ("tcgen05.mma", "wgmma.mma")


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
    places = _Places(ruleset, graph, values)
    for number in range(graph.function.first, graph.function.last):
        opcode = graph.module.instructions[number].opcode
        if not opcode.startswith(_MULTIPLY):
            continue
        found = _tcgen05(ruleset, graph, values, number) if opcode.startswith("tcgen05") else iter(())
        matrices = (_matrix(ruleset, values, one, places) for one in matrix_descriptors(ruleset, graph, values, number))
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
    at = instruction_operand(operands)
    try:
        instruction = _instruction(ruleset, values, number)
    except bitfields.PackError as error:
        assert at is not None
        yield _Judged(number, at, "assembled_instruction", {"meaningful": ".no"}, {"meaningful": str(error)})
        return
    if instruction is not None and at is not None:
        yield from _shape(ruleset, opcode, number, at, instruction, not operands[1].address)


def _instruction(ruleset: Ruleset, values: Values, number: int) -> dict[str, Scalar] | None:
    """What the instruction descriptor of a tcgen05.mma says; None where it is not known.

    Raises:
        PackError: it says nothing.
    """
    operands = values.operands(number)
    kind, at = kind_of(values.module.instructions[number].opcode), instruction_operand(operands)
    word = values.operand(number, at, 32).value if at is not None and kind is not None else None
    return None if word is None or kind is None else bitfields.unpack(ruleset, INSTRUCTION, word, {"kind": kind})


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


def _across(ruleset: Ruleset, values: Values, one: MatrixDescriptor) -> int | None:
    """The bytes of one column of K that an instruction reads of A or B; None where that is not known."""
    opcode, second = values.module.instructions[one.number].opcode, one.role == "b"
    if opcode.startswith("wgmma"):
        found = read_wgmma(ruleset.book, opcode, values.operands(one.number))
        if found is None or found.shape is None:
            return None
        rows, kind = found.shape[second], found.b_type if second else found.a_type
        bits = ruleset.book.shared_table("element").rows.get((kind,), (None,))[0]
    else:
        try:
            instruction = _instruction(ruleset, values, one.number)
        except bitfields.PackError:
            return None
        if instruction is None or f"{one.role}.type" not in instruction:
            return None
        size = instruction.get("N" if second else "M")
        rows = size // (2 if ".cta_group::2" in opcode else 1) if isinstance(size, int) else 0
        bits = hardware.smem_bits(ruleset.book, instruction, one.role)
    return rows * bits // _BYTE or None if isinstance(bits, int) else None


class _Places:
    """Where the descriptors of a function start, computed when it is asked for."""

    def __init__(self, ruleset: Ruleset, graph: Graph, values: Values) -> None:
        self._ruleset, self._graph, self._values = ruleset, graph, values

    @cached_property
    def _starts(self) -> dict[tuple[str, Definition], set[int]]:
        """By the role of the operand and what they add to: how much, in units of the start address."""
        found: dict[tuple[str, Definition], set[int]] = {}
        for number in range(self._graph.function.first, self._graph.function.last):
            if self._graph.module.instructions[number].opcode.startswith(_MULTIPLY):
                for one in matrix_descriptors(self._ruleset, self._graph, self._values, number):
                    start = start_of(self._ruleset, self._graph, self._values, one)
                    if start is not None:
                        found.setdefault((one.role, start.base), set()).add(start.added)
        return found

    def read_between(self, one: MatrixDescriptor, pattern: int, sbo: int) -> bool:
        """Whether other descriptors start at the blocks of swizzled rows that a stride leaves out.

        So do those of a tile whose rows are several blocks wide, eight rows of each block one behind the other.
        """
        start = start_of(self._ruleset, self._graph, self._values, one)
        if start is None or sbo % pattern:
            return False
        unit = hardware.descriptor_unit(self._ruleset.book)
        mine, block, whole = self._starts[one.role, start.base], pattern // unit, sbo // unit
        first = start.added // block * block
        return all(any((at - first) % whole // block == index for at in mine) for index in range(whole // block))


def _matrix(ruleset: Ruleset, values: Values, one: MatrixDescriptor, places: _Places) -> Iterator[_Judged]:
    """A matrix descriptor: that its fields have a meaning, and that they agree."""
    operand = f".{one.role}"
    try:
        fields, unset = judged_fields(ruleset, one.word, one.value.ones, one.value.unknown)
    except bitfields.PackError as error:
        wrong: dict[str, Scalar] = {"operand": operand, "meaningful": ".no"}
        yield _Judged(one.number, one.operand, "assembled_descriptor", wrong, {"meaningful": str(error)})
        return
    if unset:
        wrong = {"operand": operand, "versioned": ".no"}
        yield _Judged(one.number, one.operand, "assembled_descriptor", wrong, {"versioned": unset})
    held: dict[str, Scalar] = {name: fields[name] for name in ("swizzle", "lbo", "sbo") if name in fields}
    if one.major is not None:
        held["major"] = one.major
    if one.major == ".mn" and "swizzle" in held:
        across, row = _across(ruleset, values, one), hardware.swizzle_row(ruleset.book, str(held["swizzle"]))
        if across is not None and across <= row:
            held.pop("lbo", None)  # there is no second block along M or N, and nothing reads it
    sbo, swizzle = held.get("sbo"), held.get("swizzle")
    if one.major == ".k" and isinstance(sbo, int) and swizzle not in (None, ".none"):
        pattern = hardware.swizzle_pattern(ruleset.book, str(swizzle))
        if sbo > pattern and places.read_between(one, pattern, sbo):
            held.pop("sbo")  # the groups of rows lie as they should, with those of other blocks between them
    yield _Judged(one.number, one.operand, "matrix_descriptor", {"operand": operand, **held}, {})
