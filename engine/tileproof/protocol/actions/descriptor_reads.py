"""What instructions of PTX read of shared memory by a matrix descriptor, for what copies must have delivered."""

from __future__ import annotations

from collections.abc import Sequence

from tileproof.protocol.actions.accesses import warps_by_start
from tileproof.protocol.machine import Machine
from tileproof.protocol.program import Instruction
from tileproof.protocol.values import Address
from tileproof.protocol.warps import ThreadSet


def read_by_descriptor(
    machine: Machine,
    thread_set: ThreadSet,
    instruction: Instruction,
    place: int,
    where: Address,
    ctas: Sequence[int],
    word: int | None = None,
) -> None:
    """Note what an MMA, or a copy to tensor memory, reads by the descriptor that is an operand of it.

    Args:
        word: the instruction descriptor of a tcgen05.mma.
    """
    reads, known = machine.reads, machine.module.read
    if reads is None or known is None or not reads.starts:
        return
    starts = [where.offset] if where.offset is not None else []
    if where.parts and not starts:  # the warpgroups of a CTA have tiles of their own
        starts = [start for start, _ in warps_by_start(where.parts, thread_set.threads, thread_set.warp)]
    for start in starts:
        for cta in ctas:
            reads.begin((cta, where.memory.serial), start, instruction.operation)
    units = known(instruction.operation, word).get(place)
    if not units:
        return
    for start in starts:
        for cta in ctas:
            reads.read((cta, where.memory.serial), start, units, instruction.operation)


__all__ = ["read_by_descriptor"]
