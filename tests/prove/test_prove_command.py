"""`tileproof prove`: what is printed, what is refused, what is imported; and the functions of the package."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
import z3
from click.testing import CliRunner

import tileproof
from tileproof import prove
from tileproof.base.resources import PACKAGE
from tileproof.base.verdict import Proved, Refuted, Unknown
from tileproof.cli import main
from tileproof.evaluate import solver
from tileproof.layout import ComposedLayout, Dynamic, Layout, LayoutError, Swizzle
from tileproof.prove.assumptions import read_assumptions
from tileproof.prove.symbols import Symbol


def run(*arguments: str):
    return CliRunner().invoke(main, ["prove", *arguments])


def test_a_proof_is_one_line():
    result = run("equivalent", "(4,8):(8,1)", "(4,(2,4)):(8,(1,2))")
    assert result.stdout == (
        "proved by algebra: (4,8):(8,1) and (4,(2,4)):(8,(1,2)) have the same value at each index\n"
    )


def test_a_counterexample_is_told_line_by_line():
    result = run("injective", "(?m{div=16},?n):(1,?d{div=8})", "--assume", "d > 0")
    assert result.exit_code == 1
    assert result.stdout.splitlines() == [
        "refuted by enumeration: the coordinates (8,0) and (0,1) both map to 8",
        "  ?m            16",
        "  ?n            2",
        "  ?d            8",
        "  coordinate 1  (8,0)",
        "  coordinate 2  (0,1)",
        "  index 1       8",
        "  index 2       16",
        "  offset        8",
    ]


def test_unknown_says_so_and_is_no_success():
    hard = ["equivalent", "(?m,?n):(?a,1)", "(?m,?n):(?b,1)", "--assume", "a*a == b*b", "--timeout", "0.05"]
    result = run(*hard)
    assert result.exit_code == 1
    assert result.stdout.startswith("unknown: ")
    assert "Z3 gave no answer within 0.05 s" in result.stdout
    answer = json.loads(run(*hard, "--format", "json").stdout)
    assert (answer["verdict"], answer["counterexample"], answer["by"]) == ("unknown", None, None)
    assert "--timeout" in answer["reason"]


BAD = [
    (["injective", "foo"], "unexpected"),
    (["injective", ""], "unexpected end"),
    (["injective", "(4,8)"], "expects a layout"),
    (["injective", "S<3,3,3>"], "expects a layout"),
    (["injective", "(4):(1,2)"], "one profile"),
    (["injective", "(0,4):(1,4)"], "positive"),
    (["injective", "S<3,3,1> o 0 o 8:1"], "swizzle"),
    (["injective", "(4,4):(1,1@0)"], "cannot be mixed"),
    (["injective", "(4,4):(1@0,1@1@0)"], "a part of it"),
    (["injective", "8:1/2@0"], "between elements"),
    (["injective", "(?m{div=8},?m{div=4}):(1,8)"], "two types"),
    (["injective", "(?{div=0}):(1)"], "divisor"),
    (["injective", "(" * 80 + ")" * 80], "nest deeper"),
    (["injective", "9" * 40 + ":1"], "64 bits"),
    (["injective", "4:1 " * 20_000], "at most"),
    (["injective", "!cute.memref<f16, smem, align<16>>"], "memory reference"),
    (["injective", 'memref<f16, smem, align<24>, "4:1">'], "power of two"),
    (["injective", '!cute.memref<f128, smem, S<1,0,1>, "4:1">'], "splits elements"),
    (["bijective", "(4,4):(1@0,1@1)"], "prove covers"),
    (["equivalent", "4:1", "4:1@0"], "to offsets"),
    (["covers", "4:1", "(0,4)"], "shape of positive integers"),
    (["covers", "4:1", "4:1"], "shape of positive integers"),
    (["covers", "4:1", "?"], "shape of positive integers"),
    (["covers", "4:1", "()"], "shape of positive integers"),
    (["covers", "(4,4):(1@0,1@2)", "(4,4)"], "does not have"),
    (["aligned", "4:1", "--vector", "4"], "--element"),
    (["aligned", "4:1", "--vector", "0", "--element", "f16"], "--vector"),
    (["aligned", "4:1", "--vector", "3", "--element", "f16"], "use --bytes"),
    (["aligned", "4:1", "--vector", "4", "--element", "f16", "--bytes", "6"], "power of two"),
    (["aligned", "4:1", "--vector", "4", "--element", "f17"], "unknown element type"),
    (["aligned", "4:1", "--vector", "4", "--element", "f16", "--mode", "3"], "no mode 3"),
    (["aligned", "4:1", "--vector", "4", "--element", "f16", "--swizzle", "4:1"], "expects a swizzle"),
    (["aligned", "4:1", "--vector", "4", "--element", "f16", "--align", "12"], "power of two"),
    (["aligned", "(4,4):(1@0,1@1)", "--vector", "4", "--element", "f16"], "not to addresses"),
    (["conflict-free", "(32,1):(1,0)", "--element", "f32", "--access", "ldmatrix.x8"], "unknown shared-memory"),
    (
        ["conflict-free", "(32,1):(1,0)", "--element", "f32", "--access", "ld.shared.v4.b64"],
        "unknown shared-memory",
    ),
    (
        ["conflict-free", "(32,1):(1,0)", "--element", "f32", "--access", "ld.shared.b16"],
        "not a whole number of elements",
    ),
    (["conflict-free", "32:1", "--element", "f32", "--access", "ld.shared.b32"], "two modes"),
    (["conflict-free", "64:1", "--element", "f16", "--access", "ldmatrix"], "rows and columns"),
    (["conflict-free", "(4,64):(64,1)", "--element", "f16", "--access", "ldmatrix"], "8 rows"),
    (["conflict-free", "(?,64):(64,1)", "--element", "f16", "--access", "ldmatrix"], "for all its values"),
    (["conflict-free", "(8,8):(8,1)", "--element", "f16", "--access", "ldmatrix.x4"], "4 matrices"),
    (
        ["conflict-free", "(8,8):(8,1)", "--tv", "(32,4):(1,32)", "--element", "f32", "--access", "ld.shared.b32"],
        "beyond the 64",
    ),
    (["injective", "4:1", "--assume", "m >= 1"], "names ?m"),
    (["injective", "(?m):(1)", "--assume", "m"], "a relation"),
    (["injective", "(?m):(1)", "--assume", "m >= 1 >= 0"], "a relation"),
    (["injective", "(?m):(1)", "--assume", "m & 1 >= 0"], "unexpected '&'"),
    (["injective", "(?m,?n):(1,8)", "--assume", "m % n == 0"], "'%' requires a positive integer"),
    (["injective", "(?m):(1)", "--assume", "p = m - 1", "--assume", "p = m"], "defined twice"),
    (["injective", "(?m):(1)", "--assume", "p >= 0", "--assume", "p = m"], "names ?p"),
    (["injective", "(?m):(1)", "--assume", "n % 8 == 0"], "names ?n"),
    (["injective", "(?m):(1)", "--assume", "m % 0 == 0"], "requires a positive integer"),
    (["injective", "4:1", "--timeout", "0"], "--timeout"),
    (["injective", "4:1", "--smt2", "/no/such/folder/q.smt2"], "No such file"),
]


@pytest.mark.parametrize(("arguments", "reason"), BAD, ids=[" ".join(arguments)[:60] for arguments, _ in BAD])
def test_bad_input_is_one_line_and_status_2(arguments, reason):
    result = run(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    said = result.stderr.strip().splitlines()
    assert reason in said[-1]
    assert len(said) == 1 or said[0].startswith("Usage:")  # what click itself refuses


def test_the_question_is_written_also_where_no_solver_is_asked(tmp_path):
    file = tmp_path / "question.smt2"
    assert run("injective", "(4,8):(8,1)", "--smt2", str(file)).exit_code == 0
    lines = file.read_text().splitlines()
    assert "(set-logic QF_BV)" in lines
    assert "(check-sat)" in lines
    assert lines[0].startswith("; (4,8):(8,1) is injective")


STATIC = """
import sys
from tileproof import prove
prove.equivalent("S<3,3,3> o 0 o (64,64):(64,1)", "(64,64):(64,1)")
prove.bijective("S<3,3,3> o 0 o (64,64):(64,1)")
prove.conflict_free("S<3,3,3> o 0 o (?{div=8},64):(64,1)", "ldmatrix.x4", element="f16")
prove.injective("(?m,?n):(1,?ld)", assume=["ld >= m"])
print(sorted({"z3", "numpy", "networkx"} & set(sys.modules)))
"""


def fresh(code: str) -> str:
    """The output of a program in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=PACKAGE.parent, timeout=60, check=True
    )
    return done.stdout.strip()


def test_static_questions_and_algebra_import_no_solver():
    assert fresh(STATIC) == "[]"


def test_start_up_does_not_grow():
    loaded = "import sys, tileproof; print([m for m in sys.modules if m.startswith('tileproof.')])"
    assert fresh(loaded) == "[]"
    assert fresh("import tileproof; print(tileproof.prove.injective('4:1').by)") == "algebra"


def test_layouts_may_be_values():
    layout = Layout((4, 8), (8, 1))
    assert isinstance(tileproof.prove.equivalent(layout, "(4,(2,4)):(8,(1,2))"), Proved)
    swizzled = ComposedLayout(Swizzle(3, 3, 3), 0, Layout((Dynamic(32, 8), 64), (64, 1)))
    assert isinstance(prove.conflict_free(swizzled, "ldmatrix", element=16), Proved)
    assert isinstance(prove.covers(layout, (8, 4)), Proved)
    assert isinstance(prove.injective(Layout((4, 4), (1, 2))), Refuted)
    with pytest.raises(LayoutError, match="positive"):
        prove.injective(Layout((0, 4), (1, 4)))


def test_a_counterexample_of_z3_is_worked_out_again():
    verdict = prove.equivalent("S<1,0,30> o 0 o (?m):(16)", "(?m):(16)")
    assert isinstance(verdict, Refuted)
    assert verdict.by == "z3"
    index = verdict.counterexample["index"]
    assert verdict.counterexample["?m"] > index
    assert (
        verdict.counterexample["offset_1"] == 16 * index ^ (16 * index >> 30 & 1) != verdict.counterexample["offset_2"]
    )


def test_a_budget_is_kept():
    verdict = prove.equivalent("(?m,?n):(?a,1)", "(?m,?n):(?b,1)", assume=["a*a == b*b"], timeout=0.1)
    assert isinstance(verdict, Unknown)


def test_a_budget_is_of_steps_and_not_of_time(monkeypatch: pytest.MonkeyPatch):
    """What is answered is answered on a busy machine too: time ends a question only when it is ten times over."""
    limits: list[tuple[str, object]] = []
    real = z3.Solver.set

    def keep(self: z3.Solver, *given: object, **named: object) -> None:
        limits.append((str(given[0]), given[1]))
        real(self, *given, **named)

    monkeypatch.setattr(z3.Solver, "set", keep)
    solver.solve("(declare-const x (_ BitVec 8))(assert (= x #x01))", ["x"], 0.5)
    assert limits == [("rlimit", 1_000_000), ("timeout", 6000)]
    # As many steps are as many in each process: what is unknown with them is unknown again, at the same step.
    hard = "(declare-const a (_ BitVec 64))(declare-const b (_ BitVec 64))(assert (= (bvmul a b) #x00f0e0d0c0b0a091))"
    hard += "(assert (bvugt a #x0000000000000001))(assert (bvugt b a))(assert (bvult b #x0000000100000000))"
    answer, _, reason = solver.solve(hard, ["a"], 0.01)
    assert solver.solve("(declare-const x (_ BitVec 8))", ["x"], 1e9)[0] is solver.Answer.SATISFIABLE
    assert (answer, reason) == (solver.Answer.UNKNOWN, "20000 steps")


# ---------------------------------------------------------------------------------------------------- the algebra


def facts(*relations, **least):
    symbols = tuple(Symbol(f"?{name}", 1, low, 100) for name, low in least.items())
    named = {symbol.name: symbol for symbol in symbols}
    return read_assumptions(relations, named), named


def number(text, named):
    """``a - b`` as ``a >= b`` has it."""
    return read_assumptions([text], named).assumptions[0].number


@pytest.mark.parametrize(
    ("relations", "claim"),
    [
        (["ld >= m"], "ld + 1 > m"),
        (["a >= b", "b >= c"], "a >= c"),
        (["d >= c*m", "c >= 1"], "d + c >= c*m + 1"),
        (["m == 4*n"], "m >= 3*n"),
        (["a >= b", "b >= a"], "2*a >= a + b"),
        ([], "a*b + 1 > a*b"),
    ],
)
def test_what_follows_from_assumptions(relations, claim):
    known, named = facts(*relations, a=0, b=0, c=0, d=0, m=1, n=1, ld=0)
    assert known.nonnegative(number(claim, named))


@pytest.mark.parametrize(
    ("relations", "claim"),
    [(["ld + 1 >= m"], "ld >= m"), (["a >= b"], "b >= a"), ([], "a*b >= b"), (["a*b >= c"], "a >= c")],
)
def test_what_does_not_follow(relations, claim):
    known, named = facts(*relations, a=0, b=0, c=0, d=0, m=1, n=1, ld=0)
    assert not known.nonnegative(number(claim, named))
    (claimed,) = read_assumptions([claim], named).assumptions
    assert any(not claimed.holds(values) for values in known.some(2000))


def test_z3_names_the_definitions_of_a_quantified_question():
    """They stand in its model beside the values; only the values are read."""
    result = run("covers", "(1000000,1000000):(1000000,1)", "64", "--at-least-once")
    assert result.exit_code == 1
    assert "outside 64" in result.stdout
