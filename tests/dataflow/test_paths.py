"""Small kernels and what is wrong with them: cases.toml. ptxas assembles each, so that nothing else is wrong."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from ptxas import assembled, needs_ptxas

import tileproof

HERE = Path(__file__).parent
DATA = tomllib.loads((HERE / "cases.toml").read_text(encoding="utf-8"))
CASES = [{**DATA["defaults"], **case} for case in DATA["case"]]
DESCRIPTORS = {"sm_90a": "0x4000004000010000", "sm_100a": "0x4000404000010000"}
HEAD = """.version 9.0
.target {target}
.address_size 64
{before}
.visible .entry kernel()
.reqntid 128 {performance}
{{
.reg .b32 r<20>; .reg .f32 f<20>, g<128>; .reg .b64 l<9>; .reg .pred p<4>;
"""


def text_of(case: dict[str, str]) -> str:
    word = case.get("descriptor", DESCRIPTORS[case["target"]])
    wgmma = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {f1, f2, f3, f4}, l1, l1, p1, 1, 1, "
    body = case["body"].replace("@WGMMA@", f"{wgmma}{case.get('majors', '0, 0')};").replace("@DESC@", word)
    for name, first in (("@FIRST@", 0), ("@SECOND@", 64)):
        body = body.replace(name, ", ".join(f"g{i}" for i in range(first, first + 64)))
    first = f"mov.b64 l1, {word};\n" if case["target"] == "sm_90a" else ""
    head = HEAD.format(target=case["target"], before=case.get("before", ""), performance=case.get("performance", ""))
    return f"{head}{first}{body}ret;\n}}\n"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_what_is_found(case: dict):
    text = text_of(case)
    found = tileproof.check(text, ignore=["PR190"]).diagnostics
    lines = text.splitlines()
    shown = [(one.code, lines[one.source.position(one.span.start).line - 1]) for one in found]
    assert [code for code, _ in shown] == [code for code, _ in case["expect"]], [one.message for one in found]
    for (_, line), (_, expected) in zip(shown, case["expect"], strict=True):
        assert line.startswith(expected)


@needs_ptxas
def test_ptxas_assembles_all_cases(tmp_path: Path):
    for case in CASES:
        done = assembled(text_of(case), tmp_path, whole=bool(case.get("linked")))
        assert done.returncode == 0, (case["name"], done.stderr)
        assert case.get("advisory", "") in done.stderr, (case["name"], done.stderr)
        assert case.get("silent", "?") not in done.stderr, (case["name"], done.stderr)


ROOM = next(case for case in CASES if case["name"] == "registers for all but the last accumulator in flight")


@pytest.mark.parametrize(
    ("registers", "said"),
    [(89, ""), (90, "C7511"), (129, "C7511"), (130, "C7512"), (153, "C7512"), (154, "")],
)
@needs_ptxas
def test_room_beside_the_registers_in_flight_is_what_ptxas_needs(tmp_path: Path, registers: int, said: str):
    """Two wgmma of 64 registers are in flight; one of them alone needs 90, or ptxas rejects it."""
    text = text_of({**ROOM, "performance": f".maxnreg {registers}"})
    warnings = [one.message for one in tileproof.check(text).diagnostics if one.code == "PR142"]
    assert bool(warnings) == bool(said) and all(f"({said})" in one for one in warnings)
    done = assembled(text, tmp_path)
    assert (done.returncode != 0) == (registers < 90), done.stderr
    assert not any(code in done.stderr for code in {"C7511", "C7512"} - {said}), done.stderr
    assert said in done.stderr


TANGLED = """.version 9.0
.target sm_90a
.address_size 64
.visible .entry kernel() {
.reg .pred p; .reg .b64 l<4>; .reg .b32 r<4>;
@p bra B;
A: mov.b32 r1, 1;
B: mov.b32 r2, 1;
@p bra A;
P: .callprototype _ ();
call l1, P;
cp.async.cg.shared.global [r1], [l2], 16;
cp.async.wait_all;
ret;
}
"""


def test_control_flow_that_no_graph_shows_is_named():
    (kernel,) = tileproof.check(TANGLED).files[0].kernels
    assert [reason.case for reason in kernel.reasons] == ["irreducible", "indirect"]
    lines = [TANGLED[: reason.span.start].count("\n") + 1 for reason in kernel.reasons if reason.span is not None]
    assert lines == [9, 11]


SOURCE = """.version 9.0
.target sm_90a
.address_size 64
.file 1 "kernel.cu"
.file 2 "library.h"
.visible .entry kernel()
{
.reg .b32 r<9>; .reg .b64 l<9>;
.loc 1 10 1
mov.b32 r1, 0;
.loc 1 20 5
.loc 2 7 3, function_name $info, inlined_at 1 20 5
.loc 2 70 9, function_name $info, inlined_at 2 7 3
cp.async.cg.shared.global [r1], [l5], 16;
.loc 1 30 2
ret;
}
.section .debug_str {
$info:
.b8 107, 0
}
"""


def test_a_finding_names_the_line_of_the_user():
    """Of inlined code the call in the file of the kernel."""
    (found,) = tileproof.check(SOURCE, ignore=["PR190"]).diagnostics
    assert found.code == "PR108"
    assert str(found.origin) == "kernel.cu:20:5"
    own = SOURCE.replace("inlined_at 1 20 5", "inlined_at 2 1 1")
    (found,) = tileproof.check(own, ignore=["PR190"]).diagnostics
    assert str(found.origin) == "library.h:70:9"


def test_reports_name_it_first(tmp_path: Path):
    from conftest import command  # noqa: PLC0415

    path = tmp_path / "kernel.ptx"
    path.write_text(SOURCE, encoding="ascii")
    shown = command("check", "--ignore", "PR190", str(path)).stdout.splitlines()
    assert shown[0].startswith("kernel.cu:20:5: error: ")
    assert shown[1:4] == [
        "      = by: library.h:70:9",
        "      = by: library.h:7:3",
        f"      = in: {path}:14:1",
    ]
    assert '"origin": {' in command("check", "--format", "json", str(path)).stdout
