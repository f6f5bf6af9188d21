"""The rules at work: cases are data (cases/*.toml, ``common/rule_cases.py``), this is their one runner."""

from __future__ import annotations

from typing import Any

import pytest
from rule_cases import as_expected, cases, diagnostics, text_of

import tileproof
from tileproof.rulebase.declarations import Rule


@pytest.mark.parametrize("case", [pytest.param(case, id=name) for name, case in cases()])
def test_case(case: dict[str, Any]):
    text = text_of(case)
    found = diagnostics(tileproof.load_rules(), case)
    assert as_expected(found, case), (text, [d.code for d in found])
    if "under" in case:
        assert text[found[0].span.start : found[0].span.end] == case["under"]
    if "hint" in case:
        assert case["hint"] in found[0].hint
    if "message" in case:
        assert any(case["message"] in d.message for d in found)
    for diagnostic in found:
        assert diagnostic.sources
        if diagnostic.code[:2] != "IR" and diagnostic.code[:3] != "PT0":  # those quote the file, braces and all
            assert "{" not in diagnostic.message + diagnostic.hint, "a placeholder was left open"


def test_every_rule_has_a_case_that_violates_it():
    reported = {code for _, case in cases() for code in case["expect"]}
    later = {"PT100", "PT102"}  # instructions come with their chapters
    later |= {"UM105", "UM106", "UM107"}  # weight-stationary shapes stand in instruction descriptors only; test_umma.py
    later |= {
        "MM201",
        "MM202",
        "MM203",
        "MM295",
        "MM296",
        "MM297",
        "MM298",
        "BS201",
        "BS202",
    }  # of the pages; test_mma.py
    later |= {"BS117"}  # ties the block size of IR to the modifiers of PTX, which no text has together
    later |= {"WG166"}  # of configurations, since a text has no major mode of registers; suggesting/test_truth.py
    later |= {"DS101", "DS102", "DS103", "DS104", "DS110", "DS111"}  # fields of packed descriptors;
    later |= {"DS130", "DS131", "DS132", "DS133", "DS134", "DS135"}  # descriptors/test_words.py
    later |= {"DS136", "DS140", "DS141", "DS142", "DS143"}  # whole kernels; descriptors/test_assembled.py
    later |= {"DS127", "DS150", "DS151", "DS152", "DS153", "DS154", "DS155"}  # the same; descriptors/test_sharing.py
    later |= {f"DS{number}" for number in range(156, 174) if number not in (158, 159)}  # memory/test_joins.py
    later |= {"CB130", "CB131", "CB132", "CP124", "TM153"}  # the same
    later |= {f"DS{number}" for number in (*range(144, 150), 174)}  # known before the kernel runs; dataflow/cases.toml
    later |= {"TL101", "TL102", "TL201", "TL202"}  # tilings; prove/test_tilings.py
    later |= {f"WP20{number}" for number in range(1, 10)}  # the four operations of the pages; protocol/test_four_ops.py
    later |= {"LA101", "LA102", "LA103"}  # operand layouts of the pages; prove/test_pages.py
    later |= {f"PW10{number}" for number in range(1, 6)}  # packed words of the pages; reference/test_words.py
    rules = {code for code, item in tileproof.load_rules().documented().items() if isinstance(item, Rule)}
    assert rules - reported == later
