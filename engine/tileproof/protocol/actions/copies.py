"""Copies: cp.async, bulk and tensor copies, and the bytes that complete on a barrier."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from typing import TypeAlias

from tileproof.base.patterns import regex
from tileproof.base.records import replace
from tileproof.dialects.values import Algebraic, Tensor, read_type
from tileproof.layout.basics import get_shape, size
from tileproof.layout.coordinates import crd2idx
from tileproof.layout.tuples import leaves
from tileproof.layout.values import Layout
from tileproof.mlir.ir import Operation
from tileproof.protocol.actions import contents
from tileproof.protocol.actions.accesses import PRIMITIVE, access, generic, warps_by_start
from tileproof.protocol.actions.barriers import barrier_agent, barrier_name, publish
from tileproof.protocol.actions.base import (
    Action,
    address,
    integer,
    limit,
    memory_word,
    named_operand,
    operand,
    registrar,
)
from tileproof.protocol.actions.descriptor_reads import read_by_descriptor
from tileproof.protocol.actions.exits import arrived
from tileproof.protocol.actions.tensor_maps import use_map
from tileproof.protocol.actions.tensor_memory import by_pair, cta_pair, grouped, single_address, tmem_load, tmem_store
from tileproof.protocol.actions.written import wrote
from tileproof.protocol.machine import Machine, Unfollowed
from tileproof.protocol.program import Instruction
from tileproof.protocol.state import Box
from tileproof.protocol.steps import number, words
from tileproof.protocol.tensor_columns import pieces_of
from tileproof.protocol.values import Address, Allocation, Fields, Lanes, Supposed, Value
from tileproof.protocol.vector_clock import Agent
from tileproof.protocol.warps import BarrierKey, ThreadSet
from tileproof.ptx.matrices import copied_piece

_ASKED = 2  # stores of a tile of which it is asked how much was written before

ACTIONS: dict[str, Action] = {}
action = registrar(ACTIONS)
Place: TypeAlias = "Address | None"


def _async_load(
    machine: Machine, thread_set: ThreadSet, operation: Operation, where: Address | None, shape: str
) -> None:
    moment = machine.tick()
    agents = tuple(("async", thread_set.cta, warp) for warp in thread_set.warps)
    queue = thread_set.queue("async")
    queue.add(operation, moment, thread_set.threads)
    access(machine, thread_set, operation, where, ".async", True, agents, moment, shape)


@action("async_load")
def _raw_async_load(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
    where = address(thread_set, instruction, 0)
    size: Value = named_operand(machine, thread_set, instruction, "size")
    size = size if isinstance(size, int) else number(instruction.operation, "size")
    # Where each thread has a place of its own it writes so many bytes there.
    shape = f"!cute.ptr<i{8 * size}, smem>" if size and where is not None and where.parts else "each"
    _async_load(machine, thread_set, instruction.operation, where, shape)
    if where is not None and size is not None:
        found = named_operand(machine, thread_set, instruction, "found")
        contents.store(machine, thread_set, replace(where, unit=8), 0, size, found)
    return thread_set.place + 1


@action("copy")
def _copy(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
    operation = instruction.operation
    assert instruction.effect is not None
    source, target = address(thread_set, instruction, 1), address(thread_set, instruction, 2)
    if instruction.effect.copy:
        COPIES[instruction.effect.copy](machine, thread_set, instruction, source, target)
    else:
        generic(machine, thread_set, operation, source, False, memory_word(instruction, 1))
        generic(machine, thread_set, operation, target, True, memory_word(instruction, 2))
        contents.move(machine, thread_set, source, target, [memory_word(instruction, place) for place in (1, 2)])
    return thread_set.place + 1


def _copy_by_tma_load(
    machine: Machine, thread_set: ThreadSet, instruction: Instruction, _: Place, target: Place
) -> None:
    _tma_load(machine, thread_set, instruction, target)


def _copy_by_bulk_load(
    machine: Machine, thread_set: ThreadSet, instruction: Instruction, _: Place, target: Place
) -> None:
    fields = thread_set.values[instruction.inputs[0]]
    barrier = fields.barrier if isinstance(fields, Fields) else None
    extent = None if target is None else target.extent
    bulk_load(machine, thread_set, instruction.operation, target, barrier, extent)


def _copy_by_store(machine: Machine, thread_set: ThreadSet, instruction: Instruction, source: Place, _: Place) -> None:
    ends = bulk_read(machine, thread_set, instruction.operation, source)
    fields = thread_set.values[instruction.inputs[0]]
    if isinstance(fields, Fields):
        use_map(machine, thread_set, instruction, fields.map, ends)


def _copy_by_cp_async(
    machine: Machine, thread_set: ThreadSet, instruction: Instruction, _: Place, target: Place
) -> None:
    _async_load(machine, thread_set, instruction.operation, target, memory_word(instruction, 2))


def _copy_from_tmem(
    machine: Machine, thread_set: ThreadSet, instruction: Instruction, source: Place, target: Place
) -> None:
    for one in _columns(instruction, source, 1):
        tmem_load(machine, thread_set, instruction.operation, one)
    if target is not None and target.memory.space == "rmem":
        contents.forget(machine, thread_set, target, target.offset, target.extent or 1 << 40)


def _copy_to_tmem(
    machine: Machine, thread_set: ThreadSet, instruction: Instruction, source: Place, target: Place
) -> None:
    for one in _columns(instruction, target, 2):
        tmem_store(machine, thread_set, instruction.operation, source, one)


def _columns(instruction: Instruction, where: Place, place: int) -> list[Place]:
    """What a copy reaches of tensor memory: each run of columns by itself, where those between them are others'."""
    kind = read_type(memory_word(instruction, place))
    if where is None or where.memory.space != "tmem" or not isinstance(kind, Tensor):
        return [where]
    pieces = pieces_of(kind.layout, where.unit, where.memory)
    if len(pieces) < 2 or sum(pieces[-1]) != where.extent:
        return [where]
    share = where.memory.column // min(where.unit, where.memory.column)
    return [replace(where.moved(start * share), extent=count, lanes=where.lanes) for start, count in pieces]


def _copy_by_tcgen05(
    machine: Machine, thread_set: ThreadSet, instruction: Instruction, source: Place, target: Place
) -> None:
    """Scale factors, or a tile, from shared memory to tensor memory; by a pair in each of its CTAs."""
    operation, text = instruction.operation, instruction.types[0] if instruction.types else ""
    agents = (("tc", thread_set.cta, thread_set.warps[0]),)
    moment = machine.tick()
    two = by_pair(words(operation)) or by_pair(text)
    grouped(machine, operation, two)
    ctas = cta_pair(machine, thread_set, "cta_2" if two else "")
    access(machine, thread_set, operation, source, ".s2t", False, agents, moment, ctas=ctas)
    shape = "" if instruction.effect is not None and instruction.effect.copy else PRIMITIVE
    access(machine, thread_set, operation, target, ".s2t", True, agents, moment, shape, ctas=ctas)
    wrote(machine, thread_set, target, ".s2t", ctas)


# By the members of the enum `protocol_copy`, without their dots; any other copy is by threads.
COPIES: dict[str, Callable[[Machine, ThreadSet, Instruction, Place, Place], None]] = {
    "tma_load": _copy_by_tma_load,
    "tma_store": _copy_by_store,
    "async": _copy_by_cp_async,
    "tmem_load": _copy_from_tmem,
    "tmem_store": _copy_to_tmem,
    "s2t": _copy_by_tcgen05,
    "bulk_load": _copy_by_bulk_load,
    "bulk_store": _copy_by_store,
}


def bulk_read(
    machine: Machine, thread_set: ThreadSet, operation: Operation, source: Address | None
) -> list[tuple[Agent, int]]:
    """A bulk copy out of shared memory; who is to be waited for, and up to when, for it to be complete."""
    moment = machine.tick()
    queue = thread_set.queue("bulk")
    queue.add(operation, moment, thread_set.threads)
    agents = tuple(("bulk", thread_set.cta, warp) for warp in thread_set.warps)
    access(machine, thread_set, operation, source, ".tma", False, agents, moment)
    return [(agent, moment) for agent in agents]


def _sized_by_writes(machine: Machine, thread_set: ThreadSet, source: Address) -> Address:
    """What a store of unknown size reads, as far as an earlier run shows it."""
    serial, starts = source.memory.serial, set[int]()
    if source.offset is not None:
        starts = {source.offset}
    elif source.parts:
        starts = {start for start, _ in warps_by_start(source.parts, thread_set.threads, thread_set.warp)}
        if not starts.issuperset(start for start in source.parts if start is not None):  # of warps of other roles
            for start in starts:
                _own_tile(machine, thread_set.cta, source.memory, start)
    machine.stores.starts.setdefault((thread_set.cta, serial), set()).update(starts)
    known = {machine.stores.sizes.get((serial, start)) for start in starts}
    return replace(source, extent=known.pop()) if len(known) == 1 else source


def _own_tile(machine: Machine, cta: int, memory: Allocation, start: int) -> None:
    """Note how many bytes of a tile, at most, were written since the fence of the async proxy for the tile before it.

    A run may leave some of the stores out, and those that are left tell less of how large a tile is.
    """
    stores, key = machine.stores, (memory.serial, start)
    stores.times[key] = stores.times.get(key, 0) + 1
    if stores.times[key] > _ASKED:
        return
    written = 0
    for one in machine.log(cta, memory).accesses:
        if one.writes and one.kind == ".generic" and one.touched_bytes is not None:
            for warp, bytes_ in one.touched_bytes.placed().items():
                if one.moment > stores.fences.get((cta, warp), (-1, -1))[0]:
                    written |= bytes_
    tile = written >> start
    size_ = (~tile & tile + 1).bit_length() - 1
    if size_ > 0:
        stores.most[key] = min(size_, stores.most.get(key, size_))


@action("bulk_store")
def _bulk_store(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
    for place in range(len(instruction.inputs)):
        where = address(thread_set, instruction, place)
        if where is not None and where.memory.space == "smem":
            if where.extent is None:
                where = _sized_by_writes(machine, thread_set, where)
            ends = bulk_read(machine, thread_set, instruction.operation, where)
            use_map(machine, thread_set, instruction, operand(thread_set, instruction, 0), ends)
            break
    return thread_set.place + 1


@action("raw_copy")
def _raw_copy(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
    """A bulk copy without a tensor map: ``target, source, barrier, bytes`` into shared memory, no barrier out of it."""
    operation = instruction.operation
    target, source = address(thread_set, instruction, 0), address(thread_set, instruction, 1)
    if operation.name.endswith("global.shared.cta"):
        size_ = integer(machine, thread_set, instruction, 2)
        if size_ is not None and size_ < 0:
            raise Unfollowed(operation, "copy_bytes")
        bulk_read(machine, thread_set, operation, sized(source, size_))
        return thread_set.place + 1
    if "multicast" in words(operation):
        raise Unfollowed(operation, "copy_receivers")
    barrier, size_ = address(thread_set, instruction, 2), integer(machine, thread_set, instruction, 3)
    if operation.name.endswith("shared.cta"):
        bulk_across(machine, thread_set, operation, target, source, barrier, size_)
    else:
        bulk_load(machine, thread_set, operation, target, barrier, size_)
    return thread_set.place + 1


def sized(where: Address | None, size_: int | None) -> Address | None:
    return None if where is None else replace(where, extent=size_ or where.extent)


def bulk_load(
    machine: Machine,
    thread_set: ThreadSet,
    operation: Operation,
    target: Address | None,
    barrier: Address | None,
    size_: int | None,
) -> None:
    """A copy into shared memory, perhaps of another CTA, whose bytes complete on a barrier; one for each thread.

    Args:
        size_: the bytes that one thread's copy delivers.
    """
    if barrier is None or barrier.offset is None or target is None:
        raise Unfollowed(operation, "copy_barrier")
    if size_ is None or size_ < 0:  # negative where a run supposes integers that do not go together
        raise Unfollowed(operation, "copy_bytes")
    homes = machine.targets(thread_set, barrier)
    for cta, threads in machine.targets(thread_set, target).items():
        home = cta if cta in homes else next(iter(homes))
        key = (home, barrier.memory.serial, barrier.offset)
        complete_on(machine, thread_set, operation, key, size_ * threads, sized(target, size_), cta)


def bulk_across(
    machine: Machine,
    thread_set: ThreadSet,
    operation: Operation,
    target: Address | None,
    source: Address | None,
    barrier: Address | None,
    size_: int | None,
) -> None:
    """A copy from shared memory to that of another CTA: it reads here until its bytes complete there."""
    bulk_load(machine, thread_set, operation, target, barrier, size_)
    if barrier is None or barrier.offset is None:
        return
    for home in machine.targets(thread_set, barrier):
        key = (home, barrier.memory.serial, barrier.offset)
        held = machine.barriers.get(key)
        if held is not None:
            agents = (barrier_agent(key),)
            access(machine, thread_set, operation, sized(source, size_), ".tma", False, agents, held.phase + 1)


def _tma_load(machine: Machine, thread_set: ThreadSet, instruction: Instruction, target: Address | None) -> None:
    """A bulk copy into shared memory that completes on the barrier that was set on its atom."""
    operation = instruction.operation
    fields = thread_set.values[instruction.inputs[0]]
    barrier = fields.barrier if isinstance(fields, Fields) else None
    mask = fields.mask if isinstance(fields, Fields) else None
    if barrier is None or barrier.offset is None:
        raise Unfollowed(operation, "copy_barrier")
    text = instruction.types[0] if instruction.types else ""
    ctas_of_atom = _collecting(text)
    size_ = _bytes(text, instruction.types[1] if len(instruction.types) > 1 else "")
    if size_ is None:
        raise Unfollowed(operation, "copy_bytes")
    if len(thread_set.threads) == 1 and machine.shape.threads > 1:
        machine.report("PR140", "here", operation)
    receivers = [thread_set.cta]
    shared = _sharing(words(operation), thread_set.cta, machine.shape.ctas)
    if shared is not None:
        mask = sum(1 << cta for cta in shared)
    if isinstance(mask, int):
        receivers = [cta for cta in range(machine.shape.ctas) if mask >> cta & 1]
        # Each receiving CTA issues the copy of a part of the tile, and multicasts it to all of them.
        size_ //= max(mask.bit_count(), 1)
    elif mask is not None or "mcast = true" in text:
        raise Unfollowed(operation, "copy_receivers")
    ends: list[tuple[Agent, int]] = []
    for _ in thread_set.warps:
        for cta in receivers:
            home = machine.leader(cta) if ctas_of_atom == 2 else cta
            key = (home, barrier.memory.serial, barrier.offset)
            ends += complete_on(machine, thread_set, operation, key, size_, target, cta)
    if isinstance(fields, Fields):
        use_map(machine, thread_set, instruction, fields.map, ends)


def complete_on(
    machine: Machine,
    thread_set: ThreadSet,
    operation: Operation,
    key: BarrierKey,
    size_: int | None,
    target: Address | None,
    cta: int,
    kind: str = ".tma",
    tensor_map: object = None,
) -> list[tuple[Agent, int]]:
    """Bytes that a copy writes into shared memory of a CTA and counts on a barrier.

    Who waits for them knows that it was issued, and so that all that was read before is read. Returns what is to be
    waited for, and up to when.

    Args:
        size_: None where it is not known; then ``tensor_map`` stands for the map that says it.
        kind: of the access.
    """
    barrier = machine.barriers.get(key)
    doubted = machine.taint.covers(key)
    if barrier is None:
        if not doubted:
            machine.report("PR120", "copy", operation, barrier=barrier_name(machine, key))
            machine.came("missing", key, 0, operation, thread_set)
        return []
    if key[0] != thread_set.cta or "init" not in machine.module.unfenced:
        publish(machine, key, barrier, operation)
    phase, sized = barrier.phase, size_ is not None
    if size_ is None:
        # It belongs to the phase of the last expect_tx. The bytes that are pending there come once no thread goes on:
        # then all copies of the phase are under way.
        phase, size_ = barrier.announced, 0
        over = barrier.expecting is None or machine.knows(thread_set, barrier_agent(key), phase + 1)
        if over and not barrier.expected:  # that phase is over for who issues this
            barrier.unannounced = operation
            phase = barrier.phase
        barrier.unsized_copies += 1
        machine.deliveries.issue(thread_set.cta, operation, key[0], barrier)
        issuers = tuple((thread_set.cta, warp) for warp in thread_set.warps)
        box = Box(tensor_map, cta, target, operation, issuers)
        known = machine.loads.get(box.alike)
        target = replace(target, extent=known) if target is not None and known else target
        barrier.boxes.append(box)
        if machine.reads is not None:
            machine.reads.fill(box)
        mine = (key, barrier.initialised.moment, phase)
        if phase < barrier.phase and mine in machine.deliveries.phases:
            machine.deliveries.phases[mine].late = True
    elif barrier.unsized == barrier.announced < phase:
        phase, size_ = barrier.announced, 0  # the other copies of a phase whose bytes one delivered for all
    if sized and machine.reads is not None and target is not None and target.offset is not None:
        machine.reads.write((cta, target.memory.serial), target.offset, target.offset + (target.extent or 1))
    arrived(machine, thread_set, operation, key, phase + 1)
    access(machine, thread_set, operation, target, kind, True, (barrier_agent(key),), phase + 1, ctas=(cta,))
    machine.came("copy", key, size_, operation, thread_set, target)
    barrier.bytes -= size_
    barrier.copied += size_
    barrier.copying = operation
    barrier.sources.add(id(operation))
    if phase == barrier.phase:
        barrier.gathered.join(machine.arriving(thread_set).reads())
    barrier.settle()
    return [(barrier_agent(key), phase + 1)]


_MULTICAST = regex(r"multicast_layout\W+#cute\.layout<(\"[^\"]*\")>")


@lru_cache(maxsize=4096)
def _sharing(text: str, cta: int, ctas: int) -> list[int] | None:
    """The CTAs that a block copy multicasts one tile to, each a part of it: those of one coordinate of its layout.

    The CTAs of a pair each have their half of the operands of their MMA.
    """
    found = _MULTICAST.search(text)
    kind = read_type(f"!cute.layout<{found[1]}>") if found is not None else None
    layout = kind.value if isinstance(kind, Algebraic) else None
    if not isinstance(layout, Layout) or size(layout) != ctas:
        return None
    pair = 2 if "use_2cta" in text else 1
    mine = crd2idx(cta, layout)
    return [one for one in range(ctas) if crd2idx(one, layout) == mine and one % pair == cta % pair]


def _bytes(atom: str, text: str) -> int | None:
    """The bytes that a copy from a tensor of coordinates delivers: those of one instruction times the instructions.

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


def _identity(operation: Operation, tensor_map: Value) -> object:
    """What stands for the boxes of a tensor map; None where it is not known which map it is."""
    where: object = None
    if isinstance(tensor_map, Address) and tensor_map.offset is not None and tensor_map.memory.space == "gmem":
        where = (tensor_map.memory.serial, tensor_map.offset)
    elif isinstance(tensor_map, Supposed):
        where = tensor_map.term
    return None if where is None else (operation.name, where)


@action("bulk_load")
def _bulk_load(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
    """A bulk tensor copy in the style of primitives: its bytes are those of the box of its tensor map."""
    operation = instruction.operation
    target, tensor_map, barrier = (address(thread_set, instruction, place) for place in range(3))
    if barrier is None or barrier.offset is None or target is None:
        raise Unfollowed(operation, "copy_barrier")
    # Copies of no pair complete on a barrier of the CTA that they fill (PTX ISA, cp.async.bulk.tensor: .cta_group).
    named = replace(barrier, leader=False) if barrier.cta is None and not by_pair(words(operation)) else barrier
    size_ = machine.module.boxes.get(-tensor_map.memory.serial) if tensor_map is not None else None
    identity = _identity(operation, operand(thread_set, instruction, 1))
    mask = named_operand(machine, thread_set, instruction, "multicast_mask")
    chosen = named_operand(machine, thread_set, instruction, "predicate")
    times = len(thread_set.threads)
    if isinstance(chosen, Lanes):
        times = sum(chosen.each[thread] == 1 for thread in thread_set.threads)
    elif chosen == 0:
        times = 0
    known = chosen is not None or "predicate = " not in words(operation)
    copies = [target] * times
    if target.parts and times == len(thread_set.threads):
        copies = [replace(target, offset=target.parts[one], parts=()) for one in thread_set.threads]
    at_one_place = Counter(there.offset for there in copies if there.offset is not None or not target.parts)
    several = max(at_one_place.values(), default=0) if size_ is None and known else 0
    receivers = [
        target.cta
        if isinstance(target.cta, Lanes)
        else machine.home(thread_set.cta if target.cta is None else target.cta, target)
    ]
    if "multicast_mask" in words(operation):
        if not isinstance(mask, int):
            raise Unfollowed(operation, "copy_receivers")
        receivers = [cta for cta in range(machine.shape.ctas) if mask >> cta & 1]
    ends: list[tuple[Agent, int]] = []
    for there in copies:
        for cta in receivers:
            if not isinstance(cta, int):
                raise Unfollowed(operation, "copy_receiver")
            home = machine.home(cta, named)
            if len(receivers) == 1 and (barrier.peer or isinstance(barrier.cta, int)):
                home = machine.home(barrier.cta if isinstance(barrier.cta, int) else thread_set.cta, named)
            elif isinstance(barrier.cta, int) and by_pair(words(operation)):
                # Of each pair that receives, the CTA with the parity of the one whose barrier the copy names.
                home = machine.leader(cta) + barrier.cta - machine.leader(barrier.cta)
            key = (home, barrier.memory.serial, barrier.offset)
            reach = there.extent or size_ or limit(machine, "bulk_bytes")
            boxes = replace(there, extent=reach)
            ends += complete_on(machine, thread_set, operation, key, size_, boxes, cta, tensor_map=identity)
            if several > 1:
                machine.deliveries.several[id(operation)] = (operation, thread_set.place, key, several)
    if copies:
        use_map(machine, thread_set, instruction, operand(thread_set, instruction, 1), ends)
    return thread_set.place + 1


@action("raw_tmem_copy")
def _raw_tmem_copy(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
    """``tcgen05.cp`` by a descriptor."""
    source = address(thread_set, instruction, 1)
    if source is not None and source.memory.space != "smem":
        source = None
    target = single_address(machine, thread_set, instruction, 0)
    piece = copied_piece(machine.book, words(instruction.operation))
    if target is not None and target.extent is None and piece is not None:
        target = replace(target, extent=piece[1] // limit(machine, "column_bits"))
    _copy_by_tcgen05(machine, thread_set, instruction, source, target)
    if source is not None:
        ctas = cta_pair(machine, thread_set, words(instruction.operation))
        agents = (("tc", thread_set.cta, thread_set.warps[0]),)
        read_by_descriptor(machine, thread_set, instruction, 1, source, ".s2t", agents, machine.now, ctas)
    elif machine.reads is not None:
        machine.reads.vague = True
    return thread_set.place + 1


@action("cancel")
def _cancel(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
    """clusterlaunchcontrol.try_cancel: the response completes on a barrier, in all CTAs of the cluster if multicast."""
    where, barrier = address(thread_set, instruction, 0), address(thread_set, instruction, 1)
    if barrier is None or barrier.offset is None:
        raise Unfollowed(instruction.operation, "answer_barrier")
    every = "multicast" in words(instruction.operation)
    size_ = limit(machine, "cancel_bytes")
    asked = machine.asked[thread_set.cta] = machine.asked.get(thread_set.cta, 0) + 1
    for cta in range(machine.shape.ctas) if every else (thread_set.cta,):
        key = (cta, barrier.memory.serial, barrier.offset)
        complete_on(machine, thread_set, instruction.operation, key, size_, where, cta, ".cancel")
        if where is not None:
            contents.answer(machine, cta, where, size_, asked, asked < machine.tiles)
    return thread_set.place + 1
