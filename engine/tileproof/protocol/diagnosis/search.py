"""The search for the causes of a kernel's findings: changes are tried one by one, each by a run of the machine."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence, Set

from tileproof.base.diagnostic import Severity
from tileproof.base.records import dataclass, replace
from tileproof.mlir.ir import Operation
from tileproof.protocol.diagnosis.changes import Change
from tileproof.protocol.diagnosis.names import barrier_names
from tileproof.protocol.diagnosis.report import Name, explained, merged, misled, named, unsought
from tileproof.protocol.diagnosis.scene import Scene
from tileproof.protocol.diagnosis.suspects import suspects
from tileproof.protocol.faults import HANGS, HAZARDS, UNFINISHED, ProtocolFault
from tileproof.protocol.ledger import Recorded
from tileproof.protocol.machine import Machine
from tileproof.protocol.program import Program
from tileproof.rulebase.book import Rulebook

Ended = tuple[Machine, tuple[ProtocolFault, ...]]
Rerun = Callable[[Program, "Recorded | None", "Set[Name] | None"], Ended]
_CONFIRMED = 3  # of several repairs are tried in the whole run
_MOST_ASKED = 2  # of the changes with one new finding are tried in the whole run
_MOST_RIVALS = 16  # changes of the same rank that are tried after one that repairs all
_MOST_CAUSES = 3  # of one kernel: more mistakes than that are reported as they are found


@dataclass(slots=True)
class Search:
    """The causes of the findings of one kernel.

    Attributes:
        rerun: runs a program as the kernel was run; records what happens where that is wanted, and ends with the first
            finding that is not allowed where these are given.
        whole: the same as long as the run that has the findings; ``rerun`` may be shorter.
        line: where an operation is.
        explain: whether findings keep the path that leads to them.
        runs, steps: how many runs, and instructions of all runs, may be spent.
        ptx: the text of the module, if it is PTX.
    """

    book: Rulebook
    rerun: Rerun
    whole: Rerun
    program: Program
    line: Callable[[Operation], object]
    explain: bool
    runs: int
    steps: int
    ptx: str = ""

    @property
    def spent(self) -> bool:
        """Whether the budget is spent."""
        return self.runs <= 0 or self.steps <= 0

    def scene(self, program: Program, faults: Sequence[ProtocolFault]) -> Scene:
        """A run seen whole, with those of the findings that it has; its messages call barriers what people do."""
        first = Recorded()
        machine, found = self.rerun(program, first, None)
        names = barrier_names(Scene(machine, found, first))
        recorded = Recorded(names=names)
        machine, found = self.rerun(program, recorded, None)
        self.steps -= 2 * machine.steps
        wanted = {named(fault) for fault in faults}
        mine = tuple(fault for fault in found if named(fault) in wanted)
        return Scene(machine, mine, recorded, {named(fault) for fault in found} - wanted, self.ptx)

    def trial(self, change: Change, program: Program, allowed: Set[Name], whole: bool = False) -> Ended | None:
        """One run, which ends with a finding that is not allowed; None where the budget is spent."""
        if self.spent:
            return None
        self.runs -= 1
        recorded = None if change.key is None else Recorded()  # what comes next to a ring depends on what came
        machine, faults = (self.whole if whole else self.rerun)(change.program(program), recorded, allowed)
        self.steps -= machine.steps
        return machine, faults

    def repairs(
        self, scene: Scene, program: Program, wanted: Callable[[Change], bool] = lambda change: True
    ) -> tuple[list[Change], set[Name]]:
        """The changes after which most findings are gone and no other came, the likeliest first; and what is gone.

        Args:
            wanted: which changes to try.
        """
        wrong = {named(fault) for fault in scene.faults}
        short: set[Name] = set()  # what only the shorter runs of trials have
        asked: Counter[Name] = Counter()
        best: list[Change] = []
        gone: set[Name] = set()
        if not wrong:  # what was found rests on a run that the scene does not repeat
            return best, gone
        further = _MOST_RIVALS
        for change in filter(wanted, suspects(scene)):
            if gone == wrong:
                if (change.rank, change.joint) > (best[0].rank, best[0].joint) or not further:
                    break
                further -= 1
            allowed = wrong | scene.demoted | short
            tried = self.trial(change, program, allowed)
            if tried is not None and (new := _hazard(tried, allowed)) is not None and asked[new] < _MOST_ASKED:
                asked[new] += 1
                tried = self.trial(change, program, wrong | scene.demoted, whole=True)
                if tried is not None and tried[0].coverage.complete:
                    short.add(new)
            if tried is None:
                break
            after, rest = tried
            also = scene.demoted | short
            rest = tuple(one for one in rest if named(one) not in also and not self.only_at_the_end(scene, one))
            still = {named(fault) for fault in rest}
            if not still < wrong or not after.coverage.complete or not _as_far(scene.machine, after, change):
                continue
            if any(one.operation is change.operation for one in rest):
                continue  # it is still wrong
            repaired = wrong - still
            if len(repaired) > len(gone):
                best, gone = [change], repaired
            elif repaired == gone and (change.rank, change.joint) == (best[0].rank, best[0].joint):
                best.append(change)
        if best and best[0].nearest:
            at = scene.faults[0].operation.span.start
            alike = [one for one in best if one.nearest]
            alike.sort(key=lambda one: (one.operation.span.start > at, abs(one.operation.span.start - at)))
            best = [*alike, *(one for one in best if not one.nearest)]
        return best, gone

    def only_at_the_end(self, scene: Scene, fault: ProtocolFault) -> bool:
        """Whether a finding is a warning that a run with the findings could not have: it came to no end."""
        if not scene.codes & HANGS or named(fault) in {named(one) for one in scene.faults}:
            return False
        return fault.code != UNFINISHED and not _errors(self.book, [fault])

    def confirmed(self, changes: Sequence[Change], gone: Set[Name], program: Program) -> list[Change]:
        """Changes of which the likeliest repairs the whole run too."""
        for i, change in enumerate(changes[:_CONFIRMED]):
            recorded = None if change.key is None else Recorded()
            _, rest = self.whole(change.program(program), recorded, None)
            if gone.isdisjoint(map(named, rest)):
                return list(changes[i:])
        return []

    def findings(self, faults: Sequence[ProtocolFault]) -> Iterator[ProtocolFault]:
        """The findings by their causes, then those whose cause was not found."""
        program, left = self.program, list(faults)
        for _ in range(_MOST_CAUSES):
            scene = self.scene(program, left)
            said = {named(fault): fault for fault in scene.faults}
            left = [said.get(named(fault), fault) for fault in left]
            if not _sought(self.book, scene.faults):
                break
            best, gone = self.repairs(scene, program)
            best = self.confirmed(best, gone, program)
            if not best:
                break
            mine = [fault for fault in left if named(fault) in gone]
            left = [fault for fault in left if named(fault) not in gone]
            yield explained(scene, mine, best[0], best[1:], self.line)
            program = best[0].program(program)
            if not left:
                return
        yield from (self.unsought(one) if self.spent else one for one in merged(scene, left))

    def unsought(self, fault: ProtocolFault) -> ProtocolFault:
        """An error that says that its cause was not found; others as they are."""
        return unsought(self.book, fault) if _errors(self.book, [fault]) else fault


def _errors(book: Rulebook, faults: Sequence[ProtocolFault]) -> bool:
    return any(book.findings[fault.code].severity is Severity.ERROR for fault in faults)


def _sought(book: Rulebook, faults: Sequence[ProtocolFault]) -> bool:
    """Whether a cause is sought: of errors, and of phases that are not finished."""
    return _errors(book, faults) or any(fault.code == UNFINISHED for fault in faults)


def _hazard(tried: Ended, allowed: Set[Name]) -> Name | None:
    """The order that is missing with which a trial ended, and which was not there before; None where it ended so not.

    The loops of a short run may be too short for the ring that orders the two.
    """
    machine, faults = tried
    others = [fault for fault in faults if named(fault) not in allowed]
    cut = not machine.coverage.complete and len(others) == 1 and others[0].code in HAZARDS
    return named(others[0]) if cut else None


def _as_far(before: Machine, after: Machine, change: Change) -> bool:
    """Whether a run executed all steps that another one did, but for those that were changed."""
    changed = {one.span.start for one in (change.operation, *change.others)}

    def starts(machine: Machine) -> set[int]:
        executed = machine.coverage.executed
        return {one.operation.span.start for one in machine.program.code if id(one.operation) in executed}

    return starts(before) - changed <= starts(after)


def diagnosed(search: Search, faults: Sequence[ProtocolFault]) -> tuple[ProtocolFault, ...]:
    """The findings by their causes: each cause once, at the operation to change; the others as they are.

    An error of the search itself, but where Python is in its development mode (``-X dev``), loses none of them.
    """
    if not _sought(search.book, faults):
        return tuple(faults)
    known = [one for one in faults if one.tried]
    open_ = [one for one in faults if not one.tried]
    try:
        found = tuple(search.findings(open_)) if open_ else ()
    except Exception:
        if sys.flags.dev_mode:
            raise
        found = tuple(map(search.unsought, open_))
    found = (misled(search.book, known), *found) if known else found
    return tuple(one if search.explain else replace(one, path=()) for one in found)


# Changes of what an operation names or counts: no thread goes another way for them, but that it need not wait for ever.
_IN_PLACE = frozenset({"bytes", "completes_elsewhere", "count", "counts", "elsewhere", "threads", "waits_elsewhere"})


def misplaced(search: Search, faults: Sequence[ProtocolFault], agree: Callable[[Program], bool]) -> bool:
    """Whether threads wait for ever because of one operation, and not because of what a run supposes.

    A run may suppose numbers of turns on which the roles of a launch would never disagree, and then a hang says nothing
    of the kernel. It does where they agree once one operation names another barrier, or counts otherwise: the loops of
    the kernel have the same turns as those of the changed one.

    Args:
        faults: the hangs.
        agree: whether all roles of a program come to its end together, in runs of several lengths.
    """
    scene = search.scene(search.program, faults)
    best, _ = search.repairs(scene, search.program, lambda one: one.case in _IN_PLACE and not one.joint)
    return any(agree(one.program(search.program)) for one in best[:_CONFIRMED])


__all__ = ["Ended", "Rerun", "Search", "diagnosed", "misplaced"]
