"""Witness kernels assemble, predict what they compute, and on a GPU compute what they predict."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import ptxas
import pytest
from test_sweep import run as assembled

import tileproof
from conftest import command
from tileproof.emitting.atom import BadAtom
from tileproof.emitting.witness import NoGpu, encode, predicted, run, witness

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
