"""What a kernel assembles by itself, held against what is known: descriptors against the memory that they describe and
the tensor map that filled it, instruction descriptors against the shapes that there are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import field
from itertools import pairwise

from tileproof.base.records import dataclass
from tileproof.descriptors.canonical import NoDescriptor, Undecided, describe, operand, spelled
from tileproof.dialects.facts import Facts
from tileproof.dialects.operands import resolve
from tileproof.dialects.operations import Operations
from tileproof.dialects.values import Pointer, Tensor, read_type
from tileproof.evaluate import bitfields
from tileproof.layout import crd2idx, size
from tileproof.layout.values import Layout, Swizzle
from tileproof.memory.known_bits import Known, fold
from tileproof.memory.pointers import Places
from tileproof.memory.tensor_maps import Arguments, TensorMap, argument_of, kernel_name, mode_of
from tileproof.mlir.ir import Alias, Operation
from tileproof.mlir.scopes import Scope, walk
from tileproof.rulebase.bitfield import Word
from tileproof.rulebase.book import Ruleset
from tileproof.rulebase.expression import Lookup, Number, Scalar

_WORD, _INSTRUCTION = "tcgen05.descriptor", "tcgen05.instruction_descriptor"
_BLOCK = re.compile(r"block_scale<(?:block)?(\w+)>")
_KIND = re.compile(r"tcgen05_mma_kind<(\w+)>")
_GROUP = re.compile(r"cta_group<cta_(\d)>")


def assembled(
    ruleset: Ruleset, operations: Sequence[Operation], aliases: dict[str, Alias], arguments: Arguments
) -> Iterator[Facts]:
    """The configurations that the rules judge, in textual order.

    Args:
        arguments: the tensor maps that the kernels get.
    """
    known = Operations.of(ruleset.book)
    run = _Run(ruleset, aliases, arguments, Places(known, aliases))
    for operation, scope in walk(operations):
        match known.step(operation.name):
            case "raw_mma":
                yield from run.mma(operation, scope)
            case "bulk_load":
                run.written(operation, scope)
            case "copy":
                yield from run.copy(operation, scope)


@dataclass(frozen=True, slots=True)
class _Box:
    """What a bulk tensor copy writes.

    Attributes:
        start: bytes from the start of the allocation; None if it is a run-time value.
        tensor_map: None where it is not known.
    """

    memory: Operation
    start: int | None
    tensor_map: TensorMap | None


@dataclass(slots=True)
class _Run:
    """One walk through a module: which boxes filled each allocation so far."""

    ruleset: Ruleset
    aliases: dict[str, Alias]
    arguments: Arguments
    places: Places
    filled: dict[int, list[_Box]] = field(default_factory=dict)

    def tensor_map(self, name: str, scope: Scope) -> TensorMap | None:
        found = argument_of(name, scope, self.places.operations)
        return None if found is None else self.arguments.get((kernel_name(found[0]) or "", found[1]))

    def written(self, operation: Operation, scope: Scope) -> None:
        """A bulk tensor copy into shared memory."""
        if len(operation.operands) < 2:
            return
        place = self.places.of(operation.operands[0], scope)
        if place is not None:
            box = _Box(place.allocation, place.start, self.tensor_map(operation.operands[1], scope))
            boxes = self.filled.setdefault(id(place.allocation), [])
            if box not in boxes:
                boxes.append(box)

    def copy(self, operation: Operation, scope: Scope) -> Iterator[Facts]:
        """A copy through TMA: its tensor map against the swizzle of the memory in the kernel."""
        if len(operation.operands) < 3 or not operation.inputs:
            return
        if ".atom.tma_" not in resolve(operation.inputs[0].text, self.aliases):
            return
        tensor_map = self.tensor_map(operation.operands[0], scope)
        if tensor_map is None:
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
                    says = f"the kernel's pointer {_name(mode)}"
                    spell = {"written": _name(tensor_map.swizzle), "read": says}
                    yield Facts("smem_exchange", values, spell, {}, use.span)

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
            shape = self.scaled(instruction, ctas, in_memory, _BLOCK.search(text))
            yield Facts("umma.scaled", shape, {}, {}, operation.name_span)
            ids = {name: instruction[name] for name in ("kind", "sfa_id", "sfb_id")}
            yield Facts("tcgen05.instruction_descriptor", ids, {}, {}, operation.name_span)
        elif instruction is not None:
            shape = self.shape(instruction, ctas, in_memory)
            if shape is not None:
                shape["ws"] = ".yes" if ".ws" in operation.name else ".no"
                yield Facts("umma", shape, {}, {}, operation.name_span)
        for role, index in (("A", 1), ("B", 2)):
            if role == "A" and not in_memory:
                continue
            descriptor = fold(self.ruleset.book, operation.operands[index], scope, self.places)
            if descriptor.width == 64:
                yield from self.descriptor(operation, role, descriptor, shape, ctas)

    def scaled(
        self, instruction: dict[str, Scalar], ctas: int, in_memory: bool, block: re.Match[str] | None
    ) -> dict[str, Scalar]:
        """The facts for the rules on the block-scaled atoms of the IR."""
        names = ("M", "N", "a.type", "b.type", "sparse")
        found = {name: instruction[name] for name in names}
        kind, sparse = instruction["kind"], instruction["sparse"] == ".yes"
        dense, promoted, scaled = self.ruleset.book.shared_table("umma_scaled_k").rows[str(kind),]
        assert isinstance(dense, int) and isinstance(promoted, int) and isinstance(scaled, int)
        k96 = instruction.get("k96") == ".yes"
        found["K"] = promoted if k96 else dense * (2 if sparse else 1)
        found |= {"ctas": ctas, "d.type": ".f32", "promoted": ".yes" if k96 else ".no"}
        found |= {name: instruction.get(name, ".k") for name in ("a.major", "b.major")}
        scale = instruction["sf.type"]
        found["sf.type"] = ".e4m3" if scale == ".ue4m3" else scale
        written = block[1] if block is not None else ""
        if written.isdecimal():
            found["vec_size"] = int(written)
        elif scaled:
            found["vec_size"] = scaled
        found["a.source"] = ".smem_desc" if in_memory else ".tmem"
        return found

    def shape(self, instruction: dict[str, Scalar], ctas: int, in_memory: bool) -> dict[str, Scalar] | None:
        """The facts for the rules on the atoms of the IR, of an instruction without scale factors."""
        table = self.ruleset.book.tables.get(("umma", self.ruleset.contract))
        if table is None:  # the reference pages have no K of a kind
            return None
        row = table.rows.get((str(instruction.get("a.type")),))
        column = table.column("k")
        if row is None or column is None or not isinstance(row[column], int):
            return None
        names = ("M", "N", "a.type", "b.type", "d.type", "a.major", "b.major", "sparse")
        if any(name not in instruction for name in names):
            return None
        dense = row[column]
        assert isinstance(dense, int)
        found = {name: instruction[name] for name in names}
        found |= {"K": dense * (2 if instruction["sparse"] == ".yes" else 1), "ctas": ctas, "c_scale": 0}
        found["a.source"] = ".smem_desc" if in_memory else ".tmem"
        return found

    def descriptor(
        self, operation: Operation, role: str, descriptor: Known, shape: dict[str, Scalar] | None, ctas: int
    ) -> Iterator[Facts]:
        """A descriptor of which some fields are known."""
        values: dict[str, Scalar] = {"operand": f".{role.lower()}"}
        spell: dict[str, str] = {}
        known: dict[str, Scalar] = {}
        try:
            known = self.fields(descriptor)
            values["meaningful"] = ".yes"
        except bitfields.PackError as error:
            values["meaningful"], spell["meaningful"] = ".no", str(error)
        boxes = self.filled.get(id(descriptor.memory), []) if descriptor.memory is not None else []
        maps = {box.tensor_map for box in boxes}
        tensor_map = maps.pop() if len(maps) == 1 else None  # memory that several maps fill belongs to none of them
        if tensor_map is not None and isinstance(swizzle := known.get("swizzle"), str):
            says = f"the descriptor of {role} {_name(swizzle)}"
            pair: dict[str, Scalar] = {"written": tensor_map.swizzle, "read": swizzle}
            yield Facts(
                "smem_exchange", pair, {"written": _name(tensor_map.swizzle), "read": says}, {}, operation.name_span
            )
            if tensor_map.swizzle == swizzle and shape is not None:
                starts = sorted(box.start for box in boxes if box.start is not None)
                reason = self.differs(
                    role, known, tensor_map, shape, ctas, starts if len(starts) == len(boxes) else [], descriptor.start
                )
                values["agrees"] = ".yes" if reason is None else ".no"
                spell["agrees"] = reason or ""
        yield Facts("assembled_descriptor", values, spell, {}, operation.name_span)

    def fields(self, descriptor: Known) -> dict[str, Scalar]:
        """The fields of a descriptor whose bits are all known.

        Raises:
            PackError: one of them has a code without a meaning.
        """
        word: Word = bitfields.word_for(self.ruleset, _WORD, {})
        code, stray = 0, descriptor.ones
        certain: set[str] = set()
        for one in word.fields:
            stray &= ~one.mask
            if descriptor.unknown & one.mask == 0:
                code |= descriptor.ones & one.mask
                certain.add(one.name)
            else:
                code |= _any_code(self.ruleset, word, one.name)
        found = bitfields.unpack(self.ruleset, _WORD, code | stray)
        return {name: value for name, value in found.items() if name in certain}

    def differs(
        self,
        role: str,
        known: dict[str, Scalar],
        tensor_map: TensorMap,
        shape: dict[str, Scalar],
        ctas: int,
        starts: list[int],
        start: int | None,
    ) -> str | None:
        """The mismatch of a descriptor with the layout that TMA wrote; None if there is none, or it is not known.

        Args:
            starts: where the boxes begin in the allocation, ascending; none where that is not known of all.
            start: where the descriptor begins in the allocation.
        """
        if tensor_map.box is None or len(tensor_map.box) < 2 or tensor_map.bits is None:
            return None
        rows, columns = shape["M" if role == "A" else "N"], shape["K"]
        assert isinstance(rows, int) and isinstance(columns, int)
        rows //= ctas
        if role == "A" and shape["sparse"] == ".yes":
            columns //= 2
        major = str(shape["a.major" if role == "A" else "b.major"])
        side_by_side = _boxes(tensor_map, rows, major, starts)
        row = self.ruleset.book.shared_table("smem_swizzle").rows.get((tensor_map.swizzle,))
        if row is None or side_by_side is None:
            return None
        layout, begins = side_by_side
        bits, base, shift = row[:3]
        assert isinstance(bits, int) and isinstance(base, int) and isinstance(shift, int)
        try:
            whole = operand(self.ruleset.book, layout, tensor_map.bits, (rows, columns), Swizzle(bits, base, shift))
            needed = describe(self.ruleset, _WORD, whole.tile, major)
        except (NoDescriptor, Undecided):
            return None  # the operand is cut out of the boxes in another way
        inner, outer = tensor_map.box[:2]
        boxes = f"a box of {inner}x{outer} elements with the swizzle {spelled(self.ruleset.book, needed.swizzle)}"
        for name in ("lbo", "sbo"):
            if name in known and name not in needed.unread and known[name] != needed.facts[name]:
                return f"'{name}' is {known[name]} bytes, {boxes} needs {needed.facts[name]}"
        tiles = _starts(whole.rest, tensor_map.bits)
        if start is None or not begins or any(start - first in tiles for first in begins):
            return None
        known_starts = sorted({first + tile for first in begins for tile in tiles})
        shown = ", ".join(map(str, known_starts[:6])) + (", ..." if len(known_starts) > 6 else "")
        return f"it begins at byte {start} of the allocation, tiles of {rows}x{columns} begin at {shown}"


def _boxes(tensor_map: TensorMap, rows: int, major: str, starts: list[int]) -> tuple[Layout, list[int]] | None:
    """The layout ``(mn,k)`` of the boxes that hold the rows of one instruction, and where such layouts begin.

    One box may hold them all; else as many boxes as needed at equal distances. None otherwise.
    """
    assert tensor_map.box is not None and tensor_map.bits is not None, "asked before"
    inner, outer = tensor_map.box[:2]
    along = outer if major == ".k" else inner
    if along >= rows:
        one = Layout((outer, inner), (inner, 1)) if major == ".k" else Layout((inner, outer), (1, inner))
        return one, starts
    count = -(-rows // along)
    steps = {after - before for before, after in pairwise(starts)}
    if rows % along or len(starts) != count or len(steps) != 1:
        return None
    step = steps.pop() * 8 // tensor_map.bits
    if major == ".k":
        return Layout(((outer, count), inner), ((inner, step), 1)), starts[:1]
    return Layout(((inner, count), outer), ((1, step), inner)), starts[:1]


def _starts(rest: Layout | None, bits: int) -> set[int]:
    """The bytes at which the tiles of an operand begin."""
    count = size(rest) if rest is not None else 1
    if rest is None or not isinstance(count, int):
        return {0}
    offsets = (crd2idx(index, rest) for index in range(count))
    return {offset * bits // 8 for offset in offsets if isinstance(offset, int)}


def _any_code(ruleset: Ruleset, word: Word, name: str) -> int:
    """Some code of a field, at its place, for an unknown one."""
    one = next(f for f in word.fields if f.name == name)
    if isinstance(one.value, Lookup):
        table = ruleset.table(one.value.table)
        column = table.column(one.value.column)
        assert column is not None, "checked when the rulebook was loaded"
        cell = next(iter(table.rows.values()))[column]
        return cell << one.low if isinstance(cell, int) else 0
    return one.value.value << one.low if isinstance(one.value, Number) else 0


def _name(mode: str) -> str:
    return {".none": "none"}.get(mode, mode.removeprefix(".b").replace("_atom", "b"))
