"""Coordinates and offsets: evaluating a layout, counting through a shape, slicing.

A shape accepts coordinates of three kinds: one integer (it counts colexicographically: the first mode runs fastest),
one coordinate a mode, and anything between. The last mode has no upper end: counting goes on in it.
"""

from __future__ import annotations

from collections.abc import Sequence

from tileproof.layout.basics import AnyLayout, get, get_shape, on_outer, outer
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
from tileproof.layout.tuples import (
    add,
    is_static_tuple,
    leaves,
    product,
    rank,
    transform,
    weakly_congruent,
)
from tileproof.layout.tuples import (
    modes as tuple_modes,
)
from tileproof.layout.values import (
    Basis,
    ComposedLayout,
    Dynamic,
    Layout,
    Leaf,
    Swizzle,
    Tile,
    Tuple,
    Value,
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
    """The offset of a coordinate, or with scaled-basis strides the coordinate it leads to. ``_`` counts as 0.

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
        LayoutError: the inner part of a composed layout is a layout, whose span says little about the whole.
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


def _fits(value: Value, coord: Tuple) -> None:
    shape = get_shape(value)
    if not weakly_congruent(coord, shape):
        raise LayoutError(
            f"expects a coordinate whose profile fits {show(shape)}, but got {show(coord)}",
            "expects coord to be weakly congruent with input shape, but got",
        )


def _keep(shape: Tuple, coord: Tuple, wildcards: bool) -> tuple[Tuple, ...]:
    """The modes of a tuple that face a wildcard (or, without ``wildcards``, that do not), nested ones lifted out."""
    if isinstance(coord, tuple):
        kept: list[Tuple] = []
        for part, leaf in zip(tuple_modes(shape), coord, strict=True):
            kept.extend(_keep(part, leaf, wildcards))
        return tuple(kept)
    return (shape,) if (coord is Wildcard.ALL) == wildcards else ()


def _sliced(shape: Tuple, coord: Tuple, wildcards: bool) -> Tuple:
    if isinstance(coord, tuple):
        return _keep(shape, coord, wildcards)
    return shape if (coord is Wildcard.ALL) == wildcards else ()


def slice_and_offset(layout: AnyLayout, coord: Tuple) -> tuple[AnyLayout, Tuple]:
    """The part of a layout that faces the wildcards of ``coord``, and the offset at which it starts.

    Raises:
        LayoutError: the profile of ``coord`` does not fit.
    """
    _fits(layout, coord)
    part = outer(layout)
    kept = Layout(_sliced(part.shape, coord, True), _sliced(part.stride, coord, True))
    start = _offset(coord, part.shape, part.stride)
    if isinstance(layout, ComposedLayout):
        if isinstance(layout.inner, Swizzle) and any(leaf is not Wildcard.ALL for leaf in leaves(coord)):
            from tileproof.layout import unswizzle  # noqa: PLC0415 - the two call each other

            bits = unswizzle.bits_at(coord, part.shape, part.stride)
            return unswizzle.slice_swizzled(layout.inner, integer(layout.offset), kept, integer(start), bits)
        return ComposedLayout(layout.inner, add(layout.offset, start), kept), 0
    return kept, start


def slice(value: Value, coord: Tuple) -> Value:
    """The modes that face a wildcard. In a composed layout the other coordinates move the offset.

    Raises:
        LayoutError: the profile of ``coord`` does not fit, or the value is a swizzle or a tile.
    """
    match value:
        case Layout() | ComposedLayout():
            return slice_and_offset(value, coord)[0]
        case Swizzle() | Tile():
            raise LayoutError(f"cannot slice {value}")
        case _:
            _fits(value, coord)
            return _sliced(value, coord, True)


def dice(value: Value, coord: Tuple) -> Value:
    """The modes that do not face a wildcard: what ``slice`` drops.

    Raises:
        LayoutError: the profile of ``coord`` does not fit, ``coord`` is dynamic, or the value is a swizzle.
    """
    if not is_static_tuple(coord):
        raise LayoutError(f"expects coord to be static, but got '!cute.coord<\"{show(coord)}\">'")
    match value:
        case Layout() | ComposedLayout():
            _fits(value, coord)
            return on_outer(
                lambda part: Layout(_sliced(part.shape, coord, False), _sliced(part.stride, coord, False)), value
            )
        case Tile(tilers):
            if not isinstance(coord, tuple) or len(coord) != len(tilers):
                raise LayoutError(f"expects one coordinate a mode of {value}, but got {show(coord)}")
            return Tile(tuple(t for t, leaf in zip(tilers, coord, strict=True) if leaf is not Wildcard.ALL))
        case Swizzle():
            raise LayoutError(
                f"expects a layout or a tuple to dice, but got the swizzle {value}",
                "expects $input to be !cute.shape, !cute.stride, !cute.int_tuple, !cute.coord, !cute.layout, "
                "or !cute.composed_layout, but got",
            )
        case _:
            _fits(value, coord)
            return _sliced(value, coord, False)


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
