"""Answers of clusterlaunchcontrol decide how often roles go around: each takes every answer, or two in a turn."""

# ruff: noqa: E501  lines of IR

from __future__ import annotations

from functools import partial

import tileproof

QUERY = "nvvm.clusterlaunchcontrol.query.cancel query = is_canceled"


def read(name: str, query: str = QUERY) -> str:
    """A warp waits for an answer, reads it and releases its memory; ``%NAME``: whether there is more work."""
    return f"""
        nvvm.mbarrier.try_wait.parity %full, %{name}_parity, %long : !llvm.ptr<3>, i32, i32
        %{name}_words = cute.memref.alloca() : !cute.memref<i128, rmem, align<32>, "1:0">
        %{name}_atom = cute.make_atom() : () -> !cute_nvgpu.atom.universal_copy<i128, 128 b>
        cute.copy(%{name}_atom, %view, %{name}_words) : (!cute_nvgpu.atom.universal_copy<i128, 128 b>, !cute.memref<i128, smem, align<16>, "1:0">, !cute.memref<i128, rmem, align<32>, "1:0">)
        %{name}_vector = cute.memref.load_vec(%{name}_words) : (!cute.memref<i128, rmem, align<32>, "1:0">) -> vector<1xi128>
        %{name}_answer = vector.extract %{name}_vector[0] : i128 from vector<1xi128>
        %{name} = {query}, %{name}_answer : i1
        nvvm.fence.proxy {{kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}}
        nvvm.bar.warp.sync %all : i32
        %{name}_one = nvvm.elect.sync -> i1
        scf.if %{name}_one {{
          %{name}_token = nvvm.mbarrier.arrive %empty : !llvm.ptr<3> -> i64
        }}
"""


def turns(first: str, more: str, body: str) -> str:
    """A loop that goes on while there is more work; ``%parity`` is that of the next answer."""
    return f"""
      %{first}:2 = scf.while (%goes = %true, %before = %c0) : (i1, i32) -> (i1, i32) {{
        scf.condition(%goes) %goes, %before : i1, i32
      }} do {{
      ^bb0(%{first}_goes: i1, %parity: i32):
        {body}
        scf.yield {more} : i1, i32
      }}
"""


ASK = """
        %free = arith.xori %parity, %c1 : i32
        nvvm.mbarrier.try_wait.parity %empty, %free, %long : !llvm.ptr<3>, i32, i32
        %asks = nvvm.elect.sync -> i1
        scf.if %asks {
          %expects = nvvm.mbarrier.arrive.expect_tx %full, %c16 : !llvm.ptr<3>, i32 -> i64
          nvvm.clusterlaunchcontrol.try.cancel %word, %full : !llvm.ptr<3>, !llvm.ptr<3>
        }
        %asked_parity = arith.addi %parity, %c0 : i32
"""
FLIP = "        %next = arith.xori %parity, %c1 : i32\n"
AGAIN = "        %again_parity = arith.addi %parity, %c0 : i32\n"


def kernel(query: str = QUERY) -> str:
    """A warp that asks, and one that takes two answers in each turn if the first one gives it work."""
    taken = partial(read, query=query)
    asking = turns("asking", "%asked, %next", f"{ASK}{taken('asked')}{FLIP}")
    second = f"""
        %odd_parity = arith.xori %parity, %c1 : i32
        %left:2 = scf.if %even -> (i1, i32) {{
          {taken("odd")}
          scf.yield %odd, %parity : i1, i32
        }} else {{
          scf.yield %false, %odd_parity : i1, i32
        }}
"""
    taking = turns("taking", "%left#0, %left#1", f"{AGAIN.replace('again', 'even')}{taken('even')}{second}")
    return f"""
gpu.module @kernels {{
  llvm.mlir.global internal @bars() {{addr_space = 3 : i32}} : !llvm.array<8 x i64>
  llvm.mlir.global internal @words() {{addr_space = 3 : i32, alignment = 16 : i64}} : !llvm.array<16 x i8>
  cuda.kernel @k() attributes {{gpu.kernel, nvvm.reqntid = array<i32: 64, 1, 1>, nvvm.cluster_dim = array<i32: 1, 1, 1>}} {{
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %c16 = arith.constant 16 : i32
    %c32 = arith.constant 32 : i32
    %all = arith.constant -1 : i32
    %long = arith.constant 10000000 : i32
    %true = arith.constant true
    %false = arith.constant false
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %warp_of = arith.divsi %tid, %c32 : i32
    %warp = cute_nvgpu.arch.make_warp_uniform(%warp_of) : i32
    %first = arith.cmpi eq, %warp, %c0 : i32
    %full = llvm.mlir.addressof @bars : !llvm.ptr<3>
    %empty = llvm.getelementptr %full[1] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i64
    %word = llvm.mlir.addressof @words : !llvm.ptr<3>
    %iter = builtin.unrealized_conversion_cast %word : !llvm.ptr<3> to !cute.ptr<i128, smem, align<16>>
    %layout = cute.make_layout() : !cute.layout<"1:0">
    %view = cute.make_view(%iter, %layout) : !cute.memref<i128, smem, align<16>, "1:0">
    scf.if %first {{
      %one = nvvm.elect.sync -> i1
      scf.if %one {{
        nvvm.mbarrier.init %full, %c1 : !llvm.ptr<3>, i32
        nvvm.mbarrier.init %empty, %c2 : !llvm.ptr<3>, i32
      }}
    }}
    nvvm.fence.mbarrier.init
    nvvm.barrier
    scf.if %first {{{asking}
    }} else {{{taking}
    }}
    return
  }}
}}
"""


def judged(text: str) -> tuple[set[str], str]:
    """The codes of the errors, and whether the kernel is followed."""
    report = tileproof.check(text)
    (status,) = {one.status for one in report.files[0].kernels}
    return {one.code for one in report.diagnostics if one.severity.value == "error"}, status


def test_a_role_that_takes_two_answers_in_a_turn_is_in_step():
    assert judged(kernel()) == (set(), "followed")


def test_an_answer_that_a_role_does_not_take_is_one_too_many():
    """The role waits for one phase where two are complete."""
    text = kernel().replace("scf.if %even -> (i1, i32) {", "scf.if %false -> (i1, i32) {")
    assert judged(text)[0] == {"PR125"}


def test_what_else_an_answer_says_is_not_known():
    """Where the work is says nothing of whether there is more."""
    assert judged(kernel(QUERY.replace("is_canceled", "get_first_cta_id_x")))[1] != "followed"
