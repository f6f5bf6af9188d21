"""Threads that read and write elements of memory, shared-memory mailboxes, and addresses of tensor memory."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from tileproof.base.patterns import regex
from tileproof.base.records import replace
from tileproof.dialects.values import Tensor, element_bits, read_type
from tileproof.mlir.ir import Operation
from tileproof.protocol.access_sets import element_of
from tileproof.protocol.actions import contents
from tileproof.protocol.actions.accesses import generic
from tileproof.protocol.actions.base import (
    Action,
    address,
    integer,
    limit,
    memory_word,
    operand,
    registrar,
    result,
    type_of_result,
)
from tileproof.protocol.deciding import computed_by
from tileproof.protocol.folding import index_of
from tileproof.protocol.machine import Machine
from tileproof.protocol.program import Instruction
from tileproof.protocol.ptx_arithmetic import computation
from tileproof.protocol.state import Place
from tileproof.protocol.steps import number
from tileproof.protocol.values import Address, Lanes, Open, Value, everywhere
from tileproof.protocol.warps import ThreadSet
from tileproof.rulebase.book import Rulebook

ACTIONS: dict[str, Action] = {}
action = registrar(ACTIONS)

_SCALAR = regex(r"i\d+|index")
_ONE = regex(r"vector<1x(i\d+)>")


def _element(thread_set: ThreadSet, instruction: Instruction, place: int) -> tuple[Address | None, str, Value]:
    """What an access with a coordinate touches, from the lowest element of the threads to the highest, and its type.

    Last is the index of the element of each thread in what the operand is; None where it is not known.
    """
    where = address(thread_set, instruction, place)
    coord = operand(thread_set, instruction, place + 1)
    shape = memory_word(instruction, place)
    if where is None or where.memory.space not in ("smem", "rmem") or not isinstance(coord, tuple):
        if not shape.startswith("!llvm.ptr"):
            return where, shape, None
        where = _plain(thread_set, instruction, where)
        return where, _pointed(instruction, place) if where is not None and where.parts else shape, 0
    view, kind = instruction.types[place : place + 2]
    if all(type(leaf) is int for leaf in coord):
        found = _index(view, kind, coord)
    else:
        index = _indexing(view, kind)
        found = None if index is None else index(coord)
    if isinstance(found, Lanes):
        each = [one for thread in thread_set.threads if (one := found.each[thread]) is not None]
        if len(each) < len(thread_set.threads):
            return replace(where, loose=True), shape, None
        first, last = min(each), max(each)
    elif isinstance(found, int):
        first = last = found
    else:
        return replace(where, loose=True), shape, None
    if where.memory.space == "rmem":
        there = where.moved(first)
        return there.at(there.offset, there.unit, (last - first + 1) * where.unit, there.parts), shape, found
    moved = replace(where.moved(first), extent=max((last - first + 1) * where.unit // 8, 1))
    parts = where.moved(found).parts
    if not parts and isinstance(found, int) and moved.offset is not None and not where.vague and not where.sharers:
        parts = everywhere(moved.offset, thread_set.threads[-1] + 1)  # all threads access one element
    return (replace(moved, parts=parts), element_of(shape), found) if parts else (moved, shape, found)


def _plain(thread_set: ThreadSet, instruction: Instruction, where: Address | None) -> Address | None:
    """What an access through a plain pointer touches: where the threads have no places of their own they have one.

    Several warps that write one place write one value, and each finds its own.
    """
    if where is None or where.memory.space != "smem" or where.offset is None or where.parts or where.vague:
        return where
    if not instruction.outputs and len(thread_set.warps) > 1:
        return where
    return replace(where, parts=everywhere(where.offset, thread_set.threads[-1] + 1))


def _pointed(instruction: Instruction, place: int) -> str:
    """The type of a pointer to what an access through a plain pointer loads or stores."""
    uses = instruction.operation.outputs
    value = uses[0].text if uses else memory_word(instruction, 1 - place)
    return _pointer_to(value)


@lru_cache(maxsize=1024)
def _pointer_to(value: str) -> str:
    """The type of a pointer to a value in shared memory; empty where its width is not known."""
    bits = element_bits(value) or 8 * (_reach(value) or 0)
    return f"!cute.ptr<i{bits}, smem>" if bits else ""


@lru_cache(maxsize=4096)
def _indexing(view: str, coord: str) -> Callable[[Value], Value] | None:
    kind = read_type(view)
    return index_of(kind.layout, read_type(coord)) if isinstance(kind, Tensor) else None


@lru_cache(maxsize=4096)
def _index(view: str, kind: str, coord: tuple[int, ...]) -> Value:
    """The index of an element that all threads access."""
    index = _indexing(view, kind)
    return None if index is None else index(coord)


def _idle(machine: Machine, thread_set: ThreadSet, instruction: Instruction, place: int) -> Address | None:
    """The registers of an operand, where they hold no integer and no wgmma in flight: most accesses are such."""
    where = thread_set.values[instruction.inputs[place]]
    if not isinstance(where, Address) or where.memory.space != "rmem":
        return None
    queue = thread_set.queues.get("wgmma")
    used = queue is not None and any(group.registers for group in queue.in_flight())
    return None if used or (thread_set.cta, where.memory.serial) in machine.mailboxes else where


@action("read")
def _read(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
    place = instruction.effect.first if instruction.effect is not None else 0
    if _idle(machine, thread_set, instruction, place) is not None:
        result(thread_set, instruction, None)
        return thread_set.place + 1
    where, shape, index = _element(thread_set, instruction, place)
    generic(machine, thread_set, instruction.operation, where, False, shape)
    if len(instruction.outputs) > 1:
        _load_each(machine, thread_set, instruction, where, index)
    else:
        result(thread_set, instruction, _loaded_value(machine, thread_set, instruction, where, index))
    return thread_set.place + 1


def _load_each(
    machine: Machine, thread_set: ThreadSet, instruction: Instruction, where: Address | None, index: Value
) -> None:
    """The elements of a vector are loaded from one behind the other."""
    place = instruction.effect.first if instruction.effect is not None else 0
    held, outputs = operand(thread_set, instruction, place), instruction.outputs
    result(thread_set, instruction, None)
    reach = _reach(type_of_result(machine, instruction.operation))
    if where is None or reach is None or index != 0 or not isinstance(held, Address) or held.memory.space != "smem":
        return
    size, there = reach // len(outputs), held.counted(8, held.extent)
    for i, slot in enumerate(outputs):
        found: Value = None
        if where.offset is not None:
            at = where.offset + i * size
            slot_read(machine, thread_set, instruction.operation, replace(where, offset=at))
            found = machine.tensor.addresses.get((thread_set.cta, where.memory.serial, at))
        if found is None:
            found = contents.load(machine, thread_set, there, i * size, size)
        if found is None and where.offset is not None:
            found = _unsaid(held, where.offset + i * size)
        thread_set.values[slot] = found


_ROW = "!cute.ptr<i128, smem>"  # of a matrix of 8 by 8 elements of 16 bits: one lane gives its address


def _matrix(machine: Machine, thread_set: ThreadSet, instruction: Instruction, count: int | None, writes: bool) -> int:
    """The threads of each warp move matrices together, row by row.

    Args:
        count: of the matrices of a warp; None where all lanes give the address of a row.
    """
    where = _plain(thread_set, instruction, address(thread_set, instruction, 0))
    result(thread_set, instruction, None)
    if where is not None and where.parts:
        lanes = thread_set.warp if count is None else limit(machine, "matrix_rows") * count
        parts = _of_lanes(where.parts, thread_set.warp, lanes)
        generic(machine, thread_set, instruction.operation, replace(where, parts=parts), writes, _ROW)
    return thread_set.place + 1


@lru_cache(maxsize=4096)
def _of_lanes(parts: tuple[int | None, ...], warp: int, lanes: int) -> tuple[int | None, ...]:
    """The parts of the first lanes of each warp."""
    return tuple([one if t % warp < lanes else None for t, one in enumerate(parts)])


_OPCODE = regex(r" ldmatrix\.sync\S*")
_ROWS, _COUNT = regex(r"\.m(8|16)n"), regex(r"\.x([124])\b")


@lru_cache(maxsize=64)
def _of_opcode(opcode: str, rows: int) -> int | None:
    """How many matrices of so many rows an instruction of PTX moves: a lane gives the address of a row."""
    long, count = _ROWS.search(opcode), _COUNT.search(opcode)
    return int(count[1]) * int(long[1]) // rows if long is not None and count is not None else None


@action("matrix_load")
def _matrix_load(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
    operation = instruction.operation
    opcode = _OPCODE.search(operation.pieces[0])
    if opcode is not None:  # an instruction of PTX
        return _matrix(machine, thread_set, instruction, _of_opcode(opcode[0], limit(machine, "matrix_rows")), False)
    usual = operation.attribute("shape") is None and "shape" not in operation.pieces[0]
    return _matrix(machine, thread_set, instruction, number(operation, "num") if usual else None, False)


@action("matrix_store")
def _matrix_store(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
    operation = instruction.operation
    usual = operation.attribute("shape") is None and "shape" not in operation.pieces[0]
    return _matrix(machine, thread_set, instruction, len(instruction.inputs) - 1 if usual else None, True)


@action("atomic")
def _atomic(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
    """A read, a change and a write at once: of several at one place any order is meant."""
    where = address(thread_set, instruction, 0)
    result(thread_set, instruction, None)
    if where is not None and where.memory.space == "smem":
        if where.offset is not None and not where.parts and not where.vague:
            where = replace(where, parts=everywhere(where.offset, thread_set.threads[-1] + 1))
        changes = _changing(machine.book, instruction.operation.pieces[0])
        held, left, length = operand(thread_set, instruction, 0), dict[int, int](), 0
        if changes is not None and isinstance(held, Address):
            value = operand(thread_set, instruction, 1)
            length, held = changes[0], held.counted(8, held.extent)
            found, left = contents.changed(machine, thread_set, held, *changes, value)
            result(thread_set, instruction, found)
        generic(machine, thread_set, instruction.operation, where, True, _pointed(instruction, 0))
        contents.overwritten(machine, thread_set, where, length or limit(machine, "atomic_bytes"))
        if isinstance(held, Address):
            contents.leave(machine, thread_set, held, left, length)
    return thread_set.place + 1


_CHANGE = regex(r" (?:atom|red)\.(?:[\w:]+\.)*?(add|min|max|and|or|xor|exch)\.(?:[\w:]+\.)*([usb](?:32|64))\Z")


@lru_cache(maxsize=256)
def _changing(book: Rulebook, text: str) -> tuple[int, Callable[[Value, Value], Value]] | None:
    """The bytes of a number that an atomic operation of PTX changes, and how; None where that is not followed."""
    said = _CHANGE.search(text)
    if said is None:
        return None
    length = int(said[2][1:]) // 8
    if said[1] == "exch":
        return length, lambda held, value: value
    computes = computation(book, f"{said[1]}.{said[2]}")
    return None if computes is None else (length, lambda held, value: computes.function(held, value)[0])


@action("register_read")
def _register_read(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
    """A read of integers in registers, which matters for what it reads alone."""
    return _read(machine, thread_set, instruction)


def _loaded_value(
    machine: Machine, thread_set: ThreadSet, instruction: Instruction, where: Address | None, index: Value
) -> Value:
    """The value of a load: the address of tensor memory, or an integer that was stored there."""
    operation = instruction.operation
    place = instruction.effect.first if instruction.effect is not None else 0
    held = operand(thread_set, instruction, place)
    if where is None or not isinstance(held, Address) or where.memory.space not in ("smem", "rmem"):
        return None
    if where.memory.space == "smem":
        slot_read(machine, thread_set, operation, where)
        slot = machine.tensor.addresses.get((thread_set.cta, where.memory.serial, where.offset))
        if slot is not None:
            return slot
    kind = type_of_result(machine, operation)
    length = _length(kind, held)
    if index is None and _ONE.fullmatch(kind) is not None and contents.steps(memory_word(instruction, place)) == (0,):
        index = 0
    if index is None or length is None:
        return None
    found = contents.load(machine, thread_set, held, index, length)
    if found is None and held.memory.space == "smem" and where.offset is not None and isinstance(index, int):
        return _unsaid(held, where.offset)
    return found


def _unsaid(where: Address, offset: int) -> Open:
    """What is found at a byte of shared memory where nothing is known to be stored: all who look find the same."""
    return Open(1, hash((where.memory.serial, offset)))


def _length(text: str, where: Address) -> int | None:
    """The length of an integer in memory: bytes, or bits of registers; None of what is no integer."""
    bits = _integer_bits(text)
    return bits if bits is None or where.memory.space == "rmem" else max(bits // 8, 1)


@lru_cache(maxsize=1024)
def _integer_bits(text: str) -> int | None:
    """The bits of an integer in memory, or of a vector of one; None of what is no integer."""
    alone = _ONE.fullmatch(text)
    text = text if alone is None else alone[1]
    return None if _SCALAR.fullmatch(text) is None else element_bits(text) or 32


def slot_read(machine: Machine, thread_set: ThreadSet, operation: Operation, where: Address) -> None:
    """Note a read of the tensor memory address that is not ordered after the allocation, or overwritten since.

    A warp that reads it too early and never uses what it read does no harm: it is told where it uses it (``used``).
    What was written over it may be meant for who reads it: it is told where tensor memory is accessed by it.
    """
    slot = (thread_set.cta, where.memory.serial, where.offset)
    written, over = machine.tensor.writes.get(slot), machine.tensor.overwritten.get(slot)
    if over is not None:
        machine.tensor.stale[id(operation)] = (operation, over)
    elif written is not None:
        agents, moment, allocation = written
        for warp in thread_set.warps:
            mine = (thread_set.cta, warp)
            machine.tensor.early.pop(mine, None)
            if not all(agent == mine or machine.knows_warp(thread_set, agent, moment) for agent in agents):
                machine.tensor.early[mine] = (operation, allocation)
    elif machine.tensor.read is not None and where.offset is not None:
        first = machine.tensor.read.setdefault(slot, {})
        for warp in thread_set.warps:
            first.setdefault((thread_set.cta, warp), (operation, machine.now))


def misplaced(machine: Machine, slot: int) -> None:
    """Report a read of what was written over an address of tensor memory, where it is taken for the address.

    Args:
        slot: of a value that tensor memory is accessed by, and that is no address of it.
    """
    code = machine.program.before or machine.program.code
    for read, over in list(machine.tensor.stale.values()):
        if computed_by(code, slot, read):
            del machine.tensor.stale[id(read)]
            machine.report("PR159", "here", read, at=(("write", over),))


def used(machine: Machine, thread_set: ThreadSet) -> None:
    """Report a tensor memory address that these threads use and read before it was there."""
    for warp in thread_set.warps if machine.tensor.early else ():
        read = machine.tensor.early.pop((thread_set.cta, warp), None)
        if read is not None:
            machine.report("PR153", "unordered", read[0], at=(("allocation", read[1]),))


def read_before(machine: Machine, thread_set: ThreadSet, allocation: Operation, slot: Place) -> None:
    """Report a read of the place that an allocation writes to, by threads that nothing orders before that."""
    for agent, (read, moment) in (machine.tensor.read or {}).pop(slot, {}).items():
        if agent[1] not in thread_set.warps and not machine.knows(thread_set, agent, moment):
            machine.report("PR153", "unordered", read, at=(("allocation", allocation),))
            return


_VECTOR = regex(r"vector<(\d+)x[a-z]+(\d+)>")


@lru_cache(maxsize=1024)
def _reach(text: str) -> int | None:
    """The bytes of a vector."""
    found = _VECTOR.fullmatch(text)
    return int(found[1]) * int(found[2]) // 8 if found is not None else None


@action("write")
def _write(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
    place = instruction.effect.first if instruction.effect is not None else 0
    idle = _idle(machine, thread_set, instruction, place) if place < len(instruction.inputs) else None
    if idle is not None and not any(map(_SCALAR.fullmatch, instruction.types)):
        thread_set.touched[idle.memory.serial] = instruction.operation
        return thread_set.place + 1
    candidates = [i for i in range(len(instruction.inputs)) if isinstance(operand(thread_set, instruction, i), Address)]
    if candidates and place not in candidates:
        place = candidates[-1]
    where, shape, index = _element(thread_set, instruction, place)
    generic(machine, thread_set, instruction.operation, where, True, shape)
    held = operand(thread_set, instruction, place)
    if where is None or not isinstance(held, Address) or where.memory.space not in ("smem", "rmem"):
        return thread_set.place + 1
    for one in candidates:
        length = _length(instruction.types[one], held) if one != place else None
        if length is not None:
            _keep_address(machine, thread_set, where, length, operand(thread_set, instruction, one))
    values = [i for i in range(len(instruction.inputs)) if i not in candidates]
    if len(values) > 1 and index == 0 and _store_each(machine, thread_set, instruction, held, values):
        return thread_set.place + 1
    value = values[-1] if values else None
    length = _length(instruction.types[value], held) if value is not None else None
    if value is None or index is None or length is None:
        reach = where.extent or (_reach(instruction.types[value]) if value is not None else None)
        if where.memory.space == "rmem" or (where.offset is not None and reach):
            contents.forget(machine, thread_set, where, where.offset, reach or 1 << 40)
    else:
        contents.store(machine, thread_set, held, index, length, operand(thread_set, instruction, value))
    return thread_set.place + 1


@action("fill")
def _fill(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
    """``st.bulk``: zeros in so many bytes of shared memory, by each thread where it says."""
    where, length = address(thread_set, instruction, 0), integer(machine, thread_set, instruction, 1)
    if where is not None and where.memory.space == "smem":
        parts = where.parts or (where.offset,) * machine.shape.threads
        shape = f"!cute.ptr<i{8 * length}, smem>" if length else ""
        generic(machine, thread_set, instruction.operation, replace(where, extent=length, parts=parts), True, shape)
        contents.forget(machine, thread_set, where, where.offset if length is not None else None, length or 0)
    return thread_set.place + 1


def _keep_address(machine: Machine, thread_set: ThreadSet, where: Address, length: int, value: Value) -> None:
    """Threads leave an address of so many bytes in shared memory: others find one of tensor memory there."""
    if where.memory.space != "smem" or not isinstance(value, Address):
        return
    contents.store(machine, thread_set, where, 0, length, None)
    alike = not value.parts and not isinstance(value.first_lane, Lanes)
    if where.offset is not None and value.memory.space == "tmem" and alike:
        slot = (thread_set.cta, where.memory.serial, where.offset)
        machine.tensor.addresses[slot] = value
        machine.tensor.overwritten.pop(slot, None)


def _store_each(
    machine: Machine, thread_set: ThreadSet, instruction: Instruction, held: Address, values: list[int]
) -> bool:
    """The elements of a vector are stored one behind the other; whether that is what the operation does."""
    reach = _reach(instruction.types[values[0]])
    if reach is None or reach % len(values) or held.memory.space != "smem":
        return False
    size, there = reach // len(values), held.counted(8, held.extent)
    if contents.is_tile(thread_set, there, len(values)):
        contents.store(machine, thread_set, there, 0, reach, None)
        return True
    for i, place in enumerate(values):
        contents.store(machine, thread_set, there, i * size, size, operand(thread_set, instruction, place))
    return True
