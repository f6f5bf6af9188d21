"""setmaxnreg: the registers that warpgroups give back to the pool of their CTA and take from it.

An increase waits until the pool has what it takes; a decrease gives back at once. When the kernel begins each warp has
the same number of registers, and the pool is empty: how many they are the text does not say, so the most that a CTA of
its size can have are supposed. ptxas 13.5 gives them as many as the largest increase asks for, if a CTA can have those.
"""

from __future__ import annotations

from collections.abc import Iterator

from tileproof.mlir.ir import Operation
from tileproof.protocol.actions.barriers import excused
from tileproof.protocol.actions.base import WAITS, Action, integer, limit, registrar
from tileproof.protocol.machine import Machine
from tileproof.protocol.program import Instruction
from tileproof.protocol.steps import number, words
from tileproof.protocol.values import Lanes
from tileproof.protocol.warps import OnRegisters, ThreadSet

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
        if not _granted(machine, thread_set, instruction.operation, count) and not excused(thread_set):
            thread_set.blocked = OnRegisters(thread_set.cta)
            return WAITS
    return thread_set.place + 1


def _granted(machine: Machine, thread_set: ThreadSet, operation: Operation, count: int) -> bool:
    """Whether the pool of the CTA has what the warps of a thread set ask for; where it does they have it.

    Warpgroups do not wait for each other: where it has enough for one of several, that one goes on.
    """
    cta, granted = thread_set.cta, machine.granted
    if _decreases(operation):
        for one in ((cta, warp) for warp in thread_set.warps):
            granted[one] = min(count, granted.get(one, _at_launch(machine)))
        return True
    while True:
        needed = sum(count - granted.get((cta, warp), _at_launch(machine)) for warp in thread_set.warps)
        if needed <= 0 or needed <= _free(machine, cta):
            granted.update(((cta, warp), count) for warp in thread_set.warps)
            return True
        size = limit(machine, "group_warps")
        groups = {warp // size for warp in thread_set.warps}
        if len(groups) == 1:
            return False
        last = max(thread_set.threads) + 1
        machine.split_by_value(thread_set, Lanes(tuple(t // (size * machine.shape.warp) for t in range(last))))
        if {warp // size for warp in thread_set.warps} == groups:
            return False


def _decreases(operation: Operation) -> bool:
    """Whether a setmaxnreg gives registers back; in inline assembly its opcode says so."""
    return "decrease" in words(operation) or "setmaxnreg.dec" in words(operation)


def _free(machine: Machine, cta: int) -> int:
    """The registers in the pool of a CTA, for each thread of a warp."""
    held = _at_launch(machine)
    return sum(held - count for (home, _), count in machine.granted.items() if home == cta)


def _requested(machine: Machine, warp: tuple[int, int], count: int, operation: Operation) -> None:
    """A warp asks for registers: fewer than it has where it decreases them, more where it increases them."""
    before = machine.budgets.get(warp)
    machine.budgets[warp] = (count, operation)
    if before is None or before[0] != count:
        machine.requests.setdefault(warp, []).append((count, operation))
    if before is None:
        if _decreases(operation) and count > _at_launch(machine):
            machine.report("PR173", "launch", operation, count=count, held=_at_launch(machine))
        return
    at = (("before", before[1]),)
    if not _decreases(operation) and count < before[0]:
        machine.report("PR173", "fewer", operation, at=at, count=count, held=before[0])
    elif _decreases(operation) and count > before[0]:
        machine.report("PR173", "more", operation, at=at, count=count, held=before[0])


def _at_launch(machine: Machine) -> int:
    """The most registers that a thread can have when the kernel begins: a CTA gets no more than there are."""
    step = limit(machine, "step_registers")
    each = limit(machine, "cta_registers") // machine.shape.threads // step * step
    return min(each, limit(machine, "most_registers"))


def starved(machine: Machine, thread_set: ThreadSet) -> None:
    """Report threads that wait for registers for ever.

    The pool of a CTA has what its warps give back: those that ask have together no more than at the launch.
    """
    mine = [asked for (cta, _), asked in sorted(machine.requests.items()) if cta == thread_set.cta]
    warp, held = machine.shape.warp, _at_launch(machine)
    wanted, had = sum(asked[-1][0] for asked in mine), held * len(mine)
    if wanted * warp > limit(machine, "cta_registers"):
        return  # more than there are, which is reported as such
    operation = machine.program.code[thread_set.place].operation
    most = machine.requests[thread_set.cta, thread_set.warps[0]][-1][0]
    decreases = [*_giving_back(machine)]
    late = next((one for one in decreases if id(one) not in machine.coverage.executed), None)
    if not decreases:
        machine.report("PR160", "never", operation, most=most)
    elif late is None:
        machine.report("PR160", "pool", operation, most=most, wanted=wanted * warp, had=had * warp, held=held)
    else:
        waits = [one for one in machine.thread_sets if one.blocked is not None and one is not thread_set]
        at = (("decrease", late), ("wait", machine.program.code[waits[0].place].operation if waits else late))
        free = _free(machine, thread_set.cta) * warp
        machine.report("PR160", "late", operation, at=at, most=most, free=free)


def warpgroups(machine: Machine) -> None:
    """Report a warpgroup whose warps ask for different numbers of registers, and a pool that nobody gives to."""
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
    grown = [asked[-1] for asked in mine.values() if not _decreases(asked[-1][1])]
    if not grown or any(True for _ in _giving_back(machine)):
        return
    most, operation = max(grown, key=lambda one: one[0])
    if len(grown) < warps:  # else the kernel begins with what all its warps ask for
        machine.report("PR160", "never", operation, most=most)


def _giving_back(machine: Machine) -> Iterator[Operation]:
    """The operations of a kernel, executed or not, by which warps give registers back."""
    for one in machine.program.code:
        if one.effect is not None and one.effect.name == "registers" and _decreases(one.operation):
            yield one.operation


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
