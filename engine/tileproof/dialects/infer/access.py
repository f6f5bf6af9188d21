"""Accessors: the parts of a value, and one kind of tuple as another."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tileproof import layout as algebra
from tileproof.dialects.infer.call import (
    Call,
    Results,
    Unknown,
    infers,
    int_tuple,
    layout_operand,
    of_layout,
    operand,
    tuple_operand,
)
from tileproof.dialects.values import TUPLES, Algebraic, Scalar, Tensor, Type
from tileproof.layout import LayoutError
from tileproof.layout.tuples import has_basis, has_wildcard, leaves
from tileproof.layout.values import ComposedLayout, Dynamic, Layout, Swizzle, Tile, Value


@infers("get_layout")
def get_layout(call: Call) -> Results:
    return (of_layout(layout_operand(call, 0)),)


@infers("get_iter")
def get_iter(call: Call) -> Results:
    value = operand(call, 0)
    if not isinstance(value, Tensor):
        raise Unknown
    return (value.iterator,)


@infers("get_shape")
def get_shape(call: Call) -> Results:
    return (Algebraic("shape", algebra.get_shape(layout_operand(call, 0))),)


@infers("get_stride")
def get_stride(call: Call) -> Results:
    layout = layout_operand(call, 0)
    return (Algebraic("stride", layout.outer.stride if isinstance(layout, ComposedLayout) else layout.stride),)


@infers("composed_get_inner")
def composed_get_inner(call: Call) -> Results:
    match layout_operand(call, 0):
        case ComposedLayout(Swizzle() as inner, _, _):
            return (Algebraic("swizzle", inner),)
        case ComposedLayout(Layout() as inner, _, _):
            return (Algebraic("layout", inner),)
    raise Unknown


@infers("composed_get_offset")
def composed_get_offset(call: Call) -> Results:
    match layout_operand(call, 0):
        case ComposedLayout(_, offset, _):
            return (int_tuple(offset),)
    raise Unknown


@infers("composed_get_outer")
def composed_get_outer(call: Call) -> Results:
    layout = layout_operand(call, 0)
    return (Algebraic("layout", layout.outer if isinstance(layout, ComposedLayout) else layout),)


@infers("get_leaves")
def get_leaves(call: Call) -> Results:
    value = operand(call, 0)
    if not isinstance(value, Algebraic) or value.kind not in TUPLES:
        raise Unknown
    return tuple(Algebraic(value.kind, leaf) for leaf in leaves(tuple_operand(call, 0)))


@infers("get_scalars")
def get_scalars(call: Call) -> Results:
    return tuple(Scalar(leaf.width) for leaf in leaves(tuple_operand(call, 0)) if isinstance(leaf, Dynamic))


def _converted(kind: str) -> None:
    @infers(f"to_{kind}")
    def convert(call: Call) -> Results:
        value = tuple_operand(call, 0)
        if kind != "stride" and has_basis(value):
            raise LayoutError(f"expects source without scaled-basis strides, but got '{operand(call, 0)}'")
        if kind != "coord" and has_wildcard(value):
            raise LayoutError(f"expects source without underscores (_), but got '{operand(call, 0)}'")
        return (Algebraic(kind, value),)


for _kind in TUPLES:
    _converted(_kind)


@infers("get")
def get(call: Call) -> Results:
    mode = call.integers("mode") or ()
    return (_moded(operand(call, 0), lambda value: algebra.get(value, mode)),)


@infers("select")
def select(call: Call) -> Results:
    mode = call.integers("mode")
    if mode is None:
        raise Unknown
    return (_moded(operand(call, 0), lambda value: algebra.select(value, mode)),)


@infers("group_modes")
def group_modes(call: Call) -> Results:
    begin, end = call.integer("begin"), call.integer("end")
    return (_moded(operand(call, 0), lambda value: algebra.group_modes(value, begin, end)),)


@infers("append_to_rank", "prepend_to_rank")
def pad_to_rank(call: Call) -> Results:
    pad = algebra.append_to_rank if call.name == "cute.append_to_rank" else algebra.prepend_to_rank
    wanted, element = call.integer("rank"), operand(call, 1)
    if not isinstance(element, Algebraic):
        raise Unknown
    kinds = {value.kind for value in (operand(call, 0), element) if isinstance(value, Algebraic)}
    if len(kinds & set(TUPLES)) > 1:
        raise LayoutError("expects input and element to have the same kind")
    return (_moded(operand(call, 0), lambda value: pad(value, wanted, element.value)),)


@infers("flatten")
def flatten(call: Call) -> Results:
    return (_moded(operand(call, 0), algebra.flatten),)


@infers("filter_zeros")
def filter_zeros(call: Call) -> Results:
    profile = tuple_operand(call, 1) if len(call.operands) > 1 else None
    return (_moded(operand(call, 0), lambda value: algebra.filter_zeros(value, profile)),)


@infers("get_layouts_from_tile")
def get_layouts_from_tile(call: Call) -> Results:
    tile = operand(call, 0)
    if not isinstance(tile, Algebraic):
        raise Unknown
    layouts = tuple(_slots(tile.value))
    if not layouts:
        raise LayoutError(f"expects $tile to contain at least one layout slot, but got '{tile}'")
    return tuple(map(of_layout, layouts))


def _slots(tiler: Value) -> Iterator[Layout]:
    """The layouts in a tile."""
    match tiler:
        case Tile(modes):
            for mode in modes:
                yield from _slots(mode)
        case Layout():
            yield tiler


@infers("size")
def size(call: Call) -> Results:
    value = operand(call, 0)
    measured = value.layout if isinstance(value, Tensor) else value.value if isinstance(value, Algebraic) else None
    if measured is None:
        raise Unknown
    return (int_tuple(algebra.size(measured, call.integers("mode") or ())),)


@infers("cosize")
def cosize(call: Call) -> Results:
    return (int_tuple(algebra.cosize(layout_operand(call, 0), call.integers("mode") or ())),)


def _moded(value: Type, function: Callable[[Any], Any]) -> Type:
    """A rearrangement of modes applied to a value of any kind: the kind stays."""
    match value:
        case Tensor(iterator, layout):
            return Tensor(iterator, function(layout))
        case Algebraic(kind, inside):
            return Algebraic(kind, function(inside))
    raise Unknown
