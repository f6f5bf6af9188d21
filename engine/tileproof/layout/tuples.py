"""Hierarchical tuples: their profile, and arithmetic on them, leaf by leaf.

A tuple is a leaf or a Python tuple of tuples. A leaf counts as a tuple of one mode: ``rank(4) == 1`` and mode 0 of
``4`` is ``4`` itself, although ``4`` and ``(4)`` are different tuples and print differently.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from tileproof.layout.errors import LayoutError
from tileproof.layout.leaves import (
    Integer,
    add_integers,
    ceil_divide_integers,
    divide_integers,
    divisor,
    dynamic,
    integer,
    is_static,
    modulo_integers,
    multiply_integers,
    shape_divide_integers,
    subtract_integers,
)
from tileproof.layout.values import Basis, Dynamic, Leaf, Tuple, Wildcard, show

Result = TypeVar("Result")


def modes(value: Tuple) -> tuple[Tuple, ...]:
    """The modes of a tuple; a leaf is its own only mode."""
    return value if isinstance(value, tuple) else (value,)


def rank(value: Tuple) -> int:
    """The number of modes at the top."""
    return len(modes(value))


def depth(value: Tuple) -> int:
    """How deep parentheses nest: 0 for a leaf."""
    return 1 + max(map(depth, value), default=0) if isinstance(value, tuple) else 0


def leaves(value: Tuple) -> Iterator[Leaf]:
    """The leaves from left to right."""
    if isinstance(value, tuple):
        for mode in value:
            yield from leaves(mode)
    else:
        yield value


def flatten(value: Tuple) -> Tuple:
    """The same leaves without nesting; a leaf stays a leaf."""
    return tuple(leaves(value)) if isinstance(value, tuple) else value


def transform(function: Callable[[Leaf], Tuple], value: Tuple) -> Tuple:
    """The tuple with every leaf replaced by the function's answer for it."""
    if isinstance(value, tuple):
        return tuple(transform(function, mode) for mode in value)
    return function(value)


def congruent(a: Tuple, b: Tuple) -> bool:
    """Do the two have one profile, that is, the same parentheses?"""
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(congruent, a, b))
    return not isinstance(a, tuple) and not isinstance(b, tuple)


def weakly_congruent(a: Tuple, b: Tuple) -> bool:
    """Is the profile of ``a`` that of ``b`` with some modes taken whole? A coordinate must be, to its shape."""
    if isinstance(a, tuple):
        return isinstance(b, tuple) and len(a) == len(b) and all(map(weakly_congruent, a, b))
    return True


def is_static_tuple(value: Tuple) -> bool:
    """Are all leaves known before the kernel runs?"""
    return all(map(is_static, leaves(value)))


def has_basis(value: Tuple) -> bool:
    """Does a leaf step along a mode of a coordinate?"""
    return any(isinstance(leaf, Basis) for leaf in leaves(value))


def has_wildcard(value: Tuple) -> bool:
    return any(leaf is Wildcard.ALL for leaf in leaves(value))


def mode_at(value: Tuple, path: tuple[int, ...], what: str = "mode") -> Tuple:
    """The mode at a path of indices.

    Raises:
        LayoutError: an index is out of range, or the path continues below a leaf.
    """
    for level, index in enumerate(path):
        if level and not isinstance(value, tuple):
            extra = len(path) - level
            raise LayoutError(
                f"expects {what} indices to stop at a scalar leaf, "
                f"but got {extra} extra {'index' if extra == 1 else 'indices'} after depth {level}"
            )
        if not 0 <= index < rank(value):
            raise LayoutError(f"expects {what} index in [0, {rank(value)}) at depth {level}, but got {index}")
        value = modes(value)[index]
    return value


def product(value: Tuple) -> Integer:
    """The product of all leaves: the number of elements of a shape.

    Raises:
        LayoutError: a leaf is not an integer, or the product overflows.
    """
    result: Integer = 1
    for leaf in leaves(value):
        result = multiply_integers(result, integer(leaf))
    return result


def product_each(value: Tuple) -> Tuple:
    """The product of each mode, always as a tuple: ``(2,(3,4))`` gives ``(2,12)`` and ``5`` gives ``(5)``."""
    return tuple(product(mode) for mode in modes(value))


def _arithmetic(name: str, function: Callable[[Integer, Integer], Integer], a: Tuple, b: Tuple) -> Tuple:
    """An arithmetic-tuple operation: congruent modes combine, missing modes and a single static zero count as zero.

    As in the dialect, an operand without a counterpart is kept as it is, under subtraction and division too.
    """

    def combine(a: Tuple, b: Tuple, path: tuple[int, ...]) -> Tuple:
        if isinstance(a, tuple) and isinstance(b, tuple):
            paired = [combine(x, y, (*path, i)) for i, (x, y) in enumerate(zip(a, b, strict=False))]
            return (*paired, *a[len(b) :], *b[len(a) :])
        if isinstance(a, tuple):
            if b == 0:
                return a
        elif isinstance(b, tuple):
            if a == 0:
                return b
        else:
            return function(integer(a), integer(b))
        if path:
            wording = f"expects matching nesting at element {path[0]}"
        else:
            scalar, other = ("rhs", "lhs") if isinstance(a, tuple) else ("lhs", "rhs")
            wording = f"expects matching structure, but {scalar} is a scalar and {other} is a tuple"
        place = f"mode {list(path)}: " if path else ""
        raise LayoutError(f"{name} needs matching tuples, but {place}{show(a)} meets {show(b)}", wording)

    return combine(a, b, ())


def add(a: Tuple, b: Tuple) -> Tuple:
    """``a + b`` of arithmetic tuples.

    Raises:
        LayoutError: a leaf other than zero meets a tuple.
    """
    return _arithmetic("add", add_integers, a, b)


def sub(a: Tuple, b: Tuple) -> Tuple:
    """``a - b`` of arithmetic tuples. Raises as ``add``."""
    return _arithmetic("sub", subtract_integers, a, b)


def mul(a: Tuple, b: Tuple) -> Tuple:
    """``a * b``, leaf by leaf. Raises as ``add``."""
    return _arithmetic("mul", multiply_integers, a, b)


def div(a: Tuple, b: Tuple) -> Tuple:
    """``a / b`` rounded toward zero, leaf by leaf. Raises as ``add``, and where a divisor is zero."""
    _refuse_zeros("divide", a, b)
    return _arithmetic("div", divide_integers, a, b)


def mod(a: Tuple, b: Tuple) -> Tuple:
    """The remainder of ``a / b``, leaf by leaf. Raises as ``add``, and where a divisor is zero."""
    _refuse_zeros("take the remainder of", a, b)
    return _arithmetic("mod", modulo_integers, a, b)


def _refuse_zeros(verb: str, a: Tuple, b: Tuple) -> None:
    if any(leaf == 0 for leaf in leaves(b)):
        raise LayoutError(f"cannot {verb} {show(a)} by {show(b)}: a leaf is zero", "by zero is not supported")


def ceil_div(a: Tuple, b: Tuple) -> Tuple:
    """How many tiles ``b`` cover ``a``: leaf by leaf, rounded up; modes without a counterpart stay whole.

    A single ``b`` against a tuple divides the modes one after another, each by the quotient of the previous one.

    Raises:
        LayoutError: ``b`` has more modes than ``a``, or an extent of zero.
    """
    if isinstance(b, tuple):
        if len(b) > rank(a):
            raise LayoutError(
                f"ceil_div of {show(a)} by {show(b)}: the tiler has {len(b)} modes, the input {rank(a)}",
                f"rank(tiler)={len(b)} > rank(input)={rank(a)}",
            )
        if not isinstance(a, tuple):
            return ceil_divide_integers(integer(a), product(b))
        return (*map(_covering, a, b), *a[len(b) :])
    if not isinstance(a, tuple):
        return ceil_divide_integers(integer(a), integer(b))
    result: list[Tuple] = []
    rest = integer(b)
    for mode in a:
        result.append(ceil_div(mode, rest))
        rest = ceil_divide_integers(rest, product(mode))
    return tuple(result)


def _covering(a: Tuple, b: Tuple) -> Tuple:
    """``ceil_div`` below the top, where a leaf is covered by a whole shape."""
    return ceil_div(a, b if isinstance(a, tuple) else product(b))


def shape_div(a: Tuple, b: Tuple) -> Tuple:
    """``a / b`` of shapes. A scalar ``b`` divides the modes of ``a`` one after another until it is used up.

    Raises:
        LayoutError: at some leaf neither divides the other, or the profiles do not match.
    """
    if isinstance(a, tuple) and isinstance(b, tuple):
        if len(a) != len(b):
            raise LayoutError(
                f"shape_div needs shapes of one rank, but {show(a)} has {len(a)} modes and {show(b)} {len(b)}",
                "unable to compute shape_div",
            )
        return tuple(map(shape_div, a, b))
    if isinstance(a, tuple):
        result: list[Tuple] = []
        rest = b
        for mode in a:
            result.append(shape_div(mode, rest))
            rest = shape_div(rest, product(mode))
        return tuple(result)
    return shape_divide_integers(integer(a), product(b))


def increment_coord(coord: Tuple, shape: Tuple) -> Tuple:
    """The next coordinate in colexicographic order; the last mode counts on past its extent.

    Raises:
        LayoutError: the coordinate is not congruent with the shape, or has a wildcard.
    """
    if has_wildcard(coord):
        raise LayoutError(
            f"cannot increment {show(coord)}: it has a wildcard", "expects coord to be free of underscore wildcards"
        )
    if not congruent(coord, shape):
        raise LayoutError(
            f"expects a coordinate congruent with the shape, but got {show(coord)} for {show(shape)}",
            "expects coord to be congruent with shape",
        )
    extents = list(leaves(shape))
    result: list[Leaf] = []
    carry: Integer = 1
    for place, (leaf, extent) in enumerate(zip(leaves(coord), extents, strict=True)):
        digit = add_integers(integer(leaf), carry)
        if place == len(extents) - 1:
            result.append(digit)
        elif isinstance(digit, int) and isinstance(extent, int):
            result.append(digit if digit < extent else 0)
            carry = int(digit >= extent)
        else:
            # Either the digit or zero: what divides the digit divides both. The carry is a 32-bit comparison.
            result.append(0 if extent == 1 else dynamic(digit, div=divisor(digit)))
            carry = Dynamic()
    return _rebuild(coord, iter(result))


def _rebuild(profile: Tuple, flat: Iterator[Leaf]) -> Tuple:
    return transform(lambda _: next(flat), profile)


def elem_less(a: Tuple, b: Tuple) -> bool | None:
    """Is every leaf of ``a`` less than its counterpart in ``b``? None where that is not known statically.

    Raises:
        LayoutError: the profiles differ.
    """
    if not congruent(a, b):
        raise LayoutError(f"expects congruent inputs, but got {show(a)} and {show(b)}")
    verdict: bool | None = True
    for x, y in zip(leaves(a), leaves(b), strict=True):
        if isinstance(x, int) and isinstance(y, int):
            if x >= y:
                return False
        else:
            verdict = None
    return verdict


def equal(a: Tuple, b: Tuple) -> bool | None:
    """Are the two tuples equal for certain (True), for certain not (False), or does it depend (None)?"""
    if not congruent(a, b):
        return False
    verdict: bool | None = True
    for x, y in zip(leaves(a), leaves(b), strict=True):
        if isinstance(x, Dynamic) or isinstance(y, Dynamic) or not (is_static(x) and is_static(y)):
            verdict = None
        elif x != y:
            return False
    return verdict


def compact(shape: Tuple) -> Tuple:
    """The column-major strides of a shape: 1, then the running product of the extents before."""
    running: Integer = 1

    def step(leaf: Leaf) -> Leaf:
        nonlocal running
        stride = running
        running = multiply_integers(running, integer(leaf))
        return stride

    return transform(step, shape)
