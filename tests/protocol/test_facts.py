"""What operations need beside the order of accesses: each file with a fault has a twin without it.

``facts/NAME_bad.mlir`` says what is expected of it in the way of MLIR; ``facts/NAME_good.mlir`` is the repaired kernel.
"""

# checklist: PRO01 PRO02 PRO05 PRO06

from __future__ import annotations

import random
from pathlib import Path

import pytest

import tileproof
from conftest import SHARED, corpus_files
from protocol.planted import mutants
from protocol.planted_facts import FACTS, HARMLESS
from protocol.test_protocol_bugs import changed
from protocol.test_protocol_corpus import found
from tileproof.base.diagnostic import Severity
from tileproof.base.source import Source
from tileproof.checking.expectations import expectations
from tileproof.checking.expectations import verify as unmet
from tileproof.mlir.scanner import scan
from tileproof.protocol.verify import verify

HERE = Path(__file__).parent / "facts"
BOOK = tileproof.load_rules()

CODES = {
    "accumulator_outside": "PR156",
    "accumulator_unfilled": "PR170",
    "accumulator_unwritten": "PR170",
    "address_read_early": "PR153",
    "allocation_by_another_group": "PR158",
    "answer_overwritten": "PR112",
    "answer_read_unfenced": "PR110",
    "exit_before_access": "PR171",
    "exit_before_arrival": "PR171",
    "earlier_kernel_not_waited_for": "PR176",
    "earlier_kernel_waited_for_elsewhere": "PR176",
    "freed_while_loaded": "PR114",
    "grid_not_waited_for": "PR178",
    "half_a_pair": "PR172",
    "lanes_of_another_warp": "PR175",
    "letter_overwritten": "PR112",
    "load_unwritten": "PR170",
    "mask_without_a_waiting_cta": "PR124",
    "operand_unwritten": "PR170",
    "part_of_a_warp": "PR179",
    "part_of_a_warpgroup": "PR184",
    "peer_never_waited_for": "PR111",
    "registers_decreased_to_more": "PR173",
    "registers_differ": "PR174",
    "registers_given_back_late": "PR160",
    "registers_increased_to_fewer": "PR173",
    "registers_never_given_back": "PR160",
    "registers_of_one_warp": "PR174",
    "registers_pool": "PR160",
    "registers_wrong_way": "PR173",
    "scales_copied_by_another_warp": "PR111",
    "scales_never_copied": "PR170",
    "scope_of_a_pair": "PR127",
    "stage_outside_ring": "PR177",
    "store_buffer_reused": "PR112",
    "store_committed_late": "PR105",
    "store_unwaited": "PR113",
    "wgmma_accumulator_unfilled": "PR170",
}


def read(name: str) -> Source:
    return Source(name, (HERE / f"{name}.mlir").read_text("utf-8"))


def test_every_file_is_one_of_a_pair():
    names = {f"{name}_{kind}.mlir" for name in CODES for kind in ("bad", "good")}
    assert {path.name for path in HERE.iterdir()} == names


@pytest.mark.parametrize("name", CODES)
def test_the_fault_is_found_and_nothing_else(name):
    source = read(f"{name}_bad")
    assert expectations(source)
    diagnostics = tileproof.check(source.text).diagnostics
    assert list(unmet(source, diagnostics)) == []
    # What comes behind a wait for ever is not verified, which is a note.
    assert {one.code for one in diagnostics if one.severity is not Severity.NOTE} == {CODES[name]}


@pytest.mark.parametrize("name", CODES)
def test_the_repaired_twin_is_clean_and_wholly_verified(name):
    source = read(f"{name}_good")
    assert tileproof.check(source.text).diagnostics == ()
    module = scan(source).module
    outcomes = list(verify(BOOK, module.operations, module.aliases))
    assert [(outcome.doubts, len(outcome.executed)) for outcome in outcomes] == [((), len(outcomes[0].steps))]


@pytest.mark.parametrize("name", CODES)
def test_the_twins_differ_by_little(name):
    assert changed(read(f"{name}_bad").text, read(f"{name}_good").text) <= 6


PAIR = SHARED / "field" / "sm_100a" / "ct_prim_tcgen05_2cta_mma_blockscale_m128.2.mlir"
needs_pair = pytest.mark.skipif(not PAIR.exists(), reason="no ../shared/field beside this checkout")


def errors(text: str) -> set[str]:
    return {one.code for one in tileproof.check(text).diagnostics if one.severity is Severity.ERROR}


def with_scope(text: str) -> str:
    """The arrivals at barriers of the other CTA have the scope of the cluster."""
    return text.replace("mbarrier.arrive.release.cta.", "mbarrier.arrive.release.cluster.")


def with_wait(text: str) -> str:
    """The warp that relays the scale factors of A to the leader waits for those of B, which its CTA loaded, as well."""
    lines = text.split("\n")
    relay = next(i for i, line in enumerate(lines) if "mbarrier.arrive.release" in line)
    elect = max(i for i in range(relay) if "nvvm.elect.sync" in lines[i])
    ring = next(i for i in range(elect, 0, -1) if "nvvm.mbarrier.try_wait.parity.timelimit" in lines[i])
    loads = [i for i, line in enumerate(lines) if "cta_group<cta_1>" in line and "bulk.tensor" in line]
    barrier = lines[loads[0]].split("global ")[1].split(", ")[2]
    made = next(line for line in reversed(lines[: loads[0]]) if line.strip().startswith(f"{barrier} = "))
    stages = made.split("getelementptr ")[1].split("[")[0]
    parity = lines[ring].split(", ")[1]
    stage = lines[ring - 1].split("[")[1].split("]")[0]
    waits = [
        f"          %sfb = llvm.getelementptr {stages}[{stage}] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64",
        f"          nvvm.mbarrier.try_wait.parity %sfb, {parity}, %c10000000_i32 : !llvm.ptr<3>, i32, i32",
    ]
    return "\n".join([*lines[:elect], *waits, *lines[elect:]])


@needs_pair
@pytest.mark.sweep
def test_both_faults_of_cutlass_3643_are_found_and_its_repair_is_clean():
    """A pair of CTAs copies scale factors that either loaded; NVIDIA/cutlass#3647 repairs both faults."""
    text = PAIR.read_text()
    assert errors(text) == {"PR111", "PR127"}
    assert errors(with_scope(text)) == {"PR111"}
    assert errors(with_wait(text)) == {"PR127"}
    assert errors(with_wait(with_scope(text))) == set()


KERNELS = [
    "corpus/sm_90a/dense_gemm_persistent__default",
    "corpus/sm_100a/dense_gemm__default",
    "corpus/sm_100a/dense_gemm__e4m3_e4m3_f32_2cta",
    "corpus/sm_100a/dense_blockscaled__nvf4_t256x128_c2x1",
    "corpus/sm_100a/prim_tcgen05_1cta_mma_basic__default",
]


@pytest.mark.skipif(not corpus_files(), reason="no ../shared beside this checkout")
@pytest.mark.sweep
def test_what_is_planted_is_found():
    missed = []
    for name in KERNELS:
        text = (SHARED / f"{name}.mlir").read_text()
        before = found(name, text)[0]
        for operator in FACTS:
            known = {line for kernels in HARMLESS.get(operator.name, {}).values() for line in kernels.get(name, ())}
            for mutant in mutants(text, operator, random.Random(1), 1):
                if mutant.line not in known and not found(name, mutant.text)[0] - before:
                    missed.append((operator.name, name, mutant.line))
    assert missed == []
