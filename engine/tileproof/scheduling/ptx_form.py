"""PTX as the search sees it: the machine on its kernels and the checks along paths, as ``check`` takes both."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from functools import partial

from tileproof.base.diagnostic import Diagnostic
from tileproof.base.records import replace
from tileproof.base.source import Source, Span
from tileproof.dataflow.checks import check_threads
from tileproof.judge.launches import StatedLaunch, of_kernel
from tileproof.mlir.ir import Operation
from tileproof.protocol.actions import Action
from tileproof.protocol.confirmed import within_warpgroup
from tileproof.protocol.counterparts import PURE, counterpart, is_step, relevant
from tileproof.protocol.faults import ProtocolFault
from tileproof.protocol.launch import Said
from tileproof.protocol.machine import Machine
from tileproof.protocol.program import Instruction, Program
from tileproof.protocol.ptx_kernels import compile_function
from tileproof.protocol.runs import Doubt, Outcome
from tileproof.protocol.seen import addressed, sees
from tileproof.protocol.steps import Step
from tileproof.protocol.structuring import Unstructured
from tileproof.protocol.study import Study
from tileproof.protocol.values import Address, Value
from tileproof.protocol.verify import Judged, function_studies, verify_function
from tileproof.protocol.warps import ThreadSet
from tileproof.ptx.graph import Graph, Graphs
from tileproof.ptx.module import Function, Module, read_module
from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.findings import state
from tileproof.scheduling.edits import Edited, Gap, InsertedLine, InsertionPoints
from tileproof.scheduling.forms import OWN, SLOT, Slotted
from tileproof.scheduling.needs import Need
from tileproof.scheduling.plan import Insertion
from tileproof.scheduling.ptx_paths import WgmmaPaths, first_accesses
from tileproof.scheduling.ptx_places import Nested, PtxPoints, nested

_NOWHERE = Operation("", (), (), (), (), (), (), (), False, ("",))
_CONTRACT = "ptx"


class PtxForm:
    """A module in PTX."""

    most = 255  # a tile is many instructions, each of which is a group at first
    studied = False  # the checks along paths belong to it

    def __init__(self, book: Rulebook, source: Source, launches: Sequence[StatedLaunch] = ()) -> None:
        self.book = book
        self.source = source
        self.said = partial(of_kernel, launches)
        self.steps: dict[int, Step] = {}
        self.touching: set[int] = set()  # the offsets of statements that access registers of wgmma
        module = read_module(book, source)
        graphs = Graphs(book, module)
        followed: list[Graph] = []
        kernels: list[Nested] = []
        for function in _entries(module):
            graph = graphs.of(function)
            try:
                followed_kernel = compile_function(book, graph)
            except Unstructured:
                continue
            operations: dict[int, Operation] = {}
            for one in followed_kernel.program.code:
                if one.kind == "effect" and one.effect is not None and one.operation.span.end:
                    start = one.operation.span.start
                    if start not in self.steps or self.steps[start].name in PURE:
                        self.steps[start] = one.effect
                        operations[start] = one.operation
            self.touching |= first_accesses(book, source, graph)
            followed.append(graph)
            kernels.append(nested(graph, _kernel(function), operations))
        self.points: InsertionPoints = PtxPoints(source, followed, kernels, self.steps)
        self.operations: Sequence[Operation] = [one.kernel for one in kernels]
        self._judged: tuple[str, dict[int, Judged]] = "", {}  # the text judged last, and its functions by number

    def step(self, operation: Operation) -> Step | None:
        return self.steps.get(operation.span.start)

    def touches(self, operation: Operation) -> bool:
        return operation.span.start in self.touching

    def issuer(self, operation: Operation) -> str:
        return operation.name

    def outcomes(self, text: str, line: Callable[[Operation], int] | None = None) -> tuple[Outcome, ...]:
        source = Source(self.source.name, text)
        module = read_module(self.book, source)
        graphs = Graphs(self.book, module)
        if text != self._judged[0]:
            self._judged = text, {}
        by_body: dict[int, list[ProtocolFault]] = {}
        for diagnostic in check_threads(self.book.under(_CONTRACT), source, graphs):
            number = next(one.body for one in module.instructions if one.opcode_start == diagnostic.span.start)
            by_body.setdefault(number, []).append(_fault(module, diagnostic))
        found = (
            self._outcome(graphs, function, by_body.get(function.number, ()), line)
            for function in module.functions
            if function.body is not None
        )
        return tuple(one for one in found if one is not None)

    def _outcome(
        self,
        graphs: Graphs,
        function: Function,
        paths: Sequence[ProtocolFault],
        line: Callable[[Operation], int] | None,
    ) -> Outcome | None:
        """What is known of a function; None where it has no protocol."""
        statements = graphs.module.instructions[function.first : function.last]
        if not any(_asynchronous(self.book, one) for one in {one.opcode for one in statements}):
            return None
        kernel = _kernel(function)
        if function.kind != "entry":
            return Outcome(kernel, (), (self._doubt("device_function", kernel),), ())
        _, studied = self._judged
        if function.number not in studied:
            keep, said = partial(_keep, studied, function.number), self.said(function.name)
            try:
                found = verify_function(self.book, graphs.of(function), seen=keep, said=said)
            except Unstructured as reason:
                return Outcome(kernel, tuple(paths), (self._doubt(reason.case, reason.operation),), ())
            if found is None:
                return Outcome(kernel, tuple(paths), (self._doubt("ptx", kernel),), ())
        outcome, study = studied[function.number]
        outcome = outcome if line is None else study.causes(outcome, line)
        # What else the machine finds may rest on what PTX leaves open, as `check` says of it.
        enums = self.book.enums
        sure = enums["ptx_finding"].by_spelling.keys() | enums["schedule_finding"].by_spelling.keys()
        unsure, faults = [], []
        for one in outcome.faults:
            if one.code in sure and not within_warpgroup(self.book, one):
                faults.append(one)
            else:
                unsure.append(self._doubt("unconfirmed", one.operation, one.code))
        places = {(one.code, one.operation.name_span.start) for one in faults}
        faults += (one for one in paths if (one.code, one.operation.name_span.start) not in places)
        return replace(outcome, faults=tuple(faults), doubts=(*outcome.doubts, *unsure))

    def _doubt(self, case: str, operation: Operation, code: str = "") -> Doubt:
        said = state(self.book, "PR190", case, code=code) if code else state(self.book, "PR190", case)
        return Doubt(case, operation, said.message, said.hint)

    def tolerates(self, doubt: Doubt) -> bool:
        return doubt.case == "accessed_steps"  # `unseen` says whether what is inserted depends on them

    def slotted(self, gaps: Sequence[Gap]) -> Slotted:
        edited = Edited(self.source.text, [InsertedLine(gap, 0, f"{SLOT};") for gap in gaps])
        return _SlottedPtx(self.book, self.source.name, edited, self.said)


class _SlottedPtx:
    def __init__(self, book: Rulebook, name: str, edited: Edited, said: Callable[[str], Said]) -> None:
        self.book = book
        self.edited = edited
        self.said = said
        self.outcomes: Sequence[Outcome] = ()
        self.unknown: dict[str, Operation] = {}
        source = Source(name, edited.text)
        self.module = read_module(book, source)
        self.graphs = Graphs(book, self.module)
        slots = {i: one for i, one in enumerate(self.module.instructions) if one.opcode == SLOT}
        spans = [Span(one.start, one.end) for one in slots.values()]
        self.slots: Sequence[Operation] = [
            replace(_NOWHERE, name=SLOT, pieces=(SLOT,), span=one, name_span=one) for one in spans
        ]
        graphs = (self.graphs.of(one) for one in _entries(self.module))
        self.paths = WgmmaPaths(book, source, graphs, self.module, {i: one.start for i, one in slots.items()})

    def studies(
        self,
        actions: Mapping[str, Action],
        concerned: Callable[[Operation], bool],
        registers: bool,
        changed: Callable[[Program], Program],
    ) -> Iterator[Study]:
        for function in _entries(self.module):
            if concerned(_kernel(function)):
                watched = {name: self._watched(name, action) for name, action in actions.items()}
                graph, said = self.graphs.of(function), self.said(function.name)
                for study in function_studies(self.book, graph, watched, OWN, changed, said):
                    study.actions = dict(actions)
                    yield study

    def _watched(self, name: str, action: Action) -> Action:
        """An action, and whether it is known what it accesses."""
        row = self.book.shared_table("schedule_access").rows.get((f".{name}",))
        if row is None:
            return action
        queues, how = row[0], addressed(self.book)[name]
        assert isinstance(queues, frozenset)

        def run(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
            values = [thread_set.values[slot] for slot in instruction.inputs]
            if not sees(how, values, _known):
                for queue in queues:
                    self.unknown.setdefault(str(queue)[1:], instruction.operation)
            return action(machine, thread_set, instruction)

        return run

    def unseen(self, queues: Set[str]) -> Operation | None:
        return next((self.unknown[one] for one in sorted(queues) if one in self.unknown), None)

    def lacking(self, filled: Mapping[int, Sequence[Insertion]]) -> Sequence[ProtocolFault]:
        self.paths.fill(filled)
        return list(self.paths.found(lambda diagnostic: _fault(self.module, diagnostic)))

    def needed(self, filled: Mapping[int, Sequence[Insertion]]) -> Mapping[str, set[Need]]:
        self.paths.fill(filled)
        return {"wgmma": self.paths.needs()}


def _keep(studied: dict[int, Judged], number: int, outcome: Outcome, study: Study) -> None:
    studied[number] = outcome, study


def _known(value: Value) -> bool:
    """Whether a value is an address in shared or tensor memory, for each thread."""
    return isinstance(value, Address) and (value.offset is not None or (bool(value.parts) and None not in value.parts))


def _entries(module: Module) -> Iterable[Function]:
    return [one for one in module.functions if one.body is not None and one.kind == "entry"]


def _kernel(function: Function) -> Operation:
    name = f"llvm.func @{function.name}"
    return replace(_NOWHERE, name="llvm.func", pieces=(name, ""), span=function.span, name_span=function.span)


def _asynchronous(book: Rulebook, opcode: str) -> bool:
    """Whether an opcode is a step of a protocol that makes a function one to be verified."""
    same = counterpart(book, opcode)
    return (
        same is not None
        and any(is_step(book, one.partition(" ")[0]) for one in same.operations)
        and relevant(book, opcode)
    )


def _fault(module: Module, diagnostic: Diagnostic) -> ProtocolFault:
    """A finding of a path as one of the machine: the first statement of its trace is the one that it is about."""

    def operation(span: Span) -> Operation:
        one = next(one for one in module.instructions if one.start <= span.start < one.end)
        return replace(_NOWHERE, name=one.opcode, pieces=(one.opcode,), span=Span(one.start, one.end), name_span=span)

    trace = tuple((one.message, operation(one.span)) for one in diagnostic.related)
    return ProtocolFault(diagnostic.code, operation(diagnostic.span), diagnostic.message, diagnostic.hint, trace)


__all__ = ["PtxForm"]
