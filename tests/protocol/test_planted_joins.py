"""Faults planted between an operand, its memory, its tensor map and its launch: found, and where the change is."""

from __future__ import annotations

import random
from collections.abc import Iterator

import planted_joins
import pytest
from planted_joins import OPERATORS, Fault

import tileproof
from conftest import SHARED
from tileproof.base.diagnostic import Severity

KERNELS = (
    *("corpus/sm_100a/prim_tcgen05_1cta_mma_basic__default", "corpus/sm_100a/prim_tcgen05_1cta_mma_mn_major__default"),
    *("corpus/sm_100a/prim_tcgen05_2cta_mma_basic__default", "corpus/sm_90a/dense_gemm__f16_t128x256_c2x1"),
    *("corpus/sm_90a/dense_gemm__default", "corpus/sm_100a/dense_gemm__f16_mnn"),
)
STATIC = (
    "map-",
    "descriptor-s",
    "descriptor-a",
    "instruction-a",
    "instruction-b",
    "mask-",
    "mma-",
    "memory-",
    "basis-",
)
needs_corpus = pytest.mark.skipif(not (SHARED / "corpus").is_dir(), reason="no ../shared beside this checkout")


def faults(kernel: str, most: int, beginnings: tuple[str, ...]) -> Iterator[Fault]:
    text = (SHARED / f"{kernel}.mlir").read_text("utf-8")
    rng = random.Random(kernel)
    for operator in OPERATORS:
        if operator.name.startswith(beginnings):
            planted = list(operator.plant(text))
            yield from rng.sample(planted, min(most, len(planted)))


def judged(fault: Fault, target: str) -> tuple[bool, bool]:
    """Whether a fault is found, and whether an error or what it relates to stands at a line that was changed."""
    found = tileproof.check(fault.text, target=target).diagnostics
    errors = [one for one in found if one.severity is Severity.ERROR]
    places = [span for one in errors for span in (one.span, *(other.span for other in one.related))]
    lines = {errors[0].source.position(span.start).line for span in places} if errors else set()
    return bool(errors), bool(lines & fault.changed)


@needs_corpus
@pytest.mark.parametrize("kernel", [KERNELS[1], pytest.param(KERNELS[3], marks=pytest.mark.sweep)])
def test_a_sample_is_found_where_it_is(kernel):
    planted = list(faults(kernel, 1, STATIC))
    assert len(planted) > 3
    missed = {one.operator for one in planted if judged(one, kernel.split("/")[1]) != (True, True)}
    assert not missed - planted_joins.ELSEWHERE, missed


@needs_corpus
@pytest.mark.long
@pytest.mark.parametrize("kernel", KERNELS)
def test_all_are_found(kernel):
    planted = list(faults(kernel, 4, ("",)))
    missed = {one.operator for one in planted if not judged(one, kernel.split("/")[1])[0]}
    assert not missed - planted_joins.UNSEEN, missed
