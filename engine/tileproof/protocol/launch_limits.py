"""What a kernel and its launch must agree on, and the target must have: multicast masks, and shared memory.

A mask names CTAs of the cluster by their rank; which of its bits are set is known where it is a constant, or where
constants are or-ed into it. Shared memory is what the kernel allocates and what the launch asks for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from math import prod

from tileproof.base.patterns import regex
from tileproof.dialects.configuration import Facts
from tileproof.dialects.operands import field_set
from tileproof.dialects.operations import Operations
from tileproof.memory.known_bits import fold
from tileproof.memory.pointers import byte_alignment, size_of
from tileproof.mlir.ir import Alias, Operation
from tileproof.mlir.scopes import Scope, walk
from tileproof.protocol.launch import stated
from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.expression import Scalar

_MASK = regex(r"\bmulticast_mask\s*=\s*(%[\w$.#-]+)")
_TWO = regex(r"cta_2\b|\bis_two_cta\b")
_NUMBER = regex(r"\d+")
_SEGMENTS = regex(r"array<i32:\s*([\d,\s]*)>")


def launch_facts(
    book: Rulebook,
    kernel: Operation,
    operations: Sequence[Operation],
    aliases: Mapping[str, Alias],
    target: str | None,
) -> Iterator[Facts]:
    """The facts of one kernel, for the rules on its launch.

    Args:
        operations: those of the module, whose host code may launch the kernel.
        target: a member of the enum ``target`` that the user or the text names; None where it was guessed.
    """
    launches = stated(book, kernel, operations)
    clusters = [cluster for cluster, _ in launches]
    known = [prod(cluster) for cluster in clusters if cluster is not None]
    ctas = max(known) if known and len(known) == len(clusters) else None
    grouped: list[tuple[Operation, int]] = []
    kinds, known_steps = book.enums["group_operation"].by_spelling, Operations.of(book)
    partitions: dict[int, set[int]] = {}
    for operation, scope in walk((kernel,)):
        if known_steps.step(operation.name) == "allocate":
            partitions.setdefault(_partition(operation), set()).add(id(operation))
        if operation.name in kinds:
            grouped.append((operation, _group(operation)))
        if ctas is not None and (mask := _mask(book, operation, scope)) is not None:
            highest = fold(book, mask, scope).ones.bit_length() - 1
            values: dict[str, Scalar] = {"cta": max(highest, 0), "ctas": ctas or 1}
            yield Facts("launched_mask", values, {}, {}, operation.name_span)
    yield from _groups([one for one in grouped if kinds[one[0].name] != ".mma"], grouped)
    allocated, first = 0, None
    for _, chosen in sorted(partitions.items()):  # one behind the other, each in textual order
        allocated, one = _end(kernel, allocated, chosen, dict(aliases))
        first = first or one
    if first is None:
        return
    given = [dynamic for _, dynamic in launches if dynamic is not None]
    if target is not None:
        needed: dict[str, Scalar] = {"bytes": max(allocated, *given, 0), "target": target}
        yield Facts("launched_memory", needed, {}, {}, first.name_span)
    if given and min(given) > 0:
        memory: dict[str, Scalar] = {"given": min(given), "allocated": allocated}
        yield Facts("launched_memory_given", memory, {}, {}, first.name_span)


def _group(operation: Operation) -> int:
    """The CTAs for which an operation on tensor memory works."""
    text = " ".join((*operation.pieces, *(f"{one.name} {one.text}" for one in operation.attributes)))
    return 2 if _TWO.search(text) is not None else 1


def _groups(managing: list[tuple[Operation, int]], all_of_them: list[tuple[Operation, int]]) -> Iterator[Facts]:
    """Each operation that manages tensor memory otherwise than most operations of the kernel work."""
    two = sum(group == 2 for _, group in all_of_them)
    one = len(all_of_them) - two
    if not one or not two or one == two:
        return
    for operation, group in managing:
        values: dict[str, Scalar] = {"group": group, "others": 1 if one > two else 2}
        yield Facts("tmem_management", values, {}, {}, operation.name_span)


def _end(
    operation: Operation, before: int, chosen: Set[int], aliases: dict[str, Alias]
) -> tuple[int, Operation | None]:
    """Where the shared memory that some allocations in an operation take ends, and the first; branches share memory.

    Args:
        before: where that of the operations before it ends.
        chosen: the allocations, by ``id``.
    """
    if id(operation) in chosen:
        size, alignment = size_of(operation, aliases), byte_alignment(operation, aliases)
        return (-(-before // alignment) * alignment + size, operation) if size and alignment else (before, None)
    most, first = before, None
    for region in operation.regions:
        end = before
        for block in region.blocks:
            for inner in block.operations:
                if inner.regions or id(inner) in chosen:
                    end, one = _end(inner, end, chosen, aliases)
                    first = first or one
        most = max(most, end)
    return most, first


def _partition(operation: Operation) -> int:
    """The partition of shared memory that an allocation is in; the DSL lays out one behind the other."""
    attribute = operation.attribute("smem.partition_id")
    found = _NUMBER.match(attribute.text) if attribute is not None else None
    return int(found[0]) if found is not None else 0


def _mask(book: Rulebook, operation: Operation, scope: Scope) -> str | None:
    """The operand that is a multicast mask."""
    if field_set(operation) == "mcast_mask" and len(operation.operands) > 1:
        return operation.operands[1]
    member = book.enums["mask_operation"].by_spelling.get(operation.name)
    if member is None:
        return None
    if (written := _MASK.search(operation.pieces[0])) is not None:
        return written[1]
    if not operation.generic:
        return None
    at = book.shared_table("mask_operation").rows[member,][0]
    assert isinstance(at, int)
    sizes = operation.attribute("operandSegmentSizes")
    listed = _SEGMENTS.search(sizes.text) if sizes is not None else None
    if listed is None:
        return operation.operands[1] if member == ".commit" and len(operation.operands) > 1 else None
    segments = [int(size) for size in listed[1].split(",")]
    if at >= len(segments) or not segments[at]:
        return None
    return operation.operands[sum(segments[:at])]
