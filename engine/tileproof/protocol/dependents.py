"""Programmatic dependent launch: a kernel that may begin before the grid before it has ended must wait for it.

The launch says so (``programmatic_stream_serialization_allowed``); ``griddepcontrol.wait`` makes the threads that
execute it wait until all that the earlier grid wrote is visible. Other threads have to be ordered after these, which
the machine sees. What the earlier grid writes is known where the same host function launches it: then a read of that
by threads that are not ordered after a wait is an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from tileproof.base.patterns import regex
from tileproof.dialects.operands import resolve
from tileproof.dialects.operations import Operations
from tileproof.memory.origins import origin_of
from tileproof.memory.tensor_maps import kernel_name
from tileproof.mlir.ir import Alias, Operation
from tileproof.mlir.scopes import Scope, walk
from tileproof.protocol.faults import ProtocolFault, stated
from tileproof.protocol.launch import overlap
from tileproof.protocol.state import EarlyRead
from tileproof.protocol.steps import words
from tileproof.rulebase.book import Rulebook

_WAITS = regex(r"griddepcontrol\b.*\bwait\b", re.DOTALL)
# The operands of steps through which global memory is read, and written: tensor maps and pointers.
_READS = {"bulk_load": 1, "raw_copy": 1, "async_load": 1, "read": 0, "atomic": 0}
_WRITES = {"bulk_store": 0, "raw_copy": 0, "write": 1, "atomic": 0}
_STORE = "cute.memref.store"  # and store_vec: their memory comes first, or last


def overlapping(
    book: Rulebook, kernel: Operation, inside: Sequence[Operation], operations: Sequence[Operation]
) -> Iterator[ProtocolFault]:
    """The finding of a kernel that overlaps with the grid before it and never waits for it.

    Args:
        inside: the operations of the kernel; where it calls others, these may wait.
        operations: those of the module, whose host code may launch the kernel.
    """
    launched = overlap(book, kernel, operations)
    if launched is None or may_wait(book, inside):
        return
    if launched.later:
        return  # the first of several kernels: the later ones wait for it
    at = (("launch", launched.allowance),)
    if launched.earlier is None:
        yield stated(book, "PR178", "here", kernel, at=at)
    else:
        yield stated(book, "PR176", "here", kernel, at=at)


def may_wait(book: Rulebook, inside: Sequence[Operation]) -> bool:
    """Whether a kernel executes griddepcontrol.wait, or calls what may."""
    calls = book.enums["called_operation"].by_spelling
    return any(one.name in calls or _WAITS.search(words(one)) is not None for one in inside)


def early_reads(
    book: Rulebook,
    kernel: Operation,
    inside: Sequence[Operation],
    operations: Sequence[Operation],
    every: Sequence[Operation],
    aliases: dict[str, Alias],
) -> dict[int, EarlyRead]:
    """The reads of a kernel of what the kernel launched before it writes, by ``id``, where that one may still run.

    Args:
        inside: its operations.
        operations: those of the module; ``every``: its kernels.
    """
    launched = overlap(book, kernel, operations)
    if launched is None or launched.earlier is None or not may_wait(book, inside):
        return {}
    calls = book.enums["called_operation"].by_spelling
    earlier = next((one for one in every if kernel_name(one) == launched.earlier), None)
    if earlier is None or any(one.name in calls for one in inside):
        return {}
    known = Operations.of(book)
    writes = {place: one for one, place, written in _accesses(known, earlier, aliases) if written}
    found = {}
    for one, place, written in _accesses(known, kernel, aliases):
        theirs = [writes[at] for at in sorted(launched.shared.get(place, ())) if at in writes]
        if theirs and not written:
            found[id(one)] = EarlyRead(theirs[0], launched.allowance)
    return found


def _accesses(
    known: Operations, kernel: Operation, aliases: Mapping[str, Alias]
) -> Iterator[tuple[Operation, int, bool]]:
    """The accesses of a kernel to global memory that it gets as an argument: which one, and whether it is written."""
    for operation, scope in walk((kernel,)):
        step = known.step_of(operation)
        if step is None:
            continue
        if step.step == "copy":
            found = _copied(operation, aliases)
        elif operation.name.startswith(_STORE):
            found = [(operand, True) for operand in operation.operands[:2]]
        else:
            places = ((_READS, False), (_WRITES, True))
            given = [(table[step.step], written) for table, written in places if step.step in table]
            found = [(operation.operands[at], written) for at, written in given if at < len(operation.operands)]
        for operand, written in found:
            place = _argument(operand, scope, known, kernel)
            if place is not None:
                yield operation, place, written


def _copied(operation: Operation, aliases: Mapping[str, Alias]) -> list[tuple[str, bool]]:
    """The operands of a copy through which it reads and writes global memory."""
    types = [resolve(use.text, dict(aliases)) for use in operation.inputs[:3]]
    if len(types) < 3 or len(operation.operands) < 3:
        return []
    if "atom.tma_" in types[0] or "atom.non_exec" in types[0]:
        return [(operation.operands[0], "atom.tma_load" not in types[0])]
    return [(operation.operands[at], at == 2) for at in (1, 2) if "gmem" in types[at]]


def _argument(name: str, scope: Scope, known: Operations, kernel: Operation) -> int | None:
    origin = origin_of(name, scope, known)
    return origin.index if origin is not None and origin.argument and origin.operation is kernel else None


__all__ = ["early_reads", "overlapping"]
