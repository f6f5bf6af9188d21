"""When two layouts are the same: as values, as functions, as things a kernel may exchange.

A static layout has one simplest form: its first extent is where the offsets stop growing evenly, and so on with the
rest. So two layouts without an inner part are one function exactly when they coalesce to the same layout.
"""

from __future__ import annotations

from tileproof.layout.basics import (
    UNIT,
    AnyLayout,
    coalesce,
    coalesce_layout,
    has_scaled_basis,
    is_static_layout,
    modes,
    size,
)
from tileproof.layout.composing import compose
from tileproof.layout.coordinates import crd2idx
from tileproof.layout.errors import LayoutError
from tileproof.layout.inverse import right_inverse
from tileproof.layout.leaves import Integer, divides
from tileproof.layout.tuples import product
from tileproof.layout.values import Layout, Tuple

ENUMERABLE = 1 << 14
"""The largest composed layout that is compared offset by offset."""


def normalize(layout: AnyLayout) -> AnyLayout:
    """The simplest layout that is the same function of an index: coalesced, without modes of extent one."""
    return coalesce(layout)


def equivalent(a: AnyLayout, b: AnyLayout) -> bool | None:
    """Do the two map every index to the same offset? None where dynamic leaves or sheer size leave it open."""
    if normalize(a) == normalize(b):
        return True if is_static_layout(a) and is_static_layout(b) else None
    count_a, count_b = size(a), size(b)
    if isinstance(count_a, int) and isinstance(count_b, int) and count_a != count_b:
        return False
    if not is_static_layout(a) or not is_static_layout(b):
        return None
    if isinstance(a, Layout) and isinstance(b, Layout):
        return False
    if isinstance(count_a, int) and count_a <= ENUMERABLE:
        return all(crd2idx(index, a) == crd2idx(index, b) for index in range(count_a))
    return None


def compatible(a: Tuple, b: Tuple) -> bool | None:
    """Is every coordinate in shape ``a`` one in shape ``b`` of the same size? None where it is not known."""
    if isinstance(a, tuple):
        if not isinstance(b, tuple) or len(a) != len(b):
            return False
        verdicts = list(map(compatible, a, b))
        return False if False in verdicts else None if None in verdicts else True
    count = product(b)
    return a == count if isinstance(a, int) and isinstance(count, int) else None


def weakly_compatible(a: Tuple, b: Tuple) -> bool | None:
    """Does shape ``a`` divide shape ``b``, mode by mode? None where it is not known."""
    if isinstance(a, tuple):
        if not isinstance(b, tuple) or len(a) != len(b):
            return False
        verdicts = list(map(weakly_compatible, a, b))
        return False if False in verdicts else None if None in verdicts else True
    return divides(product(b), product(a))


def max_common_layout(a: Layout, b: Layout) -> Layout:
    """The longest ``V`` with ``a(V(i)) == b(V(i)) == i``: the elements that both keep contiguous.

    Raises:
        LayoutError: ``b`` has no right inverse, or ``a`` does not compose with it.
    """
    inverse = right_inverse(b)
    first = modes(coalesce_layout(compose(a, inverse)))[0]
    if not isinstance(first.shape, int) or first.stride != 1:
        return UNIT
    return compose(inverse, first)


def max_common_vector(a: Layout, b: Layout) -> Integer:
    """How many elements ``max_common_layout`` holds. Raises as that does."""
    return size(max_common_layout(a, b))


def verify_operand_layout(layout: AnyLayout, expected: AnyLayout) -> None:
    """Is this the layout that an instruction expects of an operand?

    Both are normalised and must be one function; the layout must be static and map to offsets, not to coordinates.

    Raises:
        LayoutError: with the first of these conditions that fails.
    """
    if normalize(layout) != normalize(expected) and equivalent(layout, expected) is not True:
        raise LayoutError(
            f"the operand layout {layout} is not the expected {expected}: "
            f"normalised they are {normalize(layout)} and {normalize(expected)}"
        )
    if not is_static_layout(layout):
        raise LayoutError(f"the operand layout {layout} is not static")
    if has_scaled_basis(layout):
        raise LayoutError(
            f"the operand layout {layout} has scaled-basis strides: it maps to coordinates, not to offsets"
        )
