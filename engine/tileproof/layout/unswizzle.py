"""Slicing a swizzled layout: where what is left does not mix the bits that the swizzle mixes, it is a plain layout
again.

Fixing a coordinate fixes bits of the offset. If the rest of the layout varies only bits that the swizzle changes (Z),
or only bits that it reads (Y), each varying bit adds a known amount: bit z of Z adds +z or -z, bit y of Y adds y + z
or y - z, by whether the bit it is xored with is set in the fixed offset. Otherwise the swizzle stays.
"""

from __future__ import annotations

from math import gcd

from tileproof.layout.basics import AnyLayout, flat_modes, is_static_layout, size
from tileproof.layout.composing import compose
from tileproof.layout.coordinates import crd2idx
from tileproof.layout.errors import LayoutError
from tileproof.layout.leaves import Integer, add_integers, integer, modulo_integers, subtract_integers
from tileproof.layout.swizzle import apply_swizzle, change_mask, check_swizzle, read_mask
from tileproof.layout.values import ComposedLayout, Dynamic, Layout, Swizzle


def slice_swizzled(swizzle: Swizzle, offset: Integer, rest: Layout, start: Integer) -> tuple[AnyLayout, Integer]:
    """What ``rest``, sliced out at ``start``, is under ``swizzle``: a layout and the offset at which it starts.

    Raises:
        LayoutError: nothing is left, what is left is dynamic, or it does not compose with the bits of the swizzle.
    """
    check_swizzle(swizzle)
    if rest.shape == () or not is_static_layout(rest):
        raise LayoutError(f"cannot slice the swizzle {swizzle}: the rest {rest} is not a static layout")
    bits, base, distance = swizzle.bits, swizzle.base, abs(swizzle.shift)
    fixed = add_integers(offset, start)
    mixed = Layout(
        (1 << base, 1 << bits, 1 << (distance - bits), 1 << bits, 1), (0, 1 << base, 0, 1 << (base + distance), 0)
    )
    last = integer(crd2idx(add_integers(size(rest), -1), compose(mixed, rest)))
    active = last if isinstance(last, int) else 0
    window = 1 << (base + distance + bits)
    if _carries(fixed, rest):
        return _around(swizzle, fixed, modulo_integers(fixed, window), rest)
    if active & read_mask(swizzle) and active & ~int(integer(apply_swizzle(swizzle, active))):  # type: ignore[arg-type]
        # Only what the swizzle can see of the start stays inside; the rest moves the pointer.
        if offset == 0 and isinstance(start, int):
            return _around(swizzle, fixed, start & (change_mask(swizzle) | read_mask(swizzle)), rest)
        return _around(swizzle, fixed, modulo_integers(fixed, window), rest)
    return compose(_unmixed(swizzle, fixed), rest), apply_swizzle(swizzle, fixed)


def _around(swizzle: Swizzle, fixed: Integer, inside: Integer, rest: Layout) -> tuple[AnyLayout, Integer]:
    """The swizzle around a part of the fixed offset; what is left of that comes outside."""
    return ComposedLayout(swizzle, inside, rest), subtract_integers(fixed, inside)


def _carries(fixed: Integer, rest: Layout) -> bool:
    """May adding up the start and the modes of the rest carry from bit to bit? Then bits cannot be told apart."""
    taken = fixed if isinstance(fixed, int) else 0
    for extent, stride in flat_modes(rest):
        if isinstance(extent, int) and isinstance(stride, int) and extent > 1:
            last = (extent - 1) * abs(stride)
            bits = (1 << last.bit_length()) - (stride & -stride)
            if taken & bits or stride < 0:
                return True
            taken |= bits
    return False


def _unmixed(swizzle: Swizzle, fixed: Integer) -> Layout:
    """The swizzle around a fixed offset as a layout on the bits that vary."""
    bits, base, distance = swizzle.bits, swizzle.base, abs(swizzle.shift)
    z, y = change_mask(swizzle) & -change_mask(swizzle), read_mask(swizzle) & -read_mask(swizzle)
    changed = tuple(_choose(fixed, y << i, z << i, -z << i) for i in range(bits))
    read = tuple(_choose(fixed, z << i, (y + z) << i, (y - z) << i) for i in range(bits))
    low, high = (changed, read) if z < y else (read, changed)
    return Layout(
        (1 << base, (2,) * bits, 1 << (distance - bits), (2,) * bits, 1),
        (1, low, 1 << (base + bits), high, 1 << (base + bits + distance)),
    )


def _choose(fixed: Integer, bit: int, clear: int, set_: int) -> Integer:
    """One of two strides, by whether a bit of the fixed offset is clear or set."""
    if isinstance(fixed, Dynamic):
        return clear if fixed.div % (2 * bit) == 0 else Dynamic(fixed.width, gcd(clear, set_))
    return set_ if fixed & bit else clear
