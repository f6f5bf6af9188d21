"""Operations that may be missing: fences, commits and waits, arrivals, announcements of bytes, barriers.

Those without operands are inserted as they would be written. What an arrival, an announcement or a wait would name is
taken from the run: the next stage of the ring, the bytes that the copies bring.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from tileproof.mlir.ir import Operation
from tileproof.protocol.actions.barriers import arrive
from tileproof.protocol.diagnosis.changes import (
    SUPPLIED,
    Change,
    Supplied,
    both,
    copied,
    dropped,
    inserted,
    inserted_behind_loop,
    loop_ends,
    moved,
    step,
)
from tileproof.protocol.diagnosis.scene import BARRIER_BYTES, HANGS, ORDER, Scene, distinct
from tileproof.protocol.machine import Machine, ProtocolFault
from tileproof.protocol.program import Instruction
from tileproof.protocol.vector_clock import Clock
from tileproof.protocol.warps import BarrierKey, ThreadSet
from tileproof.rulebase.book import Rulebook

_QUEUES = {"wgmma": ("mma", "raw_wgmma"), "bulk": ("copy", "bulk_store", "raw_copy"), "async": ("copy", "async_load")}


def missing(scene: Scene) -> Iterator[Change]:
    """The changes that insert an operation, in order."""
    yield from _initialisations(scene)
    yield from _announcements(scene)
    yield from _arrivals(scene)
    yield from _fences(scene)
    yield from _groups(scene)
    yield from _barriers(scene)
    yield from _frees(scene)
    yield from _orders(scene)


def _written(book: Rulebook, name: str) -> str:
    """How an operation is written: the row of the table ``schedule``."""
    return str(book.shared_table("schedule").rows[f".{name}",][4])


def _new(scene: Scene, name: str, like: Operation, pending: int = 0) -> Instruction:
    """A step without operands, as it would be written."""
    text = _written(scene.machine.book, name).replace("{pending}", str(pending))
    operation = Operation(text.split()[0], (), (), (), (), (), (), (), False, (text,), (), like.span, like.name_span)
    effect = {"store_wait": "tmem_wait", "load_wait": "tmem_wait"}.get(name, name)
    return step(effect, operation)


def _insertion(scene: Scene, name: str, beside: Operation, after: bool, rank: int = 2, pending: int = 0) -> Change:
    """An operation without operands is inserted."""
    new = _new(scene, name, beside, pending)
    case = "insert_after" if after else "insert_before"
    facts = {"operation": new.operation.pieces[0]}
    return Change(case, facts, beside, inserted(beside, after, new), rank=rank)


# -------------------------------------------------------------------------------------------------------- mbarriers


def _initialisations(scene: Scene) -> Iterator[Change]:
    """A barrier that is not initialised, as its neighbour is."""
    machine = scene.machine
    if "PR120" not in scene.codes:
        return
    for key, barrier in sorted(machine.barriers.items()):
        for distance in (BARRIER_BYTES, -BARRIER_BYTES):
            if (key[0], key[1], key[2] + distance) in machine.barriers:
                continue
            source = scene.instructions.get(id(barrier.operation))
            if source is not None:
                change = copied(barrier.operation, source, True, (0, partial(moved, distance=distance)))
                facts = {"barrier": scene.name((key[0], key[1], key[2] + distance))}
                yield Change("initialise", facts, barrier.operation, change, rank=1)


def _announcements(scene: Scene) -> Iterator[Change]:
    """Bytes that copies bring and nobody announces: an arrival with them before the first copy."""
    for _, _, key in scene.waiting:
        barrier = scene.machine.barriers[key]
        copies = [one for one in scene.by_key[key] if one.kind == "copy"]
        if not copies or any(one.kind == "expect" for one in scene.by_key[key]):
            continue
        delivered = -barrier.bytes
        ring = scene.ring(key)
        facts = {"barrier": scene.name(key), "bytes": delivered}
        for first in distinct(one.operation for one in copies[:1]):
            change = inserted(first, False, step(SUPPLIED, first, _announcing(ring, delivered)))
            yield Change("announce", facts, first, change, key=key)


def _announcing(ring: list[BarrierKey], delivered: int) -> Supplied:
    """An arrival at the next barrier of a ring, with bytes."""

    def run(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
        key = _next(machine, thread_set, instruction, ring)
        if key is not None:
            barrier = machine.barriers[key]
            barrier.bytes += delivered
            barrier.expected += delivered
            arrive(machine, thread_set, instruction, key, barrier.pending, machine.arriving(thread_set))
        return thread_set.place + 1

    return run


def _next(
    machine: Machine, thread_set: ThreadSet, instruction: Instruction, ring: list[BarrierKey]
) -> BarrierKey | None:
    """The stage of a ring whose turn it is for a thread set that goes through it in order."""
    mine = [key for key in ring if key in machine.barriers]
    if not mine:
        return None
    place = (instruction.operation.span.start, thread_set.cta, thread_set.warps[0])
    turn = machine.tallies[place] = machine.tallies.get(place, -1) + 1
    return mine[turn % len(mine)]


_RELEASES = ("wgmma_wait", "mma", "raw_mma", "tmem_wait", "tmem_load", "wait", "peek", "copy", "read")
_MOST_RELEASES = 12
_UNMET = {"PR111", "PR112", "PR116", "PR121", "PR153"}
_MOST_MOVED = 3  # barriers near a finding


def _arrivals(scene: Scene) -> Iterator[Change]:
    """An arrival at a ring that nobody arrives at, after what uses its stages."""
    seen = set()
    for key in scene.roots:
        ring = scene.ring(key)
        came = any(one.kind in ("arrive", "copy") for other in ring for one in scene.by_key[other])
        if came or key[1:] in seen:
            continue
        seen.add(key[1:])
        ring += _idle_behind(scene, ring[-1])
        waiting = {id(waits) for _, waits, other in scene.waiting if other == key}
        executed = scene.machine.coverage.executed
        anchors = [one for name in _RELEASES for one in scene.steps(name) if id(one) in executed]
        for anchor in [one for one in distinct(anchors) if id(one) not in waiting][:_MOST_RELEASES]:
            effect = scene.instructions[id(anchor)].effect
            assert effect is not None
            tensor = effect.name in ("mma", "raw_mma")
            pair = tensor and len({other[0] for other in scene.roots if other[1:] == key[1:]}) > 1
            case = "commit_missing" if tensor else "arrive_missing"
            facts = {"barrier": scene.name(key)}
            warps = scene.executing[id(anchor)]
            each = max(len(warps) // max(len({cta for cta, _ in warps}), 1), 1)
            new = step(SUPPLIED, anchor, _arriving(ring, tensor, pair, each))
            yield Change(case, facts, anchor, inserted(anchor, True, new), key=key)
            for depth in range(len(loop_ends(scene.machine.program, scene.places[id(anchor)])) if tensor else 0):
                yield Change(case, facts, anchor, inserted_behind_loop(anchor, depth, new), key=key)


def _idle_behind(scene: Scene, key: BarrierKey) -> list[BarrierKey]:
    """The barriers behind one to which nothing ever came, and where nobody waits: further stages of its ring."""
    barriers, found = scene.machine.barriers, []
    taken = {other for _, _, other in scene.waiting} | scene.by_key.keys()
    behind = (key[0], key[1], key[2] + BARRIER_BYTES)
    while behind in barriers and behind not in taken and barriers[behind].count == barriers[key].count:
        found.append(behind)
        behind = (behind[0], behind[1], behind[2] + BARRIER_BYTES)
    return found


def _arriving(ring: list[BarrierKey], tensor: bool, pair: bool, warps: int) -> Supplied:
    """All arrivals at the next barrier of a ring; of the tensor core for what it was given, perhaps in both CTAs.

    Args:
        warps: of a CTA that arrive.
    """

    def run(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
        key = _next(machine, thread_set, instruction, ring)
        if key is None:
            return thread_set.place + 1
        clock = machine.arriving(thread_set)
        if tensor:
            clock = Clock()
            clock.join(thread_set.clock)
            clock.learn(("tc", thread_set.cta, thread_set.warps[0]), machine.tick())
        for cta in range(machine.shape.ctas) if pair else (thread_set.cta,):
            home = (cta, *key[1:])
            barrier = machine.barriers.get(home)
            if barrier is not None:
                share = -(-barrier.count * len(thread_set.warps) // warps)
                arrive(machine, thread_set, instruction, home, min(share, barrier.pending), clock)
        return thread_set.place + 1

    return run


# ------------------------------------------------------------------------------------------------- fences and groups


def _earlier(fault: ProtocolFault) -> list[Operation]:
    """The operations that a finding names besides the one that it is at."""
    return [operation for _, operation in fault.trace]


def _fences(scene: Scene) -> Iterator[Change]:
    """Fences of proxies, of initialisations, of wgmma's registers."""
    for fault in scene.faults:
        if fault.code == "PR110":
            for earlier in _earlier(fault):
                yield _insertion(scene, "proxy_fence", earlier, True, rank=1)
        elif fault.code == "PR102":
            yield _insertion(scene, "wgmma_fence", fault.operation, False, rank=1)
    if scene.codes & {"PR123"}:
        inits = scene.steps("barrier_init")
        if inits:
            yield _insertion(scene, "init_fence", inits[-1], True, rank=1)


def _groups(scene: Scene) -> Iterator[Change]:
    """Commits and waits of groups."""
    if not scene.codes & ORDER:
        return
    named = {id(one): one for fault in scene.faults for one in (fault.operation, *_earlier(fault))}
    for queue, producers in _QUEUES.items():
        issued = [one for one in named.values() if _issues(scene.instructions.get(id(one)), producers, queue)]
        if not issued or (queue == "wgmma" and not scene.steps("wgmma_fence", "wgmma_commit", "wgmma_wait")):
            continue
        commits = scene.steps(f"{queue}_commit")
        for one in issued:
            rank = 1 if scene.codes & {"PR101", "PR105", "PR107"} else 2
            yield _insertion(scene, f"{queue}_commit", one, True, rank=rank)
        for commit in commits:
            for one in issued:
                new = _new(scene, f"{queue}_commit", commit)
                moves = both(dropped(commit), inserted(one, True, new))
                facts = {"operation": new.operation.pieces[0]}
                if scene.straight(commit, one):
                    yield Change("moved", facts, commit, moves, (one,), rank=1)
        for commit in commits:
            yield _insertion(scene, f"{queue}_wait", commit, True, rank=2)
        for fault in scene.faults:
            if {id(one) for one in issued} & {id(one) for one in _earlier(fault)}:
                yield _insertion(scene, f"{queue}_wait", fault.operation, False, rank=2)
        for arrival in scene.steps("arrive", "arrive_expect") if queue == "wgmma" else ():
            yield _insertion(scene, f"{queue}_wait", arrival, False, rank=2)
    for name, kind in (("store_wait", "tmem_store"), ("load_wait", "tmem_load")):
        for one in named.values():
            found = scene.instructions.get(id(one))
            if found is not None and found.effect is not None and kind in (found.effect.name, found.effect.copy):
                yield _insertion(scene, name, one, True, rank=1)


def _issues(instruction: Instruction | None, producers: tuple[str, ...], queue: str) -> bool:
    """Whether a step issues an operation of a kind of groups."""
    effect = None if instruction is None else instruction.effect
    if effect is None or effect.name not in producers:
        return False
    copies = {"bulk": ("tma_store", "bulk_store"), "async": ("async",)}.get(queue)
    return effect.name != "copy" or copies is None or effect.copy in copies


# ----------------------------------------------------------------------------------------------------- thread barriers


def _barriers(scene: Scene) -> Iterator[Change]:
    """Barriers of threads: one that the same threads use elsewhere, or one of the whole CTA."""
    if not scene.codes & _UNMET:
        return
    known: dict[tuple[int, ...], Instruction] = {}
    for operation in scene.steps("cta_barrier"):
        instruction = scene.instructions[id(operation)]
        known.setdefault(instruction.inputs, instruction)
    barriers = scene.steps("cta_barrier")
    for fault in scene.faults:
        races = [fault.operation, *_earlier(fault)]
        if fault.code not in _UNMET or (fault.code in ORDER and not any(map(scene.by_threads, races))):
            continue
        at = fault.operation.span.start
        for barrier in sorted(barriers, key=lambda one: abs(one.span.start - at))[:_MOST_MOVED]:
            instruction = scene.instructions[id(barrier)]
            facts = {"operation": barrier.name}
            again = copied(fault.operation, instruction, False)
            yield Change("moved", facts, barrier, both(dropped(barrier), again), (fault.operation,), rank=1)
        for instruction in list(known.values())[:4]:
            facts = {"operation": instruction.operation.name}
            for earlier in _earlier(fault) if fault.code != "PR121" else ():
                yield Change("insert_after", facts, earlier, copied(earlier, instruction, True), rank=2)
            yield Change("insert_before", facts, fault.operation, copied(fault.operation, instruction, False), rank=2)
    if "PR121" in scene.codes:
        for fence in scene.steps("init_fence", "barrier_init")[-2:]:
            change = inserted(fence, True, step("cta_barrier", fence))
            yield Change("insert_after", {"operation": "nvvm.barrier"}, fence, change, rank=2)
        for arrival in scene.steps("cluster_arrive"):
            change = inserted(arrival, True, step("cluster_wait", arrival))
            yield Change("insert_after", {"operation": "nvvm.cluster.wait"}, arrival, change, rank=1)
    if scene.codes & {"PR121", "PR135"}:
        for wait in scene.steps("cluster_wait"):
            change = inserted(wait, False, step("cluster_arrive", wait))
            yield Change("insert_before", {"operation": "nvvm.cluster.arrive"}, wait, change, rank=1)


_ENDS = ("cta_barrier", "tmem_release", "wait", "peek", "tmem_load")
_MOST_ENDS = 6


def _frees(scene: Scene) -> Iterator[Change]:
    """Tensor memory that is not freed: after the last step of the warp that allocated it."""
    if "PR157" not in scene.codes:
        return
    for anchor in sorted(scene.steps(*_ENDS), key=lambda one: -one.span.start)[:_MOST_ENDS]:
        change = inserted(anchor, True, step(SUPPLIED, anchor, _freeing))
        yield Change("insert_after", {"operation": "tcgen05.dealloc"}, anchor, change, rank=2)


def _freeing(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
    machine.tensor.allocated.pop(thread_set.cta, None)
    return thread_set.place + 1


def _orders(scene: Scene) -> Iterator[Change]:
    """Any order between two accesses: what one wait would repair is one finding."""
    if not scene.codes & ORDER or scene.codes & HANGS:
        return
    anchors = [fault.operation for fault in scene.faults if fault.code in ORDER]
    for fault in scene.faults:
        for event in scene.events:
            if event.kind == "copy" and event.operation is fault.operation:
                before = [one for one in scene.by_key[event.key] if one.kind == "expect"]
                anchors += [one.operation for one in before[-1:]]
                break
    for anchor in distinct(anchors):
        yield Change("order", {}, anchor, inserted(anchor, False, step(SUPPLIED, anchor, _ordered)), rank=3)


def _ordered(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
    """Whatever wait would order all that happened before."""
    machine.acquire_all(thread_set)
    return thread_set.place + 1


__all__ = ["missing"]
