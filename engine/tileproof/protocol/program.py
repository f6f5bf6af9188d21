"""A kernel as a program of the abstract machine: what decides where it goes and what it accesses, and nothing else.

The regions of the IR become a tree, the values slots. What no effect, no condition and no address depends on is left
out: of a kernel of ten thousand operations a few hundred stay. Then the tree is laid out as a list of instructions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import partial

from tileproof.dialects.entities import resolve
from tileproof.dialects.infer import Refusal, infer
from tileproof.dialects.signature import parameters, result_count, signature
from tileproof.dialects.values import Type, read_type
from tileproof.ir import Alias, Block, Operation
from tileproof.protocol.effects import Step
from tileproof.protocol.folding import BY_EXTENTS, Extents, Function, function_of
from tileproof.records import dataclass
from tileproof.rule import Rulebook


@dataclass(slots=True)
class Leaf:
    """An operation without regions: a computation, or where ``effect`` is set a step of the protocol."""

    operation: Operation
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    function: Function | None
    effect: Step | None = None
    types: tuple[str, ...] = ()
    make: Callable[[Extents], Function | None] | None = None


@dataclass(slots=True)
class Branch:
    """``scf.if``: two bodies, and where the results come from in each."""

    operation: Operation
    condition: int
    bodies: tuple[list[Node], list[Node]]
    yields: tuple[tuple[int, ...], tuple[int, ...]]
    outputs: tuple[int, ...]


@dataclass(slots=True)
class Loop:
    """``scf.for``: ``arguments`` are the values it carries, without the induction variable."""

    operation: Operation
    bounds: tuple[int, int, int]
    index: int
    initial: tuple[int, ...]
    arguments: tuple[int, ...]
    body: list[Node]
    yields: tuple[int, ...]
    outputs: tuple[int, ...]


@dataclass(slots=True)
class While:
    """``scf.while``: ``before`` ends with a condition and the values it passes on."""

    operation: Operation
    initial: tuple[int, ...]
    arguments: tuple[int, ...]
    before: list[Node]
    condition: int
    passed: tuple[int, ...]
    inner: tuple[int, ...]
    body: list[Node]
    yields: tuple[int, ...]
    outputs: tuple[int, ...]


Node = Leaf | Branch | Loop | While


@dataclass(slots=True)
class Program:
    """What the machine runs.

    Attributes:
        slots: how many values there are.
        arguments: the slots of the kernel's arguments with their types.
    """

    code: list[Instruction]
    slots: int
    arguments: tuple[tuple[int, str], ...]
    kernel: Operation

    @property
    def counts(self) -> bool:
        """Whether anything depends on an integer that the kernel gets as an argument."""
        given = {slot for slot, text in self.arguments if is_count(text)}
        return any(not given.isdisjoint(instruction.inputs) for instruction in self.code)


def is_count(text: str) -> bool:
    """Whether a type is that of an integer, or of what divides by one."""
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


def compile_kernel(
    kernel: Operation,
    aliases: dict[str, Alias],
    effects: Callable[[Operation, Sequence[str]], Step | None],
    book: Rulebook,
) -> Program:
    """The program of a kernel; it runs when it is known what the extents are (``with_extents``).

    Args:
        effects: what an operation with operands of these types does in the protocol; None for nothing.
    """
    builder = _Builder(aliases, effects, book)
    entry = kernel.regions[0].blocks[0]
    scope: dict[str, int] = {}
    arguments = []
    for argument in entry.arguments:
        text = resolve(argument.type.text, aliases) if argument.type is not None else ""
        arguments.append((builder.slot(argument.name, scope, text), text))
    nodes = builder.block(entry, scope)[0]
    live = _live(nodes)
    layout = _Layout(live, kernel)
    layout.sequence(nodes)
    layout.code.append(Instruction("end", kernel))
    return Program(layout.code, builder.count, tuple(arguments), kernel)


def with_extents(program: Program, extents: Extents) -> Program:
    """A program where the extents that are known only at run time are these."""
    code = [one if one.make is None else replace(one, function=one.make(extents)) for one in program.code]
    return replace(program, code=code)


_NO_EXTENTS = Extents(0, 0)  # of an operation whose function does not depend on them


@dataclass(slots=True)
class _Builder:
    """Builds the tree. ``types`` holds the type of each slot, free of aliases, empty where it is not known."""

    aliases: dict[str, Alias]
    effects: Callable[[Operation, Sequence[str]], Step | None]
    book: Rulebook
    count: int = 1  # slot 0 is what is not defined
    types: list[str] = field(default_factory=lambda: [""])

    def slot(self, name: str, scope: dict[str, int], text: str = "") -> int:
        self.count += 1
        self.types.append(text)
        scope[name] = self.count - 1
        return self.count - 1

    def block(self, block: Block, scope: dict[str, int]) -> tuple[list[Node], Operation | None]:
        """The nodes of a block, and its terminator where that is written."""
        nodes: list[Node] = []
        last = None
        for operation in block.operations:
            if operation.name in ("scf.yield", "scf.condition"):
                last = operation
            elif operation.name == "scf.if" and operation.regions:
                nodes.append(self.branch(operation, scope))
            elif operation.name == "scf.for" and operation.regions:
                nodes.append(self.loop(operation, scope))
            elif operation.name == "scf.while" and len(operation.regions) == 2:
                nodes.append(self.loop_while(operation, scope))
            else:
                if operation.regions and operation.regions[0].blocks and not operation.name.startswith(("func", "gpu")):
                    for region in operation.regions:
                        for inner in region.blocks:
                            nodes += self.block(inner, dict(scope))[0]
                nodes.append(self.leaf(operation, scope))
        return nodes, last

    def operands(self, operation: Operation | None, scope: Mapping[str, int]) -> tuple[int, ...]:
        return () if operation is None else tuple(scope.get(name, 0) for name in operation.operands)

    def results(self, operation: Operation, scope: dict[str, int], texts: Sequence[str]) -> tuple[int, ...]:
        names = []
        for result in operation.results:
            names += [result.name] if result.count == 1 else [f"{result.name}#{i}" for i in range(result.count)]
        known = list(texts) if len(texts) == len(names) else [""] * len(names)
        return tuple(self.slot(name, scope, text) for name, text in zip(names, known, strict=True))

    def leaf(self, operation: Operation, scope: dict[str, int]) -> Leaf:
        inputs = self.operands(operation, scope)
        written = signature(operation)
        texts = tuple(self.types[slot] for slot in inputs)
        if written.operands is not None and len(written.operands) == len(texts):
            texts = tuple(resolve(use.text, self.aliases) for use in written.operands)
        results = None if written.results is None else tuple(resolve(u.text, self.aliases) for u in written.results)
        if results is None and operation.results and operation.name.startswith("cute") and all(texts):
            outcome = infer(operation.name, texts, parameters(operation), (), self.book)
            if outcome is not None and not isinstance(outcome, Refusal):
                results = tuple(map(str, outcome))
        effect = self.effects(operation, texts)
        outputs = self.results(operation, scope, results or ())
        if not outputs or effect is not None:
            return Leaf(operation, inputs, outputs, None, effect, texts)
        kinds: list[Type | None] = [read_type(text) if text else None for text in texts]
        found = [read_type(text) for text in results or ()]
        make = partial(function_of, operation, kinds, found)
        if operation.name in BY_EXTENTS:
            return Leaf(operation, inputs, outputs, None, None, texts, make)
        return Leaf(operation, inputs, outputs, make(_NO_EXTENTS), None, texts)

    def branch(self, operation: Operation, scope: dict[str, int]) -> Branch:
        condition = scope.get(operation.operands[0], 0) if operation.operands else 0
        bodies, yields = [], []
        for region in operation.regions[:2]:
            inner = dict(scope)
            nodes, last = self.block(region.blocks[0], inner) if region.blocks else ([], None)
            bodies.append(nodes)
            yields.append(self.operands(last, inner))
        while len(bodies) < 2:
            bodies.append([])
            yields.append(())
        texts = [self.types[slot] for slot in yields[0]]
        outputs = self.results(operation, scope, texts if len(texts) == result_count(operation) else ())
        return Branch(operation, condition, (bodies[0], bodies[1]), (yields[0], yields[1]), outputs)

    def loop(self, operation: Operation, scope: dict[str, int]) -> Loop:
        bounds = [scope.get(name, 0) for name in operation.operands[:3]]
        bounds += [0] * (3 - len(bounds))
        initial = tuple(scope.get(name, 0) for name in operation.operands[3:])
        inner = dict(scope)
        block = operation.regions[0].blocks[0]
        names = [argument.name for argument in block.arguments]
        index = self.slot(names[0], inner, "i32") if names else 0
        arguments = tuple(
            self.slot(name, inner, self.types[start]) for name, start in zip(names[1:], initial, strict=False)
        )
        body, last = self.block(block, inner)
        yields = self.operands(last, inner)
        outputs = self.results(operation, scope, [self.types[slot] for slot in initial])
        return Loop(operation, (bounds[0], bounds[1], bounds[2]), index, initial, arguments, body, yields, outputs)

    def loop_while(self, operation: Operation, scope: dict[str, int]) -> While:
        initial = self.operands(operation, scope)
        first, second = (region.blocks[0] for region in operation.regions)
        inner = dict(scope)
        arguments = tuple(
            self.slot(argument.name, inner, self.types[start])
            for argument, start in zip(first.arguments, initial, strict=False)
        )
        before, condition = self.block(first, inner)
        tested = self.operands(condition, inner)
        passed = tested[1:]
        deep = dict(scope)
        received = tuple(
            self.slot(argument.name, deep, self.types[slot])
            for argument, slot in zip(second.arguments, passed, strict=False)
        )
        body, last = self.block(second, deep)
        yields = self.operands(last, deep)
        outputs = self.results(operation, scope, [self.types[slot] for slot in passed])
        chosen = tested[0] if tested else 0
        _spin([*before, *body])
        return While(operation, initial, arguments, before, chosen, passed, received, body, yields, outputs)


_LOOKS = ("peek", "block")


def _spin(nodes: list[Node]) -> None:
    """In a loop that does nothing but look at a barrier, looking is waiting."""
    looks = [leaf for leaf in _leaves(nodes) if _pinned(leaf)]
    if all(leaf.effect is not None and leaf.effect.name in _LOOKS for leaf in looks):
        for leaf in looks:
            assert leaf.effect is not None
            leaf.effect = replace(leaf.effect, name="wait")


def _leaves(nodes: Sequence[Node]) -> Iterator[Leaf]:
    for node in nodes:
        match node:
            case Leaf():
                yield node
            case Branch():
                yield from _leaves(node.bodies[0])
                yield from _leaves(node.bodies[1])
            case Loop():
                yield from _leaves(node.body)
            case While():
                yield from _leaves(node.before)
                yield from _leaves(node.body)


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
                if _pinned(node) or any(slot in live for slot in node.outputs):
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


def _pinned(node: Leaf) -> bool:
    """Whether an operation does something, and not only computes."""
    return node.effect is not None and not node.effect.pure


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
        if node.effect is not None and (_pinned(node) or any(slot in self.live for slot in node.outputs)):
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
