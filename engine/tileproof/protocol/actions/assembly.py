"""What only inline assembly does: instructions that no operation of the IR is the same as."""

from __future__ import annotations

from tileproof.base.patterns import regex
from tileproof.base.records import replace
from tileproof.protocol.actions import contents
from tileproof.protocol.actions.base import Action, address, operand, registrar
from tileproof.protocol.actions.copies import bulk_load
from tileproof.protocol.machine import Machine, Unfollowed
from tileproof.protocol.program import Instruction
from tileproof.protocol.steps import words
from tileproof.protocol.warps import ThreadSet

ACTIONS: dict[str, Action] = {}
action = registrar(ACTIONS)

_WIDTH = regex(r"(?:\.v(\d))?\.[a-z]+(\d+)$")


@action("opaque")
def _opaque(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
    """An instruction that takes part in the protocol and is not modelled."""
    raise Unfollowed(instruction.operation, "assembly")


@action("remote_store")
def _remote_store(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
    """``st.async``: ``target, barrier, values``; its bytes complete on a barrier in the CTA of the target."""
    width = _WIDTH.search(words(instruction.operation))
    if width is None:
        raise Unfollowed(instruction.operation, "assembly")
    count, bits = int(width[1] or 1), int(width[2])
    target, barrier = address(thread_set, instruction, 0), address(thread_set, instruction, 1)
    bulk_load(machine, thread_set, instruction.operation, target, barrier, count * bits // 8)
    for i in range(count):
        if target is not None:
            value = operand(thread_set, instruction, 2 + i)
            contents.store(machine, thread_set, replace(target, unit=8), i * bits // 8, bits // 8, value)
    return thread_set.place + 1


__all__ = ["ACTIONS"]
