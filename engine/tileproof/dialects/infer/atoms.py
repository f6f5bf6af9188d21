"""Atoms and what is made of them: constants, atoms, tiled MMAs and tiled copies.

Nothing but the declared result says which atom is made or how it is tiled. What the operands say must agree with it.
"""

from __future__ import annotations

from collections.abc import Iterator

from tileproof.dialects.infer.call import Call, Results, Unknown, infers, operand
from tileproof.dialects.values import Algebraic, Atom, CoordIterator, Pointer, Tensor, TiledCopy, TiledMma, Type
from tileproof.layout import LayoutError
from tileproof.layout.basics import rank
from tileproof.layout.tuples import leaves
from tileproof.layout.values import Basis, ComposedLayout, Dynamic, Layout, Swizzle, Tile, Tuple, Value


@infers("static")
def static(call: Call) -> Results:
    if len(call.declared) != 1:
        raise Unknown
    (result,) = call.declared
    if isinstance(result, Pointer) or (isinstance(result, Tensor) and isinstance(result.iterator, Pointer)):
        raise LayoutError(f"result #0 must be MaybeStaticTypeInterface instance, but got '{result}'")
    if any(map(_dynamic, _tuples(result))):
        raise LayoutError(f"expects result to be static, but got '{result}'")
    return call.declared


def _tuples(value: Type) -> Iterator[Tuple]:
    """All tuples in a type of the algebra."""
    match value:
        case Algebraic(_, inside):
            yield from _inside(inside)
        case CoordIterator(start):
            yield start
        case Tensor(CoordIterator(start), layout):
            yield start
            yield from _inside(layout)


def _inside(value: Value) -> Iterator[Tuple]:
    match value:
        case Layout(shape, stride):
            yield from (shape, stride)
        case ComposedLayout(inner, offset, outer):
            yield offset
            yield from _inside(outer)
            if inner is not None:
                yield from _inside(inner)
        case Tile(modes):
            for mode in modes:
                yield from _inside(mode)
        case Swizzle():
            return
        case _:
            yield value


def _dynamic(value: Tuple) -> bool:
    return any(isinstance(leaf.value if isinstance(leaf, Basis) else leaf, Dynamic) for leaf in leaves(value))


@infers("make_atom")
def make_atom(call: Call) -> Results:
    return call.declared or None


@infers("make_tiled_mma", "make_tiled_copy")
def make_tiled(call: Call) -> Results:
    if len(call.declared) != 1:
        raise Unknown
    atom, (result,) = operand(call, 0), call.declared
    if not isinstance(atom, Atom) or not isinstance(result, TiledMma | TiledCopy):
        raise Unknown
    if isinstance(result, TiledMma):
        if rank(result.atoms) != 3:
            raise LayoutError("TiledMMA requires rank-3 atomLayoutMNK")
        if len(result.permutation.modes) != 3:
            raise LayoutError("TiledMMA requires rank-3 permutationMNK")
    if result.atom != atom:
        raise LayoutError("failed to verify that Result inner atom type matches operand atom type")
    return call.declared
