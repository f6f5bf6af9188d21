"""Groups of asynchronous steps: wgmma, bulk stores and cp.async are committed and waited for in order."""

from __future__ import annotations

from tileproof.mlir.ir import Operation
from tileproof.protocol.actions.barriers import arrive, arriving_warps, barrier_keys
from tileproof.protocol.actions.base import Action, integer, registrar, retire
from tileproof.protocol.actions.tensor_maps import committed, waited
from tileproof.protocol.machine import Machine, Unfollowed
from tileproof.protocol.program import Instruction
from tileproof.protocol.steps import number, words
from tileproof.protocol.warps import ThreadSet

ACTIONS: dict[str, Action] = {}
action = registrar(ACTIONS)


@action("wgmma_fence")
def _wgmma_fence(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
    thread_set.touched.clear()
    thread_set.fenced = True
    return thread_set.place + 1


@action("wgmma_commit")
def _wgmma_commit(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
    _commit(machine, thread_set)
    return thread_set.place + 1


def _commit(machine: Machine, thread_set: ThreadSet) -> None:
    queue = thread_set.queue("wgmma")
    for warp in thread_set.warps:
        machine.wgmma_groups.setdefault((thread_set.cta, warp), []).append(queue.open.moment)
    queue.commit()


def _pending(machine: Machine, thread_set: ThreadSet, instruction: Instruction, *names: str) -> int:
    """How many groups a wait leaves in flight: its operand, or the attribute of one of these names."""
    if instruction.inputs:
        pending = integer(machine, thread_set, instruction, 0)
    else:
        pending = number(instruction.operation, *names)
    if pending is None:
        raise Unfollowed(instruction.operation, "pending_groups")
    return pending


@action("wgmma_wait")
def _wgmma_wait(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
    """A warpgroup executes its wgmma together: what one warp waits for is complete in the others as well."""
    pending = _pending(machine, thread_set, instruction, "group")
    queue = thread_set.queue("wgmma")
    if queue.open.operations:
        uncommitted(machine, queue.open.operations[-1], instruction.operation)
        _commit(machine, thread_set)
    agents = [("wgmma", thread_set.cta, warp) for warp in thread_set.warps]
    for warp in thread_set.warps:
        key = thread_set.cta, warp
        complete = len(machine.wgmma_groups.get(key, ())) - pending
        machine.wgmma_complete[key] = max(complete, machine.wgmma_complete.get(key, 0))
    for group in queue.complete(pending):
        retire(thread_set, agents, group.moment)
    complete = machine.wgmma_complete[thread_set.cta, thread_set.warps[0]]
    for warp in machine.missing(thread_set.warps) if complete > 0 and not thread_set.alone else ():
        groups = machine.wgmma_groups.get((thread_set.cta, warp), ())
        if len(groups) >= complete:
            agent = "wgmma", thread_set.cta, warp
            thread_set.own[agent] = max(groups[complete - 1], thread_set.own.get(agent, -1))
    thread_set.gathered = thread_set.alone = False
    return thread_set.place + 1


def uncommitted(machine: Machine, operation: Operation, wait: Operation | None) -> None:
    """Report a wgmma whose group is not committed where a wait, or the end of the kernel, is reached."""
    if wait is not None:
        machine.report("PR101", "waited", operation, at=(("wait", wait),))
    else:
        machine.report("PR101", "ended", operation)


@action("bulk_commit")
def _bulk_commit(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
    thread_set.queue("bulk").commit()
    committed(machine, thread_set)
    return thread_set.place + 1


@action("bulk_wait")
def _bulk_wait(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
    pending = _pending(machine, thread_set, instruction, "group")
    queue = thread_set.queue("bulk")
    if queue.open.operations:
        at = (("wait", instruction.operation),)
        machine.report("PR105", "waited", queue.open.operations[-1], at=at)
    for group in queue.complete(pending):
        retire(thread_set, [("bulk", thread_set.cta, warp) for warp in thread_set.warps], group.moment)
    waited(machine, thread_set, pending)
    return thread_set.place + 1


@action("async_commit")
def _async_commit(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
    thread_set.queue("async").commit()
    return thread_set.place + 1


@action("async_wait")
def _async_wait(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
    pending = _pending(machine, thread_set, instruction, "n", "group")
    queue = thread_set.queue("async")
    for group in queue.complete(pending):
        retire(thread_set, [("async", thread_set.cta, warp) for warp in thread_set.warps], group.moment)
    return thread_set.place + 1


@action("async_arrive")
def _async_arrive(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
    queue = thread_set.queue("async")
    # Without .noinc each thread adds one to the pending count first: the phase waits for the copies, the count stays.
    counted = "noinc" in words(instruction.operation) and "noinc = false" not in words(instruction.operation)
    keys = barrier_keys(machine, thread_set, instruction, 0)
    for key, warps in arriving_warps(machine, thread_set, instruction, keys).items():
        clock = machine.arriving(thread_set, warps)
        for group in queue.in_flight():
            for warp in warps:
                clock.learn(("async", thread_set.cta, warp), group.moment)
        arrive(machine, thread_set, instruction, key, keys[key] if counted else 0, clock)
    return thread_set.place + 1
