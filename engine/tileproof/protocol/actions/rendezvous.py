"""Barriers of threads: of the CTA, named ones, of a warp, of the cluster."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from tileproof.base.patterns import regex
from tileproof.mlir.ir import Operation
from tileproof.protocol.actions.barriers import excused
from tileproof.protocol.actions.base import WAITS, Action, integer, limit, registrar, result
from tileproof.protocol.machine import Machine, Unfollowed
from tileproof.protocol.program import Instruction, reachable
from tileproof.protocol.state import Use
from tileproof.protocol.steps import words
from tileproof.protocol.values import Supposed
from tileproof.protocol.vector_clock import Clock
from tileproof.protocol.warps import BarrierName, OnBarrier, OnCluster, ThreadSet

ACTIONS: dict[str, Action] = {}
action = registrar(ACTIONS)
MEETING = frozenset({"cta_arrive", "cta_barrier"})  # steps that may complete a barrier of threads


def _rendezvous(machine: Machine, thread_set: ThreadSet, name: BarrierName, wanted: int, ended: int) -> int:
    """Wait at a barrier until as many threads as it expects have arrived, or have ended.

    A warp counts once all of its threads that have not ended are there (H200, tests/hardware).
    """
    if thread_set.passed == name:
        thread_set.passed = None
        return thread_set.place + 1
    there = machine.named.waiting.setdefault(name, [])
    if thread_set not in there:
        _uses(machine, thread_set, thread_set.place, name, wanted)
        there.append(thread_set)
    missing = _threads(there) + ended < wanted or _halved(machine, there)
    if missing and not excused(thread_set):
        thread_set.blocked = OnBarrier(name, wanted - ended)
        return WAITS
    _surplus_threads(machine, thread_set, name, there, wanted)
    machine.synchronise(there)
    machine.named.complete(name, machine.now, thread_set)
    return thread_set.place + 1


def _threads(there: Sequence[ThreadSet]) -> int:
    """How many threads a barrier counts for these: whole warps, and one that comes in parts once."""
    parts = _parts(there)
    whole = sum(len(one.warps) for one in there if one not in parts)
    most: dict[int, int] = {}  # how often any thread of a warp came
    for thread, times in Counter(thread for one in parts for thread in one.threads).items():
        warp = thread // parts[0].warp
        most[warp] = max(most.get(warp, 0), times)
    return (whole + sum(most.values())) * there[0].warp if there else 0


def _parts(there: Sequence[ThreadSet]) -> list[ThreadSet]:
    """Those that have only a part of a warp."""
    return [one for one in there if len(one.threads) < one.warp * len(one.warps)]


def _halved(machine: Machine, there: Sequence[ThreadSet]) -> bool:
    """Whether a part of a warp of which another part waits at a barrier is still elsewhere, and may come."""
    if machine.named.halves:
        return False
    mine = {warp for one in _parts(there) for warp in one.warps}
    return bool(mine) and any(
        one.cta == there[0].cta and not one.finished and one not in there and not mine.isdisjoint(one.warps)
        for one in machine.thread_sets
    )


def _surplus_threads(
    machine: Machine, thread_set: ThreadSet, name: BarrierName, there: Sequence[ThreadSet], wanted: int
) -> None:
    """Report more arrivals than a barrier expects; not where its ID is unknown: there may be several."""
    count = _threads(there)
    if count > wanted and name[1] is not None and not machine.named.uses[name].disputed:
        operation = machine.program.code[thread_set.place].operation
        machine.report("PR136", "here", operation, id=name[1], count=wanted, arrivals=count)


def _uses(machine: Machine, thread_set: ThreadSet, place: int, name: BarrierName, wanted: int) -> None:
    """A thread set arrives at a named barrier: report another count, or a use not ordered after the last one."""
    operation = machine.program.code[place].operation
    last = machine.named.uses.get(name)
    machine.named.numbers.setdefault(id(operation), set()).add(name[1])
    if last is None or last.complete is not None:
        machine.named.uses[name] = Use(wanted, operation)
    if last is not None and last.complete is None and last.wanted != wanted:
        other = (("other", last.operation),)
        machine.report("PR133", "counts", operation, at=other, id=name[1], count=wanted, other=last.wanted)
        last.wanted, last.disputed = wanted, True
    elif last is not None and last.complete is not None and not _follows(thread_set, last.warps, last.complete):
        machine.report("PR133", "order", operation, at=(("other", last.operation),), id=name[1])
    machine.named.uses[name].warps.update(thread_set.warps)


def _follows(thread_set: ThreadSet, warps: set[int], moment: int) -> bool:
    """Whether a thread set has one of these warps, or is ordered after one of them at a later moment."""
    known = thread_set.clock.known
    return not warps.isdisjoint(thread_set.warps) or any(known.get((thread_set.cta, w), -1) > moment for w in warps)


@action("cta_barrier")
def _cta_barrier(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
    ident, wanted, counted = _named(machine, thread_set, instruction)
    result(thread_set, instruction, None)  # of a reduction
    ended = 0 if counted else _ended(machine, thread_set.cta)
    return _rendezvous(machine, thread_set, (thread_set.cta, ident), wanted, ended)


def _ended(machine: Machine, cta: int) -> int:
    """The threads of the warps of a CTA that have ended: a barrier without a count does not wait for them."""
    gone, warp = machine.exits.threads.get(cta, set()), machine.shape.warp
    return sum(warp for first in range(0, machine.shape.threads, warp) if gone.issuperset(_lanes(machine, first)))


def _lanes(machine: Machine, first: int) -> range:
    return range(first, min(first + machine.shape.warp, machine.shape.threads))


def _named(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> tuple[int | None, int, bool]:
    """The number of a barrier, how many threads it counts, and whether the text says how many."""
    warp = machine.shape.warp
    every = -(-machine.shape.threads // warp) * warp
    operation = instruction.operation
    segments = operation.attribute("operandSegmentSizes")
    assert instruction.effect is not None
    first = instruction.effect.first
    given = len(instruction.inputs) - first - instruction.effect.third
    has_id, has_count = given > 0, given > 1
    if segments is not None:
        counts = [int(n) for n in re.findall(r"\d+", segments.text.partition(":")[2])]
        has_id, has_count = counts[:1] == [1], counts[1:2] == [1]
        if first:
            first, has_id, has_count = counts[0], counts[1:2] == [1], counts[2:3] == [1]
    ident = integer(machine, thread_set, instruction, first) if has_id else 0
    wanted = integer(machine, thread_set, instruction, first + has_id) if has_count else every
    if wanted is None:
        raise Unfollowed(operation, "thread_count")
    fits = wanted % warp == 0 and (wanted <= every or _come_twice(machine))
    if not fits and isinstance(wanted, Supposed):
        raise Unfollowed(operation, "thread_count")  # of what the kernel gets, which decides how many warps it has
    if not fits:
        machine.report("PR131", "here", operation, count=wanted, threads=every)
        wanted = min(-(-wanted // warp) * warp, every)
    count = limit(machine, "named_barriers")
    exists = ident is None or 0 <= ident < count
    if not exists and isinstance(ident, Supposed):
        raise Unfollowed(operation, "barrier_id")
    if not exists:
        machine.report("PR132", "here", operation, id=ident, last=count - 1)
    return ident, wanted, has_count


def _come_twice(machine: Machine) -> bool:
    """Whether a warp may come to a barrier again before it is complete: some do not wait for it."""
    return any(one.effect is not None and one.effect.name == "cta_arrive" for one in machine.program.code)


@action("cta_arrive")
def _cta_arrive(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
    ident, wanted, _ = _named(machine, thread_set, instruction)
    name = (thread_set.cta, ident)
    there = machine.named.waiting.setdefault(name, [])
    _uses(machine, thread_set, thread_set.place, name, wanted)
    arrived = thread_set.part(thread_set.threads)
    arrived.clock = machine.arriving(thread_set)
    there.append(arrived)
    if _threads(there) >= wanted:
        _surplus_threads(machine, thread_set, name, there, wanted)
        machine.synchronise(there)
        machine.named.complete(name, machine.now)
    return thread_set.place + 1


def unmet_sets(machine: Machine) -> list[ThreadSet]:
    """The thread sets that wait at a barrier of threads to which none of those who are elsewhere can come."""
    code, numbers = machine.program.code, dict[int, set[int | None]]()

    def ahead(place: int) -> set[int | None]:
        """The numbers of the barriers that a thread may come to; None where one is not known."""
        if place not in numbers:
            steps = [code[at] for at in reachable(code, place)]
            meeting = [one for one in steps if one.effect and one.effect.name in MEETING]
            found = (machine.named.numbers.get(id(one.operation), {None}) for one in meeting)
            numbers[place] = set().union(*found)
        return numbers[place]

    def unmet(thread_set: ThreadSet) -> bool:
        wait = thread_set.blocked
        if not isinstance(wait, OnBarrier):
            return False
        there = machine.named.waiting.get(wait.name, ())
        others = (one for one in machine.thread_sets if one.cta == thread_set.cta and one not in there)
        return all(ahead(one.place).isdisjoint({None, wait.name[1]}) for one in others if not one.finished)

    return [one for one in machine.thread_sets if unmet(one)]


def threads_missing(machine: Machine, thread_set: ThreadSet) -> None:
    """Report a thread set that waits for ever at a barrier of threads, or of the cluster."""
    operation = machine.program.code[thread_set.place].operation
    wait = thread_set.blocked
    if not isinstance(wait, OnBarrier):
        expected = _in_cluster(machine)
        machine.report("PR130", "cluster", operation, expected=expected, reach=machine.cluster.threads)
        return
    reach = _threads(machine.named.waiting.get(wait.name, ()))
    if wait.name[1] is None:
        machine.report("PR130", "unnamed", operation, expected=wait.expected, reach=reach)
    else:
        machine.report("PR130", "named", operation, barrier=wait.name[1], expected=wait.expected, reach=reach)


@action("warp_sync")
def _warp_sync(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
    """The lanes that meet have order among them; what a warp is to others does not change."""
    parts, moment = machine.divided(thread_set), machine.tick()
    for warp in thread_set.warps:
        if warp not in parts:
            machine.meet_lanes(thread_set.cta, warp, moment)
    return thread_set.place + 1


_ACQUIRES = regex(r"\bacquire\b")


@action("cluster_fence")
def _cluster_fence(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
    """What threads did before a fence their relaxed arrivals behind it release (PTX ISA, Release patterns).

    One that only acquires releases nothing.
    """
    if _ACQUIRES.search(words(instruction.operation)) is not None:
        return thread_set.place + 1
    machine.releases.widely(thread_set.cta, machine.tick())
    for warp in thread_set.warps:
        machine.releases.fenced[thread_set.cta, warp] = machine.arriving(thread_set, (warp,))
    return thread_set.place + 1


@action("cluster_arrive")
def _cluster_arrive(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
    if "relaxed" not in words(instruction.operation):
        machine.releases.widely(thread_set.cta, machine.tick())
    held = machine.cluster
    held.used = True
    held.gathered.join(machine.arriving(thread_set))
    held.threads += len(thread_set.threads)
    if thread_set.arrived is not None:
        unwaited(machine, thread_set.arrived)
    thread_set.arrived = instruction.operation
    held.acted.difference_update((thread_set.cta, thread) for thread in thread_set.threads)
    thread_set.values[0] = held.phase
    _complete(machine)
    return thread_set.place + 1


def _in_cluster(machine: Machine) -> int:
    """The threads that a barrier of the cluster waits for: those that have not ended."""
    return machine.shape.threads * machine.shape.ctas - sum(len(gone) for gone in machine.exits.threads.values())


def _complete(machine: Machine) -> None:
    """Complete the phase of the cluster's barrier where all have arrived, or have ended."""
    held = machine.cluster
    if held.threads and held.threads >= _in_cluster(machine):
        held.phase += 1
        held.done.join(held.gathered)
        held.done.join(held.ended)
        held.gathered, held.threads = Clock(), 0


def leaves(machine: Machine, thread_set: ThreadSet) -> None:
    """Threads have ended: the barrier of the cluster waits for the others, and these have done all of theirs."""
    held = machine.cluster
    held.ended.join(machine.arriving(thread_set))
    if thread_set.arrived is not None and thread_set.values[0] == held.phase:
        held.threads -= len(thread_set.threads)
    _complete(machine)


def ended_unwaited(machine: Machine, thread_set: ThreadSet, arrival: Operation) -> None:
    """Threads have ended after an arrival at the cluster barrier that they have not waited for.

    Where they did nothing since it is enough that others of their CTA wait for the phase, which keep its shared memory.
    """
    held, phase = machine.cluster, thread_set.values[0]
    if not isinstance(phase, int) or any((thread_set.cta, thread) in held.acted for thread in thread_set.threads):
        unwaited(machine, arrival)
    else:
        held.left.setdefault((thread_set.cta, phase), arrival)


def left_unwaited(machine: Machine) -> None:
    """Report arrivals of threads that ended, of phases that no thread of their CTA waited for."""
    for which, arrival in machine.cluster.left.items():
        if which not in machine.cluster.waited:
            unwaited(machine, arrival)


def unwaited(machine: Machine, arrival: Operation) -> None:
    """Report an arrival at the cluster barrier that no wait follows."""
    machine.report("PR134", "here", arrival)


@action("cluster_wait")
def _cluster_wait(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
    held = machine.cluster
    mine = thread_set.values[0]
    if thread_set.arrived is None:
        machine.report("PR135", "here", instruction.operation)
    if not held.used or not isinstance(mine, int):
        return thread_set.place + 1
    if held.phase <= mine and not excused(thread_set):
        thread_set.blocked = OnCluster()
        return WAITS
    held.met.add(thread_set.cta)
    held.waited.add((thread_set.cta, mine))
    thread_set.clock.join(held.done)
    thread_set.version += 1
    thread_set.arrived = None
    return thread_set.place + 1
