"""Groups of asynchronous steps: wgmma, bulk stores and cp.async are committed and waited for in order."""

from __future__ import annotations

from tileproof.mlir.ir import Operation
from tileproof.protocol.actions.barriers import arrive, barrier_keys
from tileproof.protocol.actions.base import Action, integer, registrar, retire
from tileproof.protocol.machine import Machine, Unfollowed
from tileproof.protocol.program import Instruction
from tileproof.protocol.steps import number, words
from tileproof.protocol.warps import Strand

ACTIONS: dict[str, Action] = {}
action = registrar(ACTIONS)


@action("wgmma_fence")
def _wgmma_fence(machine: Machine, strand: Strand, instruction: Instruction) -> int:
    strand.touched.clear()
    strand.fenced = True
    return strand.place + 1


@action("wgmma_commit")
def _wgmma_commit(machine: Machine, strand: Strand, instruction: Instruction) -> int:
    strand.queue("wgmma").commit()
    return strand.place + 1


@action("wgmma_wait")
def _wgmma_wait(machine: Machine, strand: Strand, instruction: Instruction) -> int:
    pending = integer(machine, strand, instruction, 0) if instruction.inputs else number(instruction.operation, "group")
    if pending is None:
        raise Unfollowed(instruction.operation, "pending_groups")
    queue = strand.queue("wgmma")
    if queue.open.operations:
        uncommitted(machine, queue.open.operations[-1], instruction.operation)
        queue.commit()
    agents = [("wgmma", strand.cta, warp) for warp in strand.warps]
    for group in queue.complete(pending):
        retire(strand, agents, group.moment)
    return strand.place + 1


def uncommitted(machine: Machine, operation: Operation, wait: Operation | None) -> None:
    """Report a wgmma whose group is not committed where a wait, or the end of the kernel, is reached."""
    if wait is not None:
        machine.report("PR101", "waited", operation, at=(("wait", wait),))
    else:
        machine.report("PR101", "ended", operation)


@action("bulk_commit")
def _bulk_commit(machine: Machine, strand: Strand, instruction: Instruction) -> int:
    strand.queue("bulk").commit()
    return strand.place + 1


@action("bulk_wait")
def _bulk_wait(machine: Machine, strand: Strand, instruction: Instruction) -> int:
    pending = number(instruction.operation, "group")
    queue = strand.queue("bulk")
    for group in queue.complete(pending or 0):
        retire(strand, [("bulk", strand.cta, warp) for warp in strand.warps], group.moment)
    return strand.place + 1


@action("async_commit")
def _async_commit(machine: Machine, strand: Strand, instruction: Instruction) -> int:
    strand.queue("async").commit()
    return strand.place + 1


@action("async_wait")
def _async_wait(machine: Machine, strand: Strand, instruction: Instruction) -> int:
    pending = number(instruction.operation, "n", "group")
    queue = strand.queue("async")
    for group in queue.complete(pending or 0):
        retire(strand, [("async", strand.cta, warp) for warp in strand.warps], group.moment)
    return strand.place + 1


@action("async_arrive")
def _async_arrive(machine: Machine, strand: Strand, instruction: Instruction) -> int:
    queue = strand.queue("async")
    clock = machine.arriving(strand)
    for group in queue.in_flight():
        for warp in strand.warps:
            clock.learn(("async", strand.cta, warp), group.moment)
    counted = "noinc" in words(instruction.operation) and "noinc = false" not in words(instruction.operation)
    if counted:
        for key, threads in barrier_keys(machine, strand, instruction, 0).items():
            arrive(machine, strand, instruction, key, threads, clock)
    return strand.place + 1
