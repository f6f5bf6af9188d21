"""The package as a library."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import tileproof
from conftest import EXAMPLES
from tileproof.emitting.atom import Refused


def test_check_takes_paths_and_text():
    path = EXAMPLES / "hopper_gemm_broken.mlir"
    by_path = tileproof.check(path)
    by_name = tileproof.check(str(path))
    by_text = tileproof.check(path.read_text(encoding="utf-8"))
    for report in (by_path, by_name, by_text):
        assert [d.code for d in report.diagnostics] == ["WG101"]
        assert report.exit_status() == 1
    assert by_text.diagnostics[0].source.name == "<text>"


def test_a_report_says_what_was_verified():
    folder = Path(__file__).parent / "report" / "data"
    report = tileproof.check(folder / "followed.mlir", folder / "partly.mlir")
    coverage = report.coverage
    assert (coverage.kernels, coverage.followed, coverage.steps, coverage.executed) == (2, 1, 12, 10)
    assert [kernel.name for file in report.files for kernel in file.kernels] == ["k", "in_part"]
    assert not report.verified
    assert (report.exit_status(), report.exit_status(require_verified=True)) == (0, 1)
    assert tileproof.check(folder / "followed.mlir").verified
    assert not tileproof.check(folder / "broken.mlir").verified


def test_check_takes_directories(tmp_path: Path):
    (tmp_path / "deep").mkdir()
    for name in ("b.mlir", "deep/a.mlir", "notes.txt"):
        (tmp_path / name).write_text("module {\n}\n", encoding="utf-8")
    report = tileproof.check(tmp_path)
    assert [Path(file.source.name).name for file in report.files] == ["b.mlir", "a.mlir"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"contract": "cuda"}, "unknown contract 'cuda'"),
        ({"target": "sm_91"}, "unknown target 'sm_91'"),
        ({"select": ["XY1"]}, "unknown rule 'XY1'"),
    ],
)
def test_what_does_not_exist_is_refused_with_what_does(options: dict, message: str):
    with pytest.raises(ValueError, match=message):
        tileproof.check("module {\n}\n", **options)


def test_a_projects_own_rules_are_checked_like_ours(tmp_path: Path):
    (tmp_path / "house.rule").write_text(
        """
        rule HOUSE1 house-wide-tiles on wgmma.mma_async {
          require N >= 64
          warning "N = {N}: this house uses wide tiles"
          hint    "nearest: {nearest(N)}"
          source  "our style guide"
          pass    { N = 64 }
          fail    { N = 32 }
        }
        reference "our style guide" {}
        """,
        encoding="utf-8",
    )
    atom = "!cute_nvgpu.sm90.mma<64x32x16, ab_major = (k, k), elem_type = (f16, f16, f32), frag_kind = ss>"
    report = tileproof.check(f'"a.b"() : () -> {atom}\n', rules=[tmp_path])
    assert [(d.code, d.severity.value) for d in report.diagnostics] == [("HOUSE1", "warning")]
    assert report.exit_status() == 0


def test_parse_gives_operations_types_and_places():
    scan = tileproof.parse((EXAMPLES / "hopper_gemm.mlir").read_text(encoding="utf-8"))
    assert scan.faults == ()
    module = scan.module
    gemm = next(op for op in module.walk() if op.name == "cute.gemm")
    assert module.source is not None
    assert module.source.text[gemm.span.start : gemm.span.end].startswith("cute.gemm(")
    assert len(gemm.input_groups) == 5


def imported_by(*arguments: str) -> set[str]:
    code = "import sys\nfrom tileproof.cli.__main__ import run\nsys.argv = ['tileproof', *sys.argv[1:]]\n"
    code += "try:\n    run()\nexcept SystemExit:\n    pass\nprint('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines())


def test_start_up_imports_nothing_heavy():
    """Start-up time is a feature: each command pays only for what it uses."""
    version = imported_by("--version")
    assert version.isdisjoint({"click", "inspect", "typing", "tileproof.api"})
    imported_by("check", str(EXAMPLES / "hopper_gemm.mlir"))  # the rules are in the cache from now on
    check = imported_by("check", str(EXAMPLES / "hopper_gemm.mlir"))
    assert check.isdisjoint({"lark", "z3", "networkx", "rich", "tomllib", "concurrent.futures"})


def test_a_text_on_one_line_may_be_longer_than_any_path():
    layouts = ", ".join('!cute.layout<"8:1">' for _ in range(1000))
    assert tileproof.check(f'"a.b"() : () -> ({layouts})').diagnostics == ()
    assert tileproof.check('"a.b"() {x = "\0"} : () -> ()').unread == ()


def test_emit_takes_ir_and_atoms():
    path = EXAMPLES / "hopper_gemm.mlir"
    by_path = tileproof.emit(path, "sm_90a")
    by_text = tileproof.emit(path.read_text(encoding="utf-8"))
    assert by_text == by_path.replace(f"{path}:", "<text>:")
    assert by_path.count(".entry mma_") == 4
    opcode = "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16"
    assert "wgmma.wait_group.sync.aligned 0;" in tileproof.emit(atom=opcode, target="sm_90a")
    assert ".version 8.3" in tileproof.emit(atom=opcode, target="sm_90a", ptx=(8, 3))
    assert "asm volatile(" in tileproof.emit(atom=opcode, target="sm_90a", form="inline-asm")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "IR or an atom"),
        ({"item": "a\n", "atom": "b"}, "IR or an atom"),
        ({"atom": "wgmma.fence.sync.aligned"}, "requires a target"),
        ({"atom": "wgmma.fence.sync.aligned", "target": "sm_91"}, "unknown target"),
        ({"atom": "foo", "target": "sm_90a"}, "unknown instruction"),
        ({"atom": "wgmma.fence.sync.aligned", "target": "sm_90a", "form": "poem"}, "unknown form"),
        ({"item": "module {\n}\n", "form": "llvm"}, "require an atom"),
        ({"item": "what is this\n"}, "holds no IR|nothing to emit"),
        ({"item": "module {\n}\n", "target": "sm_9"}, "unknown target"),
    ],
)
def test_what_cannot_be_emitted_is_a_value_error(arguments: dict, message: str):
    with pytest.raises(ValueError, match=message):
        tileproof.emit(**arguments)


@pytest.mark.parametrize("verb", [tileproof.check, tileproof.schedule, tileproof.emit])
@pytest.mark.parametrize("name", ["nowhere.mlir", Path("nowhere.mlir"), "dialect.operation"])
def test_a_path_that_there_is_not_raises(verb, name):
    with pytest.raises(FileNotFoundError):
        verb(name)


def test_text_is_given_by_its_name():
    text = (EXAMPLES / "hopper_gemm.mlir").read_text(encoding="utf-8")
    assert [file.source.text for file in tileproof.check(text=text).files] == [text]
    assert tileproof.check(text=[text, "what is this"]).exit_status() == 2
    assert tileproof.schedule(text=text).verified
    with pytest.raises(ValueError, match="requires a file or a text"):
        tileproof.schedule()


def test_what_has_errors_is_not_emitted():
    with pytest.raises(Refused) as refused:
        tileproof.emit(EXAMPLES / "hopper_gemm_broken.mlir")
    assert [d.code for d in refused.value.report.diagnostics] == ["WG101"]


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("!cute_nvgpu.", "AT001", "unknown atom 'cute_nvgpu.'"),
        ("cute_nvgpu.sm90.mm<64x64x16>", "AT001", "unknown atom 'cute_nvgpu.sm90.mm'"),
        ("ldmatrix.sync {r0}}, [r2];", "PT001", "this is not a PTX instruction: unexpected '}' (column 19)"),
        ("wgmma.wait_group.sync.aligned " + "9" * 26 + ";", "PT001", "an integer does not fit in 64 bits (column 31)"),
    ],
)
def test_what_is_no_instruction_and_no_atom_is_said_with_its_place(text: str, code: str, message: str):
    verdict = tileproof.legal(text, "sm_90a")
    assert verdict.codes == (code,)
    assert message in verdict.message


def test_comments_are_no_part_of_an_instruction():
    assert tileproof.legal("// a\n/* b; */ wgmma.fence.sync.aligned /* c */; // d", "sm_90a").legal
