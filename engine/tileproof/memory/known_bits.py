"""Integers of which some bits are known before the kernel runs: constants folded through the arithmetic of the IR.

A descriptor that a kernel assembles has an address in it that the linker determines, and fields around it that are
constants. So a value is a set of known bits, and the memory whose address is among the rest.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from math import gcd

from tileproof.base.patterns import regex
from tileproof.base.records import dataclass, field, replace
from tileproof.dialects.operations import Operations
from tileproof.evaluate.hardware import field as field_of
from tileproof.memory.multiples import multiple_of
from tileproof.memory.origins import origin_of
from tileproof.memory.pointers import Places
from tileproof.mlir.ir import Operation
from tileproof.mlir.scopes import Scope
from tileproof.rulebase.book import Rulebook

_SUMS = frozenset({"arith.addi", "llvm.add"})
_UNIONS = frozenset({"arith.ori", "llvm.or"})
_DESCRIPTOR_BITS = 64
_DEEPEST = 64  # operations of arithmetic that a value is computed through
_WORD, _DESCRIPTOR = "tcgen05.descriptor", "nvvm.tcgen05_mma_smem_desc_v2"  # which makes such a word


@dataclass(frozen=True, slots=True)
class Known:
    """An integer.

    Attributes:
        width: bits.
        ones: the bits that are known to be set.
        unknown: the bits that are not known; all others are clear.
        memory: the allocation whose address the unknown bits come from, where it is one.
        start: how far into it that address is, in bytes, as far as that is static; None where nothing is known of it.
        step: run-time multiples of so many bytes come on top; 0 where there are none.
        shift: by how many bits the address was shifted to the right.
        maker: the operation that put an address into a descriptor, or the last that set fields around it; None where
            there is none.
        mover: the last operation that added to it.
    """

    width: int
    ones: int
    unknown: int = 0
    memory: Operation | None = None
    start: int | None = None
    shift: int = 0
    step: int = 0
    maker: Operation | None = field(default=None, compare=False)
    mover: Operation | None = field(default=None, compare=False)

    @property
    def value(self) -> int | None:
        """The integer, where all bits are known."""
        return self.ones if self.unknown == 0 else None

    def bits(self, low: int, high: int) -> int | None:
        """Some bits of it, both ends included; None where one of them is not known."""
        mask = (1 << high + 1) - (1 << low)
        return None if self.unknown & mask else (self.ones & mask) >> low


def anything(width: int, memory: Operation | None = None, start: int | None = None, step: int = 0) -> Known:
    """An integer of which nothing is known, or the address of some memory."""
    return Known(width, 0, (1 << width) - 1, memory, start, step=step)


_INTEGER = regex(r"(?:constant|value\s*=)\s*(?:\{value\s*=\s*)?(-?\d+|true|false)\b(?:\s*:\s*i(\d+))?")
_WIDTH = regex(r"\bi(\d+)$")


def fold(book: Rulebook, name: str, scope: Scope, places: Places | None = None, depth: int = 0) -> Known:
    """The known bits of the value ``name``.

    Args:
        places: the places of pointers; without it nothing is known of addresses but the allocation.
    """
    origin = scope.get(name)
    if origin is None or origin.argument or depth > _DEEPEST:
        return anything(64)
    operation = origin.operation
    if operation.name in ("arith.constant", "llvm.mlir.constant"):
        return _constant(operation)
    cast = _cast(book, operation.name)
    if cast == ".to_integer" and operation.operands:
        width = _width(operation) or 64
        place = places.of(operation.operands[0], scope) if places is not None else None
        if place is not None:
            return anything(width, place.allocation, place.base, place.step)
        return anything(width, memory_of(operation.operands[0], scope, Operations.of(book)))
    name = operation.name
    if cast == ".to_pointer" and len(operation.operands) == 1:
        return fold(book, operation.operands[0], scope, places, depth + 1)
    known = name in _ARITHMETIC or name in _OF_ADDRESSES
    if name in _SUMS and len(operation.operands) == 2:
        parts = [fold(book, operand, scope, places, depth + 1) for operand in operation.operands]
        multiples = [multiple_of(operand, scope) for operand in operation.operands]
        width = _width(operation) or max(part.width for part in parts)
        total = _add(width, parts, field_of(book, _WORD, "start").reach, multiples)
        return total if total.memory is None else replace(total, mover=operation)
    if (known and len(operation.operands) != (1 if name in _RESIZES else 2)) or not (known or name == _DESCRIPTOR):
        return anything(_width(operation) or 64)
    parts = [fold(book, operand, scope, places, depth + 1) for operand in operation.operands]
    if name == _DESCRIPTOR:
        return replace(_assembled(book, parts), maker=operation, mover=None)
    width = _width(operation) or max(part.width for part in parts)
    if name in _OF_ADDRESSES:
        return _OF_ADDRESSES[name](width, parts, field_of(book, _WORD, "start").reach)
    found = _ARITHMETIC[name](width, parts)
    return replace(found, maker=operation) if name in _UNIONS and _fields_set(found, parts) else found


def _fields_set(found: Known, parts: list[Known]) -> bool:
    """Whether constant fields were put around an address that is in a descriptor and was not moved yet."""
    address = next((part for part in parts if part.memory is not None), None)
    constant = any(part.value for part in parts)
    unmade = address is not None and (address.maker is None or address.maker.name in _UNIONS) and address.mover is None
    return unmade and constant and found.width == _DESCRIPTOR_BITS and found.shift > 0


def _constant(operation: Operation) -> Known:
    text = operation.pieces[0]
    found = _INTEGER.search(text)
    attribute = operation.attribute("value")
    if attribute is not None:
        found = _INTEGER.search(f"value = {attribute.text}")
    if found is None:
        return anything(64)
    width = int(found[2]) if found[2] else _width(operation) or 1
    value = {"true": 1, "false": 0}.get(found[1])
    return Known(width, (value if value is not None else int(found[1])) % (1 << width))


def _width(operation: Operation) -> int | None:
    """The bits of the result: the last integer type that is written."""
    types = [*operation.inputs, *operation.outputs]
    if operation.outputs:
        types = list(operation.outputs)
    elif (tail := re.search(r"\bto i(\d+)\s*$", operation.pieces[-1])) is not None:
        return int(tail[1])
    found = _WIDTH.search(types[-1].text) if types else None
    return int(found[1]) if found else None


def _or(width: int, parts: list[Known]) -> Known:
    ones = parts[0].ones | parts[1].ones
    found = Known(width, ones, (parts[0].unknown | parts[1].unknown) & ~ones)
    return _addressed(found, parts, kept=(parts[0].unknown | parts[0].ones) & (parts[1].unknown | parts[1].ones) == 0)


def _and(width: int, parts: list[Known], addresses: int) -> Known:
    a, b = parts
    may = (a.ones | a.unknown) & (b.ones | b.unknown)
    ones = a.ones & b.ones
    found = Known(width, ones, may & ~ones)
    address = next((part for part in parts if part.memory is not None), None)
    whole = 0 if address is None else (addresses - 1) >> address.shift
    return _addressed(found, parts, kept=any(part.unknown == 0 and part.ones & whole == whole for part in parts))


def _add(width: int, parts: list[Known], addresses: int, multiples: list[tuple[int, int]]) -> Known:
    """Exact below the lowest unknown bit; above the highest one a carry may come, so nothing is known there.

    But from an address: that ends within shared memory, so no carry leaves the bits of an address.

    Args:
        addresses: the bytes of shared memory.
        multiples: the static part of each summand, and of what the rest is a multiple.
    """
    a, b = parts
    unknown = a.unknown | b.unknown
    total = a.ones + b.ones
    if not unknown:
        return _addressed(Known(width, total % (1 << width)), parts, kept=False)
    low = (unknown & -unknown) - 1
    found = Known(width, total & low, ((1 << width) - 1) & ~low)
    for address, other, (by, multiple) in ((a, b, multiples[1]), (b, a, multiples[0])):
        if address.start is None or other.memory is not None:
            continue
        bits = (1 << address.unknown.bit_length()) - 1
        start, step = address.start + (by << address.shift), gcd(address.step, multiple << address.shift)
        inside = not multiple and by & ~bits == 0 and start < addresses
        if (inside or multiple > 1) and bits >= (addresses - 1) >> address.shift:
            above = address.ones & ~bits
            found = Known(width, found.ones | above, found.unknown & bits | bits & ~low)
        return replace(found, memory=address.memory, start=start, step=step, shift=address.shift, maker=address.maker)
    return _addressed(found, parts, kept=False)


def _multiply(width: int, parts: list[Known]) -> Known:
    a, b = parts[0].value, parts[1].value
    return Known(width, a * b % (1 << width)) if a is not None and b is not None else anything(width)


def _shift_left(width: int, parts: list[Known]) -> Known:
    by = parts[1].value
    if by is None or by >= width:
        return anything(width)
    mask = (1 << width) - 1
    found = Known(width, parts[0].ones << by & mask, parts[0].unknown << by & mask)
    kept = parts[0].shift >= by
    return _addressed(found, parts, kept=kept, shift=parts[0].shift - by if kept else 0)


def _shift_right(width: int, parts: list[Known]) -> Known:
    by = parts[1].value
    if by is None or by >= width:
        return anything(width)
    found = Known(width, parts[0].ones >> by, parts[0].unknown >> by)
    return _addressed(found, parts, kept=True, shift=parts[0].shift + by)


def _shift_right_signed(width: int, parts: list[Known]) -> Known:
    """Addresses in shared memory are positive, so the sign is clear where it comes from one."""
    sign = 1 << width - 1
    if parts[0].ones & sign or (parts[0].unknown & sign and parts[0].memory is None):
        return anything(width)
    cleared = replace(parts[0], width=width, unknown=parts[0].unknown & ~sign)
    return _shift_right(width, [cleared, parts[1]])


def _resize(width: int, parts: list[Known]) -> Known:
    mask = (1 << width) - 1
    found = Known(width, parts[0].ones & mask, parts[0].unknown & mask)
    return _addressed(found, parts, kept=True)


def _addressed(found: Known, parts: list[Known], *, kept: bool, shift: int | None = None) -> Known:
    """A value with the memory that the unknown bits of its parts come from; ``kept``: also with the place in it."""
    addresses = [part for part in parts if part.memory is not None and part.unknown]
    if not addresses or not found.unknown:
        return found
    of = addresses[0]
    same = of.shift if shift is None else shift
    kept = kept and len(addresses) == 1
    start, step = (of.start, of.step) if kept else (None, 0)
    return replace(found, memory=of.memory, start=start, step=step, shift=same, maker=of.maker, mover=of.mover)


# Those that ask how long an address in shared memory may be, as sums do.
_OF_ADDRESSES: dict[str, Callable[[int, list[Known], int], Known]] = {
    "arith.andi": _and,
    "llvm.and": _and,
}
_RESIZES = frozenset({"arith.extui", "arith.trunci", "llvm.zext", "llvm.trunc"})  # they have one operand, others two
_ARITHMETIC: dict[str, Callable[[int, list[Known]], Known]] = {
    "arith.ori": _or,
    "arith.muli": _multiply,
    "arith.shli": _shift_left,
    "arith.shrui": _shift_right,
    "arith.shrsi": _shift_right_signed,
    "arith.extui": _resize,
    "arith.trunci": _resize,
    "llvm.or": _or,
    "llvm.shl": _shift_left,
    "llvm.lshr": _shift_right,
    "llvm.zext": _resize,
    "llvm.trunc": _resize,
}


def computes(book: Rulebook, operation: Operation) -> bool:
    """Whether an operation is arithmetic through which addresses are followed: it accesses nothing."""
    name = operation.name
    known = name in _ARITHMETIC or name in _OF_ADDRESSES or name in _SUMS or name == _DESCRIPTOR
    return known or _cast(book, name) == ".to_pointer"


def _cast(book: Rulebook, name: str) -> str | None:
    """What an operation makes of a pointer or an integer: a member of the enum ``memory_operation``."""
    return book.enums["memory_operation"].by_spelling.get(name)


def _assembled(book: Rulebook, operands: list[Known]) -> Known:
    """The word that ``nvvm.tcgen05_mma_smem_desc_v2`` puts its operands into; each holds what its field counts."""
    rows = book.shared_table("smem_desc_operand").rows
    ones = unknown = 0
    for (member,), (at,) in rows.items():
        if isinstance(at, int):
            if at >= len(operands):
                return anything(64)
            one = field_of(book, _WORD, member[1:])
            mask = (1 << one.width) - 1
            ones |= (operands[at].ones & mask) << one.low
            unknown |= (operands[at].unknown & mask) << one.low
    start, address = field_of(book, _WORD, "start"), operands[0]
    shift = start.unit.bit_length() - 1
    counts = address.shift == shift and 0 <= (address.start or 0) < start.reach
    return _addressed(Known(64, ones, unknown, shift=shift), operands, kept=counts, shift=shift)


# ---------------------------------------------------------------------------------------------------------- memory


def memory_of(name: str, scope: Scope, operations: Operations) -> Operation | None:
    """The allocation of an address, with any offset; None if it is not known."""
    origin = origin_of(name, scope, operations)
    if origin is None or origin.argument or operations.step(origin.operation.name) != "allocate":
        return None
    return origin.operation
