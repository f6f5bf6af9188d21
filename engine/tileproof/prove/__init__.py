"""Proofs about layouts: equivalent, injective, bijective, covers, aligned, conflict-free.

    from tileproof import prove

    prove.equivalent("(4,8):(8,1)", "((2,2),8):((8,16),1)")
    prove.injective("(?m,?n):(1,?ld)", assume=["ld >= m"])
    prove.conflict_free("S<3,3,3> o 0 o (64,64):(64,1)", "ldmatrix.x4", element="f16")

Each function returns a verdict (``tileproof.base.verdict``): proved, refuted with a counterexample, or unknown with the
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

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tileproof.prove.functions import (
        TIMEOUT,
        aligned,
        bijective,
        conflict_free,
        covers,
        decide,
        equivalent,
        injective,
    )

__all__ = ["TIMEOUT", "aligned", "bijective", "conflict_free", "covers", "decide", "equivalent", "injective"]


def __getattr__(name: str) -> object:
    """The functions on first use: `check` needs other parts of this package, and not these."""
    from importlib import import_module  # noqa: PLC0415

    if name in __all__:
        return getattr(import_module("tileproof.prove.functions"), name)
    raise AttributeError(f"module 'tileproof.prove' has no attribute '{name}'")
