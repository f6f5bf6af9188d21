"""setmaxnreg: the registers that warpgroups give back to the pool of their CTA and take from it."""

from __future__ import annotations

from tileproof.mlir.ir import Operation
from tileproof.protocol.actions.base import Action, integer, limit, registrar
from tileproof.protocol.machine import Machine
from tileproof.protocol.program import Instruction
from tileproof.protocol.steps import number, words
from tileproof.protocol.warps import ThreadSet

ACTIONS: dict[str, Action] = {}
action = registrar(ACTIONS)


@action("registers")
def _setmaxregister(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
    given = integer(machine, thread_set, instruction, 0) if instruction.inputs else None
    count = number(instruction.operation, "regCount") if given is None else given
    if count is not None:
        low, high, step = (limit(machine, name) for name in ("least_registers", "most_registers", "step_registers"))
        if not low <= count <= high or count % step:
            machine.report("PR161", "here", instruction.operation, count=count, low=low, high=high, step=step)
            return thread_set.place + 1
        for warp in thread_set.warps:
            _requested(machine, (thread_set.cta, warp), count, instruction.operation)
    return thread_set.place + 1


def _requested(machine: Machine, warp: tuple[int, int], count: int, operation: Operation) -> None:
    """A warp asks for registers: fewer than it has where it decreases them, more where it increases them."""
    before = machine.budgets.get(warp)
    machine.budgets[warp] = (count, operation)
    if before is None or before[0] != count:
        machine.requests.setdefault(warp, []).append((count, operation))
    if before is None:
        if "decrease" in words(operation) and count > _at_launch(machine):
            machine.report("PR173", "launch", operation, count=count, held=_at_launch(machine))
        return
    at = (("before", before[1]),)
    if "increase" in words(operation) and count < before[0]:
        machine.report("PR173", "fewer", operation, at=at, count=count, held=before[0])
    elif "decrease" in words(operation) and count > before[0]:
        machine.report("PR173", "more", operation, at=at, count=count, held=before[0])


def _at_launch(machine: Machine) -> int:
    """The most registers that a thread can have when the kernel begins: a CTA gets no more than there are."""
    step = limit(machine, "step_registers")
    each = limit(machine, "cta_registers") // machine.shape.threads // step * step
    return min(each, limit(machine, "most_registers"))


def warpgroups(machine: Machine) -> None:
    """Report a warpgroup whose warps ask for different numbers of registers, and a pool that never has enough.

    The pool of a CTA has what its warps give back: those that ask have together no more than at the launch.
    """
    invalid = any(one.code == "PR161" for one in machine.faults)  # a request that others cannot be compared with
    if invalid or machine.taint.everything or any(one.blocked for one in machine.thread_sets):
        return
    size = limit(machine, "group_warps")
    mine = {warp: asked for (cta, warp), asked in sorted(machine.requests.items()) if cta == 0}
    warps = -(-machine.shape.threads // machine.shape.warp)
    for first in range(0, warps, size):
        group = range(first, min(first + size, warps))
        counts = {warp: tuple(count for count, _ in mine.get(warp, ())) for warp in group}
        if len(set(counts.values())) > 1:
            _uneven(machine, mine, counts)
            return
    held = _at_launch(machine)
    wanted = sum(asked[-1][0] for asked in mine.values())
    grown = [asked[-1] for asked in mine.values() if "increase" in words(asked[-1][1])]
    had = held * len(mine)
    warp = machine.shape.warp
    if not grown:
        return
    most, operation = max(grown, key=lambda one: one[0])
    if not any("decrease" in words(one) for asked in mine.values() for _, one in asked):
        machine.report("PR160", "never", operation, most=most)
    elif had < wanted <= limit(machine, "cta_registers") // warp:
        machine.report("PR160", "pool", operation, most=most, wanted=wanted * warp, had=had * warp, held=held)


def _uneven(machine: Machine, mine: dict[int, list[tuple[int, Operation]]], counts: dict[int, tuple[int, ...]]) -> None:
    """Report the warps of a warpgroup that ask for different numbers of registers."""
    asking = [warp for warp in counts if counts[warp]]
    other = next(warp for warp in counts if counts[warp] != counts[asking[0]])
    asked = mine[asking[0]][-1]
    if not counts[other]:
        machine.report("PR174", "missing", asked[1], warp=other, count=asked[0])
    else:
        at = (("other", mine[other][-1][1]),)
        machine.report("PR174", "differ", asked[1], at=at, warp=other, count=asked[0], other=mine[other][-1][0])
