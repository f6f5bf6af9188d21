"""Maps of memory: pieces by their offsets, each use in its piece, at a line where the text has that operation."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest

from conftest import corpus
from drawing.drawn import draw, says
from tileproof.base.source import Source
from tileproof.drawing.memory_maps import Use, pieces
from tileproof.mlir.scanner import scan
from tileproof.protocol.values import Allocation

BUGS = Path(__file__).parents[1] / "protocol" / "bugs"
PARITY = BUGS / "23_ring_parity.mlir"
OPERATION = next(iter(scan(Source("m", '"a.b"() : () -> ()')).module.walk()))
FACTS = re.compile(r"(.+): (bytes|columns) (\d+) to (\d+), lines (?:(\d+) to (\d+)|not used)")


def rows(*arguments: str) -> dict[tuple[str, int], tuple[int, int, int]]:
    """The end of each piece, and the lines of its first and last use; 0 for none."""
    found = {}
    for one in says(draw(*arguments, "--format", "svg")):
        if facts := FACTS.fullmatch(one):
            name, _, low, high, first, last = facts.groups()
            found[name, int(low)] = int(high), int(first or 0), int(last or 0)
    return found


def test_pieces_have_the_names_and_sizes_of_their_allocations_and_the_lines_of_their_uses():
    found = rows("smem", str(PARITY), "--kernel", "2")
    assert {name: high + 1 for (name, _), (high, _, _) in found.items()} == {
        "smem_a": 8192,
        "full_mbar": 8,
        "empty_mbar": 8,
    }
    lines = PARITY.read_text(encoding="utf-8").splitlines()
    _, first, last = found["smem_a", 0]
    assert "cute.copy" in lines[first - 1]
    assert "cute.memref.load" in lines[last - 1]


def use(low: int, high: int) -> Use:
    return Use(1, low, high, 0, "read", OPERATION)


def test_uses_are_in_the_field_that_they_begin_in_and_others_beside():
    memory = Allocation("smem", "smem", 1, (("b", 64, 128), ("a", 128, 0)))
    found = pieces(memory, [use(0, 16), use(120, 128), use(128, 192), use(500, 516)])
    assert [(one.name, one.low, one.high, len(one.uses)) for one in found] == [
        ("a", 0, 128, 2),
        ("b", 128, 192, 1),
        ("smem", 500, 516, 1),
    ]


def test_columns_of_tensor_memory_are_ranges_as_they_are_used():
    memory = Allocation("tensor memory", "tmem", 1)
    found = pieces(memory, [use(0, 128), use(0, 32), use(32, 64), use(0, 32)])
    assert [(one.low, one.high, len(one.uses)) for one in found] == [(0, 32, 2), (0, 128, 1), (32, 64, 1)]


@corpus("corpus/sm_90a/dense_gemm__default.mlir")
def test_pieces_of_a_real_kernel_do_not_overlap(path: Path):
    found = rows("smem", str(path))
    assert {"sA", "sB"} <= {name for name, _ in found}
    ends = sorted((low, high) for (_, low), (high, _, _) in found.items())
    assert all(high < low for (_, high), (low, _) in pairwise(ends))


@pytest.mark.parametrize("command", ["smem", "tmem", "protocol"])
def test_the_same_file_gives_the_same_bytes(command: str):
    path = str(BUGS / "29_tensor_memory_lifetime.mlir")
    assert draw(command, path, "--format", "html") == draw(command, path, "--format", "html")
