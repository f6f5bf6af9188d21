"""The command line: what it takes, what it says, and its exit status."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from conftest import EXAMPLES, tileproof
from tileproof.base.resources import PACKAGE
from tileproof.cli import main

GOOD = str(EXAMPLES / "hopper_gemm.mlir")
BROKEN = str(EXAMPLES / "hopper_gemm_broken.mlir")
REPORTS = Path(__file__).parents[1] / "report" / "data"
MODULE = "module {\n}\n"
HOUSE_RULE = """
rule HOUSE1 house-wide-tiles on wgmma.mma_async {
  require N >= 64
  warning "N = {N}: this house uses wide tiles"
  hint    "nearest: {nearest(N)}"
  source  "our style guide"
  pass    { N = 64 }
  fail    { N = 32 }
}
"""
STYLE_GUIDE = 'reference "our style guide" {}\n'
HOUSE_RULE += STYLE_GUIDE


def kernel(n: int = 128, k: int = 16, before: str = "", after: str = "") -> str:
    """A file whose second line uses a WGMMA atom; 96 is the nearest legal N of 100."""
    atom = f"!cute_nvgpu.sm90.mma<64x{n}x{k}, ab_major = (k, k), elem_type = (f16, f16, f32), frag_kind = ss>"
    return f'{before}\n"test.use"() : () -> {atom}{after}\n'


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder of each test, outside of any project."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def check(*arguments: str, stdin: str | bytes = "") -> Result:
    result = CliRunner().invoke(main, ["check", *arguments], input=stdin)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def codes(*arguments: str, stdin: str = "") -> list[str]:
    """The codes that are reported."""
    report = json.loads(check("--format", "json", *arguments, stdin=stdin).stdout)
    return [diagnostic["code"] for diagnostic in report["diagnostics"]]


def files(*arguments: str) -> list[str]:
    """The files that are checked, as they are named."""
    return [file["file"] for file in json.loads(check("--format", "json", *arguments).stdout)["summary"]["targets"]]


# -- exit status


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        pytest.param([GOOD], 0, id="good"),
        pytest.param([BROKEN], 1, id="broken"),
        pytest.param([GOOD, BROKEN, GOOD], 1, id="one-of-three-broken"),
        pytest.param(["missing.mlir"], 2, id="missing"),
        pytest.param([], 2, id="no-file"),
        pytest.param([GOOD, "--no-such-option"], 2, id="no-such-option"),
        pytest.param([GOOD, "--format", "xml"], 2, id="no-such-format"),
        pytest.param([GOOD, "--contract", "cuda"], 2, id="no-such-contract"),
        pytest.param([GOOD, "--jobs", "-1"], 2, id="negative-jobs"),
    ],
)
def test_exit_status(arguments: list[str], status: int):
    assert check(*arguments).exit_code == status


def test_status_2_wins_over_1_after_all_files_were_checked():
    result = check("missing.mlir", BROKEN, GOOD)
    assert result.exit_code == 2
    assert "1 error in 2 files;" in result.stdout
    assert result.stderr == "tileproof: missing.mlir: No such file or directory\n"


@pytest.mark.parametrize(("arguments", "status"), [((GOOD,), 0), ((BROKEN,), 1), (("missing.mlir",), 2)])
def test_exit_status_of_a_process(arguments: tuple[str, ...], status: int):
    assert tileproof("check", *arguments).returncode == status


@pytest.mark.parametrize(
    ("fail_on", "error", "warning", "note"), [("error", 1, 0, 0), ("warning", 1, 1, 0), ("note", 1, 1, 1)]
)
def test_fail_on_is_the_least_severity_that_fails(scratch: Path, fail_on: str, error: int, warning: int, note: int):
    (scratch / "house.rule").write_text(HOUSE_RULE)
    arguments = ("-", "--rules", ".", "--fail-on", fail_on)
    assert check(*arguments, stdin=kernel(100)).exit_code == error
    assert check(*arguments, stdin=kernel(32)).exit_code == warning
    assert check(*arguments, stdin=kernel(before="// tileproof: ignore[WG101] legal")).exit_code == note


# -- inputs


@pytest.fixture
def tree(scratch: Path) -> Path:
    for name in ("b.mlir", "a/a.mlir", "a/deep/z.mlir", "a/notes.txt", "c.ptx"):
        path = scratch / "tree" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(MODULE)
    (scratch / "tree" / "folder.mlir").mkdir()
    return scratch / "tree"


@pytest.mark.parametrize(
    ("argument", "found"),
    [
        pytest.param(
            "tree", ["tree/a/a.mlir", "tree/a/deep/z.mlir", "tree/b.mlir", "tree/c.ptx"], id="a-folder-is-searched"
        ),
        pytest.param("./tree/b.mlir", ["tree/b.mlir"], id="a-file"),
        pytest.param(
            "tree/a/notes.txt", ["tree/a/notes.txt"], id="a-file-that-is-named-is-checked-whatever-its-suffix"
        ),
        pytest.param("tree/*/*.mlir", ["tree/a/a.mlir"], id="glob"),
        pytest.param("tree/**/*.mlir", ["tree/a/a.mlir", "tree/a/deep/z.mlir", "tree/b.mlir"], id="glob-of-any-depth"),
        pytest.param("tree/[ab]", ["tree/a/a.mlir", "tree/a/deep/z.mlir"], id="glob-of-a-folder"),
    ],
)
@pytest.mark.usefixtures("tree")
def test_files_folders_and_globs(argument: str, found: list[str]):
    assert [Path(name).as_posix() for name in files(argument)] == found


def test_a_glob_may_be_absolute(tree: Path):
    assert files(str(tree / "?.mlir")) == [str(tree / "b.mlir")]


def test_a_file_named_like_a_glob_is_that_file(scratch: Path):
    for name in ("[ab].mlir", "a.mlir"):
        (scratch / name).write_text(MODULE)
    assert files("[ab].mlir") == ["[ab].mlir"]


@pytest.mark.parametrize("pattern", ["*.mlir", "***.mlir", "[", "a/**b/*"])
def test_a_glob_without_a_match_is_a_missing_file(pattern: str):
    result = check(pattern)
    assert (result.exit_code, result.stderr) == (2, f"tileproof: {pattern}: No such file or directory\n")


def test_standard_input():
    result = check("-", stdin=kernel(100))
    assert result.stdout.startswith("-:2:46: error: Invalid N = 100 for wgmma.mma_async")
    assert result.exit_code == 1


def test_standard_input_among_files():
    result = check(BROKEN, "-", stdin=b"\xff\xfe")
    assert (result.exit_code, result.stderr) == (2, "tileproof: -: not UTF-8 text\n")
    assert "1 error in 1 file;" in result.stdout


def test_jobs_change_nothing_but_the_time():
    inputs = (BROKEN, GOOD, BROKEN, "missing.mlir")
    runs = [check(*inputs, "--jobs", jobs) for jobs in ("1", "2", "0")]
    assert len({(run.stdout, run.stderr, run.exit_code) for run in runs}) == 1


# -- which rules, which target


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((), ["WG101", "WG113"]),
        (("--select", "WG101"), ["WG101"]),
        (("--select", "wgmma-invalid-k"), ["WG113"]),
        (("--select", "WG1"), ["WG101", "WG113"]),
        (("--select", "WG101,wgmma-invalid-k"), ["WG101", "WG113"]),
        (("--select", "WG101", "--select", "WG113"), ["WG101", "WG113"]),
        (("--select", "IR"), []),
        (("--ignore", "WG101"), ["WG113"]),
        (("--ignore", "wgmma-invalid-n"), ["WG113"]),
        (("--ignore", "WG"), []),
        (("--select", "WG", "--ignore", "WG113"), ["WG101"]),
    ],
    ids=" ".join,
)
def test_rules_are_chosen_by_code_prefix_and_name(arguments: tuple[str, ...], expected: list[str]):
    assert codes("-", *arguments, stdin=kernel(100, 8)) == expected


@pytest.mark.parametrize("option", ["--select", "--ignore"])
def test_a_rule_that_does_not_exist_is_one_line(option: str):
    result = check(GOOD, option, "WG999")
    line = "tileproof: unknown rule 'WG999'; `tileproof rules list` shows all\n"
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", line)


def test_a_target_that_does_not_exist_is_one_line():
    result = check(GOOD, "--target", "sm_91")
    assert result.stderr.startswith("tileproof: unknown target 'sm_91'; use sm_70, ")
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)


def test_the_target_is_the_one_given():
    assert check(GOOD, "--target", "sm_90a").exit_code == 0
    result = check(GOOD, "--target", "sm_100a")
    assert result.exit_code == 1
    assert "; target sm_100a (given); " in result.stdout


def test_the_contract_is_the_one_given():
    """Page P0 takes 4-bit integers, which no hardware multiplies in a WGMMA."""
    text = kernel(64, 64).replace("(f16, f16, f32)", "(si4, si4, si32)")
    assert codes("-", stdin=text) == ["WG110"]
    assert codes("-", "--contract", "tileiras", stdin=text) == []


# -- suppressions


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param("", " // tileproof: ignore[WG101] a reason", [], id="same-line"),
        pytest.param("// tileproof: ignore[WG101]", "", [], id="line-above"),
        pytest.param("  //tileproof:ignore[ wgmma-invalid-n ]", "", [], id="by-name"),
        pytest.param("// tileproof: ignore[IR001, WG101]", "", ["IR010"], id="one-of-two-is-unused"),
        pytest.param("// tileproof: ignore[WG101]\n", "", ["IR010", "WG101"], id="two-lines-above"),
        pytest.param("", "\n// tileproof: ignore[WG101]", ["WG101", "IR010"], id="line-below"),
        pytest.param('"a.b"() : () -> () // tileproof: ignore[WG101]', "", ["IR010", "WG101"], id="after-code-above"),
        pytest.param("// tileproof: ignore[WG113]", "", ["IR010", "WG101"], id="another-code"),
        pytest.param("// tileproof: ignore[WG]", "", ["IR010", "WG101"], id="a-prefix-is-no-rule"),
        pytest.param("// tileproof: ignore", "", ["WG101"], id="no-code"),
        pytest.param("// about tileproof: ignore[WG101]", "", ["WG101"], id="some-other-comment"),
    ],
)
def test_a_comment_silences_its_line_or_the_next(before: str, after: str, expected: list[str]):
    assert codes("-", stdin=kernel(100, before=before, after=after)) == expected


def test_an_unused_suppression_is_a_note_at_its_code():
    result = check("-", stdin=kernel(before="// tileproof: ignore[WG101] legal by now"))
    assert result.stdout.startswith("-:1:22: note: 'WG101' has no effect here [IR010 unused-suppression]\n")
    assert result.exit_code == 0


def test_a_suppression_of_a_rule_that_is_not_asked_for_is_not_called_unused():
    text = kernel(100, before="// tileproof: ignore[WG101]")
    assert codes("-", "--ignore", "WG101", stdin=text) == []
    assert codes("-", "--select", "WG113,IR", stdin=text) == []


# -- settings of a project


def settings(folder: Path, text: str) -> None:
    (folder / "pyproject.toml").write_text(f"[tool.tileproof]\n{text}\n")


@pytest.mark.parametrize(
    ("setting", "arguments", "expected"),
    [
        ('ignore = ["WG101"]', (), ["WG113"]),
        ('select = ["wgmma-invalid-n"]', (), ["WG101"]),
        ('select = ["wgmma-invalid-n"]', ("--select", "WG113"), ["WG113"]),
        ('target = "sm_80"', (), ["TG101"]),
        ('target = "sm_80"', ("--target", "sm_90a"), ["WG101", "WG113"]),
        ('contract = "tileiras"', (), ["WG101", "WG207"]),
        ('contract = "tileiras"', ("--contract", "ptx"), ["WG101", "WG113"]),
    ],
)
def test_settings_hold_unless_the_command_line_says_otherwise(
    scratch: Path, setting: str, arguments: tuple[str, ...], expected: list[str]
):
    settings(scratch, setting)
    assert codes("-", *arguments, stdin=kernel(100, 8)) == expected


def test_settings_are_those_of_the_nearest_pyproject_above(scratch: Path, monkeypatch: pytest.MonkeyPatch):
    settings(scratch, 'ignore = ["WG101"]')
    (scratch / "deep" / "er").mkdir(parents=True)
    monkeypatch.chdir(scratch / "deep" / "er")
    assert codes("-", stdin=kernel(100)) == []
    (scratch / "deep" / "pyproject.toml").write_text("[project]\n")
    assert codes("-", stdin=kernel(100)) == ["WG101"]


def test_fail_on_is_a_setting_too(scratch: Path):
    text = kernel(before="// tileproof: ignore[WG101]")
    settings(scratch, 'fail-on = "note"')
    assert check("-", stdin=text).exit_code == 1
    assert check("-", "--fail-on", "error", stdin=text).exit_code == 0


VERIFIED = {
    "followed.mlir": 0,
    "partly.mlir": 1,
    "unfollowed.ptx": 1,
    "clean.mlir": 0,
    "broken.mlir": 1,
    "lost.mlir": 2,
}


@pytest.mark.parametrize(("name", "status"), VERIFIED.items())
def test_what_was_not_verified_is_an_exit_status_of_1_where_that_is_required(name: str, status: int):
    file = str(REPORTS / name)
    assert check("--require-verified", file).exit_code == status
    required = name in ("partly.mlir", "unfollowed.ptx")
    assert check(file).exit_code == (0 if required else status)


def test_that_all_is_verified_can_be_required_by_a_setting(scratch: Path):
    settings(scratch, "require-verified = true")
    assert check(str(REPORTS / "partly.mlir")).exit_code == 1
    assert check(str(REPORTS / "followed.mlir")).exit_code == 0
    settings(scratch, "require-verified = false")
    assert check(str(REPORTS / "partly.mlir")).exit_code == 0


def test_a_note_that_is_ignored_is_not_verified_either():
    result = check("--require-verified", "--ignore", "PR190", str(REPORTS / "partly.mlir"))
    assert "PR190" not in result.stdout
    assert result.exit_code == 1


def test_a_projects_rules_are_found_beside_its_pyproject(scratch: Path, monkeypatch: pytest.MonkeyPatch):
    settings(scratch, 'rules = ["house"]')
    (scratch / "house").mkdir()
    (scratch / "house" / "tiles.rule").write_text(HOUSE_RULE)
    (scratch / "kernels").mkdir()
    monkeypatch.chdir(scratch / "kernels")
    result = check("-", stdin=kernel(32))
    assert "warning: N = 32: this house uses wide tiles [HOUSE1 house-wide-tiles]" in result.stdout
    assert "= hint: nearest: 64" in result.stdout
    assert result.exit_code == 0


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('colour = "red"', "2: unknown setting 'colour' in [tool.tileproof]"),
        ('select = "WG101"', "2: 'select' must be a list of strings"),
        ("target = 90", "2: 'target' must be a string"),
        ("require-verified = 1", "2: 'require-verified' must be true or false"),
        ('ignore = ["WG101"', "2:18: Unclosed array"),
        ("[tool.tileproof.severity]\nPR102 = 1", "2: 'severity' must be a table of error, warning or note by rules"),
    ],
)
def test_settings_that_cannot_be_used_are_one_line(scratch: Path, text: str, fault: str):
    settings(scratch, text)
    result = check(GOOD)
    assert result.stderr == f"tileproof: {scratch / 'pyproject.toml'}:{fault}\n"
    assert (result.exit_code, result.stdout) == (2, "")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('rules = ["no-such-folder"]', "no such rules folder"),
        ('fail-on = "hint"', "fail-on must be error, warning or note, not 'hint'"),
        ('contract = "cuda"', "unknown contract 'cuda'"),
        ('target = "sm_91"', "unknown target 'sm_91'"),
        ('select = ["XY1"]', "unknown rule 'XY1'"),
    ],
)
def test_settings_that_name_what_does_not_exist_are_one_line(scratch: Path, text: str, fault: str):
    settings(scratch, text)
    result = check(GOOD)
    assert fault in result.stderr
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)


# -- rules of one's own


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_rules_of_a_folder_are_checked_like_ours(scratch: Path, jobs: str):
    (scratch / "house.rule").write_text(HOUSE_RULE)
    for name in "ab":
        (scratch / f"{name}.mlir").write_text(kernel(32))
    assert codes("a.mlir", "b.mlir", "--rules", ".", "--jobs", jobs) == ["HOUSE1", "HOUSE1"]


def test_a_typo_in_a_rule_file_is_named_with_line_and_column(scratch: Path):
    (scratch / "house.rule").write_text(HOUSE_RULE.replace("require", "requier"))
    result = check(GOOD, "--rules", str(scratch))
    assert result.stderr == f"{scratch / 'house.rule'}:3:3: error: unexpected 'requier'\n"
    assert (result.exit_code, result.stdout) == (2, "")


def test_everything_that_is_wrong_with_rule_files_is_listed(scratch: Path):
    (scratch / "a.rule").write_text(HOUSE_RULE.replace("N >= 64", "M2 >= 64"))
    (scratch / "b.rule").write_text(
        HOUSE_RULE.replace("HOUSE1 house", "HOUSE2 home").replace("{N}", "{NN}").replace(STYLE_GUIDE, "")
    )
    result = check(GOOD, "--rules", ".")
    assert result.stderr == (
        "a.rule:3:11: error: schema 'wgmma.mma_async' has no fact 'M2'\n"
        "b.rule:2:6: error: HOUSE2: placeholder {NN}: schema 'wgmma.mma_async' has no fact 'NN'\n"
    )
    assert (result.exit_code, result.stdout) == (2, "")


def rules_check(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["rules", "check", "--jobs", "1", *arguments])


def test_rules_check_takes_codes_names_and_files(scratch: Path):
    (scratch / "house.rule").write_text(HOUSE_RULE)
    by_code = rules_check("WG100", "wgmma-invalid-n")
    assert (by_code.exit_code, by_code.stdout.partition(":")[0]) == (0, "2 rules in 1 schemas")
    by_file = rules_check("house.rule")
    assert (by_file.exit_code, by_file.stdout.partition(":")[0]) == (0, "1 rules in 1 schemas")
    unknown = rules_check("WG1O0")
    assert unknown.exit_code == 2
    assert "no rule has the code or name 'WG1O0'; nearest: " in unknown.stderr
    assert rules_check("no-such.rule").stderr == "tileproof: no-such.rule: no such file of rules\n"


@pytest.mark.parametrize(
    ("wrong", "fault"),
    [
        (
            HOUSE_RULE.replace('our style guide"\n', 'our stile guide"\n'),
            "house.rule:6:12: error: the source 'our stile",
        ),
        (HOUSE_RULE.replace("nearest(N)", "nearest(Q)"), "house.rule:2:6: error: HOUSE1: placeholder {nearest(Q)}"),
        (
            HOUSE_RULE.replace("pass    { N = 64 }", "pass    { N = 63 }"),
            "house.rule:2:6: error: HOUSE1 in ptx: the passing",
        ),
    ],
)
def test_rules_check_exits_with_1_where_rule_files_are_at_fault(scratch: Path, wrong: str, fault: str):
    (scratch / "house.rule").write_text(wrong)
    result = rules_check("house.rule")
    assert result.exit_code == 1
    assert result.output.startswith(fault)


def test_a_rule_file_that_is_no_text_is_one_line(scratch: Path):
    (scratch / "house.rule").write_bytes("# größe\n".encode() + b"ab\xff\xfe")
    result = check(GOOD, "--rules", ".")
    assert result.stderr == "house.rule:2:3: error: this is not UTF-8 text\n"
    assert (result.exit_code, result.stdout) == (2, "")


def test_a_folder_of_rules_that_does_not_exist_is_refused():
    result = check(GOOD, "--rules", "no-such-folder")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "'no-such-folder'" in result.stderr


# -- bad input: one clear line or diagnostics, soon, and never a traceback

DIGITS = "9" * 4000
NESTS = [("round", "()"), ("square", "[]"), ("curly", "{}"), ("angle", "<>")]
NESTED = {name: left * 20_000 + right * 20_000 for name, (left, right) in NESTS}
UNREADABLE = {
    "empty": (b"", "holds no IR"),
    "blank": (b" \n\n\t\n", "holds no IR"),
    "only-comments": (b"// nothing\n", "holds no IR"),
    "only-NUL": (b"\0" * 1000, "holds no IR"),
    "a-letter": (b"Dear all,\nthis is a letter.\n", "holds no IR"),
    "a-python-program": (b"import os\nprint(os)\n", "holds no IR"),
    "binary": (bytes(range(256)) * 40, "not UTF-8 text"),
    "one-word-of-3-MB": (b"x" * 3_000_000, "holds no IR"),
    **{f"only-nested-{name}": (text.encode(), "holds no IR") for name, text in NESTED.items()},
}
CUT = Path(GOOD).read_text(encoding="utf-8")
MALFORMED = {
    "truncated-in-an-alias": CUT[:1000],
    "truncated-early": CUT[: len(CUT) // 3],
    "truncated-late": CUT[: len(CUT) * 9 // 10],
    "NUL-in-the-middle": CUT.replace("module attributes", "module \0 attributes"),
    "integer-in-a-layout": f'"a.b"() : () -> !cute.layout<"{DIGITS}:1">\n',
    "integer-beyond-what-Python-reads": f'"a.b"() : () -> !cute.layout<"{DIGITS * 2}:1">\n',
    "integer-in-an-atom": kernel().replace("64x128x", f"64x{DIGITS}x"),
    "integer-in-an-alignment": f'"a.b"() : () -> !cute.memref<f16, gmem, align<{DIGITS}>, "1:1">\n',
    "integer-in-a-swizzle": f'"a.b"() : () -> !cute.memref<f16, smem, S<{DIGITS},4,3>, "1:1">\n',
    "layout-of-3-MB": f'"a.b"() : () -> !cute.layout<"({",".join(["8"] * 1_500_000)})">\n',
    "regions-in-regions": '"a.b"() ({\n' * 20_000 + "}) : () -> ()\n" * 20_000,
    **{f"type-of-nested-{name}": f'"a.b"() : () -> !cute.ptr<{text}>\n' for name, text in NESTED.items()},
    **{f"layout-of-nested-{name}": f'"a.b"() : () -> !cute.layout<"{text}">\n' for name, text in NESTED.items()},
}


@pytest.mark.parametrize(("content", "reason"), UNREADABLE.values(), ids=UNREADABLE)
def test_a_file_without_ir_is_one_line_and_status_2(scratch: Path, content: bytes, reason: str):
    (scratch / "bad.mlir").write_bytes(content)
    result = check("bad.mlir")
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", f"tileproof: bad.mlir: {reason}\n")


@pytest.mark.parametrize("text", MALFORMED.values(), ids=MALFORMED)
def test_malformed_ir_is_an_error_with_a_place_and_a_short_message(scratch: Path, text: str):
    (scratch / "bad.mlir").write_text(text, encoding="utf-8")
    result = check("bad.mlir", "--format", "json")
    report = json.loads(result.stdout)
    assert (result.exit_code, result.stderr) == (1, "")
    assert 1 <= report["summary"]["errors"] <= 3
    for diagnostic in report["diagnostics"]:
        assert diagnostic["severity"] == "error"
        assert 1 <= diagnostic["line"] <= text.count("\n") + 1
        assert len(diagnostic["message"]) < 200


@pytest.mark.parametrize("text", MALFORMED.values(), ids=MALFORMED)
def test_malformed_ir_is_shown_in_lines_that_people_can_read(text: str):
    lines = check("-", stdin=text).stdout.splitlines()
    assert max(map(len, lines)) < 250
    assert all(line.isprintable() for line in lines)


@pytest.mark.parametrize("name", ["empty", "x" * 5000])
def test_a_folder_without_ir_and_a_name_too_long_for_a_path_are_one_line(scratch: Path, name: str):
    (scratch / "empty").mkdir()
    result = check(name)
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert result.stderr.startswith(f"tileproof: {name}: ")


@pytest.mark.skipif(sys.platform == "win32", reason="symbolic links need rights on Windows")
def test_a_link_to_itself_is_one_line(scratch: Path):
    (scratch / "loop.mlir").symlink_to("loop.mlir")
    result = check("loop.mlir")
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)


@pytest.mark.parametrize("name", ["binary", "only-NUL", "one-word-of-3-MB"])
def test_a_process_that_reads_bad_input_says_one_line(name: str):
    content, reason = UNREADABLE[name]
    done = tileproof("check", "-", stdin=content)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"tileproof: -: {reason}\n")


def test_a_reader_that_stops_early_is_no_fault(tmp_path: Path):
    """``tileproof check ... | head -1``: no traceback about the closed pipe."""
    (tmp_path / "long.mlir").write_text(
        "".join(f'"a.b"() : () -> !unknown{i}\n' for i in range(2_000)), encoding="utf-8"
    )
    command = [sys.executable, "-m", "tileproof.cli", "check", str(tmp_path / "long.mlir")]
    path = os.pathsep.join(filter(None, (str(PACKAGE.parent), os.environ.get("PYTHONPATH"))))
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "env": {**os.environ, "PYTHONPATH": path}}
    with subprocess.Popen(command, **pipes) as process:
        assert b": error: undefined alias '!unknown0'" in process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""


def test_help_and_version_name_the_program():
    runner = CliRunner()
    assert runner.invoke(main, ["--version"]).stdout.startswith("tileproof ")
    assert "Exit status" in runner.invoke(main, ["check", "--help"]).stdout


def test_a_file_is_reported_under_the_name_it_was_given_by(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "k.mlir").write_text("a.b )\n", encoding="utf-8")
    names = {"./sub/k.mlir": "./sub/k.mlir", "sub//k.mlir": "sub//k.mlir", "./sub": "./sub/k.mlir"}
    for given, reported in names.items():
        result = CliRunner().invoke(main, ["check", "--format", "json", given])
        assert [d["file"] for d in json.loads(result.stdout)["diagnostics"]] == [reported]


def test_what_it_runs_on_is_told_for_reports_of_faults(monkeypatch: pytest.MonkeyPatch):
    short = tileproof("--version").stdout
    said = tileproof("--version", "--verbose").stdout
    assert said.startswith(short)
    assert re.search(r"(?m)^python 3\.\d+", said)
    assert re.search(r"(?m)^z3-solver \d", said)
    assert tileproof("--verbose", "--version").stdout == said


@pytest.mark.parametrize(
    ("variables", "coloured"),
    [
        ({}, False),
        ({"FORCE_COLOR": "1"}, True),
        ({"FORCE_COLOR": "0"}, False),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
    ],
)
def test_colour_and_links_are_for_terminals_or_forced(variables: dict[str, str], coloured: bool):
    said = tileproof("check", str(EXAMPLES / "hopper_gemm_broken.mlir"), **variables).stdout
    assert ("\x1b[1;31m" in said) is coloured
    assert ("\x1b]8;;https://docs.nvidia.com/" in said) is coloured
