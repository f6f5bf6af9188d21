"""Integers of which some bits are known before the kernel runs: constants folded through the arithmetic of the IR.

A descriptor that a kernel assembles has an address in it that only the linker knows, and fields around it that are
constants. So a value is a set of known bits, and the memory whose address is among the rest.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from tileproof.dialects.scopes import Origin, Scope
from tileproof.ir import Operation

_DEEPEST = 64  # definitions that a value is followed through


@dataclass(frozen=True, slots=True)
class Known:
    """An integer.

    Attributes:
        width: bits.
        ones: the bits that are known to be set.
        unknown: the bits that are not known; all others are clear.
        memory: the allocation whose address the unknown bits come from, where it is one.
    """

    width: int
    ones: int
    unknown: int = 0
    memory: Operation | None = None

    @property
    def value(self) -> int | None:
        """The integer, where all bits are known."""
        return self.ones if self.unknown == 0 else None

    def bits(self, low: int, high: int) -> int | None:
        """Some bits of it, both ends included; None where one of them is not known."""
        mask = (1 << high + 1) - (1 << low)
        return None if self.unknown & mask else (self.ones & mask) >> low


def anything(width: int, memory: Operation | None = None) -> Known:
    """An integer of which nothing is known."""
    return Known(width, 0, (1 << width) - 1, memory)


_INTEGER = re.compile(r"(?:constant|value\s*=)\s*(?:\{value\s*=\s*)?(-?\d+|true|false)\b(?:\s*:\s*i(\d+))?")
_WIDTH = re.compile(r"\bi(\d+)$")


def fold(name: str, scope: Scope, depth: int = 0) -> Known:
    """What is known of the value ``name``."""
    origin = scope.get(name)
    if origin is None or origin.argument or depth > _DEEPEST:
        return anything(64)
    operation = origin.operation
    if operation.name in ("arith.constant", "llvm.mlir.constant"):
        return _constant(operation)
    if operation.name == "llvm.ptrtoint":
        width = _width(operation) or 64
        return anything(width, memory_of(operation.operands[0], scope))
    if (compute := _ARITHMETIC.get(operation.name)) is not None and len(operation.results) == 1:
        parts = [fold(operand, scope, depth + 1) for operand in operation.operands]
        return compute(_width(operation) or max(part.width for part in parts), parts)
    if operation.name == "nvvm.tcgen05_mma_smem_desc_v2" and len(operation.operands) == 8:
        return _assembled([fold(operand, scope, depth + 1) for operand in operation.operands])
    return anything(_width(operation) or 64)


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
    return Known(width, ones, (parts[0].unknown | parts[1].unknown) & ~ones, _memory(parts))


def _and(width: int, parts: list[Known]) -> Known:
    a, b = parts
    may = (a.ones | a.unknown) & (b.ones | b.unknown)
    ones = a.ones & b.ones
    return Known(width, ones, may & ~ones, _memory(parts))


def _add(width: int, parts: list[Known]) -> Known:
    """Exact below the lowest unknown bit; above the highest one a carry may come, so nothing is known there."""
    a, b = parts
    unknown = a.unknown | b.unknown
    total = a.ones + b.ones
    if not unknown:
        return Known(width, total % (1 << width), 0, _memory(parts))
    low = (unknown & -unknown) - 1
    return Known(width, total & low, ((1 << width) - 1) & ~low, _memory(parts))


def _multiply(width: int, parts: list[Known]) -> Known:
    a, b = parts[0].value, parts[1].value
    return Known(width, a * b % (1 << width)) if a is not None and b is not None else anything(width)


def _shift_left(width: int, parts: list[Known]) -> Known:
    by = parts[1].value
    if by is None or by >= width:
        return anything(width)
    mask = (1 << width) - 1
    return Known(width, parts[0].ones << by & mask, parts[0].unknown << by & mask, parts[0].memory)


def _shift_right(width: int, parts: list[Known]) -> Known:
    by = parts[1].value
    if by is None or by >= width:
        return anything(width)
    return Known(width, parts[0].ones >> by, parts[0].unknown >> by, parts[0].memory)


def _shift_right_signed(width: int, parts: list[Known]) -> Known:
    """Addresses in shared memory are positive, so the sign is clear where it comes from one."""
    sign = 1 << width - 1
    if parts[0].ones & sign or (parts[0].unknown & sign and parts[0].memory is None):
        return anything(width)
    cleared = Known(width, parts[0].ones, parts[0].unknown & ~sign, parts[0].memory)
    return _shift_right(width, [cleared, parts[1]])


def _resize(width: int, parts: list[Known]) -> Known:
    mask = (1 << width) - 1
    return Known(width, parts[0].ones & mask, parts[0].unknown & mask, parts[0].memory)


def _memory(parts: list[Known]) -> Operation | None:
    return next((part.memory for part in parts if part.memory is not None), None)


_ARITHMETIC: dict[str, Callable[[int, list[Known]], Known]] = {
    "arith.ori": _or,
    "arith.andi": _and,
    "arith.addi": _add,
    "arith.muli": _multiply,
    "arith.shli": _shift_left,
    "arith.shrui": _shift_right,
    "arith.shrsi": _shift_right_signed,
    "arith.extui": _resize,
    "arith.trunci": _resize,
    "llvm.or": _or,
    "llvm.and": _and,
    "llvm.add": _add,
    "llvm.shl": _shift_left,
    "llvm.lshr": _shift_right,
    "llvm.zext": _resize,
    "llvm.trunc": _resize,
}

# The operands of nvvm.tcgen05_mma_smem_desc_v2 and where the operation puts them; the seventh is not understood.
_PLACES = ((0, 14), (16, 14), (32, 14), (46, 3), (49, 3), (52, 1), None, (61, 3))


def _assembled(operands: list[Known]) -> Known:
    ones = unknown = 0
    for operand, place in zip(operands, _PLACES, strict=True):
        if place is not None:
            low, width = place
            mask = (1 << width) - 1
            ones |= (operand.ones & mask) << low
            unknown |= (operand.unknown & mask) << low
    return Known(64, ones, unknown, _memory(operands))


# ---------------------------------------------------------------------------------------------------------- memory

_THROUGH = frozenset(
    (
        "builtin.unrealized_conversion_cast",
        "cute.get_iter",
        "cute.recast_iter",
        "cute.add_offset",
        "cute.make_view",
        "cute.slice",
        "cute.group_modes",
        "llvm.getelementptr",
        "llvm.addrspacecast",
        "cute.ptrtoint",
        "cute.inttoptr",
    )
)


def memory_of(name: str, scope: Scope) -> Operation | None:
    """The allocation that an address leads into, however it is offset; None where it is not known."""
    origin = origin_of(name, scope)
    if origin is None or origin.argument or origin.operation.name != "cute.memref.alloca":
        return None
    return origin.operation


def origin_of(name: str, scope: Scope) -> Origin | None:
    """The value that a pointer or a view comes from, through casts, offsets and views."""
    for _ in range(_DEEPEST):
        origin = scope.get(name)
        if origin is None or origin.argument or origin.operation.name not in _THROUGH or not origin.operation.operands:
            return origin
        name = origin.operation.operands[0]
    return None
