"""Which parts of a tile MMAs read: that they go through all of it, and none of it more often than the rest.

A descriptor whose start address is off by a step along K, or by some rows, or that has another swizzle or stride than
the others of its tile, reads what is not its part. What it should read is read by one MMA fewer than the rest, and what
it does read by one more, or it reads beyond the tile. A tile is what copies brought to one place, the boxes together of
which one MMA reads. Sets of units are integers with a bit for each, as in ``box_reads``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tileproof.base.records import dataclass
from tileproof.mlir.ir import Operation
from tileproof.protocol.box_reads import BoxReads, Filled
from tileproof.protocol.state import Box


@dataclass(frozen=True, slots=True)
class Unread:
    """Some of a tile that fewer MMAs read than what lies around it.

    Attributes:
        box: the first one of the tile.
        first, bytes: from where on, in bytes from the first of the tile, and how many.
        readers: how many MMAs read it.
        reader: the MMA that reads something else instead, as it seems.
    """

    box: Box
    first: int
    bytes: int
    readers: int
    reader: Operation


def partly_read(reads: BoxReads) -> Iterator[Unread]:
    """What fewer MMAs read of the tiles that nothing else reads, while more than for most of it read some.

    Or nothing at all, and less of it in some lines of memory than in others. A kernel whose rows are shorter than
    the box leaves out the same of all lines.
    """
    tiles: dict[int, list[Filled]] = {}
    for filled in () if reads.vague else reads.boxes.values():
        tiles.setdefault(id(filled.first_of_tile()), []).append(filled)
    for boxes in tiles.values():
        if any(one.others for one in boxes):
            continue
        one = _unread(reads, boxes)
        if one is not None:
            yield one


def _unread(reads: BoxReads, boxes: Sequence[Filled]) -> Unread | None:
    """The same of the boxes of one tile; up to the end of the last line of each of which anything is read."""
    first = min(boxes, key=lambda one: one.start)
    mask = (1 << reads.line) - 1
    parts: dict[int, tuple[Operation, int]] = {}
    every, patterns = 0, set[int]()
    for one in boxes:
        behind, once = (one.start - first.start) // reads.unit, 0
        for key, (reader, part) in one.parts.items():
            once |= part
            parts[key] = reader, part << behind | parts.get(key, (reader, 0))[1]
        lines = range(0, once.bit_length(), reads.line)
        patterns.update(once >> at & mask for at in lines)
        every |= (1 << len(lines) * reads.line) - 1 << behind
    levels = _levels(part for _, part in parts.values())
    if not levels:
        return None
    usual = max(range(len(levels)), key=lambda at: (levels[at] & ~_at(levels, at + 1)).bit_count())
    many = _at(levels, usual + 1)
    if not every & ~levels[usual] or not (many or len(patterns) > 1):
        return None
    readers = next(at for at in range(usual + 1) if every & ~levels[at])
    few = every & ~levels[readers]
    begin = (few & -few).bit_length() - 1
    reader = _astray([*parts.values()], few, many)
    return Unread(first.box, begin * reads.unit, few.bit_count() * reads.unit, readers, reader)


def _levels(parts: Iterable[int]) -> list[int]:
    """The units that are in one part or more, in two or more, and so on."""
    levels: list[int] = []
    for part in parts:
        again = part
        for at, level in enumerate(levels):
            levels[at], again = level | again, level & again
        if again:
            levels.append(again)
    return levels


def _at(levels: Sequence[int], at: int) -> int:
    return levels[at] if at < len(levels) else 0


def _astray(parts: Sequence[tuple[Operation, int]], few: int, many: int) -> Operation:
    """The MMA that should read what too few read.

    Of those that read what too many do it is the one that reads most of what one of those few reads as well, or the
    one whose place it is where MMAs go through a tile in order. If there are none it is the one that reads least.
    """
    ordered = sorted(parts, key=lambda one: one[0].span.start)
    others = [(reader, part) for reader, part in ordered if part & many and not part & few]
    twins = [part for _, part in ordered if part & few]
    if others and twins:
        return max(others, key=lambda one: max((one[1] & twin).bit_count() for twin in twins))[0]
    if others:
        return others[0 if few & -few < many & -many else -1][0]
    return min(ordered, key=lambda one: one[1].bit_count())[0]


__all__ = ["Unread", "partly_read"]
