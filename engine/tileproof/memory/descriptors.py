"""The shared-memory descriptors that a kernel makes: which operation makes one, of what memory, for which operand.

Two operations do: ``cute.mma.make_fragment`` for A and B of a tiled MMA that reads shared memory, and
``cute_nvgpu.make_umma_smem_desc`` for one tile at a pointer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tileproof.base.patterns import regex
from tileproof.base.records import dataclass, replace
from tileproof.base.source import Span
from tileproof.descriptors.canonical import NoDescriptor, NoTiles, Undecided, describe, fitting, operand
from tileproof.dialects.configuration import Facts
from tileproof.dialects.facts import MalformedAtom, atom_facts
from tileproof.dialects.operands import resolve
from tileproof.dialects.operations import Operations
from tileproof.dialects.values import Atom, Descriptor, Pointer, Tensor, TiledMma, element_bits, read_type
from tileproof.layout import crd2idx, is_static_layout, size
from tileproof.layout.values import ComposedLayout, Layout, Swizzle
from tileproof.memory.origins import definitions
from tileproof.memory.pointers import Places
from tileproof.mlir.ir import Alias, Operation
from tileproof.mlir.scopes import walk
from tileproof.mlir.signature import parameters, signature
from tileproof.mlir.types import Node
from tileproof.rulebase.book import Rulebook, Ruleset
from tileproof.rulebase.expression import Scalar
from tileproof.syntax import SyntaxFault
from tileproof.syntax.layouts import layout as parse_layout


@dataclass(frozen=True, slots=True)
class Made:
    """An operation that makes a descriptor.

    Attributes:
        atom: the type of the tiled MMA, free of aliases; empty where the operation has none.
        operand: ``A`` or ``B``; None where no MMA is known to read it.
        word: the packed word that it makes.
        major: ``.k`` or ``.mn``.
        extents: rows and columns that the descriptor covers.
        pointer: where the operand is.
        layout: of the memory, in elements.
        view: the layout of the descriptors as declared, in units of 16 bytes.
        absolute: whether LBO is an address instead of a distance.
        whole: the alignment in bytes of the view that the operand is a part of, or its own: where its swizzle begins.
        mismatch: how the atom that reads it reads something else; None where it does not.
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
    whole: int
    mismatch: str | None = None

    @property
    def bits(self) -> int:
        """The bits of an element in shared memory."""
        return element_bits(self.pointer.element) or 8

    @property
    def swizzle(self) -> Swizzle | None:
        """The swizzle of the pointer."""
        return self.pointer.swizzle


def made(book: Rulebook, operations: Sequence[Operation], aliases: dict[str, Alias]) -> Iterator[Made]:
    """The operations that make descriptors, in order; those whose types cannot be read are left out.

    Args:
        operations: of the module, at the top level.
    """
    readers: dict[int, tuple[str, str]] | None = None
    known = Operations.of(book)
    places = Places(known, aliases)
    for operation, scope in walk(operations):
        if operation.name == "cute.mma.make_fragment":
            found = _fragment(book, operation, aliases)
        elif operation.name == _AT_POINTER:
            if readers is None:
                readers = _readers(known, operations, aliases)
            found = _at_pointer(book, operation, aliases, readers.get(id(operation)))
        else:
            continue
        if found is not None:
            memory = places.of(operation.operands[0 if found.view is None else 1], scope)
            view = memory.view if memory is not None and memory.swizzle == found.swizzle else None
            yield found if view is None else replace(found, whole=max(view.alignment, found.whole))


def _readers(
    known: Operations, operations: Sequence[Operation], aliases: dict[str, Alias]
) -> dict[int, tuple[str, str]]:
    """The MMA that reads each descriptor made at a pointer: the type of its atom, and ``A`` or ``B``."""
    found: dict[int, tuple[str, str]] = {}
    for operation, scope in walk(operations):
        groups = operation.groups
        if known.step(operation.name) != "mma" or len(groups) != 5 or sum(groups) != len(operation.operands):
            continue
        first = sum(groups[:2])
        for role, index in (("A", first), ("B", first + groups[2])):
            for origin in definitions(operation.operands[index], scope, known):
                if not origin.argument and origin.operation.name == _AT_POINTER:
                    atom = resolve(operation.inputs[0].text, aliases)
                    found.setdefault(id(origin.operation), (atom, role))
                    break
    return found


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
            whole = pointer.alignment // 8
            return Made(operation, text, role, word, major, extents, pointer, layout, view, False, span, whole)
    return None


def operand_of(book: Rulebook, atom: Node, role: str) -> tuple[str, str, tuple[int, int]] | None:
    """The word, the major and the extents of A or B of an atom; None for one that has no descriptors."""
    declaration = book.atoms.get(atom.text.lstrip("!"))
    member = book.enums["atom"].by_spelling.get(atom.text.lstrip("!"))
    row = book.shared_table("operand_descriptor").rows.get((member or "",))
    if declaration is None or row is None or not row[0]:
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


_AT_POINTER = "cute_nvgpu.make_umma_smem_desc"
_LAYOUT = regex(r'layout\s*=\s*(?:#cute\.layout)?<"([^"]*)">')
_MAJOR = regex(r"major\s*=\s*(?:#cute_nvgpu\.\w+)?<(k|mn)>")
_TYPED = regex(r"%[\w#]+ : (!cute\.ptr<(?:[^<>]|<[^<>]*>)*>|![\w.]+)")  # an operand of the custom form


def _at_pointer(
    book: Rulebook, operation: Operation, aliases: dict[str, Alias], reader: tuple[str, str] | None
) -> Made | None:
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
    bits = element_bits(pointer.element) if isinstance(pointer, Pointer) else None
    if not isinstance(pointer, Pointer) or not isinstance(value, Layout) or bits is None:
        return None
    first = value.shape[0] if isinstance(value.shape, tuple) and len(value.shape) == 1 else value.shape
    match first:
        case (int() as rows, int() as columns):
            extents = (rows, columns)
        case _:
            return None
    span = operation.inputs[0].span if operation.inputs else operation.name_span
    atom, role = reader if reader is not None else ("", None)
    found = Made(
        operation,
        atom,
        role,
        "tcgen05.descriptor",
        "." + major[1],
        extents,
        pointer,
        value,
        None,
        absolute=len(uses) > 1,
        span=span,
        whole=pointer.alignment // 8,
    )
    return found if reader is None else replace(found, mismatch=_mismatch(book, found, *reader))


def _mismatch(book: Rulebook, one: Made, atom: str, role: str) -> str | None:
    """The mismatch of an operand of an atom with a descriptor: rows, bytes of K, and the major."""
    node = atom_node(atom)
    known = operand_of(book, node, role) if node is not None else None
    width = _operand_bits(book, node, role) if node is not None else None
    if known is None or width is None:
        return None
    _, major, (rows, columns) = known
    if one.extents[0] != rows:
        return f"the atom reads {rows} rows of {role}, the descriptor has {one.extents[0]}"
    if major != one.major:
        return f"the atom reads {role} {major[1:].upper()}-major, the descriptor is {one.major[1:].upper()}-major"
    if columns * width % (one.extents[1] * one.bits):
        whole, part = columns * width / 8, one.extents[1] * one.bits / 8
        return f"the atom reads {whole:g} bytes of K, which is not a multiple of the descriptor's {part:g}"
    return None


def _operand_bits(book: Rulebook, atom: Node, role: str) -> int | None:
    """The bits of an element of A or B in shared memory, at least: those of FP6 always have a byte each."""
    declaration = book.atoms[atom.text.lstrip("!")]
    spelled = atom_facts(book, declaration, atom, 0).spelled.get("a.type" if role == "A" else "b.type", "")
    bits = element_bits(spelled)
    return None if bits is None else 1 << (bits - 1).bit_length()


def operand_facts(ruleset: Ruleset, one: Made) -> Facts:
    """The facts for the rules on operands in shared memory."""
    generation = "." + one.word.partition(".")[0]
    values: dict[str, Scalar] = {"generation": generation, "major": one.major}
    values |= {"alignment": one.pointer.alignment // 8, "whole_alignment": one.whole}
    values["operand"] = f".{one.operand.lower()}" if one.operand else ".unnamed"
    elements, spelled = _elements(ruleset.book, one)
    values |= elements
    if one.mismatch is not None:
        values["read_so"], spelled["read_so"] = ".no", one.mismatch
    try:
        found = operand(ruleset.book, one.layout, one.bits, one.extents, one.swizzle)
    except NoTiles as error:
        values["tiled"], spelled["tiled"] = ".no", str(error)
        return Facts("smem_operand", values, spelled, {}, one.span)
    except NoDescriptor as error:
        values["known"], spelled["known"] = ".no", str(error)
        return Facts("smem_operand", values, spelled, {}, one.span)
    values["known"], values["swizzle"] = ".yes", found.tile.swizzle
    try:
        describe(ruleset, one.word, found.tile, one.major)
        values["canonical"] = ".yes"
    except NoDescriptor as error:
        others = [f"{major}-major, swizzle {swizzle}" for major, swizzle in fitting(ruleset.book, found.tile)]
        it_is = f"; it is the canonical layout for {' and for '.join(others)}" if others else ""
        values["canonical"], spelled["canonical"] = ".no", f"{error}{it_is}"
    except Undecided:
        pass
    try:
        view = found.view
        values["whole_steps"] = ".yes"
        tiles = size(view) if view is not None and is_static_layout(view) else None
        if view is not None and isinstance(tiles, int) and isinstance(last := crd2idx(tiles - 1, view), int):
            values["reach"] = last * found.unit
    except NoDescriptor as error:
        values["whole_steps"], spelled["whole_steps"] = ".no", str(error)
    return Facts("smem_operand", values, spelled, {}, one.span)


def atom_node(text: str) -> Node | None:
    """The MMA atom in the text of a type: of an atom itself or of a tiled MMA."""
    found = read_type(text)
    if isinstance(found, TiledMma):
        found = found.atom
    return found.node if isinstance(found, Atom) else None


def _elements(book: Rulebook, one: Made) -> tuple[dict[str, Scalar], dict[str, str]]:
    """The element of the memory and the one as which the atom reads it, where both are known."""
    node = atom_node(one.atom) if one.operand is not None else None
    declaration = book.atoms.get(node.text.lstrip("!")) if node is not None else None
    held = book.enums["element"].by_spelling.get(one.pointer.element)
    if node is None or declaration is None or held is None or one.operand is None:
        return {}, {}
    try:
        facts = atom_facts(book, declaration, node, 0)
    except MalformedAtom:
        return {}, {}
    name = f"{one.operand.lower()}.type"
    if name not in facts.values:
        return {}, {}
    spelled = {"held": one.pointer.element, "type": facts.spelled.get(name, str(facts.values[name])[1:])}
    return {"held": held, "type": facts.values[name]}, spelled
