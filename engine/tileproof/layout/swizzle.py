"""Swizzles as functions on offsets.

``S<bits, base, shift>`` reads ``bits`` bits of the offset, from ``base + shift`` up, and xors them into the bits from
``base`` up; with a negative shift it reads the low bits and changes the high ones. It is its own inverse.
"""

from __future__ import annotations

from math import gcd

from tileproof.layout.errors import LayoutError
from tileproof.layout.leaves import Integer, dynamic
from tileproof.layout.values import Swizzle


def check_swizzle(swizzle: Swizzle) -> Swizzle:
    """The swizzle itself.

    Raises:
        LayoutError: the bits that it reads and those that it changes overlap, or are beyond 64 bits.
    """
    if abs(swizzle.shift) < swizzle.bits:
        raise LayoutError(
            f"the swizzle {swizzle} reads bits that it changes: its shift must be at least its {swizzle.bits} bits"
        )
    if swizzle.base < 0 or swizzle.bits + swizzle.base + abs(swizzle.shift) > 63:
        raise LayoutError(f"the swizzle {swizzle} reaches outside a 64-bit offset")
    return swizzle


def read_mask(swizzle: Swizzle) -> int:
    """The bits that the swizzle reads."""
    return ((1 << swizzle.bits) - 1) << (swizzle.base + max(swizzle.shift, 0))


def change_mask(swizzle: Swizzle) -> int:
    """The bits that the swizzle changes."""
    return ((1 << swizzle.bits) - 1) << (swizzle.base - min(swizzle.shift, 0))


def apply_swizzle(swizzle: Swizzle, offset: Integer) -> Integer:
    """The swizzled offset. A dynamic one keeps its divisor where no bit that is read can be set.

    Raises:
        LayoutError: the swizzle is malformed.
    """
    check_swizzle(swizzle)
    read = read_mask(swizzle)
    if isinstance(offset, int):
        bits = offset & read
        return offset ^ (bits >> swizzle.shift if swizzle.shift >= 0 else bits << -swizzle.shift)
    lowest_set_bit = offset.div & -offset.div
    if lowest_set_bit > read:
        return offset
    lowest_read = max(lowest_set_bit, read & -read)
    lowest_changed = lowest_read >> swizzle.shift if swizzle.shift >= 0 else lowest_read << -swizzle.shift
    return dynamic(offset, div=gcd(offset.div, lowest_changed))
