"""What a kernel assembles by itself, held against what is known: descriptors against the memory that they describe and
the tensor map that filled it, instruction descriptors against the shapes that there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain

from tileproof.base.patterns import regex
from tileproof.base.records import dataclass, field
from tileproof.dialects.configuration import Facts
from tileproof.dialects.operands import resolve
from tileproof.dialects.operations import Operations
from tileproof.dialects.values import Pointer, Tensor, read_type
from tileproof.evaluate import bitfields
from tileproof.layout.values import Layout
from tileproof.memory.bulk_copies import atom_facts, bulk_facts, tensor_facts
from tileproof.memory.fills import Filled, Fills
from tileproof.memory.instruction_words import known_fields, plain_shape, scaled_shape
from tileproof.memory.joined_operands import Joins, Reader, mode_name
from tileproof.memory.known_bits import computes, fold
from tileproof.memory.pointers import Places, size_of
from tileproof.memory.tensor_maps import mode_of
from tileproof.memory.wgmma_operands import Multiply, multiply
from tileproof.mlir.ir import Alias, Operation
from tileproof.mlir.scopes import Scope, walk
from tileproof.rulebase.book import Ruleset
from tileproof.rulebase.expression import Scalar

_WORD, _INSTRUCTION = "tcgen05.descriptor", "tcgen05.instruction_descriptor"
_WGMMA_WORD = "wgmma.descriptor"
_BLOCK = regex(r"block_scale<(?:block)?(\w+)>")
_KIND = regex(r"tcgen05_mma_kind<(\w+)>")
_GROUP = regex(r"cta_group<cta_(\d)>")
_SHAPE = {"M", "N", "K", "a.type", "b.type", "a.major", "b.major"}  # what a join asks of a wgmma


def assembled(
    ruleset: Ruleset,
    operations: Sequence[Operation],
    aliases: dict[str, Alias],
    fills: Fills,
    multiplies: Callable[[Operation], Iterable[Multiply]],
) -> Iterator[Facts]:
    """The configurations that the rules judge, in textual order.

    Args:
        fills: what bulk tensor copies write, to be filled.
        multiplies: the wgmma that an operation with inline assembly executes.
    """
    known = Operations.of(ruleset.book)
    run = _Run(ruleset, aliases, Places(known, aliases), fills)
    for operation, scope in walk(operations):
        match known.step(operation.name):
            case "raw_mma":
                yield from run.mma(operation, scope)
            case "raw_wgmma":
                one = multiply(operation)
                yield from run.wgmma(operation, scope, one) if one is not None else ()
            case "opaque":
                for one in multiplies(operation):
                    yield from run.wgmma(operation, scope, one)
            case "bulk_load":
                yield from run.written(operation, scope)
            case "bulk_store" | "raw_copy":
                yield from run.bulk(operation, scope)
            case "copy":
                yield from run.copy(operation, scope)
    yield from run.joined(operations)


@dataclass(frozen=True, slots=True)
class _Use:
    """A use of shared memory by something that is no part of a join.

    Attributes:
        start: bytes from the start of the allocation, as far as they are static; None where nothing is known of it.
        writes: whether it may write.
    """

    memory: Operation
    start: int | None
    writes: bool

    def meets(self, filled: Filled) -> bool:
        """Whether it may be of the part of memory that a tensor map fills, its first stage where it is a ring."""
        if self.memory is not filled.boxes[0].memory:
            return False
        return self.start is None or filled.first <= self.start < filled.first + filled.length


@dataclass(slots=True)
class _Run:
    """One walk through a module: the boxes that fill each allocation and the operands that are read, to be joined."""

    ruleset: Ruleset
    aliases: dict[str, Alias]
    places: Places
    fills: Fills
    read: list[list[Reader]] = field(default_factory=list)

    def written(self, operation: Operation, scope: Scope) -> Iterator[Facts]:
        """A bulk tensor copy into shared memory."""
        if len(operation.operands) < 2:
            return
        place = self.places.of(operation.operands[0], scope)
        if place is not None:
            self.fills.add(place, operation, scope)
            facts = tensor_facts(self.ruleset.book, operation, place, self.aliases)
            yield from [facts] if facts is not None else []

    def bulk(self, operation: Operation, scope: Scope) -> Iterator[Facts]:
        """A bulk copy of bytes, or of a tensor out of shared memory."""
        found = (self.places.of(name, scope) for name in operation.operands[:2])
        sides = [place for place in found if place is not None]
        if operation.name in self.ruleset.book.enums["bulk_operation"].by_spelling:
            facts = bulk_facts(self.ruleset.book, operation, scope, sides, self.aliases)
        else:
            facts = tensor_facts(self.ruleset.book, operation, sides[0], self.aliases) if sides else None
        yield from [facts] if facts is not None else []

    def copy(self, operation: Operation, scope: Scope) -> Iterator[Facts]:
        """A copy through TMA: its tensor map against the swizzle of the memory in the kernel."""
        if len(operation.operands) < 3 or not operation.inputs:
            return
        atom = resolve(operation.inputs[0].text, self.aliases)
        if ".atom.bulk_copy" in atom:
            facts = atom_facts(operation, self.aliases)
            yield from [facts] if facts is not None else []
        if ".atom.tma_" not in atom:
            return
        for name in operation.operands[1:3]:
            place = self.places.of(name, scope)
            facts = tensor_facts(self.ruleset.book, operation, place, self.aliases) if place is not None else None
            yield from [facts] if facts is not None else []
        tensor_map = self.fills.tensor_map(operation.operands[0], scope)
        if tensor_map is None or tensor_map.swizzle is None:
            return
        for use in operation.inputs[1:]:
            memory = read_type(resolve(use.text, self.aliases))
            if (
                isinstance(memory, Tensor)
                and isinstance(memory.iterator, Pointer)
                and isinstance(memory.layout, Layout)
            ):
                mode = mode_of(self.ruleset.book, memory.iterator.swizzle)
                if memory.iterator.space == "smem" and mode is not None:
                    values: dict[str, Scalar] = {"written": tensor_map.swizzle, "read": mode}
                    says = f"the kernel's pointer {mode_name(mode)}"
                    spell = {"written": mode_name(tensor_map.swizzle), "read": says}
                    made = tensor_map.made
                    ends = () if made is None else ((".map", made.name_span),)
                    yield Facts("smem_exchange", values, spell, {}, use.span, ends)

    def mma(self, operation: Operation, scope: Scope) -> Iterator[Facts]:
        """A tensor-memory MMA in the style of primitives: D, A, B, the instruction descriptor, enable."""
        text = " ".join(operation.pieces) + " ".join(a.text for a in operation.attributes)
        kind = _KIND.search(text)
        if len(operation.operands) < 4 or kind is None:
            return
        instruction: dict[str, Scalar] | None = None
        word = fold(self.ruleset.book, operation.operands[3], scope).value
        if word is not None:
            try:
                instruction = bitfields.unpack(self.ruleset, _INSTRUCTION, word, {"kind": f".{kind[1]}"})
            except bitfields.PackError as error:
                values: dict[str, Scalar] = {"meaningful": ".no"}
                yield Facts("assembled_instruction", values, {"meaningful": str(error)}, {}, operation.name_span)
        group = _GROUP.search(text)
        ctas = int(group[1]) if group is not None else 1
        in_memory = len(operation.inputs) > 1 and operation.inputs[1].text == "i64"
        shape = None
        if instruction is not None and (f".{kind[1]}",) in self.ruleset.book.shared_table("umma_scaled_k").rows:
            written = _BLOCK.search(text)
            vector = int(written[1]) if written is not None and written[1].isdecimal() else None
            shape = scaled_shape(self.ruleset, instruction, ctas, in_memory, vector)
            yield Facts("umma.scaled", shape, {}, {}, operation.name_span)
            ids = {name: instruction[name] for name in ("kind", "sfa_id", "sfb_id")}
            yield Facts("tcgen05.instruction_descriptor", ids, {}, {}, operation.name_span)
        elif instruction is not None:
            shape = plain_shape(self.ruleset, instruction, ctas, in_memory)
            if shape is not None:
                shape["ws"] = ".yes" if ".ws" in operation.name else ".no"
                yield Facts("umma", shape, {}, {}, operation.name_span)
        operands = {"B": operation.operands[2]}
        if in_memory:
            operands = {"A": operation.operands[1], **operands}
        yield from self.reads(operation, scope, operands, shape, ctas, _WORD)

    def wgmma(self, operation: Operation, scope: Scope, one: Multiply) -> Iterator[Facts]:
        """A wgmma on descriptors."""
        operands = {"B": one.b} if one.a is None else {"A": one.a, "B": one.b}
        shape = one.facts if one.facts.keys() >= _SHAPE else None
        yield from self.reads(operation, scope, operands, shape, 1, _WGMMA_WORD)

    def reads(
        self,
        operation: Operation,
        scope: Scope,
        operands: Mapping[str, str],
        shape: Mapping[str, Scalar] | None,
        ctas: int,
        word: str,
    ) -> Iterator[Facts]:
        """The descriptors of an MMA, by role the values that they are: each by itself, and noted to be joined."""
        readers = []
        for role, name in operands.items():
            descriptor = fold(self.ruleset.book, name, scope, self.places)
            if descriptor.width != 64:
                continue
            fields: dict[str, Scalar] = {}
            judged: dict[str, Scalar] = {"operand": f".{role.lower()}", "meaningful": ".yes"}
            spell: dict[str, str] = {}
            try:
                fields = known_fields(self.ruleset, word, descriptor.ones, descriptor.unknown)
            except bitfields.PackError as error:
                judged["meaningful"], spell["meaningful"] = ".no", str(error)
            reader = Reader(operation, role, descriptor, fields, shape, ctas, word)
            yield Facts("assembled_descriptor", judged, spell, {}, reader.made)
            readers.append(reader)
        self.read.append(readers)

    def joined(self, operations: Sequence[Operation]) -> Iterator[Facts]:
        """The operands that MMAs read against the boxes that fill their memory."""
        alike: dict[tuple[int, str], list[Reader]] = {}
        for reader in chain.from_iterable(self.read):
            alike.setdefault((id(reader.descriptor.memory), reader.role), []).append(reader)
        joins = Joins(self.ruleset, alike)
        others: list[_Use] | None = None
        for readers in self.read:
            pair = []
            for reader in readers:
                memory, start = reader.descriptor.memory, reader.descriptor.start
                filled = None
                if memory is not None:
                    filled = self.fills.filled(memory, start, size_of(memory, self.aliases))
                sibling = next((other for other in readers if other is not reader), None)
                facts, one = joins.operand(reader, filled, sibling.element if sibling is not None else None)
                if facts and one is None and filled is not None:
                    others = list(self.other_uses(operations)) if others is None else others
                    if any(use.writes and use.meets(filled) for use in others):
                        continue  # what was copied there may be gone
                yield from facts
                pair += [one] if one is not None else []
            if len(pair) == 2:
                yield from joins.pair(*pair)
        for part, unread in joins.unread():
            others = list(self.other_uses(operations)) if others is None else others
            if not any(use.meets(part) for use in others):
                yield unread

    def other_uses(self, operations: Sequence[Operation]) -> Iterator[_Use]:
        """The uses of shared memory by others than bulk tensor copies and descriptors, as far as operands show them."""
        known = self.places.operations
        book = self.ruleset.book
        reading = book.enums["memory_reader"].by_spelling
        joined = {id(reader.operation) for readers in self.read for reader in readers}
        for operation, scope in walk(operations):
            step = known.step(operation.name)
            if step in ("bulk_load", "raw_mma", "raw_wgmma", "allocate") or id(operation) in joined:
                continue
            if known.moves(operation) or computes(book, operation):
                continue
            for name in operation.operands:
                place = self.places.of(name, scope)
                writes = step != "read" and operation.name not in reading
                if place is not None:
                    yield _Use(place.allocation, place.base, writes)
                    continue
                value = fold(self.ruleset.book, name, scope, self.places)
                if value.memory is not None:
                    yield _Use(value.memory, value.start, writes)
