"""Recasting: the same bytes as elements of another width."""

from __future__ import annotations

from math import gcd

from tileproof.layout.basics import AnyLayout, flat_modes, has_scaled_basis
from tileproof.layout.errors import LayoutError
from tileproof.layout.leaves import (
    Integer,
    absolute,
    ceil_divide_integers,
    integer,
    multiply_integers,
    scale,
    shape_divide_integers,
    sign,
)
from tileproof.layout.tuples import transform
from tileproof.layout.values import ComposedLayout, Dynamic, Layout, Leaf, Swizzle


def _leafwise(layout: Layout, change: dict[int, tuple[Integer, Leaf]]) -> Layout:
    places = iter(range(len(change)))
    shape = transform(lambda _: change[next(places)][0], layout.shape)
    places = iter(range(len(change)))
    return Layout(shape, transform(lambda _: change[next(places)][1], layout.stride))


def upcast(layout: AnyLayout, factor: int) -> AnyLayout:
    """Elements ``factor`` times as wide: the mode of stride one shrinks, the other strides do.

    Where ``factor`` elements do not fit together evenly the extent is rounded up, as CuTe does.

    Raises:
        LayoutError: scaled-basis strides, or an offset or swizzle that ``factor`` does not divide.
    """
    return _recast(layout, 1, factor)


def downcast(layout: AnyLayout, factor: int) -> AnyLayout:
    """Elements ``factor`` times as narrow: the mode of stride one grows, the other strides do.

    Raises:
        LayoutError: scaled-basis strides, or a factor that a swizzle does not support.
    """
    return _recast(layout, factor, 1)


def recast_layout(layout: AnyLayout, new_bits: int, old_bits: int) -> AnyLayout:
    """The layout of elements of ``new_bits`` on the memory of elements of ``old_bits``.

    Raises:
        LayoutError: a width is not positive, the strides are scaled bases, or an offset or swizzle does not divide.
    """
    if new_bits <= 0:
        raise LayoutError(f"expects new_type_bits to be positive, but got {new_bits}")
    if old_bits <= 0:
        raise LayoutError(f"expects old_type_bits to be positive, but got {old_bits}")
    common = gcd(new_bits, old_bits)
    return _recast(layout, old_bits // common, new_bits // common)


def _recast(layout: AnyLayout, narrower: int, wider: int) -> AnyLayout:
    """First ``wider`` times as wide, then ``narrower`` times as narrow."""
    if narrower <= 0 or wider <= 0:
        raise LayoutError(f"expects a positive factor, but got {min(narrower, wider)}")
    if narrower == wider == 1:
        return layout
    if has_scaled_basis(layout):
        kind = "composed_layout" if isinstance(layout, ComposedLayout) else "layout"
        raise LayoutError(
            f"recast needs integer strides, but {layout} has scaled bases",
            f"expects integer or dynamic strides, but '!cute.{kind}<\"{layout}\">' has scaled-basis strides",
        )
    if isinstance(layout, Layout):
        return _recast_layout(layout, narrower, wider)
    inner = layout.inner
    if isinstance(inner, Swizzle):
        inner = _recast_swizzle(inner, narrower, wider)
    elif isinstance(inner, Layout):
        inner = _recast_layout(inner, narrower, wider)
    offset = integer(layout.offset, "an integer offset")
    if isinstance(offset, int) and offset % wider:
        raise LayoutError(
            f"cannot recast {layout}: {wider} elements become one, which does not divide the offset {offset}"
        )
    offset = shape_divide_integers(offset, wider) if wider > 1 else offset
    return ComposedLayout(inner, multiply_integers(offset, narrower), _recast_layout(layout.outer, narrower, wider))


def _recast_layout(layout: Layout, narrower: int, wider: int) -> Layout:
    return _leafwise(layout, {i: _recast_mode(s, d, narrower, wider) for i, (s, d) in enumerate(flat_modes(layout))})


def _recast_mode(extent: Integer, stride: Leaf, narrower: int, wider: int) -> tuple[Integer, Leaf]:
    step = integer(stride)
    if wider > 1 and step != 0:
        if isinstance(step, Dynamic):
            step = shape_divide_integers(step, wider)
        else:
            extent = ceil_divide_integers(extent, ceil_divide_integers(wider, absolute(step)))
            step = multiply_integers(sign(step), ceil_divide_integers(absolute(step), wider))
    if narrower > 1:
        if step in (1, -1):
            extent = multiply_integers(extent, narrower)
        else:
            step = integer(scale(step, narrower))
    return extent, step


def _recast_swizzle(swizzle: Swizzle, narrower: int, wider: int) -> Swizzle:
    """The same xor on offsets of other elements: its base moves by the logarithm of the ratio."""
    for factor, direction in ((wider, -1), (narrower, 1)):
        if factor & (factor - 1):
            raise LayoutError(
                f"cannot recast the swizzle {swizzle}: the ratio {factor} of the widths is not a power of two"
            )
        swizzle = Swizzle(swizzle.bits, swizzle.base + direction * (factor.bit_length() - 1), swizzle.shift)
    if swizzle.base < 0:
        raise LayoutError(f"cannot recast the swizzle: it xors bits inside one new element (base {swizzle.base})")
    return swizzle
