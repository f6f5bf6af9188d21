"""Accumulators in registers that nobody fills: a warp MMA adds to them always, wgmma where its flag says so.

The registers are followed from where they are allocated through their views, in the text: they are filled where
anything but an MMA may write them, or where they are handed to what is not followed.
"""

from __future__ import annotations

from tileproof.base.records import dataclass
from tileproof.dialects.operations import Operations
from tileproof.mlir.ir import Operation
from tileproof.mlir.scopes import Scope, walk
from tileproof.mlir.signature import signature
from tileproof.protocol.actions.origins import constant_flag
from tileproof.protocol.machine import Machine

_SOURCE = 1  # the operand of a copy that it reads


@dataclass(frozen=True, slots=True)
class Fills:
    """Who fills registers.

    Attributes:
        filled: what allocates registers that something fills, by ``id``.
        used: what allocates those of each MMA, by the ``id`` of that.
    """

    filled: frozenset[int]
    used: dict[int, Operation]


def unfilled(machine: Machine, fills: Fills | None) -> Fills | None:
    """Report the first MMA on accumulators that nobody fills.

    Args:
        fills: of the kernel, where an earlier run asked for them.

    Returns:
        The same, or what was found where it was needed.
    """
    first = [one for one in machine.accumulators.values() if one is not None]
    if not first or machine.taint.everything:
        return fills
    fills = fills or _fills(machine)
    for operation in {one.span.start: one for one in first}.values():  # operations of one text are equal
        root = fills.used.get(id(operation))
        if root is not None and id(root) not in fills.filled:
            flag = constant_flag(machine, operation)
            name = root.results[0].name
            if flag is None:
                machine.report("PR170", "registers", operation, at=(("registers", root),), registers=name)
            else:
                at = (("mma", operation), ("registers", root))
                machine.report("PR170", "registers", flag, at=at, registers=name)
    return fills


def _fills(machine: Machine) -> Fills:
    """Who fills the registers of a kernel."""
    operations = Operations.of(machine.book)
    roots: dict[int, Operation] = {}
    filled: set[int] = set()
    used: dict[int, Operation] = {}
    for operation, scope in walk((machine.program.kernel,)):
        held = _held(operation, scope, roots)
        if not held:
            if operation.results and _allocates(machine, operation):
                roots[id(operation)] = operation
            continue
        step = operations.step(operation.name)
        aliasing = operations.aliasing.get(operation.name)
        for place, root in held.items():
            if aliasing is not None and aliasing.operand == place:
                roots[id(operation)] = root
            elif step == "mma":
                if place in (1, len(operation.operands) - 1):
                    used[id(operation)] = root
            elif not (step == "read" or (step == "copy" and place == _SOURCE) or _looks(machine, operation, step)):
                filled.add(id(root))
    return Fills(frozenset(filled), used)


def _held(operation: Operation, scope: Scope, roots: dict[int, Operation]) -> dict[int, Operation]:
    """The operands that lie in registers that are followed, by place."""
    found = {}
    for place, name in enumerate(operation.operands):
        origin = scope.get(name)
        if origin is not None and not origin.argument and id(origin.operation) in roots:
            found[place] = roots[id(origin.operation)]
    return found


def _allocates(machine: Machine, operation: Operation) -> bool:
    """Whether the result is registers of its own: an allocation, or a fragment."""
    if not operation.name.startswith("cute.m"):
        return False
    return any("memref<" in text and ", rmem" in text for text in _results(machine, operation))


def _looks(machine: Machine, operation: Operation, step: str) -> bool:
    """Whether an operation only asks for layout or shape."""
    if step or not operation.results:
        return False
    return not any("memref" in text or "ptr" in text for text in _results(machine, operation))


def _results(machine: Machine, operation: Operation) -> list[str]:
    """The types of the results; one that may be anything where they are not written."""
    written = signature(operation).results
    return ["ptr"] if written is None else [machine.module.resolve(use.text) for use in written]


__all__ = ["Fills", "unfilled"]
