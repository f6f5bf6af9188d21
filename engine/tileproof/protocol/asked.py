"""How many threads a kernel asks for by itself: by its named barriers, and by the warps and threads that it names."""

from __future__ import annotations

from tileproof.base.patterns import regex
from tileproof.dialects.operations import Operations
from tileproof.mlir.ir import Operation

_THREAD = regex(r"sreg\.tid\.x$|^gpu\.thread_id$|^cute_nvgpu\.arch\.tid")
_KEPT = regex(r"cast|ext[us]i$|trunci$|make_warp_uniform$|shfl")  # the same number in another form
_CONSTANT = regex(r"\.constant\s*\(?\s*(-?\d+)\b(?!\.)")
_INTEGER = regex(r"\s*(-?\d+)\b(?!\.)")
_PREDICATE = regex(r"cmpi\s+(\w+)|predicate\s*=\s*(\d+)")
_PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
_NEXT = ("eq", "ne", "sle", "sgt", "ule", "ugt")  # comparisons with n that tell the one after n apart
_BARRIERS = ("cta_barrier", "cta_arrive")


def threads_asked(kernel: Operation, known: Operations, warp: int) -> int | None:
    """The least number of threads for which every named barrier and every named role can exist.

    Args:
        warp: the threads of a warp.

    Returns:
        None where the kernel names none.
    """
    constants: dict[str, int] = {}
    threads: dict[str, int] = {}  # how many threads one of a value stands for: 1 of a thread's number, 32 of a warp's
    asked = 0
    for operation in kernel.walk():
        name, operands = operation.name, operation.operands
        result = operation.results[0].name if operation.results else ""
        if (constant := constant_of(operation)) is not None:
            constants[result] = constant
        elif _THREAD.search(name) is not None:
            threads[result] = 1
        elif known.step(name) in _BARRIERS and len(operands) > 1:
            asked = max(asked, constants.get(operands[-1], 0))
        elif (unit := next((threads[one] for one in operands if one in threads), None)) is not None:
            other = next((constants[one] for one in operands if one in constants), None)
            if name.startswith("arith.div") and other:
                threads[result] = unit * other
            elif name.startswith("arith.shr") and other is not None and 0 <= other < warp:
                threads[result] = unit << other
            elif name == "arith.cmpi" and other is not None and other >= 0:
                asked = max(asked, unit * (other + _tells_next(operation)))
            elif _KEPT.search(name) is not None:
                threads[result] = unit
    return asked or None


def constant_of(operation: Operation) -> int | None:
    """The value of an integer constant; None for any other operation."""
    if operation.name not in ("arith.constant", "llvm.mlir.constant"):
        return None
    attribute = operation.attribute("value")
    found = _INTEGER.match(attribute.text) if attribute is not None else _CONSTANT.search(operation.pieces[0])
    return None if found is None else int(found[1])


def _tells_next(operation: Operation) -> bool:
    """Whether a comparison with n says something of the one after n: ``== n`` needs n + 1 of them."""
    found = _PREDICATE.search(operation.pieces[0])
    if found is None:
        attribute = operation.attribute("predicate")
        word = attribute.text.split()[0] if attribute is not None and attribute.text else ""
    else:
        word = found[1] or found[2]
    return (_PREDICATES[int(word)] if word.isdigit() and int(word) < len(_PREDICATES) else word) in _NEXT
