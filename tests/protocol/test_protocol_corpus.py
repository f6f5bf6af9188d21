"""The protocols of real kernels: no error in the kernels as they are, and what is planted into them is found."""

# checklist: PRO01 PRO02 PRO05 PRO06 PRO08

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence

import pytest

import tileproof
from conftest import SHARED, corpus, corpus_files
from protocol.planted import OPERATORS, harmless, mutants
from tileproof.base.diagnostic import Severity
from tileproof.base.source import Source
from tileproof.mlir.scanner import scan
from tileproof.protocol.verify import verify

BOOK = tileproof.load_rules()

# Practices of the kernels themselves: some end while a bulk store may still read.
WARNED = {
    # Its warps of one warpgroup ask for different numbers of registers.
    "sm_100a/mixed_input_gemm__default.mlir": {"PR174"},
    "sm_100a/tut_tma_v0__default.mlir": {"PR107"},
    # Threads cross a barrier between tcgen05.st and the MMA without the fences around it.
    "sm_100a/dense_gemm_persistent__default.mlir": {"PR118"},
    "sm_100a/prim_tcgen05_1cta_mma_a_from_tmem__default.mlir": {"PR115"},
    # Its epilogue has one barrier a store: what orders a stage's next use is the ring of the main loop.
    "sm_120a/dense_gemm__default.mlir": {"PR117"},
    # The barrier after the initialisation counts five of the six warps: the one that loads is left out.
    "sm_100a/ts_02_01_fp16_bf16_gemm_3__default.mlir": {"PR137"},
    # Its last stores are not waited for.
    "sm_90a/fmha__default.mlir": {"PR106"},
    "sm_90a/fmha__default.generic.mlir": {"PR106"},
}

# True errors: each turn loads into the tile that the MMA of the turn before reads, and the commit is behind the loop.
WRONG = {"sm_100a/prim_tcgen05_1cta_mma_basic__default.mlir": {"PR112"}}

# What is not verified of them, and why.
DOUBTED = {
    "sm_100a/ext_dense_gemm__default.mlir": {"dialect"},  # operations of the dialect lir
    "sm_100a/prim_tma_tma_multicast__default.mlir": {"assumed_cluster"},  # nothing in it says its cluster
    "sm_100a/mamba2_ssd__default.mlir": {"guessed_steps"},
}

KERNELS = [
    "sm_90a/dense_gemm__default",
    "sm_90a/dense_gemm__e4m3_e5m2_f16_f32",
    "sm_90a/dense_gemm__f16_t128x256_c2x1",
    "sm_90a/dense_gemm_fp8_2xacc__default",
    "sm_90a/dense_gemm_persistent__default",
    "sm_90a/dense_gemm_fp8_gelu_persistent__default",
    "sm_90a/fmha__default",
    "sm_90a/grouped_gemm__default",
    "sm_100a/dense_gemm__default",
    "sm_100a/dense_gemm__f16_mnn",
    "sm_100a/dense_gemm_persistent__default",
    "sm_100a/dense_gemm__e4m3_e4m3_f32_2cta",
    "sm_100a/dense_blockscaled__nvf4_t256x128_c2x1",
    "sm_100a/tut_fp16_gemm_0__default",
    "sm_100a/tut_fp16_gemm_3_1__default",
    "sm_100a/prim_tcgen05_1cta_mma_basic__default",
    "sm_100a/tut_tma_v2__default",
    "sm_100a/efc_activation_custom_epilogue_dense_gemm__default",
    "sm_120a/dense_gemm__default",
    "sm_80/tensorop_gemm__default",
    "sm_80/sgemm__default",
    "sm_80/fa2__f16_d64",
    "sm_89/tensorop_gemm__f16_kk",
]


def found(name: str, text: str) -> tuple[set[str], set[str]]:
    """The codes of what is found in a text, and what of it is in doubt."""
    module = scan(Source(name, text)).module
    outcomes = list(verify(BOOK, module.operations, module.aliases))
    codes = {fault.code for outcome in outcomes for fault in outcome.faults}
    return codes, {doubt.case for outcome in outcomes for doubt in outcome.doubts}


@corpus()
def test_real_kernels_are_followed_and_have_no_fault(path):
    name = f"{path.parent.name}/{path.name}"
    codes, doubts = found(name, path.read_text())
    errors = {code for code in codes if BOOK.findings[code].severity is Severity.ERROR}
    assert errors == WRONG.get(name, set())
    assert codes - errors == WARNED.get(name, set())
    assert doubts == DOUBTED.get(name, set())


def planted(
    seed: int, each: int, share: float, kernels: Sequence[str] = KERNELS
) -> dict[str, list[tuple[str, int, bool]]]:
    """For each operator: where it was planted, and whether anything new was found."""
    results: dict[str, list[tuple[str, int, bool]]] = defaultdict(list)
    for name in kernels:
        path = SHARED / "corpus" / f"{name}.mlir"
        text = path.read_text()
        before = found(name, text)[0]
        for operator in OPERATORS:
            rng = random.Random(f"{seed} {name} {operator.name}")
            for mutant in mutants(text, operator, random.Random(seed), each):
                if rng.random() < share:
                    caught = bool(found(name, mutant.text)[0] - before)
                    results[operator.name].append((name, mutant.line, caught))
    return results


def judged(results: dict[str, list[tuple[str, int, bool]]]) -> tuple[float, dict[str, float], str]:
    """The share of the faults that was found, of all and of each operator, and where they were missed."""
    faults = {
        name: [(where, line, caught) for where, line, caught in ones if not harmless(name, where, line)]
        for name, ones in results.items()
    }
    everything = [one for ones in faults.values() for one in ones]
    each = {name: sum(caught for *_, caught in ones) / len(ones) for name, ones in faults.items() if ones}
    missed = [f"{name} {where}:{line}" for name, ones in faults.items() for where, line, caught in ones if not caught]
    return sum(caught for *_, caught in everything) / len(everything), each, "\n".join(missed)


needs_corpus = pytest.mark.skipif(not corpus_files(), reason="no ../shared beside this checkout")


SMALL = ["sm_90a/dense_gemm__default", "sm_100a/prim_tcgen05_1cta_mma_basic__default", "sm_80/sgemm__default"]


@needs_corpus
@pytest.mark.parametrize("kernels", [SMALL, pytest.param(KERNELS, marks=pytest.mark.long)], ids=["small", "all"])
def test_what_is_planted_is_found_in_a_sample(kernels):
    total, _, missed = judged(planted(seed=1, each=1, share=0.08, kernels=kernels))
    assert total >= 0.95, missed


@needs_corpus
@pytest.mark.long
def test_what_is_planted_is_found():
    """With the harmless places counted as missed the share of all was 0.94."""
    results = planted(seed=1, each=2, share=1.0)
    total, each, missed = judged(results)
    assert len(each) >= 40
    assert total >= 0.95, missed
    assert min(each.values()) >= 0.8, missed
    found_in_vain = [
        (name, where, line)
        for name, ones in results.items()
        for where, line, caught in ones
        if caught and harmless(name, where, line)
    ]
    assert found_in_vain == []  # else it is no harmless place
