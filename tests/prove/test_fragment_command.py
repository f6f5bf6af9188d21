"""`tileproof prove fragment` and `prove gemm`: what they answer, and with which exit status."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner, Result

from tileproof.cli import main

MMA = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
ATOM = "!cute_nvgpu.sm80.mma<16x8x16, elem_type = (f16, f16, f32) >"
WRONG = "((4,8),(2,2,2)):((32,1),(16,128,8))"
RIGHT = "((4,8),(2,2,2)):((32,1),(16,8,128))"
F_LAYOUT = ("--set", "M=64", "--set", "N=32", "--set", "ctas=1")
BASES = "((4,8),(2,2,2)):((2@1,1@0),(1@1,8@0,8@1))"


def prove(*arguments: str) -> Result:
    result = CliRunner().invoke(main, ["prove", *arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def answer(*arguments: str) -> tuple[int, dict[str, object]]:
    result = prove(*arguments, "--format", "json")
    return result.exit_code, json.loads(result.stdout)


@pytest.mark.parametrize("atom", [MMA, f"{MMA} {{f0,f1,f2,f3}}, {{r0,r1,r2,r3}}, {{r4,r5}}, {{f4,f5,f6,f7}};", ATOM])
def test_the_instruction_and_the_atom_have_one_layout(atom: str):
    status, found = answer("fragment", "--atom", atom, "--operand", "A")
    assert (status, found["verdict"], found["layout"], found["tile"]) == (0, "proved", BASES, [16, 16])


def test_a_layout_of_ones_own_is_compared():
    for own in (RIGHT, BASES):
        assert answer("fragment", "--atom", MMA, "--layout", own)[0] == 0
    status, found = answer("fragment", "--atom", MMA, "--layout", WRONG)
    assert (status, found["verdict"]) == (1, "refuted")
    assert found["counterexample"] == {"thread": 0, "value": 2, "given": [0, 8], "true": [8, 0]}


def test_the_answer_in_words():
    text = prove("fragment", "--atom", MMA, "--layout", WRONG).stdout
    assert text.splitlines()[:3] == [
        "refuted by enumeration: value 2 of thread 0 is a different element",
        "  thread       0",
        "  value        2",
    ]


@pytest.mark.parametrize(
    ("arguments", "verdict"),
    [
        (("fragment", "--atom", MMA, "--operand", "D"), "proved"),
        (("fragment", "--atom", MMA, "--copy", "ldmatrix.sync.aligned.m8n8.x4.shared.b16"), "proved"),
        (("fragment", "--atom", MMA, "--copy", "ldmatrix.sync.aligned.m8n8.x4.shared.b16", "--major", "mn"), "refuted"),
        (("fragment", "--atom", MMA, "--contract", "tileiras"), "refuted"),
        (("fragment", "--atom", MMA, "--layout", "(4,8,8):(1,4,32)"), "unknown"),
        (("fragment", "--atom", MMA, "--layout", "(32,8):(1@5,1@0)"), "unknown"),
        (("fragment", "--atom", "tcgen05.accumulator", "--operand", "T", *F_LAYOUT), "proved"),
        (("gemm", "--atom", MMA), "proved"),
        (("gemm", "--atom", ATOM), "proved"),
        (("gemm", "(1,2,4):(0,1,2)", "(1,3,4):(0,1,3)", "(4,2,3):(1,4,8)"), "proved"),
        (("gemm", "(1,2,4):(0,1,2)", "(1,3,5):(0,1,3)", "(4,2,3):(1,4,8)"), "refuted"),
        (("gemm", "(1,?,4):(0,1,?)", "(1,3,4):(0,1,3)", "(4,2,3):(1,4,8)"), "unknown"),
    ],
)  # fmt: skip
def test_only_what_is_proved_succeeds(arguments: tuple[str, ...], verdict: str):
    status, found = answer(*arguments)
    assert (status, found["verdict"]) == (0 if verdict == "proved" else 1, verdict)
    assert ("counterexample" in found) is (verdict == "refuted")
    assert bool(found.get("reason")) is (verdict == "unknown")


@pytest.mark.parametrize(
    "arguments",
    [
        ("fragment", "--atom", "mma.sync.aligned.nonsense"),
        ("fragment", "--atom", ""),
        ("fragment", "--atom", "!cute_nvgpu.sm999.mma<1x1x1>"),
        ("fragment", "--atom", "!cute_nvgpu.sm80.mma<"),
        ("fragment", "--atom", "mma.sync.aligned.m8n8k4.row.col.f32.bf16.bf16.f32"),
        ("fragment", "--atom", MMA, "--operand", "E"),
        ("fragment", "--atom", MMA, "--operand", "Z"),
        ("fragment", "--atom", MMA, "--layout", "(4,8"),
        ("fragment", "--atom", MMA, "--layout", "S<3,4,3>"),
        ("fragment", "--atom", MMA, "--copy", "cp.async.wait_all"),
        ("fragment", "--atom", MMA, "--set", "colour=red"),
        ("fragment", "--atom", MMA, "--set", "K"),
        ("fragment", "--atom", "tcgen05.accumulator", "--operand", "T", "--set", "M=many"),
        ("fragment", "--atom", "tcgen05.accumulator", "--operand", "T", "--set", "ws=perhaps"),
        ("fragment", "--atom", "!cute.tiled_mma<nothing>"),
        ("gemm",),
        ("gemm", "(1,2):(1,2)"),
        ("gemm", "--atom", MMA, "(1,2):(1,2)", "(1,2):(1,2)", "(1,2):(1,2)"),
        ("gemm", "a", "b", "c"),
    ],
)
def test_a_question_without_sense_is_one_line_and_status_2(arguments: tuple[str, ...]):
    result = prove(*arguments)
    assert result.exit_code == 2
    assert result.stderr.startswith("tileproof: ")
    assert len(result.stderr.splitlines()) == 1
    assert not result.stdout


def test_a_tiled_mma_is_asked_about_like_an_atom():
    tiled = f'!cute.tiled_mma<{ATOM}, atom_layout_MNK = <"(2,1,1):(1,0,0)">, permutation_MNK = <"[_;_;_]">>'
    status, found = answer("fragment", "--atom", tiled, "--operand", "A")
    assert (status, found["tile"]) == (0, [32, 16])
    assert answer("gemm", "--atom", tiled)[0] == 0
    shared = tiled.replace("(2,1,1):(1,0,0)", "(2,1,1):(0,0,0)")
    assert answer("gemm", "--atom", shared)[1]["verdict"] == "refuted"


@pytest.mark.parametrize("own", ["?:?", "(?,?):(?,?)", "(32,8):(?,1)", "(8,64):(64,1/2)"])
def test_a_layout_that_is_no_map_of_threads_and_values_is_unknown(own: str):
    status, found = answer("fragment", "--atom", MMA, "--operand", "A", "--layout", own)
    assert (status, found["verdict"]) == (1, "unknown")
    assert prove("fragment", "--atom", MMA, "--layout", own, "--smt2", "/dev/null").exit_code == 2
