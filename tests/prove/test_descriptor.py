"""``prove descriptor``: verdicts, counterexamples, the command line, and a second solver."""

from __future__ import annotations

import json
import random

import pytest
from click.testing import CliRunner

import tileproof
from tileproof.cli import main
from tileproof.descriptors.canonical import NoDescriptor, byte_address, describe, described
from tileproof.descriptors.canonical import Tile as OperandTile
from tileproof.evaluate.bitfields import unpack
from tileproof.prove import questions
from tileproof.syntax.layouts import layout

BOOK = tileproof.load_rules()
HOPPER = "!cute_nvgpu.sm90.mma<64x128x16, ab_major = ({}), elem_type = (f16, f16, f32), frag_kind = ss>"
BLACKWELL = "!cute_nvgpu.sm100.mma<128x128x16, num_cta = 1, ab_major = ({}), elem_type = (f16, f16, f32), frag_kind = ss, c_scale_exp = 0>"  # noqa: E501
KK, MM = HOPPER.format("k, k"), HOPPER.format("mn, mn")


def ask(*arguments: str) -> tuple[int, dict[str, object]]:
    done = CliRunner().invoke(main, ["prove", "descriptor", "--format", "json", *arguments])
    return done.exit_code, json.loads(done.stdout) if done.stdout else {"error": done.stderr}


def about(atom: str, layout_: str, *more: str, operand: str = "A") -> tuple[int, dict[str, object]]:
    return ask("--atom", atom, "--operand", operand, "--element", "f16", "--layout", layout_, *more)


PROVED = [
    (KK, "A", "S<3,3,3> o 0 o (128,64):(64,1)", (), "0x4000004000010000"),
    (KK, "A", "(128,64):(64,1)", ("--swizzle", "S<3,4,3>"), "0x4000004000010000"),
    (KK, "A", "S<3,4,3> o 0 o (128,64):(64,1)", (), "0x4000004000010000"),
    (KK, "A", "S<2,3,3> o 0 o (128,32):(32,1)", (), "0x8000002000010000"),
    (KK, "A", "S<1,3,3> o 0 o (128,16):(16,1)", (), "0xc000001000010000"),
    (KK, "A", "((8,8),(8,2)):((8,64),(1,512))", (), "0x0000000800400000"),
    (MM, "A", "S<3,3,3> o 0 o (64,64):(1,64)", (), "0x4000004000000000"),
    (MM, "B", "S<3,3,3> o 0 o ((64,2),64):((1,4096),64)", (), "0x4000004002000000"),
    (BLACKWELL.format("k, k"), "A", "S<3,3,3> o 0 o (128,64):(64,1)", (), "0x4000404000010000"),
    (KK, "A", '!cute.memref<f16, smem, align<1024>, S<3,4,3>, "(128,64):(64,1)">', (), "0x4000004000010000"),
]


@pytest.mark.parametrize(("atom", "operand", "text", "more", "value"), PROVED)
def test_proved(atom, operand, text, more, value):
    status, found = about(atom, text, *more, operand=operand)
    assert (status, found["verdict"], found["by"]) == (0, "proved", "algebra")
    assert found["values"]["value"] == value
    again, same = about(atom, text, *more, "--value", value, operand=operand)
    assert (again, same["verdict"]) == (0, "proved")


def test_any_start_address_and_any_lbo_that_nothing_reads():
    for value in ("0x4000004000010123", "0x4000004000000000", "0x4000004002220000", str(0x4000004000010000)):
        assert about(KK, "S<3,3,3> o 0 o (128,64):(64,1)", "--value", value)[0] == 0


@pytest.mark.parametrize(
    ("text", "value", "field", "given", "needed", "at"),
    [
        # BUGS 1: SBO of the whole N.
        ("S<3,3,3> o 0 o (128,64):(64,1)", "0x4000040000010000", "sbo", 16384, 1024, (8, 0, 1024, 16384)),
        # BUGS 7: swizzle off, the descriptor says 128 bytes; row 1 is the first that a swizzle moves.
        ("((8,8),(8,2)):((8,64),(1,512))", "0x4000000800400000", "swizzle", "128", "none", (1, 0, 16, 144)),
        # BUGS 6: another swizzle.
        ("S<3,3,3> o 0 o (128,64):(64,1)", "0x8000004000010000", "swizzle", "64", "128", (1, 0, 144, 64)),
        # BUGS 10: LBO of an operand without swizzle.
        ("((8,8),(8,2)):((8,64),(1,512))", "0x0000000800080000", "lbo", 128, 1024, (0, 8, 1024, 128)),
        ("S<3,3,3> o 0 o (128,64):(64,1)", "0x4002004000010000", "base_offset", 1, 0, None),
    ],
)
def test_refuted_at_a_field_and_a_coordinate(text, value, field, given, needed, at):
    status, found = about(KK, text, "--value", value)
    example = found["counterexample"]
    assert (status, found["verdict"]) == (1, "refuted")
    assert (example["field"], example["given"], example["needed"]) == (field, given, needed)
    assert at is None or tuple(example[name] for name in ("mn", "k", "layout_byte", "descriptor_byte")) == at


def test_words_that_are_none():
    for value, reason in (("0x4000004000014000", "is in no field"), ("0x1" + "0" * 16, "does not fit in 64 bits")):
        status, found = about(KK, "S<3,3,3> o 0 o (128,64):(64,1)", "--value", value)
        assert (status, found["verdict"]) == (1, "refuted")
        assert reason in found["message"]


def test_no_canonical_form_names_all_that_were_tried():
    """BUGS 13."""
    status, found = about(KK, "(128,64):(65,1)", "--solve")
    assert (status, found["verdict"]) == (1, "refuted")
    tried = found["counterexample"]["tried"]
    assert len(tried) == sum(len(canonical.forms) for canonical in BOOK.canonical.values())
    assert found["counterexample"]["layout_byte"] == 130


@pytest.mark.parametrize(
    ("text", "major", "swizzle"),
    [
        ("(128,64):(64,1)", "k", "128"),
        ("(128,32):(32,1)", "k", "64"),
        ("(128,16):(16,1)", "k", "32"),
        ("((8,16),(8,2)):((8,64),(1,1024))", "k", "none"),
        ("(64,64):(1,64)", "mn", "128"),
        ("S<3,3,3> o 0 o (64,64):(1,64)", "mn", "128"),
    ],
)
def test_solve_finds_major_and_swizzle(text, major, swizzle):
    status, found = about(KK, text, "--solve")
    assert status == 0
    assert (found["values"]["major"], found["values"]["swizzle"]) == (major, swizzle)


def test_dynamic_strides_are_unknown_and_no_success():
    status, found = about(KK, "S<3,3,3> o 0 o (128,64):(?{div=64},1)")
    assert (status, found["verdict"]) == (1, "unknown")
    assert "dynamic strides" in found["reason"]


def test_dynamic_steps_between_tiles_are_proved_for_all_values():
    status, found = about(KK, "S<3,3,3> o 0 o (128,64,?):(64,1,?{div=8192})")
    assert (status, found["values"]["steps"]) == (0, "(2,4,?):(512,2,?{div=1024})")
    status, found = about(KK, "S<3,3,3> o 0 o (?{div=64},64):(64,1)")
    assert (status, found["values"]["value"]) == (0, "0x4000004000010000")
    # Rows that may be no multiple of 64, and a step that may be 8 bytes.
    assert about(KK, "S<3,3,3> o 0 o (?{div=32},64):(64,1)")[1]["verdict"] == "refuted"
    status, found = about(KK, "S<3,3,3> o 0 o (128,64,?):(64,1,?{div=4})")
    assert (status, found["verdict"]) == (1, "refuted")
    assert "a step of ?{div=4} elements may be 8 bytes" in found["message"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--atom", KK, "--operand", "C", "--element", "f16", "--layout", "(64,16):(64,1)"), "must be A or B"),
        (("--atom", KK, "--operand", "A", "--layout", "(64,16):(64,1)"), "missing element type"),
        (("--atom", KK, "--operand", "A", "--element", "f17x", "--layout", "(64,16):(64,1)"), "unknown element type"),
        (("--atom", KK, "--operand", "A", "--element", "f16", "--layout", "(64,16"), "expected"),
        (("--atom", KK, "--operand", "A", "--element", "f16", "--layout", "64"), "'64' is not a layout"),
        (("--atom", "nonsense", "--operand", "A", "--element", "f16", "--layout", "(64,16):(64,1)"), "not an MMA atom"),
        (
            ("--atom", KK, "--operand", "A", "--element", "f16", "--layout", "(64,16):(64,1)", "--value", "0xzz"),
            "is not a descriptor",
        ),
        (
            ("--atom", KK, "--operand", "A", "--element", "f16", "--layout", "(64,16):(64,1)", "--swizzle", "S<3"),
            "expected",
        ),
    ],
)
def test_bad_questions_are_one_line_and_status_2(arguments, message):
    status, found = ask(*arguments)
    assert status == 2
    assert message in found["error"]
    assert found["error"].count("\n") == 1


def test_function_of_the_package():
    found = tileproof.descriptor("S<3,3,3> o 0 o (128,64):(64,1)", KK, "A", "f16")
    assert (found.value, found.lbo, found.sbo, found.swizzle) == (0x4000004000010000, 16, 1024, ".b128")
    with pytest.raises(NoDescriptor, match=r"at \(mn,k\) = \(1,0\)") as caught:
        tileproof.descriptor("(128,64):(64,1)", KK, "A", "f16")
    assert [attempt.coordinate for attempt in caught.value.attempts] == [(1, 0)]


def cases() -> list[tuple[OperandTile, str, str]]:
    """Tiles of random layouts, canonical and not: 240 of them."""
    rng, found = random.Random(9), []
    for _ in range(240):
        bits = rng.choice((8, 16, 32))
        t, w = 128 // bits, rng.choice((1, 2, 4, 8))
        step = rng.choice((w * t, w * t, 8 * t + 1, w * t + t))
        swizzle = {1: ".none", 2: ".b32", 4: ".b64", 8: ".b128"}[w]
        text = f"((8,4),({t},2)):(({step},{rng.choice((8, 16)) * w * t}),(1,{t if w > 1 else 64 * t}))"
        value = layout(text)
        found.append((OperandTile(value, bits, swizzle), ".k", text))  # type: ignore[arg-type]
    return found


@pytest.mark.sweep
def test_verdicts_equal_enumeration_of_addresses():
    """What ``describe`` proves or refutes, element by element, with the swizzles worked out."""
    proved = 0
    for tile, major, _ in cases():
        rows, columns = tile.extents
        try:
            found = describe(BOOK.under("ptx"), "tcgen05.descriptor", tile, major)
        except NoDescriptor as error:
            (attempt,) = error.attempts
            assert attempt.coordinate is not None
            assert attempt.canonical is not None
            here, there = (
                byte_address(BOOK, one, tile.bits, tile.swizzle, attempt.coordinate)
                for one in (tile.layout, attempt.canonical)
            )
            assert here != there
            continue
        proved += 1
        facts = unpack(BOOK.under("ptx"), "tcgen05.descriptor", found.value)
        form = next(
            f for c in BOOK.canonical.values() for f in c.forms if (f.major, f.swizzle) == (major, tile.swizzle)
        )
        read = described(BOOK, form, tile, facts["lbo"], facts["sbo"])
        assert read is not None
        for mn in range(rows):
            for k in range(columns):
                assert byte_address(BOOK, read, tile.bits, facts["swizzle"], (mn, k)) == byte_address(
                    BOOK, tile.layout, tile.bits, tile.swizzle, (mn, k)
                )
    assert 40 < proved < 200


def test_cvc5_repeats_the_verdicts():
    cvc5 = pytest.importorskip("cvc5", reason="the second solver is in the extra 'oracle'")
    repeated = 0
    for tile, major, _ in cases():
        try:
            compared, expected = describe(BOOK.under("ptx"), "tcgen05.descriptor", tile, major).canonical, "unsat"
        except NoDescriptor as error:
            (attempt,) = error.attempts
            if attempt.canonical is None:
                continue
            compared, expected = attempt.canonical, "sat"
        text = questions.equivalent(str(tile.layout), str(compared)).script().text()
        assert answer(cvc5, text) == expected
        repeated += 1
    assert repeated >= 200


def answer(cvc5: object, text: str) -> str:
    solver = cvc5.Solver()  # type: ignore[attr-defined]
    solver.setOption("produce-models", "true")
    parser = cvc5.InputParser(solver)  # type: ignore[attr-defined]
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, text, "question")  # type: ignore[attr-defined]
    said = ""
    while True:
        command = parser.nextCommand()
        if command.isNull():
            return said
        out = command.invoke(solver, parser.getSymbolManager())
        if out.strip() in ("sat", "unsat", "unknown"):
            said = out.strip()


def test_smt2_is_written(tmp_path):
    path = tmp_path / "question.smt2"
    assert about(KK, "S<3,3,3> o 0 o (128,64):(64,1)", "--smt2", str(path))[0] == 0
    assert "(check-sat)" in path.read_text()
    assert about(KK, "S<3,3,3> o 0 o (128,64):(64,1)", "--smt2", str(tmp_path / "no" / "x"))[0] == 2


def test_degenerate_layouts():
    given = ("--atom", KK, "--operand", "A", "--element", "f16")
    for more in ((), ("--solve",), ("--value", "0x4000004000010000")):
        assert about(KK, "():()", *more)[0] == 1
        result = CliRunner().invoke(main, ["prove", "descriptor", *given, "--layout", "(_,8):(1,1)", *more])
        assert result.exit_code == 2
        assert "is not a layout: expects positive shape mode" in result.output
