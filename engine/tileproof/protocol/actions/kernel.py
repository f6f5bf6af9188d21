"""What concerns a kernel as a whole: register budgets, and what is left in flight at its end."""

from __future__ import annotations

from tileproof.protocol.actions.base import Action, limit, registrar
from tileproof.protocol.actions.groups import uncommitted
from tileproof.protocol.actions.rendezvous import unwaited
from tileproof.protocol.machine import Machine
from tileproof.protocol.program import Instruction
from tileproof.protocol.steps import number
from tileproof.protocol.warps import Queue, Strand

ACTIONS: dict[str, Action] = {}
action = registrar(ACTIONS)


@action("registers")
def _setmaxregister(machine: Machine, strand: Strand, instruction: Instruction) -> int:
    count = number(instruction.operation, "regCount")
    if count is not None:
        low, high, step = (limit(machine, f"{name}_registers") for name in ("least", "most", "step"))
        if not low <= count <= high or count % step:
            machine.fault(
                "PR161",
                instruction.operation,
                f"a warpgroup asks for {count} registers a thread: the count is a multiple of {step} from {low} to "
                f"{high}",
            )
        for warp in strand.warps:
            machine.budgets[strand.cta, warp] = (count, instruction.operation)
    return strand.place + 1


@action("finish")
def _finish(machine: Machine, strand: Strand, instruction: Instruction) -> int:
    """The end of a kernel: nothing may be in flight."""
    queue = strand.queues.get("wgmma")
    if queue is not None:
        if queue.open.operations:
            uncommitted(machine, queue.open.operations[-1], None)
        left = [group for group in queue.committed if group.operations]
        if left:
            machine.fault(
                "PR104",
                left[-1].operations[-1],
                "no wait covers this wgmma before the kernel ends",
                "wait for its group: nvvm.wgmma.wait.group.sync.aligned",
            )
    bulk = strand.queues.get("bulk")
    if bulk is not None:
        _bulk_left(machine, bulk)
    if strand.arrived is not None:
        unwaited(machine, strand.arrived)
    return strand.place


def _bulk_left(machine: Machine, queue: Queue) -> None:
    """Bulk stores that no wait covers."""
    commits = any(i.effect is not None and i.effect.name == "bulk_commit" for i in machine.program.code)
    if queue.open.operations:
        machine.fault(
            "PR105" if commits else "PR107",
            queue.open.operations[-1],
            "this bulk store is in no committed group: no wait covers it",
            "put nvvm.cp.async.bulk.commit.group behind it" + ("" if commits else ", and wait for it"),
        )
    left = [group for group in queue.committed if group.operations]
    if left:
        machine.fault(
            "PR106" if queue.waited else "PR107",
            left[-1].operations[-1],
            "the kernel ends while this bulk store may still read its shared memory",
            "wait for its group: nvvm.cp.async.bulk.wait_group",
        )
