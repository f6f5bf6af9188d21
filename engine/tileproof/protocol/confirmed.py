"""Which findings of the machine about a kernel in PTX stand, and which rest on what its text leaves open."""

from __future__ import annotations

from collections.abc import Set

from tileproof.base.diagnostic import Severity
from tileproof.base.records import replace
from tileproof.dialects.operations import Operations
from tileproof.protocol.faults import DEADLOCKS, HAZARDS, ProtocolFault
from tileproof.protocol.runs import Doubt, Outcome, key_of
from tileproof.rulebase.book import Rulebook

_BLOCK = "assumed_block"
# Doubts that take no finding away.
_HARMLESS = ("any_cluster", "any_block", "accessed_steps", "late_ctas", "first_columns")


def confirmed(book: Rulebook, outcome: Outcome, known: Set[str] = frozenset()) -> tuple[ProtocolFault, ...]:
    """The findings about a kernel in PTX that do not rest on what its text leaves open.

    None does where the launch is assumed, unless something goes wrong with every one that may be, but for fences that
    are missing whatever the number of threads is. Else each is judged by itself: it stands unless a step may take it
    away that was not executed, or a thread went past a wait that is not followed, for then nothing is in step any more.
    A hang may be the consequence of a hazard, if steps that were not executed could take that away. Hazards and what is
    wrong at the end stand only where nothing is in doubt and no other error is open; what threads come to before any
    leaves a loop stands however long loops are.
    Where roles go by integers that each loads for itself, two accesses without an order may be those of roles that
    never differ so, unless runs with other integers have them too; the threads of a warpgroup meet at its wgmma.

    Args:
        known: the codes that the checks of single threads reported: such a finding is not open.
    """
    assumed = {doubt.case for doubt in outcome.doubts if doubt.assumed}
    if not assumed <= {_BLOCK}:
        return ()
    operations = Operations.of(book)
    doubts = [one for one in outcome.doubts if one.case not in _HARMLESS and not one.assumed]
    ahead = _steps(book, "waiting_step")
    out_of_step = any(operations.step(doubt.operation.name) in ahead for doubt in doubts if not _of_loops(doubt))
    exact = outcome.early or (outcome.exact and any(one.code in DEADLOCKS for one in outcome.faults))
    if outcome.early:
        doubts = [one for one in doubts if not _of_loops(one)]
    missing = (
        set[str]()
        if exact
        else {
            operations.step(step.name)
            for step in outcome.steps
            if id(step) not in outcome.executed or id(step) in outcome.guessed
        }
    )

    longer = [one for one in doubts if one.case != "short_loops"]  # what short loops do takes nothing away
    codes = book.enums["ptx_finding"].by_spelling
    serious = [one.code for one in outcome.faults if book.findings[one.code].severity is Severity.ERROR]
    others = any(codes.get(code) == ".thread" and code not in known for code in serious)
    alone = all(codes.get(code) == ".ending" for code in serious)
    hazards = any(codes.get(code) == ".whole" for code in serious)

    anyway = set(map(key_of, outcome.anyway))  # operations that are written alike are equal wherever they are

    def stands(fault: ProtocolFault) -> bool:
        if assumed and codes.get(fault.code) != ".unfenced":
            return False
        match codes.get(fault.code):
            case ".alone":
                return True
            case ".uninitialised":
                return missing.isdisjoint(_steps(book, "initialising_step"))
            case ".unfenced":
                return not out_of_step and missing.isdisjoint(_steps(book, "proxy_step"))
            case ".waiting":
                return not out_of_step and (exact or not hazards)
            case ".ending":
                return alone and not doubts and not missing
            case ".counted":
                return not (doubts or missing or fault.code in known)
            case ".whole":
                open_ = fault.code in HAZARDS and key_of(fault) not in anyway
                return not (longer or missing or others or open_ or within_warpgroup(book, fault))
        return False

    return tuple(filter(stands, outcome.faults))


def unsaid(book: Rulebook, outcome: Outcome, known: Set[str]) -> Outcome:
    """An outcome without findings that the checks of single threads have made under another code.

    Whether any wait covers a bulk store decides between PR106 and PR107; a wait that leaves the only group in flight
    is one to these checks, and none to the machine.
    """
    codes = book.enums["ptx_finding"].by_spelling
    if not any(codes.get(code) == ".ending" for code in known):
        return outcome
    return replace(outcome, faults=tuple(one for one in outcome.faults if codes.get(one.code) != ".ending"))


def refuted(book: Rulebook, outcome: Outcome, code: str, start: int) -> bool:
    """Whether no run leaves unfinished what some path of a single thread does, by a finding and where it is.

    A path may be one that no thread takes: the last turn of a loop issues nothing, the rest of an unrolled one has no
    next turn. A run takes only those that there are. Where it has not come to its end it says nothing, unless nobody
    comes to the operation but where a run is told to.
    """
    how = book.enums["unfinished_finding"].by_spelling.get(code)
    if how is None:
        return False
    if any(one.span.start <= start < one.span.end for one in outcome.told):
        return True
    whole = all(id(step) in outcome.executed and id(step) not in outcome.guessed for step in outcome.steps)
    open_ = any(doubt.case not in _HARMLESS and not doubt.assumed for doubt in outcome.doubts)
    return how == ".ending" and whole and not open_ and all(fault.code != code for fault in outcome.faults)


def by_cause(book: Rulebook, outcome: Outcome, sure: tuple[ProtocolFault, ...]) -> tuple[ProtocolFault, ...]:
    """Findings that stand, by their causes where these are known: of those that stand whatever else is reported."""
    return outcome.explained if outcome.explained and sure == confirmed(book, outcome) else sure


def within_warpgroup(book: Rulebook, fault: ProtocolFault) -> bool:
    """Whether a hazard is one between copies that threads wait for and a wgmma, at which its warpgroup meets.

    It is not where threads copy over what a wgmma reads that they have not waited for, nor where a wgmma reads copies
    that the threads who made them have not waited for.
    """
    if fault.unwaited:
        return False
    known = Operations.of(book)
    steps = {known.step(one.name) for one in (fault.operation, *(other for _, other in fault.trace))}
    return not any(map(steps.isdisjoint, (_steps(book, "warpgroup_step"), _steps(book, "thread_copy_step"))))


def _of_loops(doubt: Doubt) -> bool:
    """Whether it is about how often loops run, which takes no other finding away."""
    return doubt.fault is not None or doubt.case in ("loop_turns", "short_loops", "guessed_steps", "too_many_steps")


def _steps(book: Rulebook, enum: str) -> frozenset[str]:
    return frozenset(step[1:] for step in book.enums[enum].members)
