"""The written questions, repeated by another solver: cvc5 must answer as we do."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from math import prod

import pytest
from click.testing import CliRunner
from prove_cases import CASES

import tileproof
from tileproof.base.verdict import Proved, Refuted, Unknown
from tileproof.cli import main
from tileproof.evaluate.fragments import FragmentOperand
from tileproof.layout import Layout, size
from tileproof.layout.tuples import leaves
from tileproof.prove import questions
from tileproof.prove.claim import decide
from tileproof.prove.fragment_questions import find
from tileproof.prove.fragments import covers, gemm
from tileproof.prove.ownership import multiplying

pytestmark = pytest.mark.oracle

ENOUGH = 200
KINDS = ("equivalent", "injective", "bijective", "covers", "aligned", "conflict-free")
MILLISECONDS = 60_000  # an idle machine needs three seconds at most


def repeat(text):
    """What cvc5 says of a script: ``sat``, ``unsat`` or ``unknown``; it must read every line of it."""
    cvc5 = pytest.importorskip("cvc5", reason="cvc5 is not installed (extra `oracle`)")
    solver = cvc5.Solver()
    solver.setOption("tlimit-per", str(MILLISECONDS))
    parser = cvc5.InputParser(solver)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, text, "question.smt2")
    symbols, answer = parser.getSymbolManager(), None
    while not (command := parser.nextCommand()).isNull():
        said = str(command.invoke(solver, symbols)).strip()
        if command.getCommandName() == "check-sat":
            answer = said.partition(" ")[0]  # unknown (TIMEOUT)
        elif command.getCommandName() != "get-value":
            assert not said, said
    assert answer in ("sat", "unsat", "unknown")
    return answer


def agrees(verdict, answer):
    assert answer == ("unsat" if isinstance(verdict, Proved) else "sat"), verdict


def shape_and_stride(random_, dynamic):
    """A random layout, perhaps swizzled; ``dynamic``: with a dynamic leaf now and then."""
    sizes = [random_.choice((1, 2, 3, 4, 8)) for _ in range(random_.randint(1, 3))]
    strides, running = [0] * len(sizes), 1
    for place in random_.sample(range(len(sizes)), len(sizes)):
        strides[place] = running * random_.choice((1, 1, 1, 2))
        running *= sizes[place]
    if random_.random() < 0.2:
        strides[random_.randrange(len(sizes))] = random_.choice((0, 3, -1))
    leaves = [*map(str, sizes), *map(str, strides)]
    if dynamic:
        leaves[random_.randrange(len(leaves))] = random_.choice(("?{div=8}", "?{div=64}", "?"))
    half = len(sizes)
    text = f"({','.join(leaves[:half])}):({','.join(leaves[half:])})"
    swizzle = random_.choice(("", "", "S<1,1,2> o 0 o ", "S<2,1,3> o 0 o ", "S<1,4,3> o 0 o "))
    return swizzle + text


def random_claims(seed):
    """Claims of every kind, each with its kind."""
    random_ = random.Random(seed)
    while True:
        text, other = (shape_and_stride(random_, random_.random() < 0.3) for _ in range(2))
        match random_.randrange(6):
            case 0:
                yield "equivalent", questions.equivalent(text, random_.choice((text, text.split(" o ")[-1], other)))
            case 1:
                yield "injective", questions.injective(text)
            case 2:
                yield "bijective", questions.bijective(text)
            case 3:
                yield "covers", questions.covers(text, str(random_.choice((4, 8, 16, 24))))
            case 4:
                size = random_.choice((None, 4, 8))
                swizzle = random_.choice((None, "S<1,3,3>"))
                yield "aligned", questions.aligned(text, random_.choice((2, 4)), "f16", size, 0, swizzle)
            case 5:
                plain = text.split(" o ")[-1]
                if plain.count(",") == 2:
                    yield "conflict-free", questions.conflict_free(plain, "ld.shared.b32", "f32", mode=0)


def test_cvc5_repeats_the_verdicts_of_random_claims():
    repeated = {Proved: 0, Refuted: 0}
    by = set()
    kinds: dict[str, int] = dict.fromkeys(KINDS, 0)
    for kind, claim in random_claims(2024):
        verdict = decide(claim, 2.0)
        if isinstance(verdict, Unknown):
            assert "Z3 gave no answer" in verdict.reason
            continue
        answer = repeat(claim.script().text())
        if answer == "unknown":
            continue
        agrees(verdict, answer)
        repeated[type(verdict)] += 1
        by.add(verdict.by)
        kinds[kind] += 1
        if sum(repeated.values()) >= ENOUGH:
            break
    assert min(repeated.values()) > ENOUGH // 5, repeated
    assert by >= {"algebra", "enumeration"}
    assert min(kinds.values()) >= 10, kinds


FRAGMENTS = (
    "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32",
    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
    "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32",
    "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc",
    "mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32",
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16",
    "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16",
)


def test_cvc5_repeats_the_verdicts_on_fragments():
    """What `prove fragment` says of an operand, and of one with a broken stride, is a question about coverage."""
    random_ = random.Random(5)
    repeated = {Proved: 0, Refuted: 0}
    book = tileproof.load_rules()
    for text in FRAGMENTS:
        for held in find(book, text, "ptx", {}).fragments.operands.values():
            strides = list(leaves(held.flat.stride))
            if 0 in strides or size(held.flat) > 1 << 12:
                continue
            broken = [*strides]
            broken[random_.randrange(len(strides))] = random_.choice((1, 2, 3, 8, 16, 24))
            for steps in (strides, broken):
                layout = Layout(tuple(leaves(held.flat.shape)), tuple(steps))
                claim = questions.covers(str(layout), str(prod(held.tile)))
                verdict = decide(claim, 2.0)
                ours = covers(FragmentOperand("A", Layout((layout.shape, 1), (layout.stride, 0)), (prod(held.tile), 1)))
                assert type(ours) is type(verdict), layout
                agrees(verdict, repeat(claim.script().text()))
                repeated[type(verdict)] += 1
    assert min(repeated.values()) >= 10, repeated


# Products of two unknowns of 32 bits, which algebra decides at once, take a solver of bit vectors minutes.
HARD = (
    ["injective", "(?m,?n):(1,?ld)"],
    ["injective", "(?m,?n):(1,?m)"],
    ["injective", "(?m,?n):(?c,?d)"],
    ["injective", "(3,2,?n):(2,3,?d)"],
    ["bijective", "(8,?m):(?m,1)"],
    ["bijective", "(4,?m,8):(1,4,?d)"],
    ["injective", "(8,?n):(1,?d)"],
    ["injective", "(16,?a):(65,72)"],
    ["conflict-free", "(?m{div=8},?k{div=64}):(?d{div=8},1)"],
    ["conflict-free", "(32,32):(?d,1)"],
    ["conflict-free", "(?m{div=8},64):(?ld{div=8},1)"],
    ["conflict-free", "(?m{div=8},?k{div=32}):(?ld{div=8},1)"],
    ["conflict-free", "(?m{div=8},?k{div=32}):(?ld{div=16},1)"],
    ["conflict-free", "(?m{div=8},64):(?ld{div=64},1)"],
    ["conflict-free", "((4,8),2):((2,?ld{div=2}),1)"],
    ["conflict-free", "((4,8),1):((?ld,1),1)"],
    ["conflict-free", "(32,4):(?d{div=4},1)"],
    ["injective", "(?m,?n):(?ld,1)"],
    ["injective", "(?m,?n):(?ld,7)"],
    ["equivalent", "(?m{div=8},?n):(1,?m)"],
    ["equivalent", "(?m,6):(1,?m)"],
    ["equivalent", "(?m,?n):(1,?d)"],
)


def repeated_cases():
    for verdict, _, arguments, _ in CASES:
        hard = arguments[:2] in HARD or arguments.count("--assume") > 1
        marks = [pytest.mark.long] if hard else []
        yield pytest.param(verdict, arguments, marks=marks, id=" ".join(arguments))


@pytest.mark.parametrize(("verdict", "arguments"), [*repeated_cases()])
def test_cvc5_repeats_the_cases(verdict, arguments, tmp_path):
    file = tmp_path / "question.smt2"
    result = CliRunner().invoke(main, ["prove", *arguments, "--smt2", str(file)])
    assert result.exit_code == (0 if verdict == "proved" else 1)
    text = file.read_text()
    assert "(set-logic QF_BV)" in text or "--at-least-once" in arguments
    answer = repeat(text)
    if answer == "unknown":
        pytest.skip(f"cvc5 gave up after {MILLISECONDS / 1000:g} s")
    assert answer == ("unsat" if verdict == "proved" else "sat")


HALF_MMA = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
HELD = [
    *(["--atom", HALF_MMA, "--operand", role] for role in "ABC"),
    ["--atom", "wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16", "--operand", "C"],
    ["--atom", "wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16", "--operand", "A"],
    ["--atom", HALF_MMA, "--operand", "C", "--layout", "((4,8),(2,2)):((32,1),(16,8))"],
    ["--atom", HALF_MMA, "--operand", "C", "--layout", "((4,8),(2,2)):((16,1),(64,8))"],
    ["--atom", "!cute_nvgpu.atom.tmem_load<f32, 32 DP, 32 bit, x2>", "--operand", "D"],
]


@pytest.mark.parametrize("arguments", HELD, ids=" ".join)
def test_cvc5_repeats_who_holds_what(arguments, tmp_path):
    file = tmp_path / "question.smt2"
    result = CliRunner().invoke(main, ["prove", "fragment", *arguments, "--smt2", str(file)])
    assert result.exit_code in (0, 1), result.output
    assert repeat(file.read_text()) == ("unsat" if result.exit_code == 0 else "sat")


SPARSE = "mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32"
SCALED = "mma.sync.aligned.kind::mxf8f6f4.block_scale.scale_vec::1X.m16n8k32.row.col.f32.e4m3.e4m3.f32.ue8m0"
MULTIPLIED = [
    (["--atom", HALF_MMA], "proved"),
    (["--atom", SPARSE], "proved"),
    (["--atom", SCALED], "proved"),
    (["--atom", "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16"], None),
    (["(1,2,4):(0,1,2)", "(1,3,4):(0,1,3)", "(4,2,3):(1,4,8)"], "proved"),
    (["(1,2,4):(0,1,2)", "(1,3,5):(0,1,3)", "(4,2,3):(1,4,8)"], "refuted"),
    (["(2,4):(1,2)", "(1,3,4):(0,1,3)", "(4,2,3):(1,4,8)"], "refuted"),
    (["(?,4):(4,1)", "(8,4):(4,1)", "(?,8):(8,1)"], "proved"),
]


@pytest.mark.parametrize(("arguments", "wanted"), MULTIPLIED, ids=str)
def test_cvc5_repeats_whether_three_operands_multiply(arguments, wanted, tmp_path):
    file = tmp_path / "question.smt2"
    result = CliRunner().invoke(main, ["prove", "gemm", *arguments, "--format", "json", "--smt2", str(file)])
    verdict = json.loads(result.output)["verdict"]
    assert wanted in (None, verdict), result.output
    assert repeat(file.read_text()) == ("unsat" if verdict == "proved" else "sat")


BROKEN = {
    "A": Layout((32, 8), (8, 1)),  # transposed, but every element once
    "B": Layout((32, 4), (4, 3)),  # some elements twice
    "C": Layout((32, 4), (4, 2)),  # outside the tile
}


@pytest.mark.parametrize("role", BROKEN)
def test_cvc5_repeats_that_broken_operands_do_not_multiply(role):
    found = find(tileproof.load_rules(), HALF_MMA, "ptx", {}).fragments
    operand = replace(found.operands[role], layout=BROKEN[role])
    broken = replace(found, operands={**found.operands, role: operand})
    agrees(gemm(broken), repeat(multiplying(broken).text()))
    wider = replace(found, operands={**found.operands, role: replace(found.operands[role], tile=(64, 8))})
    agrees(gemm(wider), repeat(multiplying(wider).text()))
