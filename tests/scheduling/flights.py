"""Two texts of one kernel compared by place: how long operations are in flight, and how often fences are executed.

Which runs the verifier takes follows from what they take of its budget, so a text with other waits may be run more
often or less. Only runs that both texts had count: those of the same kernel, launched in the same way, in which all
that the text leaves open was supposed to be the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from tileproof.base.source import Source
from tileproof.memory.tensor_maps import kernel_name
from tileproof.mlir.scanner import scan
from tileproof.protocol.actions import ACTIONS, Action
from tileproof.protocol.folding import Shape
from tileproof.protocol.machine import Machine
from tileproof.protocol.program import Instruction
from tileproof.protocol.verify import verify
from tileproof.protocol.warps import ThreadSet
from tileproof.rulebase.book import Rulebook
from tileproof.scheduling.order import Flights


@dataclass
class ByRun:
    """The flights of each run that was not told which way to go, by the kernel and what was supposed."""

    runs: dict[tuple[str, Shape, int], Flights] = field(default_factory=dict)
    _machine: Machine | None = None
    _actions: dict[str, Action] = field(default_factory=dict)

    @property
    def actions(self) -> dict[str, Action]:
        """The actions of the machine, watched."""
        return {name: self._watched(name) for name in ACTIONS}

    def _watched(self, name: str) -> Action:
        def run(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
            if machine is not self._machine:
                self._begin(machine)
            return self._actions[name](machine, thread_set, instruction)

        return run

    def _begin(self, machine: Machine) -> None:
        """Watch another run: one comes to its end before the next one begins."""
        self._machine, watch = machine, Flights()
        self._actions = watch.actions
        if not (machine.forced or machine.agreed or machine.eager):
            kernel = machine.program.kernel
            self.runs.setdefault((kernel_name(kernel) or kernel.name, machine.shape, machine.tiles), watch)

    def worse(self, other: ByRun) -> list[str]:
        """Where this is worse than another text of the same kernels: queues by name, and fences."""
        common = self.runs.keys() & other.runs.keys()
        assert {kernel for kernel, _, _ in self.runs} == {kernel for kernel, _, _ in common}
        return _sum(self.runs[one] for one in common).worse(_sum(other.runs[one] for one in common))


def _sum(runs: Iterable[Flights]) -> Flights:
    whole = Flights()
    for one in runs:
        whole.steps += one.steps
        whole.executed += one.executed
    return whole


def of_text(book: Rulebook, source: Source) -> ByRun:
    """How long operations are in flight."""
    watch, module = ByRun(), scan(source).module
    list(verify(book, module.operations, module.aliases, watch.actions))
    return watch
