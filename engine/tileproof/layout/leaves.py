"""Arithmetic on the leaves of a tuple: static integers, dynamic integers, scaled bases.

A ``Dynamic`` leaf is any integer of its width that its divisor divides, and an operation on it answers with
the leaf that the ``cute`` dialect infers: the wider width of the two, and a divisor that holds for every value. The
divisor is sound (a test enumerates small values) but, like the dialect's, not always the largest one that holds.
"""

from __future__ import annotations

from math import gcd
from typing import TYPE_CHECKING, TypeAlias

from tileproof.layout.errors import LayoutError
from tileproof.layout.values import Basis, Dynamic, Leaf, Wildcard, show

if TYPE_CHECKING:
    from fractions import Fraction  # few layouts have one: it is loaded, with `decimal`, where one is made

Integer: TypeAlias = int | Dynamic

LARGEST = 2**63 - 1


def static(value: int) -> int:
    """The value itself.

    Raises:
        LayoutError: it does not fit in 64 bits, the dialect's widest integer.
    """
    if not -LARGEST - 1 <= value <= LARGEST:
        raise LayoutError(f"the integer {value} overflows 64 bits")
    return value


def integer(leaf: Leaf | object, what: str = "an integer") -> Integer:
    """The leaf, if it is a static or a dynamic integer.

    Raises:
        LayoutError: it is something else.
    """
    if isinstance(leaf, int | Dynamic):
        return leaf
    raise LayoutError(f"expects {what}, but got {leaf}")


def is_zero(leaf: Leaf | object) -> bool:
    """Is this statically zero? ``0@1`` steps nowhere, so it counts."""
    return leaf == 0 or (isinstance(leaf, Basis) and leaf.value == 0)


def divisor(leaf: Integer) -> int:
    """The largest integer known to divide the leaf; zero for zero, which everything divides."""
    return leaf.div if isinstance(leaf, Dynamic) else abs(leaf)


def dynamic(*operands: Integer, div: int = 1) -> Dynamic:
    """The dynamic result of an operation on these operands: as wide as the widest, divisible by ``div``."""
    return Dynamic(max(map(_width, operands), default=32), static(div) or 1)


def _width(leaf: Integer) -> int:
    """Bits that hold the leaf: a static one has 32, or 64 if required."""
    return leaf.width if isinstance(leaf, Dynamic) else 32 if -(2**31) <= leaf < 2**31 else 64


def add_integers(a: Integer, b: Integer) -> Integer:
    """``a + b``; whatever divides both divides the sum."""
    if isinstance(a, int) and isinstance(b, int):
        return static(a + b)
    return dynamic(a, b, div=gcd(divisor(a), divisor(b)))


def subtract_integers(a: Integer, b: Integer) -> Integer:
    """``a - b``; whatever divides both divides the difference."""
    if isinstance(a, int) and isinstance(b, int):
        return static(a - b)
    return dynamic(a, b, div=gcd(divisor(a), divisor(b)))


def multiply_integers(a: Integer, b: Integer) -> Integer:
    """``a * b``; divisors multiply, and a static zero wins."""
    if isinstance(a, int) and isinstance(b, int):
        return static(a * b)
    if a == 0 or b == 0:
        return 0
    return dynamic(a, b, div=divisor(a) * divisor(b))


def _truncate(a: int, b: int) -> int:
    """``a / b`` as C rounds it, toward zero."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def divide_integers(a: Integer, b: Integer) -> Integer:
    """``a / b`` rounded toward zero. A divisor survives where a static ``b`` divides it.

    Raises:
        LayoutError: ``b`` is zero.
    """
    if b == 0:
        raise LayoutError(f"cannot divide {a} by zero", "arith div by zero is not supported")
    if isinstance(a, int) and isinstance(b, int):
        return static(_truncate(a, b))
    if a == 0:
        return 0
    if isinstance(a, Dynamic) and isinstance(b, int) and a.div % b == 0:
        return dynamic(a, div=abs(a.div // b))
    return dynamic(a, b)


def modulo_integers(a: Integer, b: Integer) -> Integer:
    """The remainder of ``a / b``, with the sign of ``a``; zero where ``b`` is known to divide ``a``.

    Raises:
        LayoutError: ``b`` is zero.
    """
    if b == 0:
        raise LayoutError(f"cannot take {a} modulo zero", "arith mod by zero is not supported")
    if isinstance(a, int) and isinstance(b, int):
        return a - b * _truncate(a, b)
    if a == 0:
        return 0
    if isinstance(a, Dynamic) and isinstance(b, int):
        if a.div % b == 0:
            return 0
        if b % a.div == 0:
            return dynamic(a, div=a.div)
    return dynamic(a, b)


def ceil_divide_integers(a: Integer, b: Integer) -> Integer:
    """``a / b`` rounded up, for ``a >= 0`` and ``b > 0``.

    The dialect computes ``(a + b - 1) / b``, and so loses the divisor of a dynamic ``a`` unless ``b`` is one.

    Raises:
        LayoutError: ``b`` is zero.
    """
    if b == 0:
        raise LayoutError(f"cannot divide {a} by zero", "expects valid operands, but cannot compute ceil_div for")
    if isinstance(a, int) and isinstance(b, int):
        return static(_truncate(a + b - 1, b))
    if a == 0:
        return 0
    return a if b == 1 else dynamic(a, b)


def divides(a: Integer, b: Integer) -> bool | None:
    """Does ``b`` divide ``a``? None where that depends on values not known before the kernel runs."""
    if isinstance(a, int) and isinstance(b, int):
        return b != 0 and a % b == 0
    if isinstance(b, int) and b != 0 and divisor(a) % b == 0:
        return True
    return None


def shape_divide_integers(a: Integer, b: Integer) -> Integer:
    """``a / b`` where one divides the other: the quotient, or a unit where ``a`` divides ``b``.

    Raises:
        LayoutError: neither divides the other.
    """
    if b == 0:
        raise LayoutError(f"cannot divide {a} by zero", "unable to compute shape_div")
    if isinstance(a, int) and isinstance(b, int):
        if a % b == 0:
            return a // b
        if b % a == 0:
            return 1 if (a < 0) == (b < 0) else -1
        raise LayoutError(f"neither of {a} and {b} divides the other", "unable to compute shape_div")
    if a == 0:
        return 0
    return dynamic(a, b)


def smaller(a: Integer, b: Integer) -> Integer:
    """The smaller of two positive integers; what divides both divides it, and nothing is smaller than one."""
    if isinstance(a, int) and isinstance(b, int):
        return min(a, b)
    if a == 1 or b == 1:
        return 1
    return dynamic(a, b, div=gcd(divisor(a), divisor(b)))


def absolute(leaf: Integer) -> Integer:
    """``|leaf|``."""
    return abs(leaf) if isinstance(leaf, int) else leaf


def sign(leaf: Integer) -> int:
    """-1, 0 or 1; a dynamic leaf counts as positive, since its divisor does not depend on its sign."""
    return (leaf > 0) - (leaf < 0) if isinstance(leaf, int) else 1


def scale(stride: Leaf, factor: Integer) -> Leaf:
    """``stride * factor``, the step of ``factor`` elements: of an integer, a ratio or a scaled basis.

    Raises:
        LayoutError: the stride is none of them, or a ratio meets a dynamic factor that may not divide it out.
    """
    match stride:
        case Basis(value, path):
            scaled = scale(value, factor)
            return Basis(scaled, path) if not isinstance(scaled, Basis | Wildcard) else scaled
        case int() | Dynamic():
            return multiply_integers(stride, factor)
        case Wildcard():
            raise LayoutError(f"expects an integer or scaled-basis stride, but got {show(stride)}")
    if isinstance(factor, Dynamic):
        if factor.div % stride.denominator:
            raise LayoutError(f"the step {stride} times {factor} need not be whole")
        return dynamic(factor, div=abs(stride.numerator) * factor.div // stride.denominator)
    return whole(stride * factor)


def whole(value: Fraction) -> int | Fraction:
    """The ratio as an integer, where it is one."""
    return value.numerator if value.denominator == 1 else value


def is_static(leaf: Leaf) -> bool:
    """Is everything about this leaf known before the kernel runs?"""
    return not isinstance(leaf.value if isinstance(leaf, Basis) else leaf, Dynamic)


def is_wildcard(value: object) -> bool:
    return value is Wildcard.ALL
