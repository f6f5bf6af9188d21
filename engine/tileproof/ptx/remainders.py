"""Remainders by a number as compilers write them: the dividend less the divisor times a quotient, which is a product.

A quotient of ``x`` below ``2**n`` by ``d`` is ``x * m >> s`` where ``2**s <= m * d <= 2**s + 2**(s - n)`` (Granlund and
Montgomery, Division by invariant integers using multiplication, theorem 4.2). An index of a ring of three or six stages
is computed so: without it a descriptor that has such an index in its start address may be any.

    and.b16 y, x, 255;  mul.lo.s16 t, y, 171;  shr.u16 q, t, 10;  mul.lo.s16 p, q, 6;  sub.s16 r, x, p;
    mul.hi.u32 t, x, 0xAAAAAAAB;  shr.u32 q, t, 1;  mul.lo.s32 p, q, 3;  sub.s32 r, x, p;
"""

from __future__ import annotations

from typing import Protocol

from tileproof.ptx import abstract
from tileproof.ptx.abstract import Integer, of_constant, of_range
from tileproof.ptx.module import Module
from tileproof.ptx.text import Operand, Part


class Values(Protocol):
    """What is asked of the values of a function (``values.Values``)."""

    module: Module

    def operands(self, number: int) -> tuple[Operand, ...]:
        """The operands of a statement."""

    def before(self, number: int, name: str) -> int | None:
        """The one instruction before another one in its block that gives a register the value which that one reads."""

    def same_register(self, name: str, first: int, other: str, second: int) -> bool:
        """Whether two instructions, by their numbers, name one register."""

    def written_between(self, name: str, number: int, first: int, last: int) -> bool:
        """Whether a register, as an instruction of a number names it, is written from one instruction up to another."""


def less_a_multiple(values: Values, number: int, dividend: Integer) -> Integer | None:
    """What a ``sub`` leaves, where it takes the greatest multiple of a number off an integer or off its lowest bits.

    None for any other. Where these are its lowest bits the others stay as they are.
    """
    found = _remainder(values, number, dividend.width)
    if found is None:
        return None
    bits, divisor = found
    mask = (1 << bits) - 1
    rest = of_range(dividend.width, 0, min(divisor - 1, mask))
    if bits == dividend.width:
        return rest
    return abstract.disjoin(abstract.conjoin(dividend, of_constant(dividend.width, ~mask)), rest)


def _remainder(values: Values, number: int, width: int) -> tuple[int, int] | None:
    """Of how many of the lowest bits of its first operand a ``sub`` leaves the remainder, and by what."""
    _, dividend, product = _parts(values, number) or (None, None, None)
    if dividend is None or product is None or len(dividend.names) != 1 or dividend.offset or dividend.negated:
        return None
    multiplied = _definition(values, number, product, "mul.lo.")
    quotient, divisor = _with_constant(values, multiplied, width)
    if multiplied is None or quotient is None or divisor < 2:
        return None
    shifted, shift = _definition(values, multiplied, quotient, "shr.u"), 0
    if shifted is not None:
        quotient, shift = _with_constant(values, shifted, width)
    at = shifted if shifted is not None else multiplied
    high = _definition(values, at, quotient, "mul.hi.u") if quotient is not None else None
    scaled = high if high is not None else (_definition(values, at, quotient, "mul.lo.") if quotient else None)
    read, factor = _with_constant(values, scaled, width)
    if scaled is None or read is None:
        return None
    bits = _lowest(values, number, dividend, scaled, read, width)
    if bits is None or (high is None and (factor << bits) > 1 << width):
        return None
    shift += width if high is not None else 0
    exact = shift >= bits and 0 <= factor * divisor - (1 << shift) <= 1 << shift - bits
    return (bits, divisor) if exact else None


def _lowest(values: Values, number: int, dividend: Part, scaled: int, read: Part, width: int) -> int | None:
    """How many of the lowest bits of the dividend are what an instruction reads; None where it reads something else."""
    name = dividend.names[0]
    if values.same_register(name, number, read.names[0], scaled):
        return None if values.written_between(name, number, scaled, number) else width
    masked = _definition(values, scaled, read, "and.b")
    whole, mask = _with_constant(values, masked, width)
    if masked is None or whole is None or mask & mask + 1:
        return None
    if not values.same_register(name, number, whole.names[0], masked):
        return None
    return None if values.written_between(name, number, masked, number) else mask.bit_length()


def _definition(values: Values, number: int, part: Part, opcode: str) -> int | None:
    """The instruction of a kind that gives what another one reads, in one block with it."""
    if len(part.names) != 1 or part.offset or part.negated or part.registers:
        return None
    at = values.before(number, part.names[0])
    return at if at is not None and values.module.instructions[at].opcode.startswith(opcode) else None


def _parts(values: Values, number: int) -> tuple[Part, Part, Part] | None:
    operands = values.operands(number)
    if len(operands) != 3 or any(len(one.parts) != 1 or one.address for one in operands):
        return None
    target, first, second = (one.parts[0] for one in operands)
    return target, first, second


def _with_constant(values: Values, number: int | None, width: int) -> tuple[Part | None, int]:
    """What an instruction of two operands reads beside a number, which is the second, and that number."""
    parts = _parts(values, number) if number is not None else None
    if parts is None or parts[2].value is None or len(parts[1].names) != 1 or parts[1].offset or parts[1].negated:
        return None, 0
    return parts[1], parts[2].value & (1 << width) - 1


__all__ = ["Values", "less_a_multiple"]
