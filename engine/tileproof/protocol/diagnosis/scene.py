"""What a run shows that ended with findings: the barriers they are about, who waits, and what came to each barrier."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence, Set
from functools import cached_property

from tileproof.base.patterns import regex
from tileproof.base.records import dataclass
from tileproof.evaluate import hardware
from tileproof.mlir.ir import Operation
from tileproof.mlir.scopes import walk
from tileproof.protocol.actions import barrier_name
from tileproof.protocol.counterparts import in_ptx
from tileproof.protocol.faults import ProtocolFault
from tileproof.protocol.ledger import Event, Recorded
from tileproof.protocol.machine import Machine
from tileproof.protocol.program import Instruction
from tileproof.protocol.warps import BarrierKey, OnMbarrier, ThreadSet

ARRIVALS = ("arrive", "arrive_expect", "mma_commit", "async_arrive")
EXPECTS = ("expect", "arrive_expect")
COPIES = ("copy", "bulk_load", "raw_copy", "cancel")
WAITS = ("wait", "peek", "block")
_SHARED = regex(r"^!llvm\.ptr<[37]>$|^!cute\.ptr<i64, smem\b")  # the address of an mbarrier
GROUPS = ("wgmma", "bulk", "async")


def distinct(operations: Iterable[Operation]) -> list[Operation]:
    """Operations, each once: those of one text are equal wherever they stand."""
    return list({one.span.start: one for one in operations}.values())


@dataclass(eq=False)
class Scene:
    """A run that ended with findings, seen again with all that came to its barriers.

    Attributes:
        faults: the findings to explain, the first of them first.
        demoted: further ones of this run, by code and place, that are none of the kernel.
        ptx: the text of the module, if it is PTX.
    """

    machine: Machine
    faults: tuple[ProtocolFault, ...]
    recorded: Recorded
    demoted: Set[tuple[str, int]] = frozenset()
    ptx: str = ""

    def called(self, operation: Operation) -> str:
        """What an operation is called in the text."""
        return self.ptx[slice(*operation.name_span)] if self.ptx else operation.name

    def written(self, operation: Operation) -> str:
        """An operation as the text has it."""
        if self.ptx:
            return self.ptx[operation.name_span.start : operation.span.end].rstrip("; \t\n")
        return operation.pieces[0].strip()

    def spelled(self, said: str) -> str:
        """What is said of operations, which PTX spells otherwise than the IR."""
        return in_ptx(self.machine.book, said) if self.ptx else said

    @cached_property
    def events(self) -> list[Event]:
        """What came to the barriers."""
        return [one for one in self.recorded.events if one.kind != "missing"]

    @cached_property
    def missing(self) -> dict[BarrierKey, list[Operation]]:
        """What names a barrier that is not initialised."""
        found: dict[BarrierKey, list[Operation]] = {}
        for event in self.recorded.events:
            if event.kind == "missing" and event.key not in self.machine.barriers:
                named = found.setdefault(event.key, [])
                if not any(one is event.operation for one in named):
                    named.append(event.operation)
        return found

    def executed(self, operation: Operation) -> bool:
        """Whether the run came to a step: a change of another one changes nothing."""
        return id(operation) in self.machine.coverage.executed

    @cached_property
    def unused(self) -> list[Operation]:
        """The addresses in shared memory that are computed and that nothing uses, in textual order.

        What is to use such an address is not there.
        """
        found: dict[int, Operation] = {}
        for operation, scope in walk([self.machine.program.kernel]):
            for name in operation.operands:
                origin = scope.get(name)
                if origin is not None:
                    found.pop(origin.operation.span.start, None)
            kind = next((one.text for one in (*operation.inputs, *operation.outputs)[-1:]), "")
            if len(operation.results) == 1 and not operation.regions and _SHARED.search(kind) is not None:
                found[operation.span.start] = operation
        return list(found.values())

    @cached_property
    def set_up(self) -> list[Operation]:
        """The addresses that nothing uses up to the last initialisation, or the fence behind it."""
        last = max((one.span.start for one in self.steps("barrier_init", "init_fence")), default=0)
        return [one for one in self.unused if one.span.start < last]

    def beside(self, operation: Operation, after: bool | None, behind: int = 0) -> Operation:
        """Where something is missing next to a step: at an address beside it that nothing uses, else at the step.

        Args:
            after: on which side it is missing; None where it may be either.
            behind: the end of the loop that it is missing behind, in the text.
        """
        at = max(operation.span.start, behind)
        steps = [one.operation.span.start for one in self.instructions.values() if one.effect and not one.effect.pure]
        for later in (True, False) if after is None else (after,):
            near = [one for one in self.unused if (one.span.start > at) is later]
            if near:
                found = near[0] if later else near[-1]
                low, high = sorted((at, found.span.start))
                if not any(low < one < high for one in steps):
                    return found
        return operation

    @cached_property
    def codes(self) -> set[str]:
        """The codes of the findings."""
        return {fault.code for fault in self.faults}

    @cached_property
    def instructions(self) -> dict[int, Instruction]:
        """The first instruction of each step, by ``id`` of its operation."""
        found: dict[int, Instruction] = {}
        for one in self.machine.program.code:
            if one.effect is not None:
                found.setdefault(id(one.operation), one)
        return found

    def steps(self, *names: str) -> list[Operation]:
        """The operations that are such steps, in textual order."""
        return [one.operation for one in self.instructions.values() if one.effect and one.effect.name in names]

    def constant(self, slot: int) -> int | None:
        """The constant that a slot has; None where it is computed."""
        for one in self.machine.program.code:
            if slot in one.outputs and one.kind == "compute" and not one.inputs and one.function is not None:
                found = one.function()
                value = found[one.outputs.index(slot)] if isinstance(found, tuple | list) else None
                return value if isinstance(value, int) else None
        return None

    def by_threads(self, operation: Operation) -> bool:
        """Whether threads themselves access memory by an operation."""
        instruction = self.instructions.get(id(operation))
        effect = None if instruction is None else instruction.effect
        return effect is not None and (effect.name in ("read", "write") or (effect.name == "copy" and not effect.copy))

    @cached_property
    def executing(self) -> dict[int, set[tuple[int, int]]]:
        """The warps, with their CTA, that executed each step, by ``id`` of its operation."""
        found: dict[int, set[tuple[int, int]]] = defaultdict(set)
        for one in self.recorded.history:
            found[id(one.operation)].update((one.cta, warp) for warp in one.warps)
        return found

    @cached_property
    def places(self) -> dict[int, int]:
        """The first place of each step in the program, by ``id`` of its operation."""
        found: dict[int, int] = {}
        for i, one in enumerate(self.machine.program.code):
            if one.effect is not None:
                found.setdefault(id(one.operation), i)
        return found

    def loops(self, place: int) -> set[int]:
        """The loops around a place in the program."""
        code = self.machine.program.code
        return {i for i in range(place) if code[i].kind in ("test", "check") and code[i].target > place}

    def last_of(self, operation: Operation, *names: str) -> Operation:
        """The last such step in the piece of the program without branches that a step is in."""
        code, found = self.machine.program.code, operation
        for one in code[self.places[id(operation)] :]:
            if one.kind not in ("compute", "effect", "move"):
                break
            if one.effect is not None and one.effect.name in names:
                found = one.operation
        return found

    def straight(self, one: Operation, other: Operation) -> bool:
        """Whether no branch and no loop begins or ends between two steps, of which the first comes first."""
        code, low, high = self.machine.program.code, self.places[id(one)], self.places[id(other)]
        return low < high and all(between.kind in ("compute", "effect", "move") for between in code[low:high])

    def barriers_between(self, one: Operation, other: Operation) -> list[Operation]:
        """The barriers of threads between two steps in the text, with the threads of the first."""
        warps = self.executing[id(one)]
        low, high = one.span.start, other.span.start
        found = self.steps("cta_barrier")
        return [at for at in found if low < at.span.start < high and self.executing[id(at)] & warps]

    @cached_property
    def waiting(self) -> list[tuple[ThreadSet, Operation, BarrierKey]]:
        """Who waits for ever at which mbarrier, and where."""
        code = self.machine.program.code
        return [
            (one, code[one.place].operation, one.blocked.key)
            for one in self.machine.thread_sets
            if isinstance(one.blocked, OnMbarrier)
        ]

    @cached_property
    def keys(self) -> list[BarrierKey]:
        """The barriers that the findings are about: where threads wait, then those whose initialisation is named."""
        found = [key for _, _, key in self.waiting]
        named = {id(one) for fault in self.faults for one in (fault.operation, *(at for _, at in fault.trace))}
        found += [
            key
            for key, barrier in sorted(self.machine.barriers.items())
            if {id(barrier.operation), id(barrier.expecting), id(barrier.arriving)} & named
        ]
        return list(dict.fromkeys(found))

    @cached_property
    def by_key(self) -> dict[BarrierKey, list[Event]]:
        """The events of each barrier."""
        found: dict[BarrierKey, list[Event]] = {key: [] for key in self.machine.barriers}
        for event in self.events:
            found.setdefault(event.key, []).append(event)
        return found

    @cached_property
    def targets(self) -> dict[int, dict[BarrierKey, None]]:
        """The barriers that each operation named, by its ``id``, in order."""
        found: dict[int, dict[BarrierKey, None]] = defaultdict(dict)
        for event in self.events:
            found[id(event.operation)][event.key] = None
        for _, operation, key in self.waiting:
            found[id(operation)][key] = None
        return found

    def ring(self, key: BarrierKey) -> list[BarrierKey]:
        """The barriers that share operations with one: the stages of its ring, itself among them."""
        mine = {key}
        grew = True
        while grew:
            grew = False
            for named in self.targets.values():
                alike = {one for one in named if one[:2] == key[:2]}
                if alike & mine and not alike <= mine:
                    mine |= alike
                    grew = True
        return sorted(mine)

    @cached_property
    def width(self) -> int:
        """The bytes of a barrier."""
        return hardware.limit(self.machine.book, "barrier_bytes")

    def stages(self, key: BarrierKey) -> list[BarrierKey]:
        """The ring of a barrier with the idle ones behind it: a run that hangs may not have come to them."""
        ring = self.ring(key)
        barriers = self.machine.barriers
        waited = {other for _, _, other in self.waiting}
        while (behind := (*ring[-1][:2], ring[-1][2] + self.width)) in barriers and behind not in waited:
            if self.by_key[behind] or barriers[behind].count != barriers[key].count:
                break
            ring.append(behind)
        return ring

    def partner(self, ring: Sequence[BarrierKey]) -> list[BarrierKey]:
        """The ring of as many stages that lies directly behind one, or before: that of the other direction."""
        size = self.width * len(ring)
        for distance in (size, -size):
            other = (ring[0][0], ring[0][1], ring[0][2] + distance)
            if other in self.machine.barriers and len(found := self.stages(other)) == len(ring):
                return found
        return []

    @cached_property
    def roots(self) -> list[BarrierKey]:
        """The barriers where threads wait and what is missing comes from no thread that waits itself; else all of them.

        Who arrives at a barrier is known from the other phases of its ring.
        """
        waiting = list(dict.fromkeys(key for _, _, key in self.waiting))
        found = []
        for key in waiting:
            ring = set(self.ring(key))
            phase = self.machine.barriers[key].phase
            came = [one for other in ring for one in self.by_key[other] if one.kind in ("arrive", "copy")]
            here = {one.operation.span.start for one in came if one.key == key and one.phase == phase}
            absent = [one for one in came if one.operation.span.start not in here]
            if not any({(one.cta, warp) for warp in one.warps} & self.concerned for one in absent):
                found.append(key)
        return found or waiting

    def name(self, key: BarrierKey) -> str:
        """What a barrier is called."""
        return barrier_name(self.machine, key)

    @cached_property
    def concerned(self) -> set[tuple[int, int]]:
        """The warps, with their CTA, of the threads that wait."""
        return {(one.cta, warp) for one in self.machine.thread_sets if one.blocked for warp in one.warps}


__all__ = ["ARRIVALS", "COPIES", "EXPECTS", "GROUPS", "WAITS", "Scene", "distinct"]
