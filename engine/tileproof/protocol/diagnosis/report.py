"""One finding for one mistake: at the operation to change, with all that goes wrong for it as other places."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tileproof.base.diagnostic import Severity
from tileproof.base.records import replace
from tileproof.mlir.ir import Operation
from tileproof.protocol.diagnosis.changes import Change
from tileproof.protocol.diagnosis.names import warps
from tileproof.protocol.diagnosis.scene import Scene
from tileproof.protocol.faults import HANGS, Correction, ProtocolFault
from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.findings import state

Name = tuple[str, int]  # the code of a finding, and where it is
_OTHERS = 3  # other repairs that a finding names
_PLACES = 12  # that a finding names
_COLUMNS = {"PR155", "PR156"}  # of one allocation these are one mistake, and several are that of the allocation
_TOGETHER = {"PR121", "PR123", "PR153", "PR192"}  # one fence, barrier, allocation or elect.sync before repairs all


def named(fault: ProtocolFault) -> Name:
    """What tells findings apart."""
    return fault.code, fault.operation.span.start


def explained(
    scene: Scene,
    faults: Sequence[ProtocolFault],
    change: Change,
    others: Sequence[Change],
    line: Callable[[Operation], object],
) -> ProtocolFault:
    """One finding for all that a change repairs, at the operation to change."""
    book = scene.machine.book
    errors = [one for one in faults if book.findings[one.code].severity is Severity.ERROR] or list(faults)
    first = next((one for one in errors if one.code == _CODE.get(change.case)), errors[0])
    said = state(book, "PR191", change.case, **change.facts)
    code, message = first.code, first.message
    if change.case == "bytes" and code == "PR124":
        announced, delivered = change.facts["announced"], change.facts["delivered"]
        name = change.facts["barrier"]
        message = state(book, code, "here", barrier=name, expected=announced, delivered=delivered).message
    elif change.key is not None:
        phase = scene.machine.barriers[change.key].phase
        stated = state(book, "PR126", "here", barrier=scene.name(change.key), phase=phase)
        code, message = stated.code, stated.message
    hint = scene.spelled(said.hint.replace(_LINE, str(line(change.operation))))
    if change.alike:
        hint += "; " + _place(scene, "alike", lines=", ".join(str(line(one)) for one in change.others))
    hint = first.hint if not hint or change.case == "order" else hint
    mine = {one.span.start for one in (change.operation, *(change.others if change.alike else ()))}
    rivals = [one for one in others if one.operation.span.start not in mine][:_OTHERS]
    for rival in rivals:
        other = scene.spelled(state(book, "PR191", rival.case, **rival.facts).hint)
        other = other.replace(_LINE, str(line(rival.operation)))
        hint += f"; or, {other}" if other and other not in hint else ""
    home = change.operation
    if change.case in _SIDES:
        home = scene.beside(home, _SIDES[change.case], change.behind)
    if change.case.startswith("initialise") and home is change.operation and len(scene.set_up) == 1:
        home = scene.set_up[0]
    trace: dict[int, tuple[str, Operation]] = {}
    if home is not change.operation:
        trace[change.operation.span.start] = (_place(scene, "shows"), change.operation)
    for what, operation in (*_effects(scene, first), *_all_places(scene, faults, first), *_copies(scene, change)):
        if operation.span.start != home.span.start and len(trace) < _PLACES:
            trace.setdefault(operation.span.start, (what, operation))
    for operation in (*change.others, *(one.operation for one in rivals)):
        trace.setdefault(operation.span.start, (_place(scene, "likewise"), operation))
    at_home = change.case in ("insert_before", "order") and change.operation is first.operation
    whole = message if at_home else f"{message}: {said.message}"
    right = None if rivals else _correction(change)
    return replace(
        first, code=code, operation=home, message=whole, hint=hint, trace=tuple(trace.values()), correction=right
    )


_NUMBERS = {"bytes": ("announced", "delivered"), "count": ("count", "right"), "counts": ("count", "right")}


def _correction(change: Change) -> Correction | None:
    """The number that a change is about, where it is one."""
    written, right = (change.facts.get(name) for name in _NUMBERS.get(change.case, ("", "")))
    if not isinstance(written, int) or not isinstance(right, int):
        return None
    same = change.others if change.case != "bytes" or change.alike else ()
    return Correction((change.operation, *same), written, right)


_SIDES = {  # whether what is missing belongs after the operation that a change is about; None: on either side
    "initialise": None,
    "initialise_after": None,
    "initialise_before": False,
    "insert_after": True,
    "arrive_missing": True,
    "commit_missing": True,
    "insert_before": False,
    "wait_missing": False,
    "announce": False,
    "order": False,
}
_LINE = "<line>"  # in hints: where the finding is
_CODE = {"bytes": "PR124", "count": "PR125", "counts": "PR125"}


def _place(scene: Scene, case: str, **facts: object) -> str:
    return state(scene.machine.book, "PR191", case, **facts).message


def _effects(scene: Scene, first: ProtocolFault) -> list[tuple[str, Operation]]:
    """Where the first finding shows: who waits there, and for what; then the other places that it names."""
    found = [] if first.code in HANGS else [(_place(scene, "shows"), first.operation)]
    return [*found, *(waits(scene) if first.code in HANGS else ()), *first.trace]


def waits(scene: Scene) -> list[tuple[str, Operation]]:
    """Who waits for what, the root first: the waits that no other explains."""
    book = scene.machine.book
    found: dict[int, tuple[str, Operation]] = {}
    ranked = sorted(scene.waiting, key=lambda one: one[2] not in scene.roots)
    for thread_set, operation, key in ranked:
        who = warps(book, scene.recorded.history, thread_set.cta, thread_set.warps)
        text = _place(scene, "waits", warps=who, barrier=scene.name(key))
        found.setdefault(operation.span.start, (text, operation))
    return list(found.values())


def _all_places(scene: Scene, faults: Sequence[ProtocolFault], first: ProtocolFault) -> list[tuple[str, Operation]]:
    """Where the other findings of one cause show, and what they name."""
    found = []
    for fault in faults:
        if fault is not first:
            found += [(fault.message, fault.operation), *fault.trace]
    return found


def _copies(scene: Scene, change: Change) -> list[tuple[str, Operation]]:
    """The copies of a phase whose bytes are announced wrong, each with its bytes."""
    if change.case != "bytes":
        return []
    keys = [one.key for one in scene.events if one.kind == "expect" and one.operation is change.operation][:1]
    copies = {
        one.operation.span.start: (_place(scene, "copy", bytes=one.amount), one.operation)
        for key in keys
        for one in scene.by_key[key]
        if one.kind == "copy"
    }
    return list(copies.values())


def misled(book: Rulebook, faults: Sequence[ProtocolFault]) -> ProtocolFault:
    """One finding for all that goes wrong where a try_wait lets threads past the wait behind it, at the try_wait."""
    first, *rest = faults
    (elsewhere, home), *others = first.tried
    why = state(book, "PR191", "astray" if elsewhere else "misled")
    shows, likewise = (state(book, "PR191", one).message for one in ("shows", "likewise"))
    places = [(shows, first.operation), *first.trace, *((one.message, one.operation) for one in rest)]
    places += [(likewise, one) for _, one in others]
    trace = {one.span.start: (what, one) for what, one in reversed(places) if one is not home}
    ordered = tuple(reversed(trace.values()))[:_PLACES]
    return replace(first, operation=home, message=f"{first.message}: {why.message}", hint=why.hint, trace=ordered)


def merged(scene: Scene, faults: Sequence[ProtocolFault]) -> list[ProtocolFault]:
    """Findings without a known cause: those that name one earlier operation, or stand at one, are one finding."""
    groups: list[list[ProtocolFault]] = []
    for fault in faults:
        causes = {at.span.start for _, at in fault.trace[:1]} or {fault.operation.span.start}
        home = next(
            (
                group
                for group in groups
                if (group[0].code == fault.code or {group[0].code, fault.code} == _COLUMNS)
                and (
                    fault.code in _TOGETHER
                    or causes & ({at.span.start for _, at in group[0].trace[:1]} | {group[0].operation.span.start})
                )
            ),
            None,
        )
        if home is None:
            groups.append([fault])
        else:
            home.append(fault)
    found = []
    for first, *rest in groups:
        trace = {at.span.start: (what, at) for what, at in first.trace}
        if first.code in HANGS:
            for what, at in waits(scene):
                if at.span.start != first.operation.span.start:
                    trace.setdefault(at.span.start, (what, at))
        for fault in rest:
            trace.setdefault(fault.operation.span.start, (fault.message, fault.operation))
        place = first.operation
        if rest and first.code in _COLUMNS and first.trace:
            place = first.trace[0][1]
            trace.pop(place.span.start, None)
            trace = {first.operation.span.start: (first.message, first.operation), **trace}
        found.append(replace(first, operation=place, trace=tuple(trace.values())[:_PLACES]))
    return found


def unsought(book: Rulebook, fault: ProtocolFault) -> ProtocolFault:
    """A finding whose cause was not found before the budget was spent."""
    said = state(book, "PR191", "unsought").message
    return replace(fault, hint=f"{fault.hint}; {said}" if fault.hint else said)


__all__ = ["Name", "explained", "merged", "misled", "named", "unsought"]
