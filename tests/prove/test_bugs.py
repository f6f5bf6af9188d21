"""Public bugs by their number in BUGS.md: each is refuted with its cause, and its repaired twin is proved."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from tileproof.cli import main

HOPPER = "cute_nvgpu.sm90.mma<64x{}x16, ab_major = ({}), elem_type = (f16, f16, f32), frag_kind = ss>"
KK = HOPPER.format(128, "k, k")
SWIZZLED = "S<3,3,3> o 0 o (128,64):(64,1)"
TILE = "S<3,3,3> o 0 o (8,64):(64,1)"
ROW = '!cute.memref<f16, smem, align<{}>, S<3,4,3>, "(8,64):(64,1)">'
PLAIN = "((8,8),(8,2)):((8,64),(1,512))"
TILED = 'cute.tiled_mma<!{}, atom_layout_MNK = <"(2,1,1):(1,0,0)">, permutation_MNK = <"[_;_;_]">>'.format(
    HOPPER.format(64, "k, k")
)
SPARSE = "mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32"
FP4 = "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0"


def descriptor(layout: str, *more: str, atom: str = KK, operand: str = "A") -> list[str]:
    return ["descriptor", "--atom", atom, "--operand", operand, "--element", "f16", "--layout", layout, *more]


def held(atom: str, operand: str, layout: str) -> list[str]:
    return ["fragment", "--atom", atom, "--operand", operand, "--layout", layout]


CASES = [
    # Number, the question that is refuted, its cause, the question that is proved.
    (
        "1: SBO of the whole N",
        descriptor(SWIZZLED, "--value", "0x4000040000010000"),
        "'sbo' is 16384 (bits 32-45), the layout needs 1024",
        descriptor(SWIZZLED, "--value", "0x4000004000010000"),
    ),
    (
        "2: warpgroups swap blocks of 64 rows",
        held("!" + TILED, "C", "((4,8,2,4),(2,2,8)):((256,1,64,16),(128,8,1024))"),
        "'thread': 32, 'value': 0, 'given': [64, 0], 'true': [16, 0]",
        held("!" + TILED, "C", "((4,8,4,2),(2,2,8)):((256,1,16,64),(128,8,1024))"),
    ),
    (
        "3: a tail of K",
        descriptor("S<3,3,3> o 0 o (128,40):(64,1)"),
        "no tiles of 64x16",
        descriptor("S<3,3,3> o 0 o (128,48):(64,1)"),
    ),
    (
        "4: atoms of 64 for a tile of 96",
        descriptor("S<3,3,3> o 0 o (96,64):(1,96)", atom=HOPPER.format(96, "k, mn"), operand="B"),
        "the extent 96 of MN is not a multiple of 64",
        descriptor("S<2,3,3> o 0 o ((32,3),64):((1,2048),32)", atom=HOPPER.format(96, "k, mn"), operand="B"),
    ),
    (
        "5: rows of the 128-byte pattern from a base aligned to 128",
        ["equivalent", TILE, ROW.format(128), "--element", "f16"],
        "'base': 128",
        ["equivalent", TILE, ROW.format(1024), "--element", "f16"],
    ),
    (
        "6: the writer has another swizzle",
        descriptor(SWIZZLED, "--value", "0x8000004000010000"),
        "'swizzle' is 64 (bits 62-63), the layout needs 128",
        descriptor(SWIZZLED, "--value", "0x4000004000010000"),
    ),
    (
        "7: the writer has no swizzle",
        descriptor(PLAIN, "--value", "0x4000000800400000"),
        "'swizzle' is 128 (bits 62-63), the layout needs none",
        descriptor(PLAIN, "--value", "0x0000000800400000"),
    ),
    (
        "8: the offset of a subview is left out",
        descriptor("S<3,3,3> o 16 o (64,16):(64,1)", "--value", "0x4000004000010000"),
        "'address' is 0 (bits 0-13), the layout needs 32",
        descriptor("S<3,3,3> o 16 o (64,16):(64,1)", "--value", "0x4000004000010002"),
    ),
    (
        "9: core matrices without a swizzle, whose rows do not follow each other",
        descriptor("((8,8),(8,2)):((16,128),(1,8))"),
        "at (mn,k) = (1,0) the layout is at byte 32",
        descriptor(PLAIN),
    ),
    (
        "10: LBO computed from M",
        descriptor(PLAIN, "--value", "0x0000000800080000"),
        "'lbo' is 128 (bits 16-29), the layout needs 1024",
        descriptor(PLAIN, "--value", "0x0000000800400000"),
    ),
    (
        "11: shared memory aligned to 8 bytes",
        ["aligned", '!cute.memref<f16, smem, align<8>, "(8,64):(64,1)">', "--vector", "8"],
        "'base': 8",
        ["aligned", '!cute.memref<f16, smem, align<128>, "(8,64):(64,1)">', "--vector", "8"],
    ),
    (
        "12: transposed",
        descriptor("S<3,3,3> o 0 o (128,64):(64,1)", atom=HOPPER.format(128, "mn, k")),
        "is not canonical",
        descriptor("S<3,3,3> o 0 o ((64,2),64):((1,4096),64)", atom=HOPPER.format(128, "mn, k")),
    ),
    (
        "13: no canonical layout at all",
        descriptor("(128,64):(65,1)", "--solve"),
        "is not a canonical layout",
        descriptor("(128,64):(64,1)", "--solve"),
    ),
    (
        "15: a swizzle that tears the rows of ldmatrix",
        ["aligned", "(64,16):(16,1)", "--swizzle", "S<1,3,3>", "--vector", "8", "--element", "bf16"],
        "'byte': 72",
        ["aligned", "(64,16):(16,1)", "--swizzle", "S<1,4,3>", "--vector", "8", "--element", "bf16"],
    ),
    (
        "31: a transposed block of scale factors",
        held("tcgen05.scale_factors", "S", "(128,4):(4,1)"),
        "'thread': 1, 'value': 0, 'given': [4], 'true': [16]",
        held("tcgen05.scale_factors", "S", "((32,4),4):((16,4),1)"),
    ),
    (
        "31: the scale factors of B held as those of A",
        held(FP4, "SFB", "((2,2,8),(2,2)):((8@0,1@3,1@0),(1@1,1@2))"),
        "'true': [0, 0, 0, 1]",
        held(FP4, "SFB", "((4,8),(2,2)):((1@3,1@0),(1@1,1@2))"),
    ),
    (
        "33: sparse metadata of both selectors at one place",
        held(SPARSE, "E", "((2,2,8),(8,2)):((128,128,1),(16,8))"),
        "thread 2",
        held(SPARSE, "E", "((2,2,8),(8,2)):((128,256,1),(16,8))"),
    ),
]


def asked(arguments: list[str]) -> tuple[int, dict[str, object]]:
    done = CliRunner().invoke(main, ["prove", *arguments, "--format", "json"])
    assert done.exit_code in (0, 1), done.output
    return done.exit_code, json.loads(done.stdout)


@pytest.mark.parametrize(("bug", "broken", "cause", "repaired"), CASES, ids=[case[0] for case in CASES])
def test_the_bug_is_refuted_and_its_repaired_twin_proved(bug: str, broken: list[str], cause: str, repaired: list[str]):
    status, found = asked(broken)
    assert (status, found["verdict"]) == (1, "refuted")
    assert cause in f"{found['message']} {found['counterexample']}"
    status, found = asked(repaired)
    assert (status, found["verdict"]) == (0, "proved"), found


def test_every_bug_has_its_case():
    assert {int(case[0].partition(":")[0]) for case in CASES} == {*range(1, 14), 15, 31, 33}
