"""An access to memory against the accesses before it: is it ordered after them, and by what."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, reduce
from operator import itemgetter, or_

from tileproof.base.by_identity import by_identity
from tileproof.base.patterns import regex
from tileproof.base.records import replace
from tileproof.dialects.values import Pointer, Tensor, element_bits, read_type
from tileproof.evaluate.hardware import limit
from tileproof.layout import LayoutError
from tileproof.layout.basics import coalesce, flat_modes, is_static_layout, outer
from tileproof.mlir.ir import Operation
from tileproof.protocol.access_sets import access_set
from tileproof.protocol.actions.exits import accessed
from tileproof.protocol.box_reads import BoxReads
from tileproof.protocol.machine import Machine
from tileproof.protocol.memory import Access, AccessLog
from tileproof.protocol.steps import words
from tileproof.protocol.values import Address
from tileproof.protocol.vector_clock import Agent
from tileproof.protocol.warps import ThreadSet
from tileproof.rulebase.book import Rulebook


@lru_cache(maxsize=64)
def _proxy(book: Rulebook, kind: str) -> str:
    """The proxy that an access is made in, by the table ``protocol_access``."""
    return str(book.shared_table("protocol_access").rows[kind,][0])


@lru_cache(maxsize=64)
def _lanes(book: Rulebook, kind: str) -> str:
    """The lanes of tensor memory that a warp reaches by an access, by the table ``protocol_access``."""
    return str(book.shared_table("protocol_access").rows[kind,][1])


_BY_THREADS = {".load_read", ".store_write"}  # findings about tensor memory that threads load or store themselves

PRIMITIVE = "primitive"  # the shape of a tcgen05.cp that is no copy of an atom
APART = "apart"  # the shape of what each thread copies from or to a place of its own
BOXES = "boxes"  # that of lines of which some bytes are read: it tells what whole lines are written under it

_LONG_LOG = 128  # accesses to be looked through that count as one more step of the run: a loop may move on for ever


def access(
    machine: Machine,
    thread_set: ThreadSet,
    operation: Operation,
    where: Address | None,
    kind: str,
    writes: bool,
    agents: tuple[Agent, ...],
    moment: int,
    shape: str = "",
    ctas: Iterable[int] | None = None,
) -> None:
    """One access to shared or tensor memory: a finding where a conflicting access is not ordered before it."""
    if where is None or where.memory.space not in ("smem", "tmem"):
        return
    if where.outside is not None:
        index, extent = where.outside
        named = _named(kind, writes, agents)
        machine.report("PR177", "here", operation, access=named, index=index, extent=extent, last=extent - 1)
        return
    touched_bytes = None
    if where.parts and _proxy(machine.book, kind) == ".generic" and not where.loose:
        if _outside(where.parts, thread_set.threads):
            return
        touched_bytes = access_set(shape, where.parts, thread_set.threads, machine.shape.warp, where.origin)
    if touched_bytes is not None:
        where = where.exactly(touched_bytes.start, touched_bytes.end - touched_bytes.start)
    elif where.sharers > len(thread_set.threads):
        where = replace(where, vague=True)  # their part of the tile is not known
    if where.offset is None:
        if where.parts and where.memory.space == "smem" and _proxy(machine.book, kind) != ".generic":
            for start, mine in started(thread_set, where.parts, agents):
                there = replace(where, offset=start, parts=())
                access(machine, thread_set, operation, there, kind, writes, mine, moment, APART, ctas)
        elif machine.reads is not None and not writes and where.memory.space == "smem":
            machine.reads.vague = True
        return
    if where.apart and not shape:
        shape = APART
    low, high = where.offset, where.offset + (where.extent or 1)
    lanes = where.reached_lanes() if where.memory.space == "tmem" else -1
    for cta in ctas if ctas is not None else machine.targets(thread_set, where):
        log = machine.log(cta, where.memory)
        if machine.spans and id(operation) in machine.spans:
            machine.spans[id(operation)].add((cta, where.memory.serial, low, high))
        if kind == ".generic":
            accessed(machine, thread_set, operation, cta, agents, moment)
        machine.steps += len(log.accesses) // _LONG_LOG
        one = Access(low, high, agents, moment, kind, writes, operation, shape, where.vague, touched_bytes, lanes)
        over, scoped = set(), machine.releases.cta_scope
        for old in log.overlapping(low, high, lanes, writes=not writes):
            if BOXES in (shape, old.shape) and not _whole_lines(machine.reads, old, one):
                continue
            before, shared = old.touched_bytes, None
            if touched_bytes is not None and before is not None:
                shared = before.clashes(touched_bytes)
                if shared is not None and not shared and not scoped:
                    continue  # most of those that lie among each other have no byte in common
            if _ordered(machine, thread_set, old, one, where, cta, log, shared) and writes:
                over.add(id(old))
        log.add(one, over)
        if machine.reads is not None and where.memory.space == "smem":
            memory = cta, where.memory.serial
            if writes and kind != ".tma":
                machine.reads.write(memory, low, high)
            elif touched_bytes is not None and not writes:
                machine.reads.read_by_threads(memory, touched_bytes, operation)
            elif not writes and kind in (".tma", ".generic"):
                machine.reads.read_anyhow(memory, low, high)
        if writes:
            mailboxes = machine.mailboxes.get((cta, where.memory.serial))
            if mailboxes:
                for place in mailboxes.near(low, high - low):
                    del mailboxes[place]
            for slot in tuple(machine.tensor.addresses):
                home, serial, offset = slot
                if (home, serial) == (cta, where.memory.serial) and offset is not None and low - 4 < offset < high:
                    del machine.tensor.addresses[slot]
                    if slot in machine.tensor.writes:  # else threads left it there
                        machine.tensor.overwritten[slot] = operation


def _whole_lines(reads: BoxReads | None, old: Access, one: Access) -> bool:
    """Whether a copy writes a whole line of memory or more, of each of which the other access reads some bytes."""
    copy = old if one.shape == BOXES else one
    common = min(old.high, one.high) - max(old.low, one.low)
    return reads is not None and copy.kind == ".tma" and copy.writes and common >= reads.unit * reads.line


@by_identity
def _outside(parts: tuple[int | None, ...], threads: tuple[int, ...]) -> bool:
    """Whether the parts of these threads lie outside a tile in which others have theirs: a condition keeps them off."""
    return any(one is not None for one in parts) and all(parts[one] is None for one in threads if one < len(parts))


def started(
    thread_set: ThreadSet, parts: tuple[int | None, ...], agents: tuple[Agent, ...]
) -> Iterator[tuple[int, tuple[Agent, ...]]]:
    """Where threads start operations of their own, and which of the agents those are of each place."""
    for start, mine in warps_by_start(parts, thread_set.threads, thread_set.warp):
        yield start, tuple(agent for agent in agents if agent[-1] in mine) if _of_warps(agents) else agents


@lru_cache(maxsize=4096)
def warps_by_start(
    parts: tuple[int | None, ...], threads: tuple[int, ...], warp: int
) -> tuple[tuple[int, frozenset[int]], ...]:
    """The warps whose threads start somewhere, by the place, in order."""
    warps: dict[int, set[int]] = {}
    for thread in threads:
        start = parts[thread]
        if start is not None:
            warps.setdefault(start, set()).add(thread // warp)
    return tuple((start, frozenset(mine)) for start, mine in sorted(warps.items()))


def _of_warps(agents: tuple[Agent, ...]) -> bool:
    """Whether each of the agents belongs to a warp: none is a barrier, which a copy completes on."""
    return all(isinstance(agent, tuple) and agent[0] != "bar" for agent in agents)


def _ordered(
    machine: Machine,
    thread_set: ThreadSet,
    old: Access,
    one: Access,
    where: Address,
    cta: int,
    log: AccessLog,
    shared: Mapping[int, set[int]] | None,
) -> bool:
    """Whether an access is surely ordered after an earlier one that it meets; a finding where it is not.

    Args:
        one: the later access; at least one of both writes.
        where: what it accesses, of a CTA whose ``log`` that is.
        shared: for each warp of the earlier one the warps of the other that have a byte in common with it; None where
            that is not known.
    """
    kind, writes, agents, shape = one.kind, one.writes, one.agents, one.shape
    operation, moment, touched_bytes = one.operation, one.moment, one.touched_bytes
    book = machine.book
    if machine.releases.cta_scope and old.writes and not writes and _proxy(book, old.kind) == ".generic":
        _scoped(machine, thread_set, old, operation, _proxy(book, kind) != ".generic")
    alone = False
    sent = kind == ".tma" and not writes  # of what a copy fills more may be touched than is known
    if touched_bytes is not None and old.touched_bytes is not None:
        if shared is not None and not shared:
            return False
    elif old.touched_bytes is not None and where.offset is not None:
        touching = old.touched_bytes.touching(where.offset, where.offset + (where.extent or 1))
        if touching is not None:
            if not touching:
                return False  # it lies between the places of those threads
            if shape == APART or sent:
                theirs = tuple(agent for agent in old.agents if agent[-1] in touching)
                if not theirs:
                    return False
                old = replace(old, agents=theirs)
                alone = _of_warps(agents) and touching == {agent[-1] for agent in agents}
    elif touched_bytes is not None:
        touching = touched_bytes.touching(old.low, old.high)
        if touching is not None:
            if not touching:
                return False
            if old.shape == APART:
                alone = _of_warps(old.agents) and touching == {agent[-1] for agent in old.agents}
    if machine.lanes.parts and old.writes and old.kind == ".generic" and not writes:
        _by_some_lanes(machine, thread_set, old, operation)
    if old.kind == kind == ".generic":
        if shared is not None and not (writes and old.writes):
            return _raced(machine, thread_set, old, shared, writes, operation, where)
        return all(machine.ordered(thread_set, old, agent) for agent in old.agents)
    if old.kind == ".tma" and not old.writes and old.agents and old.agents[0][0] == "bar":
        return False  # a copy to another CTA: whether the peer says that its bytes have come goes through many barriers
    if old.agents == agents and (old.kind, kind) in _pipelined(machine.book):
        return True
    if old.kind == kind == ".tma" and old.writes and writes and old.agents == agents and old.moment == moment:
        return False  # parts of one stage, which several copies fill
    if old.shape == PRIMITIVE and kind in (".load", ".free"):
        return False  # an example of NVIDIA waits for it by tcgen05.wait::st
    if (old.vague or where.vague) and shared is None and ".generic" in (old.kind, kind):
        return False  # threads write what one warpgroup reads, which one is not known
    alike = (
        shared is None
        and shape not in ("", APART)
        and (shape == old.shape or _part(shape) == _part(old.shape) is not None)
    )
    if alike and _apart(shape, (where.offset or 0) - old.low):
        return False
    own_lanes = _lanes(book, old.kind) == _lanes(book, kind) == ".own"
    if own_lanes and not set(old.agents) <= set(agents):
        group = limit(book, "group_warps")
        mine = {one[-1] % group for one in agents if isinstance(one[-1], int)}
        same = tuple(one for one in old.agents if not isinstance(one[-1], int) or one[-1] % group in mine)
        if len(same) < len(old.agents):  # a warp reaches the quarter of tensor memory that its number says
            if same:
                old = replace(old, agents=same)
                _ordered(machine, thread_set, old, one, where, cta, log, shared)
            return False
    alone |= alike
    # A wgmma completes for its warpgroup as a whole: the warps of FMHA reuse their part of Q without a barrier.
    alone |= old.kind == ".wgmma" and kind == ".generic"
    if shared is None:
        own = [alone or (own_lanes and _its_own(book, agent, old, agents)) for agent in old.agents]
        both = zip(old.agents, own, strict=True)
        known = all(machine.ordered(thread_set, old, agent, mine) for agent, mine in both)
    else:
        known = _known(machine, thread_set, old, shared)
    named = _named(kind, writes, agents)
    by_threads = old.kind == ".generic" and old.writes and not writes and _proxy(book, kind) == ".async"
    if not known and by_threads and _copied_over(book, old, where, log):
        return False
    if not known:
        if machine.missed is not None:
            machine.missed(
                thread_set,
                old.agents,
                old.moment,
                lambda warp: (
                    ((alone or own_lanes) and not alike) if shared is None else shared.get(warp, set()) <= {warp}
                ),
            )
        _unordered(machine, thread_set, old, named, writes, operation, where, cta)
        return True
    if by_threads and _unfenced(machine, thread_set, old, lambda: _copied_over(book, old, where, log)):
        buffer = where.memory.field_at(where.offset or 0)
        machine.report("PR110", "here", operation, at=(("earlier", old.operation),), buffer=buffer, access=named)
    reused = kind == ".cancel" and old.kind == ".generic" and not old.writes
    if reused and _unfenced(machine, thread_set, old):
        buffer = where.memory.field_at(where.offset or 0)
        machine.report("PR110", "reused", operation, at=(("read", old.operation),), buffer=buffer, access=named)
    if _lanes(book, old.kind) == ".own" and _lanes(book, kind) != ".none":
        _thread_fenced(machine, thread_set, old, named, operation)
    return True


def _by_some_lanes(machine: Machine, thread_set: ThreadSet, old: Access, operation: Operation) -> None:
    """Note a read of what all lanes of a warp stored and only an arrival of some of its lanes orders.

    An arrival releases what its own thread did; what the other lanes did only if these have met that thread (PTX ISA,
    bar.warp.sync).
    """
    known, cta = thread_set.clock.known, thread_set.cta
    for agent in old.agents:
        warp = agent[-1]
        if agent[0] != cta or not isinstance(warp, int) or warp in thread_set.warps:
            continue
        if known.get(("lanes", *agent), -1) >= old.moment:
            continue
        parts = machine.lanes.parts.get((cta, warp), [])
        first = bisect_left(parts, old.moment, key=itemgetter(1))  # whoever knows of a later one knows of it
        for since, arrived, stores, arrival in parts[first : first + 1]:
            if since < old.moment and arrived <= known.get(agent, -1) and id(old.operation) in stores:
                machine.lanes.found.setdefault(id(arrival), (old.operation, arrival, operation))


def _its_own(book: Rulebook, agent: Agent, old: Access, agents: Sequence[Agent]) -> bool:
    """Whether what a warp accessed in its quarter of tensor memory is accessed by the same warp alone.

    Where several warps of a quarter stored to one place at once they stored the same, and each finds what it stored.
    """
    group = limit(book, "group_warps")
    mine = {one[-1] for one in agents if isinstance(one[-1], int) and one[-1] % group == agent[-1] % group}
    return mine <= {agent[-1]} or (old.writes and mine <= {one[-1] for one in old.agents})


def _copied_over(book: Rulebook, old: Access, where: Address, log: AccessLog) -> bool:
    """Whether copies wrote, or may have written, to all of what threads wrote that is read now."""
    writes = [one for one in log.accesses if one.writes]
    first = next(i for i, one in enumerate(writes) if one.operation is old.operation and one.low == old.low)
    copies = [one for one in writes[first + 1 :] if one.kind in (".async", ".tma")]
    if not copies or where.offset is None:
        return False
    low, high = max(old.low, where.offset), min(old.high, where.offset + (where.extent or 1))
    left = _bytes(old) & (1 << high) - (1 << low)
    starts = sorted({one.low for one in writes if one.kind == ".tma"})
    for one in copies:
        if one.kind == ".tma" and one.high <= one.low + limit(book, "bulk_bytes"):
            # How much it copied is not known: up to where another copy begins, the last one as much as the one before.
            before = max((start for start in starts if start < one.low), default=one.low)
            behind = next((start for start in starts if start > one.low), max(one.high, 2 * one.low - before))
            left &= ~((1 << behind) - (1 << one.low))
        elif one.kind == ".async" and one.touched_bytes is None and one.low <= low:
            return True  # nor what threads copied
        else:
            left &= ~_bytes(one)
    return not left


def _bytes(one: Access) -> int:
    """The bytes of an allocation that an access touches, as a set."""
    touched_bytes = one.touched_bytes
    if touched_bytes is None:
        return (1 << one.high) - (1 << one.low)
    if touched_bytes.swizzle is None:
        return touched_bytes.whole << touched_bytes.start
    return reduce(or_, touched_bytes.placed().values(), 0)


def _unfenced(machine: Machine, thread_set: ThreadSet, old: Access, over: Callable[[], bool] = lambda: False) -> bool:
    """Whether the async proxy may not see an access by threads, in whatever a thread set has it do now.

    Args:
        over: whether something else is there by now.
    """
    agents = [agent for agent in old.agents if not machine.knows(thread_set, agent, old.moment, fenced=True)]
    if not agents or over():
        return False
    if machine.unseen is not None:
        machine.unseen(thread_set, agents, old.moment)
    return True


def _named(kind: str, writes: bool, agents: Sequence[Agent]) -> str:
    """An access as findings name it, a member of the enum ``ordered_access``."""
    if kind == ".free":
        return ".dealloc"
    if kind == ".tma" and not writes:
        return ".tma_read" if agents and agents[0][0] == "bulk" else ".tma_send"
    return f"{kind}_{'write' if writes else 'read'}"


def _unordered(
    machine: Machine,
    thread_set: ThreadSet,
    old: Access,
    named: str,
    writes: bool,
    operation: Operation,
    where: Address,
    cta: int,
) -> None:
    """Report two accesses whose order is missing: data used before they are there, or memory reused while in use.

    Args:
        named: the later access.
        cta: whose memory it is.
    """
    at = (("earlier", old.operation),)
    buffer = where.memory.field_at(where.offset or 0)
    earlier = _named(old.kind, old.writes, old.agents)
    hazard = "RAW" if not writes else "WAW" if old.writes else "WAR"
    if earlier == ".dealloc":  # it came first in this run only: what it is to wait for is what comes after it here
        hazard, operation, at = "WAW" if writes else "WAR", old.operation, (("earlier", operation),)
        named, earlier = earlier, named
    elif writes and machine.joins_later(thread_set, old):
        hazard, operation, at = "RAW", old.operation, (("earlier", operation),)
        named, earlier = earlier, named
    if _handed_on(machine, thread_set, old):
        if id(old.operation) not in machine.tensor.handed_on:
            machine.tensor.handed_on.add(id(old.operation))
            machine.report("PR118", "here", old.operation, at=(("later", operation),), access=named, earlier=earlier)
    elif {named, earlier} & _BY_THREADS:
        if hazard == "RAW":
            machine.report("PR113", "here", operation, at=at, access=named, earlier=earlier)
        else:
            others = {agent[-1] for agent in old.agents} != set(thread_set.warps)
            if named == ".dealloc" and others:
                machine.report("PR114", "freed", operation, at=at, hazard=hazard, access=named, earlier=earlier)
            else:
                machine.report("PR114", "here", operation, at=at, hazard=hazard, access=named, earlier=earlier)
    elif hazard == "RAW" and cta != thread_set.cta:
        home = thread_set.cta
        machine.report(
            "PR111", "peer", operation, at=at, buffer=buffer, access=named, earlier=earlier, home=home, cta=cta
        )
    elif hazard == "RAW":
        unwaited = _unwaited(machine, thread_set, old, ".async")
        machine.report(
            "PR111", "here", operation, at=at, unwaited=unwaited, buffer=buffer, access=named, earlier=earlier
        )
    else:
        unwaited = hazard == "WAR" and _unwaited(machine, thread_set, old, ".wgmma")
        machine.report(
            "PR112",
            "here",
            operation,
            at=at,
            unwaited=unwaited,
            hazard=hazard,
            buffer=buffer,
            access=named,
            earlier=earlier,
        )


def _unwaited(machine: Machine, thread_set: ThreadSet, old: Access, kind: str) -> bool:
    """Whether an access is one of a kind that those threads who made it have not waited for themselves."""
    if old.kind != kind or any(machine.ordered(thread_set, old, agent, True) for agent in old.agents):
        return False
    return kind == ".wgmma" or {agent[-1] for agent in old.agents} <= set(thread_set.warps)


def _known(machine: Machine, thread_set: ThreadSet, old: Access, shared: Mapping[int, set[int]]) -> bool:
    """Whether each warp is ordered after the warps that accessed the bytes it touches; it needs no barrier for its own.

    Args:
        shared: for each warp of the old access the warps of this one that touch bytes of it.
    """
    return all(
        machine.ordered(thread_set, old, agent, shared[warp] <= {warp})
        for agent in old.agents
        if isinstance(warp := agent[-1], int) and warp in shared
    )


def _raced(
    machine: Machine,
    thread_set: ThreadSet,
    old: Access,
    shared: Mapping[int, set[int]],
    writes: bool,
    operation: Operation,
    where: Address,
) -> bool:
    """A RAW or WAR hazard between threads: an access to bytes that other warps accessed, and no barrier in between."""
    for agent in old.agents:
        home, warp = agent
        others = shared.get(warp) if isinstance(warp, int) else None
        if not others or (home == thread_set.cta and len(others) == 1 and warp in others):
            continue
        if not machine.ordered(thread_set, old, agent):
            if _strong(machine.book, old.operation) and _strong(machine.book, operation):
                return False
            buffer = where.memory.field_at(where.offset or 0)
            if writes:
                machine.report("PR116", "war", operation, at=(("read", old.operation),), buffer=buffer)
            else:
                machine.report("PR116", "raw", operation, at=(("write", old.operation),), buffer=buffer)
            break
    return True


def _strong(book: Rulebook, operation: Operation) -> bool:
    """Whether an operation is strong, as atomic ones are: two such accesses of threads are no data race."""
    return _strong_words(book).search(f"{operation.name} {words(operation)}") is not None


@lru_cache(maxsize=8)
def _strong_words(book: Rulebook) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, book.enums['strong_word'].by_spelling))})\b")


_CTA_SCOPE = regex(r"(?:release|acq_rel)\.cta\b|mem_scope<cta>")


def _scoped(machine: Machine, thread_set: ThreadSet, old: Access, operation: Operation, asynchronous: bool) -> None:
    """Writes by threads of another CTA are visible after its arrival at a barrier only if that has cluster scope.

    Args:
        asynchronous: whether the async proxy reads. NVIDIA's pipelines hand tiles to it by arrivals that say no scope.
    """
    home = old.agents[0][-2] if old.agents else thread_set.cta
    if not isinstance(home, int) or home == thread_set.cta or home not in machine.releases.cta_scope:
        return
    moment, arrival = machine.releases.cta_scope[home]
    unsaid = asynchronous or "scope" in machine.module.unfenced
    if unsaid and _CTA_SCOPE.search(words(arrival)) is None:
        return
    wide = machine.releases.next(home, old.moment)
    if moment <= old.moment or (wide is not None and all(machine.knows(thread_set, one, wide) for one in old.agents)):
        return
    if not all(machine.knows(thread_set, agent, old.moment) for agent in old.agents):
        return
    if "scope" in machine.module.unfenced:
        machine.report("PR181", "here", arrival, at=(("write", old.operation), ("read", operation)))
    else:
        machine.report("PR127", "here", operation, at=(("write", old.operation), ("arrival", arrival)))


def _thread_fenced(machine: Machine, thread_set: ThreadSet, old: Access, named: str, operation: Operation) -> None:
    """A barrier of threads orders operations on tensor memory only with the fences around it."""
    if "thread" in machine.module.unfenced:
        return
    others = [w for _, _, w in old.agents if isinstance(w, int) and w not in thread_set.warps]
    if not others or machine.since("passed", thread_set.cta, thread_set.warps, old.moment):
        return
    before = machine.since("before", thread_set.cta, others, old.moment)
    after = machine.since("after", thread_set.cta, thread_set.warps, old.moment)
    if machine.since("met", thread_set.cta, thread_set.warps, old.moment) and not (before and after):
        earlier = _named(old.kind, old.writes, old.agents)
        machine.report("PR115", "here", operation, at=(("earlier", old.operation),), access=named, earlier=earlier)


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

    Rows of a tile that are copied one by one interleave: each spans the others and touches none of them.
    """
    if not distance:
        return False
    mine = _places(shape)
    return bool(mine) and mine.isdisjoint(one + 8 * distance for one in mine)


def _handed_on(machine: Machine, thread_set: ThreadSet, old: Access) -> bool:
    """Whether other threads loaded this from tensor memory, and released it before they used the loaded registers."""
    threads = [agent[1:] for agent in old.agents]
    mine = {(thread_set.cta, warp) for warp in thread_set.warps}
    known = all(machine.knows(thread_set, agent, old.moment) for agent in threads)
    return old.kind == ".load" and known and mine.isdisjoint(threads)


@lru_cache(maxsize=8)
def _pipelined(book: Rulebook) -> frozenset[tuple[str, ...]]:
    """Accesses of one issuing warp that are ordered as they are issued."""
    return frozenset(book.shared_table("pipelined").rows)


def generic(
    machine: Machine, thread_set: ThreadSet, operation: Operation, where: Address | None, writes: bool, shape: str
) -> None:
    """An access by threads, to shared memory or to registers."""
    if where is None:
        return
    if where.memory.space == "rmem":
        registers(machine, thread_set, operation, where, writes)
        return
    if where.memory.space == "smem":
        agents = _agents(thread_set.cta, thread_set.warps)
        access(machine, thread_set, operation, where, ".generic", writes, agents, machine.tick(), shape)
        if writes:
            parts = machine.divided(thread_set)
            for warp in thread_set.warps:
                if warp not in parts:
                    machine.lanes.stored.setdefault((thread_set.cta, warp), set()).add(id(operation))


@by_identity
def _agents(cta: int, warps: tuple[int, ...]) -> tuple[Agent, ...]:
    """These warps as they access memory themselves."""
    return tuple([(cta, warp) for warp in warps])


def span(where: Address) -> tuple[int, int, int]:
    """Registers: the allocation, the first bit and the one after the last."""
    if where.offset is None or where.extent is None:
        return where.memory.serial, 0, 1 << 40
    return where.memory.serial, where.offset, where.offset + where.extent


def meets(a: tuple[int, int, int], b: tuple[int, int, int]) -> bool:
    return a[0] == b[0] and a[1] < b[2] and b[1] < a[2]


def registers(machine: Machine, thread_set: ThreadSet, operation: Operation, where: Address, writes: bool) -> None:
    """An access by threads to registers that asynchronous operations may be using."""
    mine = span(where)
    if writes:
        thread_set.touched[where.memory.serial] = operation
    queue = thread_set.queues.get("wgmma")
    if queue is not None:
        for group in queue.in_flight():
            if any(meets(mine, one) for one in group.registers):
                at = (("issue", group.operations[-1]),)
                if machine.missed is not None:
                    agents = tuple(("wgmma", thread_set.cta, warp) for warp in thread_set.warps)
                    machine.missed(thread_set, agents, group.moment, lambda _: True)
                machine.report("PR103", "here", operation, at=at, registers=where.memory.name)
                group.registers.clear()
