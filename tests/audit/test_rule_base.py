"""The rule base itself: it loads, it is documented, and its two readings agree over the whole lattice."""

from __future__ import annotations

import os

import pytest

import tileproof
from tileproof.audit.contracts import as_text, differences
from tileproof.audit.rules import check_files
from tileproof.rulebase.explain import text_of
from tileproof.rulebase.load import shipped_files


@pytest.mark.sweep
def test_every_rule_is_satisfiable_falsifiable_needed_exemplified_and_read_alike_twice():
    outcome = check_files(shipped_files(), 60, os.cpu_count() or 1)
    assert [str(fault) for fault in outcome.faults] == []
    assert [str(fault) for fault in outcome.unknown] == []
    assert outcome.configurations > 1_000_000


def test_every_rule_is_shown_as_its_file_has_it():
    book = tileproof.load_rules()
    for code, item in book.documented().items():
        assert item.sources, code
        shown = text_of(item)
        assert f"{code} {item.name}" in shown
        assert shown.rstrip().endswith("}")


@pytest.mark.long
def test_the_contracts_differ_where_the_pages_and_the_hardware_do():
    book = tileproof.load_rules()
    pages_only = "\n".join(as_text(differences(book, "tileiras", "ptx", 20)))
    hardware_only = "\n".join(as_text(differences(book, "ptx", "tileiras", 20)))
    assert "WG104 wgmma-invalid-integer-n" in pages_only, "integer widths"
    assert "WG110 wgmma-invalid-input-type" in pages_only, "4-bit integers"
    assert "WG206 wgmma-page-accumulator" in hardware_only, "FP8 with an f16 accumulator"
    assert "WG202 wgmma-page-int8" in hardware_only, "signed times unsigned"
