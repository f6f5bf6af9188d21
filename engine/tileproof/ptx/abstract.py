"""Integers of which something is known before a kernel runs: single bits, a range, and what they are the address of.

Each operation here is sound: whatever the unknown parts are, the result is among what it returns.

>>> text = add(of_constant(32, 64), Integer.unknown_below(32, 16))
>>> (text.low, text.high)
(64, 65599)
"""

from __future__ import annotations

from tileproof.base.records import dataclass, replace


@dataclass(frozen=True, slots=True)
class Integer:
    """A set of integers of so many bits, unsigned.

    Attributes:
        ones: the bits that are set in all of them; ``unknown``: those that may be either; all others are clear.
        low, high: the least and the greatest of them, at most.
        symbol: the variable that they are addresses in; empty for none.
        offset: how many bytes behind its beginning; None where that is not known.
    """

    width: int
    ones: int
    unknown: int
    low: int
    high: int
    symbol: str = ""
    offset: int | None = None

    @classmethod
    def unknown_below(cls, width: int, bits: int) -> Integer:
        """Any integer of so few bits."""
        return cls(width, 0, (1 << bits) - 1, 0, (1 << bits) - 1)

    @property
    def value(self) -> int | None:
        """The integer, where there is but one."""
        return self.ones if not self.unknown else None

    def bits(self, low: int, high: int) -> int | None:
        """Some of its bits, both ends included; None where one of them is not known."""
        mask = (1 << high + 1) - (1 << low)
        return None if self.unknown & mask else (self.ones & mask) >> low


def anything(width: int) -> Integer:
    """Any integer."""
    return Integer(width, 0, (1 << width) - 1, 0, (1 << width) - 1)


def of_constant(width: int, value: int) -> Integer:
    """One integer; a negative one by its two's complement."""
    value &= (1 << width) - 1
    return Integer(width, value, 0, value, value)


def of_range(width: int, low: int, high: int) -> Integer:
    """All integers from one to another."""
    same = (1 << width) - (1 << (low ^ high).bit_length())
    return Integer(width, low & same, ((1 << width) - 1) & ~same, low, high)


def join(a: Integer, b: Integer) -> Integer:
    """What may be either of two."""
    ones = a.ones & b.ones
    unknown = (a.ones | a.unknown | b.ones | b.unknown) & ~ones
    same = a.symbol == b.symbol
    offset = a.offset if same and a.offset == b.offset else None
    return Integer(a.width, ones, unknown, min(a.low, b.low), max(a.high, b.high), a.symbol if same else "", offset)


def widen(old: Integer, new: Integer) -> Integer:
    """``new`` with a range that does not grow for ever."""
    top = old.ones | old.unknown | new.ones | new.unknown
    low = new.low if new.low >= old.low else new.ones
    high = new.high if new.high <= old.high else (1 << top.bit_length()) - 1
    return _tight(replace(new, low=min(low, new.low), high=max(high, new.high)))


def without(a: Integer, value: int) -> Integer | None:
    """Those that are not one integer, which is known where it is the least or the greatest; None where none is left."""
    if a.low == a.high == value:
        return None
    if value == a.high:
        return _tight(replace(a, high=value - 1))
    return _tight(replace(a, low=value + 1)) if value == a.low else a


def _tight(a: Integer) -> Integer:
    """Bits that follow from the range, and a range that follows from the bits."""
    low, high = max(a.low, a.ones), min(a.high, a.ones | a.unknown)
    if low > high:  # no integer at all: an operation that is never executed
        return Integer(a.width, a.ones, a.unknown, a.ones, a.ones | a.unknown, a.symbol, a.offset)
    same = (1 << a.width) - (1 << (low ^ high).bit_length())
    ones = a.ones | (low & same)
    return Integer(a.width, ones, a.unknown & ~same, low, high, a.symbol, a.offset)


def resize(a: Integer, width: int, signed: bool = False) -> Integer:
    """Truncated or extended to another width."""
    mask = (1 << width) - 1
    if width >= a.width:
        sign = 1 << a.width - 1
        if signed and (a.ones | a.unknown) & sign:
            above = mask & ~((1 << a.width) - 1)
            if a.unknown & sign:
                return Integer(width, a.ones, a.unknown | above, 0, mask)
            return _tight(Integer(width, a.ones | above, a.unknown, a.low | above, a.high | above))
        return replace(a, width=width)
    if a.high <= mask:
        return replace(a, width=width)
    return _tight(Integer(width, a.ones & mask, a.unknown & mask, 0, mask, a.symbol, a.offset))


def add(a: Integer, b: Integer) -> Integer:
    """Carries go no further than unknown bits let them."""
    width, mask = a.width, (1 << a.width) - 1
    top = (a.ones | a.unknown) + (b.ones | b.unknown)
    bottom = a.ones + b.ones
    no_carry = ~(top ^ ~(a.ones | a.unknown) ^ ~(b.ones | b.unknown))
    carry = bottom ^ a.ones ^ b.ones
    known = ~a.unknown & ~b.unknown & (no_carry | carry) & mask
    low, high = a.low + b.low, a.high + b.high
    if low >> width != high >> width:
        low, high = 0, mask
    found = Integer(width, bottom & known, mask & ~known, low & mask, high & mask)
    for address, other in ((a, b), (b, a)):
        if address.symbol and not other.symbol:
            by = other.value
            offset = None if by is None or address.offset is None else address.offset + _signed(by, width)
            return _tight(replace(found, symbol=address.symbol, offset=offset))
    return _tight(found)


def _signed(value: int, width: int) -> int:
    return value - (1 << width) if value >> width - 1 else value


def negate(a: Integer) -> Integer:
    """The two's complement."""
    return add(invert(a), of_constant(a.width, 1))


def subtract(a: Integer, b: Integer) -> Integer:
    """The difference."""
    if b.value is not None:
        return add(a, of_constant(a.width, -b.value))
    found = add(add(a, invert(b)), of_constant(a.width, 1))
    if a.low >= b.high:
        return _tight(replace(found, low=a.low - b.high, high=a.high - b.low, symbol="", offset=None))
    return replace(found, symbol="", offset=None)


def multiply(a: Integer, b: Integer, width: int) -> Integer:
    """The lowest bits of the product."""
    mask = (1 << width) - 1
    if a.value is not None and b.value is not None:
        return of_constant(width, a.value * b.value)
    low, high = a.low * b.low, a.high * b.high
    if high > mask:
        low, high = 0, mask
    zeros = _trailing_zeros(a) + _trailing_zeros(b)
    return _tight(Integer(width, 0, mask & ~((1 << min(zeros, width)) - 1), low, high))


def _trailing_zeros(a: Integer) -> int:
    may = a.ones | a.unknown
    return (may & -may).bit_length() - 1 if may else a.width


def conjoin(a: Integer, b: Integer) -> Integer:
    """Bitwise and."""
    ones = a.ones & b.ones
    may = (a.ones | a.unknown) & (b.ones | b.unknown)
    found = Integer(a.width, ones, may & ~ones, ones, min(a.high, b.high, may))
    for address, other in ((a, b), (b, a)):
        if address.symbol and not other.symbol and not (address.ones | address.unknown) & ~other.ones:
            return _tight(replace(found, symbol=address.symbol, offset=address.offset))
    return _tight(found)


def disjoin(a: Integer, b: Integer) -> Integer:
    """Bitwise or."""
    ones = a.ones | b.ones
    unknown = (a.unknown | b.unknown) & ~ones
    return _tight(Integer(a.width, ones, unknown, max(a.low, b.low), ones | unknown))


def exclude(a: Integer, b: Integer) -> Integer:
    """Bitwise exclusive or."""
    unknown = a.unknown | b.unknown
    ones = (a.ones ^ b.ones) & ~unknown
    return _tight(Integer(a.width, ones, unknown, ones, ones | unknown))


def invert(a: Integer) -> Integer:
    """Bitwise not."""
    mask = (1 << a.width) - 1
    return Integer(a.width, mask & ~(a.ones | a.unknown), a.unknown, mask - a.high, mask - a.low)


def shift_left(a: Integer, by: Integer) -> Integer:
    """PTX clamps the amount to the width."""
    if by.value is None:
        return anything(a.width)
    amount, mask = min(by.value, a.width), (1 << a.width) - 1
    high = a.high << amount
    low, high = (a.low << amount, high) if high <= mask else (0, mask)
    return _tight(Integer(a.width, a.ones << amount & mask, a.unknown << amount & mask, low, high))


def shift_right(a: Integer, by: Integer, signed: bool = False) -> Integer:
    """Logical, or arithmetic where it is signed; PTX clamps the amount to the width."""
    if by.value is None:
        if signed and (a.ones | a.unknown) >> a.width - 1:
            return anything(a.width)
        return _tight(Integer(a.width, 0, (1 << a.high.bit_length()) - 1, 0, a.high))
    amount = min(by.value, a.width)
    if signed and (a.ones | a.unknown) >> a.width - 1:
        wide = resize(a, 2 * a.width, signed=True)
        return resize(replace(shift_right(wide, of_constant(a.width, amount)), symbol="", offset=None), a.width)
    return _tight(Integer(a.width, a.ones >> amount, a.unknown >> amount, a.low >> amount, a.high >> amount))


def concatenate(parts: list[Integer]) -> Integer:
    """Several integers as one, the lowest first."""
    width = ones = unknown = low = high = 0
    for part in parts:
        ones |= part.ones << width
        unknown |= part.unknown << width
        low |= part.low << width
        high |= part.high << width
        width += part.width
    return _tight(Integer(width, ones, unknown, low, high))


def part_of(a: Integer, index: int, count: int) -> Integer:
    """One of several equal parts of an integer, 0 for the lowest."""
    width = a.width // count
    moved = shift_right(replace(a, symbol="", offset=None), of_constant(a.width, index * width))
    found = resize(moved, width)
    return replace(found, symbol=a.symbol, offset=a.offset) if index == 0 else found


def select_bits(a: Integer, b: Integer, c: Integer, table: int) -> Integer:
    """``lop3``: each bit by a table of three bits, where the bits are known or the table does not ask for them."""
    ones = unknown = 0
    for bit in range(a.width):
        found = {
            table >> (4 * x + 2 * y + z) & 1
            for x in _choices(a, bit)
            for y in _choices(b, bit)
            for z in _choices(c, bit)
        }
        if len(found) == 2:
            unknown |= 1 << bit
        elif found == {1}:
            ones |= 1 << bit
    return _tight(Integer(a.width, ones, unknown, ones, ones | unknown))


def _choices(a: Integer, bit: int) -> tuple[int, ...]:
    return (0, 1) if a.unknown >> bit & 1 else (a.ones >> bit & 1,)
