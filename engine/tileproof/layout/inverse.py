"""Complement and inverses of layouts.

With scaled-basis strides each mode of the coordinate that the layout steps along is treated on its own, and the result
has the profile of that coordinate.
"""

from __future__ import annotations

from collections.abc import Callable

from tileproof.base.records import dataclass, field
from tileproof.layout.basics import coalesce_layout, coalesce_modes, concatenate, filter, flat_modes, from_flat, rank
from tileproof.layout.coordinates import cosize
from tileproof.layout.errors import LayoutError
from tileproof.layout.leaves import (
    Integer,
    ceil_divide_integers,
    divide_integers,
    divisor,
    dynamic,
    integer,
    is_zero,
    multiply_integers,
)
from tileproof.layout.tuples import compact, has_basis, is_static_tuple, leaves, modes
from tileproof.layout.values import Basis, Dynamic, Layout, Leaf, Tuple

Strided = tuple[Integer, Integer, Integer]
"""(stride, extent, position): a mode, and how far one step along it moves in the domain."""


@dataclass(slots=True)
class _Codomain:
    """A mode of the coordinate that scaled bases step along: its own steps, and its modes."""

    steps: list[Strided] = field(default_factory=list)
    parts: dict[int, _Codomain] = field(default_factory=dict)

    def at(self, path: tuple[int, ...]) -> _Codomain:
        """The mode at the end of a basis's path, which reads outward."""
        node = self
        for index in reversed(path):
            node = node.parts.setdefault(index, _Codomain())
        return node


def _by_codomain(layout: Layout, operation: str) -> _Codomain:
    """The modes of a layout with scaled-basis strides, by the mode of the coordinate that each steps along."""
    root = _Codomain()
    position: Integer = 1
    for leaf in leaves(layout.stride):
        if isinstance(leaf, Basis):
            root.at(leaf.path)
    for extent, stride in coalesce_modes(flat_modes(layout)):
        if not isinstance(stride, Basis):
            # A broadcast mode moves nowhere, but the modes after it count past it.
            if not is_zero(stride):
                raise LayoutError(f"{operation} of {layout}: integer strides and scaled bases do not mix")
        else:
            node = root.at(stride.path)
            if not isinstance(stride.value, int) or not isinstance(extent, int) or stride.value < 0:
                raise LayoutError(f"{operation} of {layout}: expects static, whole, non-negative steps, got {stride}")
            if stride.value:
                node.steps.append((stride.value, extent, position))
        position = multiply_integers(position, extent)
    return root


def _per_codomain(node: _Codomain, function: Callable[[list[Strided]], Layout], layout: Layout) -> Layout:
    """The function on every leaf of the codomain, in the codomain's profile."""
    if not node.parts:
        return function(node.steps)
    if node.steps:
        raise LayoutError(f"the bases of {layout} step both along a mode and along a mode inside it")
    missing = _Codomain()
    last = max(node.parts)
    return concatenate([_per_codomain(node.parts.get(i, missing), function, layout) for i in range(last + 1)])


def complement(layout: Layout, cotarget: Tuple | None = None) -> Layout:
    """What ``layout`` leaves out of ``cotarget``: with it, every offset below the size of ``cotarget`` is reached once.

    The result is ordered (strides increase) and disjoint from ``layout``: only 0 is an offset of both. Where its
    extents do not divide ``cotarget`` it reaches beyond. Without a cotarget the span of the layout itself is filled.

    Raises:
        LayoutError: the layout maps two coordinates to one offset, or has dynamic strides and more than one mode.
    """
    if cotarget is None:
        cotarget = cosize(layout)
    if has_basis(layout.stride):
        return _complement_codomain(_by_codomain(layout, "complement"), cotarget, (), layout)
    # The dialect checks the strides of all modes at the top; within a single mode only non-zero ones count.
    moving = tuple(stride for _, stride in _moving(layout))
    strides = layout.stride if rank(layout) > 1 else moving
    if len(modes(strides)) > 1 and not is_static_tuple(strides):
        raise LayoutError(
            f"complement needs static strides for more than one mode, but {layout} has dynamic ones",
            "expects input with static strides for layouts with more than one mode, "
            f"but '!cute.layout<\"{layout}\">' has dynamic strides with rank {rank(layout)}",
        )
    return without_overlap(complement_unchecked(layout, cotarget), layout)


def without_overlap(filled: Layout, layout: Layout) -> Layout:
    """The gaps that a layout leaves.

    Raises:
        LayoutError: one of them is not a gap: the layout reaches the same offsets in two of its modes.
    """
    for gap, stride in flat_modes(filled):
        if isinstance(gap, int) and gap <= 0:
            raise LayoutError(
                f"complement of {layout}: the offsets of its modes interleave or coincide, "
                f"a mode starts inside the {stride} elements that smaller strides span"
            )
    return filled


def _moving(layout: Layout) -> list[tuple[Integer, Leaf]]:
    """(extent, stride) of the simplest form of the layout, without broadcasts."""
    kept = filter(layout)
    assert isinstance(kept, Layout)
    return [mode for mode in flat_modes(kept) if not is_zero(mode[1])]


def complement_unchecked(layout: Layout, cotarget: Tuple) -> Layout:
    """``complement``, but with an extent of zero for a gap that is not there, as the dialect has it."""
    steps: list[Strided] = [(integer(stride), extent, 1) for extent, stride in _moving(layout)]
    return _complement_steps(steps, cotarget)


def _complement_steps(steps: list[Strided], cotarget: Tuple) -> Layout:
    """The gaps between the steps, in increasing order, and the rest up to the cotarget."""
    gaps: list[tuple[Integer, Leaf]] = []
    reached: Integer = 1
    for stride, extent, _ in sorted(steps, key=lambda step: step[0] if isinstance(step[0], int) else 0):
        gaps.append((divide_integers(stride, reached), reached))
        reached = multiply_integers(stride, extent)
    rest = _tiles(cotarget, reached)
    strides = [multiply_integers(reached, integer(d)) for d in modes(compact(rest))]
    return from_flat(coalesce_modes([*gaps, *zip(rest, strides, strict=True)]))


def _tiles(cotarget: Tuple, tile: Integer) -> tuple[Integer, ...]:
    """How often a tile fits the modes of a shape, one after another; from the first dynamic mode on, taken together."""
    extents = [integer(extent) for extent in leaves(cotarget)]
    if tile == 1:
        return tuple(extents)
    counts: list[Integer] = []
    for place, extent in enumerate(extents):
        if isinstance(extent, Dynamic) or isinstance(tile, Dynamic):
            # The divisor of the first one holds for the product; the dialect keeps no more.
            first = ceil_divide_integers(extent, tile)
            return (*counts, dynamic(tile, *extents[place:], div=divisor(first)))
        counts.append(ceil_divide_integers(extent, tile))
        tile = ceil_divide_integers(tile, extent)
    return tuple(counts)


def _complement_codomain(node: _Codomain, cotarget: Tuple, path: tuple[int, ...], layout: Layout) -> Layout:
    if not node.parts and (node.steps or not isinstance(cotarget, tuple)):
        plain = without_overlap(_complement_steps(node.steps, cotarget), layout)
        return _along(plain, path) if plain != Layout(1, 0) else Layout(1, Basis(_reach(node.steps), path))
    if node.steps:
        raise LayoutError(f"the bases of {layout} step both along a mode and along a mode inside it")
    targets = modes(cotarget)
    count = max(len(targets) if path == () or isinstance(cotarget, tuple) else 1, max(node.parts, default=-1) + 1)
    parts = [
        _complement_codomain(node.parts.get(i, _Codomain()), targets[i] if i < len(targets) else 1, (i, *path), layout)
        for i in range(count)
    ]
    return concatenate(parts)


def _reach(steps: list[Strided]) -> Integer:
    stride, extent, _ = max(steps, default=(1, 1, 1), key=lambda step: step[0] if isinstance(step[0], int) else 0)
    return multiply_integers(stride, extent)


def _along(layout: Layout, path: tuple[int, ...]) -> Layout:
    """The same layout with steps along a mode of a coordinate."""
    if isinstance(layout.shape, tuple):
        return Layout(layout.shape, tuple(Basis(integer(d), path) for d in modes(layout.stride)))
    return Layout(layout.shape, Basis(integer(layout.stride), path))


def _static_shape(layout: Layout) -> None:
    if not is_static_tuple(layout.shape):
        raise LayoutError(
            f"an inverse needs a static shape, but got {layout}",
            f"expects a static-shape input layout, but got '!cute.layout<\"{layout}\">'",
        )


def _steps(layout: Layout) -> list[Strided]:
    """The modes with a static stride, with how far each moves in the domain."""
    result: list[Strided] = []
    position: Integer = 1
    for extent, stride in coalesce_modes(flat_modes(layout)):
        if isinstance(stride, int | Dynamic):
            result.append((stride, extent, position))
        position = multiply_integers(position, extent)
    return result


def right_inverse(layout: Layout) -> Layout:
    """The longest ``R`` with ``layout(R(i)) == i``. Modes that do not continue the run 0, 1, 2, ... are left out.

    Raises:
        LayoutError: the shape is dynamic, or a scaled basis has a dynamic or fractional step.
    """
    _static_shape(layout)
    if has_basis(layout.stride):
        return _per_codomain(_by_codomain(layout, "right_inverse"), _right_inverse_steps, layout)
    return _right_inverse_steps(_steps(layout))


def _right_inverse_steps(steps: list[Strided]) -> Layout:
    result: list[tuple[Integer, Leaf]] = []
    reached: Integer = 1
    while found := next((step for step in steps if step[0] == reached and isinstance(step[0], int)), None):
        _, extent, position = found
        result.append((extent, position))
        reached = multiply_integers(reached, extent)
    return from_flat(coalesce_modes(result))


def left_inverse(layout: Layout) -> Layout:
    """An ``L`` with ``L(layout(i)) == i`` for every ``i``; offsets that the layout does not reach map anywhere.

    Raises:
        LayoutError: shape or strides are dynamic or negative, or a stride does not divide the next larger one.
    """
    _static_shape(layout)
    if has_basis(layout.stride):
        return _per_codomain(
            _by_codomain(layout, "left_inverse"), lambda steps: _left_inverse_steps(steps, layout), layout
        )
    if not is_static_tuple(layout.stride):
        raise LayoutError(
            f"a left inverse needs static strides, but got {layout}",
            f"expects a static-stride input layout for left inverse, but got '!cute.layout<\"{layout}\">'",
        )
    return _left_inverse_steps([step for step in _steps(layout) if step[0] != 0], layout)


def _left_inverse_steps(steps: list[Strided], layout: Layout) -> Layout:
    wording = f"unable to compute a left inverse for '!cute.layout<\"{layout}\">'"
    result: list[tuple[Integer, Leaf]] = []
    before, extent, position = 1, 1, 0
    for stride, next_extent, next_position in sorted(steps, key=lambda step: step[0]):  # type: ignore[arg-type,return-value]
        if not isinstance(stride, int) or stride < 0:
            raise LayoutError(f"left_inverse of {layout}: the stride {stride} is negative", wording)
        if stride % before:
            raise LayoutError(
                f"left_inverse of {layout}: the stride {before} does not divide the next larger stride {stride}",
                wording,
            )
        result.append((stride // before, position))
        before, extent, position = stride, int(next_extent), int(next_position)  # type: ignore[arg-type]
    return coalesce_layout(from_flat([*result, (extent, position)]))
