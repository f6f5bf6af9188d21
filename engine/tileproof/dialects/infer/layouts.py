"""The layout algebra as operations: on layouts, composed layouts and tensors alike."""

from __future__ import annotations

from tileproof import layout as algebra
from tileproof.dialects.infer.call import (
    AnyLayout,
    Call,
    Results,
    Unknown,
    infers,
    layout_operand,
    of_layout,
    on_layout,
    operand,
    tiler_operand,
    tuple_operand,
)
from tileproof.dialects.values import Algebraic
from tileproof.layout import LayoutError
from tileproof.layout.basics import concatenate, modes
from tileproof.layout.leaves import multiply_integers
from tileproof.layout.tuples import rank
from tileproof.layout.values import ComposedLayout, Dynamic, Layout, Swizzle, Tile

_DIVIDES = {
    "cute.logical_divide": algebra.logical_divide,
    "cute.zipped_divide": algebra.zipped_divide,
    "cute.tiled_divide": algebra.tiled_divide,
    "cute.flat_divide": algebra.flat_divide,
}
_PRODUCTS = {
    "cute.logical_product": algebra.logical_product,
    "cute.zipped_product": algebra.zipped_product,
    "cute.tiled_product": algebra.tiled_product,
    "cute.flat_product": algebra.flat_product,
    "cute.blocked_product": algebra.blocked_product,
    "cute.raked_product": algebra.raked_product,
}


@infers("logical_divide", "zipped_divide", "tiled_divide", "flat_divide")
def divide(call: Call) -> Results:
    tiler = tiler_operand(call, 1)
    return (on_layout(operand(call, 0), lambda layout: _DIVIDES[call.name](layout, tiler)),)


@infers("logical_product", "zipped_product", "tiled_product", "flat_product", "blocked_product", "raked_product")
def product(call: Call) -> Results:
    tiler = _plain(layout_operand(call, 1))
    return (on_layout(operand(call, 0), lambda layout: _PRODUCTS[call.name](layout, tiler)),)


@infers("composition")
def composition(call: Call) -> Results:
    right = operand(call, 1)
    if not isinstance(right, Algebraic):
        raise Unknown
    rhs = right.value
    return (on_layout(operand(call, 0), lambda layout: algebra.composition(layout, rhs)),)  # type: ignore[arg-type]


@infers("coalesce")
def coalesce(call: Call) -> Results:
    profile = tuple_operand(call, 1) if len(call.operands) > 1 else None
    return (on_layout(operand(call, 0), lambda layout: algebra.coalesce(layout, profile)),)


@infers("filter")
def filter_(call: Call) -> Results:
    return (on_layout(operand(call, 0), algebra.filter),)


@infers("complement")
def complement(call: Call) -> Results:
    target = tuple_operand(call, 1) if len(call.operands) > 1 else None
    return (of_layout(algebra.complement(_plain(layout_operand(call, 0)), target)),)


@infers("right_inverse")
def right_inverse(call: Call) -> Results:
    given = layout_operand(call, 0)
    idle = isinstance(given, ComposedLayout) and isinstance(given.inner, Swizzle) and given.inner.bits == 0
    if isinstance(given, ComposedLayout) and not idle:
        raise LayoutError(f"operand #0 must be !cute.layout, but got '{operand(call, 0)}'")
    return (of_layout(algebra.right_inverse(_plain(layout_operand(call, 0)))),)


@infers("left_inverse")
def left_inverse(call: Call) -> Results:
    return (of_layout(algebra.left_inverse(_plain(layout_operand(call, 0)))),)


@infers("tile_to_shape")
def tile_to_shape(call: Call) -> Results:
    shape = tuple_operand(call, 1)
    order = tuple_operand(call, 2) if len(call.operands) > 2 else tuple(range(rank(shape)))
    return (on_layout(operand(call, 0), lambda block: algebra.tile_to_shape(block, shape, order)),)


@infers("stencil_divide")
def stencil_divide(call: Call) -> Results:
    """``((T,R,S),(Z,P,Q))``: the elements under a stencil ``T:dilation``, and the places that it takes."""
    given, stencil = operand(call, 0), tiler_operand(call, 1)
    layout = _plain(layout_operand(call, 0))
    if len(call.operands) != 2 or not isinstance(stencil, Tile) or len(stencil.modes) != len(modes(layout)):
        raise Unknown
    under: list[Layout] = []
    places: list[Layout] = []
    for mode, tiler in zip(modes(layout), stencil.modes, strict=True):
        match mode, tiler:
            case Layout(int() | Dynamic() as extent, int() | Dynamic() as stride), Layout(int() as size, int() as step):
                last = (size - 1) * step
                if isinstance(extent, int) and extent <= last:
                    raise Unknown
                under.append(Layout(size, multiply_integers(stride, step)))
                # The dialect adds one last, and keeps no divisor of the sum.
                count = Dynamic(extent.width) if isinstance(extent, Dynamic) else extent - last
                places.append(Layout(count, stride))
            case _:
                raise Unknown
    return (on_layout(given, lambda _: concatenate([concatenate(under), concatenate(places)])),)


@infers("recast_layout")
def recast_layout(call: Call) -> Results:
    new, old = call.integer("new_type_bits"), call.integer("old_type_bits")
    return (on_layout(operand(call, 0), lambda layout: algebra.recast_layout(layout, new, old)),)


def _plain(layout: AnyLayout) -> Layout:
    if isinstance(layout, ComposedLayout):
        raise Unknown
    return layout
