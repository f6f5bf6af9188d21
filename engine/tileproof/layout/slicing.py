"""Slicing: the modes of a layout, or of a tuple, that face the wildcards of a coordinate, and those that do not."""

from __future__ import annotations

from tileproof.layout.basics import AnyLayout, get_shape, on_outer, outer
from tileproof.layout.coordinates import crd2idx
from tileproof.layout.errors import LayoutError
from tileproof.layout.leaves import (
    integer,
)
from tileproof.layout.tuples import add, is_static_tuple, leaves, weakly_congruent
from tileproof.layout.tuples import modes as tuple_modes
from tileproof.layout.unswizzle import bits_at, slice_swizzled
from tileproof.layout.values import (
    ComposedLayout,
    Layout,
    Swizzle,
    Tile,
    Tuple,
    Value,
    Wildcard,
    show,
)


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
    start = crd2idx(coord, part)
    if isinstance(layout, ComposedLayout):
        if isinstance(layout.inner, Swizzle) and any(leaf is not Wildcard.ALL for leaf in leaves(coord)):
            bits = bits_at(coord, part.shape, part.stride)
            return slice_swizzled(layout.inner, integer(layout.offset), kept, integer(start), bits)
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
    """The modes that are not at a wildcard: those that ``slice`` drops.

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
