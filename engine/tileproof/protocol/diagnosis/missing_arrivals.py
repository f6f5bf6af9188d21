"""What may be missing at mbarriers: an initialisation, an announcement of bytes, arrivals.

What such an operation would name is taken from the run: the next stage of the ring, the bytes that the copies bring.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence, Set
from functools import partial

from tileproof.base.records import replace
from tileproof.mlir.ir import Operation
from tileproof.protocol.actions.barriers import arrive, initialise
from tileproof.protocol.actions.base import WAITS as WAITING
from tileproof.protocol.actions.base import operand
from tileproof.protocol.diagnosis.changes import (
    SUPPLIED,
    Change,
    Supplied,
    branches,
    copied,
    inserted,
    inserted_before_branch,
    inserted_behind_loop,
    loops,
    moved,
    step,
)
from tileproof.protocol.diagnosis.scene import ARRIVALS, EXPECTS, Scene, distinct
from tileproof.protocol.ledger import Event
from tileproof.protocol.machine import Machine
from tileproof.protocol.program import Instruction
from tileproof.protocol.values import Address, Fields
from tileproof.protocol.vector_clock import Clock
from tileproof.protocol.warps import BarrierKey, OnMbarrier, ThreadSet


def missing_at_barriers(scene: Scene) -> Iterator[Change]:
    """The changes that insert an operation on an mbarrier, in order."""
    yield from _initialisations(scene)
    yield from _announcements(scene)
    yield from _arrivals(scene)
    yield from _acquisitions(scene)


def _initialisations(scene: Scene) -> Iterator[Change]:
    """A barrier that is not initialised, as its neighbour is, or beside the others."""
    machine = scene.machine
    seen = set()
    for key, users in sorted(scene.missing.items(), key=lambda one: one[0]):
        if key[1:] in seen:
            continue
        seen.add(key[1:])
        facts: dict[str, object] = {"barrier": scene.name(key)}
        mates = {other for user in users for other in scene.targets.get(id(user), ())}
        rank = 2 if mates and len(users) == 1 else 1  # one operation alone may name the wrong barrier
        beside = [(key[0], key[1], key[2] + distance) for distance in (scene.width, -scene.width)]
        known = sorted((one for one in beside if one in machine.barriers), key=lambda one: one not in mates)
        for neighbour in known:
            operation = machine.barriers[neighbour].operation
            source = scene.instructions.get(id(operation))
            if source is not None and source.inputs:  # no initialisation that another change inserted
                change = copied(operation, source, True, (0, partial(moved, distance=key[2] - neighbour[2])))
                yield Change("initialise", facts, operation, change, rank=rank)
        anchors = [(machine.barriers[one].operation, True) for one in known]
        if not known:
            anchors += [(one, True) for one in scene.steps("barrier_init")[-1:]]
            anchors += [(one, False) for one in scene.steps("init_fence", "cta_barrier")[:2]]
        counts = dict.fromkeys([1, machine.shape.warp, *sorted({one.count for one in machine.barriers.values()})])
        for anchor, after in anchors:
            for count in list(counts)[:_MOST_COUNTS]:
                if not any(machine.barriers[one].count == count for one in known):
                    new = step(SUPPLIED, anchor, _initialising(key, count))
                    case = "initialise_after" if after else "initialise_before"
                    yield Change(case, {**facts, "count": count}, anchor, inserted(anchor, after, new), rank=rank)


_MOST_COUNTS = 4


def _initialising(key: BarrierKey, count: int) -> Supplied:
    """The initialisation of a barrier, in each CTA once."""

    def run(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
        home = (thread_set.cta, *key[1:])
        if home not in machine.barriers:
            initialise(machine, thread_set, instruction.operation, home, count)
        return thread_set.place + 1

    return run


_TARGETS = {"bulk_load": 2, "raw_copy": 2, "cancel": 1}  # the operand of a copy that names its barrier; else the atom


def _announcements(scene: Scene) -> Iterator[Change]:
    """Bytes that copies bring and nobody announces: an arrival with them before the first copy."""
    for _, _, key in scene.waiting:
        barrier = scene.machine.barriers[key]
        copies = [one for one in scene.by_key[key] if one.kind == "copy"]
        if not copies or any(one.kind == "expect" for one in scene.by_key[key]):
            continue
        delivered = -barrier.bytes
        facts = {"barrier": scene.name(key), "bytes": delivered}
        for first in distinct(one.operation for one in copies[:1]):
            instruction = scene.instructions[id(first)]
            assert instruction.effect is not None
            homes = {one[0] for one in scene.targets[id(first)]}
            place = _TARGETS.get(instruction.effect.name, 0)
            new = step(SUPPLIED, first, _announcing(place, homes, delivered))
            again = replace(new, inputs=instruction.inputs)
            yield Change("announce", facts, first, inserted(first, False, again), key=key)


def _announcing(place: int, homes: Set[int], delivered: int) -> Supplied:
    """An arrival, with bytes, at the barrier that a copy names.

    Args:
        homes: the CTAs whose barriers count the bytes.
    """

    def run(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
        named = operand(thread_set, instruction, place)
        where = named.barrier if isinstance(named, Fields) else named
        if not isinstance(where, Address) or where.offset is None or thread_set.cta not in homes:
            return thread_set.place + 1
        key = (thread_set.cta, where.memory.serial, where.offset)
        barrier = machine.barriers.get(key)
        if barrier is not None:
            barrier.bytes += delivered
            barrier.expected += delivered
            arrive(machine, thread_set, instruction, key, barrier.pending, machine.arriving(thread_set))
        return thread_set.place + 1

    return run


def _next(machine: Machine, cta: int, warp: int, ring: list[BarrierKey]) -> BarrierKey | None:
    """The stage of a ring that comes after the one at which a warp arrived last."""
    mine = [key for key in ring if key in machine.barriers]
    stages = {key[1:]: i for i, key in enumerate(mine)}
    for event in reversed(machine.events or ()):
        if event.kind == "arrive" and event.cta == cta and warp in event.warps and event.key[1:] in stages:
            return mine[(stages[event.key[1:]] + 1) % len(mine)]
    return mine[0] if mine else None


def _arrivals(scene: Scene) -> Iterator[Change]:
    """An arrival at a barrier that nobody arrives at, after what uses the stages of its ring."""
    seen = set()
    # Where arrivals were not come to, that none came shows little.
    late = any(not scene.executed(one) for one in scene.steps(*ARRIVALS))
    for key in scene.roots:
        ring = scene.ring(key)
        phase = scene.machine.barriers[key].phase
        came = [one for other in ring for one in scene.by_key[other] if one.kind in ("arrive", "copy")]
        if key[1:] in seen or any(one.key == key and one.phase == phase for one in came):
            continue
        seen.add(key[1:])
        rank = 1 if came or late else 0
        ring = scene.stages(key)
        waiting = {(one.cta, warp) for one, _, other in scene.waiting if other == key for warp in one.warps}
        passed = [one for other in ring for one in scene.by_key[other] if one.kind == "pass"]
        ctas = range(scene.machine.shape.ctas)
        waiting |= {(cta, warp) for one in passed for warp in one.warps for cta in ctas}
        registers = bool(scene.steps("wgmma_fence", "wgmma_commit", "wgmma_wait"))
        usual = _usual(scene, ring)
        for anchor in _last_uses(scene, waiting):
            effect = scene.instructions[id(anchor)].effect
            assert effect is not None
            tensor = effect.name in _TENSOR
            if tensor and (registers or not scene.steps("mma_commit", "tmem_alloc")):
                continue  # not of tcgen05
            pair = tensor and len({other[0] for other in scene.roots if other[1:] == key[1:]}) > 1
            case = "commit_missing" if tensor else "arrive_missing"
            facts = {"barrier": scene.name(key)}
            warps = scene.executing[id(anchor)]
            new = step(SUPPLIED, anchor, _arriving(ring, tensor, pair, warps, () if tensor else usual))
            yield Change(case, facts, anchor, inserted(anchor, True, new), rank=rank, key=key, nearest=True)
            around = loops(scene.machine.program, scene.places[id(anchor)]) if tensor else ()
            for depth, loop in enumerate(around):
                make = inserted_behind_loop(anchor, depth, new)
                end = loop.operation.span.end
                yield Change(case, facts, anchor, make, rank=rank, key=key, behind=end, nearest=True)


_TENSOR = ("mma", "raw_mma")
_THREADS = ("wgmma_wait", "tmem_wait", "tmem_load", "wait", "peek", "copy", "read", "matrix_load")
_MOST_USES = 12


def _last_uses(scene: Scene, waiting: Set[tuple[int, int]]) -> list[Operation]:
    """The last MMA, and the last step of threads, of each piece without branches; threads that wait do not arrive."""
    found: list[Operation] = []
    for names in (_TENSOR, _THREADS):
        mine: list[Operation] = []
        for one in scene.steps(*names):
            if not scene.executing[id(one)] - (set() if names is _TENSOR else waiting):
                continue
            if mine and scene.straight(mine[-1], one):
                mine.pop()
            mine.append(one)
        found += mine[:_MOST_USES]
    return found


def _usual(scene: Scene, ring: list[BarrierKey]) -> Sequence[Event]:
    """The arrivals that completed a phase of some stage of a ring, in all CTAs; none where no phase is complete."""
    groups: dict[tuple[tuple[int, int], int], list[Event]] = defaultdict(list)
    homes = {key[0] for key in scene.machine.barriers if any(key[1:] == one[1:] for one in ring)}
    for key in scene.machine.barriers:
        if any(key[1:] == one[1:] for one in ring):
            for event in scene.by_key[key]:
                if event.kind == "arrive":
                    groups[key[1:], event.phase].append(event)
    for (stage, _), group in groups.items():
        came = Counter(dict.fromkeys(homes, 0))
        for event in group:
            came[event.key[0]] += event.amount
        counts = {home: scene.machine.barriers[home, *stage].count for home in homes}
        if dict(came) == counts:
            return group
    return ()


def _arriving(
    ring: list[BarrierKey], tensor: bool, pair: bool, issuers: Set[tuple[int, int]], usual: Sequence[Event]
) -> Supplied:
    """All arrivals at the next barrier of a ring; of the tensor core for what it was given, perhaps in both CTAs.

    Args:
        issuers: the warps that arrive, with their CTA.
        usual: the arrivals of a phase, where they are known.
    """
    warps = {(event.cta, warp) for event in usual for warp in event.warps}
    each = max(len(issuers) // max(len({cta for cta, _ in issuers}), 1), 1)

    def run(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
        mine = [warp for warp in thread_set.warps if (thread_set.cta, warp) in issuers]
        key = _next(machine, thread_set.cta, mine[0], ring) if mine else None
        if key is None:
            return thread_set.place + 1
        clock = machine.arriving(thread_set)
        if tensor:
            clock = Clock()
            clock.join(thread_set.clock)
            clock.learn(("tc", thread_set.cta, mine[0]), machine.tick())
        if {(thread_set.cta, warp) for warp in mine} <= warps:
            for event in usual:
                home = (event.key[0], *key[1:])
                if event.cta == thread_set.cta and event.warps[0] in mine and home in machine.barriers:
                    arrive(machine, thread_set, instruction, home, event.amount, clock)
            return thread_set.place + 1
        for cta in range(machine.shape.ctas) if pair else (thread_set.cta,):
            home = (cta, *key[1:])
            barrier = machine.barriers.get(home)
            if barrier is not None:
                share = -(-barrier.count * len(mine) // each)
                arrive(machine, thread_set, instruction, home, min(share, barrier.pending), clock)
        return thread_set.place + 1

    return run


def _acquisitions(scene: Scene) -> Iterator[Change]:
    """A wait until a stage is empty, before it is filled again: at the announcement, or for more threads before it."""
    if not scene.codes & {"PR122", "PR112", "PR114"}:
        return
    for operation in scene.steps(*EXPECTS):
        for key in list(scene.targets.get(id(operation), ()))[:1]:
            empty = scene.partner(scene.stages(key))
            if not empty:
                continue
            facts = {"barrier": scene.name(empty[0])}
            new = step(SUPPLIED, operation, _acquiring(empty))
            yield Change("wait_missing", facts, operation, inserted(operation, False, new), rank=1)
            for depth in range(len(branches(scene.machine.program, scene.places[id(operation)]))):
                make = inserted_before_branch(operation, depth, new)
                yield Change("wait_missing", facts, operation, make, rank=1)


def _acquiring(ring: list[BarrierKey]) -> Supplied:
    """A wait, each time for the next stage, until it was emptied as often as it was filled."""

    def run(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
        place = (-instruction.operation.span.start, thread_set.cta, thread_set.warps[0])
        stage = machine.tallies.get(place, 0)  # of the wait that has begun
        mine = [key for key in ring if (thread_set.cta, *key[1:]) in machine.barriers]
        if not mine:
            return thread_set.place + 1
        key = (thread_set.cta, *mine[stage % len(mine)][1:])
        barrier = machine.barriers[key]
        if barrier.phase < stage // len(mine):
            thread_set.blocked = OnMbarrier(key)
            return WAITING
        machine.tallies[place] = stage + 1
        thread_set.clock.join(barrier.done)
        thread_set.version += 1
        return thread_set.place + 1

    return run


__all__ = ["missing_at_barriers"]
