"""How many threads a kernel in PTX asks for by itself: by its named barriers, and by the warps and threads it names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tileproof.dialects.operations import Operations
from tileproof.protocol.ptx_slice import Line
from tileproof.ptx.text import Operand

_THREAD = "%tid.x"
_KEPT = ("mov", "cvt", "shfl")  # the same number in another form
_TELL_NEXT = ("eq", "ne", "le", "gt", "ls", "hi")  # comparisons with n that tell the one after n apart
_BARRIERS = ("cta_barrier", "cta_arrive")


def threads_named(lines: Iterable[Line], known: Operations, warp: int) -> int:
    """The least number of threads for which every named barrier and every named role can exist; 0 where none is named.

    Args:
        lines: what the protocol depends on, in textual order.
        warp: the threads of a warp.
    """
    constants: dict[str, int] = {}
    counted: dict[str, tuple[int, int]] = {}  # value = thread // first + second
    asked = 0
    for line in lines:
        one, operands = line.one, line.one.operands or ()
        if one.acts and one.same is not None:
            if len(operands) > 1 and any(
                known.step(name.partition(" ")[0]) in _BARRIERS for name in one.same.operations
            ):
                asked = max(asked, _number(operands[-1], constants, line) or 0)
            continue
        if len(operands) < 2 or not line.writes or not operands[1].parts:
            continue
        kind, _, how = one.opcode.partition(".")
        to, names = line.writes[0], operands[1].parts[0].names
        number = _number(operands[1], constants, line)
        held = (1, 0) if names == (_THREAD,) else next((counted[name] for name in line.reads if name in counted), None)
        other = _number(operands[2], constants, line) if len(operands) > 2 else None
        if kind == "mov" and number is not None:
            constants[to] = number
        elif held is None:
            continue
        elif kind in _KEPT:
            counted[to] = held
        elif other is None:
            continue
        elif kind == "shr" and not held[1] and 0 <= other < warp:
            counted[to] = (held[0] << other, 0)
        elif kind in ("add", "sub"):
            counted[to] = (held[0], held[1] + (other if kind == "add" else -other))
        elif kind == "setp":
            asked = max(asked, held[0] * (other - held[1] + (how.partition(".")[0] in _TELL_NEXT)))
    return asked


def _number(operand: Operand, constants: Mapping[str, int], line: Line) -> int | None:
    """The value of an operand that is a number, or a register that holds one."""
    if not operand.parts:
        return None
    part = operand.parts[0]
    if part.value is not None:
        return part.value
    return next((constants[name] for name in part.names if name in line.reads and name in constants), None)


__all__ = ["threads_named"]
