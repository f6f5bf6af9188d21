"""Findings of the engine: their words are in rules/, Python passes a code, a case and facts."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from trees import nodes

import tileproof
from tileproof.base.source import Source
from tileproof.rulebase.findings import state
from tileproof.rulebase.load import RuleError, default_files, load

ENGINE = Path(tileproof.__file__).parent
BOOK = load(default_files())
CODE = re.compile(r"(?:PR|IR|AT|PT)\d{3}")
FOLLOWED = "PR190"
CAUSE = "PR191"
NO_FACTS = {"at", "unwaited"}  # keywords of Machine.report that are none


def text_of(node: ast.expr) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def calls(within: str = "*.py") -> Iterator[tuple[str, ast.Call, str]]:
    """Each call that passes the code of a finding, with where it is and the code."""
    for path in sorted(ENGINE.rglob(within)):
        for node in nodes(path):
            if isinstance(node, ast.Call):
                for argument in node.args:
                    if (code := text_of(argument)) is not None and CODE.fullmatch(code):
                        yield f"{path.relative_to(ENGINE)}:{node.lineno}", node, code


def reported() -> Iterator[tuple[str, str, str | None, set[str | None]]]:
    """Where, code, case and names of facts of each call that reports."""
    for where, call, code in calls():
        texts = [text_of(argument) for argument in call.args]
        at = texts.index(code) + 1
        case = texts[at] if at < len(texts) else None
        if code in (FOLLOWED, CAUSE) and case is None:
            continue  # the cases of `Unfollowed` and of `Change` are collected by themselves
        if told_later(call, at) is not None:
            continue  # the function that tells it states the case
        yield where, code, case, {keyword.arg for keyword in call.keywords} - NO_FACTS


def told_later(call: ast.Call, at: int) -> str | None:
    """The function that puts a fault into words when they are asked for, as in ``fault(code, partial(tell, ...))``."""
    tell = call.args[at] if at < len(call.args) else None
    if isinstance(tell, ast.Call) and ast.unparse(tell.func) == "partial":
        return ast.unparse(tell.args[0])
    return "tell" if isinstance(tell, ast.Name) and tell.id == "tell" else None


# The calls that pass a case of PR190 without its code, and the position of the case in them.
DOUBTS = {"Unfollowed": 1, "Unstructured": 1, "_unfollowed": 4, "study.doubt": 0, "self.doubt": 0}


def test_what_is_told_later_is_the_finding_that_was_made():
    path = ENGINE / "ptx" / "opcode.py"
    functions = {node.name: node for node in nodes(path) if isinstance(node, ast.FunctionDef)}
    codes = {name: {text for text in texts_within(one) if CODE.fullmatch(text)} for name, one in functions.items()}
    codes["_missing"] = codes["_absent"]  # which it calls
    told = {
        (code, name)
        for where, call, code in calls("ptx/opcode.py")
        if where.startswith("ptx/") and (name := told_later(call, 1)) not in (None, "tell")
    }
    assert len(told) >= 5
    assert {(code, name) for code, name in told if codes[name] != {code}} == set()


def texts_within(function: ast.FunctionDef) -> Iterator[str]:
    """Every text in a function."""
    yield from (text for node in ast.walk(function) if isinstance(node, ast.expr) and (text := text_of(node)))


def doubts() -> Iterator[tuple[str, str, set[str | None]]]:
    """Where, case and names of facts of each call that says why a kernel is not followed."""
    for path in sorted((ENGINE / "protocol").rglob("*.py")):
        for node in nodes(path):
            at = DOUBTS.get(ast.unparse(node.func)) if isinstance(node, ast.Call) else None
            if isinstance(node, ast.Call) and at is not None and (case := text_of(node.args[at])) is not None:
                where = f"{path.relative_to(ENGINE)}:{node.lineno}"
                yield where, case, {keyword.arg for keyword in node.keywords}


def causes() -> set[str]:
    """The cases of PR191: every text of the diagnosis that is the name of one."""
    return texts_of(*sorted((ENGINE / "protocol" / "diagnosis").glob("*.py")))


def texts_of(*files: Path) -> set[str]:
    """Every text in some modules."""
    every = (node for path in files for node in nodes(path))
    return {text for node in every if isinstance(node, ast.expr) and (text := text_of(node)) is not None}


def test_calls_name_a_case_and_pass_its_facts():
    seen = set()
    wrong = []
    for where, code, case, facts in reported():
        declared = BOOK.findings[code].cases.get(case or "") if code in BOOK.findings else None
        if declared is None:
            wrong.append(f"{where}: {code} has no case {case}")
        elif facts != declared.facts.keys():
            wrong.append(f"{where}: {code} {case} states {sorted(declared.facts)}, not {sorted(map(str, facts))}")
        seen.add((code, case))
    assert not wrong
    assert len(seen) > 90


def test_every_case_is_reported_somewhere():
    said = {(code, case) for _, code, case, _ in reported()}
    wrong = []
    for where, case, facts in doubts():
        declared_facts = BOOK.findings[FOLLOWED].cases[case].facts.keys()
        if facts != declared_facts:
            wrong.append(f"{where}: {FOLLOWED} {case} states {sorted(declared_facts)}, not {sorted(map(str, facts))}")
        said.add((FOLLOWED, case))
    assert not wrong
    # A function of PTX that is not followed, and what is assumed of a launch: the cases are values there.
    texts = texts_of(ENGINE / "checking" / "ptx.py", ENGINE / "protocol" / "launch.py")
    said |= {(FOLLOWED, case) for case in texts & BOOK.findings[FOLLOWED].cases.keys()}
    roles = {member.removeprefix(".") for member in BOOK.enums["warp_work"].members}
    said |= {(CAUSE, case) for case in BOOK.findings[CAUSE].cases if case in causes() | roles}
    declared = {(code, case) for code, finding in BOOK.findings.items() for case in finding.cases}
    assert declared == said


def named_places(path: Path) -> Iterator[tuple[str, str]]:
    """Code and name of each other place that a report of a file passes, in its call or in a tuple assigned before."""
    for function in nodes(path):
        if not isinstance(function, ast.FunctionDef):
            continue
        inside = list(ast.walk(function))
        tuples = {
            target.id: node.value
            for node in inside
            if isinstance(node, ast.Assign) and isinstance(target := node.targets[0], ast.Name)
        }
        for node in inside:
            codes = [code for a in node.args if (code := text_of(a) or "")] if isinstance(node, ast.Call) else []
            for keyword in node.keywords if isinstance(node, ast.Call) and codes and CODE.fullmatch(codes[0]) else ():
                if keyword.arg == "at":
                    value = tuples[keyword.value.id] if isinstance(keyword.value, ast.Name) else keyword.value
                    assert isinstance(value, ast.Tuple)
                    for pair in value.elts:
                        assert isinstance(pair, ast.Tuple)
                        yield codes[0], text_of(pair.elts[0]) or ""


def test_other_places_are_those_that_the_findings_declare():
    rooms = ("protocol", "ptx")
    named = {one for room in rooms for path in sorted((ENGINE / room).rglob("*.py")) for one in named_places(path)}
    assert named == {(code, name) for code, finding in BOOK.findings.items() for name in finding.places}


def test_facts_that_a_case_does_not_declare_are_refused():
    with pytest.raises(ValueError, match="PR132 here states id, last, not number"):
        state(BOOK, "PR132", "here", number=16)
    with pytest.raises(ValueError, match="PR132 has no case 'elsewhere'"):
        state(BOOK, "PR132", "elsewhere", id=16, last=15)


def test_a_hint_of_a_hazard_is_that_of_its_earlier_access():
    said = state(BOOK, "PR112", "here", hazard="WAR", buffer="sA", access=".tma_write", earlier=".tma_read")
    assert said.message == "WAR hazard on 'sA': the write by a bulk copy is not ordered after the read by a bulk store"
    assert "cp.async.bulk.wait_group.read" in said.hint
    mma = state(BOOK, "PR112", "here", hazard="WAR", buffer="sA", access=".tma_write", earlier=".mma_read")
    assert "tcgen05.commit" in mma.hint


WRONG = [
    ('case here "{bytes}";', "{bytes} is not a fact of case 'here': declare it, as in case here (bytes)"),
    ('case here (bytes) "none";', "no text of case 'here' uses its fact 'bytes': write {bytes} or delete it"),
    ('case here (a: colour) "{a}";', "no enum is called 'colour'"),
    ('case here (a: plain) "{a}";', "every member of 'plain' needs a spelling, which the message shows"),
    ('case here (a) "{hue(a)}";', "{hue(a)}: 'hue' needs one key, the enum of the fact, and one column"),
    ('case here (a: shade) "{hue(a)}";', "{hue(a)}: 'hue' has no row for .dark"),
    ('case here (a: shade) "{tint(a)}";', "{tint(a)}: no table of both contracts is called 'tint'"),
    ('case here "{1 + 2}";', "case 'here': a placeholder is {fact} or {table(fact)}"),
    ('case here (a) "{a}"; at there "{b}";', "{b} is not a fact of case 'here': declare it, as in case here (b)"),
    ('case here "one"; case here "two";', "case 'here' is declared twice"),
]
AROUND = """\
reference "s" {{ }} enum plain {{ .a; }}
enum shade {{ .light "light"; .dark "dark"; }}
table hue (shade: shade) -> text source "s" {{ .light "bright"; }}
finding ZZ900 some-fault {{
  error "general"
  source "s"
  {}
}}
"""


@pytest.mark.parametrize(("clauses", "message"), WRONG)
def test_what_is_wrong_with_a_case_is_an_error_of_the_rule_file(clauses: str, message: str):
    file = Source("own.rule", AROUND.format(clauses))
    with pytest.raises(RuleError) as caught:
        load((file,))
    (fault,) = caught.value.faults
    assert str(fault).endswith(message)
    line = clauses and file.position(fault.place.span.start).line
    assert line == 7


def test_a_case_may_leave_its_hint_to_the_finding():
    file = Source("own.rule", AROUND.format('hint "do this" case a "x"; case b (n) "{n}" hint "do {n}";'))
    book = load((file,))
    assert state(book, "ZZ900", "a").hint == "do this"
    said = state(book, "ZZ900", "b", n=3)
    assert replace(said, code="") == replace(said, code="", message="3", hint="do 3")
