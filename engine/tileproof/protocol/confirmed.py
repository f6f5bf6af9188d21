"""Which findings of the machine about a kernel in PTX stand, and which rest on what its text leaves open."""

from __future__ import annotations

from tileproof.dialects.operations import Operations
from tileproof.protocol.faults import HAZARDS, ProtocolFault
from tileproof.protocol.ptx_kernels import LOADS
from tileproof.protocol.study import Doubt, Outcome
from tileproof.rulebase.book import Rulebook


def confirmed(book: Rulebook, outcome: Outcome) -> tuple[ProtocolFault, ...]:
    """The findings about a kernel in PTX that do not rest on what its text leaves open.

    None does where the launch is assumed. Else each is judged by itself: it stands unless a step may take it away that
    was not executed, or a thread went past a wait that is not followed, for then nothing is in step any more. A hang
    may be the consequence of a hazard. Hazards and what is wrong at the end stand only where nothing is in doubt and
    no other finding is open. Where roles go by integers that each loads for itself, two accesses without an order may
    be those of roles that never differ so; the threads of a warpgroup meet at its wgmma.
    """
    if any(doubt.assumed for doubt in outcome.doubts):
        return ()
    known = Operations.of(book)
    ahead = _steps(book, "waiting_step")
    out_of_step = any(known.step(doubt.operation.name) in ahead for doubt in outcome.doubts if not _of_loops(doubt))
    missing = {
        known.step(step.name)
        for step in outcome.steps
        if id(step) not in outcome.executed or id(step) in outcome.guessed
    }

    codes = book.enums["ptx_finding"].by_spelling
    others = any(codes.get(fault.code, ".thread") == ".thread" for fault in outcome.faults)
    alone = all(codes.get(fault.code) == ".ending" for fault in outcome.faults)
    loads = outcome.kernel.attribute(LOADS) is not None
    hazards = any(codes.get(fault.code) == ".whole" for fault in outcome.faults)

    def stands(fault: ProtocolFault) -> bool:
        match codes.get(fault.code):
            case ".alone":
                return True
            case ".uninitialised":
                return missing.isdisjoint(_steps(book, "initialising_step"))
            case ".unfenced":
                return not out_of_step and missing.isdisjoint(_steps(book, "proxy_step"))
            case ".waiting":
                return not out_of_step and not hazards
            case ".ending":
                return alone and not outcome.doubts and not missing
            case ".whole":
                unsure = outcome.doubts or missing or others or (loads and fault.code in HAZARDS)
                return not (unsure or within_warpgroup(book, fault))
        return False

    return tuple(filter(stands, outcome.faults))


def within_warpgroup(book: Rulebook, fault: ProtocolFault) -> bool:
    """Whether a hazard is one between copies that threads wait for and a wgmma, at which its warpgroup meets."""
    known = Operations.of(book)
    steps = {known.step(one.name) for one in (fault.operation, *(other for _, other in fault.trace))}
    return not any(map(steps.isdisjoint, (_steps(book, "warpgroup_step"), _steps(book, "thread_copy_step"))))


def _of_loops(doubt: Doubt) -> bool:
    """Whether it is about how often loops run, which takes no other finding away."""
    return doubt.fault is not None or doubt.case in ("loop_turns", "short_loops", "guessed_steps", "too_many_steps")


def _steps(book: Rulebook, enum: str) -> frozenset[str]:
    return frozenset(step[1:] for step in book.enums[enum].members)
