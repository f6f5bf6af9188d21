"""What of a kernel's protocol was verified: so that no finding is never mistaken for a proof."""

from __future__ import annotations

from tileproof.base.records import dataclass
from tileproof.base.source import Span


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a part of a kernel is not verified.

    Attributes:
        case: of finding PR190.
        message: the words of that case.
        span: where; None for what concerns the kernel as a whole.
        hint: what to do about it; empty where nothing can be said.
        short: fewer words, for several of a kind; empty where there are none.
    """

    case: str
    message: str
    span: Span | None
    hint: str = ""
    short: str = ""


@dataclass(frozen=True, slots=True)
class KernelCoverage:
    """What the abstract machine did with one kernel that uses a protocol.

    Attributes:
        name: of the kernel, without ``@``.
        span: of its name.
        steps: its protocol steps: the operations of the text that take part in the protocol.
        executed: how many of them were executed on some explored path.
        multiplies: its tensor-core instructions.
        trip_counts: the verdict holds for loops of unknown length with up to so many iterations; None for all.
        reasons: what was not verified, and why: unreached steps first, then in textual order; empty where all was.
    """

    name: str
    span: Span
    steps: int
    executed: int
    multiplies: int
    trip_counts: int | None
    reasons: tuple[Reason, ...]

    @property
    def status(self) -> str:
        """``followed``, ``partly`` or ``unfollowed``."""
        if not self.reasons:
            return "followed"
        return "partly" if self.executed else "unfollowed"

    @property
    def iterations(self) -> int | str:
        """``all``, or the most iterations that the verdict holds for: none where nothing was executed."""
        if not self.executed:
            return 0
        return "all" if self.trip_counts is None else self.trip_counts
