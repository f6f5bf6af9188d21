"""Shared and tensor memory of a kernel as pictures: which piece lies where, and when it is in use.

The use is that of one run of the abstract machine, of the smallest size that shows what was found, as for the timeline
of its protocol. Its steps are cut into as many moments as fit beside the pieces.
"""

from __future__ import annotations

from collections.abc import Sequence

from tileproof.base.records import dataclass, field
from tileproof.base.source import Source
from tileproof.drawing.kernels import Kernel
from tileproof.drawing.palette import wheel
from tileproof.drawing.picture import ROWS, Cell, Panel, Picture
from tileproof.evaluate import hardware
from tileproof.mlir.ir import Operation
from tileproof.protocol.actions import Action
from tileproof.protocol.ledger import Recorded
from tileproof.protocol.machine import Machine
from tileproof.protocol.memory import Access
from tileproof.protocol.program import Instruction
from tileproof.protocol.values import Allocation
from tileproof.protocol.warps import ThreadSet

_MOMENTS = 32
_READ, _WRITE, _BARRIER, _IDLE = 8, 2, 12, 6
_PIECE = 80  # characters of the name of a piece
_LEGEND = ((_WRITE, "write"), (_READ, "read"), (_BARRIER, "barrier"), (_IDLE, "between"))


@dataclass(frozen=True, slots=True)
class Use:
    """A use of a piece of memory: bytes of shared memory, columns of tensor memory.

    Attributes:
        memory: the serial number of the allocation.
        kind: ``write``, ``read`` or ``barrier``.
    """

    memory: int
    low: int
    high: int
    moment: int
    kind: str
    operation: Operation


@dataclass(slots=True)
class Piece:
    """A named part of an allocation, or one that is used as a whole, with its uses."""

    name: str
    low: int
    high: int
    uses: list[Use] = field(default_factory=list)


@dataclass(slots=True)
class _Watch:
    """Collects the uses of memory of the first CTA while a machine runs."""

    barrier: int
    uses: list[Use] = field(default_factory=list)
    moment: int = 0
    seen: dict[int, Access] = field(default_factory=dict)
    events: int = 0

    def watched(self, action: Action) -> Action:
        """An action that shows what it accessed."""

        def acted(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
            target = action(machine, thread_set, instruction)
            self.look(machine)
            return target

        return acted

    def look(self, machine: Machine) -> None:
        """Collect what is new."""
        before = len(self.uses)
        for (cta, memory), log in machine.accesses.items():
            for access in reversed([*log.accesses]):
                if id(access) in self.seen:
                    break
                self.seen[id(access)] = access
                if cta == 0:
                    kind = "write" if access.writes else "read"
                    self.uses.append(Use(memory, access.low, access.high, self.moment, kind, access.operation))
        for event in (machine.events or [])[self.events :]:
            cta, memory, byte = event.key
            if cta == 0:
                self.uses.append(Use(memory, byte, byte + self.barrier, self.moment, "barrier", event.operation))
        self.events = len(machine.events or [])
        self.moment += len(self.uses) > before


def picture_of(kernel: Kernel, space: str) -> Picture | None:
    """The picture of the memory of a kernel; None where it uses none that can be followed.

    Args:
        space: ``smem`` or ``tmem``.
    """
    study, source = kernel.study, kernel.source
    assert study.judged is not None
    _, size, _ = study.sizes(study.judged)
    watch = _Watch(hardware.limit(study.book, "barrier_bytes"))
    actions = study.actions
    study.actions = {name: watch.watched(action) for name, action in actions.items()}
    try:
        run = study.run(*size, recorded=Recorded())
    finally:
        study.actions = actions
    memories = [one for one in run.machine.allocations.by_serial.values() if one.space == space]
    rows = [piece for one in memories for piece in pieces(one, [use for use in watch.uses if use.memory == one.serial])]
    if not rows:
        return None
    unit = "bytes" if space == "smem" else "columns"
    what = "shared memory" if space == "smem" else "tensor memory"
    notes = [f"{unit} from the start of each allocation, in CTA 0; lines are those of the first and the last use"]
    if len(rows) > ROWS:
        notes.append(f"cut: {len(rows) - ROWS} of {len(rows)} pieces are not shown")
    cells = tuple(_row(one, source, watch.moment, unit) for one in rows[:ROWS])
    heads = ("from", "to", unit, "lines", *(str(i) for i in range(_MOMENTS)))
    panel = Panel("", tuple(one.name[:_PIECE] for one in rows[:ROWS]), heads, cells, "piece", "moment", tabular=True)
    return Picture(f"{what} of {kernel.name}", tuple(notes), (panel,), wheel(16), _LEGEND)


def pieces(memory: Allocation, uses: Sequence[Use]) -> list[Piece]:
    """The parts of an allocation by their offsets: its fields, and what is used beside them.

    Of tensor memory, whose allocations have no fields, these are the ranges of columns that some operation uses.
    """
    found = [Piece(name, start, start + size) for name, size, start in memory.fields if size > 0]
    for use in sorted(uses, key=lambda one: (one.low, -one.high, one.moment)):
        if memory.space == "tmem":
            home = next((one for one in found if (one.low, one.high) == (use.low, use.high)), None)
        else:
            home = next((one for one in found if one.low <= use.low < one.high), None)
        if home is None:
            home = Piece(memory.name, use.low, use.high)
            found.append(home)
        home.uses.append(use)
        if not memory.fields:
            home.high = max(home.high, use.high)
    return sorted(found, key=lambda one: (one.low, one.high))


def _row(piece: Piece, source: Source, moments: int, unit: str) -> tuple[Cell, ...]:
    lines = [
        source.position(use.operation.name_span.start).line for use in sorted(piece.uses, key=lambda one: one.moment)
    ]
    told = f"{lines[0]} to {lines[-1]}" if lines else "not used"
    size = piece.high - piece.low
    about = f"{piece.name}: {unit} {piece.low} to {piece.high - 1}, lines {told}"
    facts = tuple(Cell((said,), None, about) for said in (str(piece.low), str(piece.high - 1), str(size), told))
    by_moment: dict[int, list[Use]] = {}
    for use in piece.uses:
        by_moment.setdefault(use.moment * _MOMENTS // max(moments, 1), []).append(use)
    first, last = min(by_moment, default=_MOMENTS), max(by_moment, default=-1)
    return (*facts, *(_moment(about, i, by_moment.get(i, ()), first < i < last, source) for i in range(_MOMENTS)))


def _moment(about: str, number: int, uses: Sequence[Use], between: bool, source: Source) -> Cell:
    if not uses:
        return Cell(("-" if between else "",), _IDLE if between else None, f"{about}; moment {number}: no use")
    kinds = sorted({use.kind for use in uses})
    lines = sorted({source.position(use.operation.name_span.start).line for use in uses})
    hue = _WRITE if "write" in kinds else _READ if "read" in kinds else _BARRIER
    said = f"{about}; moment {number}: {', '.join(kinds)} at lines {', '.join(map(str, lines))}"
    return Cell(("".join(kind[0] for kind in kinds),), hue, said)


__all__ = ["Piece", "Use", "picture_of", "pieces"]
