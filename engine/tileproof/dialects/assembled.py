"""What a kernel assembles by itself, held against what is known: descriptors against the memory that they describe and
the tensor map that filled it, instruction descriptors against the shapes that there are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tileproof import packing
from tileproof.canonical import NoDescriptor, Undecided, describe, operand, spelled
from tileproof.dialects.entities import resolve
from tileproof.dialects.knownbits import Known, fold, memory_of
from tileproof.dialects.scopes import Scope, walk
from tileproof.dialects.tensormaps import Arguments, TensorMap, argument_of, kernel_name, mode_of
from tileproof.dialects.values import Pointer, Tensor, read_type
from tileproof.facts import Facts
from tileproof.ir import Alias, Operation
from tileproof.layout.values import Layout, Swizzle
from tileproof.rule import Lookup, Number, Rulebook, Scalar
from tileproof.words import Word

_WORD, _INSTRUCTION = "tcgen05.descriptor", "tcgen05.instruction_descriptor"
_KIND = re.compile(r"tcgen05_mma_kind<(\w+)>")
_GROUP = re.compile(r"cta_group<cta_(\d)>")


def assembled(
    book: Rulebook, contract: str, operations: Sequence[Operation], aliases: dict[str, Alias], arguments: Arguments
) -> Iterator[Facts]:
    """The configurations that the rules judge, in textual order.

    Args:
        arguments: the tensor maps that the kernels get.
    """
    run = _Run(book, contract, aliases, arguments)
    for operation, scope in walk(operations):
        if operation.name == "nvvm.tcgen05.mma":
            yield from run.mma(operation, scope)
        elif operation.name.startswith("nvvm.cp.async.bulk.tensor.shared"):
            run.written(operation, scope)
        elif operation.name in ("cute.copy", "cute.copy_atom_call"):
            yield from run.copy(operation, scope)


@dataclass(slots=True)
class _Run:
    """One walk through a module: which tensor map filled which allocation so far."""

    book: Rulebook
    contract: str
    aliases: dict[str, Alias]
    arguments: Arguments
    filled: dict[int, tuple[Operation, TensorMap | None]] = field(default_factory=dict)

    def tensor_map(self, name: str, scope: Scope) -> TensorMap | None:
        found = argument_of(name, scope)
        return None if found is None else self.arguments.get((kernel_name(found[0]) or "", found[1]))

    def written(self, operation: Operation, scope: Scope) -> None:
        """A bulk tensor copy into shared memory. An allocation that several maps fill belongs to none of them."""
        memory = memory_of(operation.operands[0], scope)
        if memory is None:
            return
        tensor_map = self.tensor_map(operation.operands[1], scope)
        before = self.filled.setdefault(id(memory), (memory, tensor_map))
        if before[1] != tensor_map:
            self.filled[id(memory)] = (memory, None)

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
                mode = mode_of(self.book, memory.iterator.swizzle)
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
        word = fold(operation.operands[3], scope).value
        if word is not None:
            try:
                instruction = packing.unpack(self.book, self.contract, _INSTRUCTION, word, {"kind": f".{kind[1]}"})
            except packing.PackError as error:
                values: dict[str, Scalar] = {"meaningful": ".no"}
                yield Facts("assembled_instruction", values, {"meaningful": str(error)}, {}, operation.name_span)
        group = _GROUP.search(text)
        ctas = int(group[1]) if group is not None else 1
        in_memory = len(operation.inputs) > 1 and operation.inputs[1].text == "i64"
        shape = None if instruction is None else self.shape(instruction, ctas, in_memory)
        if shape is not None:
            yield Facts("umma", shape, {}, {}, operation.name_span)
        for role, index in (("A", 1), ("B", 2)):
            if role == "A" and not in_memory:
                continue
            descriptor = fold(operation.operands[index], scope)
            if descriptor.width == 64:
                yield from self.descriptor(operation, role, descriptor, shape, ctas)

    def shape(self, instruction: dict[str, Scalar], ctas: int, in_memory: bool) -> dict[str, Scalar] | None:
        """What the rules on the atoms of the IR judge, of an instruction without scale factors."""
        row = self.book.tables["umma", self.contract].rows.get((str(instruction.get("a.type")),))
        table = self.book.tables["umma", self.contract]
        column = table.column("k")
        if row is None or column is None or not isinstance(row[column], int):
            return None
        names = ("M", "N", "a.type", "b.type", "d.type", "a.major", "b.major", "sparse")
        if any(name not in instruction for name in names):
            return None
        dense = row[column]
        assert isinstance(dense, int)
        found = {name: instruction[name] for name in names}
        found |= {"K": dense * (2 if instruction["sparse"] == ".yes" else 1), "ctas": ctas, "ws": ".no", "c_scale": 0}
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
        except packing.PackError as error:
            values["meaningful"], spell["meaningful"] = ".no", str(error)
        filled = self.filled.get(id(descriptor.memory)) if descriptor.memory is not None else None
        tensor_map = filled[1] if filled is not None else None
        if tensor_map is not None and isinstance(swizzle := known.get("swizzle"), str):
            says = f"the descriptor of {role} {_name(swizzle)}"
            pair: dict[str, Scalar] = {"written": tensor_map.swizzle, "read": swizzle}
            yield Facts(
                "smem_exchange", pair, {"written": _name(tensor_map.swizzle), "read": says}, {}, operation.name_span
            )
            if tensor_map.swizzle == swizzle and shape is not None:
                reason = self.differs(role, known, tensor_map, shape, ctas)
                values["agrees"] = ".yes" if reason is None else ".no"
                spell["agrees"] = reason or ""
        yield Facts("assembled_descriptor", values, spell, {}, operation.name_span)

    def fields(self, descriptor: Known) -> dict[str, Scalar]:
        """The fields of a descriptor whose bits are all known.

        Raises:
            PackError: one of them has a code without a meaning.
        """
        word: Word = packing.word_for(self.book, self.contract, _WORD, {})
        code, stray = 0, descriptor.ones
        certain: set[str] = set()
        for one in word.fields:
            stray &= ~one.mask
            if descriptor.unknown & one.mask == 0:
                code |= descriptor.ones & one.mask
                certain.add(one.name)
            else:
                code |= _any_code(self.book, self.contract, word, one.name)
        found = packing.unpack(self.book, self.contract, _WORD, code | stray)
        return {name: value for name, value in found.items() if name in certain}

    def differs(
        self, role: str, known: dict[str, Scalar], tensor_map: TensorMap, shape: dict[str, Scalar], ctas: int
    ) -> str | None:
        """Where a descriptor is not that of the box that TMA wrote; None where it is, or where that is not known."""
        if tensor_map.box is None or len(tensor_map.box) < 2 or tensor_map.bits is None:
            return None
        inner, outer = tensor_map.box[:2]
        rows, columns = shape["M" if role == "A" else "N"], shape["K"]
        major = str(shape["a.major" if role == "A" else "b.major"])
        assert isinstance(rows, int) and isinstance(columns, int)
        layout = Layout((outer, inner), (inner, 1)) if major == ".k" else Layout((inner, outer), (1, inner))
        row = self.book.tables["smem_swizzle", "ptx"].rows.get((tensor_map.swizzle,))
        if row is None:
            return None
        bits, base, shift = row[:3]
        assert isinstance(bits, int) and isinstance(base, int) and isinstance(shift, int)
        try:
            whole = operand(self.book, layout, tensor_map.bits, (rows // ctas, columns), Swizzle(bits, base, shift))
            needed = describe(self.book, self.contract, _WORD, whole.tile, major)
        except (NoDescriptor, Undecided):
            return None  # the operand is more than one box
        for name in ("lbo", "sbo"):
            if name in known and name not in needed.unread and known[name] != needed.facts[name]:
                return (
                    f"'{name}' is {known[name]} bytes, a box of {inner}x{outer} elements with the swizzle "
                    f"{spelled(self.book, needed.swizzle)} needs {needed.facts[name]}"
                )
        return None


def _any_code(book: Rulebook, contract: str, word: Word, name: str) -> int:
    """Some code of a field, at its place: stands for one that is not known."""
    one = next(f for f in word.fields if f.name == name)
    if isinstance(one.value, Lookup):
        table = book.tables[one.value.table, contract]
        column = table.column(one.value.column)
        assert column is not None, "checked when the rulebook was loaded"
        cell = next(iter(table.rows.values()))[column]
        return cell << one.low if isinstance(cell, int) else 0
    return one.value.value << one.low if isinstance(one.value, Number) else 0


def _name(mode: str) -> str:
    return {".none": "none"}.get(mode, mode.removeprefix(".b").replace("_atom", "b"))
