"""Tensor maps from the host function that makes them, through the launch, to the arguments of a kernel."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from tileproof.base.records import dataclass
from tileproof.dialects.operands import resolve
from tileproof.dialects.operations import Operations
from tileproof.dialects.values import Algebraic, read_type
from tileproof.layout.values import ComposedLayout, Swizzle
from tileproof.memory.known_bits import fold
from tileproof.memory.origins import origin_of
from tileproof.mlir.ir import Alias, Operation
from tileproof.mlir.scopes import Origin, Scope, walk
from tileproof.rulebase.book import Rulebook


@dataclass(frozen=True, slots=True)
class TensorMap:
    """The shared-memory side of a tensor map.

    Attributes:
        swizzle: a member of the enum ``tensor_map_swizzle``.
        box: extents in elements, the innermost first; None where they are not constants.
        bits: of an element; None where the type is not known.
    """

    swizzle: str
    box: tuple[int, ...] | None
    bits: int | None


Arguments = Mapping[tuple[str, int], TensorMap]

_CALLEE = re.compile(r"@[\w$.-]+::@([\w$.-]+)")
_KERNEL = re.compile(r"@([\w$.-]+)\s*\(")


def kernel_name(operation: Operation) -> str | None:
    """The name of a ``cuda.kernel``."""
    attribute = operation.attribute("sym_name")
    if attribute is not None:
        return attribute.text.strip('"')
    found = _KERNEL.search(operation.pieces[0])
    return found and found[1]


def kernel_arguments(book: Rulebook, operations: Sequence[Operation], aliases: dict[str, Alias]) -> Arguments:
    """The tensor maps that kernels get, by kernel and position; those that two launches disagree about are left out."""
    found: dict[tuple[str, int], TensorMap] = {}
    disagreed: set[tuple[str, int]] = set()
    stores: dict[int, dict[int, int]] = {}
    for operation, scope in walk(operations):
        if operation.name == "llvm.store":
            _remember(book, operation, scope, stores)
        elif operation.name == "cuda.launch_ex":
            callee = _CALLEE.search(operation.pieces[0])
            if callee is None:
                continue
            for position, operand in enumerate(operation.operands[1:]):
                origin = scope.get(operand)
                tensor_map = None if origin is None else _tensor_map(book, origin, scope, aliases, stores)
                key = (callee[1], position)
                if tensor_map is not None and found.setdefault(key, tensor_map) != tensor_map:
                    disagreed.add(key)
    return {key: value for key, value in found.items() if key not in disagreed}


def _remember(book: Rulebook, operation: Operation, scope: Scope, stores: dict[int, dict[int, int]]) -> None:
    """A constant stored into an array on the host's stack: boxes are handed over in such."""
    if len(operation.operands) != 2:
        return
    value, pointer = fold(book, operation.operands[0], scope).value, scope.get(operation.operands[1])
    if pointer is None or pointer.argument:
        return
    index = 0
    if pointer.operation.name == "llvm.getelementptr":
        step = re.search(r"\[(\d+)\]", pointer.operation.pieces[0])
        raw = pointer.operation.attribute("rawConstantIndices")
        if raw is not None:
            step = re.search(r":\s*(\d+)", raw.text)
        base = scope.get(pointer.operation.operands[0]) if pointer.operation.operands else None
        if step is None or base is None:
            return
        index, pointer = int(step[1]), base
    held = stores.setdefault(id(pointer.operation), {})
    if value is None:
        held.pop(index, None)
    else:
        held[index] = value


def _tensor_map(
    book: Rulebook, origin: Origin, scope: Scope, aliases: dict[str, Alias], stores: dict[int, dict[int, int]]
) -> TensorMap | None:
    operation = origin.operation
    if origin.argument:
        return None
    if operation.name == "cuda.tensor_map_encode_tiled" and origin.index == 1 and len(operation.operands) >= 9:
        kind, rank, swizzle = (fold(book, operation.operands[i], scope).value for i in (0, 1, 8))
        box = scope.get(operation.operands[5])
        extents = stores.get(id(box.operation), {}) if box is not None else {}
        known = rank is not None and all(i in extents for i in range(rank))
        mode = _coded(book, "tensor_map_swizzle", 0, swizzle)
        if mode is None:
            return None
        row = _coded(book, "tensor_map_type", 0, kind)
        bits = book.shared_table("tensor_map_type").rows[row,][1] if row is not None else None
        return TensorMap(
            mode,
            tuple(extents[i] for i in range(rank or 0)) if known else None,
            bits if isinstance(bits, int) else None,
        )
    if operation.name.startswith("cute_nvgpu.atom.make_non_exec_tiled_tma") and origin.index == 0:
        for use in operation.inputs:
            value = read_type(resolve(use.text, aliases))
            if isinstance(value, Algebraic) and isinstance(value.value, ComposedLayout):
                inner = value.value.inner
                if isinstance(inner, Swizzle) and (mode := mode_of(book, inner)) is not None:
                    return TensorMap(mode, None, None)
    return None


def mode_of(book: Rulebook, swizzle: Swizzle | None) -> str | None:
    """The swizzle of a tensor map that a swizzle on byte addresses is."""
    if swizzle is None or swizzle.bits == 0:
        return ".none"
    for (mode,), row in book.shared_table("smem_swizzle").rows.items():
        if row[:3] == (swizzle.bits, swizzle.base, swizzle.shift):
            return mode
    return None


def _coded(book: Rulebook, table: str, column: int, code: int | None) -> str | None:
    return next((key for (key,), row in book.shared_table(table).rows.items() if row[column] == code), None)


def argument_of(name: str, scope: Scope, operations: Operations) -> tuple[Operation, int] | None:
    """The kernel and the position of the argument that a tensor map or an atom in a kernel comes from."""
    origin = origin_of(name, scope, operations)
    if origin is None or not origin.argument or origin.operation.name != "cuda.kernel":
        return None
    return origin.operation, origin.index
