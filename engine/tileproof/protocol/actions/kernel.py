"""What concerns a kernel as a whole: operations that nobody knows, and what is left in flight at its end."""

from __future__ import annotations

from tileproof.protocol.actions.base import Action, registrar
from tileproof.protocol.actions.exits import ended
from tileproof.protocol.actions.groups import uncommitted
from tileproof.protocol.actions.rendezvous import ended_unwaited, leaves
from tileproof.protocol.machine import Machine, Unfollowed
from tileproof.protocol.program import Instruction
from tileproof.protocol.warps import Queue, ThreadSet

ACTIONS: dict[str, Action] = {}
action = registrar(ACTIONS)


@action("unknown")
def _unknown(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
    """An operation of which nothing is known, and which is given memory that threads share."""
    raise Unfollowed(instruction.operation, "unknown_operation")


@action("finish")
def _finish(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
    """The end of a kernel: no asynchronous operation may be in flight."""
    if machine.missed is not None:
        for name in ("wgmma", "bulk"):
            for group in thread_set.queue(name).in_flight():
                agents = tuple((name, thread_set.cta, warp) for warp in thread_set.warps)
                machine.missed(thread_set, agents if group.operations else (), group.moment, lambda _: True)
    queue = thread_set.queues.get("wgmma")
    if queue is not None:
        if queue.open.operations:
            uncommitted(machine, queue.open.operations[-1], None)
        left = [group for group in queue.committed if group.operations]
        if left:
            machine.report("PR104", "here", left[-1].operations[-1])
    bulk = thread_set.queues.get("bulk")
    if bulk is not None:
        _bulk_left(machine, bulk)
    if thread_set.arrived is not None:
        ended_unwaited(machine, thread_set, thread_set.arrived)
    ended(machine, thread_set)
    leaves(machine, thread_set)
    return thread_set.place


def _bulk_left(machine: Machine, queue: Queue) -> None:
    """Bulk stores that no wait covers."""
    commits = any(i.effect is not None and i.effect.name == "bulk_commit" for i in machine.program.code)
    if queue.open.operations:
        if commits and queue.passed_over:
            machine.report("PR105", "here", queue.open.operations[-1])
        elif commits:
            machine.report("PR106", "here", queue.open.operations[-1])
        else:
            machine.report("PR107", "uncommitted", queue.open.operations[-1])
    left = [group for group in queue.committed if group.operations]
    if left:
        if queue.waited:
            machine.report("PR106", "here", left[-1].operations[-1])
        else:
            machine.report("PR107", "unwaited", left[-1].operations[-1])
