"""Tensor maps that a kernel modifies itself, such as those of a grouped GEMM.

TMA reads a tensor map through a proxy of its own, and keeps it in a cache. Between a modification and a copy that uses
the map there are therefore, in this order (PTX ISA, membar, fence: fence.proxy.tensormap::generic),

1. a release, ``fence.proxy.tensormap::generic.release`` by who modified the map, or ``tensormap.cp_fenceproxy``, which
   writes a map from shared memory to global memory and releases it;
2. an acquire that names the map, ``fence.proxy.tensormap::generic.acquire [map], 128``, in a thread for which the
   release happened before, and after which the copy is issued.

A modification in turn comes after all copies that read the map: they are complete, or a bulk group behind them is. One
whose bytes complete on an mbarrier is in the next bulk group of its thread as well, for
``cp.async.bulk.wait_group.read`` to wait until its tensor map is read (NVIDIA/cutlass#2912).

Which map an operand is, is known by how its address is computed. One that is not known is none that was modified, and
its acquire counts for all: nothing is said of what is not known.
"""

from __future__ import annotations

from collections.abc import Iterator

from tileproof.mlir.ir import Operation
from tileproof.protocol.actions.base import Action, limit, operand, registrar, retire
from tileproof.protocol.machine import Machine
from tileproof.protocol.program import Instruction
from tileproof.protocol.state import MapKey, MapUse, MapWrite, acquired
from tileproof.protocol.values import Address, Lanes, Supposed, Value
from tileproof.protocol.vector_clock import Agent
from tileproof.protocol.warps import ThreadSet

ACTIONS: dict[str, Action] = {}
action = registrar(ACTIONS)


def _maps(thread_set: ThreadSet, tensor_map: Value) -> Iterator[tuple[MapKey | None, tuple[int, ...]]]:
    """Which tensor map in global memory an operand is, of which warps; None where that is not known."""
    warps = thread_set.warps
    if isinstance(tensor_map, Lanes):
        tensor_map = tensor_map.on(thread_set.threads)
    if isinstance(tensor_map, Lanes):
        for warp in warps:
            mine = [thread for thread in thread_set.threads if thread // thread_set.warp == warp]
            one = tensor_map.on(mine)
            yield None if isinstance(one, Lanes) else _key(one), (warp,)
    else:
        yield _key(tensor_map), warps


def _key(tensor_map: Value) -> MapKey | None:
    if isinstance(tensor_map, Address) and tensor_map.offset is not None and tensor_map.memory.space == "gmem":
        return tensor_map.memory.serial, tensor_map.offset
    return (tensor_map.term, int(tensor_map)) if isinstance(tensor_map, Supposed) else None


@action("map_write")
def _map_write(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
    """``tensormap.replace`` in global memory: the map is the last operand, behind what its field becomes."""
    _modified(machine, thread_set, instruction, len(instruction.inputs) - 1)
    return thread_set.place + 1


@action("map_copy")
def _map_copy(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
    """``tensormap.cp_fenceproxy``, by all threads of a warp."""
    for write in _modified(machine, thread_set, instruction, 0):
        write.released = (write.warps, machine.tick())
    return thread_set.place + 1


def _modified(machine: Machine, thread_set: ThreadSet, instruction: Instruction, place: int) -> list[MapWrite]:
    """The maps that an operand is are modified, by the warps for which it is one."""
    operation, cta, found = instruction.operation, thread_set.cta, list[MapWrite]()
    for key, warps in _maps(thread_set, operand(thread_set, instruction, place)):
        if key is not None:
            _read_already(machine, thread_set, operation, key)
            machine.maps.writes[cta, key] = MapWrite(operation, warps, machine.tick())
            found.append(machine.maps.writes[cta, key])
    return found


def _read_already(machine: Machine, thread_set: ThreadSet, operation: Operation, key: MapKey) -> None:
    """Report copies that may still read a map which an operation modifies."""
    for use in machine.maps.uses.pop((thread_set.cta, key), {}).values():
        if not any(machine.knows(thread_set, agent, moment, alone=True) for agent, moment in use.ends):
            machine.report("PR187", "here", operation, at=(("copy", use.operation),))


@action("map_store")
def _map_store(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
    """A store to global memory before a release of tensor maps: whether it is to a map an acquire says."""
    for key, warps in _maps(thread_set, operand(thread_set, instruction, 0)):
        if key is not None:
            write = MapWrite(instruction.operation, warps, machine.tick())
            machine.maps.stored.setdefault(thread_set.cta, {})[key[-1]] = write
    return thread_set.place + 1


def _stored(machine: Machine, thread_set: ThreadSet, key: MapKey) -> None:
    """What was stored to a map that an acquire names modified it."""
    stored, size = machine.maps.stored.get(thread_set.cta, {}), limit(machine, "map_bytes")
    inside = [at for at, write in stored.items() if 0 <= at - key[-1] < size and write.released is not None]
    mine = sorted((stored.pop(at) for at in inside), key=lambda write: write.moment)
    if mine:
        _read_already(machine, thread_set, mine[0].operation, key)
        machine.maps.writes[thread_set.cta, key] = mine[-1]


@action("map_release")
def _map_release(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
    moment, cta = machine.tick(), thread_set.cta
    written = [write for (home, _), write in machine.maps.writes.items() if home == cta]
    for write in (*written, *machine.maps.stored.get(cta, {}).values()):
        if write.released is None:
            mine = tuple(
                one for one in thread_set.warps if _after(machine, thread_set, (one,), write.warps, write.moment)
            )
            write.released = (mine, moment) if mine else None
    return thread_set.place + 1


@action("map_acquire")
def _map_acquire(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
    cta = thread_set.cta
    for key, warps in _maps(thread_set, operand(thread_set, instruction, 0)):
        if key is not None:
            _stored(machine, thread_set, key)
        for (home, one), write in machine.maps.writes.items():
            # An address that is computed in another way has another term, and is the same number in this run.
            if home != cta or write.released is None or not (key is None or key[-1] == one[-1]):
                continue
            if _after(machine, thread_set, warps, *write.released):
                thread_set.clock.learn(acquired(cta, one), write.moment)
    thread_set.version += 1
    return thread_set.place + 1


def use_map(
    machine: Machine, thread_set: ThreadSet, instruction: Instruction, tensor_map: Value, ends: list[tuple[Agent, int]]
) -> None:
    """A copy that reads a tensor map.

    Args:
        ends: what says that it is complete, each by itself: who, and up to when.
    """
    operation, cta, maps = instruction.operation, thread_set.cta, machine.maps
    for key, warps in _maps(thread_set, tensor_map) if maps.modified else ():
        if key is None:
            continue
        write = maps.writes.get((cta, key))
        if write is not None and thread_set.clock.known.get(acquired(cta, key), -1) < write.moment:
            ordered = _after(machine, thread_set, warps, write.warps, write.moment)
            at = (("modified", write.operation),)
            if not ordered:
                machine.report("PR186", "unordered", operation, at=at)
            elif write.released is None:
                machine.report("PR186", "unreleased", operation, at=at)
            else:
                machine.report("PR186", "unacquired", operation, at=at)
        read: list[tuple[Agent, int]] = [(("map", cta, warp), machine.tick()) for warp in warps]
        place = (id(operation), *(agent for agent, _ in (*ends, *read)))
        maps.uses.setdefault((cta, key), {})[place] = MapUse(operation, (*ends, *read))


def committed(machine: Machine, thread_set: ThreadSet) -> None:
    """A bulk group is committed: the copies before it belong to it."""
    for warp in thread_set.warps if machine.maps.modified else ():
        machine.maps.commits.setdefault((thread_set.cta, warp), []).append(machine.now)


def waited(machine: Machine, thread_set: ThreadSet, pending: int) -> None:
    """All bulk groups but the ``pending`` youngest are complete: the copies before them have read their tensor maps."""
    for warp in thread_set.warps if machine.maps.modified else ():
        moments = machine.maps.commits.get((thread_set.cta, warp), [])
        if len(moments) > pending:
            retire(thread_set, [("map", thread_set.cta, warp)], moments[-1 - pending])
            del moments[: -1 - pending]


def _after(machine: Machine, thread_set: ThreadSet, mine: tuple[int, ...], warps: tuple[int, ...], moment: int) -> bool:
    """Whether what some warps of the CTA did at a moment happened before what warps of a thread set do now.

    Of what several did alike each knows what it did itself.
    """
    return all(
        one in warps or all(machine.knows_warp(thread_set, (thread_set.cta, other), moment) for other in warps)
        for one in mine
    )


__all__ = ["ACTIONS", "committed", "use_map", "waited"]
