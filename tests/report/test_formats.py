"""What ``check`` writes, format by format: byte for byte, by the published schemas, and the same every time."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result
from jsonschema import Draft4Validator, Draft202012Validator

from tileproof.base.diagnostic import Diagnostic, Origin, Related, Severity
from tileproof.base.source import Source, Span
from tileproof.cli import main
from tileproof.cli.options import FORMATS
from tileproof.judge.coverage import KernelCoverage
from tileproof.judge.outcome import FileReport, Options
from tileproof.report import github, gitlab, junit, sarif, text
from tileproof.report import json as json_report
from tileproof.report.json import kernel_json
from tileproof.report.text import clause
from tileproof.report.values import Report, Unread
from tileproof.rulebase.load import default_files, load

BOOK = load(default_files())
DATA = Path(__file__).parent / "data"
FILES = ("broken.mlir", "clean.mlir", "missing.mlir")
KERNELS = ("partly.mlir", "followed.mlir", "unfollowed.ptx")  # each with a protocol, verified to another degree
EXPECTED = [(form, files) for form in FORMATS for files in (FILES, ("clean.mlir",), KERNELS, ("followed.mlir",))]


@pytest.fixture(autouse=True)
def in_the_data_folder(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(DATA)
    monkeypatch.setattr(sarif, "__version__", "1.2.3")


def check(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["check", *arguments])


@pytest.mark.parametrize(("form", "files"), EXPECTED, ids=lambda value: value if isinstance(value, str) else value[0])
def test_reports_are_as_expected_byte_for_byte(form: str, files: tuple[str, ...], request: pytest.FixtureRequest):
    """The expected reports are rewritten by ``pytest tests/report --regenerate``; read the diff then."""
    expected = DATA / "expected" / f"{Path(files[0]).stem}.{form}"
    written = check("--format", form, *files).stdout_bytes
    if request.config.getoption("--regenerate"):
        expected.parent.mkdir(exist_ok=True)
        expected.write_bytes(written)
    assert written == expected.read_bytes()


@pytest.mark.parametrize("form", FORMATS)
def test_the_same_input_gives_the_same_bytes_with_any_number_of_processes(form: str):
    runs = [check("--format", form, "--jobs", jobs, *FILES) for jobs in ("1", "2", "1")]
    assert len({(run.stdout_bytes, run.stderr_bytes, run.exit_code) for run in runs}) == 1


@pytest.mark.parametrize("form", FORMATS)
def test_what_could_not_be_checked_is_said_on_stderr_too(form: str):
    run = check("--format", form, *FILES)
    assert (run.stderr, run.exit_code) == ("tileproof: missing.mlir: No such file or directory\n", 2)


def schema_faults(validator, document: object) -> list[str]:
    return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(document)]


@pytest.fixture(scope="module")
def json_schema() -> Draft202012Validator:
    schema = json.loads((DATA / "check.schema.json").read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


@pytest.fixture(scope="module")
def sarif_schema() -> Draft4Validator:
    """The schema that was published; see data/SOURCES.md."""
    return Draft4Validator(json.loads((DATA / "sarif-2.1.0.schema.json").read_text(encoding="utf-8")))


PATH = ("--explain-path", str(Path(__file__).parents[1] / "protocol" / "bugs" / "18_released_before_wait.mlir"))
RUNS = [
    pytest.param(FILES, id="findings"),
    pytest.param(PATH, id="path"),
    pytest.param(("clean.mlir",), id="clean"),
    pytest.param(("-",), id="stdin"),
    pytest.param(("--statistics", *KERNELS), id="kernels"),
]


@pytest.mark.parametrize("files", RUNS)
def test_json_keeps_its_schema(files: tuple[str, ...], json_schema: Draft202012Validator):
    assert schema_faults(json_schema, json.loads(check("--format", "json", *files).stdout)) == []


@pytest.mark.parametrize("files", RUNS)
def test_sarif_keeps_the_published_schema(files: tuple[str, ...], sarif_schema: Draft4Validator):
    assert schema_faults(sarif_schema, json.loads(check("--format", "sarif", *files).stdout)) == []


def test_the_schemas_can_fail(json_schema: Draft202012Validator, sarif_schema: Draft4Validator):
    assert schema_faults(json_schema, {"version": 2, "diagnostics": [], "summary": {}})
    assert schema_faults(sarif_schema, {"version": "2.1.0", "runs": [{"results": [{"ruleId": "WG101"}]}]})


def test_json_and_sarif_name_the_same_places():
    found = json.loads(check("--format", "json", *FILES).stdout)["diagnostics"]
    [run] = json.loads(check("--format", "sarif", *FILES).stdout)["runs"]
    regions = [result["locations"][0]["physicalLocation"]["region"] for result in run["results"]]
    assert [(d["code"], d["line"], d["column"], d["end_line"], d["end_column"]) for d in found] == [
        (result["ruleId"], *(region[key] for key in ("startLine", "startColumn", "endLine", "endColumn")))
        for result, region in zip(run["results"], regions, strict=True)
    ]
    rules = run["tool"]["driver"]["rules"]
    assert all(rules[result["ruleIndex"]]["id"] == result["ruleId"] for result in run["results"])
    assert run["columnKind"] == "unicodeCodePoints"


# -- reports made by hand, for what no kernel here shows


def report_of(source: Source, span: Span, message: str = "wrong", hint: str = "") -> Report:
    diagnostic = Diagnostic(source, span, "XX1", "some-fault", Severity.WARNING, message, hint)
    return Report((FileReport(source, (diagnostic,), None),), (), Options("ptx"), BOOK)


def test_github_commands_are_escaped():
    """``%``, line breaks, and in properties ``:`` and ``,`` would end a value or start another command."""
    report = report_of(Source("a,b:c%.mlir", "text"), Span(0, 4), "100 %\r\n::error::x", "a:b, c")
    assert list(github.render(report)) == [
        "::warning file=a%2Cb%3Ac%25.mlir,line=1,col=1,endColumn=4,title=XX1 some-fault"
        "::100 %25%0D%0A::error::x%0Ahint: a:b, c"
    ]


def test_github_gives_no_columns_over_several_lines():
    [command] = github.render(report_of(Source("f.mlir", "one\ntwo\n"), Span(1, 6)))
    assert command == "::warning file=f.mlir,line=1,endLine=2,title=XX1 some-fault::wrong"


def test_github_names_what_could_not_be_checked():
    report = Report((), (Unread("a,b", "50 %\nlost"),), Options("ptx"), book=None)  # type: ignore[arg-type]
    assert list(github.render(report)) == ["::error file=a%2Cb::50 %25%0Alost"]


@pytest.mark.parametrize(
    ("name", "uri"),
    [
        ("a b/c:d.mlir", "a%20b/c%3Ad.mlir"),
        ("../x.mlir", "../x.mlir"),
        ("/a b.mlir", "file:///a%20b.mlir"),
        ("größe.mlir", "gr%C3%B6%C3%9Fe.mlir"),
        ("not-utf8-\udcff", "not-utf8-%FF"),
        ("-", "-"),
    ],
)
def test_sarif_places_are_uris(name: str, uri: str):
    assert sarif._uri(name) == uri


LONG = "x" * 100 + "WRONG" + "y" * 3_000_000


@pytest.mark.parametrize(
    ("line", "start", "end", "underlined"),
    [
        pytest.param("ab WRONG cd", 3, 8, "WRONG", id="short"),
        pytest.param("\tWRONG", 1, 6, "WRONG", id="after-a-tab"),
        pytest.param(LONG, 100, 105, "WRONG", id="in-a-line-of-3-MB"),
        pytest.param("WRONG" + "y" * 500, 0, 5, "WRONG", id="at-the-start-of-a-long-line"),
        pytest.param("y" * 500 + "WRONG", 500, 505, "WRONG", id="at-the-end-of-a-long-line"),
        pytest.param("end", 3, 3, "", id="at-the-end-of-the-text"),
        pytest.param("ab\ncd", 1, 5, "b", id="over-several-lines"),
        pytest.param("\x1b[31mWRONG\x00", 5, 10, "WRONG", id="among-control-characters"),
    ],
)
def test_the_caret_stands_under_the_text(line: str, start: int, end: int, underlined: str):
    lines = list(text.render(report_of(Source("f", line), Span(start, end))))
    shown, caret = lines[1], lines[2]
    at = caret.index("^")
    assert set(caret[at:]) <= {"^", "~"}
    assert shown[at : at + len(caret[at:])] == underlined
    assert len(shown) <= text.WIDTH + len("    1 | ")
    assert shown.isprintable()


def test_colours_change_nothing_but_colours():
    report = report_of(Source("f.mlir", "ab WRONG"), Span(3, 8), hint="right")
    coloured = "\n".join(text.render(report, text.coloured))
    assert "\x1b[" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == "\n".join(text.render(report))


def test_the_summary_counts():
    source = Source("f", "x")
    found = [
        Diagnostic(source, Span(0, 1), "X1", "x", severity, "m")
        for severity, count in ((Severity.ERROR, 2), (Severity.WARNING, 1), (Severity.NOTE, 3))
        for _ in range(count)
    ]
    report = Report((FileReport(source, tuple(found), None),), (), Options("ptx"), BOOK)
    assert list(text.render(report))[-1] == (
        "2 errors, 1 warning, 3 notes in 1 file; target none (no target has all features used); contract ptx"
    )


# -- what was verified


COVERED = [
    pytest.param(("followed.mlir",), "1 kernel verified: 5 of 5 protocol steps, 0 MMAs", id="followed"),
    pytest.param(("partly.mlir",), "1 kernel verified in part: 5 of 7 protocol steps, 0 MMAs", id="partly"),
    pytest.param(("unfollowed.ptx",), "1 kernel not verified: 0 of 3 protocol steps, 0 MMAs", id="unfollowed"),
    pytest.param(
        KERNELS,
        "1 kernel verified, 1 verified in part, 1 not verified: 10 of 15 protocol steps, 0 MMAs",
        id="all",
    ),
    pytest.param(("clean.mlir",), "", id="without a protocol"),
]


@pytest.mark.parametrize(("files", "clause"), COVERED)
def test_every_format_says_what_was_verified(files: tuple[str, ...], clause: str):
    summary = check(*files).stdout.splitlines()[-1]
    assert (f"; {clause}; target" in summary) if clause else ("kernel" not in summary)
    notices = [line for line in check("--format", "github", *files).stdout.splitlines() if "title=tileproof" in line]
    assert notices == ([f"::notice title=tileproof::{clause}"] if clause else [])
    document = json.loads(check("--format", "json", *files).stdout)
    kernels = [kernel for file in document["files"] for kernel in file["kernels"]]
    coverage = document["summary"]["coverage"]
    assert [file["file"] for file in document["files"]] == list(files)
    assert coverage["kernels"] == len(kernels)
    assert coverage["followed"] == sum(kernel["status"] == "followed" for kernel in kernels)
    for number in ("steps", "executed"):
        assert coverage[number] == sum(kernel[number] for kernel in kernels)
    notes = [(d["file"], d["line"]) for d in document["diagnostics"] if d["code"] == "PR190"]
    assert notes == [
        (file["file"], kernel["line"])
        for file in document["files"]
        for kernel in file["kernels"]
        if kernel["status"] != "followed"
    ]
    [run] = json.loads(check("--format", "sarif", *files).stdout)["runs"]
    assert run["properties"]["coverage"] == coverage
    assert [{**kernel, "uri": 0} for kernel in run["properties"]["kernels"]] == [{**k, "uri": 0} for k in kernels]


@pytest.mark.parametrize(
    ("bound", "trip_counts", "words"),
    [
        (None, "all", "1 kernel verified: 1 of 1 protocol step"),
        (9, 9, "1 kernel verified for up to 9 iterations: 1 of 1 protocol step"),
        (1, 1, "1 kernel verified for up to 1 iteration: 1 of 1 protocol step"),
    ],
)
def test_a_bound_of_iterations_is_said_and_leaves_a_kernel_verified(bound: int | None, trip_counts: object, words: str):
    source = Source("f", "@k")
    kernel = KernelCoverage("k", Span(0, 2), 1, 1, 0, bound, ())
    report = Report((FileReport(source, (), None, kernels=(kernel,)),), (), Options("ptx"), book=None)  # type: ignore[arg-type]
    assert words in clause(report.coverage)
    assert kernel_json(source, kernel)["trip_counts"] == trip_counts
    assert report.verified
    assert report.exit_status(require_verified=True) == 0


def test_a_kernel_of_a_file_with_an_error_is_not_called_verified():
    source = Source("f", "@k")
    kernel = KernelCoverage("k", Span(0, 2), 1, 1, 4, None, ())
    wrong = Diagnostic(source, Span(0, 1), "X1", "x", Severity.ERROR, "m")
    report = Report((FileReport(source, (wrong,), None, kernels=(kernel,)),), (), Options("ptx"), book=None)  # type: ignore[arg-type]
    assert clause(report.coverage) == "1 kernel followed: 1 of 1 protocol step, 4 MMAs"
    assert not report.verified


def test_statements_that_no_rule_knows_are_counted():
    unjudged = {
        name: json.loads(check("--format", "json", name).stdout)["summary"]["coverage"]["unjudged"] for name in KERNELS
    }
    assert unjudged["partly.mlir"] == unjudged["followed.mlir"] + 1
    assert unjudged["unfollowed.ptx"] == 0  # what is arithmetic or control flow is known to be so


def test_statistics_count_findings_kernels_and_steps():
    lines = check("--statistics", *KERNELS).stdout.splitlines()
    assert lines[-9:-2] == [
        " 2  PR190 protocol-unfollowed (note)",
        " 1  IR024 unknown-operation (note)",
        " 1  kernels wholly followed",
        " 1  kernels followed in part",
        " 1  kernels not followed",
        "10  protocol steps executed",
        " 5  protocol steps not executed",
    ]
    numbers = json.loads(check("--statistics", "--format", "json", *KERNELS).stdout)["statistics"]
    assert numbers == {
        "rules": [
            {"code": "PR190", "name": "protocol-unfollowed", "severity": "note", "count": 2},
            {"code": "IR024", "name": "unknown-operation", "severity": "note", "count": 1},
        ],
        "kernels": {"followed": 1, "partly": 1, "unfollowed": 1},
        "steps": {"executed": 10, "not_executed": 5},
    }
    assert "statistics" not in json.loads(check("--format", "json", *KERNELS).stdout)


# -- where the user's own source is named


def compiled(code: str = "XX1") -> Report:
    """A finding in a kernel, with the operation that it is about and two places of the user's source."""
    source = Source("k.mlir", "one\ntwo loc(#loc1)\n")
    frames = (Origin("kernel.py", 5, 9), Origin("/lib/helper.py", 3, 0))
    related = (Related(Span(0, 3), "the copy", (Origin("kernel.py", 2, 1),)),)
    found = Diagnostic(
        *(source, Span(4, 7), code, "some-fault", Severity.ERROR, "wrong <a & b>\x00", "right"),
        related=related,
        origins=frames,
    )
    return Report((FileReport(source, (found,), None),), (Unread("lost.mlir", "not there"),), Options("ptx"), book=BOOK)


def test_sarif_stands_at_the_users_line_with_the_path_of_the_protocol(sarif_schema: Draft4Validator):
    rendered = sarif.render(compiled("WG101"))
    document = json.loads(rendered)
    assert schema_faults(sarif_schema, document) == []
    [result] = document["runs"][0]["results"]
    [place] = result["locations"]
    assert place["physicalLocation"] == {
        "artifactLocation": {"uri": "kernel.py", "uriBaseId": "SRCROOT"},
        "region": {"startLine": 5, "startColumn": 9},
    }
    lines = [one["physicalLocation"]["region"]["startLine"] for one in result["relatedLocations"]]
    assert lines == [1, 2, 3]
    [flow] = result["codeFlows"]
    steps = flow["threadFlows"][0]["locations"]
    assert [one["location"]["message"]["text"][:5] for one in steps] == ["the c", "wrong"]
    assert re.fullmatch("[0-9a-f]{16}", result["partialFingerprints"]["tileproof/v1"])


def test_descriptions_of_rules_have_no_placeholders():
    [run] = json.loads(check("--format", "sarif", *FILES, *KERNELS).stdout)["runs"]
    texts = [one["fullDescription"]["text"] for one in run["tool"]["driver"]["rules"]]
    assert texts and not any("{" in one for one in texts)


def test_junit_is_xml_whatever_a_message_holds():
    root = ElementTree.fromstring("\n".join(junit.render(compiled())))
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("2", "1", "1")
    failure = root.find("./testsuite/testcase/failure")
    assert failure is not None
    assert failure.get("message") == "wrong <a & b>\ufffd"
    assert "kernel.py:5:9: error: wrong <a & b>\ufffd (right) [XX1 some-fault]" in failure.text
    assert root.find("./testsuite/testcase/error").get("message") == "not there"


def test_gitlab_has_what_its_documentation_requires():
    first, second = json.loads(gitlab.render(compiled()))
    assert set(first) == {"description", "check_name", "fingerprint", "severity", "location"}
    assert first["location"] == {"path": "kernel.py", "lines": {"begin": 5}}
    assert (first["severity"], second["severity"]) == ("critical", "blocker")


@pytest.mark.oracle
def test_a_reader_of_sarif_that_is_not_ours_counts_the_same(tmp_path: Path):
    if importlib.util.find_spec("sarif") is None:
        pytest.skip("sarif-tools is not installed")
    (tmp_path / "r.sarif").write_text(check("--format", "sarif", *FILES, *KERNELS).stdout, encoding="utf-8")
    expected = json.loads(check("--format", "json", *FILES, *KERNELS).stdout)["summary"]
    done = subprocess.run(
        [sys.executable, "-m", "sarif", "summary", str(tmp_path / "r.sarif")],
        capture_output=True,
        text=True,
        check=True,
    )
    counts = dict(re.findall(r"^(error|warning|note): (\d+)$", done.stdout, re.M))
    assert {name: int(counts[name]) for name in counts} == {
        "error": expected["errors"],
        "warning": expected["warnings"],
        "note": expected["notes"],
    }


def test_json_with_places_of_the_user_keeps_its_schema(json_schema: Draft202012Validator):
    assert schema_faults(json_schema, json.loads(json_report.render(compiled("WG101")))) == []
