"""Programmatic dependent launch: a kernel that may begin before the grid before it has ended must wait for it.

The launch says so (``programmatic_stream_serialization_allowed``); ``griddepcontrol.wait`` in the kernel waits until
all that the earlier grid wrote is visible.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tileproof.mlir.ir import Operation
from tileproof.protocol.faults import ProtocolFault, stated
from tileproof.protocol.launch import overlap
from tileproof.protocol.steps import words
from tileproof.rulebase.book import Rulebook

_WAITS = re.compile(r"griddepcontrol\b.*\bwait\b", re.DOTALL)


def overlapping(
    book: Rulebook, kernel: Operation, inside: Sequence[Operation], operations: Sequence[Operation]
) -> Iterator[ProtocolFault]:
    """The finding of a kernel that overlaps with the grid before it and never waits for it.

    Args:
        inside: the operations of the kernel; where it calls others, these may wait.
        operations: those of the module, whose host code may launch the kernel.
    """
    launched = overlap(book, kernel, operations)
    calls = book.enums["called_operation"].by_spelling
    if launched is None or any(one.name in calls or _WAITS.search(words(one)) is not None for one in inside):
        return
    if launched.later and not launched.earlier:
        return  # the first of several kernels: the later ones wait for it
    if launched.earlier:
        yield stated(book, "PR176", "here", kernel, at=(("launch", launched.allowance),))
    else:
        yield stated(book, "PR178", "here", kernel, at=(("launch", launched.allowance),))


__all__ = ["overlapping"]
