"""Building the tree of a kernel: values become slots, computations functions, and some operations steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from tileproof.base.records import dataclass, field, replace
from tileproof.dialects.infer import Refusal, infer
from tileproof.dialects.operands import resolve
from tileproof.dialects.values import Type, read_type
from tileproof.mlir.ir import Alias, Block, Operation, Region
from tileproof.mlir.signature import parameters, result_count, signature
from tileproof.protocol.folding import Extents, by_extents, function_of, leaves_of_coordinate
from tileproof.protocol.steps import Step
from tileproof.protocol.structuring import JUMPS, Structuring
from tileproof.protocol.tree import Branch, Leaf, Loop, Node, While, leaves, pinned
from tileproof.rulebase.book import Rulebook

_NO_EXTENTS = Extents(0, 0)  # of an operation whose function does not depend on them


@dataclass(slots=True)
class Builder:
    """Builds the tree.

    Attributes:
        types: of each slot, free of aliases, empty where it is not known.
        constants: the slots that the text alone gives a value.
        bounds: slots that the text gives a bound, the least of several numbers.
        coordinates: those of coordinates and of what is computed of them.
        registers: the slots of those that inline assembly declares outside of braces, or that it uses and does not
            declare: they are the kernel's, and keep what one text leaves there for the next.
    """

    aliases: dict[str, Alias]
    effects: Callable[[Operation, Sequence[str]], Step | None]
    book: Rulebook
    count: int = 1  # slot 0 is what is not defined
    types: list[str] = field(default_factory=lambda: [""])
    constants: dict[int, int] = field(default_factory=dict)
    bounds: dict[int, int] = field(default_factory=dict)
    coordinates: set[int] = field(default_factory=set)
    registers: dict[str, int] = field(default_factory=dict)

    def slot(self, name: str, scope: dict[str, int], text: str = "") -> int:
        self.count += 1
        self.types.append(text)
        scope[name] = self.count - 1
        return self.count - 1

    def region(self, region: Region, scope: dict[str, int]) -> list[Node]:
        """The nodes of a region, whose first block's arguments are in the scope already.

        Raises:
            Unstructured: its blocks jump to each other in a way that is not followed.
        """
        if len(region.blocks) == 1:
            return self.block(region.blocks[0], scope)[0]

        def place(text: str) -> int:
            return self.slot("", {}, text)

        def text(block: Block, index: int) -> str:
            written = block.arguments[index].type
            return resolve(written.text, self.aliases) if written is not None else ""

        def inside(block: Block, scope: dict[str, int]) -> list[Node]:
            return self.block(block, scope)[0]

        return Structuring(region, inside, place, self.types, text, spin).nodes(scope)

    def block(self, block: Block, scope: dict[str, int]) -> tuple[list[Node], Operation | None]:
        """The nodes of a block, and its terminator where that is written."""
        nodes: list[Node] = []
        last = None
        decided = {one.operands[0] for one in block.operations if one.name == "scf.if" and one.operands}
        for operation in block.operations:
            if operation.name in ("scf.yield", "scf.condition"):
                last = operation
            elif operation.name == "scf.if" and operation.regions:
                nodes.append(self.branch(operation, scope))
            elif operation.name == "arith.select" and operation.operands[:1] and operation.operands[0] in decided:
                nodes.append(self.selected(operation, scope))
            elif operation.name == "scf.for" and operation.regions:
                nodes.append(self.loop(operation, scope))
            elif operation.name == "scf.while" and len(operation.regions) == 2:
                nodes.append(self.loop_while(operation, scope))
            elif operation.name not in JUMPS:
                if operation.regions and operation.regions[0].blocks and not operation.name.startswith(("func", "gpu")):
                    for region in operation.regions:
                        nodes += self.region(region, dict(scope))
                leaf = self.leaf(operation, scope)
                if leaf.effect is not None and leaf.effect.name == "opaque":
                    nodes += self.assembly(leaf, scope)
                else:
                    nodes.append(leaf)
        return nodes, last

    def assembly(self, leaf: Leaf, scope: dict[str, int]) -> list[Node]:
        """The instructions of inline assembly."""
        from tileproof.protocol.assembly_nodes import expand  # noqa: PLC0415  most kernels have none

        return expand(
            self.book,
            leaf.operation,
            leaf.inputs,
            leaf.outputs,
            lambda: self.slot("", {}),
            self.effects,
            scope.__setitem__,
            self.registers,
        )

    def most(self, slot: int) -> int | None:
        """The most that a value may be; None where the text does not say."""
        return self.constants.get(slot, self.bounds.get(slot))

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
        if operation.name == "cute.deref_arith_tuple_iter" or not self.coordinates.isdisjoint(inputs):
            self.coordinates.update(outputs)
            if operation.name in ("cute.get_leaves", "cute.get_scalars"):
                return Leaf(operation, inputs, outputs, leaves_of_coordinate(kinds[0], len(outputs)), None, texts)
        make = partial(function_of, self.book, operation, kinds, found)
        if by_extents(self.book, operation):
            return Leaf(operation, inputs, outputs, None, None, texts, make)
        if operation.name == "arith.minsi" and len(outputs) == 1:
            known = [most for slot in inputs if (most := self.most(slot)) is not None]
            self.bounds |= {outputs[0]: min(known)} if known else {}
        function = make(_NO_EXTENTS)
        if function is not None and self.constants.keys() >= set(inputs):
            for slot, value in zip(outputs, function(*(self.constants[one] for one in inputs)), strict=False):
                if isinstance(value, int):
                    self.constants[slot] = value
        return Leaf(operation, inputs, outputs, function, None, texts)

    def branch(self, operation: Operation, scope: dict[str, int]) -> Branch:
        condition = scope.get(operation.operands[0], 0) if operation.operands else 0
        bodies, yields = [], []
        known = self.constants.get(condition)
        for i, region in enumerate(operation.regions[:2]):
            inner = dict(scope)
            nodes, last = self.block(region.blocks[0], inner) if region.blocks else ([], None)
            never = known is not None and bool(known) is (i == 1)  # dead code, which raw dumps have
            bodies.append([] if never else nodes)
            yields.append(self.operands(last, inner))
        while len(bodies) < 2:
            bodies.append([])
            yields.append(())
        texts = [self.types[slot] for slot in yields[0]]
        outputs = self.results(operation, scope, texts if len(texts) == result_count(operation) else ())
        return Branch(operation, condition, (bodies[0], bodies[1]), (yields[0], yields[1]), outputs)

    def selected(self, operation: Operation, scope: dict[str, int]) -> Leaf | Branch:
        """A truth that is selected by what a branch of the same block goes by: a run takes the same side in both."""
        leaf = self.leaf(operation, scope)
        if len(leaf.inputs) != 3 or {use.text for use in operation.inputs} != {"i1"}:
            return leaf
        condition, *values = leaf.inputs
        return Branch(operation, condition, ([], []), ((values[0],), (values[1],)), leaf.outputs)

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
        low, high, step = self.constants.get(bounds[0]), self.most(bounds[1]), self.constants.get(bounds[2])
        if low is not None and high is not None and step is not None and low >= high and step > 0:
            body, yields = [], arguments  # dead code, as that of a branch
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
        spin([*before, *body])
        return While(operation, initial, arguments, before, chosen, passed, received, body, yields, outputs)


_LOOKS = ("peek", "block")
_SILENT = ("read", "slot")  # a slot is where an operation may be inserted


def spin(nodes: list[Node]) -> None:
    """A loop that only tests a barrier is a wait; it may read the parity from memory."""
    steps = [leaf for leaf in leaves(nodes) if pinned(leaf)]
    looks = [leaf for leaf in steps if leaf.effect is not None and leaf.effect.name not in _SILENT]
    if all(leaf.effect is not None and leaf.effect.name in _LOOKS for leaf in looks):
        for leaf in looks:
            assert leaf.effect is not None
            leaf.effect = replace(leaf.effect, name="wait")
