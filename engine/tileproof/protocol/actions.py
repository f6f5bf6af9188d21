"""What each step does to the machine. One function a step; ``ACTIONS`` is the table."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache

from tileproof.dialects.entities import memory as memory_kind
from tileproof.dialects.types import Kind
from tileproof.dialects.values import Pointer, Tensor, element_bits, read_type
from tileproof.ir import Operation
from tileproof.layout.basics import get_shape
from tileproof.layout.tuples import leaves
from tileproof.protocol.clock import Agent, Clock
from tileproof.protocol.effects import number, words
from tileproof.protocol.folding import index_of, view_at
from tileproof.protocol.machine import Access, Barrier, BarrierKey, Machine, Unfollowed, Use
from tileproof.protocol.program import Instruction
from tileproof.protocol.strand import Strand
from tileproof.protocol.values import Address, Fields, Lanes, Memory, Value
from tileproof.syntax import SyntaxFault
from tileproof.syntax.types import type_tree

Action = Callable[[Machine, Strand, Instruction], int]
ACTIONS: dict[str, Action] = {}
WAITS = -1


def action(name: str) -> Callable[[Action], Action]:
    def register(function: Action) -> Action:
        ACTIONS[name] = function
        return function

    return register


def limit(machine: Machine, name: str) -> int:
    """A number that the hardware sets, by its member of the enum ``protocol_limit``."""
    (value,) = machine.book.tables["protocol_limit", "ptx"].rows[f".{name}",]
    assert isinstance(value, int)
    return value


def operand(strand: Strand, instruction: Instruction, place: int) -> Value:
    return strand.values[instruction.inputs[place]] if place < len(instruction.inputs) else None


def integer(machine: Machine, strand: Strand, instruction: Instruction, place: int) -> int | None:
    return machine.uniform(strand, instruction.inputs[place]) if place < len(instruction.inputs) else None


def address(strand: Strand, instruction: Instruction, place: int) -> Address | None:
    value = operand(strand, instruction, place)
    return value if isinstance(value, Address) else None


def result(strand: Strand, instruction: Instruction, value: Value) -> None:
    for slot in instruction.outputs:
        strand.values[slot] = value


# ---------------------------------------------------------------------------------------------------------- values


@action("index")
def _index(machine: Machine, strand: Strand, instruction: Instruction) -> int:
    """A special register."""
    name = instruction.operation.name.removeprefix("nvvm.read.ptx.sreg.")
    what, _, axis = name.rpartition(".")
    shape = machine.shape
    x, y, _z = shape.block
    cx, cy, cz = shape.cluster
    rank = strand.cta
    at = {"x": 0, "y": 1, "z": 2}.get(axis)
    value: Value = None
    threads = range(shape.threads)
    if what == "tid" and at is not None:
        value = Lanes(tuple((t % x, t // x % y, t // (x * y))[at] for t in threads)) if shape.block[at] > 1 else 0
    elif what == "ntid" and at is not None:
        value = shape.block[at]
    elif what in ("ctaid", "cluster.ctaid") and at is not None:
        value = (rank % cx, rank // cx % cy, rank // (cx * cy))[at]
    elif what in ("nctaid", "cluster.nctaid") and at is not None:
        value = (cx, cy, cz)[at]
    elif what == "clusterid":
        value = 0
    elif what == "nclusterid":
        value = 1
    elif name == "cluster.ctarank":
        value = rank
    elif name == "cluster.nctarank":
        value = shape.ctas
    elif name == "laneid":
        value = Lanes(tuple(t % 32 for t in threads))
    elif name == "warpid":
        value = Lanes(tuple(t // 32 for t in threads))
    result(strand, instruction, value)
    return strand.place + 1


@action("elect")
def _elect(machine: Machine, strand: Strand, instruction: Instruction) -> int:
    result(strand, instruction, 1 if len(strand.threads) == 1 else _elected(strand.threads, machine.shape.threads))
    return strand.place + 1


@lru_cache(maxsize=256)
def _elected(threads: tuple[int, ...], count: int) -> Lanes:
    """1 for the first thread of each warp."""
    chosen: dict[int, int] = {}
    for thread in threads:
        chosen.setdefault(thread // 32, thread)
    return Lanes(tuple(int(chosen.get(t // 32) == t) for t in range(count)))


@action("peer")
def _peer(machine: Machine, strand: Strand, instruction: Instruction) -> int:
    where = address(strand, instruction, 0)
    cta = operand(strand, instruction, 1)
    value: Value = None
    if where is not None and isinstance(cta, int | Lanes):
        value = replace(where, cta=cta)
    result(strand, instruction, value)
    return strand.place + 1


_FIELD = re.compile(r'"([^":]+):(\d+):(\d+)"')
_SPACE = re.compile(r"\b(smem|rmem|tmem|gmem)\b")


@action("allocate")
def _allocate(machine: Machine, strand: Strand, instruction: Instruction) -> int:
    """Every run of an allocation gives the same memory; registers belong to a strand, which is why they need no CTA."""
    operation = instruction.operation
    key = ("memory", id(operation))
    if operation.name == "llvm.mlir.addressof":
        key = ("global", hash(operation.pieces[0].partition("@")[2].partition(" ")[0]))
    kind = _type_of_result(machine, operation)
    memory = machine.state.get(key)
    if not isinstance(memory, Memory):
        space = "smem"
        text = words(operation)
        named = _SPACE.search(kind) or _SPACE.search(text)
        if named is not None:
            space = named[1]
        fields = operation.attribute("smem.struct_fields")
        parts = tuple((n, int(b), int(o)) for n, b, o in _FIELD.findall(fields.text)) if fields is not None else ()
        name = operation.results[0].name if operation.results else space
        memory = Memory(name, space, len(machine.memories) + 1, parts)
        machine.memories[memory.serial] = memory
        machine.state[key] = memory
    found = read_type(kind)
    unit = 8
    match found:
        case Tensor(iterator=Pointer(element=element)) | Pointer(element=element):
            unit = element_bits(element) or 8
    result(strand, instruction, view_at(Address(memory, 0, unit), found if isinstance(found, Tensor) else None))
    return strand.place + 1


def _type_of_result(machine: Machine, operation: Operation) -> str:
    resolve = machine.state.get("resolve")
    uses = operation.outputs or operation.inputs
    text = uses[-1].text if uses else ""
    return resolve(text) if callable(resolve) else text


# -------------------------------------------------------------------------------------------------------- barriers


def barrier_keys(machine: Machine, strand: Strand, instruction: Instruction, place: int) -> dict[BarrierKey, int]:
    """The barriers that an operand names, and how many threads name each."""
    where = address(strand, instruction, place)
    if where is None or where.offset is None:
        raise Unfollowed(instruction.operation, "the address of the barrier is not known")
    return {(cta, where.memory.serial, where.offset): count for cta, count in machine.targets(strand, where).items()}


def barrier_name(machine: Machine, key: BarrierKey) -> str:
    memory = machine.memories[key[1]]
    for name, size_, start in memory.fields:
        if start <= key[2] < start + size_:
            return f"'{name}'[{(key[2] - start) // 8}]"
    return f"{memory.name} + {key[2]}"


def barrier_at(machine: Machine, strand: Strand, instruction: Instruction, key: BarrierKey) -> Barrier | None:
    """A barrier; None, and a finding, where it was not initialised."""
    found = machine.barriers.get(key)
    operation = instruction.operation
    if found is None:
        if key[0] < machine.shape.ctas:
            machine.fault(
                "PR120", operation, f"the barrier {barrier_name(machine, key)} is used here and was never initialised"
            )
        return None
    access = found.initialised
    if not all(machine.knows(strand, agent, access.moment) for agent in access.agents):
        machine.fault(
            "PR121",
            operation,
            f"the barrier {found.name} is used here by threads that nothing orders after its initialisation",
            trace=(("it is initialised here", found.operation),),
        )
        access.agents = ()
    return found


def barrier_agent(key: BarrierKey) -> Agent:
    return ("bar", *key)


@action("barrier_init")
def _barrier_init(machine: Machine, strand: Strand, instruction: Instruction) -> int:
    count = integer(machine, strand, instruction, 1)
    if count is None:
        raise Unfollowed(instruction.operation, "the count of the barrier is not known")
    for key in barrier_keys(machine, strand, instruction, 0):
        agents = tuple((strand.cta, warp) for warp in strand.warps)
        access = Access(key[2], key[2] + 8, agents, machine.tick(), ".generic", True, instruction.operation)
        machine.barriers[key] = Barrier(barrier_name(machine, key), count, instruction.operation, count, access)
    return strand.place + 1


@action("init_fence")
def _init_fence(machine: Machine, strand: Strand, instruction: Instruction) -> int:
    for key, barrier in machine.barriers.items():
        if key[0] == strand.cta and any((strand.cta, w) in barrier.initialised.agents for w in strand.warps):
            barrier.published = True
    return strand.place + 1


@action("proxy_fence")
def _proxy_fence(machine: Machine, strand: Strand, instruction: Instruction) -> int:
    kind = words(instruction.operation)
    if "async" in kind:
        moment = machine.tick()
        strand.clock.fence()
        for agent, done in strand.own.items():
            if strand.clock.fenced.get(agent, -1) < done:
                strand.clock.fenced[agent] = done
        for warp in strand.warps:
            strand.clock.fenced[strand.cta, warp] = moment
        _init_fence(machine, strand, instruction)
    return strand.place + 1


_WIDE = re.compile(r"mem_scope<(?:cluster|gpu|sys)>")


def arrive(
    machine: Machine, strand: Strand, instruction: Instruction, key: BarrierKey, count: int, clock: Clock
) -> None:
    """Arrivals at a barrier."""
    barrier = barrier_at(machine, strand, instruction, key)
    if barrier is None:
        return
    operation = instruction.operation
    if key[0] != strand.cta:
        if not barrier.published:
            _unpublished(machine, barrier, operation)
        if _WIDE.search(words(operation)) is not None:
            machine.wide[strand.cta] = machine.now
        else:
            machine.narrow[strand.cta] = (machine.now, operation)
    barrier.arriving = operation
    if count > barrier.pending:
        machine.fault(
            "PR122",
            operation,
            f"{count} arrivals come here at the barrier {barrier.name}, whose phase waits for "
            f"{barrier.pending if barrier.pending == barrier.count else f'{barrier.pending} more of {barrier.count}'}",
            trace=(("it is initialised here", barrier.operation),),
        )
        count = barrier.pending
    barrier.gathered.join(clock)
    barrier.pending -= count
    settle(barrier)


def settle(barrier: Barrier) -> None:
    """End the phase if all arrived and all bytes came."""
    if barrier.pending == 0 and barrier.bytes == 0:
        barrier.phase += 1
        barrier.pending = barrier.count
        barrier.done.join(barrier.gathered)
        barrier.gathered = Clock()
        barrier.expected = barrier.copied = 0


def _unpublished(machine: Machine, barrier: Barrier, operation: Operation) -> None:
    barrier.published = True
    machine.fault(
        "PR123",
        operation,
        f"the initialisation of the barrier {barrier.name} is not fenced: the async proxy and other CTAs may not see "
        "it",
        trace=(("it is initialised here", barrier.operation),),
    )


@action("arrive")
def _arrive(machine: Machine, strand: Strand, instruction: Instruction) -> int:
    each = integer(machine, strand, instruction, 1) if len(instruction.inputs) > 1 else 1
    clock = machine.arriving(strand)
    for key, threads in barrier_keys(machine, strand, instruction, 0).items():
        arrive(machine, strand, instruction, key, threads * (each or 1), clock)
    result(strand, instruction, 0)
    return strand.place + 1


@action("arrive_expect")
def _arrive_expect(machine: Machine, strand: Strand, instruction: Instruction) -> int:
    _expect(machine, strand, instruction)
    clock = machine.arriving(strand)
    for key, threads in barrier_keys(machine, strand, instruction, 0).items():
        arrive(machine, strand, instruction, key, threads, clock)
    result(strand, instruction, 0)
    return strand.place + 1


@action("expect")
def _expect(machine: Machine, strand: Strand, instruction: Instruction) -> int:
    count = integer(machine, strand, instruction, 1)
    if count is None:
        raise Unfollowed(instruction.operation, "the number of bytes is not known")
    for key, threads in barrier_keys(machine, strand, instruction, 0).items():
        barrier = machine.barriers.get(key)
        if barrier is not None:
            barrier.bytes += count * threads
            barrier.expected += count * threads
            barrier.expecting = instruction.operation
            barrier.announced = barrier.phase
    return strand.place + 1


def _waits(machine: Machine, strand: Strand, instruction: Instruction) -> tuple[BarrierKey, Barrier, bool] | None:
    keys = barrier_keys(machine, strand, instruction, 0)
    if len(keys) != 1:
        raise Unfollowed(instruction.operation, "the threads wait for different barriers")
    key = next(iter(keys))
    parity = integer(machine, strand, instruction, 1)
    if parity is None:
        raise Unfollowed(instruction.operation, "the parity that is waited for is not known")
    barrier = barrier_at(machine, strand, instruction, key)
    if barrier is None:
        return None
    return key, barrier, (barrier.phase & 1) != (parity & 1)


def _passes(machine: Machine, strand: Strand, key: BarrierKey, barrier: Barrier) -> None:
    """The strand has seen the end of a phase: it learns what those knew who made it end."""
    strand.clock.join(barrier.done)
    strand.clock.learn(barrier_agent(key), barrier.phase)
    strand.version += 1
    machine.mark("passed", strand)


@action("wait")
def _wait(machine: Machine, strand: Strand, instruction: Instruction) -> int:
    found = _waits(machine, strand, instruction)
    if found is not None:
        key, barrier, over = found
        if not over:
            strand.blocked = ("barrier", key)
            return WAITS
        _passes(machine, strand, key, barrier)
    result(strand, instruction, 1)
    return strand.place + 1


ACTIONS["block"] = _wait


@action("peek")
def _peek(machine: Machine, strand: Strand, instruction: Instruction) -> int:
    """A look that does not wait: what follows waits, or does not need to."""
    if "try" not in words(instruction.operation):
        return _wait(machine, strand, instruction)
    if _waits(machine, strand, instruction) is not None:
        result(strand, instruction, 0)  # the look may come too early: what follows has to wait then
    return strand.place + 1


def _rendezvous(machine: Machine, strand: Strand, name: tuple[int, object], arriving: int, wanted: int) -> int:
    """Wait until as many threads are at one barrier as it takes."""
    passed = machine.state.get((name, id(strand)))
    if passed:
        machine.state.pop((name, id(strand)))
        return strand.place + 1
    there = machine.rendezvous.setdefault(name, [])
    if strand not in there:
        _uses(machine, strand, strand.place, name, wanted)
        there.append(strand)
    if sum(32 * len(s.warps) for s in there) < wanted:
        strand.blocked = ("threads", (name, wanted))
        return WAITS
    machine.meet_all(there)
    for other in there:
        if other is not strand:
            machine.state[name, id(other)] = True
    machine.rendezvous[name] = []
    machine.uses[name].complete = machine.now
    return strand.place + 1


def _uses(machine: Machine, strand: Strand, place: int, name: tuple[int, object], wanted: int) -> None:
    """A strand comes to a named barrier: it has to be the use that the others mean, and one after the last use."""
    operation = machine.program.code[place].operation
    last = machine.uses.get(name)
    if last is None or last.complete is not None:
        machine.uses[name] = Use(wanted, operation)
    if last is not None and last.complete is None and last.wanted != wanted:
        machine.fault(
            "PR133",
            operation,
            f"the named barrier {name[1]} counts {wanted} threads here and {last.wanted} where other threads use it",
            "give each use a barrier of its own",
            (("it is used here", last.operation),),
        )
        last.wanted = wanted
    elif last is not None and last.complete is not None and not _follows(strand, last.warps, last.complete):
        machine.fault(
            "PR133",
            operation,
            f"the named barrier {name[1]} is used here by threads that its last use does not order: which threads "
            "it lets go on is left to chance",
            "give each use a barrier of its own",
            (("it is used here", last.operation),),
        )
    machine.uses[name].warps.update(strand.warps)


def _follows(strand: Strand, warps: set[int], moment: int) -> bool:
    """Whether a strand is one of these warps, or knows of one that it went on after a moment."""
    known = strand.clock.known
    return not warps.isdisjoint(strand.warps) or any(known.get((strand.cta, w), -1) > moment for w in warps)


@action("cta_barrier")
def _cta_barrier(machine: Machine, strand: Strand, instruction: Instruction) -> int:
    ident, wanted = _named(machine, strand, instruction)
    return _rendezvous(machine, strand, (strand.cta, ident), 0, wanted)


def _named(machine: Machine, strand: Strand, instruction: Instruction) -> tuple[int | None, int]:
    every = -(-machine.shape.threads // 32) * 32
    operation = instruction.operation
    segments = operation.attribute("operandSegmentSizes")
    has_id = bool(instruction.inputs)
    has_count = len(instruction.inputs) > 1
    if segments is not None:
        counts = [int(n) for n in re.findall(r"\d+", segments.text.partition(":")[2])]
        has_id, has_count = counts[:1] == [1], counts[1:2] == [1]
    ident = integer(machine, strand, instruction, 0) if has_id else 0
    wanted = integer(machine, strand, instruction, 1 if has_id else 0) if has_count else every
    if wanted is None:
        raise Unfollowed(operation, "the number of threads at the barrier is not known")
    if wanted % 32 or wanted > every:
        machine.fault(
            "PR131",
            operation,
            f"the barrier waits for {wanted} threads; a CTA has {every} and they come by warps of 32",
        )
        wanted = min(-(-wanted // 32) * 32, every)
    if ident is not None and not 0 <= ident < 16:
        machine.fault("PR132", operation, f"there is no named barrier {ident}: a CTA has those from 0 to 15")
    return ident, wanted


@action("cta_arrive")
def _cta_arrive(machine: Machine, strand: Strand, instruction: Instruction) -> int:
    ident, wanted = _named(machine, strand, instruction)
    name = (strand.cta, ident)
    there = machine.rendezvous.setdefault(name, [])
    _uses(machine, strand, strand.place, name, wanted)
    ghost = strand.part(strand.threads)
    ghost.clock = machine.arriving(strand)
    there.append(ghost)
    if sum(32 * len(s.warps) for s in there) >= wanted:
        machine.meet_all(there)
        for other in there:
            machine.state[name, id(other)] = True
        machine.rendezvous[name] = []
        machine.uses[name].complete = machine.now
    return strand.place + 1


@action("warp_sync")
def _warp_sync(machine: Machine, strand: Strand, instruction: Instruction) -> int:
    return strand.place + 1


@action("cluster_fence")
def _cluster_fence(machine: Machine, strand: Strand, instruction: Instruction) -> int:
    machine.wide[strand.cta] = machine.tick()
    return strand.place + 1


@action("cluster_arrive")
def _cluster_arrive(machine: Machine, strand: Strand, instruction: Instruction) -> int:
    if not instruction.operation.name.endswith("relaxed"):
        machine.wide[strand.cta] = machine.tick()
    held = machine.state.setdefault("cluster", {"threads": 0, "clock": Clock(), "phase": 0, "done": Clock()})
    assert isinstance(held, dict)
    held["clock"].join(machine.arriving(strand))
    held["threads"] += len(strand.threads)
    machine.state["arrived", id(strand)] = held["phase"]
    strand.values[0] = held["phase"]
    if held["threads"] >= machine.shape.threads * machine.shape.ctas:
        held["phase"] += 1
        held["done"].join(held["clock"])
        held["clock"], held["threads"] = Clock(), 0
    return strand.place + 1


@action("cluster_wait")
def _cluster_wait(machine: Machine, strand: Strand, instruction: Instruction) -> int:
    held = machine.state.get("cluster")
    mine = strand.values[0]
    if not isinstance(held, dict) or not isinstance(mine, int):
        return strand.place + 1
    if held["phase"] <= mine:
        strand.blocked = ("cluster", None)
        return WAITS
    strand.clock.join(held["done"])
    strand.version += 1
    return strand.place + 1


# ---------------------------------------------------------------------------------------------------------- memory

_NAMED = {
    ".generic": "threads",
    ".tma": "a bulk copy",
    ".async": "cp.async",
    ".wgmma": "wgmma",
    ".mma": "tcgen05.mma",
    ".s2t": "tcgen05.cp",
    ".load": "tcgen05.ld",
    ".store": "tcgen05.st",
}
_PROXY = {".tma", ".wgmma", ".mma", ".s2t"}


def access(
    machine: Machine,
    strand: Strand,
    operation: Operation,
    where: Address | None,
    kind: str,
    writes: bool,
    agents: tuple[Agent, ...],
    moment: int,
    shape: str = "",
    ctas: Iterable[int] | None = None,
) -> None:
    """One access to shared or tensor memory: a finding where one that conflicts with it is not ordered before it."""
    if where is None or where.offset is None or where.memory.space not in ("smem", "tmem"):
        return
    low, high = where.offset, where.offset + (where.extent or 1)
    for cta in ctas if ctas is not None else machine.targets(strand, where):
        board = machine.board(cta, where.memory)
        over = set()
        for old in board.overlapping(low, high):
            if _ordered(machine, strand, old, kind, writes, agents, shape, operation, where, moment):
                over.add(id(old))
        one = Access(low, high, agents, moment, kind, writes, operation, shape, where.vague)
        board.add(one, over if writes else set())
        if writes:
            for slot in machine.slots:
                home, serial, offset = slot
                if (home, serial) == (cta, where.memory.serial) and offset is not None and low - 4 < offset < high:
                    machine.overwritten[slot] = operation


def _ordered(
    machine: Machine,
    strand: Strand,
    old: Access,
    kind: str,
    writes: bool,
    agents: tuple[Agent, ...],
    shape: str,
    operation: Operation,
    where: Address,
    moment: int,
) -> bool:
    if not writes and not old.writes:
        return False
    if old.kind in _RELEASED and old.writes and not writes:
        _scoped(machine, strand, old, operation)
    if old.kind == kind == ".generic":
        return all(machine.knows(strand, agent, old.moment) for agent in old.agents)
    if old.agents == agents and (old.kind, kind) in _pipelined(machine):
        return True
    if old.kind == kind == ".tma" and old.writes and writes and old.agents == agents and old.moment == moment:
        return False  # parts of one stage, which several copies fill
    if (old.vague or where.vague) and ".generic" in (old.kind, kind):
        return False  # threads write what one warpgroup reads, and which one is not known
    alone = (shape != "" and shape == old.shape) or (old.kind in _OWN_LANES and kind in _OWN_LANES)
    # A wgmma is over for its warpgroup as a whole: the warps of FMHA reuse their part of Q without a barrier.
    alone |= old.kind == ".wgmma" and kind == ".generic"
    known = all(machine.knows(strand, agent, old.moment, alone=alone) for agent in old.agents)
    place = where.memory.field_at(where.offset or 0)
    verb, past = ("writes" if writes else "reads"), ("written" if old.writes else "read")
    trace = ((f"it is {past} here by {_NAMED[old.kind]}", old.operation),)
    if not known:
        code = _code(old, kind, writes)
        machine.fault(
            code,
            operation,
            f"{_NAMED[kind]} {verb} '{place}' here, and nothing orders this after {_NAMED[old.kind]}, which "
            f"{'wrote' if old.writes else 'reads'} it",
            _HINTS.get(old.kind, ""),
            trace,
        )
        return True
    unseen = old.kind == ".generic" and old.writes and not writes and kind in _PROXY
    if unseen and not all(machine.knows(strand, agent, old.moment, fenced=True) for agent in old.agents):
        machine.fault(
            "PR110",
            operation,
            f"{_NAMED[kind]} reads '{place}' here through the async proxy, and no proxy fence follows the threads' "
            "writes to it",
            "put nvvm.fence.proxy async.shared between the writes and the barrier",
            trace,
        )
    if old.kind in _OWN_LANES and kind in _TENSOR:
        _thread_fenced(machine, strand, old, kind, verb, place, operation)
    return True


def _scoped(machine: Machine, strand: Strand, old: Access, operation: Operation) -> None:
    """What threads of another CTA wrote is seen after an arrival at this CTA's barrier only if that has its scope."""
    home = old.agents[0][-2] if old.agents else strand.cta
    if not isinstance(home, int) or home == strand.cta or home not in machine.narrow:
        return
    moment, arrival = machine.narrow[home]
    if moment <= old.moment or machine.wide.get(home, -1) > old.moment:
        return
    if all(machine.knows(strand, agent, old.moment) for agent in old.agents):
        machine.fault(
            "PR127",
            operation,
            "the arrival that orders this after the write of another CTA has the scope of one CTA",
            "arrive with scope = #nvvm.mem_scope<cluster>",
            (("it is written here", old.operation), ("this arrives", arrival)),
        )


def _thread_fenced(
    machine: Machine, strand: Strand, old: Access, kind: str, verb: str, place: str, operation: Operation
) -> None:
    """A barrier of threads orders operations on tensor memory only with the fences around it."""
    others = [w for _, _, w in old.agents if isinstance(w, int) and w not in strand.warps]
    if not others or machine.since("passed", strand.cta, strand.warps, old.moment):
        return
    before = machine.since("before", strand.cta, others, old.moment)
    after = machine.since("after", strand.cta, strand.warps, old.moment)
    if machine.since("met", strand.cta, strand.warps, old.moment) and not (before and after):
        machine.fault(
            "PR115",
            operation,
            f"{_NAMED[kind]} {verb} '{place}' here after {_NAMED[old.kind]} of other threads, and no tcgen05 fences "
            "stand around the barrier that orders the two",
            "put nvvm.tcgen05.fence <before> before the barrier and <after> behind it",
            ((f"this is {_NAMED[old.kind]}", old.operation),),
        )


_RELEASED = {".generic", ".async"}
_TENSOR = {".mma", ".s2t", ".load", ".store"}
_OWN_LANES = {".load", ".store"}  # a warp reaches its own quarter of the lanes of tensor memory only

_HINTS = {
    ".tma": "wait for the phase of the mbarrier on which the copy completes",
    ".async": "wait for the group of the copy, then cross a barrier",
    ".wgmma": "wait for the group of the wgmma first",
    ".mma": "commit the MMA to an mbarrier and wait for that",
    ".s2t": "commit the copy to an mbarrier and wait for that",
    ".load": "wait for the loads (tcgen05.wait::ld), or use what they load, before the memory is handed on",
    ".store": "wait for the stores (tcgen05.wait::st) before the memory is handed on",
}


def _code(old: Access, kind: str, writes: bool) -> str:
    """Which finding it is: data used before they are there, or memory used again while it is still read."""
    if old.kind in (".load", ".store") or kind in (".load", ".store"):
        return "PR113" if old.writes and not writes else "PR114"
    return "PR111" if old.writes and not writes else "PR112"


def _pipelined(machine: Machine) -> frozenset[tuple[str, str]]:
    found = machine.state.get("pipelined")
    if not isinstance(found, frozenset):
        table = machine.book.tables["pipelined", "ptx"]
        found = frozenset((str(a), str(b)) for a, b in table.rows)
        machine.state["pipelined"] = found
    return found


def generic(
    machine: Machine, strand: Strand, operation: Operation, where: Address | None, writes: bool, shape: str
) -> None:
    """An access by threads, to shared memory or to registers."""
    if where is None:
        return
    if where.memory.space == "rmem":
        registers(machine, strand, operation, where, writes)
        return
    if where.memory.space == "smem":
        agents = tuple((strand.cta, warp) for warp in strand.warps)
        access(machine, strand, operation, where, ".generic", writes, agents, machine.tick(), shape)


def span(where: Address) -> tuple[int, int, int]:
    """Registers: the allocation, the first bit and the one behind the last."""
    if where.offset is None or where.extent is None:
        return where.memory.serial, 0, 1 << 40
    return where.memory.serial, where.offset, where.offset + where.extent


def meets(a: tuple[int, int, int], b: tuple[int, int, int]) -> bool:
    return a[0] == b[0] and a[1] < b[2] and b[1] < a[2]


def registers(machine: Machine, strand: Strand, operation: Operation, where: Address, writes: bool) -> None:
    """An access by threads to registers that asynchronous operations may be using."""
    mine = span(where)
    if writes:
        strand.touched[where.memory.serial] = operation
    queue = strand.queues.get("wgmma")
    if queue is not None:
        for group in queue.in_flight():
            if any(meets(mine, one) for one in group.registers):
                machine.fault(
                    "PR103",
                    operation,
                    "registers of a wgmma that is in flight are accessed here",
                    "wait for its group first: nvvm.wgmma.wait.group.sync.aligned",
                    (("the wgmma is issued here", group.operations[-1]),),
                )
                group.registers.clear()


def _element(strand: Strand, instruction: Instruction, place: int) -> Address | None:
    """What an access with a coordinate reaches: the elements from the lowest to the highest of the threads."""
    where = address(strand, instruction, place)
    coord = operand(strand, instruction, place + 1)
    if where is None or where.memory.space != "smem" or not isinstance(coord, tuple):
        return where
    index = _indexing(*instruction.types[place : place + 2])
    found = None if index is None else index(coord)
    if isinstance(found, Lanes):
        each = [one for thread in strand.threads if (one := found.each[thread]) is not None]
        if len(each) < len(strand.threads):
            return where
        first, last = min(each), max(each)
    elif isinstance(found, int):
        first = last = found
    else:
        return where
    moved = where.moved(first)
    return replace(moved, extent=max((last - first + 1) * where.unit // 8, 1))


@lru_cache(maxsize=4096)
def _indexing(view: str, coord: str) -> Callable[[Value], Value] | None:
    kind = read_type(view)
    return index_of(kind.layout, read_type(coord)) if isinstance(kind, Tensor) else None


@action("read")
def _read(machine: Machine, strand: Strand, instruction: Instruction) -> int:
    place = instruction.effect.first if instruction.effect is not None else 0
    where = _element(strand, instruction, place)
    generic(machine, strand, instruction.operation, where, False, _shape(instruction, place))
    result(strand, instruction, _loaded_value(machine, strand, instruction.operation, where))
    return strand.place + 1


def _loaded_value(machine: Machine, strand: Strand, operation: Operation, where: Address | None) -> Value:
    """What a load gives: the address of tensor memory where it was put, nothing that is known otherwise."""
    if where is None or where.memory.space != "smem":
        return None
    _slot_read(machine, strand, operation, where)
    return machine.slots.get((strand.cta, where.memory.serial, where.offset))


def _slot_read(machine: Machine, strand: Strand, operation: Operation, where: Address) -> None:
    """The address of tensor memory is read: nothing else may have been written where it lies."""
    over = machine.overwritten.pop((strand.cta, where.memory.serial, where.offset), None)
    if over is not None:
        machine.fault(
            "PR159",
            operation,
            "the address of tensor memory is read here, and something else was written over it",
            "give the address of tensor memory its own place in shared memory",
            (("it is overwritten here", over),),
        )


@action("write")
def _write(machine: Machine, strand: Strand, instruction: Instruction) -> int:
    place = instruction.effect.first if instruction.effect is not None else 0
    candidates = [i for i in range(len(instruction.inputs)) if isinstance(operand(strand, instruction, i), Address)]
    if candidates and place not in candidates:
        place = candidates[-1]
    generic(
        machine, strand, instruction.operation, _element(strand, instruction, place), True, _shape(instruction, place)
    )
    return strand.place + 1


def _shape(instruction: Instruction, place: int) -> str:
    return instruction.types[place] if place < len(instruction.types) else ""


# ----------------------------------------------------------------------------------------------------------- wgmma


@action("wgmma_fence")
def _wgmma_fence(machine: Machine, strand: Strand, instruction: Instruction) -> int:
    strand.touched.clear()
    strand.fenced = True
    return strand.place + 1


@action("wgmma_commit")
def _wgmma_commit(machine: Machine, strand: Strand, instruction: Instruction) -> int:
    strand.queue("wgmma").commit()
    return strand.place + 1


@action("wgmma_wait")
def _wgmma_wait(machine: Machine, strand: Strand, instruction: Instruction) -> int:
    pending = integer(machine, strand, instruction, 0) if instruction.inputs else number(instruction.operation, "group")
    if pending is None:
        raise Unfollowed(instruction.operation, "the number of pending groups is not written")
    queue = strand.queue("wgmma")
    if queue.open.operations:
        _uncommitted(machine, queue.open.operations[-1], instruction.operation)
        queue.commit()
    agents = [("wgmma", strand.cta, warp) for warp in strand.warps]
    for group in queue.complete(pending):
        _done(strand, agents, group.moment)
    return strand.place + 1


def _uncommitted(machine: Machine, operation: Operation, wait: Operation | None) -> None:
    trace = (("the wait that does not cover it", wait),) if wait is not None else ()
    machine.fault(
        "PR101",
        operation,
        "this wgmma is in no committed group: no wait covers it",
        "put nvvm.wgmma.commit.group.sync.aligned behind the last wgmma of the group",
        trace,
    )


@action("mma")
def _mma(machine: Machine, strand: Strand, instruction: Instruction) -> int:
    """``cute.gemm``: warp MMA, wgmma or tcgen05.mma by where its operands are."""
    kinds = [memory_kind(text) for text in instruction.types]
    spaces = [kind.space if kind is not None else "" for kind in kinds]
    operation = instruction.operation
    if "tmem" in spaces[:2] or (len(spaces) > 1 and spaces[1] == "tmem"):
        _tensor_mma(machine, strand, instruction, spaces)
    elif "smem_desc_view" in spaces:
        _wgmma(machine, strand, instruction, spaces)
    else:
        for place in range(1, len(instruction.inputs)):
            generic(machine, strand, operation, address(strand, instruction, place), place == 1, "")
    return strand.place + 1


@action("raw_wgmma")
def _raw_wgmma(machine: Machine, strand: Strand, instruction: Instruction) -> int:
    """``nvvm.wgmma.mma_async``: its registers are SSA values, so what is asked is the fence, the commit, the wait."""
    _wgmma(machine, strand, instruction, ())
    return strand.place + 1


def _wgmma(machine: Machine, strand: Strand, instruction: Instruction, spaces: Sequence[str]) -> None:
    operation = instruction.operation
    queue = strand.queue("wgmma")
    moment = machine.tick()
    used: set[tuple[int, int, int]] = set()
    for place in range(1, len(instruction.inputs)):
        where = address(strand, instruction, place)
        if where is None:
            continue
        if where.memory.space == "rmem":
            used.add(span(where))
        elif where.memory.space == "smem":
            agents = tuple(("wgmma", strand.cta, warp) for warp in strand.warps)
            access(machine, strand, operation, where, ".wgmma", False, agents, moment)
    touched = next((strand.touched[one[0]] for one in used if one[0] in strand.touched), None)
    if not strand.fenced:
        machine.fault(
            "PR102",
            operation,
            "no wgmma.fence stands before the first wgmma",
            "put nvvm.wgmma.fence.aligned before it",
        )
        strand.fenced = True
    elif touched is not None:
        machine.fault(
            "PR102",
            operation,
            "registers of this wgmma were accessed since the last wgmma.fence",
            "put nvvm.wgmma.fence.aligned between the access and the wgmma",
            (("they are accessed here", touched),),
        )
    for one in used:
        strand.touched.pop(one[0], None)
    queue.add(operation, moment)
    queue.open.registers |= used


# ------------------------------------------------------------------------------------------------------- copies


def _done(strand: Strand, agents: Iterable[Agent], moment: int) -> None:
    """Each warp learns that its own operations are over."""
    for agent in agents:
        if strand.own.get(agent, -1) < moment:
            strand.own[agent] = moment
    strand.version += 1


@action("bulk_commit")
def _bulk_commit(machine: Machine, strand: Strand, instruction: Instruction) -> int:
    strand.queue("bulk").commit()
    return strand.place + 1


@action("bulk_wait")
def _bulk_wait(machine: Machine, strand: Strand, instruction: Instruction) -> int:
    pending = number(instruction.operation, "group")
    queue = strand.queue("bulk")
    for group in queue.complete(pending or 0):
        _done(strand, [("bulk", strand.cta, warp) for warp in strand.warps], group.moment)
    return strand.place + 1


@action("async_commit")
def _async_commit(machine: Machine, strand: Strand, instruction: Instruction) -> int:
    strand.queue("async").commit()
    return strand.place + 1


@action("async_wait")
def _async_wait(machine: Machine, strand: Strand, instruction: Instruction) -> int:
    pending = number(instruction.operation, "n", "group")
    queue = strand.queue("async")
    for group in queue.complete(pending or 0):
        _done(strand, [("async", strand.cta, warp) for warp in strand.warps], group.moment)
    return strand.place + 1


@action("async_arrive")
def _async_arrive(machine: Machine, strand: Strand, instruction: Instruction) -> int:
    queue = strand.queue("async")
    clock = machine.arriving(strand)
    for group in queue.in_flight():
        for warp in strand.warps:
            clock.learn(("async", strand.cta, warp), group.moment)
    counted = "noinc" in words(instruction.operation) and "noinc = false" not in words(instruction.operation)
    if counted:
        for key, threads in barrier_keys(machine, strand, instruction, 0).items():
            arrive(machine, strand, instruction, key, threads, clock)
    return strand.place + 1


def _async_load(machine: Machine, strand: Strand, operation: Operation, where: Address | None, shape: str) -> None:
    moment = machine.tick()
    agents = tuple(("async", strand.cta, warp) for warp in strand.warps)
    queue = strand.queue("async")
    queue.add(operation, moment)
    access(machine, strand, operation, where, ".async", True, agents, moment, shape)


@action("async_load")
def _raw_async_load(machine: Machine, strand: Strand, instruction: Instruction) -> int:
    where = address(strand, instruction, 0)
    _async_load(machine, strand, instruction.operation, where, "each")
    return strand.place + 1


@action("copy")
def _copy(machine: Machine, strand: Strand, instruction: Instruction) -> int:
    operation = instruction.operation
    assert instruction.effect is not None
    kind = instruction.effect.copy
    source, target = address(strand, instruction, 1), address(strand, instruction, 2)
    if kind in ("tma_load", "bulk_load"):
        _tma_load(machine, strand, instruction, target)
    elif kind in ("tma_store", "bulk_store"):
        _bulk_read(machine, strand, operation, source)
    elif kind == "async":
        _async_load(machine, strand, operation, target, _shape(instruction, 2))
    elif kind == "tmem_load":
        _tmem_load(machine, strand, operation, source)
    elif kind == "tmem_store":
        _tmem_store(machine, strand, operation, source, target)
    elif kind == "s2t":
        agents = (("tc", strand.cta, strand.warps[0]),)
        moment = machine.tick()
        access(machine, strand, operation, source, ".s2t", False, agents, moment)
        access(machine, strand, operation, target, ".s2t", True, agents, moment)
    else:
        generic(machine, strand, operation, source, False, _shape(instruction, 1))
        generic(machine, strand, operation, target, True, _shape(instruction, 2))
    return strand.place + 1


def _bulk_read(machine: Machine, strand: Strand, operation: Operation, source: Address | None) -> None:
    moment = machine.tick()
    queue = strand.queue("bulk")
    queue.add(operation, moment)
    agents = tuple(("bulk", strand.cta, warp) for warp in strand.warps)
    access(machine, strand, operation, source, ".tma", False, agents, moment)


@action("bulk_store")
def _bulk_store(machine: Machine, strand: Strand, instruction: Instruction) -> int:
    for place in range(len(instruction.inputs)):
        where = address(strand, instruction, place)
        if where is not None and where.memory.space == "smem":
            _bulk_read(machine, strand, instruction.operation, where)
            break
    return strand.place + 1


@action("raw_copy")
def _raw_copy(machine: Machine, strand: Strand, instruction: Instruction) -> int:
    raise Unfollowed(instruction.operation, "a bulk copy without a tensor map is not followed yet")


def _tma_load(machine: Machine, strand: Strand, instruction: Instruction, target: Address | None) -> None:
    """A bulk copy into shared memory that completes on the barrier that was set on its atom."""
    operation = instruction.operation
    fields = strand.values[instruction.inputs[0]]
    barrier = fields.barrier if isinstance(fields, Fields) else None
    mask = fields.mask if isinstance(fields, Fields) else None
    if barrier is None or barrier.offset is None:
        raise Unfollowed(operation, "the barrier of the bulk copy is not known")
    text = instruction.types[0] if instruction.types else ""
    ctas_of_atom = _collecting(text)
    size_ = _bytes(text, instruction.types[1] if len(instruction.types) > 1 else "")
    if size_ is None:
        raise Unfollowed(operation, "the bytes of the bulk copy are not known")
    if len(strand.threads) == 1 and machine.shape.threads > 1:
        machine.fault(
            "PR140",
            operation,
            "one elected thread executes this bulk copy, which elects a thread by itself and needs a whole warp",
            "move it out of the region under nvvm.elect.sync",
        )
    receivers = [strand.cta]
    if isinstance(mask, int):
        receivers = [cta for cta in range(machine.shape.ctas) if mask >> cta & 1]
        # The instructions of the receiving CTAs share the tile: each fetches a part and sends that to all of them.
        size_ //= max(mask.bit_count(), 1)
    elif mask is not None or "mcast = true" in text:
        raise Unfollowed(operation, "the CTAs that the bulk copy is sent to are not known")
    for _ in strand.warps:
        for cta in receivers:
            home = cta & ~1 if ctas_of_atom == 2 else cta
            complete_on(machine, strand, operation, (home, barrier.memory.serial, barrier.offset), size_, target, cta)


def complete_on(
    machine: Machine,
    strand: Strand,
    operation: Operation,
    key: BarrierKey,
    size_: int | None,
    target: Address | None,
    cta: int,
) -> None:
    """Bytes that a copy writes into shared memory of a CTA and counts on a barrier."""
    barrier = machine.barriers.get(key)
    if barrier is None:
        machine.fault(
            "PR120", operation, f"the barrier {barrier_name(machine, key)} of this copy was never initialised"
        )
        return
    if not barrier.published:
        _unpublished(machine, barrier, operation)
    phase = barrier.phase
    if size_ is None:
        # It belongs to the phase that was announced last, and brings what that still lacks.
        phase, size_ = barrier.announced, max(barrier.bytes, 0)
    access(machine, strand, operation, target, ".tma", True, (barrier_agent(key),), phase + 1, ctas=(cta,))
    barrier.bytes -= size_
    barrier.copied += size_
    barrier.copying = operation
    settle(barrier)


def _bytes(atom: str, text: str) -> int | None:
    """The bytes that a copy from a tensor of coordinates brings: those of one instruction as often as it takes.

    The first mode of the tensor is the box of one instruction beside how many boxes there are; all others count boxes.
    """
    kind, bits = read_type(text), re.search(r"copy_bits = (\d+)", atom)
    if not isinstance(kind, Tensor) or bits is None:
        return None
    shape = get_shape(kind.layout)
    first, *rest = shape if isinstance(shape, tuple) else (shape,)
    counts = [*(first[1:] if isinstance(first, tuple) else ()), *rest]
    total = 1
    for leaf in leaves(tuple(counts)):
        if not isinstance(leaf, int):
            return None
        total *= leaf
    return int(bits[1]) // 8 * total


def _collecting(atom: str) -> int:
    """The CTAs that count the bytes of one copy together."""
    found = re.search(r"num_cta = (\d+)", atom)
    return int(found[1]) if found is not None else 1


@action("bulk_load")
def _bulk_load(machine: Machine, strand: Strand, instruction: Instruction) -> int:
    """A bulk tensor copy in the style of primitives: its bytes are those of the box of its tensor map."""
    operation = instruction.operation
    target, tensor_map, barrier = (address(strand, instruction, place) for place in range(3))
    if barrier is None or barrier.offset is None or target is None:
        raise Unfollowed(operation, "the barrier of the bulk copy is not known")
    boxes = machine.state.get("boxes")
    size_ = boxes.get(-tensor_map.memory.serial) if isinstance(boxes, dict) and tensor_map is not None else None
    mask = _named_operand(machine, strand, instruction, "multicast_mask")
    chosen = _named_operand(machine, strand, instruction, "predicate")
    times = len(strand.threads)
    if isinstance(chosen, Lanes):
        times = sum(chosen.each[thread] == 1 for thread in strand.threads)
    elif chosen == 0:
        times = 0
    receivers = [strand.cta if target.cta is None else target.cta]
    if "multicast_mask" in words(operation):
        if not isinstance(mask, int):
            raise Unfollowed(operation, "the CTAs that the bulk copy is sent to are not known")
        receivers = [cta for cta in range(machine.shape.ctas) if mask >> cta & 1]
    for _ in range(times):
        for cta in receivers:
            if not isinstance(cta, int):
                raise Unfollowed(operation, "the CTA that the bulk copy is sent to is not known")
            home = cta & ~1 if barrier.leader else cta
            if isinstance(barrier.cta, int) and len(receivers) == 1:
                home = barrier.cta
            key = (home, barrier.memory.serial, barrier.offset)
            sized = replace(target, extent=target.extent or size_)
            complete_on(machine, strand, operation, key, size_, sized, cta)
    return strand.place + 1


def _named_operand(machine: Machine, strand: Strand, instruction: Instruction, name: str) -> Value:
    """The operand that the custom form writes as ``name = %value``."""
    found = re.search(rf"\b{name} = (%[\w#]+)", instruction.operation.pieces[0])
    if found is None or found[1] not in instruction.operation.operands:
        return None
    value = operand(strand, instruction, instruction.operation.operands.index(found[1]))
    return value.on(strand.threads) if isinstance(value, Lanes) else value


# ---------------------------------------------------------------------------------------------------- tensor memory


@action("tmem_alloc")
def _tmem_alloc(machine: Machine, strand: Strand, instruction: Instruction) -> int:
    operation = instruction.operation
    assert instruction.effect is not None
    slot_place = instruction.effect.first
    columns = integer(machine, strand, instruction, 1 - slot_place)
    slot = address(strand, instruction, slot_place)
    if columns is not None and (columns < 32 or columns > 512 or columns & (columns - 1)):
        machine.fault(
            "PR150", operation, f"{columns} columns of tensor memory: an allocation has a power of two from 32 to 512"
        )
    if machine.state.get(("released", strand.cta)):
        machine.fault("PR151", operation, "tensor memory is allocated here after the permit to allocate was given up")
    held = machine.tmem.setdefault(strand.cta, [])
    taken = sum(n for _, n, _ in held)
    if columns is not None and taken + columns > 512:
        machine.fault("PR152", operation, f"{taken + columns} columns of tensor memory are allocated, there are 512")
    memory = machine.state.get("tmem")
    if not isinstance(memory, Memory):
        memory = Memory("tensor memory", "tmem", len(machine.memories) + 1)
        machine.memories[memory.serial] = memory
        machine.state["tmem"] = memory
    held.append((taken, columns or 0, operation))
    if slot is not None:
        agents = tuple((strand.cta, warp) for warp in strand.warps)
        access(machine, strand, operation, replace(slot, extent=4), ".generic", True, agents, machine.tick())
        machine.slots[strand.cta, slot.memory.serial, slot.offset] = Address(memory, taken, 32)
        machine.overwritten.pop((strand.cta, slot.memory.serial, slot.offset), None)
        machine.state["slot", strand.cta, slot.memory.serial, slot.offset] = (agents, machine.now, operation)
    return strand.place + 1


@action("tmem_address")
def _tmem_address(machine: Machine, strand: Strand, instruction: Instruction) -> int:
    slot = address(strand, instruction, 0)
    value: Value = None
    if slot is not None:
        value = machine.slots.get((strand.cta, slot.memory.serial, slot.offset))
        written = machine.state.get(("slot", strand.cta, slot.memory.serial, slot.offset))
        if value is None and machine.now > 0:
            memory = machine.state.get("tmem")
            value = Address(memory, None, 32) if isinstance(memory, Memory) else None
            machine.fault(
                "PR153",
                instruction.operation,
                "the address of tensor memory is read here before any allocation wrote it",
                "allocate, then cross a barrier, then read the address",
            )
        elif isinstance(written, tuple):
            agents, moment, operation = written
            if not all(machine.knows(strand, agent, moment) for agent in agents):
                machine.fault(
                    "PR153",
                    instruction.operation,
                    "the address of tensor memory is read here, and nothing orders this after its allocation",
                    "cross a barrier between the two",
                    (("it is allocated here", operation),),
                )
                machine.state["slot", strand.cta, slot.memory.serial, slot.offset] = ((), 0, operation)
    if slot is not None:
        _slot_read(machine, strand, instruction.operation, slot)
    if isinstance(value, Address):
        bits = _result_bits(machine, instruction.operation)
        value = replace(value, unit=bits)
    result(strand, instruction, value)
    return strand.place + 1


def _result_bits(machine: Machine, operation: Operation) -> int:
    kind = read_type(_type_of_result(machine, operation))
    return (element_bits(kind.element) or 32) if isinstance(kind, Pointer) else 32


@action("tmem_release")
def _tmem_release(machine: Machine, strand: Strand, instruction: Instruction) -> int:
    machine.state["released", strand.cta] = instruction.operation
    return strand.place + 1


@action("tmem_free")
def _tmem_free(machine: Machine, strand: Strand, instruction: Instruction) -> int:
    where = address(strand, instruction, 0)
    columns = integer(machine, strand, instruction, 1)
    operation = instruction.operation
    held = machine.tmem.setdefault(strand.cta, [])
    match_ = None
    if where is not None and where.offset is not None:
        match_ = next((one for one in held if one[0] == where.offset), None)
    elif len(held) == 1:
        match_ = held[0]
    if where is not None and where.memory.space == "tmem":
        access(
            machine,
            strand,
            operation,
            replace(where, extent=columns),
            ".generic",
            True,
            tuple((strand.cta, warp) for warp in strand.warps),
            machine.tick(),
        )
    if match_ is None:
        if held or where is not None:
            machine.fault("PR154", operation, "this frees tensor memory that is not allocated")
        return strand.place + 1
    if columns is not None and columns != match_[1]:
        machine.fault(
            "PR155",
            operation,
            f"{columns} columns of tensor memory are freed, {match_[1]} were allocated",
            trace=(("they are allocated here", match_[2]),),
        )
    held.remove(match_)
    return strand.place + 1


def grouped(machine: Machine, operation: Operation, two: bool) -> None:
    """All tcgen05 operations of a kernel work on as many CTAs."""
    first = machine.state.setdefault("group", (two, operation))
    assert isinstance(first, tuple)
    if first[0] is not two:
        machine.fault(
            "PR158",
            operation,
            f"this works on {'two CTAs' if two else 'one CTA'}, other tcgen05 operations of the kernel on "
            f"{'one' if two else 'two'}",
            trace=(("for example here", first[1]),),
        )


def _pair(machine: Machine, strand: Strand, text: str) -> tuple[int, ...]:
    """The CTAs that a tensor-memory operation works on."""
    if "cta_2" in text or "two_cta" in text or "num_cta = 2" in text:
        return tuple(cta for cta in (strand.cta & ~1, strand.cta | 1) if cta < machine.shape.ctas)
    return (strand.cta,)


_ATOM_CTAS = re.compile(r"cta_group = <?cta_2|num_cta = 2|, 2\s*>$|Sm100_2|cta_2")


def _tensor_mma(machine: Machine, strand: Strand, instruction: Instruction, spaces: Sequence[str]) -> None:
    operation = instruction.operation
    moment = machine.tick()
    agents = (("tc", strand.cta, strand.warps[0]),)
    ctas = _mma_ctas(machine, strand, instruction.types[0] if instruction.types else "")
    grouped(machine, operation, len(ctas) == 2)
    for place in range(1, len(instruction.inputs)):
        where = address(strand, instruction, place)
        if where is None:
            continue
        writes = place in (1, len(instruction.inputs) - 1) and where.memory.space == "tmem"
        if where.memory.space == "tmem":
            live(machine, strand, operation, where)
        access(machine, strand, operation, where, ".mma", writes, agents, moment, ctas=ctas)


def live(machine: Machine, strand: Strand, operation: Operation, where: Address) -> None:
    """Whether tensor memory is allocated where it is used."""
    if where.offset is None:
        return
    low = where.offset
    high = low + (where.extent or 1)
    held = machine.tmem.get(strand.cta, [])
    if not any(start <= low and high <= start + count for start, count, _ in held) and (
        held or machine.state.get("tmem")
    ):
        known = ", ".join(f"[{start}, {start + count})" for start, count, _ in held) or "none"
        key = ("outside", id(operation))
        if not machine.state.get(key):
            machine.state[key] = True
            machine.fault(
                "PR156",
                operation,
                f"columns [{low}, {high}) of tensor memory are used here; allocated at this moment: {known}",
            )


def _mma_ctas(machine: Machine, strand: Strand, text: str) -> tuple[int, ...]:
    try:
        tree = type_tree(text)
    except SyntaxFault:
        return (strand.cta,)
    for node in tree.walk():
        if node.kind is Kind.TYPE and node.text.startswith("!cute_nvgpu.sm100"):
            parameter = node.parameter("num_cta") or node.parameter("cta_group")
            numbers = [n.text for n in (parameter.walk() if parameter is not None else ()) if n.kind is Kind.NUMBER]
            if numbers == ["2"]:
                return _pair(machine, strand, "cta_2")
            if "num_cta = 2" in text:
                return _pair(machine, strand, "cta_2")
    return _pair(machine, strand, text)


@action("raw_mma")
def _raw_mma(machine: Machine, strand: Strand, instruction: Instruction) -> int:
    moment = machine.tick()
    agents = (("tc", strand.cta, strand.warps[0]),)
    ctas = _pair(machine, strand, words(instruction.operation))
    grouped(machine, instruction.operation, len(ctas) == 2)
    for place in (0, 1):
        where = address(strand, instruction, place)
        if where is not None and where.memory.space == "tmem":
            access(machine, strand, instruction.operation, where, ".mma", place == 0, agents, moment, ctas=ctas)
    return strand.place + 1


@action("mma_commit")
def _mma_commit(machine: Machine, strand: Strand, instruction: Instruction) -> int:
    grouped(machine, instruction.operation, "cta_2" in words(instruction.operation))
    clock = Clock()
    clock.learn(("tc", strand.cta, strand.warps[0]), machine.tick())
    clock.known.update({k: max(v, clock.known.get(k, -1)) for k, v in strand.clock.known.items()})
    mask = integer(machine, strand, instruction, 1) if len(instruction.inputs) > 1 else None
    if len(instruction.inputs) > 1 and mask is None:
        raise Unfollowed(instruction.operation, "the mask of the commit is not known")
    for key, threads in barrier_keys(machine, strand, instruction, 0).items():
        ctas = [key[0]] if mask is None else [c for c in range(machine.shape.ctas) if mask >> c & 1]
        for cta in ctas:
            arrive(machine, strand, instruction, (cta, *key[1:]), threads, clock)
    return strand.place + 1


def _tmem_load(machine: Machine, strand: Strand, operation: Operation, source: Address | None) -> None:
    moment = machine.tick()
    agents = tuple(("ld", strand.cta, warp) for warp in strand.warps)
    if source is not None and source.memory.space == "tmem":
        live(machine, strand, operation, source)
    access(machine, strand, operation, source, ".load", False, agents, moment)
    # The registers order what uses them after the load: kernels do not wait for it (FACTS section 4).
    _done(strand, agents, moment)


def _tmem_store(
    machine: Machine, strand: Strand, operation: Operation, source: Address | None, target: Address | None
) -> None:
    moment = machine.tick()
    strand.queue("tmem_store").open.moment = moment
    if target is not None and target.memory.space == "tmem":
        live(machine, strand, operation, target)
    access(
        machine, strand, operation, target, ".store", True, tuple(("st", strand.cta, w) for w in strand.warps), moment
    )


@action("tmem_load")
def _raw_tmem_load(machine: Machine, strand: Strand, instruction: Instruction) -> int:
    _tmem_load(machine, strand, instruction.operation, address(strand, instruction, 0))
    return strand.place + 1


@action("tmem_store")
def _raw_tmem_store(machine: Machine, strand: Strand, instruction: Instruction) -> int:
    _tmem_store(machine, strand, instruction.operation, None, address(strand, instruction, 0))
    return strand.place + 1


@action("tmem_wait")
def _tmem_wait(machine: Machine, strand: Strand, instruction: Instruction) -> int:
    if "load" not in words(instruction.operation):
        _done(strand, [("st", strand.cta, warp) for warp in strand.warps], strand.queue("tmem_store").open.moment)
    return strand.place + 1


# ----------------------------------------------------------------------------------------------------- everything else


@action("thread_fence")
def _thread_fence(machine: Machine, strand: Strand, instruction: Instruction) -> int:
    machine.tick()
    machine.mark("before" if "before" in words(instruction.operation) else "after", strand)
    return strand.place + 1


@action("registers")
def _setmaxregister(machine: Machine, strand: Strand, instruction: Instruction) -> int:
    count = number(instruction.operation, "regCount")
    if count is not None:
        low, high, step = (limit(machine, f"{name}_registers") for name in ("least", "most", "step"))
        if not low <= count <= high or count % step:
            machine.fault(
                "PR161",
                instruction.operation,
                f"a warpgroup asks for {count} registers a thread: the count is a multiple of {step} from {low} to "
                f"{high}",
            )
        for warp in strand.warps:
            machine.budgets[strand.cta, warp] = (count, instruction.operation)
    return strand.place + 1


@action("opaque")
def _opaque(machine: Machine, strand: Strand, instruction: Instruction) -> int:
    text = words(instruction.operation)
    if "fence.proxy.async" in text:
        return _proxy_fence(machine, strand, instruction)
    if re.search(r"mbarrier|\bbar\.|barrier\.|cp\.async|wgmma|tcgen05", text):
        raise Unfollowed(instruction.operation, "inline assembly synchronises here")
    result(strand, instruction, None)
    return strand.place + 1


@action("cancel")
def _cancel(machine: Machine, strand: Strand, instruction: Instruction) -> int:
    """An asynchronous question that answers with 16 bytes on a barrier, in all CTAs of the cluster where it says so."""
    where, barrier = address(strand, instruction, 0), address(strand, instruction, 1)
    if barrier is None or barrier.offset is None:
        raise Unfollowed(instruction.operation, "the barrier of the answer is not known")
    every = "multicast" in words(instruction.operation)
    for cta in range(machine.shape.ctas) if every else (strand.cta,):
        key = (cta, barrier.memory.serial, barrier.offset)
        complete_on(machine, strand, instruction.operation, key, 16, where, cta)
    return strand.place + 1


@action("finish")
def _finish(machine: Machine, strand: Strand, instruction: Instruction) -> int:
    """The end of a kernel: nothing may be in flight."""
    queue = strand.queues.get("wgmma")
    if queue is not None:
        if queue.open.operations:
            _uncommitted(machine, queue.open.operations[-1], None)
        left = [group for group in queue.committed if group.operations]
        if left:
            machine.fault(
                "PR104",
                left[-1].operations[-1],
                "no wait covers this wgmma before the kernel ends",
                "wait for its group: nvvm.wgmma.wait.group.sync.aligned",
            )
    bulk = strand.queues.get("bulk")
    if bulk is not None:
        if bulk.open.operations:
            grouped = any(i.effect is not None and i.effect.name == "bulk_commit" for i in machine.program.code)
            machine.fault(
                "PR105" if grouped else "PR107",
                bulk.open.operations[-1],
                "this bulk store is in no committed group: no wait covers it",
                "put nvvm.cp.async.bulk.commit.group behind it",
            )
        left = [group for group in bulk.committed if group.operations]
        if left:
            machine.fault(
                "PR106",
                left[-1].operations[-1],
                "the kernel ends while this bulk store may still read its shared memory",
                "wait for its group: nvvm.cp.async.bulk.wait_group",
            )
    return strand.place


__all__ = ["ACTIONS"]
