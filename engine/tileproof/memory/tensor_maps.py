"""Tensor maps from the host function that makes them, through the launch, to the arguments of a kernel."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import prod

from tileproof.base.patterns import regex
from tileproof.base.records import dataclass, field
from tileproof.dialects.configuration import Facts
from tileproof.dialects.operands import resolve
from tileproof.dialects.operations import Operations
from tileproof.dialects.values import Algebraic, Atom, read_type
from tileproof.evaluate import hardware
from tileproof.layout.tuples import leaves
from tileproof.layout.values import ComposedLayout, Layout, Swizzle
from tileproof.memory.known_bits import fold
from tileproof.memory.origins import origin_of
from tileproof.mlir.ir import Alias, Operation
from tileproof.mlir.scopes import Origin, Scope, walk
from tileproof.mlir.types import Kind, Node
from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.expression import Scalar
from tileproof.syntax import SyntaxFault
from tileproof.syntax.layouts import layout as parse_layout


@dataclass(frozen=True, slots=True)
class TensorMap:
    """The shared-memory side of a tensor map.

    Attributes:
        swizzle: a member of the enum ``tensor_map_swizzle``; None where it is not known.
        box: extents in elements, the innermost first; None where they are not constants.
        element: a member of the enum ``tensor_map_type``; None where the type is not known.
        bits: of an element as it is copied; ``stored`` as it lies in shared memory.
        moved: the bits of a box, where the type of the atom in the IR says them.
        made: the operation that makes it.
        sized: the operations that say the extents of the box, the innermost first; none where ``made`` does.
    """

    swizzle: str | None
    box: tuple[int, ...] | None
    element: str | None
    bits: int | None
    stored: int | None
    moved: int | None = None
    made: Operation | None = field(default=None, compare=False)
    sized: tuple[Operation, ...] = field(default=(), compare=False)

    @property
    def bytes(self) -> int | None:
        """The bytes of a box in shared memory."""
        return None if self.box is None or self.stored is None else prod(self.box) * self.stored // 8


Arguments = Mapping[tuple[str, int], TensorMap]

_TILED = "cute_nvgpu.atom.make_non_exec_tiled_tma"
_GLOBAL = 2  # the operand of an encoding that is the address in global memory
_CALLEE = regex(r"@[\w$.-]+::@([\w$.-]+)")
_KERNEL = regex(r"@([\w$.-]+)\s*\(")


def kernel_name(operation: Operation) -> str | None:
    """The name of a ``cuda.kernel``."""
    attribute = operation.attribute("sym_name")
    if attribute is not None:
        return attribute.text.strip('"')
    found = _KERNEL.search(operation.pieces[0])
    return found and found[1]


def kernel_arguments(book: Rulebook, operations: Sequence[Operation], aliases: dict[str, Alias]) -> Arguments:
    """The tensor maps that kernels get, by kernel and position; those that two launches disagree about are left out."""
    found: dict[tuple[str, int], TensorMap] = {}
    disagreed: set[tuple[str, int]] = set()
    stores: dict[int, dict[int, _Stored]] = {}
    for operation, scope in walk(operations):
        if operation.name == "llvm.store":
            _remember(book, operation, scope, stores)
        elif operation.name == "cuda.launch_ex":
            callee = _CALLEE.search(operation.pieces[0])
            if callee is None:
                continue
            for position, operand in enumerate(operation.operands[1:]):
                origin = scope.get(operand)
                tensor_map = None if origin is None else _tensor_map(book, origin, scope, aliases, stores)
                key = (callee[1], position)
                if tensor_map is not None and found.setdefault(key, tensor_map) != tensor_map:
                    disagreed.add(key)
    return {key: value for key, value in found.items() if key not in disagreed}


@dataclass(frozen=True, slots=True)
class _Stored:
    """A constant in an array on the host's stack."""

    value: int
    by: Operation


def _remember(book: Rulebook, operation: Operation, scope: Scope, stores: dict[int, dict[int, _Stored]]) -> None:
    """A constant stored into an array on the host's stack: boxes are handed over in such."""
    if len(operation.operands) != 2:
        return
    value, pointer = fold(book, operation.operands[0], scope).value, scope.get(operation.operands[1])
    if pointer is None or pointer.argument:
        return
    index = 0
    if pointer.operation.name == "llvm.getelementptr":
        step = re.search(r"\[(\d+)\]", pointer.operation.pieces[0])
        raw = pointer.operation.attribute("rawConstantIndices")
        if raw is not None:
            step = re.search(r":\s*(\d+)", raw.text)
        base = scope.get(pointer.operation.operands[0]) if pointer.operation.operands else None
        if step is None or base is None:
            return
        index, pointer = int(step[1]), base
    held = stores.setdefault(id(pointer.operation), {})
    if value is None:
        held.pop(index, None)
    else:
        held[index] = _Stored(value, operation)


def _tensor_map(
    book: Rulebook, origin: Origin, scope: Scope, aliases: dict[str, Alias], stores: dict[int, dict[int, _Stored]]
) -> TensorMap | None:
    operation = origin.operation
    if origin.argument:
        return None
    if operation.name == "cuda.tensor_map_encode_tiled" and origin.index == 1 and len(operation.operands) >= 9:
        return _encoded(book, operation, scope, stores)
    if operation.name.startswith(_TILED) and origin.index == 0:
        return _of_atom(book, operation, aliases)
    return None


def mapped(origin: Origin) -> str | None:
    """The value whose global memory a tensor map, as the host makes it, is of; None for any other value."""
    operation = origin.operation
    if origin.argument:
        return None
    if operation.name == "cuda.tensor_map_encode_tiled" and origin.index == 1 and len(operation.operands) > _GLOBAL:
        return operation.operands[_GLOBAL]
    return operation.operands[0] if operation.name.startswith(_TILED) and operation.operands else None


def _encoded(
    book: Rulebook, operation: Operation, scope: Scope, stores: dict[int, dict[int, _Stored]]
) -> TensorMap | None:
    """The map that a call of the driver encodes."""
    kind, rank, swizzle = (fold(book, operation.operands[i], scope).value for i in (0, 1, 8))
    box = scope.get(operation.operands[5])
    extents = stores.get(id(box.operation), {}) if box is not None else {}
    mode = _coded(book, "tensor_map_swizzle", 0, swizzle)
    if mode is None:
        return None
    element = _coded(book, "tensor_map_type", 0, kind)
    known = (
        tuple(extents[i] for i in range(rank)) if rank is not None and all(i in extents for i in range(rank)) else ()
    )
    bits, stored = element_widths(book, element)
    made_by = tuple(one.by for one in known)
    return TensorMap(mode, tuple(one.value for one in known) or None, element, bits, stored, None, operation, made_by)


def _of_atom(book: Rulebook, operation: Operation, aliases: dict[str, Alias]) -> TensorMap | None:
    """The map that the DSL makes: of the layout in shared memory and the type of the atom."""
    mode = None
    for use in operation.inputs:
        match read_type(resolve(use.text, aliases)):
            case Algebraic(value=ComposedLayout(inner=Swizzle() as inner)):
                mode = mode or mode_of(book, inner)
            case Algebraic(value=ComposedLayout(inner=None)) | Algebraic(value=Layout()):
                mode = mode or ".none"
    types = (resolve(use.text, aliases) for use in operation.outputs)
    atom = next((text for text in types if "non_exec" in text), "")
    found = read_type(atom)
    if not isinstance(found, Atom):
        return None if mode is None else TensorMap(mode, None, None, None, None, None, operation)
    text, written, copied = (found.node.parameter(name) for name in ("tma_gbasis", "tma_format", "copy_bits"))
    named = book.enums["tensor_map_format"].by_spelling.get(written.text) if written is not None else None
    row = book.shared_table("tensor_map_format").rows.get((named,)) if named is not None else None
    element = None if row is None else str(row[0])
    moved = int(copied.text) if copied is not None and copied.text.isdecimal() else None
    return TensorMap(mode, _box(text), element, *element_widths(book, element), moved, operation)


def _box(basis: Node | None) -> tuple[int, ...] | None:
    """The extents of a box by the basis that the type of an atom has."""
    texts = [child.text for child in basis.walk() if child.kind is Kind.TEXT] if basis is not None else []
    if len(texts) != 1:
        return None
    try:
        value = parse_layout(texts[0])
    except SyntaxFault:
        return None
    extents = list(leaves(value.shape)) if isinstance(value, Layout) else []
    known = tuple(extent for extent in extents if isinstance(extent, int))
    return known if known and len(known) == len(extents) else None


def element_widths(book: Rulebook, element: str | None) -> tuple[int | None, int | None]:
    """The bits of an element of a tensor map as it is copied, and as it lies in shared memory."""
    row = book.shared_table("tensor_map_type").rows.get((element or "",))
    if row is None:
        return None, None
    _, bits, stored = row
    assert isinstance(bits, int) and isinstance(stored, int)
    return bits, stored


def map_facts(
    book: Rulebook, arguments: Arguments, copies: Callable[[Operation], Sequence[Operation]]
) -> Iterator[Facts]:
    """The tensor maps that kernels get, each by itself: the facts of the schema ``tensor_map``.

    Args:
        copies: those through the map that an operation makes.
    """
    seen: set[int] = set()
    unit = hardware.limit(book, "bulk_bytes")
    for one in arguments.values():
        if one.made is None or id(one.made) in seen:
            continue
        seen.add(id(one.made))
        values: dict[str, Scalar] = {}
        if one.swizzle is not None:
            values["swizzle"] = one.swizzle
        if one.box is not None and one.stored is not None and one.bits is not None:
            values["box"], values["inner"] = prod(one.box) * one.bits, one.box[0] * one.stored // 8
            if one.moved is not None:
                values["moved"] = one.moved
                if (
                    one.box[0] * one.stored % (8 * unit)
                ):  # the DSL may write one extent as several: it is not known then
                    del values["inner"]
        if one.box is not None and one.moved is None:
            values["largest"] = max(one.box)
        inner = values.get("inner")
        wide = isinstance(inner, int) and inner > hardware.widest_row(book)
        spans = {"inner": one.sized[0].name_span} if one.sized and wide else {}
        if one.sized and "largest" in values:
            assert one.box is not None, "sized"
            spans["largest"] = one.sized[one.box.index(max(one.box))].name_span
        boxes, through = ((".box", size.name_span) for size in one.sized[:2]), copies(one.made)
        ends = ((".map", one.made.name_span), *boxes, *((".copy", copy.name_span) for copy in through))
        yield Facts("tensor_map", values, {}, spans, one.made.name_span, ends)


def mode_of(book: Rulebook, swizzle: Swizzle | None) -> str | None:
    """The swizzle of a tensor map that a swizzle on byte addresses is."""
    if swizzle is None or swizzle.bits == 0:
        return ".none"
    for (mode,), row in book.shared_table("smem_swizzle").rows.items():
        if row[:3] == (swizzle.bits, swizzle.base, swizzle.shift):
            return mode
    return None


def _coded(book: Rulebook, table: str, column: int, code: int | None) -> str | None:
    return next((key for (key,), row in book.shared_table(table).rows.items() if row[column] == code), None)


def argument_of(name: str, scope: Scope, operations: Operations) -> tuple[Operation, int] | None:
    """The kernel and the position of the argument that a tensor map or an atom in a kernel comes from."""
    origin = origin_of(name, scope, operations)
    if origin is None or not origin.argument or origin.operation.name != "cuda.kernel":
        return None
    return origin.operation, origin.index
