"""Proofs about layouts: equivalent, injective, bijective, covers, aligned, conflict-free.

    from tileproof import prove

    prove.equivalent("(4,8):(8,1)", "((2,2),8):((8,16),1)")
    prove.injective("(?m,?n):(1,?ld)", assume=["ld >= m"])
    prove.conflict_free("S<3,3,3> o 0 o (64,64):(64,1)", "ldmatrix.x4", element="f16")

Each function returns a verdict (``tileproof.verdict``): proved, refuted with a counterexample, or unknown with the
reason. It raises ``LayoutError`` or ``SyntaxFault`` where the question makes no sense.

**From coordinates to bit vectors.** A layout is a sum: each leaf of its shape has one coordinate, bounded by the
extent, and adds its stride a step. Hierarchy only groups leaves, so a question about hierarchical coordinates is one
about a vector of bounded integers, one a leaf, in which offsets are linear. No division is needed as long as both sides
of a question count through the same leaves, and leaves are split where one extent divides the other to make it so. A
swizzle is an xor of bits. That is what bit vectors do: a script has one variable a leaf and one a dynamic leaf, in
QF_BV, wide enough that nothing in it wraps. (Only ``covers --at-least-once`` needs a quantifier.) A counterexample of
the solver is worked out again on plain integers before it is believed. ``--smt2`` writes the very text that Z3 is
given, also where no solver was needed, for another to repeat.

**Why enumeration suffices for static layouts.** Their domain is finite, and the largest tile in shared memory has some
ten thousand elements: evaluating them all takes a few milliseconds in plain Python. Before that comes algebra: two sums
are one function exactly where their steps agree on common leaves; a sum is injective where its leaves nest, each step
beyond what the leaves before it reach; a swizzle is its own inverse. After it, for domains too large to count through,
comes Z3. Banks and alignment see addresses only modulo a power of two, so steps that are multiples of it drop out, and
what remains is small whatever the layout's size.

**Dynamic leaves** ``?{div=16}`` stand for all values: multiples of their divisor, from 1 for an extent (from 0 for a
stride or an offset) up to the largest of a signed integer of their width. Offsets are integers: that the kernel's
arithmetic on them overflows is not modelled. A leaf may have a name, ``?m{div=8}``, and one name has one value; of two
layouts, leaves without a name are the same in the order in which they are written, as long as their types are.
Assumptions such as ``ld >= m``, ``m == 16*n`` and ``d % 32 == 1`` relate names. A dynamic leaf is written as its
divisor times an unknown, so that algebra on polynomials with integer coefficients decides most questions; a
counterexample is sought among small values, and what remains goes to Z3, which may find a stride times a coordinate,
both unknown, too hard.

**What unknown means.** The question is open: Z3's time was up, or there was nothing to prove, because no value
satisfies what is assumed. A claim about nothing is never reported as proved. Unknown is not success: the command line's
exit status is that of a refutation.
"""

from __future__ import annotations

from collections.abc import Iterable

from tileproof.layout import Swizzle, Tuple
from tileproof.prove import questions
from tileproof.prove.claim import decide
from tileproof.prove.operand import AnyText
from tileproof.verdict import Verdict

__all__ = ["aligned", "bijective", "conflict_free", "covers", "decide", "equivalent", "injective"]

TIMEOUT = 10.0
"""Seconds that Z3 may spend."""

Element = str | int | None
"""An element type by its name in PTX or in the IR, or its bits."""


def equivalent(
    first: AnyText,
    second: AnyText,
    *,
    element: Element = None,
    assume: Iterable[str] = (),
    timeout: float = TIMEOUT,
) -> Verdict:
    """Do two layouts lead to one value at each index?

    Compared are element offsets (or coordinates), and byte addresses where one is a memory reference with a swizzle.

    Args:
        element: the element type of what is no memory reference.
        assume: relations of dynamic leaves, such as ``m == 16*n``, ``ld >= m`` or ``d % 32 == 1``.
        timeout: seconds that Z3 may spend.

    Raises:
        LayoutError, SyntaxFault: the question makes no sense.
    """
    return decide(questions.equivalent(first, second, element, tuple(assume)), timeout)


def injective(
    layout: AnyText, *, element: Element = None, assume: Iterable[str] = (), timeout: float = TIMEOUT
) -> Verdict:
    """Do no two coordinates lead to one value? Arguments and errors are those of ``equivalent``."""
    return decide(questions.injective(layout, element, tuple(assume)), timeout)


def bijective(
    layout: AnyText, *, element: Element = None, assume: Iterable[str] = (), timeout: float = TIMEOUT
) -> Verdict:
    """Are the offsets 0 to size - 1, each once? Arguments and errors are those of ``equivalent``."""
    return decide(questions.bijective(layout, element, tuple(assume)), timeout)


def covers(
    layout: AnyText,
    tile: str | Tuple,
    *,
    at_least_once: bool = False,
    element: Element = None,
    assume: Iterable[str] = (),
    timeout: float = TIMEOUT,
) -> Verdict:
    """Does a layout, such as a thread-value layout, reach each element of a tile exactly once?

    Args:
        tile: its shape, such as ``(128,64)``. Offsets count through it, coordinates (scaled bases) name its elements.
        at_least_once: an element may be reached several times, but nothing outside the tile.

    Other arguments and errors are those of ``equivalent``.
    """
    return decide(questions.covers(layout, tile, at_least_once, element, tuple(assume)), timeout)


def aligned(
    layout: AnyText,
    vector: int,
    *,
    element: Element = None,
    size: int | None = None,
    mode: int | None = None,
    swizzle: str | Swizzle | None = None,
    align: int | None = None,
    assume: Iterable[str] = (),
    timeout: float = TIMEOUT,
) -> Verdict:
    """Is every access of ``vector`` elements along a mode contiguous, and at a multiple of ``size`` bytes?

    Args:
        size: the alignment in bytes; by default the bytes of the access.
        mode: of the shape; by default the one that steps from element to element.
        swizzle: of byte addresses, such as ``S<3,4,3>``.
        align: of the base address in bytes; by default it is aligned to whatever is needed.

    Other arguments and errors are those of ``equivalent``.
    """
    claim = questions.aligned(layout, vector, element, size, mode, swizzle, align, tuple(assume))
    return decide(claim, timeout)


def conflict_free(
    layout: AnyText,
    access: str,
    *,
    element: Element = None,
    tv: AnyText | None = None,
    mode: int | None = None,
    swizzle: str | Swizzle | None = None,
    align: int | None = None,
    assume: Iterable[str] = (),
    timeout: float = TIMEOUT,
) -> Verdict:
    """Does a warp's access to shared memory meet no bank conflict?

    Args:
        access: ``ldmatrix.x4``, ``stmatrix.x2``, ``ld.shared.b32``, ``st.shared.v4.b32``, ... Of a matrix access the
            layout is that of the tile, rows and columns, and every 8x8 matrix in it is asked about; of the others it
            is a thread-value layout that leads to offsets.
        tv: the thread-value layout, where ``layout`` is that of the memory: it leads to the index of an element of
            ``layout``, or to its coordinate.
        mode: of the tile, along which a row of a matrix lies.

    Other arguments and errors are those of ``aligned``.
    """
    claim = questions.conflict_free(layout, access, element, tv, mode, swizzle, align, tuple(assume))
    return decide(claim, timeout)
