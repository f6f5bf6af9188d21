"""PTX modules: header, instructions with their places, registers by scope, and `check` on them."""

from __future__ import annotations

from pathlib import Path

import pytest

import tileproof
from conftest import corpus
from protocol.test_protocol_corpus import WARNED, WRONG
from tileproof.base.source import Source
from tileproof.ptx.module import read_module

BOOK = tileproof.load_rules()
MODULE = """\
// a comment; with a semicolon
.version 8.7
.target sm_100a, debug
.address_size 64
.global .align 4 .b8 table[4] = {1, 2, 3, 4};
.visible .entry kernel(
  .param .u64 first, .param .align 64 .b8 map[128]
)
.reqntid 192, 1, 1
{
  .reg .b32 %r<10>; .reg .b64 %rd<4>;
  .reg .pred P;
  .loc 1 2 3
  mov.b32 %r1, 5;
  { .reg .b64 %r1; /* inner; */ LABEL:
    @P bra.uni
      LABEL;
  }
$L__1:
  ret;
}
"""


def test_statements_are_cut_and_registers_found_by_scope():
    module = read_module(BOOK, Source("k.ptx", MODULE))
    assert module.version is not None and module.version[0] == "8.7"
    assert module.target is not None and module.target[0] == "sm_100a"
    assert MODULE[module.target[1].start : module.target[1].end] == "sm_100a"
    texts = [MODULE[s.start : s.end].split(maxsplit=1)[0] for s in module.instructions]
    assert texts == ["mov.b32", "@P", "ret;"]
    outer, inner, after = (s.registers for s in module.instructions)
    assert [outer("%r1"), outer("%rd3"), outer("P"), outer("%r10"), outer("table"), outer("%tid.x")] == [
        *(".b32", ".b64", ".pred", ".symbol", ".global_symbol", ".special")
    ]
    assert inner("%r1") == ".b64"
    assert after("%r1") == ".b32"
    assert len(module.comments) == 2


def test_a_vector_stands_for_its_elements_which_have_two_names():
    text = ".version 8.7\n.target sm_90a\n.entry k() { .reg .v2 .b32 pair, more<2>; .reg .b64 wide; ret; }\n"
    scope = read_module(BOOK, Source("k.ptx", text)).instructions[0].scope
    assert scope.registers("pair") == ("pair.x", "pair.y")
    assert scope.registers("more1") == ("more1.x", "more1.y")
    assert scope.registers("pair.g") == scope.registers("pair.y") == ("pair.y",)
    assert scope.registers("wide") == ("wide",)
    assert scope.find("pair.r") == ".b32"
    assert scope.register("pair.z") is None
    assert scope.register("wide.x") is None
    assert scope.register("pair.xy") is None
    assert scope.register("pair" + ".x" * 10_000) is None


@pytest.mark.parametrize(
    ("text", "codes", "line"),
    [
        (".version 8.7\n.target sm_91\nret;\n", ["PT011"], 2),
        (".version 8.9\n.target sm_90a\nret;\n", ["PT100"], 1),
        (".version 5.0\n.target sm_90a\nret;\n", ["PT011"], 1),
        (".version 8.7\n.target sm_100f\nret;\n", ["PT101"], 1),
        (".version 8.7\nret;\n", ["PT011"], 1),
        (".version 8.7\n.target sm_90a\nret;\n", [], 0),
        (".version 8.7\n.target sm_90a\nadd.s32 %r1, %r2 %r3;\n", [], 0),
    ],
)
def test_headers(text: str, codes: list[str], line: int):
    report = tileproof.check(text)
    assert [d.code for d in report.diagnostics] == codes
    assert not codes or report.diagnostics[0].source.position(report.diagnostics[0].span.start)[0] == line


_PAIRED = """.version 8.7
.target sm_100a
.visible .entry one() {
.reg .b32 r<9>;
tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
ret;
}
.visible .entry two() {
.reg .b32 r<9>;
tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned;
{
tcgen05.dealloc.cta_group::GROUP.sync.aligned.b32 r0, 32;
}
ret;
}
"""


@pytest.mark.parametrize(("group", "codes"), [("1", ["PT012"]), ("2", [])])
def test_a_kernel_has_one_cta_group(group: str, codes: list[str]):
    text = _PAIRED.replace("GROUP", group)
    found = tileproof.check(text, ignore=["PR190", "PR154"]).diagnostics
    assert [d.code for d in found] == codes
    for diagnostic in found:
        assert text[diagnostic.span.start : diagnostic.span.end] == ".cta_group::1"
        assert "whose first tcgen05 instruction is .cta_group::2" in diagnostic.message


@corpus("corpus/*/*.ptx")
def test_the_corpus_is_clean(path: Path):
    """Nothing but what its IR has as well, notes on what is not verified, and stores that nothing waits for."""
    report = tileproof.check(path)
    known = {code for has in (WARNED, WRONG) for code in has.get(f"{path.parent.name}/{path.stem}.mlir", ())}
    assert {d.code for d in report.diagnostics} <= {"PR190", "PR106", "PR107"} | known
    unverified = [one for one in report.files[0].kernels if one.status != "followed"]
    assert sum(d.code == "PR190" for d in report.diagnostics) == len(unverified)


@pytest.mark.parametrize("damage", ["{", "}", "/*", '"', "\\", "@", ".reg", ".entry", ";;", ":", "\0"])
def test_a_damaged_module_ends_without_a_traceback(damage: str):
    for at in range(0, len(MODULE), 17):
        text = MODULE[:at] + damage + MODULE[at:]
        found = tileproof.check(text).diagnostics
        assert all(0 <= one.span.start <= one.span.end <= len(text) for one in found)


def test_an_instruction_of_another_family_is_no_misspelling():
    """barrier.arrive differs from mbarrier.arrive by one letter, and is an instruction of its own."""
    head = ".version 8.7\n.target sm_90a\n.address_size 64\n.visible .entry k() {\n"
    assert tileproof.check(head + "barrier.arrive 2, 416;\nret;\n}\n").diagnostics == ()
    wrong = tileproof.check(head + "mbarier.arrive.shared.b64 %rd1, [%r1];\nret;\n}\n").diagnostics
    assert [d.code for d in wrong] == ["PT002"]
