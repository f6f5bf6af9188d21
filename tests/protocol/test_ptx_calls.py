"""Kernels in PTX that call device functions: they are judged as if the bodies stood in place of the calls."""

from __future__ import annotations

from pathlib import Path

import pytest
import test_ptx_kernels as kernels
import test_ptx_practices as practices
import test_ptx_producers as producers
from outlined import outlined
from ptxas import assembled, needs_ptxas

import tileproof
from tileproof.judge.outcome import FileReport
from tileproof.ptx import graph

RIGHT = {
    "ring": kernels.RING,
    "store": kernels.STORE,
    "exchange": kernels.EXCHANGE,
    **practices.RIGHT,
    **producers.RIGHT,
}
MISTAKES = {**kernels.MISTAKES, **practices.MISTAKES, **producers.MISTAKES}
WRONG = {name: text.replace(right, wrong) for name, (text, right, wrong, _) in MISTAKES.items()}
LONG = {"written out", "a stage that is not freed in a late turn"}  # seconds each, and nothing more of a call
MOVED = {name: text for name, text in {**RIGHT, **WRONG}.items() if name not in LONG}


def said(text: str) -> tuple[list[tuple[str, int, str]], list[tuple[int, int]]]:
    """The findings with their lines, and of each kernel its steps and how many were executed."""
    report: FileReport = tileproof.check(text).files[0]
    found = [(one.code, report.source.position(one.span.start).line, one.message) for one in report.diagnostics]
    return sorted(found), [(one.steps, one.executed) for one in report.kernels]


@pytest.mark.parametrize("text", MOVED.values(), ids=MOVED)
def test_a_body_that_is_moved_to_a_function_is_judged_alike(text: str):
    moved = outlined(text)
    assert moved != text
    notes = {"PR190"}  # says the line of the kernel, which is another
    here, there = said(text), said(moved)
    assert [one for one in here[0] if one[0] not in notes] == [one for one in there[0] if one[0] not in notes]
    assert here[1] == there[1]


@pytest.mark.parametrize("name", ["exchange", "store", "ring"])
def test_a_kernel_is_not_followed_without_what_it_calls(name: str, monkeypatch: pytest.MonkeyPatch):
    """Where the whole would be too long a call stays one, and may be the barrier that all depends on."""
    meet = ".func meet()\n{\n  bar.sync 0;\n  ret;\n}\n"
    text = RIGHT[name].replace("  bar.sync 0;\n", "  call.uni meet;\n").replace(".visible", f"{meet}.visible")
    monkeypatch.setattr(graph, "_MOST", 1)
    found, _ = said(text)
    assert [(code, "what this calls may synchronise" in message) for code, _, message in found] == [("PR190", True)]
    monkeypatch.undo()
    assert said(text.replace("meet", "rendezvous"))[0] == []


def test_what_is_kept_of_a_kernel_has_the_places_of_its_functions():
    """Another text around it moves the lines, and the kernel is not studied again."""
    wrong = outlined(WRONG["no proxy fence"])
    (first, *_), _ = said(wrong)
    (moved, *_), _ = said(wrong.replace(".func", "// one line\n// and one more\n.func", 1))
    assert moved == (first[0], first[1] + 2, moved[2])


def test_a_fault_in_a_function_is_one_of_all_kernels_that_call_it():
    text = outlined(WRONG["no proxy fence"])
    second = text[text.index(".visible") :].replace("store(", "again(").replace(".entry store", ".entry again")
    found, kernels = said(text + second)
    assert found == said(text)[0] and len(kernels) == 2


def test_what_an_unknown_function_returns_is_not_known():
    """It is no parameter of the kernel, of which a run would suppose how large it is."""
    extern = ".extern .func (.param .b32 found) somewhere();\n"
    call = "  .param .b32 got;\n  call (got), somewhere, ();\n  ld.param.b32 %r17, [got];\n"
    text = kernels.RING.replace(".visible", f"{extern}.visible").replace(
        "  mov.b32 %r2, smem;\n", f"{call}  mov.b32 %r2, smem;\n"
    )
    (kernel,) = tileproof.check(text.replace("[%r3], 1;", "[%r3], %r17;")).files[0].kernels
    assert "barrier_count" in [one.case for one in kernel.reasons]
    (kernel,) = tileproof.check(text).files[0].kernels
    assert (kernel.executed, kernel.reasons) == (kernel.steps, ())


# Barriers that one function initialises, another one waits for, and a third one tells the address of.
HELPED = (
    practices.HEAD
    + """.func (.param .b32 which) barrier_of(.param .b32 stage)
{
  .reg .b32 %r<4>;
  ld.param.b32 %r1, [stage];
  shl.b32 %r1, %r1, 3;
  mov.b32 %r2, smem;
  add.s32 %r3, %r2, %r1;
  st.param.b32 [which], %r3;
  ret;
}
.func initialise(.param .b32 barrier, .param .b32 count, .param .b8 first)
{
  .reg .pred %p<2>; .reg .b16 %rs<2>; .reg .b32 %r<3>;
  ld.param.b32 %r1, [barrier];
  ld.param.b32 %r2, [count];
  ld.param.b8 %rs1, [first];
  setp.eq.s16 %p1, %rs1, 0;
  @%p1 ret;
  mbarrier.init.shared::cta.b64 [%r1], %r2;
  ret;
}
.func wait(.param .b32 barrier, .param .b32 parity)
{
  .reg .pred %p<2>; .reg .b32 %r<3>;
  ld.param.b32 %r1, [barrier];
  ld.param.b32 %r2, [parity];
AGAIN:
  mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], %r2;
  @%p1 ret;
  bra AGAIN;
}
.visible .entry helped()
.reqntid 64, 1, 1
{
  .reg .pred %p<5>; .reg .b16 %rs<5>; .reg .b32 %r<12>;
  .param .b32 found; .param .b32 number; .param .b32 count; .param .b8 flag; .param .b32 parity;
  mov.u32 %r1, %tid.x;
  setp.eq.s32 %p1, %r1, 0;
  selp.b16 %rs1, 1, 0, %p1;
  mov.b32 %r2, 0;
INITIALISE:
  st.param.b32 [number], %r2;
  call.uni (found), barrier_of, (number);
  ld.param.b32 %r3, [found];
  st.param.b32 [number], %r3;
  st.param.b32 [count], 32;
  st.param.b8 [flag], %rs1;
  call.uni initialise, (number, count, flag);
  add.s32 %r2, %r2, 1;
  setp.lt.s32 %p2, %r2, 2;
  @%p2 bra INITIALISE;
  bar.sync 0;
  shr.u32 %r4, %r1, 5;
  st.param.b32 [number], %r4;
  call.uni (found), barrier_of, (number);
  ld.param.b32 %r5, [found];
  xor.b32 %r6, %r4, 1;
  st.param.b32 [number], %r6;
  call.uni (found), barrier_of, (number);
  ld.param.b32 %r7, [found];
  shl.b32 %r8, %r1, 2;
  mov.b32 %r9, smem;
  add.s32 %r9, %r9, %r8;
  st.shared.b32 [%r9+1024], %r1;
  mbarrier.arrive.shared::cta.b64 _, [%r5];
  st.param.b32 [number], %r7;
  st.param.b32 [parity], 0;
  call.uni wait, (number, parity);
  xor.b32 %r8, %r8, 128;
  mov.b32 %r10, smem;
  add.s32 %r10, %r10, %r8;
  ld.shared.b32 %r11, [%r10+1024];
  ret;
}
"""
)


@needs_ptxas
def test_ptxas_assembles_them(tmp_path: Path):
    for name, text in {**{name: outlined(text) for name, text in RIGHT.items()}, "helped": HELPED}.items():
        ran = assembled(text, tmp_path, whole=True)
        assert ran.returncode == 0, (name, ran.stdout + ran.stderr)


def test_functions_get_and_return_addresses_counts_and_flags():
    assert said(HELPED) == ([], [(6, 6)])


@pytest.mark.parametrize(
    ("right", "wrong", "codes"),
    [
        ("[count], 32;", "[count], 33;", {"PR125"}),
        ("[parity], 0;", "[parity], 1;", {"PR126"}),
        ("  call.uni wait, (number, parity);\n", "", {"PR116"}),
        ("%r6, %r4, 1;", "%r6, %r4, 0;", {"PR116"}),
        ("%r1, %r1, 3;", "%r1, %r1, 2;", {"PR141"}),
        ("selp.b16 %rs1, 1, 0, %p1;", "mov.b16 %rs1, 256;", {"PR116", "PR120"}),
    ],
)
def test_what_is_wrong_of_them_is_found(right: str, wrong: str, codes: set[str]):
    assert HELPED.count(right) == 1
    found = tileproof.check(HELPED.replace(right, wrong)).diagnostics
    assert {one.code for one in found if one.severity.value == "error"} == codes
