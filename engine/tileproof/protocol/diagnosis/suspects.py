"""Which changes may repair a kernel: what the findings, the barriers and the threads that wait make suspect.

A change that makes an operation like its siblings, those at the other barriers of its ring, is of rank 0; another
change of an operation that the findings are about is of rank 1, an operation that is inserted of rank 2, any other of
rank 3.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from tileproof.base.records import replace
from tileproof.evaluate import hardware
from tileproof.mlir.ir import Operation
from tileproof.protocol.diagnosis.changes import (
    Change,
    both,
    computed_by,
    constant,
    dropped,
    flipped,
    moved,
    operand_changed,
    reworded,
)
from tileproof.protocol.diagnosis.masks import masks
from tileproof.protocol.diagnosis.missing_arrivals import missing_at_barriers
from tileproof.protocol.diagnosis.missing_order import missing_order
from tileproof.protocol.diagnosis.scene import (
    ARRIVALS,
    COPIES,
    EXPECTS,
    GROUPS,
    WAITS,
    Scene,
    distinct,
)
from tileproof.protocol.faults import HANGS, UNFINISHED, UNORDERED
from tileproof.protocol.steps import number, words
from tileproof.protocol.values import Value
from tileproof.protocol.warps import OnBarrier


def suspects(scene: Scene) -> list[Change]:
    """The changes to try, in order."""
    found: list[Change] = []
    if scene.codes == {UNFINISHED}:
        return list(_counts(scene))
    numbers = (_counts, _bytes, _columns, _thread_counts)
    places = (_parities, _misplaced, _pending, _wording)
    others = (masks, *numbers, _repeated, missing_at_barriers, *places)
    direct = bool(scene.codes & _DIRECT)
    for propose in (missing_order, *others) if direct else (*others, missing_order):
        found += (one for one in propose(scene) if _matters(scene, one))
    return sorted([*found, *_joint(found)], key=lambda one: (one.rank, one.joint))


# Findings that say themselves which operation is missing.
_DIRECT = {"PR101", "PR102", "PR103", "PR104", "PR105", "PR107", "PR110", "PR123", "PR134", "PR135", "PR157"}
_READ = {"parity", "elsewhere", "waits_elsewhere", "completes_elsewhere", "pending", "relaxed", "proxy"}


def _matters(scene: Scene, change: Change) -> bool:
    """Whether a change is of what the run came to, and of what stands in the text."""
    if not change.operation.span.end:
        return False  # a branch that two conditions of the PTX became
    read = change.others if change.case == "phase" else (change.operation,) if change.case in _READ else ()
    return all(map(scene.executed, read))


def _joint(changes: Sequence[Change]) -> Iterator[Change]:
    """The same change of several operations at once: one statement of the source may have become all of them."""
    families: dict[tuple[str, str, str], list[Change]] = defaultdict(list)
    for one in changes:
        if one.case in _FAMILIES:
            families[one.case, one.operation.name, str(one.facts.get("operation", ""))].append(one)
    for family in families.values():
        first, *rest = {one.operation.span.start: one for one in family}.values()
        if rest:
            make = both(first.make, *(one.make for one in rest))
            yield replace(first, make=make, others=tuple(one.operation for one in rest), joint=True)


_FAMILIES = {"parity", "phase", "relaxed", "proxy", "insert_after", "insert_before"}


# ------------------------------------------------------------------------------------------------- counts and bytes


def _counts(scene: Scene) -> Iterator[Change]:
    """Another count of a barrier: what its siblings have, or how many arrivals came."""
    machine = scene.machine
    for key in scene.keys:
        barrier = machine.barriers[key]
        instruction = scene.instructions.get(id(barrier.operation))
        if instruction is None:
            continue
        siblings = [machine.barriers[one] for one in scene.ring(key) if one != key and one in machine.barriers]
        usual = {one.count for one in siblings if one.operation is not barrier.operation}
        came = Counter(
            (event.phase, sum(e.amount for e in scene.by_key[key] if e.kind == "arrive" and e.phase == event.phase))
            for event in scene.by_key[key]
            if event.kind == "arrive"
        )
        totals = [] if scene.codes == {UNFINISHED} else [total for _, total in sorted(came)]
        each = {(e.operation.span.start, e.cta, e.warps): e.amount for e in scene.by_key[key] if e.kind == "arrive"}
        wanted = dict.fromkeys([*sorted(usual), *totals, sum(each.values())])
        same = distinct(one.operation for one in siblings if one.count == barrier.count)
        alike = tuple(one for one in same if one is not barrier.operation)
        for count in wanted:
            if count == barrier.count or count <= 0:
                continue
            facts = {"barrier": scene.name(key), "count": barrier.count, "right": count}
            change = operand_changed(1, constant(count), barrier.operation)
            seen = count in usual or count in totals  # else it is right if each arrives once
            yield Change("count", facts, barrier.operation, change, rank=0 if seen else 1)
            if alike:
                change = operand_changed(1, constant(count), barrier.operation, *alike)
                yield Change("counts", facts, barrier.operation, change, alike, rank=1)


def _bytes(scene: Scene) -> Iterator[Change]:
    """Other bytes of an expect_tx: those that copies bring before the next one."""
    for operation in scene.steps(*EXPECTS):
        if not any(fault.code in ("PR124", "PR111", "PR112", "PR126") for fault in scene.faults):
            return
        for key in list(scene.targets.get(id(operation), ()))[:1]:
            events = scene.by_key[key]
            expects = [i for i, one in enumerate(events) if one.kind == "expect"]
            mine = [i for i in expects if events[i].operation is operation]
            if not mine:
                continue
            mean = sum(one.amount for one in events if one.kind == "copy") // len(expects)
            right = []
            for i in mine[:2]:
                end = next((j for j in expects if j > i), len(events))
                right.append(sum(one.amount for one in events[i:end] if one.kind == "copy"))
            announced = events[mine[0]].amount
            for bytes_ in dict.fromkeys([*right, mean]):
                if bytes_ <= 0 or bytes_ == announced:
                    continue
                facts = {"barrier": scene.name(key), "announced": announced, "delivered": bytes_}
                change = operand_changed(1, _scaled(bytes_, announced), operation)
                yield Change("bytes", facts, operation, change, rank=0)
                alike = _announcing_alike(scene, operation)
                if alike:
                    change = operand_changed(1, _scaled(bytes_, announced), operation, *alike)
                    yield Change("bytes", facts, operation, change, alike, rank=1)


def _announcing_alike(scene: Scene, operation: Operation) -> tuple[Operation, ...]:
    """Other operations that announce the same constant: one statement of the source becomes several of them."""
    mine = scene.constant(scene.instructions[id(operation)].inputs[1])
    others = [one for one in scene.steps(*EXPECTS) if one is not operation and mine is not None]
    return tuple(one for one in others if scene.constant(scene.instructions[id(one)].inputs[1]) == mine)


def _scaled(right: int, announced: int) -> Callable[[Value], Value]:
    """The bytes that one thread announces, where all of them together announce what is right."""
    return lambda value: right * value // announced if isinstance(value, int) and announced else None


def _columns(scene: Scene) -> Iterator[Change]:
    """Another number of columns of tensor memory: a power of two, the least that the kernel can do with."""
    if "PR150" not in scene.codes:
        return
    for fault in scene.faults:
        instruction = scene.instructions.get(id(fault.operation))
        if fault.code == "PR150" and instruction is not None and instruction.effect is not None:
            least = hardware.limit(scene.machine.book, "least_columns")
            most = hardware.limit(scene.machine.book, "most_columns")
            for count in (1 << i for i in range(most.bit_length()) if least <= 1 << i <= most):
                place = 1 - instruction.effect.first
                change = operand_changed(place, constant(count), fault.operation)
                yield Change("columns", {"columns": count}, fault.operation, change, rank=0)


def _thread_counts(scene: Scene) -> Iterator[Change]:
    """Another thread count of a named barrier: that of its other uses, or how many threads come."""
    machine = scene.machine
    held = any(isinstance(one.blocked, OnBarrier) for one in machine.thread_sets)
    if not held and not {"PR130", "PR133", "PR136"} & scene.codes:
        return
    for operation in scene.steps("cta_barrier", "cta_arrive"):
        instruction = scene.instructions[id(operation)]
        if len(instruction.inputs) < 2:
            continue
        counts = set()
        for one in machine.thread_sets:
            if isinstance(one.blocked, OnBarrier):
                there = machine.named.waiting.get(one.blocked.name, ())
                counts.add(sum(other.warp * len(other.warps) for other in there))
                counts.add(one.blocked.expected)
        counts |= {use.wanted for use in machine.named.uses.values()}
        for count in sorted(counts - {0}):
            facts = {"count": count}
            yield Change("threads", facts, operation, operand_changed(1, constant(count), operation), rank=1)


# --------------------------------------------------------------------------------- operations that do not belong there


def _repeated(scene: Scene) -> Iterator[Change]:
    """An operation that stands twice, or is named by a finding about what is one too many."""
    if not scene.codes & (HANGS | UNORDERED | {"PR122", "PR129", "PR152", "PR154", "PR157"}):
        return
    seen: dict[tuple[str, tuple[int, ...]], Operation] = {}
    for one in scene.instructions.values():
        assert one.effect is not None
        if one.effect.name not in (*ARRIVALS, *EXPECTS, "barrier_init", "tmem_alloc", "tmem_free"):
            continue
        known = (one.effect.name, one.inputs)
        if known in seen:
            yield Change("repeated", {}, one.operation, dropped(one.operation), (seen[known],), rank=0)
        seen[known] = one.operation


def _misplaced(scene: Scene) -> Iterator[Change]:
    """An operation at another barrier: its siblings are there, or nothing else comes to the one where threads wait."""
    if not scene.codes & (HANGS | {"PR120", "PR122", "PR111", "PR112", "PR113", "PR114"}):
        return
    named = {id(one) for fault in scene.faults for one in (fault.operation, *(at for _, at in fault.trace))}
    late = [fault.operation for fault in scene.faults if fault.code in UNORDERED]
    wrong = {warp for one in late for warp in scene.executing[id(one)]}  # which may have waited elsewhere
    for operation in scene.steps(*ARRIVALS, *EXPECTS, *COPIES, *WAITS):
        instruction = scene.instructions[id(operation)]
        assert instruction.effect is not None
        places = list(scene.targets.get(id(operation), ()))
        lost = [
            key for key, users in scene.missing.items() if [one.span.start for one in users] == [operation.span.start]
        ]
        places = sorted([*places, *lost]) if lost else places
        if not places:
            continue
        waited = instruction.effect.name in WAITS
        distances = dict.fromkeys((-scene.width, scene.width))
        for key in () if waited else scene.roots:
            for place in (places[0], places[-1]):
                if place[1] == key[1] and key not in places:
                    distances[key[2] - place[2]] = None
        at = {"bulk_load": 2, "raw_copy": 2, "cancel": 1}.get(instruction.effect.name, 0)
        for distance in distances:
            target = (places[0][0], places[0][1], places[0][2] + distance)
            if not distance or target not in scene.machine.barriers:
                continue
            facts = {"barrier": scene.name(places[0]), "other": scene.name(target)}
            change = operand_changed(at, partial(moved, distance=distance), operation)
            completes = instruction.effect.name in COPIES
            case = "waits_elsewhere" if waited else "completes_elsewhere" if completes else "elsewhere"
            near = target in scene.roots or places[0] in scene.roots or id(operation) in named
            near |= waited and bool(scene.executing[id(operation)] & wrong)
            yield Change(case, facts, operation, change, rank=0 if lost else 1 if near else 3)


def _parities(scene: Scene) -> Iterator[Change]:
    """The other parity at a wait, or that of the phase that comes next, whatever the text computes."""
    if not scene.codes & (HANGS | UNORDERED | {"PR120", "PR122"}):
        return
    blocked = distinct(operation for _, operation, _ in scene.waiting)
    waits = {id(operation) for operation in blocked}
    missed = {id(operation) for _, operation, key in scene.waiting if scene.machine.barriers[key].gone_by}
    warps = {warp for fault in scene.faults for warp in scene.executing[id(fault.operation)]}
    computed: set[int] = set()
    for operation in distinct([*blocked, *scene.steps(*WAITS)]):
        instruction = scene.instructions.get(id(operation))
        if instruction is None or len(instruction.inputs) < 2 or id(operation) in missed:
            continue
        near = not blocked or id(operation) in waits or scene.executing[id(operation)] & warps
        rank = 1 if near else 3
        yield Change("parity", {}, operation, operand_changed(1, flipped, operation), rank=rank)
        for carried in _carried(scene, instruction.inputs[1]):
            if id(carried) not in computed:
                computed.add(id(carried))
                yield Change("phase", {}, carried, computed_by(carried, flipped), (operation,), rank=rank)


def _carried(scene: Scene, slot: int) -> list[Operation]:
    """What computes the next value of a parity that a loop carries: the computations on the way around."""
    code = scene.machine.program.code
    makers: dict[int, list[tuple[Operation, tuple[int, ...]]]] = defaultdict(list)
    for one in code:
        if one.kind == "move":
            for to, source in zip(one.outputs, one.inputs, strict=True):
                makers[to].append((one.operation, (source,)))
        elif one.kind == "compute":
            for to in one.outputs:
                makers[to].append((one.operation, one.inputs))
    found: list[Operation] = []
    left, seen = [slot], {slot}
    while left:
        for operation, inputs in makers[left.pop(0)]:
            if operation.name.startswith("arith.") and not operation.name.endswith(("select", "constant")):
                found.append(operation)
            new = [one for one in inputs if one not in seen]
            seen.update(new)
            left += new
    return found


# --------------------------------------------------------------------------------------------- groups and wording


def _pending(scene: Scene) -> Iterator[Change]:
    """A wait that leaves fewer groups in flight."""
    if not scene.codes & UNORDERED:
        return
    waits = scene.steps(*(f"{one}_wait" for one in GROUPS))
    for operation in waits:
        instruction = scene.instructions[id(operation)]
        if instruction.inputs:
            continue
        pending = number(operation, "group", "n")
        if not pending:
            continue
        others = Counter(number(one, "group", "n") for one in waits if one is not operation)
        for most in dict.fromkeys((pending - 1, 0)):
            facts = {"pending": pending, "right": most}
            rank = 1 if others[most] > others[pending] else 2
            change = reworded(operation, _numbered(operation, pending, most))
            yield Change("pending", facts, operation, change, rank=rank, nearest=True)


def _numbered(operation: Operation, old: int, new: int) -> Operation:
    """An operation with another number in its text."""
    attributes = tuple(
        replace(one, text=one.text.replace(str(old), str(new), 1)) if one.name in ("group", "n") else one
        for one in operation.attributes
    )
    head, name, rest = operation.pieces[0].partition(operation.name)
    return replace(operation, attributes=attributes, pieces=(head + name + rest.replace(str(old), str(new), 1),))


def _wording(scene: Scene) -> Iterator[Change]:
    """An arrival that releases nothing, a proxy fence of other memory."""
    if not scene.codes & UNORDERED:
        return
    for operation in scene.steps("arrive", "arrive_expect"):
        if "relaxed = true" in words(operation):
            other = _worded(operation, "relaxed = true", "")
            yield Change("relaxed", {}, operation, reworded(operation, other), rank=0)
    for operation in scene.steps("proxy_fence"):
        if "async.global" in words(operation):
            other = _worded(operation, "async.global", "async.shared")
            yield Change("proxy", {}, operation, reworded(operation, other), rank=0)


def _worded(operation: Operation, old: str, new: str) -> Operation:
    attributes = tuple(
        replace(one, text=f"{one.name} {one.text}".replace(old, new).removeprefix(f"{one.name} "))
        for one in operation.attributes
    )
    return replace(operation, attributes=attributes, pieces=tuple(one.replace(old, new) for one in operation.pieces))


__all__ = ["Scene", "suspects"]
