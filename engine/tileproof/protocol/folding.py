"""What the operations of the IR compute, as functions of ``values``: integers and addresses, and no data."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from inspect import CO_VARARGS
from types import FunctionType
from typing import TypeAlias
from zlib import crc32

from tileproof.base.patterns import regex
from tileproof.base.records import dataclass, replace
from tileproof.dialects.operations import Aliasing, Operations
from tileproof.dialects.values import (
    Algebraic,
    Descriptor,
    Pointer,
    Scalar,
    Tensor,
    TiledCopy,
    TiledMma,
    Type,
    element_bits,
)
from tileproof.evaluate.hardware import descriptor_reach, descriptor_unit, limit
from tileproof.layout import LayoutError, tuples
from tileproof.layout import coordinates as crd
from tileproof.layout.basics import flat_modes, get_shape, modes, outer, size
from tileproof.layout.slicing import slice_and_offset
from tileproof.layout.swizzle import apply_swizzle
from tileproof.layout.values import ComposedLayout, Dynamic, Layout, Swizzle, Tile, Tuple, Wildcard
from tileproof.mlir.ir import Operation
from tileproof.mlir.signature import parameters
from tileproof.protocol import budget
from tileproof.protocol.access_sets import distances, part_of
from tileproof.protocol.smem_descriptors import described, displaced_descriptor, is_descriptor
from tileproof.protocol.steps import words
from tileproof.protocol.tensor_columns import columns_of, lanes_of
from tileproof.protocol.terms import absorbing, lift
from tileproof.protocol.values import (
    Address,
    Allocation,
    Fields,
    Integers,
    Lanes,
    Open,
    Supposed,
    Value,
    by_thread,
    integers,
    term_of,
)
from tileproof.protocol.warp_operations import of_warp, shuffle_of
from tileproof.rulebase.book import Rulebook

Function: TypeAlias = Callable[..., Sequence[Value]]


@dataclass(frozen=True, slots=True)
class Extents:
    """The values of integers that only the caller of a kernel knows.

    Attributes:
        tensor: the extents of tensors, and integers in global memory.
        argument: integers that the kernel gets as arguments.
        counted: whether the extent of a tensor already is its number of tiles: then all roles agree on it, in whatever
            way they compute it. Else it counts elements, and is divided as the kernel divides it.
        given: integers that are otherwise, by their terms.
        units: how many elements make a tile of an integer that the kernel gets, where it is otherwise, by its term.
        apart: of two integers in global memory a word apart, by how much the later one is larger; 0: by the first one.
        near: the same of integers of one word, where it is otherwise: a list of tiles is shorter than what is in one.
        uneven: by how much larger they are, and how much more apart, in an array than in the one loaded before it.
        grid: how many clusters the grid has along x, where it is otherwise.
    """

    tensor: int
    argument: int
    counted: bool = True
    given: tuple[tuple[int, int], ...] = ()
    units: tuple[tuple[int, int], ...] = ()
    apart: int = 0
    near: int = 0
    uneven: int = 0
    grid: int = 0

    def number(self, term: int, usual: int) -> int:
        """The integer of a term; ``usual`` where nothing else is said of it."""
        return dict(self.given).get(term, usual)

    def elements(self, term: int, tile: int) -> int:
        """How many elements of an integer make a tile; ``tile`` where nothing else is said of it."""
        return dict(self.units).get(term, tile)

    def usual(self, term: int, tile: int) -> int:
        """The integer of a term that a kernel in PTX gets; it counts elements, ``tile`` to a tile, or tiles."""
        return self.number(term, self.argument * (self.elements(term, tile) if self.counted else 1))


@dataclass(frozen=True, slots=True)
class Shape:
    """What a kernel is launched with.

    Attributes:
        block, cluster: threads in a CTA and CTAs in a cluster, by x, y and z.
        extent: iterations of a loop with an unknown trip count.
        extents: what an extent is that only the caller of the kernel knows.
        warp: the threads of a warp.
    """

    block: tuple[int, int, int]
    cluster: tuple[int, int, int]
    extent: int
    extents: Extents
    warp: int

    @property
    def threads(self) -> int:
        return self.block[0] * self.block[1] * self.block[2]

    @property
    def ctas(self) -> int:
        return self.cluster[0] * self.cluster[1] * self.cluster[2]


def function_of(
    book: Rulebook,
    operation: Operation,
    inputs: Sequence[Type | None],
    outputs: Sequence[Type | None],
    extents: Extents,
) -> Function | None:
    """How the results follow from the operands; None where nothing is known of them.

    Args:
        extents: what an extent is that is known only at run time.
    """
    found = _function(book, operation, inputs, outputs, extents)
    return found if found is None or _takes(found, len(inputs)) else None


def _takes(function: Function, count: int) -> bool:
    """Whether a function has so many arguments: a malformed operation has other operands."""
    assert isinstance(function, FunctionType)
    code, most = function.__code__, function.__code__.co_argcount
    least = most - len(function.__defaults__ or ())
    return least <= count and (count <= most or bool(code.co_flags & CO_VARARGS))


def by_extents(book: Rulebook, operation: Operation) -> bool:
    """Whether the function of an operation depends on extents that are known only at run time."""
    return operation.name in _BY_EXTENTS or Operations.of(book).step(operation.name) == "read"


def _function(
    book: Rulebook,
    operation: Operation,
    inputs: Sequence[Type | None],
    outputs: Sequence[Type | None],
    extents: Extents,
) -> Function | None:
    name, operations = operation.name, Operations.of(book)
    if name.startswith("arith."):
        return _arithmetic(book, operation)
    if (aliasing := operations.aliasing.get(name)) is not None:
        return _aliased(book, aliasing, operation, inputs, outputs)
    if operations.step(name) == "read" and outputs:
        kind = inputs[0] if inputs else None
        held = _of_space(kind, "rmem")
        return loaded(extents.tensor) if isinstance(outputs[0], Scalar) and not held else lambda *_operands: (None,)
    if name.startswith("cute."):
        return _algebra(operation, inputs, outputs, extents, budget.limit(book, "least_tile"))
    if (together := of_warp(operation)) is not None:
        return together
    if name == "llvm.extractvalue":
        return _member(operation)
    if name == "vector.extract":
        return (lambda vector, *_places: (vector,)) if _ONE_ELEMENT.search(words(operation)) else None
    if name == "nvvm.clusterlaunchcontrol.query.cancel":
        return (lambda answer: (_given(answer),)) if _ANSWERED in words(operation) else None
    return _arithmetic(book, operation, "llvm.") if name.startswith("llvm.") else None


_ONE_ELEMENT = regex(r"\bvector<1x")
_ANSWERED = "is_canceled"
_given = lift(lambda answer: int(answer != 0), "answered")


def loaded(extent: int) -> Function:
    """An integer in global memory: a run supposes that later elements are larger, as offsets of sequences are."""

    def function(*operands: Value) -> Sequence[Value]:
        base = next((one for one in operands if isinstance(one, Address)), None)
        if base is None:
            return (Supposed(extent, _EXTENT),)
        steps = [leaf for one in operands if one is not base for leaf in integers(one)]
        first = next((leaf for leaf in steps if isinstance(leaf, int)), 0)
        place = (base.memory.serial, base.offset, *(hash(leaf) if leaf is not None else 0 for leaf in steps))
        at = first + (base.offset or 0) * 8 // base.unit
        return (Supposed(extent * (1 + max(at, 0)), hash(place)),)

    return function


def _aliased(
    book: Rulebook,
    aliasing: Aliasing,
    operation: Operation,
    inputs: Sequence[Type | None],
    outputs: Sequence[Type | None],
) -> Function | None:
    """The function of an operation whose result lies where one of its operands does."""
    at = aliasing.operand
    match aliasing.moves:
        case "same" | "integer":
            return lambda *operands: (operands[at] if at < len(operands) else None,)
        case "shuffled":
            return shuffle_of(operation, at, aliasing.by or 0)
        case "atom":
            return _set_field(operation)
        case "retyped":
            return _retyped(book, outputs)
        case "swizzled":
            return _swizzled(operation)
        case "offset":
            return lambda base, steps: (_moved(base, _one(steps)),)
        case "element":
            return _element(operation)
        case "start":
            return lambda view: (replace(view, extent=None) if isinstance(view, Address) else view,)
        case "slice":
            return _slice(book, inputs, outputs)
        case "fragment" if outputs and _of_space(outputs[0], "tmem"):
            return _placed(_view(book, operation, at, inputs, outputs), at, _unplaced(book))
        case "view" | "regrouped" | "part" | "fragment" if outputs and isinstance(outputs[0], Tensor):
            return _view(book, operation, at, inputs, outputs)
        case "descriptor":
            unit = descriptor_unit(book)
            return lambda *operands: (described(operands[at], unit) if at < len(operands) else None,)
    return None


def _of_space(kind: Type | None, space: str) -> bool:
    """Whether a type is of a tensor in a space of memory."""
    return isinstance(kind, Tensor) and isinstance(kind.iterator, Pointer) and kind.iterator.space == space


def _placed(view: Function, at: int, unplaced: Address) -> Function:
    """The view of an operand, or of tensor memory without a place where the operand is no address."""

    def function(*operands: Value) -> Sequence[Value]:
        held = [one if i != at or isinstance(one, Address) else unplaced for i, one in enumerate(operands)]
        return view(*held)

    return function


@lru_cache(maxsize=1)
def _unplaced(book: Rulebook) -> Address:
    """The beginning of the tensor memory in which fragments are that nobody gives a place."""
    lanes = limit(book, "tmem_lanes") // limit(book, "group_warps")
    memory = Allocation("tensor memory", "tmem", 0, (), limit(book, "lane_bit"), limit(book, "column_bits"), lanes)
    return Address(memory, 0, memory.column)


def _retyped(book: Rulebook, outputs: Sequence[Type | None]) -> Function:
    """A pointer of another type; a number in tensor memory is a place in it that nobody gave one."""
    kind = outputs[0] if outputs else None
    unit = element_bits(kind.element) if isinstance(kind, Pointer) else None
    unplaced = _unplaced(book) if isinstance(kind, Pointer) and kind.space == "tmem" else None

    def function(base: Value) -> Sequence[Value]:
        if unplaced is not None and type(base) is int:
            base = unplaced.moved(base)
        return (replace(base, unit=unit or base.unit) if isinstance(base, Address) else base,)

    return function


_SWIZZLE = regex(r"S<(\d+),(\d+),(-?\d+)>")


def _swizzled(operation: Operation) -> Function | None:
    """Addresses in shared memory through a swizzle of their bytes: an allocation begins at a multiple of its period."""
    found = _SWIZZLE.search(words(operation))
    if found is None:
        return None
    swizzle = Swizzle(*map(int, found.groups()))

    def place(offset: int | None) -> int | None:
        moved = None if offset is None else apply_swizzle(swizzle, offset)
        return moved if isinstance(moved, int) else None

    def function(base: Value) -> Sequence[Value]:
        if not isinstance(base, Address) or base.memory.space != "smem":
            return (None,)
        return (base.at(place(base.offset), base.unit, base.extent, tuple(map(place, base.parts))),)

    return function


# ------------------------------------------------------------------------------------------------------ arithmetic

_PREDICATES: tuple[Callable[[int, int], bool], ...] = (
    *(operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge),
    *(operator.lt, operator.le, operator.gt, operator.ge),
)
_NAMES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")


def _quotient(a: int, b: int) -> int | None:
    return None if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _remainder(a: int, b: int) -> int | None:
    quotient = _quotient(a, b)
    return None if quotient is None else a - quotient * b


def _shifted(a: int, b: int) -> int | None:
    return a << b if 0 <= b < 64 else None


_BINARY: dict[str, Callable[[int, int], int | None]] = {
    **{"addi": operator.add, "subi": operator.sub, "muli": operator.mul},
    **{"add": operator.add, "sub": operator.sub, "mul": operator.mul},
    **{"divsi": _quotient, "divui": _quotient, "sdiv": _quotient, "udiv": _quotient},
    **{"remsi": _remainder, "remui": _remainder, "srem": _remainder, "urem": _remainder},
    **{"floordivsi": lambda a, b: None if b == 0 else a // b, "ceildivsi": lambda a, b: None if b == 0 else -(-a // b)},
    **{"ceildivui": lambda a, b: None if b == 0 else -(-a // b)},
    **{"andi": operator.and_, "ori": operator.or_, "xori": operator.xor},
    **{"and": operator.and_, "or": operator.or_, "xor": operator.xor},
    **{"shli": _shifted, "shl": _shifted, "shrsi": operator.rshift, "shrui": operator.rshift},
    **{"lshr": operator.rshift, "ashr": operator.rshift},
    **{"minsi": min, "minui": min, "maxsi": max, "maxui": max},
}
_UNARY = {"extui", "extsi", "trunci", "index_cast", "index_castui", "zext", "sext", "trunc"}
_CONSTANT = regex(r"(?:constant\s*\(?|value\s*=\s*)(-?\d+|true|false)\b(?!\.)")


def _arithmetic(book: Rulebook, operation: Operation, dialect: str = "arith.") -> Function | None:
    name = operation.name.removeprefix(dialect)
    if name in ("constant", "mlir.constant"):
        attribute = operation.attribute("value")
        found = _CONSTANT.search(f"value = {attribute.text}" if attribute is not None else operation.pieces[0])
        if found is None:
            return None
        value = {"true": 1, "false": 0}.get(found[1])
        constant = int(found[1]) if value is None else value
        return lambda: (constant,)
    if (binary := _BINARY.get(name)) is not None:
        lifted = lift(binary, name)
        if name in ("muli", "mul"):
            return lambda a, b: (_with_zeros(lifted, a, b),)
        if name in ("andi", "and"):
            return _conjunction(book, lifted)
        if name in _SUMS:
            unit = descriptor_unit(book)
            reach, union = descriptor_reach(book) // unit, name in _UNIONS
            return lambda a, b: (_sum(lifted, unit, reach, union, a, b),)
        if name in ("subi", "sub"):
            unit = descriptor_unit(book)
            reach = descriptor_reach(book) // unit
            return lambda a, b: (
                _sum(lifted, unit, reach, False, a, -b) if isinstance(a, Address) and type(b) is int else lifted(a, b),
            )
        if name in _SHIFTS:
            unit = descriptor_unit(book)
            width = (descriptor_reach(book) // unit).bit_length() - 1
            return lambda a, b: (_shifted_right(lifted, unit, width, a, b),)
        return lambda a, b: (lifted(a, b),)
    if name in _UNARY:
        return lambda a: (a,)
    if name in ("cmpi", "icmp"):
        attribute = operation.attribute("predicate")
        if attribute is not None:
            number = attribute.text.partition(" ")[0]
            index = int(number) if number.isdecimal() else len(_PREDICATES)
            if index >= len(_PREDICATES):
                return None
        else:
            word = re.search(r"(?:cmpi|icmp)\s+\"?(\w+)", operation.pieces[0])
            if word is None or word[1] not in _NAMES:
                return None
            index = _NAMES.index(word[1])
        compare = _PREDICATES[index]
        lifted = lift(lambda a, b: int(compare(a, b)), _NAMES[index])
        return lambda a, b: (lifted(a, b),)
    if name == "select":
        return lambda c, a, b: (select(c, a, b),)
    return None


def _with_zeros(lifted: Callable[..., Value], a: Value, b: Value) -> Value:
    """A product or conjunction, which is zero where one of the two is, whatever the other may be."""
    if (zero := absorbing(a, b)) is not None:
        return zero
    known = a if isinstance(a, Lanes) else b
    if isinstance(known, Lanes) and not (isinstance(a, int | Lanes) and isinstance(b, int | Lanes)):
        return Lanes(tuple(0 if one == 0 else None for one in known.each), known.term)
    return lifted(a, b)


def _conjunction(book: Rulebook, lifted: Callable[..., Value]) -> Function:
    """A conjunction, perhaps of an address: with all its bits, without those of its lane or CTA, or aligned."""
    same_pair, period = ~(1 << limit(book, "pair_bit")), limit(book, "swizzle_bytes")
    unit, reach = descriptor_unit(book), descriptor_reach(book)

    def function(a: Value, b: Value) -> Sequence[Value]:
        base, mask = (a, b) if isinstance(a, Address) else (b, a)
        if not isinstance(base, Address) or mask == 0:
            return (_with_zeros(lifted, a, b),)
        if base.memory.space == "smem":
            bits = reach // unit if base.unit == 8 * unit else reach
            if mask == bits - 1:
                return (base,)
            if type(mask) is int and bits == reach and 0 < -mask <= period and not -mask & -mask - 1:
                return (base.rounded_down(-mask),)
        if _in_tensor_memory(base) and mask == base.memory.columns:
            return (base,)
        return (replace(base, leader=True) if mask == same_pair else None,)

    return function


def _shifted_right(lifted: Callable[..., Value], unit: int, width: int, a: Value, b: Value) -> Value:
    """A shift to the right.

    Args:
        unit: the bytes that a shared-memory descriptor counts addresses in.
        width: the bits of the start address in it.
    """
    if _in_tensor_memory(a) and isinstance(a, Address) and b == a.memory.lane:
        return 0  # allocations start at lane 0
    if isinstance(a, Address) and a.memory.space == "smem" and isinstance(b, int):
        if b == unit.bit_length() - 1:
            return described(a, unit)
        if is_descriptor(a, unit) and b >= width:
            return Supposed(0, hash((a.memory.serial, b)))  # other fields of a descriptor, put together with it again
    return lifted(a, b)


_UNIONS = {"ori", "or"}
_SUMS = {"addi", "add", *_UNIONS}
_SHIFTS = {"shrsi", "shrui", "lshr", "ashr"}


def _in_tensor_memory(value: Value) -> bool:
    return isinstance(value, Address) and value.memory.space == "tmem"


def _sum(lifted: Callable[..., Value], unit: int, reach: int, union: bool, a: Value, b: Value) -> Value:
    """A sum or a bitwise or.

    Args:
        unit: the bytes that a shared-memory descriptor counts in; reach: what its start address is less than.
        union: whether it is a bitwise or: fields of a descriptor are put together so.
    """
    base, distance = (a, b) if isinstance(a, Address) else (b, a)
    if not isinstance(base, Address) or base.memory.space != "smem":
        return with_address(lifted, a, b)
    if union and isinstance(distance, int) and distance % reach == 0:
        return base
    return displaced_descriptor(base, distance, reach) if is_descriptor(base, unit) else with_address(lifted, a, b)


def with_address(lifted: Callable[..., Value], a: Value, b: Value) -> Value:
    """A sum, perhaps of an address as an integer and a distance: bytes, or columns and lanes of tensor memory.

    Lanes and columns are put together by a bitwise or as well.
    """
    base, distance = (a, b) if isinstance(a, Address) else (b, a)
    if not isinstance(base, Address):
        return lifted(a, b)
    if not isinstance(distance, int | Lanes) or base.memory.space not in ("tmem", "smem"):
        return None
    moved = base.counted(base.memory.column if base.memory.space == "tmem" else 8, base.extent).moved(distance)
    return moved.counted(base.unit, moved.extent)


def select(condition: Value, yes: Value, no: Value) -> Value:
    if isinstance(condition, Supposed) and isinstance(yes, int) and isinstance(no, int):
        return _PICK(condition, yes, no)
    if isinstance(condition, int):
        chosen = yes if condition else no
        if isinstance(condition, Supposed) and type(chosen) is int:  # else the other one, of which nothing is known
            return Supposed(chosen, hash((_CHOSEN, condition.term, chosen)))
        return chosen
    if yes == no:
        return yes
    chooses = isinstance(condition, Lanes | Open)
    if chooses and isinstance(yes, int | Lanes | Open) and isinstance(no, int | Lanes | Open):
        return _PICK(condition, yes, no)
    if isinstance(condition, Lanes) and condition.term is None:
        return by_thread([None if one is None else bool(one) for one in condition.each], yes, no)
    return None


_PICK = lift(lambda c, a, b: a if c else b, "select")
_CHOSEN = 7  # of a number and something unknown, apart from other terms


# --------------------------------------------------------------------------------------------------------- layouts


def leaves_of(kind: Type | None) -> list[object]:
    """The leaves of a tuple's type, or of the shape of a layout or tensor."""
    match kind:
        case Algebraic(value=value):
            held: object = get_shape(value) if isinstance(value, Layout | ComposedLayout) else value
        case Tensor(layout=layout):
            held = get_shape(layout)
        case _:
            return []
    return list(tuples.leaves(held))  # type: ignore[arg-type]


def _filled(leaves: Sequence[object], given: Sequence[Value]) -> Integers:
    """The leaves of a tuple's type with what is given for those that are not static."""
    rest = iter([leaf for value in given for leaf in integers(value)])
    found: list[int | Lanes | None] = []
    for leaf in leaves:
        if isinstance(leaf, int):
            found.append(leaf)
        elif leaf is Wildcard.ALL:
            found.append(None)
        else:
            found.append(next(rest, None))
    return tuple(found)


def _pairwise(name: str) -> Function:
    lifted, adds = lift(_BINARY[name], name), name in ("addi", "subi")

    def function(a: Value, b: Value) -> Sequence[Value]:
        one, other = integers(a), integers(b)
        if len(other) == 1 and len(one) > 1:
            other *= len(one)
        if len(one) != len(other):
            return ((None,) * max(len(one), len(other)),)
        return (tuple(_leaf(x if adds and _is_zero(y) else lifted(x, y)) for x, y in zip(one, other, strict=True)),)

    return function


def _is_zero(value: Value) -> bool:
    """Whether a number is 0 in every run: what it is added to is the same number, and has its term."""
    return type(value) is int and value == 0


def _leaf(value: Value) -> int | Lanes | None:
    return value if isinstance(value, int | Lanes) else None


_TUPLE_ARITHMETIC = {
    "cute.tuple_add": "addi",
    "cute.tuple_sub": "subi",
    "cute.tuple_mul": "muli",
    "cute.tuple_div": "divsi",
    "cute.tuple_mod": "remsi",
}
_MAKERS = {"cute.make_int_tuple", "cute.make_coord", "cute.make_shape", "cute.make_stride"}
_PARTS = {"cute.get_leaves", "cute.get_scalars", "cute.to_int_tuple", "cute.get_shape"}
_BY_EXTENTS = frozenset({*_PARTS, "cute.ceil_div", "cute.size"})  # operations whose function depends on extents


def _algebra(
    operation: Operation, inputs: Sequence[Type | None], outputs: Sequence[Type | None], extents: Extents, tile: int
) -> Function | None:
    name = operation.name
    count = sum(result.count for result in operation.results)
    if name in _MAKERS:
        made = leaves_of(outputs[0] if outputs else None)
        return lambda *operands: (_filled(made, operands),)
    if name in _TUPLE_ARITHMETIC:
        pairwise = _pairwise(_TUPLE_ARITHMETIC[name])
        return pairwise if len(operation.operands) == 2 else None
    if name == "cute.ceil_div":
        counts = tuple(_extent(leaf, extents.tensor) for leaf in leaves_of(outputs[0] if outputs else None))
        divisors = _divisors(inputs[1] if len(inputs) > 1 else None)
        if extents.counted and any(one >= tile for one in divisors):
            divisors = ()  # a tile; fewer are the tiles of a group, which are counted
        if not divisors or len(divisors) != len(counts):
            return lambda *_operands: (counts,)  # how many tiles there are is the extent that matters
        return lambda a, *_: (_rounded_up(integers(a), divisors, counts),)
    if name in _PARTS:
        return _parts(count, inputs, outputs, extents.tensor)
    if name == "cute.size":
        return _size(operation, inputs, extents.tensor)
    if name == "cute.fast_divmod.compute":
        quotient, remainder = lift(_quotient, "divsi"), lift(_remainder, "remsi")
        return lambda a, d: (quotient(a, _one(d)), remainder(a, _one(d)))
    if name.startswith("cute.fast_divmod."):
        return lambda *operands: (operands[0] if operands else None,)
    if name == "cute.crd2idx":
        return _crd2idx(inputs)
    if name in ("cute.get_flat_coord", "cute.idx2crd", "cute.get_hier_coord"):
        return _coordinates(name, inputs, outputs)
    return None


def _divisors(kind: Type | None) -> tuple[int, ...]:
    """The sizes of the modes of a tile; empty where they are not all known."""
    held = kind.value if isinstance(kind, Algebraic) else None
    parts = held.modes if isinstance(held, Tile) else (held,) if isinstance(held, Layout) else tuples.leaves(held)  # type: ignore[arg-type]
    sizes = [size(part) if isinstance(part, Layout) else part for part in parts]
    return tuple(one for one in sizes if isinstance(one, int) and one) if all(sizes) else ()


def _rounded_up(values: Integers, divisors: Sequence[int], counts: Integers) -> Integers:
    if len(values) != len(divisors):
        return counts
    return tuple(
        -(-value // divisor) if isinstance(value, int) else count
        for value, divisor, count in zip(values, divisors, counts, strict=True)
    )


def _one(value: Value) -> Value:
    leaves = integers(value)
    return leaves[0] if len(leaves) == 1 else None


def _moved(base: Value, steps: Value) -> Value:
    if not isinstance(base, Address):
        return None
    return base.moved(steps if isinstance(steps, int | Lanes) else None)


def _parts(count: int, inputs: Sequence[Type | None], outputs: Sequence[Type | None], extent: int) -> Function:
    known = leaves_of(inputs[0] if inputs else None)

    def function(value: Value) -> Sequence[Value]:
        leaves: Sequence[int | Lanes | None] = integers(value) if not isinstance(value, Address) else ()
        if len(leaves) != len(known):
            leaves = [_extent(leaf, extent) for leaf in known]
        if count == 1 and outputs and isinstance(outputs[0], Algebraic):
            return (tuple(leaves),)
        if count != len(leaves):
            leaves = [leaf for leaf, k in zip(leaves, known, strict=True) if isinstance(k, Dynamic)]
        if count != len(leaves):
            return (None,) * count
        return tuple(leaves)

    return function


def leaves_of_coordinate(kind: Type | None, count: int) -> Function:
    """The leaves of the tuple of a coordinate: what is not known of it is no extent, and stays unknown.

    Args:
        kind: the type of the tuple; count: how many results there are.
    """
    known = [one if isinstance(one, int) else None for one in leaves_of(kind)]

    def function(value: Value) -> Sequence[Value]:
        leaves = value if isinstance(value, tuple) and len(value) == len(known) else known
        return tuple(leaves) if len(leaves) == count else (None,) * count

    return function


def _size(operation: Operation, inputs: Sequence[Type | None], extent: int) -> Function | None:
    kind = inputs[0] if inputs else None
    attribute = operation.attribute("mode")
    text = attribute.text if attribute is not None else ""
    path = tuple(map(int, re.findall(r"\d+", text.partition(":")[2] or text)))
    match kind:
        case Algebraic(value=value):
            whole: Tuple = get_shape(value) if isinstance(value, Layout | ComposedLayout) else value  # type: ignore[assignment]
        case Tensor(layout=layout):
            whole = get_shape(layout)
        case _:
            return None
    numbered = iter(range(10_000))
    places = tuples.transform(lambda _: next(numbered), whole)
    try:
        wanted = [i for i in tuples.leaves(tuples.mode_at(places, path)) if isinstance(i, int)]
    except LayoutError:
        return None
    static = list(tuples.leaves(whole))

    def function(value: Value) -> Sequence[Value]:
        leaves = integers(value) if isinstance(value, tuple) and len(value) == len(static) else None
        product: Value = 1
        for i in wanted:
            leaf = _extent(static[i], extent) if leaves is None else leaves[i]
            product = _TIMES(product, leaf)
        return ((_leaf(product),),)

    return function


def _extent(leaf: object, extent: int) -> int | None:
    """The leaf of a shape, or what stands for one that is known only at run time."""
    return leaf if isinstance(leaf, int) else Supposed(extent, _EXTENT) if isinstance(leaf, Dynamic) else None


_EXTENT = crc32(b"extent")


def _supposition(leaves: Integers) -> int | None:
    """The term of what is computed from these leaves; None where none is supposed."""
    terms = [term for leaf in leaves if (term := term_of(leaf)) is not None]
    return hash(tuple(terms)) if terms else None


_TIMES = lift(operator.mul, "muli")


def _crd2idx(inputs: Sequence[Type | None]) -> Function | None:
    if len(inputs) != 2 or not isinstance(inputs[1], Algebraic) or not isinstance(inputs[1].value, Layout):
        return None
    index = index_of(inputs[1].value, inputs[0])
    return None if index is None else lambda coord, _layout: ((_leaf(index(coord)),),)


def index_of(layout: Layout | ComposedLayout, kind: Type | None) -> Callable[[Value], Value] | None:
    """The index of a coordinate of a type in a static layout; before a swizzle."""
    layout = outer(layout)
    if not tuples.is_static_tuple(layout.shape) or not tuples.is_static_tuple(layout.stride):
        return None
    profile: Tuple = kind.value if isinstance(kind, Algebraic) else 0  # type: ignore[assignment]
    whole = [leaf is Wildcard.ALL for leaf in tuples.leaves(profile)]  # a whole mode starts at its beginning

    def at(*flat: int) -> int | None:
        rest = iter(flat)
        try:
            index = crd.crd2idx(tuples.transform(lambda _: next(rest), profile), layout)
        except (LayoutError, StopIteration):
            return None
        return index if isinstance(index, int) else None

    lifted = lift(at, f"{profile} in {layout}")

    def function(coord: Value) -> Value:
        given = integers(coord)
        if len(given) != len(whole):
            return None
        return lifted(*(0 if wild else leaf for leaf, wild in zip(given, whole, strict=True)))

    return function


def _coordinates(name: str, inputs: Sequence[Type | None], outputs: Sequence[Type | None]) -> Function | None:
    """The coordinate of an index in a static layout or shape."""
    if len(inputs) != 2 or not isinstance(inputs[1], Algebraic):
        return None
    held = inputs[1].value
    count = len(leaves_of(outputs[0])) if outputs else 0

    @lru_cache(maxsize=4096)
    def at(index: int) -> tuple[int, ...] | None:
        try:
            if name == "cute.idx2crd":
                found = crd.idx2crd(index, get_shape(held) if isinstance(held, Layout) else held)  # type: ignore[arg-type]
            elif name == "cute.get_flat_coord":
                found = crd.get_flat_coord(index, held)  # type: ignore[arg-type]
            else:
                found = crd.get_hier_coord(index, held)  # type: ignore[arg-type]
        except LayoutError:
            return None
        leaves = tuple(leaf for leaf in tuples.leaves(found) if isinstance(leaf, int))
        return leaves if len(leaves) == count else None

    def function(index: Value, _layout: Value) -> Sequence[Value]:
        value = _one(index)
        if isinstance(value, int):
            found = at(value)
            if isinstance(value, Supposed) and found is not None:
                return (tuple(Supposed(one, hash((value.term, i))) for i, one in enumerate(found)),)
            return (found,)
        if isinstance(value, Lanes):
            cells = {one: at(one) for one in set(value.each) if one is not None}
            if all(cells.values()):
                columns = [
                    tuple(None if one is None else (cells[one] or (0,) * count)[i] for one in value.each)
                    for i in range(count)
                ]
                term = value.term
                return (tuple(Lanes(one, term and hash((term, i))) for i, one in enumerate(columns)),)
        return ((None,) * count,)

    return function


# --------------------------------------------------------------------------------------------------------- memory


@lru_cache(maxsize=4096)
def extent_of(layout: Layout | ComposedLayout) -> int | None:
    """How many steps a static layout reaches."""
    try:
        part = outer(layout)
        size = crd.cosize(part)
    except LayoutError:
        return None
    return size if isinstance(size, int) else None


def view_at(book: Rulebook, base: Value, kind: Type | None) -> Value:
    """An address with the reach of the tensor type that it has now."""
    return seen_as(book, kind)(base)


def seen_as(book: Rulebook, kind: Type | None) -> Callable[[Value], Value]:
    """An address as one of a tensor type: the unit and the reach of that."""
    if not isinstance(kind, Tensor):
        return lambda base: base
    iterator, layout = kind.iterator, kind.layout
    bits = element_bits(iterator.element) or 8 if isinstance(iterator, Pointer) else None
    reaches: dict[tuple[str, int], tuple[int | None, int]] = {}
    descriptor_bits = 8 * descriptor_unit(book)

    def reach_in(memory: Allocation, unit: int) -> tuple[int | None, int]:
        space = memory.space
        if space == "tmem":
            return columns_of(layout, unit, memory), lanes_of(layout, unit, memory)
        steps = extent_of(layout)
        return None if steps is None else steps * unit if space == "rmem" else max(steps * unit // 8, 1), 0

    def seen(base: Value) -> Value:
        if not isinstance(base, Address):
            return base
        if isinstance(iterator, Descriptor):
            return base.at(base.offset, descriptor_bits, 1, base.parts, base.origin)
        key = (base.memory.space, bits or base.unit)
        if key not in reaches:
            reaches[key] = reach_in(base.memory, key[1])
        extent, lanes = reaches[key]
        return base.at(base.offset, key[1], extent, base.parts, base.origin, lanes)

    return seen


def _start(layout: Layout, profile: Tuple, given: Integers) -> int | None:
    """Where the slice at a coordinate starts; None where that is not known."""
    flat = iter(given)

    def leaf(one: object) -> object:
        value = next(flat, None)
        return Wildcard.ALL if one is Wildcard.ALL else Dynamic() if value is None else value

    try:
        start = slice_and_offset(layout, tuples.transform(leaf, profile))[1]  # type: ignore[arg-type]
    except LayoutError:
        return None
    return start if isinstance(start, int) else None


def _slice(book: Rulebook, inputs: Sequence[Type | None], outputs: Sequence[Type | None]) -> Function | None:
    if len(inputs) != 2 or not isinstance(inputs[1], Algebraic):
        return None
    kind, coord_kind = inputs
    result = outputs[0] if outputs else None
    if not isinstance(kind, Tensor):
        return None
    layout = outer(kind.layout)
    assert isinstance(coord_kind, Algebraic)
    profile: Tuple = coord_kind.value  # type: ignore[assignment]
    seen = seen_as(book, result)
    shared = isinstance(kind.iterator, Pointer) and kind.iterator.space in ("smem", "tmem")
    extents = _extents(layout, profile) if shared or isinstance(kind.iterator, Descriptor) else ()
    starts: dict[Integers, int | None] = {}

    def start(leaves: Integers) -> int | None:
        if leaves not in starts:
            starts[leaves] = _start(layout, profile, leaves)
        return starts[leaves]

    def at(coord: Value) -> int | Lanes | None:
        leaves = integers(coord)
        lanes = [len(leaf.each) for leaf in leaves if isinstance(leaf, Lanes)]
        if not lanes:
            return start(leaves)
        rows = zip(*(leaf.each if isinstance(leaf, Lanes) else (leaf,) * lanes[0] for leaf in leaves), strict=True)
        return Lanes(tuple(map(start, rows)), _supposition(leaves))

    def function(view: Value, coord: Value) -> Sequence[Value]:
        if not isinstance(view, Address):
            return (None,)
        found = seen(view.moved(at(coord)))
        for leaf, extent in zip(integers(coord), extents, strict=False):
            if type(leaf) is int and 0 < extent <= leaf and isinstance(found, Address):
                found = replace(found, outside=(leaf, extent))
        return (found,)

    return function


def _extents(layout: Layout, profile: Tuple) -> tuple[int, ...]:
    """The extents of the modes that the leaves of a coordinate index.

    0 where a leaf is a whole mode or part of one, and for a mode without a stride: no index leaves that.
    """
    if not isinstance(profile, tuple) or len(profile) != len(modes(layout)):
        return ()
    found: list[int] = []
    for leaf, mode in zip(profile, modes(layout), strict=True):
        extent = size(mode)
        if isinstance(leaf, tuple):
            found += [0] * len(tuple(tuples.leaves(leaf)))
        else:
            stays = extent == 1 and not any(stride for _, stride in flat_modes(mode))
            found.append(extent if leaf is not Wildcard.ALL and isinstance(extent, int) and not stays else 0)
    return tuple(found)


def _role(operation: Operation) -> str:
    """Which side of a copy, or operand of an MMA, a partition is of; empty for anything else."""
    if operation.name.startswith("cute.tiled.copy.partition_"):
        return operation.name[-1]
    if operation.name != "cute.tiled.mma.partition":
        return ""
    index = re.match(r"[012]\b", dict(parameters(operation)).get("operand_id", ""))
    return "ABC"[int(index[0])] if index is not None else ""


def _view(
    book: Rulebook, operation: Operation, at: int, inputs: Sequence[Type | None], outputs: Sequence[Type | None]
) -> Function:
    """A tensor that is made of another tensor or a pointer, the operand ``at``: the same place, seen otherwise."""
    kind = outputs[0]
    count = len(outputs)

    registers = _of_space(kind, "rmem")
    tiled = inputs[0] if inputs else None
    shared = operation.name == "cute.tiled.mma.partition" and isinstance(tiled, TiledMma) and size(tiled.atoms) != 1
    sharers = 0
    if isinstance(tiled, TiledCopy) and operation.name.startswith("cute.tiled.copy.partition"):
        threads = size(modes(tiled.thread_values)[0])
        sharers = threads if isinstance(threads, int) else 0
    fragment = Address(Allocation(operation.results[0].name, "rmem", id(operation)), 0, 32)

    seen = seen_as(book, kind)
    role = _role(operation)
    parted = inputs[at] if at < len(inputs) else None
    warp = limit(book, "warp_threads")
    cut = not role and any(isinstance(one, Algebraic) and one.kind == "coord" for one in inputs)

    def function(*operands: Value) -> Sequence[Value]:
        base = operands[at] if at < len(operands) else None
        if isinstance(base, Address) and shared:
            base = replace(base, vague=True)
        if isinstance(base, Address) and sharers:
            base = replace(base, sharers=sharers)
        if isinstance(base, Address) and cut:
            base = replace(base, loose=True)
        if role and isinstance(base, Address) and base.memory.space == "smem" and len(operands) > at + 1:
            thread = _one(operands[at + 1])
            if isinstance(thread, Lanes) and isinstance(tiled, TiledCopy | TiledMma) and isinstance(parted, Tensor):
                apart = base.shared_out(distances(tiled, role, parted, thread.each))
                base = replace(apart, origin=part_of(tiled, role, parted))
        if role in ("S", "D") and isinstance(base, Address) and base.memory.space == "tmem" and len(operands) > at + 1:
            base = _quartered(base, tiled, role, parted, _one(operands[at + 1]), warp)
        if registers and not (isinstance(base, Address) and base.memory.space == "rmem"):
            base = fragment
        return (seen(base if isinstance(base, Address) else None), *((None,) * (count - 1)))

    return function


def _quartered(base: Address, tiled: Type | None, role: str, parted: Type | None, thread: Value, warp: int) -> Address:
    """Tensor memory that a tiled copy partitions: each warp has the lanes of its part; ``warp``: its threads."""
    lane = None
    if (
        isinstance(parted, Tensor)
        and isinstance(tiled, TiledCopy)
        and isinstance(thread, Lanes)
        and base.first_lane == 0
    ):
        words_ = isinstance(parted.iterator, Pointer) and element_bits(parted.iterator.element) == base.memory.column
        lane = (
            _first_lanes(tiled, role, parted, thread.each, warp, base.memory.column << base.memory.lane)
            if words_
            else None
        )
    return replace(base, first_lane=lane)


@lru_cache(maxsize=256)
def _first_lanes(
    tiled: TiledCopy, role: str, parted: Tensor, threads: tuple[int | None, ...], warp: int, bits: int
) -> Lanes:
    """The lane at which the part of the first thread of each warp begins; ``bits``: from one lane to the next."""
    starts = distances(tiled, role, parted, tuple(t if i % warp == 0 else None for i, t in enumerate(threads)))
    return Lanes(tuple(None if one is None else 8 * one // bits for one in starts))


def _set_field(operation: Operation) -> Function:
    """An atom with a value in one of its fields; where it is made executable, only the atom."""
    text = operation.pieces[0] + "".join(attribute.text for attribute in operation.attributes)
    masks, maps, accumulates = "mask" in text, "descriptor" in text, "accum" in text
    scale = re.search(r"\bsf_?([ab])\b", text, re.IGNORECASE)

    def function(atom: Value, value: Value = None) -> Sequence[Value]:
        held = atom if isinstance(atom, Fields) else Fields()
        if scale is not None:
            where = value if isinstance(value, Address) else None
            return (replace(held, scales=(where, held.scales[1]) if scale[1] in "aA" else (held.scales[0], where)),)
        if accumulates:
            adds = value if isinstance(value, int | Lanes) else None
            return (Fields(held.barrier, held.mask, adds, held.scales),)
        if isinstance(value, Address):
            return (replace(held, map=value) if maps else replace(held, barrier=value),)
        if masks and isinstance(value, int | Lanes):
            return (replace(held, mask=value),)
        return (held,)

    return function


def _member(operation: Operation) -> Function:
    """A member of a structure."""
    position = operation.attribute("position")
    text = position.text.partition(":")[2] if position is not None else operation.pieces[0].partition("[")[2]
    place = [int(n) for n in re.findall(r"\d+", text.partition("]")[0])]

    def function(held: Value) -> Sequence[Value]:
        members = held if isinstance(held, tuple) else ()
        return (members[place[0]] if len(place) == 1 and place[0] < len(members) else None,)

    return function


def _element(operation: Operation) -> Function:
    text = operation.pieces[0]
    element = re.search(r"->\s*\S+?,\s*(\w+)\s*$|elem_type\s*=\s*(\w+)", text)
    attribute = operation.attribute("elem_type")
    word = attribute.text if attribute is not None else (element[1] or element[2]) if element is not None else ""
    bits = element_bits(word) or 8
    indices = re.search(r"\[([^\]]*)\]", text)
    raw = operation.attribute("rawConstantIndices")
    if raw is not None:
        parts = [int(n) for n in re.findall(r"-?\d+", raw.text.partition(":")[2])]
        constant = parts[0] if len(parts) == 1 and parts[0] != -(1 << 31) else None
    else:
        constant = int(indices[1]) if indices is not None and re.fullmatch(r"-?\d+", indices[1].strip()) else None

    def function(base: Value, *steps: Value) -> Sequence[Value]:
        if not isinstance(base, Address):
            return (None,)
        step = steps[0] if steps else constant
        moved = replace(base, unit=bits).moved(step if isinstance(step, int | Lanes) else None)
        return (moved,)

    return function


__all__ = ["Allocation", "Function", "Scalar", "Shape", "extent_of", "function_of", "leaves_of", "view_at"]
