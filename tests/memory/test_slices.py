"""Operands that are cut out of a view, K step by K step, before a descriptor is made of each (BUGS 5 and 8)."""

from __future__ import annotations

import pytest

import tileproof
from tileproof.base.source import Source
from tileproof.memory.listing import descriptors

# One tile of 64x64 of which 64x16 are multiplied; CuTe DSL 4.8.1 writes these operations for local_tile in a loop.
KERNEL = """\
!mma = !cute.tiled_mma<!cute_nvgpu.sm90.mma<64x64x16, ab_major = (k, k), elem_type = (f16, f16, f32), frag_kind = ss>, atom_layout_MNK = <"(1,1,1):(0,0,0)">, permutation_MNK = <"[_;_;_]">>
!bytes = !cute.memref<i8, smem, align<{base}>, "8192:1">
!view = !cute.memref<f16, smem, align<{base}>, S<3,4,3>, "(64,64):(64,1)">
!tile = !cute.memref<f16, smem, align<{part}>, S<3,4,3>, "(64,16):(64,1)">
!operand = !cute.memref<f16, smem, align<{part}>, S<3,4,3>, "((64,16),1,1):((64,1),0,0)">
!desc = !cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "(1,1,1):(0,0,0)">
func.func @kernel(%mma: !mma, %layout: !cute.layout<"(64,64):(64,1)">) {{
  %smem = cute.memref.alloca() {{smem.partition_id = 1 : i32, smem.struct_fields = ["sA:8192:0"]}} : !bytes
  %iter = cute.get_iter(%smem) : !bytes
  %typed = cute.recast_iter(%iter) : !cute.ptr<i8, smem, align<{base}>> to !cute.ptr<f16, smem, align<{base}>, S<3,4,3>>
  %view = cute.make_view(%typed, %layout) : !view
  %tile = cute.make_tile() : () -> !cute.tile<"[64:1;16:1]">
  %at = cute.make_coord() : () -> !cute.coord<"(0,{k})">
  %part = cute.local_tile(%view, %tile, %at) : (!view, !cute.tile<"[64:1;16:1]">, !cute.coord<"(0,{k})">) -> !tile
  %zero = cute.make_coord() : () -> !cute.coord<"0">
  %operand = cute.tiled.mma.partition A (%mma, %part, %zero) : (!mma, !tile, !cute.coord<"0">) -> !operand
  %desc = cute.mma.make_fragment A (%mma, %operand) : (!mma, !operand) -> !desc
  return
}}
"""  # noqa: E501


def found(**given: int) -> list[tuple[str, str]]:
    report = tileproof.check(KERNEL.format(**given), target="sm_90a", ignore=("PR",))
    return [(d.code, d.message) for d in report.diagnostics]


@pytest.mark.parametrize(("k", "part"), [(0, 1024), (1, 32), (2, 64), (3, 32)])
def test_a_step_along_k_within_the_pattern_is_proved(k, part):
    """The part has the alignment of its own start; its swizzle begins where that of the view does."""
    text = KERNEL.format(base=1024, k=k, part=part)
    assert found(base=1024, k=k, part=part) == []
    (one,) = descriptors(tileproof.load_rules(), Source("", text), "ptx") or ()
    assert one.value == 0x4000004000010000  # as in the PTX of CuTe DSL, which adds the address in the kernel


@pytest.mark.parametrize(("k", "part"), [(0, 128), (1, 32), (2, 64)])
def test_a_step_along_k_of_an_unaligned_view_is_refuted(k, part):
    ((code, message),) = found(base=128, k=k, part=part)
    assert code == "DS124"
    assert "A is aligned to 128 bytes: its 128-byte swizzle repeats every 1024" in message


def test_a_part_that_begins_between_addresses_is_refuted():
    assert "DS123" in [code for code, _ in found(base=1024, k=1, part=8)]
