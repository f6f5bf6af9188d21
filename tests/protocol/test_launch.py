"""How a kernel is launched: every spelling, and what becomes of a kernel whose launch nothing says."""

# ruff: noqa: E501  lines of IR

from __future__ import annotations

import pytest

import tileproof
from tileproof.base.source import Source
from tileproof.mlir.scanner import scan
from tileproof.protocol.launch import Launch, launch
from tileproof.protocol.verify import kernels

BOOK = tileproof.load_rules()

# The fifth warp arrives, the others wait: the kernel needs 160 threads, and hangs with 128.
KERNEL = """
gpu.module @kernels {
  cuda.kernel @k() attributes {gpu.kernelDECLARED} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c4 = arith.constant 4 : i32
    %c32 = arith.constant 32 : i32
    %long = arith.constant 10000000 : i32
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %warp_of = arith.divsi %tid, %c32 : i32
    %warp = cute_nvgpu.arch.make_warp_uniform(%warp_of) : i32
    %first = arith.cmpi eq, %warp, %c0 : i32
    %fifth = arith.cmpi eq, %warp, %c4 : i32
    %bytes = cute.memref.alloca() {smem.struct_fields = ["full_mbar:8:0"]} : !cute.memref<i8, smem, align<8>, "8:1">
    %raw = cute.get_iter(%bytes) : !cute.memref<i8, smem, align<8>, "8:1">
    %iter = cute.recast_iter(%raw) : !cute.ptr<i8, smem, align<8>> to !cute.ptr<i64, smem>
    %full = builtin.unrealized_conversion_cast %iter : !cute.ptr<i64, smem> to !llvm.ptr<3>
    scf.if %first {
      %one = nvvm.elect.sync -> i1
      scf.if %one {
        nvvm.mbarrier.init %full, %c32 : !llvm.ptr<3>, i32
      }
    }
    nvvm.fence.mbarrier.init
    nvvm.barrierMORE
    scf.if %fifth {
      %token = nvvm.mbarrier.arrive %full, %c1 : !llvm.ptr<3> -> i64
    } else {
      nvvm.mbarrier.try_wait.parity %full, %c0, %long : !llvm.ptr<3>, i32, i32
    }
    return
  }
}
HOST
"""
ARRIVE = "%token = nvvm.mbarrier.arrive %full, %c1 : !llvm.ptr<3> -> i64"
CONFIGURATION = "!cuda.launch_cfg<max_attrs = 17>"
OPERANDS = "i32, i32, i32, i64, i32, i32, i32, !cuda.stream"


def host(threads: str = "%c160", ctas: str = "%c2", calls: int = 1) -> str:
    """Host code that launches the kernel, in the custom form."""
    text = """
func.func @host(%n: i32, %stream: !cuda.stream) {
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c80 = arith.constant 80 : i32
  %c160 = arith.constant 160 : i32
  %c192 = arith.constant 192 : i32
  %twice = arith.muli %c80, %c2 : i32
  %none = arith.constant 0 : i64
"""
    for call in range(calls):
        block = ("%c192", threads)[call == 0]
        text += f"""
  %cfg{call} = cuda.launch_cfg.create<max_attrs = 17 : i32> (blockDim = ({block}, %c1, %c1), dynamicSmemBytes = %none, gridDim = (%n, %c1, %c1), stream = %stream) : {OPERANDS} -> {CONFIGURATION}
"""
        if ctas:
            text += f"  cuda.launch_cfg.cluster_dim[%cfg{call}] ({ctas}, %c1, %c1) : {CONFIGURATION}, i32, i32, i32\n"
        text += f"  %r{call} = cuda.launch_ex @kernels::@k<%cfg{call}> () : {CONFIGURATION}, () -> !cuda.result\n"
    return text + "  return\n}\n"


GENERIC = f"""
func.func @host(%stream: !cuda.stream) {{
  %0 = "arith.constant"() <{{value = 1 : i32}}> : () -> i32
  %1 = "arith.constant"() <{{value = 2 : i32}}> : () -> i32
  %2 = "arith.constant"() <{{value = 160 : i32}}> : () -> i32
  %3 = "arith.constant"() <{{value = 0 : i64}}> : () -> i64
  %4 = "cuda.launch_cfg.create"(%2, %0, %0, %3, %0, %0, %0, %stream) <{{maxNumAttrs = 17 : i32}}> : ({OPERANDS}) -> {CONFIGURATION}
  "cuda.launch_cfg.cluster_dim"(%4, %1, %0, %0) : ({CONFIGURATION}, i32, i32, i32) -> ()
  %5 = "cuda.launch_ex"(%4) <{{assume_kernel_attr = #cuda.assume_kernel_attr<true>, callee = @kernels::@k}}> : ({CONFIGURATION}) -> !cuda.result
  return
}}
"""
GPU = """
func.func @host() {
  %c1 = arith.constant 1 : index
  %two = arith.constant 2 : i32
  %c2 = arith.index_cast %two : i32 to index
  %c160 = arith.constant 160 : index
  gpu.launch_func @kernels::@k clusters in (%c2, %c1, %c1) blocks in (%c1, %c1, %c1) threads in (%c160, %c1, %c1)
  return
}
"""
GPU_GENERIC = """
func.func @host() {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c160 = arith.constant 160 : index
  "gpu.launch_func"(%c1, %c1, %c1, %c160, %c1, %c1, %c2, %c1, %c1) <{kernel = @kernels::@k, operandSegmentSizes = array<i32: 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0>}> : (index, index, index, index, index, index, index, index, index) -> ()
  return
}
"""
FACTS = (
    "cutlass_launch_facts = {cluster_launch = true, cooperative_launch = false, exact_block_dim = array<i64: 160, 1, 1>,"
    " exact_cluster_dim = array<i64: 2, 1, 1>, schema_version = 1 : i64}"
)
NO_CLUSTER = "cutlass_launch_facts = {cluster_launch = false, exact_block_dim = array<i64: 160, 1, 1>}"
BARRIER = "\n    nvvm.cluster.arrive\n    nvvm.cluster.wait"  # what depends on the size of the cluster


def launched(declared: str = "", host: str = "", more: str = BARRIER) -> Launch:
    module = scan(Source("k.mlir", text(declared, host, more))).module
    (kernel,) = kernels(module.operations)
    return launch(BOOK, kernel, list(kernel.walk()), module.operations, module.aliases)


def text(declared: str = "", host: str = "", more: str = BARRIER) -> str:
    declared = declared and f", {declared}"
    return KERNEL.replace("DECLARED", declared).replace("HOST", host).replace("MORE", more)


SPELLINGS = {
    "nvvm attributes": ("nvvm.reqntid = array<i32: 160, 1, 1>, nvvm.cluster_dim = array<i32: 2, 1, 1>", ""),
    "a block of one number": ("nvvm.reqntid = array<i32: 160>, nvvm.cluster_dim = array<i32: 2, 1, 1>", ""),
    "gpu attributes": (
        "gpu.known_block_size = array<i32: 160, 1, 1>, gpu.known_cluster_size = array<i32: 2, 1, 1>",
        "",
    ),
    "launch facts": (FACTS, ""),
    "a launch": ("", host()),
    "a launch with arithmetic": ("", host("%twice")),
    "a launch in generic form": ("", GENERIC),
    "the kernel and a launch": ("nvvm.reqntid = array<i32: 160, 1, 1>", host("%n")),
    "gpu.launch_func": ("", GPU),
    "gpu.launch_func in generic form": ("", GPU_GENERIC),
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_block_and_cluster_are_read(spelling: str):
    found = launched(*SPELLINGS[spelling])
    assert [(shape.block, shape.cluster) for shape in found.shapes] == [((160, 1, 1), (2, 1, 1))]
    assert found.known


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_kernel_with_its_launch_is_verified(spelling: str):
    assert tileproof.check(text(*SPELLINGS[spelling])).verified


@pytest.mark.parametrize(
    ("declared", "called"),
    [(NO_CLUSTER, ""), ("", host(ctas="")), ("", GPU.replace("clusters in (%c2, %c1, %c1)", ""))],
)
def test_a_launch_without_a_cluster_has_clusters_of_one_cta(declared: str, called: str):
    found = launched(declared, called)
    assert [shape.cluster for shape in found.shapes] == [(1, 1, 1)]
    assert found.known


def test_different_launches_must_all_be_right():
    found = launched("", host(calls=2))
    assert [shape.block[0] for shape in found.shapes] == [160, 192]
    assert found.known
    assert tileproof.check(text("", host(calls=2), "")).verified
    short = tileproof.check(text("", host("%c80", calls=2), ""))
    assert [d.code for d in short.diagnostics if d.severity.value == "error"] == ["PR126"]


@pytest.mark.parametrize("called", ["", host("%n", "%n"), host().replace("@kernels::@k<", "@kernels::@other<")])
def test_what_nothing_says_is_assumed_and_the_assumption_is_stated(called: str):
    found = launched("", called)
    assert not found.block_known
    assert not found.cluster_known
    report = tileproof.check(text("", called))
    (note,) = report.diagnostics
    assert (note.code, note.severity.value) == ("PR190", "note")
    assert "160 threads in a CTA are assumed" in note.message
    assert "a cluster size of 1 is assumed" in note.message
    (kernel,) = report.files[0].kernels
    assert [reason.case for reason in kernel.reasons] == ["assumed_block", "assumed_cluster"]
    assert (kernel.status, report.verified, report.exit_status()) == ("partly", False, 0)


def test_a_cluster_is_not_assumed_where_nothing_depends_on_it():
    found = launched("nvvm.reqntid = array<i32: 160, 1, 1>", "", "")
    assert [shape.cluster for shape in found.shapes] == [(1, 1, 1)]
    assert found.known


def test_an_upper_bound_of_threads_bounds_what_is_assumed():
    found = launched("nvvm.maxntid = array<i32: 192, 1, 1>", "", "")
    assert [shape.block[0] for shape in found.shapes] == [160, 192]
    assert not found.block_known


HIDDEN = "%c4 = arith.shrui %c32, %c3 : i32"  # arithmetic that hides which warp is meant


def test_no_error_rests_on_the_assumption():
    """Nothing names the fifth warp, which does not exist with the 128 threads that are tried first."""
    hidden = text(more="").replace("%c4 = arith.constant 4 : i32", "%c3 = arith.constant 3 : i32")
    hidden = hidden.replace("%tid =", f"{HIDDEN}\n    %tid =", 1)
    (kernel,) = kernels(scan(Source("k.mlir", hidden)).module.operations)
    found = launch(BOOK, kernel, list(kernel.walk()), (kernel,), {})
    assert [shape.block[0] for shape in found.shapes[:2]] == [128, 160]
    report = tileproof.check(hidden)
    assert [d.code for d in report.diagnostics] == ["PR190"]
    assert "160 threads in a CTA are assumed" in report.diagnostics[0].message


def test_what_is_wrong_with_every_launch_is_an_error():
    report = tileproof.check(text(more="").replace(ARRIVE, ""))
    assert [d.code for d in report.diagnostics if d.severity.value == "error"] == ["PR126"]


def test_the_user_says_what_the_text_does_not():
    """The fifth warp that nothing names is there where the user says so, and is missing where the text does."""
    hidden = text(more="").replace("%c4 = arith.constant 4 : i32", "%c3 = arith.constant 3 : i32")
    hidden = hidden.replace("%tid =", f"{HIDDEN}\n    %tid =", 1)
    assert not tileproof.check(hidden, block=160).diagnostics
    assert "PR126" in {d.code for d in tileproof.check(hidden, block=(128, 1)).diagnostics}
    said = hidden.replace("{gpu.kernel", "{gpu.kernel, nvvm.reqntid = array<i32: 128, 1, 1>", 1)
    assert "PR126" in {d.code for d in tileproof.check(said, block=160).diagnostics}


@pytest.mark.parametrize(
    "given", [{"block": 2048}, {"block": "no"}, {"block": 0}, {"cluster": (4, 8)}, {"cluster": ()}]
)
def test_no_launch_has_such_a_block_or_cluster(given: dict[str, object]):
    with pytest.raises(ValueError, match=r"too large|positive numbers"):
        tileproof.check(text(more=""), **given)
