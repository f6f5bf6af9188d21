"""Integers that threads keep in memory: what was stored at a place is what is loaded there.

Shared memory holds one value at a place, registers one for each thread. Only integers that the machine knows are kept:
the stage, the parity, the tile, or whether there is another. A store of anything else makes what it overlaps unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from tileproof.base.by_identity import by_identity
from tileproof.dialects.values import Tensor, read_type
from tileproof.layout.basics import flat_modes, is_static_layout, outer
from tileproof.layout.values import ComposedLayout
from tileproof.protocol.machine import Machine
from tileproof.protocol.state import Cells
from tileproof.protocol.values import Address, Lanes, Supposed, Value, term_of
from tileproof.protocol.warps import ThreadSet

_MOST_ELEMENTS = 64  # that one copy moves and that are followed
_UNKNOWN = 1 << 40
_ASKED = 3  # questions for more work, apart from other terms
_FOUND = 5  # what an atomic operation finds, likewise


def places(thread_set: ThreadSet, where: Address, index: Value) -> dict[int, int] | None:
    """The place of an element for each thread, in bytes of shared memory or bits of registers; None where unknown.

    Args:
        where: what the element is in, before it was moved there.
        index: of the element from there.
    """
    unit = where.unit if where.memory.space == "rmem" else where.unit // 8
    found = {}
    for thread in thread_set.threads:
        start = where.parts[thread] if where.parts else where.offset
        step = index.each[thread] if isinstance(index, Lanes) else index
        if start is None or not isinstance(step, int):
            return None
        found[thread] = start + step * unit
    return found


def _reach(thread_set: ThreadSet, where: Address, index: Value, length: int) -> tuple[int, int] | None:
    """The first place of an element of any thread, and that behind the last one; None where one is unknown."""
    if where.memory.space == "smem" and isinstance(index, int):
        starts = _starts(where.parts, thread_set.threads) if where.parts else (where.offset,)
        step = index * (where.unit // 8)
        if starts is None or starts[0] is None or starts[-1] is None:
            return None
        return starts[0] + step, starts[-1] + step + length
    at = places(thread_set, where, index)
    return None if at is None else (min(at.values()), max(at.values()) + length)


def load(machine: Machine, thread_set: ThreadSet, where: Address, index: Value, length: int) -> int | Lanes | None:
    """The integers that the threads find in an element.

    Args:
        length: of the element, in bytes of shared memory or bits of registers.
    """
    reach = _reach(thread_set, where, index, length)
    if reach is None:
        return None
    _note(machine, thread_set, where, *reach)
    homes = _homes(machine, thread_set, where)
    cells = machine.mailboxes.get((homes[0], where.memory.serial)) if len(homes) == 1 else None
    if not cells or not cells.near(reach[0], reach[1] - reach[0]):
        return None
    at = places(thread_set, where, index)
    assert at is not None, "the reach is known"
    each: list[int | None] = [None] * machine.shape.threads
    inside: dict[int, int | None] = {}  # most often all threads look at one place
    for thread, place in at.items():
        value, size = cells.get(place, (None, length))
        if size == length and (value is not None or where.memory.space != "smem"):
            each[thread] = value.each[thread] if isinstance(value, Lanes) else value
        elif where.memory.space == "smem":
            if place not in inside:
                inside[place] = _inside(cells, place, length)
            each[thread] = inside[place]
    terms = [term for thread in at if (term := term_of(each[thread])) is not None]
    return Lanes(tuple(each), hash(tuple(terms)) if terms else None).on(thread_set.threads)


def _inside(cells: Cells, place: int, length: int) -> int | None:
    """Some bytes of a longer integer, unsigned; the lowest come first."""
    for start in cells.near(place, length):
        value, size = cells[start]
        if start <= place and place + length <= start + size and isinstance(value, int) and size > length:
            found = int(value) >> 8 * (place - start) & (1 << 8 * length) - 1
            return found if (term := term_of(value)) is None else Supposed(found, hash((term, place - start, length)))
    return _joined(cells, place, length)


def _joined(cells: Cells, place: int, length: int) -> int | None:
    """An integer that was stored in pieces, one behind the other, unsigned; the lowest come first."""
    found, terms, at = 0, list[int](), place
    while at < place + length:
        value, size = cells.get(at, (None, 0))
        if not isinstance(value, int) or not 0 < size <= place + length - at:
            return None
        found |= (int(value) & (1 << 8 * size) - 1) << 8 * (at - place)
        terms += [] if (term := term_of(value)) is None else [term]
        at += size
    return Supposed(found, hash((*terms, length))) if terms else found


def store(machine: Machine, thread_set: ThreadSet, where: Address, index: Value, length: int, value: Value) -> None:
    """The threads store a value in an element."""
    if where.memory.space == "smem":
        low, high = _reach(thread_set, where, index, length) or (0, _UNKNOWN)
        _note(machine, thread_set, where, low, high)
    homes = _homes(machine, thread_set, where)
    each = value.each if isinstance(value, Lanes) else ()
    if not isinstance(value, int) and not (each and any(each[one] is not None for one in thread_set.threads)):
        held = [cells for home in homes if (cells := machine.mailboxes.get((home, where.memory.serial)))]
        if where.memory.space == "smem":
            held = [cells for cells in held if cells.near(low, high - low)]
        if not held:
            return  # nothing is kept there, and nothing comes to it
    if where.memory.space == "smem" and where.parts and isinstance(index, int):
        starts = _starts(where.parts, thread_set.threads)
        if starts is not None and len(starts) > _MOST_ELEMENTS:
            step = index * (where.unit // 8)
            for home in homes:
                _overwrite(machine, (home, where.memory.serial), starts, step, length)
            return
    at = places(thread_set, where, index)
    if at is None:
        forget(machine, thread_set, where, where.offset, where.extent or _UNKNOWN)
        return
    known = [_of(value, thread) for thread in at]
    for home in homes:
        key = (home, where.memory.serial)
        if all(one is None for one in known) and key not in machine.mailboxes:
            continue
        sharing: dict[int, list[int]] = {}
        for thread, place in at.items():
            sharing.setdefault(place, []).append(thread)
        distinct = sorted(sharing)
        if len(distinct) > _MOST_ELEMENTS and where.memory.space == "smem":
            _overwrite(machine, key, distinct, 0, length)
            continue
        for place in distinct:
            _forget_in(machine, key, where, sharing[place], place, length)
            _put(machine, key, where, sharing[place], place, length, value)


def is_tile(thread_set: ThreadSet, where: Address, elements: int) -> bool:
    """Whether threads store so many elements, each of them some, that they leave a tile there and no messages."""
    starts = _starts(where.parts, thread_set.threads) if where.parts else None
    return starts is not None and len(starts) * elements > _MOST_ELEMENTS


def changed(
    machine: Machine,
    thread_set: ThreadSet,
    where: Address,
    length: int,
    function: Callable[[Value, Value], Value],
    value: Value,
) -> tuple[Value, dict[int, int]]:
    """What threads find that change a number in shared memory, one after the other, and what is there afterwards.

    Which thread comes first is not said, so that what they find is supposed.

    Args:
        length: of the number, in bytes.
        function: of what is there and of the value of a thread: what is there after it.
    """
    reach = _reach(thread_set, where, 0, length)
    homes = _homes(machine, thread_set, where)
    cells = machine.mailboxes.get((homes[0], where.memory.serial)) if len(homes) == 1 else None
    at = places(thread_set, where, 0) if reach is not None and cells else None
    if reach is None or at is None or not cells:
        return None, {}
    _note(machine, thread_set, where, *reach)
    there = {place: held for place, (held, size) in cells.items() if size == length and isinstance(held, int)}
    each: list[int | None] = [None] * machine.shape.threads
    for thread, place in at.items():
        held = there.pop(place, None)
        after = function(held, _of(value, thread)) if held is not None else None
        each[thread] = None if held is None else int(held)
        if isinstance(after, int):
            there[place] = after
    term = hash((_FOUND, where.memory.serial, reach[0]))
    return Lanes(tuple(each), term), {place: there[place] for place in set(at.values()) if place in there}


def leave(machine: Machine, thread_set: ThreadSet, where: Address, left: Mapping[int, int], length: int) -> None:
    """Integers of so many bytes are at places of shared memory now."""
    for home in _homes(machine, thread_set, where) if left else ():
        cells = machine.mailboxes.setdefault((home, where.memory.serial), Cells())
        for place, value in sorted(left.items()):
            cells.put(place, value, length)


def answer(machine: Machine, cta: int, where: Address, size: int, asked: int, given: bool) -> None:
    """What threads find where they asked for the work of another CTA: all who read it decide alike.

    The ISA does not say what the bytes of an answer are; here each of them says whether there is more work.

    Args:
        asked: the number of the question, of a CTA.
        given: whether there is more work.
    """
    if where.memory.space == "smem" and where.offset is not None and not where.parts:
        said = int.from_bytes(bytes([given]) * size, "little")
        cells = machine.mailboxes.setdefault((cta, where.memory.serial), Cells())
        cells.put(where.offset, Supposed(said, hash((_ASKED, asked))), size)


def _note(machine: Machine, thread_set: ThreadSet, where: Address, low: int, high: int) -> None:
    """Note where integers are loaded or stored in shared memory."""
    if where.memory.space == "smem":
        machine.coverage.touched(thread_set.place, thread_set.cta, where.memory.name, low, high)


def forget(machine: Machine, thread_set: ThreadSet, where: Address, start: int | None, length: int) -> None:
    """The threads store what is not known somewhere from a place on; anywhere where that is None."""
    for home in _homes(machine, thread_set, where):
        key = (home, where.memory.serial)
        if key in machine.mailboxes:
            low, reach = (0, _UNKNOWN) if start is None else (start, length)
            _forget_in(machine, key, where, thread_set.threads, low, reach)


def overwritten(machine: Machine, thread_set: ThreadSet, where: Address, length: int) -> None:
    """Each of the threads stores so many bytes that are not known where its part is."""
    starts = _starts(where.parts, thread_set.threads) if where.parts and where.memory.space == "smem" else None
    if starts is None:
        forget(machine, thread_set, where, where.offset, where.extent or _UNKNOWN)
        return
    for start in starts:
        forget(machine, thread_set, where, start, length)


def move(
    machine: Machine, thread_set: ThreadSet, source: Address | None, target: Address | None, types: Sequence[str]
) -> None:
    """A copy by threads, element by element.

    Args:
        types: of the source and the target.
    """
    if target is None or target.memory.space not in ("smem", "rmem"):
        return
    homes = {home for where in (source, target) if where is not None for home in _homes(machine, thread_set, where)}
    serials = {where.memory.serial for where in (source, target) if where is not None}
    if not any((home, serial) in machine.mailboxes for home in homes for serial in serials):
        return
    found = [steps(text) for text in types]
    if source is None or not all(found) or len(found[0]) != len(found[1]) or source.unit != target.unit:
        forget(machine, thread_set, target, target.offset, target.extent or _UNKNOWN)
        return
    values = [load(machine, thread_set, source, step, _length(source)) for step in found[0]]
    for step, value in zip(found[1], values, strict=True):
        store(machine, thread_set, target, step, _length(target), value)


def _length(where: Address) -> int:
    return where.unit if where.memory.space == "rmem" else where.unit // 8


@lru_cache(maxsize=1024)
def steps(text: str) -> tuple[int, ...]:
    """Where the elements of a tensor are, in elements from its beginning; empty where not known or too many."""
    kind = read_type(text)
    if (
        not isinstance(kind, Tensor)
        or isinstance(kind.layout, ComposedLayout)
        or not is_static_layout(outer(kind.layout))
    ):
        return ()
    found = [0]
    for extent, stride in flat_modes(outer(kind.layout)):
        if not isinstance(extent, int) or not isinstance(stride, int) or len(found) * extent > _MOST_ELEMENTS:
            return ()
        found = [one + i * stride for i in range(extent) for one in found]
    return tuple(found)


def _homes(machine: Machine, thread_set: ThreadSet, where: Address) -> list[int]:
    """The CTAs whose memory is accessed."""
    return [thread_set.cta] if where.memory.space == "rmem" else list(machine.targets(thread_set, where))


def _of(value: Value, thread: int) -> int | None:
    """What one thread stores; supposed where the value is."""
    if not isinstance(value, Lanes):
        return value if isinstance(value, int) else None
    one = value.each[thread]
    return one if one is None or value.term is None else Supposed(one, value.term)


def _forget_in(
    machine: Machine, key: tuple[int, int], where: Address, threads: Sequence[int], low: int, length: int
) -> None:
    """What some threads overwrite; in registers the others keep what they have."""
    cells = machine.mailboxes.get(key)
    if not cells:
        return
    for place in cells.near(low, length):
        held, size = cells[place]
        if where.memory.space != "rmem" or not isinstance(held, Lanes):
            del cells[place]
            continue
        each: list[int | None] = list(held.each)
        for thread in threads:
            each[thread] = None
        cells[place] = (Lanes(tuple(each)), size)


@by_identity
def _starts(parts: tuple[int | None, ...], threads: tuple[int, ...]) -> tuple[int, ...] | None:
    """Where the parts of some threads start, in order; None where that of one is not known."""
    found = [parts[thread] for thread in threads]
    return tuple(sorted({one for one in found if one is not None})) if None not in found else None


def _overwrite(machine: Machine, key: tuple[int, int], places: Sequence[int], step: int, length: int) -> None:
    """Many elements of shared memory are overwritten, so many bytes behind these places."""
    cells = machine.mailboxes.get(key)
    if not cells:
        return
    low, high = places[0] + step, places[-1] + step + length
    met = cells.near(low, high - low)
    written = set(places) if met else set()
    for at in met:
        if not written.isdisjoint(range(at - step - length + 1, at - step + cells[at][1])):
            del cells[at]


def _put(
    machine: Machine,
    key: tuple[int, int],
    where: Address,
    threads: Sequence[int],
    place: int,
    length: int,
    value: Value,
) -> None:
    """Some threads store a value at one place."""
    if where.memory.space == "rmem":
        cells = machine.mailboxes.setdefault(key, Cells())
        held = cells.get(place, (None, length))[0]
        each: list[int | None] = [*held.each] if isinstance(held, Lanes) else [None] * machine.shape.threads
        for thread in threads:
            each[thread] = _of(value, thread)
        cells.put(place, Lanes(tuple(each)), length)
        return
    stored = {_of(value, thread) for thread in threads}
    one = stored.pop()
    if not stored and one is not None:
        machine.mailboxes.setdefault(key, Cells()).put(place, one, length)


__all__ = ["answer", "changed", "forget", "is_tile", "leave", "load", "move", "places", "steps", "store"]
