"""``descriptors`` of PTX: the 64-bit descriptor of every operand that a wgmma or tcgen05.mma reads in shared memory."""

from __future__ import annotations

from collections.abc import Iterator

from tileproof.base.source import Source
from tileproof.dataflow.operands import place
from tileproof.descriptors.canonical import spelled
from tileproof.evaluate import bitfields
from tileproof.memory.instruction_words import known_fields
from tileproof.memory.listing import Listed
from tileproof.ptx.graph import Graph
from tileproof.ptx.matrices import MatrixDescriptor, matrix_descriptors
from tileproof.ptx.module import Module
from tileproof.ptx.values import Values
from tileproof.rulebase.book import Ruleset

_ADDRESS, _RELATIVE = "start", ".relative"


def descriptors_of_ptx(ruleset: Ruleset, source: Source, module: Module) -> Iterator[Listed]:
    """The descriptors of a module that is well formed, in textual order, by what is known before it runs."""
    for function in module.functions:
        inside = range(function.first, function.last) if function.body is not None else ()
        uses = [n for n in inside if module.instructions[n].opcode.startswith(("wgmma.mma", "tcgen05.mma"))]
        if not uses:
            continue
        graph = Graph(ruleset.book, module, function)
        values = Values(ruleset.book, graph)
        for number in uses:
            for one in matrix_descriptors(ruleset, graph, values, number):
                yield _listed(ruleset, source, graph, one)


def _listed(ruleset: Ruleset, source: Source, graph: Graph, one: MatrixDescriptor) -> Listed:
    line, column = source.position(place(graph, one.number, one.operand).start)
    origin = next(iter(graph.module.origins(graph.module.instructions[one.number])), None)
    ones, unknown = one.value.ones, one.value.unknown & ~_of_address(ruleset, one.word)
    try:
        fields = known_fields(ruleset, one.word, ones, unknown)
    except bitfields.PackError as error:
        return Listed(source.name, line, column, one.role.upper(), None, None, None, None, str(error), origin)
    swizzle, lbo, sbo = (fields.get(name) for name in ("swizzle", "lbo", "sbo"))
    if fields.get("lbo_mode", _RELATIVE) != _RELATIVE:
        lbo = None  # an address
    return Listed(
        source.name,
        line,
        column,
        one.role.upper(),
        None if swizzle is None else spelled(ruleset.book, str(swizzle)),
        lbo if isinstance(lbo, int) else None,
        sbo if isinstance(sbo, int) else None,
        None if unknown else ones & ~_of_address(ruleset, one.word),
        f"known only in the kernel: {_ranges(unknown)}" if unknown else None,
        origin,
    )


def _of_address(ruleset: Ruleset, name: str) -> int:
    """The bits of the address, with those above it that are in no field: a sum of addresses may carry into them."""
    fields = sorted(bitfields.word_for(ruleset, name, {}).fields, key=lambda one: one.low)
    at = next(i for i, one in enumerate(fields) if one.name == _ADDRESS)
    return (1 << fields[at + 1].low) - (1 << fields[at].low)


def _ranges(bits: int) -> str:
    """Bits by their numbers: ``bits 16-29 and 32``."""
    numbers = [at for at in range(bits.bit_length()) if bits >> at & 1]
    starts = [at for at in numbers if at - 1 not in numbers]
    ends = [at for at in numbers if at + 1 not in numbers]
    shown = [str(first) if first == last else f"{first}-{last}" for first, last in zip(starts, ends, strict=True)]
    return f"{'bit' if len(numbers) == 1 else 'bits'} {' and '.join(shown)}"
