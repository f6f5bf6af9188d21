"""The matrix descriptors of wgmma and tcgen05.mma in PTX: which operands they are, and what is known of their bits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial

from tileproof.base.patterns import regex
from tileproof.base.records import dataclass
from tileproof.evaluate import bitfields
from tileproof.ptx.abstract import Integer
from tileproof.ptx.graph import Graph
from tileproof.ptx.text import Operand
from tileproof.ptx.values import Values
from tileproof.ptx.wgmma import read_wgmma
from tileproof.rulebase.book import Rulebook, Ruleset

INSTRUCTION = "tcgen05.instruction_descriptor"  # the word that says the shape and the types of a tcgen05.mma
_WORD, _WGMMA_WORD = "tcgen05.descriptor", "wgmma.descriptor"
_KIND = regex(r"\.kind::(\w+)")
_SHAPE = regex(r"[._](\d+x\d+b)\b")  # of tcgen05.cp: rows by bits


def kind_of(opcode: str) -> str | None:
    """The kind of a tcgen05.mma, a member of the enum ``tcgen05_kind``; None where its opcode names none."""
    found = _KIND.search(opcode)
    return None if found is None else f".{found[1]}"


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
        kind, at = kind_of(opcode), instruction_operand(operands)
        if kind is None or at is None:
            return
        word, in_memory = _WORD, not operands[1].address
        instruction = values.operand(number, at, 32)
        majors = partial(_major, ruleset, {"kind": kind}, instruction)
    for index, role in ((1, "a"), (2, "b")):
        if role == "b" or in_memory:
            value = values.operand(number, index, 64)
            yield MatrixDescriptor(number, index, role, word, value, majors(role))


def copied_matrix(graph: Graph, values: Values, number: int) -> MatrixDescriptor | None:
    """The descriptor of what a tcgen05.cp copies, row by row; None where it is no tcgen05.cp."""
    if not graph.module.instructions[number].opcode.startswith("tcgen05.cp."):
        return None
    return MatrixDescriptor(number, 1, "a", _WORD, values.operand(number, 1, 64), ".k")


@lru_cache(maxsize=64)
def copied_piece(book: Rulebook, text: str) -> tuple[int, int] | None:
    """The rows that a tcgen05.cp copies, and the bits in each; None where no shape is said.

    Args:
        text: its opcode, or the words of the operation in the IR.
    """
    found = _SHAPE.search(text)
    shape = None if found is None else book.enums["cp_shape"].by_spelling.get(found[1])
    if shape is None:
        return None
    rows, bits = book.shared_table("cp_piece").rows[shape,]
    assert isinstance(rows, int) and isinstance(bits, int), "rules/tcgen05/cp.rule"
    return rows, bits


def instruction_operand(operands: Sequence[Operand]) -> int | None:
    """Which operand of a tcgen05.mma is its instruction descriptor; None where there are too few."""
    if len(operands) < 4:
        return None
    return 4 if operands[3].address and len(operands) > 4 else 3


def _major(ruleset: Ruleset, known: dict[str, str], word: Integer, role: str) -> str | None:
    """The major of an operand, where its bit of the instruction descriptor is known."""
    try:
        declared = bitfields.word_for(ruleset, INSTRUCTION, known)
    except bitfields.PackError:
        return None
    for one in declared.fields:
        if one.name == f"major_{role}":
            code = word.bits(one.low, one.high)
            return None if code is None else str(bitfields.solved(ruleset, one.value, code, {})[f"{role}.major"])
    return ".k"


__all__ = [
    "INSTRUCTION",
    "MatrixDescriptor",
    "instruction_operand",
    "kind_of",
    "matrix_descriptors",
]
