"""Exact places: barriers of lanes, elements of registers, and integers that threads keep in memory."""

# ruff: noqa: E501  lines of IR
# checklist: PRO01 PRO06 PRO08

from __future__ import annotations

import pytest

import tileproof
from protocol.test_practices import found
from protocol.test_protocol_bugs import parts
from tileproof.base.source import Source
from tileproof.mlir.scanner import scan
from tileproof.protocol.verify import verify

BOOK = tileproof.load_rules()

# The lanes of a warp initialise the two barriers at `mbar`, each its own, and arrive there; others wait for both.
LANES = """
    %more = arith.addi %c1, %c1 : i32
    %free = llvm.getelementptr %full[8192] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
    %mine = llvm.getelementptr %free[%lane] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
    %few = arith.cmpi slt, %lane, %c4 : i32
    scf.if %first {
      scf.if %few {
        nvvm.mbarrier.init %mine, %c1 : !llvm.ptr<3>, i32
      }
    }
    nvvm.fence.mbarrier.init
    nvvm.barrier
    scf.if %first {
      scf.if %arriving {
        %t = nvvm.mbarrier.arrive %mine, %c1 : !llvm.ptr<3> -> i64
      }
    }
    %third = llvm.getelementptr %free[24] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
    nvvm.mbarrier.try_wait.parity %third, %c0, %long : !llvm.ptr<3>, i32, i32
    scf.if %few {
      nvvm.mbarrier.try_wait.parity %mine, %c0, %long : !llvm.ptr<3>, i32, i32
    }
"""
ALL, THREE = "%arriving = arith.cmpi slt, %lane, %c4 : i32\n", "%arriving = arith.cmpi sgt, %lane, %c2 : i32\n"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (ALL + LANES, set()),
        ("%arriving = arith.cmpi eq, %lane, %c4 : i32\n" + LANES, {"PR120", "PR126"}),
        ("%arriving = arith.cmpi slt, %lane, %c2 : i32\n" + LANES, {"PR126"}),
        (THREE.replace("sgt, %lane, %c2", "eq, %lane, %c0") + LANES.replace("[24]", "[0]"), {"PR126"}),
        (ALL + LANES.replace("init %mine, %c1", "init %mine, %c2"), {"PR125"}),
        (ALL + LANES.replace("%free[%lane] :", "%free[%c0] :"), {"PR122", "PR120"}),
    ],
)
def test_barriers_at_addresses_that_lanes_compute(body, expected):
    got, told = found(body)
    assert got - {"PR190"} == expected, told  # which says that what comes after a deadlock is not executed


# Where threads keep the parity of a barrier, which has completed once: PLACE is what they load, after the stores.
KEPT = """
    scf.if %first {
      %one2 = nvvm.elect.sync -> i1
      scf.if %one2 {
        %t = nvvm.mbarrier.arrive %full, %c1 : !llvm.ptr<3> -> i64
      }
    }
    %array = cute.memref.alloca() : !cute.memref<i32, rmem, align<16>, "4:1">
    %at0 = cute.make_coord() : () -> !cute.coord<"0">
    %at1 = cute.make_coord() : () -> !cute.coord<"1">
    cute.memref.store(%array, %at0, %c0) : (!cute.memref<i32, rmem, align<16>, "4:1">, !cute.coord<"0">, i32) -> ()
    cute.memref.store(%array, %at1, %c1) : (!cute.memref<i32, rmem, align<16>, "4:1">, !cute.coord<"1">, i32) -> ()
STORES
    %parity = cute.memref.load(%array, PLACE) : (!cute.memref<i32, rmem, align<16>, "4:1">, !cute.coord<COORD>) -> i32
    nvvm.mbarrier.try_wait.parity %full, %parity, %long : !llvm.ptr<3>, i32, i32
"""
VECTOR = """
    %lost = cute.memref.load_vec %from_there : !cute.memref<i32, rmem, align<16>, "4:1"> -> vector<4xi32>
    cute.memref.store_vec(%lost, %array) : (vector<4xi32>, !cute.memref<i32, rmem, align<16>, "4:1">) -> ()
"""
OTHER = """
    %other = cute.memref.alloca() : !cute.memref<i32, rmem, align<16>, "4:1">
    %plain_atom = cute.make_atom() : () -> !cute_nvgpu.atom.universal_copy<i32, 128 b>
    cute.copy(%plain_atom, %array, %other) : (!cute_nvgpu.atom.universal_copy<i32, 128 b>, !cute.memref<i32, rmem, align<16>, "4:1">, !cute.memref<i32, rmem, align<16>, "4:1">)
    %bits = arith.addi %c0, %c1 : i32
    cute.memref.store(%array, %at0, %bits) : (!cute.memref<i32, rmem, align<16>, "4:1">, !cute.coord<"0">, i32) -> ()
    cute.copy(%plain_atom, %other, %array) : (!cute_nvgpu.atom.universal_copy<i32, 128 b>, !cute.memref<i32, rmem, align<16>, "4:1">, !cute.memref<i32, rmem, align<16>, "4:1">)
"""


def kept(stores: str = "", element: int = 0) -> str:
    return KEPT.replace("STORES", stores).replace("PLACE", f"%at{element}").replace("COORD", f'"{element}"')


TOGGLED = (
    'cute.memref.store(%array, %at0, %c1) : (!cute.memref<i32, rmem, align<16>, "4:1">, !cute.coord<"0">, i32) -> ()'
)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (kept(), set()),
        (kept(element=1), {"PR126"}),
        (kept(TOGGLED), {"PR126"}),
        (kept(OTHER), set()),
        (kept(OTHER.replace("%other, %array)", "%array, %other)")), {"PR126"}),
        (kept(element=2), {"PR190"}),
        (kept(VECTOR), {"PR190"}),
        (
            kept(
                'cute.memref.store(%array, %at1, %c0) : (!cute.memref<i32, rmem, align<16>, "4:1">, !cute.coord<"1">, i32) -> ()',
                1,
            ),
            set(),
        ),
    ],
)
def test_integers_in_registers_keep_their_value(body, expected):
    got, told = found(body)
    assert got == expected, told


BOTH = '!cute.memref<f32, rmem, align<32>, "((2,2,8),1,2):((1,2,4),0,32)">'


@pytest.mark.parametrize(("half", "expected"), [(0, {"PR103"}), (1, set())])
@pytest.mark.parametrize("access", ["load", "store"])
def test_a_scalar_access_to_registers_touches_its_element(half, expected, access):
    """One half of an accumulator is in flight; an element of one of the halves is accessed."""
    text = parts("BUGS 19")[0].text
    store = "      cute.memref.store_vec(%converted, %afrag) : (vector<32xf16>, !afrag) -> ()\n"
    issue = "      nvvm.wgmma.commit.group.sync.aligned\n"
    assert text.count(store) == text.count(issue) == 1
    given = ", %value" if access == "store" else ""
    kinds = ", f32" if access == "store" else ""
    name = "%loaded = cute.memref.load" if access == "load" else "cute.memref.store"
    result = "f32" if access == "load" else "()"
    touch = f'      {name}(%both, %element{given}) : ({BOTH}, !cute.coord<"((0,?,1),0,{half})">{kinds}) -> {result}\n'
    text = (
        text.replace(store, "")
        .replace(issue, issue + touch)
        .replace(
            "    %acc = cute.memref.alloca() : !acc\n",
            f"    %both = cute.memref.alloca() : {BOTH}\n"
            '    %zeroth = cute.make_coord() : () -> !cute.coord<"(_,_,0)">\n'
            f'    %acc = cute.slice(%both, %zeroth) : {BOTH}, !cute.coord<"(_,_,0)">\n'
            "    %value = arith.constant 0.0 : f32\n"
            f'    %element = cute.make_coord(%c1) : (i32) -> !cute.coord<"((0,?,1),0,{half})">\n',
        )
        .replace("((2,2,8),1,1):((1,2,4),0,0)", "((2,2,8),1):((1,2,4),0)")
    )
    module = scan(Source("both", text)).module
    codes = {fault.code for outcome in verify(BOOK, module.operations, module.aliases) for fault in outcome.faults}
    assert codes == expected


# An mma of 64 rows writes half of the lanes of each quarter. SECOND is where the next one writes while the first result
# is loaded, and when what was loaded counts.
HALVES = {
    "128x64x16": "64x64x16",
    '"((128,64),1,1):((65536,1),0,0)"': '"(((16,4),64),1,1):(((65536,2097152),1),0,0)"',
    "((128,16),1,4)": "((64,16),1,4)",
    "<f32, 32 DP, 32 bit, x64>": "<f32, 16 DP, 256 bit, x16>",
    "(((64,32),1),(1)):(((1,65536),0),(0))": "(((64,16),1),(1)):(((1,65536),0),(0))",
}
NEXT = """    cute.copy(%ld, %part, %regs) : (!ld, !part, !regs)
    %apart = cute.make_int_tuple() : () -> !cute.int_tuple<"SECOND">
    %other = cute.add_offset(%tmem, %apart) : (!cute.ptr<f32, tmem, align<16>>, !cute.int_tuple<"SECOND">) -> !cute.ptr<f32, tmem, align<16>>
    %next = cute.make_view(%other, %acc_layout) : !acc
    nvvm.barrier
    scf.if %first {
      cute.gemm(%mma, %next, %desc_a, %desc_b, %next) : (!mma, !acc, !desc, !desc, !acc)
      %again = nvvm.elect.sync -> i1
      scf.if %again {
        nvvm.tcgen05.commit %done : !llvm.ptr<3>
      }
    }
    nvvm.tcgen05.wait <load>
    nvvm.mbarrier.try_wait.parity %done, %c1, %c10000000 : !llvm.ptr<3>, i32, i32
"""


@pytest.mark.parametrize(
    ("lanes", "expected"), [(16, set()), (0, {"PR114"}), (32, {"PR114"}), (48, set()), (8, {"PR114"})]
)
def test_accumulators_of_64_rows_share_columns_in_other_lanes(lanes, expected):
    text = parts("tcgen05.wait")[1].text
    copy = "    cute.copy(%ld, %part, %regs) : (!ld, !part, !regs)\n"
    assert text.count(copy) == 1
    text = text.replace(copy, NEXT.replace("SECOND", str(lanes << 16)))
    for full, half in HALVES.items():
        assert full in text
        text = text.replace(full, half)
    report = tileproof.check(text=text)
    assert {one.code for one in report.diagnostics} == expected, [one.message for one in report.diagnostics]


# A warp loads a flag from tensor memory, acts by it and commits: who waits for that may store the next flag.
COMMITTED = """    %st = cute.make_atom() : () -> !st
    %aside = cute.make_int_tuple() : () -> !cute.int_tuple<"64">
    %other = cute.add_offset(%tmem, %aside) : (!cute.ptr<f32, tmem, align<16>>, !cute.int_tuple<"64">) -> !cute.ptr<f32, tmem, align<16>>
    %flags = cute.make_view(%other, %part_layout) : !part
    scf.if %first {
      cute.copy(%ld, %flags, %regs) : (!ld, !part, !regs)
      WAIT
      cute.gemm(%mma, %acc, %desc_a, %desc_b, %acc) : (!mma, !acc, !desc, !desc, !acc)
      %again = nvvm.elect.sync -> i1
      scf.if %again {
        nvvm.tcgen05.commit %done : !llvm.ptr<3>
      }
    }
    nvvm.mbarrier.try_wait.parity %done, %c1, %c10000000 : !llvm.ptr<3>, i32, i32
    %fifth = arith.constant 4 : i32
    %later = arith.cmpi eq, %warp, %fifth : i32
    scf.if %later {
      cute.copy(%st, %regs, %flags) : (!st, !regs, !part)
      nvvm.tcgen05.wait <store>
    }
"""


@pytest.mark.parametrize(("wait", "expected"), [("nvvm.tcgen05.wait <load>", set()), ("", {"PR114"})])
def test_a_commit_passes_on_the_loads_that_its_thread_has_waited_for(wait, expected):
    text = parts("tcgen05.wait")[1].text
    copy = "    cute.copy(%ld, %part, %regs) : (!ld, !part, !regs)\n"
    text = text.replace(copy, COMMITTED.replace("WAIT", wait)).replace("array<i32: 128, 1, 1>", "array<i32: 256, 1, 1>")
    text = text.replace("%c64 = arith.constant 64", "%c64 = arith.constant 128")
    text = text.replace("!ld = ", "!st = !cute_nvgpu.atom.tmem_store<f32, 32 DP, 32 bit, x64>\n!ld = ", 1)
    report = tileproof.check(text=text)
    unwritten = "PR170"  # the first flag that is loaded nobody has stored
    codes = {one.code for one in report.diagnostics} - {unwritten}
    assert codes == expected, [one.message for one in report.diagnostics]


ARGUMENTS = """\
gpu.module @kernels {
  cuda.kernel @k(%first: !llvm.ptr<3>, %other: !llvm.ptr<3>) attributes {gpu.kernel, nvvm.reqntid = array<i32: 32, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %long = arith.constant 10000000 : i32
    nvvm.mbarrier.init %first, %c1 : !llvm.ptr<3>, i32
    nvvm.barrier
    nvvm.mbarrier.try_wait.parity %other, %c0, %long : !llvm.ptr<3>, i32, i32
    nvvm.mbarrier.try_wait.parity %first, %c0, %long : !llvm.ptr<3>, i32, i32
    return
  }
}
"""


def test_a_barrier_that_the_kernel_is_given_is_called_by_its_argument():
    messages = {one.code: one.message for one in tileproof.check(text=ARGUMENTS).diagnostics}
    assert messages.keys() == {"PR120", "PR126"}
    assert "barrier %other " in messages["PR120"]
    assert "barrier %first " in messages["PR126"]
