"""Layouts made from shapes, orders and other layouts."""

from __future__ import annotations

from tileproof.layout.basics import (
    UNIT,
    AnyLayout,
    append_to_rank,
    concatenate,
    flat_modes,
    make_layout,
    modes,
    on_outer,
    outer,
    rank,
)
from tileproof.layout.divide import tilers_of, zipped_divide
from tileproof.layout.errors import LayoutError
from tileproof.layout.leaves import (
    Integer,
    add_integers,
    divide_integers,
    integer,
    is_zero,
    modulo_integers,
    multiply_integers,
)
from tileproof.layout.products import blocked
from tileproof.layout.slicing import slice_and_offset
from tileproof.layout.tuples import (
    ceil_div,
    compact,
    has_basis,
    leaves,
    product,
    product_each,
    transform,
    weakly_congruent,
)
from tileproof.layout.tuples import modes as tuple_modes
from tileproof.layout.values import Basis, ComposedLayout, Dynamic, Layout, Leaf, Swizzle, Tile, Tuple, Wildcard, show


def make_identity_layout(shape: Tuple) -> Layout:
    """The layout that maps each coordinate to itself: ``(4,2):(1@0,1@1)``. Of one extent it is ``n:1``.

    Raises:
        LayoutError: an extent is not a positive integer.
    """

    def steps(part: Tuple, path: tuple[int, ...]) -> Tuple:
        if isinstance(part, tuple):
            return tuple(steps(mode, (index, *path)) for index, mode in enumerate(part))
        return Basis(1, path) if path else 1

    return make_layout(shape, steps(shape, ()))


def _compact_in_order(shape: Tuple, order: list[Integer]) -> Tuple:
    """Compact strides, the mode of the smallest order fastest; dynamic orders come last, from left to right."""
    extents = [integer(extent, "an extent") for extent in leaves(shape)]
    keys = [(0, key, 0) if isinstance(key, int) else (1, 0, place) for place, key in enumerate(order)]
    strides: list[Integer] = []
    for extent, key in zip(extents, keys, strict=True):
        before: Integer = 1
        for other, other_key in zip(extents, keys, strict=True):
            if other_key < key:
                before = multiply_integers(before, other)
        strides.append(0 if extent == 1 else before)
    rest = iter(strides)
    return transform(lambda _: next(rest), shape)


def _spread(order: Tuple, shape: Tuple) -> Tuple:
    """The order of every leaf; modes ordered as a whole are column-major inside."""
    if isinstance(shape, tuple) and isinstance(order, tuple):
        return tuple(map(_spread, order, shape))
    return transform(lambda _: order, shape)


def make_ordered_layout(shape: Tuple, order: Tuple) -> Layout:
    """The compact layout whose modes run in this order: ``(4,2,3)`` in order ``(1,0,2)`` gives ``(2,1,8)``.

    A mode that has one order for several leaves is column-major inside. Extents of one get stride zero.

    Raises:
        LayoutError: the order has another profile than the shape.
    """
    make_layout(shape)
    if not weakly_congruent(order, shape):
        raise LayoutError(
            f"expects an order that fits the shape, but {show(order)} has another profile than {show(shape)}"
        )
    if not isinstance(order, tuple):
        return Layout(shape, _unit_strides(shape, compact(shape)))
    # Leaves that share one order as a mode keep their places; leaves of equal but separate orders start together.
    groups = [(leaf, mode) for leaf, mode in _grouped(order, shape)]
    outer_strides = _compact_in_order(
        tuple(product(mode) for _, mode in groups), [integer(leaf, "an order") for leaf, _ in groups]
    )
    flat: list[Leaf] = []
    for start, (_, mode) in zip(tuple_modes(outer_strides), groups, strict=True):
        flat.extend(multiply_integers(integer(start), integer(d)) for d in leaves(compact(mode)))
    rest = iter(flat)
    return Layout(shape, _unit_strides(shape, transform(lambda _: next(rest), shape)))


def _grouped(order: Tuple, shape: Tuple) -> list[tuple[Leaf, Tuple]]:
    if isinstance(order, tuple):
        return [pair for o, s in zip(order, tuple_modes(shape), strict=True) for pair in _grouped(o, s)]
    return [(order, shape)]


def _unit_strides(shape: Tuple, stride: Tuple) -> Tuple:
    """Stride zero where the extent is one."""
    if isinstance(shape, tuple):
        return tuple(map(_unit_strides, shape, tuple_modes(stride)))
    return 0 if shape == 1 else stride


def make_layout_like(layout: AnyLayout) -> Layout:
    """The compact layout of the same shape whose strides are ordered as in ``layout``; broadcasts stay broadcasts.

    Raises:
        LayoutError: the strides are scaled bases, or a composed layout has a layout as its inner part.
    """
    if isinstance(layout, ComposedLayout) and not isinstance(layout.inner, Swizzle | None):
        raise LayoutError(
            f"make_layout_like needs a swizzle inside {layout}, not a layout",
            "expects source composed layout to have a Swizzle A component, but got a layout A",
        )
    part = outer(layout)
    if has_basis(part.stride):
        raise LayoutError(
            f"make_layout_like needs integer strides, but got {part}",
            "expects plain integer strides in source layout, but got scaled-basis strides",
        )
    moving = [1 if is_zero(d) else s for s, d in zip(leaves(part.shape), leaves(part.stride), strict=True)]
    order = [abs(d) if isinstance(d, int) else integer(d) for d in leaves(part.stride)]
    strides = iter(leaves(_compact_in_order(tuple(moving), order)))
    return Layout(part.shape, transform(lambda _: next(strides), part.shape))


def tile_to_shape(block: AnyLayout, shape: Tuple, order: Tuple) -> AnyLayout:
    """Copies of ``block`` that fill ``shape``, mode by mode, laid out in this order.

    Raises:
        LayoutError: the block has more modes than the shape, or is not injective or dynamic.
    """
    wanted = len(tuple_modes(shape))
    if rank(block) > wanted:
        raise LayoutError(
            f"expects rank of block is equal or less than rank of target shape, got {block}, {show(shape)}"
        )

    def tile(part: Layout) -> Layout:
        padded = append_to_rank(part, wanted, UNIT)
        counts = ceil_div(product_each(shape), product_each(padded.shape))
        return blocked(padded, make_ordered_layout(counts, order))

    return on_outer(tile, block)


def local_tile(
    layout: AnyLayout, tiler: Layout | Tile | Tuple, coord: Tuple, proj: Tuple | None = None
) -> tuple[AnyLayout, Tuple]:
    """One tile of a layout, and the offset at which it starts; ``_`` in the coordinate keeps all tiles of that mode.

    A projection drops the modes of tiler and coordinate that face a wildcard in it: operand A of an (M, N, K) tiling
    has ``proj = (1,_,1)``.

    Raises:
        LayoutError: the division fails, or the coordinate does not fit.
    """
    if proj is not None:
        keep = [i for i, leaf in enumerate(tuple_modes(proj)) if leaf is not Wildcard.ALL]
        parts = tilers_of(tiler)
        if parts is None or not isinstance(coord, tuple) or any(i >= min(len(parts), len(coord)) for i in keep):
            raise LayoutError(f"expects a tiler and a coordinate with a mode for each of the projection {show(proj)}")
        tiler = Tile(tuple(parts[i] for i in keep))
        coord = tuple(coord[i] for i in keep) + coord[len(tuple_modes(proj)) :]
    divided = zipped_divide(layout, tiler)
    within, over = modes(outer(divided))
    if not isinstance(coord, tuple) or len(coord) != rank(over):
        raise LayoutError(f"expected a coordinate of rank {rank(over)} but got {show(coord)}")
    flat = on_outer(lambda _: concatenate([*modes(within), *modes(over)]), divided)
    return slice_and_offset(flat, (*(Wildcard.ALL,) * rank(within), *coord))


def local_partition(layout: AnyLayout, tiler: Layout, index: Integer) -> tuple[AnyLayout, Tuple]:
    """What worker ``index`` of those in ``tiler`` owns: one element of every tile, and the offset at which that starts.

    ``tiler`` maps the place of a worker in the tile to its index.

    Raises:
        LayoutError: the division fails, the tiler has more modes than the layout, its strides are not static, or the
            index is not an integer.
    """
    if not isinstance(index, int | Dynamic):
        raise LayoutError(f"local_partition takes the index of a worker, an integer, but got {show(index)}")
    divided = zipped_divide(layout, product_each(tiler.shape))
    within, over = modes(outer(divided))
    place = tuple(_place_of(mode, index) for mode in modes(tiler))
    flat = on_outer(lambda _: concatenate([*modes(within), *modes(over)]), divided)
    return slice_and_offset(flat, (*place, *(Wildcard.ALL,) * rank(over)))


def _place_of(mode: Layout, index: Integer) -> Tuple:
    """The coordinate along a mode of the worker with this index."""
    place: Integer = 0
    running: Integer = 1
    for extent, stride in flat_modes(mode):
        if not isinstance(stride, int):
            raise LayoutError(f"local_partition needs static integer strides in the tiler, but got {stride}")
        digit = modulo_integers(divide_integers(index, stride), extent) if stride else 0
        place = add_integers(place, multiply_integers(digit, running))
        running = multiply_integers(running, extent)
    return place
