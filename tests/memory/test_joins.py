"""Operand, memory, tensor map and launch held against each other: each join has a file with a fault and one without.

``joins/NAME_bad.mlir`` says what is expected of it in the way of MLIR and names its target in the second line;
``joins/NAME_good.mlir`` is the repaired kernel.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from test_built_descriptors import kernel, mmas

import tileproof
from tileproof.base.diagnostic import Diagnostic
from tileproof.base.source import Source
from tileproof.checking.expectations import expectations
from tileproof.checking.expectations import verify as unmet

HERE = Path(__file__).parent / "joins"

CODES = {
    "allocation_of_other_group": "TM153",
    "base_offset_of_other_pattern": "DS173",
    "box_extent_too_large": "DS162",
    "box_wider_than_swizzle": "DS160",
    "box_of_other_size": "DS163",
    "box_width_odd": "DS161",
    "bulk_place_unaligned": "CB131",
    "bulk_size_odd": "CB130",
    "k_block_never_read": "DS168",
    "k_blocks_differ": "DS166",
    "k_coordinates_differ": "DS172",
    "major_of_other_map": "DS169",
    "mask_outside_cluster": "CP124",
    "memory_beyond_target": "DS156",
    "memory_not_given": "DS157",
    "operand_read_as_two_types": "DS171",
    "read_beyond_narrow_box": "DS170",
    "rows_behind_box": "DS165",
    "rows_behind_box_of_field": "DS165",
    "rows_never_read": "DS167",
    "strides_of_other_box": "DS142",
    "strides_of_plain_boxes": "DS142",
    "swizzle_by_integer_pointer": "DS140",
    "swizzle_of_other_map": "DS140",
    "tensor_copy_unaligned": "CB132",
    "type_of_other_map": "DS164",
    "type_of_other_memory": "DS128",
    "wgmma_assembly_k_blocks": "DS166",
    "wgmma_assembly_swizzle": "DS140",
    "wgmma_assembly_type": "DS164",
    "wgmma_k_blocks_differ": "DS166",
    "wgmma_major_of_other_map": "DS169",
    "wgmma_rows_behind_box": "DS165",
    "wgmma_strides_of_other_box": "DS142",
    "wgmma_swizzle_of_other_map": "DS140",
    "wgmma_type_of_other_map": "DS164",
}


def read(name: str) -> tuple[Source, tuple[Diagnostic, ...]]:
    """A file, and what is found in it; what kernels without barriers lack is left out."""
    source = Source(name, (HERE / f"{name}.mlir").read_text("utf-8"))
    target = source.text.split("\n")[1].removeprefix("// target: ")
    return source, tileproof.check(source.text, target=target, ignore=("PR",)).diagnostics


def test_every_file_is_one_of_a_pair():
    assert {path.name for path in HERE.iterdir()} == {
        f"{name}_{kind}.mlir" for name in CODES for kind in ("bad", "good")
    }


@pytest.mark.parametrize("name", CODES)
def test_the_fault_is_found_and_a_join_names_its_other_ends(name):
    source, found = read(f"{name}_bad")
    assert expectations(source)
    assert list(unmet(source, found)) == []
    mine = [one for one in found if one.code == CODES[name]]
    assert mine
    assert all(one.related for one in mine) or not CODES[name].startswith(("DS16", "DS17"))


@pytest.mark.parametrize("name", CODES)
def test_the_repaired_twin_is_clean(name):
    assert read(f"{name}_good")[1] == ()


def codes(text: str, target: str = "sm_100a") -> set[str]:
    return {d.code for d in tileproof.check(text, target=target, ignore=("PR",)).diagnostics}


def test_each_way_to_miss_a_step_along_k_is_found():
    assert "DS166" in codes(kernel(mmas=mmas(4, 2, "f16", of_b=0)))
    assert "DS160" in codes(kernel(inner=128))


def launched(name: str) -> str:
    return read(f"{name}_good")[0].text


@pytest.mark.parametrize(
    ("old", "new", "target", "expected"),
    [
        ("%mask = arith.constant 3", "%mask = arith.constant 15", "sm_90a", {"CP124"}),
        ("4096", "101377", "sm_120a", {"DS156"}),
        ("4096 : i64", "394240 : i64", "sm_90a", {"DS156"}),
    ],
)
def test_a_kernel_and_its_launch(old, new, target, expected):
    text = launched("mask_outside_cluster")
    assert codes(text.replace(old, new), target) == expected


def test_a_mask_of_a_larger_cluster():
    text = launched("mask_outside_cluster").replace("%mask = arith.constant 3", "%mask = arith.constant 15")
    assert codes(text.replace("%two = arith.constant 2", "%two = arith.constant 4"), "sm_90a") == set()


def test_branches_share_shared_memory():
    """Only one of two branches is taken: what each of them allocates is not added up."""
    text = launched("mask_outside_cluster")
    one = '%{0} = cute.memref.alloca() : !cute.memref<i8, smem, align<128>, "200000:1">'
    both = f"scf.if %taken {{\n{one.format('x')}\n}} else {{\n{one.format('y')}\n}}\n      return"
    given = text.replace("4096 : i64", "204096 : i64")
    assert codes(given.replace("return", f"%taken = arith.constant true\n{both}", 1), "sm_90a") == set()
    behind = f"{one.format('x')}\n{one.format('y')}\n      return"
    given = text.replace("4096 : i64", "404160 : i64")
    assert codes(given.replace("return", behind, 1), "sm_90a") == {"DS156"}


@pytest.mark.parametrize(("small", "expected"), [(1024, set()), (1025, {"DS156", "DS157"})])
def test_one_partition_of_shared_memory_lies_behind_the_other(small: int, expected: set[str]):
    """The DSL lays out partition 0 first, wherever it is allocated; the kernel has 4096 bytes in it already."""
    large = '{smem.partition_id = 1 : i32} : !cute.memref<i8, smem, align<1024>, "227328:1">'
    least = f'{{smem.partition_id = 0 : i32}} : !cute.memref<i8, smem, align<8>, "{small}:1">'
    both = f"%x = cute.memref.alloca() {large}\n%y = cute.memref.alloca() {least}\n      return"
    text = launched("mask_outside_cluster").replace("4096 : i64", "232448 : i64")
    assert codes(text.replace("return", both, 1), "sm_90a") == expected
