"""An access to memory against the accesses before it: is it ordered behind them, and by what."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache

from tileproof.dialects.values import Pointer, Tensor, element_bits, read_type
from tileproof.layout import LayoutError
from tileproof.layout.basics import coalesce, flat_modes, is_static_layout, outer
from tileproof.mlir.ir import Operation
from tileproof.protocol.access_sets import Footprint, footprint
from tileproof.protocol.machine import Access, Machine
from tileproof.protocol.values import Address
from tileproof.protocol.vector_clock import Agent
from tileproof.protocol.warps import Strand

_NAMED = {
    ".generic": "threads",
    ".tma": "a bulk copy",
    ".async": "cp.async",
    ".wgmma": "wgmma",
    ".mma": "tcgen05.mma",
    ".s2t": "tcgen05.cp",
    ".load": "tcgen05.ld",
    ".store": "tcgen05.st",
}
_HINTS = {
    ".tma": "wait for the phase of the mbarrier on which the copy completes",
    ".async": "wait for the group of the copy, then cross a barrier",
    ".wgmma": "wait for the group of the wgmma first",
    ".mma": "commit the MMA to an mbarrier and wait for that",
    ".s2t": "commit the copy to an mbarrier and wait for that",
    ".load": "wait for the loads (tcgen05.wait::ld), or use what they load, before the memory is handed on",
    ".store": "wait for the stores (tcgen05.wait::st) before the memory is handed on",
}

_PROXY = {".tma", ".wgmma", ".mma", ".s2t"}
_RELEASED = {".generic", ".async"}
_TENSOR = {".mma", ".s2t", ".load", ".store"}
_OWN_LANES = {".load", ".store"}  # a warp reaches its own quarter of the lanes of tensor memory only


def access(
    machine: Machine,
    strand: Strand,
    operation: Operation,
    where: Address | None,
    kind: str,
    writes: bool,
    agents: tuple[Agent, ...],
    moment: int,
    shape: str = "",
    ctas: Iterable[int] | None = None,
) -> None:
    """One access to shared or tensor memory: a finding where one that conflicts with it is not ordered before it."""
    if where is None or where.memory.space not in ("smem", "tmem"):
        return
    prints = None
    if where.parts and kind in _RELEASED and not where.loose:
        prints = footprint(shape, where.parts, strand.threads, where.origin)
    if prints is not None:
        where = replace(where, offset=prints.start, extent=prints.end - prints.start, vague=False)
    elif where.sharers > len(strand.threads):
        where = replace(where, vague=True)  # which part of the tile is theirs is not known
    if where.offset is None:
        return
    low, high = where.offset, where.offset + (where.extent or 1)
    for cta in ctas if ctas is not None else machine.targets(strand, where):
        board = machine.board(cta, where.memory)
        over = set()
        for old in board.overlapping(low, high):
            if _ordered(machine, strand, old, kind, writes, agents, shape, operation, where, moment, prints):
                over.add(id(old))
        one = Access(low, high, agents, moment, kind, writes, operation, shape, where.vague, prints)
        board.add(one, over if writes else set())
        if writes:
            letters = machine.letters.get((cta, where.memory.serial))
            if letters:
                for place in [at for at, (_, size) in letters.items() if low - size < at < high]:
                    del letters[place]
            for slot in machine.slots:
                home, serial, offset = slot
                if (home, serial) == (cta, where.memory.serial) and offset is not None and low - 4 < offset < high:
                    machine.overwritten[slot] = operation


def _ordered(
    machine: Machine,
    strand: Strand,
    old: Access,
    kind: str,
    writes: bool,
    agents: tuple[Agent, ...],
    shape: str,
    operation: Operation,
    where: Address,
    moment: int,
    prints: Footprint | None,
) -> bool:
    if not writes and not old.writes:
        return False
    if old.kind in _RELEASED and kind in _RELEASED and old.writes and not writes:
        _scoped(machine, strand, old, operation)
    shared = None
    if prints is not None and old.prints is not None:
        shared = old.prints.clashes(prints)
        if shared is not None and not shared:
            return False
    if old.kind == kind == ".generic":
        if shared is not None and not (writes and old.writes):
            return _raced(machine, strand, old, shared, writes, operation, where)
        return all(machine.knows(strand, agent, old.moment) for agent in old.agents)
    if old.agents == agents and (old.kind, kind) in _pipelined(machine):
        return True
    if old.kind == kind == ".tma" and old.writes and writes and old.agents == agents and old.moment == moment:
        return False  # parts of one stage, which several copies fill
    if (old.vague or where.vague) and shared is None and ".generic" in (old.kind, kind):
        return False  # threads write what one warpgroup reads, and which one is not known
    alike = shared is None and shape != "" and (shape == old.shape or _part(shape) == _part(old.shape) is not None)
    if alike and _apart(shape, (where.offset or 0) - old.low):
        return False
    alone = alike or (old.kind in _OWN_LANES and kind in _OWN_LANES)
    # A wgmma is over for its warpgroup as a whole: the warps of FMHA reuse their part of Q without a barrier.
    alone |= old.kind == ".wgmma" and kind == ".generic"
    if shared is None:
        known = all(machine.knows(strand, agent, old.moment, alone=alone) for agent in old.agents)
    else:
        known = _known(machine, strand, old, shared)
    place = where.memory.field_at(where.offset or 0)
    verb, past = _verb(kind, writes), "written" if old.writes else "read"
    trace = ((f"it is {past} here by {_NAMED[old.kind]}", old.operation),)
    if not known:
        code = "PR118" if _handed_on(machine, strand, old) else _code(old, kind, writes)
        machine.fault(
            code,
            operation,
            f"{_NAMED[kind]} {verb} '{place}' here, and nothing orders this after {_NAMED[old.kind]}, which "
            f"{'wrote' if old.writes else _verb(old.kind, False)} it",
            _HINTS.get(old.kind, ""),
            trace,
        )
        return True
    unseen = old.kind == ".generic" and old.writes and not writes and kind in _PROXY
    if unseen and not all(machine.knows(strand, agent, old.moment, fenced=True) for agent in old.agents):
        machine.fault(
            "PR110",
            operation,
            f"{_NAMED[kind]} reads '{place}' here through the async proxy, and no proxy fence follows the threads' "
            "writes to it",
            "put nvvm.fence.proxy async.shared between the writes and the barrier",
            trace,
        )
    if old.kind in _OWN_LANES and kind in _TENSOR:
        _thread_fenced(machine, strand, old, kind, verb, place, operation)
    return True


def _verb(kind: str, writes: bool) -> str:
    """What one does who accesses memory: threads are several."""
    return ("write" if writes else "read") + ("" if kind == ".generic" else "s")


def _known(machine: Machine, strand: Strand, old: Access, shared: Mapping[int, set[int]]) -> bool:
    """Whether each warp knows of the warps that accessed bytes of its own; of itself it knows more than others do.

    Args:
        shared: for each warp of the old access the warps of this one that touch bytes of it.
    """
    return all(
        machine.knows(strand, agent, old.moment, alone=shared[warp] <= {warp})
        for agent in old.agents
        if isinstance(warp := agent[-1], int) and warp in shared
    )


def _raced(
    machine: Machine,
    strand: Strand,
    old: Access,
    shared: Mapping[int, set[int]],
    writes: bool,
    operation: Operation,
    where: Address,
) -> bool:
    """An access of threads after one of other threads to the same bytes."""
    for agent in old.agents:
        home, warp = agent
        others = shared[warp] - {warp} if isinstance(warp, int) and warp in shared else set()
        if home == strand.cta and others and not machine.knows(strand, agent, old.moment):
            place = where.memory.field_at(where.offset or 0)
            machine.fault(
                "PR116",
                operation,
                f"threads {'write' if writes else 'read'} '{place}' here, and no barrier orders this after other "
                f"threads {'read' if writes else 'wrote'} it",
                "put a barrier between the two that all these threads cross",
                ((f"it is {'read' if writes else 'written'} here", old.operation),),
            )
            break
    return True


def _scoped(machine: Machine, strand: Strand, old: Access, operation: Operation) -> None:
    """What threads of another CTA wrote is seen after an arrival at this CTA's barrier only if that has its scope."""
    home = old.agents[0][-2] if old.agents else strand.cta
    if not isinstance(home, int) or home == strand.cta or home not in machine.narrow:
        return
    moment, arrival = machine.narrow[home]
    if moment <= old.moment or machine.wide.get(home, -1) > old.moment:
        return
    if all(machine.knows(strand, agent, old.moment) for agent in old.agents):
        machine.fault(
            "PR127",
            operation,
            "the arrival that orders this after the write of another CTA has the scope of one CTA",
            "arrive with scope = #nvvm.mem_scope<cluster>",
            (("it is written here", old.operation), ("this arrives", arrival)),
        )


def _thread_fenced(
    machine: Machine, strand: Strand, old: Access, kind: str, verb: str, place: str, operation: Operation
) -> None:
    """A barrier of threads orders operations on tensor memory only with the fences around it."""
    others = [w for _, _, w in old.agents if isinstance(w, int) and w not in strand.warps]
    if not others or machine.since("passed", strand.cta, strand.warps, old.moment):
        return
    before = machine.since("before", strand.cta, others, old.moment)
    after = machine.since("after", strand.cta, strand.warps, old.moment)
    if machine.since("met", strand.cta, strand.warps, old.moment) and not (before and after):
        machine.fault(
            "PR115",
            operation,
            f"{_NAMED[kind]} {verb} '{place}' here after {_NAMED[old.kind]} of other threads, and no tcgen05 fences "
            "stand around the barrier that orders the two",
            "put nvvm.tcgen05.fence <before> before the barrier and <after> behind it",
            ((f"this is {_NAMED[old.kind]}", old.operation),),
        )


_MOST_ELEMENTS = 4096  # of what one thread has of a tile


@lru_cache(maxsize=4096)
def _part(shape: str) -> tuple[int, str] | None:
    """What a thread has of shared memory through a type: the bits of an element and where its elements lie.

    Views of one part are written in many ways; the same bits at the same places make them one.
    """
    kind = read_type(shape)
    if not isinstance(kind, Tensor) or not isinstance(kind.iterator, Pointer):
        return None
    bits, layout = element_bits(kind.iterator.element), outer(kind.layout)
    if bits is None or not is_static_layout(layout):
        return None
    try:
        return bits, str(coalesce(layout))
    except LayoutError:
        return None


@lru_cache(maxsize=4096)
def _places(shape: str) -> frozenset[int]:
    """The bits at which the elements of a part begin; none where they are too many or not known."""
    kind, part = read_type(shape), _part(shape)
    if part is None or not isinstance(kind, Tensor):
        return frozenset()
    found = {0}
    for extent, stride in flat_modes(outer(kind.layout)):
        if not isinstance(extent, int) or not isinstance(stride, int) or len(found) * extent > _MOST_ELEMENTS:
            return frozenset()
        found = {one + i * stride * part[0] for one in found for i in range(extent)}
    return frozenset(found)


@lru_cache(maxsize=4096)
def _apart(shape: str, distance: int) -> bool:
    """Whether two parts of one kind, which begin so many bytes apart, have no element in common.

    Rows of a tile that are copied one by one interleave: each reaches over the others and touches none of them.
    """
    if not distance:
        return False
    mine = _places(shape)
    return bool(mine) and mine.isdisjoint(one + 8 * distance for one in mine)


def _handed_on(machine: Machine, strand: Strand, old: Access) -> bool:
    """Whether other threads loaded this from tensor memory, and handed it on before they used what they loaded."""
    threads = [agent[1:] for agent in old.agents]
    mine = {(strand.cta, warp) for warp in strand.warps}
    known = all(machine.knows(strand, agent, old.moment) for agent in threads)
    return old.kind == ".load" and known and mine.isdisjoint(threads)


def _code(old: Access, kind: str, writes: bool) -> str:
    """Which finding it is: data used before they are there, or memory used again while it is still read."""
    if old.kind in (".load", ".store") or kind in (".load", ".store"):
        return "PR113" if old.writes and not writes else "PR114"
    return "PR111" if old.writes and not writes else "PR112"


def _pipelined(machine: Machine) -> frozenset[tuple[str, str]]:
    found = machine.state.get("pipelined")
    if not isinstance(found, frozenset):
        table = machine.book.tables["pipelined", "ptx"]
        found = frozenset((str(a), str(b)) for a, b in table.rows)
        machine.state["pipelined"] = found
    return found


def generic(
    machine: Machine, strand: Strand, operation: Operation, where: Address | None, writes: bool, shape: str
) -> None:
    """An access by threads, to shared memory or to registers."""
    if where is None:
        return
    if where.memory.space == "rmem":
        registers(machine, strand, operation, where, writes)
        return
    if where.memory.space == "smem":
        agents = tuple((strand.cta, warp) for warp in strand.warps)
        access(machine, strand, operation, where, ".generic", writes, agents, machine.tick(), shape)


def span(where: Address) -> tuple[int, int, int]:
    """Registers: the allocation, the first bit and the one behind the last."""
    if where.offset is None or where.extent is None:
        return where.memory.serial, 0, 1 << 40
    return where.memory.serial, where.offset, where.offset + where.extent


def meets(a: tuple[int, int, int], b: tuple[int, int, int]) -> bool:
    return a[0] == b[0] and a[1] < b[2] and b[1] < a[2]


def registers(machine: Machine, strand: Strand, operation: Operation, where: Address, writes: bool) -> None:
    """An access by threads to registers that asynchronous operations may be using."""
    mine = span(where)
    if writes:
        strand.touched[where.memory.serial] = operation
    queue = strand.queues.get("wgmma")
    if queue is not None:
        for group in queue.in_flight():
            if any(meets(mine, one) for one in group.registers):
                machine.fault(
                    "PR103",
                    operation,
                    "registers of a wgmma that is in flight are accessed here",
                    "wait for its group first: nvvm.wgmma.wait.group.sync.aligned",
                    (("the wgmma is issued here", group.operations[-1]),),
                )
                group.registers.clear()
