"""How fast layouts are evaluated: ``pytest tests/benchmarks --benchmark-only``."""

from __future__ import annotations

import time

import pytest

from tileproof.layout import crd2idx, crd2idx_many
from tileproof.syntax import layouts as syntax

MILLION = 1_000_000
LAYOUTS = (
    "((8,16),(64,2),(1,7)):((64,512),(1,8192),(0,16384))",
    "S<3,4,3> o 0 o ((8,16),(64,2),(1,7)):((64,512),(1,8192),(0,16384))",
)


@pytest.mark.parametrize("text", LAYOUTS)
def test_a_million_offsets_in_one_call_take_less_than_two_seconds(text):
    numpy = pytest.importorskip("numpy", reason="numpy is not installed")
    layout = syntax.layout(text)
    indices = numpy.arange(MILLION)
    start = time.perf_counter()
    offsets = crd2idx_many(indices, layout)
    assert time.perf_counter() - start < 2
    assert [int(offsets[i]) for i in range(0, MILLION, 99_991)] == [
        crd2idx(i, layout) for i in range(0, MILLION, 99_991)
    ]


def test_a_million_offsets(benchmark):
    numpy = pytest.importorskip("numpy", reason="numpy is not installed")
    layout, indices = syntax.layout(LAYOUTS[1]), numpy.arange(MILLION)
    offsets = benchmark(crd2idx_many, indices, layout)
    assert len(offsets) == MILLION
