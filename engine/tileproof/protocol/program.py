"""A kernel as a program of the abstract machine: what decides control flow and accesses, and nothing else.

The regions of the IR become a tree, the values slots. What no step, no condition and no address depends on is left
out: of a kernel of ten thousand operations a few hundred remain. Then the tree is laid out as a list of instructions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tileproof.base.records import dataclass, field, replace
from tileproof.dialects.operands import resolve
from tileproof.mlir.ir import Alias, Operation
from tileproof.protocol.folding import Extents, Function
from tileproof.protocol.steps import Step
from tileproof.protocol.tmem_liveness import mark
from tileproof.protocol.tree import Branch, Leaf, Loop, Node, While, pinned
from tileproof.protocol.tree_builder import Builder
from tileproof.rulebase.book import Rulebook


@dataclass(slots=True)
class Program:
    """What the machine runs.

    Attributes:
        slots: how many values there are.
        arguments: the slots of the kernel's arguments with their types.
        before: the code as it was before the extents were known, of which all runs ask the same; None: this is it.
        asserts_zero: whether the kernel traps where the address of the tensor memory that it allocates is not 0.
    """

    code: list[Instruction]
    slots: int
    arguments: tuple[tuple[int, str], ...]
    kernel: Operation
    before: list[Instruction] | None = None
    asserts_zero: bool = False

    @property
    def counts(self) -> bool:
        """Whether anything depends on an integer that the kernel gets as an argument."""
        given = {slot for slot, text in self.arguments if is_count(text)}
        return any(not given.isdisjoint(instruction.inputs) for instruction in self.code)


def is_count(text: str) -> bool:
    """Whether a type is an integer, or a divisor."""
    return text in ("i32", "i64", "index") or text.startswith(("!cute.fast_divmod", "!cute.i32", "!cute.i64"))


# An instruction is a tag and what it needs; the machine dispatches on the tag.
@dataclass(slots=True)
class Instruction:
    """One step of a program.

    Attributes:
        kind: ``compute``, ``effect``, ``move``, ``branch``, ``meet``, ``jump``, ``enter`` and ``test`` of a counted
            loop, ``check`` of a loop with a condition, ``end``.
        target, other: where it goes on; of a ``check`` how many loops it is in.
        make: the function by what the extents are, where it depends on them.
    """

    kind: str
    operation: Operation
    inputs: tuple[int, ...] = ()
    outputs: tuple[int, ...] = ()
    function: Callable[..., object] | None = None
    effect: Step | None = None
    target: int = 0
    other: int = 0
    types: tuple[str, ...] = ()
    make: Callable[[Extents], Function | None] | None = None


def loops_at(code: Sequence[Instruction], place: int) -> bool:
    """Whether a loop that takes part in the protocol begins at a place."""
    return code[place].kind in ("test", "check") and acts_at(code, place)


def acts_at(code: Sequence[Instruction], place: int) -> bool:
    """Whether what a branch or a loop at a place decides on takes part in the protocol."""
    return any(one.effect is not None and not one.effect.pure for one in code[place : code[place].target])


def reachable(code: Sequence[Instruction], place: int) -> set[int]:
    """The places that a thread may come to from one, which is one of them."""
    found: set[int] = set()
    todo = [place]
    while todo:
        at = todo.pop()
        if at in found or at >= len(code):
            continue
        found.add(at)
        one = code[at]
        todo += [] if one.kind in ("jump", "end") else [at + 1]
        todo += [one.target] if one.kind in ("jump", "test", "check") else [one.other] if one.kind == "branch" else []
    return found


def goes_past(code: Sequence[Instruction], place: int, way: bool) -> bool:
    """Whether a way of a branch has no such loop where the other way has one."""
    one = code[place]
    then, otherwise = (
        any(loops_at(code, at) for at in range(low, high))
        for low, high in ((place + 1, one.other), (one.other, one.target))
    )
    return otherwise and not then if way else then and not otherwise


def compile_kernel(
    kernel: Operation,
    aliases: dict[str, Alias],
    effects: Callable[[Operation, Sequence[str]], Step | None],
    book: Rulebook,
) -> Program:
    """The program of a kernel; it runs when it is known what the extents are (``with_extents``).

    Args:
        effects: what an operation with operands of these types does in the protocol; None for nothing.

    Raises:
        Unstructured: its blocks jump to each other in a way that is not followed.
    """
    builder = Builder(aliases, effects, book)
    entry = kernel.regions[0].blocks[0]
    scope: dict[str, int] = {}
    arguments = []
    for argument in entry.arguments:
        text = resolve(argument.type.text, aliases) if argument.type is not None else ""
        arguments.append((builder.slot(argument.name, scope, text), text))
    nodes = builder.region(kernel.regions[0], scope)
    mark(nodes, builder.types)
    return laid_out(nodes, builder.count, tuple(arguments), kernel)


def laid_out(nodes: list[Node], slots: int, arguments: tuple[tuple[int, str], ...], kernel: Operation) -> Program:
    """A tree as a list of instructions, without what nothing depends on.

    Args:
        slots: how many values there are.
        arguments: the slots of the kernel's arguments with their types.
    """
    layout = _Layout(_live(nodes), kernel)
    layout.sequence(nodes)
    layout.code.append(Instruction("end", kernel))
    return Program(layout.code, slots, arguments, kernel)


def with_extents(program: Program, extents: Extents) -> Program:
    """A program where the extents that are known only at run time are these."""
    code = [one if one.make is None else replace(one, function=one.make(extents)) for one in program.code]
    return replace(program, code=code, before=program.code)


# -------------------------------------------------------------------------------------------------------- liveness


def _live(nodes: list[Node]) -> set[int]:
    """The slots that an effect, a condition or an address depends on."""
    live: set[int] = set()
    before = -1
    while before != len(live):
        before = len(live)
        _mark(nodes, live)
    return live


def _mark(nodes: list[Node], live: set[int]) -> bool:
    """Mark what the nodes need; whether one of them is needed itself. Backwards, so that few rounds are enough."""
    needed = False
    for node in reversed(nodes):
        match node:
            case Leaf():
                if pinned(node) or any(slot in live for slot in node.outputs):
                    live.update(node.inputs)
                    needed = True
            case Branch():
                for i, slot in enumerate(node.outputs):
                    if slot in live:
                        live.update(values[i] for values in node.yields if i < len(values))
                inside = [_mark(body, live) for body in node.bodies]
                if any(inside) or any(slot in live for slot in node.outputs):
                    live.add(node.condition)
                    needed = True
            case Loop():
                _carry(node.outputs, node.arguments, live)
                _carry(node.arguments, node.yields, live)
                _carry(node.arguments, node.initial, live)
                if _mark(node.body, live) or any(slot in live for slot in node.outputs):
                    live.update(node.bounds)
                    needed = True
            case While():
                _carry(node.outputs, node.passed, live)
                _carry(node.inner, node.passed, live)
                _carry(node.arguments, node.yields, live)
                _carry(node.arguments, node.initial, live)
                parts = [_mark(node.body, live), _mark(node.before, live)]
                if any(parts) or any(slot in live for slot in node.outputs):
                    live.add(node.condition)
                    needed = True
    return needed


def _carry(to: Sequence[int], source: Sequence[int], live: set[int]) -> None:
    for a, b in zip(to, source, strict=False):
        if a in live:
            live.add(b)


# ---------------------------------------------------------------------------------------------------------- layout


@dataclass(slots=True)
class _Layout:
    """Lays the live nodes out as instructions."""

    live: set[int]
    kernel: Operation
    code: list[Instruction] = field(default_factory=list)
    depth: int = 0

    def emit(self, instruction: Instruction) -> Instruction:
        self.code.append(instruction)
        return instruction

    def move(self, operation: Operation, to: Sequence[int], source: Sequence[int]) -> None:
        pairs = [(a, b) for a, b in zip(to, source, strict=False) if a in self.live and a != b]
        if pairs:
            self.emit(Instruction("move", operation, tuple(b for _, b in pairs), tuple(a for a, _ in pairs)))

    def sequence(self, nodes: list[Node]) -> bool:
        start = len(self.code)
        for node in nodes:
            match node:
                case Leaf():
                    self.leaf(node)
                case Branch():
                    self.branch(node)
                case Loop():
                    self.loop(node)
                case While():
                    self.loop_while(node)
        return len(self.code) > start

    def leaf(self, node: Leaf) -> None:
        if node.again:
            self.move(node.operation, node.outputs, node.inputs)
        elif node.effect is not None and (pinned(node) or any(slot in self.live for slot in node.outputs)):
            self.emit(
                Instruction("effect", node.operation, node.inputs, node.outputs, effect=node.effect, types=node.types)
            )
        elif node.effect is None and any(slot in self.live for slot in node.outputs):
            self.emit(Instruction("compute", node.operation, node.inputs, node.outputs, node.function, make=node.make))

    def branch(self, node: Branch) -> None:
        if node.condition not in self.live:
            return
        start = len(self.code)
        test = self.emit(Instruction("branch", node.operation, (node.condition,), node.outputs))
        self.sequence(node.bodies[0])
        self.move(node.operation, node.outputs, node.yields[0])
        if len(self.code) == start + 1 and not node.bodies[1]:
            self.code.pop()
            return
        jump = self.emit(Instruction("jump", node.operation))
        test.other = len(self.code)
        self.sequence(node.bodies[1])
        self.move(node.operation, node.outputs, node.yields[1])
        jump.target = test.target = len(self.code)
        self.emit(Instruction("meet", node.operation, outputs=node.outputs))

    def loop(self, node: Loop) -> None:
        start = len(self.code)
        if node.bounds[0] not in self.live:
            return
        self.move(node.operation, node.arguments, node.initial)
        self.emit(Instruction("enter", node.operation, node.bounds, (node.index,)))
        at = len(self.code)
        test = self.emit(Instruction("test", node.operation, node.bounds, (node.index,)))
        self.depth += 1
        body = self.sequence(node.body)
        self.depth -= 1
        self.move(node.operation, node.arguments, node.yields)
        if not body and len(self.code) == at + 1:
            del self.code[start:]
            self.move(node.operation, node.outputs, node.initial)
            return
        self.emit(Instruction("jump", node.operation, node.bounds, (node.index,), target=at, other=1))
        test.target = len(self.code)
        self.move(node.operation, node.outputs, node.arguments)

    def loop_while(self, node: While) -> None:
        if node.condition not in self.live:
            return
        self.move(node.operation, node.arguments, node.initial)
        self.emit(Instruction("enter", node.operation))
        at = len(self.code)
        self.depth += 1
        self.sequence(node.before)
        test = self.emit(Instruction("check", node.operation, (node.condition,), other=self.depth))
        self.move(node.operation, node.inner, node.passed)
        self.sequence(node.body)
        self.depth -= 1
        self.move(node.operation, node.arguments, node.yields)
        self.emit(Instruction("jump", node.operation, target=at))
        test.target = len(self.code)
        self.move(node.operation, node.outputs, node.passed)
