"""CTAs of a cluster that may end while others still arrive at their barriers, or access their shared memory.

A CTA is there as long as one of its threads runs. So one of them must know of the access before it ends: it waited for
the phase that the arrival completes, or at the barrier of the cluster. In the same way who accesses its memory must
know that it has started: of something that one of its threads did, or of a phase of the barrier of the cluster.
"""

from __future__ import annotations

from tileproof.mlir.ir import Operation
from tileproof.protocol.machine import Machine
from tileproof.protocol.state import Remote
from tileproof.protocol.vector_clock import Agent, Clock
from tileproof.protocol.warps import BarrierKey, ThreadSet

_ORDERS = {"PR111", "PR112", "PR116", "PR134", "PR135"}  # findings of orders that are missing


def arrived(
    machine: Machine,
    thread_set: ThreadSet,
    operation: Operation,
    key: BarrierKey,
    phase: int,
    agents: tuple[Agent, ...] = (),
) -> None:
    """Threads, or a copy or commit that they issued, count at a barrier, perhaps of another CTA.

    Args:
        phase: that they count for, from 1 on.
        agents: whose accesses come before the arrival; those of the threads where there are none.
    """
    if key[0] != thread_set.cta:
        issuers = tuple((thread_set.cta, warp) for warp in thread_set.warps)
        last = Remote(operation, agents or issuers, machine.now, issuers, phase)
        machine.exits.reached.setdefault(key[0], {})[key] = last


def accessed(
    machine: Machine, thread_set: ThreadSet, operation: Operation, cta: int, agents: tuple[Agent, ...], moment: int
) -> None:
    """Threads access the shared memory of another CTA."""
    if cta != thread_set.cta:
        machine.exits.reached.setdefault(cta, {})[agents] = Remote(operation, agents, moment, agents)
        if not (thread_set.cta in machine.cluster.met or _started(machine, thread_set, cta)):
            machine.exits.unstarted.setdefault(id(operation), operation)


def _started(machine: Machine, thread_set: ThreadSet, cta: int) -> bool:
    """Whether threads know of anything that another CTA did."""
    warps = -(-machine.shape.threads // machine.shape.warp)
    return any((cta, warp) in thread_set.clock.known for warp in range(warps))


def ended(machine: Machine, thread_set: ThreadSet) -> None:
    """Threads have come to the end of the kernel."""
    machine.exits.threads.setdefault(thread_set.cta, set()).update(thread_set.threads)
    machine.exits.known.setdefault(thread_set.cta, Clock()).join(thread_set.clock)


def left_early(machine: Machine) -> None:
    """Report accesses to the memory of a CTA that may have ended.

    Not where roles may have run different numbers of iterations, nor where an order is missing before: it follows from
    that.
    """
    if any(one.code in _ORDERS for one in machine.faults):
        return
    coverage = machine.coverage
    doubtful = coverage.unknown or coverage.skipped or coverage.passed_by or coverage.guessed or coverage.cut
    if doubtful or machine.taint.reasons or any(one.blocked for one in machine.thread_sets):
        return
    for cta, accesses in sorted(machine.exits.reached.items()):
        known = machine.exits.known.get(cta, Clock()).known
        for place, last in accesses.items():
            waited = last.phase and known.get(("bar", *place), -1) >= last.phase
            # Of a commit it is enough that its thread is known to have gone on: the pairs of NVIDIA's kernels agree so
            # before they free tensor memory.
            groups = (last.agents, last.issuers)
            if waited or any(all(known.get(one, -1) >= last.moment for one in group) for group in groups):
                continue
            if last.phase:
                machine.report("PR171", "arrival", last.operation)
            else:
                machine.report("PR171", "access", last.operation)


def came_early(machine: Machine) -> None:
    """Report accesses to the memory of a CTA that may not have started, unless an order is missing."""
    if not any(one.code in _ORDERS for one in machine.faults) and not machine.taint.reasons:
        for operation in machine.exits.unstarted.values():
            machine.report("PR189", "here", operation)


__all__ = ["accessed", "arrived", "came_early", "ended", "left_early"]
