"""A TV layout composed with the layout of the memory, as one map.

An index into the memory, or its coordinate along one mode, falls apart into the coordinates of the memory's leaves: its
digits. Where counting through the threads and values never carries from one digit to the next, the composition is a sum
of steps again; it is so in practice, once leaves are split into their prime factors. Else the digits stay quotients and
remainders, which can be enumerated or put to Z3.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tileproof.base.records import replace
from tileproof.layout import LayoutError
from tileproof.prove.access import positions
from tileproof.prove.claim import SMALL
from tileproof.prove.maps import Inner, Leaf, Map, Scale, Stage, count
from tileproof.prove.parse import MemoryLayout
from tileproof.prove.symbols import Number, product_of, times, total, whole


def through(threads: Map, memory: MemoryLayout, addresses: Map) -> tuple[Map, range, range]:
    """The addresses of threads and values, and the positions of the leaves of both modes.

    Raises:
        LayoutError: the coordinates of the TV layout are not those of the memory.
    """
    groups = _groups(threads, memory)
    _check_reach(threads, memory, groups)
    return _summed(threads, addresses, groups) or (
        _divided(threads, addresses, groups),
        positions(threads, 0),
        positions(threads, 1),
    )


def _groups(threads: Map, memory: MemoryLayout) -> list[range]:
    """The leaves of the memory that each component of the thread-value layout counts through."""
    what = memory.elements
    modes = len(what.shape) if isinstance(what.shape, tuple) else 1
    found = []
    for axis in threads.axes:
        if axis == ():
            found.append(range(len(what.leaves)))
        elif len(axis) == 1 and axis[0] < modes:
            found.append(positions(what, axis[0]))
        else:
            raise LayoutError(f"the TV layout has a stride along mode {list(axis)}, unlike {memory.text}")
    return found


def _check_reach(threads: Map, memory: MemoryLayout, groups: list[range]) -> None:
    """Static coordinates must be within a static memory."""
    for place, (axis, group) in enumerate(zip(threads.axes, groups, strict=True)):
        last = total(threads.start[place], *(times(x.steps[place], total(x.extent, -1)) for x in threads.leaves))
        limit = product_of(memory.elements.leaves[i].extent for i in group)
        if not threads.stages and isinstance(last, int) and isinstance(limit, int) and last >= limit:
            where = f" along mode {axis[0]}" if axis else ""
            raise LayoutError(f"the TV layout maps to {last}{where}, beyond the {limit} of {memory.text}")


def _summed(threads: Map, addresses: Map, groups: list[range]) -> tuple[Map, range, range] | None:
    """The composition as a sum of steps; None where it is none, or not known to be."""
    if not threads.static or threads.stages or whole(threads.size) > SMALL:
        return None
    inner = [[addresses.leaves[place].extent for place in group[:-1]] for group in groups]
    if not all(isinstance(extent, int) for extents in inner for extent in extents):
        return None
    threads_of, values = positions(threads, 0), positions(threads, 1)
    parts = [list(_factors([threads.leaves[place] for place in places])) for places in (threads_of, values)]
    split = threads.with_leaves([*parts[0], *parts[1]])
    extents = [list(map(whole, part)) for part in inner]

    def digits(value: Sequence[int]) -> list[int]:
        return [digit for v, part in zip(value, extents, strict=True) for digit in _digits(v, part)]

    start = digits([whole(number) for number in split.start])
    if any(whole(step) < 0 for leaf in split.leaves for step in leaf.steps) or min(start) < 0:
        return None
    moves = [digits([whole(step) for step in leaf.steps]) for leaf in split.leaves]
    for index in range(count(split.leaves)):
        places = split.digits(index)
        added = [s + sum(c * move[i] for c, move in zip(places, moves, strict=True)) for i, s in enumerate(start)]
        if added != digits(split.value(places)):
            return None
    steps: list[Number] = [addresses.leaves[place].steps[0] for group in groups for place in group]
    leaves = tuple(
        Leaf(leaf.extent, (total(*map(times, steps, move)),)) for leaf, move in zip(split.leaves, moves, strict=True)
    )
    begin = total(addresses.start[0], *map(times, steps, start))
    middle = len(parts[0])
    what = Map(threads.shape, leaves, (begin,), addresses.stages)
    return what, range(middle), range(middle, len(leaves))


def _factors(leaves: Sequence[Leaf]) -> Iterator[Leaf]:
    """Static leaves, each split into leaves of prime extents."""
    for leaf in leaves:
        rest, running, prime = whole(leaf.extent), 1, 2
        while rest > 1:
            if prime * prime > rest:
                prime = rest
            if rest % prime:
                prime += 1
                continue
            yield Leaf(prime, tuple(times(step, running) for step in leaf.steps))
            running *= prime
            rest //= prime


def _digits(value: int, extents: Sequence[int]) -> Iterator[int]:
    """The coordinates of an index; the last has no upper end."""
    for extent in extents:
        value, digit = divmod(value, extent)
        yield digit
    yield value


def _divided(threads: Map, addresses: Map, groups: list[range]) -> Map:
    """The composition with quotients and remainders, by way of the index into the memory."""
    factors = [product_of(leaf.extent for leaf in addresses.leaves[: group.start]) for group in groups]
    index = Map(
        threads.shape,
        tuple(Leaf(leaf.extent, (total(*map(times, leaf.steps, factors)),)) for leaf in threads.leaves),
        (total(*map(times, threads.start, factors)),),
        threads.stages,
    )
    stages: list[Stage] = [Inner(tuple((leaf.extent, leaf.steps[0]) for leaf in addresses.leaves))]
    if addresses.start[0] != 0:
        stages.append(Scale(1, addresses.start[0]))
    return replace(index, stages=(*index.stages, *stages, *addresses.stages))
