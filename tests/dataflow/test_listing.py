"""``descriptors`` of PTX: what is known of the bits by which wgmma and tcgen05.mma read shared memory."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from conftest import corpus_files
from tileproof import api
from tileproof.cli import main

D = ", ".join(f"%f{i}" for i in range(4))
# Both addresses are unknown: that of A is cut to its field, that of B is not.
WGMMA = f""".version 8.7
.target sm_90a
.address_size 64
.file 1 "gemm.py"
.visible .entry gemm(.param .u32 a, .param .u32 b)
{{
  .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f32 %f<9>;
  ld.param.u32 %r1, [a];
  ld.param.u32 %r2, [b];
  bfe.u32 %r3, %r1, 4, 14;
  cvt.u64.u32 %rd1, %r3;
  or.b64 %rd2, %rd1, 4611686293305360384;
  shr.u32 %r4, %r2, 4;
  cvt.u64.u32 %rd3, %r4;
  or.b64 %rd4, %rd3, 4611686293305360384;
  wgmma.fence.sync.aligned;
  .loc 1 31 29
  wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {{{D}}}, %rd2, %rd4, 1, 1, 1, 0, 0;
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;
  ret;
}}
"""
TCGEN05 = """.version 8.7
.target sm_100a
.address_size 64
.visible .entry gemm(.param .u64 word, .param .u32 columns)
{
  .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p;
  ld.param.u64 %rd1, [word];
  ld.param.u32 %r1, [columns];
  and.b64 %rd2, %rd1, 16383;
  or.b64 %rd3, %rd2, BITS;
  setp.eq.u32 %p, %r1, 0;
  tcgen05.mma.cta_group::1.kind::f16 [%r1], %rd3, %rd1, 136314896, %p;
  ret;
}
"""
KNOWN = 0x4000_4040_0001_0000  # swizzle 128, version 1, SBO 1024, LBO 16


def listed(text: str) -> list[dict[str, object]]:
    return [one.as_json() for one in api.listed_descriptors(text=text)]


def test_bits_that_are_known_and_bits_that_the_address_may_carry_into():
    at = WGMMA.splitlines().index("  .loc 1 31 29") + 2
    a, b = listed(WGMMA)
    place = {"file": "<text>", "line": at, "origin": {"file": "gemm.py", "line": 31, "column": 30}}
    assert a == {**place, "column": a["column"], "operand": "A", "swizzle": 128, "lbo": 16, "sbo": 1024} | {
        "value": "0x4000004000010000"
    }
    assert b == {**place, "column": b["column"], "operand": "B", "swizzle": 128, "lbo": None, "sbo": 1024} | {
        "value": None,
        "reason": "known only in the kernel: bits 17-27",
    }
    line = WGMMA.splitlines()[at - 1]
    assert [line[one["column"] - 1 :][:4] for one in (a, b)] == ["%rd2", "%rd4"]


def test_a_step_along_k_does_not_hide_the_fields():
    moved = WGMMA.replace("  or.b64 %rd4", "  add.s64 %rd2, %rd2, 2;\n  or.b64 %rd4")
    assert listed(moved)[0]["value"] == "0x4000004000010000"


def test_a_is_not_listed_where_it_is_in_registers():
    registers = WGMMA.replace("%rd2, %rd4, 1, 1, 1, 0, 0", "{%r1, %r1, %r1, %r1}, %rd4, 1, 1, 1, 0")
    assert [one["operand"] for one in listed(registers)] == ["B"]


@pytest.mark.parametrize(
    ("word", "swizzle", "lbo"),
    [(KNOWN, 128, 16), (KNOWN | 1 << 61 | 1 << 62, None, None), (KNOWN - (1 << 62) | 1 << 61, "128b32", 16)],
    ids=["swizzle 128", "swizzle code 3", "128b32"],
)
def test_the_word_of_tcgen05(word, swizzle, lbo):
    a, b = listed(TCGEN05.replace("BITS", str(word)))
    assert (a["operand"], a["swizzle"], a["lbo"]) == ("A", swizzle, lbo)
    assert a["value"] == (None if swizzle is None else f"0x{word:016x}")
    assert (b["operand"], b["swizzle"], b["reason"]) == ("B", None, "known only in the kernel: bits 16-63")


def test_lbo_is_no_distance_where_it_is_an_address():
    a, _ = listed(TCGEN05.replace("BITS", str(KNOWN | 1 << 52)))
    assert (a["swizzle"], a["lbo"], a["sbo"]) == (128, None, 1024)


def test_the_command(tmp_path: Path):
    file = tmp_path / "gemm.ptx"
    file.write_text(WGMMA, encoding="utf-8")
    done = CliRunner().invoke(main, ["descriptors", str(file)])
    assert done.exit_code == 0
    a, b = done.stdout.splitlines()
    assert a.endswith(": A  swizzle 128  lbo 16  sbo 1024  0x4000004000010000  (gemm.py:31:30)")
    assert b.endswith("B  swizzle 128  lbo dynamic  sbo 1024  known only in the kernel: bits 17-27  (gemm.py:31:30)")
    found = json.loads(CliRunner().invoke(main, ["descriptors", str(file), "--format", "json"]).stdout)
    assert [one["operand"] for one in found["descriptors"]] == ["A", "B"]
    file.write_text(TCGEN05.replace("BITS", "0"), encoding="utf-8")
    assert CliRunner().invoke(main, ["descriptors", str(file)]).exit_code == 1


def test_malformed_ptx_is_refused_with_its_place(tmp_path: Path):
    file = tmp_path / "gemm.ptx"
    file.write_text(WGMMA.replace("%rd4,", "%rd99,"), encoding="utf-8")
    done = CliRunner().invoke(main, ["descriptors", str(file)])
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith(f"tileproof: {file}:") and done.stderr.count("\n") == 1
    with pytest.raises(ValueError, match="rd99"):
        api.listed_descriptors(file)


TWINS = [path for path in corpus_files("corpus/*/*.ptx") if path.with_suffix(".mlir").exists()]


@pytest.mark.sweep
@pytest.mark.skipif(not TWINS, reason="no ../shared beside this checkout")
def test_what_is_known_of_the_ptx_is_what_the_ir_says():
    words = pairs = 0
    for path in TWINS[::2]:
        ptx, ir = (api.listed_descriptors(one) for one in (path, path.with_suffix(".mlir")))
        if not ptx or not ir or any(one.value is None for one in ir):
            continue
        known = {(one.operand, one.value) for one in ptx if one.value is not None}
        fields = {(one.operand, one.swizzle, one.sbo) for one in ptx}
        assert known <= {(one.operand, one.value) for one in ir}, path.name
        assert fields <= {(one.operand, one.swizzle, one.sbo) for one in ir}, path.name
        words, pairs = words + len(known), pairs + len(fields)
    assert words > 5
    assert pairs > 20
