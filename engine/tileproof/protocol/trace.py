"""The path to a fault: what the threads did between its cause and its effect."""

from __future__ import annotations

from collections.abc import Sequence

from tileproof.base.records import dataclass
from tileproof.mlir.ir import Operation

# These establish no order.
_QUIET = {"elect", "index", "peer", "allocate", "read", "write", "peek", "tmem_address", "counter"}
_LONGEST = 16


@dataclass(frozen=True, slots=True)
class TraceStep:
    """A step that some warps of a CTA took.

    Attributes:
        step: a member of the enum ``protocol_step``, without its dot.
    """

    cta: int
    warps: tuple[int, ...]
    step: str
    operation: Operation

    def __str__(self) -> str:
        return self.said(self.operation.name)

    def said(self, name: str) -> str:
        """The step in words, with the name of its operation."""
        first, last = self.warps[0], self.warps[-1]
        who = f"warp {first}" if first == last else f"warps {first} to {last}"
        return f"{who} of CTA {self.cta}: {name}"


def path_to(
    history: Sequence[TraceStep], causes: Sequence[Operation], now: tuple[int, tuple[int, ...]] | None
) -> tuple[TraceStep, ...]:
    """The last steps of the warps concerned, from the cause on: those that caused it, and those that run now.

    Args:
        causes: the operations that a fault names.
        now: the CTA and the warps that run when it shows.
    """
    spans = {cause.span for cause in causes}
    start = max((i for i, one in enumerate(history) if one.operation.span in spans), default=None)
    concerned = {(now[0], warp) for warp in now[1]} if now is not None else set()
    if start is not None:
        concerned |= {(history[start].cta, warp) for warp in history[start].warps}
    taken = [
        one
        for one in history[start or 0 :]
        if one.step not in _QUIET and any((one.cta, warp) in concerned for warp in one.warps)
    ]
    return tuple(taken[-_LONGEST:])


__all__ = ["TraceStep", "path_to"]
