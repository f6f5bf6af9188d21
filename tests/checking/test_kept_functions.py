"""Outcomes of kernels in IR that are kept: the same report as without, and never that of something else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from conftest import EXAMPLES, corpus, some
from tileproof.base.source import Source
from tileproof.checking import kept_outcomes, results
from tileproof.checking.expectations import split
from tileproof.checking.implemented import load_implemented
from tileproof.checking.mlir import check_ir
from tileproof.judge.outcome import FileReport, Options
from tileproof.memory.tensor_maps import kernel_name
from tileproof.protocol import verify
from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.load import default_files

PROTOCOL = Path(__file__).parents[1] / "protocol"
FILES = [*sorted(PROTOCOL.glob("*/*.mlir")), EXAMPLES / "hopper_gemm.mlir"]
TEXTS = {
    f"{path.stem}-{number}": part.text
    for path in FILES
    for number, part in enumerate(split(Source(path.name, path.read_text(encoding="utf-8"))))
}

ALIASES = """!word = i32
!index = !word
!other = i64
#loc1 = loc("kernel.py":7:3)
"""
KERNEL = """  cuda.kernel @NAME(%smem: !llvm.ptr<3>) attributes {gpu.kernel, nvvm.reqntid = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : !index
    %count = arith.constant COUNT : !index
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %ticks = arith.constant 10000000 : i32
    %first = arith.cmpi eq, %tid, %c0 : i32
    %bytes = cute.memref.alloca() {smem.struct_fields = ["full_mbar:8:0"]} : !cute.memref<i8, smem, align<8>, "8:1">
    %raw = cute.get_iter(%bytes) : !cute.memref<i8, smem, align<8>, "8:1">
    %iter = cute.recast_iter(%raw) : !cute.ptr<i8, smem, align<8>> to !cute.ptr<i64, smem>
    %full = builtin.unrealized_conversion_cast %iter : !cute.ptr<i64, smem> to !llvm.ptr<3>
    scf.if %first {
      nvvm.mbarrier.init %full, %count : !llvm.ptr<3>, i32
    }
    nvvm.barrier
    %state = nvvm.mbarrier.arrive %full : !llvm.ptr<3> -> i64
    nvvm.mbarrier.try_wait.parity %full, %c0, %ticks : !llvm.ptr<3>, i32, i32
    cuda.return
  }
"""


def kernel(name: str, count: int = 65) -> str:
    """A kernel that waits for ever where the barrier wants another count than 64."""
    return KERNEL.replace("NAME", name).replace("COUNT", str(count))


def module(*kernels: str, aliases: str = ALIASES, host: str = "") -> str:
    return f"{aliases}gpu.module @kernels {{\n{''.join(kernels)}}}\n{host}"


@pytest.fixture
def book() -> Rulebook:
    return load_implemented(default_files())


@pytest.fixture
def studied(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The kernels that are studied, in order, and nothing known at first."""
    names: list[str] = []
    real = verify._studied

    def study(book: Rulebook, asked: verify.Asked, *given):
        names.append(kernel_name(asked.kernel) or "")
        return real(book, asked, *given)

    kept_outcomes.memory.cache_clear()
    monkeypatch.setattr(verify, "_studied", study)
    return names


def check(book: Rulebook, text: str, options: Options | None = None) -> FileReport:
    return check_ir(book, Source("k.mlir", text), options or Options("ptx", mend=False))


def fresh(book: Rulebook, text: str, options: Options | None = None) -> FileReport:
    kept_outcomes.memory.cache_clear()
    found = check(book, text, options)
    kept_outcomes.memory.cache_clear()
    return found


def codes(report: FileReport) -> list[str]:
    return [one.code for one in report.diagnostics]


def early(text: str) -> bool:
    """Whether a kernel may begin before the one launched before it ends: such are studied each time."""
    return "programmatic_stream_serialization" in text


@pytest.mark.parametrize("name", some(TEXTS))
def test_what_is_kept_is_what_a_study_finds(book: Rulebook, studied: list[str], name: str):
    text = TEXTS[name]
    options = Options("ptx", explain_path=len(text) % 2 == 0, mend=False)
    moved = f"// moved\n\n\n{text}"
    there = fresh(book, moved, options)
    expected = check(book, text, options)
    kept = bool(kept_outcomes.memory(book).contents)
    studied.clear()
    assert check(book, text, options) == expected
    assert check(book, moved, options) == there
    assert not kept or studied == [] or early(text)


def test_lines_in_hints_are_those_of_the_file(book: Rulebook, studied: list[str]):
    text = TEXTS["18_released_before_wait-1"]
    found, there = check(book, text), check(book, f"\n\n{text}")
    assert len(studied) == 1
    hints, others = ([one.hint for one in report.diagnostics] for report in (found, there))
    assert any(re.search(r"line \d+", hint) for hint in hints)
    assert others == [re.sub(r"line (\d+)", lambda one: f"line {int(one[1]) + 2}", hint) for hint in hints]


def test_equal_kernels_are_studied_once_and_each_has_the_findings(book: Rulebook, studied: list[str]):
    text = module(kernel("alpha"), kernel("omegas"))
    found = check(book, text)
    assert studied == ["alpha"]
    assert codes(found) == codes(check(book, module(kernel("alpha")))) * 2 == ["PR125"] * 2
    assert [one.name for one in found.kernels] == ["alpha", "omegas"]
    lines = [one.source.position(one.span.start).line for one in found.diagnostics]
    apart = len(kernel("alpha").splitlines())
    assert lines[1] - lines[0] == apart
    shift = text.index("cuda.return", text.index("@omegas")) - text.index("cuda.return")
    spans = [[one.span.start for one in report.related] for report in found.diagnostics]
    assert spans[1] == [start + shift for start in spans[0]]


def test_the_kernel_that_was_edited_is_studied_alone(book: Rulebook, studied: list[str]):
    check(book, module(kernel("alpha"), kernel("omegas", 66)))
    studied.clear()
    edited = module(kernel("alpha", 64), kernel("omegas", 66))
    found = check(book, edited)
    assert studied == ["alpha"]
    assert codes(found) == ["PR125"]
    assert found == fresh(book, edited)


HOST = """func.func @host() {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  gpu.launch_func @kernels::@alpha blocks in (%c2, %c1, %c1) threads in (%c64, %c1, %c1)
  return
}
"""


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("arith.constant 65 :", "arith.constant 66 :"),
        ("!word = i32", "!word = i64"),
        ("!index = !word", "!index = i32"),
        ("threads in (%c64", "threads in (%c2"),
        ("    nvvm.barrier\n", ""),
    ],
)
def test_another_text_that_the_study_reads_is_another_kernel(
    book: Rulebook, studied: list[str], right: str, wrong: str
):
    text = module(kernel("alpha").replace(", nvvm.reqntid = array<i32: 64, 1, 1>", ""), host=HOST)
    assert text.count(right) == 1
    check(book, text)
    studied.clear()
    changed = text.replace(right, wrong)
    found = check(book, changed)
    assert studied == ["alpha"]
    assert found == fresh(book, changed)


@pytest.mark.parametrize(
    ("right", "other"),
    [
        ("!other = i64", "!other = i16"),
        ('"kernel.py":7:3', '"kernel.py":8:3'),
        ("blocks in (%c2", "blocks in (%c1"),
        ("gpu.module @kernels {", "gpu.module @kernels attributes {some.word} {"),
        ("  %c64 =", "  %c3 = arith.constant 3 : index\n  %c64 ="),
    ],
)
def test_what_the_study_does_not_read_may_change(book: Rulebook, studied: list[str], right: str, other: str):
    text = module(kernel("alpha").replace(", nvvm.reqntid = array<i32: 64, 1, 1>", ""), host=HOST)
    assert text.count(right) == 1
    check(book, text)
    studied.clear()
    changed = text.replace(right, other)
    found = check(book, changed)
    assert studied == []
    assert found == fresh(book, changed)


def test_options_of_the_study_are_part_of_what_is_kept(book: Rulebook, studied: list[str]):
    text = module(kernel("alpha"))
    for options in (Options("ptx"), Options("ptx", explain_path=True), Options("ptx", thorough=True)):
        check(book, text, options)
    assert len(studied) == 3


def test_a_name_that_is_said_in_words_is_not_said_of_another(book: Rulebook, studied: list[str]):
    """`full_mbar` is in the text of its findings, so what is known of it is of no use to a kernel of another name."""
    check(book, module(kernel("full_mbar"), kernel("omegas")))
    assert studied == ["full_mbar", "omegas"]


def test_the_cache_keeps_kernels_for_other_processes(
    book: Rulebook, studied: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(results, "folder", lambda: tmp_path)
    text = module(kernel("alpha"), kernel("omegas", 66))
    options = Options("ptx", mend=False, state="these rules")
    expected = fresh(book, text, options)
    studied.clear()
    assert check(book, text, options) == expected
    assert studied == []
    kept_outcomes.memory.cache_clear()
    check(book, text, Options("ptx", mend=False, state="other rules"))
    kept_outcomes.memory.cache_clear()
    check(book, text)
    assert studied == ["alpha", "omegas"] * 2
    for path in tmp_path.glob("*.kernel"):
        path.write_bytes(path.read_bytes()[:-9])
    assert fresh(book, text, options) == expected
    assert studied == ["alpha", "omegas"] * 3


@corpus(every=6)
def test_real_kernels_have_the_same_report(book: Rulebook, path: Path):
    text = path.read_text(encoding="utf-8")
    moved = f"// moved\n\n{text}"
    expected = fresh(book, moved)
    check(book, text)
    assert check(book, moved) == expected
