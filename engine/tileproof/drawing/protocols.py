"""The protocol of a kernel as a picture: what each role does, step by step downwards, and what comes to each barrier.

It is one run of the abstract machine, of the smallest size that shows what was found. The order in which roles take
turns is the machine's: only what a barrier passes on is ordered in every run.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from textwrap import wrap

from tileproof.base.records import dataclass
from tileproof.base.source import Span
from tileproof.drawing.kernels import Kernel
from tileproof.drawing.palette import wheel
from tileproof.drawing.picture import Cell, Panel, Picture
from tileproof.mlir.ir import Operation
from tileproof.protocol.diagnosis.names import barrier_names, warps
from tileproof.protocol.diagnosis.scene import Scene
from tileproof.protocol.ledger import Event, Recorded
from tileproof.protocol.trace import TraceStep
from tileproof.protocol.warps import BarrierKey

_ROWS, _PANELS, _BARRIERS, _LANES = 48, 4, 16, 12  # the most that are shown
_BEFORE = 40  # steps that are shown before the last one of a finding
_FINDINGS, _WIDTH = 3, 130
_UNSEEN = {"elect", "index", "peer", "allocate", "tmem_address", "peek"}  # these change nothing that others see
_SETUP, _WAIT, _ARRIVE, _COPY, _MULTIPLY, _ACCESS = 0, 2, 4, 6, 8, 10
_PHASES = (9, 11, 13, 15)  # colours of phases, in turn
_LEGEND = (
    (_SETUP, "set up, fence"),
    (_WAIT, "wait"),
    (_ARRIVE, "arrive, commit"),
    (_COPY, "copy"),
    (_MULTIPLY, "multiply"),
    (_ACCESS, "access"),
    *((hue, f"phase {i}" if i < 3 else "phase 3, ...") for i, hue in enumerate(_PHASES)),
)

Lane = tuple[int, tuple[int, ...]]
"""A CTA and warps of it that did the same."""


@dataclass(frozen=True, slots=True)
class _Row:
    """A step, or several alike that follow each other.

    Attributes:
        moment: of the first.
        waits: whether its threads wait for ever.
        mixed: whether it is several kinds of accesses.
    """

    moment: int
    step: TraceStep
    events: tuple[Event, ...]
    count: int = 1
    waits: bool = False
    mixed: bool = False


def picture_of(kernel: Kernel) -> Picture:
    """The picture of a kernel."""
    return Timeline(kernel).picture()


class Timeline:
    """One run, with what was found in all of them."""

    def __init__(self, kernel: Kernel) -> None:
        study = kernel.study
        assert study.judged is not None
        self.kernel, self.line = kernel, kernel.line
        self.recorded = Recorded()
        _, size, _ = study.sizes(study.judged)
        self.run = study.run(*size, recorded=self.recorded)
        self.scene = Scene(self.run.machine, tuple(self.run.faults), self.recorded)
        self.history = self.recorded.history
        self.wrong = [one.span for one in kernel.findings]
        self.lanes = self.roles()
        self.names = barrier_names(self.scene)

    def roles(self) -> list[Lane]:
        """The warps by what they did: those that took the same steps are one lane."""
        taken: dict[tuple[int, int], list[int]] = defaultdict(list)
        for moment, one in enumerate(self.history):
            for warp in one.warps:
                taken[one.cta, warp].append(moment)
        alike: dict[tuple[int, tuple[int, ...]], list[int]] = defaultdict(list)
        for (cta, warp), moments in taken.items():
            alike[cta, tuple(moments)].append(warp)
        return sorted((cta, tuple(sorted(some))) for (cta, _), some in alike.items())

    def picture(self, at: Span | None = None, most: int = _ROWS * _PANELS) -> Picture:
        """The picture of the run, or of the part of it around a finding.

        Args:
            most: rows that are shown.
        """
        rows = list(self.rows())
        shown, notes = self.window(rows, at, most)
        keys = list(dict.fromkeys(event.key for row in shown for event in row.events))
        keys = sorted(dict.fromkeys([*(key for _, _, key in self.scene.waiting), *keys]))
        lanes = [one for one in self.lanes if any(_takes_part(one, row.step) for row in shown)]
        for what, some, bound in (("roles", lanes, _LANES), ("barriers", keys, _BARRIERS)):
            if len(some) > bound:
                notes.append(f"cut: {len(some) - bound} of {len(some)} {what} are not shown")
                del some[bound:]
        heads = (*map(self.lane_name, lanes), *map(self.barrier_name, keys))
        panels = []
        for start in range(0, len(shown), _ROWS):
            part = shown[start : start + _ROWS]
            cells = tuple(
                (*(self.at_lane(row, lane) for lane in lanes), *(self.at_barrier(row, key) for key in keys))
                for row in part
            )
            names = tuple(f"line {self.line(row.step.operation)}" for row in part)
            panels.append(Panel("", names, heads, cells, "step", "role", guides=True))
        return Picture(
            f"protocol of {self.kernel.name}", (*self.findings(), *notes), tuple(panels), wheel(16), _LEGEND, ""
        )

    def findings(self) -> Iterator[str]:
        """The first findings, in lines."""
        found = self.kernel.findings
        for one in found[:_FINDINGS]:
            yield from wrap(f"{one.code} at line {self.kernel.line_of(one.span)}: {one.message}", _WIDTH)
        if len(found) > _FINDINGS:
            yield f"and {len(found) - _FINDINGS} more findings"
        if not found:
            yield "no finding of the protocol"
        places = sorted({(self.kernel.line_of(one.span), one.code) for one in self.kernel.unconfirmed})
        if places:
            said = ", ".join(f"{code} at line {line}" for line, code in places[:_FINDINGS])
            yield f"not confirmed, since the text leaves open what it rests on: {said}" + ", ..." * (
                len(places) > _FINDINGS
            )

    def rows(self) -> Iterator[_Row]:
        """The steps that others see, those that repeat without an event in one row."""
        events = iter(self.scene.events)
        event = next(events, None)
        last: _Row | None = None
        for moment, step in enumerate(self.history):
            mine = []
            while event is not None and _is_of(event, step):
                mine.append(event)
                event = next(events, None)
            if step.step in _UNSEEN and not mine:
                continue
            if last is not None and not mine and not last.events and _alike(last.step, step):
                mixed = last.mixed or last.step.step != step.step
                last = _Row(last.moment, last.step, (), last.count + 1, mixed=mixed)
                continue
            if last is not None:
                yield last
            last = _Row(moment, step, tuple(mine))
        if last is not None:
            yield last
        code = self.run.machine.program.code
        for one in self.run.machine.thread_sets:
            if one.blocked is not None:
                operation = code[one.place].operation
                yield _Row(len(self.history), TraceStep(one.cta, tuple(one.warps), "wait", operation), (), 1, True)

    def window(self, rows: list[_Row], at: Span | None, most: int) -> tuple[list[_Row], list[str]]:
        """The rows that are shown: those before what was found, where there are too many."""
        if len(rows) <= most:
            return rows, []
        spans = self.wrong if at is None else [at]
        wrong = [i for i, row in enumerate(rows) if _is_at(row.step.operation, spans)]
        wrong = wrong or [i for i, row in enumerate(rows) if row.waits or self.is_wrong(row)]
        start = min(max(wrong[0] - min(_BEFORE, most * 3 // 4), 0), len(rows) - most) if wrong else 0
        return rows[start : start + most], [f"cut: {len(rows) - most:,} of {len(rows):,} steps are not shown"]

    def is_wrong(self, row: _Row) -> bool:
        """Whether a finding is at the step of a row."""
        return _is_at(row.step.operation, self.wrong)

    def lane_name(self, lane: Lane) -> str:
        """A lane by what its warps do."""
        said = warps(self.kernel.study.book, self.history, lane[0], lane[1])
        return f"{said}, CTA {lane[0]}" if any(cta for cta, _ in self.lanes) else said

    def barrier_name(self, key: BarrierKey) -> str:
        """A barrier as findings name it."""
        name = (self.names.get(key) or self.scene.name(key)).partition(" (")[0]  # without the stages of its ring
        return f"{name}, CTA {key[0]}" if any(cta for cta, _ in self.lanes) else name

    def at_lane(self, row: _Row, lane: Lane) -> Cell | None:
        """What a lane does in a step."""
        if not _takes_part(lane, row.step):
            return None
        line = self.line(row.step.operation)
        name = "read, write" if row.mixed else row.step.step.removeprefix("raw_").replace("_", " ")
        operation = self.kernel.said(row.step.operation)
        if row.waits:
            said = f"{self.lane_name(lane)} waits for ever at line {line}: {operation}"
            return Cell(("waits for ever",), _WAIT, said, True)
        several = f" x{row.count}" if row.count > 1 else ""
        said = f"step {row.moment}: {self.lane_name(lane)}: {name}{several} at line {line}: {operation}"
        return Cell((name + several,), _hue(row.step.step), said, self.is_wrong(row))

    def at_barrier(self, row: _Row, key: BarrierKey) -> Cell | None:
        """What comes to a barrier in a step, or how it is left."""
        if row.waits:
            return self.left(row, key)
        mine = [one for one in row.events if one.key == key]
        if not mine:
            return None
        # Of a copy in PTX it may be open how much it brings.
        lines = tuple(f"{one.kind} {one.amount}" if one.amount and one.kind != "pass" else one.kind for one in mine)
        phase = max(one.phase for one in mine)
        ended = {one.kind for one in mine} == {"pass"}
        said = f"step {row.moment}: {self.barrier_name(key)}, phase {phase}: {', '.join(lines)}"
        return Cell(lines, None if ended else _PHASES[min(phase, 3)], said)

    def left(self, row: _Row, key: BarrierKey) -> Cell | None:
        """The barrier that threads wait for, as it is at the end."""
        waiting = any(
            other == key and operation is row.step.operation and one.cta == row.step.cta
            for one, operation, other in self.scene.waiting
        )
        barrier = self.run.machine.barriers.get(key)
        if not waiting or barrier is None:
            return None
        lines = [f"{barrier.pending} of {barrier.count} to come"]
        lines += [f"{barrier.bytes} bytes to come"] if barrier.bytes else []
        said = f"{self.barrier_name(key)} at the end, phase {barrier.phase}: {', '.join(lines)}"
        return Cell(tuple(lines), _PHASES[min(barrier.phase, 3)], said, True)


def _is_at(operation: Operation, spans: Sequence[Span]) -> bool:
    return any(operation.span.start <= one.start < operation.span.end for one in spans)


def _takes_part(lane: Lane, step: TraceStep) -> bool:
    return lane[0] == step.cta and lane[1][0] in step.warps


def _is_of(event: Event, step: TraceStep) -> bool:
    return event.operation is step.operation and event.cta == step.cta and event.warps == step.warps


def _alike(one: TraceStep, other: TraceStep) -> bool:
    same = one.step == other.step or _hue(one.step) == _hue(other.step) == _ACCESS
    return same and (one.cta, one.warps) == (other.cta, other.warps)


_HUES: Mapping[str, int] = {
    **dict.fromkeys(("wait", "peek", "block", "cta_barrier", "cluster_wait", "warp_sync"), _WAIT),
    **dict.fromkeys(("wgmma_wait", "bulk_wait", "async_wait", "tmem_wait"), _WAIT),
    **dict.fromkeys(("arrive", "arrive_expect", "expect", "cta_arrive", "cluster_arrive", "async_arrive"), _ARRIVE),
    **dict.fromkeys(("mma_commit", "wgmma_commit", "bulk_commit", "async_commit"), _ARRIVE),
    **dict.fromkeys(("copy", "bulk_load", "bulk_store", "async_load", "raw_copy", "raw_tmem_copy", "cancel"), _COPY),
    **dict.fromkeys(("mma", "raw_mma", "raw_wgmma"), _MULTIPLY),
    **dict.fromkeys(("read", "write", "tmem_load", "tmem_store", "matrix_load", "matrix_store", "atomic"), _ACCESS),
    **dict.fromkeys(("remote_store", "global_read"), _ACCESS),
    "grid_wait": _WAIT,
}


def _hue(step: str) -> int:
    return _HUES.get(step, _SETUP)


__all__ = ["Timeline", "picture_of"]
