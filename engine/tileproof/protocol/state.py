"""What the machine keeps beside the thread sets: one record for each concern, written by the actions named there."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from tileproof.base.records import dataclass, field
from tileproof.mlir.ir import Operation
from tileproof.protocol.memory import Access
from tileproof.protocol.values import Address, Allocation, Lanes
from tileproof.protocol.vector_clock import Agent, Clock
from tileproof.protocol.warps import BarrierKey, BarrierName, ThreadSet

Place: TypeAlias = "tuple[int, int, int | None]"  # in shared memory: CTA, allocation, byte
# Of a tensor map: an allocation and an offset, or a term and what the run supposes.
MapKey: TypeAlias = "tuple[int, int]"


@dataclass(frozen=True, slots=True)
class EarlyRead:
    """A read of what the grid before may still write: that write, and what lets the kernel begin so early."""

    write: Operation
    allowance: Operation


@dataclass(frozen=True, slots=True)
class MatrixRead:
    """What an instruction reads by a descriptor.

    Attributes:
        units: a set of units of a bulk copy, from the start address on, before the swizzle.
        padded: whether there may be more rows of B than copies bring: who has a smaller N than there is takes what is
            computed for those columns of the result for nothing.
    """

    units: int
    padded: bool = False


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the module says of a kernel.

    Attributes:
        resolve: a type without aliases.
        boxes: bytes of the box of each tensor map that the kernel gets, by the slot of the argument.
        early: the operations that read what the grid before may still write, by ``id``.
        unfenced: what whoever made the text leaves out on purpose: a fence of the ``init`` of an mbarrier that its own
            CTA alone uses, those around a barrier between ``thread``s that share tensor memory, the ``scope`` of an
            arrival at the barrier of another CTA.
        clusters: of the grid, along x.
        turned: whether compilers turn conditions round, so that the first way of a branch is none that somebody wrote.
        read: what an MMA in PTX reads in shared memory behind the start of each operand, by the place of the operand,
            as ``matrix_reads`` has it; with its instruction descriptor, where one is known. None in IR.
    """

    resolve: Callable[[str], str]
    boxes: dict[int, int]
    early: Mapping[int, EarlyRead] = field(default_factory=dict)
    unfenced: frozenset[str] = frozenset()
    clusters: int = 1
    turned: bool = False
    read: Callable[[Operation, int | None], Mapping[int, MatrixRead]] | None = None


@dataclass(slots=True)
class Allocations:
    """Memory (``scalars``, ``tensor_memory``): by serial number, and by the operation or global that stands for it.

    Attributes:
        lane, column, quarter: of tensor memory, as ``Allocation`` has them.
    """

    lane: int = 0
    column: int = 0
    quarter: int = 0
    by_serial: dict[int, Allocation] = field(default_factory=dict)
    by_origin: dict[int | str, Allocation] = field(default_factory=dict)

    def add(
        self, name: str, space: str, fields: tuple[tuple[str, int, int], ...] = (), numbers: bool = False
    ) -> Allocation:
        """A new allocation."""
        serial = len(self.by_serial) + 1
        return self._keep(Allocation(name, space, serial, fields, self.lane, self.column, self.quarter, numbers))

    def argument(self, name: str, slot: int) -> Allocation:
        """What the argument of the kernel in a slot points to; the serial number is the slot, negated."""
        return self._keep(Allocation(name, "gmem", -slot))

    def _keep(self, memory: Allocation) -> Allocation:
        self.by_serial[memory.serial] = memory
        return memory


@dataclass(frozen=True, slots=True)
class Box:
    """A copy of unknown size.

    Attributes:
        map: what stands for its tensor map, whose boxes are all of one size; None where that is not known.
        cta, where: what it writes.
        operation: what copies it.
        issuers: the CTA and warps that issue it.
    """

    map: object
    cta: int
    where: Address | None
    operation: Operation
    issuers: tuple[tuple[int, int], ...] = ()

    @property
    def alike(self) -> object:
        """What boxes of one size have in common: their tensor map, or else the operation that copies them."""
        return id(self.operation) if self.map is None else self.map


@dataclass(slots=True)
class Delivery:
    """A phase of an mbarrier that copies of unknown size complete.

    Attributes:
        bytes: that they deliver, for all that the barrier expects.
        known: bytes of other copies of the phase, whose size is known.
        operation: what announces them.
        late: whether copies came that were not issued when no thread went on.
        supposed: whether the text does not say how many bytes are expected.
    """

    bytes: int
    known: int
    operation: Operation
    boxes: tuple[Box, ...]
    late: bool = False
    supposed: bool = False


@dataclass(slots=True)
class Deliveries:
    """What copies of unknown size deliver (``copies``, ``endings``): all boxes of a tensor map are of one size.

    Attributes:
        phases: by barrier, the moment of its initialisation, for it may come again, and phase.
        room: the bytes behind the place that a box is copied to up to what else is in use then, by what those of one
            size have in common; the least of all copies.
        reach: which CTAs completed which one's barriers with each operation, by ``id``.
        several: those that more than one thread issued to one place, by ``id``: the operation, where it is in the code,
            the barrier, and how many threads.
    """

    phases: dict[tuple[BarrierKey, int, int], Delivery] = field(default_factory=dict)
    room: dict[object, int] = field(default_factory=dict)
    reach: dict[int, set[tuple[int, int]]] = field(default_factory=dict)
    several: dict[int, tuple[Operation, int, BarrierKey, int]] = field(default_factory=dict)

    def issue(self, cta: int, operation: Operation, home: int, barrier: Barrier) -> None:
        """A CTA issues a copy that completes on a barrier of a CTA."""
        self.reach.setdefault(id(operation), set()).add((cta, home))
        barrier.copiers.add((cta, id(operation)))

    def late(self, cta: int, home: int, barrier: Barrier) -> bool:
        """Whether a CTA may still issue a copy that completes on a barrier of another CTA in its current phase.

        Not one that has, nor one that executed each of the operations that others did, and never for that CTA.
        """
        if any(one == cta for one, _ in barrier.copiers):
            return False
        reached = [self.reach[operation] for _, operation in barrier.copiers]
        return any((cta, home) in ways or all(one != cta for one, _ in ways) for ways in reached)

    def add(self, key: BarrierKey, barrier: Barrier, operation: Operation) -> None:
        """The copies in flight deliver what a phase still expects; some of it may have been announced before."""
        mine = (key, barrier.initialised.moment, barrier.phase)
        before, boxes = self.phases.get(mine), tuple(barrier.boxes)
        number = barrier.bytes + (before.bytes if before is not None else 0)
        self.phases[mine] = Delivery(number, barrier.copied, operation, boxes, supposed=barrier.supposed)

    def look(self, barriers: Mapping[BarrierKey, Barrier]) -> None:
        """Take in the room of copies in flight: they write to different places, and to no mbarrier."""
        boxes = [box for barrier in barriers.values() if barrier.bytes > 0 for box in barrier.boxes]
        used: dict[tuple[int, int], set[int]] = {}
        for cta, serial, offset in barriers:
            used.setdefault((cta, serial), set()).add(offset)
        for box in boxes:
            if box.where is not None and box.where.offset is not None:
                used.setdefault((box.cta, box.where.memory.serial), set()).add(box.where.offset)
        places = {memory: sorted(offsets) for memory, offsets in used.items()}
        for box in boxes:
            where = box.where
            if where is None or where.offset is None:
                continue
            behind = places[box.cta, where.memory.serial]
            at = bisect_right(behind, where.offset)
            if at < len(behind):
                room = behind[at] - where.offset
                self.room[box.alike] = min(room, self.room.get(box.alike, room))


@dataclass(slots=True)
class Stores:
    """Bulk stores of unknown size (``stored_tiles``).

    Attributes:
        starts: the first bytes of what they read, by CTA and serial number of the allocation.
        sizes: how many bytes they read as an earlier run shows, by serial number and first byte.
        fences: when each warp of a CTA executed its last two fences of the async proxy.
        most: the bytes that were written from the first one of a tile on, without a gap, since the fence for the tile
            before it; the least of its first stores. ``times``: how many of these that was asked of.
    """

    sizes: Mapping[tuple[int, int], int] = field(default_factory=dict)
    starts: dict[tuple[int, int], set[int]] = field(default_factory=dict)
    fences: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)
    most: dict[tuple[int, int], int] = field(default_factory=dict)
    times: dict[tuple[int, int], int] = field(default_factory=dict)


@dataclass(slots=True)
class WarpLanes:
    """What the lanes of a warp stored without meeting, and arrivals of some lanes behind it (``accesses``).

    Attributes:
        stored: the last stores by all lanes of a warp to shared memory since these met, by ``id`` of the operation.
        met: when they last did.
        parts: the arrivals of some lanes of a warp behind such stores: from when on stores are not ordered, when it
            arrived, the stores, and what arrived.
        found: reads of such stores that only such an arrival orders, by ``id`` of the arrival: the store, the arrival
            and the read.
    """

    stored: dict[tuple[int, int], set[int]] = field(default_factory=dict)
    met: dict[tuple[int, int], int] = field(default_factory=dict)
    parts: dict[tuple[int, int], list[tuple[int, int, frozenset[int], Operation]]] = field(default_factory=dict)
    found: dict[int, tuple[Operation, Operation, Operation]] = field(default_factory=dict)


@dataclass(slots=True)
class MapWrite:
    """The last modification of a tensor map in global memory.

    Attributes:
        warps: of its CTA, which modify it.
        released: the warps that released it, and when.
    """

    operation: Operation
    warps: tuple[int, ...]
    moment: int
    released: tuple[tuple[int, ...], int] | None = None


@dataclass(frozen=True, slots=True)
class MapUse:
    """A copy that reads a tensor map.

    Attributes:
        ends: what says that it has read it, each by itself: who, and up to when.
    """

    operation: Operation
    ends: tuple[tuple[Agent, int], ...]


@dataclass(slots=True)
class TensorMaps:
    """Tensor maps that the kernel modifies (``tensor_maps``).

    Attributes:
        modified: whether it modifies any.
        writes: the last modification, by CTA and what stands for the map.
        uses: the copies since then that read it: of one operation that completes on one barrier, or of one warp, the
            last, for its end is that of those before.
        commits: when a warp committed a bulk group that it has not waited for, or the last one, by CTA and warp.
        stored: plain stores that may be to a map, the last to each place, by CTA and the address that the run supposes.
    """

    modified: bool = False
    writes: dict[tuple[int, MapKey], MapWrite] = field(default_factory=dict)
    uses: dict[tuple[int, MapKey], dict[tuple[object, ...], MapUse]] = field(default_factory=dict)
    commits: dict[tuple[int, int], list[int]] = field(default_factory=dict)
    stored: dict[int, dict[int, MapWrite]] = field(default_factory=dict)


def acquired(cta: int, key: MapKey) -> Agent:
    """Whose moment is that of the last modification of a tensor map that is acquired."""
    return ("acquired", cta, *key)


def come_past(warp: Agent) -> tuple[Agent, ...]:
    """By whose moments a clock says how far a warp has come."""
    return warp, ("read", *warp), ("past", *warp)


@dataclass(slots=True)
class Barrier:
    """An mbarrier object (``barriers``, ``copies``).

    Attributes:
        count, pending: expected arrivals of a phase, and the pending count of the current one.
        bytes: tx-count of the current phase; negative where copies came before expect_tx.
        phase: how many phases are complete.
        gathered, done: what those know that have arrived in this phase, and in all complete ones.
        expected, copied: bytes of expect_tx and of copies in the current phase, for messages.
        expecting, arriving, copying: the last operation of each kind, for messages.
        announcers: how many threads executed the last ``expecting`` together.
        announced: the phase of the last expect_tx.
        supposed: whether bytes of the current phase are expected of which the text does not say how many.
        unsized_copies: copies of unknown size in the current phase: they deliver what it still expects.
        copiers: the CTAs whose threads issued them, and the operations, by ``id``.
        boxes: what each of them copies, and to where.
        most_copies: how many of them the phase had that had most.
        unsized: the last phase that a copy of unknown size completed.
        unannounced: a copy of unknown size that surely is of the current phase, for which no bytes are expected yet.
        sources: what ever arrived at it, by ``id`` of the operations.
        arrivals: how often threads did: by the operation, the CTA, the first of them, and how many arrivals it made.
        seen: how many phases were complete when a thread last waited for one.
        overrun: whether it completed two phases or more between two waits, so that a parity came again.
        passed: the warps that waited for the phase before the current one, when, and by which operation.
        missed: the waits, by ``id``, at which a warp may still be when the next phase is complete too, since nothing
            that completes it is known to come after; with the arrival that completed it.
    """

    name: str
    count: int
    operation: Operation
    pending: int
    initialised: Access
    bytes: int = 0
    phase: int = 0
    gathered: Clock = field(default_factory=Clock)
    done: Clock = field(default_factory=Clock)
    published: bool = False
    expected: int = 0
    copied: int = 0
    expecting: Operation | None = None
    announcers: int = 1
    arriving: Operation | None = None
    copying: Operation | None = None
    announced: int = 0
    supposed: bool = False
    unsized_copies: int = 0
    copiers: set[tuple[int, int]] = field(default_factory=set)
    boxes: list[Box] = field(default_factory=list)
    unsized: int = -1
    most_copies: int = 0
    unannounced: Operation | None = None
    sources: set[int] = field(default_factory=set)
    arrivals: dict[tuple[int, int, int, int], int] = field(default_factory=dict)
    seen: int = 0
    overrun: bool = False
    passed: dict[Agent, tuple[int, Operation]] = field(default_factory=dict)
    missed: dict[int, tuple[Operation, Operation | None]] = field(default_factory=dict)

    @property
    def even(self) -> bool:
        """Whether it is not in the middle of a phase."""
        return self.pending == self.count and not self.bytes

    @property
    def gone_by(self) -> int:
        """How many phases are complete since a thread last waited for one, if a parity came again meanwhile; else 0."""
        missed = self.phase - self.seen
        return missed if missed > 1 else 0

    @property
    def in_turn(self) -> int | None:
        """How many arrivals there are each time that all threads arrive which ever do; None where that is not known.

        It is where nothing else arrives, they execute one operation, and all of them did so equally often.
        """
        operations, rounds = {key[0] for key in self.arrivals}, set(self.arrivals.values())
        made = sum(key[-1] * times for key, times in self.arrivals.items())
        alike = len(operations) == len(rounds) == 1 and made == (self.phase + 1) * self.count - self.pending
        return sum(key[-1] for key in self.arrivals) if alike else None

    def settle(self) -> None:
        """Complete the phase if the pending count and the tx-count are zero."""
        if self.pending == 0 and self.bytes == 0:
            self.phase += 1
            self.pending = self.count
            self.done.join(self.gathered)
            self.gathered = Clock()
            for warp, (moment, wait) in self.passed.items():
                if max(self.done.known.get(agent, -1) for agent in come_past(warp)) < moment:
                    self.missed.setdefault(id(wait), (wait, self.arriving))
            self.passed.clear()
            self.expected = self.copied = self.unsized_copies = 0
            self.boxes = []
            self.copiers = set()
            self.unannounced = None
            self.supposed = False


@dataclass(slots=True)
class Releases:
    """When a CTA released its writes to other CTAs (``barriers``, ``rendezvous``).

    Attributes:
        cta_scope: the last time by an arrival at a barrier of another CTA with the scope of one CTA, which releases too
            little.
        cluster_scope: each time by an arrival, or a fence, with the scope of the cluster.
        fenced: what each warp of a CTA knew and had done at its last fence of that scope.
    """

    cta_scope: dict[int, tuple[int, Operation]] = field(default_factory=dict)
    cluster_scope: dict[int, list[int]] = field(default_factory=dict)
    fenced: dict[tuple[int, int], Clock] = field(default_factory=dict)

    def widely(self, cta: int, moment: int) -> None:
        """A CTA released its writes with the scope of the cluster."""
        moments = self.cluster_scope.setdefault(cta, [])
        if not moments or moments[-1] < moment:
            moments.append(moment)

    def next(self, cta: int, moment: int) -> int | None:
        """When a CTA first released so after a moment; None where it did not yet."""
        moments = self.cluster_scope.get(cta, ())
        at = bisect_right(moments, moment)
        return moments[at] if at < len(moments) else None


@dataclass(slots=True)
class Use:
    """One use of a named barrier: how many threads it counts, the warps that arrived, and when it was complete.

    Attributes:
        disputed: whether threads arrived that count another number of them.
    """

    wanted: int
    operation: Operation
    warps: set[int] = field(default_factory=set)
    complete: int | None = None
    disputed: bool = False


@dataclass(frozen=True, slots=True)
class Remote:
    """What a CTA last did to the shared memory of another.

    Attributes:
        agents, moment: who did it, and when.
        issuers: the warps that issued it.
        phase: of the barrier that it completes, counted from 1; 0 where it completes none.
    """

    operation: Operation
    agents: tuple[Agent, ...]
    moment: int
    issuers: tuple[Agent, ...]
    phase: int = 0


@dataclass(slots=True)
class Exits:
    """The ends of CTAs (``exits``).

    Attributes:
        known: what the threads of a CTA know that have ended.
        threads: those threads: barriers of threads and of the cluster do not wait for them.
        reached: the last accesses of other CTAs to its memory, by CTA and then by barrier, or by the agents.
        unstarted: what accesses its memory, and is not known to come after it has started, by ``id``.
    """

    known: dict[int, Clock] = field(default_factory=dict)
    threads: dict[int, set[int]] = field(default_factory=dict)
    reached: dict[int, dict[BarrierKey | tuple[Agent, ...], Remote]] = field(default_factory=dict)
    unstarted: dict[int, Operation] = field(default_factory=dict)


@dataclass(slots=True)
class NamedBarriers:
    """The barriers of threads of a CTA (``rendezvous``): who waits at each, its last use, how often it was complete.

    Attributes:
        numbers: of the barriers that an operation was executed with, by its ``id``.
        halves: whether threads go on there without the rest of their warp: nothing else can go on.
    """

    waiting: dict[BarrierName, list[ThreadSet]] = field(default_factory=dict)
    uses: dict[BarrierName, Use] = field(default_factory=dict)
    rounds: dict[BarrierName, int] = field(default_factory=dict)
    numbers: dict[int, set[int | None]] = field(default_factory=dict)
    halves: bool = False

    def complete(self, name: BarrierName, moment: int, last: ThreadSet | None = None) -> None:
        """A barrier is complete: all who wait there go on, and the last one that came."""
        for thread_set in self.waiting[name]:
            if thread_set is not last:
                thread_set.passed = name
        self.waiting[name] = []
        self.uses[name].complete = moment
        self.rounds[name] = self.rounds.get(name, 0) + 1


@dataclass(slots=True)
class ClusterBarrier:
    """The barrier of the cluster (``rendezvous``).

    Attributes:
        threads: that have arrived in the current phase.
        phase: how many phases are complete.
        gathered, done: what those know that have arrived in this phase, and in all complete ones.
        ended: what those know that have ended: they count as arrived in each phase from then on.
        used: whether any thread arrived there.
        met: the CTAs of which a thread has waited for one of its phases: all CTAs have started then.
        waited: the phases that threads of a CTA have waited for.
        acted: threads, with their CTA, that have done something since they arrived and have not waited yet.
        left: arrivals of threads that ended without a wait and had done nothing since, by their CTA and phase.
    """

    threads: int = 0
    phase: int = 0
    gathered: Clock = field(default_factory=Clock)
    done: Clock = field(default_factory=Clock)
    ended: Clock = field(default_factory=Clock)
    used: bool = False
    met: set[int] = field(default_factory=set)
    waited: set[tuple[int, int]] = field(default_factory=set)
    acted: set[tuple[int, int]] = field(default_factory=set)
    left: dict[tuple[int, int], Operation] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Unwritten:
    """A read of tensor memory that nobody had written.

    Attributes:
        case: of finding PR170.
        cta, warp: whose tensor memory it reads, and the warp that issues it.
        low, high: the first column and the one after the last.
    """

    case: str
    operation: Operation
    cta: int
    warp: int
    low: int
    high: int


@dataclass(slots=True)
class Written:
    """What of tensor memory was written, and what was read before (``written``).

    Attributes:
        columns: the first column of each write and the one after the last, the kind of the access and the warp that
            issued it, by CTA.
        anywhere: the CTAs where something was written to a place that is not known.
        missing: the reads of what nobody had written, by case and ``id`` of their operations.
        products: the first MMA that writes each accumulator, by CTA, first column and the one after the last.
        read: the first column of each read and the one after the last, with the ``id`` of what reads, by CTA.
        unplaced: whether it is not known where an accumulator is, or what reads.
    """

    columns: dict[int, set[tuple[int, int, str, int]]] = field(default_factory=dict)
    anywhere: set[int] = field(default_factory=set)
    missing: dict[tuple[str, int], Unwritten] = field(default_factory=dict)
    products: dict[tuple[int, int, int], Operation] = field(default_factory=dict)
    read: dict[int, set[tuple[int, int, int]]] = field(default_factory=dict)
    unplaced: bool = False


@dataclass(slots=True)
class TensorMemory:
    """Tensor memory (``tensor_memory``, ``elements``).

    Attributes:
        memory: all of it, once some was allocated.
        allocated: first column, number of columns and the allocation, by CTA.
        addresses: the addresses that allocations wrote to shared memory, or threads, by place.
        writes: the agents, the moment and the operation of the write of an allocation.
        early: the warps that read such an address too early: their read, and the allocation.
        overwritten: what wrote over such an address since.
        stale: what reads there then, by ``id``, and what wrote over it.
        read: the first read of each place where no address was, by warp, and its moment; None where nothing allocates.
        released: where a CTA relinquished its permit to allocate.
        group: whether tcgen05 operations are of two CTAs, and the first of them.
        outside: operations found to access columns that are not allocated, by ``id``.
        written: which columns hold what somebody wrote.
        paired: operations that a pair of CTAs executes together, by ``id``, and the CTAs that did.
        loose: the CTAs that have freed one of several allocations, by an address that is not known.
        supposed: the only allocation, of some columns, where numbers were addresses: it begins at column 0 then.
        sole: the agents and the moment of an allocation of all columns, or the only one, by CTA, where it is the last;
            then the operation, where it is one of some columns.
        handed_on: loads whose columns others wrote before their registers were used, by ``id``.
        loads: the moment of the last load of each warp, by its agent and by where the load begins in the text.
    """

    memory: Allocation | None = None
    allocated: dict[int, list[tuple[int, int, Operation]]] = field(default_factory=dict)
    addresses: dict[Place, Address] = field(default_factory=dict)
    writes: dict[Place, tuple[tuple[Agent, ...], int, Operation]] = field(default_factory=dict)
    early: dict[tuple[int, int], tuple[Operation, Operation]] = field(default_factory=dict)
    overwritten: dict[Place, Operation] = field(default_factory=dict)
    stale: dict[int, tuple[Operation, Operation]] = field(default_factory=dict)
    read: dict[Place, dict[tuple[int, int], tuple[Operation, int]]] | None = None
    released: dict[int, Operation] = field(default_factory=dict)
    group: tuple[bool, Operation] | None = None
    outside: set[int] = field(default_factory=set)
    written: Written = field(default_factory=Written)
    paired: dict[int, tuple[Operation, set[int]]] = field(default_factory=dict)
    loose: set[int] = field(default_factory=set)
    supposed: Operation | None = None
    sole: dict[int, tuple[tuple[Agent, ...], int, Operation | None]] = field(default_factory=dict)
    handed_on: set[int] = field(default_factory=set)
    loads: dict[tuple[object, ...], int] = field(default_factory=dict)


@dataclass(slots=True)
class Taint:
    """What operations may have touched that could not be followed (``machine``): no finding rests on it.

    Attributes:
        places: barriers, by CTA, allocation and byte.
        memories: allocations whose barriers are all in doubt, by serial number.
        everything: whether an operation may have done anything.
        reasons: the operations, each with a case of finding PR190.
        released: waits that were left although nothing is known to complete them.
        found: how many findings there were before the first of them was left.
        unseen: steps that access memory of which it is not known where it is, by ``id``.
    """

    places: set[BarrierKey] = field(default_factory=set)
    memories: set[int] = field(default_factory=set)
    everything: bool = False
    reasons: list[tuple[str, Operation]] = field(default_factory=list)
    released: list[Operation] = field(default_factory=list)
    found: int = 0
    unseen: dict[int, Operation] = field(default_factory=dict)

    def covers(self, key: BarrierKey) -> bool:
        """Whether a barrier is in doubt."""
        return self.everything or key in self.places or key[1] in self.memories


class Cells(dict[int, tuple[int | Lanes | None, int]]):
    """Integers in one memory by their place, with their length.

    Attributes:
        longest: no cell is longer.
    """

    longest = 0

    def put(self, place: int, value: int | Lanes | None, length: int) -> None:
        self[place] = (value, length)
        self.longest = max(self.longest, length)

    def near(self, low: int, length: int) -> list[int]:
        """The places of cells that overlap so much memory from a place on."""
        reach = range(low - self.longest + 1, low + length)
        near = (at for at in reach if at in self) if len(reach) < len(self) else (at for at in self if at in reach)
        return [at for at in near if low - self[at][1] < at]


_ONCE = 2  # a loop that is gone through once asks at its beginning, and again before a second turn


@dataclass(slots=True)
class Coverage:
    """How far a run follows the kernel (``machine``): what ``verify`` judges the findings by.

    Attributes:
        undecided: places of branches that only data decide, of which nothing is known.
        uneven: places of branches that threads of a thread set take each in its own way, or may take so.
        executed: the steps that were executed, by ``id`` of their operations.
        empty: places of loops whose bounds were one number, whatever that is, or whose condition another loop had ended
            by; entered: of those of which that is not so.
        guessed: the steps in loops that were left where they may not end, likewise.
        skipped: whether a counted loop that takes part in the protocol had no turn.
        passed_by: the same of a loop with a condition.
        unknown: whether only data decide how many turns some loop has.
        cut: whether a loop inside another was left although its condition held: what comes after may be out of step.
        shortened: how deep loops lie that take part in the protocol and were left although the text alone says that
            they go on; 0 where there are none. Of roles that unroll one in different ways each did another part of it.
        complete: whether the run ended before the limit of steps.
        went: which ways each branch and loop was taken, by place.
        doubtful: those of them that something supposed or unknown decided.
        turned: loops with a condition that something supposed or unknown decided in some turn.
        left: the loops that threads left; circled: those of them that went around, more than once through.
        lengths: how often loops go around at most, by place: as far as they did, or as their bounds say.
        abandoned: the loops that were left although they go on, or nothing says that they do not.
        terms: the terms of what decided there.
        passed: branches at which threads went past a loop that takes part in the protocol, by what is supposed or
            unknown.
        cells: where integers in shared memory were loaded or stored, by place: the allocation, the first byte and that
            behind the last one.
        starts: how often they were there, by place, then by CTA and first byte.
    """

    executed: set[int] = field(default_factory=set)
    empty: set[int] = field(default_factory=set)
    entered: set[int] = field(default_factory=set)
    undecided: set[int] = field(default_factory=set)
    uneven: set[int] = field(default_factory=set)
    guessed: set[int] = field(default_factory=set)
    skipped: bool = False
    passed_by: bool = False
    unknown: bool = False
    cut: bool = False
    shortened: int = 0
    complete: bool = True
    went: dict[int, set[bool]] = field(default_factory=dict)
    doubtful: set[int] = field(default_factory=set)
    turned: set[int] = field(default_factory=set)
    left: set[int] = field(default_factory=set)
    circled: set[int] = field(default_factory=set)
    lengths: dict[int, int] = field(default_factory=dict)
    abandoned: set[int] = field(default_factory=set)
    terms: dict[int, set[int]] = field(default_factory=dict)
    passed: set[int] = field(default_factory=set)
    cells: dict[int, tuple[str, int, int]] = field(default_factory=dict)
    starts: dict[int, dict[tuple[int, int], int]] = field(default_factory=dict)

    def touched(self, place: int, cta: int, memory: str, low: int, high: int) -> None:
        """Threads load or store an integer in shared memory."""
        mine = self.starts.get(place)
        if mine is None:
            mine = self.starts[place] = {}
        key = cta, low
        mine[key] = mine.get(key, 0) + 1
        known = self.cells.get(place)
        if known is None or known[0] != memory or low < known[1] or known[2] < high:
            _, first, last = known or (memory, low, high)
            self.cells[place] = (memory, min(first, low), max(last, high))

    def cycling(self) -> Iterator[int]:
        """The places where threads loaded or stored again wherever they did once: in stages that they go round."""
        for place, mine in self.starts.items():
            if min(mine.values()) > 1:
                yield place

    def leave(self, place: int, asked: int) -> None:
        """Threads leave a loop when its condition is asked for the ``asked``-th time."""
        self.left.add(place)
        if asked > _ONCE:
            self.circled.add(place)
        self.goes(place, asked - 1)

    def goes(self, place: int, turns: int) -> None:
        """A loop goes around so often."""
        if turns > self.lengths.get(place, 0):
            self.lengths[place] = turns


__all__ = [
    "Allocations",
    "Barrier",
    "Box",
    "Cells",
    "ClusterBarrier",
    "Coverage",
    "Deliveries",
    "Delivery",
    "EarlyRead",
    "Exits",
    "MatrixRead",
    "NamedBarriers",
    "Place",
    "Releases",
    "Remote",
    "Surroundings",
    "Taint",
    "TensorMemory",
    "Unwritten",
    "Use",
    "Written",
]
