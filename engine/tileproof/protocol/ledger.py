"""What happened in a run, in order: kept only while a fault is diagnosed."""

from __future__ import annotations

from collections.abc import Mapping

from tileproof.base.records import dataclass, field
from tileproof.mlir.ir import Operation
from tileproof.protocol.trace import TraceStep
from tileproof.protocol.warps import BarrierKey


@dataclass(frozen=True, slots=True)
class Event:
    """One event at an mbarrier.

    Attributes:
        kind: ``arrive``, ``expect``, ``copy``; ``pass``: threads go on after a wait; ``missing``: no barrier is there.
        phase: how many phases of the barrier were complete before.
        amount: arrivals, or bytes.
        cta, warps: whose event it is.
        buffer: what a copy fills.
    """

    kind: str
    key: BarrierKey
    phase: int
    amount: int
    operation: Operation
    cta: int
    warps: tuple[int, ...]
    buffer: str = ""


@dataclass(slots=True)
class Recorded:
    """What a run leaves to be looked at.

    Attributes:
        events: what came to the barriers.
        history: the steps that were taken.
        names: what the run is to call its barriers.
    """

    events: list[Event] = field(default_factory=list)
    history: list[TraceStep] = field(default_factory=list)
    names: Mapping[BarrierKey, str] = field(default_factory=dict)


__all__ = ["Event", "Recorded"]
