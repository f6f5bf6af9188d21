"""Arithmetic on tuples, and between coordinates and indices."""

from __future__ import annotations

from collections.abc import Callable

from tileproof import layout as algebra
from tileproof.dialects.infer.call import (
    Call,
    Results,
    Unknown,
    infers,
    int_tuple,
    layout_operand,
    operand,
    tuple_operand,
)
from tileproof.dialects.values import TUPLES, Algebraic, Scalar
from tileproof.layout.tuples import leaves, transform
from tileproof.layout.values import Dynamic, Layout, Tile, Tuple, Value

_OPERATIONS: dict[str, Callable[[Tuple, Tuple], Tuple]] = {
    "cute.tuple_add": algebra.add,
    "cute.tuple_sub": algebra.sub,
    "cute.tuple_mul": algebra.mul,
    "cute.tuple_div": algebra.div,
    "cute.tuple_mod": algebra.mod,
}


@infers("tuple_add", "tuple_sub", "tuple_mul", "tuple_div", "tuple_mod")
def tuple_arithmetic(call: Call) -> Results:
    a, b = operand(call, 0), operand(call, 1)
    if not isinstance(a, Algebraic) or not isinstance(b, Algebraic) or a.kind != b.kind:
        raise Unknown
    return (Algebraic(a.kind, _OPERATIONS[call.name](tuple_operand(call, 0), tuple_operand(call, 1))),)


@infers("shape_div")
def shape_div(call: Call) -> Results:
    a = operand(call, 0)
    if not isinstance(a, Algebraic):
        raise Unknown
    return (Algebraic(a.kind, algebra.shape_div(tuple_operand(call, 0), tuple_operand(call, 1))),)


@infers("tuple_product", "tuple_product_each")
def tuple_product(call: Call) -> Results:
    value = operand(call, 0)
    if not isinstance(value, Algebraic):
        raise Unknown
    fold = algebra.product if call.name == "cute.tuple_product" else algebra.product_each
    return (Algebraic(value.kind, fold(tuple_operand(call, 0))),)


@infers("ceil_div")
def ceil_div(call: Call) -> Results:
    value, tiler = operand(call, 0), operand(call, 1)
    if not isinstance(value, Algebraic) or not isinstance(tiler, Algebraic):
        raise Unknown
    return (Algebraic(value.kind, algebra.ceil_div(tuple_operand(call, 0), _extents(tiler.value))),)


def _extents(tiler: Value) -> Tuple:
    """How many elements each mode of a tiler covers."""
    match tiler:
        case Layout():
            return algebra.size(tiler)
        case Tile(modes):
            return tuple(map(_extents, modes))
        case int() | Dynamic():
            return tiler
        case tuple():
            return tuple(map(_extents, tiler))
    raise Unknown


@infers("elem_less", "equal")
def compare(call: Call) -> Results:
    if call.name == "cute.elem_less":
        algebra.elem_less(tuple_operand(call, 0), tuple_operand(call, 1))
    return (Scalar(1),)


def index_operand(call: Call, index: int) -> Tuple:
    """A coordinate or an integer."""
    match operand(call, index):
        case Scalar(width, div):
            return Dynamic(width, div)
    return tuple_operand(call, index)


@infers("crd2idx", "layout_eval")
def crd2idx(call: Call) -> Results:
    coord, target = index_operand(call, 0), operand(call, 1)
    if isinstance(target, Algebraic) and target.kind in TUPLES:
        return (int_tuple(algebra.crd2idx(coord, tuple_operand(call, 1))),)
    return (int_tuple(algebra.crd2idx(coord, layout_operand(call, 1))),)


@infers("get_flat_coord", "get_hier_coord")
def coordinate_of(call: Call) -> Results:
    """The coordinate of an index that is not known: an extent of one leaves it no choice, even in the last mode."""
    match operand(call, 0), operand(call, 1):
        case Scalar(32, 1), Algebraic("layout", Layout(shape, _)):
            extents = shape if call.name == "cute.get_hier_coord" else algebra.product_each(shape)
            if not isinstance(shape, tuple) or any(
                isinstance(leaf, Dynamic) and leaf.width != 32 for leaf in leaves(shape)
            ):
                raise Unknown
            return (Algebraic("coord", transform(lambda extent: 0 if extent == 1 else Dynamic(), extents)),)
    raise Unknown


@infers("idx2crd")
def idx2crd(call: Call) -> Results:
    return (Algebraic("coord", algebra.idx2crd(index_operand(call, 0), tuple_operand(call, 1))),)


@infers("increment_coord")
def increment_coord(call: Call) -> Results:
    return (Algebraic("coord", algebra.increment_coord(tuple_operand(call, 0), tuple_operand(call, 1))),)
