"""Tensor memory that holds nothing: an MMA that accumulates, or reads scale factors, where nobody wrote. And an
accumulator of which nobody reads some columns.

tcgen05.alloc does not clear what it allocates. Where loops of a run had no turn, or something was not executed, what is
missing may have written it: then nothing is said.
"""

from __future__ import annotations

from collections.abc import Iterable

from tileproof.mlir.ir import Operation
from tileproof.protocol.actions.origins import constant_flag
from tileproof.protocol.machine import Machine
from tileproof.protocol.state import Unwritten
from tileproof.protocol.steps import Step
from tileproof.protocol.values import Address
from tileproof.protocol.warps import ThreadSet

_TO_THE_END = 1 << 40  # how far a write reaches whose columns are not known

# The kinds of accesses that give what a read needs, by the case of finding PR170.
_GIVEN_BY = {
    "accumulator": (".mma", ".store", ".s2t"),
    "scales": (".s2t", ".store"),
    "operand": (".mma", ".store", ".s2t"),
    "load": (".mma", ".store", ".s2t"),
}


def wrote(machine: Machine, thread_set: ThreadSet, where: Address | None, kind: str, ctas: Iterable[int]) -> None:
    """Threads write to tensor memory of some CTAs; ``kind``: of the access."""
    written = machine.tensor.written
    for cta in ctas:
        if where is None or where.offset is None:
            written.anywhere.add(cta)
        elif where.memory.space == "tmem":
            high = where.offset + (where.extent or _TO_THE_END)
            written.columns.setdefault(cta, set()).add((where.offset, high, kind, thread_set.warps[0]))


def needs(
    machine: Machine,
    thread_set: ThreadSet,
    operation: Operation,
    where: Address | None,
    case: str,
    ctas: Iterable[int],
) -> None:
    """An operation needs what somebody wrote there; ``case``: of finding PR170."""
    written = machine.tensor.written
    if where is None or where.offset is None or where.memory.space != "tmem":
        written.unplaced |= where is None or where.memory.space == "tmem"
        return
    if case != "accumulator":
        for cta in ctas:
            high = where.offset + (where.extent or _TO_THE_END)
            written.read.setdefault(cta, set()).add((where.offset, high, id(operation)))
    if (case, id(operation)) in written.missing:
        return
    low, high = where.offset, where.offset + (where.extent or 1)
    for cta in ctas:
        if not _given(machine, cta, low, high, case) and not _freed(machine, cta, low, high):
            one = Unwritten(case, operation, cta, thread_set.warps[0], low, high)
            written.missing.setdefault((case, id(operation)), one)


def produced(machine: Machine, operation: Operation, where: Address, ctas: Iterable[int]) -> None:
    """An MMA writes the columns of its accumulator, as many as are known."""
    if where.offset is None:
        machine.tensor.written.unplaced = True
    elif where.extent is not None:
        for cta in ctas:
            machine.tensor.written.products.setdefault((cta, where.offset, where.offset + where.extent), operation)


def never_read(machine: Machine) -> None:
    """Report accumulators with columns that nothing reads and others that several operations do: one should read those.

    Not where something else may read: a load that was not executed, or whose place is not known.
    """
    written, executed = machine.tensor.written, machine.coverage.executed
    if written.unplaced or machine.taint.reasons or machine.taint.released:
        return
    code = machine.program.code
    if any(one.effect is not None and _reads(one.effect) and id(one.operation) not in executed for one in code):
        return
    said = set[tuple[int, int]]()
    for (cta, low, high), operation in written.products.items():
        reads = written.read.get(cta, ())
        times = [len({reader for first, end, reader in reads if first <= at < end}) for at in range(low, high)]
        if 0 in times and max(times) > 1 and (low, high) not in said:
            said.add((low, high))
            left = [at for at, number in enumerate(times) if not number]
            machine.report("PR193", "here", operation, first=left[0], last=left[-1], columns=high - low)


def freed(machine: Machine, cta: int, low: int, columns: int | None) -> None:
    """Columns are freed: what was there is gone."""
    held = machine.tensor.written.columns.get(cta)
    if held and columns:
        held.difference_update([one for one in held if low <= one[0] < low + columns])


def _freed(machine: Machine, cta: int, low: int, high: int) -> bool:
    """Whether the columns are not allocated, or not any more: another finding says so."""
    memory = machine.tensor.memory
    held = machine.tensor.allocated.get(cta, ())
    if memory is None or any(start <= low < start + count for start, count, _ in held):
        return False
    return bool(held) or any(one.kind == ".free" for one in machine.log(cta, memory).overlapping(low, high))


def _given(machine: Machine, cta: int, low: int, high: int, case: str, warp: int | None = None) -> bool:
    """Whether something wrote there; ``warp``: whose writes do not count."""
    written = machine.tensor.written
    kinds = _GIVEN_BY[case]
    for start, end, kind, issuer in written.columns.get(cta, ()):
        if start < high and low < end and kind in kinds and issuer != warp:
            return True
    return cta in written.anywhere


def unwritten(machine: Machine) -> None:
    """Report reads of what nobody had written, and nobody else has written since."""
    missing = machine.tensor.written.missing
    if not missing or machine.taint.everything or machine.taint.released or machine.taint.reasons:
        return
    executed = machine.coverage.executed
    code = machine.program.code
    if any(one.effect is not None and _writes(one.effect) and id(one.operation) not in executed for one in code):
        return
    for one in missing.values():
        if _given(machine, one.cta, one.low, one.high, one.case, one.warp):
            continue
        match one.case:
            case "accumulator":
                flag = constant_flag(machine, one.operation)
                if flag is None:
                    machine.report("PR170", "accumulator", one.operation, low=one.low)
                else:
                    machine.report("PR170", "accumulator", flag, at=(("mma", one.operation),), low=one.low)
            case "scales":
                machine.report("PR170", "scales", one.operation, low=one.low)
            case "operand":
                machine.report("PR170", "operand", one.operation, low=one.low)
            case "load":
                machine.report("PR170", "load", one.operation, low=one.low)


def _reads(step: Step) -> bool:
    """Whether a step may read tensor memory."""
    return step.name in ("mma", "raw_mma", "tmem_load") or step.copy == "tmem_load"


def _writes(step: Step) -> bool:
    """Whether a step may write to tensor memory."""
    return step.name in ("mma", "raw_mma", "tmem_store", "raw_tmem_copy") or step.copy in ("tmem_store", "s2t")


__all__ = ["freed", "needs", "never_read", "produced", "unwritten", "wrote"]
