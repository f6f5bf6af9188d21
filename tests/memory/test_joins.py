"""Operand, memory, tensor map and launch held against each other: each join with what it finds and what it accepts."""

from __future__ import annotations

import pytest
from test_built_descriptors import SOUND, kernel, mmas

import tileproof


def codes(text: str, target: str = "sm_100a") -> set[str]:
    return {d.code for d in tileproof.check(text, target=target, ignore=("PR",)).diagnostics}


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"idesc": 0x8200010 | 0x480}, "DS164"),  # A and B as bf16, the maps f16
        ({"idesc": 0x8200010 | 0x8000}, "DS169"),  # A MN-major
        ({"idesc": 0x8400010}, "DS165"),  # N = 256 of 128 rows
        ({"idesc": 0x8100010}, "DS167"),  # N = 64 of 128 rows
        ({"inner": 32}, "DS170"),  # half the width of the swizzle
        ({"inner": 128}, "DS160"),
        ({"inner": 4, "map_swizzle": 0, "swizzle": 0}, "DS161"),
        ({"outer": 512}, "DS162"),
        ({"mmas": mmas(4, 2, "f16", of_b=0)}, "DS166"),
        ({"mmas": mmas(2, 2, "f16")}, "DS168"),
    ],
)
def test_an_operand_that_is_not_what_was_copied(changed, code):
    assert codes(kernel()) == set()
    found = tileproof.check(kernel(**changed), target="sm_100a", ignore=("PR",)).diagnostics
    assert code in {d.code for d in found}
    assert all(d.related for d in found if d.code == code)


def test_one_operand_is_read_as_one_type():
    """E4M3 and E5M2 have one type in a tensor map: two MMAs that differ show it."""
    text = kernel(inner=64, map_swizzle=2, swizzle=4, sbo=32, kind="f8f6f4", mmas=mmas(2, 2, "f8f6f4"))
    text = text.replace("%type = arith.constant 6", "%type = arith.constant 0")
    assert codes(text) == set()
    other = text.replace("%by_a1 =", "%other = arith.constant 136314896 : i32\n      %by_a1 =").replace(
        "%a1, %b1, %idesc", "%a1, %b1, %other"
    )
    assert SOUND["idesc"] == 136314896
    e5m2 = other.replace("%other = arith.constant 136314896", f"%other = arith.constant {136314896 | 1 << 7}")
    assert codes(other) == set()
    assert codes(e5m2) == {"DS171"}


def test_a_copy_begins_at_a_multiple_of_128():
    text = kernel()
    copy = "      nvvm.cp.async.bulk.tensor.shared.cluster.global %a_ptr,"
    for by, expected in ((16, {"CB132"}), (8192, set())):
        moved = f"      %moved = llvm.getelementptr %a_ptr[{by}] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8\n"
        found = codes(text.replace(copy, moved + copy.replace("%a_ptr", "%moved")))
        assert {code for code in found if code.startswith("CB")} == expected


BULK = """\
module {{
  gpu.module @kernels {{
    cuda.kernel @kernel(%source: !llvm.ptr<1>) attributes {{gpu.kernel}} {{
      %c1_i32 = arith.constant 1 : i32
      %size = arith.constant {size} : i32
      %mask = arith.constant {mask} : i16
      %a = cute.memref.alloca() : !cute.memref<i8, smem, align<128>, "{bytes}:1">
      %iter = cute.get_iter(%a) : !cute.memref<i8, smem, align<128>, "{bytes}:1">
      %bar = builtin.unrealized_conversion_cast %iter : !cute.ptr<i8, smem, align<128>> to !llvm.ptr<3>
      %to = llvm.getelementptr %bar[{at}] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
      %far = llvm.addrspacecast %to : !llvm.ptr<3> to !llvm.ptr<7>
      nvvm.cp.async.bulk.shared.cluster.global %far, %source, %bar, %size multicast_mask = %mask : !llvm.ptr<7>, !llvm.ptr<1>
      return
    }}
  }}
  func.func @host(%source: !llvm.ptr<1>, %stream: !cuda.stream) {{
    %one = arith.constant 1 : i32
    %two = arith.constant {ctas} : i32
    %threads = arith.constant 128 : i32
    %given = arith.constant {given} : i64
    %cfg = cuda.launch_cfg.create<max_attrs = 17 : i32> (blockDim = (%threads, %one, %one), dynamicSmemBytes = %given, gridDim = (%two, %one, %one), stream = %stream) : i32, i32, i32, i64, i32, i32, i32, !cuda.stream -> !cuda.launch_cfg<max_attrs = 17>
    cuda.launch_cfg.cluster_dim[%cfg] (%two, %one, %one) : !cuda.launch_cfg<max_attrs = 17>, i32, i32, i32
    %result = cuda.launch_ex @kernels::@kernel<%cfg> (%source) : !cuda.launch_cfg<max_attrs = 17>, (!llvm.ptr<1>) -> !cuda.result
    return
  }}
}}
"""  # noqa: E501
PLAIN = {"size": 1024, "mask": 3, "bytes": 4096, "at": 128, "ctas": 2, "given": 4096}


@pytest.mark.parametrize(
    ("changed", "target", "expected"),
    [
        ({}, "sm_90a", set()),
        ({"size": 1032}, "sm_90a", {"CB130"}),
        ({"at": 136}, "sm_90a", {"CB131"}),
        ({"mask": 5}, "sm_90a", {"CP124"}),  # NVIDIA/cutlass#3658
        ({"mask": 15, "ctas": 4}, "sm_90a", set()),
        ({"bytes": 232448, "given": 232448}, "sm_90a", set()),
        ({"bytes": 232449, "given": 232449}, "sm_90a", {"DS156"}),
        ({"bytes": 101377, "given": 101377}, "sm_120a", {"DS156"}),
        ({"bytes": 4096, "given": 394240}, "sm_90a", {"DS156"}),
        ({"bytes": 8192}, "sm_90a", {"DS157"}),
    ],
)
def test_a_kernel_and_its_launch(changed, target, expected):
    assert codes(BULK.format(**{**PLAIN, **changed}), target) == expected


def test_branches_share_shared_memory():
    """Only one of two branches is taken: what each of them allocates is not added up."""
    one = '%{0} = cute.memref.alloca() : !cute.memref<i8, smem, align<128>, "200000:1">'
    both = f"scf.if %taken {{\n{one.format('x')}\n}} else {{\n{one.format('y')}\n}}\n      return"
    text = BULK.format(**{**PLAIN, "given": 204096}).replace("return", f"%taken = arith.constant true\n{both}", 1)
    assert codes(text, "sm_90a") == set()
    behind = f"{one.format('x')}\n{one.format('y')}\n      return"
    text = BULK.format(**{**PLAIN, "given": 404160}).replace("return", behind, 1)
    assert codes(text, "sm_90a") == {"DS156"}


def test_tensor_memory_is_managed_for_one_number_of_ctas():
    steps = [
        '%slot = "test.slot"() : () -> !llvm.ptr<3>',
        "%columns = arith.constant 128 : i32",
        "nvvm.tcgen05.alloc %slot, %columns{0} : !llvm.ptr<3>, i32",
        "nvvm.tcgen05.relinquish_alloc_permit",
        "nvvm.tcgen05.dealloc %d, %columns : !llvm.ptr<6>, i32",
    ]
    for group, expected in (("", set()), (" {group = #nvvm.cta_group<cta_2>}", {"TM153"})):
        added = "\n".join(f"      {step.format(group) if '{0}' in step else step}" for step in steps)
        assert codes(kernel().replace("      return", f"{added}\n      return", 1)) == expected
