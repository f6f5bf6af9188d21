"""Witness kernels assemble, predict what they compute, and on a GPU compute what they predict."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import ptxas
import pytest
from test_sweep import run as assembled

import tileproof
from conftest import command, some
from tileproof.emitting.atom import BadAtom, Refused
from tileproof.emitting.witness import NoGpu, encode, predicted, run, witness
from tileproof.layout import cosize, crd2idx

BOOK = tileproof.load_rules()
ATOM = "!cute_nvgpu.sm90.mma<64x{n}x{k}, ab_major = ({a}, {b}), elem_type = ({t}, {t}, {d}), frag_kind = ss>"
TYPES = [
    ("f16", "f32", 16),
    ("bf16", "f32", 16),
    ("tf32", "f32", 8),
    ("f8E4M3FN", "f32", 32),
    ("f8E5M2", "f32", 32),
    ("si8", "i32", 32),
    ("ui8", "i32", 32),
]
MAJORS = {"f16": [("k", "k"), ("k", "mn"), ("mn", "k"), ("mn", "mn")], "bf16": [("mn", "mn")]}
ATOMS = [
    ATOM.format(n=n, k=k, a=a, b=b, t=t, d=d)
    for t, d, k in TYPES
    for n in (8, 64, 128, 256)
    for a, b in MAJORS.get(t, [("k", "k")])
]


@pytest.mark.parametrize("atom", ATOMS)
@ptxas.needs_ptxas
def test_a_witness_assembles(atom: str, tmp_path: Path):
    assert not assembled("sm_90a", witness(BOOK, atom, "sm_90a").text, tmp_path, quick=False)


@ptxas.needs_ptxas
def test_a_witness_of_tensor_memory_assembles(tmp_path: Path):
    atom = (
        "!cute_nvgpu.sm100.mma<128x64x16, num_cta = 1, ab_major = (k, k), elem_type = (f16, f16, f32), frag_kind = ss>"
    )
    assert not assembled("sm_100a", witness(BOOK, atom, "sm_100a").text, tmp_path, quick=False)


def test_the_prediction_is_the_product_where_the_layouts_are_right_and_another_where_one_is_not():
    atom = ATOM.format(n=64, k=16, a="k", b="k", t="f16", d="f32")
    chance = np.random.default_rng(3)
    a, b = chance.integers(0, 8, (64, 16)), chance.integers(0, 8, (64, 16))
    right = witness(BOOK, atom, "sm_90a")
    assert (predicted(right, a, b) == a @ b.T).all()
    # Written without the swizzle: S<1,4,3> on addresses exchanges the halves of the rows 4 to 7 of each eight.
    wrong = witness(BOOK, atom, "sm_90a", {"a": "(64,16):(16,1)"})
    rows = sorted({int(m) for m, _ in np.argwhere(predicted(wrong, a, b) != a @ b.T)})
    assert rows == [m for m in range(64) if m % 8 >= 4]


@pytest.mark.parametrize(
    ("layout", "message"),
    [
        ("(64,16)", "not a layout"),
        ("(64,8):(8,1)", "not a whole number of tiles of 64x16"),
        ("(96,16):(16,1)", "not a whole number of tiles of 64x16"),
        ("1024:1", "not a layout of rows and columns"),
        ("((", "cannot be read"),
        ("(64,16):(?,1)", "not static"),
    ],
)
def test_a_layout_that_cannot_be_filled(layout: str, message: str):
    with pytest.raises(BadAtom, match=message):
        witness(BOOK, ATOM.format(n=8, k=16, a="k", b="k", t="f16", d="f32"), "sm_90a", {"a": layout})


@pytest.mark.parametrize(
    ("element", "three"), [(".f16", 0x4200), (".bf16", 0x4040), (".e4m3", 0x44), (".e5m2", 0x42), (".u8", 3)]
)
def test_small_numbers_have_the_bits_of_their_type(element: str, three: int):
    assert list(encode(element, [0, 3])) == [0, three]


S = "S<3,3,3> o 0 o "
BLACKWELL = (
    "!cute_nvgpu.sm100.mma<128x64x16, num_cta = 1, ab_major = ({a}, {b}), elem_type = (f16, f16, f32), frag_kind = ss>"
)
# (target, majors, layout of A, layout of B): tiles of one instruction and of several.
TILES = [
    ("sm_90a", "kk", S + "(128,64):(64,1)", S + "(64,64):(64,1)"),
    ("sm_90a", "kk", S + "(64,128):(128,1)", None),
    ("sm_90a", "kk", "S<2,3,3> o 0 o (64,32):(32,1)", "S<1,3,3> o 0 o ((64,2),(16,2)):((16,1024),(1,2048))"),
    ("sm_90a", "kk", "((8,8),(8,4)):((8,64),(1,512))", S + "(128,32):(64,1)"),
    ("sm_90a", "mm", S + "((64,2),64):((1,4096),64)", S + "(64,64):(1,64)"),
    ("sm_90a", "kk", "S<2,3,3> o 0 o (64,16):(16,1)", None),  # rows of 32 bytes: bit 8 is set from row 8 on
    ("sm_100a", "kk", S + "(128,64):(64,1)", S + "(128,64):(64,1)"),
    ("sm_100a", "mk", S + "((64,4),32):((1,2048),64)", S + "(64,32):(64,1)"),
]


def atom_of(target: str, majors: str) -> str:
    a, b = ("mn" if major == "m" else major for major in majors)
    if target == "sm_90a":
        return ATOM.format(n=64, k=16, a=a, b=b, t="f16", d="f32")
    return BLACKWELL.format(a=a, b=b)


def hardware(word: int, start: int, major: str, target: str, mn: int, k: int) -> int:
    """The byte that the tensor core reads for an element of 2 bytes, in the words of the PTX ISA."""
    shift, codes = (62, {0: 1, 1: 8, 2: 4, 3: 2}) if target == "sm_90a" else (61, {0: 1, 2: 8, 4: 4, 6: 2})
    width = codes[word >> shift]
    lbo, sbo = (word >> 16 & 0x3FFF) * 16, (word >> 32 & 0x3FFF) * 16
    if major == "k":
        at = mn % 8 * 16 * width + mn // 8 * sbo + k % 8 * 2 + k // 8 * (lbo if width == 1 else 16)
    else:
        across, along = (sbo, lbo) if width == 1 else (lbo, sbo)
        at = mn % 8 * 2 + mn // 8 % width * 16 + mn // (8 * width) * across + k % 8 * 16 * width + k // 8 * along
    at += start
    return at ^ (at >> 3 & (width - 1) << 4)


def issued(text: str) -> list[dict[str, int]]:
    """The descriptors of each MMA of a kernel, by the registers that hold them, as its lines compute them."""
    found, held, start = [], {}, 0
    for line in text.splitlines():
        words = line.replace(",", "").replace(";", "").split()
        match words:
            case ["add.u32", "start", "start", offset]:
                start = int(offset)
            case ["or.b64", register, "wide", word]:
                held[register] = int(word, 16) + (start >> 4)
            case ["add.s64", register, same, step]:
                assert register == same
                held[register] += int(step)
            case [opcode, *_] if opcode.startswith(("wgmma.mma_async", "tcgen05.mma")):
                found.append(dict(held))
    return found


@pytest.mark.parametrize(("target", "majors", "a", "b"), some(TILES))
def test_every_instruction_reads_its_tile_of_the_layouts_that_are_given(target, majors, a, b):
    """The lines of the kernel, the addresses of the hardware and the layouts, each worked out by itself."""
    atom = atom_of(target, majors)
    made = witness(BOOK, atom, target, {name: text for name, text in (("a", a), ("b", b)) if text is not None})
    words = issued(made.text)
    (rows, depth), (columns, _) = made.shapes["a"], made.shapes["b"]
    height = 64 if target == "sm_90a" else 128
    down, across, along = rows // height, columns // 64, depth // 16
    assert len(words) == down * across * along
    right = {"a": True, "b": True}
    first = {
        name: int(made.text.split(f"fill_{name}:")[1].split("add.u32 place, place, ")[1].split(";")[0]) for name in "ab"
    }
    for i, held in enumerate(words):
        block, k = divmod(i, along)
        for name, major, extent, tile, word in (
            ("a", majors[0], height, block % down, held["l0"]),
            ("b", majors[1], 64, block // down, held["l1"]),
        ):
            start, clean = (word & 0x3FFF) << 4, word & ~0x3FFF
            for mn in range(extent):
                for column in range(16):
                    there = crd2idx((tile * extent + mn, k * 16 + column), made.layouts[name])
                    read = hardware(clean, start, "k" if major == "k" else "mn", target, mn, column)
                    right[name] &= read == 2 * there + first[name]
    assert right == {name: not made.operands[name].why for name in "ab"}
    assert first["b"] % 1024 == 0
    assert first["b"] >= 2 * cosize(made.layouts["a"])
    chance = np.random.default_rng(5)
    dense = [chance.integers(0, 8, made.shapes[name]) for name in "ab"]
    same = (predicted(made, *dense) == dense[0] @ dense[1].T).all()
    assert same == all(right.values())


@pytest.mark.parametrize(("target", "majors", "a", "b"), TILES)
@ptxas.needs_ptxas
def test_a_witness_of_several_tiles_assembles(target, majors, a, b, tmp_path: Path):
    texts = {name: text for name, text in (("a", a), ("b", b)) if text is not None}
    assert not assembled(target, witness(BOOK, atom_of(target, majors), target, texts).text, tmp_path, quick=False)


def test_a_refuted_layout_says_why_and_which_coordinates_are_wrong():
    made = witness(BOOK, atom_of("sm_90a", "kk"), "sm_90a", {"a": "(64,16):(16,1)"})
    (why,) = (line for line in made.text.splitlines() if "no descriptor describes a" in line)
    assert "(mn,k) = (1,0)" in why
    (wrong,) = (line for line in made.text.splitlines() if "is not the product" in line)
    assert "(m,n) = (4,0), (5,0), (6,0), (7,0), (12,0)" in wrong
    both = witness(BOOK, atom_of("sm_90a", "kk"), "sm_90a")
    assert "no descriptor" not in both.text


@pytest.mark.parametrize(("target", "oldest"), [("sm_90a", "8.0"), ("sm_100a", "8.6"), ("sm_103a", "8.8")])
def test_it_is_written_for_the_oldest_driver_that_has_the_atom(target: str, oldest: str):
    atom = atom_of("sm_90a" if target == "sm_90a" else "sm_100a", "kk")
    assert witness(BOOK, atom, target).text.startswith(f".version {oldest}\n")
    assert witness(BOOK, atom, target, ptx=(9, 0)).text.startswith(".version 9.0\n")


def test_an_atom_that_no_version_has_is_refused_and_an_old_driver_is_named(monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(Refused):
        witness(BOOK, ATOM.format(n=9, k=16, a="k", b="k", t="f16", d="f32"), "sm_90a")
    too_old = SimpleNamespace(name="CUDA_ERROR_UNSUPPORTED_PTX_VERSION")
    driver = SimpleNamespace(CUresult=SimpleNamespace(CUDA_ERROR_UNSUPPORTED_PTX_VERSION=too_old))
    for name in ("cuInit", "cuDeviceGet", "cuDevicePrimaryCtxRetain", "cuCtxSetCurrent", "cuDevicePrimaryCtxRelease"):
        setattr(driver, name, lambda *_: (0, None))
    driver.cuModuleLoadData = lambda *_: (too_old, None)
    monkeypatch.setitem(sys.modules, "cuda.bindings", SimpleNamespace(driver=driver))
    with pytest.raises(NoGpu, match=r"^the driver is too old for PTX 8\.0$"):
        run(BOOK, witness(BOOK, atom_of("sm_90a", "kk"), "sm_90a"))


def test_tiles_that_do_not_fit():
    atom = atom_of("sm_90a", "kk")
    for texts, message in (
        ({"a": S + "(64,64):(64,1)", "b": S + "(64,32):(64,1)"}, "A has 64 columns along K, B has 32"),
        ({"a": "(64,24):(24,1)"}, "64x24 elements of A is not a whole number"),
        ({"a": S + "(1024,128):(128,1)"}, "bytes of shared memory"),
    ):
        with pytest.raises(BadAtom, match=message):
            witness(BOOK, atom, "sm_90a", texts)
    with pytest.raises(BadAtom, match="more than the 256 that D has"):
        texts = {"a": S + "(512,32):(64,1)", "b": S + "(128,32):(64,1)"}
        witness(BOOK, atom_of("sm_100a", "kk"), "sm_100a", texts)


def test_the_command_line():
    atom = ATOM.format(n=8, k=16, a="k", b="k", t="f16", d="f32")
    done = command("emit", "--witness", "--atom", atom, "--target", "sm_90a", "--layout-a", "(64,16):(16,1)")
    assert done.returncode == 0, done.stderr
    assert ".entry witness(.param .b64 from, .param .b64 to, .param .b64 a, .param .b64 b)" in done.stdout
    done = command("emit", "--witness", "--atom", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


@pytest.mark.gpu
@pytest.mark.parametrize("layout", [None, "(64,16):(16,1)"])
def test_the_gpu_computes_what_is_predicted(layout: str | None):
    made = witness(
        BOOK, ATOM.format(n=64, k=16, a="k", b="k", t="f16", d="f32"), "sm_90a", {"a": layout} if layout else None
    )
    try:
        outcome = run(BOOK, made)
    except NoGpu as reason:
        pytest.skip(str(reason))
    assert outcome.as_predicted
    assert bool(outcome.wrong) == (layout is not None)


@pytest.mark.gpu
@pytest.mark.parametrize("atom", ATOMS)
def test_the_gpu_multiplies_through_every_layout_that_was_proved(atom: str):
    try:
        outcome = run(BOOK, witness(BOOK, atom, "sm_90a"))
    except NoGpu as reason:
        pytest.skip(str(reason))
    assert outcome.as_predicted
    assert not outcome.wrong
