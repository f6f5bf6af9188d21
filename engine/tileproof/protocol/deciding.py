"""Which of the integers that a kernel in PTX gets, or loads, decide which way it goes.

A run supposes one number for all integers of a kind. Code that only a longer loop reaches, or an odd number of turns,
is reached where the integers that decide it have another number and all others have not: a kernel whose every extent is
large has more tiles than a run can go through.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from types import MappingProxyType
from typing import TypeAlias

from tileproof.base.by_identity import by_identity
from tileproof.base.patterns import regex
from tileproof.mlir.ir import Operation
from tileproof.protocol.folding import Extents
from tileproof.protocol.program import Instruction
from tileproof.protocol.terms import place_term
from tileproof.protocol.values import Supposed

Writers: TypeAlias = "Mapping[int, Sequence[tuple[int, Instruction]]]"  # of each slot, with their places
Cell: TypeAlias = "tuple[str, int, int]"  # bytes of shared memory: the allocation, the first one, that behind the last

_PLACE = regex(r"sreg\.ctaid\.([xyz])$")
_SHIFT, _BITS = "arith.shli", 32
_PRODUCTS = (_SHIFT, "arith.muli", "mad")
_SUMS = ("arith.addi", "arith.subi", "arith.not", "arith.neg", "arith.extui")
_LEAST_TILE, _MOST_TILE = 16, 1024  # elements
_STORES = ("write", "remote_store", "async_load")  # steps that leave integers in shared memory for others
_READS = ("read",)  # steps that find them there
_COUNTERS = ("counter",)  # steps that find how far the CTAs of a grid have come together
_PROGRAMS = 8  # of which it is kept who gives slots their values
_COUNTED = ("barrier_init", "cta_barrier", "cta_arrive")  # steps that state how many arrivals there are


def deciding(code: Sequence[Instruction], places: Iterable[int]) -> tuple[frozenset[int], bool]:
    """What the conditions of branches and loops are computed from, at any distance.

    Returns:
        the terms of the integers that the kernel gets and of the places in the grid, and whether any integer is loaded.
    """
    found, loaded = deciders(code, places)
    return found, bool(loaded)


def deciders(
    code: Sequence[Instruction], places: Iterable[int], through: bool = False
) -> tuple[frozenset[int], frozenset[int]]:
    """The same with the terms of the integers that are loaded.

    Args:
        through: whether also of those that threads leave in shared memory for others.
    """
    found: set[int] = set()
    loaded: set[int] = set()
    for one in _behind(code, places, through):
        axis = _PLACE.search(one.operation.name) if one.kind == "effect" else None
        if axis is not None:
            found.add(place_term("xyz".index(axis[1])))
        given, other = supposed(one)
        found |= given
        loaded |= other
    return frozenset(found), frozenset(loaded)


def handed(code: Sequence[Instruction], place: int) -> bool:
    """Whether a loop goes on by what threads leave in shared memory for each other: a job, or that there is none."""
    writers = writers_of(code)
    todo = list(code[place].inputs)
    seen = set(todo)
    while todo:
        slot = todo.pop()
        for _, one in writers.get(slot, ()):
            if _is(one, _READS):
                return True
            before = _before(one, slot)
            todo += [other for other in before if other not in seen]
            seen.update(before)
    return False


def by_others(code: Sequence[Instruction], tensor: Collection[str]) -> bool:
    """Whether a branch, a loop or a place goes by what is read from shared memory: other threads may have left it.

    Args:
        tensor: steps whose place is in tensor memory: its address is read there, as tcgen05.alloc left it.
    """
    slots = [slot for one in code if one.kind in ("branch", "test", "check") for slot in _read(one)]
    for one in code:
        if one.effect is not None and one.effect.name not in tensor and one.effect.first < len(one.inputs):
            slots.append(one.inputs[one.effect.first])
    return any(_is(code[at], _READS) for at in _computing(code, slots))


def _job_counters(code: Sequence[Instruction]) -> frozenset[int]:
    counters = {id(one): at for at, one in enumerate(code) if _is(one, _COUNTERS)}
    loops = [at for at, one in enumerate(code) if counters and one.kind in ("test", "check")]
    return frozenset(counters[id(one)] for one in _behind(code, loops, through=True) if id(one) in counters)


job_counters = by_identity(_job_counters, _PROGRAMS)
"""The places of the atomic operations whose numbers decide how long loops go on: of those that hand out jobs."""


def ends(code: Sequence[Instruction], term: int) -> frozenset[int]:
    """The numbers in the text up to which loops count that begin at what an integer of a term decides."""
    writers = writers_of(code)
    found: set[int] = set()
    for at, one in enumerate(code):
        if one.kind == "enter" and len(one.inputs) > 1 and term in deciding(code, (at,))[0]:
            bounds = writers.get(one.inputs[1], ())
            slots = {one.inputs[1], *(slot for _, bound in bounds for slot in bound.inputs)}
            found |= {value for slot in slots if (value := _written_out(writers, slot)) is not None}
    return frozenset(found)


def counts_written(code: Sequence[Instruction]) -> frozenset[int]:
    """The numbers of arrivals that the text itself states for barriers, of threads and in shared memory."""
    writers = writers_of(code)
    read = {slot for one in code if _is(one, _COUNTED) for slot in one.inputs}
    return frozenset(number for slot in read if (number := _written_out(writers, slot)) is not None)


def turns_written(code: Sequence[Instruction], extents: Extents | None = None) -> dict[int, int]:
    """How often loops go around that the text itself counts, by the place of their test.

    Args:
        extents: of integers that the text leaves open; None: only loops without such.
    """
    writers = writers_of(code)
    found: dict[int, int] = {}
    known: dict[int, int | None] = {}
    for at, one in enumerate(code):
        if one.kind == "test":
            low, high, step = (_written_out(writers, slot, extents, known) for slot in one.inputs)
            if low is not None and high is not None and step:
                found[at] = len(range(low, high, step))
    return found


def _written_out(
    writers: Writers,
    slot: int,
    extents: Extents | None = None,
    known: dict[int, int | None] | None = None,
) -> int | None:
    """The integer of a value that is computed of what stands in the text, and of what it leaves open; else None.

    Args:
        known: the values of other slots, which is added to.
    """
    known = {} if known is None else known
    todo = [slot]
    while todo:
        written = writers.get(todo[-1], ())
        one = written[0][1] if len(written) == 1 and written[0][1].kind == "compute" else None
        function: Callable[..., object] | None = None
        if one is not None:
            function = one.function if one.make is None else one.make(extents) if extents is not None else None
        before = [each for each in one.inputs if each not in known] if one is not None and function is not None else []
        if before and todo[-1] not in known:
            known[todo[-1]] = None  # of a value that is computed of itself nothing is known
            todo += before
            continue
        at = todo.pop()
        if one is not None and function is not None and known.get(at) is None:
            read = [known[each] for each in one.inputs]
            values: Sequence[object] = function(*read) if None not in read else ()  # type: ignore[assignment]
            value = values[one.outputs.index(at)] if len(values) == len(one.outputs) else None
            known[at] = int(value) if isinstance(value, int) and not isinstance(value, bool) else None
        else:
            known.setdefault(at, None)
    return known[slot]


def fixed(
    code: Sequence[Instruction],
    place: int,
    open_: Set[int],
    cells: Mapping[int, Cell] = MappingProxyType({}),
    cycling: Set[int] = frozenset(),
    seen_both: Set[int] = frozenset(),
) -> bool:
    """Whether the condition of a branch or loop is the same whatever is supposed and however often loops go round.

    Nothing that it is computed from, through shared memory as well, is carried by a loop of open length, or merged
    behind a branch that something supposed decides. What is stored in other bytes than those that are loaded does not
    matter, if it is fixed where that is, or goes round some stages: each of two ways leads to a place of its own.

    Args:
        open_: the places of the branches and loops that something supposed or unknown decides.
        cells: where integers in shared memory were loaded or stored, by place.
        cycling: the places where that goes round.
        seen_both: the branches of which both ways were taken.
    """
    writers = writers_of(code)
    carried = {slot for at in open_ if code[at].kind in ("test", "check") for slot in _carried(code, at)}
    stores = [
        (at, one, known)
        for at, one in enumerate(code)
        if one.effect is not None and one.effect.name in _STORES
        # What is stored beside the place that it is stored at: what nobody writes is unknown, and decides openly.
        if len(known := [slot for slot in one.inputs if slot in writers]) > 1
    ]

    def stored(load: int, placed: bool) -> Iterator[tuple[int, bool]]:
        """What decides of the integers that a load may find; whether it only decides where something is stored."""
        for at, one, known in stores:
            where = one.inputs[one.effect.first] if one.effect is not None else -1
            apart = where in known and _apart(cells.get(at), cells.get(load))
            if not apart:
                yield from ((slot, placed) for slot in known)
            elif at not in cycling:
                yield where, True

    todo = [(slot, False) for slot in _read(code[place])]
    seen = set(todo)
    while todo:
        slot, placed = todo.pop()
        if slot in carried:
            return False
        for at, one in writers.get(slot, ()):
            if placed and at in seen_both and one.kind == "branch":
                continue  # what it decides is which of two places that are known
            if at in open_ or one.make is not None:
                return False
            reads = _is(one, _READS)
            if one.effect is not None and not reads and not one.effect.pure:
                return False
            before = [(other, placed) for other in (one.inputs if reads else _before(one, slot))]
            if reads:
                before += stored(at, placed)
            todo += [other for other in before if other not in seen]
            seen.update(before)
    return True


def _is(one: Instruction, steps: Sequence[str]) -> bool:
    """Whether an instruction is one of these steps."""
    return one.effect is not None and one.effect.name in steps


def _apart(one: Cell | None, other: Cell | None) -> bool:
    """Whether two places are known not to overlap."""
    return one is not None and other is not None and one[0] == other[0] and (one[2] <= other[1] or other[2] <= one[1])


def literal(code: Sequence[Instruction], operation: Operation) -> bool:
    """Whether all integers that an operation is given are written in the text, not computed."""
    writers = writers_of(code)
    read = {slot for one in code if one.operation is operation for slot in one.inputs}
    return all(
        slot in writers
        and all(one.kind == "compute" and not one.inputs and one.make is None for _, one in writers[slot])
        for slot in read
    )


def literals(code: Sequence[Instruction], place: int) -> frozenset[int]:
    """The integers in the text that the condition of a branch is computed from."""
    written = (one.function for one in _behind(code, (place,)) if not one.inputs and one.make is None)
    values: Iterator[Sequence[object]] = (one() for one in written if one is not None)  # type: ignore[misc]
    return frozenset(value for found in values for value in found if type(value) is int)


def scaled(code: Sequence[Instruction], place: int) -> frozenset[int]:
    """The terms of the integers a multiple of which the condition of a branch is computed from: they count tiles.

    The text multiplies them, or a sum of which they are a part, by the elements of a tile.
    """
    writers, found = writers_of(code), set[int]()
    for one in _behind(code, (place,)):
        factor = _factor(writers, one)
        if factor is None or not _LEAST_TILE <= factor <= _MOST_TILE:
            continue
        todo = list(one.inputs[:2])  # what is added behind is none of it
        seen = set(todo)
        while todo:
            at = todo.pop()
            for _, before in writers.get(at, ()):
                if before.make is not None:
                    found |= supposed(before)[0]
                elif before.kind == "move" or before.operation.name in _SUMS:
                    parts = _before(before, at)
                    todo += [slot for slot in parts if slot not in seen]
                    seen.update(parts)
    return frozenset(found)


def _factor(writers: Writers, one: Instruction) -> int | None:
    """The number in the text that an instruction multiplies by."""
    if one.operation.name not in _PRODUCTS:
        return None
    numbers = [number for slot in one.inputs[:2] if (number := _written_out(writers, slot)) is not None]
    if len(numbers) != 1:
        return None
    return 1 << numbers[0] if one.operation.name == _SHIFT and 0 <= numbers[0] < _BITS else numbers[0]


def in_order(code: Sequence[Instruction], terms: Set[int]) -> list[int]:
    """The terms of integers that the kernel gets or loads, in the order of the text: names do not matter."""
    found: dict[int, None] = {}
    for one in code:
        if one.make is not None:
            found.update((term, None) for term, _ in _terms(one, Extents(1, 1)) if term in terms)
    return list(found)


def _carried(code: Sequence[Instruction], at: int) -> set[int]:
    """The values that a loop carries from one turn to the next, with its counter; ``at``: the place of its test."""
    end = code[at].target - 1
    moved = code[end - 1].outputs if code[end - 1].kind == "move" else ()
    return {*code[at].outputs, *moved}


def _writers(code: Sequence[Instruction]) -> Writers:
    """The instructions that give each slot a value, with their places."""
    found: dict[int, list[tuple[int, Instruction]]] = {}
    for at, one in enumerate(code):
        for slot in one.outputs:
            found.setdefault(slot, []).append((at, one))
    return found


writers_of = by_identity(_writers, _PROGRAMS)


def _behind(code: Sequence[Instruction], places: Iterable[int], through: bool = False) -> Iterator[Instruction]:
    """The instructions that the conditions of branches and loops are computed by, at any distance.

    Not what an effect reads that one is computed from: whether a phase is over is no integer that the kernel gets.

    Args:
        through: whether also what is stored in shared memory, where one is computed from what is read there.
    """
    writers = writers_of(code)
    stored = [slot for one in code if through and _is(one, _STORES) for slot in one.inputs if slot in writers]
    slots = [slot for place in places for slot in _read(code[place])]
    return (code[at] for at in _computing(code, slots, lambda at: stored))


def rests_on_values(code: Sequence[Instruction], places: Iterable[int], slots: Set[int]) -> bool:
    """Whether the conditions of branches and loops are computed by any of some values, in registers."""
    behind = (one.outputs for one in _behind(code, places))
    return any(not slots.isdisjoint(read) for read in (*(_read(code[place]) for place in places), *behind))


def computed_by(code: Sequence[Instruction], slot: int, operation: Operation) -> bool:
    """Whether a value is computed from what an operation gives."""
    return any(code[at].operation is operation for at in _computing(code, (slot,)))


def behind_one(code: Sequence[Instruction], place: int, cells: Mapping[int, Cell]) -> Iterator[int]:
    """The places of the instructions that one condition is computed by, through the shared memory that is read.

    Args:
        cells: where integers in shared memory were loaded or stored, by place: other stores do not count.
    """
    stores = [at for at, one in enumerate(code) if at in cells and _is(one, _STORES)]

    def stored(load: int) -> Iterator[int]:
        for at in stores:
            if load in cells and not _apart(cells[at], cells[load]):
                yield from code[at].inputs

    return _computing(code, _read(code[place]), stored)


def _computing(
    code: Sequence[Instruction], slots: Iterable[int], stored: Callable[[int], Iterable[int]] = lambda at: ()
) -> Iterator[int]:
    """The places of the instructions that some values are computed by.

    Args:
        stored: the values that may be read at a place.
    """
    writers = writers_of(code)
    todo = list(slots)
    seen = set(todo)
    while todo:
        slot = todo.pop()
        for at, one in writers.get(slot, ()):
            yield at
            computes = one.kind != "effect" or _is(one, _COUNTERS)
            before = _before(one, slot) if computes else stored(at) if _is(one, _READS) else ()
            more = [other for other in before if other not in seen]
            todo += more
            seen.update(more)


def _read(one: Instruction) -> Collection[int]:
    """What a branch or loop reads, with the counter of a loop."""
    return (*one.inputs, *one.outputs) if one.kind == "test" else one.inputs


def _before(one: Instruction, slot: int) -> Collection[int]:
    """What an instruction computes a value from."""
    if one.kind == "move":
        return [read for read, written in zip(one.inputs, one.outputs, strict=True) if written == slot]
    return one.inputs


def supposed(one: Instruction) -> tuple[set[int], set[int]]:
    """The terms of the integers that the kernel gets, and of those that are loaded, which an instruction supposes."""
    if one.make is None:
        return set(), set()
    few, more = _terms(one, Extents(1, 1)), _terms(one, Extents(2, 1))
    return {term for term, _ in few & more}, {term for term, _ in few ^ more}


def _terms(one: Instruction, extents: Extents) -> set[tuple[int, int]]:
    """The terms of what an instruction supposes, and the integers."""
    function = one.make(extents) if one.make is not None and not one.inputs else None
    values = function() if function is not None else ()
    return {(value.term, int(value)) for value in values if isinstance(value, Supposed)}


__all__ = [
    "Writers",
    "behind_one",
    "by_others",
    "counts_written",
    "deciders",
    "deciding",
    "ends",
    "fixed",
    "handed",
    "in_order",
    "literal",
    "literals",
    "scaled",
    "supposed",
    "turns_written",
    "writers_of",
]
