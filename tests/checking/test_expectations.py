"""``--split-input-file`` and ``--verify-diagnostics``."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from conftest import corpus
from tileproof.base.source import Source
from tileproof.checking.expectations import expectations, split
from tileproof.cli import main

WRONG = '%r = cute.get_shape(%x) : (!cute.layout<"4:1">) -> !cute.shape<"5">'
SAID = (
    "'cute.get_shape' op inferred type(s) '!cute.shape<\"4\">' "
    "are incompatible with return type(s) of operation '!cute.shape<\"5\">'"
)


def run(tmp_path: Path, text: str) -> tuple[int, str]:
    path = tmp_path / "t.mlir"
    path.write_text(text, encoding="utf-8")
    result = CliRunner().invoke(main, ["check", "--split-input-file", "--verify-diagnostics", str(path)])
    return result.exit_code, result.output


@pytest.mark.parametrize(
    "text",
    [
        f"// expected-error@+1 {{{{{SAID}}}}}\n{WRONG}\n",
        f"{WRONG} // expected-error {{{{inferred type(s)}}}}\n",
        f"{WRONG}\n// expected-error@-1 {{{{are incompatible}}}}\n",
        f"// expected-error@below {{{{failed to infer}}}}\n// expected-error@below {{{{inferred type}}}}\n{WRONG}\n",
        f"{WRONG}\n// expected-error@above {{{{inferred type}}}}\n",
        f"// expected-error-re@+1 {{{{inferred {{{{t..e}}}}(s) '!cute.{{{{[a-z]+}}}}<}}}}\n{WRONG}\n",
        f"// expected-error@+1 {{{{inferred}}}}\n{WRONG}\n// -----\n// expected-error@+1 {{{{inferred}}}}\n{WRONG}\n",
        '%r = cute.static : !cute.shape<"4">\n',
    ],
)
def test_expectations_that_are_met(tmp_path, text):
    assert run(tmp_path, text)[0] == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (WRONG + "\n", "unexpected error: 'cute.get_shape' op"),
        (f"// expected-error@+2 {{{{inferred}}}}\n{WRONG}\n", 'expected error "inferred" was not produced'),
        (f"// expected-warning@+1 {{{{inferred}}}}\n{WRONG}\n", 'expected warning "inferred" was not produced'),
        (f"// expected-error@+1 {{{{deferred}}}}\n{WRONG}\n", 'expected error "deferred" was not produced'),
        (f"// expected-error@+2 {{{{inferred}}}}\n// -----\n{WRONG}\n", "unexpected error"),
    ],
)
def test_expectations_that_are_not_met(tmp_path, text, said):
    status, output = run(tmp_path, text)
    assert status == 1
    assert said in output


def test_parts_keep_their_line_numbers():
    parts = split(Source("-", "a\n// -----\nb\n// ----- more\nc"))
    assert [part.text.strip().splitlines()[-1] for part in parts] == ["a", "b", "c"]
    assert [part.position(part.text.index(mark)).line for part, mark in zip(parts, "abc", strict=True)] == [1, 3, 5]


def test_an_expectation_knows_its_line_and_severity():
    (found,) = expectations(Source("-", "x // expected-note@+3 {{a.b}}\n"))
    assert (found.severity, found.line, found.text) == ("note", 4, "a.b")
    assert found.pattern.search("a.b")
    assert not found.pattern.search("a+b")


@corpus("cute_ir_tests/**/*.mlir")
def test_a_published_file_has_the_diagnostics_that_it_expects(path: Path):
    result = CliRunner().invoke(main, ["check", "--split-input-file", "--verify-diagnostics", str(path)])
    assert result.exit_code == 0, result.output
