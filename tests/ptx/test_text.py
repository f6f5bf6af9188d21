"""The scanner of instructions and grammar/ptx.lark accept the same texts, and the scanner cuts them right."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import corpus_files
from tileproof.ptx.constant import constant
from tileproof.ptx.text import FLOAT32, FLOAT64, INTEGER, SINK, cut
from tileproof.syntax import SyntaxFault
from tileproof.syntax.ptx import fault

WELL_FORMED = [
    "wgmma.fence.sync.aligned;",
    "@p0 mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {f0,f1,f2,f3}, {r0,r1,r2,r3}, {r4,r5}, {f0,f1,f2,f3};",
    "@!%p1 ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r0}, [%r1+16];",
    "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [r0], [l0, {r1, r2}], [r3], l5;",
    "tcgen05.mma.cta_group::1.kind::f16 [r0],l0,l1,r1,{r2,r3,r4,r5},!p0;",
    "elect.sync %r1|%p2, -1;",
    "cp.async.ca.shared.global [r0 + -8], [l0], 16, 0x10;",
    "mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {f0},{r0},{r1},{f0},r0,1+1; // trailing",
    "st.shared.v2.f32 [smem], {0f3F800000, 1.5};",
    "tcgen05.st.sync.aligned.16x64b.x1.b32 [r0], {_};",
    "setmaxnreg.inc.sync.aligned.u32 1 ? (.s64)(2 + 3) * 8 : ~-1 >> 2;",
    "mbarrier.inval.shared.b64 [r0+4*(2+6)+--8];",
    "// before\nldmatrix.sync /* what {it} does; */ {r0}, [r1]; // after",
]
ILL_FORMED = [
    ("ldmatrix.sync.aligned", 21),
    ("ldmatrix.sync {r0,r1, [r2];", 22),
    ("ldmatrix.sync {r0}}, [r2];", 18),
    ("ldmatrix.sync r0,;", 17),
    ("ldmatrix.sync ,r0;", 14),
    ("ldmatrix.sync [];", 15),
    ("ldmatrix.sync [r0,];", 18),
    ("ldmatrix..sync r0;", 8),
    ("@p0;", 3),
    ("", 0),
    ("ldmatrix.sync r0; r1", 18),
    ("ldmatrix.sync {r0},[r1-8];", 22),
    ("ldmatrix.sync {r0},[r1+8+];", 25),
]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2+3*8", 26),
        ("(2+3)*8", 40),
        ("41-2", 39),
        ("-7/2", -3),
        ("-7 % 4", -3),
        ("1<<4>>2", 4),
        ("6&3|8^12", 6),
        ("~0", -1),
        ("!5*40", 0),
        ("3<4==1", 1),
        ("0?1:2?3:4", 3),
        ("0xFFFFFFFFFFFFFFFF+0", -1),
        ("--010", 8),
        ("(.u64)0b101", 5),
        ("1+", None),
        ("08", None),
        ("1/0", None),
        ("81%41", None),
        ("(" * 200 + "1" + ")" * 200, None),
    ],
)
def test_constant_expressions(text: str, value: int | None):
    assert constant(text) == value


@pytest.mark.parametrize("text", WELL_FORMED)
def test_both_accept(text: str):
    assert fault(text) is None
    cut(text)


@pytest.mark.parametrize(("text", "column"), ILL_FORMED)
def test_both_refuse_and_say_where(text: str, column: int):
    found = fault(text)
    assert found is not None
    assert found.start == column
    with pytest.raises(SyntaxFault) as refused:
        cut(text)
    assert refused.value.start == column


@given(st.data())
def test_they_agree_on_damaged_instructions(data: st.DataObject):
    text = data.draw(st.sampled_from(WELL_FORMED))
    rng = random.Random(data.draw(st.integers(0, 10**6)))
    for _ in range(rng.randint(1, 2)):
        at = rng.randrange(len(text))
        text = (
            text[:at]
            + rng.choice(["", "", ",", "{", "}", "[", "]", ";", " ", ".", "r7", "!", "-", "::"])
            + text[at + 1 :]
        )
    try:
        cut(text)
    except SyntaxFault as refused:
        assert 0 <= refused.start <= len(text)
        accepted = False
    else:
        accepted = True
    assert accepted is (fault(text) is None), text


def test_an_instruction_is_cut_into_its_pieces():
    found = cut("@!p3 tcgen05.mma.cta_group::1.kind::f16 [r0+4], l0, {r2, r3}, !p0, -0x10;")
    assert found.opcode == "tcgen05.mma.cta_group::1.kind::f16"
    assert found.guard == "p3"
    address, descriptor, lanes, enable, number = (operand.parts[0] for operand in found.operands)
    assert found.operands[0].address
    assert (address.names, address.offset) == (("r0",), 4)
    assert descriptor.names == ("l0",)
    assert (lanes.names, lanes.registers) == (("r2", "r3"), 2)
    assert enable.negated
    assert number.value == -16


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("7", INTEGER, 7),
        ("0x1F", INTEGER, 31),
        ("0b101U", INTEGER, 5),
        ("017", INTEGER, 15),
        ("1+1", INTEGER, 2),
        ("1.5", FLOAT64, None),
        ("0d3FF0000000000000", FLOAT64, None),
        ("0f3F800000", FLOAT32, None),
        ("_", SINK, None),
    ],
)
def test_constants(text: str, kind: str, value: int | None):
    part = cut(f"x.y {text};").operands[0].parts[0]
    assert part.names == (kind,)
    assert part.value == value


@pytest.mark.parametrize(
    ("text", "bits"),
    [
        *(("0f3F800000", 0x3F800000), ("0Fbf800000", 0xBF800000 - (1 << 32))),
        *(("0d3FF0000000000000", 0x3FF << 52), ("1.5", None), ("0x0f", None), ("r0", None)),
    ],
)
def test_bits_of_a_constant(text: str, bits: int | None):
    assert cut(f"x.y {text};").operands[0].parts[0].bits == bits


@pytest.mark.skipif(not corpus_files("corpus/*/*.ptx"), reason="no ../shared beside this checkout")
def test_they_agree_on_every_instruction_of_the_corpus():
    seen = set()
    for path in corpus_files("corpus/*/*.ptx"):
        for line in path.read_text(encoding="utf-8").splitlines():
            text = line.strip()
            if text.endswith(";") and text[0] not in ".{}/" and text not in seen and len(seen) < 6000:
                seen.add(text)
                assert fault(text) is None, text
                cut(text)
    assert len(seen) > 1000
