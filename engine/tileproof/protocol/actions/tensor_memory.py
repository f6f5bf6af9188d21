"""Tensor memory: allocation, addresses, lifetime, loads and stores."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from tileproof.base.by_identity import by_identity
from tileproof.base.patterns import regex
from tileproof.base.records import replace
from tileproof.dialects.values import Pointer, element_bits, read_type
from tileproof.mlir.ir import Operation
from tileproof.protocol.actions.accesses import access
from tileproof.protocol.actions.base import (
    Action,
    address,
    alike,
    integer,
    limit,
    named_operand,
    operand,
    registrar,
    result,
    retire,
    type_of_result,
)
from tileproof.protocol.actions.elements import misplaced, read_before, slot_read, used
from tileproof.protocol.actions.origins import lane_source
from tileproof.protocol.actions.written import freed, needs, wrote
from tileproof.protocol.machine import Machine
from tileproof.protocol.program import Instruction
from tileproof.protocol.steps import words
from tileproof.protocol.values import Address, Allocation, Lanes, Value
from tileproof.protocol.warps import ThreadSet
from tileproof.rulebase.book import Rulebook

ACTIONS: dict[str, Action] = {}
action = registrar(ACTIONS)


def _count_allocations(code: Sequence[Instruction]) -> int:
    return sum(one.effect is not None and one.effect.name == "tmem_alloc" for one in code)


_PROGRAMS = 8  # of which it is kept
_allocations = by_identity(_count_allocations, _PROGRAMS)


@action("tmem_alloc")
def _tmem_alloc(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
    operation = instruction.operation
    assert instruction.effect is not None
    slot_place = instruction.effect.first
    columns = integer(machine, thread_set, instruction, 1 - slot_place)
    slot = address(thread_set, instruction, slot_place)
    least, most = limit(machine, "least_columns"), limit(machine, "most_columns")
    if columns is not None and (not least <= columns <= most or columns & (columns - 1)):
        machine.report("PR150", "here", operation, columns=columns, least=least, most=most)
    release = machine.tensor.released.get(thread_set.cta)
    if release is not None:
        machine.report("PR151", "here", operation, at=(("release", release),))
    held = machine.tensor.allocated.setdefault(thread_set.cta, [])
    taken = sum(n for _, n, _ in held)
    if columns is not None and taken + columns > most:
        machine.report("PR152", "here", operation, columns=taken + columns, most=most)
    memory = machine.tensor.memory
    sole = not taken and (columns == most or _allocations(machine.program.before or machine.program.code) == 1)
    if memory is None:
        memory = machine.tensor.memory = machine.allocations.add("tensor memory", "tmem", numbers=sole)
    held.append((taken, columns or 0, operation))
    _by_group(machine, thread_set, operation)
    agents, moment = tuple((thread_set.cta, warp) for warp in thread_set.warps), machine.tick()
    machine.tensor.sole.pop(thread_set.cta, None)
    if sole:
        machine.tensor.sole[thread_set.cta] = (agents, moment, operation if columns != most else None)
    if slot is not None:
        access(machine, thread_set, operation, replace(slot, extent=4), ".generic", True, agents, moment)
        place = (thread_set.cta, slot.memory.serial, slot.offset)
        read_before(machine, thread_set, operation, place)
        machine.tensor.addresses[place] = Address(memory, taken, memory.column)
        machine.tensor.overwritten.pop(place, None)
        machine.tensor.writes[place] = (agents, machine.now, operation)
    return thread_set.place + 1


@action("tmem_address")
def _tmem_address(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
    slot = address(thread_set, instruction, 0)
    value: Value = None
    if slot is not None:
        place = (thread_set.cta, slot.memory.serial, slot.offset)
        value = machine.tensor.addresses.get(place)
        if value is None and machine.now > 0:
            memory = machine.tensor.memory
            value = Address(memory, None, memory.column) if memory is not None else None
            if place not in machine.tensor.overwritten:
                machine.report("PR153", "before", instruction.operation)
    if slot is not None:
        slot_read(machine, thread_set, instruction.operation, slot)
        misplaced(machine, instruction.outputs[0])
    if isinstance(value, Address):
        bits = _result_bits(machine, instruction.operation)
        value = replace(value, unit=bits)
    result(thread_set, instruction, value)
    return thread_set.place + 1


def _result_bits(machine: Machine, operation: Operation) -> int:
    kind = read_type(type_of_result(machine, operation))
    bits = element_bits(kind.element) if isinstance(kind, Pointer) else None
    return bits or limit(machine, "column_bits")


@action("tmem_release")
def _tmem_release(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
    machine.tensor.released[thread_set.cta] = instruction.operation
    _by_group(machine, thread_set, instruction.operation)
    return thread_set.place + 1


@action("tmem_free")
def _tmem_free(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
    used(machine, thread_set)
    supposed = machine.tensor.supposed
    where = single_address(machine, thread_set, instruction, 0)
    machine.tensor.supposed = supposed  # it can only be what is allocated
    columns = integer(machine, thread_set, instruction, 1)
    operation = instruction.operation
    _by_group(machine, thread_set, operation)
    held = machine.tensor.allocated.setdefault(thread_set.cta, [])
    match_ = None
    if where is not None and where.offset is not None:
        match_ = next((one for one in held if one[0] == where.offset), None)
    elif len(held) == 1:
        match_ = held[0]
    elif held:  # one of several, and what is left is not known
        machine.taint.unseen.setdefault(id(operation), operation)
        machine.tensor.loose.add(thread_set.cta)
        held.clear()
    if where is not None and where.memory.space == "tmem":
        access(
            machine,
            thread_set,
            operation,
            replace(where, extent=columns),
            ".free",
            True,
            tuple((thread_set.cta, warp) for warp in thread_set.warps),
            machine.tick(),
        )
    if match_ is None:
        if (held or where is not None) and thread_set.cta not in machine.tensor.loose:
            machine.report("PR154", "here", operation)
        return thread_set.place + 1
    if columns is not None and columns != match_[1]:
        at = (("allocation", match_[2]),)
        machine.report("PR155", "here", operation, at=at, columns=columns, allocated=match_[1])
    held.remove(match_)
    freed(machine, thread_set.cta, match_[0], match_[1])
    return thread_set.place + 1


def grouped(machine: Machine, operation: Operation, two: bool) -> None:
    """Report tcgen05 operations of different cta_group in one kernel."""
    first = machine.tensor.group
    if first is None:
        machine.tensor.group = (two, operation)
    elif first[0] is not two:
        at = (("other", first[1]),)
        machine.report("PR158", "here", operation, at=at, group=1 + two, other=2 - two)


def _by_group(machine: Machine, thread_set: ThreadSet, operation: Operation) -> None:
    """An operation that manages tensor memory: by one CTA, or by one warp of each CTA of a pair."""
    two = by_pair(words(operation))
    grouped(machine, operation, two)
    if two:
        machine.tensor.paired.setdefault(id(operation), (operation, set()))[1].add(thread_set.cta)


def halves_missing(machine: Machine) -> None:
    """Report operations on tensor memory of both CTAs of a pair that only one of them executes."""
    alone = machine.shape.ctas < limit(machine, "pair_ctas")
    if alone or machine.taint.reasons or any(one.blocked for one in machine.thread_sets):
        return
    everywhere: dict[str, set[int]] = {}
    for operation, ctas in machine.tensor.paired.values():
        everywhere.setdefault(operation.name, set()).update(ctas)
    for operation, ctas in machine.tensor.paired.values():
        for cta in sorted(ctas):
            peer = machine.peer(cta)
            if peer < machine.shape.ctas and peer not in everywhere[operation.name]:
                machine.report("PR172", "here", operation, cta=cta, peer=peer)
                return  # what follows from it is no other mistake


@lru_cache(maxsize=1024)
def by_pair(text: str) -> bool:
    """Whether the words of an operation, or of its atom, say that a pair of CTAs executes it."""
    return _PAIR.search(text) is not None


_PAIR = regex(r"cta_2|two_cta|\b2 cta\b|num_cta = 2")


def cta_pair(machine: Machine, thread_set: ThreadSet, text: str) -> tuple[int, ...]:
    """The CTAs that a tensor-memory operation works on."""
    if by_pair(text):
        first = machine.leader(thread_set.cta)
        return tuple(range(first, min(first + limit(machine, "pair_ctas"), machine.shape.ctas)))
    return (thread_set.cta,)


def live(machine: Machine, thread_set: ThreadSet, operation: Operation, where: Address) -> None:
    """Report an access to columns of tensor memory that are not allocated, or by an address that was read too early."""
    used(machine, thread_set)
    if where.offset is None:
        return
    low = where.offset
    high = low + (where.extent or 1)
    held = machine.tensor.allocated.get(thread_set.cta, [])
    if not any(start <= low and high <= start + count for start, count, _ in held) and (
        held or machine.tensor.memory is not None
    ):
        if id(operation) in machine.tensor.outside:
            return
        if _freed_too_early(machine, thread_set, where.memory, low, high):
            return  # which is said of the release
        machine.tensor.outside.add(id(operation))
        if held:
            known = ", ".join(f"[{start}, {start + count})" for start, count, _ in held)
            at = (("allocation", held[0][2]),)
            machine.report("PR156", "outside", operation, at=at, low=low, high=high, allocated=known)
        else:
            machine.report("PR156", "none", operation, low=low, high=high)


def _freed_too_early(machine: Machine, thread_set: ThreadSet, memory: Allocation, low: int, high: int) -> bool:
    """Whether columns were freed by threads that do not wait for these ones."""
    return any(
        one.kind == ".free" and not all(machine.knows(thread_set, agent, one.moment) for agent in one.agents)
        for one in machine.log(thread_set.cta, memory).overlapping(low, high)
    )


def _own_quarter(machine: Machine, thread_set: ThreadSet, operation: Operation, where: Address) -> None:
    """Report a warp that loads or stores lanes of tensor memory which belong to another warp of its warpgroup.

    An address of lane 0 in all warps says nothing of lanes. The second CTA of a pair may count on from those of the
    first one, and each may count those of its half of the rows of a tile.
    """
    if not isinstance(where.first_lane, Lanes):
        return
    lanes = limit(machine, "tmem_lanes")
    quarter = lanes // limit(machine, "group_warps")
    second = lanes if thread_set.cta != machine.leader(thread_set.cta) else 0
    ctas = limit(machine, "pair_ctas")
    half = lanes // ctas // quarter if machine.shape.ctas >= ctas else lanes
    for warp in thread_set.warps:
        first = where.first_lane.each[warp * thread_set.warp]
        rank = warp % limit(machine, "group_warps")
        if first is not None and first // quarter not in (rank, rank % half) and (first - second) // quarter != rank:
            low = quarter * rank
            source = lane_source(machine, thread_set)
            high = low + quarter - 1
            if source is None:
                machine.report("PR175", "here", operation, warp=warp, lane=first, low=low, high=high)
            else:
                at = (("access", operation),)
                machine.report("PR175", "here", source, at=at, warp=warp, lane=first, low=low, high=high)
            return


def tmem_load(
    machine: Machine, thread_set: ThreadSet, operation: Operation, source: Address | None, used_: bool = True
) -> None:
    """A load; ``used_``: whether all that it reaches is used, or perhaps what lies at its address alone.

    FlashInfer's FlashKDA loads 32 columns at the last 16 of its allocation, and uses the registers of 16.
    """
    moment = machine.tick()
    if source is not None and source.memory.space == "tmem":
        _own_quarter(machine, thread_set, operation, source)
    for there, warps in _by_place(machine, thread_set, operation, source):
        if there is not None and there.memory.space == "tmem":
            live(machine, thread_set, operation, there if used_ else replace(there, extent=None))
            needs(machine, thread_set, operation, there, "load", (thread_set.cta,))
        agents = tuple(("ld", thread_set.cta, warp) for warp in warps)
        access(machine, thread_set, operation, there, ".load", False, agents, moment)
        machine.tensor.loads.update(dict.fromkeys(((*agent, operation.span.start) for agent in agents), moment))
    thread_set.queue("tmem_load").open.moment = moment


def tmem_store(
    machine: Machine, thread_set: ThreadSet, operation: Operation, source: Address | None, target: Address | None
) -> None:
    moment = machine.tick()
    thread_set.queue("tmem_store").open.moment = moment
    if target is not None and target.memory.space == "tmem":
        _own_quarter(machine, thread_set, operation, target)
    for there, warps in _by_place(machine, thread_set, operation, target):
        if there is not None and there.memory.space == "tmem":
            live(machine, thread_set, operation, there)
        wrote(machine, thread_set, there, ".store", (thread_set.cta,))
        agents = tuple(("st", thread_set.cta, warp) for warp in warps)
        access(machine, thread_set, operation, there, ".store", True, agents, moment)


def _by_place(
    machine: Machine, thread_set: ThreadSet, operation: Operation, where: Address | None
) -> Sequence[tuple[Address | None, tuple[int, ...]]]:
    """What warps reach that begin at different columns, or lanes of their quarters, and which warps begin at each."""
    first, warps = None if where is None else where.first_lane, thread_set.warps
    if where is None or where.memory.space != "tmem":
        return [(where, warps)]
    lanes = first.each if where.lane is None and where.lanes and isinstance(first, Lanes) else ()
    if not where.parts and not lanes:
        return [(where, warps)]
    found = []
    for (column, lane), mine in _warps_by_place(where.parts, lanes, thread_set.threads, thread_set.warp):
        if where.parts and column is None:  # of these warps alone it is not known
            machine.taint.unseen.setdefault(id(operation), operation)
        there = where.at(column, where.unit, where.extent, (), where.origin, where.lanes) if where.parts else where
        within = None if lane is None else lane % where.memory.quarter
        found.append((replace(there, lane=within) if lanes else there, mine))
    return found


@lru_cache(maxsize=512)
def _warps_by_place(
    columns: tuple[int | None, ...], lanes: tuple[int | None, ...], threads: tuple[int, ...], warp: int
) -> tuple[tuple[tuple[int | None, int | None], tuple[int, ...]], ...]:
    """The warps of some threads by the column and the lane that all threads of a warp name."""
    places: dict[int, set[tuple[int | None, int | None]]] = {}
    for thread in threads:
        column, lane = (each[thread] if thread < len(each) else None for each in (columns, lanes))
        places.setdefault(thread // warp, set()).add((column, lane))
    found: dict[tuple[int | None, int | None], list[int]] = {}
    for number, named in sorted(places.items()):
        found.setdefault(named.pop() if len(named) == 1 else (None, None), []).append(number)
    return tuple((place, tuple(mine)) for place, mine in found.items())


_SHAPE = regex(r"[._](\d+)x\d+b(?:x2)?\b")  # of tcgen05.ld and st: lanes by bits
_OPCODE = regex(r"\.(\d+x\d+b(?:x2)?)\.x(\d+)(\.(?:un)?pack::16b)?")  # of them, as PTX writes it
_HALF = "half"  # the operand that says how many columns further the second half of an access is


def _reached(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> list[Address | None]:
    """What a load or store reaches from its address, by its shape: lanes and columns, in one or two places."""
    where, text = tensor_address(machine, thread_set, instruction, 0), words(instruction.operation)
    shape = _SHAPE.search(text)
    if where is None or shape is None or where.memory.space != "tmem":
        return [where]
    lanes = (1 << int(shape[1])) - 1 if int(shape[1]) < where.memory.quarter else where.lanes
    columns = _columns(machine.book, text) if where.extent is None else where.extent
    found = replace(where, lanes=lanes, extent=columns)
    half = named_operand(machine, thread_set, instruction, _HALF) if shape[0].endswith("x2") else None
    if not isinstance(half, int) or half < 0 or columns is None:
        return [found]
    if half <= columns:
        return [replace(found, extent=columns + half)]
    return [found, replace(found.moved(half), lanes=lanes, extent=columns)]


@lru_cache(maxsize=256)
def _columns(book: Rulebook, text: str) -> int | None:
    """The columns of a tcgen05.ld or st, by its opcode; None where that does not say it."""
    found = _OPCODE.search(text)
    shape = None if found is None else book.enums["tmem_shape"].by_spelling.get(found[1])
    if found is None or shape is None:
        return None
    _, bits = book.shared_table("tmem_piece").rows[shape,]
    (element,) = book.shared_table("tmem_element").rows[".yes" if found[3] else ".no",]
    assert isinstance(bits, int) and isinstance(element, int), "rules/fragments/copy.rule"
    return bits * int(found[2]) // element


def tensor_address(machine: Machine, thread_set: ThreadSet, instruction: Instruction, place: int) -> Address | None:
    """An operand that is an address of tensor memory, perhaps a number."""
    found = address(thread_set, instruction, place)
    if found is None and machine.tensor.sole:
        value = machine.literal(thread_set, operand(thread_set, instruction, place))
        found = alike(thread_set, value) if isinstance(value, Address) else None
    if place < len(instruction.inputs) and (found is None or found.memory.space != "tmem"):
        misplaced(machine, instruction.inputs[place])
    return found


def part_by_place(machine: Machine, thread_set: ThreadSet, instruction: Instruction, place: int) -> None:
    """Split a thread set whose warps name several places of tensor memory in an operand: each has its own."""
    found = tensor_address(machine, thread_set, instruction, place)
    if found is not None and found.memory.space == "tmem" and found.parts and found.offset is None:
        machine.split_by_value(thread_set, Lanes(found.parts))


def single_address(machine: Machine, thread_set: ThreadSet, instruction: Instruction, place: int) -> Address | None:
    """The same of an operation that has one place: of warps that name several it is not known."""
    found = tensor_address(machine, thread_set, instruction, place)
    if found is not None and found.memory.space == "tmem" and found.parts and found.offset is None:
        machine.taint.unseen.setdefault(id(instruction.operation), instruction.operation)
    return found


@action("tmem_load")
def _raw_tmem_load(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
    for where in _reached(machine, thread_set, instruction):
        tmem_load(machine, thread_set, instruction.operation, where, used_=False)
    return thread_set.place + 1


@action("tmem_store")
def _raw_tmem_store(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
    for where in _reached(machine, thread_set, instruction):
        tmem_store(machine, thread_set, instruction.operation, None, where)
    return thread_set.place + 1


@action("tmem_wait")
def _tmem_wait(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
    _over(thread_set, *(("ld", "tmem_load") if "load" in words(instruction.operation) else ("st", "tmem_store")))
    return thread_set.place + 1


@action("tmem_used")
def _tmem_used(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
    """The registers of a load are used: it and those before it are complete."""
    agents = [("ld", thread_set.cta, warp) for warp in thread_set.warps]
    loads, at = machine.tensor.loads, instruction.operation.span.start
    for agent in agents:
        retire(thread_set, [agent], loads.get((*agent, at), 0))
    return thread_set.place + 1


def _over(thread_set: ThreadSet, agent: str, queue: str) -> None:
    retire(
        thread_set, [(agent, thread_set.cta, warp) for warp in thread_set.warps], thread_set.queue(queue).open.moment
    )


@action("thread_fence")
def _thread_fence(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
    machine.tick()
    machine.mark("before" if "before" in words(instruction.operation) else "after", thread_set)
    return thread_set.place + 1
