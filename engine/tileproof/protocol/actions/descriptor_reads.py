"""What instructions of PTX read of shared memory by a matrix descriptor, for what copies must have delivered."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from tileproof.base.records import replace
from tileproof.protocol.actions.accesses import BOXES, access, started
from tileproof.protocol.machine import Machine
from tileproof.protocol.memory import Access
from tileproof.protocol.program import Instruction
from tileproof.protocol.values import Address, Allocation
from tileproof.protocol.vector_clock import Agent
from tileproof.protocol.warps import ThreadSet


def read_by_descriptor(
    machine: Machine,
    thread_set: ThreadSet,
    instruction: Instruction,
    place: int,
    where: Address,
    kind: str,
    agents: tuple[Agent, ...],
    moment: int,
    ctas: Sequence[int],
    word: int | None = None,
) -> None:
    """Note what an MMA, or a copy to tensor memory, reads by the descriptor that is an operand of it.

    A swizzle leaves open which bytes of a line it reads, if any. That matters to no copy that writes whole lines. Where
    more is read than one phase brings a kernel makes nothing of the rest, wherever that lies.

    Args:
        kind, agents, moment: of the access.
        word: the instruction descriptor of a tcgen05.mma.
    """
    reads, known = machine.reads, machine.module.read
    if reads is None or known is None or not reads.starts:
        return
    begun = [(where.offset, agents)] if where.offset is not None else []
    if where.parts and not begun:  # the warpgroups of a CTA have tiles of their own
        begun = [*started(thread_set, where.parts, agents)]
    for start, _ in begun:
        for cta in ctas:
            reads.begin((cta, where.memory.serial), start, instruction.operation)
    reads.vague |= not begun
    found = known(instruction.operation, word).get(place)
    if found is None:
        for start, _ in begun:
            for cta in ctas:
                reads.read_from((cta, where.memory.serial), start)
        return
    line, units = reads.unit * reads.line, found.units
    for start, mine in begun:
        for cta in ctas:
            memory = cta, where.memory.serial
            reads.read(memory, start, units, instruction.operation, kind != ".s2t", found.padded)
        if found.padded:
            continue
        before = start % line
        lines = _lines(units, before // reads.unit, reads.line)
        there = replace(where, offset=start - before, extent=lines * line, parts=())
        within = tuple(cta for cta in ctas if _copied(machine, cta, where.memory, start) >= lines * line)
        if lines and within:
            access(machine, thread_set, instruction.operation, there, kind, False, mine, moment, BOXES, within)


def _copied(machine: Machine, cta: int, memory: Allocation, start: int) -> int:
    """How many bytes copies of one phase wrote without a gap around a byte, in its box and those behind; 0 for none."""
    log = machine.log(cta, memory)
    boxes = [one for one in log.overlapping(start, start + 1, writes=True) if one.kind == ".tma"]
    if not boxes:
        return 0
    box = boxes[-1]
    low, high = box.low, box.high
    while True:
        behind = [one.high for one in log.overlapping(high, high + 1, writes=True) if _together(one, box)]
        if not behind or max(behind) <= high:
            return high - low
        high = max(behind)


def _together(one: Access, box: Access) -> bool:
    """Whether copies write on one phase of one mbarrier."""
    return one.kind == ".tma" and (one.agents, one.moment) == (box.agents, box.moment)


@lru_cache(maxsize=512)
def _lines(units: int, before: int, line: int) -> int:
    """How many lines of memory a set of units is in, the first one among them and none left out; 0 for others.

    Args:
        before: units of the first line before the first of the set.
        line: units of a line.
    """
    units <<= before
    count = -(-units.bit_length() // line)
    mask = (1 << line) - 1
    return count if all(units >> line * at & mask for at in range(count)) else 0


__all__ = ["read_by_descriptor"]
