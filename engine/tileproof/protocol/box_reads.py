"""What is read of the boxes that copies of unknown size deliver: how many bytes they have at least.

PTX does not say how large the box of a tensor map is that the host makes. But what an MMA or threads read from the
place on that a box is copied to, up to where anything else lies, the box has brought: if that is more than the phase of
the mbarrier expects, the phase is complete before all of it has arrived. If it is just as much, the sizes of the boxes
are known, and the next run has copies write all of them. An operand of an MMA that begins where no box can reach, and
nothing else was written, is one that was copied elsewhere.

Bytes that anything else ever wrote before do not count, unless the box has brought some behind them, nor does what is
behind a byte that nothing reads. Bytes are counted in units of a bulk copy, of which a box has whole ones; sets of them
are integers with a bit for each.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

from tileproof.base.records import dataclass, field
from tileproof.mlir.ir import Operation
from tileproof.protocol.access_sets import AccessSet
from tileproof.protocol.state import Box, Delivery
from tileproof.protocol.warps import BarrierKey

_FAR = 1 << 24  # bytes, more than any shared memory has: so far only integers lead that a run supposes

Memory = tuple[int, int]  # CTA and serial number of the allocation


@dataclass(slots=True)
class Filled:
    """A place that a box was copied to last.

    Attributes:
        read: what was read since, in units from the first byte on; ``brought``: those that nothing else ever wrote.
        reader: the last operation that read there.
        number: how many boxes were copied before.
        parts: what each MMA read of it, by its ``id``; ``others``: whether anything else did, or what is not known.
        beside: another box of the same tile: one MMA reads of both.
    """

    box: Box
    number: int = 0
    read: int = 0
    brought: int = 0
    reader: Operation | None = None
    parts: dict[int, tuple[Operation, int]] = field(default_factory=dict)
    others: bool = False
    beside: Filled | None = None

    @property
    def start(self) -> int:
        """The first byte of the box; it is kept only where that is known."""
        where = self.box.where
        assert where is not None and where.offset is not None
        return where.offset

    def first_of_tile(self) -> Filled:
        """The box that stands for all that MMAs read together."""
        one = self
        while one.beside is not None:
            if one.beside.beside is not None:
                one.beside = one.beside.beside
            one = one.beside
        return one


@dataclass(slots=True)
class BoxReads:
    """The reads of one run.

    Attributes:
        unit: bytes of a unit of a bulk copy; ``line``: units that a swizzle exchanges.
        starts: of all boxes so far, in order, by memory; ``latest``: the last one that was copied to each.
        boxes: all of them, by ``id`` of the box.
        others: the units that anything else wrote, with the rest of their lines.
        operands: the places where the operands of MMAs begin, with the first one that reads there and how many boxes
            were copied before.
        lost: whether it is not known where a box was copied to; ``vague``: whether it is not what something reads.
    """

    unit: int
    line: int
    starts: dict[Memory, list[int]] = field(default_factory=dict)
    latest: dict[tuple[int, int, int], Filled] = field(default_factory=dict)
    boxes: dict[int, Filled] = field(default_factory=dict)
    others: dict[Memory, int] = field(default_factory=dict)
    operands: dict[tuple[int, int, int], tuple[Operation, int]] = field(default_factory=dict)
    lost: bool = False
    vague: bool = False

    def fill(self, box: Box) -> None:
        """A box is copied."""
        where = box.where
        if where is None or where.offset is None or where.offset % self.unit:
            self.lost = True
            return
        memory = box.cta, where.memory.serial
        starts = self.starts.setdefault(memory, [])
        at = bisect_left(starts, where.offset)
        if at == len(starts) or starts[at] != where.offset:
            insort(starts, where.offset)
        self.boxes[id(box)] = self.latest[*memory, where.offset] = Filled(box, len(self.boxes))

    def begin(self, memory: Memory, start: int, reader: Operation) -> None:
        """An operand of an MMA begins at a byte; one before all memory says nothing: integers are supposed wrongly."""
        if start < 0:
            return
        self.operands.setdefault((*memory, start), (reader, len(self.boxes)))

    def write(self, memory: Memory, low: int, high: int) -> None:
        """Anything else writes."""
        if not 0 <= low < high < _FAR:
            return
        line = self.unit * self.line
        first, last = low // line * self.line, -(-high // line) * self.line
        self.others[memory] = self.others.get(memory, 0) | (1 << last) - (1 << first)

    def read_anyhow(self, memory: Memory, low: int, high: int) -> None:
        """Something reads what lies between two bytes, by no descriptor."""
        starts = self.starts.get(memory, [])
        for at in range(max(bisect_right(starts, low) - 1, 0), bisect_left(starts, high)):
            filled = self.latest.get((*memory, starts[at]))
            if filled is not None:
                filled.others = True

    def read_from(self, memory: Memory, start: int) -> None:
        """A descriptor begins at a byte, and how much is read by it is not known: of no box, if anything else wrote."""
        if not self.others.get(memory, 0) >> max(start, 0) // self.unit & 1:
            self.read_anyhow(memory, start, start + 1)

    def read(
        self,
        memory: Memory,
        low: int,
        units: int,
        reader: Operation,
        multiplies: bool = False,
        padded: bool = False,
    ) -> None:
        """Units are read, from a byte on that begins one.

        Args:
            multiplies: whether an MMA reads them; ``padded``: perhaps more than copies bring.
        """
        starts = self.starts.get(memory)
        if not starts or low % self.unit:
            return
        if low < 0:
            units, low = units >> -low // self.unit, 0
        first = low // self.unit
        own = 0 if padded else ~(self.others.get(memory, 0) >> first)
        high = low + units.bit_length() * self.unit
        tile: Filled | None = None
        for at in range(max(bisect_right(starts, low) - 1, 0), bisect_left(starts, high)):
            start = starts[at] // self.unit
            before = -1 if at + 1 == len(starts) else (1 << starts[at + 1] // self.unit - start) - 1
            mine, brought = (
                (each >> start - first if start >= first else each << first - start) & before
                for each in (units, units & own)
            )
            if mine:
                filled = self.latest[*memory, starts[at]]
                filled.read |= 0 if padded else mine
                filled.brought |= brought
                filled.reader = reader if brought else filled.reader
                if not multiplies:
                    filled.others = True
                    continue
                filled.parts[id(reader)] = reader, mine | filled.parts.get(id(reader), (reader, 0))[1]
                root = filled.first_of_tile()
                if tile is None or tile.box.alike != root.box.alike:
                    tile = root
                elif tile is not root:
                    root.beside = tile

    def read_by_threads(self, memory: Memory, touched: AccessSet, reader: Operation) -> None:
        """Threads read."""
        if memory in self.starts and touched.swizzle is None:
            apart = touched.start % self.unit
            self.read(memory, touched.start - apart, _units(touched.whole, apart, self.unit), reader)

    def bound(self, places: Iterable[BarrierKey]) -> None:
        """No box reaches beyond these places, where barriers are."""
        for cta, serial, offset in places:
            starts = self.starts.get((cta, serial))
            if starts is not None and offset not in starts:
                insort(starts, offset)

    def of_phase(self, phase: Delivery, room: Mapping[object, int]) -> tuple[int, Operation] | None:
        """How many bytes are read of what the copies of a phase deliver, and what reads them; None where unknown.

        Args:
            room: the most bytes that a box has, by what those of one size have in common, where that is known.
        """
        sizes, reader = self._of_boxes(phase, room), None
        if sizes is None:
            return None
        for box, size in zip(phase.boxes, sizes, strict=True):
            reader = self.boxes[id(box)].reader if size else reader
        return None if reader is None else (sum(sizes), reader)

    def sizes(self, phases: Iterable[Delivery], room: Mapping[object, int]) -> dict[object, int]:
        """How many bytes boxes have, by what those of one size have in common, as far as that is known.

        Where just what a phase expects is read of its boxes, each has what is read of it; where they have just as much
        room, each fills its own.
        """
        found: dict[object, set[int]] = {}
        for phase in phases:
            sizes = self._of_boxes(phase, room)
            if sizes is None or phase.late or phase.supposed:
                continue
            if sum(sizes) != phase.bytes:
                sizes = [room.get(box.alike, _FAR) for box in phase.boxes]
            if sum(sizes) != phase.bytes:
                continue
            for box, size in zip(phase.boxes, sizes, strict=True):
                found.setdefault(box.alike, set()).add(size)
        return {alike: min(sizes) for alike, sizes in found.items() if len(sizes) == 1}

    def unwritten(self, phases: Iterable[Delivery], room: Mapping[object, int]) -> Iterator[tuple[int, Operation, Box]]:
        """The bytes that operands of MMAs begin at and nothing wrote, what reads there, and the next box behind.

        A box has no more bytes than its phase expects, less those that are read of the others.
        """
        most: dict[int, int] = {}
        for phase in phases:
            sizes = self._of_boxes(phase, room)
            if sizes is not None and not (phase.late or phase.supposed):
                left = phase.bytes - sum(sizes)
                most |= {id(box): max(left, 0) + size for box, size in zip(phase.boxes, sizes, strict=True)}
        first: dict[Memory, dict[tuple[int, int], Filled]] = {}  # by the first byte and the one behind the last
        for key, one in self.boxes.items():
            where = one.box.where
            assert where is not None
            reach = one.start, one.start + most.get(key, _FAR)
            first.setdefault((one.box.cta, where.memory.serial), {}).setdefault(reach, one)
        for (cta, serial, start), (reader, number) in self.operands.items():
            boxes = first.get((cta, serial), {})
            written = any(low <= start < high and one.number < number for (low, high), one in boxes.items())
            behind = [(low, one.number, one.box) for (low, _), one in boxes.items() if low > start]
            if behind and not written and not self.others.get((cta, serial), 0) >> start // self.unit & 1:
                yield start, reader, min(behind)[2]

    def _of_boxes(self, phase: Delivery, room: Mapping[object, int]) -> list[int] | None:
        """The bytes that are read of each box of a phase; None where that is not known of one."""
        sizes = []
        for box in phase.boxes:
            filled = self.boxes.get(id(box))
            if filled is None:
                return None
            size = self._contiguous(filled)
            sizes.append(min(size, room.get(box.alike, size)))
        return sizes

    def _contiguous(self, filled: Filled) -> int:
        """The bytes that are read of a box from its first one on, without a gap, up to the last one that it brought."""
        where = filled.box.where
        assert where is not None
        starts = self.starts[filled.box.cta, where.memory.serial]
        whole = (~filled.read & filled.read + 1) - 1
        size = self.unit * (filled.brought & whole).bit_length()
        behind = bisect_right(starts, filled.start)
        return min(size, starts[behind] - filled.start) if behind < len(starts) else size


@lru_cache(maxsize=512)
def _units(touched: int, apart: int, unit: int) -> int:
    """The units of which a set of bytes has any; ``apart``: how far behind the beginning of one the first byte is."""
    touched <<= apart
    step = 1
    while step < unit:
        touched |= touched >> step
        step *= 2
    lowest = f"{touched:b}"[::-1][::unit]
    return int(lowest[::-1], 2)


__all__ = ["BoxReads", "Filled"]
