"""Constructors: the result says what is static, the operands fill in what is dynamic, from left to right."""

from __future__ import annotations

from tileproof import layout as algebra
from tileproof.dialects.infer.call import (
    Call,
    Results,
    Unknown,
    infers,
    layout_operand,
    of_layout,
    operand,
    tuple_operand,
)
from tileproof.dialects.values import Algebraic, CoordIterator, Scalar, Tensor, Type
from tileproof.layout import LayoutError
from tileproof.layout.tuples import leaves, transform
from tileproof.layout.values import Basis, ComposedLayout, Dynamic, Layout, Leaf, Swizzle, Tile, Tuple, Value


def _leaf(value: Type) -> Dynamic:
    """What an operand contributes to a dynamic leaf."""
    match value:
        case Scalar(width, div):
            return Dynamic(width, div)
        case Algebraic("int_tuple", Dynamic() as leaf):
            return leaf
    raise Unknown


def _filled(value: Value, leaf: list[Dynamic]) -> Value:
    """The value with its dynamic leaves replaced, from left to right, shapes before strides."""

    def replace(old: Leaf) -> Leaf:
        if isinstance(old, Dynamic):
            return leaf.pop(0)
        if isinstance(old, Basis) and isinstance(old.value, Dynamic):
            return Basis(leaf.pop(0), old.path)
        return old

    match value:
        case Layout(shape, stride):
            return Layout(transform(replace, shape), transform(replace, stride))
        case Tile(modes):
            return Tile(tuple(_filled(mode, leaf) for mode in modes))  # type: ignore[misc]
        case tuple() | int() | Dynamic() | Basis():
            return transform(replace, value)
    raise Unknown


def _dynamic_leaves(value: Value) -> list[Dynamic]:
    """The dynamic leaves in the order in which the operands fill them."""
    match value:
        case Layout(shape, stride):
            return _dynamic_leaves(shape) + _dynamic_leaves(stride)
        case Tile(modes):
            return [leaf for mode in modes for leaf in _dynamic_leaves(mode)]
        case Swizzle() | ComposedLayout():
            return []
    numbers = (leaf.value if isinstance(leaf, Basis) else leaf for leaf in leaves(value))
    return [number for number in numbers if isinstance(number, Dynamic)]


@infers("make_shape", "make_stride", "make_coord", "make_int_tuple", "make_tile")
def construct(call: Call) -> Results:
    if len(call.declared) != 1:
        return None
    declared = call.declared[0]
    if not isinstance(declared, Algebraic) or declared.kind != call.name.removeprefix("cute.make_"):
        return None
    for index, value in enumerate(call.operands):
        if isinstance(value, Algebraic) and (value.kind != "int_tuple" or isinstance(value.value, tuple)):
            wanted_kinds = "variadic of i32, i64, or depth-0 !cute.int_tuple"
            raise LayoutError(f"operand #{index} must be {wanted_kinds}, but got '{value}'")
    wanted = len(_dynamic_leaves(declared.value))
    if wanted != len(call.operands):
        raise LayoutError(
            f"expects {wanted} dynamic operand(s) for result type '{declared}', but got {len(call.operands)}"
        )
    if not wanted:
        return call.declared
    for index, (value, slot) in enumerate(zip(call.operands, _dynamic_leaves(declared.value), strict=True)):
        constant = value.value if isinstance(value, Algebraic) else None
        if isinstance(constant, int) and not -(1 << slot.width - 1) <= constant < 1 << slot.width - 1:
            width = f"(width={slot.width})"
            raise LayoutError(
                f"expects operand #{index} to be compatible with {width}, but got static constant {constant}"
            )
    given = [_leaf(value) for value in call.operands]
    for index, (leaf, slot) in enumerate(zip(given, _dynamic_leaves(declared.value), strict=True)):
        if leaf.width != slot.width:
            raise LayoutError(f"expects operand #{index} to have (width={slot.width}), but got (width={leaf.width})")
    return (Algebraic(declared.kind, _filled(declared.value, given)),)


@infers("make_layout")
def make_layout(call: Call) -> Results:
    shape = tuple_operand(call, 0)
    stride = tuple_operand(call, 1) if len(call.operands) > 1 else _compact(shape)
    return (of_layout(algebra.make_layout(shape, stride)),)


def _compact(shape: Tuple) -> Tuple:
    """The strides that the dialect gives a bare shape: column-major, but zero for an extent of one."""
    stride = algebra.make_layout(shape).stride
    extents = iter(leaves(shape))
    return transform(lambda d: 0 if next(extents) == 1 else d, stride)


@infers("make_composed_layout")
def make_composed_layout(call: Call) -> Results:
    inner, offset, outer = operand(call, 0), tuple_operand(call, 1), layout_operand(call, 2)
    if not isinstance(inner, Algebraic) or not isinstance(outer, Layout):
        raise Unknown
    if not isinstance(inner.value, Swizzle | Layout):
        raise LayoutError(f"operand #0 must be !cute.layout or !cute.swizzle, but got '{inner}'")
    if isinstance(inner.value, Swizzle) and inner.value.bits == 0 and offset == 0:
        return (Algebraic("composed_layout", outer),)
    return (Algebraic("composed_layout", ComposedLayout(inner.value, offset, outer)),)


@infers("make_ordered_layout")
def make_ordered_layout(call: Call) -> Results:
    return (of_layout(algebra.make_ordered_layout(tuple_operand(call, 0), tuple_operand(call, 1))),)


@infers("make_layout_like")
def make_layout_like(call: Call) -> Results:
    return (of_layout(algebra.make_layout_like(layout_operand(call, 0))),)


@infers("make_identity_layout")
def make_identity_layout(call: Call) -> Results:
    return (of_layout(algebra.make_identity_layout(tuple_operand(call, 0))),)


@infers("make_identity_tensor")
def make_identity_tensor(call: Call) -> Results:
    layout = algebra.make_identity_layout(tuple_operand(call, 0))
    return (Tensor(CoordIterator(transform(lambda _: 0, layout.shape)), layout),)


@infers("make_arith_tuple_iter")
def make_arith_tuple_iter(call: Call) -> Results:
    return (CoordIterator(tuple_operand(call, 0)),)


@infers("deref_arith_tuple_iter")
def deref_arith_tuple_iter(call: Call) -> Results:
    match operand(call, 0):
        case CoordIterator(start):
            return (Algebraic("int_tuple", start),)
    raise Unknown
