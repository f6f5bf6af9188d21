"""Slicing a swizzled layout: if the rest does not mix the bits that the swizzle mixes, it is a plain layout
again.

Fixing a coordinate fixes bits of the offset. If the rest of the layout varies only bits that the swizzle changes (Z),
or only bits that it reads (Y), each varying bit adds a known amount: bit z of Z adds +z or -z, bit y of Y adds y + z
or y - z, by whether the bit it is xored with is set in the fixed offset. Otherwise the swizzle stays.

A fixed offset need not be static. A dynamic digit of an extent that is a power of two, times such a stride, varies
known bits only. Of those that the swizzle sees the dialect keeps the lowest, as a divisor: bits below it are certain.
"""

from __future__ import annotations

from math import gcd

from tileproof.base.records import dataclass
from tileproof.layout.basics import AnyLayout, flat_modes, is_static_layout, size
from tileproof.layout.composing import compose
from tileproof.layout.coordinates import crd2idx, idx2crd
from tileproof.layout.errors import LayoutError
from tileproof.layout.leaves import Integer, add_integers, integer
from tileproof.layout.swizzle import apply_swizzle, change_mask, check_swizzle, read_mask
from tileproof.layout.tuples import modes as tuple_modes
from tileproof.layout.values import ComposedLayout, Dynamic, Layout, Swizzle, Tuple, Wildcard


@dataclass(frozen=True, slots=True)
class Bits:
    """An offset of which single bits are known.

    Attributes:
        ones: bits that are set.
        varying: bits that may be set; no bit is in both.
        width: of the integer that carries the offset, where a bit varies.
    """

    ones: int
    varying: int = 0
    width: int = 32

    def value(self, mask: int = -1) -> Integer:
        """The offset under a mask."""
        if self.varying & mask == 0:
            return self.ones & mask
        some = (self.ones | self.varying) & mask
        return Dynamic(self.width, some & -some)

    def swizzled(self, swizzle: Swizzle) -> Bits:
        """The offset with the bits that the swizzle reads xored into those that it changes."""
        down, up = max(swizzle.shift, 0), max(-swizzle.shift, 0)
        read = read_mask(swizzle)
        varying = self.varying | (self.varying & read) >> down << up
        return Bits((self.ones ^ (self.ones & read) >> down << up) & ~varying, varying, self.width)


def bits_of(offset: Integer) -> Bits:
    """The bits of an integer of which only a divisor is known."""
    if isinstance(offset, int):
        return Bits(offset)
    return Bits(0, -(offset.div & -offset.div), offset.width)


def bits_at(coord: Tuple, shape: Tuple, stride: Tuple) -> Bits | None:
    """The offset bits of a coordinate, or None if carries may mix them."""
    if isinstance(coord, tuple):
        found: Bits | None = Bits(0)
        for part in zip(coord, tuple_modes(shape), tuple_modes(stride), strict=True):
            found = _together(found, bits_at(*part))
        return found
    if coord is Wildcard.ALL or shape == ():
        return Bits(0)
    if isinstance(shape, tuple):
        return bits_at(idx2crd(coord, shape), shape, stride)
    match coord, shape, stride:
        case _, int(), 0:
            return Bits(0)
        case int(), _, int() if coord * stride >= 0:
            return Bits(coord * stride)
        case Dynamic(width, div), int(), int() if div < shape and all(map(_power_of_two, (div, shape, stride))):
            return Bits(0, (shape - div) * stride, width)
    return None


def _power_of_two(value: int) -> bool:
    return value > 0 and value & (value - 1) == 0


def _together(a: Bits | None, b: Bits | None) -> Bits | None:
    """The sum of two offsets that have no bit in common."""
    if a is None or b is None or (a.ones | a.varying) & (b.ones | b.varying):
        return None
    return Bits(a.ones | b.ones, a.varying | b.varying, max(a.width, b.width))


def slice_swizzled(
    swizzle: Swizzle, offset: Integer, rest: Layout, start: Integer, bits_of_start: Bits | None = None
) -> tuple[AnyLayout, Integer]:
    """``rest``, sliced out at ``start``, under ``swizzle``: a layout and the offset at which it starts.

    Args:
        bits_of_start: which bits of a dynamic start vary, where that is known.

    Raises:
        LayoutError: nothing is left, what is left is dynamic, or it does not compose with the bits of the swizzle.
    """
    check_swizzle(swizzle)
    if rest.shape == () or not is_static_layout(rest):
        raise LayoutError(f"cannot slice the swizzle {swizzle}: the rest {rest} is not a static layout")
    bits, base, distance = swizzle.bits, swizzle.base, abs(swizzle.shift)
    fixed = add_integers(offset, start)
    if bits == 0:
        return rest, fixed
    known = bits_of_start if bits_of_start is not None and offset == 0 else bits_of(fixed)
    visible = change_mask(swizzle) | read_mask(swizzle)
    mixed = Layout(
        (1 << base, 1 << bits, 1 << (distance - bits), 1 << bits, 1), (0, 1 << base, 0, 1 << (base + distance), 0)
    )
    last = integer(crd2idx(add_integers(size(rest), -1), compose(mixed, rest)))
    active = last if isinstance(last, int) else 0
    window = (1 << (base + distance + bits)) - 1
    if carries(bits_of(fixed), rest):
        return _around(swizzle, known, window, rest)
    if active & read_mask(swizzle) and active & ~int(integer(apply_swizzle(swizzle, active))):  # type: ignore[arg-type]
        # Only what the swizzle can see of the start stays inside; the rest moves the pointer.
        return _around(swizzle, known, visible if offset == 0 else window, rest)
    return compose(_unmixed(swizzle, known.value(visible)), rest), apply_swizzle(swizzle, fixed)


def _around(swizzle: Swizzle, fixed: Bits, inside: int, rest: Layout) -> tuple[AnyLayout, Integer]:
    """The swizzle around the part of the fixed offset inside a mask; what is left of that comes outside."""
    return ComposedLayout(swizzle, fixed.value(inside), rest), fixed.value(~inside)


def carries(fixed: Bits, rest: Layout) -> bool:
    """May adding up the start and the modes of the rest carry from bit to bit? Then bits cannot be separated."""
    taken = fixed.ones | max(fixed.varying, 0)  # of a start with only a known divisor, nothing is used
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
