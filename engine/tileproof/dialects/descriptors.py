"""The shared-memory descriptors that a kernel makes: which operation makes one, of what memory, for which operand.

Two operations do: ``cute.mma.make_fragment`` for A and B of a tiled MMA that reads shared memory, and
``cute_nvgpu.make_umma_smem_desc`` for one tile at a pointer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tileproof.canonical import UNIT, NoDescriptor, NoTiles, Undecided, describe, fitting, operand
from tileproof.dialects.entities import resolve
from tileproof.dialects.signature import parameters, signature
from tileproof.dialects.types import Node
from tileproof.dialects.values import Atom, Descriptor, Pointer, Tensor, TiledMma, element_bits, read_type
from tileproof.facts import Facts, MalformedAtom, atom_facts
from tileproof.ir import Alias, Operation
from tileproof.layout import crd2idx, is_static_layout, size
from tileproof.layout.values import ComposedLayout, Layout, Swizzle
from tileproof.rule import Rulebook, Scalar
from tileproof.source import Span
from tileproof.syntax import SyntaxFault
from tileproof.syntax.layouts import layout as parse_layout


@dataclass(frozen=True, slots=True)
class Made:
    """An operation that makes a descriptor.

    Attributes:
        atom: the type of the tiled MMA, free of aliases; empty where the operation has none.
        operand: ``A`` or ``B``; None where the operation does not say.
        word: the packed word that it makes.
        major: ``.k`` or ``.mn``.
        extents: rows and columns that one instruction reads.
        pointer: where the operand is.
        layout: of the memory, in elements.
        view: the layout of the descriptors as declared, in units of 16 bytes.
        absolute: whether LBO is an address instead of a distance.
        span: the type of the memory.
    """

    operation: Operation
    atom: str
    operand: str | None
    word: str
    major: str
    extents: tuple[int, int]
    pointer: Pointer
    layout: Layout | ComposedLayout
    view: Layout | None
    absolute: bool
    span: Span

    @property
    def bits(self) -> int:
        """The bits of an element in shared memory."""
        return element_bits(self.pointer.element) or 8

    @property
    def swizzle(self) -> Swizzle | None:
        """The swizzle of the pointer."""
        return self.pointer.swizzle


def made(book: Rulebook, operations: Iterable[Operation], aliases: dict[str, Alias]) -> Iterator[Made]:
    """The operations that make descriptors, in order; those whose types cannot be read are left out."""
    for operation in operations:
        if operation.name == "cute.mma.make_fragment":
            found = _fragment(book, operation, aliases)
        elif operation.name == "cute_nvgpu.make_umma_smem_desc":
            found = _at_pointer(operation, aliases)
        else:
            continue
        if found is not None:
            yield found


def _fragment(book: Rulebook, operation: Operation, aliases: dict[str, Alias]) -> Made | None:
    written = signature(operation)
    if written.operands is None or len(written.operands) != 2 or not written.results:
        return None
    mma, memory = (read_type(resolve(use.text, aliases)) for use in written.operands)
    result = read_type(resolve(written.results[0].text, aliases))
    role = {"0": "A", "1": "B"}.get(dict(parameters(operation)).get("operand_id", "").partition(" ")[0])
    match mma, memory, result:
        case (
            TiledMma(),
            Tensor(Pointer(space="smem") as pointer, layout),
            Tensor(Descriptor(), Layout() as view),
        ) if role is not None and element_bits(pointer.element) is not None:
            known = operand_of(book, mma.atom.node, role)
            if known is None:
                return None
            word, major, extents = known
            span, text = written.operands[1].span, resolve(written.operands[0].text, aliases)
            return Made(operation, text, role, word, major, extents, pointer, layout, view, absolute=False, span=span)
    return None


def operand_of(book: Rulebook, atom: Node, role: str) -> tuple[str, str, tuple[int, int]] | None:
    """The word, the major and the extents of A or B of an atom; None for one that has no descriptors."""
    declaration = book.atoms.get(atom.text.lstrip("!"))
    member = book.enums["atom"].by_spelling.get(atom.text.lstrip("!"))
    row = book.tables["operand_descriptor", "ptx"].rows.get((member or "",))
    if declaration is None or row is None:
        return None
    try:
        facts = atom_facts(book, declaration, atom, 0).values
    except MalformedAtom:
        return None
    rows, columns = facts.get("M" if role == "A" else "N"), facts.get("K")
    ctas = facts.get("ctas", 1)
    major = facts.get("a.major" if role == "A" else "b.major")
    if not all(isinstance(n, int) and n > 0 for n in (rows, columns, ctas)) or not isinstance(major, str):
        return None
    assert isinstance(rows, int) and isinstance(columns, int) and isinstance(ctas, int)
    if role == "A" and facts.get("sparse") == ".yes":
        columns //= 2
    return str(row[0]), major, (rows // ctas, columns)


_LAYOUT = re.compile(r'layout\s*=\s*(?:#cute\.layout)?<"([^"]*)">')
_MAJOR = re.compile(r"major\s*=\s*(?:#cute_nvgpu\.\w+)?<(k|mn)>")
_TYPED = re.compile(r"%[\w#]+ : (!cute\.ptr<(?:[^<>]|<[^<>]*>)*>|![\w.]+)")  # an operand of the custom form


def _at_pointer(operation: Operation, aliases: dict[str, Alias]) -> Made | None:
    text = " ".join(operation.pieces)
    layout, major = _LAYOUT.search(text), _MAJOR.search(text)
    uses = [use.text for use in operation.inputs] or _TYPED.findall(text)
    if not uses or layout is None or major is None:
        return None
    pointer = read_type(resolve(uses[0], aliases))
    try:
        value = parse_layout(layout[1])
    except SyntaxFault:
        return None
    if not isinstance(pointer, Pointer) or not isinstance(value, Layout) or element_bits(pointer.element) is None:
        return None
    first = value.shape[0] if isinstance(value.shape, tuple) and len(value.shape) == 1 else value.shape
    match first:
        case (int() as rows, int() as columns):
            extents = (rows, columns)
        case _:
            return None
    span = operation.inputs[0].span if operation.inputs else operation.name_span
    return Made(
        operation, "", None, "tcgen05.descriptor", "." + major[1], extents, pointer, value, None, len(uses) > 1, span
    )


def operand_facts(book: Rulebook, contract: str, one: Made) -> Facts:
    """What the rules on operands in shared memory judge."""
    generation = "." + one.word.partition(".")[0]
    values: dict[str, Scalar] = {"generation": generation, "major": one.major, "alignment": one.pointer.alignment // 8}
    values["operand"] = f".{one.operand.lower()}" if one.operand else ".unnamed"
    spelled: dict[str, str] = {}
    try:
        found = operand(book, one.layout, one.bits, one.extents, one.swizzle)
    except NoTiles as error:
        values["tiled"], spelled["tiled"] = ".no", str(error)
        return Facts("smem_operand", values, spelled, {}, one.span)
    except NoDescriptor as error:
        values["known"], spelled["known"] = ".no", str(error)
        return Facts("smem_operand", values, spelled, {}, one.span)
    values["known"], values["swizzle"] = ".yes", found.tile.swizzle
    try:
        describe(book, contract, one.word, found.tile, one.major)
        values["canonical"] = ".yes"
    except NoDescriptor as error:
        others = [f"{major}-major, swizzle {swizzle}" for major, swizzle in fitting(book, found.tile)]
        it_is = f"; it is the canonical layout for {' and for '.join(others)}" if others else ""
        values["canonical"], spelled["canonical"] = ".no", f"{error}{it_is}"
    except Undecided:
        pass
    try:
        view = found.view
        values["whole_steps"] = ".yes"
        tiles = size(view) if view is not None and is_static_layout(view) else None
        if view is not None and isinstance(tiles, int) and isinstance(last := crd2idx(tiles - 1, view), int):
            values["reach"] = last * UNIT
    except NoDescriptor as error:
        values["whole_steps"], spelled["whole_steps"] = ".no", str(error)
    return Facts("smem_operand", values, spelled, {}, one.span)


def atom_node(text: str) -> Node | None:
    """The MMA atom in the text of a type: of an atom itself or of a tiled MMA."""
    found = read_type(text)
    if isinstance(found, TiledMma):
        found = found.atom
    return found.node if isinstance(found, Atom) else None
