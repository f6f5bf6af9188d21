"""The ledger of the reference pages: each row of the checklist has rule data and a test."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from conftest import ROOT, SHARED
from tileproof.audit.ledger import as_text, ledger
from tileproof.base.source import Source
from tileproof.cli import main
from tileproof.rulebase.load import RuleError, load, shipped_files

BOOK = load(shipped_files())
ROWS = ledger(BOOK, ROOT / "tests")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_each_row_has_rule_data_and_a_test(row):
    assert row.data, "no declaration `covers` it"
    assert row.tests, "no test names it"


def test_the_rows_are_those_of_the_checklist():
    path = SHARED / "reference" / "CHECKLIST.md"
    if not path.is_file():
        pytest.skip("no ../shared beside this checkout")
    ids = re.findall(r"^\| ([A-Z]{3}\d\d) \|", path.read_text(encoding="utf-8"), re.M)
    assert [row.id for row in ROWS] == ids or sorted(row.id for row in ROWS) == sorted(ids)


def test_without_tests_the_ledger_says_so(tmp_path: Path):
    rows = ledger(BOOK, None)
    assert all(row.tests is None for row in rows)
    assert list(as_text(rows))[-1] == "86 of 86 rows have rule data; the tests are in a checkout only"
    (tmp_path / "test_one.py").write_text(
        "def test_it_BLT03(): ...\n# checklist: MMA01 MMA02\ndef test_BLT031(): ...\n"
    )
    found = {row.id: row.tests for row in ledger(BOOK, tmp_path) if row.tests}
    assert found == dict.fromkeys(("MMA01", "MMA02", "BLT03"), ("test_one.py",))


def test_a_row_that_there_is_not_is_a_fault_of_the_rule_file():
    text = 'enum e { .a; }\ntable own (k: e) -> v source "tileproof" covers BLT99 { .a 1; }\n'
    with pytest.raises(RuleError, match="table 'own' covers 'BLT99', which is no row of the checklist"):
        load((*shipped_files(), Source("own.rule", text)))


def test_the_command():
    text = CliRunner().invoke(main, ["rules", "ledger"])
    assert text.exit_code == 0, text.output
    assert text.stdout.endswith("86 of 86 rows have rule data, 86 a test\n")
    rows = json.loads(CliRunner().invoke(main, ["rules", "ledger", "--format", "json"]).stdout)
    assert rows[0].keys() == {"id", "what", "pages", "carriers", "tests"}
    assert "RP150" in next(row for row in rows if row["id"] == "DSC06")["carriers"]["contradiction"]
