"""What may be missing at mbarriers: an initialisation, an announcement of bytes, arrivals.

What such an operation would name is taken from the run: the next stage of the ring, the bytes that the copies bring.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from tileproof.protocol.actions.barriers import arrive, barrier_keys
from tileproof.protocol.actions.base import WAITS as WAITING
from tileproof.protocol.diagnosis.changes import (
    SUPPLIED,
    Change,
    Supplied,
    copied,
    inserted,
    inserted_behind_loop,
    loop_ends,
    moved,
    step,
)
from tileproof.protocol.diagnosis.scene import EXPECTS, Scene, distinct
from tileproof.protocol.machine import Machine
from tileproof.protocol.program import Instruction
from tileproof.protocol.vector_clock import Clock
from tileproof.protocol.warps import BarrierKey, OnMbarrier, ThreadSet


def missing_at_barriers(scene: Scene) -> Iterator[Change]:
    """The changes that insert an operation on an mbarrier, in order."""
    yield from _initialisations(scene)
    yield from _announcements(scene)
    yield from _arrivals(scene)
    yield from _acquisitions(scene)


def _initialisations(scene: Scene) -> Iterator[Change]:
    """A barrier that is not initialised, as its neighbour is."""
    machine = scene.machine
    if "PR120" not in scene.codes:
        return
    for key, barrier in sorted(machine.barriers.items()):
        for distance in (scene.width, -scene.width):
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


def _arrivals(scene: Scene) -> Iterator[Change]:
    """An arrival at a barrier that nobody arrives at, after what uses the stages of its ring."""
    seen = set()
    for key in scene.roots:
        ring = scene.ring(key)
        phase = scene.machine.barriers[key].phase
        came = [one for other in ring for one in scene.by_key[other] if one.kind in ("arrive", "copy")]
        if key[1:] in seen or any(one.key == key and one.phase == phase for one in came):
            continue
        seen.add(key[1:])
        rank = 1 if came else 0
        ring = scene.stages(key)
        waiting = {(one.cta, warp) for one, _, other in scene.waiting if other == key for warp in one.warps}
        anchors = [one for name in _RELEASES for one in scene.steps(name) if scene.executing[id(one)] - waiting]
        for anchor in distinct(anchors)[:_MOST_RELEASES]:
            effect = scene.instructions[id(anchor)].effect
            assert effect is not None
            tensor = effect.name in ("mma", "raw_mma")
            pair = tensor and len({other[0] for other in scene.roots if other[1:] == key[1:]}) > 1
            case = "commit_missing" if tensor else "arrive_missing"
            facts = {"barrier": scene.name(key)}
            warps = scene.executing[id(anchor)]
            each = max(len(warps) // max(len({cta for cta, _ in warps}), 1), 1)
            new = step(SUPPLIED, anchor, _arriving(ring, tensor, pair, each))
            yield Change(case, facts, anchor, inserted(anchor, True, new), rank=rank, key=key)
            for depth in range(len(loop_ends(scene.machine.program, scene.places[id(anchor)])) if tensor else 0):
                yield Change(case, facts, anchor, inserted_behind_loop(anchor, depth, new), rank=rank, key=key)


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


def _acquisitions(scene: Scene) -> Iterator[Change]:
    """A wait until a stage is empty, before it is filled again."""
    if not scene.codes & {"PR122", "PR112", "PR114"}:
        return
    for operation in scene.steps(*EXPECTS):
        instruction = scene.instructions[id(operation)]
        for key in list(scene.targets.get(id(operation), ()))[:1]:
            ring = scene.stages(key)
            empty = scene.partner(ring)
            if empty:
                facts = {"barrier": scene.name(empty[0])}
                new = replace(
                    step(SUPPLIED, operation, _acquiring(empty[0][2] - ring[0][2])), inputs=instruction.inputs[:1]
                )
                yield Change("wait_missing", facts, operation, inserted(operation, False, new), rank=1)


def _acquiring(distance: int) -> Supplied:
    """A wait until a stage was emptied as often as it was filled.

    Args:
        distance: of the barrier that says that a stage is empty from the one that says that it is full, in bytes.
    """

    def run(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
        for full in barrier_keys(machine, thread_set, instruction, 0):
            key = (*full[:2], full[2] + distance)
            filled, barrier = machine.barriers.get(full), machine.barriers.get(key)
            if filled is None or barrier is None:
                continue
            if barrier.phase < filled.phase + (filled.pending < filled.count):
                thread_set.blocked = OnMbarrier(key)
                return WAITING
            thread_set.clock.join(barrier.done)
            thread_set.version += 1
        return thread_set.place + 1

    return run


__all__ = ["missing_at_barriers"]
