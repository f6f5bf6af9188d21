"""A change of one operation, and the program that has it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tileproof.base.records import dataclass, field, replace
from tileproof.mlir.ir import Operation
from tileproof.protocol.machine import Machine
from tileproof.protocol.program import Instruction, Program
from tileproof.protocol.steps import Step
from tileproof.protocol.terms import lift
from tileproof.protocol.values import Address, Fields, Value
from tileproof.protocol.warps import BarrierKey, ThreadSet

Supplied = Callable[[Machine, ThreadSet, Instruction], int]
SUPPLIED = "supplied"  # the step whose action is the function of its instruction


def supplied(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
    """What an operation does that the text does not have."""
    assert instruction.function is not None
    went = instruction.function(machine, thread_set, instruction)
    assert isinstance(went, int)
    return went


@dataclass(slots=True)
class Draft:
    """A program that is changed: what stands before, after and in place of its instructions, by their index."""

    program: Program
    slots: int = 0
    before: dict[int, list[Instruction]] = field(default_factory=dict)
    after: dict[int, list[Instruction]] = field(default_factory=dict)
    instead: dict[int, Instruction] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.slots = self.program.slots

    def slot(self) -> int:
        """A new slot."""
        self.slots += 1
        return self.slots - 1

    def at(self, operation: Operation) -> list[int]:
        """Where an operation is executed."""
        code = self.program.code
        return [i for i, one in enumerate(code) if one.operation is operation and one.kind == "effect"]

    def finished(self) -> Program:
        """The changed program: what jumps to an instruction comes to what is inserted before it."""
        code: list[Instruction] = []
        starts: list[int] = []
        for i, one in enumerate(self.program.code):
            starts.append(len(code))
            code += [*self.before.get(i, ()), self.instead.get(i, one), *self.after.get(i, ())]
        starts.append(len(code))
        for i, one in enumerate(code):
            if one.kind in ("branch", "jump", "test", "check"):
                other = starts[one.other] if one.kind == "branch" else one.other
                code[i] = replace(one, target=starts[one.target], other=other)
        return replace(self.program, code=code, slots=self.slots)


@dataclass(frozen=True, slots=True)
class Change:
    """A change that may repair a kernel.

    Attributes:
        case, facts: how finding PR191 reads it.
        operation: what is changed, or beside which something is inserted.
        make: makes the change in a draft.
        others: further operations that it is about.
        rank: those of a lower rank are tried first, and one that repairs keeps those of higher ranks from being tried.
        joint: whether it is several changes at once.
        key: the barrier at which nothing arrives.
        behind: the end of the loop behind which something is inserted, in the text.
        nearest: whether of several such changes that nearest to the finding is the likely one.
    """

    case: str
    facts: Mapping[str, object]
    operation: Operation
    make: Callable[[Draft], None]
    others: tuple[Operation, ...] = ()
    rank: int = 0
    joint: bool = False
    key: BarrierKey | None = None
    behind: int = 0
    nearest: bool = False

    @property
    def alike(self) -> bool:
        """Whether the other operations are changed as this one is."""
        return self.joint or (self.case in ("bytes", "counts") and bool(self.others))

    def program(self, program: Program) -> Program:
        """The program with this change."""
        draft = Draft(program)
        self.make(draft)
        return draft.finished()


def dropped(*operations: Operation) -> Callable[[Draft], None]:
    """The operations are not executed."""

    def make(draft: Draft) -> None:
        for operation in operations:
            for i in draft.at(operation):
                one = draft.program.code[i]
                draft.instead[i] = Instruction("compute", operation, (), one.outputs)

    return make


def operand_changed(place: int, function: Callable[[Value], Value], *operations: Operation) -> Callable[[Draft], None]:
    """An operand of the operations is a function of what it was."""

    def make(draft: Draft) -> None:
        for operation in operations:
            for i in draft.at(operation):
                one = draft.program.code[i]
                if place >= len(one.inputs):
                    continue
                slot = draft.slot()
                inputs = (*one.inputs[:place], slot, *one.inputs[place + 1 :])
                draft.before.setdefault(i, []).append(_computed(operation, one.inputs[place], slot, function))
                draft.instead[i] = replace(one, inputs=inputs)

    return make


def computed_by(operation: Operation, function: Callable[[Value], Value]) -> Callable[[Draft], None]:
    """A computation is another function of its first operand."""

    def make(draft: Draft) -> None:
        for i, one in enumerate(draft.program.code):
            if one.operation is operation and one.kind == "compute":
                draft.instead[i] = _computed(operation, one.inputs[0], one.outputs[0], function)

    return make


def reworded(operation: Operation, other: Operation) -> Callable[[Draft], None]:
    """An operation is written otherwise."""

    def make(draft: Draft) -> None:
        for i in draft.at(operation):
            draft.instead[i] = replace(draft.program.code[i], operation=other)

    return make


def inserted(operation: Operation, after: bool, *new: Instruction) -> Callable[[Draft], None]:
    """Instructions are executed before or after an operation."""

    def make(draft: Draft) -> None:
        for i in draft.at(operation):
            (draft.after if after else draft.before).setdefault(i, []).extend(new)

    return make


def inserted_behind_loop(operation: Operation, depth: int, *new: Instruction) -> Callable[[Draft], None]:
    """Instructions are executed behind a loop around an operation: the innermost one, or one further out."""

    def make(draft: Draft) -> None:
        for i in draft.at(operation):
            ends = loop_ends(draft.program, i)
            if depth < len(ends):
                draft.before.setdefault(ends[depth], []).extend(new)

    return make


def inserted_before_branch(operation: Operation, depth: int, *new: Instruction) -> Callable[[Draft], None]:
    """Instructions are executed before a branch around an operation: the innermost one, or one further out."""

    def make(draft: Draft) -> None:
        for i in draft.at(operation):
            around = branches(draft.program, i)
            if depth < len(around):
                draft.before.setdefault(around[depth], []).extend(new)

    return make


def branches(program: Program, place: int) -> list[int]:
    """The branches around a place inside the innermost loop around it, from the inside."""
    code = program.code
    loops = (i for i in range(place) if code[i].kind in ("test", "check") and code[i].target > place)
    inner = max(loops, default=-1)
    return [i for i in range(place - 1, inner, -1) if code[i].kind == "branch" and code[i].target > place]


def loop_ends(program: Program, place: int) -> list[int]:
    """Where the loops around a place go on when they are over, from the inside."""
    return [one.target for one in loops(program, place)]


def loops(program: Program, place: int) -> list[Instruction]:
    """The tests of the loops around a place, from the inside."""
    tests = [one for one in program.code[:place] if one.kind in ("test", "check") and one.target > place]
    return sorted(tests, key=lambda one: one.target)


def copied(
    operation: Operation, source: Instruction, after: bool, *altered: tuple[int, Callable[[Value], Value]]
) -> Callable[[Draft], None]:
    """Another step is executed again beside an operation, some of its operands a function of what they were."""

    def make(draft: Draft) -> None:
        inputs, before = list(source.inputs), []
        for place, function in altered:
            slot = draft.slot()
            before.append(_computed(source.operation, inputs[place], slot, function))
            inputs[place] = slot
        again = replace(source, inputs=tuple(inputs), outputs=())
        inserted(operation, after, *before, again)(draft)

    return make


def _computed(operation: Operation, slot: int, to: int, function: Callable[[Value], Value]) -> Instruction:
    return Instruction("compute", operation, (slot,), (to,), lambda value: (function(value),))


def both(*makes: Callable[[Draft], None]) -> Callable[[Draft], None]:
    """Several changes at once."""

    def make(draft: Draft) -> None:
        for one in makes:
            one(draft)

    return make


def step(name: str, operation: Operation, function: Supplied | None = None) -> Instruction:
    """A step without operands; of a function, where it is ``supplied``."""
    return Instruction("effect", operation, effect=Step(name, 0, 0, 0), function=function)


def moved(value: Value, distance: int) -> Value:
    """A place in shared memory, or what completes there, so many bytes further."""
    if isinstance(value, Fields):
        return replace(value, barrier=None if value.barrier is None else _further(value.barrier, distance))
    return _further(value, distance) if isinstance(value, Address) else value


def _further(where: Address, distance: int) -> Address:
    parts = tuple(None if part is None else part + distance for part in where.parts)
    return replace(where, offset=None if where.offset is None else where.offset + distance, parts=parts)


flipped = lift(lambda parity: parity ^ 1, "flipped")


def constant(value: int) -> Callable[[Value], Value]:
    """A function that is a constant."""
    return lambda _: value


__all__ = [
    "SUPPLIED",
    "Change",
    "Draft",
    "both",
    "branches",
    "computed_by",
    "constant",
    "copied",
    "dropped",
    "flipped",
    "inserted",
    "inserted_before_branch",
    "inserted_behind_loop",
    "loop_ends",
    "loops",
    "moved",
    "operand_changed",
    "reworded",
    "step",
    "supplied",
]
