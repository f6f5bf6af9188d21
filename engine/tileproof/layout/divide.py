"""Division: a layout split into tiles. ``logical_divide(A, B) = A o (B, complement(B, size(A)))``.

The first mode of the result runs within one tile, the second over the tiles. The other divisions only arrange the
modes:

    logical  ((tile m, rest m), (tile n, rest n), ...)
    zipped   ((tile m, tile n), (rest m, rest n, ...))
    tiled    ((tile m, tile n), rest m, rest n, ...)
    flat     (tile m, tile n, rest m, rest n, ...)
"""

from __future__ import annotations

from tileproof.layout.basics import AnyLayout, coalesce_layout, concatenate, modes, on_outer
from tileproof.layout.composing import Tiler, column, compose
from tileproof.layout.errors import LayoutError
from tileproof.layout.inverse import complement
from tileproof.layout.leaves import is_wildcard
from tileproof.layout.tuples import has_basis, is_static_tuple, rank
from tileproof.layout.values import Layout, Tile, show_value


def tilers_of(tiler: Tiler) -> tuple[Tiler, ...] | None:
    """One tiler a mode, or None for a tiler of the whole layout."""
    if isinstance(tiler, Tile):
        return tiler.modes
    return tiler if isinstance(tiler, tuple) else None


def _check(layout: Layout, tiler: Tiler, path: tuple[int, ...]) -> None:
    """Complain about a tiler that no layout can be divided by, in the dialect's order."""
    place = f" at mode path [{', '.join(map(str, path))}]" if path else ""
    tilers = tilers_of(tiler)
    if tilers is not None:
        if not path and len(tilers) > rank(layout.shape):
            raise LayoutError(
                "expects rank(tiler) <= rank(input), "
                f"but got rank {len(tilers)} tiler and rank {rank(layout.shape)} input"
            )
        for i, part in enumerate(tilers):
            _check(layout, part, (*path, i))
    elif isinstance(tiler, Layout):
        if path and has_basis(tiler.stride):
            raise LayoutError(
                "expects layout components of a tile tiler to have integer-only strides "
                f"(scaled-basis strides like `N@M` are not supported), but got tiler {tiler}{place}"
            )
        if rank(tiler.shape) > 1 and not is_static_tuple(tiler.stride):
            raise LayoutError(f"expects tiler to have a static stride or to be rank-1, but got tiler {tiler}{place}")


def logical_divide(layout: AnyLayout, tiler: Tiler) -> AnyLayout:
    """Each tiled mode becomes (within a tile, over the tiles); other modes stay.

    Raises:
        LayoutError: the tiler has more modes than the layout, is not injective, or does not divide the layout.
    """
    return on_outer(lambda part: _logical(part, tiler), layout)


def _logical(layout: Layout, tiler: Tiler) -> Layout:
    _check(layout, tiler, ())
    return _divided(layout, tiler)


def _divided(layout: Layout, tiler: Tiler) -> Layout:
    if is_wildcard(tiler):
        return layout
    if isinstance(tiler, Tile | tuple):
        tilers = tiler.modes if isinstance(tiler, Tile) else tiler
        parts = modes(layout)
        if len(tilers) > len(parts):
            raise LayoutError(f"the tiler {show_value(tiler)} has more modes than {layout}", _wording(layout, tiler))
        done = [_divided(part, mode) for part, mode in zip(parts, tilers, strict=False)]
        return concatenate([*done, *parts[len(tilers) :]])
    if not isinstance(tiler, Layout):
        tiler = column(tiler)
    try:
        # A basis in the tiler names a mode at the top, so those stay apart.
        by_mode = (1,) * len(modes(layout)) if has_basis(tiler.stride) else None
        target = coalesce_layout(layout, by_mode).shape
        rest = complement(tiler, target)
        return compose(layout, concatenate([tiler, rest]))
    except LayoutError as fault:
        raise LayoutError(f"cannot divide {layout} by {tiler}: {fault}", _wording(layout, tiler)) from None


def _wording(layout: Layout, tiler: Tiler) -> str:
    described = f'!cute.layout<"{tiler}">' if isinstance(tiler, Layout) else show_value(tiler)
    return f"expects valid operands, but cannot compute divide for '!cute.layout<\"{layout}\">' and '{described}'"


def _unzip(layout: Layout, tiler: Tiler) -> tuple[Layout, Layout]:
    """The parts within a tile, in the tiler's profile, and the parts over the tiles."""
    tilers = tilers_of(tiler)
    parts = modes(layout)
    if tilers is None:
        if len(parts) != 2:
            raise LayoutError(
                f"mode {layout} has no tiler and {len(parts)} modes, so it does not fall into a tile and a rest",
                "failed to perform a valid division",
            )
        return parts[0], parts[1]
    pairs = [_unzip(part, mode) for part, mode in zip(parts, tilers, strict=False)]
    within, over = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    return concatenate(within), concatenate([*over, *parts[len(tilers) :]])


def zipped_divide(layout: AnyLayout, tiler: Tiler) -> AnyLayout:
    """``((tile m, tile n), (rest m, rest n, ...))``. Raises as ``logical_divide``."""
    return on_outer(lambda part: concatenate(_unzip(_logical(part, tiler), tiler)), layout)


def tiled_divide(layout: AnyLayout, tiler: Tiler) -> AnyLayout:
    """``((tile m, tile n), rest m, rest n, ...)``. Raises as ``logical_divide``."""

    def divide(part: Layout) -> Layout:
        within, over = _unzip(_logical(part, tiler), tiler)
        return concatenate([within, *modes(over)])

    return on_outer(divide, layout)


def flat_divide(layout: AnyLayout, tiler: Tiler) -> AnyLayout:
    """``(tile m, tile n, rest m, rest n, ...)``. Raises as ``logical_divide``."""

    def divide(part: Layout) -> Layout:
        within, over = _unzip(_logical(part, tiler), tiler)
        return concatenate([*modes(within), *modes(over)])

    return on_outer(divide, layout)
