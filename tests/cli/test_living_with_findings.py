"""Findings silenced where the engineer works, known ones, settings: nothing lost, and nothing silenced by accident."""

from __future__ import annotations

import json
import re
import stat
from pathlib import Path

import pytest

from conftest import EXAMPLES, command

# A kernel without its fence: PR102 at the first wgmma. Its lines come from kernel.py.
LINES = [line for line in (EXAMPLES / "hopper_gemm.mlir").read_text().splitlines() if "wgmma.fence" not in line]
PYTHON = "import cutlass\n\n\ndef kernel(a, b, c):\n    mma(\n        a,\n        b, c)\n    other()\n"


def dumped(place: str = "kernel.py:5:4", moved: int = 0) -> str:
    """The IR, each of its multiplications compiled from a place; some comments in front move its lines."""
    file, line, column = place.rsplit(":", 2)
    where = f'loc("{file}":{line}:{column})'
    lines = [f"{line} {where}" if line.lstrip().startswith("cute.gemm") else line for line in LINES]
    return "// moved\n" * moved + "\n".join(lines) + "\n"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "kernel.py").write_text(PYTHON)
    (tmp_path / "k.mlir").write_text(dumped())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def found(*arguments: str) -> list[str]:
    """``file:line CODE`` of what is reported, but notes on what was not verified."""
    done = command("check", "--format", "json", "--ignore", "PR190", *arguments)
    places = []
    for one in json.loads(done.stdout)["diagnostics"]:
        origin = one.get("origin", one)
        places.append(f"{origin['file']}:{origin['line']} {one['code']}")
    return places


def comment(folder: Path, text: str, line: int, above: bool = False) -> None:
    lines = PYTHON.splitlines()
    if above:
        lines.insert(line - 1, text)
    else:
        lines[line - 1] += f"  {text}"
    (folder / "kernel.py").write_text("\n".join(lines) + "\n")


def test_the_kernel_has_one_finding(here: Path):
    assert found("k.mlir") == ["kernel.py:5 PR102"]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("# tileproof: ignore[PR102] why", 5),
        ("# tileproof: ignore[wgmma-unfenced, WG101] why", 5),
        ("# tileproof: ignore-file[PR102]", 1),
        ("# noqa  # tileproof: ignore[PR102]", 5),
    ],
)
def test_a_comment_in_the_python_source_silences(here: Path, text: str, line: int):
    comment(here, text, line)
    assert [one for one in found("k.mlir") if "PR102" in one] == []


@pytest.mark.parametrize(
    "arguments",
    [(), ("--ignore", "PR102"), ("--write-baseline", "known.json"), ("--severity", "PR102=note")],
    ids=lambda given: given[0] if given else "comment",
)
def test_a_kernel_is_not_verified_by_silence(here: Path, arguments: tuple[str, ...]):
    if not arguments:
        comment(here, "# tileproof: ignore[PR102]", 5)
    done = command("check", "k.mlir", *arguments)
    assert done.returncode == 0
    assert "; 1 kernel followed: " in done.stdout
    assert "verified:" not in done.stdout


def test_a_comment_above_the_line_silences(here: Path):
    comment(here, "    # tileproof: ignore[PR102]", 5, above=True)
    (here / "k.mlir").write_text(dumped("kernel.py:6:4"))
    assert found("k.mlir") == []


def test_a_comment_in_cuda_source_silences_ptx(here: Path):
    ptx = (
        '.version 9.0\n.target sm_90a\n.address_size 64\n.file 1 "k.cu"\n.visible .entry k()\n{\n'
        ".reg .b32 r<9>; .reg .b64 l<9>;\n.loc 1 2 5\ncp.async.cg.shared.global [r1], [l5], 16;\nret;\n}\n"
    )
    (here / "k.ptx").write_text(ptx)
    (here / "k.cu").write_text("kernel\ncopy;\n")
    assert found("k.ptx") == ["k.cu:2 PR108"]
    (here / "k.cu").write_text("kernel\ncopy; // tileproof: ignore[PR108] the caller waits\n")
    assert found("k.ptx") == []


def test_a_comment_for_the_whole_file_in_ir(here: Path):
    (here / "k.mlir").write_text("// tileproof: ignore-file[PR102] a test kernel\n" + dumped())
    assert found("k.mlir") == []


def test_a_comment_at_another_line_says_that_it_has_no_effect(here: Path):
    """Where its line was compiled; one kernel that needs it is enough."""
    comment(here, "# tileproof: ignore[PR110]", 5)
    assert found("k.mlir") == ["kernel.py:5 PR102", "kernel.py:5 IR010"]
    comment(here, "# tileproof: ignore[PR102]", 8)
    assert found("k.mlir") == ["kernel.py:5 PR102"], "line 8 is not in this kernel"
    comment(here, "# tileproof: ignore[PR102]", 5)
    (here / "fine.mlir").write_text(
        re.sub("(?m)^(.*wgmma.fence.*)$", r'\1 loc("kernel.py":5:4)', (EXAMPLES / "hopper_gemm.mlir").read_text())
    )
    assert found("fine.mlir") == ["kernel.py:5 IR010"]
    assert found("fine.mlir", "k.mlir") == []
    assert found("--jobs", "2", "fine.mlir", "k.mlir") == []


# -- settings


def test_tileproof_toml_has_the_settings_at_its_top(here: Path):
    (here / "tileproof.toml").write_text('ignore = ["PR102"]\n')
    assert found("k.mlir") == ["kernel.py:5 PR102"], "the command line has --ignore"
    assert command("check", "k.mlir").returncode == 0


def test_the_nearest_file_of_settings_holds_alone(here: Path, monkeypatch: pytest.MonkeyPatch):
    (here / "tileproof.toml").write_text('fail-on = "note"\nignore = ["PR102"]\n')
    (here / "pyproject.toml").write_text('[tool.tileproof]\nselect = ["WG"]\n')
    inner = here / "inner"
    inner.mkdir()
    (inner / "pyproject.toml").write_text('[tool.tileproof]\nignore = ["PR1"]\n')
    shown = json.loads(command("config", "--format", "json").stdout)
    assert shown["file"] == str(here / "tileproof.toml")
    assert (shown["settings"]["fail-on"], shown["settings"]["select"]) == ("note", [])
    monkeypatch.chdir(inner)
    shown = json.loads(command("config", "--format", "json").stdout)
    assert shown["file"] == str(inner / "pyproject.toml")
    assert (shown["settings"]["fail-on"], shown["settings"]["ignore"]) == (None, ["PR1"])


def test_config_shows_toml(here: Path):
    import tomllib  # noqa: PLC0415

    text = 'exclude = ["old/*"]\nrequire-verified = true\n[per-file-ignores]\n"k.*" = ["PR102"]\n'
    text += '[launch]\n"*_rows" = { block = [32, 4], cluster = 2 }\n'
    (here / "tileproof.toml").write_text(text)
    shown = command("config").stdout
    assert shown.startswith(f"# {here / 'tileproof.toml'}\n")
    assert tomllib.loads(shown) == tomllib.loads(text)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('ignores = ["PR102"]', "unknown setting 'ignores' in tileproof.toml; the nearest is 'ignore'"),
        ("per-file-ignores = 1", "'per-file-ignores' must be a table of lists of rules by patterns of file names"),
        ('severity = {PR102 = "off"}', "'severity' must be a table of error, warning or note by rules"),
        ("exclude = 1", "'exclude' must be a list of strings"),
        ("launch = {k = 128}", "'launch' must be a table of block and cluster, such as 128 or [2, 1, 1], by kernels"),
        *(
            (
                f"launch = {{k = {{ {said} }}}}",
                "'launch' must be a table of block and cluster, such as 128 or [2, 1, 1], by kernels",
            )
            for said in ("block = 0", "block = [1, 2, 3, 4]", 'cluster = "no"', "threads = 128", "block = true")
        ),
    ],
)
def test_a_broken_setting_is_named(here: Path, text: str, problem: str):
    (here / "tileproof.toml").write_text(text)
    done = command("check", "k.mlir")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"tileproof: {here / 'tileproof.toml'}:1: {problem}\n"
    assert command("config").stderr == done.stderr


@pytest.mark.parametrize("text", ['[severity]\nXX999 = "note"', '[per-file-ignores]\n"*" = ["XX999"]'])
def test_an_unknown_rule_in_the_settings_is_named(here: Path, text: str):
    (here / "tileproof.toml").write_text(text)
    done = command("check", "k.mlir")
    assert (done.returncode, done.stdout) == (2, "")
    assert "unknown rule 'XX999'" in done.stderr


@pytest.mark.parametrize(
    ("pattern", "silenced"),
    [("k.mlir", True), ("*.mlir", True), ("kernel.py", True), ("sub/*", False), ("other.mlir", False)],
)
def test_rules_are_ignored_by_file(here: Path, pattern: str, silenced: bool):
    (here / "tileproof.toml").write_text(f'[per-file-ignores]\n"{pattern}" = ["PR1"]\n')
    assert found("k.mlir") == ([] if silenced else ["kernel.py:5 PR102"])
    assert found(str(here / "k.mlir")) == ([] if silenced else ["kernel.py:5 PR102"])


def test_excluded_files_are_not_checked_and_counted(here: Path, monkeypatch: pytest.MonkeyPatch):
    (here / "old").mkdir()
    (here / "old" / "k.mlir").write_text(dumped())
    (here / "tileproof.toml").write_text('exclude = ["old"]\n')
    done = command("check", "--format", "json", ".")
    assert json.loads(done.stdout)["summary"]["files"] == 1
    assert done.stderr == "tileproof: 1 of 2 files are excluded\n"
    monkeypatch.chdir(here / "old")
    assert command("check", "k.mlir").returncode == 0, "also where it is named"


def test_severities_are_those_of_the_project_and_then_of_the_command(here: Path):
    assert command("check", "k.mlir").returncode == 1
    (here / "tileproof.toml").write_text('[severity]\nPR102 = "warning"\n')
    done = command("check", "k.mlir")
    assert (done.returncode, "warning: no wgmma.fence" in done.stdout) == (0, True)
    assert command("check", "--severity", "wgmma-unfenced=error", "k.mlir").returncode == 1
    assert command("check", "--severity", "PR102=hint", "k.mlir").returncode == 2
    assert command("check", "--severity", "PR102", "k.mlir").returncode == 2


# -- what is known


def test_what_a_baseline_has_is_not_reported_although_its_lines_moved(here: Path):
    done = command("check", "--write-baseline", "known.json", "k.mlir")
    assert done.returncode == 0
    (here / "k.mlir").write_text(dumped(moved=7).replace("%arg12", "%renamed"))
    lines = PYTHON.splitlines()
    (here / "kernel.py").write_text("\n".join(["# new", *lines]) + "\n")
    (here / "k.mlir").write_text(dumped("kernel.py:6:4", moved=7))
    assert found("--baseline", "known.json", "k.mlir") == []
    assert found("k.mlir") == ["kernel.py:6 PR102"]


def test_a_baseline_without_a_python_line_goes_by_the_text_of_the_ir(here: Path):
    bare = "\n".join(LINES) + "\n"
    (here / "k.mlir").write_text(bare)
    command("check", "--write-baseline", "known.json", "k.mlir")
    renamed = re.sub(r"%(arg)?(\d+)", lambda one: f"%{one[1] or ''}{int(one[2]) + 1000}", "// moved\n" * 3 + bare)
    (here / "k.mlir").write_text(renamed)
    assert found("--baseline", "known.json", "k.mlir") == []


def test_a_second_finding_like_a_known_one_is_new(here: Path):
    command("check", "--write-baseline", "known.json", "k.mlir")
    (here / "more.mlir").write_text(dumped())
    assert found("--baseline", "known.json", "k.mlir", "more.mlir") == ["kernel.py:5 PR102"]


def test_known_findings_that_are_gone_are_counted(here: Path):
    command("check", "--write-baseline", "known.json", "k.mlir")
    done = command("check", "--baseline", "known.json", str(EXAMPLES / "hopper_gemm.mlir"))
    assert done.stderr == "tileproof: known.json: 1 of 1 known findings are gone\n"


def test_a_baseline_is_a_setting_too(here: Path):
    command("check", "--write-baseline", "known.json", "k.mlir")
    (here / "tileproof.toml").write_text('baseline = "known.json"\n')
    assert found("k.mlir") == []


@pytest.mark.parametrize("text", ["{", "[]", '{"version": 9, "findings": {}}', '{"version": 1}'])
def test_a_broken_baseline_is_named_and_stays(here: Path, text: str):
    (here / "known.json").write_text(text)
    done = command("check", "--baseline", "known.json", "k.mlir")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("tileproof: known.json: ")
    assert (here / "known.json").read_text() == text


def test_a_baseline_that_is_not_there_is_one_line(here: Path):
    done = command("check", "--baseline", "missing.json", "k.mlir")
    assert (done.returncode, done.stderr) == (2, "tileproof: missing.json: No such file or directory\n")


# -- comments written


def test_comments_are_added_and_silence(here: Path):
    """The Python line ends in a bracket: the comment stands behind it, and the program is the same."""
    (here / "kernel.py").chmod(0o640)
    done = command("check", "--add-ignore", "k.mlir")
    assert (done.returncode, done.stderr) == (0, "tileproof: kernel.py: 1 line silenced\n")
    assert "    mma(  # tileproof: ignore[PR102] known\n" in (here / "kernel.py").read_text()
    assert stat.S_IMODE((here / "kernel.py").stat().st_mode) == 0o640
    assert found("k.mlir") == []


def test_a_comment_that_is_there_gets_the_rule_too(here: Path):
    comment(here, "# tileproof: ignore[WG101] why", 5)
    command("check", "--add-ignore", "k.mlir")
    assert "    mma(  # tileproof: ignore[PR102, WG101] why\n" in (here / "kernel.py").read_text()


def test_a_line_that_goes_on_gets_its_comment_above(here: Path):
    (here / "kernel.py").write_text(PYTHON.replace("mma(\n", "x = \\\n      mma(\n"))
    command("check", "--add-ignore", "k.mlir")
    text = (here / "kernel.py").read_text()
    assert "    # tileproof: ignore[PR102] known\n    x = \\\n" in text
    (here / "k.mlir").write_text(dumped("kernel.py:6:4"))
    assert found("k.mlir") == []


def test_ir_without_locations_gets_the_comment_itself(here: Path):
    (here / "k.mlir").write_text("\n".join(LINES) + "\n")
    command("check", "--add-ignore", "k.mlir")
    assert (here / "k.mlir").read_text().count("// tileproof: ignore[PR102] known") == 1
    assert found("k.mlir") == []


def test_a_file_that_cannot_be_written_is_one_line_and_as_before(here: Path, monkeypatch: pytest.MonkeyPatch):
    from tileproof.base import files  # noqa: PLC0415

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device", "kernel.py")

    monkeypatch.setattr(files.Path, "replace", full)
    done = command("check", "--add-ignore", "k.mlir")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "tileproof: kernel.py: No space left on device\n"
    assert (here / "kernel.py").read_text() == PYTHON
    assert sorted(path.name for path in here.iterdir()) == ["k.mlir", "kernel.py"]
