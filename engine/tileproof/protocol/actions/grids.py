"""Waits for the grid before, and reads of what it may still write."""

from __future__ import annotations

from tileproof.protocol.actions.base import Action, registrar, result
from tileproof.protocol.machine import GRID, Machine
from tileproof.protocol.program import Instruction
from tileproof.protocol.warps import ThreadSet

ACTIONS: dict[str, Action] = {}
action = registrar(ACTIONS)


@action("grid_wait")
def _grid_wait(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
    """``griddepcontrol.wait``: what the grid before did is ordered before what these threads do next."""
    thread_set.clock.learn(GRID, 0)
    thread_set.version += 1
    return thread_set.place + 1


@action("global_read")
def _global_read(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
    """A load from global memory, which matters for whether the grid before has written it."""
    result(thread_set, instruction, None)
    return thread_set.place + 1


__all__ = ["ACTIONS"]
