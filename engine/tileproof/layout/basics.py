"""Layouts mode by mode: size, reshaping that keeps the function, and choosing modes.

An operation on a composed layout works on its outer part, which alone meets the coordinate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias, TypeVar

from tileproof.layout.errors import LayoutError
from tileproof.layout.leaves import Integer, integer, is_static, is_zero, multiply_integers, scale
from tileproof.layout.tuples import compact, congruent, has_basis, has_wildcard, leaves, mode_at, product, transform
from tileproof.layout.tuples import depth as tuple_depth
from tileproof.layout.tuples import flatten as flatten_tuple
from tileproof.layout.tuples import modes as tuple_modes
from tileproof.layout.tuples import rank as tuple_rank
from tileproof.layout.values import Basis, ComposedLayout, Dynamic, Layout, Leaf, Swizzle, Tile, Tuple, Value, show

AnyLayout: TypeAlias = Layout | ComposedLayout
Moded = TypeVar("Moded", bound="Tuple | Layout | ComposedLayout | Tile")

UNIT = Layout(1, 0)
EMPTY = Layout((), ())


def make_layout(shape: Tuple, stride: Tuple | None = None) -> Layout:
    """``shape:stride``; without a stride the compact, column-major one.

    Raises:
        LayoutError: shape and stride have different profiles, or an extent is not a positive integer.
    """
    if stride is None:
        stride = compact(shape)
    if not congruent(shape, stride):
        raise LayoutError(f"expects a shape and a stride of one profile, but got {show(shape)} and {show(stride)}")
    for extent in leaves(shape):
        if not isinstance(extent, int | Dynamic) or (isinstance(extent, int) and extent <= 0):
            raise LayoutError(f"expects positive shape mode, but got {show(shape)}:{show(stride)}")
    if has_wildcard(stride):
        raise LayoutError(f"expects a stride without wildcards, but got {show(stride)}")
    return Layout(shape, stride)


def concatenate(modes: Sequence[Layout]) -> Layout:
    """The layout with these modes: its offset is the sum of theirs."""
    return Layout(tuple(mode.shape for mode in modes), tuple(mode.stride for mode in modes))


def modes(layout: Layout) -> tuple[Layout, ...]:
    """The modes at the top; a layout of one leaf is its own only mode."""
    if not isinstance(layout.shape, tuple):
        return (layout,)
    return tuple(map(Layout, layout.shape, tuple_modes(layout.stride)))


def flat_modes(layout: Layout) -> list[tuple[Integer, Leaf]]:
    """(extent, stride) of every leaf, from left to right."""
    return [(integer(s, "an extent"), d) for s, d in zip(leaves(layout.shape), leaves(layout.stride), strict=True)]


def on_outer(function: Callable[[Layout], Layout], layout: AnyLayout) -> AnyLayout:
    """The function on a layout, or on the outer part of a composed one."""
    if isinstance(layout, ComposedLayout):
        return ComposedLayout(layout.inner, layout.offset, function(layout.outer))
    return function(layout)


def outer(layout: AnyLayout) -> Layout:
    """The part that meets the coordinate: the layout itself, or the outer part of a composed one."""
    return layout.outer if isinstance(layout, ComposedLayout) else layout


def get_shape(value: Value) -> Tuple:
    """The shape of a layout or a composed layout; a tuple is its own."""
    if isinstance(value, Swizzle | Tile):
        raise LayoutError(f"expects a layout or a tuple, but got {value}")
    return outer(value).shape if isinstance(value, Layout | ComposedLayout) else value


def stride_of(layout: AnyLayout) -> Tuple:
    """The strides of a layout, or of the outer part of a composed one."""
    return outer(layout).stride


def rank(value: Value) -> int:
    """The number of modes at the top."""
    return len(value.modes) if isinstance(value, Tile) else tuple_rank(get_shape(value))


def depth(value: Value) -> int:
    """How deep the shape nests: 0 for one leaf."""
    if isinstance(value, Tile):
        return 1 + max(map(depth, value.modes))
    return tuple_depth(get_shape(value))


def size(value: Value, mode: Sequence[int] = ()) -> Integer:
    """The number of coordinates: the product of the extents, of the whole or of the mode at a path.

    Raises:
        LayoutError: the path does not exist, or the size overflows.
    """
    return product(mode_at(get_shape(value), tuple(mode)))


def flatten(value: Value) -> Value:
    """The same function without nesting; of a tile, the same tilers in one list. A lone leaf stays a leaf.

    Raises:
        LayoutError: it is a swizzle.
    """
    match value:
        case Layout():
            return Layout(flatten_tuple(value.shape), flatten_tuple(value.stride))
        case ComposedLayout(inner, offset, outer_):
            return ComposedLayout(inner, offset, Layout(flatten_tuple(outer_.shape), flatten_tuple(outer_.stride)))
        case Tile():
            return Tile(tuple(_tilers(value)))
        case Swizzle():
            raise LayoutError(f"cannot flatten the swizzle {value}")
        case _:
            return flatten_tuple(value)


def _tilers(tile: Tile) -> Iterator[Layout | Tile | Tuple]:
    for tiler in tile.modes:
        if isinstance(tiler, Tile):
            yield from _tilers(tiler)
        else:
            yield tiler


def coalesce_modes(flat: list[tuple[Integer, Leaf]]) -> list[tuple[Integer, Leaf]]:
    """Merge neighbours that count on: ``s:d`` and ``t:s*d`` become ``s*t:d``; modes of extent one vanish.

    Only static neighbours merge, as in the dialect: a dynamic leaf stays an operand of its own.
    """
    result: list[tuple[Integer, Leaf]] = []
    for extent, stride in reversed(flat):
        if extent == 1:
            continue
        if result and _continues(extent, stride, *result[-1]):
            result[-1] = (multiply_integers(extent, result[-1][0]), stride)
        else:
            result.append((extent, stride))
    return result[::-1]


def _continues(extent: Integer, stride: Leaf, next_extent: Integer, next_stride: Leaf) -> bool:
    if not all(map(is_static, (extent, stride, next_extent, next_stride))):
        return False
    return scale(stride, integer(extent)) == next_stride


def from_flat(flat: list[tuple[Integer, Leaf]]) -> Layout:
    """The layout with these leaves: ``1:0`` for none, without parentheses for one."""
    if len(flat) <= 1:
        return Layout(*flat[0]) if flat else UNIT
    return Layout(tuple(extent for extent, _ in flat), tuple(stride for _, stride in flat))


def coalesce(layout: AnyLayout, profile: Tuple | None = None) -> AnyLayout:
    """The simplest layout that is the same function on offsets: neighbours merge, modes of extent one vanish.

    With a profile, each mode of the layout that corresponds to a leaf of the profile is simplified on its own, and
    modes beyond the profile stay as they are.

    Raises:
        LayoutError: the profile has more modes than the layout at some place.
    """
    return on_outer(lambda part: coalesce_layout(part, profile), layout)


def coalesce_layout(layout: Layout, profile: Tuple | None = None, path: tuple[int, ...] = ()) -> Layout:
    """``coalesce`` of a plain layout."""
    if isinstance(profile, tuple):
        parts = modes(layout)
        if len(profile) > len(parts):
            place = f" at mode path [{', '.join(map(str, path))}]" if path else ""
            raise LayoutError(
                f"expects target_profile rank ({len(profile)}) to not exceed the layout rank ({len(parts)}){place}"
            )
        pairs = enumerate(zip(parts, profile, strict=False))
        done = [coalesce_layout(part, leaf, (*path, i)) for i, (part, leaf) in pairs]
        return concatenate([*done, *parts[len(profile) :]])
    if layout.shape == ():
        return layout
    return from_flat(coalesce_modes(flat_modes(layout)))


def filter_zeros(layout: AnyLayout, profile: Tuple | None = None) -> AnyLayout:
    """Every mode with stride zero (or with a zero in the profile) gets extent one.

    Raises:
        LayoutError: the profile does not fit the strides.
    """
    strides = stride_of(layout) if profile is None else profile
    return on_outer(lambda part: Layout(_without_zeros(part.shape, strides), part.stride), layout)


def _without_zeros(shape: Tuple, strides: Tuple) -> Tuple:
    if isinstance(strides, tuple):
        if not isinstance(shape, tuple) or len(shape) != len(strides):
            raise LayoutError(f"expects a profile that fits the layout, but {show(strides)} meets {show(shape)}")
        return tuple(map(_without_zeros, shape, strides))
    if is_zero(strides):
        return transform(lambda _: 1, shape)
    return shape


def filter(layout: AnyLayout) -> AnyLayout:
    """The layout without the modes that do not move: those of stride zero or extent one. Raises nothing."""
    return coalesce(filter_zeros(layout))


def get(value: Moded, mode: Sequence[int] = ()) -> Value:
    """The mode at a path of indices.

    Raises:
        LayoutError: an index is out of range, or the path continues below a leaf.
    """
    path = tuple(mode)
    match value:
        case Layout():
            return Layout(mode_at(value.shape, path), mode_at(value.stride, path))
        case ComposedLayout():
            return on_outer(lambda part: Layout(mode_at(part.shape, path), mode_at(part.stride, path)), value)
        case Tile():
            if not path:
                return value
            if not 0 <= path[0] < len(value.modes):
                raise LayoutError(f"expects mode index in [0, {len(value.modes)}) at depth 0, but got {path[0]}")
            tiler = value.modes[path[0]]
            return get(tiler, path[1:]) if len(path) > 1 else tiler
        case Swizzle():
            raise LayoutError(f"the swizzle {value} has no modes")
        case _:
            return mode_at(value, path)


def _rearranged(value: Moded, arrange: Callable[[tuple[Tuple, ...]], Tuple]) -> Moded:
    """The value with its top-level modes rearranged, shapes and strides together."""
    result: Value
    match value:
        case Layout(shape, stride):
            result = Layout(arrange(tuple_modes(shape)), arrange(tuple_modes(stride)))
        case ComposedLayout(inner, offset, outer_):
            result = ComposedLayout(inner, offset, _rearranged(outer_, arrange))
        case Tile(tilers):
            result = Tile(arrange(tilers))  # type: ignore[arg-type]
        case Swizzle():
            raise LayoutError(f"the swizzle {value} has no modes")
        case _:
            result = arrange(tuple_modes(value))
    return result  # type: ignore[return-value]


def select(value: Moded, mode: Sequence[int]) -> Moded:
    """The modes with these indices, in this order, always as a tuple.

    Raises:
        LayoutError: an index is out of range.
    """
    for index in mode:
        if not 0 <= index < rank(value):
            raise LayoutError(f"select: mode {index} is out of range, the input has {rank(value)} modes")
    return _rearranged(value, lambda parts: tuple(parts[index] for index in mode))


def group_modes(value: Moded, begin: int, end: int) -> Moded:
    """Modes ``begin`` to ``end - 1`` become one mode.

    Raises:
        LayoutError: not ``0 <= begin < end <= rank``.
    """
    if begin < 0:
        raise LayoutError(f"expects 0 <= begin, but got begin={begin}")
    if begin >= end:
        raise LayoutError(f"expects begin < end, but got begin={begin}, end={end}")
    if end > rank(value):
        raise LayoutError(f"expects end <= rank(input)={rank(value)}, but got end={end}")
    if depth(value) == 0:
        return select(value, [0])
    return _rearranged(value, lambda parts: (*parts[:begin], parts[begin:end], *parts[end:]))


MAX_RANK = 1024


def append_to_rank(value: Moded, wanted: int, element: Moded) -> Moded:
    """The value with copies of ``element`` as further modes until it has ``wanted`` of them; unchanged if it has.

    Raises:
        LayoutError: ``wanted`` is not positive (or beyond reason), or the element is of another kind.
    """
    return _padded(value, wanted, element, lambda parts, more: (*parts, *more))


def prepend_to_rank(value: Moded, wanted: int, element: Moded) -> Moded:
    """As ``append_to_rank``, but the new modes come first."""
    return _padded(value, wanted, element, lambda parts, more: (*more, *parts))


Joined: TypeAlias = Callable[[tuple[Tuple, ...], tuple[Tuple, ...]], tuple[Tuple, ...]]


def _padded(value: Moded, wanted: int, element: Moded, join: Joined) -> Moded:
    if not 0 < wanted <= MAX_RANK:
        raise LayoutError(f"expects rank to be a positive integer, but got {wanted}")
    result: Value
    match value, element:
        case (Layout(), Layout()) | (ComposedLayout(), Layout()):
            result = on_outer(lambda part: _padded_layout(part, wanted, element, join), value)  # type: ignore[arg-type]
        case (ComposedLayout(), _):
            raise LayoutError(
                f"expects element to be layout when input is composed_layout, but got {element}",
                "expects element to be !cute.layout when input is !cute.composed_layout, but got",
            )
        case (Swizzle() | Tile(), _):
            raise LayoutError(
                f"expects input to be int_tuple, coord, stride, shape, layout, or composed_layout, but got {value}",
                "expects $input to be !cute.int_tuple, !cute.coord, !cute.stride, !cute.shape, !cute.layout, "
                "or !cute.composed_layout, but got",
            )
        case (Layout(), _) | (_, Layout() | ComposedLayout() | Swizzle() | Tile()):
            raise LayoutError("expects input and element to have the same kind")
        case _:
            result = _padded_tuple(value, wanted, element, join)
    return result  # type: ignore[return-value]


def _padded_tuple(value: Tuple, wanted: int, element: Tuple, join: Joined) -> Tuple:
    missing = wanted - tuple_rank(value)
    return join(tuple_modes(value), (element,) * missing) if missing > 0 else value


def _padded_layout(layout: Layout, wanted: int, element: Layout, join: Joined) -> Layout:
    missing = wanted - rank(layout)
    if missing <= 0:
        return layout
    return Layout(
        join(tuple_modes(layout.shape), (element.shape,) * missing),
        join(tuple_modes(layout.stride), (element.stride,) * missing),
    )


def is_static_layout(layout: AnyLayout | Tuple) -> bool:
    """Are all extents and strides (and the offset) known before the kernel runs?"""
    match layout:
        case ComposedLayout(inner, offset, outer_):
            return (
                is_static_layout(offset)
                and is_static_layout(outer_)
                and (not isinstance(inner, Layout) or is_static_layout(inner))
            )
        case Layout(shape, stride):
            return is_static_layout(shape) and is_static_layout(stride)
        case _:
            return not any(
                isinstance(leaf.value if isinstance(leaf, Basis) else leaf, Dynamic) for leaf in leaves(layout)
            )


def has_scaled_basis(layout: AnyLayout) -> bool:
    """Does the layout map to coordinates rather than to offsets?"""
    return has_basis(stride_of(layout))
