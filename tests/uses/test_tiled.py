"""Tiled MMAs and copies: proofs that they cover their tile, and what `check` says of those in IR that do not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest

import tileproof
from conftest import SMALL, corpus_files
from tileproof.base.source import Source
from tileproof.base.verdict import Proved, Refuted
from tileproof.checking.file import check_source
from tileproof.dialects.infer.partition import mma_operand
from tileproof.dialects.operands import resolve
from tileproof.dialects.values import TiledCopy, TiledMma, read_type
from tileproof.judge.outcome import Options
from tileproof.layout import crd2idx, make_layout, size
from tileproof.layout.basics import modes
from tileproof.layout.tiled import divided_among_threads, thread_coordinate
from tileproof.mlir.scanner import scan
from tileproof.prove import fragment_questions as verb
from tileproof.prove import tiled
from tileproof.rulebase.load import default_files, load

BOOK = load(default_files())
ATOM = "!cute_nvgpu.sm80.mma<16x8x16, elem_type = (f16, f16, f32) >"
HOPPER = "!cute_nvgpu.sm90.mma<64x{}x16, ab_major = (k, k), elem_type = (f16, f16, f32), frag_kind = ss>"


def tiled_mma(atoms: str, permutation: str = "[_;_;_]", atom: str = ATOM) -> str:
    return f'!cute.tiled_mma<{atom}, atom_layout_MNK = <"{atoms}">, permutation_MNK = <"{permutation}">>'


def tiled_copy(thread_values: str, tiler: str, element: str = "f16", bits: int = 128) -> str:
    atom = f"!cute_nvgpu.atom.universal_copy<{element}, {bits} b>"
    return f'!cute.tiled_copy<{atom}, layout_copy_tv = <"{thread_values}">, tiler_mn = <"{tiler}">>'


def mma_of(text: str) -> TiledMma:
    found = read_type(text)
    assert isinstance(found, TiledMma), text
    return found


TILINGS = [  # atoms, permutation, operands that are not covered
    ("(2,1,1):(1,0,0)", "[_;_;_]", ""),
    ("(2,2,1):(1,2,0)", "[32:1;16:1;16:1]", ""),
    ("(2,2,1):(2,1,0)", "[32:1;(8,2,2):(1,16,8);16:1]", ""),
    ("(2,2,1):(1,2,0)", "[32:1;(8,2):(1,16);16:1]", ""),  # the room between is filled by the next step
    ("(2,2,2):(4,1,2)", "[_;_;_]", ""),
    ("(2,1,1):(1,0,0)", "[48:1;_;_]", "AC"),
    ("(2,2,1):(1,2,0)", "[32:1;24:1;16:1]", "BC"),
    ("(2,2,1):(1,2,0)", "[32:1;16:1;24:1]", "AB"),
    ("(2,2,1):(1,2,0)", "[32:1;(8,2):(1,4);16:1]", "BC"),
    ("(2,2,1):(1,1,0)", "[32:1;16:1;16:1]", "ABC"),  # two atoms, one warp
    ("(2,1,1):(0,0,0)", "[_;_;_]", "ABC"),
]


@pytest.mark.parametrize(("atoms", "permutation", "uncovered"), TILINGS)
def test_the_threads_of_a_tiled_mma_cover_their_tile_once(atoms: str, permutation: str, uncovered: str):
    mma = mma_of(tiled_mma(atoms, permutation))
    for role in "ABC":
        verdict = tiled.mma_covers(mma, role)
        assert isinstance(verdict, Refuted if role in uncovered else Proved), (role, verdict)
        if role not in uncovered:
            assert enumerated(mma, role)


def enumerated(mma: TiledMma, role: str) -> bool:
    """Whether the threads, one by one, reach each element of the tile equally often, and no thread one twice."""
    operand = mma_operand(mma, role)
    tile = tiled.tile_of(operand)
    held = tiled.held_by_threads(mma, role)
    divided = divided_among_threads(make_layout(tile), operand)
    threads, values = (size(mode) for mode in modes(held.layout))
    reached = np.zeros(tile[0] * tile[1], dtype=int)
    for thread in range(threads):  # type: ignore[arg-type]
        within, *along = thread_coordinate(thread, operand.threads)
        mine = [crd2idx((thread, value), held.layout) for value in range(values)]  # type: ignore[arg-type]
        assert mine == [crd2idx(((within, tuple(along)), value), divided) for value in range(values)]  # type: ignore[arg-type]
        assert len(set(mine)) == len(mine)
        reached[mine] += 1  # type: ignore[index]
    return bool((reached == reached[0]).all() and reached[0] > 0)


COPIES = [  # threads and values, tiler, covered
    ("((8,16),8):((128,1),16)", "[16:1;64:1]", True),
    ("(32,8):(8,1)", "[16:1;16:1]", True),
    ("((8,4),8):((0,8),1)", "[32:1;1:0]", True),  # eight threads copy the same
    ("(32,8):(8,2)", "[16:1;16:1]", False),
    ("(32,8):(4,1)", "[16:1;16:1]", False),
    ("(32,8):(8,1)", "[16:1;32:1]", False),
    ("(32,(4,2)):(4,(1,0))", "[16:1;8:1]", False),  # one thread copies the same twice
]


@pytest.mark.parametrize(("thread_values", "tiler", "covered"), COPIES)
def test_the_threads_of_a_tiled_copy_cover_their_tile_once(thread_values: str, tiler: str, covered: bool):
    copy = read_type(tiled_copy(thread_values, tiler))
    assert isinstance(copy, TiledCopy)
    assert isinstance(tiled.copy_covers(copy), Proved if covered else Refuted)


@pytest.mark.parametrize("largest", [SMALL, pytest.param(10**9, marks=pytest.mark.sweep)], ids=["small", "all"])
def test_every_tiled_atom_of_real_kernels_covers_its_tile(largest):
    files = [*corpus_files(), *corpus_files("cute_ir_tests/**/*.mlir")]
    files = [path for path in files if path.stat().st_size <= largest]
    if not files:
        pytest.skip("no ../shared beside this checkout")
    seen: set[str] = set()
    verdicts: Counter[str] = Counter()
    for path in files:
        module = scan(Source(str(path), path.read_text())).module
        seen |= {resolve(text, module.aliases) for text in module.types if text.startswith("!cute.tiled_")}
    for text in sorted(seen):
        known = read_type(text)
        if isinstance(known, TiledMma):
            verdicts.update(type(tiled.mma_covers(known, role)).__name__ for role in "ABC")
        elif isinstance(known, TiledCopy):
            verdicts[type(tiled.copy_covers(known)).__name__] += 1
    assert verdicts.keys() == {"Proved"}
    assert verdicts["Proved"] > (20 if largest == SMALL else 150)


# ----------------------------------------------------------------------------------------------------- in the IR

KERNEL = """
module {{
  func.func @kernel(%mma: {mma}, %a: {tensor}, %thread: !cute.coord<"0">) {{
    %p = cute.tiled.mma.partition {role} (%mma, %a, %thread) : ({mma}, {tensor}, !cute.coord<"0">) -> {part}
    return
  }}
}}
"""


def codes(text: str) -> list[tuple[str, str]]:
    report = check_source(BOOK, Source("kernel.mlir", text), Options("ptx"))
    return [(d.code, d.message) for d in report.diagnostics]


def partitioned(
    mma: str, layout: str, role: str, part: str = '!cute.memref<f16, smem, "(1):(1)">'
) -> Sequence[tuple[str, str]]:
    text = KERNEL.format(mma=mma, tensor=f'!cute.memref<f16, smem, "{layout}">', role=role, part=part)
    return [(code, message) for code, message in codes(text) if code.startswith("TL")]


def test_bug_3_a_k_tail_is_told_and_a_tile_of_whole_atoms_is_not():
    mma = tiled_mma("(2,2,1):(1,2,0)", "[32:1;16:1;16:1]")
    (found,) = partitioned(mma, "(64,40):(40,1)", "A")
    assert found == (
        "TL201",
        "K = 40 of A is not a multiple of the K = 16 of the tiled MMA: 8 columns remain",
    )
    assert partitioned(mma, "(64,24):(24,1)", "B")[0][0] == "TL201"
    for layout, role in (("(64,48):(48,1)", "A"), ("(64,32):(32,1)", "B"), ("(64,(16,3)):(48,(1,16))", "A")):
        assert partitioned(mma, layout, role) == []


def test_bug_4_an_atom_that_does_not_divide_the_tile_of_a_warpgroup_is_told():
    wide = tiled_mma("(1,1,1):(0,0,0)", atom=HOPPER.format(64))
    (found,) = partitioned(wide, "(96,64):(64,1)", "B")
    assert found == (
        "TL202",
        "The tile of B, 96 x 64, is not a multiple of the tiled MMA, 64 x 16",
    )
    assert partitioned(tiled_mma("(1,1,1):(0,0,0)", atom=HOPPER.format(96)), "(96,64):(64,1)", "B") == []
    assert partitioned(tiled_mma("(1,1,1):(0,0,0)", atom=HOPPER.format(32)), "(96,64):(64,1)", "B") == []
    (rows,) = partitioned(tiled_mma("(2,1,1):(1,0,0)", atom=HOPPER.format(96)), "(64,64):(64,1)", "A")
    assert rows[0] == "TL202"


def test_what_one_cta_of_a_pair_has_of_a_tile_is_a_whole_tile():
    atom = (
        "!cute_nvgpu.sm100.mma<256x128x16, num_cta = 2, ab_major = (k, k), elem_type = (f16, f16, f32), "
        "frag_kind = ss, c_scale_exp = 0>"
    )
    pair = tiled_mma("(1,1,1):(0,0,0)", atom=atom)
    assert partitioned(pair, "(128,128):(128,1)", "C") == []
    assert partitioned(pair, "(256,128):(128,1)", "C") == []
    assert [code for code, _ in partitioned(pair, "(64,128):(128,1)", "C")] == ["TL202"]


def test_a_tensor_of_dynamic_extents_or_of_coordinates_is_not_judged():
    mma = tiled_mma("(2,2,1):(1,2,0)", "[32:1;16:1;16:1]")
    assert partitioned(mma, "(?,?):(?,1)", "A") == []
    text = KERNEL.format(
        mma=mma,
        tensor='!cute.coord_tensor<"(0,0)", "(64,40):(1@0,1@1)">',
        role="A",
        part='!cute.memref<f16, smem, "(1):(1)">',
    )
    assert [code for code, _ in codes(text) if code.startswith("TL")] == []


def test_tiled_atoms_that_do_not_cover_their_tile_are_told_once_a_type():
    def found(text: str) -> list[tuple[str, str]]:
        return [
            item for item in codes(f"func.func @f(%x: {text}, %y: {text}) {{ return }}\n") if item[0].startswith("TL")
        ]

    shared = found(tiled_mma("(2,2,1):(1,1,0)", "[32:1;16:1;16:1]"))
    assert [code for code, _ in shared] == ["TL101"] * 3  # one for each operand
    assert "the atoms at (1,0,0) and (0,1,0) have the same threads" in shared[0][1]
    assert found(tiled_mma("(2,2,1):(1,2,0)", "[32:1;16:1;16:1]")) == []
    (copy,) = found(tiled_copy("(32,8):(8,2)", "[16:1;16:1]"))
    assert copy[0] == "TL102"
    assert "value 4 of thread 0" in copy[1]
    assert found(tiled_copy("(32,8):(8,1)", "[16:1;16:1]")) == []


def test_bug_2_two_warpgroups_that_swap_blocks_of_64_rows_are_told_by_the_coordinate():
    mma = tiled_mma("(2,1,1):(1,0,0)", atom=HOPPER.format(64))
    true = verb.fragment(BOOK, mma, "C", contract="ptx")
    assert isinstance(true.verdict, Proved)
    assert true.verdict.values["elements"] == 128 * 64
    layout = "((4,8,4,2),(2,2,8)):((256,1,16,64),(128,8,1024))"
    same = verb.fragment(BOOK, mma, "C", layout=layout, contract="ptx")
    assert isinstance(same.verdict, Proved), same
    swapped = "((4,8,2,4),(2,2,8)):((256,1,64,16),(128,8,1024))"  # warps 1 and 2 count other rows
    verdict = verb.fragment(BOOK, mma, "C", layout=swapped, contract="ptx").verdict
    assert isinstance(verdict, Refuted)
    assert verdict.counterexample == {"thread": 32, "value": 0, "given": (64, 0), "true": (16, 0)}


def test_a_layout_with_as_many_atoms_as_no_cta_has_ends_at_once():
    huge = tiled_mma("(1000000000,1,1):(1,0,0)")
    assert isinstance(tiled.mma_covers(mma_of(huge), "A"), Refuted)
    copy = read_type(tiled_copy("(1000000000,8):(8,3)", "[1000000000:1;8:1]"))
    assert isinstance(copy, TiledCopy)
    assert not isinstance(tiled.copy_covers(copy), Proved)


def test_two_warpgroups_that_hold_the_same_rows_are_found_in_ir():
    """BUGS 2: more than one warpgroup along M, and the rows of one of them are held by both."""
    module = """\
!mma = !cute.tiled_mma<!cute_nvgpu.sm90.mma<64x64x16, ab_major = (k, k), elem_type = (f16, f16, f32), frag_kind = ss>, \
atom_layout_MNK = <"(2,1,1):(STRIDE,0,0)">, permutation_MNK = <"[_;_;_]">>
func.func @k(%mma: !mma) {
  return
}
"""
    found = tileproof.check(module.replace("STRIDE", "0"), target="sm_90a").diagnostics
    assert {diagnostic.code for diagnostic in found} == {"TL101"}
    assert "the atoms at (0,0,0) and (1,0,0) have the same threads" in found[0].message
    assert tileproof.check(module.replace("STRIDE", "1"), target="sm_90a").diagnostics == ()
