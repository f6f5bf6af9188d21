"""The table of what operations do with memory: against types, the engine's sources, and reader against reader."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from trees import nodes

import tileproof
from conftest import SHARED
from tileproof.base.source import Source
from tileproof.dialects.infer import Refusal, infer
from tileproof.dialects.operands import resolve
from tileproof.dialects.operations import Operations
from tileproof.dialects.values import Descriptor, Pointer, Tensor, read_type
from tileproof.memory.known_bits import memory_of
from tileproof.memory.origins import definitions, origin_of
from tileproof.memory.pointers import Places
from tileproof.mlir.ir import Operation
from tileproof.mlir.scanner import scan
from tileproof.mlir.scopes import walk
from tileproof.mlir.signature import parameters, signature

BOOK = tileproof.load_rules()
KNOWN = Operations.of(BOOK)
ENGINE = Path(tileproof.__file__).parent
KERNELS = sorted(SHARED.glob("corpus/*/*.mlir"))[::7]


def _space(text: str) -> str | None:
    """The memory that a pointer, a tensor or an LLVM pointer leads into; None for what leads into none."""
    if text.startswith("!llvm.ptr"):
        return {"!llvm.ptr<3>": "smem", "!llvm.ptr<6>": "tmem"}.get(text)
    found = read_type(text)
    iterator = found.iterator if isinstance(found, Tensor) else found
    return iterator.space if isinstance(iterator, Pointer) else "smem" if isinstance(iterator, Descriptor) else None


def _results(operation: Operation, operands: list[str], aliases: dict) -> list[str]:
    written = signature(operation)
    if written.results is not None:
        return [resolve(use.text, aliases) for use in written.results]
    outcome = infer(operation.name, tuple(operands), parameters(operation), (), BOOK)
    return [] if outcome is None or isinstance(outcome, Refusal) else [str(one) for one in outcome]


def _typed(path: Path) -> Iterator[tuple[Operation, list[str], list[str]]]:
    """The operations of the table in a file, with the types of their operands and results where these are known."""
    found = scan(Source(str(path), path.read_text()))
    for operation, _ in walk(found.module.operations):
        written = signature(operation)
        if operation.name in KNOWN.aliasing and written.operands is not None:
            operands = [resolve(use.text, found.module.aliases) for use in written.operands]
            yield operation, operands, _results(operation, operands, found.module.aliases)


# A fragment of A, B or C in registers, and that of an accumulator of tensor memory, is memory of its own.
OWN = {"fragment": {"rmem", "tmem"}}


@pytest.mark.skipif(not KERNELS, reason="no corpus")
def test_a_result_lies_in_the_memory_of_the_operand() -> None:
    seen: Counter[str] = Counter()
    for path in KERNELS:
        for operation, operands, results in _typed(path):
            aliasing = KNOWN.aliasing[operation.name]
            assert aliasing.operand < len(operands), f"{path}: {operation.name}"
            if not results:
                continue
            given, made = _space(operands[aliasing.operand]), _space(results[0])
            if given is None or made is None or made in OWN.get(aliasing.moves, ()):
                continue
            assert given == made or "generic" in (given, made), f"{path}: {operation.name}: {given} -> {made}"
            seen[operation.name] += 1
    assert len(seen) >= 12, seen  # a dozen operations of the table, else the corpus shows nothing


@pytest.mark.skipif(not KERNELS, reason="no corpus")
def test_readers_agree_where_an_operand_is() -> None:
    asked = 0
    for path in KERNELS:
        found = scan(Source(str(path), path.read_text()))
        places = Places(KNOWN, found.module.aliases)
        for operation, scope in walk(found.module.operations):
            if KNOWN.moves(operation) not in ("descriptor", "fragment"):
                continue
            name = operation.operands[KNOWN.aliasing[operation.name].operand]
            place, origin = places.of(name, scope), origin_of(name, scope, KNOWN)
            if place is not None:
                assert origin is not None and place.allocation is origin.operation
                assert memory_of(name, scope, KNOWN) is place.allocation
                assert [*definitions(name, scope, KNOWN)][-1] == origin
                asked += 1
    assert asked > 10


def _listed(path: Path) -> Iterator[tuple[int, set[str]]]:
    """The collections of a module that list operations of the tables: their lines and the names."""
    for node in nodes(path):
        if isinstance(node, ast.Set | ast.Tuple | ast.List):
            parts = node.elts
        elif isinstance(node, ast.Dict):
            parts = [key for key in node.keys if key is not None]
        else:
            continue
        texts = {part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)}
        names = {text for text in texts if text in KNOWN.aliasing or text in KNOWN.steps}
        if len(names) > 1:
            yield node.lineno, names


# Types of results, and conditions on them, are one function an operation; the custom forms of operations are syntax.
APART = ("dialects/infer/", "dialects/conditions.py", "mlir/signature.py")


@pytest.mark.sweep
def test_only_the_rules_list_operations() -> None:
    found = {
        f"{path.relative_to(ENGINE)}:{line}": names
        for path in sorted(ENGINE.rglob("*.py"))
        if not str(path.relative_to(ENGINE)).startswith(APART)
        for line, names in _listed(path)
    }
    assert not found, f"what operations do is in rules/memory and rules/protocol: {found}"


def test_the_source_reader_sees_a_list(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text('_THROUGH = {"cute.get_iter": 0, "cute.slice": 0}\n')
    assert [names for _, names in _listed(tmp_path / "one.py")] == [{"cute.get_iter", "cute.slice"}]


CHAIN = """\
module {{
  gpu.module @kernels {{
    cuda.kernel @kernel(%arg0: i32) {{
      %p0 = cute.memref.alloca() : !cute.memref<i8, smem, align<1024>, "16384:1">
{steps}
      test.use %p{last} : i32
    }}
  }}
}}
"""


@pytest.mark.parametrize(("length", "followed"), [(200, True), (300, False)])
def test_a_value_is_followed_so_far(length: int, followed: bool) -> None:
    steps = "\n".join(f"      %p{i + 1} = cute.assume %p{i} : i32" for i in range(length))
    module = scan(Source("chain.mlir", CHAIN.format(steps=steps, last=length))).module
    for operation, scope in walk(module.operations):
        if operation.name == "test.use":
            name = operation.operands[0]
            origin, place = origin_of(name, scope, KNOWN), Places(KNOWN, module.aliases).of(name, scope)
            assert (origin is not None) is followed and (place is not None) is followed


def test_an_operation_is_in_one_table() -> None:
    assert KNOWN.aliasing.keys().isdisjoint(KNOWN.steps)
    assert set(KNOWN.aliasing) == set(BOOK.enums["memory_operation"].by_spelling)
