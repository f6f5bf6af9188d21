"""The place of a value in shared memory: the allocation, the offset from its start, and the layout there.

A kernel allocates shared memory, offsets a pointer into it, gives the pointer a swizzle and a layout, and then cuts,
groups and partitions that *view* until one thread or one instruction has its part. The parts keep the view's swizzle.
The place of a part in the view is often a run-time value; that of the view itself hardly ever is. So a
place remembers both: the view, and, where it is known, its own start.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import gcd, lcm

from tileproof.base.patterns import regex
from tileproof.base.records import dataclass, field, replace
from tileproof.dialects.operands import resolve
from tileproof.dialects.operations import Operations
from tileproof.dialects.values import Algebraic, Pointer, Tensor, element_bits, read_type
from tileproof.layout import LayoutError, cosize, crd2idx, is_static_layout
from tileproof.layout.tuples import is_static_tuple, leaves
from tileproof.layout.values import ComposedLayout, Dynamic, Layout, Swizzle, Tuple
from tileproof.memory.multiples import multiple_of
from tileproof.memory.origins import definitions
from tileproof.mlir.ir import Alias, Operation
from tileproof.mlir.scopes import Scope


@dataclass(frozen=True, slots=True)
class View:
    """A layout given to a pointer.

    Attributes:
        start: bytes from the start of the allocation; None if it is a run-time value.
        size: bytes that it spans; None where that is not static.
        swizzle: of byte addresses; one that swizzles nothing is None.
        alignment: of its first address, in bytes, as its type promises.
    """

    layout: Layout | ComposedLayout
    bits: int
    start: int | None
    size: int | None
    swizzle: Swizzle | None
    alignment: int

    def overlaps(self, other: View) -> bool | None:
        """Whether two views of one allocation have a byte in common; None where that is not known."""
        if None in (self.start, self.size, other.start, other.size):
            return None
        assert self.start is not None and self.size is not None and other.start is not None and other.size is not None
        return self.start < other.start + other.size and other.start < self.start + self.size


@dataclass(frozen=True, slots=True)
class Place:
    """A pointer, or a tensor, in shared memory.

    Attributes:
        base: bytes from the start of the allocation, as far as they are static.
        step: run-time multiples of so many bytes come on top; 0 where there are none.
        view: the view it is a part of; None for a pointer without a layout.
    """

    allocation: Operation
    base: int
    step: int
    swizzle: Swizzle | None
    view: View | None

    @property
    def start(self) -> int | None:
        """Bytes from the start of the allocation; None if it is a run-time value."""
        return None if self.step else self.base

    def moved(self, by: int, step: int = 0) -> Place:
        """The place so many bytes further, and some multiple of ``step`` bytes."""
        return replace(self, base=self.base + by, step=gcd(self.step, step))


@dataclass(frozen=True, slots=True)
class Field:
    """A part of an allocation that the kernel's author declared."""

    name: str
    size: int
    start: int

    @property
    def end(self) -> int:
        """The byte after the last one."""
        return self.start + self.size


_FROM_OPERAND = "-2147483648"  # among the constant indices of a getelementptr: this one is an operand
_FIELD = regex(r'"([^":]*):(\d+):(\d+)"')


def fields_of(allocation: Operation) -> tuple[Field, ...]:
    """The fields of an allocation that is declared as a struct, those without bytes left out."""
    written = allocation.attribute("smem.struct_fields")
    found = _FIELD.findall(written.text) if written is not None else []
    return tuple(Field(name, int(size), int(start)) for name, size, start in found if int(size))


def size_of(allocation: Operation, aliases: dict[str, Alias]) -> int | None:
    """The bytes of an allocation; None where they are not static."""
    for use in (*allocation.outputs, *allocation.inputs):
        match read_type(resolve(use.text, aliases)):
            case Tensor(Pointer(space="smem", element=element), layout):
                return _size(layout, element_bits(element) or 8)
    return None


def byte_alignment(allocation: Operation, aliases: dict[str, Alias]) -> int | None:
    """The alignment of an allocation in bytes, as its type promises; None where that cannot be read."""
    for use in (*allocation.outputs, *allocation.inputs):
        match read_type(resolve(use.text, aliases)):
            case Tensor(Pointer(space="smem", alignment=alignment)):
                return alignment // 8
    return None


def byte_swizzle(memory: Pointer | Tensor) -> Swizzle | None:
    """The swizzle of the addresses that a pointer or a layout makes, on bytes; None where there is none."""
    pointer = memory.iterator if isinstance(memory, Tensor) else memory
    assert isinstance(pointer, Pointer), "shared memory is reached through a pointer"
    if pointer.swizzle is not None and pointer.swizzle.bits:
        return pointer.swizzle
    inner = memory.layout.inner if isinstance(memory, Tensor) and isinstance(memory.layout, ComposedLayout) else None
    if isinstance(inner, Swizzle) and inner.bits:
        return Swizzle(inner.bits, inner.base + (element_bits(pointer.element) or 8).bit_length() - 4, inner.shift)
    return None


@dataclass(slots=True)
class Places:
    """The places of the values of one module, each followed once."""

    operations: Operations
    aliases: dict[str, Alias]
    known: dict[tuple[int, int], Place | None] = field(default_factory=dict)

    def of(self, name: str, scope: Scope) -> Place | None:
        """The place of a value; None for one that is not in shared memory, or that comes from somewhere unknown."""
        chain: list[tuple[Operation, int]] = []
        place: Place | None = None
        for origin in definitions(name, scope, self.operations):
            if origin.argument:
                break
            key = (id(origin.operation), origin.index)
            if key in self.known:
                place = self.known[key]
                break
            chain.append((origin.operation, origin.index))
        for operation, index in reversed(chain):
            place = self._step(operation, place, scope)
            self.known[id(operation), index] = place
        return place

    def _step(self, operation: Operation, before: Place | None, scope: Scope) -> Place | None:
        """The place of an operation's result, given that of the operand it lies in."""
        if before is None:
            return _allocated(operation, self.aliases) if self.operations.step(operation.name) == "allocate" else None
        moves = self.operations.moves(operation)
        if moves in ("offset", "element"):
            return before.moved(*(self._offset(operation, scope) if moves == "offset" else _element(operation, scope)))
        if moves == "swizzled":
            found = re.search(r"S<(\d+),(-?\d+),(-?\d+)>", operation.pieces[0])
            return replace(before, swizzle=Swizzle(*map(int, found.groups())) if found else before.swizzle, view=None)
        if moves == "part":
            return before if self._coordinate(operation) == 0 else before.moved(0, 1)
        result = self._result(operation)
        match result:
            case Pointer(space="smem") if moves == "retyped":
                swizzle = byte_swizzle(result)
                return before if swizzle == before.swizzle else replace(before, swizzle=swizzle, view=None)
            case Tensor(Pointer(space="smem")) if moves == "view":
                return self._viewed(before, result)
        if moves == "slice":
            return before.moved(*self._sliced(operation))
        return before

    def _viewed(self, before: Place, tensor: Tensor) -> Place:
        """A layout given to a pointer: a view, unless the pointer is somewhere inside of one."""
        assert isinstance(tensor.iterator, Pointer)
        inside = before.view is not None and (before.start is None or before.start != before.view.start)
        if inside:
            return before
        bits = element_bits(tensor.iterator.element) or 8
        swizzle = byte_swizzle(tensor)
        offset = tensor.layout.offset if isinstance(tensor.layout, ComposedLayout) else 0
        before = before.moved(offset * bits // 8) if isinstance(offset, int) else before.moved(0, 1)
        alignment = tensor.iterator.alignment // 8
        if before.view is not None:  # begins where this one does
            alignment = max(alignment, before.view.alignment)
        view = View(tensor.layout, bits, before.start, _size(tensor.layout, bits), swizzle, alignment)
        return replace(before, swizzle=swizzle, view=view)

    def _sliced(self, operation: Operation) -> tuple[int, int]:
        """How far into a tensor its part at a coordinate begins: bytes, and of what the rest is a multiple."""
        memory, coordinate = self._type(operation, 0), self._coordinate(operation)
        if coordinate is None or not isinstance(memory, Tensor) or not isinstance(memory.iterator, Pointer):
            return 0, 1
        layout = memory.layout.outer if isinstance(memory.layout, ComposedLayout) else memory.layout
        if not is_static_layout(layout):
            return 0, 1
        try:
            offset, step = _begins(coordinate, layout)
        except LayoutError:
            return 0, 1
        bits = element_bits(memory.iterator.element) or 8
        return offset * bits // 8, step * bits // 8 or min(step, 1)

    def _coordinate(self, operation: Operation) -> Tuple | None:
        """The coordinate of the part that an operation cuts out, as its type says; None where that is not written."""
        by = self.operations.aliasing[operation.name].by
        found = None if by is None else self._type(operation, by)
        if not isinstance(found, Algebraic) or isinstance(found.value, Layout | ComposedLayout | Swizzle):
            return None
        return found.value  # type: ignore[return-value]

    def _offset(self, operation: Operation, scope: Scope) -> tuple[int, int]:
        """The bytes by which an operation moves a pointer: a static part, and of what the rest is a multiple."""
        pointer, offset = self._type(operation, 0), self._coordinate(operation)
        if not isinstance(pointer, Pointer):
            return 0, 1
        width = element_bits(pointer.element) or 8
        if isinstance(offset, int):
            return offset * width // 8, 0
        base, step = multiple_of(operation.operands[1], scope) if len(operation.operands) > 1 else (0, 1)
        if isinstance(offset, Dynamic):
            step = lcm(step, offset.div) if not base else step
        return base * width // 8, step * width // 8 or 1

    def _type(self, operation: Operation, index: int) -> object:
        return read_type(resolve(operation.inputs[index].text, self.aliases)) if index < len(operation.inputs) else None

    def _result(self, operation: Operation) -> object:
        """The type of the first result: custom forms print it last."""
        uses = operation.outputs or operation.inputs
        if operation.outputs:
            return read_type(resolve(uses[0].text, self.aliases))
        if self.operations.moves(operation) == "slice":  # which prints the types of its operands
            return self._type(operation, 0)
        return read_type(resolve(uses[-1].text, self.aliases)) if uses else None


def _element(operation: Operation, scope: Scope) -> tuple[int, int]:
    """The bytes by which ``llvm.getelementptr`` moves a pointer: a static part, and of what the rest is a multiple."""
    found = re.search(r"\[(%?[\w#-]+)\]", operation.pieces[0])
    index = found[1] if found is not None else ""
    if (raw := operation.attribute("rawConstantIndices")) is not None:
        constants = re.findall(r"-?\d+", raw.text.partition(":")[2])
        index = constants[0] if len(constants) == 1 else ""
        if index == _FROM_OPERAND:
            index = operation.operands[1] if len(operation.operands) == 2 else ""
    element = re.search(r",\s*([fi]\d+|bf16)\s*$", operation.pieces[-1])
    if (named := operation.attribute("elem_type")) is not None:
        element = re.search(r"([fi]\d+|bf16)", named.text)
    if not index or element is None:
        return 0, 1
    width = (element_bits(element[1]) or 8) // 8
    base, step = multiple_of(index, scope) if index[0] == "%" else (int(index), 0)
    return base * width, step * width


def _allocated(operation: Operation, aliases: dict[str, Alias]) -> Place | None:
    for use in (*operation.outputs, *operation.inputs):
        found = read_type(resolve(use.text, aliases))
        if isinstance(found, Tensor) and isinstance(found.iterator, Pointer) and found.iterator.space == "smem":
            return Place(operation, 0, 0, byte_swizzle(found), None)
    return None


def _size(layout: Layout | ComposedLayout, bits: int) -> int | None:
    if not is_static_layout(layout):
        return None
    try:
        elements = cosize(layout)
    except LayoutError:
        return None
    return -(-elements * bits // 8) if isinstance(elements, int) else None


def _begins(coordinate: Tuple, layout: Layout) -> tuple[int, int]:
    """Where the part of a layout at a coordinate begins: a static offset, and of what the rest is a multiple."""
    if isinstance(coordinate, tuple):
        if not isinstance(layout.shape, tuple) or len(coordinate) != len(layout.shape):
            return 0, 1
        assert isinstance(layout.stride, tuple), "one profile"
        offset = step = 0
        for part, shape, stride in zip(coordinate, layout.shape, layout.stride, strict=True):
            more, multiple = _begins(part, Layout(shape, stride))
            offset, step = offset + more, gcd(step, multiple)
        return offset, step
    if isinstance(coordinate, int):
        found = crd2idx(coordinate, layout)
        return (found, 0) if isinstance(found, int) else (0, 1)
    if str(coordinate) == "_":
        return 0, 0
    return 0, gcd(*(abs(stride) for extent, stride in _steps(layout) if extent > 1))


def first_collision(layout: Layout) -> tuple[int, int] | None:
    """Two places of a static layout's domain with one offset, the first of their kind; None where there are none.

    Steps that nest, each longer than all shorter ones reach together, never collide; others are counted out.
    """
    if not is_static_tuple(layout.shape) or not is_static_tuple(layout.stride):
        return None
    steps = sorted((abs(s), e) for e, s in _steps(layout) if e > 1)
    reached = 0
    for stride, extent in steps:
        if stride <= reached:
            break
        reached += stride * (extent - 1)
    else:
        return None
    seen: dict[int, int] = {}
    for index, offset in enumerate(_offsets(layout)):
        if (before := seen.setdefault(offset, index)) != index:
            return before, index
    return None


def _steps(layout: Layout) -> Iterator[tuple[int, int]]:
    for extent, stride in zip(leaves(layout.shape), leaves(layout.stride), strict=True):
        if isinstance(extent, int) and isinstance(stride, int):
            yield extent, stride


def _offsets(layout: Layout) -> Iterator[int]:
    """The offsets in the order of the coordinates, the first mode fastest."""
    found = [0]
    for extent, stride in _steps(layout):
        found = [offset + stride * i for i in range(extent) for offset in found]
    yield from found
