"""Other masks for copies that several CTAs receive: the CTAs of a cluster by blocks, or by strides."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from tileproof.base.patterns import regex
from tileproof.base.records import replace
from tileproof.mlir.ir import Operation
from tileproof.protocol.diagnosis.changes import SUPPLIED, Change, Draft, step
from tileproof.protocol.diagnosis.scene import Scene
from tileproof.protocol.faults import HANGS, UNORDERED
from tileproof.protocol.machine import Machine
from tileproof.protocol.program import Instruction
from tileproof.protocol.steps import words
from tileproof.protocol.values import Fields, Value
from tileproof.protocol.warps import ThreadSet

_OPERAND = regex(r"\bmulticast_mask = (%[\w#]+)")
Receivers = Mapping[int, frozenset[int]]  # by the CTA that issues a copy


def masks(scene: Scene) -> Iterator[Change]:
    """The changes of one mask: its copy is to reach the CTAs of a row, or of a column, of the cluster."""
    ctas = scene.machine.shape.ctas
    if ctas == 1 or not scene.codes & (HANGS | UNORDERED | {"PR122"}):
        return
    for operation in scene.steps("copy", "bulk_load"):
        instruction = scene.instructions[id(operation)]
        place = _place(instruction)
        if place is None or not scene.executed(operation):
            continue
        events = [one for one in scene.events if one.kind == "copy" and one.operation is operation]
        sent = {cta: frozenset(one.key[0] for one in events if one.cta == cta) for cta in range(ctas)}
        for receivers in _patterns(ctas):
            if any(receivers[cta] != sent[cta] for cta in receivers if sent[cta]):
                issuer = min(one.cta for one in events) if events else 0
                facts = {"ctas": _listed(sent[issuer]), "right": _listed(receivers[issuer])}
                yield Change("mask", facts, _named(scene, operation), _masked(operation, place, receivers), rank=0)


def _place(instruction: Instruction) -> int | None:
    """The operand of a copy that has its mask; None where it has none."""
    named = _OPERAND.search(words(instruction.operation))
    if named is not None and named[1] in instruction.operation.operands:
        return instruction.operation.operands.index(named[1])
    return 0 if instruction.types and "mcast = true" in instruction.types[0] else None


def _patterns(ctas: int) -> Iterator[Receivers]:
    """The ways to part a cluster: its rows and columns first, then all, then each CTA alone."""
    seen: list[Receivers] = []
    divisors = [n for n in range(1, ctas + 1) if ctas % n == 0]
    for parts in (*divisors[1:-1], 1, ctas):
        size = ctas // parts
        blocks = {cta: frozenset(one for one in range(ctas) if one // size == cta // size) for cta in range(ctas)}
        strides = {cta: frozenset(one for one in range(ctas) if one % parts == cta % parts) for cta in range(ctas)}
        for found in (blocks, strides):
            if found not in seen:
                seen.append(found)
                yield found


def _masked(operation: Operation, place: int, receivers: Receivers) -> Callable[[Draft], None]:
    """The copy has another mask, each CTA its own."""

    def changed(value: Value, cta: int) -> Value:
        mask = sum(1 << one for one in receivers[cta])
        return replace(value, mask=mask) if isinstance(value, Fields) else mask

    def make(draft: Draft) -> None:
        for i in draft.at(operation):
            one = draft.program.code[i]
            slot, old = draft.slot(), one.inputs[place]

            def run(
                machine: Machine, thread_set: ThreadSet, instruction: Instruction, slot: int = slot, old: int = old
            ) -> int:
                thread_set.values[slot] = changed(thread_set.values[old], thread_set.cta)
                return thread_set.place + 1

            draft.before.setdefault(i, []).append(step(SUPPLIED, operation, run))
            draft.instead[i] = replace(one, inputs=(*one.inputs[:place], slot, *one.inputs[place + 1 :]))

    return make


def _named(scene: Scene, operation: Operation) -> Operation:
    """Where the mask of a copy is set."""
    before = scene.machine.program.code[: scene.places[id(operation)]]
    return next((one.operation for one in reversed(before) if "mcast_mask" in words(one.operation)), operation)


def _listed(ctas: frozenset[int]) -> str:
    return ", ".join(map(str, sorted(ctas))) or "none"


__all__ = ["masks"]
