"""Inline assembly as nodes of the tree: each instruction becomes the step or the computation that it is the same as.

A register gets a new slot at each assignment. A predicate becomes a branch around the steps that it guards; a branch
forward is a predicate of all that it passes over. What is left out is what the text does with data. A branch back that
is no wait, and a step that is not modelled, become one step that cannot be followed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

from tileproof.base.patterns import regex
from tileproof.base.records import dataclass, field, replace
from tileproof.mlir.ir import Operation, TypeUse
from tileproof.protocol.assembly import Names, Statement, names, said, statements
from tileproof.protocol.folding import Extents, Function, function_of
from tileproof.protocol.ptx_arithmetic import computation, pack, unpack
from tileproof.protocol.steps import Step
from tileproof.protocol.tree import Branch, Leaf, Node, pinned
from tileproof.protocol.values import Lanes, Value
from tileproof.protocol.warp_functions import reaches, warp_function
from tileproof.ptx.text import Operand, Part
from tileproof.rulebase.book import Rulebook

_REGISTER = "nvvm.read.ptx.sreg."  # of a special register, whose name follows
_NO_EXTENTS = Extents(0, 0)
_SHARED, _CLUSTER = "!llvm.ptr<3>", "!llvm.ptr<7>"
_STORE = "llvm.store"
INTEGER = regex(r"\.[usb](8|16|32|64|128)$")


def operation_like(like: Operation, text: str, operands: Sequence[str] = (), result: str = "") -> Operation:
    """An operation at the place of another one."""
    outputs = (TypeUse(result),) if result else ()
    name = text.partition(" ")[0]
    return replace(
        like, name=name, results=(), operands=tuple(operands), attributes=(), inputs=(), outputs=outputs, pieces=(text,)
    )


@lru_cache(maxsize=256)
def _computation(book: Rulebook, text: str, count: int) -> Function | None:
    """The function of an operation of the dialect ``arith``, as it writes itself."""
    name = text.partition(" ")[0]
    one = Operation(name, (), ("%a",) * count, (), (), (), (), (), False, (text,))
    return function_of(book, one, (None,) * count, (None,), _NO_EXTENTS)


def expand(
    book: Rulebook,
    operation: Operation,
    inputs: Sequence[int],
    outputs: Sequence[int],
    new: Callable[[], int],
    effects: Callable[[Operation, Sequence[str]], Step | None],
    rebind: Callable[[str, int], None],
    registers: dict[str, int],
) -> list[Node]:
    """The nodes of an operation with inline assembly.

    Args:
        inputs, outputs: the slots of its operands and results.
        new: makes a slot.
        effects: the step that an operation is.
        rebind: gives an operand of the operation, which the text writes to, another slot.
        registers: the slots of those of the whole kernel; those of this text are added.
    """
    called = names(operation)
    found = statements(book, called.text)
    writer = Writer(book, operation, new, effects, outputs, new())
    kept = _of_the_kernel(found)
    for name in kept:
        writer.slots[name] = registers[name] if name in registers else registers.setdefault(name, new())
    for slot, mine in zip(inputs, called.operands, strict=False):
        writer.slots.update(dict.fromkeys(mine, slot))
    writer.write(found, called)
    if len(outputs) == len(called.results):
        for slot, name in zip(outputs, called.results, strict=True):
            if slot not in writer.made:
                writer.give((slot,), (writer.slots.get(name, writer.unknown),), lambda value: (value,))
    elif len(outputs) == 1 and called.results:
        held = tuple(writer.slots.get(name, writer.unknown) for name in called.results)
        writer.give(tuple(outputs), held, lambda *values: (tuple(_leaf(one) for one in values),))
    for place, name in called.changed:
        if place < len(operation.operands) and place < len(inputs) and writer.slots.get(name) != inputs[place]:
            rebind(operation.operands[place], writer.slots[name])
    writer.close()
    for name in kept:
        if writer.slots[name] != registers[name]:
            writer.nodes.append(Leaf(operation, (writer.slots[name],), (registers[name],), None, again=True))
    return writer.nodes


def _of_the_kernel(found: Sequence[Statement]) -> list[str]:
    """The registers of a text that others may use: those that it declares outside of braces, or not at all."""
    kept: dict[str, None] = {}
    for one in found:
        parts = [part for operand in one.operands or () for part in operand.parts]
        for name in (one.guard, one.second, *(name for part in parts for name in part.names)):
            if name and name[0] not in "$._" and name != one.jumps_to and one.scope is not None:
                declared = one.scope.register(name)
                if name[0] != "%" if declared is None else declared[1].outer is None:
                    kept[name] = None
    return list(kept)


def _leaf(value: Value) -> int | Lanes | None:
    return value if isinstance(value, int | Lanes) else None


@dataclass(slots=True)
class Writer:
    """Writes the nodes of instructions, one after the other.

    Attributes:
        unknown: the slot of what is not known.
        slots: the slot of each register, by name.
        made: the slots of results that a step writes itself.
        pending: of the branches forward that may have been taken, the label and the slot that says whether.
        constants, results: the slots of numbers, and of what was computed of slots.
        guarded: the slot of a predicate, the steps under it and what they assign, not yet written.
        before: of what they assign the slots before.
    """

    book: Rulebook
    operation: Operation
    new: Callable[[], int]
    effects: Callable[[Operation, Sequence[str]], Step | None]
    outputs: Sequence[int]
    unknown: int
    slots: dict[str, int] = field(default_factory=dict)
    made: set[int] = field(default_factory=set)
    nodes: list[Node] = field(default_factory=list)
    pending: list[tuple[str, int]] = field(default_factory=list)
    constants: dict[int, int] = field(default_factory=dict)
    results: dict[tuple[str, tuple[int, ...]], int] = field(default_factory=dict)
    guarded: tuple[int, list[Node], dict[int, int]] | None = None
    before: dict[int, int] = field(default_factory=dict)

    def write(self, found: Sequence[Statement], called: Names) -> None:
        """Write all statements."""
        behind = {label for one in found for label in one.labels}
        single = sum(bool(one.opcode) for one in found) == 1
        for one in found:
            if one.labels:
                self.pending = [(label, slot) for label, slot in self.pending if label not in one.labels]
                behind -= set(one.labels)
            if one.jumps_to:
                guard = self.guard(one, called)
                if one.jumps_to in behind:
                    self.pending.append((one.jumps_to, guard or self.constant(1)))
                elif any(other.acts for other in found):
                    self.step(replace(one, same=None), guard, "llvm.inline_asm", single)
            elif one.opcode:
                self.statement(one, self.guard(one, called), single)

    def guard(self, one: Statement, called: Names) -> int:
        """The slot that says whether a statement is executed; 0 where it always is."""
        parts = [self.computed("arith.cmpi eq", (slot, self.constant(0))) for _, slot in self.pending]
        if one.guard:
            held = self.slots.get(self.key(one.guard), self.unknown)
            parts.append(self.computed("arith.cmpi eq", (held, self.constant(0))) if one.negated else held)
        if called.predicate:
            parts.append(self.slots.get(called.predicate, self.unknown))
        while len(parts) > 1:
            parts[-2:] = [self.computed("arith.andi", (parts[-2], parts[-1]))]
        return parts[0] if parts else 0

    def statement(self, one: Statement, guard: int, single: bool) -> None:
        if one.same is None or one.same.computes:
            self.compute(one, guard)
        else:
            for text in one.same.operations:
                self.step(one, guard, text, single)

    # -- values

    def give(
        self, outputs: tuple[int, ...], inputs: tuple[int, ...], function: Function | None, name: str = ""
    ) -> None:
        """A computation; it stays before the guarded steps that it does not depend on.

        Args:
            name: of the operation that computes likewise, where there is one.
        """
        if self.guarded is not None and not self.guarded[2].keys().isdisjoint(inputs):
            self.close()
        self.nodes.append(Leaf(self.computing(name), inputs, outputs, function))

    def computing(self, name: str) -> Operation:
        """The operation of a computation."""
        return self.operation

    def constant(self, value: int) -> int:
        if value not in self.constants:
            self.constants[value] = self.new()
            self.give((self.constants[value],), (), lambda: (value,))
        return self.constants[value]

    def computed(self, text: str, inputs: tuple[int, ...]) -> int:
        key = (text, inputs)
        if key not in self.results:
            self.results[key] = self.new()
            self.give((self.results[key],), inputs, _computation(self.book, text, len(inputs)), text)
        return self.results[key]

    def assign(self, name: str, slot: int, guard: int) -> None:
        """A register has another value, where the guard holds."""
        if name.startswith(".") or name == "_":
            return
        key = self.key(name)
        if guard:
            slot = self.computed("arith.select", (guard, slot, self.slots.get(key, self.unknown)))
        self.slots[key] = slot

    def key(self, name: str) -> str:
        """What a register is called in ``slots``."""
        return name

    def symbol(self, name: str) -> int:
        """The slot of a name that is no register: of a special register, or unknown."""
        return self.special(name) if name.startswith("%") else self.unknown

    def part(self, part: Part) -> list[int]:
        """The slots of a register, a constant or each member of a tuple."""
        if part.registers:
            return [slot for member in part.members for slot in self.part(member)]
        name = part.names[0] if part.names else ""
        value = part.value if part.value is not None else part.bits
        if value is not None:
            return [self.constant(value)]
        key = self.key(name)
        slot = self.slots[key] if key in self.slots else self.symbol(name)
        if part.offset:
            slot = self.computed("arith.addi", (slot, self.constant(part.offset)))
        if part.negated:
            slot = self.computed("arith.cmpi eq", (slot, self.constant(0)))
        return [slot]

    def special(self, name: str) -> int:
        """A special register."""
        slot = self.new()
        known = operation_like(self.operation, _REGISTER + name[1:].replace("cluster_", "cluster."))
        self.nodes.append(Leaf(known, (), (slot,), None, self.effects(known, ())))
        return slot

    def operand(self, one: Operand) -> list[int]:
        return self.part(one.parts[0]) if one.parts else [self.unknown]

    def destination(self, one: Statement) -> tuple[str, ...]:
        """The registers that a computation writes."""
        first = one.operands[0] if one.operands else None
        return first.parts[0].names if first is not None and first.parts and not first.address else ()

    def compute(self, one: Statement, guard: int) -> None:
        """An instruction that takes no part in the protocol: what it computes, where that is known."""
        to, found = self.destination(one), computation(self.book, one.opcode)
        if one.opcode.startswith("activemask.") and len(to) == 1:  # like a special register it is of who is here
            self.assign(to[0], self.special("%activemask"), guard)
            return
        sources = [self.operand(operand) for operand in (one.operands or ())[1:]]
        single = len(to) == 1 and all(len(source) == 1 for source in sources)
        together = warp_function(one.opcode)
        function: Function | None = None
        if together is not None and single and len(sources) > together[0] - 1:
            sources, gives = sources[: together[0]], together[1]
            function = lambda *values: (gives(*values),)  # noqa: E731
        elif found is not None and single and found.count == len(sources):
            function = found.function
        elif found is not None and one.opcode.startswith("mov.") and len(sources) == 1:
            self.packed(one, to, sources[0], guard)
            return
        elif found is not None and 1 < found.results == len(to) and all(len(source) == 1 for source in sources):
            slots = tuple(self.new() for _ in to)
            self.give(slots, tuple(source[0] for source in sources), found.function, found.name)
            for register, slot in zip(to, slots, strict=True):
                self.assign(register, slot, guard)
            return
        if function is None:
            self.forget(one, to, guard)
            return
        slot = self.new()
        name = found.name if found is not None else one.opcode
        self.give((slot,), tuple(source[0] for source in sources), function, name)
        if one.second:
            self.beside(one, slot, [source[0] for source in sources], guard)
        self.assign(to[0], slot, guard)

    def beside(self, one: Statement, slot: int, sources: Sequence[int], guard: int) -> None:
        """The second destination: of a comparison the contrary, of a shuffle whether the lane is in reach."""
        other = self.unknown
        if one.opcode.startswith("setp.") and one.opcode.count(".") == 2:
            other = self.computed("arith.cmpi eq", (slot, self.constant(0)))
        elif one.opcode.startswith("shfl.sync.") and len(sources) == 3:
            function, lane = reaches(one.opcode.split(".")[2]), self.special("%laneid")
            other = self.new()
            self.give((other,), (lane, *sources[1:]), lambda *values: (function(*values),))
        self.assign(one.second, other, guard)

    def packed(self, one: Statement, to: tuple[str, ...], source: list[int], guard: int) -> None:
        """``mov`` between a register and a tuple of its parts."""
        written = INTEGER.search(one.opcode)
        if written is None or (len(to) > 1 and len(source) > 1):
            self.forget(one, to, guard)
            return
        bits = int(written[1]) // max(len(to), len(source))
        if len(to) == 1:
            slot = self.new()
            self.give((slot,), tuple(source), lambda *parts: (pack(parts, bits),))
            self.assign(to[0], slot, guard)
            return
        for i, name in enumerate(to):
            slot = self.new()
            self.give((slot,), tuple(source[:1]), lambda whole, i=i: (unpack(whole, i, bits),))
            self.assign(name, slot, guard)

    def forget(self, one: Statement, to: Sequence[str], guard: int) -> None:
        """What the registers hold that an instruction may write is not known."""
        for name in (*to, one.second):
            if self.key(name) in self.slots:
                self.assign(name, self.unknown, guard)

    # -- steps

    def step(self, one: Statement, guard: int, text: str, single: bool) -> None:
        """An instruction that takes part in the protocol, as the operation that it is the same as."""
        if one.same is None or (one.operands is None and one.same.operands):
            text = "llvm.inline_asm"
        held, places = list(one.operands or ()), one.same.operands if one.same is not None else ()
        stored = INTEGER.search(one.opcode)
        kind = f"i{stored[1]}" if stored is not None else "f32"
        memory = _CLUSTER if "shared::cluster" in one.opcode else _SHARED
        inputs: list[int] = []
        types: list[str] = []
        moved = kind
        for place in places:
            slots = self.operand(held[place]) if place < len(held) else []
            word = memory if slots and held[place].address else kind
            if len(slots) > 1 and text == _STORE:
                word = moved = f"vector<{len(slots)}x{kind}>"
            inputs += slots
            types += [word] * len(slots)
        if moved != kind:  # behind the first value the address, as of a store of one value
            inputs, types = [inputs[0], inputs[-1], *inputs[1:-1]], [types[0], types[-1], *types[1:-1]]
        named = []
        for name, place in one.same.named if one.same is not None else ():
            offsets = place < len(held) and not held[place].address and bool(held[place].parts[0].registers)
            if place + offsets < len(held):  # offsets of an image come before
                named.append(f"{name} = %{len(inputs)}")
                inputs += self.operand(held[place + offsets])
        for name, slot in self.found(one):
            named.append(f"{name} = %{len(inputs)}")
            inputs.append(slot)
        writes = 0 not in places
        to = tuple(name for name in (self.destination(one) if writes else ()) if not name.startswith((".", "_")))
        if one.second:
            to = (one.second,)
        called = [f"%{i}" for i in range(len(inputs))]
        written = " ".join((text, ", ".join(called), *named, said(self.book, one.opcode)))
        if len(to) > 1:
            moved = f"vector<{len(to)}x{kind}>"
        operation = self.stepping(one, written, called, moved)
        types += [""] * (len(inputs) - len(types))
        effect = self.effects(operation, types)
        if effect is None or (effect.name == "read" and 1 < len(to) < len(self.destination(one))):
            self.forget(one, to, guard)
            to = ()
        if effect is None:
            return
        if one.waits:
            effect = replace(effect, name="wait")
        if single and not guard and len(self.outputs) == 1 and to and effect.name == "tmem_load":
            outputs = tuple(self.outputs)  # the registers are followed from here
            self.made.update(outputs)
        else:
            outputs = tuple(self.new() for _ in to)
        self.put(Leaf(operation, tuple(inputs), outputs, None, effect, tuple(types)), to, outputs, guard)

    def found(self, one: Statement) -> list[tuple[str, int]]:
        """What a step finds that no register holds, as operands of the operation, by name."""
        return []

    def stepping(self, one: Statement, written: str, called: Sequence[str], kind: str) -> Operation:
        """The operation that an instruction is the same as."""
        return operation_like(self.operation, written, called, kind)

    def put(self, leaf: Leaf, to: Sequence[str], outputs: Sequence[int], guard: int) -> None:
        """A step, together with others under the same guard."""
        if not guard or not pinned(leaf):
            self.close()
            self.nodes.append(leaf)
            for name, slot in zip(to, outputs, strict=False):
                self.assign(name, slot, guard)
            return
        if self.guarded is not None and (
            self.guarded[0] != guard or not self.guarded[2].keys().isdisjoint(leaf.inputs)
        ):
            self.close()
        if self.guarded is None:
            self.guarded = (guard, [], {})
        _, body, results = self.guarded
        body.append(leaf)
        for name, slot in zip(to, outputs, strict=False):
            after = self.new()
            results[after] = slot
            self.before[after] = self.slots.get(self.key(name), self.unknown)
            self.slots[self.key(name)] = after

    def close(self) -> None:
        """Write the guarded steps."""
        if self.guarded is None:
            return
        guard, body, results = self.guarded
        self.guarded = None
        yields = (tuple(results.values()), tuple(self.before[slot] for slot in results))
        self.nodes.append(Branch(self.operation, guard, (body, []), yields, tuple(results)))


__all__ = ["INTEGER", "Writer", "expand", "operation_like"]
