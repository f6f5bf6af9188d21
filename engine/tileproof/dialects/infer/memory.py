"""Pointers and tensors: making views, moving iterators, slicing, loading and storing."""

from __future__ import annotations

from math import gcd

from tileproof import layout as algebra
from tileproof.base.patterns import regex
from tileproof.base.records import replace
from tileproof.dialects.infer.call import (
    Call,
    Results,
    Unknown,
    infers,
    layout_operand,
    operand,
    tiler_operand,
    tuple_operand,
)
from tileproof.dialects.infer.scalars import signless
from tileproof.dialects.values import (
    Algebraic,
    CoordIterator,
    Descriptor,
    Iterator,
    Pointer,
    Scalar,
    Tensor,
    Type,
    element_bits,
    natural_alignment,
    read_type,
)
from tileproof.layout import LayoutError
from tileproof.layout.leaves import divisor, integer, is_static, multiply_integers
from tileproof.layout.tuples import leaves, product
from tileproof.layout.unswizzle import bits_at, carries
from tileproof.layout.values import (
    ComposedLayout,
    Dynamic,
    Layout,
    Swizzle,
    Tile,
    Tuple,
    Value,
    Wildcard,
    show,
    show_value,
)


@infers("make_view")
def make_view(call: Call) -> Results:
    iterator = operand(call, 0)
    if not isinstance(iterator, Iterator):
        raise Unknown
    return (Tensor(iterator, layout_operand(call, 1)),)


def advance(iterator: Iterator, offset: Tuple) -> Iterator:
    """The iterator moved by an offset in elements: a pointer keeps the alignment that every offset leaves it."""
    match iterator:
        case CoordIterator(start):
            return CoordIterator(algebra.add(start, offset))
        case Descriptor():
            return iterator
        case Pointer(element, space, alignment, swizzle):
            bits = element_bits(element)
            if bits is None:
                raise Unknown
            left = gcd(alignment, divisor(integer(offset)) * bits)
            return Pointer(element, space, left if left % 8 == 0 else natural_alignment(element), swizzle)


@infers("add_offset")
def add_offset(call: Call) -> Results:
    iterator = operand(call, 0)
    if not isinstance(iterator, Iterator):
        raise Unknown
    return (advance(iterator, tuple_operand(call, 1)),)


@infers("derefine")
def derefine(call: Call) -> Results:
    """The same value with less known of it: the result is what is declared, if that is no more than is known."""
    if len(call.declared) != 1:
        return None
    source, result = operand(call, 0), call.declared[0]
    if type(source) is not type(result) or (isinstance(source, Algebraic) and source.kind != kind_of(result)):
        raise LayoutError(f"expects same kind for `src` and `dst`, but got '{source}' and '{result}'")
    match source, result:
        case Algebraic(_, known), Algebraic(_, forgotten):
            _forget(known, forgotten)
        case Pointer(), Pointer():
            _forget_alignment(source, result)
        case Tensor(iterator, layout), Tensor(other, forgotten):
            if isinstance(iterator, Pointer) and isinstance(other, Pointer):
                _forget_alignment(iterator, other)
            elif isinstance(iterator, CoordIterator) and isinstance(other, CoordIterator):
                _forget(iterator.start, other.start)
            _forget(layout, forgotten)
    return call.declared


def kind_of(value: Type) -> str:
    """The kind of a value of the algebra; empty for any other type."""
    return value.kind if isinstance(value, Algebraic) else ""


def _forget_alignment(known: Pointer, forgotten: Pointer) -> None:
    if replace(known, alignment=forgotten.alignment) != forgotten:
        raise LayoutError("expects result equals to source except for alignment")
    if known.alignment % forgotten.alignment:
        raise LayoutError("expects result alignment divides source's divisibility")


def _forget(known: Value, forgotten: Value) -> None:
    """Each leaf may become dynamic, and nothing else may change."""
    for before, after in zip(_tuples(known), _tuples(forgotten), strict=False):
        if not algebra.congruent(before, after):
            raise LayoutError(
                "expects same profile for `src` and `dst`, "
                f"but got src = {show_value(known)}, dst = {show_value(forgotten)}"
            )
        for old, new in zip(leaves(before), leaves(after), strict=True):
            if old != new and is_static(new):
                raise LayoutError(
                    "expects `dst` mode is either dynamic or equal to src, "
                    f"but got src = {show(old)}, dst = {show(new)}"
                )


def _tuples(value: Value) -> tuple[Tuple, ...]:
    """What of a value may be forgotten leaf by leaf."""
    match value:
        case Layout(shape, stride):
            return (shape, stride)
        case ComposedLayout() | Swizzle() | Tile():
            return ()
        case _:
            return (value,)


@infers("recast_iter")
def recast_iter(call: Call) -> Results:
    """The result says what the memory holds from now on; address and alignment stay."""
    if len(call.declared) != 1:
        return None
    source, result = operand(call, 0), call.declared[0]
    if isinstance(source, Pointer) and isinstance(result, Pointer):
        if source.space != result.space and "generic" not in (source.space, result.space):
            raise LayoutError("expects same src/dst address space or one of the src/dst addrspace is generic")
        if -(-source.alignment // 8) != -(-result.alignment // 8):
            raise LayoutError("expects same src/dst alignment")
    return call.declared


@infers("slice")
def slice_(call: Call) -> Results:
    value, coord = operand(call, 0), tuple_operand(call, 1)
    match value:
        case Tensor(iterator, layout):
            return (sliced(iterator, layout, coord),)
        case Algebraic(kind, inside):
            return (Algebraic(kind, algebra.slice(inside, coord)),)
    raise Unknown


def sliced(iterator: Iterator, layout: Layout | ComposedLayout, coord: Tuple) -> Tensor:
    """The part of a tensor that faces the wildcards of a coordinate."""
    if not understood(layout, coord):
        raise Unknown
    kept, offset = algebra.slice_and_offset(layout, coord)
    return Tensor(advance(iterator, offset), kept)


def understood(layout: Layout | ComposedLayout, coord: Tuple) -> bool:
    """Whether the slice of a tensor is one whose result is certain.

    That of a swizzled one is, where it starts inside and no carry can mix the bits of its offset.
    """
    if isinstance(layout, Layout) or not isinstance(layout.inner, Swizzle):
        return True
    shape, stride = layout.outer.shape, layout.outer.stride
    if layout.offset != 0 or not algebra.weakly_congruent(coord, shape) or not _inside(coord, shape):
        return False
    kept, offset = algebra.slice_and_offset(layout.outer, coord)
    start = bits_at(coord, shape, stride)
    if start is None or not isinstance(kept, Layout) or carries(start, kept):
        return False
    # Where the bits and the divisor of the start tell different things of the swizzled one, the dialect says now this,
    # now that.
    return start.swizzled(layout.inner).value() == algebra.apply_swizzle(layout.inner, integer(offset))


def _inside(coord: Tuple, shape: Tuple) -> bool:
    if isinstance(coord, tuple) and isinstance(shape, tuple):
        return all(map(_inside, coord, shape))
    match coord, algebra.product(shape):
        case Wildcard(), _:
            return True
        case int(), int() as extent:
            return 0 <= coord < extent
        case Dynamic(32), _:
            return True
    return False


@infers("dice")
def dice(call: Call) -> Results:
    coord = tuple_operand(call, 1) if len(call.operands) > 1 else call.tuple_text("coord")
    if coord is None:
        raise Unknown
    match operand(call, 0):
        case Tensor(iterator, layout):
            return (Tensor(iterator, algebra.dice(layout, coord)),)  # type: ignore[arg-type]
        case Algebraic(kind, inside):
            return (Algebraic(kind, algebra.dice(inside, coord)),)
    raise Unknown


@infers("local_tile")
def local_tile(call: Call) -> Results:
    value, tiler, coord = operand(call, 0), tiler_operand(call, 1), tuple_operand(call, 2)
    projection = call.tuple_text("proj")
    if not isinstance(value, Tensor):
        raise Unknown
    layout, offset = algebra.local_tile(value.layout, tiler, coord, projection)
    return (Tensor(advance(value.iterator, offset), layout),)


@infers("local_partition")
def local_partition(call: Call) -> Results:
    value, tiler, index = operand(call, 0), layout_operand(call, 1), operand(call, 2)
    if not isinstance(value, Tensor) or not isinstance(tiler, Layout) or not isinstance(index, Scalar):
        raise Unknown
    signless(2, index)
    layout, offset = algebra.local_partition(value.layout, tiler, Dynamic(index.width, index.div))
    return (Tensor(advance(value.iterator, offset), layout),)


@infers("apply_swizzle")
def apply_swizzle(call: Call) -> Results:
    """The same pointer with other bits: its type does not tell."""
    if not isinstance(operand(call, 0), Pointer):
        raise Unknown
    return (operand(call, 0),)


@infers("load_scaled_index")
def load_scaled_index(call: Call) -> Results:
    """A pointer moved by an unknown number of strides."""
    pointer, stride = operand(call, 0), tuple_operand(call, 3)
    if not isinstance(pointer, Pointer):
        raise Unknown
    return (advance(pointer, multiply_integers(Dynamic(), integer(stride))),)


_STORABLE = "failed to verify that storable type matches pointer type"


@infers("ptr.load")
def load_pointer(call: Call) -> Results:
    pointer = operand(call, 0)
    if not isinstance(pointer, Pointer):
        raise Unknown
    if call.declared and str(call.declared[0]) != pointer.element:
        raise LayoutError(_STORABLE)
    return (read_type(pointer.element),)


@infers("ptr.store")
def store_pointer(call: Call) -> Results:
    """Nothing; but the value is of the type pointed to."""
    pointer = operand(call, 1)
    if not isinstance(pointer, Pointer):
        raise Unknown
    if str(operand(call, 0)) != pointer.element:
        raise LayoutError(_STORABLE)
    return ()


def _memory(call: Call, index: int) -> tuple[Pointer, Layout | ComposedLayout]:
    match operand(call, index):
        case Tensor(Pointer() as pointer, layout):
            return pointer, layout
    raise Unknown


@infers("memref.load")
def load(call: Call) -> Results:
    pointer, layout = _memory(call, 0)
    coord = operand(call, 1)
    if isinstance(coord, Algebraic) and not algebra.weakly_congruent(tuple_operand(call, 1), algebra.get_shape(layout)):
        raise LayoutError(f"expects coordinate to be weakly congruent to the layout, but got '{coord}'")
    return (read_type(pointer.element),)


@infers("memref.store")
def store(call: Call) -> Results:
    """Nothing; but the value is of the element type."""
    pointer, _ = _memory(call, 0)
    if str(operand(call, 2)) != pointer.element:
        raise LayoutError(
            "failed to verify that Store value type must match the memref element type, "
            f"but got '{operand(call, 2)}' for '{operand(call, 0)}'"
        )
    return ()


@infers("memref.load_vec")
def load_vec(call: Call) -> Results:
    pointer, layout = _memory(call, 0)
    count = algebra.size(layout)
    if not isinstance(count, int):
        raise Unknown
    return (read_type(f"vector<{count}x{pointer.element}>"),)


_VECTOR = regex(r"vector<(\d{1,9})x([\w.!<>]+)>")


@infers("reduce")
def reduce(call: Call) -> Results:
    """One element; with a profile the modes that face its wildcards, as a vector and its shape."""
    vector, shape, initial = operand(call, 0), tuple_operand(call, 1), operand(call, 2)
    found = _VECTOR.fullmatch(str(vector))
    if found is None:
        raise Unknown
    count, element = int(found[1]), found[2]
    if str(initial) != element:
        raise LayoutError("failed to verify that initial value type matchs input vector element type")
    if product(shape) != count:
        raise LayoutError(f"input vector '{vector}' size does not match input shape '{call.operands[1]}'")
    profile = call.tuple_text("reduction_profile")
    if profile is None:
        return (read_type(element),)
    if not isinstance(profile, tuple):
        return (vector, Algebraic("shape", shape))
    try:
        kept = algebra.slice(shape, profile)
    except LayoutError:
        text = f'#cute.coord<"{show(profile)}">'
        raise LayoutError(
            f"reduction profile {text} is not weakly congruent with input shape '{call.operands[1]}'"
        ) from None
    if kept == ():
        return (read_type(element),)
    return (read_type(f"vector<{product(kept)}x{element}>"), Algebraic("shape", kept))  # type: ignore[arg-type]


_ALLOCATED = ("generic", "rmem", "smem")


@infers("memref.alloca")
def alloca(call: Call) -> Results:
    """Memory of the declared type; what is dynamic in its layout comes with an operand."""
    if len(call.declared) != 1:
        raise Unknown
    (result,) = call.declared
    if not isinstance(result, Tensor) or not isinstance(result.iterator, Pointer):
        raise Unknown
    if result.iterator.space not in _ALLOCATED:
        raise LayoutError(f"result #0 must be memref in generic or register mem or smem, but got '{result}'")
    if not call.operands:
        outer = result.layout.outer if isinstance(result.layout, ComposedLayout) else result.layout
        if not algebra.is_static_layout(outer):
            raise LayoutError("layout operand must be provided when memref type has dynamic layout")
        return call.declared
    if layout_operand(call, 0) != result.layout:
        raise LayoutError("failed to verify that layout of result matches operand layout")
    return call.declared


@infers("memref.store_vec")
def store_vec(call: Call) -> Results:
    """Nothing; but the vector has the elements that the memory has."""
    pointer, layout = _memory(call, 1)
    count = algebra.size(layout)
    if not isinstance(count, int):
        raise LayoutError(f"operand #1 must be static shape, but got '{operand(call, 1)}'")
    if str(operand(call, 0)) != f"vector<{count}x{pointer.element}>":
        raise LayoutError("failed to verify that value type matches memref 1D vector type")
    return ()
