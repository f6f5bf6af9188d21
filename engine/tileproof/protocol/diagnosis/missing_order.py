"""What may be missing between two accesses: fences, commits and waits of groups, barriers of threads, a wait."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tileproof.base.records import replace
from tileproof.mlir.ir import Operation
from tileproof.protocol.diagnosis.changes import (
    SUPPLIED,
    Change,
    both,
    branches,
    copied,
    dropped,
    inserted,
    inserted_before_branch,
    step,
)
from tileproof.protocol.diagnosis.scene import Scene, distinct
from tileproof.protocol.faults import HANGS, UNORDERED, ProtocolFault
from tileproof.protocol.machine import Machine
from tileproof.protocol.program import Instruction
from tileproof.protocol.warps import ThreadSet
from tileproof.rulebase.book import Rulebook

_QUEUES = {"wgmma": ("mma", "raw_wgmma"), "bulk": ("copy", "bulk_store", "raw_copy"), "async": ("copy", "async_load")}
_UNMET = {"PR111", "PR112", "PR116", "PR121", "PR153"}
_MOST_MOVED = 3  # barriers near a finding


def missing_order(scene: Scene) -> Iterator[Change]:
    """The changes that insert an operation between two accesses, in order."""
    yield from _fences(scene)
    yield from _groups(scene)
    yield from _barriers(scene)
    yield from _cluster(scene)
    yield from _frees(scene)
    yield from _orders(scene)


def _written(book: Rulebook, name: str, pending: int, ptx: bool = False) -> str:
    """How an operation is written in the IR or in PTX: the row of the table ``schedule``."""
    text = str(book.shared_table("schedule").rows[f".{name}",][6 if ptx else 4])
    return text.replace("{pending}", str(pending)).rstrip(";")


def _new(scene: Scene, name: str, like: Operation, pending: int = 0) -> Instruction:
    """A step without operands, as it would be written."""
    text = _written(scene.machine.book, name, pending)
    operation = Operation(text.split()[0], (), (), (), (), (), (), (), False, (text,), (), like.span, like.name_span)
    effect = {"store_wait": "tmem_wait", "load_wait": "tmem_wait"}.get(name, name)
    return step(effect, operation)


def _insertion(scene: Scene, name: str, beside: Operation, after: bool, rank: int = 2, pending: int = 0) -> Change:
    """An operation without operands is inserted."""
    new = _new(scene, name, beside, pending)
    case = "insert_after" if after else "insert_before"
    facts = {"operation": _written(scene.machine.book, name, pending, bool(scene.ptx))}
    return Change(case, facts, beside, inserted(beside, after, new), rank=rank)


def _earlier(fault: ProtocolFault) -> list[Operation]:
    """The operations that a finding names besides the one that it is at."""
    return [operation for _, operation in fault.trace]


def _fences(scene: Scene) -> Iterator[Change]:
    """Fences of proxies, of initialisations, of wgmma's registers."""
    for fault in scene.faults:
        if fault.code == "PR110":
            for earlier in _earlier(fault):
                for barrier in scene.barriers_between(earlier, fault.operation)[-1:]:
                    if not scene.straight(earlier, barrier):
                        yield _insertion(scene, "proxy_fence", barrier, False, rank=1)
                yield _insertion(scene, "proxy_fence", earlier, True, rank=1)
        elif fault.code == "PR102":
            yield _insertion(scene, "wgmma_fence", fault.operation, False, rank=1)
    if scene.codes & {"PR123"}:
        inits = scene.steps("barrier_init")
        if inits:
            yield _insertion(scene, "init_fence", inits[-1], True, rank=1)


def _groups(scene: Scene) -> Iterator[Change]:
    """Commits and waits of groups."""
    if not scene.codes & UNORDERED:
        return
    named = {id(one): one for fault in scene.faults for one in (fault.operation, *_earlier(fault))}
    for queue, producers in _QUEUES.items():
        issued = [one for one in named.values() if _issues(scene.instructions.get(id(one)), producers, queue)]
        if not issued or (queue == "wgmma" and not scene.steps("wgmma_fence", "wgmma_commit", "wgmma_wait")):
            continue
        commits = scene.steps(f"{queue}_commit")
        for wait in () if commits else scene.steps(f"{queue}_wait"):
            yield _insertion(scene, f"{queue}_commit", wait, False, rank=2)
        for one in distinct(scene.last_of(one, *producers) if queue == "wgmma" else one for one in issued):
            alone = queue == "wgmma" and bool(commits) and not _committed(scene, one)
            rank = 0 if alone else 1 if scene.codes & {"PR101", "PR105", "PR107"} else 2
            if queue != "bulk" or _next(scene, one) != "bulk_commit":  # a second one would only make an empty group
                yield _insertion(scene, f"{queue}_commit", one, True, rank=rank)
        for commit in commits:
            for one in issued:
                new = _new(scene, f"{queue}_commit", commit)
                moves = both(dropped(commit), inserted(one, True, new))
                facts = {"operation": _written(scene.machine.book, f"{queue}_commit", 0, bool(scene.ptx))}
                if scene.straight(commit, one):
                    yield Change("moved", facts, commit, moves, (one,), rank=1)
        for fault in scene.faults:
            if {id(one) for one in issued} & {id(one) for one in _earlier(fault)}:
                for wait in scene.steps(f"{queue}_wait"):
                    if scene.straight(fault.operation, wait):
                        again = inserted(fault.operation, False, scene.instructions[id(wait)])
                        facts = {"operation": scene.called(wait)}
                        moves = both(dropped(wait), again)
                        yield Change("moved", facts, wait, moves, (fault.operation,), rank=0)
        for commit in commits:
            yield _insertion(scene, f"{queue}_wait", commit, True, rank=2)
        for fault in scene.faults:
            if {id(one) for one in issued} & {id(one) for one in _earlier(fault)}:
                yield _insertion(scene, f"{queue}_wait", fault.operation, False, rank=2)
        for wait, arrival in _late(scene) if queue == "wgmma" else ():
            again = inserted(arrival, False, scene.instructions[id(wait)])
            facts = {"operation": scene.called(wait)}
            yield Change("moved", facts, wait, both(dropped(wait), again), (arrival,), rank=0)
        for arrival in scene.steps("arrive", "arrive_expect") if queue == "wgmma" else ():
            yield _insertion(scene, f"{queue}_wait", arrival, False, rank=2)
    for name, kind in (("store_wait", "tmem_store"), ("load_wait", "tmem_load")):
        for one in named.values():
            found = scene.instructions.get(id(one))
            if found is not None and found.effect is not None and kind in (found.effect.name, found.effect.copy):
                yield _insertion(scene, name, one, True, rank=1)


def _late(scene: Scene) -> Iterator[tuple[Operation, Operation]]:
    """The waits for wgmma that come after an arrival, with it: no wgmma is between them, nor in a loop around it."""
    code = scene.machine.program.code
    arrivals: list[int] = []
    for i, one in enumerate(code):
        name = "" if one.effect is None else one.effect.name
        if name in _QUEUES["wgmma"]:
            arrivals.clear()
        elif name in ("arrive", "arrive_expect"):
            arrivals.append(i)
        elif name == "wgmma_wait":
            for place in arrivals[-_MOST_MOVED:]:
                around = scene.loops(place) - scene.loops(i)
                inside = (step for at in around for step in code[at : code[at].target] if step.effect is not None)
                if not any(step.effect.name in _QUEUES["wgmma"] for step in inside if step.effect is not None):
                    yield one.operation, code[place].operation
            arrivals.clear()


def _next(scene: Scene, issued: Operation) -> str:
    """The step that stands behind another one in the text; empty where none does before the flow of control meets."""
    for one in scene.machine.program.code[scene.places[id(issued)] + 1 :]:
        if one.effect is not None and not one.effect.pure:
            return one.effect.name
        if one.kind not in ("compute", "move"):
            break
    return ""


def _committed(scene: Scene, issued: Operation) -> bool:
    """Whether a commit stands between a wgmma and the fence, the wait or the loop that comes next in the text."""
    place = scene.places[id(issued)]
    around = scene.loops(place)
    for i, one in enumerate(scene.machine.program.code[place + 1 :], place + 1):
        if one.kind in ("test", "check"):
            return False
        name = "" if one.effect is None else one.effect.name
        if name in ("wgmma_commit", "wgmma_fence", "wgmma_wait"):
            return name == "wgmma_commit" and scene.loops(i) <= around
    return True


def _issues(instruction: Instruction | None, producers: tuple[str, ...], queue: str) -> bool:
    """Whether a step issues an operation of a kind of groups."""
    effect = None if instruction is None else instruction.effect
    if effect is None or effect.name not in producers:
        return False
    copies = {"bulk": ("tma_store", "bulk_store"), "async": ("async",)}.get(queue)
    return effect.name != "copy" or copies is None or effect.copy in copies


# ----------------------------------------------------------------------------------------------------- thread barriers


def _barriers(scene: Scene) -> Iterator[Change]:
    """Barriers of threads: one that the same threads use elsewhere, or one of the whole CTA."""
    if not scene.codes & (_UNMET | {"PR114"}):
        return
    known: dict[tuple[int, ...], Instruction] = {}
    for operation in scene.steps("cta_barrier"):
        instruction = scene.instructions[id(operation)]
        known.setdefault(instruction.inputs, instruction)
    barriers, frees = scene.steps("cta_barrier"), {id(one) for one in scene.steps("tmem_free")}
    for fault in scene.faults:
        races = [fault.operation, *_earlier(fault)]
        if id(fault.operation) in frees:
            yield from _before_freeing(scene, fault.operation, list(known.values())[:4])
        if fault.code not in _UNMET or (fault.code in UNORDERED and not any(map(scene.by_threads, races))):
            continue
        at = fault.operation.span.start
        for barrier in sorted(barriers, key=lambda one: abs(one.span.start - at))[:_MOST_MOVED]:
            instruction = scene.instructions[id(barrier)]
            facts = {"operation": scene.called(barrier)}
            again = copied(fault.operation, instruction, False)
            yield Change("moved", facts, barrier, both(dropped(barrier), again), (fault.operation,), rank=1)
        for instruction in list(known.values())[:4]:
            facts = {"operation": scene.written(instruction.operation)}
            for earlier in _earlier(fault) if fault.code != "PR121" else ():
                yield Change("insert_after", facts, earlier, copied(earlier, instruction, True), rank=2)
            yield Change("insert_before", facts, fault.operation, copied(fault.operation, instruction, False), rank=2)
    if "PR121" in scene.codes:
        for fence in scene.steps("init_fence", "barrier_init")[-2:]:
            change = inserted(fence, True, step("cta_barrier", fence))
            yield Change("insert_after", {"operation": "nvvm.barrier"}, fence, change, rank=2)


def _before_freeing(scene: Scene, release: Operation, barriers: Sequence[Instruction]) -> Iterator[Change]:
    """A barrier before tensor memory is freed: one warp frees it, so that it stands before that warp's branch."""
    program = scene.machine.program
    around = [program.code[place].operation for place in branches(program, scene.places[id(release)])]
    for instruction in barriers:
        facts = {"operation": scene.written(instruction.operation)}
        new = replace(instruction, outputs=())
        for depth, branch in enumerate(around):
            make = inserted_before_branch(release, depth, new)
            yield Change("insert_before", facts, branch, make, (release,), rank=1)
        yield Change("insert_before", facts, release, inserted(release, False, new), rank=1)


def _cluster(scene: Scene) -> Iterator[Change]:
    """The other half of a barrier of the cluster: a wait for what arrives, arrivals for what waits."""
    waits = scene.steps("cluster_wait")
    if scene.codes & {"PR121", "PR134", "PR137"}:
        for arrival in scene.steps("cluster_arrive"):
            change = inserted(arrival, True, step("cluster_wait", arrival))
            yield Change("insert_after", {"operation": "nvvm.cluster.wait"}, arrival, change, rank=1)
    if scene.codes & {"PR121", "PR135"}:
        new = "nvvm.cluster.arrive"
        for wait in waits:
            for fence in scene.steps("init_fence"):
                if scene.straight(fence, wait):
                    change = inserted(fence, True, step("cluster_arrive", fence))
                    yield Change("insert_after", {"operation": new}, fence, change, rank=1)
            change = inserted(wait, False, step("cluster_arrive", wait))
            yield Change("insert_before", {"operation": new}, wait, change, rank=1)


_ENDS = ("cta_barrier", "tmem_release", "wait", "peek", "tmem_load", "arrive", "cluster_wait")
_MOST_ENDS = 6


def _frees(scene: Scene) -> Iterator[Change]:
    """Tensor memory that is not freed: after the last step of the warp that allocated it."""
    if "PR157" not in scene.codes:
        return
    owners = {
        warp for one in scene.faults if one.code == "PR157" for warp in scene.executing[id(one.operation)]
    }  # that allocated
    ends = [one for one in scene.steps(*_ENDS) if scene.executing[id(one)] & owners]
    ends.sort(key=lambda one: (scene.executing[id(one)] != owners, -one.span.start))
    for anchor in ends[:_MOST_ENDS]:
        change = inserted(anchor, True, step(SUPPLIED, anchor, _freeing))
        yield Change("insert_after", {"operation": "tcgen05.dealloc"}, anchor, change, rank=2)


def _freeing(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
    machine.tensor.allocated.pop(thread_set.cta, None)
    return thread_set.place + 1


def _orders(scene: Scene) -> Iterator[Change]:
    """Any order between two accesses: what one wait would repair is one finding."""
    if not scene.codes & UNORDERED or scene.codes & HANGS:
        return
    anchors = [fault.operation for fault in scene.faults if fault.code in UNORDERED]
    for fault in scene.faults:
        for event in scene.events:
            if event.kind == "copy" and event.operation is fault.operation:
                before = [one for one in scene.by_key[event.key] if one.kind == "expect"]
                anchors += [one.operation for one in before[-1:]]
                break
    for anchor in distinct(anchors):
        yield Change("order", {}, anchor, inserted(anchor, False, step(SUPPLIED, anchor, _ordered)), rank=3)


def _ordered(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
    """Whatever wait would order all that happened before."""
    machine.acquire_all(thread_set)
    return thread_set.place + 1


__all__ = ["missing_order"]
