"""Whole PTX modules: what is read of them, that nothing is lost, and what is said of malformed ones."""

from __future__ import annotations

import random
import re
import subprocess
import time
from pathlib import Path

import pytest
from ptxas import find, needs_ptxas, reasons

import tileproof
from conftest import corpus_files
from tileproof.base.source import Source
from tileproof.ptx.module import read_module, tiles
from tileproof.ptx.vocabulary import word_of

BOOK = tileproof.load_rules()
FILES = [*corpus_files("ptx/*.ptx"), *corpus_files("corpus/*/*.ptx")]
HEAD = ".version 9.0\n.target sm_100a\n.address_size 64\n"
MODULE = (
    HEAD
    + """.file 1 "kernel.py"
.extern .shared .align 1024 .b8 dynamic[];
.global .align 8 .b32 pairs[4][2] = {{1, 2}, {3}};
.global .b64 one, other[3];
.extern .func (.param .b32 result) printf(.param .b64 p, .param .b64 q);
.visible .entry kernel(.param .u64 .ptr .global .align 16 p0, .param .align 64 .b8 map[128])
.reqntid 128, 2 .reqnctapercluster 2, 1, 1 .explicitcluster // a comment {
{
  .reg .b32 %r<10>; .reg .pred p, q;
  .shared .align 16 .b64 barrier;
  .loc 1 7 3
  .loc 1 20 11
  .loc 1 7 3
  mov.b32 %r1, 5;
  .loc 1 9 5, function_name $L__info0, inlined_at 1 20 11
  $L1: { .reg .b64 %r1; $L1: @!p bra.uni $L1; }
  T: .branchtargets $L1, $L2;
  brx.idx %r2, T;
$L2:
  .pragma "nounroll";
  fence.proxy /* no ; */ .async;
  ret;
}
.section .debug_str {
$L__info0:
.b8 107, 0
}
"""
)


def test_the_structure_of_a_module():
    module = read_module(BOOK, Source("k.ptx", MODULE))
    assert module.faults == []
    printf, kernel = module.functions
    assert (printf.name, printf.kind, printf.body, printf.results[0].name) == ("printf", "func", None, "result")
    assert (kernel.name, kernel.kind) == ("kernel", "entry")
    assert kernel.performance == {"reqntid": (128, 2), "reqnctapercluster": (2, 1, 1), "explicitcluster": ()}
    assert [(p.name, p.alignment, p.size) for p in kernel.parameters] == [("p0", 16, 8), ("map", 64, 128)]
    assert MODULE[kernel.body.start] == "{" and MODULE[: kernel.body.end].endswith("}")  # type: ignore[union-attr]
    own = module.instructions[kernel.first : kernel.last]
    assert [one.opcode for one in own] == ["mov.b32", "bra.uni", "brx.idx", "fence.proxy.async", "ret"]
    variables = {**module.scope.variables, **kernel.scope.variables}
    found = {one.name: (one.space, one.alignment, one.size, one.external) for one in variables.values()}
    assert found == {
        "dynamic": ("shared", 1024, None, True),
        "pairs": ("global", 8, 32, False),
        "one": ("global", 8, 8, False),
        "other": ("global", 8, 24, False),
        "barrier": ("shared", 16, 8, False),
    }
    branch, table = own[1], own[2]
    assert (branch.guard, branch.negated) == ("p", True)
    inner, outer = branch.scope.label("$L1"), table.scope.label("$L1")
    assert inner is not outer and inner.statement == outer.statement == kernel.first + 1  # type: ignore[union-attr]
    assert branch.registers("%r1") == ".b64" and table.registers("%r1") == ".b32"
    assert table.scope.table("T") == ("$L1", "$L2")
    assert [pragma for _, pragma in kernel.pragmas] == ["nounroll"]
    assert module.files == {1: "kernel.py"}
    assert [module.frames[one.frame].line for one in own] == [7, 9, 9, 9, 9]
    assert module.frames[own[1].frame].inlined == (1, 20, 11)


@pytest.mark.skipif(not FILES, reason="no ../shared beside this checkout")
def test_real_files_are_read_without_a_fault_and_byte_for_byte():
    for path in FILES[::5]:
        _reads_whole(path)


@pytest.mark.sweep
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_real_file_is_read(path: Path):
    _reads_whole(path)


def _reads_whole(path: Path):
    source = Source(str(path), path.read_text(encoding="utf-8"))
    module = read_module(BOOK, source)
    assert module.faults == []
    assert "".join(source.text[start:end] for start, end in tiles(BOOK, source)) == source.text
    for statement in module.instructions:
        assert word_of(BOOK, statement.opcode).name
        assert source.text[statement.end - 1] == ";"
        assert source.text.startswith(statement.opcode.split(".")[0], statement.opcode_start)


BODY = HEAD + ".entry k() {\n.reg .b32 r<9>; .reg .pred p<3>;\n%s\nret;\n}\n"
MALFORMED = {
    "undeclared": (BODY % "add.s32 r1, r2, r9;", "PT008", 6),
    "undeclared-guard": (BODY % "@q bra L; L:", "PT008", 6),
    "out-of-scope": (BODY % "{ .reg .b32 s; }\nmov.b32 s, 1;", "PT008", 7),
    "no-label": (BODY % "bra M;", "PT015", 6),
    "label-of-an-inner-block": (BODY % "bra L; { L: }", "PT015", 6),
    "label-of-another-function": (HEAD + ".func f() { L: ret; }\n.entry k() { bra L; }", "PT015", 5),
    "table-after-its-use": (BODY % "brx.idx r1, T; A:", "PT015", 6),
    "label-in-table": (BODY % "T: .branchtargets A, B;\nbrx.idx r1, T; A:", "PT015", 7),
    "duplicate-label": (BODY % "L: ret;\nL: ret;", "PT014", 7),
    "label-of-a-register": (BODY % ".reg .b32 L;\nL: ret;", "PT014", 7),
    "duplicate-function": (HEAD + ".entry k() { ret; }\n.entry k() { ret; }", "PT014", 5),
    "unclosed-brace": (HEAD + ".entry k() {\n{ ret; }\n", "PT013", 4),
    "stray-brace": (HEAD + ".entry k() {\nret; } }\n", "PT013", 5),
    "unclosed-comment": (HEAD + ".entry k() { ret; }\n/* and so", "PT013", 5),
    "no-semicolon": (BODY % "add.s32 r1, r2, r3", "PT013", 6),
    "no-semicolon-at-the-end": (HEAD + ".entry k() {\nret\n}", "PT013", 5),
    "two-semicolons": (BODY % "ret;;", "PT013", 6),
    "junk": (BODY % "= 3;", "PT013", 6),
    "blank-behind-a-dot": (BODY % "wgmma . fence.sync.aligned;", "PT013", 6),
    "not-ascii": (BODY % "é;", "PT013", 6),
    "unknown-directive": (BODY % ".frobnicate 1;", "PT013", 6),
    "bad-directive": (BODY % ".reg r1;", "PT013", 6),
    "blank-in-a-name": (BODY % "bar\n.arrive 1, 64;", "PT001", 6),
    "misspelled": (BODY % "wgmma.fnece.sync.aligned;", "PT002", 6),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_what_is_malformed_is_said_where_it_is(case: str):
    text, code, line = MALFORMED[case]
    found = tileproof.check(text, ignore=["PR190"]).diagnostics
    assert [(one.code, one.severity.value) for one in found] == [(code, "error")], [one.message for one in found]
    assert found[0].source.position(found[0].span.start).line == line


@needs_ptxas
def test_ptxas_refuses_what_is_malformed(tmp_path: Path):
    for case, (text, _, _) in MALFORMED.items():
        assert _ptxas(tmp_path, text) != 0, case
    assert _ptxas(tmp_path, MODULE) == 0


def _ptxas(folder: Path, text: str) -> int:
    source = folder / "module.ptx"
    source.write_text(text, encoding="utf-8")
    command = [str(find()), "-arch", "sm_100a", str(source), "-o", str(folder / "out.cubin")]
    return subprocess.run(command, capture_output=True, check=False, timeout=300).returncode


def test_an_unknown_instruction_is_a_note_and_counted():
    report = tileproof.check(BODY % "frobnicate.b32 r1;\nfrobnicate.b32 r2;\nsetpp.eq r3, r4;")
    notes = [one for one in report.diagnostics if one.code == "PT016"]
    assert [one.severity.value for one in notes] == ["note", "note"]
    assert "2 of them" in notes[0].message and "'setp'" in notes[1].message
    assert report.files[0].unjudged == 3


LARGE = {
    "labels": lambda n: "".join(f"L{i}: bra L{i};\n" for i in range(n)),
    "missing-semicolons": lambda n: "add.s32 r1, r2, r3\n" * n,
    "open-braces": lambda n: "{ " * n,
    "closed-braces": lambda n: "} " * n,
    "open-comments": lambda n: "/*" * n,
    "quotes": lambda n: '"' * n,
    "undeclared": lambda n: "".join(f"mov.b32 x{i}, y{i};\n" for i in range(n)),
    "duplicates": lambda n: "L: ret;\n" * n,
    "unknown": lambda n: "".join(f"frob{i} r1;\n" for i in range(n // 10)),
    "binary": lambda n: random.Random(7).randbytes(8 * n).decode("latin-1"),
    "initialisers": lambda n: ".global .b8 a[] = {" + "{" * n,
    "blanks": lambda n: " \n" * n + "x" * n,
    "dots": lambda n: "a" + ".b" * n,
}


@pytest.mark.parametrize("kind", LARGE)
def test_time_is_linear_in_the_length(kind: str):
    """Ten times the text takes no more than some thirty times as long: what is quadratic takes a hundred times."""
    times = []
    for count in (2000, 20000):
        text = HEAD + ".entry k() {\n.reg .b32 r<9>;\n" + LARGE[kind](count) + "\n}\n"
        took = []
        for _ in range(2):  # the first run may import, or collect garbage
            began = time.process_time()
            tileproof.check(text)
            took.append(time.process_time() - began)
        times.append(min(took))
    assert times[1] < 30 * max(times[0], 0.02), times


_CORE = re.compile(r"(?=\.|::)")


@needs_ptxas
def test_blanks_in_an_opcode_are_read_as_ptxas_reads_them():
    """Every gap of every kind of instruction, with a blank and with a comment in it."""
    cases = [
        "fence.proxy.async.shared::cta;",
        "cp.async.bulk.commit_group;",
        "tcgen05.wait::ld.sync.aligned;",
        "tcgen05.fence::before_thread_sync;",
        "mbarrier.init.shared::cta.b64 [smem], 1;",
        "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;",
        "cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint [l0], [smem], 16, l1;",
        "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {r0}, [smem];",
        "mul.wide.u32 l0, r0, r1;",
        "barrier.cluster.arrive.release.aligned;",
    ]
    texts = []
    for case in cases:
        opcode, _, operands = case.partition(" ")
        for place in [found.start() for found in _CORE.finditer(opcode)]:
            for gap in (" ", "/*;*/"):
                texts.append(f"{opcode[:place]}{gap}{opcode[place:]} {operands}".replace("; ;", ";"))
        for place in [found.end() for found in re.finditer(r"\.|::", opcode)]:
            texts.append(f"{opcode[:place]} {opcode[place:]} {operands}")
    refused = [reason is not None for reason in reasons(texts, "sm_100a", "9.0")]
    registers = ".reg .b32 r<9>; .reg .b64 l<9>;\n"
    for text, expected in zip(texts, refused, strict=True):
        module = HEAD + f".shared .align 1024 .b8 smem[64];\n.entry k() {{\n{registers}{text}\nret;\n}}\n"
        found = [one for one in tileproof.check(module).diagnostics if one.severity.value == "error"]
        assert bool(found) is expected, (text, [one.message for one in found])


@needs_ptxas
def test_ptxas_knows_the_instructions_that_are_outside():
    names = sorted(BOOK.enums["outside_instruction"].by_spelling)
    errors = reasons([f"{name} r1;" for name in names], "sm_100a", "9.0")
    assert [n for n, e in zip(names, errors, strict=True) if e and "Not a name of any known" in e] == []


def test_reserved_shared_memory_has_two_offsets():
    """ptxas 13.5 knows ``_0`` and ``_1``, which cooperative groups of CUDA C++ read, and no other."""
    found = [tileproof.check(BODY % f"mov.u32 r1, %reserved_smem_offset_{number};").diagnostics for number in range(3)]
    assert [[one.code for one in said] for said in found] == [[], [], ["PT008"]]
