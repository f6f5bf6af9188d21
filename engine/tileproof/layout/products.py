"""Products: a layout repeated. ``logical_product(A, B) = (A, complement(A, size(A) * cosize(B)) o B)``.

The first mode of the result is ``A``, the second is the layout of the copies of ``A``, in the order of ``B``. The other
products only arrange the modes:

    logical, zipped  (A, copies)
    tiled            (A, copies m, copies n, ...)
    flat             (A m, A n, copies m, copies n, ...)
    blocked          ((A m, copies m), (A n, copies n), ...)    neighbours stay together
    raked            ((copies m, A m), (copies n, A n), ...)    neighbours are dealt out
"""

from __future__ import annotations

from collections.abc import Callable

from tileproof.layout.basics import (
    UNIT,
    AnyLayout,
    append_to_rank,
    coalesce_layout,
    concatenate,
    is_static_layout,
    modes,
    on_outer,
    outer,
    rank,
    size,
)
from tileproof.layout.composing import compose
from tileproof.layout.coordinates import cosize
from tileproof.layout.errors import LayoutError
from tileproof.layout.inverse import complement, complement_unchecked, without_overlap
from tileproof.layout.leaves import is_zero, multiply_integers
from tileproof.layout.tuples import has_basis, leaves
from tileproof.layout.values import ComposedLayout, Layout


def logical_product(block: AnyLayout, tiler: Layout) -> AnyLayout:
    """``(block, copies)``.

    Raises:
        LayoutError: the block is dynamic or not injective, or its gaps do not fit the tiler (a divisibility condition).
    """
    return _repeat(lambda part: concatenate([part, _copies(part, tiler)]), block)


def _repeat(product: Callable[[Layout], Layout], block: AnyLayout) -> AnyLayout:
    """A product of the block, or of the outer part of a composed one, which must be static."""
    if not is_static_layout(outer(block)):
        kind = "composed_layout" if isinstance(block, ComposedLayout) else "layout"
        raise LayoutError(
            f"a product repeats a static layout, but got {block}",
            f"expects lhs to be static, but got '!cute.{kind}<\"{block}\">'",
        )
    return on_outer(product, block)


def _copies(block: Layout, tiler: Layout) -> Layout:
    """The layout of the copies of the block."""
    if has_basis(tiler.stride):
        raise LayoutError(
            f"the copies of a product follow integer strides, but got {tiler}",
            "expects rhs stride to be integer-only (scaled-basis strides like `N@M` are not supported), "
            f"but got '!cute.layout<\"{tiler}\">'",
        )
    if tiler.shape == () or all(map(is_zero, leaves(tiler.stride))):
        return tiler  # there are no other copies
    if has_basis(block.stride) and not is_static_layout(tiler):
        raise LayoutError(
            f"a block with scaled-basis strides needs a static tiler, but got {tiler}",
            "expects rhs to be static when lhs has scaled-basis strides (`N@M`), "
            f"but got rhs '!cute.layout<\"{tiler}\">'",
        )
    try:
        target = multiply_integers(size(block), cosize(tiler))
        if has_basis(block.stride):
            return compose(complement(block, target), tiler)
        # The dialect repeats a block whose modes interleave as long as the copies end below its last mode.
        gaps = complement_unchecked(block, target)
        without_overlap(concatenate(modes(gaps)[:-1]), block)
        return compose(gaps, tiler)
    except LayoutError as fault:
        raise LayoutError(f"cannot repeat {block} as {tiler}: {fault}") from None


def zipped_product(block: AnyLayout, tiler: Layout) -> AnyLayout:
    """``(block, copies)``. Raises as ``logical_product``."""
    return logical_product(block, tiler)


def tiled_product(block: AnyLayout, tiler: Layout) -> AnyLayout:
    """``(block, copies m, copies n, ...)``. Raises as ``logical_product``."""
    return _repeat(lambda part: concatenate([part, *modes(_copies(part, tiler))]), block)


def flat_product(block: AnyLayout, tiler: Layout) -> AnyLayout:
    """``(block m, block n, copies m, copies n, ...)``. Raises as ``logical_product``."""
    return _repeat(lambda part: concatenate([*modes(part), *modes(_copies(part, tiler))]), block)


def blocked_product(block: AnyLayout, tiler: Layout) -> AnyLayout:
    """``((block m, copies m), ...)``: contiguous blocks. Raises as ``logical_product``."""
    return _repeat(lambda part: blocked(part, tiler), block)


def blocked(block: Layout, tiler: Layout) -> Layout:
    """``blocked_product`` of plain layouts."""
    return _paired(block, tiler, first="block")


def raked_product(block: AnyLayout, tiler: Layout) -> AnyLayout:
    """``((copies m, block m), ...)``, each mode coalesced: elements dealt out in turn. Raises as
    ``logical_product``."""

    def rake(part: Layout) -> Layout:
        paired = _paired(part, tiler, first="copies")
        return coalesce_layout(paired, (1,) * rank(paired))

    return _repeat(rake, block)


def _paired(block: Layout, tiler: Layout, first: str) -> Layout:
    """Mode by mode (block, copies) or (copies, block), both padded to one rank."""
    wanted = max(rank(block), rank(tiler))
    padded, copies = append_to_rank(block, wanted, UNIT), append_to_rank(tiler, wanted, UNIT)
    pair = (padded, _copies(padded, copies))
    major, minor = pair if first == "block" else pair[::-1]
    # As in the dialect, a single leaf pairs with the whole of its partner; otherwise modes pair up one by one.
    if not isinstance(major.shape, tuple):
        return concatenate([concatenate([major, minor])])
    if not isinstance(minor.shape, tuple) or rank(major) != rank(minor):
        raise LayoutError(f"the modes of {pair[0]} and of its copies {pair[1]} do not pair up")
    return concatenate([concatenate(both) for both in zip(modes(major), modes(minor), strict=True)])
