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
    known_index,
    layout_operand,
    operand,
    tuple_operand,
)
from tileproof.dialects.values import TUPLES, Algebraic, Scalar
from tileproof.layout import LayoutError
from tileproof.layout.basics import flat_modes, modes
from tileproof.layout.leaves import Integer, divisor, integer, multiply_integers
from tileproof.layout.tuples import leaves
from tileproof.layout.values import Dynamic, Layout, Tile, Tuple

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
    if not isinstance(a, Algebraic) or not isinstance(b, Algebraic):
        raise Unknown
    if a.kind != b.kind:
        raise LayoutError(f"expects lhs and rhs to have the same kind, but got '{a}' and '{b}'")
    divisors = leaves(tuple_operand(call, 1)) if call.name == "cute.tuple_div" else ()
    if any(isinstance(leaf, int) and leaf < 0 for leaf in divisors):
        raise Unknown  # the dialect then says that a negative integer divides the result
    return (Algebraic(a.kind, _OPERATIONS[call.name](tuple_operand(call, 0), tuple_operand(call, 1))),)


@infers("shape_div")
def shape_div(call: Call) -> Results:
    a = operand(call, 0)
    if not isinstance(a, Algebraic):
        raise Unknown
    return (Algebraic(a.kind, algebra.shape_div(tuple_operand(call, 0), tuple_operand(call, 1))),)


@infers("tuple_product", "tuple_product_each", "tuple.product", "tuple.product_each")
def tuple_product(call: Call) -> Results:
    value = operand(call, 0)
    if not isinstance(value, Algebraic):
        raise Unknown
    fold = algebra.product_each if call.name.endswith("each") else algebra.product
    return (Algebraic(value.kind, fold(tuple_operand(call, 0))),)


@infers("ceil_div")
def ceil_div(call: Call) -> Results:
    """How many tiles cover each mode. A tile counts elements, so a nested mode is counted as a whole."""
    value, tiler = operand(call, 0), operand(call, 1)
    if not isinstance(value, Algebraic) or not isinstance(tiler, Algebraic):
        raise Unknown
    covered = tuple_operand(call, 0)
    match tiler.value:
        case Tile(tilers):
            if not isinstance(covered, tuple) or len(tilers) > len(covered):
                raise Unknown
            pairs = zip(covered, tilers, strict=False)
            tiles = [algebra.ceil_div(algebra.product(part), _count(mode)) for part, mode in pairs]
            return (Algebraic(value.kind, (*tiles, *covered[len(tilers) :])),)
        case Layout():
            return (Algebraic(value.kind, algebra.ceil_div(algebra.product(covered), _count(tiler.value))),)
    return (Algebraic(value.kind, algebra.ceil_div(covered, tuple_operand(call, 1))),)


def _count(tiler: Layout | Tile | Tuple) -> Tuple:
    """How many elements a mode of a tiler covers."""
    match tiler:
        case Layout(int() | Dynamic() as extent, _) | (int() | Dynamic() as extent):
            return extent
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
    """The coordinate of an offset: of one that is not known, where the layout does not move there is only one."""
    hierarchical = call.name == "cute.get_hier_coord"
    match operand(call, 0), operand(call, 1):
        case Scalar(assumed=False), Algebraic("layout", Layout() as layout) if (
            offset := known_index(call)
        ) is not None:
            if not hierarchical and isinstance(layout.shape, tuple):
                return (Algebraic("coord", tuple(_position(mode, offset) for mode in modes(layout))),)
            return (Algebraic("coord", _coordinate(layout, offset) if hierarchical else _position(layout, offset)),)
        case Scalar(32, 1), Algebraic("layout", Layout(tuple() as shape, stride)):
            parts = modes(Layout(shape, stride))
            if any(isinstance(leaf, Dynamic) and leaf.width != 32 for leaf in (*leaves(shape), *leaves(stride))):
                raise Unknown
            return (Algebraic("coord", tuple(_digits(part) if hierarchical else _digit(part) for part in parts)),)
    raise Unknown


@infers("get_integral_coord")
def get_integral_coord(call: Call) -> Results:
    """An index within the layout as one integer: it counts past what the layout repeats before it first moves."""
    match operand(call, 0), operand(call, 1):
        case Scalar(assumed=False), Algebraic("layout", Layout() as layout):
            if (offset := known_index(call)) is not None:
                position = _position(layout, offset)
                if isinstance(position, Dynamic):
                    raise Unknown
                return (Algebraic("coord", position),)
            digit = _digit(layout)
            counted = [(extent, stride) for extent, stride in flat_modes(layout) if extent != 1]
            while counted and counted[-1][1] == 0:
                counted.pop()
            width = max((part.width for mode in counted for part in mode if isinstance(part, Dynamic)), default=32)
            return (Algebraic("coord", Dynamic(width, _still(layout)) if isinstance(digit, Dynamic) else digit),)
    raise Unknown


def _still(layout: Layout) -> int:
    """A divisor of the least index at which the layout has moved."""
    count = 1
    for extent, stride in flat_modes(layout):
        if extent != 1 and stride != 0:
            break
        count *= divisor(extent)
    return count


def _coordinate(layout: Layout, offset: int) -> Tuple:
    """The coordinate at which a layout has an offset, as the dialect folds it: each mode for itself."""
    if isinstance(layout.shape, tuple):
        return tuple(_coordinate(mode, offset) for mode in modes(layout))
    ((extent, stride),) = flat_modes(layout)
    if extent == 1 or stride == 0:
        return 0
    if not isinstance(stride, int | Dynamic):
        raise LayoutError(f"failed to get coordinate with '{Algebraic('layout', layout)}'")
    if isinstance(stride, Dynamic):
        return 0 if offset == 0 else Dynamic()
    whole = _quotient(offset, stride)
    if isinstance(extent, Dynamic):
        return 0 if whole == 0 else Dynamic()
    return _remainder(whole, extent)


def _position(layout: Layout, offset: int) -> Integer:
    """The same as one number, which counts the elements of the layout."""
    if not isinstance(layout.shape, tuple):
        return integer(_coordinate(layout, offset))
    found = 0
    before: Integer = 1
    for digit, (extent, _) in zip(leaves(_coordinate(layout, offset)), flat_modes(layout), strict=True):
        if digit != 0:
            if not isinstance(digit, int) or not isinstance(before, int):
                raise Unknown
            found += digit * before
        before = multiply_integers(before, extent)
    return found


def _quotient(a: int, b: int) -> int:
    """Division of signed integers by the machine: towards zero."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _remainder(a: int, b: int) -> int:
    return a - b * _quotient(a, b)


def _digits(mode: Layout) -> Tuple:
    return tuple(map(_digits, modes(mode))) if isinstance(mode.shape, tuple) else _digit(mode)


def _digit(mode: Layout) -> Tuple:
    """The part of an unknown index that counts along one mode."""
    return 0 if all(s == 1 or d == 0 for s, d in flat_modes(mode)) else Dynamic()


@infers("idx2crd")
def idx2crd(call: Call) -> Results:
    return (Algebraic("coord", algebra.idx2crd(index_operand(call, 0), tuple_operand(call, 1))),)


@infers("increment_coord")
def increment_coord(call: Call) -> Results:
    return (Algebraic("coord", algebra.increment_coord(tuple_operand(call, 0), tuple_operand(call, 1))),)
