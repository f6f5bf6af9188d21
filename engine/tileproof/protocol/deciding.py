"""Which of the integers that a kernel in PTX gets, or loads, decide which way it goes.

A run supposes one number for all integers of a kind. Code that only a longer loop reaches, or an odd number of turns,
is reached where the integers that decide it have another number and all others have not: a kernel whose every extent is
large has more tiles than a run can go through.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from tileproof.protocol.folding import Extents
from tileproof.protocol.program import Instruction
from tileproof.protocol.values import Supposed

_ANY = Extents(1, 1)


def deciding(code: Sequence[Instruction], places: Iterable[int]) -> frozenset[int]:
    """The terms of the integers from which the conditions of branches and loops are computed, at any distance."""
    writers: dict[int, list[Instruction]] = {}
    for one in code:
        for slot in one.outputs:
            writers.setdefault(slot, []).append(one)
    found: set[int] = set()
    todo = [slot for place in places for slot in _read(code[place])]
    seen = set(todo)
    while todo:
        slot = todo.pop()
        for one in writers.get(slot, ()):
            if one.kind == "effect":
                continue  # whether a phase is over is no integer that the kernel gets
            if one.make is not None:
                found |= _terms(one)
            for before in _before(one, slot):
                if before not in seen:
                    seen.add(before)
                    todo.append(before)
    return frozenset(found)


def _read(one: Instruction) -> Collection[int]:
    """What a branch or loop reads, with the counter of a loop."""
    return (*one.inputs, *one.outputs) if one.kind == "test" else one.inputs


def _before(one: Instruction, slot: int) -> Collection[int]:
    """What an instruction computes a value from."""
    if one.kind == "move":
        return [read for read, written in zip(one.inputs, one.outputs, strict=True) if written == slot]
    return one.inputs


def _terms(one: Instruction) -> set[int]:
    """The terms of what an instruction supposes."""
    function = one.make(_ANY) if one.make is not None and not one.inputs else None
    values = function() if function is not None else ()
    return {value.term for value in values if isinstance(value, Supposed)}


__all__ = ["deciding"]
