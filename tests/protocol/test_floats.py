"""Floating-point numbers that lead back to integers: a scheduler divides by a reciprocal, and corrects the quotient."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tileproof
from protocol.test_never import WINDOW
from tileproof.protocol.ptx_arithmetic import computation
from tileproof.protocol.values import Value

BOOK = tileproof.load_rules()


def computed(opcode: str, *operands: Value) -> Value:
    found = computation(BOOK, opcode)
    assert found is not None
    (value,) = found.function(*operands)
    return value


def bits(number: float) -> int:
    (found,) = struct.unpack("<i", struct.pack("<f", number))
    return int(found)


@pytest.mark.parametrize(
    ("opcode", "operands", "result"),
    [
        ("add.f32", (1.5, 2.25), 3.75),
        ("sub.rn.f32", (1.5, 2.25), -0.75),
        ("mul.ftz.f32", (1.5, -2.0), -3.0),
        ("div.rn.f32", (1.0, 4.0), 0.25),
        ("fma.rn.f32", (2.0, 3.0, 4.0), 10.0),
        ("rcp.approx.ftz.f32", (8.0,), 0.125),
        ("min.f32", (1.0, -1.0), -1.0),
        ("max.f32", (1.0, -1.0), 1.0),
        ("mov.f32", (2.5,), 2.5),
    ],
)
def test_numbers_are_computed(opcode: str, operands: tuple[float, ...], result: float):
    assert computed(opcode, *map(bits, operands)) == bits(result)


@pytest.mark.parametrize(
    ("opcode", "operand", "result"),
    [
        ("cvt.rn.f32.u32", -1, bits(4294967295.0)),
        ("cvt.rn.f32.s32", -3, bits(-3.0)),
        ("cvt.rzi.s32.f32", bits(-2.5), -2),
        ("cvt.rmi.s32.f32", bits(-2.5), -3),
        ("cvt.rpi.s32.f32", bits(2.25), 3),
        ("cvt.rni.s32.f32", bits(2.5), 2),
        ("cvt.rzi.u32.f32", bits(-2.5), 0),
        ("cvt.rzi.u32.f32", bits(4294967040.0), -256),
        ("cvt.rzi.s32.f32", bits(1e20), 2**31 - 1),
    ],
)
def test_they_become_integers_and_come_of_them(opcode: str, operand: int, result: int):
    assert computed(opcode, operand) == result


@pytest.mark.parametrize(
    ("opcode", "operands"),
    [
        ("add.f32", (7, bits(1.0))),  # a small integer that a run supposes is no number
        ("rcp.rn.f32", (0,)),
        ("mul.f32", (bits(3e38), bits(3e38))),
        ("cvt.rzi.s32.f32", (0x7FC00000,)),
        ("add.f32", (None, bits(1.0))),
    ],
)
def test_of_what_is_no_number_nothing_is_known(opcode: str, operands: tuple[int | None, ...]):
    assert computed(opcode, *operands) is None


def test_what_is_not_computed():
    for opcode in ("add.sat.f32", "ex2.approx.f32", "cvt.f32.f16", "cvt.f32.u8", "cvt.rn.bf16x2.f32"):
        assert computation(BOOK, opcode) is None


@given(st.integers(0, 1 << 20), st.integers(1, 1 << 12))
def test_a_quotient_by_a_reciprocal_is_wrong_by_one_at_most(a: int, b: int):
    reciprocal = computed("rcp.approx.ftz.f32", computed("cvt.rn.f32.u32", b))
    found = computed("cvt.rzi.u32.f32", computed("mul.f32", computed("cvt.rn.f32.u32", a), reciprocal))
    assert isinstance(found, int)
    assert found - a // b in (-1, 0, 1)


DIVIDED = WINDOW.replace(
    "COMPUTED",
    """  cvt.rn.f32.u32 %f1, %r20;
  rcp.approx.ftz.f32 %f2, %f1;
  cvt.rn.f32.u32 %f3, 100;
  mul.f32 %f4, %f3, %f2;
  cvt.rzi.u32.f32 %r9, %f4;""",
).replace("  .reg .b64 %rd<2>;\n", "  .reg .b64 %rd<2>;\n  .reg .f32 %f<9>;\n  .reg .b32 %r20;\n  mov.b32 %r20, 24;\n")


@pytest.mark.parametrize(("count", "steps"), [(5, 4), (4, 5)])
def test_a_branch_goes_by_such_a_quotient(count: int, steps: int):
    """100 by 24 is 4: the second wait is behind a branch that nobody takes, or it waits for ever."""
    report = tileproof.check(DIVIDED.replace("COUNT", str(count)))
    (kernel,) = report.files[0].kernels
    wrong = {one.code for one in report.diagnostics if one.severity.value == "error"}
    assert (kernel.status, kernel.steps, wrong) == ("followed", steps, set() if steps == 4 else {"PR126"})


# A role of 32 threads arrives as well where a scale factor is not 0: one that the kernel gets, or loads.
SCALED = """.version 8.7
.target sm_90a
.address_size 64
.visible .entry scaled(.param .f32 scale, .param .u64 place)
.reqntid 96, 1, 1
{
  .reg .pred %p<9>;
  .reg .b32 %r<9>;
  .reg .f32 %f<3>;
  .reg .b64 %rd<3>;
  .shared .align 8 .b8 full[8];
  mov.u32 %r1, %tid.x;
  mov.b32 %r2, full;
  ld.param.f32 %f1, [scale];
  ld.param.u64 %rd1, [place];
  setp.eq.s64 %p1, %rd1, 0;
  @%p1 bra GIVEN;
  ld.global.f32 %f1, [%rd1];
GIVEN:
  setp.eq.f32 %p2, %f1, 0f00000000;
  setp.ne.u32 %p3, %r1, 0;
  @%p3 bra READY;
  selp.b32 %r3, 32, COUNT, %p2;
  mbarrier.init.shared::cta.b64 [%r2], %r3;
READY:
  bar.sync 0;
  setp.lt.u32 %p4, %r1, 32;
  @%p4 bra WAIT;
  setp.lt.u32 %p5, %r1, 64;
  @%p5 bra ARRIVE;
  @%p2 bra WAIT;
ARRIVE:
  mbarrier.arrive.shared::cta.b64 _, [%r2];
WAIT:
  mbarrier.try_wait.parity.shared::cta.b64 %p6, [%r2], 0;
  @!%p6 bra WAIT;
  ret;
}
"""


@pytest.mark.parametrize("load", ["ld.global.f32 %f1, [%rd1]", "ld.global.u64 %rd2, [%rd1];\n  ld.f32 %f1, [%rd2]"])
@pytest.mark.parametrize(("count", "wrong"), [(64, set()), (96, {"PR125"})])
def test_a_scale_factor_decides_how_many_threads_arrive(load: str, count: int, wrong: set[str]):
    text = SCALED.replace("COUNT", str(count)).replace("ld.global.f32 %f1, [%rd1]", load)
    report = tileproof.check(text)
    (kernel,) = report.files[0].kernels
    assert kernel.status == "followed"
    assert {one.code for one in report.diagnostics if one.severity.value == "error"} == wrong
