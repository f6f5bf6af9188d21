"""A PTX kernel as a program of the abstract machine: the same as a kernel of IR, from other text.

Instructions become steps and computations as those of inline assembly do (``assembly_nodes``). The blocks that the
slice (``ptx_slice``) leaves become branches and loops by ``structuring``, as blocks of the LLVM dialect do: where the
values of a register meet, it is an argument of the block, under its own name, so that no other form of the text is
made. A loop that tests at its end how often it has gone round, as compilers write loops, is a counted loop.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from zlib import crc32

from tileproof.base.patterns import regex
from tileproof.base.records import dataclass, field, replace
from tileproof.base.source import Span
from tileproof.mlir.ir import Argument, Attribute, Block, Operation, Region, Result
from tileproof.protocol.assembly import Statement, statement
from tileproof.protocol.assembly_nodes import INTEGER, Writer, operation_like
from tileproof.protocol.budget import limit
from tileproof.protocol.control_flow import EXIT, NaturalLoop, dominates, dominators
from tileproof.protocol.counterparts import is_step
from tileproof.protocol.folding import Extents, Function
from tileproof.protocol.launch import IN_ROWS
from tileproof.protocol.local_memory import APART, LOCAL, loaded, stored
from tileproof.protocol.program import Program, laid_out
from tileproof.protocol.ptx_arithmetic import pack, signed
from tileproof.protocol.ptx_slice import Cut, Keys, Line, slice_of
from tileproof.protocol.ptx_tensor_loads import LOAD, Use, first_uses, where_kept
from tileproof.protocol.steps import Step, effects
from tileproof.protocol.structuring import Structuring, Unstructured
from tileproof.protocol.terms import lift
from tileproof.protocol.tmem_liveness import USED
from tileproof.protocol.tree import Leaf, Node
from tileproof.protocol.tree_builder import spin
from tileproof.protocol.values import Supposed, Value
from tileproof.ptx.formulas import Formulas
from tileproof.ptx.graph import Graph
from tileproof.ptx.module import Function as WrittenFunction
from tileproof.ptx.module import Statement as Written
from tileproof.ptx.module import Variable
from tileproof.ptx.text import Part
from tileproof.ptx.values import Values
from tileproof.rulebase.book import Rulebook

_NOWHERE = Operation("", (), (), (), (), (), (), (), False, ("",))
_ADDRESS = "!llvm.ptr"
_WORD = 4  # bytes
_HALVES = regex(r"\s*+\{[^{},]++,[^{},]++\}\s*+,\s*+(%?[\w$]++)\s*+\Z")  # operands
_SHARED_ATOMIC = regex(r"\.shared\b")
_COUNTER = regex(r"\.(?:inc|add)\.")
_COPY = "cp.async.ca.shared"  # of words: .cg copies 16 bytes
_ARRAYS = 4  # of which neighbours are apart by different numbers, before they are so again
_FLOAT, _ONE = ".f32", 0x3F800000  # the bits of 1
_FROM_GLOBAL = ("ld.global.", "ld.f32")  # what can only be in shared memory names it by now
_NUMBER = 5  # a floating-point number, apart from other terms
_COUNTED = 4  # what atomic operations return, apart from other terms
_BITS = regex(r"\.[fb](\d++)(?:x2)?\Z")
LOADS = "ptx.loads"
_LAUNCH = {"reqntid": "nvvm.reqntid", "maxntid": "nvvm.maxntid", "reqnctapercluster": "nvvm.cluster_dim"}


@dataclass(slots=True)
class Compiled:
    """A kernel that can be run.

    Attributes:
        steps: the operations that its instructions are.
        numbers: of the statements that they are, by ``id``.
    """

    program: Program
    kernel: Operation
    steps: list[Operation]
    numbers: dict[int, int]


def compile_function(book: Rulebook, graph: Graph, own: Mapping[str, Step] = MappingProxyType({})) -> Compiled:
    """The program of a kernel in PTX.

    Args:
        own: steps of opcodes that no instruction has.

    Raises:
        Unstructured: its blocks jump to each other in a way that is not followed, or it calls what may synchronise.
    """
    return _Kernel(book, graph, Values(book, graph), own).compiled()


def place_of(function: WrittenFunction) -> Operation:
    """An operation where a function is in the text."""
    return replace(_NOWHERE, span=function.span, name_span=function.span)


@dataclass(slots=True)
class _Kernel:
    book: Rulebook
    graph: Graph
    values: Values
    own: Mapping[str, Step]
    keys: Keys = field(default_factory=Keys)
    arrays: dict[int, int] = field(default_factory=dict)
    count: int = 1  # slot 0 is what is not defined
    types: list[str] = field(default_factory=lambda: [""])
    operations: dict[tuple[int, str], Operation] = field(default_factory=dict)  # by the offset of the instruction
    numbers: dict[int, int] = field(default_factory=dict)  # of the instructions at these offsets
    named: dict[str, Operation] = field(default_factory=dict)
    parameters: dict[tuple[str, int, str], tuple[int, str]] = field(default_factory=dict)
    symbols: dict[str, Operation] = field(default_factory=dict)
    kept: dict[int, int] = field(default_factory=dict)  # by where a variable is declared
    loads: dict[int, Operation] = field(default_factory=dict)  # of tensor memory, by their numbers
    uses: list[tuple[Leaf, int]] = field(default_factory=list)  # of their registers, with the number of the load
    computed: Formulas | None = None
    apart: frozenset[str] | None = None

    def slot(self, text: str = "") -> int:
        self.count += 1
        self.types.append(text)
        return self.count - 1

    def compiled(self) -> Compiled:
        graph = self.graph
        for at, case in ((graph.irreducible, "irreducible"), (graph.indirect, "indirect")):
            if at is not None:
                raise Unstructured(self.at(at), case)
        cut = slice_of(self.book, graph, self.values, self.keys, self.own.keys())
        if cut.calls:
            raise Unstructured(self.operation(cut.calls[0], "call"), "call")
        if graph.traps and not graph.ends:
            last = graph.module.instructions[graph.blocks[min(graph.traps)].last - 1]
            raise Unstructured(self.at(last), "trap")
        if (step := self.trapped()) is not None:
            raise Unstructured(self.at(step), "trapped")
        region = self.region(cut)
        usual = effects(self.book, {}, registers=False)

        def writer_effects(operation: Operation, types: Sequence[str]) -> Step | None:
            return self.own.get(operation.name) or usual(operation, types)

        unknown = self.slot()
        scope = dict.fromkeys(cut.registers, unknown)
        labels = {f"^{number}": number for number in cut.edges}
        kept = {line.one.number for lines in cut.lines.values() for line in lines}
        uses = where_kept(graph, first_uses(graph), cut.edges, kept)

        def inside(block: Block, scope: dict[str, int]) -> list[Node]:
            number = labels.get(block.label or "")
            if number is None:  # the end
                return []
            return self.written(cut.lines[number], uses.get(number, ()), scope, unknown, writer_effects)

        structuring = Structuring(region, inside, self.slot, self.types, lambda block, index: "", spin)
        structuring.rotated = partial(self.turns, cut)
        nodes = structuring.nodes(scope)
        for leaf, number in self.uses:
            leaf.operation = self.loads[number]
        arguments = tuple((slot, text) for slot, text in self.parameters.values())
        names = tuple(Argument(f"%{name}+{offset}") for name, offset, _ in self.parameters)
        kernel = self.kernel(names, cut)
        program = replace(laid_out(nodes, self.count, arguments, kernel), asserts_zero=cut.asserts_zero)
        steps = list({id(one): one for one in self.operations.values()}.values())
        steps.sort(key=lambda one: one.span.start)
        numbers = {id(one): self.numbers[start] for (start, _), one in self.operations.items()}
        return Compiled(program, kernel, steps, numbers)

    def kernel(self, arguments: tuple[Argument, ...], cut: Cut) -> Operation:
        """The function as an operation, with what it declares of its launch, and whether its protocol depends on
        integers that it loads.

        It is launched with as many threads as it may have at most, as compilers of C++ are told. How they lie in rows
        is not said where it asks in which row one is: what it may have at most is a product.
        """
        function = self.graph.function
        lines = [line for block in cut.lines.values() for line in block]
        attributes = [Attribute("ptx.kernel", "")]
        if any(line.one.opcode.startswith(("ld.global.", _COPY)) for line in lines):
            attributes.append(Attribute(LOADS, ""))
        declared = dict(function.performance)
        most = declared.get("maxntid", ())
        rows = self.rows(lines) if "reqntid" not in declared and set(most[1:]) <= {1} else ""
        if rows:
            attributes.append(Attribute(IN_ROWS, rows))
        elif "reqntid" not in declared and most:
            declared["reqntid"] = most
        for directive, name in _LAUNCH.items():
            numbers = declared.get(directive)
            if numbers:
                attributes.append(Attribute(name, f"array<i32: {', '.join(map(str, numbers))}>"))
        region = Region((Block(None, arguments, ()),))
        return replace(
            place_of(function),
            name="llvm.func",
            attributes=tuple(attributes),
            regions=(region,),
            pieces=(f"llvm.func @{function.name}", ""),
        )

    def rows(self, lines: Sequence[Line]) -> str:
        """The dimension along which the CTA has rows of threads in which instructions ask for one's own; or none.

        Those that read all dimensions equally often count threads, however they lie.
        """
        second, third = (sum(f"%tid.{axis}" in line.one.text for line in lines) for axis in "yz")
        return "z" if third > second else "y" if second and not third else ""

    def local(self, variable: Variable) -> int:
        """The address of a variable in local memory."""
        return self.kept.setdefault(variable.span.start, (len(self.kept) + 1) * APART)

    def array(self, number: int) -> int:
        """The place of an array among those that the kernel loads from, in the order of the text."""
        return self.arrays.setdefault(number, len(self.arrays)) % _ARRAYS

    @property
    def formulas(self) -> Formulas:
        """How the registers are computed."""
        if self.computed is None:
            self.computed = Formulas(self.values)
        return self.computed

    @property
    def halved(self) -> frozenset[str]:
        """The 64-bit registers that an instruction takes apart."""
        if self.apart is None:
            self.apart = _halved(self.graph)
        return self.apart

    # -- operations

    def at(self, statement: Written) -> Operation:
        written = self.graph.module.written(statement)
        span = Span(written.start, written.end)
        return replace(_NOWHERE, span=span, name_span=span)

    def operation(self, one: Statement, text: str, called: Sequence[str] = (), kind: str = "") -> Operation:
        """The operation of an instruction, one and the same however often the instruction is repeated."""
        written = self.graph.module.written(self.graph.module.instructions[one.number])
        found = self.operations.get((written.start, text))
        if found is None:
            self.numbers[written.start] = one.number
            opcode = Span(written.opcode_start, written.opcode_start + len(written.opcode))
            here = replace(_NOWHERE, span=Span(written.start, written.end), name_span=opcode)
            found = self.operations[written.start, text] = operation_like(here, text, called, kind)
            if one.opcode.startswith(LOAD):
                self.loads[one.number] = found
        return found

    def computing(self, name: str) -> Operation:
        found = self.named.get(name)
        if found is None:
            found = self.named[name] = replace(_NOWHERE, name=name.partition(" ")[0], pieces=(name,))
        return found

    # -- blocks

    def trapped(self) -> Written | None:
        """The first step from which each path ends in a trap; None where there is none."""
        module = self.graph.module
        for number in sorted(self.graph.doomed):
            block = self.graph.blocks[number]
            for i in range(block.first, block.last):
                same = statement(self.book, module, i).same
                if same is not None and any(is_step(self.book, name.split(" ")[0]) for name in same.operations):
                    return module.instructions[i]
        return None

    def region(self, cut: Cut) -> Region:
        """The blocks as a region: of each the registers that it reads and writes, and its jump."""
        end = len(self.graph.blocks) + 1
        order = [cut.entry, *sorted(one for one in cut.edges if one != cut.entry)]
        blocks = []
        for number in order:
            lines = cut.lines[number]
            reads = tuple(dict.fromkeys(name for line in lines for name in line.reads))
            writes = tuple(dict.fromkeys(name for line in lines for name in line.writes))
            partly = tuple(name for line in lines if line.partly for name in line.writes)
            inside = [replace(_NOWHERE, name="ptx", operands=(*reads, *partly), outputs=())] if lines else []
            results = tuple(Result(name) for name in writes)
            inside = [replace(one, results=results) for one in inside]
            inside.append(self.jump(cut, number, end))
            arguments = tuple(Argument(name) for name in cut.arguments.get(number, ()))
            blocks.append(Block(f"^{number}", arguments, tuple(inside)))
        last = replace(_NOWHERE, name="llvm.return")
        blocks.append(Block(f"^{end}", (), (last,)))
        return Region(tuple(blocks))

    def jump(self, cut: Cut, number: int, end: int) -> Operation:
        """The jump at the end of a block, with the registers that it hands on."""
        after = [end if to == EXIT else to for to in cut.edges[number]]
        handed = [cut.arguments.get(to, ()) for to in after]
        successors = tuple(f"^{to}" for to in after)
        values = tuple(name for names in handed for name in names)
        decider = cut.deciders.get(number)
        if decider is None:
            return replace(
                _NOWHERE, name="cf.br", operands=values, successors=successors, generic=True, groups=(len(values),)
            )
        flag = (decider.reads[0] if decider.reads else "",)
        here = self.operation(decider.one, "bra")
        self.operations.pop((here.span.start, "bra"))
        sizes = tuple(map(len, handed))
        if len(after) == 2 and decider.one.guard:
            return replace(
                here,
                name="cf.cond_br",
                operands=(*flag, *values),
                successors=successors,
                generic=True,
                groups=(1, *sizes),
            )
        cases, last, rest = after[:-1], successors[-1], successors[:-1]
        behind = len(handed[-1])
        values = (*values[len(values) - behind :], *values[: len(values) - behind])
        attributes = (
            Attribute("case_values", f"dense<[{', '.join(map(str, range(len(cases))))}]> : tensor<{len(cases)}xi32>"),
            Attribute("case_operand_segments", f"array<i32: {', '.join(map(str, sizes[:-1]))}>"),
        )
        return replace(
            here,
            name="cf.switch",
            operands=(*flag, *values),
            attributes=attributes,
            successors=(last, *rest),
            generic=True,
            groups=(1, behind, sum(sizes[:-1])),
        )

    # -- instructions

    def written(
        self, lines: Sequence[Line], uses: Sequence[Use], scope: dict[str, int], unknown: int, step: object
    ) -> list[Node]:
        """The nodes of the instructions of a block, and of what the loads of tensor memory are complete at."""
        writer = _Writer(self.book, _NOWHERE, self.slot, step, (), unknown, scope)  # type: ignore[arg-type]
        writer.kernel = self
        left = list(uses)

        def use_before(place: int | None) -> None:
            while left and (place is None or left[0].place <= place):
                leaf = Leaf(_NOWHERE, (), (), None, USED)
                self.uses.append((leaf, left.pop(0).load))
                writer.close()
                writer.nodes.append(leaf)

        for line in lines:
            use_before(line.one.number)
            writer.one = line.one
            writer.whole = not line.partly
            guard = writer.guarding(line.one)
            writer.statement(line.one, guard, False)
        use_before(None)
        writer.close()
        return writer.nodes

    def parameter(self, name: str, offset: int, text: str) -> int:
        """The slot of a parameter, or of a part of it."""
        found = self.parameters.get((name, offset, text))
        if found is None:
            found = self.parameters[name, offset, text] = (self.slot(text), text)
        return found[0]

    def place_of(self, one: Statement, part: Part) -> tuple[str, int]:
        """Where a load reads of what the kernel gets, by whatever register it has the address: the variable, and the
        byte. The register, and what is added to it, where that is not known.
        """
        found = self.values.part(one.number, part, 64)
        if found.symbol and found.offset is not None:
            return found.symbol, found.offset
        return part.names[0], part.offset

    def count_of(self, name: str, offset: int, text: str) -> Leaf:
        """An integer that the kernel gets: a run supposes that it counts elements, so many to a tile, or tiles."""
        slot = self.parameter(name, offset, text)
        term = hash((crc32(name.encode()), offset, int(text[1:])))
        tile = limit(self.book, "tile_elements")

        def make(extents: Extents) -> Function:
            value: Value = Supposed(extents.usual(term, tile), term)
            return lambda: (value,)

        return Leaf(self.computing("parameter"), (), (slot,), None, None, (), make)

    # -- loops

    def turns(
        self, cut: Cut, loop: NaturalLoop, at: int, stays: bool, scope: dict[str, int], nodes: list[Node], order: Region
    ) -> int | None:
        """The slot of how often a loop goes round that is left at its end; None where that is not counted.

        Args:
            at: the block that it is left from.
            stays: whether it goes on where the predicate at the end of that block holds.
            scope: the registers before the loop.
        """
        numbers = {i: int(block.label[1:]) for i, block in enumerate(order.blocks) if block.label}
        inside = {numbers[one] for one in loop.body}
        decider = cut.deciders.get(numbers[at])
        if decider is None or not decider.one.guard:
            return None
        written: dict[str, list[Line]] = {}
        for one in inside:
            for line in cut.lines.get(one, ()):
                for name in line.writes:
                    written.setdefault(name, []).append(line)
        truth = written.get(decider.reads[0], [])
        if len(truth) != 1 or truth[0].partly or truth[0] not in cut.lines[numbers[at]]:
            return None
        compare = truth[0].one
        pieces = compare.opcode.split(".")
        operands = compare.operands or ()
        if pieces[0] != "setp" or len(pieces) != 3 or len(operands) != 3 or pieces[2][0] not in "usb":
            return None
        header = cut.arguments.get(numbers[loop.header], ())
        names = [self.only(compare, operand.parts[0]) for operand in operands[1:]]
        turn = _Order.of(cut, inside, numbers[loop.header])
        last = (numbers[at], self.graph.blocks[numbers[at]].last)
        for place in (0, 1):
            bound, other = operands[2 - place].parts[0], names[1 - place]
            counter = names[place]
            if counter is None or bound.offset or (other is None and bound.value is None) or other in written:
                continue
            found = self.linear(written, counter, (numbers[at], compare.number), header, turn)
            again = None if found is None else self.linear(written, found[0], last, header, turn)
            if found is None or again is None or again[0] != found[0] or not again[1]:
                continue
            limit = self.constant(bound.value, nodes) if bound.value is not None else scope.get(other or "", 0)
            how = _turned(pieces[1], place == 1, not stays)
            function = _turns(how, again[1], found[1], int(pieces[2][1:]), pieces[2][0] == "u")
            slot = self.slot("i32")
            nodes.append(Leaf(self.computing("turns"), (scope.get(found[0], 0), limit), (slot,), function))
            return slot
        return None

    def only(self, one: Statement, part: Part) -> str | None:
        """The key of a register that an operand is."""
        if part.registers or part.value is not None or part.offset or not part.names or part.names[0][0] == ".":
            return None
        return self.keys.of(one.scope, part.names[0])

    def linear(
        self,
        written: Mapping[str, Sequence[Line]],
        name: str,
        at: tuple[int, int],
        header: Sequence[str],
        order: _Order,
    ) -> tuple[str, int] | None:
        """A register, read in a loop, as one that the loop carries and what was added to it.

        Args:
            at: the block and the number of the statement that reads it.
        """
        moved = 0
        while True:
            lines = written.get(name, ())
            if len(lines) > 1 or any(line.partly for line in lines):
                return None
            if not lines or not order.before(lines[0].one.number, at):
                return (name, moved) if name in header and not (lines and order.between(lines[0], at)) else None
            one = lines[0].one
            operands = one.operands or ()
            kind = one.opcode.partition(".")[0]
            if kind == "mov" and len(operands) == 2:
                step: int | None = 0
            elif kind in ("add", "sub") and len(operands) == 3:
                value = operands[2].parts[0].value
                step = value if kind == "add" or value is None else -value
            else:
                return None
            following = self.only(one, operands[1].parts[0])
            if following is None or step is None:
                return None
            name, moved, at = following, moved + step, (order.blocks[one.number], one.number)

    def constant(self, value: int | None, nodes: list[Node]) -> int:
        slot = self.slot("i32")
        nodes.append(Leaf(self.computing("constant"), (), (slot,), lambda: (value,)))
        return slot


@dataclass(frozen=True, slots=True)
class _Order:
    """What comes before what in one turn of a loop.

    Attributes:
        blocks: of each statement.
        immediate: the immediate dominators of the blocks.
    """

    blocks: Mapping[int, int]
    immediate: Mapping[int, int]

    @classmethod
    def of(cls, cut: Cut, inside: Collection[int], header: int) -> _Order:
        graph = {one: [to for to in cut.edges[one] if to in inside and to != header] for one in inside}
        blocks = {line.one.number: one for one in inside for line in cut.lines[one]}
        return cls(blocks, dominators(graph, header))

    def before(self, number: int, at: tuple[int, int]) -> bool:
        """Whether a statement is executed in each turn before a place."""
        block = self.blocks[number]
        return number < at[1] if block == at[0] else dominates(self.immediate, block, at[0])

    def between(self, line: Line, at: tuple[int, int]) -> bool:
        """Whether a statement may be executed in the same turn before a place, or may not."""
        block = self.blocks[line.one.number]
        return block != at[0] and not dominates(self.immediate, at[0], block)


_CONTRARY = {"eq": "ne", "ne": "eq", "lt": "ge", "ge": "lt", "le": "gt", "gt": "le"}
_SWAPPED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le"}
_UNSIGNED = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}


def _supposing(value: Value, extents: Extents) -> Function:
    """A function that gives a value whatever the extents are."""
    return lambda: (value,)


def _turned(how: str, swapped: bool, contrary: bool) -> str:
    how = _UNSIGNED.get(how, how)
    how = _SWAPPED.get(how, how) if swapped else how
    return _CONTRARY.get(how, how) if contrary else how


def _turns(how: str, step: int, ahead: int, bits: int, unsigned: bool) -> Function:
    """How often a loop goes round that goes on while a comparison of its counter with a bound holds.

    Args:
        ahead: how much was added to the counter where it is compared.
    """

    def count(start: int, bound: int) -> int | None:
        value = start + ahead
        if unsigned:
            value, bound = value % (1 << bits), bound % (1 << bits)
        else:
            value, bound = signed(value, bits), signed(bound, bits)
        far = bound - value
        if how in ("lt", "le"):
            far += how == "le"
            return 1 + max(-(-far // step), 0) if step > 0 else None
        if how in ("gt", "ge"):
            far -= how == "ge"
            return 1 + max(-(-far // step), 0) if step < 0 else None
        if how == "ne":
            return 1 + far // step if far % step == 0 and far // step >= 0 else None
        return 1 if far else None

    lifted = lift(count, f"turns {how} {step} {ahead}")
    return lambda start, bound: (lifted(start, bound),)


class _Writer(Writer):
    """Writes the instructions of a whole kernel."""

    kernel: _Kernel
    one: Statement
    whole: bool = True

    def assign(self, name: str, slot: int, guard: int) -> None:
        """``whole``: nobody reads the register where the guard does not hold."""
        super().assign(name, slot, 0 if self.whole else guard)

    def key(self, name: str) -> str:
        return self.kernel.keys.of(self.one.scope, name)

    def guarding(self, one: Statement) -> int:
        """The slot of the predicate of an instruction; 0 where it has none."""
        if not one.guard:
            return 0
        held = self.slots.get(self.key(one.guard), self.unknown)
        return self.computed("arith.cmpi eq", (held, self.constant(0))) if one.negated else held

    def computing(self, name: str) -> Operation:
        return self.kernel.computing(name)

    def stepping(self, one: Statement, written: str, called: Sequence[str], kind: str) -> Operation:
        return self.kernel.operation(one, written, called, kind)

    def symbol(self, name: str) -> int:
        variable = self.one.scope.variable(name) if self.one.scope is not None else None
        if variable is None:
            return super().symbol(name)
        if variable.space == "shared":
            return self.allocated(variable)
        if variable.space == "local":
            return self.constant(self.kernel.local(variable))
        return self.kernel.parameter(name, 0, _ADDRESS) if variable.space == "param" else self.unknown

    def allocated(self, variable: Variable) -> int:
        """The address of a variable in shared memory."""
        text = f"llvm.mlir.addressof @{variable.name} : !llvm.ptr<3>"
        operation = self.kernel.symbols.get(variable.name)
        if operation is None:
            plain, result = operation_like(_NOWHERE, text), Result(variable.name)
            operation = replace(plain, span=variable.span, name_span=variable.span, results=(result,))
            self.kernel.symbols[variable.name] = operation
        slot = self.new()
        self.nodes.append(Leaf(operation, (), (slot,), None, Step("allocate", 0, 0, 0)))
        return slot

    def compute(self, one: Statement, guard: int) -> None:
        if one.opcode.startswith(("ld.param.", "ld.param::entry.")):
            self.load_parameter(one, guard)
        elif one.opcode.startswith(_FROM_GLOBAL) and not one.opcode.endswith(("f64", "f16")):
            self.load_global(one, guard)
        elif one.opcode.startswith("atom.") and not _SHARED_ATOMIC.search(one.opcode):
            self.count(one, guard)
        elif one.opcode.startswith("ld.local."):
            self.load_local(one, guard)
        elif one.opcode.startswith("st.local."):
            self.store_local(one, guard)
        elif one.opcode.startswith("cvta.local."):
            self.forget(one, self.destination(one), guard)  # no number is a generic address
        else:
            super().compute(one, guard)

    def load_parameter(self, one: Statement, guard: int) -> None:
        """What the kernel gets."""
        to, operands = self.destination(one), one.operands or ()
        kind = INTEGER.search(one.opcode)
        if len(operands) == 2 and operands[1].parts and one.opcode.endswith(_FLOAT):
            source, offset = self.kernel.place_of(one, operands[1].parts[0])
            self.suppose_one(to, crc32(source.encode()), offset, guard)
            return
        if len(operands) != 2 or not operands[1].parts or kind is None:
            self.forget(one, to, guard)
            return
        part, size = operands[1].parts[0], int(kind[1]) // 8
        variable = one.scope.variable(part.names[0]) if one.scope is not None else None
        if variable is not None and variable not in self.kernel.graph.function.parameters:
            self.forget(one, to, guard)  # what a call returns
            return
        source, offset = self.kernel.place_of(one, part)
        for i, name in enumerate(to):
            at = offset + i * size
            if size == 2 * _WORD and name in self.kernel.halved:
                words = tuple(self.kernel.count_of(source, at + half, "i32") for half in (0, _WORD))
                self.pair(name, words, guard)
                continue
            leaf = self.kernel.count_of(source, at, "i64" if size == 8 else "i32")
            self.nodes.append(leaf)
            self.assign(name, leaf.outputs[0], guard)

    def suppose_one(self, to: Sequence[str], base: int, offset: int, guard: int) -> None:
        """Numbers that the text does not know, such as scale factors: a run supposes that each is 1.

        Args:
            base, offset: where they are, alike wherever they are read.
        """
        for i, register in enumerate(to):
            value: Value = Supposed(_ONE, hash((_NUMBER, base, offset + i * _WORD)))
            leaf = Leaf(self.computing("number"), (), (self.new(),), None, None, (), partial(_supposing, value))
            self.nodes.append(leaf)
            self.assign(register, leaf.outputs[0], guard)

    def load_global(self, one: Statement, guard: int) -> None:
        """Integers that the text does not know: a run supposes that later elements are larger."""
        to, operands = self.destination(one), one.operands or ()
        kind = INTEGER.search(one.opcode)
        if len(to) == 1 and len(operands) > 1 and operands[1].parts and one.opcode.endswith(_FLOAT):
            part = operands[1].parts[0]
            base = self.kernel.formulas.of(part.names[0], one.scope) if part.names and one.scope is not None else 0
            self.suppose_one(to, base, part.offset, guard)
            return
        if len(operands) < 2 or not operands[1].parts or kind is None:  # behind the address a cache policy
            self.forget(one, to, guard)
            return
        part, size = operands[1].parts[0], int(kind[1]) // 8
        for i, register in enumerate(to):
            if size == 2 * _WORD and register in self.kernel.halved:
                words = tuple(self.in_global(one, part, i * size + half, _WORD) for half in (0, _WORD))
                self.pair(register, words, guard)
                continue
            leaf = self.in_global(one, part, i * size, size)
            self.nodes.append(leaf)
            self.assign(register, leaf.outputs[0], guard)

    def in_global(self, one: Statement, part: Part, at: int, size: int) -> Leaf:
        """The integer of so many bytes that is so many bytes behind an address in global memory."""
        formula, array = 0, 0
        if part.names and one.scope is not None:
            base, offset = self.kernel.formulas.displaced(part.names[0], one.scope)
            formula = self.kernel.formulas.of(base, one.scope)
            array, at = self.kernel.array(self.kernel.formulas.array(base, one.scope)), at + offset
        at += part.offset
        make = partial(_loaded, at, size, array, hash((formula, at)))
        return Leaf(self.computing("load"), (), (self.new(),), None, None, (), make)

    def found(self, one: Statement) -> list[tuple[str, int]]:
        """The integer that ``cp.async`` copies to shared memory."""
        operands = one.operands or ()
        if not one.opcode.startswith(_COPY) or not all(operand.parts for operand in operands[:3]) or len(operands) < 3:
            return []
        size = operands[2].parts[0].value
        if size not in (_WORD, 2 * _WORD) or any(one.parts and one.parts[0].value != size for one in operands[3:4]):
            return []  # of fewer bytes in global memory the rest is zero
        leaf = self.in_global(one, operands[1].parts[0], 0, size)
        self.nodes.append(leaf)
        return [("found", leaf.outputs[0])]

    def count(self, one: Statement, guard: int) -> None:
        """What was in global memory before an atomic operation, such as the number of the next tile or of who is done.

        A run supposes that it is the first one of the grid (``actions/scalars.py`` says when there are no more).
        """
        to = self.destination(one)
        if len(to) != 1 or INTEGER.search(one.opcode) is None:
            self.forget(one, to, guard)
            return
        term = hash((_COUNTED, one.number - self.kernel.graph.function.first))

        def make(extents: Extents) -> Function:
            value: Value = Supposed(extents.number(term, 0), term)
            return lambda: (value,)

        first = Leaf(self.computing("atomic"), (), (self.new(),), None, None, (), make)
        self.nodes.append(first)
        if _COUNTER.search(one.opcode):
            slot = self.new()
            self.nodes.append(Leaf(self.computing("atomic"), first.outputs, (slot,), None, Step("counter", 0, 0, 0)))
            self.assign(to[0], slot, guard)
        else:
            self.assign(to[0], first.outputs[0], guard)

    def load_local(self, one: Statement, guard: int) -> None:
        """What the thread kept in its local memory."""
        to, operands = self.destination(one), one.operands or ()
        kind = INTEGER.search(one.opcode)
        if len(operands) != 2 or not operands[1].parts or kind is None:
            self.forget(one, to, guard)
            return
        size, address = int(kind[1]) // 8, self.operand(operands[1])[0]
        for i, register in enumerate(to):
            slot = self.new()
            pick = loaded(size, i * size, kind[0].startswith(".s"))
            self.give((slot,), (self.slots.get(LOCAL, self.unknown), address), pick)
            self.assign(register, slot, guard)

    def store_local(self, one: Statement, guard: int) -> None:
        """What the thread keeps in its local memory."""
        address, *values = (slot for operand in one.operands or () for slot in self.operand(operand))
        kind = INTEGER.search(one.opcode)
        bits = kind or _BITS.search(one.opcode)
        size = int(bits[1]) // 8 if bits is not None else 0
        slot = self.new()
        if kind is None:
            values = [self.unknown] * len(values)
        function = stored(size) if size else None
        self.give((slot,), (self.slots.get(LOCAL, self.unknown), address, *values), function)
        self.assign(LOCAL, slot, guard)

    def pair(self, name: str, words: tuple[Leaf, ...], guard: int) -> None:
        """A register that is taken apart: it holds two integers of its half size."""
        self.nodes += words
        slot = self.new()
        self.give((slot,), tuple(word.outputs[0] for word in words), lambda *parts: (pack(parts, 8 * _WORD),))
        self.assign(name, slot, guard)


def _halved(graph: Graph) -> frozenset[str]:
    """The registers that ``mov.b64`` of a function takes apart into two of 32 bits."""
    found = set[str]()
    for block in graph.blocks:
        for one in graph.module.instructions[block.first : block.last]:
            if one.opcode == "mov.b64":
                parts = _HALVES.match(graph.module.operands(one))
                if parts is not None:
                    found.add(parts[1])
    return frozenset(found)


def _loaded(at: int, size: int, array: int, term: int, extents: Extents) -> Function:
    """An integer of so many bytes in global memory, so many bytes behind the first, or before it: those are smaller.

    Args:
        array: the number of the array that it is in, in the order in which they are loaded.
    """
    apart = (extents.near if size == _WORD else 0) or extents.apart or extents.tensor
    uneven = array * extents.uneven
    usual = max(extents.tensor + uneven + at // _WORD * (apart + uneven), 0)
    value: Value = Supposed(extents.number(term, usual), term)
    return lambda: (value,)


__all__ = ["LOADS", "Compiled", "compile_function"]
