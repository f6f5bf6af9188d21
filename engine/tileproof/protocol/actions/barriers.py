"""mbarriers: initialisation, arrivals, expected bytes, phases; and the fences between threads and proxies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from tileproof.base.patterns import regex
from tileproof.mlir.ir import Operation
from tileproof.protocol.actions.base import WAITS, Action, address, integer, limit, operand, registrar, result
from tileproof.protocol.actions.exits import arrived
from tileproof.protocol.machine import Machine, Unfollowed
from tileproof.protocol.memory import Access
from tileproof.protocol.program import Instruction
from tileproof.protocol.state import Barrier
from tileproof.protocol.steps import words
from tileproof.protocol.values import Address, Lanes, Supposed
from tileproof.protocol.vector_clock import Agent, Clock
from tileproof.protocol.warps import BarrierKey, OnMbarrier, ThreadSet

ACTIONS: dict[str, Action] = {}
action = registrar(ACTIONS)


def barrier_keys(
    machine: Machine, thread_set: ThreadSet, instruction: Instruction, place: int
) -> dict[BarrierKey, int]:
    """The barriers that an operand names, and how many threads name each."""
    where = address(thread_set, instruction, place)
    if where is not None and where.parts:
        return Counter(_each(machine, thread_set, instruction, where).values())
    if where is None or where.offset is None:
        raise Unfollowed(instruction.operation, "barrier_address")
    return {
        (cta, where.memory.serial, where.offset): count for cta, count in machine.targets(thread_set, where).items()
    }


def _each(machine: Machine, thread_set: ThreadSet, instruction: Instruction, where: Address) -> dict[int, BarrierKey]:
    """The barrier that each thread names: its own, or one that all share."""
    found: dict[int, BarrierKey] = {}
    for thread in thread_set.active:
        offset = where.parts[thread] if where.parts else where.offset
        cta = where.cta.each[thread] if isinstance(where.cta, Lanes) else where.cta
        home = thread_set.cta if where.cta is None else cta
        if offset is None or home is None:
            raise Unfollowed(instruction.operation, "barrier_address")
        found[thread] = (machine.home(home, where), where.memory.serial, offset)
    return found


def barrier_name(machine: Machine, key: BarrierKey) -> str:
    """How messages call a barrier: by the memory that it lies in."""
    if (known := machine.names.get(key)) is not None:
        return known
    memory = machine.allocations.by_serial.get(key[1])
    if memory is None:  # what folding makes has no serial number
        return "in registers"
    for name, size_, start in memory.fields:
        if start <= key[2] < start + size_:
            return f"'{name}'[{(key[2] - start) // 8}]"
    return f"{memory.name} + {key[2]}"


def barrier_at(machine: Machine, thread_set: ThreadSet, instruction: Instruction, key: BarrierKey) -> Barrier | None:
    """A barrier; None, and a finding, where it is not initialised."""
    found = machine.barriers.get(key)
    operation = instruction.operation
    if found is None:
        if key[0] < machine.shape.ctas and not machine.taint.covers(key):
            machine.report("PR120", "here", operation, barrier=barrier_name(machine, key))
            machine.came("missing", key, 0, operation, thread_set)
        return None
    access = found.initialised
    if not machine.taint.covers(key) and not all(
        machine.knows(thread_set, agent, access.moment) for agent in access.agents
    ):
        at = (("init", found.operation),)
        if _has_met(machine, access):
            machine.report("PR137", "here", operation, at=at, barrier=found.name)
        else:
            machine.report("PR121", "here", operation, at=at, barrier=found.name)
        access.agents = ()
    return found


def _has_met(machine: Machine, access: Access) -> bool:
    """Whether the warp that initialised a barrier met others of its CTA since."""
    homes = [agent for agent in access.agents if isinstance(agent, tuple) and len(agent) == 2]
    return any(
        machine.since("met", cta, [warp], access.moment)
        for cta, warp in homes
        if isinstance(cta, int) and isinstance(warp, int)
    )


def barrier_agent(key: BarrierKey) -> Agent:
    return ("bar", *key)


@action("barrier_init")
def _barrier_init(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
    count = integer(machine, thread_set, instruction, 1)
    if count is None:
        raise Unfollowed(instruction.operation, "barrier_count")
    counts = instruction.inputs[1] if len(instruction.inputs) > 1 else 0
    each, where = thread_set.values[counts], address(thread_set, instruction, 0)
    if isinstance(each, Lanes) and where is not None and where.parts:  # each thread its own barrier, with its own count
        for thread, key in _each(machine, thread_set, instruction, where).items():
            mine = each.each[thread]
            if mine is None:
                raise Unfollowed(instruction.operation, "barrier_count")
            initialise(machine, thread_set, instruction.operation, key, mine)
        return thread_set.place + 1
    for key in barrier_keys(machine, thread_set, instruction, 0):
        initialise(machine, thread_set, instruction.operation, key, count)
    return thread_set.place + 1


def initialise(machine: Machine, thread_set: ThreadSet, operation: Operation, key: BarrierKey, count: int) -> None:
    """Threads initialise a barrier."""
    _once(machine, thread_set, operation, key)
    _placed(machine, operation, key)
    agents = _agents(thread_set.cta, thread_set.warps)
    access = Access(key[2], key[2] + 8, agents, machine.tick(), ".generic", True, operation)
    barrier = Barrier(barrier_name(machine, key), count, operation, count, access)
    machine.barriers[key] = machine.fresh.setdefault(key[0], {})[key] = barrier


@lru_cache(maxsize=1024)
def _agents(cta: int, warps: tuple[int, ...]) -> tuple[Agent, ...]:
    return tuple((cta, warp) for warp in warps)


def _once(machine: Machine, thread_set: ThreadSet, operation: Operation, key: BarrierKey) -> None:
    """Report a second initialisation; one by several threads together counts as one, as tutorials of CUTLASS do it.

    Of barriers that are initialised one after the other the first one stands for all.
    """
    before = machine.barriers.get(key)
    if before is None or machine.taint.covers(key):
        return
    home, place, last = (thread_set.cta, thread_set.threads[0]), thread_set.place, machine.again
    machine.again = home, place
    if last is not None and last[0] == home and last[1] < place:
        between = machine.program.code[last[1] + 1 : place]
        if all(one.effect is None or one.effect.pure or one.effect.name in _BESIDE for one in between):
            return
    if any(one.code == "PR129" and one.operation is operation for one in machine.faults):
        return  # of many barriers that one instruction initialises again one is named
    name = barrier_name(machine, key)
    machine.report("PR129", "here", operation, at=(("init", before.operation),), barrier=name)


_BESIDE = ("barrier_init", "allocate")


def _placed(machine: Machine, operation: Operation, key: BarrierKey) -> None:
    """Report a barrier that is apart from another one of its memory by no multiple of what both are aligned to."""
    size = limit(machine, "barrier_bytes")
    mine = machine.alignments.setdefault(key[:2], {})
    mine.setdefault(key[2] % size, (key[2], operation))
    for other, before in mine.values():
        if (other - key[2]) % size:
            at = (("other", before),)
            name, known = barrier_name(machine, key), barrier_name(machine, (*key[:2], other))
            distance = abs(other - key[2])
            machine.report("PR141", "here", operation, at=at, barrier=name, other=known, distance=distance)
            return


@action("barrier_inval")
def _barrier_inval(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
    for key in barrier_keys(machine, thread_set, instruction, 0):
        barrier = machine.barriers.pop(key, None)
        if barrier is not None:
            machine.invalidated[key] = barrier
    return thread_set.place + 1


@action("init_fence")
def _init_fence(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
    mine, fresh = {(thread_set.cta, warp) for warp in thread_set.warps}, machine.fresh.get(thread_set.cta, {})
    for key, barrier in list(fresh.items()):
        if not mine.isdisjoint(barrier.initialised.agents):
            barrier.published = True
            del fresh[key]
    return thread_set.place + 1


# fence.proxy.async.global orders global memory only; .sync_restrict names shared memory.
_SHARED = regex(r"async(?!\.global)|sync_restrict")


@action("proxy_fence")
def proxy_fence(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
    if _SHARED.search(words(instruction.operation)) is not None:
        moment = machine.tick()
        thread_set.clock.fence()
        for agent, done in thread_set.own.items():
            if thread_set.clock.fenced.get(agent, -1) < done:
                thread_set.clock.fenced[agent] = done
        fences = machine.stores.fences
        for warp in thread_set.warps:
            thread_set.clock.fenced[thread_set.cta, warp] = moment
            fences[thread_set.cta, warp] = (fences.get((thread_set.cta, warp), (-1, -1))[1], moment)
        _init_fence(machine, thread_set, instruction)
    return thread_set.place + 1


_WIDE = regex(r"mem_scope<(?:cluster|gpu|sys)>")


def arrive(
    machine: Machine,
    thread_set: ThreadSet,
    instruction: Instruction,
    key: BarrierKey,
    count: int,
    clock: Clock,
    agents: tuple[Agent, ...] = (),
) -> None:
    """Arrivals at a barrier; ``agents``: who arrives there, where it is not the threads."""
    barrier = barrier_at(machine, thread_set, instruction, key)
    if barrier is None:
        return
    operation = instruction.operation
    if key[0] != thread_set.cta:
        publish(machine, key, barrier, operation)
        if _WIDE.search(words(operation)) is not None:
            released = (clock.known.get((thread_set.cta, warp), machine.now) for warp in thread_set.warps)
            machine.releases.widely(thread_set.cta, min(released))
        else:
            machine.releases.cta_scope[thread_set.cta] = (machine.now, operation)
    arrived(machine, thread_set, operation, key, barrier.phase + 1, agents)
    barrier.arriving = operation
    barrier.sources.add(id(operation))
    mine = (id(operation), thread_set.cta, thread_set.threads[0], count)
    barrier.arrivals[mine] = barrier.arrivals.get(mine, 0) + 1
    machine.came("arrive", key, count, operation, thread_set)
    if count > barrier.pending:
        if not machine.taint.covers(key):
            _too_many(machine, operation, barrier, count)
        count = barrier.pending
    barrier.gathered.join(clock)
    barrier.pending -= count
    if barrier.unannounced is not None and barrier.pending == 0 and barrier.bytes == 0:
        _unexpected(machine, barrier, barrier.unannounced, key)
    barrier.settle()


def _unexpected(machine: Machine, barrier: Barrier, copy: Operation, key: BarrierKey) -> None:
    """Report a phase that is complete without the bytes of a copy, however many these are."""
    barrier.unannounced = None
    if not machine.taint.covers(key):
        machine.report("PR138", "none", copy, barrier=barrier.name)


def _too_many(machine: Machine, operation: Operation, barrier: Barrier, count: int) -> None:
    """Report arrivals beyond the pending count of a phase."""
    init = (("init", barrier.operation),)
    name, expected, pending = barrier.name, barrier.count, barrier.pending
    if pending == expected:
        machine.report("PR122", "count", operation, at=init, barrier=name, arrivals=count, count=expected)
    else:
        machine.report(
            "PR122", "pending", operation, at=init, barrier=name, arrivals=count, count=expected, pending=pending
        )


def publish(machine: Machine, key: BarrierKey, barrier: Barrier, operation: Operation) -> None:
    """Report the first use of a barrier by another CTA or the async proxy, if its initialisation was not fenced.

    A release of cluster scope after it fences it as well: fence.mbarrier_init is such a one, of the initialisations of
    a thread alone, and no proxy fence (PTX ISA, membar / fence).
    """
    if barrier.published or machine.taint.covers(key):
        return
    barrier.published = True
    if machine.releases.next(key[0], barrier.initialised.moment) is None:
        machine.report("PR123", "here", operation, at=(("init", barrier.operation),), barrier=barrier.name)


def arriving_warps(
    machine: Machine, thread_set: ThreadSet, instruction: Instruction, keys: Iterable[BarrierKey]
) -> Mapping[BarrierKey, Sequence[int]]:
    """The warps that arrive at each barrier: what others of the thread set did is not released there."""
    where = address(thread_set, instruction, 0)
    if where is None or len(thread_set.warps) == 1 or not (where.parts or isinstance(where.cta, Lanes)):
        return dict.fromkeys(keys, thread_set.warps)
    found: dict[BarrierKey, dict[int, None]] = {}
    for thread, key in _each(machine, thread_set, instruction, where).items():
        found.setdefault(key, {})[thread // thread_set.warp] = None
    return {key: tuple(warps) for key, warps in found.items()}


def _released(
    machine: Machine, thread_set: ThreadSet, instruction: Instruction, keys: Iterable[BarrierKey]
) -> Iterator[tuple[BarrierKey, Clock]]:
    """The clock that an arrival releases at each barrier: where it is relaxed that of the last fence before it."""
    relaxed = "relaxed = true" in words(instruction.operation)
    clocks: dict[Sequence[int], Clock] = {}
    for key, warps in arriving_warps(machine, thread_set, instruction, keys).items():
        if warps not in clocks:
            clocks[warps] = _fenced(machine, thread_set, warps) if relaxed else machine.arriving(thread_set, warps)
            if relaxed:
                clocks[warps].join(thread_set.clock.past())
                came_past(machine, thread_set, warps, clocks[warps])
        yield key, clocks[warps]


def came_past(machine: Machine, thread_set: ThreadSet, warps: Sequence[int], clock: Clock) -> None:
    """Let a clock learn that some warps are past what they waited for, whatever else an arrival of theirs releases."""
    for warp in warps:
        clock.learn(("past", thread_set.cta, warp), machine.now)


def _fenced(machine: Machine, thread_set: ThreadSet, warps: Sequence[int]) -> Clock:
    """What some warps knew and had done at their last fences; an empty clock where there was none."""
    clock = Clock()
    for warp in warps:
        held = machine.releases.fenced.get((thread_set.cta, warp))
        if held is not None:
            clock.join(held)
    return clock


def _phase(machine: Machine, keys: Iterable[BarrierKey]) -> int | None:
    """The state that an arrival returns: the parity of the phase in which it arrives; None where there are several."""
    found = {barrier.phase & 1 for key in keys if (barrier := machine.barriers.get(key)) is not None}
    return found.pop() if len(found) == 1 else None


@action("arrive")
def _arrive(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
    each = integer(machine, thread_set, instruction, 1) if len(instruction.inputs) > 1 else 1
    keys = barrier_keys(machine, thread_set, instruction, 0)
    state = _phase(machine, keys)
    for key, clock in _released(machine, thread_set, instruction, keys):
        arrive(machine, thread_set, instruction, key, keys[key] * (each or 1), clock)
    result(thread_set, instruction, state)
    return thread_set.place + 1


@action("arrive_expect")
def _arrive_expect(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
    _expect(machine, thread_set, instruction)
    keys = barrier_keys(machine, thread_set, instruction, 0)
    state = _phase(machine, keys)
    for key, clock in _released(machine, thread_set, instruction, keys):
        arrive(machine, thread_set, instruction, key, keys[key], clock)
    result(thread_set, instruction, state)
    return thread_set.place + 1


def _bytes(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> tuple[dict[BarrierKey, int], bool]:
    """The bytes that a step counts at each mbarrier, and whether a run supposes how many they are.

    Each thread counts its own: an elected one may count all of them, and the others none.
    """
    keys, held = barrier_keys(machine, thread_set, instruction, 0), operand(thread_set, instruction, 1)
    if isinstance(held, Lanes) and held.term is None and isinstance(held.on(thread_set.threads), Lanes):
        return _bytes_of_each(machine, thread_set, instruction, keys, held), False
    count, supposed = integer(machine, thread_set, instruction, 1), False
    if count is None:
        raise Unfollowed(instruction.operation, "expected_bytes")
    if isinstance(count, Supposed):  # no kernel is given bytes that no copy can deliver
        count, supposed = count + -count % machine.copied, True
    return {key: count * threads for key, threads in keys.items()}, supposed


def _bytes_of_each(
    machine: Machine,
    thread_set: ThreadSet,
    instruction: Instruction,
    keys: Iterable[BarrierKey],
    counts: Lanes,
) -> dict[BarrierKey, int]:
    """The sums at each mbarrier of what threads count that count differently."""
    found = dict.fromkeys(keys, 0)
    where, several = address(thread_set, instruction, 0), len(found) > 1
    each = _each(machine, thread_set, instruction, where) if where is not None and several else {}
    for thread in thread_set.threads:
        count = counts.each[thread]
        if count is None:
            raise Unfollowed(instruction.operation, "expected_bytes")
        for key in (each[thread],) if several else found:
            found[key] = found.get(key, 0) + count
    return found


@action("expect")
def _expect(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
    counts, supposed = _bytes(machine, thread_set, instruction)
    for key, count in counts.items():
        barrier = machine.barriers.get(key)
        if barrier is not None:
            barrier.bytes += count
            barrier.expected += count
            barrier.expecting = instruction.operation
            barrier.announcers = len(thread_set.threads)
            barrier.unannounced = None
            barrier.announced = barrier.phase
            barrier.supposed |= supposed
            machine.came("expect", key, count, instruction.operation, thread_set)
            barrier.settle()  # bytes may have come before they are expected
        else:
            machine.came("missing", key, 0, instruction.operation, thread_set)
    return thread_set.place + 1


@action("complete")
def _complete(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
    """Threads count bytes as delivered, for a copy that would have brought them (PTX ISA, mbarrier.complete_tx).

    That is relaxed: who waits for the phase sees what they did before their last fence.
    """
    fenced = _fenced(machine, thread_set, thread_set.warps)
    for key, count in _bytes(machine, thread_set, instruction)[0].items():
        barrier = machine.barriers.get(key)
        machine.came("copy" if barrier else "missing", key, count, instruction.operation, thread_set)
        if barrier is not None:
            barrier.bytes -= count
            barrier.copied += count
            barrier.gathered.join(fenced)
            barrier.settle()
    return thread_set.place + 1


_ROUND = 2  # phases after which a parity repeats


def _waits(
    machine: Machine, thread_set: ThreadSet, instruction: Instruction
) -> Iterator[tuple[BarrierKey, Barrier, bool]]:
    """The barriers that threads wait at, and whether the phase that they wait for is complete.

    Warps that wait at different ones go separate ways; a warp whose lanes do waits until the phases of all are over.
    """
    where = address(thread_set, instruction, 0)
    asked: dict[BarrierKey, int | None] = {}
    if where is not None and (where.parts or isinstance(where.cta, Lanes)):
        each = _each(machine, thread_set, instruction, where)
        _part_warps(machine, thread_set, each)
        parity = operand(thread_set, instruction, 1)
        for thread in thread_set.threads:
            asked.setdefault(each[thread], parity.each[thread] if isinstance(parity, Lanes) else None)
        if not isinstance(parity, Lanes):
            asked = dict.fromkeys(asked, integer(machine, thread_set, instruction, 1))
    else:
        parity = integer(machine, thread_set, instruction, 1)
        asked = dict.fromkeys(barrier_keys(machine, thread_set, instruction, 0), parity)
    for key, wanted in sorted(asked.items(), key=lambda one: one[0]):
        if wanted is None:
            raise Unfollowed(instruction.operation, "parity")
        barrier = barrier_at(machine, thread_set, instruction, key)
        if barrier is not None:
            yield key, barrier, (barrier.phase & 1) != (wanted & 1)


def _part_warps(machine: Machine, thread_set: ThreadSet, each: dict[int, BarrierKey]) -> None:
    """Split a thread set by the barriers of its warps."""
    warps: dict[int, set[BarrierKey]] = {}
    for thread, key in each.items():
        warps.setdefault(thread // thread_set.warp, set()).add(key)
    kinds = sorted({tuple(sorted(keys)) for keys in warps.values()})
    if len(kinds) > 1:
        kind = {warp: kinds.index(tuple(sorted(keys))) for warp, keys in warps.items()}
        machine.split_by_value(
            thread_set, Lanes(tuple(kind.get(t // thread_set.warp) for t in range(machine.shape.threads)))
        )


def _passes(machine: Machine, thread_set: ThreadSet, key: BarrierKey, barrier: Barrier) -> None:
    """The thread set waited for a phase: it acquires the clocks of all arrivals that completed it."""
    barrier.overrun |= barrier.phase - barrier.seen > _ROUND
    barrier.seen = barrier.phase
    thread_set.clock.join(barrier.done)
    thread_set.clock.learn(barrier_agent(key), barrier.phase)
    thread_set.version += 1
    machine.mark("passed", thread_set)


def excused(thread_set: ThreadSet) -> bool:
    """Whether a thread set leaves a wait, once, although nothing is known to complete it."""
    was, thread_set.excused = thread_set.excused, False
    return was


@action("wait")
def _wait(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
    found = list(_waits(machine, thread_set, instruction))
    waiting = [(key, barrier) for key, barrier, over in found if not over]
    if waiting and not excused(thread_set):
        key, barrier = waiting[0]
        thread_set.blocked = OnMbarrier(key, barrier, barrier.phase)
        return WAITS
    for key, barrier, over in found:
        tried = machine.tried.pop((thread_set.cta, thread_set.warps[0], key), None) if machine.tried else None
        if tried is not None and tried[0] != ((barrier.phase & 1) == over):
            machine.misled.add(id(tried[1]))
        trial = machine.pending.pop((thread_set.cta, thread_set.warps[0]), None) if machine.pending else None
        if trial is not None and key not in trial[1]:
            machine.astray.add(trial[0])
        machine.came("pass", key, 0, instruction.operation, thread_set)
        _passes(machine, thread_set, key, barrier)
        if over:
            moment = machine.tick()
            barrier.passed |= {(thread_set.cta, warp): (moment, instruction.operation) for warp in thread_set.warps}
    result(thread_set, instruction, 1)
    return thread_set.place + 1


@action("peek")
@action("block")
def _test(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
    """A test of a phase, or a try_wait: it always fails here, so that the wait behind it is verified.

    A loop that only tests is a wait, and its test is none of these. One that asks for another phase than the wait
    behind it succeeds while the phase is not complete: then the wait is skipped, and the threads know of nothing. Here
    they go on when it is complete, as slow ones do. One that asks another barrier than the wait behind it may come so
    late that the phase there is over.
    """
    found = list(_waits(machine, thread_set, instruction))
    operation, mine = instruction.operation, (thread_set.cta, thread_set.warps[0])
    passes = mine in machine.slow  # it was let past before
    machine.slow.discard(mine)
    if not passes:
        for key, barrier, over in found:
            machine.tried[*mine, key] = (barrier.phase & 1) == over, operation
        machine.pending[mine] = id(operation), frozenset(key for key, _, _ in found)
        eager, until = id(operation) in machine.eager, None
        if eager:
            until = next((one for one in found if one[2]), None)
            passes = until is not None
        elif id(operation) in machine.telling:
            until = next((one for one in found if not one[2]), None)
            passes = until is None
        for key, barrier, _ in found if passes else ():
            _passes(machine, thread_set, key, barrier)
        if until is not None and not excused(thread_set):
            if eager:
                machine.slow.add(mine)
            thread_set.blocked = OnMbarrier(until[0], until[1], until[1].phase)
            return WAITS
    if found:
        result(thread_set, instruction, int(passes))  # false: the code that follows has to wait
    return thread_set.place + 1
