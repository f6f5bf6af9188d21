"""What one thread, or one CTA, gets of a tensor: partitions by a tiled MMA or a tiled copy."""

from __future__ import annotations

from tileproof.dialects.fragments import fragments
from tileproof.dialects.infer.call import Call, Results, Unknown, infers, operand, tuple_operand
from tileproof.dialects.infer.memory import sliced
from tileproof.dialects.values import Algebraic, Tensor, TiledCopy, TiledMma
from tileproof.evaluate.fragments import Fragments, Missing
from tileproof.layout import LayoutError, size, tiled
from tileproof.layout.basics import modes
from tileproof.layout.leaves import Integer, integer, multiply_integers
from tileproof.layout.tiled import CopySide, MmaOperand
from tileproof.layout.tuples import product
from tileproof.layout.values import Dynamic, Tuple
from tileproof.rulebase.book import Rulebook

_ROLES = ("A", "B", "C")
_ALONG = {"A": (0, 2), "B": (1, 2), "C": (0, 1)}  # the modes of (M,N,K) that an operand has


def known(tiled_atom: TiledMma | TiledCopy, book: Rulebook | None = None) -> Fragments:
    """The fragments of the atom; Unknown where the rule files have none."""
    found = fragments(tiled_atom.atom.node, book)
    if found is None:
        raise Unknown
    return found


def mma_operand(mma: TiledMma, role: str, book: Rulebook | None = None) -> MmaOperand:
    """How an operand of a tiled MMA is divided."""
    found = known(mma, book)
    if role not in found.layouts:
        raise Unknown
    try:
        extents = found.shape()
    except Missing:
        raise Unknown from None
    first, second = _ALONG[role]
    within, *atoms = modes(tiled.thread_layout(found.threads, mma.atoms))
    permutation = mma.permutation.modes
    return MmaOperand(
        found.layouts[role],
        (extents[first], extents[second]),
        (permutation[first], permutation[second]),
        (within, atoms[first], atoms[second]),
    )


def thread_number(coord: Tuple) -> Integer:
    """A coordinate that is the number of a thread."""
    if isinstance(coord, int | Dynamic):
        return coord
    raise Unknown


def role_of(call: Call) -> str:
    """The operand that the attribute ``operand_id`` names."""
    index = call.integer("operand_id")
    if not 0 <= index < len(_ROLES):
        raise Unknown
    return _ROLES[index]


@infers("tiled.mma.partition")
def partition(call: Call) -> Results:
    mma, tensor = operand(call, 0), operand(call, 1)
    thread = thread_number(tuple_operand(call, 2))
    if not isinstance(mma, TiledMma) or not isinstance(tensor, Tensor):
        raise Unknown
    part = mma_operand(mma, role_of(call), call.book)
    place = tiled.thread_coordinate(thread, part.threads)
    return (sliced(tensor.iterator, *tiled.partition_mma(tensor.layout, part, place)),)


@infers("tiled.mma.partition_shape")
def partition_shape(call: Call) -> Results:
    """What one thread holds of a tile: an atom's values, and the atoms along either mode. The permutation is without
    effect on it."""
    mma, shape = operand(call, 0), tuple_operand(call, 1)
    if not isinstance(mma, TiledMma):
        raise Unknown
    part = mma_operand(mma, role_of(call), call.book)
    _, *along = part.threads
    first, second, *others = shape if isinstance(shape, tuple) and len(shape) > 1 else (shape, shape)
    counts: list[Tuple] = []
    for tile, atom, atoms in zip((first, second), part.extents, along, strict=True):
        extent, unit = product(tile), multiply_integers(atom, integer(size(atoms)))
        if isinstance(extent, Dynamic):
            counts.append(Dynamic(extent.width))
        elif not isinstance(extent, int) or not isinstance(unit, int):
            raise Unknown
        elif extent % unit and unit % extent:
            raise LayoutError(f"failed to partition `input` '{call.operands[1]}' with `tiled_mma`")
        else:
            counts.append(max(extent // unit, 1))
    return (Algebraic("shape", (modes(part.thread_values)[1].shape, *counts, *others)),)


def copy_side(copy: TiledCopy, role: str, book: Rulebook | None) -> CopySide:
    """How the source (S) or the destination (D) of a tiled copy is divided."""
    layouts = known(copy, book).layouts
    if role not in layouts or "R" not in layouts:
        raise Unknown
    return CopySide(copy.thread_values, copy.tiler, layouts["R"], layouts[role])


@infers("tiled.copy.partition_S", "tiled.copy.partition_D")
def partition_copy(call: Call) -> Results:
    copy, tensor = operand(call, 0), operand(call, 1)
    thread = thread_number(tuple_operand(call, 2))
    if not isinstance(copy, TiledCopy) or not isinstance(tensor, Tensor):
        raise Unknown
    return (
        sliced(
            tensor.iterator, *tiled.partition_copy(tensor.layout, copy_side(copy, call.name[-1], call.book), thread)
        ),
    )


@infers("tiled.copy.retile")
def retile(call: Call) -> Results:
    copy, tensor = operand(call, 0), operand(call, 1)
    if not isinstance(copy, TiledCopy) or not isinstance(tensor, Tensor):
        raise Unknown
    _, values = copy_side(copy, "S", call.book).atom_size
    return (Tensor(tensor.iterator, tiled.retile(tensor.layout, copy.thread_values, copy.tiler, values)),)


@infers("copy.make_fragment")
def make_fragment(call: Call) -> Results:
    """A tiled copy takes the tensor as it is."""
    copy, tensor = operand(call, 0), operand(call, 1)
    if not isinstance(copy, TiledCopy) or not isinstance(tensor, Tensor):
        raise Unknown
    return (tensor,)
