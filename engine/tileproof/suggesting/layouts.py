"""Layouts of an operand in shared memory that a descriptor can encode, the best first.

Each canonical form (rules/descriptor/canonical.rule) is an atom of eight rows, or of eight columns for MN-major, as
wide as its swizzle. The atom is repeated through the operand, first along MN. The result is not assumed to be right but
proved: the descriptor is read off the layout as of any other, and the bank conflicts of two accesses are worked out, of
a matrix (eight rows of 16 bytes, as ldmatrix and the tensor core read) and of a row (32 lanes that store 16 bytes each,
in the order in which the operand's rows run).
"""

from __future__ import annotations

from math import gcd

from tileproof.base.records import dataclass
from tileproof.base.verdict import Proved, Refuted
from tileproof.descriptors.canonical import NoDescriptor, OperandDescriptor, canonical_forms, describe, operand, spelled
from tileproof.evaluate.batch import legal_many
from tileproof.evaluate.hardware import descriptor_unit, limit
from tileproof.evaluate.python import judge_for
from tileproof.layout import ComposedLayout, Layout, LayoutError, Swizzle, coalesce
from tileproof.memory.descriptors import atom_node, operand_of
from tileproof.prove import questions
from tileproof.prove.claim import decide
from tileproof.prove.hardware import element_bits
from tileproof.rulebase.bitfield import Form
from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.declarations import HARDWARE
from tileproof.rulebase.expression import Number, Scalar
from tileproof.rulebase.fragment import LayoutLeaf
from tileproof.syntax import SyntaxFault


@dataclass(frozen=True, slots=True)
class Family:
    """A family named instead of an atom: a row of the table ``descriptor_generation``.

    Attributes:
        rows: of A and of B that one instruction reads, at most.
        bytes: of K that one dense instruction reads.
    """

    schema: str
    word: str
    rows: tuple[int, int]
    bytes: int


def _families(book: Rulebook) -> dict[str, Family]:
    found = {}
    for (member,), row in book.shared_table("descriptor_generation").rows.items():
        schema, word, a, b, k = row
        assert isinstance(a, int) and isinstance(b, int) and isinstance(k, int)
        found[member[1:]] = Family(str(schema), str(word), (a, b), k)
    return found


class BadOperand(ValueError):
    """An invalid description of an operand; the message gives the reason in one sentence."""


@dataclass(frozen=True, slots=True)
class Placement:
    """A legal layout of an operand.

    Attributes:
        layout: ``(mn,k)`` to element offsets; its swizzle acts on element indices.
        pointer: the same swizzle on byte addresses, as a pointer has it; None where there is none.
        align: of the base, in bytes: the pattern of the swizzle.
        descriptor: at address 0, of the first tile of an instruction.
        matrix_degree, row_degree: the bank conflicts of an access to a matrix and to a row; 1 is free of them.
    """

    layout: Layout | ComposedLayout
    swizzle: str
    pointer: Swizzle | None
    align: int
    descriptor: OperandDescriptor
    matrix_degree: int
    row_degree: int


def placements(
    book: Rulebook, atom: str, role: str, element: str, shape: tuple[int, int], major: str | None
) -> list[Placement]:
    """The legal layouts of an operand, those free of bank conflicts first, then the widest swizzle.

    Args:
        atom: the type of an MMA atom, or ``wgmma`` or ``tcgen05``.
        role: ``A`` or ``B``.
        element: its type in shared memory.
        shape: rows (M of A, N of B) and columns (K) of the operand.
        major: ``k`` or ``mn``; None if the atom determines it.

    Raises:
        BadOperand: there is no such atom or element, or the atom is of another major.
    """
    try:
        bits = element_bits(element)
    except LayoutError as error:
        raise BadOperand(str(error)) from None
    unit = descriptor_unit(book)
    if bits is None or 8 * unit % bits:
        raise BadOperand(f"{unit} bytes are not a whole number of elements of type {element}")
    if (family := _families(book).get(atom)) is not None:
        _check_type(book, family.schema, atom, role, element, major)
    word, of_atom, extents = _instruction(book, atom, role, bits, shape)
    if of_atom is not None and major not in (None, of_atom[1:]):
        raise BadOperand(f"operand {role} of the atom is {of_atom[1:]}-major, not {major}-major")
    wanted = of_atom or (f".{major}" if major else None)
    if wanted is None:
        raise BadOperand(f"missing major of the operand: {atom} supports k and mn")
    found = []
    for form in canonical_forms(book, wanted, None):
        placed = _placed(book, word, form, wanted, bits, shape, extents)
        if placed is not None:
            found.append(placed)
    return sorted(found, key=lambda one: (max(one.matrix_degree, one.row_degree), -one.align))


def _check_type(book: Rulebook, schema: str, family: str, role: str, element: str, major: str | None) -> None:
    """Whether the family supports operands of this element and major."""
    member = book.enums["element"].by_spelling.get(element, "." + element.removeprefix("."))
    facts: dict[str, list[Scalar]] = {"a.type": [member], "b.type": [member]}
    if major is not None:
        facts[f"{role.lower()}.major"] = [f".{major}"]
    if not all(legal_many(judge_for(book.under(HARDWARE), schema), facts)):
        raise BadOperand(f"{family} reads no operand {role} of {element}{f' that is {major}-major' if major else ''}")


def _instruction(
    book: Rulebook, atom: str, role: str, bits: int, shape: tuple[int, int]
) -> tuple[str, str | None, tuple[int, int]]:
    """The word, the major where it is known, and the extents of one instruction's tile."""
    known_families = _families(book)
    if (family := known_families.get(atom)) is not None:
        return family.word, None, (gcd(shape[0], family.rows[role == "B"]), 8 * family.bytes // bits)
    try:
        node = atom_node(atom)
    except SyntaxFault as fault:
        raise BadOperand(f"the atom cannot be read: column {fault.start + 1}: {fault}") from None
    known = operand_of(book, node, role) if node is not None else None
    if known is None:
        names = " or ".join(known_families)
        raise BadOperand(
            f"'{atom}' is not an atom that reads {role} through a descriptor; use such an atom's type, or {names}"
        )
    return known


def _placed(
    book: Rulebook,
    word: str,
    form: Form,
    major: str,
    bits: int,
    shape: tuple[int, int],
    extents: tuple[int, int],
) -> Placement | None:
    row = book.shared_table("smem_swizzle").rows[form.swizzle,]
    swizzle_bits, base, shift, width, pattern = (int(str(cell)) for cell in row)
    wide = 8 * width // bits
    plain = _repeated(shape, wide, _depth(form), major)
    if plain is None:
        return None
    pointer = Swizzle(swizzle_bits, base, shift) if swizzle_bits else None
    on_elements = Swizzle(swizzle_bits, base + 3 - (bits.bit_length() - 1), shift)
    layout = ComposedLayout(on_elements, 0, plain) if pointer is not None else plain
    try:
        descriptor = describe(book.under(HARDWARE), word, operand(book, layout, bits, extents).tile, major)
    except NoDescriptor:
        return None
    matrix, by_row = _degrees(book, layout, bits, shape, major)
    return Placement(layout, spelled(book, form.swizzle), pointer, pattern, descriptor, matrix, by_row)


def _depth(form: Form) -> int:
    """The rows of an atom of a K-major form, the columns of one of an MN-major form."""
    shape = form.layout.shape
    assert isinstance(shape, tuple), "a form has the modes MN and K"
    mode = shape[0 if form.major == ".k" else 1]
    first = mode[0] if isinstance(mode, tuple) else mode
    assert isinstance(first, LayoutLeaf) and isinstance(first.value, Number), "rules/descriptor/canonical.rule"
    return first.value.value


def _repeated(shape: tuple[int, int], wide: int, deep: int, major: str) -> Layout | None:
    """An atom of ``deep`` runs of ``wide`` elements through a shape, first along MN; None where it does not fit."""
    across, along = shape if major == ".k" else shape[::-1]
    if across % deep or along % wide:
        return None
    atom = deep * wide
    if major == ".k":
        rows, columns = ((deep, across // deep), (wide, atom)), ((wide, along // wide), (1, wide * across))
    else:
        rows, columns = ((wide, along // wide), (1, atom)), ((deep, across // deep), (wide, along * deep))
    found = coalesce(Layout((rows[0], columns[0]), (rows[1], columns[1])), (1, 1))
    assert isinstance(found, Layout)
    return found


def _degrees(
    book: Rulebook, layout: Layout | ComposedLayout, bits: int, shape: tuple[int, int], major: str
) -> tuple[int, int]:
    """The bank conflicts of an access to a matrix, and to a row."""
    run = 1 if major == ".k" else 0
    unit, lanes = 8 * descriptor_unit(book) // bits, limit(book, "warp_threads")
    chunks = shape[run] // unit
    side = min(chunks & -chunks, lanes)
    rows = min(lanes // side, shape[1 - run])
    tv = f"(({side},{rows}),{unit}):(({unit}@{run},1@{1 - run}),1@{run})"
    asked = (
        questions.conflict_free(layout, "ldmatrix", bits, mode=run),
        questions.conflict_free(layout, "st.shared.b128", bits, tv=tv),
    )
    found = []
    for claim in asked:
        verdict = decide(claim, 1.0)
        assert isinstance(verdict, Proved | Refuted), "the layout is static"
        degree = verdict.values["degree"] if isinstance(verdict, Proved) else verdict.counterexample["degree"]
        assert isinstance(degree, int)
        found.append(degree)
    return found[0], found[1]


def read_shape(text: str) -> tuple[int, int]:
    """``64x64``: rows and columns.

    Raises:
        BadOperand: the text is malformed.
    """
    pieces = text.lower().split("x")
    if len(pieces) != 2 or not all(piece.isdecimal() and len(piece) < 6 and int(piece) for piece in pieces):
        raise BadOperand(f"'{text}' is not a shape of rows and columns such as 64x64")
    return int(pieces[0]), int(pieces[1])


def as_json(found: Placement) -> dict[str, object]:
    """The fields of a suggestion."""
    return {
        "layout": str(found.layout),
        "swizzle": found.swizzle,
        "pointer_swizzle": None if found.pointer is None else str(found.pointer),
        "align": found.align,
        "lbo": found.descriptor.lbo,
        "sbo": found.descriptor.sbo,
        "descriptor": f"0x{found.descriptor.value:016x}",
        "matrix_degree": found.matrix_degree,
        "row_degree": found.row_degree,
    }


def as_text(found: Placement) -> str:
    """One line."""
    conflicts = [
        f"{degree}-way conflict of {what}"
        for degree, what in ((found.matrix_degree, "matrices"), (found.row_degree, "rows"))
        if degree > 1
    ]
    return (
        f"{found.layout}  swizzle {found.swizzle}  align {found.align}  lbo {found.descriptor.lbo}"
        f"  sbo {found.descriptor.sbo}  0x{found.descriptor.value:016x}  {', '.join(conflicts) or 'conflict-free'}"
    )
