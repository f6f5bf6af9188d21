"""Composition: ``composition(A, B)(c) == A(B(c))``, as a layout with the profile of ``B``.

``B`` may be a layout, a shape (one column-major tile a mode) or a tile (one tiler a mode). A leaf ``s:d`` of ``B``
walks through ``A`` with step ``d``: it skips the modes of ``A`` that ``d`` has used up, and fills the following ones
until its ``s`` elements are placed. The result is a layout where the numbers come out even, the two *divisibility
conditions*:

- stride: on its way ``d`` is a multiple of each extent it skips, or smaller than the extent that it divides;
- shape: what a mode of ``A`` still offers divides what remains of ``s``.
"""

from __future__ import annotations

from typing import TypeAlias

from tileproof.layout.basics import (
    AnyLayout,
    coalesce_layout,
    coalesce_modes,
    concatenate,
    flat_modes,
    from_flat,
    modes,
)
from tileproof.layout.errors import LayoutError
from tileproof.layout.leaves import (
    Integer,
    absolute,
    ceil_divide_integers,
    divide_integers,
    integer,
    is_wildcard,
    is_zero,
    multiply_integers,
    scale,
    sign,
    smaller,
)
from tileproof.layout.tuples import leaves, rank
from tileproof.layout.values import Basis, ComposedLayout, Layout, Leaf, Swizzle, Tile, Tuple

REFUSAL = "expects a valid composition result, but construction failed"

Tiler: TypeAlias = "Layout | Tile | Tuple"


def composition(lhs: AnyLayout | Swizzle, rhs: Tiler | ComposedLayout) -> AnyLayout:
    """``lhs`` after ``rhs``: first ``rhs``, then ``lhs``.

    ``rhs`` is a layout, or a tiler whose modes apply to the modes of ``lhs`` one by one. A swizzle or a composed layout
    on the left keeps its inner part; a composed layout on the right makes one whose inner part is ``lhs``.

    Raises:
        LayoutError: a divisibility condition fails, the tiler has too many modes, or a basis names a missing mode.
    """
    match lhs, rhs:
        case Swizzle(), Layout():
            return ComposedLayout(lhs, 0, rhs)
        case Swizzle(), _:
            raise LayoutError(f"a swizzle composes with a layout, but got {rhs}")
        case ComposedLayout(inner, offset, outer), _:
            composed = composition(outer, rhs)
            if isinstance(composed, ComposedLayout):
                raise LayoutError(f"the composed layout {rhs} on the right of {lhs} has two inner parts", REFUSAL)
            return ComposedLayout(inner, offset, composed)
        case Layout(), ComposedLayout(None, offset, outer):
            return ComposedLayout(lhs, offset, outer)
        case Layout(), ComposedLayout():
            raise LayoutError(f"the right side {rhs} already has an inner part", REFUSAL)
    return compose(lhs, rhs)  # type: ignore[arg-type]


def compose(lhs: Layout, rhs: Tiler) -> Layout:
    """``composition`` of plain layouts and tilers."""
    if is_wildcard(rhs):
        return lhs
    if isinstance(rhs, Layout):
        if lhs.shape == () and rhs.shape != ():
            raise LayoutError(f"the empty layout {lhs} has no mode for {rhs} to walk through", REFUSAL)
        return _compose_tree(coalesce_for(lhs, rhs.stride), rhs.shape, rhs.stride, ())
    if isinstance(rhs, Tile | tuple):
        tilers = rhs.modes if isinstance(rhs, Tile) else rhs
        parts = modes(lhs)
        if len(tilers) > len(parts):
            raise LayoutError(
                f"the tiler has {len(tilers)} modes, but {lhs} only {len(parts)} for it to apply to", REFUSAL
            )
        return concatenate([compose(part, tiler) for part, tiler in zip(parts, tilers, strict=False)])
    return compose(lhs, column(rhs))


def column(extent: Tuple) -> Layout:
    """The tiler of a bare extent: neighbours in a row. A single element moves nowhere.

    Raises:
        LayoutError: it is not an integer.
    """
    return Layout(integer(extent, "an extent, a layout or a wildcard as tiler"), 0 if extent == 1 else 1)


def _coprofile(strides: Tuple) -> dict[int, list[Leaf]] | None:
    """The scaled bases among the strides by the mode they step along, one level down; None if there is none."""
    by_mode: dict[int, list[Leaf]] = {}
    for stride in leaves(strides):
        if isinstance(stride, Basis) and not is_zero(stride):
            # The path reads outward, so its last index is the mode at the top.
            rest = stride.path[:-1]
            by_mode.setdefault(stride.path[-1], []).append(Basis(stride.value, rest) if rest else stride.value)
    return by_mode or None


def coalesce_for(layout: Layout, strides: Tuple) -> Layout:
    """``layout`` simplified as far as a walk with these strides allows: whole, or within the modes that they name.

    A last mode of extent one stays: a traversal past the end continues with its stride.
    """
    by_mode = _coprofile(strides)
    if by_mode is None:
        flat = flat_modes(layout)
        if not flat:
            return layout
        extent, stride = flat[-1]
        if extent != 1:
            return from_flat(coalesce_modes(flat))
        merged = coalesce_modes([*flat[:-1], (2, stride)])
        last, last_stride = merged[-1]
        return from_flat([*merged[:-1], (last, last_stride)])
    return concatenate(
        [
            coalesce_for(part, tuple(by_mode[i])) if i in by_mode else coalesce_layout(part)
            for i, part in enumerate(modes(layout))
        ]
    )


def _compose_tree(lhs: Layout, shape: Tuple, stride: Tuple, path: tuple[int, ...]) -> Layout:
    if isinstance(shape, tuple):
        strides = stride if isinstance(stride, tuple) else (stride,) * len(shape)
        return concatenate(
            [_compose_tree(lhs, s, d, (*path, i)) for i, (s, d) in enumerate(zip(shape, strides, strict=True))]
        )
    extent = integer(shape, "an extent")
    if is_zero(stride):
        return Layout(extent, 0)
    if isinstance(stride, Basis):
        part = lhs
        for mode in reversed(stride.path):
            if mode >= rank(part.shape):
                raise LayoutError(
                    f"the basis {stride} names mode {mode}, but {part} has only {rank(part.shape)}", REFUSAL
                )
            part = modes(part)[mode]
        return _walk(part, extent, integer(stride.value, "an integer step"), path)
    return _walk(lhs, extent, integer(stride, "an integer stride"), path)


def _walk(lhs: Layout, extent: Integer, stride: Integer, path: tuple[int, ...]) -> Layout:
    """The layout of ``extent`` elements, ``stride`` apart, in ``lhs``."""
    if not isinstance(lhs.shape, tuple):
        return Layout(extent, scale(lhs.stride, stride))  # type: ignore[arg-type]
    *before, (_, last_stride) = flat_modes(lhs)
    placed: list[tuple[Integer, Leaf]] = []
    rest, step = extent, stride
    for mode, (available, mode_stride) in enumerate(before):
        if placed and rest == 1:
            break
        if isinstance(available, int) and isinstance(step, int) and not _enters(available, step):
            raise LayoutError(
                f"composition: {_mode_name(path)} {extent}:{stride} of the right side enters mode {mode} of {lhs} "
                f"with step {abs(step)}, and the extent {available} does not divide {abs(step)}",
                REFUSAL,
            )
        offered = ceil_divide_integers(available, absolute(step))
        skipped = multiply_integers(ceil_divide_integers(absolute(step), available), sign(step))
        if offered != 1 and rest != 1:
            taken = smaller(offered, rest)
            if isinstance(rest, int) and isinstance(taken, int) and (taken == 0 or rest % taken):
                raise LayoutError(
                    f"composition: {_mode_name(path)} {extent}:{stride} of the right side needs {rest} more elements, "
                    f"which mode {mode} of {lhs} offers in runs of {taken}, and {taken} does not divide {rest}",
                    REFUSAL,
                )
            placed.append((taken, scale(mode_stride, step)))
            rest = divide_integers(rest, taken)
        step = skipped
    if not placed or rest != 1:
        placed.append((rest, scale(last_stride, step)))
    # Neighbours that meet again, because an extent was rounded up or was dynamic, are one.
    return from_flat(coalesce_modes(placed) if len(placed) > 1 else placed)


def _enters(available: int, step: int) -> bool:
    """The stride condition: a step beyond an extent is a multiple of it. (An extent of zero is a gap that is not
    there.)"""
    return available != 0 and (abs(step) <= available or step % available == 0)


def _mode_name(path: tuple[int, ...]) -> str:
    return f"mode {list(path)}" if path else "the leaf"
