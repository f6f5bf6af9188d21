"""Thread sets: the threads of one CTA that are at one place of the program."""

from __future__ import annotations

from collections.abc import Iterable, Set
from functools import lru_cache
from itertools import zip_longest
from typing import TypeAlias

from tileproof.base.by_identity import by_identity
from tileproof.base.records import dataclass, field
from tileproof.mlir.ir import Operation
from tileproof.protocol.values import Address, Lanes, Local, Value, by_thread, term_of
from tileproof.protocol.vector_clock import Agent, Clock

BarrierKey: TypeAlias = "tuple[int, int, int]"  # an mbarrier: CTA, allocation, byte
BarrierName: TypeAlias = "tuple[int, int | None]"  # a barrier of threads: CTA, ID


@dataclass(frozen=True, slots=True)
class OnMbarrier:
    """Threads wait for a phase of an mbarrier.

    Attributes:
        barrier, phase: the object and its phase when they asked, where the machine says so.
    """

    key: BarrierKey
    barrier: object = field(default=None, compare=False)
    phase: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class OnBarrier:
    """Threads wait at a barrier of the CTA until as many threads as it expects are there."""

    name: BarrierName
    expected: int


@dataclass(frozen=True, slots=True)
class OnCluster:
    """Threads wait at the barrier of the cluster."""


@dataclass(frozen=True, slots=True)
class OnRegisters:
    """Threads wait for registers of the pool of their CTA."""

    cta: int


Awaited: TypeAlias = "OnMbarrier | OnBarrier"
Wait: TypeAlias = "Awaited | OnCluster | OnRegisters"


@dataclass(slots=True)
class Group:
    """Asynchronous operations of one group: the moment of the last one, and the operations.

    Attributes:
        issued: of each operation the moment, and the threads that issued it: it is in a group of each of these alone.
        registers: that they use: allocation, first and last bit.
    """

    moment: int = -1
    operations: list[Operation] = field(default_factory=list)
    issued: list[tuple[int, tuple[int, ...]]] = field(default_factory=list)
    registers: set[tuple[int, int, int]] = field(default_factory=set)

    def copy(self) -> Group:
        return Group(self.moment, list(self.operations), list(self.issued), set(self.registers))

    def of(self, threads: Set[int]) -> Group:
        """What of it is of some threads."""
        mine = [i for i, (_, by) in enumerate(self.issued) if not threads.isdisjoint(by)]
        if len(mine) == len(self.issued):
            return self
        operations, issued = [self.operations[i] for i in mine], [self.issued[i] for i in mine]
        return Group(max((moment for moment, _ in issued), default=-1), operations, issued, self.registers)

    def joined(self, other: Group) -> Group:
        """This one and that of other threads, which were one before."""
        if self is other or not (other.operations or other.moment > self.moment):
            return self
        if not self.operations and other.moment >= self.moment:
            return other
        known = {moment for moment, _ in self.issued}
        new = [i for i, (moment, _) in enumerate(other.issued) if moment not in known]
        return Group(
            max(self.moment, other.moment),
            self.operations + [other.operations[i] for i in new],
            self.issued + [other.issued[i] for i in new],
            self.registers | other.registers,
        )


@dataclass(slots=True)
class Queue:
    """The groups of one kind that a thread set has in flight, the oldest first."""

    open: Group = field(default_factory=Group)
    committed: list[Group] = field(default_factory=list)
    waited: bool = False  # whether a wait covered any group
    passed_over: bool = False  # whether a wait came while operations were in no committed group

    def copy(self) -> Queue:
        return Queue(self.open.copy(), list(self.committed), self.waited, self.passed_over)

    def keep(self, threads: Set[int]) -> None:
        """Only what is of some threads."""
        self.open = self.open.of(threads)
        self.committed = _without_old([group.of(threads) for group in self.committed])

    def join(self, other: Queue) -> None:
        """Take in the groups of other threads: the youngest beside the youngest, as a wait counts them for each."""
        pairs = zip_longest(reversed(self.committed), reversed(other.committed))
        both = [a.joined(b) if a and b else a or b for a, b in pairs]
        self.committed = _without_old([group for group in reversed(both) if group is not None])
        self.open = self.open.joined(other.open)
        self.waited |= other.waited
        self.passed_over |= other.passed_over

    def add(self, operation: Operation, moment: int, threads: tuple[int, ...]) -> None:
        self.open.moment = moment
        self.open.operations.append(operation)
        self.open.issued.append((moment, threads))

    def commit(self) -> None:
        self.committed.append(self.open)
        self.open = Group()

    def complete(self, pending: int) -> list[Group]:
        """The groups that complete when all but the ``pending`` youngest do."""
        count = max(len(self.committed) - pending, 0)
        done, self.committed = self.committed[:count], self.committed[count:]
        self.waited = self.waited or bool(done)
        self.passed_over |= bool(self.open.operations)
        return done

    def in_flight(self) -> list[Group]:
        return [*self.committed, self.open]


def _without_old(groups: list[Group]) -> list[Group]:
    """Groups without the oldest ones in which nothing is: waits count from the youngest."""
    first = next((i for i, group in enumerate(groups) if group.operations), len(groups))
    return groups[first:]


@dataclass(eq=False)
class Reconvergence:
    """The reconvergence point of the parts of a thread set."""

    place: int
    missing: int
    parked: list[ThreadSet] = field(default_factory=list)
    dissolved: bool = False


@dataclass(eq=False, slots=True)
class ThreadSet:
    """Threads of one CTA at one place of the program.

    Attributes:
        warp: the threads of a warp; block: those of the CTA, which all ``Lanes`` have an integer for.
        own: what each warp knows of itself alone: the moments of its completed asynchronous operations.
        turns: iterations of each loop without a known trip count.
        version: counts what it learned; parts with different versions do not reconverge.
        arrived: its arrival at the cluster barrier that it has not waited for yet.
        passed: the barrier at which it waited and that has completed since.
        excused: whether it leaves the wait where it is blocked although nothing is known to complete it.
        gathering: whether it waits for the rest of its warpgroup; gathered: whether that has come; alone: whether it
            goes on without it.
        idle: threads that have left a loop which others of their warp still go around, by the place of the loop.
        warps: those that its threads belong to.
    """

    cta: int
    threads: tuple[int, ...]
    values: list[Value]
    clock: Clock
    warp: int
    block: int
    place: int = 0
    own: dict[Agent, int] = field(default_factory=dict)
    queues: dict[str, Queue] = field(default_factory=dict)
    turns: dict[int, int] = field(default_factory=dict)
    reconvergences: list[Reconvergence] = field(default_factory=list)
    touched: dict[int, Operation] = field(default_factory=dict)  # registers written since the last wgmma.fence
    fenced: bool = False
    version: int = 0
    arrived: Operation | None = None
    parked: bool = False
    finished: bool = False
    blocked: Wait | None = None
    passed: BarrierName | None = None
    excused: bool = False
    gathering: bool = False
    gathered: bool = False
    alone: bool = False
    idle: dict[int, frozenset[int]] = field(default_factory=dict)
    warps: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        self._are(_one(self.threads))

    def _are(self, threads: tuple[int, ...]) -> None:
        self.threads = threads
        self.warps = _warps(threads, self.warp)

    @property
    def awaited(self) -> Awaited | None:
        """The mbarrier or barrier of threads that it waits for, the same for all who wait there."""
        wait = self.blocked
        if isinstance(wait, OnBarrier):
            return OnBarrier(wait.name, 0)
        return wait if isinstance(wait, OnMbarrier) else None

    @property
    def active(self) -> Iterable[int]:
        """Its threads, but for those that have left a loop."""
        idle = frozenset[int]().union(*self.idle.values())
        return [one for one in self.threads if one not in idle] if idle else self.threads

    def queue(self, kind: str) -> Queue:
        return self.queues.setdefault(kind, Queue())

    def part(self, threads: tuple[int, ...]) -> ThreadSet:
        """A copy with some of its threads."""
        other = ThreadSet(
            self.cta,
            self.threads,
            list(self.values),
            self.clock.copy(),
            self.warp,
            self.block,
            self.place,
            dict(self.own),
            {kind: queue.copy() for kind, queue in self.queues.items()},
            dict(self.turns),
            list(self.reconvergences),
            dict(self.touched),
            self.fenced,
            self.version,
            self.arrived,
        )
        other.idle = dict(self.idle)
        other.keep(threads)
        return other

    def keep(self, threads: tuple[int, ...]) -> None:
        """Keep only some of the threads.

        Completion of a wgmma is known to each warp of its warpgroup, that of all else to the warps that issued it.
        """
        before = self.warps
        self._are(_one(threads))
        warps = self.warps
        if warps != before:
            self.own = {agent: moment for agent, moment in self.own.items() if agent[0] == "wgmma" or agent[2] in warps}
        if self.queues:
            mine = set(threads)
            for queue in self.queues.values():
                queue.keep(mine)

    def absorb(self, other: ThreadSet, outputs: tuple[int, ...]) -> None:
        """Reconverge with another part, which is at the same place."""
        for slot in outputs:
            a, b = self.values[slot], other.values[slot]
            if a == b:
                continue
            if isinstance(a, int | Lanes | None) and isinstance(b, int | Lanes | None):
                mine = set(self.threads)
                each = tuple(_at(a if t in mine else b, t) for t in range(self.block))
                self.values[slot] = Lanes(each, _supposed(a, b))
            elif isinstance(a, Address) or isinstance(b, Address):
                self.values[slot] = self._met(other, a, b)
            elif isinstance(a, Local) and isinstance(b, Local):
                self.values[slot] = a.met(b)
            else:
                self.values[slot] = None
        self._are(_joined(self.threads, other.threads))
        self.clock.join(other.clock)
        for agent, moment in other.own.items():
            if self.own.get(agent, -1) < moment:
                self.own[agent] = moment
        self.touched.update(other.touched)
        self.arrived = self.arrived and other.arrived
        self.fenced = self.fenced and other.fenced
        for kind, queue in other.queues.items():
            self.queue(kind).join(queue)
        self.version = max(self.version, other.version)

    def _met(self, other: ThreadSet, a: Value, b: Value) -> Value:
        """What threads have that come from two branches, an address at least in one of them."""
        mine, theirs = set(self.threads), set(other.threads)
        return by_thread([True if t in mine else False if t in theirs else None for t in range(self.block)], a, b)


@lru_cache(maxsize=1024)
def _one(threads: tuple[int, ...]) -> tuple[int, ...]:
    """These threads as one object, however often they part and meet: by that results are kept (``by_identity``)."""
    return threads


@by_identity
def _joined(threads: tuple[int, ...], others: tuple[int, ...]) -> tuple[int, ...]:
    return _one(tuple(sorted((*threads, *others))))


@by_identity
def _warps(threads: tuple[int, ...], warp: int) -> tuple[int, ...]:
    return tuple(sorted({thread // warp for thread in threads}))


def _supposed(a: Value, b: Value) -> int | None:
    """The term of values that come from two branches; None where both are known."""
    terms = (term_of(a), term_of(b))
    return None if terms == (None, None) else hash(terms)


def _at(value: Value, thread: int) -> int | None:
    if isinstance(value, Lanes):
        return value.each[thread] if thread < len(value.each) else None
    return value if isinstance(value, int) else None
