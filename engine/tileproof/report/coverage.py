"""How much was verified of the kernels of a report."""

from __future__ import annotations

from collections.abc import Iterable

from tileproof.base.records import dataclass
from tileproof.judge.outcome import FileReport


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much was verified of several kernels.

    Attributes:
        kernels: those that use a protocol.
        followed, partly, unfollowed: how many of them have that status.
        verified: how many of those that were followed are in files without an error, reported or not.
        steps, executed, multiplies: as of one kernel, in all of them.
        unjudged: statements that no rule or table knows.
        trip_counts: the least bound of a kernel; None where no kernel has one.
    """

    kernels: int
    followed: int
    partly: int
    unfollowed: int
    verified: int
    steps: int
    executed: int
    multiplies: int
    unjudged: int
    trip_counts: int | None

    @property
    def complete(self) -> bool:
        """Whether every kernel was wholly followed."""
        return self.followed == self.kernels


def total(files: Iterable[FileReport]) -> Coverage:
    """The sum over the kernels of files."""
    reports = tuple(files)
    all_of = [kernel for file in reports for kernel in file.kernels]
    sound = [kernel for file in reports if file.sound for kernel in file.kernels]
    statuses = [one.status for one in all_of]
    return Coverage(
        len(all_of),
        statuses.count("followed"),
        statuses.count("partly"),
        statuses.count("unfollowed"),
        sum(one.status == "followed" for one in sound),
        sum(one.steps for one in all_of),
        sum(one.executed for one in all_of),
        sum(one.multiplies for one in all_of),
        sum(file.unjudged for file in reports),
        min((one.trip_counts for one in all_of if one.trip_counts is not None), default=None),
    )
