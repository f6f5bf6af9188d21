"""Practices of kernels in the field: each is clean as it is written, and found where one thing in it is wrong."""

# ruff: noqa: E501  lines of IR
# checklist: PRO01 PRO02 PRO05 PRO06

from __future__ import annotations

import pytest

import tileproof

FRAME = """
!map = !cute_nvgpu.atom.non_exec_tiled_tma_load<sm_90, f16, copy_bits = 65536, tma_gbasis = <"(64,64):(1@1,1@0)">, tma_format = F16_RN>
!tma = !cute_nvgpu.atom.tma_load<f16, copy_bits = 65536, mode = tiled, num_cta = 1, g_stride = <"()"> tma_gbasis = <"(64,64):(1@1,1@0)">>
!coords = !cute.coord_tensor<"(0,0)", "(((64,64),1),(1)):(((1@1,1@0),0),(0))">
!tile = !cute.memref<f16, smem, align<1024>, S<3,4,3>, "((4096,1),(1)):((1,0),(0))">
!bulk = !cute_nvgpu.atom.bulk_copy_g2s<f32>
!async = !cute_nvgpu.atom.simt_async_copy<f32, cache = always, 128 b>
!plain = !cute_nvgpu.atom.universal_copy<f32, 128 b>
!rows = !cute.tiled_copy<!cute_nvgpu.atom.universal_copy<f32, 128 b>, layout_copy_tv = <"((4,32),4):((128,1),32)">, tiler_mn = <"[32:1;16:1]">>
!columns = !cute.tiled_copy<!cute_nvgpu.atom.universal_copy<f32, 32 b>, layout_copy_tv = <"((8,16),4):((4,32),1)">, tiler_mn = <"[32:1;16:1]">>
gpu.module @kernels {
  cuda.kernel @k(%map: !map, %from: !coords, %global: !cute.memref<f32, gmem, align<16>, "1024:1">,
                 %part: !cute.memref<f32, gmem, align<16>, "((4,2),1):((1,512),0)">, %out: !llvm.ptr<1>, %tiles: i32)
      attributes {gpu.kernel, nvvm.reqntid = array<i32: THREADS, 1, 1>, nvvm.cluster_dim = array<i32: CTAS, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %c4 = arith.constant 4 : i32
    %c9 = arith.constant 9 : i32
    %c32 = arith.constant 32 : i32
    %c128 = arith.constant 128 : i32
    %c160 = arith.constant 160 : i32
    %c4096 = arith.constant 4096 : i32
    %true = arith.constant true
    %long = arith.constant 10000000 : i32
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %lane = nvvm.read.ptx.sreg.laneid : i32
    %warp_of = arith.divsi %tid, %c32 : i32
    %warp = cute_nvgpu.arch.make_warp_uniform(%warp_of) : i32
    %first = arith.cmpi eq, %warp, %c0 : i32
    %store = cute.memref.alloca() {smem.struct_fields = ["data:8192:0", "mbar:16:8192", "word:16:8208"]} : !cute.memref<i8, smem, align<1024>, "8224:1">
    %raw = cute.get_iter(%store) : !cute.memref<i8, smem, align<1024>, "8224:1">
    %data = cute.recast_iter(%raw) : !cute.ptr<i8, smem, align<1024>> to !cute.ptr<f32, smem, align<1024>>
    %at_bars = cute.make_int_tuple() : () -> !cute.int_tuple<"8192">
    %bars = cute.add_offset(%raw, %at_bars) : (!cute.ptr<i8, smem, align<1024>>, !cute.int_tuple<"8192">) -> !cute.ptr<i8, smem, align<1024>>
    %full_iter = cute.recast_iter(%bars) : !cute.ptr<i8, smem, align<1024>> to !cute.ptr<i64, smem, align<1024>>
    %full = builtin.unrealized_conversion_cast %full_iter : !cute.ptr<i64, smem, align<1024>> to !llvm.ptr<3>
    %at_word = cute.make_int_tuple() : () -> !cute.int_tuple<"8208">
    %word_raw = cute.add_offset(%raw, %at_word) : (!cute.ptr<i8, smem, align<1024>>, !cute.int_tuple<"8208">) -> !cute.ptr<i8, smem, align<16>>
    %word_iter = cute.recast_iter(%word_raw) : !cute.ptr<i8, smem, align<16>> to !cute.ptr<i32, smem, align<16>>
    %word_layout = cute.make_layout() : !cute.layout<"4:1">
    %word = cute.make_view(%word_iter, %word_layout) : !cute.memref<i32, smem, align<16>, "4:1">
    scf.if %first {
      %one = nvvm.elect.sync -> i1
      scf.if %one {
        nvvm.mbarrier.init %full, %c1 : !llvm.ptr<3>, i32
      }
    }
    nvvm.fence.mbarrier.init
    nvvm.cluster.arrive.relaxed
    nvvm.cluster.wait
BODY
    return
  }
}
"""

# Each thread reads back what its own cp.async brought, through another view of its part: no barrier is needed.
OWN_PART = """
    %mine = cute.make_layout() : !cute.layout<"((4,2),1):((1,512),0)">
    %dst = cute.make_view(%data, %mine) : !cute.memref<f32, smem, align<1024>, "((4,2),1):((1,512),0)">
    %atom = cute.make_atom() : () -> !async
    cute.copy(%atom, %part, %dst) : (!async, !cute.memref<f32, gmem, align<16>, "((4,2),1):((1,512),0)">, !cute.memref<f32, smem, align<1024>, "((4,2),1):((1,512),0)">)
    nvvm.cp.async.commit.group
    nvvm.cp.async.wait.group 0
    %again = cute.make_layout() : !cute.layout<"(4,(2,1)):(1,(512,0))">
    %src = cute.make_view(%data, %again) : !cute.memref<f32, smem, align<1024>, "(4,(2,1)):(1,(512,0))">
    %kept = cute.memref.alloca() : !cute.memref<f32, rmem, align<16>, "(4,(2,1)):(1,(4,0))">
    %copy = cute.make_atom() : () -> !plain
    cute.copy(%copy, %src, %kept) : (!plain, !cute.memref<f32, smem, align<1024>, "(4,(2,1)):(1,(512,0))">, !cute.memref<f32, rmem, align<16>, "(4,(2,1)):(1,(4,0))">)
"""

# Rows of a tile that a thread copies one by one reach over each other and touch none of each other's elements.
ROWS = """
    %rows = cute.make_layout() : !cute.layout<"((4,2),1):((1,512),0)">
    %next_at = cute.make_int_tuple() : () -> !cute.int_tuple<"128">
    %next = cute.add_offset(%data, %next_at) : (!cute.ptr<f32, smem, align<1024>>, !cute.int_tuple<"128">) -> !cute.ptr<f32, smem, align<512>>
    %dst = cute.make_view(%data, %rows) : !cute.memref<f32, smem, align<1024>, "((4,2),1):((1,512),0)">
    %other = cute.make_view(%next, %rows) : !cute.memref<f32, smem, align<512>, "((4,2),1):((1,512),0)">
    %atom = cute.make_atom() : () -> !async
    cute.copy(%atom, %part, %dst) : (!async, !cute.memref<f32, gmem, align<16>, "((4,2),1):((1,512),0)">, !cute.memref<f32, smem, align<1024>, "((4,2),1):((1,512),0)">)
    cute.copy(%atom, %part, %other) : (!async, !cute.memref<f32, gmem, align<16>, "((4,2),1):((1,512),0)">, !cute.memref<f32, smem, align<512>, "((4,2),1):((1,512),0)">)
    nvvm.cp.async.commit.group
    nvvm.cp.async.wait.group 0
"""

# The elected thread issues a bulk copy whose bytes are those of its view.
BULK = """
    %whole = cute.make_layout() : !cute.layout<"1024:1">
    %dst = cute.make_view(%data, %whole) : !cute.memref<f32, smem, align<1024>, "1024:1">
    scf.if %first {
      %one2 = nvvm.elect.sync -> i1
      scf.if %one2 {
        %t = nvvm.mbarrier.arrive.expect_tx %full, %c4096 : !llvm.ptr<3>, i32 -> i64
        %made = cute.make_atom() : () -> !bulk
        %atom = cute_nvgpu.atom.set_value<tma_bar>(%made, %full_iter) : (!bulk, !cute.ptr<i64, smem, align<1024>>)
        cute.copy(%atom, %global, %dst) : (!bulk, !cute.memref<f32, gmem, align<16>, "1024:1">, !cute.memref<f32, smem, align<1024>, "1024:1">)
      }
    }
    nvvm.mbarrier.try_wait.parity %full, %c0, %long : !llvm.ptr<3>, i32, i32
    %at = cute.make_coord(%tid) : (i32) -> !cute.coord<"?">
    %value = cute.memref.load(%dst, %at) : (!cute.memref<f32, smem, align<1024>, "1024:1">, !cute.coord<"?">) -> f32
"""

# A bulk reduction in inline assembly reads shared memory until its group is waited for.
REDUCTION = """
    %whole = cute.make_layout() : !cute.layout<"1024:1">
    %view = cute.make_view(%data, %whole) : !cute.memref<f32, smem, align<1024>, "1024:1">
    %at = cute.make_coord(%tid) : (i32) -> !cute.coord<"?">
    %zero = arith.constant 0.0 : f32
    cute.memref.store(%view, %at, %zero) : (!cute.memref<f32, smem, align<1024>, "1024:1">, !cute.coord<"?">, f32) -> ()
    nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
    nvvm.barrier
    scf.if %first {
      %one2 = nvvm.elect.sync -> i1
      scf.if %one2 {
        %p = builtin.unrealized_conversion_cast %data : !cute.ptr<f32, smem, align<1024>> to !llvm.ptr<3>
        nvvm.inline_ptx "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [{$r0}], [{$r1}], {$r2};" ro(%out, %p, %c4096 : !llvm.ptr<1>, !llvm.ptr<3>, i32)
        nvvm.cp.async.bulk.commit.group
        nvvm.cp.async.bulk.wait_group 0 {read}
      }
    }
    nvvm.barrier
    cute.memref.store(%view, %at, %zero) : (!cute.memref<f32, smem, align<1024>, "1024:1">, !cute.coord<"?">, f32) -> ()
"""

# A warp waits at the end for the bulk reduction that one of its threads issued: the other warps have none in flight.
DRAIN = (
    REDUCTION[: REDUCTION.index("        nvvm.cp.async.bulk.wait_group")]
    + """
      }
    }
    nvvm.barrier
    %mine = arith.cmpi eq, %warp, %c0 : i32
    scf.if %mine {
      nvvm.cp.async.bulk.wait_group 0 {read}
    }
"""
)

# Lanes of a warp store into the shared memory of each CTA; the bytes complete on its barrier. The warp goes on as one.
REMOTE = """
    %two = arith.cmpi slt, %lane, %c2 : i32
    %bytes = arith.constant 8 : i32
    scf.if %first {
      %one2 = nvvm.elect.sync -> i1
      scf.if %one2 {
        %t = nvvm.mbarrier.arrive.expect_tx %full, %bytes : !llvm.ptr<3>, i32 -> i64
      }
      scf.if %two {
        %rank = nvvm.read.ptx.sreg.cluster.ctarank : i32
        %slot = cute.make_int_tuple(%rank) : (i32) -> !cute.int_tuple<"?">
        %here = cute.add_offset(%word_iter, %slot) : (!cute.ptr<i32, smem, align<16>>, !cute.int_tuple<"?">) -> !cute.ptr<i32, smem>
        %p = builtin.unrealized_conversion_cast %here : !cute.ptr<i32, smem> to !llvm.ptr<3>
        %there = nvvm.mapa %p, %lane : !llvm.ptr<3> -> !llvm.ptr<7>
        %a = llvm.ptrtoint %there : !llvm.ptr<7> to i32
        %bar = nvvm.mapa %full, %lane : !llvm.ptr<3> -> !llvm.ptr<7>
        %b = llvm.ptrtoint %bar : !llvm.ptr<7> to i32
        nvvm.inline_ptx "st.async.shared::cluster.mbarrier::complete_tx::bytes.s32 [{$r0}], {$r1}, [{$r2}];" ro(%a, %c4, %b : i32, i32, i32)
      }
      %one3 = nvvm.elect.sync -> i1
    }
    nvvm.mbarrier.try_wait.parity %full, %c0, %long : !llvm.ptr<3>, i32, i32
    nvvm.cluster.arrive
    nvvm.cluster.wait
"""

# A warp tells the others through shared memory whether there is another tile: they go round as often as it says.
LETTER = """
    %stop = arith.constant 5 : i32
    %at0 = cute.make_coord() : () -> !cute.coord<"0">
    %last:2 = scf.while (%go = %true, %n = %c0) : (i1, i32) -> (i1, i32) {
      scf.condition(%go) %go, %n : i1, i32
    } do {
    ^bb0(%go: i1, %n: i32):
      %more = arith.addi %n, %c1 : i32
      nvvm.barrier
      scf.if %first {
        %again = arith.cmpi slt, %more, %stop : i32
        %flag = arith.extui %again : i1 to i32
        %one2 = nvvm.elect.sync -> i1
        scf.if %one2 {
          cute.memref.store(%word, %at0, %flag) : (!cute.memref<i32, smem, align<16>, "4:1">, !cute.coord<"0">, i32) -> ()
        }
      }
      nvvm.barrier
      %read = cute.memref.load(%word, %at0) : (!cute.memref<i32, smem, align<16>, "4:1">, !cute.coord<"0">) -> i32
      %goes = arith.cmpi ne, %read, %c0 : i32
      scf.yield %goes, %more : i1, i32
    }
    %five = arith.cmpi eq, %last#1, %stop : i32
    scf.if %five {
      %one4 = nvvm.elect.sync -> i1
      scf.if %one4 {
        scf.if %first {
          %t = nvvm.mbarrier.arrive %full, %c1 : !llvm.ptr<3> -> i64
        }
      }
    }
    nvvm.mbarrier.try_wait.parity %full, %c0, %long : !llvm.ptr<3>, i32, i32
"""

# Two warpgroups meet one warp each at a barrier of its own, whose number is computed.
NUMBERED = """
    %group = arith.divsi %tid, %c128 : i32
    %computes = arith.cmpi slt, %group, %c2 : i32
    scf.if %computes {
      %number = arith.addi %group, %c9 : i32
      nvvm.barrier id = %number number_of_threads = %c160
    } else {
      nvvm.barrier id = %c9 number_of_threads = %c160
      %c10 = arith.constant 10 : i32
      nvvm.barrier id = %c10 number_of_threads = %c160
    }
"""

# A copy by the block is multicast to the CTAs that have one place in its layout: each fetches a part for both.
BLOCK = """
    %c8192 = arith.constant 8192 : i32
    %swizzled = cute.recast_iter(%raw) : !cute.ptr<i8, smem, align<1024>> to !cute.ptr<f16, smem, align<1024>, S<3,4,3>>
    %tile_layout = cute.make_layout() : !cute.layout<"((4096,1),(1)):((1,0),(0))">
    %dst = cute.make_view(%swizzled, %tile_layout) : !tile
    scf.if %first {
      %one2 = nvvm.elect.sync -> i1
      scf.if %one2 {
        %t = nvvm.mbarrier.arrive.expect_tx %full, %c8192 : !llvm.ptr<3>, i32 -> i64
      }
      %exec = cute_nvgpu.atom.make_exec_tma(%map) : (!map) -> !tma
      %atom = cute_nvgpu.atom.set_value<tma_bar>(%exec, %full_iter) : (!tma, !cute.ptr<i64, smem, align<1024>>)
      cute.copy(%atom, %from, %dst) {from_block_api, multicast_layout = #cute.layout<"(1,2):(1,0)">} : (!tma, !coords, !tile)
    }
    nvvm.mbarrier.try_wait.parity %full, %c0, %long : !llvm.ptr<3>, i32, i32
    nvvm.cluster.arrive
    nvvm.cluster.wait
"""

# Each thread reads what a thread of another warp wrote, and then writes its own element again.
EXCHANGE = """
    %whole = cute.make_layout() : !cute.layout<"1024:1">
    %view = cute.make_view(%data, %whole) : !cute.memref<f32, smem, align<1024>, "1024:1">
    %zero = arith.constant 0.0 : f32
    %mine = cute.make_coord(%tid) : (i32) -> !cute.coord<"?">
    %other = arith.xori %tid, %c32 : i32
    %theirs = cute.make_coord(%other) : (i32) -> !cute.coord<"?">
    cute.memref.store(%view, %mine, %zero) : (!cute.memref<f32, smem, align<1024>, "1024:1">, !cute.coord<"?">, f32) -> ()
    nvvm.barrier // behind the writes
    %read = cute.memref.load(%view, %theirs) : (!cute.memref<f32, smem, align<1024>, "1024:1">, !cute.coord<"?">) -> f32
    nvvm.barrier // behind the reads
    cute.memref.store(%view, %mine, %read) : (!cute.memref<f32, smem, align<1024>, "1024:1">, !cute.coord<"?">, f32) -> ()
"""

# One thread writes, arrives, and the others read when they have waited.
HANDED = """
    %whole = cute.make_layout() : !cute.layout<"1024:1">
    %view = cute.make_view(%data, %whole) : !cute.memref<f32, smem, align<1024>, "1024:1">
    %zero = arith.constant 0.0 : f32
    %at = cute.make_coord() : () -> !cute.coord<"0">
    scf.if %first {
      %one2 = nvvm.elect.sync -> i1
      scf.if %one2 {
        cute.memref.store(%view, %at, %zero) : (!cute.memref<f32, smem, align<1024>, "1024:1">, !cute.coord<"0">, f32) -> ()
        %t = nvvm.mbarrier.arrive %full, %c1 : !llvm.ptr<3> -> i64
      }
    }
    nvvm.mbarrier.try_wait.parity %full, %c0, %long : !llvm.ptr<3>, i32, i32
    %read = cute.memref.load(%view, %at) : (!cute.memref<f32, smem, align<1024>, "1024:1">, !cute.coord<"0">) -> f32
"""

# All threads arrive, and wait for the phase whose state their arrival returned.
STATE = """
    %more = llvm.getelementptr %full[1] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i64
    %false = arith.constant false
    scf.if %first {
      %one2 = nvvm.elect.sync -> i1
      scf.if %one2 {
        nvvm.mbarrier.init %more, %c128 : !llvm.ptr<3>, i32
      }
    }
    nvvm.barrier
    %start = builtin.unrealized_conversion_cast %data : !cute.ptr<f32, smem, align<1024>> to !llvm.ptr<3>
    %mine = llvm.getelementptr %start[%tid] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
    %other = arith.xori %tid, %c32 : i32
    %theirs = llvm.getelementptr %start[%other] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
    llvm.store %tid, %mine : i32, !llvm.ptr<3>
    %state = nvvm.mbarrier.arrive %more : !llvm.ptr<3> -> i64
    scf.while : () -> () {
      %done = nvvm.mbarrier.try_wait.timelimit %more, %state, %long : !llvm.ptr<3>, i64, i32 -> i1
      %again = arith.cmpi eq, %done, %false : i1
      scf.condition(%again)
    } do {
      scf.yield
    }
    %read = llvm.load %theirs : !llvm.ptr<3> -> i32
"""

# A CTA reads what its peer wrote.
PEER = """
    %slot = llvm.getelementptr %full[3] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i64
    %rank = nvvm.read.ptx.sreg.cluster.ctarank : i32
    %peer = arith.xori %rank, %c1 : i32
    scf.if %first {
      %one2 = nvvm.elect.sync -> i1
      scf.if %one2 {
        llvm.store %tid, %slot : i32, !llvm.ptr<3>
      }
    }
    nvvm.cluster.arrive
    nvvm.cluster.wait // behind the writes
    %there = nvvm.mapa %slot, %peer : !llvm.ptr<3> -> !llvm.ptr<7>
    %seen = llvm.load %there : !llvm.ptr<7> -> i32
    nvvm.cluster.arrive
    nvvm.cluster.wait
"""

# Threads add to one word of shared memory, and all read the sum.
SUM = """
    %slot = llvm.getelementptr %full[3] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i64
    nvvm.red %slot, %tid {memOrder = #nvvm.mem_order<relaxed>, memScope = #nvvm.mem_scope<cta>, op = #nvvm.red_op<add>, type = #nvvm.red_type<s32>} : !llvm.ptr<3>, i32
    nvvm.barrier // behind the sum
    %seen = llvm.load %slot : !llvm.ptr<3> -> i32
"""

# Each warp stores four matrices, row by row, and loads those of another warp.
MATRICES = """
    %start = builtin.unrealized_conversion_cast %data : !cute.ptr<f32, smem, align<1024>> to !llvm.ptr<3>
    %mine = llvm.getelementptr %start[%tid] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i128
    %other = arith.xori %tid, %c32 : i32
    %theirs = llvm.getelementptr %start[%other] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i128
    nvvm.stmatrix %mine, %tid, %tid, %tid, %tid {layout = #nvvm.mma_layout<row>} : !llvm.ptr<3>, i32, i32, i32, i32
    nvvm.barrier // behind the stores
    %read = nvvm.ldmatrix %theirs {layout = #nvvm.mma_layout<row>, num = 4 : i32} : (!llvm.ptr<3>) -> !llvm.struct<(i32, i32, i32, i32)>
"""

# Threads share a tile out by rows of 4 elements, write it, and read it by columns.
TILES = """
    %whole = cute.make_layout() : !cute.layout<"(32,16):(16,1)">
    %view = cute.make_view(%data, %whole) : !cute.memref<f32, smem, align<1024>, "(32,16):(16,1)">
    %rows_atom = cute.make_atom() : () -> !rows
    %columns_atom = cute.make_atom() : () -> !columns
    %thread = cute.make_coord(%tid) : (i32) -> !cute.coord<"?">
    %row = cute.tiled.copy.partition_D(%rows_atom, %view, %thread) : (!rows, !cute.memref<f32, smem, align<1024>, "(32,16):(16,1)">, !cute.coord<"?">) -> !cute.memref<f32, smem, align<16>, "((4,1),1,1):((1,0),0,0)">
    %column = cute.tiled.copy.partition_S(%columns_atom, %view, %thread) : (!columns, !cute.memref<f32, smem, align<1024>, "(32,16):(16,1)">, !cute.coord<"?">) -> !cute.memref<f32, smem, "((1,4),1,1):((0,16),0,0)">
    %held = cute.memref.alloca() : !cute.memref<f32, rmem, align<16>, "((4,1),1,1):((1,0),0,0)">
    %plain_atom = cute.make_atom() : () -> !plain
    cute.copy(%plain_atom, %held, %row) : (!plain, !cute.memref<f32, rmem, align<16>, "((4,1),1,1):((1,0),0,0)">, !cute.memref<f32, smem, align<16>, "((4,1),1,1):((1,0),0,0)">)
    nvvm.barrier
    %one_atom = cute.make_atom() : () -> !cute_nvgpu.atom.universal_copy<f32, 32 b>
    %columns_held = cute.memref.alloca() : !cute.memref<f32, rmem, align<16>, "((1,4),1,1):((0,1),0,0)">
    cute.copy(%one_atom, %column, %columns_held) : (!cute_nvgpu.atom.universal_copy<f32, 32 b>, !cute.memref<f32, smem, "((1,4),1,1):((0,16),0,0)">, !cute.memref<f32, rmem, align<16>, "((1,4),1,1):((0,1),0,0)">)
"""

# Only a loop of three turns crosses a barrier: where there is none in one of two turns, nothing orders the tiles.
LENGTH = EXCHANGE.replace(
    "    nvvm.barrier // behind the writes\n",
    """
    scf.for %k = %c0 to %tiles step %c1 : i32 {
      %late = arith.cmpi sge, %k, %c0 : i32
      scf.if %late {
        nvvm.barrier
      }
    }
""",
)

# A barrier on which nobody waits gets all arrivals that it counts.
PART_OF_A_PHASE = """
    %one_on = cute.make_int_tuple() : () -> !cute.int_tuple<"1">
    %more_iter = cute.add_offset(%full_iter, %one_on) : (!cute.ptr<i64, smem, align<1024>>, !cute.int_tuple<"1">) -> !cute.ptr<i64, smem>
    %more = builtin.unrealized_conversion_cast %more_iter : !cute.ptr<i64, smem> to !llvm.ptr<3>
    scf.if %first {
      %one2 = nvvm.elect.sync -> i1
      scf.if %one2 {
        nvvm.mbarrier.init %more, %c128 : !llvm.ptr<3>, i32
      }
    }
    nvvm.fence.mbarrier.init
    nvvm.barrier
    %t = nvvm.mbarrier.arrive %more, %c1 : !llvm.ptr<3> -> i64
"""

CLUSTER = """
    nvvm.cluster.arrive
    nvvm.cluster.wait
"""

# A look at a barrier may come too early: then a loop waits.
FALLBACK = """
    scf.if %first {
      %one2 = nvvm.elect.sync -> i1
      scf.if %one2 {
        %t = nvvm.mbarrier.arrive %full, %c1 : !llvm.ptr<3> -> i64
      }
    }
    %done = nvvm.mbarrier.try_wait.parity.timelimit %full, %c0, %long : !llvm.ptr<3>, i32, i32 -> i1
    scf.if %done {
    } else {
      %last = scf.while (%ready = %done) : (i1) -> (i1) {
        %waits = arith.xori %ready, %true : i1
        scf.condition(%waits) %ready : i1
      } do {
      ^bb0(%ready: i1):
        %now = nvvm.mbarrier.try_wait.parity.timelimit %full, %c0, %c9 : !llvm.ptr<3>, i32, i32 -> i1
        scf.yield %now : i1
      }
    }
"""

# Warps agree on what one of them wrote in shared memory, though nothing says what it is.
FLAG = """
    %real = llvm.load %out : !llvm.ptr<1> -> f32
    %flag = arith.fptosi %real : f32 to i32
    %at0 = cute.make_coord() : () -> !cute.coord<"0">
    %both = arith.constant 64 : i32
    %false = arith.constant false
    scf.if %first {
      %one2 = nvvm.elect.sync -> i1
      scf.if %one2 {
        cute.memref.store(%word, %at0, %flag) : (!cute.memref<i32, smem, align<16>, "4:1">, !cute.coord<"0">, i32) -> ()
      }
    }
    nvvm.barrier
    %second = arith.cmpi eq, %warp, %c1 : i32
    scf.if %first {
      %mine = cute.memref.load(%word, %at0) : (!cute.memref<i32, smem, align<16>, "4:1">, !cute.coord<"0">) -> i32
      %set = arith.cmpi ne, %mine, %c0 : i32
      scf.if %set {
        nvvm.barrier.arrive id = %c2 number_of_threads = %both
      }
      nvvm.barrier.arrive id = %c1 number_of_threads = %both
    }
    scf.if %second {
      %mine = cute.memref.load(%word, %at0) : (!cute.memref<i32, smem, align<16>, "4:1">, !cute.coord<"0">) -> i32
      %set = arith.cmpi ne, %mine, %c0 : i32
      %unset = arith.cmpi eq, %set, %false : i1
      scf.if %unset {
        nvvm.barrier id = %c1 number_of_threads = %both
      }
      scf.if %set {
        nvvm.barrier id = %c2 number_of_threads = %both
        nvvm.barrier id = %c1 number_of_threads = %both
      }
      %wide = arith.extui %unset : i1 to i32
      %picked = arith.select %unset, %c0, %c4 : i32
      %late = arith.cmpi sgt, %wide, %picked : i32
      scf.if %late {
        nvvm.barrier.arrive id = %c9 number_of_threads = %both
      }
    }
    scf.if %first {
      %mine = cute.memref.load(%word, %at0) : (!cute.memref<i32, smem, align<16>, "4:1">, !cute.coord<"0">) -> i32
      %unset = arith.cmpi eq, %mine, %c0 : i32
      scf.if %unset {
        nvvm.barrier id = %c9 number_of_threads = %both
      }
    }
"""

# Only one of two warps that come to a loop together enters it.
ENTERS = """
    %mine = scf.if %first -> (i1) {
      scf.yield %true : i1
    } else {
      %none = arith.constant false
      scf.yield %none : i1
    }
    %two = arith.cmpi slt, %warp, %c2 : i32
    scf.if %two {
      %left = scf.while (%go = %mine) : (i1) -> (i1) {
        scf.condition(%go) %go : i1
      } do {
      ^bb0(%one_more: i1):
        %one2 = nvvm.elect.sync -> i1
        scf.if %one2 {
          %t = nvvm.mbarrier.arrive %full, %c1 : !llvm.ptr<3> -> i64
        }
        %no_more = arith.constant false
        scf.yield %no_more : i1
      }
    }
    nvvm.mbarrier.try_wait.parity %full, %c0, %long : !llvm.ptr<3>, i32, i32
"""

# Tensor memory, of which each warp has its own quarter of the lanes.
_TENSOR = """
    scf.if %first {
      %c64 = arith.constant 64 : i32
      cute_nvgpu.arch.sm100.alloc_tmem(%c64, %word_iter) [ cta_1] : i32, !cute.ptr<i32, smem, align<16>>
    }
    nvvm.barrier
    %tmem = cute_nvgpu.arch.sm100.retrieve_tmem_ptr(%word_iter) : !cute.ptr<i32, smem, align<16>> -> !cute.ptr<f32, tmem, align<16>>
    %whole = cute.make_layout() : !cute.layout<"((32,1),(1)):((65536,0),(0))">
    %all = cute.make_view(%tmem, %whole) : !cute.memref<f32, tmem, align<16>, "((32,1),(1)):((65536,0),(0))">
    %kept = cute.memref.alloca() : !cute.memref<f32, rmem, align<16>, "((1,1),(1)):((0,0),(0))">
    %ld = cute.make_atom() : () -> !cute_nvgpu.atom.tmem_load<f32, 32 DP, 32 bit, x1>
    %st = cute.make_atom() : () -> !cute_nvgpu.atom.tmem_store<f32, 32 DP, 32 bit, x1>
"""
_STORE = 'cute.copy(%st, %kept, %all) : (!cute_nvgpu.atom.tmem_store<f32, 32 DP, 32 bit, x1>, !cute.memref<f32, rmem, align<16>, "((1,1),(1)):((0,0),(0))">, !cute.memref<f32, tmem, align<16>, "((32,1),(1)):((65536,0),(0))">)'
_LOAD = 'cute.copy(%ld, %all, %kept) : (!cute_nvgpu.atom.tmem_load<f32, 32 DP, 32 bit, x1>, !cute.memref<f32, tmem, align<16>, "((32,1),(1)):((65536,0),(0))">, !cute.memref<f32, rmem, align<16>, "((1,1),(1)):((0,0),(0))">)'
_FREE = """
    nvvm.barrier
    scf.if %first {
      %columns = arith.constant 64 : i32
      cute_nvgpu.arch.sm100.relinquish_tmem_alloc_permit [ cta_1]
      cute_nvgpu.arch.sm100.dealloc_tmem(%tmem, %columns) [ cta_1] : !cute.ptr<f32, tmem, align<16>>, i32
    }
"""
# One warp stores what another one loads: nothing orders them, and they meet in the same quarter only.
QUARTERS = f"""{_TENSOR}
    scf.if %first {{
      {_STORE}
      nvvm.tcgen05.wait <store>
    }}
    %last = arith.constant 5 : i32
    %loads = arith.cmpi eq, %warp, %last : i32
    scf.if %loads {{
      {_LOAD}
      nvvm.tcgen05.wait <load>
    }}{_FREE}"""


def found(body: str, threads: int = 128, ctas: int = 1) -> tuple[set[str], str]:
    """The codes that are reported for a kernel with this body, notes apart."""
    text = FRAME.replace("BODY", body).replace("THREADS", str(threads)).replace("CTAS", str(ctas))
    diagnostics = tileproof.check(text).diagnostics
    return {d.code for d in diagnostics}, "\n".join(f"{d.code} {d.message}" for d in diagnostics)


CASES = {
    "own part of cp.async": (OWN_PART, 128, 1, "    nvvm.cp.async.wait.group 0\n", "", {"PR111"}),
    "interleaved rows": (ROWS, 128, 1, "(1,512)", "(1,128)", {"PR112"}),
    "bulk copy of a view": (BULK, 128, 1, "%full, %c4096", "%full, %c128", {"PR124"}),
    "last bulk reduction": (DRAIN, 128, 1, "eq, %warp, %c0", "eq, %warp, %c1", {"PR107"}),
    "bulk reduction": (REDUCTION, 128, 1, "        nvvm.cp.async.bulk.wait_group 0 {read}\n", "", {"PR112"}),
    "a fence of shared memory": (
        REDUCTION,
        128,
        1,
        "proxy_kind<async.shared>, space = #nvvm.shared_space<cta>",
        "proxy_kind<async.global>",
        {"PR110"},
    ),
    "stores to other CTAs": (REMOTE, 128, 2, "constant 8 :", "constant 12 :", {"PR124"}),
    "a letter": (LETTER, 128, 1, "%last#1, %stop", "%last#1, %c4", {"PR126"}),
    "numbered barriers": (NUMBERED, 288, 1, "constant 10 :", "constant 11 :", {"PR130"}),
    "all that come are counted": (
        EXCHANGE.replace("nvvm.barrier //", "nvvm.barrier id = %c2 number_of_threads = %c128 //"),
        128,
        1,
        "%c128 //",
        "%c32 //",
        {"PR136"},
    ),
    "an arrival releases": (HANDED, 128, 1, "%full, %c1 :", "%full, %c1 {relaxed = true} :", {"PR116"}),
    "elements of other warps": (EXCHANGE, 128, 1, "nvvm.barrier // behind the writes", "", {"PR116"}),
    "elements that others read": (EXCHANGE, 128, 1, "nvvm.barrier // behind the reads", "", {"PR116"}),
    "elements of the own warp": (
        EXCHANGE.replace("%c32 :", "%c1 :").replace("nvvm.barrier", "//"),
        128,
        1,
        "%tid, %c1 :",
        "%tid, %c32 :",
        {"PR116"},
    ),
    "rows and columns of a tile": (TILES, 128, 1, "    nvvm.barrier\n", "", {"PR116"}),
    "an order by length": (LENGTH, 128, 1, "%k, %c0", "%k, %c2", {"PR117"}),
    "part of a phase": (PART_OF_A_PHASE, 128, 1, "%more, %c128", "%more, %c160", {"PR128"}),
    "bytes of a phase": (
        PART_OF_A_PHASE,
        128,
        1,
        "%t = nvvm.mbarrier.arrive %more, %c1 : !llvm.ptr<3> -> i64",
        "%t = nvvm.mbarrier.arrive.expect_tx %more, %c1 : !llvm.ptr<3>, i32 -> i64",
        {"PR128"},
    ),
    "a barrier is initialised once": (
        PART_OF_A_PHASE,
        128,
        1,
        "nvvm.mbarrier.init %more, %c128 : !llvm.ptr<3>, i32\n",
        "nvvm.mbarrier.init %more, %c128 : !llvm.ptr<3>, i32\nnvvm.mbarrier.init %more, %c128 : !llvm.ptr<3>, i32\n",
        {"PR129"},
    ),
    "an arrival at the cluster's barrier": (CLUSTER, 128, 2, "    nvvm.cluster.arrive\n", "", {"PR135"}),
    "a barrier of the cluster": (CLUSTER, 128, 2, "    nvvm.cluster.wait\n", "", {"PR134"}),
    "a wait behind a look": (FALLBACK, 128, 1, "%full, %c0, %c9", "%full, %c1, %c9", {"PR126"}),
    "a wait by state": (STATE, 128, 1, "init %more, %c128", "init %more, %c160", {"PR125"}),
    "a barrier that reduces": (
        EXCHANGE.replace(
            "nvvm.barrier //",
            "%any = nvvm.barrier.cta.red %true, %c2, %c128 {kind = #nvvm.barrier_redux_kind<or>} : i1, i32, i32 -> i32 //",
        ),
        128,
        1,
        "%c2, %c128 {",
        "%c2, %c32 {",
        {"PR136"},
    ),
    "what a peer wrote": (PEER, 128, 2, "nvvm.cluster.wait // behind the writes", "", {"PR116"}),
    "a sum of all threads": (SUM, 128, 1, "nvvm.barrier // behind the sum", "", {"PR116"}),
    "matrices of another warp": (MATRICES, 128, 1, "nvvm.barrier // behind the stores", "", {"PR116"}),
    "copies by the block": (BLOCK, 128, 2, "constant 8192 :", "constant 16384 :", {"PR124"}),
    "one of two warps enters a loop": (ENTERS, 128, 1, "scf.if %first ->", "scf.if %true ->", {"PR122"}),
    "a flag in shared memory": (FLAG, 128, 1, "eq, %set, %false", "ne, %set, %false", {"PR130"}),
    "a flag that others read too": (FLAG, 128, 1, "eq, %mine, %c0", "ne, %mine, %c0", {"PR130"}),
    "quarters of tensor memory": (QUARTERS, 256, 1, "%last = arith.constant 5", "%last = arith.constant 4", {"PR113"}),
}


@pytest.mark.parametrize("name", CASES)
def test_a_practice_is_clean_and_its_broken_twin_is_found(name):
    body, threads, ctas, right, wrong, codes = CASES[name]
    assert body.count(right) >= 1
    clean, told = found(body, threads, ctas)
    assert clean == set(), told
    broken, told = found(body.replace(right, wrong), threads, ctas)
    # What comes after a deadlock is not executed, which PR190 says beside it.
    assert {code for code in broken if code.startswith("PR")} - {"PR190"} == codes, told


def test_a_fence_of_one_direction_is_a_proxy_fence():
    both = "nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}"
    one = "nvvm.fence.proxy.sync_restrict {order = #nvvm.mem_order<release>}"
    assert REDUCTION.count(both) == 1
    assert [found(REDUCTION.replace(both, text))[0] for text in (one, "")] == [set(), {"PR110"}]


def test_bytes_that_no_copy_delivers_are_told_from_arrivals_that_are_missing():
    body, threads, ctas, right, wrong, _ = CASES["bytes of a phase"]
    assert "still expects 128 bytes when the kernel ends" in found(body.replace(right, wrong), threads, ctas)[1]
    body, threads, ctas, right, wrong, _ = CASES["part of a phase"]
    assert "has 128 of the 160 arrivals of a phase" in found(body.replace(right, wrong), threads, ctas)[1]


def test_a_tile_that_no_cta_shares_is_whole_in_each():
    assert found(BLOCK.replace('"(1,2):(1,0)"', '"(1,2):(0,1)"'), ctas=2)[0] == set()


# A warp arrives as often as data tell, and the others wait for three of its arrivals.
DATA = """
    scf.if %first {
      %left = scf.while (%go = %true) : (i1) -> (i1) {
        scf.condition(%go) %go : i1
      } do {
      ^bb0(%go: i1):
        %one2 = nvvm.elect.sync -> i1
        scf.if %one2 {
          %t = nvvm.mbarrier.arrive %full, %c1 : !llvm.ptr<3> -> i64
        }
        %data_tell = llvm.inline_asm "unknown.pred $0, $1;", "=r,r" %tiles : (i32) -> i1
        scf.yield %data_tell : i1
      }
    } else {
      nvvm.mbarrier.try_wait.parity %full, %c0, %long : !llvm.ptr<3>, i32, i32
      nvvm.mbarrier.try_wait.parity %full, %c1, %long : !llvm.ptr<3>, i32, i32
      nvvm.mbarrier.try_wait.parity %full, %c0, %long : !llvm.ptr<3>, i32, i32
    }
"""


def test_what_waits_for_a_loop_that_data_end_is_not_said_to_hang():
    codes, told = found(DATA)
    assert codes == {"PR190", "PR188"}  # nor do the arrivals come after the waits
    assert "PR126 may be here, if it does not rest on how often loops run" in told
    counted = DATA.replace("scf.yield %data_tell", "scf.yield %no").replace(
        "%one2 =", "%no = arith.constant false\n%one2 =", 1
    )
    assert found(counted)[0] - {"PR190"} == {"PR126"}
