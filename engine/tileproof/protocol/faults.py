"""A finding of the abstract machine, and what the codes of findings have in common."""

from __future__ import annotations

from collections.abc import Sequence

from tileproof.base.records import dataclass
from tileproof.mlir.ir import Operation
from tileproof.protocol.trace import TraceStep
from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.findings import place, state

PROXY = "PR110"  # a fence between proxies is missing: how often loops run does not matter
OVERLAP = "PR133"  # uses of a named barrier that overlap: no thread need wait for ever for them
HANGS = {"PR124", "PR125", "PR126", "PR130"}  # threads wait for ever
DEADLOCKS = HANGS | {OVERLAP}
UNDERSTATED = "PR139"  # fewer bytes are expected than are read: which of them that are depends on loops
OF_COPIES = {UNDERSTATED, "PR183"}  # the same, and operands that begin where nothing was written
OF_BOXES = "PR138"  # more bytes are expected than boxes have room for: how many boxes there are depends on loops
UNFINISHED = "PR128"  # a phase has some of its arrivals when the kernel ends
SURPLUS = "PR122"  # more arrivals than a phase expects: loops that are passed may have waited between them
UNINITIALISED = "PR120"  # an mbarrier is used before it is initialised: how often loops run does not matter
HAZARDS = {"PR110", "PR111", "PR112", "PR113", "PR114", "PR116"}  # two accesses without an order
TENSOR_MAPS = {"PR186", "PR187"}  # that the kernel modifies
BY_CHANCE = {"PR162", "PR188", "PR189", "PR193", "PR194"}  # what goes wrong only where some are late, or perhaps
UNREAD = {"PR106", "PR107"}  # bulk stores that may still read when the kernel ends: after no wait, or behind the last
UNORDERED = HAZARDS | {"PR101", "PR103", "PR104", "PR105", "PR118", "PR153"}  # and what else an order is missing for


@dataclass(frozen=True, slots=True)
class Correction:
    """A number in some operations that should be another one, such as the bytes that a barrier is to expect."""

    operations: tuple[Operation, ...]
    written: int
    right: int


@dataclass(frozen=True, slots=True)
class ProtocolFault:
    """A finding in words: its code, where, the message, and the operations that explain it, each with what it is.

    Attributes:
        unwaited: whether it is of an MMA, or of copies, that the threads themselves have not waited for.
        tried: the try_waits for another phase than the wait behind them, where it needs one that succeeds; each with
            whether that is one of another barrier.
    """

    code: str
    operation: Operation
    message: str
    hint: str = ""
    trace: tuple[tuple[str, Operation], ...] = ()
    path: tuple[TraceStep, ...] = ()
    correction: Correction | None = None
    unwaited: bool = False
    tried: tuple[tuple[bool, Operation], ...] = ()


def stated(
    book: Rulebook,
    code: str,
    case: str,
    operation: Operation,
    /,
    *,
    at: Sequence[tuple[str, Operation]] = (),
    path: tuple[TraceStep, ...] = (),
    **facts: object,
) -> ProtocolFault:
    """A finding in the words of the rule files.

    Args:
        case, facts: of the finding, as rules/protocol/faults.rule declares it.
        at: other operations that it is about, by the names that the finding gives their places.
        path: what was done before.
    """
    said = state(book, code, case, **facts)
    trace = tuple((place(book, code, case, name, facts), one) for name, one in at)
    return ProtocolFault(code, operation, said.message, said.hint, trace, path)


__all__ = [
    "BY_CHANCE",
    "DEADLOCKS",
    "HANGS",
    "HAZARDS",
    "OF_COPIES",
    "OVERLAP",
    "PROXY",
    "SURPLUS",
    "TENSOR_MAPS",
    "UNDERSTATED",
    "UNFINISHED",
    "UNINITIALISED",
    "UNORDERED",
    "UNREAD",
    "Correction",
    "ProtocolFault",
    "stated",
]
