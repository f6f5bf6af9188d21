"""Descriptors of the parts of one tile: MMAs that add up along K read it in one way.

Where a tensor map of the host copies a tile, PTX does not say with which swizzle. But the parts of a tile start in one
row of memory, at one address and what is added to it: fields that differ between their descriptors are wrong in one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tileproof.base.records import dataclass
from tileproof.dataflow.operands import place
from tileproof.dialects.configuration import Facts
from tileproof.evaluate import bitfields, hardware
from tileproof.memory.instruction_words import judged_fields
from tileproof.ptx.graph import Graph
from tileproof.ptx.matrices import MatrixDescriptor, matrix_descriptors
from tileproof.ptx.text import Part
from tileproof.ptx.values import Definition, Values
from tileproof.rulebase.book import Ruleset
from tileproof.rulebase.expression import Scalar

_DEEPEST = 16  # instructions that a descriptor is followed back through
_FIELDS = ("swizzle", "sbo")


@dataclass(frozen=True, slots=True)
class _Start:
    """Where a tile starts: the value that one instruction wrote, and how much was added to it."""

    base: Definition
    added: int


def tile_facts(ruleset: Ruleset, graph: Graph, values: Values) -> Iterator[Facts]:
    """Two descriptors each that disagree about a tile; no thread waits between the MMAs."""
    seen: dict[tuple[object, ...], list[tuple[_Start, dict[str, Scalar]]]] = {}
    said: set[tuple[object, ...]] = set()
    row = hardware.widest_row(ruleset.book) // hardware.descriptor_unit(ruleset.book)
    for number in range(graph.function.first, graph.function.last):
        opcode = graph.module.instructions[number].opcode
        if opcode.startswith(("mbarrier.try_wait", "mbarrier.test_wait", "bar.", "barrier.")):
            seen.clear()  # what comes behind may read what was copied anew
        if not opcode.startswith(("tcgen05.mma", "wgmma.mma")):
            continue
        operands = values.operands(number)
        texts = [graph.module.operands(graph.module.instructions[number]).partition(",")[0]] if operands else []
        for one in matrix_descriptors(ruleset, graph, values, number):
            start = _start(ruleset, graph, values, one)
            if start is None:
                continue
            before = seen.setdefault((opcode, one.role, one.major, *_accumulator(values, number, texts)), [])
            fields = _fields(ruleset, one)
            for other, held in before:
                if other.base == start.base and abs(other.added - start.added) < row:
                    found = _differing(one.role, fields, held)
                    key = (one.role, fields.get("swizzle"), held.get("swizzle"), found[1])
                    if found[0] and key not in said:
                        said.add(key)
                        spelled = {"strides": found[1]} if found[1] else {}
                        yield Facts("matrix_tile", found[0], spelled, {}, place(graph, number, one.operand))
                    break
            else:
                before.append((start, fields))


def _differing(role: str, fields: Mapping[str, Scalar], other: Mapping[str, Scalar]) -> tuple[dict[str, Scalar], str]:
    """What two descriptors of a tile disagree about, and the strides where they do; nothing where they agree."""
    values: dict[str, Scalar] = {}
    strides = ""
    if "swizzle" in fields and "swizzle" in other and fields["swizzle"] != other["swizzle"]:
        values |= {"swizzle": fields["swizzle"], "other": other["swizzle"]}
    elif "sbo" in fields and "sbo" in other and fields["sbo"] != other["sbo"]:
        values["strides"], strides = ".no", f"with an SBO of {fields['sbo']} and of {other['sbo']}"
    return ({"operand": f".{role}", **values} if values else {}), strides


def _accumulator(values: Values, number: int, texts: list[str]) -> tuple[object, ...]:
    """What says where an MMA accumulates, and its shape: the text of the registers, or the values that address it."""
    operands = values.operands(number)
    if operands and operands[0].address and len(operands) > 3:
        return (*_names(operands[0].parts), *_names(operands[3].parts))
    return tuple(" ".join(text.split()) for text in texts)


def _names(parts: tuple[Part, ...]) -> tuple[object, ...]:
    return tuple((part.names, part.offset, part.value) for part in parts)


def _fields(ruleset: Ruleset, one: MatrixDescriptor) -> dict[str, Scalar]:
    """The known fields of a descriptor that are those of its whole tile."""
    try:
        fields, _ = judged_fields(ruleset, one.word, one.value.ones, one.value.unknown)
    except bitfields.PackError:
        return {}  # which is said of the descriptor itself
    return {name: fields[name] for name in _FIELDS if name in fields}


def _start(ruleset: Ruleset, graph: Graph, values: Values, one: MatrixDescriptor) -> _Start | None:
    """Where the start of a descriptor comes from."""
    address = hardware.descriptor_reach(ruleset.book) // hardware.descriptor_unit(ruleset.book) - 1  # its bits
    number, part = one.number, values.operands(one.number)[one.operand].parts[0]
    added = 0
    for _ in range(_DEEPEST):
        if part.registers or part.value is not None or part.offset or not part.names:
            return None
        reaching = values.reaching(number, part.names[0], graph.module.instructions[number].scope)
        if len(reaching) != 1:
            return None
        (definition,) = reaching
        base = _Start(definition, added)
        number = definition[0]
        statement, operands = graph.module.instructions[number], values.operands(number)
        name = statement.opcode.partition(".")[0]
        if statement.guard or len(operands) < 2 or not operands[1].parts:
            return base
        first = operands[1].parts[0]
        if name == "mov" and first.registers and not operands[0].parts[0].registers:
            part = first.members[0]  # the lower half
            continue
        if name not in ("add", "or") or len(operands) != 3:
            return base
        constant = operands[2].parts[0].value
        if constant is None or (name == "or" and constant & address):
            return base
        part, added = first, added + (constant & address)
    return None


__all__ = ["tile_facts"]
