"""`tileproof suggest layout`: what it suggests is legal, and as free of conflicts as it says."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from tileproof import prove
from tileproof.api import load_rules
from tileproof.base.verdict import Proved
from tileproof.cli import main
from tileproof.suggesting.layouts import placements
from tileproof.syntax.layouts import layout as parse

HOPPER = "!cute_nvgpu.sm90.mma<64x128x16, ab_major = (k, mn), elem_type = (f16, f16, f32), frag_kind = ss>"


def run(*arguments: str):
    return CliRunner().invoke(main, ["suggest", "layout", *arguments])


def asked(operand="A", atom="wgmma", element="f16", shape="64x64", major="k"):
    found = ["--operand", operand, "--atom", atom, "--element", element, "--shape", shape]
    return [*found, "--major", major] if major else found


def test_the_widest_swizzle_comes_first_with_the_descriptor_of_cutlass():
    """0x4000004000010000 and 0x4000404000010000 stand in the PTX of CuTe DSL's GEMMs (FACTS 2)."""
    answer = json.loads(run(*asked(), "--format", "json").stdout)["layouts"]
    assert [one["swizzle"] for one in answer] == ["128", "64", "32", "none"]
    assert answer[0] == {
        "layout": "S<3,3,3> o 0 o (64,64):(64,1)",
        "swizzle": "128",
        "pointer_swizzle": "S<3,4,3>",
        "align": 1024,
        "lbo": 16,
        "sbo": 1024,
        "descriptor": "0x4000004000010000",
        "matrix_degree": 1,
        "row_degree": 1,
    }
    assert "0x4000404000010000" in run(*asked(atom="tcgen05", shape="128x64")).stdout.splitlines()[0]


def test_an_atom_says_its_major():
    assert run(*asked(operand="B", atom=HOPPER, major=None, shape="128x64")).stdout.startswith(
        "S<3,3,3> o 0 o ((64,2),(8,8)):((1,512),(64,1024))  swizzle 128  align 1024  lbo 1024  sbo 2048  "
    )


OPERANDS = [
    ("wgmma", "A", "f16", (64, 64), "k"),
    ("wgmma", "A", "bf16", (128, 32), "mn"),
    ("wgmma", "B", "f16", (24, 16), "k"),
    ("wgmma", "B", "e4m3", (256, 128), "k"),
    ("wgmma", "B", "tf32", (64, 32), "k"),
    ("tcgen05", "A", "f16", (256, 64), "mn"),
    ("tcgen05", "B", "tf32", (128, 32), "mn"),
    (HOPPER, "B", "f16", (128, 64), None),
]


@pytest.mark.parametrize("operand", OPERANDS, ids=lambda operand: " ".join(map(str, operand[1:])))
def test_a_layout_holds_the_operand_and_its_conflicts_are_true(operand):
    numpy = pytest.importorskip("numpy", reason="numpy is not installed: conflicts are counted with it")
    import enumeration as count  # noqa: PLC0415 - needs numpy

    found = placements(load_rules(), *operand)
    assert found
    ranks = [(max(one.matrix_degree, one.row_degree), -one.align) for one in found]
    assert ranks == sorted(ranks)
    rows, columns = operand[3]
    for one in found:
        assert isinstance(prove.bijective(one.layout), Proved)
        bits = {"f16": 16, "bf16": 16, "e4m3": 8, "tf32": 32}[operand[2]]
        width = bits // 8
        cells = count.cells(str(one.layout), width)
        assert cells.shape == (rows, columns)
        if one.pointer is not None:
            outer = parse(str(one.layout)).outer
            assert (count.cells(str(outer), width, str(one.pointer)) == cells).all()
        lanes = cells if one.descriptor.major == ".k" else cells.T
        vector = 16 // width
        assert one.matrix_degree == count.degree(lanes, vector, width, 8)
        # A row's chunks of 16 bytes in the order of the rows, 32 at a time, eight a phase.
        chunks = lanes.reshape(-1, vector)[:32]
        assert one.row_degree == count.degree(numpy.asarray(chunks), vector, width, 8)


def test_nothing_fits_a_ragged_operand():
    result = run(*asked(shape="60x64"))
    assert (result.exit_code, result.stdout) == (1, "no canonical layout of 60x64 elements of f16 fits\n")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (asked(shape="64"), "not a shape"),
        (asked(shape="64x0"), "not a shape"),
        (asked(element="f17"), "unknown element type"),
        (asked(element="e2m3"), "not a whole number"),
        (asked(element="e4m3", major="mn"), "mn-major"),
        (asked(atom="mma.sync"), "not an atom"),
        (asked(atom="!cute_nvgpu.sm90.mma<"), "not an atom"),
        (asked(major=None), "major"),
        (asked(operand="B", atom=HOPPER, major="k"), "is mn-major"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_input_is_one_line_and_status_2(arguments, reason):
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert reason in result.stderr
    assert result.stderr.count("\n") == 1


def test_suggest_still_suggests_configurations():
    result = CliRunner().invoke(main, ["suggest", "--a", "f16", "--tile", "64x64x16", "--limit", "1"])
    assert result.exit_code == 0
    assert "Exit status" in CliRunner().invoke(main, ["suggest", "--help"]).stdout
