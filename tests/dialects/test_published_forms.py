"""The constraints of the published dialect, row by row: what conforms is accepted, what does not is refused so."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from published_cases import CONFORMING, MALFORMED, VIOLATING, Use

import tileproof
from conftest import SHARED
from tileproof.base.diagnostic import Severity

TABLE = SHARED / "reference" / "cute_ir_constraints.tsv"
ENOUGH = 0.95
KINDS = {
    "shape": "(4,2)",
    "stride": "(1,4)",
    "coord": "(1,_)",
    "int_tuple": "(4,2)",
    "layout": "(4,2):(1,4)",
    "composed_layout": "S<2,4,3> o 0 o (8,8):(8,1)",
    "tile": "[4:1;2:1]",
    "swizzle": "S<2,4,3>",
}
# Where the verifier has two wordings, the parser of types says the second before the verifier can say the first.
PARSER = {
    "expects source without errors": "failed to parse",
    "expects |num_shift|": "failed to parse swizzle",
    "expects no error(`x`) in layout": "expects no error(`x`) in layout",
}

# Rows that are not enforced, and why.
NOT_ENFORCED = {
    ("cute.tile_to_shape", "input"): "no block is known that the verifier refuses: what does not divide is rounded up",
    ("cute.make_layout", "operands"): "a text of algebraic types may be of the wheel, which takes the shape alone",
    ("cute.print", "operand $value (#0)"): "a text of algebraic types may be of the wheel, which prints integers",
    ("cute.layout_eval", "coord"): "no coordinate is known that does not evaluate: a wildcard counts as 0",
}

Row = tuple[str, str, str, str]


def rows() -> list[Row]:
    lines = TABLE.read_text(encoding="utf-8").splitlines()[1:]
    return [tuple(line.split("\t")) for line in lines]  # type: ignore[misc]


def spelled(text: str) -> str:
    kind, _, value = text.partition(" ")
    return f'!cute.{kind}<"{value}">' if value else kind


def types(text: str) -> list[str]:
    return [spelled(part) for part in text.split("; ") if part]


def module(operation: str, operands: list[str], attributes: str, results: list[str], bound: int | None = None) -> str:
    """A function with one operation in generic form."""
    arguments = ", ".join(f"%a{i}: {type_}" for i, type_ in enumerate(operands))
    names = ", ".join(f"%a{i}" for i in range(len(operands)))
    properties = f" <{{{attributes}}}>" if attributes else ""
    declared = results[0] if len(results) == 1 else f"({', '.join(results)})"
    count = len(results) if bound is None else bound
    left = f"%r:{count} = " if count else ""
    signature = f"({', '.join(operands)}) -> {declared}"
    return f'func.func @f({arguments}) {{\n  {left}"{operation}"({names}){properties} : {signature}\n  return\n}}\n'


def of(operation: str, use: Use) -> str:
    return module(operation, types(use[0]), use[1], types(use[2]))


def complaints(text: str) -> list[str]:
    return [found.message for found in tileproof.check(text).diagnostics if found.severity is Severity.ERROR]


def pattern(message: str, operation: str) -> re.Pattern[str]:
    """The published wording with any values in it; what follows the first wording is another way to say it."""
    first = re.split(r"; then: | \(the parser says| \(from text\)| \(or the parse| \(generic form| \(and the", message)[
        0
    ]
    first = first.removeprefix("custom op parse error or ").replace("expected N operands, but found M", "expected <n>")
    first = first.removeprefix(f"'{operation}' op ").replace("[ at mode path [..]]", "").replace("[..]", "<n>")
    parts = re.split(r"<[^<>]*>", first.replace("index(indices)", "<n>"))
    return re.compile(".*?".join(map(re.escape, parts)), re.DOTALL)


def violations(row: Row) -> Iterator[str]:
    """Texts that violate a row."""
    operation, what, constraint, message = row
    operands, attributes, results = (*CONFORMING.get(operation, ("", "", "")),)
    given, declared = types(operands), types(results)
    if (place := re.match(r"operand \$\w+ \(#(\d)\)", what)) is not None:
        index = int(place[1])
        if index >= len(given):
            given += [spelled(f"int_tuple {KINDS['int_tuple']}")] * (index + 1 - len(given))
        allowed = re.findall(r"!cute\.(\w+)", constraint)
        for wrong in [f"{kind} {value}" for kind, value in KINDS.items() if kind not in allowed] + ["f32"]:
            yield module(operation, [*given[:index], spelled(wrong), *given[index + 1 :]], attributes, declared)
    elif what == "operands" and "parse error" in message:
        least = int(re.findall(r"\d+", constraint)[0])
        yield module(operation, given[: least - 1], attributes, declared)
        yield module(operation, [*given, *given, *given, *given], attributes, declared)
    elif what == "results":
        names = ", ".join(f"%a{i}" for i in range(len(given)))
        arguments = ", ".join(f"%a{i}: {type_}" for i, type_ in enumerate(given))
        yield f"func.func @f({arguments}) {{\n  %r:7 = {operation}({names}) : {', '.join(given)}\n  return\n}}\n"
    elif what == "result" and constraint == "the inferred kind and value":
        kind = declared[0].partition("<")[0].removeprefix("!cute.")
        yield module(operation, given, attributes, [spelled(OTHER[kind])])
    elif operation == "cute.<unknown>":
        yield f"{of('cute.frobnicate', ('shape 4', '', 'shape 4'))}"
    elif operation == "!cute.<unknown>":
        yield 'func.func @f(%a: !cute.frobnicate<"4">) {\n  return\n}\n'
    elif "expected '<'" in message:
        shown = ", ".join(f"%a{i}" for i in range(len(given)))
        arguments = ", ".join(f"%a{i}: {type_}" for i, type_ in enumerate(given))
        yield f"func.func @f({arguments}) {{\n  %r = {operation}({shown}) : {', '.join(given)}\n  return\n}}\n"
    elif "failed to satisfy constraint" in message:
        value = "1 : i32" if "array" in message else "1 : i64"
        changed = re.sub(r"^(\w+) = [^,]*(?:<[^>]*>)?", rf"\1 = {value}", attributes)
        yield module(operation, given, changed, declared)


OTHER = {
    "shape": "shape (9,9,9)",
    "stride": "stride (9,9,9)",
    "coord": "coord (9,9,9)",
    "int_tuple": "int_tuple (9,9,9)",
    "layout": "layout (9,9,9):(1,9,81)",
    "composed_layout": "composed_layout S<1,4,3> o 0 o (9,9):(1,9)",
    "swizzle": "swizzle S<1,4,3>",
    "tile": "tile [9:1]",
}


def written(row: Row) -> Iterator[str]:
    """Violating texts of the conditions, which are written by hand."""
    operation, _, _, message = row
    for name, begins, use in VIOLATING:
        if name == operation and _begins(message, begins):
            yield of(name, use)
    for name, begins, type_ in MALFORMED:
        if name == operation and _begins(message, begins):
            yield f"func.func @f(%a: {spelled(type_)}) {{\n  return\n}}\n"


def _begins(message: str, begins: str) -> bool:
    return message.endswith(begins[:-1]) if begins.endswith("$") else begins in message


def enforced(row: Row) -> bool:
    """Whether each violating text is refused with the published wording, and there is one."""
    wanted = pattern(row[3], row[0])
    instead = next((said for first, said in PARSER.items() if first in row[3]), None)
    texts = [*violations(row)] or [*written(row)]
    return bool(texts) and all(
        any(wanted.search(said) or (instead is not None and instead in said) for said in said_of(text, row))
        for text in texts
    )


def said_of(text: str, row: Row) -> list[str]:
    """What is said: errors, and for unknown names the notes."""
    if "<unknown>" in row[0]:
        return [found.message for found in tileproof.check(text).diagnostics]
    return complaints(text)


@pytest.mark.parametrize("operation", CONFORMING)
def test_a_conforming_use_is_accepted(operation: str):
    assert complaints(of(operation, CONFORMING[operation])) == []


@pytest.mark.parametrize(("operation", "begins", "use"), VIOLATING, ids=lambda value: str(value)[:40])
def test_a_violating_use_is_refused(operation: str, begins: str, use: Use):
    assert complaints(of(operation, use)) != []


@pytest.mark.skipif(not TABLE.exists(), reason="no ../shared beside this checkout")
def test_nearly_all_published_constraints_are_enforced_in_the_published_words():
    table = rows()
    missing = [row[:3] for row in table if not enforced(row)]
    assert len(table) > 300
    assert len(missing) <= (1 - ENOUGH) * len(table), missing
    assert {row for row in missing if (row[0], row[1]) not in NOT_ENFORCED} == set()
