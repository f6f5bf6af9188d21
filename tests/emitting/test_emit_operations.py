"""The operations of the NVVM dialect that a kernel writes by itself, in PTX."""

from __future__ import annotations

import re
from pathlib import Path

import ptxas
import pytest
from test_sweep import run as assembled

import tileproof
from tileproof.base.source import Source
from tileproof.checking.instruction import context
from tileproof.emitting.atom import BadAtom
from tileproof.emitting.file import module_of
from tileproof.mlir.scanner import scan

BOOK = tileproof.load_rules()
KERNEL = """
func.func @kernel(%s: !llvm.ptr<3>, %r: !llvm.ptr<7>, %g: !llvm.ptr<1>, %m: !llvm.ptr, %t: !llvm.ptr<6>, %i: i32,
                  %h: i16, %l: i64, %p: i1, %v: vector<32xi32>, %x: !llvm.struct<(f32, f32, f32, f32)>) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c32 = arith.constant 32 : i32
  %c256 = arith.constant 256 : i32
  %idesc = arith.constant 136317200 : i32
  %desc = arith.constant 4611756662049538048 : i64
  OPERATION
  return
}
"""
# The operation in either form, and what stands in the PTX.
OPERATIONS = [
    ("nvvm.mbarrier.init %s, %c32 : !llvm.ptr<3>, i32", "mov.b32 r1, 32;\nmbarrier.init.shared::cta.b64 [r0], r1;"),
    ('"nvvm.mbarrier.init"(%s, %i) <{layout = #nvvm.mbarrier_layout<v0>}> : (!llvm.ptr<3>, i32) -> ()', "[r0], r1;"),
    ("nvvm.mbarrier.inval %s : !llvm.ptr<3>", "mbarrier.inval.shared::cta.b64 [r0];"),
    ("nvvm.mbarrier.expect_tx %s, %i : !llvm.ptr<3>, i32", "mbarrier.expect_tx.shared::cta.b64 [r0], r1;"),
    ("%a = nvvm.mbarrier.arrive %s : !llvm.ptr<3> -> i64", "mbarrier.arrive.shared::cta.b64 l0, [r0];"),
    ("%a = nvvm.mbarrier.arrive %s, %c1 : !llvm.ptr<3> -> i64", "mbarrier.arrive.shared::cta.b64 l0, [r0], r1;"),
    ("nvvm.mbarrier.arrive %r, %c1 : !llvm.ptr<7>", "arrive.release.cluster.shared::cluster.b64 _, [r0], r1;"),
    ("nvvm.mbarrier.arrive %r : !llvm.ptr<7>", "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [r0];"),
    (
        "%a = nvvm.mbarrier.arrive.expect_tx %s, %i : !llvm.ptr<3>, i32 -> i64",
        "mbarrier.arrive.expect_tx.shared::cta.b64 l0, [r0], r1;",
    ),
    (
        "nvvm.mbarrier.arrive.expect_tx %r, %i : !llvm.ptr<7>, i32",
        "mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [r0], r1;",
    ),
    (
        "nvvm.mbarrier.try_wait.parity %s, %c1, %i : !llvm.ptr<3>, i32, i32",
        "mov.b32 r1, 1;\nagain:\nmbarrier.try_wait.parity.shared::cta.b64 p0, [r0], r1, r2;\n@!p0 bra again;",
    ),
    (
        "%a = nvvm.mbarrier.wait.parity %s, %i {kind = #nvvm.mbar_wait<try>} : !llvm.ptr<3>, i32 -> i1",
        "mbarrier.try_wait.parity.shared::cta.b64 p0, [r0], r1;",
    ),
    (
        "%a = nvvm.mbarrier.wait.parity %s, %i {kind = #nvvm.mbar_wait<test>} : !llvm.ptr<3>, i32 -> i1",
        "mbarrier.test_wait.parity.shared::cta.b64 p0, [r0], r1;",
    ),
    (
        "%a = nvvm.mbarrier.try_wait.parity.timelimit %s, %c0, %i : !llvm.ptr<3>, i32, i32 -> i1",
        "mbarrier.try_wait.parity.shared::cta.b64 p0, [r0], r1, r2;",
    ),
    ("nvvm.fence.mbarrier.init", "fence.mbarrier_init.release.cluster;"),
    (
        "nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}",
        "fence.proxy.async.shared::cta;",
    ),
    ("nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.global>}", "fence.proxy.async.global;"),
    ("nvvm.fence.proxy {kind = #nvvm.proxy_kind<async>}", "fence.proxy.async;"),
    ("nvvm.fence.proxy {kind = #nvvm.proxy_kind<alias>}", "fence.proxy.alias;"),
    ("nvvm.fence.sc.cluster", "fence.sc.cluster;"),
    ("nvvm.barrier", "barrier.sync 0;"),
    ("nvvm.barrier0", "barrier.sync 0;"),
    ("nvvm.barrier id = %c1", "mov.b32 r0, 1;\nbarrier.sync r0;"),
    (
        '"nvvm.barrier"(%c1, %c256) <{operandSegmentSizes = array<i32: 1, 1, 0>}> : (i32, i32) -> ()',
        "mov.b32 r0, 1;\nmov.b32 r1, 256;\nbarrier.sync r0, r1;",
    ),
    ("nvvm.barrier.arrive id = %c1 number_of_threads = %c256", "barrier.arrive r0, r1;"),
    ("nvvm.bar.warp.sync %i : i32", "bar.warp.sync r0;"),
    ("nvvm.cluster.arrive", "barrier.cluster.arrive;"),
    ("nvvm.cluster.arrive.relaxed", "barrier.cluster.arrive.relaxed;"),
    ("nvvm.cluster.wait", "barrier.cluster.wait;"),
    ("nvvm.wgmma.fence.aligned", "wgmma.fence.sync.aligned;"),
    ("nvvm.wgmma.wait.group.sync.aligned 1", "wgmma.wait_group.sync.aligned 1;"),
    ('"nvvm.wgmma.wait.group.sync.aligned"() <{group = 2 : i64}> : () -> ()', "wgmma.wait_group.sync.aligned 2;"),
    ("nvvm.cp.async.commit.group", "cp.async.commit_group;"),
    ("nvvm.cp.async.wait.group 3", "cp.async.wait_group 3;"),
    ('"nvvm.cp.async.wait.group"() <{n = 2 : i32}> : () -> ()', "cp.async.wait_group 2;"),
    ("nvvm.cp.async.mbarrier.arrive.shared %s : !llvm.ptr<3>", "cp.async.mbarrier.arrive.shared::cta.b64 [r0];"),
    ("nvvm.cp.async.bulk.commit.group", "cp.async.bulk.commit_group;"),
    ("nvvm.cp.async.bulk.wait_group 1 {read}", "cp.async.bulk.wait_group.read 1;"),
    ('"nvvm.cp.async.bulk.wait_group"() <{group = 0 : i32}> : () -> ()', "cp.async.bulk.wait_group 0;"),
    (
        "nvvm.cp.async.shared.global %s, %g, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>",
        "cp.async.cg.shared.global [r0],[l0],16;",
    ),
    (
        "nvvm.cp.async.shared.global %s, %g, 8, cache = ca : !llvm.ptr<3>, !llvm.ptr<1>",
        "cp.async.ca.shared.global [r0],[l0],8;",
    ),
    (
        "nvvm.cp.async.bulk.shared.cluster.global %r, %g, %s, %i : !llvm.ptr<7>, !llvm.ptr<1>",
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [r0]",
    ),
    (
        "nvvm.cp.async.bulk.shared.cluster.global %r, %g, %s, %i multicast_mask = %h : !llvm.ptr<7>, !llvm.ptr<1>",
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [r0]",
    ),
    (
        "nvvm.cp.async.bulk.global.shared.cta %g, %s, %i : !llvm.ptr<1>, !llvm.ptr<3>",
        "cp.async.bulk.global.shared::cta.bulk_group [l0],[r0],16;",
    ),
    (
        "nvvm.cp.async.bulk.shared.cluster.shared.cta %r, %s, %s, %i : !llvm.ptr<7>, !llvm.ptr<3>",
        "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes",
    ),
    (
        "nvvm.cp.async.bulk.tensor.shared.cluster.global %s, %m, %s, box[%i, %c0, %c1] : !llvm.ptr<3>, !llvm.ptr",
        "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [r0],[l0,{r1,r2,r3}],[r4];",
    ),
    (
        "nvvm.cp.async.bulk.tensor.shared.cluster.global %r, %m, %s, box[%i, %c0] multicast_mask = %h"
        " {group = #nvvm.cta_group<cta_2>} : !llvm.ptr<7>, !llvm.ptr, i16",
        "tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster.cta_group::2 [r0]",
    ),
    (
        '"nvvm.cp.async.bulk.tensor.shared.cluster.global"(%s, %m, %i, %c0, %s, %h) <{operandSegmentSizes ='
        " array<i32: 1, 1, 2, 1, 0, 1, 0, 0>}> : (!llvm.ptr<3>, !llvm.ptr, i32, i32, !llvm.ptr<3>, i16) -> ()",
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [r0]",
    ),
    (
        "nvvm.cp.async.bulk.tensor.global.shared.cta %m, %s, box[%i, %c0] : !llvm.ptr, !llvm.ptr<3>",
        "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [l0,{r0,r1}],[r2];",
    ),
    (
        "nvvm.cp.async.bulk.tensor.reduce %m, %s, box[%i, %c0] {redKind = #nvvm.tma_redux_kind<max>}"
        " : !llvm.ptr, !llvm.ptr<3>",
        "cp.reduce.async.bulk.tensor.2d.global.shared::cta.max.bulk_group",
    ),
    (
        "nvvm.tcgen05.alloc %s, %c256 : !llvm.ptr<3>, i32",
        "r1, 256;\ntcgen05.alloc.cta_group::1.sync.aligned.shared::cta",
    ),
    (
        "nvvm.tcgen05.alloc %s, %i {group = #nvvm.cta_group<cta_2>} : !llvm.ptr<3>, i32",
        "tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [r0], r1;",
    ),
    ("nvvm.tcgen05.dealloc %t, %c256 : !llvm.ptr<6>, i32", "tcgen05.dealloc.cta_group::1.sync.aligned.b32 r0, r1;"),
    ("nvvm.tcgen05.relinquish_alloc_permit", "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;"),
    ("nvvm.tcgen05.commit %s : !llvm.ptr<3>", "commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [r0];"),
    (
        "nvvm.tcgen05.commit %s, multicast_mask = %h {group = #nvvm.cta_group<cta_2>} : !llvm.ptr<3>, i16",
        "tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [r0], h0;",
    ),
    ("nvvm.tcgen05.wait <load>", "tcgen05.wait::ld.sync.aligned;"),
    ('"nvvm.tcgen05.wait"() <{kind = #nvvm.tcgen05_wait<store>}> : () -> ()', "tcgen05.wait::st.sync.aligned;"),
    ("nvvm.tcgen05.fence <before>", "tcgen05.fence::before_thread_sync;"),
    ("nvvm.tcgen05.fence <after>", "tcgen05.fence::after_thread_sync;"),
    ("nvvm.tcgen05.shift %t : !llvm.ptr<6>", "tcgen05.shift.cta_group::1.down [r0];"),
    (
        "%a = nvvm.tcgen05.ld %t {shape = #nvvm.tcgen05_ldst_shape<shape_32x32b>} : vector<32xi32>",
        "tcgen05.ld.sync.aligned.32x32b.x32.b32 {r0,",
    ),
    (
        "%a = nvvm.tcgen05.ld %t {shape = #nvvm.tcgen05_ldst_shape<shape_16x256b>} : vector<8xi32>",
        "tcgen05.ld.sync.aligned.16x256b.x2.b32 {r0,",
    ),
    (
        "nvvm.tcgen05.st %t, %v {shape = #nvvm.tcgen05_ldst_shape<shape_16x64b>} : vector<32xi32>",
        "tcgen05.st.sync.aligned.16x64b.x32.b32 [r0],",
    ),
    (
        "nvvm.tcgen05.cp %t, %l {group = #nvvm.cta_group<cta_1>, shape = #nvvm.tcgen05_cp_shape<shape_64x128b>,"
        " multicast = #nvvm.tcgen05_cp_multicast<warpx2_01_23>}",
        "tcgen05.cp.cta_group::1.64x128b.warpx2::01_23 [r0],l0;",
    ),
    (
        "nvvm.tcgen05.mma %t, %desc, %desc, %idesc, %p {ctaGroup = #nvvm.cta_group<cta_1>,"
        " kind = #nvvm.tcgen05_mma_kind<tf32>} : (!llvm.ptr<6>, i64, i64, i32, i1)",
        "tcgen05.mma.cta_group::1.kind::tf32 [r0],l0,l1,r1,p0;",
    ),
    (
        "nvvm.tcgen05.mma %t, %t, %desc, %i, %p {ctaGroup = #nvvm.cta_group<cta_2>,"
        " kind = #nvvm.tcgen05_mma_kind<f16>} : (!llvm.ptr<6>, !llvm.ptr<6>, i64, i32, i1)",
        "tcgen05.mma.cta_group::2.kind::f16 [r0],[r1],l0,r2,p0;",
    ),
    (
        "nvvm.tcgen05.mma.block_scale %t, %desc, %desc, %i, %p, %t, %t {ctaGroup = #nvvm.cta_group<cta_1>,"
        " kind = #nvvm.tcgen05_mma_kind<mxf4nvf4>, blockScale = #nvvm.tcgen05_mma_block_scale<block16>}"
        " : (!llvm.ptr<6>, i64, i64, i32, i1, !llvm.ptr<6>, !llvm.ptr<6>)",
        "tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.block16 [r0],l0,l1,r1,[r2],[r3],p0;",
    ),
    (
        "nvvm.tcgen05.mma.ws %t, %desc, %desc, %i, %p {kind = #nvvm.tcgen05_mma_kind<f8f6f4>}"
        " : (!llvm.ptr<6>, i64, i64, i32, i1)",
        "tcgen05.mma.ws.cta_group::1.kind::f8f6f4 [r0],l0,l1,r1,p0;",
    ),
    (
        "%a = nvvm.wgmma.mma_async %desc, %desc, %x, <m = 64, n = 8, k = 16>, D [<f32>, <one>],"
        " A [<bf16>, <one>, <col>], B [<bf16>, <one>, <col>] : !llvm.struct<(f32, f32, f32, f32)>"
        " -> !llvm.struct<(f32, f32, f32, f32)>",
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {f0,f1,f2,f3},l0,l1,p0,1,1,1,0;",
    ),
]


def emitted(operation: str, target: str) -> str:
    source = Source("kernel.mlir", KERNEL.replace("OPERATION", operation))
    return module_of(BOOK, scan(source), source, context(BOOK, target))


def target_of(operation: str) -> str:
    return "sm_90a" if "wgmma" in operation else "sm_100a"


@pytest.mark.parametrize(("operation", "says"), OPERATIONS, ids=[text.partition(" : ")[0] for text, _ in OPERATIONS])
@ptxas.needs_ptxas
def test_an_operation_is_emitted_as_its_instruction_and_assembles(operation: str, says: str, tmp_path: Path):
    target = target_of(operation)
    text = emitted(operation, target)
    assert says in re.sub(r"\n +", "\n", text)
    assert not assembled(target, text, tmp_path, quick=False), text


def test_every_operation_that_the_rules_name_is_shown_here():
    known = BOOK.enums["nvvm_operation"]
    shown = {name for text, _ in OPERATIONS for name in re.findall(r"nvvm[\w.]+", text)[:1]}
    missing = {member for member, names in known.members.items() if not shown & set(names)}
    # A commit without a wait is closed by ptxas, which says so; examples/ has both. The others differ by one word.
    assert missing == {".wgmma_commit", ".tmem_alloc_cute", ".mma_sp", ".mma_ws_sp", ".mma_sp_scaled"}


def test_descriptors_and_instruction_descriptors_of_constants_are_those_of_the_kernel():
    text = emitted(OPERATIONS[-4][0].replace("cta_2", "cta_1"), "sm_100a")
    assert "or.b64 l0, wide, 0x" in text
    text = emitted(next(one for one, _ in OPERATIONS if "tcgen05.mma %t, %desc" in one), "sm_100a")
    assert "mov.b32 r1, 136317200;" in text
    assert re.findall(r"or\.b64 l\d, wide, (0x\w+);", text) == ["0x4000404000010000"] * 2
    assert "mad.wide.u32 destination, lane, 512, destination;" in text, "N = 128, as the instruction descriptor says"


def test_a_descriptor_that_only_the_kernel_knows_is_loaded_and_said_so():
    operation = next(one for one, _ in OPERATIONS if "tcgen05.mma %t, %desc" in one).replace("%desc", "%l")
    text = emitted(operation, "sm_100a")
    assert "// a: its descriptor is a run-time value; it is loaded" in text
    assert "ld.global.b64 l0" in text


def test_what_the_target_does_not_take_is_refused():
    with pytest.raises(BadAtom, match=r"kernel.mlir:\d+: nvvm.mbarrier.arrive is not emitted: .*MB153"):
        emitted("%a = nvvm.mbarrier.arrive %s, %c1 : !llvm.ptr<3> -> i64", "sm_80")


def test_the_protocol_stands_in_the_order_of_the_text():
    text = emitted(
        "nvvm.tcgen05.alloc %s, %c32 : !llvm.ptr<3>, i32\n"
        "nvvm.tcgen05.mma %t, %desc, %desc, %idesc, %p {kind = #nvvm.tcgen05_mma_kind<tf32>}"
        " : (!llvm.ptr<6>, i64, i64, i32, i1)\n"
        "nvvm.tcgen05.commit %s : !llvm.ptr<3>",
        "sm_100a",
    )
    words = ("entry protocol_1_line_2", "tcgen05.alloc", "nvvm.tcgen05.mma, see mma_0_line_12", "tcgen05.commit")
    places = [text.index(words[0])]
    places += [text.index(word, places[0]) for word in words[1:]]
    assert places == sorted(places)
