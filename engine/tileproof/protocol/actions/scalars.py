"""Values of a thread: special registers, election, addresses of a peer CTA, allocations."""

from __future__ import annotations

from functools import lru_cache

from tileproof.base.by_identity import by_identity
from tileproof.base.patterns import regex
from tileproof.base.records import replace
from tileproof.dialects.values import Pointer, Tensor, element_bits, read_type
from tileproof.protocol.actions.base import Action, address, operand, registrar, result, type_of_result
from tileproof.protocol.deciding import job_counters
from tileproof.protocol.folding import view_at
from tileproof.protocol.machine import Machine
from tileproof.protocol.program import Instruction
from tileproof.protocol.steps import words
from tileproof.protocol.terms import place_term
from tileproof.protocol.values import Address, Lanes, Supposed, Value, term_of
from tileproof.protocol.warps import ThreadSet

ACTIONS: dict[str, Action] = {}
action = registrar(ACTIONS)

_COUNTED = 6  # what atomic operations find in global memory, apart from other terms
_NO_MORE = 1 << 30  # the number of no job: no product of extents comes near it
_LEAST_JOBS = 2  # the first may be for the loop to begin with


@action("index")
def _index(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
    """A special register."""
    name = instruction.operation.name.removeprefix("nvvm.read.ptx.sreg.")
    what, _, axis = name.rpartition(".")
    shape = machine.shape
    x, y, _z = shape.block
    cx, cy, cz = shape.cluster
    rank = thread_set.cta
    at = {"x": 0, "y": 1, "z": 2}.get(axis)
    value: Value = None
    threads = range(shape.threads)
    if what == "tid" and at is not None:
        value = Lanes(_thread_index(shape.threads, x, y, at)) if shape.block[at] > 1 else 0
    elif what == "ntid" and at is not None:
        value = shape.block[at]
    elif what in ("ctaid", "cluster.ctaid") and at is not None:
        place = (rank % cx, rank // cx % cy, rank // (cx * cy))[at]
        # Within a cluster the place in the grid is the place in the cluster, but for a multiple of its size.
        given, size = shape.extents.number(place_term(at), 0), shape.cluster[at]
        value = place if what == "cluster.ctaid" else given // size * size + place
        if what == "ctaid" and size == 1:
            value = Supposed(value, place_term(at))
    elif what == "cluster.nctaid" and at is not None:
        value = (cx, cy, cz)[at]
    elif what == "nctaid" and at is not None:
        many = (cx, cy, cz)[at] * (max(shape.extents.grid or machine.module.clusters, 1) if at == 0 else 1)
        value = Supposed(max(many, shape.extents.number(place_term(at), 0) + 1), place_term(at))
    elif what == "clusterid":
        value = Supposed(shape.extents.number(place_term(0), 0) // cx, place_term(0))
    elif what == "nclusterid":
        value = Supposed(1, place_term(1))
    elif name == "cluster.ctarank":
        value = rank
    elif name == "cluster.nctarank":
        value = shape.ctas
    elif name == "laneid":
        value = Lanes(tuple(t % shape.warp for t in threads))
    elif name == "warpid":
        value = Lanes(tuple(t // shape.warp for t in threads))
    elif name == "activemask":
        value = _active(thread_set.threads, shape.threads, shape.warp)
    result(thread_set, instruction, value)
    return thread_set.place + 1


@action("counter")
def _counter(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
    """What an atomic operation finds in global memory, such as the number of the next tile or of who is done.

    A run supposes that it is the first one of the grid, however often it asks; but where loops go on as long as there
    are jobs, those who ask together have as many as a loop over tiles has turns, and then there are none.
    """
    operation = instruction.operation
    found = operand(thread_set, instruction, 0)
    if not isinstance(found, int):
        found = Supposed(0, hash((_COUNTED, operation.span.start)))
    if thread_set.place in job_counters(machine.program.before or machine.program.code):
        key = (thread_set.cta, thread_set.threads[0], thread_set.place)
        asked = machine.counters[key] = machine.counters.get(key, 0) + 1
        if asked >= max(machine.tiles, _LEAST_JOBS):
            found = Supposed(_NO_MORE, hash((_COUNTED, term_of(found))))
    result(thread_set, instruction, found)
    return thread_set.place + 1


@by_identity
def _active(threads: tuple[int, ...], count: int, warp: int) -> Lanes:
    """The threads of its warp that are here with each thread, as a mask: a signed integer."""
    masks: dict[int, int] = {}
    for thread in threads:
        masks[thread // warp] = masks.get(thread // warp, 0) | 1 << thread % warp
    words = {one: mask - (mask >> warp - 1 << warp) for one, mask in masks.items()}
    return Lanes(tuple(words.get(t // warp) for t in range(count)))


@lru_cache(maxsize=64)
def _thread_index(threads: int, x: int, y: int, axis: int) -> tuple[int, ...]:
    """The index of each thread along an axis of a block with so many threads along the first two."""
    return tuple([(t % x, t // x % y, t // (x * y))[axis] for t in range(threads)])


@action("elect")
def _elect(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
    result(
        thread_set,
        instruction,
        1 if len(thread_set.threads) == 1 else _elected(thread_set.threads, thread_set.block, thread_set.warp),
    )
    return thread_set.place + 1


@by_identity
def _elected(threads: tuple[int, ...], count: int, warp: int) -> Lanes:
    """1 for the first thread of each warp."""
    chosen: dict[int, int] = {}
    for thread in threads:
        chosen.setdefault(thread // warp, thread)
    return Lanes(tuple(int(chosen.get(t // warp) == t) for t in range(count)))


@action("peer")
def _peer(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
    where = address(thread_set, instruction, 0)
    cta = operand(thread_set, instruction, 1)
    value: Value = None
    if where is not None and isinstance(cta, int | Lanes):
        value = replace(where, cta=cta, leader=False, peer=False)
    result(thread_set, instruction, value)
    return thread_set.place + 1


_FIELD = regex(r'"([^":]+):(\d+):(\d+)"')


_SPACE = regex(r"\b(smem|rmem|tmem|gmem)\b")


@action("allocate")
def _allocate(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
    """An allocation is one memory however often it runs; registers belong to a thread set, so they need no CTA."""
    operation = instruction.operation
    key: int | str = id(operation)
    if operation.name == "llvm.mlir.addressof":
        key = operation.pieces[0].partition("@")[2].partition(" ")[0]
    kind = type_of_result(machine, operation)
    memory = machine.allocations.by_origin.get(key)
    if memory is None:
        space = "smem"
        text = words(operation)
        named = _SPACE.search(kind) or _SPACE.search(text)
        if named is not None:
            space = named[1]
        fields = operation.attribute("smem.struct_fields")
        parts = tuple((n, int(b), int(o)) for n, b, o in _FIELD.findall(fields.text)) if fields is not None else ()
        name = operation.results[0].name if operation.results else space
        memory = machine.allocations.by_origin[key] = machine.allocations.add(name, space, parts)
    found = read_type(kind)
    unit = 8
    match found:
        case Tensor(iterator=Pointer(element=element)) | Pointer(element=element):
            unit = element_bits(element) or 8
    result(
        thread_set,
        instruction,
        view_at(machine.book, Address(memory, 0, unit), found if isinstance(found, Tensor) else None),
    )
    return thread_set.place + 1
