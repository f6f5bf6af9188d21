"""The rules at work: cases are data (cases/*.toml), this is their one runner.

A case fills the placeholders of its file's ``atom_type`` (an atom, wrapped into a file), ``op`` (the body of a file) or
``instr`` (a PTX instruction) and lists the codes that must be reported, in textual order, nothing more.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

import tileproof
from tileproof.base.source import Source
from tileproof.checking.file import check_source
from tileproof.checking.instruction import context, report, version
from tileproof.judge.outcome import Options
from tileproof.rulebase.declarations import Rule

CASES = sorted((Path(__file__).parent / "cases").glob("*.toml"))
PROTOCOL = ("PR",)  # a case is no kernel: what it leaves unfinished is not its fault; tests/protocol
SETTINGS = {"expect", "under", "hint", "message", "contract", "target", "ptx", "name"}


def load() -> list[Any]:
    found = []
    for path in CASES:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        for number, case in enumerate(data["case"]):
            merged = {**data["defaults"], **case}
            label = merged.get("name") or "+".join(merged["expect"]) or "legal"
            found.append(pytest.param(merged, id=f"{path.stem}-{number}-{label}"))
    return found


def text_of(case: dict[str, Any]) -> str:
    holes = {name: value for name, value in case.items() if name not in SETTINGS and isinstance(value, str)}
    instruction = holes.pop("instr", None)
    template = instruction or holes.pop("op", None)
    atom = holes.pop("atom_type", None)
    if template is None:
        template = f'%0 = "test.use"() : () -> !{atom}'
    for _ in range(2):  # a value may itself hold a placeholder
        for name, value in holes.items():
            template = template.replace("{" + name + "}", value)
    if instruction is not None:
        return template
    return f"func.func @case() {{\n  {template.strip()}\n  return\n}}\n"


@pytest.mark.parametrize("case", load())
def test_case(case: dict[str, Any]):
    text = text_of(case)
    contract, target = case.get("contract", "ptx"), case.get("target")
    book = tileproof.load_rules()
    if "instr" in case:
        where = context(book, target, version(case["ptx"]) if "ptx" in case else None)
        found = report(book.under(contract), [text], where).diagnostics
    else:
        # The nearest legal form, for which Z3 is asked, is in the hint only.
        options = Options(contract, target, ignore=PROTOCOL, mend="hint" in case)
        found = check_source(book, Source("<text>", text), options).diagnostics
    assert sorted(d.code for d in found) == sorted(case["expect"]), text
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
    reported = {code for case in load() for code in case.values[0]["expect"]}
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
    later |= {"DS144", "DS145", "DS146", "DS147"}  # fields that are known before the kernel runs; dataflow/cases.toml
    later |= {"TL101", "TL102", "TL201", "TL202"}  # tilings; prove/test_tilings.py
    later |= {f"WP20{number}" for number in range(1, 10)}  # the four operations of the pages; protocol/test_four_ops.py
    later |= {"LA101", "LA102", "LA103"}  # operand layouts of the pages; prove/test_pages.py
    later |= {f"PW10{number}" for number in range(1, 6)}  # packed words of the pages; reference/test_words.py
    rules = {code for code, item in tileproof.load_rules().documented().items() if isinstance(item, Rule)}
    assert rules - reported == later
