"""A shared-memory descriptor as a picture: which elements of the operand each 16 bytes of memory hold, LBO and SBO.

The first panel is memory, a row of all banks after the other, as the tensor core finds it: after the swizzle. The
second is the operand with the bytes where its elements are. Colours are those of core matrices: eight rows of 16 bytes.
"""

from __future__ import annotations

from collections import defaultdict

from tileproof.base.records import dataclass
from tileproof.descriptors.canonical import OperandDescriptor, byte_address, spelled
from tileproof.drawing.banks import Banks
from tileproof.drawing.palette import wheel
from tileproof.drawing.picture import COLUMNS, ROWS, Arrow, Cell, NoPicture, Panel, Picture
from tileproof.evaluate.hardware import descriptor_unit, limit
from tileproof.rulebase.book import Rulebook

_HUES = 32
_LARGEST = 1 << 16  # elements of a tile


@dataclass(frozen=True, slots=True)
class _Unit:
    """16 bytes of the operand.

    Attributes:
        byte: where they are.
        first: the coordinate of the first element, (mn, k).
        count: of the elements along the major mode.
        hue: the colour of the core matrix: in both modes cores beside each other differ.
    """

    byte: int
    first: tuple[int, int]
    count: int
    hue: int


def picture_of(book: Rulebook, found: OperandDescriptor, bits: int, extents: tuple[int, int], banks: Banks) -> Picture:
    """The picture of a descriptor.

    Args:
        bits: of an element in shared memory.
        extents: rows (M or N) and columns (K) that one instruction reads.

    Raises:
        NoPicture: the operand is too large.
    """
    if extents[0] * extents[1] > _LARGEST:
        raise NoPicture(f"an operand of {extents[0]} x {extents[1]} elements is too large to draw")
    wide = descriptor_unit(book)
    along = 1 if found.major == ".k" else 0
    units = _units(book, found, bits, extents, wide)
    strides = {
        name: value for name, value in (("LBO", found.lbo), ("SBO", found.sbo)) if name.lower() not in found.unread
    }
    said = ", ".join(f"{name} {value} bytes" for name, value in strides.items())
    unread = "".join(f", {name.upper()} is not read" for name in sorted(found.unread))
    notes = [
        f"0x{found.value:016x}: swizzle {spelled(book, found.swizzle)}, {said or 'no stride is read'}{unread}",
        f"canonical layout {found.canonical} of elements of {bits} bits, {'K' if along else 'MN'}-major",
        f"a row is all banks, {banks.count * banks.width} bytes; a cell is {wide} bytes and its elements mn,k",
    ]
    memory, cut = _memory(units, along, wide, banks, strides)
    operand, more = _operand(units, along, wide)
    for what, left in (("memory", cut), ("operand", more)):
        if left:
            notes.append(f"cut: {left:,} cells of the {what} are not shown")
    title = f"{found.word}, {extents[0]} x {extents[1]}, swizzle {spelled(book, found.swizzle)}"
    return Picture(title, tuple(notes), (memory, operand), wheel(_HUES))


def _units(book: Rulebook, found: OperandDescriptor, bits: int, extents: tuple[int, int], wide: int) -> list[_Unit]:
    """The operand in pieces of 16 bytes of memory, in the order of its coordinates."""
    held: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for mn in range(extents[0]):
        for k in range(extents[1]):
            held[byte_address(book, found.canonical, bits, found.swizzle, (mn, k)) // wide].append((mn, k))
    rows, along = limit(book, "matrix_rows"), 1 if found.major == ".k" else 0
    units = []
    for place, at in held.items():
        first = min(at)
        hue = (5 * (first[1 - along] // rows) + 13 * (first[along] // max(len(at), 1))) % _HUES
        units.append(_Unit(place * wide, first, len(at), hue))
    return sorted(units, key=lambda one: one.first)


def _named(unit: _Unit, along: int) -> tuple[str, str]:
    """Its rows and its columns."""
    names = [str(one) for one in unit.first]
    if unit.count > 1:
        names[along] = f"{unit.first[along]}-{unit.first[along] + unit.count - 1}"
    return names[0], names[1]


def _cell(unit: _Unit, along: int, wide: int, lines: tuple[str, ...], banks: str = "") -> Cell:
    mn, k = _named(unit, along)
    return Cell(lines, unit.hue, f"(mn {mn}, k {k}) at bytes {unit.byte} to {unit.byte + wide - 1}{banks}")


def _memory(units: list[_Unit], along: int, wide: int, banks: Banks, strides: dict[str, int]) -> tuple[Panel, int]:
    """Memory from the operand's start on, and how many cells were left out."""
    across = banks.count * banks.width // wide
    placed = {unit.byte // wide: unit for unit in units}
    rows = min(max(placed) // across + 1, ROWS)
    cells: list[tuple[Cell | None, ...]] = []
    for row in range(rows):
        line: list[Cell | None] = []
        for column in range(across):
            at = row * across + column
            first = banks.of(at * wide)
            where = f", banks {first}-{first + wide // banks.width - 1}"
            if at in placed:
                mn, k = _named(placed[at], along)
                line.append(_cell(placed[at], along, wide, (f"{mn},{k}",), where))
            else:
                line.append(Cell(("",), None, f"bytes {at * wide} to {at * wide + wide - 1} are not read{where}"))
        cells.append(tuple(line))
    arrows = tuple(
        Arrow((0, 0), divmod(stride // wide, across), f"{name} {stride}")
        for name, stride in strides.items()
        if stride // wide in placed and 0 < stride // wide < rows * across
    )
    heads = tuple(str(row * across * wide) for row in range(rows))
    tops = tuple(str(column * wide) for column in range(across))
    left = sum(at >= rows * across for at in placed)
    return Panel("memory", heads, tops, tuple(cells), "byte", "+", arrows), left


def _operand(units: list[_Unit], along: int, wide: int) -> tuple[Panel, int]:
    """The operand with the bytes of its elements, and how many cells were left out."""
    rows, columns = (sorted({unit.first[mode] for unit in units}) for mode in (0, 1))
    shown_rows, shown_columns = rows[:ROWS], columns[:COLUMNS]
    by_place = {unit.first: unit for unit in units}
    cells = tuple(
        tuple(
            None if (unit := by_place.get((row, column))) is None else _cell(unit, along, wide, (str(unit.byte),))
            for column in shown_columns
        )
        for row in shown_rows
    )
    left = len(units) - sum(one is not None for line in cells for one in line)
    names = tuple(map(str, shown_rows)), tuple(map(str, shown_columns))
    return Panel("operand: rows mn, columns k; the first byte", *names, cells, "mn", "k"), left


__all__ = ["picture_of"]
