"""Descriptors of the parts of one tile: MMAs that add up along K read it in one way.

Where a tensor map of the host copies a tile, PTX does not say with which swizzle. But the parts of a tile start in one
row of memory, at one address and what is added to it: fields that differ between their descriptors are wrong in one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tileproof.dataflow.operands import place
from tileproof.dataflow.starts import Start, start_of
from tileproof.dialects.configuration import Facts
from tileproof.evaluate import bitfields, hardware
from tileproof.memory.instruction_words import judged_fields
from tileproof.ptx.graph import Graph
from tileproof.ptx.matrices import MatrixDescriptor, matrix_descriptors
from tileproof.ptx.text import Part
from tileproof.ptx.values import Values
from tileproof.rulebase.book import Ruleset
from tileproof.rulebase.expression import Scalar

_FIELDS = ("swizzle", "sbo")


def tile_facts(ruleset: Ruleset, graph: Graph, values: Values) -> Iterator[Facts]:
    """Two descriptors each that disagree about a tile; no thread waits between the MMAs."""
    seen: dict[tuple[object, ...], list[tuple[Start, dict[str, Scalar]]]] = {}
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
            start = start_of(ruleset, graph, values, one)
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


__all__ = ["tile_facts"]
