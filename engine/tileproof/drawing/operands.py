"""The descriptor that a picture is of: of a layout that is given, or of a canonical one."""

from __future__ import annotations

from tileproof.descriptors.acting import descriptors
from tileproof.descriptors.canonical import NoDescriptor, OperandDescriptor, Undecided
from tileproof.drawing.picture import NoPicture
from tileproof.prove.ask import BadQuestion
from tileproof.prove.descriptor import Asked, atom_operand, question
from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.declarations import HARDWARE
from tileproof.suggesting.layouts import BadOperand, placements
from tileproof.syntax import SyntaxFault

_PLAIN = "1:0"


def read_operand(
    book: Rulebook, atom: str, operand: str, element: str | None, swizzle: str | None, layout: str | None
) -> tuple[OperandDescriptor, int, tuple[int, int]]:
    """The descriptor of an operand, the bits of its elements and the extents that one instruction reads.

    Args:
        swizzle: without a layout by its name, ``128``; else one of byte addresses, ``S<3,4,3>``.
        layout: as the kernel lays the operand out; None for the canonical layout with the widest swizzle.

    Raises:
        NoPicture: there is no such descriptor, or an argument means nothing.
    """
    try:
        asked = question(book, atom, operand, layout or _PLAIN, element, swizzle if layout else None)
        word, major, extents = atom_operand(book, asked)
        if layout is None:
            return _canonical(book, atom, asked, element or "", swizzle, major, extents), asked.bits, extents
        given = asked.layout, asked.bits, extents, asked.of_bytes
        return descriptors(book.under(HARDWARE), word, *given, (major,))[1][0], asked.bits, extents
    except SyntaxFault as fault:
        raise NoPicture(f"column {fault.start + 1}: {fault}") from None
    except (BadOperand, BadQuestion, NoDescriptor, Undecided) as error:
        raise NoPicture(str(error)) from None


def _canonical(
    book: Rulebook,
    atom: str,
    asked: Asked,
    element: str,
    swizzle: str | None,
    major: str,
    extents: tuple[int, int],
) -> OperandDescriptor:
    """The descriptor of the operand in the canonical layout of a swizzle, which may be wider than what is read."""
    table = book.shared_table("smem_swizzle")
    column = table.columns.index("row")
    widths = sorted({int(str(row[column])) for row in table.rows.values()}, reverse=True)
    known: list[str] = []
    for width in widths:
        run = 8 * width // asked.bits
        shape = (extents[0], max(extents[1], run)) if major == ".k" else (max(extents[0], run), extents[1])
        for one in placements(book, atom, asked.operand, element, shape, None):
            names = (one.swizzle, one.swizzle.lower(), str(one.pointer))
            if (swizzle is None and one.align == _pattern(book, width)) or swizzle in names:
                return one.descriptor
            known.append(one.swizzle)
    if swizzle is None and known:
        return _canonical(book, atom, asked, element, known[0], major, extents)
    raise NoPicture(f"no canonical layout of the operand has the swizzle {swizzle}: {', '.join(dict.fromkeys(known))}")


def _pattern(book: Rulebook, width: int) -> int:
    """The bytes after which the swizzle of a width repeats."""
    table = book.shared_table("smem_swizzle")
    row, pattern = table.columns.index("row"), table.columns.index("pattern")
    return next(int(str(cells[pattern])) for cells in table.rows.values() if cells[row] == width)


__all__ = ["read_operand"]
