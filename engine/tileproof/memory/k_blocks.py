"""The part of K that a tiled MMA reads of A and of B: by the coordinates at which their fragments are cut.

A fragment has the modes (value, MN, K, stage); a kernel cuts it, in one step or in several, until the operands of one
``cute.gemm`` are left. The coordinate along K is static, or a loop counter plus a constant.
"""

from __future__ import annotations

from collections.abc import Iterator

from tileproof.dialects.configuration import Facts
from tileproof.dialects.operands import resolve
from tileproof.dialects.operations import Operations
from tileproof.dialects.values import Algebraic, read_type
from tileproof.layout.tuples import leaves
from tileproof.layout.values import Dynamic
from tileproof.memory.multiples import constant_of
from tileproof.memory.origins import definitions
from tileproof.mlir.ir import Alias, Operation
from tileproof.mlir.scopes import Origin, Scope

_K = 2  # the mode of a fragment
_DEEPEST = 16  # sums that a coordinate is followed through
_SAME = frozenset(
    {"cute.make_int_tuple", "cute.get_scalars", "cute.to_int_tuple", "cute.get_leaves", "arith.index_cast"}
)
Index = tuple[object, int]  # what stands for the run-time part, None where there is none; the static part


def k_blocks(operation: Operation, scope: Scope, known: Operations, aliases: dict[str, Alias]) -> Iterator[Facts]:
    """The facts of an MMA whose operands A and B are both cut along K at coordinates that can be compared."""
    groups = operation.groups
    if len(groups) != 5 or sum(groups) != len(operation.operands):
        return
    first = sum(groups[:2])
    one, other = (_index(operation.operands[at], scope, known, aliases) for at in (first, first + groups[2]))
    if one is None or other is None:
        return
    (a, at_a, cut_a), (b, at_b, cut_b) = one, other
    if a != b:
        return
    ends = ((".mma", operation.name_span), (".advance", cut_a.name_span))
    yield Facts("joined_blocks", {"a.block": at_a, "b.block": at_b}, {}, {}, cut_b.name_span, ends)


def _index(
    name: str, scope: Scope, known: Operations, aliases: dict[str, Alias]
) -> tuple[object, int, Operation] | None:
    """The coordinate along K of an operand, and the slice that cuts it there; None where it is not one coordinate."""
    chain = []
    fragment = None
    for origin in definitions(name, scope, known):
        if origin.argument:
            return None
        if known.moves(origin.operation) == "fragment":
            fragment = origin.operation
            break
        if known.moves(origin.operation) != "slice":
            return None
        chain.append(origin.operation)
    if fragment is None:
        return None
    left = 4  # modes of the fragment that no slice has fixed yet: (value, MN, K, stage)
    places = list(range(left))
    for cut in reversed(chain):
        coordinate = _coordinate(cut, scope, aliases)
        if coordinate is None or len(coordinate) > len(places):
            return None
        at = next((i for i, place in enumerate(places) if place == _K), None)
        index = coordinate[at] if at is not None and at < len(coordinate) else None
        if index is not None:
            return (*index, cut) if index[0] is not _ALL else None
        places = [place for i, place in enumerate(places) if i >= len(coordinate) or coordinate[i] is None]
    return None


_ALL = object()  # a part of a mode


def _coordinate(cut: Operation, scope: Scope, aliases: dict[str, Alias]) -> list[Index | None] | None:
    """The coordinate of a slice, mode by mode; None for a mode that is kept whole."""
    if len(cut.inputs) < 2 or len(cut.operands) < 2:
        return None
    found = read_type(resolve(cut.inputs[1].text, aliases))
    if not isinstance(found, Algebraic) or not isinstance(found.value, tuple):
        return None
    origin = scope.get(cut.operands[1])
    names = list(origin.operation.operands) if origin is not None and not origin.argument else []
    dynamic = [leaf for leaf in leaves(found.value) if isinstance(leaf, Dynamic)]
    if dynamic and (origin is None or origin.operation.name != "cute.make_coord" or len(names) != len(dynamic)):
        return None
    result: list[Index | None] = []
    for mode in found.value:
        if isinstance(mode, int):
            result.append((None, mode))
        elif isinstance(mode, Dynamic):
            result.append(_sum(names.pop(0), scope))
        elif isinstance(mode, tuple):
            names = names[sum(isinstance(leaf, Dynamic) for leaf in leaves(mode)) :]
            result.append((_ALL, 0))
        else:
            result.append(None)
    return result


def _sum(name: str, scope: Scope, depth: int = 0) -> Index:
    """A value as something unknown and a constant that is added to it."""
    origin = scope.get(name)
    if origin is None:
        return name, 0
    operation = origin.operation
    if not origin.argument and depth < _DEEPEST:
        if operation.name in ("arith.constant", "llvm.mlir.constant"):
            value = constant_of(operation)
            return _unknown(origin) if value is None else (None, value)
        if operation.name in _SAME and len(operation.operands) == 1 and len(operation.results) == 1:
            return _sum(operation.operands[0], scope, depth + 1)
        if operation.name == "arith.addi" and len(operation.operands) == 2:
            (a, one), (b, other) = (_sum(operand, scope, depth + 1) for operand in operation.operands)
            if a is None or b is None:
                return (b if a is None else a), one + other
    return _unknown(origin)


def _unknown(origin: Origin) -> Index:
    return (id(origin.operation), origin.index, origin.argument), 0
