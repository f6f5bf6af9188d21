"""Element types and shared-memory banks, from the rule files."""

from __future__ import annotations

from tileproof.base.patterns import regex
from tileproof.base.records import dataclass
from tileproof.layout import LayoutError
from tileproof.prove.access import Banks
from tileproof.rulebase.declarations import Table
from tileproof.rulebase.load import default_files, load

_ACCESS = regex(
    r"(?:ld|st)(?:\.shared)?(?:\.v([124]))?(?:\.[bufs])?\.?(8|16|32|64|128)\Z|(?:ld|st)matrix(?:\.x([124]))?(?:\.trans)?\Z"
)
FORMS = "ldmatrix.x4, stmatrix.x2, ld.shared.b32, ld.shared.v4.b32, st.shared.b128"


@dataclass(frozen=True, slots=True)
class WarpAccess:
    """How a warp reads or writes shared memory.

    Attributes:
        width: bytes of one lane's access.
        lanes: that the hardware serves together, one phase.
        rows: of a matrix, of which each lane gives one; 0 where each lane moves its own values.
        matrices: that one instruction moves; 0 likewise.
    """

    name: str
    width: int
    lanes: int
    rows: int
    matrices: int
    banks: Banks


def _integer(table: Table, key: str, column: str) -> int | None:
    row = table.rows.get((key,))
    cell = None if row is None else row[table.columns.index(column)]
    return cell if isinstance(cell, int) else None


def access(name: str) -> WarpAccess:
    """The access that a name such as ``ldmatrix.x4`` or ``ld.shared.v4.b32`` means.

    Raises:
        LayoutError: there is none.
    """
    found = _ACCESS.match(name.strip())
    book = load(default_files())
    phases, banks = book.shared_table("shared_access"), book.shared_table("shared_banks")
    key = ".matrix_row"
    if found is not None and found[2]:
        key = f".b{int(found[1] or 1) * int(found[2])}"
    width = None if found is None else _integer(phases, key, "bytes")
    if found is None or width is None:
        raise LayoutError(f"unknown shared-memory access '{name}'; use {FORMS}, ...")
    lanes, rows = _integer(phases, key, "lanes"), _integer(phases, key, "rows")
    number, bank = _integer(banks, ".shared", "banks"), _integer(banks, ".shared", "bytes")
    assert lanes is not None and rows is not None and number is not None and bank is not None
    return WarpAccess(name.strip(), width, lanes, rows, int(found[3] or 1) if rows else 0, Banks(number, bank))


def element_bits(element: str | int | None) -> int | None:
    """The width of an element type: ``f16``, ``.e4m3`` or as the IR spells it.

    Raises:
        LayoutError: there is no such type.
    """
    if element is None or isinstance(element, int):
        return element
    book = load(default_files())
    enum, table = book.enums["element"], book.shared_table("element")
    member = enum.by_spelling.get(element, "." + element.removeprefix("."))
    bits = _integer(table, member, "bits")
    if bits is None:
        names = ", ".join(name[1:] for name in enum.members)
        raise LayoutError(f"unknown element type '{element}'; use {names}")
    return bits
