"""Inline assembly is followed as the operations that it is the same as: one and the same kernel, written both ways."""

# ruff: noqa: E501  lines of IR
# checklist: PRO01 PRO06

from __future__ import annotations

import random

import pytest

import tileproof
from conftest import SHARED
from protocol.assembled import assembled
from protocol.planted import OPERATORS, mutants
from protocol.test_practices import CASES, FRAME
from protocol.test_practices import found as found_in_body
from protocol.test_protocol_corpus import KERNELS, found, needs_corpus
from tileproof.protocol.assembly import counterpart, statements

BOOK = tileproof.load_rules()
FEW = ["sm_90a/dense_gemm__default", "sm_100a/prim_tcgen05_1cta_mma_basic__default", "sm_80/fa2__f16_d64"]


def codes(text: str) -> set[str]:
    return {one.code for one in tileproof.check(text).diagnostics if one.code.startswith("PR")}


@pytest.mark.parametrize("name", CASES)
def test_a_practice_in_assembly_is_judged_alike(name):
    body, threads, ctas, right, wrong, expected = CASES[name]
    frame = FRAME.replace("THREADS", str(threads)).replace("CTAS", str(ctas))
    clean, count = assembled(frame.replace("BODY", body))
    assert count >= 5
    assert codes(clean) == set()
    # What comes after a deadlock is not executed, which PR190 says beside it.
    assert codes(assembled(frame.replace("BODY", body.replace(right, wrong)))[0]) - {"PR190"} == expected


@needs_corpus
@pytest.mark.parametrize("kernels", [FEW, pytest.param(KERNELS, marks=pytest.mark.long)], ids=["few", "all"])
def test_a_kernel_in_assembly_is_judged_alike(kernels):
    for name in kernels:
        text = (SHARED / "corpus" / f"{name}.mlir").read_text()
        twin, count = assembled(text)
        assert count > 5
        assert found(name, twin) == found(name, text)


@needs_corpus
@pytest.mark.sweep
def test_what_is_planted_into_assembly_is_found():
    text = (SHARED / "corpus" / f"{FEW[0]}.mlir").read_text()
    before = found("plain", text)
    caught = 0
    for operator in OPERATORS[::4]:
        for mutant in mutants(text, operator, random.Random(2), 1):
            expected = found("mutant", mutant.text)
            assert found("assembled", assembled(mutant.text)[0]) == expected, (operator.name, mutant.line)
            caught += expected != before
    assert caught >= 3


# The tensor memory and the barrier of one MMA, which one thread issues.
MMA = """
    %mma_bar = llvm.getelementptr %full[8] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
    %columns = arith.constant 256 : i32
    scf.if %first {
      nvvm.tcgen05.alloc %full_word, %columns : !llvm.ptr<3>, i32
    }
    nvvm.tcgen05.fence <before>
    nvvm.barrier
    nvvm.tcgen05.fence <after>
    %acc = llvm.load %full_word : !llvm.ptr<3> -> !llvm.ptr<6>
    %acc_word = llvm.ptrtoint %acc : !llvm.ptr<6> to i32
    %tile = builtin.unrealized_conversion_cast %data : !cute.ptr<f32, smem, align<1024>> to !llvm.ptr<3>
    %tile_word = llvm.ptrtoint %tile : !llvm.ptr<3> to i32
    %low = arith.shrsi %tile_word, %c4 : i32
    scf.if %first {
ISSUE
    }
WAIT
    nvvm.tcgen05.fence <after>
    %loaded = nvvm.tcgen05.ld %acc {shape = #nvvm.tcgen05_ldst_shape<shape_32x32b>} : vector<32xi32>
    nvvm.tcgen05.wait <load>
    nvvm.barrier
    scf.if %first {
      nvvm.tcgen05.relinquish_alloc_permit
      nvvm.tcgen05.dealloc %acc, %columns : !llvm.ptr<6>, i32
    }
"""
SLOT = "    %full_word = llvm.getelementptr %full[16] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8\n"
# As FlashAttention 4 writes it: one thread of the warp is elected in the text, which adds to the descriptors.
ISSUE = (
    'llvm.inline_asm has_side_effects asm_dialect = att "{\\0A\\09.reg .pred leader_thread;\\0A\\09.reg .pred p;'
    ".reg .b32 idesc;\\0A\\09.reg .b32 desc_a_lo, desc_b_lo; .reg .b32 desc_a_hi; .reg .b64 desc_a, desc_b;\\0A\\09"
    "elect.sync _|leader_thread, -1;\\0A\\09mov.b32 idesc, 0x8200490;\\0A\\09mov.b32 desc_a_lo, $1;\\0A\\09"
    "mov.b32 desc_b_lo, $2;\\0A\\09mov.b32 desc_a_hi, 0x40004040;\\0A\\09mov.b64 desc_a, {desc_a_lo, desc_a_hi};\\0A\\09"
    "mov.b64 desc_b, {desc_b_lo, desc_a_hi};\\0A\\09setp.ne.b32 p, $3, 0;\\0A\\09"
    "@leader_thread tcgen05.mma.cta_group::1.kind::f16 [$0], desc_a, desc_b, idesc, p;\\0A\\09"
    "add.u32 desc_a_lo, desc_a_lo, 0x2;\\0A\\09mov.b64 desc_a, {desc_a_lo, desc_a_hi};\\0A\\09"
    '@leader_thread tcgen05.mma.cta_group::1.kind::f16 [$0 + 0x20], desc_a, desc_b, idesc, 1;\\0A\\09COMMIT}\\0A",'
    ' "r,r,r,r,r" %acc_word, %low, %low, %c0, %bar_word : (i32, i32, i32, i32, i32) -> ()\n'
)
COMMIT = "@leader_thread tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [$4];\\0A\\09"
WAIT = (
    'llvm.inline_asm has_side_effects asm_dialect = att "{\\0A\\09.reg .pred P1;\\0A\\09LAB_WAIT:\\0A\\09'
    "mbarrier.try_wait.parity.shared::cta.b64 P1, [$0], $1, 10000000;\\0A\\09@P1 bra DONE;\\0A\\09bra LAB_WAIT;\\0A\\09"
    'DONE:\\0A\\09}\\0A", "r,r" %bar_word, %c0 : (i32, i32) -> ()\n'
)
BAR_WORD = "    %bar_word = llvm.ptrtoint %full : !llvm.ptr<3> to i32\n"


def mma(issue: str = ISSUE, commit: str = COMMIT, wait: str = WAIT) -> str:
    body = SLOT + BAR_WORD + MMA.replace("ISSUE", issue.replace("COMMIT", commit)).replace("WAIT", wait)
    return body.replace("%mma_bar = llvm.getelementptr %full[8] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8\n", "")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (mma(), set()),
        (mma(wait=""), {"PR113"}),
        (mma(commit=""), {"PR126", "PR190"}),  # what comes after a deadlock is not executed
        (mma(ISSUE.replace("+ 0x20", "+ 0xa0")), {"PR156"}),
        (mma(ISSUE.replace("@leader_thread tcgen05.commit", "@!leader_thread tcgen05.commit")), set()),
        (mma(commit=COMMIT.replace("@leader_thread ", "")), {"PR122"}),
        (mma(wait=WAIT.replace("$1, 10000000", "1")), {"PR126", "PR190"}),
        (mma(wait=WAIT.replace("@P1 bra DONE;\\0A\\09bra LAB_WAIT;", "@!P1 bra LAB_WAIT;")), set()),
        (mma(wait=WAIT.replace("bra LAB_WAIT;", "")), {"PR113"}),  # it tests, and waits for nothing
        (mma(wait=WAIT.replace("try_wait", "test_wait").replace(", 10000000", "")), set()),
        (mma(wait=WAIT.replace("mbarrier.try_wait.parity", "mbarrier.arrive_drop")), {"PR190"}),
    ],
)
def test_blocks_with_labels_predicates_and_elect(body, expected):
    got, told = found_in_body(body)
    assert got == expected, told


@pytest.mark.parametrize(
    ("ptx", "constraints", "expected"),
    [
        ("bar.sync 0, 128;", "r", set()),
        ("bar.sync 0, $0;", "r", {"PR136"}),
        ("{ .reg .u32 r; mul.lo.u32 r, $0, 2; bar.sync 0, r; }", "r", set()),
        ("{ .reg .pred p; setp.gt.u32 p, $0, 64; @p bar.sync 1, 64; }", "r", {"PR190"}),  # never executed
        ("{ .reg .pred p; setp.le.u32 p, $0, 64; @p bar.sync 1, 96; }", "r", {"PR136"}),
        ("{ .reg .pred p; setp.le.u32 p, $0, 64; @p bra OVER; bar.sync 1, 96; OVER: }", "r", {"PR190"}),
        ("{ .reg .pred p; setp.gt.u32 p, $0, 64; @p bra OVER; bar.sync 1, 96; OVER: }", "r", {"PR136"}),
        ("{ .reg .u32 t; .reg .pred p; mov.u32 t, %tid.x; setp.lt.u32 p, t, 64; @p bar.sync 1, $0; }", "r", set()),
        ("{ .reg .u32 t; .reg .pred p; mov.u32 t, %tid.x; setp.lt.u32 p, t, 96; @p bar.sync 1, 128; }", "r", {"PR130"}),
        ("{ .reg .pred p; .reg .u32 n; setp.le.u32 p, $0, 64; bar.red.popc.u32 n, 0, p; }", "r", set()),
        ("{ .reg .pred p; .reg .u32 n; setp.le.u32 p, $0, 64; bar.red.popc.u32 n, 1, 96, p; }", "r", {"PR136"}),
        ("// only a remark: bar.sync 1, 64", "r", set()),
        ("griddepcontrol.wait;", "r,~{memory}", set()),
    ],
)
def test_instructions_by_their_operands(ptx, constraints, expected):
    got, told = found_in_body(
        "    %sixty_four = arith.constant 64 : i32\n"
        f'    llvm.inline_asm has_side_effects asm_dialect = att "{ptx}", "{constraints}" %sixty_four : (i32) -> ()\n'
    )
    assert got == expected, told


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        ('nvvm.inline_ptx "bar.sync 1, {$r0};" ro(%c32 : i32), predicate = %first', set()),
        ('nvvm.inline_ptx "bar.sync 1, {$r0};" ro(%c128 : i32), predicate = %first', {"PR130"}),
        (
            '%count = nvvm.inline_ptx "shl.b32 {$w0}, {$r0}, 2;" ro(%c32 : i32) -> i32\n'
            "    nvvm.barrier id = %c1 number_of_threads = %count",
            set(),
        ),
        (
            '"nvvm.inline_ptx"(%c1, %c128, %first)'
            ' <{operandSegmentSizes = array<i32: 2, 0, 1>, ptxCode = "bar.sync {$r0}, {$r1};"}> : (i32, i32, i1) -> ()',
            {"PR130"},
        ),
        (
            'nvvm.inline_ptx "add.s32 {$rw0}, {$rw0}, {$r0};" ro(%c32 : i32) rw(%c32 : i32)\n'
            "    nvvm.barrier id = %c1 number_of_threads = %c32",
            {"PR136"},
        ),
        (
            '%two = llvm.inline_asm "mov.b32 $0, $2; add.u32 $1, $2, $2;", "=r,=r,r" %c32 : (i32) -> !llvm.struct<(i32, i32)>\n'
            "    %count = llvm.extractvalue %two[1] : !llvm.struct<(i32, i32)>\n"
            "    nvvm.barrier id = %c1 number_of_threads = %count",
            {"PR136"},
        ),
        (
            '%count = llvm.inline_asm "add.u32 $0, $0, 96;", "=r,0" %c32 : (i32) -> i32\n'
            "    nvvm.barrier id = %c1 number_of_threads = %count",
            set(),
        ),
    ],
)
def test_operands_and_results_by_name(operation, expected):
    got, told = found_in_body(f"    {operation}\n")
    assert got == expected, told


@pytest.mark.parametrize(
    ("opcode", "operation"),
    [
        ("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64", "nvvm.mbarrier.arrive.expect_tx"),
        (
            "cp.async.bulk.tensor.3d.shared::cta.global.tile.mbarrier::complete_tx::bytes",
            "nvvm.cp.async.bulk.tensor.shared.cluster.global",
        ),
        ("cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes", "nvvm.cp.async.bulk.shared.cluster.global"),
        ("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32", "nvvm.cp.async.bulk.global.shared.cta"),
        ("tcgen05.mma.ws.cta_group::1.kind::f16", "nvvm.tcgen05.mma"),
        ("fence.proxy.async.shared::cta", "nvvm.fence.proxy"),
        ("fence.mbarrier_init.release.cluster", "nvvm.fence.mbarrier.init"),
        ("mbarrier.complete_tx.shared::cta.b64", "mbarrier.complete_tx"),
        ("mbarrier.arrive_drop.shared::cta.b64", "llvm.inline_asm"),
        ("cp.async.bulk.prefetch.tensor.2d.L2.global", None),
        ("fence.proxy.tensormap::generic.acquire.gpu", "nvvm.fence.proxy.acquire"),
        ("fence.proxy.alias", None),
        ("griddepcontrol.wait", "nvvm.griddepcontrol wait"),
        ("griddepcontrol.launch_dependents", None),
        ("fma.rn.f32", None),
    ],
)
def test_an_opcode_is_found_by_its_modifiers(opcode, operation):
    same = counterpart(BOOK, opcode)
    assert (None if same is None else same.operations[0]) == operation


def test_statements_are_read_as_ptx():
    found = statements(BOOK, "{ .reg .pred p; L: @!p mbarrier.arrive.shared::cta.b64 _, [a+8], 1; /* . */ bra L; }")
    assert [(one.opcode, one.guard, one.negated, one.labels) for one in found] == [
        ("mbarrier.arrive.shared::cta.b64", "p", True, ("L",)),
        ("bra", "", False, ()),
    ]
    assert found[1].jumps_to == "L"


FLAG = """
    %word_at = llvm.getelementptr %full[16] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
    %word_int = llvm.ptrtoint %word_at : !llvm.ptr<3> to i32
    scf.if %first {
      %one2 = nvvm.elect.sync -> i1
      scf.if %one2 {
        llvm.inline_asm has_side_effects asm_dialect = att "st.shared.b32 [$0], $1;", "r,r" %word_int, %c128 : (i32, i32) -> ()
      }
    }
    nvvm.barrier
    MORE
    %threads = llvm.inline_asm has_side_effects asm_dialect = att "ld.shared.b32 $0, [$1];", "=r,r" %word_int : (i32) -> i32
    nvvm.barrier id = %c1 number_of_threads = %threads
"""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (FLAG.replace("MORE", ""), set()),
        (FLAG.replace("MORE", "").replace("%c128 :", "%c160 :"), {"PR131"}),
        (FLAG.replace("MORE", "").replace("[$1];", "[$1+4];"), {"PR190"}),
        (
            FLAG.replace(
                "MORE",
                'llvm.inline_asm has_side_effects asm_dialect = att "st.shared.v2.b32 [$0], {$1, $1};", "r,r" %word_int, %c32 : (i32, i32) -> ()',
            ),
            {"PR136"},
        ),
        (
            FLAG.replace("MORE", "").replace(
                '"ld.shared.b32 $0, [$1];"', '"{ .reg .b32 a, b; ld.shared.v2.b32 {a, b}, [$1]; mov.b32 $0, b; }"'
            ),
            {"PR190"},
        ),
    ],
)
def test_integers_go_through_shared_memory(body, expected):
    got, told = found_in_body(body)
    assert got == expected, told


# As FlashAttention 4 writes it: registers that one text declares outside of braces, and others use.
KEPT = (
    'llvm.inline_asm has_side_effects asm_dialect = att ".reg .b32 kept_idesc; mov.b32 kept_idesc, 0x8200490;'
    ' .reg .b64 kept_a; mov.b64 kept_a, {$0, 0x40004040};", "r" %low : (i32) -> ()\n'
)
USED = (
    ISSUE.replace("mov.b32 idesc, 0x8200490;", "mov.b32 idesc, kept_idesc;")
    .replace("mov.b32 desc_a_lo, $1;", "mov.b64 {desc_a_lo, desc_a_hi}, kept_a;")
    .replace("mov.b32 desc_a_hi, 0x40004040;", "")
)


def keeping(kept: str, issue: str = USED) -> str:
    return mma(issue).replace("    scf.if %first {\nllvm.inline", f"{kept}    scf.if %first {{\nllvm.inline")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (keeping(KEPT), set()),
        (keeping(KEPT, USED.replace("+ 0x20", "+ 0xa0")), {"PR156"}),  # the shape says how many columns it writes
        (keeping(KEPT, USED.replace("mov.b64 desc_b,", "mov.b64 kept_a,")), {"PR190"}),
        (keeping(""), {"PR190"}),
        (keeping(KEPT.replace(".reg .b64 kept_a; mov", "{ .reg .b64 kept_a; mov").replace('};"', '}; }"')), {"PR190"}),
    ],
)
def test_registers_outside_of_braces_are_those_of_the_kernel(body, expected):
    got, told = found_in_body(body)
    assert got == expected, told


# Tensor memory by a number, where all of it is allocated: nobody loads the address that the allocation left.
LOADED = """    %acc = llvm.load %full_word : !llvm.ptr<3> -> !llvm.ptr<6>
    %acc_word = llvm.ptrtoint %acc : !llvm.ptr<6> to i32
"""
NUMBERED = """    %zero = cute.assume(%c0) : (i32) -> !cute.i32<divby 16>
    %start = cute.inttoptr(%zero) : !cute.i32<divby 16> to !cute.ptr<f32, tmem, align<16>>
    %acc_word = cute.ptrtoint(%start) : !cute.ptr<f32, tmem, align<16>> to i32
    %acc = builtin.unrealized_conversion_cast %start : !cute.ptr<f32, tmem, align<16>> to !llvm.ptr<6>
"""


@pytest.mark.parametrize(
    ("columns", "wait", "expected"),
    [("512", WAIT, set()), ("512", "", {"PR113"}), ("256", WAIT, {"PR190"}), ("256", "", {"PR113", "PR190"})],
)
def test_a_number_is_a_place_in_tensor_memory_where_all_of_it_is_allocated(columns, wait, expected):
    body = mma(wait=wait).replace("constant 256", f"constant {columns}")
    assert LOADED in body
    got, told = found_in_body(body.replace(LOADED, NUMBERED))
    assert got == expected, told
