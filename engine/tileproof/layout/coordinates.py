"""Coordinates and offsets: evaluating a layout, counting through a shape, slicing.

A shape accepts coordinates of three kinds: one integer (it counts colexicographically: the first mode runs fastest),
one coordinate a mode, and anything between. The last mode is unbounded: counting continues in it.
"""

from __future__ import annotations

from collections.abc import Sequence

from tileproof.layout.basics import AnyLayout, get, get_shape
from tileproof.layout.errors import LayoutError
from tileproof.layout.leaves import (
    Integer,
    add_integers,
    divide_integers,
    integer,
    modulo_integers,
    multiply_integers,
    scale,
)
from tileproof.layout.swizzle import apply_swizzle
from tileproof.layout.tuples import add, leaves, product, rank, transform, weakly_congruent
from tileproof.layout.tuples import modes as tuple_modes
from tileproof.layout.values import (
    Basis,
    ComposedLayout,
    Dynamic,
    Layout,
    Leaf,
    Swizzle,
    Tile,
    Tuple,
    Wildcard,
    show,
    show_value,
)


def idx2crd(index: Tuple, shape: Tuple) -> Tuple:
    """The coordinate of an index: ``9`` in ``(4,8)`` is ``(1,2)``. A tuple of indices is split mode by mode.

    Raises:
        LayoutError: the index has another number of modes than the shape.
    """
    if isinstance(index, tuple):
        if not isinstance(shape, tuple) or len(index) != len(shape):
            raise LayoutError(
                f"idx2crd: index {show(index)} has {len(index)} modes, shape {show(shape)} {rank(shape)}",
                f"expects index rank {rank(shape)} (to match shape rank) or scalar, but got {len(index)}",
            )
        try:
            return tuple(map(idx2crd, index, shape))
        except LayoutError as fault:
            raise LayoutError(str(fault), "unable to compute idx2crd for index") from None
    if not isinstance(shape, tuple):
        return integer(index)
    result: list[Tuple] = []
    rest = integer(index)
    for place, mode in enumerate(shape):
        extent = product(mode)
        last = place == len(shape) - 1
        result.append(idx2crd(rest if last else modulo_integers(rest, extent), mode))
        rest = divide_integers(rest, extent)
    return tuple(result)


def _offset(coord: Tuple, shape: Tuple, stride: Tuple) -> Tuple:
    """The offset of a coordinate: a sum over the leaves."""
    if isinstance(coord, tuple):
        if not isinstance(shape, tuple) or len(coord) != len(shape):
            raise LayoutError(
                f"expects a coordinate that fits the shape, but {show(coord)} has another profile than {show(shape)}",
                "expects coord and shape to be weakly congruent",
            )
        total: Tuple = 0
        for part in map(_offset, coord, shape, tuple_modes(stride)):
            total = add(total, part)
        return total
    if coord is Wildcard.ALL:
        coord = 0
    if isinstance(shape, tuple):
        return _offset(idx2crd(coord, shape), shape, stride) if shape else 0
    if isinstance(stride, tuple):
        raise LayoutError(f"the stride {show(stride)} has another profile than the extent {show(shape)}")
    return _arithmetic_tuple(scale(stride, integer(coord)), stride)


def _arithmetic_tuple(step: Leaf, stride: Leaf) -> Tuple:
    """``5@1@0`` as a coordinate: ``((0,5))``."""
    if isinstance(stride, Basis):
        value: Tuple = step.value if isinstance(step, Basis) else step
        if not isinstance(value, int | Dynamic):
            raise LayoutError(f"the coordinate falls between elements: {stride} leads to {show(value)}")
        for index in stride.path:
            value = (*(0,) * index, value)
        return value
    return step


def crd2idx(coord: Tuple, layout: AnyLayout | Tuple) -> Tuple:
    """The offset of a coordinate, or with scaled-basis strides the coordinate it maps to. ``_`` counts as 0.

    Instead of a layout a shape may be given: its compact, column-major layout.

    Raises:
        LayoutError: the coordinate does not fit the shape, or integer strides and scaled bases mix.
    """
    match layout:
        case Layout(shape, stride):
            return _offset(coord, shape, stride)
        case ComposedLayout(inner, offset, part):
            return apply_inner(inner, add(offset, _offset(coord, part.shape, part.stride)))
        case Swizzle() | Tile():
            raise LayoutError(f"expects a layout or a shape, but got {layout}")
        case _:
            if not weakly_congruent(coord, layout):
                raise LayoutError(
                    f"expects a coordinate that fits the shape {show(layout)}, but got {show(coord)}",
                    "expects coord and shape to be weakly congruent",
                )
            return _index(coord, layout)


def _index(coord: Tuple, shape: Tuple) -> Integer:
    """The index of a coordinate in a shape."""
    if not isinstance(shape, tuple):
        return 0 if coord is Wildcard.ALL else integer(coord)
    if not isinstance(coord, tuple):
        return 0 if coord is Wildcard.ALL else integer(coord)
    total: Integer = 0
    running: Integer = 1
    for part, mode in zip(coord, shape, strict=True):
        total = add_integers(total, integer(scale(_index(part, mode), running)))
        running = integer(scale(running, product(mode)))
    return total


def apply_inner(inner: Swizzle | Layout | None, offset: Tuple) -> Tuple:
    """The inner part of a composed layout, applied."""
    if inner is None:
        return offset
    if isinstance(inner, Swizzle):
        return apply_swizzle(inner, integer(offset, "an integer offset to swizzle"))
    return crd2idx(offset, inner)


def cosize(layout: AnyLayout, mode: Sequence[int] = ()) -> Integer:
    """One more than the offset of the last coordinate (strides counted as positive): the elements a layout spans.

    With scaled-basis strides it is the product of the spans along each mode of the coordinate.

    Raises:
        LayoutError: the inner part of a composed layout is a layout, whose cosize is not that of the whole.
    """
    if isinstance(layout, ComposedLayout):
        if isinstance(layout.inner, Layout):
            raise LayoutError(f"no meaningful cosize: the inner part of {layout} is a layout, not a swizzle")
        layout = layout.outer
    part = get(layout, mode)
    assert isinstance(part, Layout)
    strides = transform(lambda stride: -stride if isinstance(stride, int) and stride < 0 else stride, part.stride)
    last = crd2idx(add_integers(product(part.shape), -1), Layout(part.shape, strides))
    result: Integer = 1
    for leaf in leaves(last):
        result = multiply_integers(result, add_integers(integer(leaf), 1))
    return result


def get_hier_coord(index: Tuple, layout: AnyLayout) -> Tuple:
    """The coordinate of an index, in the profile of the layout."""
    return idx2crd(index, get_shape(layout))


def get_flat_coord(index: Tuple, layout: AnyLayout) -> Tuple:
    """The coordinate of an index, one number a mode at the top."""
    shape = get_shape(layout)
    return idx2crd(index, tuple(product(mode) for mode in shape) if isinstance(shape, tuple) else shape)


def offsets(layout: AnyLayout) -> list[Tuple]:
    """The offset of every coordinate of a static layout, in colexicographic order."""
    count = product(get_shape(layout))
    if not isinstance(count, int):
        raise LayoutError(f"cannot enumerate the dynamic layout {show_value(layout)}")
    return [crd2idx(index, layout) for index in range(count)]
