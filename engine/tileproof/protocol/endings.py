"""What is wrong when a run has ended: threads that wait for ever, incomplete phases, memory that is not freed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from itertools import permutations
from typing import TypeAlias

from tileproof.base.diagnostic import Severity
from tileproof.dialects.operations import Operations
from tileproof.evaluate import hardware
from tileproof.protocol.actions import barrier_name, limit, threads_missing, unmet_sets
from tileproof.protocol.actions.registers import starved
from tileproof.protocol.box_reads import BoxReads
from tileproof.protocol.explore import around, guards_of
from tileproof.protocol.faults import UNFINISHED
from tileproof.protocol.machine import Machine
from tileproof.protocol.part_reads import partly_read
from tileproof.protocol.state import Barrier, Delivery
from tileproof.protocol.steps import words
from tileproof.protocol.warps import Awaited, BarrierKey, OnMbarrier, OnRegisters
from tileproof.ptx.matrices import copied_piece

_Maps: TypeAlias = "tuple[tuple[object, int], ...]"  # how many boxes of each tensor map
_MULTIPLYING = ("raw_mma", "raw_wgmma")
_COPYING = "raw_tmem_copy"
_BYTE = 8
_WRITING = ("async_load", "write", "matrix_store")  # steps that write shared memory where one of their operands says


def deadlocks(machine: Machine, lacking: Set[Awaited] = frozenset()) -> None:
    """Report why the remaining thread sets deadlock: the first cause that explains it.

    Args:
        lacking: the barriers that are known to be the cause, if threads wait for them.
    """
    waiting = [thread_set for thread_set in machine.thread_sets if thread_set.blocked is not None]
    if not waiting:
        return
    waiting = [one for one in waiting if one.awaited in lacking] or waiting
    code = machine.program.code
    hungry = next((one for one in waiting if isinstance(one.blocked, OnRegisters)), None)
    if hungry is not None:
        starved(machine, hungry)
        return
    alone = [one for one in unmet_sets(machine) if one in waiting]
    if alone:  # what waits for these threads is held up by that
        threads_missing(machine, alone[0])
        return
    held = [
        (
            code[thread_set.place].operation,
            machine.barriers[thread_set.blocked.key],
            barrier_name(machine, thread_set.blocked.key),
        )
        for thread_set in waiting
        if isinstance(thread_set.blocked, OnMbarrier)
    ]
    for operation, barrier, name in held:
        if barrier.bytes != 0 and barrier.pending == 0:
            at = barrier.expecting or barrier.copying or operation
            wait = (("wait", operation),)
            if barrier.unsized_copies:
                machine.report(
                    "PR124", "odd", at, at=wait, barrier=name, expected=barrier.expected, unit=machine.copied
                )
                return
            machine.report(
                "PR124", "here", at, at=wait, barrier=name, expected=barrier.expected, delivered=barrier.copied
            )
            return
    for operation, barrier, name in held:
        came = barrier.count - barrier.pending
        if came:
            init = (("init", barrier.operation),)
            machine.report("PR125", "here", operation, at=init, barrier=name, count=barrier.count, arrivals=came)
            return
    if isinstance(waiting[0].blocked, OnMbarrier):
        operation, barrier, name = held[0]
        init = (("init", barrier.operation),)
        if barrier.gone_by:
            machine.report("PR126", "missed", operation, at=init, barrier=name, phases=barrier.gone_by)
        else:
            machine.report("PR126", "here", operation, at=init, barrier=name, phase=barrier.phase)
    else:
        threads_missing(machine, waiting[0])


def leaked(machine: Machine) -> None:
    """Report tensor memory that is not freed."""
    if any(thread_set.blocked for thread_set in machine.thread_sets):
        return
    for held in machine.tensor.allocated.values():
        for _, columns, operation in held:
            machine.report("PR157", "here", operation, columns=columns)


def unfinished(machine: Machine) -> Iterator[tuple[BarrierKey, Barrier]]:
    """The mbarriers with some of the arrivals of a phase; no thread waits for them, or it would deadlock.

    None where only data decide trip counts: there roles may have run different numbers of iterations.
    """
    coverage = machine.coverage
    if coverage.unknown or coverage.skipped or coverage.passed_by or any(one.blocked for one in machine.thread_sets):
        return
    for key, barrier in sorted(machine.barriers.items()):
        if barrier.count != barrier.pending and barrier.arriving is not None and not machine.taint.covers(key):
            yield key, barrier


def incomplete_phases(machine: Machine, passed: Callable[[], bool]) -> None:
    """Report phases of mbarriers that lack arrivals or bytes.

    Not one that lacks arrivals after others of the barrier that were complete: its count is right, and who takes part
    in them is not asked for another one. Nor where threads may have gone past the loop in which the others arrive.

    Args:
        passed: whether there is a loop that no thread went around.
    """
    for key, barrier in unfinished(machine):
        if barrier.phase and barrier.pending:
            _more_than_counted(machine, key, barrier)
        if barrier.pending and (barrier.phase or passed()):
            continue
        init = (("init", barrier.operation),)
        name, count, last = barrier_name(machine, key), barrier.count, barrier.arriving
        assert last is not None
        if barrier.pending:
            machine.report("PR128", "here", last, at=init, barrier=name, count=count, arrivals=count - barrier.pending)
        else:
            machine.report("PR128", "bytes", last, at=init, barrier=name, bytes=barrier.bytes)


def _more_than_counted(machine: Machine, key: BarrierKey, barrier: Barrier) -> None:
    """Report a count that is no share of the arrivals of each turn: phases end before some threads have arrived."""
    in_turn, last = barrier.in_turn, barrier.arriving
    if in_turn is not None and in_turn > barrier.count and in_turn % barrier.count and last is not None:
        init = (("init", barrier.operation),)
        name = barrier_name(machine, key)
        machine.report("PR122", "turn", last, at=init, barrier=name, arrivals=in_turn, count=barrier.count)


def wrong_bytes(machine: Machine) -> None:
    """Report phases that expect other bytes than copies through tensor maps can deliver whose boxes nothing says.

    Of phases of the same copies it is those that are wrong which expect what fewer of them do.
    """
    room, said = machine.deliveries.room, set[int]()
    alike: dict[_Maps, list[tuple[BarrierKey, Delivery]]] = {}
    for (key, *_), phase in machine.deliveries.phases.items():
        if not (phase.late or machine.taint.covers(key) or any(box.map is None for box in phase.boxes)):
            maps = tuple(sorted(Counter(box.map for box in phase.boxes).items(), key=repr))
            alike.setdefault(maps, []).append((key, phase))
    for found in alike.values():
        meant = _usual([phase for _, phase in found])
        for key, phase in found:
            at = phase.operation
            if id(at) in said:
                continue
            most = sum(room.get(box.alike, phase.bytes) for box in phase.boxes)
            name, expected = barrier_name(machine, key), phase.bytes + phase.known
            if phase.bytes > most:
                machine.report("PR138", "room", at, most=most + phase.known, barrier=name, expected=expected)
            elif phase.bytes != meant.bytes and not (phase.supposed or meant.supposed):
                other = (("other", meant.operation),)
                right = meant.bytes + phase.known
                machine.report("PR138", "uneven", at, at=other, other=right, barrier=name, expected=expected)
            else:
                continue
            said.add(id(at))
    if not said:
        _other_copies(machine, alike)


def _other_copies(machine: Machine, alike: Mapping[_Maps, Sequence[tuple[BarrierKey, Delivery]]]) -> None:
    """Report phases that expect as many bytes as others that have more copies, or those others if they are fewer.

    All copies are issued by the same warps: roles that go by different integers may have come to different ends.
    """
    for (few, found), (more, others) in permutations(alike.items(), 2):
        lacking = Counter(dict(more)) - Counter(dict(few))
        small, large = (_usual([phase for _, phase in phases]) for phases in (found, others))
        if not Counter(dict(few)) < Counter(dict(more)) or small.bytes < large.bytes:
            continue
        mine = {issuer for box in small.boxes for issuer in box.issuers}
        if (
            small.supposed
            or large.supposed
            or small.known != large.known
            or not all(mine.issuperset(box.issuers) for box in large.boxes if box.map in lacking)
        ):
            continue
        times = [len({id(phase.operation) for _, phase in phases}) for phases in (found, others)]
        lacks = times[0] <= times[1]
        wrong, right = (small, large) if lacks else (large, small)
        name = barrier_name(machine, next(key for key, phase in (*found, *others) if phase is wrong))
        places = (("other", right.operation),)
        expected, other = wrong.bytes + wrong.known, right.bytes + right.known
        if lacks:
            machine.report("PR138", "fewer", wrong.operation, at=places, barrier=name, expected=expected, other=other)
        else:
            machine.report("PR138", "more", wrong.operation, at=places, barrier=name, expected=expected, other=other)
        return


def _usual(phases: Sequence[Delivery]) -> Delivery:
    """The first of those phases that expect as many bytes as most do: by the operations that announce them."""
    operations: dict[int, set[int]] = {}
    for one in phases:
        operations.setdefault(one.bytes, set()).add(id(one.operation))
    times = Counter(one.bytes for one in phases)
    return max(phases, key=lambda one: (not one.supposed, len(operations[one.bytes]), times[one.bytes]))


def understated_bytes(machine: Machine) -> None:
    """Report phases that expect fewer bytes than are read of the boxes that their copies deliver.

    Not where anything else may have written there: a copy or a write whose place is not known, or what was not
    followed. Nor where there is an error already, but for a phase that nobody waits for any more. An MMA reads a whole
    number of rows, of which a kernel may fill fewer: it makes nothing of the last rows of the result. So it is with the
    scale factors that tcgen05.cp takes, perhaps after threads have put them in order.
    """
    reads, known, said = _box_reads(machine), Operations.of(machine.book), set[int]()
    if reads is None or _errors(machine) - {UNFINISHED}:
        return
    for (key, *_), phase in machine.deliveries.phases.items():
        at, found = phase.operation, reads.of_phase(phase, machine.deliveries.room)
        if phase.late or phase.supposed or found is None or found[0] <= phase.bytes or id(at) in said:
            continue
        said.add(id(at))
        name, expected, read = barrier_name(machine, key), phase.bytes + phase.known, found[0] + phase.known
        places = (("read", found[1]),)
        missing = found[0] - phase.bytes
        if known.step(found[1].name) in _MULTIPLYING and _last_rows(machine, missing, len(phase.boxes)):
            machine.report("PR182", "here", at, at=places, barrier=name, expected=expected, read=read)
        elif missing < _piece(machine):
            machine.report("PR182", "factors", at, at=places, barrier=name, expected=expected, read=read)
        else:
            machine.report("PR139", "here", at, at=places, barrier=name, expected=expected, read=read)


def tiles_partly_read(machine: Machine) -> None:
    """Report tiles of which MMAs read all but some, where one of them reads what another does, or beyond the tile.

    Not where something else may read it: an MMA that was not executed, or a read whose place is not known.
    """
    reads, executed = _box_reads(machine), machine.coverage.executed
    code = machine.program.code
    if reads is None or any(
        one.effect is not None and one.effect.name in _MULTIPLYING and id(one.operation) not in executed for one in code
    ):
        return
    said = set[int]()
    for one in partly_read(reads):
        if id(one.reader) in said:
            continue
        said.add(id(one.reader))
        at = (("copy", one.box.operation),)
        if one.readers:
            machine.report("PR194", "fewer", one.reader, at=at, first=one.first, bytes=one.bytes)
        else:
            machine.report("PR194", "here", one.reader, at=at, first=one.first, bytes=one.bytes)


def copied_several_times(machine: Machine) -> None:
    """Report copies of unknown size that several threads issue to one place, where fewer of them expect the bytes.

    Not where only data decide which threads do.
    """
    several, undecided = machine.deliveries.several, machine.coverage.undecided
    guards = guards_of(machine.program.code) if several else []
    barriers = {**machine.invalidated, **machine.barriers}
    for operation, place, key, threads in several.values():
        announcers = barriers[key].announcers if key in barriers else threads
        if announcers < threads and undecided.isdisjoint(around(guards, place)):
            name = barrier_name(machine, key)
            machine.report("PR185", "here", operation, threads=threads, barrier=name, announcers=announcers)


def added_several_times(machine: Machine) -> None:
    """Report MMAs that add to their accumulator as often as threads issue them; not where only data decide which do."""
    guards = guards_of(machine.program.code) if machine.repeated else []
    for operation, place, threads in machine.repeated.values():
        if machine.coverage.undecided.isdisjoint(around(guards, place)):
            machine.report("PR192", "here", operation, threads=threads)


def missed_phases(machine: Machine) -> None:
    """Report waits at which a thread may still be when its parity comes again: the first one in the text, for all."""
    barriers = {**machine.invalidated, **machine.barriers}
    found = [
        (wait.span.start, key, wait, arrival)
        for key, barrier in barriers.items()
        for wait, arrival in barrier.missed.values()
        if arrival is not None and not machine.taint.covers(key)
    ]
    if not found:
        return
    _, key, wait, arrival = min(found, key=lambda one: one[:2])
    at = (("arrival", arrival),)
    others = len({one[0] for one in found}) - 1
    if others:
        machine.report("PR188", "several", wait, at=at, barrier=barrier_name(machine, key), others=others)
    else:
        machine.report("PR188", "here", wait, at=at, barrier=barrier_name(machine, key))


def by_some_lanes(machine: Machine) -> None:
    """Report stores by all lanes of a warp that only an arrival of some of its lanes orders before a read."""
    for store, arrival, read in machine.lanes.found.values():
        machine.report("PR162", "here", arrival, at=(("store", store), ("read", read)))


def unwritten_operands(machine: Machine) -> None:
    """Report MMAs that read shared memory which nothing has written: what was to be there was copied elsewhere.

    Not where anything may have been written to a place that is not known, or is written where data decide so, nor where
    there is an error already.
    """
    reads, deliveries, said = _box_reads(machine), machine.deliveries, set[int]()
    if reads is None or _errors(machine):
        return
    found = list(reads.unwritten(deliveries.phases.values(), deliveries.room))
    for start, reader, box in found if found and not _writes_by_data(machine) else ():
        assert box.where is not None, "it is kept only where that is known"
        if id(reader) not in said:
            said.add(id(reader))
            places = (("copy", box.operation),)
            buffer = box.where.memory.name
            machine.report("PR183", "here", reader, at=places, buffer=buffer, offset=start)


def _writes_by_data(machine: Machine) -> bool:
    """Whether a run went past a write to shared memory at a branch that only data decide."""
    code, coverage, known = machine.program.code, machine.coverage, Operations.of(machine.book)
    guards = guards_of(code)
    return any(
        one.effect is not None
        and known.step(one.operation.name) in _WRITING
        and id(one.operation) not in coverage.executed
        and not coverage.undecided.isdisjoint(around(guards, place))
        for place, one in enumerate(code)
    )


def loaded_boxes(machine: Machine) -> Mapping[object, int]:
    """How many bytes the boxes of tensor maps have whose copies a run executed, by ``Box.alike``, where it shows it."""
    reads, deliveries = _box_reads(machine), machine.deliveries
    return {} if reads is None else reads.sizes(deliveries.phases.values(), deliveries.room)


def _errors(machine: Machine) -> set[str]:
    """The errors so far, by their codes."""
    codes, severity = {one.code for one in machine.faults}, machine.book.findings
    return {code for code in codes if severity[code].severity is Severity.ERROR}


def _box_reads(machine: Machine) -> BoxReads | None:
    """What was read of boxes; None where anything else may have written there."""
    reads, taint, known = machine.reads, machine.taint, Operations.of(machine.book)
    if reads is None or reads.lost or taint.reasons or taint.released:
        return None
    if any(known.step(one.name) in _WRITING for one in taint.unseen.values()):
        return None
    reads.bound(machine.barriers)
    return reads


def _last_rows(machine: Machine, missing: int, copies: int) -> bool:
    """Whether bytes that are missing are whole rows at the end of each copy, fewer than a group of rows."""
    row, group = hardware.widest_row(machine.book), limit(machine, "swizzle_bytes")
    return missing % (row * copies) == 0 and missing // copies < group


def _piece(machine: Machine) -> int:
    """The most bytes that a tcgen05.cp of the kernel copies at once; 0 where it has none."""
    book, executed = machine.book, machine.coverage.executed
    copies = [one.operation for one in machine.program.code if one.effect is not None and one.effect.name == _COPYING]
    pieces = [copied_piece(book, words(one)) for one in copies if id(one) in executed]
    return max((rows * bits // _BYTE for rows, bits in filter(None, pieces)), default=0)


def register_budget(machine: Machine) -> None:
    """Report a register budget that a CTA does not have: the sum of the last request of each warp."""
    held = limit(machine, "cta_registers")
    mine = {warp: asked for (cta, warp), asked in sorted(machine.budgets.items(), key=lambda one: one[0]) if cta == 0}
    wanted = sum(machine.shape.warp * count for count, _ in mine.values())
    if wanted > held:
        most, operation = max(mine.values(), key=lambda asked: asked[0])
        machine.report("PR160", "here", operation, wanted=wanted, most=most, registers=held)
