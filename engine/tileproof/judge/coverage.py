"""What of a kernel's protocol was verified: so that no finding is never mistaken for a proof."""

from __future__ import annotations

from collections.abc import Iterable

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
    """

    case: str
    message: str
    span: Span | None
    hint: str = ""


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
        refuted: whether its protocol has an error.
    """

    name: str
    span: Span
    steps: int
    executed: int
    multiplies: int
    trip_counts: int | None
    reasons: tuple[Reason, ...]
    refuted: bool = False

    @property
    def status(self) -> str:
        """``followed``, ``partly`` or ``unfollowed``."""
        if not self.reasons:
            return "followed"
        return "partly" if self.executed else "unfollowed"


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much was verified of several kernels.

    Attributes:
        kernels: those that use a protocol.
        followed, partly, unfollowed: how many of them have that status.
        refuted: how many of those that were followed have an error.
        steps, executed, multiplies: as of one kernel, in all of them.
        unjudged: statements that no rule or table knows.
        trip_counts: the least bound of a kernel; None where no kernel has one.
    """

    kernels: int
    followed: int
    partly: int
    unfollowed: int
    refuted: int
    steps: int
    executed: int
    multiplies: int
    unjudged: int
    trip_counts: int | None

    @property
    def verified(self) -> bool:
        """Whether every kernel was wholly followed."""
        return self.followed == self.kernels


def total(kernels: Iterable[KernelCoverage], unjudged: int) -> Coverage:
    """The sum over kernels."""
    all_of = tuple(kernels)
    statuses = [one.status for one in all_of]
    return Coverage(
        len(all_of),
        statuses.count("followed"),
        statuses.count("partly"),
        statuses.count("unfollowed"),
        sum(one.refuted and one.status == "followed" for one in all_of),
        sum(one.steps for one in all_of),
        sum(one.executed for one in all_of),
        sum(one.multiplies for one in all_of),
        unjudged,
        min((one.trip_counts for one in all_of if one.trip_counts is not None), default=None),
    )
