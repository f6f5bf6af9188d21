"""What PTX instructions compute of floating-point numbers, as far as it leads back to integers.

A scheduler divides by a reciprocal: it converts how many tiles there are, multiplies, converts the product back and
corrects it by one. A register holds the bits of a number as an integer. The small integers that a run supposes are no
bits of a number that a kernel computes with: of those nothing is known, as of numbers that are none. An approximation
is the nearest number.
"""

from __future__ import annotations

import math
import operator
import struct
from collections.abc import Callable, Sequence

from tileproof.base.patterns import regex
from tileproof.base.records import dataclass
from tileproof.protocol.terms import lift
from tileproof.protocol.values import Value


@dataclass(frozen=True, slots=True)
class Computation:
    """What an instruction computes.

    Attributes:
        name: of an operation of the dialect ``arith`` that it is like, else its own.
        count: how many operands it reads, behind the one that it writes.
        function: of their values.
        results: how many registers it writes.
    """

    name: str
    count: int
    function: Callable[..., Sequence[Value]]
    results: int = 1


MOVED = ("mov", "selp")  # instructions that do not look at the bits
_BITS = 32
_LEAST = 1 << 23  # the bits of the smallest number that is not subnormal
_INTEGER = regex(r"([us])(32|64)\Z")
_ROUNDINGS: dict[str, Callable[[float], float]] = {"rni": round, "rzi": math.trunc, "rmi": math.floor, "rpi": math.ceil}
_FUNCTIONS: dict[str, tuple[int, Callable[..., float]]] = {
    **{"add": (2, operator.add), "sub": (2, operator.sub), "mul": (2, operator.mul), "div": (2, operator.truediv)},
    **{"min": (2, min), "max": (2, max), "fma": (3, lambda a, b, c: a * b + c), "rcp": (1, lambda a: 1 / a)},
}


def is_float(opcode: str) -> bool:
    """Whether an instruction computes a number of 32 bits, or moves one."""
    name, _, rest = opcode.partition(".")
    if name == "cvt":
        return ".f32." in opcode and not opcode.endswith(".f32")
    return rest.endswith("f32") and (name in _FUNCTIONS or name in MOVED)


def becomes_integer(opcode: str) -> bool:
    """Whether an instruction makes an integer of such a number."""
    return opcode.startswith("cvt.") and opcode.endswith(".f32") and _conversion(opcode, opcode.split(".")) is not None


def float_computation(opcode: str, name: str, pieces: Sequence[str]) -> Computation | None:
    """What an opcode computes that reads or writes numbers of 32 bits; None where nothing is known of its result."""
    if "sat" in pieces:
        return None
    if name == "cvt":
        return _conversion(opcode, pieces)
    found = _FUNCTIONS.get(name)
    if found is None:
        return None
    count, function = found

    def computed(*operands: int) -> int | None:
        numbers = [_number(one) for one in operands]
        if None in numbers:
            return None
        try:
            return _bits(function(*numbers))
        except (ZeroDivisionError, OverflowError):
            return None

    lifted = lift(computed, opcode)
    return Computation(opcode, count, lambda *values: (lifted(*values),))


def _conversion(opcode: str, pieces: Sequence[str]) -> Computation | None:
    to, of = pieces[-2:]
    if to == "f32" and (kind := _INTEGER.match(of)) is not None:
        width, unsigned = int(kind[2]), kind[1] == "u"
        lifted = lift(lambda a: _bits(a % (1 << width) if unsigned else a), opcode)
    elif of == "f32" and (kind := _INTEGER.match(to)) is not None:
        rounding = next((_ROUNDINGS[one] for one in pieces if one in _ROUNDINGS), None)
        if rounding is None:
            return None
        lifted = lift(_rounded(rounding, int(kind[2]), kind[1] == "u"), opcode)
    else:
        return None
    return Computation(opcode, 1, lambda a: (lifted(a),))


def _rounded(rounding: Callable[[float], float], width: int, unsigned: bool) -> Callable[[int], int | None]:
    low, high = (0, (1 << width) - 1) if unsigned else (-(1 << width - 1), (1 << width - 1) - 1)

    def function(held: int) -> int | None:
        number = _number(held)
        if number is None:
            return None
        found = min(max(int(rounding(number)), low), high)
        return found - (1 << width) if found > (1 << width - 1) - 1 else found

    return function


def _number(held: int) -> float | None:
    """The number whose bits a register holds; None of what is none, or is too small for one."""
    bits = held & (1 << _BITS) - 1
    if 0 < bits & ~(1 << _BITS - 1) < _LEAST:
        return None
    found: float = struct.unpack("<f", struct.pack("<I", bits))[0]
    return found if math.isfinite(found) else None


def _bits(number: float) -> int | None:
    """The bits of a number as a signed word; None where it is too large."""
    try:
        found: int = struct.unpack("<i", struct.pack("<f", number))[0]
    except OverflowError:
        return None
    return found


__all__ = ["MOVED", "Computation", "becomes_integer", "float_computation", "is_float"]
