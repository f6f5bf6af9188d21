"""What each step does to the machine. One function a step; ``ACTIONS`` is the table of all of them."""

from __future__ import annotations

from tileproof.protocol.actions import (
    assembly,
    barriers,
    copies,
    elements,
    grids,
    groups,
    kernel,
    multiply,
    registers,
    rendezvous,
    scalars,
    tensor_maps,
    tensor_memory,
)
from tileproof.protocol.actions.barriers import barrier_name
from tileproof.protocol.actions.base import Action, limit
from tileproof.protocol.actions.rendezvous import MEETING, threads_missing, unmet_sets

_PARTS = (
    *(scalars, elements, barriers, rendezvous, groups, multiply, copies, tensor_memory, registers, kernel),
    *(assembly, grids, tensor_maps),
)
ACTIONS: dict[str, Action] = {step: function for part in _PARTS for step, function in part.ACTIONS.items()}

__all__ = ["ACTIONS", "MEETING", "Action", "barrier_name", "limit", "threads_missing", "unmet_sets"]
