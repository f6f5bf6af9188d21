"""The abstract machine: runs the thread sets of a cluster in turn until all are finished or none can proceed."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from functools import lru_cache
from typing import TypeAlias

from tileproof.base.by_identity import by_identity
from tileproof.base.records import dataclass, field, replace
from tileproof.dialects.operations import Operations
from tileproof.evaluate import hardware
from tileproof.mlir.ir import Operation
from tileproof.protocol.box_reads import BoxReads
from tileproof.protocol.budget import limit
from tileproof.protocol.by_role import goes_anyhow
from tileproof.protocol.deciding import Writers, handed, writers_of
from tileproof.protocol.faults import ProtocolFault, stated
from tileproof.protocol.folding import Shape
from tileproof.protocol.ledger import Event
from tileproof.protocol.memory import Access, AccessLog, Span
from tileproof.protocol.program import Instruction, Program, goes_past, is_count
from tileproof.protocol.seen import addressed, sees
from tileproof.protocol.state import (
    Allocations,
    Barrier,
    Cells,
    ClusterBarrier,
    Coverage,
    Deliveries,
    Exits,
    NamedBarriers,
    Releases,
    Stores,
    Surroundings,
    Taint,
    TensorMaps,
    TensorMemory,
    WarpLanes,
)
from tileproof.protocol.terms import said_of, told
from tileproof.protocol.trace import TraceStep, path_to
from tileproof.protocol.values import Address, Allocation, Fields, Lanes, Open, Supposed, Value, numbered, same, term_of
from tileproof.protocol.vector_clock import Agent, Clock
from tileproof.protocol.warps import BarrierKey, OnBarrier, OnMbarrier, Reconvergence, ThreadSet
from tileproof.rulebase.book import Rulebook

GRID: Agent = ("grid",)  # all that the grid before did
_ARGUMENT = 2  # the arguments of the kernel, apart from other terms
_MOVED = ("offset", "element", "slice")  # of a pointer or tensor: each thread may have its own
_IN_TENSOR_MEMORY = {"tmem_load", "tmem_store", "raw_tmem_copy", "raw_mma"}  # steps to which it is given as a pointer
_POINTER = "ptr<"
_UNORDERED = {"cluster_arrive", "cluster_wait", "registers", "finish"}  # need no order among the CTAs of a cluster
_WAITS = {"wait", "peek", "block", "cta_barrier", "cta_arrive"}  # roles wait at different phases and barriers
Missed: TypeAlias = "Callable[[ThreadSet, Sequence[Agent], int, Callable[[int], bool]], None]"
_Computed: TypeAlias = "tuple[list[Value], Sequence[Value]]"  # of which values, and what
# What instructions computed last, by ``id``, and of what: all runs of a kernel compute much alike.
Results: TypeAlias = "dict[int, tuple[Instruction, list[Value], Sequence[Value]]]"
Unseen: TypeAlias = "Callable[[ThreadSet, Sequence[Agent], int], None]"


class Unfollowed(Exception):
    """The machine cannot say what an operation does; ``case`` is one of finding PR190."""

    def __init__(self, operation: Operation, case: str) -> None:
        super().__init__(case)
        self.operation = operation
        self.case = case


@dataclass(slots=True)
class Machine:
    """One run of a kernel.

    Attributes:
        tiles: turns of an outermost loop with a condition: that over the tiles of a persistent kernel.
        whole: loops that lie in so many others or more, themselves counted, go round as often as the text says where it
            does; 0 where none does.
        barriers: the valid mbarrier objects; ``invalidated``: those that were, as they were then.
        accesses: the accesses to each allocation, by CTA and serial number.
        marks: when a warp last crossed a barrier, passed an mbarrier, or executed a fence of tensor memory.
        wgmma_groups: the moments of the wgmma groups that a warp has committed, by CTA and warp.
        wgmma_complete: how many of them it has waited for.
        fresh: mbarriers whose initialisation no fence has followed, by CTA.
        mailboxes: integers that threads keep in memory (``actions/contents``), with their length, by CTA and
            allocation, then by their place: bytes of shared memory, bits of registers, where each thread has its own.
        budgets: the registers a thread of a warp of a CTA may use since its last setmaxregister.
        requests: all that a warp asked for, in order; ``granted``: what it has of them.
        accumulators: the first MMA on registers, by CTA and allocation, where it adds to what they hold; else None.
        watch: looks at the machine between two rounds, or at the head of a loop where all threads have one role.
        most: after how many instructions it gives up.
        gives_up: whether it does so at a loop, by its place and how often it goes around.
        until: the place of a branch or loop at which it does so, once threads are there.
        more: how many instructions the run may take in all, once it has taken the most; 0: no more.
        roles: how many parts of a CTA one index may tell apart.
        copied: the bytes of a bulk copy are a multiple of it.
        computed: what threads last computed of what, by place: most turns of a loop compute the same.
        results: the same of whichever threads, in this run or another one.
        makers: the computation of each slot, once that was asked (``origins``).
        said: the findings in short, so that one of each turn of a loop is put in words once.
        history: what was done, in order, where the path to a finding is wanted.
        events: what came to each mbarrier, in order, where a finding is diagnosed.
        allowed: the findings, by code and place, that do not end a run in which a repair is tried.
        ends: whether a finding, by code and place, ends the run.
        missed: told of accesses by asynchronous operations that are not ordered before what a thread set does: their
            agents, moment, and which warps surely need to know of their own only.
        unseen: told of accesses by threads that are ordered before what a thread set does in the async proxy, and that
            no proxy fence makes visible there: those of their agents for whom that is so, and the moment.
        names: what barriers are called, where that is known better than by the memory that they lie in.
        tallies: what steps that the text does not have count, where a repair is tried.
        forced: which way to go at branches and loops, by place, whatever is supposed there.
        agreed: the same by the term of the condition: what two thread sets compute alike they decide alike.
        excusing: whether threads that wait for ever go on, and know all that happened: roles may disagree on decisions.
        taint: what is in doubt.
        deliveries: what copies of unknown size deliver.
        stores: what stores of unknown size read.
        maps: tensor maps that the kernel modifies.
        lanes: what lanes of one warp stored without meeting, where only some of them arrive.
        loads: how many bytes copies of unknown size write, by what those of one size have in common (``Box.alike``).
        reads: what is read of what copies of unknown size deliver; None where their size is known.
        together: the steps that all threads of a warp execute together.
        gathering: the ones of them at which the warps of a warpgroup come together.
        addressed: the steps that access memory where an operand says (``seen``).
        tried: which parity threads last tried at a barrier, and by which operation, by CTA and first warp.
        misled: the operations, by ``id``, that tried another parity than the wait after them.
        eager: those of them that succeed where the phase that they try is over; any other try_wait fails, so that the
            wait after it is verified. ``slow``: the threads that one let past, by CTA and first warp, up to the phase.
        pending: the last operation, by ``id``, that tried barriers, and which, by CTA and first warp, up to their next
            wait; ``astray``: those behind which that was at another barrier.
        telling: those of them that come when the phase is over, and succeed.
        beyond: whether threads named a CTA that the cluster does not have.
        settled: the terms of conditions by which loops ended: they do not hold, whoever asks.
        asked: how often each CTA asked for the work of another one.
        counters: how often threads of a CTA asked a counter in global memory, by the first of them and its place.
        again: who initialised a barrier last that was already, CTA and first thread, and the place.
        help: lets threads go on that wait for ever; whether any can.
        jobs: whether a loop takes jobs, by the place of its check (``takes_jobs``).
        prior: how many findings there were when threads first left a loop that takes part in the protocol, or went past
            one, by a number that is supposed; None where none did.
        until_left: whether the run ends then.
        passing: which ways of branches go past such loops.
        alignments: of each memory the first barrier that was initialised at each distance from where they are aligned.
        writers: the instructions that give each slot a value, once that was asked (``by_role``).
        spans: where operations access memory, by ``id``, of those of which that is wanted.
        multiplied: how often each warp executed a wgmma, by ``id`` of the operation, then by CTA and warp.
        repeated: MMAs that add and that several threads issued at once, by ``id``: with their place, and how many.
    """

    program: Program
    shape: Shape
    book: Rulebook
    actions: dict[str, Callable[[Machine, ThreadSet, Instruction], int]]
    module: Surroundings
    faults: list[ProtocolFault] = field(default_factory=list)
    thread_sets: list[ThreadSet] = field(default_factory=list)
    allocations: Allocations = field(default_factory=Allocations)
    accesses: dict[tuple[int, int], AccessLog] = field(default_factory=dict)
    barriers: dict[BarrierKey, Barrier] = field(default_factory=dict)
    invalidated: dict[BarrierKey, Barrier] = field(default_factory=dict)
    releases: Releases = field(default_factory=Releases)
    exits: Exits = field(default_factory=Exits)
    named: NamedBarriers = field(default_factory=NamedBarriers)
    cluster: ClusterBarrier = field(default_factory=ClusterBarrier)
    tensor: TensorMemory = field(default_factory=TensorMemory)
    deliveries: Deliveries = field(default_factory=Deliveries)
    stores: Stores = field(default_factory=Stores)
    maps: TensorMaps = field(default_factory=TensorMaps)
    lanes: WarpLanes = field(default_factory=WarpLanes)
    loads: Mapping[object, int] = field(default_factory=dict)
    reads: BoxReads | None = None
    mailboxes: dict[tuple[int, int], Cells] = field(default_factory=dict)
    fresh: dict[int, dict[BarrierKey, Barrier]] = field(default_factory=dict)
    budgets: dict[tuple[int, int], tuple[int, Operation]] = field(default_factory=dict)
    requests: dict[tuple[int, int], list[tuple[int, Operation]]] = field(default_factory=dict)
    granted: dict[tuple[int, int], int] = field(default_factory=dict)
    accumulators: dict[tuple[int, int], Operation | None] = field(default_factory=dict)
    marks: dict[tuple[str, int, int], int] = field(default_factory=dict)
    wgmma_groups: dict[tuple[int, int], list[int]] = field(default_factory=dict)
    wgmma_complete: dict[tuple[int, int], int] = field(default_factory=dict)
    coverage: Coverage = field(default_factory=Coverage)
    now: int = 0
    steps: int = 0
    tiles: int = 3
    whole: int = 0
    forced: Mapping[int, bool] = field(default_factory=dict)
    agreed: Mapping[int, bool] = field(default_factory=dict)
    excusing: bool = False
    taint: Taint = field(default_factory=Taint)
    makers: dict[int, Instruction] | None = None
    said: set[tuple[str, ...]] = field(default_factory=set)
    history: list[TraceStep] | None = None
    events: list[Event] | None = None
    allowed: Set[tuple[str, int]] | None = None
    ends: Callable[[str, int], bool] | None = None
    missed: Missed | None = None
    unseen: Unseen | None = None
    names: Mapping[BarrierKey, str] = field(default_factory=dict)
    tallies: dict[tuple[int, ...], int] = field(default_factory=dict)
    watch: Callable[[Machine], None] | None = None
    running: ThreadSet | None = None
    most: int = 0
    gives_up: Callable[[int, int], bool] | None = None
    until: int = -1
    more: Callable[[Machine], int] | None = None
    roles: int = 0
    copied: int = 1
    computed: dict[int, tuple[tuple[int, ...], dict[int, _Computed]]] = field(default_factory=dict)
    results: Results = field(default_factory=dict)
    together: Set[str] = frozenset()
    gathering: Set[str] = frozenset()
    addressed: Mapping[str, str] = field(default_factory=dict)
    tried: dict[tuple[int, int, BarrierKey], tuple[bool, Operation]] = field(default_factory=dict)
    misled: set[int] = field(default_factory=set)
    eager: Set[int] = frozenset()
    pending: dict[tuple[int, int], tuple[int, frozenset[BarrierKey]]] = field(default_factory=dict)
    astray: set[int] = field(default_factory=set)
    telling: Set[int] = frozenset()
    slow: set[tuple[int, int]] = field(default_factory=set)
    beyond: bool = False
    settled: set[int] = field(default_factory=set)
    asked: dict[int, int] = field(default_factory=dict)
    counters: dict[tuple[int, int, int], int] = field(default_factory=dict)
    help: Callable[[Machine], bool] | None = None
    jobs: dict[int, bool] = field(default_factory=dict)
    again: tuple[tuple[int, int], int] | None = None
    until_left: bool = False
    prior: int | None = None
    passing: dict[tuple[int, bool], bool] = field(default_factory=dict)
    alignments: dict[tuple[int, int], dict[int, tuple[int, Operation]]] = field(default_factory=dict)
    writers: Writers | None = None
    spans: Mapping[int, set[Span]] = field(default_factory=dict)
    multiplied: dict[int, tuple[Operation, Counter[tuple[int, int]]]] = field(default_factory=dict)
    repeated: dict[int, tuple[Operation, int, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.most = self.most or limit(self.book, "run_steps")
        self.roles = limit(self.book, "thread_groups")
        self.copied = hardware.limit(self.book, "bulk_bytes")
        if self.module.read is not None:
            self.reads = BoxReads(self.copied, hardware.widest_row(self.book) // self.copied)
        if any(one.effect is not None and one.effect.name == "tmem_alloc" for one in self.program.code):
            self.tensor.read = {}
        modifying = {step[1:] for step in self.book.enums["map_step"].members}
        self.maps.modified = any(one.effect is not None and one.effect.name in modifying for one in self.program.code)
        self.together = frozenset(step[1:] for step in self.book.enums["together_step"].members)
        self.gathering = frozenset(step[1:] for step in self.book.enums["gathering_step"].members)
        self.addressed = addressed(self.book)
        self.allocations.lane = hardware.limit(self.book, "lane_bit")
        self.allocations.column = hardware.limit(self.book, "column_bits")
        self.allocations.quarter = hardware.limit(self.book, "tmem_lanes") // hardware.limit(self.book, "group_warps")

    # -- running

    def run(self) -> None:
        """Run all CTAs of a cluster."""
        for cta in range(self.shape.ctas):
            values: list[Value] = [None] * self.program.slots
            names = self.program.kernel.regions[0].blocks[0].arguments
            for (slot, text), name in zip(self.program.arguments, names, strict=True):
                values[slot] = self.argument(slot, text, name.name)
            block = self.shape.threads
            thread_set = ThreadSet(cta, tuple(range(block)), values, Clock(), self.shape.warp, block)
            self.thread_sets.append(thread_set)
        while True:
            moved = False
            for thread_set in list(self.thread_sets):
                if thread_set.finished or thread_set.parked:
                    continue
                if self.waits(thread_set):
                    self.steps += 1
                else:
                    moved |= self.advance(thread_set)
            self.thread_sets = [s for s in self.thread_sets if not s.finished]
            self.look()
            goes = moved or self.deliver() or self.release_parked() or self.part_warpgroup()
            if not (goes or self.halve() or self.excuse() or self.helped()):
                return
            if self.steps > self.most:
                self.most = self.more(self) if self.more is not None and self.most else 0
                if self.steps > self.most:
                    self.coverage.complete = False
                    return

    def expected_steps(self) -> int | None:
        """How many instructions the run takes in all, by how far the loops are that threads are in; None: not known."""
        code, lengths = self.program.code, self.coverage.lengths
        shares = []
        for thread_set in self.thread_sets:
            around = [at for at, turns in thread_set.turns.items() if turns and at < thread_set.place < code[at].target]
            counted = [at for at in around if lengths.get(at)]
            if counted:
                outermost = min(counted)
                shares.append(lengths[outermost] / thread_set.turns[outermost])
        return round(self.steps * max(shares)) if shares else None

    def waits(self, thread_set: ThreadSet) -> bool:
        """Whether a thread set still waits for the phase of an mbarrier that it waited for when it last ran."""
        wait = thread_set.blocked
        if not isinstance(wait, OnMbarrier) or thread_set.excused:
            return False
        barrier = self.barriers.get(wait.key)
        return barrier is not None and barrier is wait.barrier and barrier.phase == wait.phase

    def argument(self, slot: int, text: str, name: str) -> Value:
        """What an argument of the kernel is: an extent, or a place in global memory."""
        if is_count(text):
            return Supposed(self.shape.extents.argument, hash((_ARGUMENT, slot)))
        if text.startswith("!llvm.ptr") or ".ptr<" in text or "tensor_map" in text or "gmem" in text:
            return Address(self.allocations.argument(name, slot), 0, 8)
        return None

    def advance(self, thread_set: ThreadSet) -> bool:
        """Run a thread set until it waits, ends or is split; whether it progressed."""
        code, values, went = self.program.code, thread_set.values, self.coverage.went
        self.running = thread_set
        started = thread_set.place
        first = True
        threads: tuple[int, ...] = ()
        while True:
            if thread_set.threads is not threads:
                threads = thread_set.threads
                computed = self.computed_by(threads)
            place = thread_set.place
            instruction = code[place]
            kind = instruction.kind
            self.steps += 1
            # Most compute what they did before, or go on without a word: none of those waits or ends.
            if kind == "compute":
                last = computed.get(place)
                if last is None:
                    self.compute(thread_set, instruction, computed)
                else:
                    for slot, value in zip(instruction.inputs, last[0], strict=True):
                        if values[slot] is not value:
                            self.compute(thread_set, instruction, computed)
                            break
                    else:
                        for slot, value in zip(instruction.outputs, last[1], strict=False):
                            values[slot] = value
                target = place + 1
            elif kind == "move":
                read = [values[slot] for slot in instruction.inputs]
                for slot, value in zip(instruction.outputs, read, strict=True):
                    values[slot] = value
                target = place + 1
            elif kind == "jump" and not instruction.other:
                target = instruction.target
            else:
                target = -1
                if kind == "branch":
                    value = values[instruction.inputs[0]]
                    if value.__class__ is int and place != self.until:
                        taken = value != 0
                        if taken in went.get(place, ()):
                            target = place + 1 if taken else instruction.other
                elif kind == "meet":
                    points = thread_set.reconvergences
                    if not points or points[-1].place != place:
                        target = place + 1
                if target < 0:
                    target = self.execute(thread_set, instruction)
                    if target < 0:
                        return not first or thread_set.place != started
            first = False
            thread_set.blocked = None
            thread_set.place = target
            if self.steps > self.most or thread_set.finished or thread_set.parked:
                return True

    def computed_by(self, threads: tuple[int, ...]) -> dict[int, _Computed]:
        """What threads computed last, by place."""
        found = self.computed.get(id(threads))
        if found is None:
            found = self.computed[id(threads)] = (threads, {})  # while it is held no other object has its place
        return found[1]

    def compute(self, thread_set: ThreadSet, instruction: Instruction, computed: dict[int, _Computed]) -> None:
        """Execute a function of values; it is computed anew only where it is one of other values than last.

        Args:
            computed: of its threads.
        """
        values, function, outputs = thread_set.values, instruction.function, instruction.outputs
        if function is None:
            for slot in outputs:
                values[slot] = None
            return
        place, threads = thread_set.place, thread_set.threads
        given = [values[slot] for slot in instruction.inputs]
        read = self.read(thread_set, given, instruction)
        last = self.results.get(id(instruction))
        if last is not None and all(map(same, read, last[1])):
            found = last[2]
        else:
            found = function(*read)  # type: ignore[assignment]
            if len(found) < len(outputs):
                found = (*found, *[None] * (len(outputs) - len(found)))
            self.results[id(instruction)] = instruction, read, found
        if self.agreed:
            found = [told(value, self.agreed) for value in found]  # type: ignore[misc]
        if thread_set.threads is threads:  # a thread set that was split reads otherwise
            computed[place] = given, found
        for slot, value in zip(outputs, found, strict=False):
            values[slot] = value

    def read(self, thread_set: ThreadSet, given: list[Value], instruction: Instruction) -> list[Value]:
        """The operands of a function, those that its threads have in common as one value."""
        for value in given:
            kind = value.__class__
            if kind is Lanes or kind is tuple:
                break
        else:
            return given
        read = given.copy()
        for i, value in enumerate(read):
            if isinstance(value, Lanes):
                read[i] = self.common(thread_set, value, instruction)
            elif isinstance(value, tuple):
                for leaf in value:
                    if isinstance(leaf, Lanes):
                        read[i] = self.each_common(thread_set, value, instruction)
                        break
        return read

    def execute(self, thread_set: ThreadSet, instruction: Instruction) -> int:
        """Execute any other instruction: the next place, negative where the thread set waits."""
        values = thread_set.values
        after = thread_set.place + 1
        kind = instruction.kind
        if kind == "effect":
            assert instruction.effect is not None
            self.coverage.executed.add(id(instruction.operation))
            for slot in instruction.inputs:
                held = values[slot]
                if isinstance(held, Address) and not held.memory.serial:
                    values[slot] = self.placed(thread_set, held)
            name = instruction.effect.name
            if thread_set.arrived is not None and name not in _UNORDERED and not instruction.effect.pure:
                self.cluster.acted.update((thread_set.cta, thread) for thread in thread_set.threads)
            if name in _WAITS:
                for slot in instruction.inputs[:2]:
                    held = values[slot]
                    if isinstance(held, Lanes) and isinstance(held.on(thread_set.threads), Lanes):
                        self.split_by_value(thread_set, held)
            if name in self.together:
                self.whole_warps(thread_set, instruction.operation)
                if name in self.gathering and not self.gathers(thread_set):
                    return -1
            how = self.addressed.get(name)
            if how is not None and not sees(how, self.located(thread_set, instruction)):
                self.taint.unseen.setdefault(id(instruction.operation), instruction.operation)
            where = (thread_set.cta, thread_set.warps)
            if self.module.early:
                self.waited(thread_set, instruction.operation)
            try:
                target = self.actions[name](self, thread_set, instruction)
            except Unfollowed as reason:
                if reason.case == "copy_barrier" and self.split_by_place(thread_set, instruction):
                    return self.execute(thread_set, instruction)
                target = self.doubt(thread_set, instruction, reason)
            if self.history is not None and target >= 0:
                self.history.append(TraceStep(*where, instruction.effect.name, instruction.operation))
            return target
        if kind == "jump":  # to the next turn of a counted loop
            index = values[instruction.outputs[0]]
            step = self.count(thread_set, instruction.inputs[2])
            values[instruction.outputs[0]] = index + step if isinstance(index, int) and step else None
            return instruction.target
        if kind == "branch":
            return self.branch(thread_set, instruction)
        if kind == "meet":
            return self.meet(thread_set, instruction)
        if kind == "enter":
            for slot in instruction.inputs:
                held = values[slot]
                if isinstance(held, Lanes) and isinstance(held.on(thread_set.threads), Lanes):
                    self.split_by_value(thread_set, held)  # roles have different trip counts
            if instruction.outputs:
                values[instruction.outputs[0]] = self.count(thread_set, instruction.inputs[0])
            thread_set.turns[thread_set.place + 1] = 0
            return after
        if kind == "test":
            return self.test(thread_set, instruction)
        if kind == "check":
            return self.check(thread_set, instruction)
        thread_set.finished = True
        self.actions["finish"](self, thread_set, instruction)
        return thread_set.place

    def leader(self, cta: int) -> int:
        """The leader of the pair that a CTA belongs to."""
        return cta - cta % hardware.limit(self.book, "pair_ctas")

    def peer(self, cta: int) -> int:
        """The other CTA of the pair that a CTA belongs to."""
        return 2 * self.leader(cta) + 1 - cta

    def home(self, cta: int, address: Address) -> int:
        """The CTA that an address lies in, of the pair that a CTA belongs to."""
        first = self.leader(cta)
        found = first if address.leader else first + (first + 1 - cta) if address.peer else cta
        self.beyond |= found >= self.shape.ctas
        return found

    def common(self, thread_set: ThreadSet, value: Lanes, instruction: Instruction) -> int | Lanes | None:
        """The integer that all threads of a thread set have; a thread set whose roles use different places is split."""
        found = value.on(thread_set.threads)
        if not isinstance(found, Lanes) or Operations.of(self.book).moves(instruction.operation) not in _MOVED:
            return found
        mine = self.split_by_value(thread_set, found)
        return found if mine is None else mine

    def each_common(
        self, thread_set: ThreadSet, value: Sequence[int | Lanes | None], instruction: Instruction
    ) -> tuple[int | Lanes | None, ...]:
        """``common`` of each leaf."""
        return tuple([self.common(thread_set, one, instruction) if isinstance(one, Lanes) else one for one in value])

    def uniform(self, thread_set: ThreadSet, slot: int) -> int | None:
        """The integer that the threads of a thread set have in common; that of the first one where they differ."""
        value = thread_set.values[slot]
        if isinstance(value, tuple) and len(value) == 1:
            value = value[0]
        if isinstance(value, Lanes):
            first = value.each[thread_set.threads[0]]
            return first if first is None or value.term is None else Supposed(first, value.term)
        return value if isinstance(value, int) else None

    def count(self, thread_set: ThreadSet, slot: int) -> int | None:
        """A bound of a counted loop, or its step: one that is open is the same for all who compute it alike."""
        value = thread_set.values[slot]
        return Supposed(value.number, value.term) if isinstance(value, Open) else self.uniform(thread_set, slot)

    def divided(self, thread_set: ThreadSet) -> dict[int, tuple[int, int]]:
        """The warps of which only some threads are in a thread set: how many they are, and of how many."""
        size, found = thread_set.warp, {}
        if len(thread_set.threads) < size * len(thread_set.warps):
            for warp in thread_set.warps:
                whole = min(size, self.shape.threads - warp * size)
                threads = sum(thread // size == warp for thread in thread_set.threads)
                if threads < whole:
                    found[warp] = (threads, whole)
        return found

    def whole_warps(self, thread_set: ThreadSet, operation: Operation) -> None:
        """Report an operation that only some threads of a warp execute."""
        for warp, (threads, whole) in self.divided(thread_set).items():
            self.report("PR179", "here", operation, threads=threads, whole=whole, warp=warp)

    def branch(self, thread_set: ThreadSet, instruction: Instruction) -> int:
        value = thread_set.values[instruction.inputs[0]]
        parts = isinstance(value, Lanes) and isinstance(value.on(thread_set.threads), Lanes)
        if value is None or isinstance(value, Lanes):
            self.coverage.uneven.add(thread_set.place)
        chosen = None if parts else self.choice(thread_set.place, value)
        if chosen is not None:
            value = int(chosen)
        if isinstance(value, Lanes):
            common = value.on(thread_set.threads)
            if isinstance(common, Lanes):
                told = self.forced.get(thread_set.place) is not False  # of the threads that have no known value
                yes, no, unknown = _ways(common.each, thread_set.threads, told)
                if not no or unknown:
                    self.coverage.doubtful.add(thread_set.place)  # others go by their role, data decide of the rest
                    if self.passes(thread_set.place, told):
                        self.pass_by(thread_set, yes if told else no)
                if yes and no:
                    self.decide(thread_set, value, True, yes)
                    self.decide(thread_set, value, False, no)
                    self.split(thread_set, yes, no, instruction)
                    return thread_set.place + 1
                common = 1 if yes else 0
            value = common
        if isinstance(value, Open):
            value = value.number
        taken = self.most_in(thread_set.place, instruction) if value is None else value != 0
        if value is None:
            self.coverage.undecided.add(thread_set.place)
        self.decide(thread_set, thread_set.values[instruction.inputs[0]], taken)
        return thread_set.place + 1 if taken else instruction.other

    def most_in(self, place: int, instruction: Instruction) -> bool:
        """Which way to go where only data decide: the first, or where neither has a step that with more in it."""
        if not self.module.turned or any(one.effect for one in self.program.code[place : instruction.target]):
            return True
        return instruction.other - place - 2 >= instruction.target - instruction.other  # less the branch and the jump

    def choice(self, place: int, value: Value) -> bool | None:
        """Which way a run is told to go where a supposed or unknown value decides; None where it is told nothing."""
        term = term_of(value)
        if value is not None and term is None:
            return None
        found = self.forced.get(place)
        return said_of(self.agreed, term) if found is None and term is not None else found

    def decide(self, thread_set: ThreadSet, value: Value, way: bool, threads: Sequence[int] = ()) -> None:
        """Note which way a branch or a loop is taken, and whether something supposed or unknown decides it.

        Args:
            threads: those that go this way, where others go the other one.
        """
        coverage, term, place = self.coverage, term_of(value), thread_set.place
        coverage.went.setdefault(place, set()).add(way)
        if place == self.until:
            self.most = 0
        if value is None or term is not None:
            if place not in coverage.passed and self.passes(place, way):
                self.pass_by(thread_set, threads or thread_set.threads)
            coverage.doubtful.add(place)
            if term is not None:
                coverage.terms.setdefault(place, set()).add(term)

    def split(self, thread_set: ThreadSet, yes: tuple[int, ...], no: tuple[int, ...], instruction: Instruction) -> None:
        point = Reconvergence(instruction.target, 2)
        other = thread_set.part(no)
        thread_set.keep(yes)
        other.place = instruction.other
        for part in (thread_set, other):
            part.reconvergences.append(point)
        self.thread_sets.insert(self.thread_sets.index(thread_set) + 1, other)

    def split_by_value(self, thread_set: ThreadSet, value: Lanes) -> int | None:
        """Split a thread set by the values of its threads, without reconvergence; the value that the first part has.

        Not where the value differs within a warp: there it is a place of data and no role.
        """
        groups: dict[int | None, list[int]] = {}
        for thread in thread_set.threads:
            groups.setdefault(value.each[thread], []).append(thread)
        warp = thread_set.warp
        by_warp = {thread // warp: value.each[thread] for thread in thread_set.threads}
        if len(groups) > self.roles or any(by_warp[t // warp] != value.each[t] for t in thread_set.threads):
            return None
        (first, mine), *others = groups.items()
        at = self.thread_sets.index(thread_set) + 1
        if thread_set.reconvergences and len(thread_set.threads) < warp * len(thread_set.warps):
            thread_set.reconvergences[-1].missing += len(
                others
            )  # some lanes of warps, which reconverge with the other lanes
        else:
            for point in thread_set.reconvergences:
                point.dissolved = True
            thread_set.reconvergences.clear()
        for _, threads in others:
            part = thread_set.part(tuple(threads))
            self.thread_sets.insert(at, part)
        thread_set.keep(tuple(mine))
        return first

    def split_by_place(self, thread_set: ThreadSet, instruction: Instruction) -> bool:
        """Split a thread set of whose warps each has a place of its own, a barrier; whether it was split."""
        whole = len(thread_set.threads)
        for slot in instruction.inputs:
            held = thread_set.values[slot]
            if isinstance(held, Address) and held.parts:
                places = Lanes(held.parts)
                if isinstance(places.on(thread_set.threads), Lanes):
                    self.split_by_value(thread_set, places)
        return len(thread_set.threads) < whole

    def meet(self, thread_set: ThreadSet, instruction: Instruction) -> int:
        if not thread_set.reconvergences or thread_set.reconvergences[-1].place != thread_set.place:
            return thread_set.place + 1
        point = thread_set.reconvergences[-1]
        if point.dissolved:
            thread_set.reconvergences.pop()
            return thread_set.place + 1
        point.parked.append(thread_set)
        if len(point.parked) < point.missing:
            thread_set.parked = True
            return thread_set.place
        first, *rest = point.parked
        alike = all(
            other.version == first.version
            or set(other.warps) <= set(first.warps)
            or set(first.warps) <= set(other.warps)
            for other in point.parked
        )
        for part in point.parked:
            part.reconvergences.pop()
            part.parked = False
        if not alike:
            self.diverge(thread_set, len(rest))
            for part in rest:
                if part is not thread_set:
                    part.place += 1
            if first is not thread_set:
                first.place += 1
            return thread_set.place + 1
        for part in point.parked:
            if part is not thread_set:
                thread_set.absorb(part, instruction.outputs)
                part.finished = True
        return thread_set.place + 1

    def release_parked(self, whole: bool = False, among: Set[int] | None = None) -> bool:
        """Release a thread set that waits for reconvergence with a part that is blocked; whether there was one.

        One of whole warps rather than some lanes of a warp: warps need not wait for each other.

        Args:
            whole: only one of whole warps.
            among: only one of these CTAs.
        """
        parked = [one for one in self.thread_sets if one.parked and (among is None or one.cta in among)]
        warps = [one for one in parked if len(one.threads) == one.warp * len(one.warps)]
        free = warps if warps or whole else parked
        if not free:
            return False
        thread_set = free[0]
        point = thread_set.reconvergences.pop()
        point.dissolved = True
        if thread_set in point.parked:
            point.parked.remove(thread_set)
        self.diverge(thread_set, point.missing - 1)
        thread_set.parked = False
        thread_set.place += 1
        return True

    def gathers(self, thread_set: ThreadSet) -> bool:
        """Whether the rest of its warpgroups is where a thread set is, or does not come.

        A warpgroup executes its wgmma together, and a wait ends for all of it: the rulebook's ``gathering_step``.
        """
        if thread_set.gathered or thread_set.alone:
            return True
        missing = self.missing(thread_set.warps)
        sets = (one for one in self.thread_sets if one.cta == thread_set.cta and not one.finished) if missing else ()
        others = [one for one in sets if not missing.isdisjoint(one.warps)]
        thread_set.gathering = any(one.place != thread_set.place for one in others)
        if not thread_set.gathering:
            for one in others:
                one.gathered, one.gathering = True, False
        return not thread_set.gathering

    def missing(self, warps: tuple[int, ...]) -> frozenset[int]:
        """The warps that are missing of the warpgroups that some warps belong to."""
        return _missing(warps, hardware.limit(self.book, "group_warps"))

    def part_warpgroup(self) -> bool:
        """Let warps go on for whom the rest of their warpgroup does not come; whether there are any."""
        gathering = [one for one in self.thread_sets if one.gathering]
        for one in gathering[:1]:
            one.gathering, one.alone = False, True
        return bool(gathering)

    def halve(self) -> bool:
        """Let barriers of threads complete without the rest of a warp; whether any threads may wait for that."""
        waits = not self.named.halves and any(isinstance(one.blocked, OnBarrier) for one in self.thread_sets)
        self.named.halves |= waits
        return waits

    def diverge(self, thread_set: ThreadSet, more: int) -> None:
        """A thread set and ``more`` others arrive separately at the reconvergence points outside."""
        for point in thread_set.reconvergences:
            point.missing += more

    def look(self) -> None:
        """Show the machine to what watches it, once it is in a loop whose length the text does not say."""
        if self.watch is not None and any(
            self.program.code[place].kind in ("test", "check") for place in self.coverage.doubtful
        ):
            self.watch(self)

    def test(self, thread_set: ThreadSet, instruction: Instruction) -> int:
        index = thread_set.values[instruction.outputs[0]]
        high = self.count(thread_set, instruction.inputs[1])
        turns = thread_set.turns[thread_set.place] = thread_set.turns.get(thread_set.place, 0) + 1
        known = isinstance(index, int) and high is not None
        if known:
            self.rest(thread_set, instruction, turns)
        inside = index < high if known else turns <= self.shape.extent  # type: ignore[operator]
        if turns == 1:
            decider = None if not known else index if isinstance(index, Supposed) else high
            empty = known and term_of(index) is not None and term_of(index) == term_of(high)
            (self.coverage.empty if empty else self.coverage.entered).add(thread_set.place)
            decider = 0 if empty else decider  # its bounds are one number, whatever that is
            chosen = self.choice(thread_set.place, decider)
            inside = inside if chosen is None else chosen
            self.decide(thread_set, decider, inside)
            step = self.count(thread_set, instruction.inputs[2]) if known else None
            if step is not None and step > 0:
                length = len(range(index, high, step))  # type: ignore[arg-type]
                self.coverage.goes(thread_set.place, length)
                if self.gives_up is not None and self.gives_up(thread_set.place, length):
                    self.most = 0
        if self.watch is not None and all(one is thread_set or one.finished for one in self.thread_sets):
            self.look()  # it waits for no other, so that there are no rounds
        if not known and not inside:
            self.coverage.unknown = True
            self.guess(thread_set.place, instruction)
        skipped = turns == 1 and not inside and thread_set.place not in self.coverage.empty
        self.coverage.skipped |= skipped and self.acts(thread_set.place, instruction)
        if not inside:
            thread_set.idle.pop(thread_set.place, None)
            self.coverage.leave(thread_set.place, turns)
            self.leaves(thread_set.place, instruction)
        return thread_set.place + 1 if inside else instruction.target

    def rest(self, thread_set: ThreadSet, instruction: Instruction, turns: int) -> None:
        """Note which threads have left a counted loop that the first one is still in: it tells how long the loop is."""
        low, high = (thread_set.values[slot] for slot in instruction.inputs[:2])
        step = self.count(thread_set, instruction.inputs[2])
        lanes = isinstance(low, Lanes) or isinstance(high, Lanes)
        if not lanes or not step or not isinstance(low, int | Lanes) or not isinstance(high, int | Lanes):
            return
        count = thread_set.block
        lows, highs = (one.each if isinstance(one, Lanes) else (one,) * count for one in (low, high))
        idle = (
            thread
            for thread in thread_set.threads
            if (first := lows[thread]) is not None
            and (last := highs[thread]) is not None
            and len(range(first, last, step)) < turns
        )
        thread_set.idle[thread_set.place] = frozenset(idle)

    def check(self, thread_set: ThreadSet, instruction: Instruction) -> int:
        held = thread_set.values[instruction.inputs[0]]
        if isinstance(held, Lanes) and isinstance(held.on(thread_set.threads), Lanes):
            self.split_by_value(thread_set, held)  # roles leave the loop at different times
        value = self.uniform(thread_set, instruction.inputs[0])
        decider = held if isinstance(held, Open) else value
        turns = thread_set.turns[thread_set.place] = thread_set.turns.get(thread_set.place, 0) + 1
        term = term_of(decider)
        if turns == 1:
            empty = value == 0 and term in self.settled
            (self.coverage.empty if empty else self.coverage.entered).add(thread_set.place)
            decider = 0 if empty else decider  # another loop ended by this very condition
        known = value is not None and term_of(decider) is None
        outer, inner = self.tiles, 4 * max(self.shape.extent, 1)
        limit = outer - 1 if value is None else outer if instruction.other == 1 else inner
        if known and limit < max(outer, inner) and self.takes_jobs(thread_set.place):
            limit = max(outer, inner)  # jobs are no tiles, and who hands them out says when it ends
        endless = known and 0 < self.whole <= instruction.other
        inside = (value is None or value != 0) and (endless or turns <= limit)
        if not known:
            self.coverage.turned.add(thread_set.place)
        if turns == 1:
            chosen = self.choice(thread_set.place, decider)
            inside = inside if chosen is None else chosen
            self.decide(thread_set, decider, inside)
        if self.watch is not None and all(one is thread_set or one.finished for one in self.thread_sets):
            self.look()  # it waits for no other, so that there are no rounds
        if value != 0 and not inside:
            self.coverage.unknown |= value is None
            self.coverage.cut |= value is not None and instruction.other > 1
            if known and self.acts(thread_set.place, instruction):
                self.coverage.shortened = max(self.coverage.shortened, instruction.other)
            self.guess(thread_set.place, instruction)
        passed_by = turns == 1 and not inside and thread_set.place not in self.coverage.empty
        self.coverage.passed_by |= passed_by and self.acts(thread_set.place, instruction)
        if value == 0 and not inside and term is not None:
            self.settled.add(term)
        if isinstance(held, Lanes) and isinstance(held.on(thread_set.threads), Lanes):
            left = (thread for thread in thread_set.threads if held.each[thread] == 0)
            thread_set.idle[thread_set.place] = thread_set.idle.get(thread_set.place, frozenset()).union(left)
        if not inside:
            thread_set.idle.pop(thread_set.place, None)
            thread_set.turns[thread_set.place] = 0
            self.coverage.leave(thread_set.place, turns)
            self.leaves(thread_set.place, instruction, value != 0)
        return thread_set.place + 1 if inside else instruction.target

    def takes_jobs(self, place: int) -> bool:
        """Whether a loop, by the place of its check, goes on by what other threads say in shared memory."""
        found = self.jobs.get(place)
        if found is None:
            found = self.jobs[place] = handed(self.program.before or self.program.code, place)
        return found

    def passes(self, place: int, way: bool) -> bool:
        """Whether a way of a branch goes past a loop that takes part in the protocol."""
        known = self.passing.get((place, way))
        if known is None:
            branch = self.program.code[place].kind == "branch"
            known = self.passing[place, way] = branch and goes_past(self.program.code, place, way)
        return known

    def pass_by(self, thread_set: ThreadSet, threads: Sequence[int]) -> None:
        """Threads go past such a loop: by what is supposed, unless their role alone says so."""
        place = thread_set.place
        if self.writers is None:
            self.writers = writers_of(self.program.before or self.program.code)
        if goes_anyhow(self.writers, thread_set.values, self.program.code[place].inputs[0], threads):
            return
        self.coverage.passed.add(place)
        if self.prior is None:
            self.depart()

    def leaves(self, place: int, instruction: Instruction, cut: bool = False) -> None:
        """Threads leave a loop, perhaps one that takes part in the protocol, and by a number that is supposed.

        Args:
            cut: whether its condition holds, or nothing is known of it.
        """
        doubtful = cut or place in self.coverage.doubtful or place in self.coverage.turned
        if self.prior is None and doubtful and self.acts(place, instruction):
            self.depart()

    def depart(self) -> None:
        """Threads leave such a loop, or go past one, for the first time: longer loops have the findings until now."""
        self.prior = len(self.faults)
        if self.until_left:
            self.most = 0

    def guess(self, place: int, instruction: Instruction) -> None:
        """A loop is left by guess: the steps of further iterations are missing."""
        self.coverage.abandoned.add(place)
        self.coverage.guessed.update(id(one.operation) for one in self.steps_of(place, instruction))

    def acts(self, place: int, instruction: Instruction) -> bool:
        """Whether a loop takes part in the protocol."""
        return any(True for _ in self.steps_of(place, instruction))

    def steps_of(self, place: int, instruction: Instruction) -> Iterator[Instruction]:
        """The steps of one iteration of a loop; ``place`` is that of its test."""
        body = self.program.code[place : instruction.target]
        return (one for one in body if one.effect is not None and not one.effect.pure)

    # -- doubt

    def doubt(self, thread_set: ThreadSet, instruction: Instruction, reason: Unfollowed) -> int:
        """Go on after an operation that cannot be followed: what it may have touched is in doubt.

        Its threads know all that happened, so that no finding rests on an order that it may have established.
        """
        taint = self.taint
        taint.reasons.append((reason.case, reason.operation))
        self.coverage.executed.discard(id(instruction.operation))
        reach = str(self.book.shared_table("doubt").rows[f".{reason.case}",][0])
        if reach != ".threads":
            self.taint_operands(thread_set, instruction)
        taint.everything |= reach == ".everything"
        self.acquire_all(thread_set)
        for slot in instruction.outputs:
            thread_set.values[slot] = None
        return thread_set.place + 1

    def taint_operands(self, thread_set: ThreadSet, instruction: Instruction) -> None:
        """Put the shared memory that an operation names in doubt; all of it where it names none."""
        held = [thread_set.values[slot] for slot in instruction.inputs]
        named = [one.barrier if isinstance(one, Fields) else one for one in held]
        places = [one for one in named if isinstance(one, Address) and one.memory.space == "smem"]
        for where in places:
            if where.offset is None:
                self.taint.memories.add(where.memory.serial)
            else:
                self.taint.places.update((cta, where.memory.serial, where.offset) for cta in range(self.shape.ctas))
        self.taint.everything |= not places

    def acquire_all(self, thread_set: ThreadSet) -> None:
        """A thread set is ordered after all that happened, in either proxy, and none of its groups is in flight."""
        for log in self.accesses.values():
            for agent, moment in log.latest().items():
                thread_set.clock.learn(agent, moment)
        thread_set.clock.learn(GRID, 0)
        thread_set.clock.fence()
        thread_set.queues.clear()
        thread_set.touched.clear()
        thread_set.fenced = True
        thread_set.version += 1
        for event in ("passed", "met", "before", "after"):
            self.mark(event, thread_set)

    def deliver(self) -> bool:
        """Let copies of unknown length deliver what is announced; whether a barrier waited for that.

        Others may still copy to the same barrier: threads of other CTAs that may, and that wait to come together with
        others, go on first, and barriers with as many copies as an earlier phase had are complete first. Where none has
        in a cluster, warps that wait for other warps go on: what they do may let another CTA copy.
        """
        waiting = [
            (key, one)
            for key, one in self.barriers.items()
            if one.unsized_copies and one.bytes > 0 and one.bytes % self.copied == 0
        ]
        parked = {part.cta for part in self.thread_sets if part.parked} if waiting else ()
        late = {
            cta for cta in parked for key, one in waiting if cta != key[0] and self.deliveries.late(cta, key[0], one)
        }
        if late:
            return self.release_parked(among=late)
        full = [(key, one) for key, one in waiting if one.unsized_copies >= one.most_copies]
        if parked and not full and self.shape.ctas > 1 and self.release_parked(whole=True):
            return True
        if waiting:
            self.deliveries.look(self.barriers)
        for key, barrier in full or waiting:
            if barrier.expecting is not None:
                self.deliveries.add(key, barrier, barrier.expecting)
            barrier.unsized = barrier.phase
            barrier.most_copies = max(barrier.most_copies, barrier.unsized_copies)
            barrier.bytes = 0
            barrier.settle()
        return bool(waiting)

    def excuse(self) -> bool:
        """Let a thread set go on that waits for what is in doubt; whether there was one."""
        waits = [one for one in self.thread_sets if one.blocked is not None and not one.excused]
        if len(self.taint.released) >= limit(self.book, "released_waits"):
            return False
        for thread_set in waits:
            wait = thread_set.blocked
            doubtful = self.taint.covers(wait.key) if isinstance(wait, OnMbarrier) else self.taint.everything
            if doubtful or self.excusing:
                self.taint.found = self.taint.found if self.taint.released else len(self.faults)
                self.taint.released.append(self.program.code[thread_set.place].operation)
                self.acquire_all(thread_set)
                thread_set.excused = True
                return True
        return False

    def helped(self) -> bool:
        """Let threads go on that wait for ever, where such are helped; whether there were any."""
        return self.help is not None and self.help(self)

    def waited(self, thread_set: ThreadSet, operation: Operation) -> None:
        """Report a read of what the grid before writes, by threads that are not ordered after its end."""
        read = self.module.early.get(id(operation))
        if read is not None and GRID not in thread_set.clock.known:
            at = (("write", read.write), ("launch", read.allowance))
            self.report("PR176", "early", operation, at=at)

    # -- time and memory

    def tick(self) -> int:
        self.now += 1
        return self.now

    def report(
        self,
        code: str,
        case: str,
        operation: Operation,
        /,
        *,
        at: Sequence[tuple[str, Operation]] = (),
        unwaited: bool = False,
        **facts: object,
    ) -> None:
        """Add a finding, if it is none that there is.

        Args:
            case, facts: of the finding, as rules/protocol/faults.rule declares it.
            at: other operations that it is about, by the names that the finding gives their places.
            unwaited: of the finding.
        """
        short = (code, case, *map(str, (id(operation), *(id(one) for _, one in at), *facts.values())))
        if short in self.said:
            return
        self.said.add(short)
        path: tuple[TraceStep, ...] = ()
        if self.history is not None:
            mine = None if self.running is None else (self.running.cta, self.running.warps)
            path = path_to(self.history, [one for _, one in at], mine)
        if self.allowed is not None and (code, operation.span.start) not in self.allowed:
            self.most = 0  # no repair: the run ends
        found = stated(self.book, code, case, operation, at=at, path=path, **facts)
        self.faults.append(replace(found, unwaited=True) if unwaited else found)
        if self.allowed is not None and {(one.code, one.operation.span.start) for one in self.faults} >= self.allowed:
            self.most = 0  # nothing is repaired
        if self.ends is not None and self.ends(code, operation.span.start):
            self.most = 0

    def came(
        self,
        kind: str,
        key: BarrierKey,
        amount: int,
        operation: Operation,
        thread_set: ThreadSet,
        filled: Address | None = None,
    ) -> None:
        """Keep what came to an mbarrier, where that is wanted."""
        if self.events is not None:
            phase = self.barriers[key].phase if key in self.barriers else 0
            buffer = "" if filled is None else filled.memory.field_at(filled.offset or 0)
            self.events.append(Event(kind, key, phase, amount, operation, thread_set.cta, thread_set.warps, buffer))

    def mark(self, event: str, thread_set: ThreadSet) -> None:
        """Note that an event happens now to the warps of a thread set."""
        for warp in thread_set.warps:
            self.marks[event, thread_set.cta, warp] = self.now

    def located(self, thread_set: ThreadSet, instruction: Instruction) -> list[Value]:
        """The operands of a step, numbers as the addresses of tensor memory that they are."""
        held = [thread_set.values[slot] for slot in instruction.inputs]
        if self.tensor.sole and instruction.effect is not None and instruction.effect.name in _IN_TENSOR_MEMORY:
            pointers = zip(held, instruction.types, strict=False)
            held = [self.literal(thread_set, one) if _POINTER in text else one for one, text in pointers]
        return held

    def placed(self, thread_set: ThreadSet, fragment: Address) -> Address | None:
        """The place of a fragment that nobody gave one, where a number would be an address; None where it is not."""
        first = self.literal(thread_set, 0)
        return replace(fragment, memory=first.memory) if isinstance(first, Address) else None

    def literal(self, thread_set: ThreadSet, value: Value) -> Value:
        """A number as an address of tensor memory, where these threads come after the only allocation, or one of all.

        They do where they come after an MMA that a warp has issued since it allocated. A pair of CTAs allocates
        together (PTX ISA, tcgen05.alloc), so that whoever comes after one of the two comes after both.
        """
        memory, cta = self.tensor.memory, thread_set.cta
        if memory is None or not isinstance(value, int | Lanes):
            return value
        for one in (cta, self.peer(cta)) if self.tensor.group and self.tensor.group[0] else (cta,):
            agents, moment, supposed = self.tensor.sole.get(one, ((), 0, None))
            if agents and self._after(thread_set, agents, moment):
                break
        else:
            return value
        found = numbered(memory, value)
        if found is not value and not self.program.asserts_zero:
            self.tensor.supposed = supposed or self.tensor.supposed
        return found

    def _after(self, thread_set: ThreadSet, agents: Sequence[Agent], moment: int) -> bool:
        """Whether each warp of a thread set is one of those that did something, or comes after all of them."""
        return all(
            one == (thread_set.cta, warp) or self.knows_warp(thread_set, one, moment)
            for warp in thread_set.warps
            for one in agents
        )

    def knows_warp(self, thread_set: ThreadSet, warp: Agent, moment: int) -> bool:
        """Whether a warp, or an MMA that it has issued since, is ordered before what a thread set does now."""
        return self.knows(thread_set, warp, moment) or self.knows(thread_set, ("tc", *warp), moment)

    def since(self, event: str, cta: int, warps: Sequence[int], moment: int) -> bool:
        """Whether an event happened to one of these warps after a moment."""
        return any(self.marks.get((event, cta, warp), -1) > moment for warp in warps)

    def log(self, cta: int, memory: Allocation) -> AccessLog:
        found = self.accesses.get((cta, memory.serial))
        if found is None:
            found = self.accesses[cta, memory.serial] = AccessLog()
        return found

    def knows(
        self, thread_set: ThreadSet, agent: Agent, moment: int, fenced: bool = False, alone: bool = False
    ) -> bool:
        """Whether all that an agent did up to a moment is ordered before what a thread set does now.

        Args:
            fenced: whether the async proxy has to see it as well.
            alone: whether each thread asks only about its own accesses.
        """
        half = thread_set.clock.fenced if fenced else thread_set.clock.known
        if half.get(agent, -1) >= moment:
            return True
        if fenced:
            return False
        if alone or len(thread_set.warps) == 1:
            if thread_set.own.get(agent, -1) >= moment and _warp(agent) in thread_set.warps:
                return True
            if self.wgmma_complete and self.of_warpgroup(thread_set, agent) >= moment:
                return True
            if (
                isinstance(agent, tuple)
                and len(agent) == 2
                and agent[0] == thread_set.cta
                and agent[1] in thread_set.warps
            ):
                return True
        return False

    def ordered(self, thread_set: ThreadSet, old: Access, agent: Agent, alone: bool = False) -> bool:
        """Whether what an agent did in an access is ordered before what a thread set does now."""
        if self.knows(thread_set, agent, old.moment, alone=alone):
            return True
        if old.writes or old.kind != ".generic":
            return False
        return thread_set.clock.known.get(("read", *agent), -1) >= old.moment

    def of_warpgroup(self, thread_set: ThreadSet, agent: Agent) -> int:
        """Up to when the wgmma of a warp are complete for threads of its warpgroup, which has them in common.

        A group that these threads have waited for was committed by all warps, also by one that a run lets fall behind.
        """
        size, warp = hardware.limit(self.book, "group_warps"), _warp(agent)
        if agent[0] != "wgmma" or agent[1] != thread_set.cta or not isinstance(warp, int):
            return -1
        if any(one // size != warp // size for one in thread_set.warps):
            return -1
        count = min(self.wgmma_complete.get((thread_set.cta, one), 0) for one in thread_set.warps)
        groups = self.wgmma_groups.get((thread_set.cta, warp), ())
        return groups[min(count, len(groups)) - 1] if count and groups else -1

    def joins_later(self, thread_set: ThreadSet, old: Access) -> bool:
        """Whether threads have yet to take part in a wgmma that a run let other warps of their warpgroup issue first.

        It cannot have read anything before: what these threads do now comes before it.
        """
        size, cta, open_ = hardware.limit(self.book, "group_warps"), thread_set.cta, thread_set.queue("wgmma").open
        if old.kind != ".wgmma" or old.operation in open_.operations:
            return False
        for _, home, warp in old.agents:
            if home != cta or not isinstance(warp, int) or any(one // size != warp // size for one in thread_set.warps):
                return False
            number = bisect_left(self.wgmma_groups.get((cta, warp), ()), old.moment)
            if any(len(self.wgmma_groups.get((cta, one), ())) > number for one in thread_set.warps):
                return False
        return True

    def arriving(self, thread_set: ThreadSet, warps: Sequence[int] = ()) -> Clock:
        """The clock that a thread set releases at an arrival, or some warps of it: all that they know and did.

        A wgmma is one operation of its warpgroup: one warp that has waited for it may say so for all (CUTLASS,
        include/cutlass/pipeline/sm90_pipeline.hpp, is_signaling_thread: one arrival of a warpgroup for each CTA).
        """
        clock = thread_set.clock.copy()
        moment = self.tick()
        mine = warps or thread_set.warps
        for warp in mine:
            clock.learn((thread_set.cta, warp), moment)
        for agent, done in thread_set.own.items():
            if mine is thread_set.warps or _warp(agent) in mine:
                clock.learn(agent, done)
        if self.wgmma_complete:
            self.learn_of_warpgroups(thread_set.cta, mine, clock)
        if self.lanes.stored or self.lanes.parts:
            self.of_lanes(thread_set, mine, clock, moment)
        return clock

    def of_lanes(self, thread_set: ThreadSet, mine: Sequence[int], clock: Clock, moment: int) -> None:
        """Let a clock learn up to when all lanes of some warps are released: some lanes release what they did alone."""
        parts, cta, lanes = self.divided(thread_set), thread_set.cta, self.lanes
        for warp in mine:
            stored = lanes.stored.get((cta, warp)) if warp in parts else None
            if stored:
                arrival = self.program.code[thread_set.place].operation
                part = (lanes.met.get((cta, warp), -1), moment, frozenset(stored), arrival)
                lanes.parts.setdefault((cta, warp), []).append(part)
            elif warp not in parts:
                self.meet_lanes(cta, warp, moment)
            if lanes.parts:
                clock.learn(("lanes", cta, warp), lanes.met.get((cta, warp), -1))

    def meet_lanes(self, cta: int, warp: int, moment: int) -> None:
        """All lanes of a warp meet."""
        self.lanes.stored.pop((cta, warp), None)
        self.lanes.met[cta, warp] = moment

    def learn_of_warpgroups(self, cta: int, mine: Sequence[int], clock: Clock) -> None:
        """Let a clock learn of the wgmma that are complete in warps that execute them with these, but go alone here.

        What those warps read before, such as the metadata of a sparse operand, they have read when it is complete; of
        what they wrote it says nothing.
        """
        size = hardware.limit(self.book, "group_warps")
        for warp in mine:
            count = self.wgmma_complete.get((cta, warp), 0)
            for other in range(warp // size * size, warp // size * size + size):
                if count and other not in mine and (groups := self.wgmma_groups.get((cta, other))):
                    done = groups[min(count, len(groups)) - 1]
                    clock.learn(("wgmma", cta, other), done)
                    clock.learn(("read", cta, other), done)
                    clock.learn(("past", cta, other), done)

    def synchronise(self, thread_sets: Sequence[ThreadSet]) -> None:
        """A barrier of threads: each acquires the clocks of all."""
        whole = Clock()
        for thread_set in thread_sets:
            whole.join(self.arriving(thread_set))
        for thread_set in thread_sets:
            thread_set.clock = whole.copy()  # in which all is that it knew
            thread_set.version += 1
            self.mark("met", thread_set)

    def targets(self, thread_set: ThreadSet, address: Address) -> dict[int, int]:
        """The CTAs that an address is in, and how many threads of the thread set address each."""
        if address.cta is None and address.peer is False and not address.leader:
            return {thread_set.cta: len(thread_set.threads)}
        if isinstance(address.peer, Lanes):
            pair: dict[int, int] = {}
            for which in (False, True):
                theirs = [thread for thread in thread_set.threads if address.peer.each[thread] == which]
                if theirs:
                    there = replace(address, peer=which)
                    pair |= dict.fromkeys(self.targets(thread_set, there), len(theirs))
            return pair
        if isinstance(address.cta, Lanes):
            found: dict[int, int] = {}
            for thread in thread_set.threads:
                cta = address.cta.each[thread]
                if cta is not None:
                    cta = self.home(cta, address)
                    found[cta] = found.get(cta, 0) + 1
            return found
        cta = thread_set.cta if address.cta is None else address.cta
        return {self.home(cta, address): len(thread_set.threads)}


@by_identity
def _ways(
    each: tuple[int | None, ...], threads: tuple[int, ...], told: bool
) -> tuple[tuple[int, ...], tuple[int, ...], bool]:
    """The threads that go either way by a truth of each, and whether that of one is not known.

    Args:
        told: the way of those of which it is not known.
    """
    yes = tuple([t for t in threads if (told if (one := each[t]) is None else one != 0)])
    no = tuple([t for t in threads if not (told if (one := each[t]) is None else one != 0)])
    return yes, no, any(each[t] is None for t in threads)


@lru_cache(maxsize=256)
def _missing(warps: tuple[int, ...], size: int) -> frozenset[int]:
    """The warps that are missing of the groups of so many that some warps belong to."""
    return frozenset(first + i for first in {warp - warp % size for warp in warps} for i in range(size)) - set(warps)


def _warp(agent: Agent) -> object:
    """The warp that an asynchronous stream belongs to."""
    return agent[-1] if isinstance(agent, tuple) else None


__all__ = ["Machine", "Unfollowed"]
