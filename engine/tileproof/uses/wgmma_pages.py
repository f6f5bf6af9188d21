"""Facts of the four operations of ``nvvm.wgmma`` in the generic form, as NVVM WGMMA Ops describes them.

Commit and wait are compared with the ``mma_async`` that is the last before them in the text. A kernel without such an
operation (the CuTe DSL writes ``cute.gemm``) gives no facts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tileproof.base.patterns import regex
from tileproof.dialects.configuration import Facts
from tileproof.mlir.ir import Operation
from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.expression import Scalar

_N = regex(r"\bn\s*=\s*(\d+)|\bm\d+n(\d+)k\d+")
_REPEATED = regex(r"\)\s*x\s*(\d+)")
_INTEGER = regex(r"-?\d+")
_WORD = regex(r"[A-Za-z_]\w*")


def four_op_facts(book: Rulebook, operations: Sequence[Operation]) -> Iterator[Facts]:
    """The facts of each of the four operations after the first ``mma_async`` of a function, and of that one."""
    kinds = book.enums["four_op"].by_spelling
    for top in operations:
        flight: Operation | None = None
        constants: dict[str, int] = {}
        for operation in top.walk():
            if operation.name in ("func.func", "llvm.func", "gpu.func", "cuda.kernel"):
                flight, constants = None, {}
            elif operation.name in ("arith.constant", "llvm.mlir.constant"):
                _constant(operation, constants)
            member = kinds.get(operation.name)
            if member == ".mma_async":
                flight = operation
            if member is not None and flight is not None and (operation.generic or member != ".mma_async"):
                yield _facts(book, member, operation, flight, constants)


def _constant(operation: Operation, constants: dict[str, int]) -> None:
    value = operation.attribute("value")
    text = value.text if value is not None else operation.pieces[0].partition("constant")[2]
    found = _INTEGER.search(text)
    if found is not None and operation.results:
        constants[operation.results[0].name] = int(found[0])


def _facts(book: Rulebook, member: str, operation: Operation, flight: Operation, constants: dict[str, int]) -> Facts:
    values: dict[str, Scalar] = {"operation": member, "operands": len(operation.operands)}
    values["results"] = sum(result.count for result in operation.results)
    if member == ".mma_async":
        width = 0
        for fact, use in zip(("a", "b", "d"), operation.inputs, strict=False):
            kind = ".struct" if use.text.startswith("!llvm.struct") else ".i64" if use.text == "i64" else ".other"
            values[fact] = kind
            if fact == "d" and kind == ".struct":
                width = _width(use.text)
        shape, types = _text(operation, "shape"), book.enums["element"].members
        if (found := _N.search(shape)) is not None:
            values["N"] = int(found[1] or found[2])
        names = [f".{word}" for word in _words(_text(operation, "typeC"))]
        accumulator = next((name for name in names if name in types), "")
        if accumulator:
            bits = book.shared_table("element").rows[accumulator,][0]
            assert isinstance(bits, int)
            if width:
                values["held"] = 64 * width // bits
        values["scale"] = ".runtime" if len(operation.operands) > 3 else ".constant"
    elif member in (".commit", ".wait"):
        values["type"] = _echo(operation, "wgmma_type", flight, "typeA", "typeB")
        values["layout"] = _echo(operation, "wgmma_layout", flight, "layoutA", "layoutB")
    if member == ".wait":
        depth = _depth(operation, constants)
        if depth is not None:
            values["depth"] = depth
    return Facts("four_op", values, {"operation": operation.name}, {}, operation.name_span)


def _depth(operation: Operation, constants: dict[str, int]) -> int | None:
    """The number of groups that a wait leaves pending: an operand that is a constant, or the attribute of the DSL."""
    if operation.operands:
        return constants.get(operation.operands[0])
    group = operation.attribute("group")
    text = group.text if group is not None else operation.pieces[0].partition(operation.name)[2]
    found = _INTEGER.search(text)
    return int(found[0]) if found is not None else None


def _echo(operation: Operation, name: str, flight: Operation, *of: str) -> str:
    """Whether an attribute equals those of the operation in flight: one for both operands, or one for each."""
    attribute = operation.attribute(name)
    if attribute is None:
        return ".missing"
    said = _words(attribute.text)
    each = [_words(_text(flight, one)) for one in of]
    pair = [word for words in each for word in words]
    return ".same" if said in (pair, each[0]) else ".other"


def _words(text: str) -> list[str]:
    """The members of enums that an attribute names: ``#nvvm.wgmma_type<f16>`` is f16."""
    return [word for word in _WORD.findall(re.sub(r"#[\w.]+", "", text)) if word not in ("wgmma_type", "layout")]


def _text(operation: Operation, name: str) -> str:
    attribute = operation.attribute(name)
    return attribute.text if attribute is not None else ""


def _width(text: str) -> int:
    """The registers of a struct: ``struct<(f32, f32)>``, or ``struct<(f32) x 64>`` as the pages write it."""
    repeated = _REPEATED.search(text)
    return int(repeated[1]) if repeated is not None else text.count(",") + 1
