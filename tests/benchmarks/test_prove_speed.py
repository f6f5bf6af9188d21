"""How fast verdicts are: ``pytest tests/benchmarks --benchmark-only``."""

from __future__ import annotations

import statistics
import time

import pytest

from tileproof import prove

TILE = "S<3,3,3> o 0 o ((8,16),(64,2)):((64,512),(1,8192))"
REFERENCE = '!cute.memref<f16, smem, align<1024>, S<3,4,3>, "((8,16),(64,2)):((64,512),(1,8192))">'
STATIC = {
    "equivalent": lambda: prove.equivalent(TILE, "S<3,3,3> o 0 o (128,(64,2)):(64,(1,8192))"),
    "equivalent, refuted": lambda: prove.equivalent(TILE, "((8,16),(64,2)):((64,512),(1,8192))"),
    "equivalent in bytes": lambda: prove.equivalent(TILE, REFERENCE, element="f16"),
    "injective": lambda: prove.injective(TILE),
    "injective by enumeration": lambda: prove.injective("(3,2,2048):(2,3,8)"),
    "bijective": lambda: prove.bijective(TILE),
    "bijective by enumeration": lambda: prove.bijective("S<3,3,3> o 0 o (8,1001):(1001,1)"),
    "covers": lambda: prove.covers("((4,8,4),(2,2,32)):((2@1,1@0,16@0),(1@1,8@0,8@1))", "(64,256)"),
    "aligned": lambda: prove.aligned(TILE, 8, element="f16"),
    "aligned, unaligned base": lambda: prove.aligned(REFERENCE.replace("1024", "128"), 8),
    "conflict-free": lambda: prove.conflict_free(TILE, "ldmatrix.x4", element="f16"),
    "conflict-free, refuted": lambda: prove.conflict_free("(128,64):(64,1)", "ldmatrix.x4", element="f16"),
    "conflict-free threads": lambda: prove.conflict_free("(128,64):(65,1)", "ld.shared.b32", element="f32"),
}
SYMBOLIC = {
    "equivalent": lambda: prove.equivalent("(?m{div=16},8):(8,1)", "((16,?n),8):((8,128),1)", assume=["m == 16*n"]),
    "equivalent by z3": lambda: prove.equivalent("S<3,4,3> o 0 o (8,?n):(1,?d{div=1024})", "(8,?n):(1,?d{div=1024})"),
    "injective": lambda: prove.injective("(?m,?n):(1,?ld)", assume=["ld >= m"]),
    "injective, refuted": lambda: prove.injective("(?m,?n):(1,?ld)"),
    "bijective": lambda: prove.bijective("(8,?m):(?m,1)"),
    "aligned": lambda: prove.aligned("(?,64):(?{div=8},1)", 8, element="f16", swizzle="S<3,4,3>"),
    "conflict-free": lambda: prove.conflict_free("S<3,3,3> o 0 o (?{div=8},64):(64,1)", "ldmatrix", element="f16"),
    "conflict-free, refuted": lambda: prove.conflict_free(
        "(?{div=8},64):(?d{div=64},1)", "ldmatrix", element="f16", swizzle="S<3,4,3>"
    ),
}


def median(questions):
    """The median over the questions of the median over five runs, the first left out, in milliseconds of CPU."""
    found = []
    for ask in questions.values():
        ask()
        times = []
        for _ in range(5):
            start = time.process_time()
            ask()
            times.append(1000 * (time.process_time() - start))
        found.append(statistics.median(times))
    return statistics.median(found), max(found)


def test_a_static_proof_takes_3_ms_and_none_takes_50_ms():
    middle, worst = median(STATIC)
    assert middle < 3
    assert worst < 50


def test_a_symbolic_proof_takes_15_ms_and_none_takes_200_ms():
    middle, worst = median(SYMBOLIC)
    assert middle < 15
    assert worst < 200


@pytest.mark.parametrize("name", STATIC)
def test_static(benchmark, name):
    assert benchmark(STATIC[name]) is not None


@pytest.mark.parametrize("name", SYMBOLIC)
def test_symbolic(benchmark, name):
    assert benchmark(SYMBOLIC[name]) is not None
