"""Rule files mean what they meant: records/ has what each of them says, ``common/rule_records.py`` what that is worth.

After a change that is meant: ``pytest tests/rulebase/test_kept_constants.py --regenerate``, then read the diff.
"""

from __future__ import annotations

import difflib
from pathlib import Path

import pytest
from rule_records import compact, of_rule, records

from tileproof.base.source import Source
from tileproof.rulebase.load import load, shipped_files

RECORDS = Path(__file__).parent / "records"
FILES = shipped_files()
BOOK = load(FILES)
TOY = """reference "a manual" {{ }}
enum kind {{ .small; .large; }}
table most (kind: kind) -> n {{ .small 16; .large {large}; }}
schema toy "a toy" {{ N : 0..100 = 8; kind : kind = .small; }}
rule TY100 too-many on toy {{
  require N >= 8 and N <= most(kind).n and N % {step} == 0
  error "N = {{N}}" hint "less" source "a manual" pass {{ N = 16 }} fail {{ N = 17 }}
}}
"""


def kept(name: str) -> Path:
    return (RECORDS / name.removeprefix("rules/")).with_suffix(".txt")


@pytest.mark.parametrize("folder", sorted({Path(file.name).parent.as_posix() for file in FILES}))
def test_rule_files_mean_what_they_meant(folder: str, request: pytest.FixtureRequest):
    files = [file for file in FILES if Path(file.name).parent.as_posix() == folder]
    for name, text in records(BOOK, files).items():
        path = kept(name)
        if request.config.getoption("--regenerate"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        before = path.read_text(encoding="utf-8") if path.exists() else ""
        changes = "\n".join(difflib.unified_diff(before.splitlines(), text.splitlines(), "recorded", name, "", "", 1))
        assert before == text, f"{name} means something else; --regenerate if that is meant:\n{changes}"


def test_each_record_is_of_a_rule_file():
    expected = {kept(file.name) for file in FILES}
    assert set(RECORDS.rglob("*.txt")) == expected


def test_a_record_shows_what_a_constant_changes():
    def said(**constants: int) -> list[str]:
        book = load((Source("toy.rule", TOY.format(**{"large": 32, "step": 8, **constants})),))
        return list(of_rule(book, book.rules["TY100"]))

    as_it_is = said()
    assert "  N 8, 16" in as_it_is
    assert "  N 8, 12, 16" in said(step=4) or "  N 8..16 step 4" in said(step=4)
    assert said(large=40)[0] != as_it_is[0]  # a cell of another row than the examples'
    assert said(large=32) == as_it_is


def test_values_are_written_as_runs():
    assert compact([1, 2, 3, 8, 16, 24, 32, 40, 7000]) == ["1..3", "8..40 step 8", "7000"]
    assert compact([0, 5]) == ["0", "5"]
    assert compact([]) == []
