"""Which bytes of shared memory an MMA or a tcgen05.cp of PTX reads by matrix descriptors, as far as the text says it.

A descriptor tells two strides and a swizzle; with the shape of the instruction they say where each element is
(rules/descriptor/canonical.rule), from the start address on. A swizzle only exchanges pieces of one line of memory, so
how much is read, and of which lines, does not depend on it. Bytes are counted in units of a bulk copy, which fills
whole ones: a set of them is an integer with a bit for each.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from tileproof.base.records import dataclass
from tileproof.descriptors.canonical import Tile, canonical_forms, described
from tileproof.evaluate import bitfields, hardware
from tileproof.layout import Layout, crd2idx
from tileproof.layout.basics import modes
from tileproof.memory.instruction_words import judged_fields, plain_shape, scaled_shape
from tileproof.protocol.state import MatrixRead
from tileproof.ptx.graph import Graph
from tileproof.ptx.matrices import (
    INSTRUCTION,
    MatrixDescriptor,
    copied_matrix,
    copied_piece,
    instruction_operand,
    kind_of,
    matrix_descriptors,
)
from tileproof.ptx.values import Values
from tileproof.ptx.wgmma import read_wgmma
from tileproof.rulebase.book import Rulebook, Ruleset
from tileproof.rulebase.expression import Scalar

_BYTE = 8


class MatrixReads:
    """What the MMAs of a kernel read, each computed when it is asked for."""

    def __init__(self, book: Rulebook, graph: Graph) -> None:
        self._ruleset = book.under("ptx")
        self._graph = graph
        self._values: Values | None = None
        self._known: dict[tuple[int, int | None], Mapping[int, MatrixRead]] = {}

    def of(self, number: int, word: int | None = None) -> Mapping[int, MatrixRead]:
        """What a statement reads from the start of its operands on: by their index, those that are known.

        Args:
            word: the instruction descriptor of a tcgen05.mma, where a run knows it.
        """
        found = self._known.get((number, word))
        if found is None:
            self._values = self._values or Values(self._ruleset.book, self._graph)
            found = _reads(self._ruleset, self._graph, self._values, number, word)
            self._known[number, word] = found
        return found


@dataclass(frozen=True, slots=True)
class _Side:
    """The tile of an operand that one CTA reads.

    Attributes:
        rows, columns: along MN and along K.
        bits: of an element in shared memory.
        padded: as ``MatrixRead`` has it.
    """

    rows: int
    columns: int
    bits: int
    major: str
    padded: bool = False


def _reads(ruleset: Ruleset, graph: Graph, values: Values, number: int, word: int | None) -> dict[int, MatrixRead]:
    opcode = graph.module.instructions[number].opcode
    copied = copied_matrix(graph, values, number)
    if copied is not None:
        side = _of_copy(ruleset.book, opcode)
        units = _described(ruleset, copied, side) if side is not None else 0
        return {copied.operand: MatrixRead(units)} if units else {}
    if opcode.startswith("wgmma"):
        sides = _of_wgmma(ruleset.book, opcode, values, number)
    else:
        sides = _of_tcgen05(ruleset, opcode, values, number, word)
    found = {}
    for one in matrix_descriptors(ruleset, graph, values, number) if sides else ():
        side = sides.get(one.role)
        units = _described(ruleset, one, side) if side is not None else 0
        if side is not None and units:
            found[one.operand] = MatrixRead(units, side.padded)
    return found


def _of_wgmma(book: Rulebook, opcode: str, values: Values, number: int) -> dict[str, _Side]:
    """A and B, as far as they are known; of a sparse A a share of the elements is kept."""
    found = read_wgmma(book, opcode, values.operands(number))
    if found is None or found.shape is None:
        return {}
    rows, columns, k = found.shape
    elements = book.shared_table("element").rows
    sides = {}
    operands = {"a": (rows, found.a_type, found.a_major), "b": (columns, found.b_type, found.b_major)}
    for role, (size, kind, major) in operands.items():
        bits = elements.get((kind,), (None,))[0]
        if isinstance(bits, int) and major is not None:
            deep = k // hardware.limit(book, "sparse_share") if role == "a" and found.sparse else k
            sides[role] = _Side(size, deep, bits, major, role == "b" and _padded(book, columns))
    return sides


def _of_tcgen05(ruleset: Ruleset, opcode: str, values: Values, number: int, word: int | None) -> dict[str, _Side]:
    """The same of a CTA in a tcgen05.mma; a pair of them has half of the rows each.

    What a copy that unpacks elements into containers counts as its bytes is not said: nothing is known of these.
    """
    operands = values.operands(number)
    at, kind = instruction_operand(operands), kind_of(opcode)
    if word is None and at is not None:
        word = values.operand(number, at, 32).value
    if word is None or kind is None or ".sp" in opcode:
        return {}
    try:
        instruction = bitfields.unpack(ruleset, INSTRUCTION, word, {"kind": kind})
    except bitfields.PackError:
        return {}
    ctas = 2 if ".cta_group::2" in opcode else 1
    in_memory = not operands[1].address
    shape: Mapping[str, Scalar] | None
    if (kind,) in ruleset.book.shared_table("umma_scaled_k").rows:
        shape = scaled_shape(ruleset, instruction, ctas, in_memory, None)
    else:
        shape = plain_shape(ruleset, instruction, ctas, in_memory)
    sides = {}
    for role, size in (("a", "M"), ("b", "N")) if shape is not None and shape["sparse"] != ".yes" else ():
        assert shape is not None
        rows, columns = shape[size], shape["K"]
        (element, *_) = ruleset.book.shared_table("element").rows[str(shape[f"{role}.type"]),]
        bits = hardware.smem_bits(ruleset.book, {"kind": kind, **shape}, role)
        if isinstance(rows, int) and isinstance(columns, int) and element == bits:
            padded = role == "b" and _padded(ruleset.book, rows)
            sides[role] = _Side(rows // ctas, columns, bits, str(shape[f"{role}.major"]), padded)
    return sides


def _of_copy(book: Rulebook, opcode: str) -> _Side | None:
    """The rows of a tcgen05.cp, as bytes; None where it unpacks elements, as above."""
    piece, formats = copied_piece(book, opcode), book.enums["cp_format"].members
    if piece is None or any(f".{word}" in formats for word in opcode.split(".")):
        return None
    rows, bits = piece
    return _Side(rows, bits // _BYTE, _BYTE, ".k")


def _padded(book: Rulebook, columns: Scalar) -> bool:
    return isinstance(columns, int) and columns <= hardware.limit(book, "padded_columns")


def _described(ruleset: Ruleset, one: MatrixDescriptor, side: _Side) -> int:
    """What is read by a descriptor; 0 where it is not known."""
    try:
        fields, _ = judged_fields(ruleset, one.word, one.value.ones, one.value.unknown)
    except bitfields.PackError:
        return 0
    lbo, sbo, swizzle = fields.get("lbo"), fields.get("sbo"), fields.get("swizzle")
    if side.major == ".k" and swizzle not in (None, ".none"):
        lbo = 0  # nothing reads it
    if not isinstance(lbo, int) or not isinstance(sbo, int) or swizzle is None:
        return 0
    if fields.get("lbo_mode", ".relative") != ".relative":
        return 0
    return _units(ruleset.book, side, str(swizzle), lbo, sbo)


@lru_cache(maxsize=256)
def _units(book: Rulebook, side: _Side, swizzle: str, lbo: int, sbo: int) -> int:
    """The units of a bulk copy that a tile touches, from its start on, before the swizzle."""
    form = next(canonical_forms(book, side.major, swizzle), None)
    sizes = (side.rows, side.columns)
    tile = Tile(Layout(sizes, (1, side.rows)), side.bits, swizzle)
    layout = described(book, form, tile, lbo, sbo) if form is not None else None
    if layout is None:
        return 0
    unit = _BYTE * hardware.limit(book, "bulk_bytes")
    starts, steps = (
        {side.bits * offset for index in range(size) if isinstance(offset := crd2idx(index, axis), int)}
        for axis, size in zip(modes(layout), sizes, strict=True)
    )
    found = 0
    for start in starts:
        for step in steps:
            found |= 1 << (start + step) // unit
    return found


__all__ = ["MatrixReads"]
