"""What the search asks of the text that it inserts into: its operations and places, and the verdict on another text.

Kernels in IR and in PTX are two forms of one program: the search knows operations with regions, steps of the protocol
and runs of the machine. ``TextForm`` is what it needs to know of a form; ``ptx_form`` has that of PTX.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from functools import partial
from typing import Protocol

from tileproof.base.records import replace
from tileproof.base.source import Source
from tileproof.dialects.operands import resolve
from tileproof.judge.launches import StatedLaunch, of_kernel
from tileproof.mlir.ir import Operation
from tileproof.mlir.scanner import scan
from tileproof.protocol.actions import Action
from tileproof.protocol.faults import ProtocolFault
from tileproof.protocol.launch import Said
from tileproof.protocol.program import Program
from tileproof.protocol.runs import Doubt, Outcome
from tileproof.protocol.steps import Step, effects
from tileproof.protocol.study import Study
from tileproof.protocol.verify import Judged, studies, verify
from tileproof.rulebase.book import Rulebook
from tileproof.scheduling.edits import Edited, Gap, InsertedLine, InsertionPoints
from tileproof.scheduling.needs import Need
from tileproof.scheduling.plan import Insertion

SLOT = "tileproof.slot"  # an operation of no dialect, an opcode of no instruction
FILLED = Step("slot", 0, 0, 0)
OWN = {SLOT: FILLED}


class Slotted(Protocol):
    """A text with slots.

    Attributes:
        edited: it, with where each piece of it comes from.
        slots: in textual order.
        outcomes: what the studies say of their kernels, where that is the verdict.
    """

    edited: Edited
    slots: Sequence[Operation]
    outcomes: Sequence[Outcome]

    def studies(
        self,
        actions: Mapping[str, Action],
        concerned: Callable[[Operation], bool],
        registers: bool,
        changed: Callable[[Program], Program],
    ) -> Iterator[Study]:
        """The studies of some kernels, after their runs; ``registers``, ``changed``: as of ``verify.studies``."""

    def lacking(self, filled: Mapping[int, Sequence[Insertion]]) -> Sequence[ProtocolFault]:
        """What is wrong with filled slots that no run of the machine shows."""

    def needed(self, filled: Mapping[int, Sequence[Insertion]]) -> Mapping[str, set[Need]]:
        """What of that waits would repair, by queue."""

    def unseen(self, queues: Set[str]) -> Operation | None:
        """A step of the runs that the waits of some queues may depend on, where what it accesses is not known."""


class TextForm(Protocol):
    """A text, as the search sees it.

    Attributes:
        operations: those at the top; of kernels that are not followed none need be there.
        most: how many groups the search may tell apart; of the groups that no wait tells apart one is made then.
        studied: whether the verdict on a kernel is what its studies say.
    """

    points: InsertionPoints
    operations: Sequence[Operation]
    most: int
    studied: bool

    def step(self, operation: Operation) -> Step | None:
        """What an operation does in the protocol."""

    def touches(self, operation: Operation) -> bool:
        """Whether an operation that is no step needs what is waited for."""

    def issuer(self, operation: Operation) -> str:
        """The text in which the pieces of ``schedule_producer`` are looked for."""

    def outcomes(self, text: str, line: Callable[[Operation], int] | None = None) -> tuple[Outcome, ...]:
        """What is known of the kernels of a text of this form; ``line``: as of ``verify``."""

    def tolerates(self, doubt: Doubt) -> bool:
        """Whether a kernel may be verified in spite of a doubt."""

    def slotted(self, gaps: Sequence[Gap]) -> Slotted:
        """The text with a slot at each place; places are in textual order."""


class IrForm:
    """IR."""

    most = 0
    studied = True

    def __init__(self, book: Rulebook, source: Source, launches: Sequence[StatedLaunch] = ()) -> None:
        self.book = book
        self.source = source
        self.said = partial(of_kernel, launches)
        module = scan(source).module
        self.operations: Sequence[Operation] = module.operations
        self.aliases = module.aliases
        self.points = InsertionPoints(source, module.operations)
        self._step = effects(book, self.aliases)
        self._judged: tuple[str, tuple[Outcome, ...], dict[int, Judged]] = "", (), {}

    def step(self, operation: Operation) -> Step | None:
        return self._step(operation, [resolve(use.text, self.aliases) for use in operation.inputs])

    def touches(self, operation: Operation) -> bool:
        return False

    def issuer(self, operation: Operation) -> str:
        types = " ".join(resolve(use.text, self.aliases) for use in operation.inputs[:1])
        return f"{operation.name} {types}"

    def outcomes(self, text: str, line: Callable[[Operation], int] | None = None) -> tuple[Outcome, ...]:
        known, outcomes, studied = self._judged
        if text != known:
            studied = {}
            module = scan(Source(self.source.name, text)).module
            keep = partial(_keep, studied)
            outcomes = tuple(verify(self.book, module.operations, module.aliases, seen=keep, said=self.said))
            self._judged = text, outcomes, studied
        return outcomes if line is None else tuple(_by_causes(one, studied, line) for one in outcomes)

    def tolerates(self, doubt: Doubt) -> bool:
        """Whether no insertion changes it: how the kernel is launched, or what the text leaves its roles to decide."""
        return doubt.assumed or doubt.case in ("guessed_steps", "accessed_steps")

    def slotted(self, gaps: Sequence[Gap]) -> Slotted:
        lines = [InsertedLine(gap, 0, f'"{SLOT}"() : () -> ()') for gap in gaps]
        return _SlottedIr(self.book, self.source.name, Edited(self.source.text, lines), self.said)


def _keep(studied: dict[int, Judged], outcome: Outcome, study: Study) -> None:
    studied[id(outcome.kernel)] = outcome, study


def _by_causes(outcome: Outcome, studied: Mapping[int, Judged], line: Callable[[Operation], int]) -> Outcome:
    """The outcome of a kernel with the findings of its runs by their causes; those that no run shows follow them."""
    if id(outcome.kernel) not in studied:
        return outcome
    own, study = studied[id(outcome.kernel)]
    alone = outcome.faults[len(own.faults) :]
    return replace(outcome, faults=(*study.causes(own, line).faults, *alone))


class _SlottedIr:
    def __init__(self, book: Rulebook, name: str, edited: Edited, said: Callable[[str], Said]) -> None:
        self.book = book
        self.edited = edited
        self.said = said
        self.module = scan(Source(name, edited.text)).module
        self.slots: Sequence[Operation] = [op for top in self.module.operations for op in top.walk() if op.name == SLOT]
        self.outcomes: Sequence[Outcome] = ()

    def studies(
        self,
        actions: Mapping[str, Action],
        concerned: Callable[[Operation], bool],
        registers: bool,
        changed: Callable[[Program], Program],
    ) -> Iterator[Study]:
        module, said = self.module, self.said
        found = studies(self.book, module.operations, module.aliases, actions, concerned, OWN, registers, changed, said)
        for outcome, done in found:
            self.outcomes = (*self.outcomes, outcome)
            yield from done

    def lacking(self, filled: Mapping[int, Sequence[Insertion]]) -> Sequence[ProtocolFault]:
        return ()

    def needed(self, filled: Mapping[int, Sequence[Insertion]]) -> Mapping[str, set[Need]]:
        return {}

    def unseen(self, queues: Set[str]) -> Operation | None:
        return None


__all__ = ["FILLED", "OWN", "SLOT", "IrForm", "Slotted", "TextForm"]
