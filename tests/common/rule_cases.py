"""Cases of rules as data (checking/cases/*.toml), and what a rulebook says of one.

A case fills the placeholders of its file's ``atom_type`` (an atom, wrapped into a file), ``op`` (the body of a file) or
``instr`` (a PTX instruction) and lists the codes that must be reported, in textual order, nothing more.
"""

from __future__ import annotations

import tomllib
from functools import lru_cache
from pathlib import Path
from typing import Any

from tileproof.base.diagnostic import Diagnostic
from tileproof.base.source import Source
from tileproof.checking.file import check_source
from tileproof.checking.instruction import context, report, version
from tileproof.judge.outcome import Options
from tileproof.rulebase.book import Rulebook

FOLDER = Path(__file__).resolve().parents[1] / "checking" / "cases"
PROTOCOL = ("PR",)  # a case is no kernel: what it leaves unfinished is not its fault; tests/protocol
SETTINGS = {"expect", "under", "hint", "message", "contract", "target", "ptx", "name"}


@lru_cache(maxsize=1)
def cases() -> tuple[tuple[str, dict[str, Any]], ...]:
    """All cases, each with a name of its own."""
    found = []
    for path in sorted(FOLDER.glob("*.toml")):
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        for number, case in enumerate(data["case"]):
            merged = {**data["defaults"], **case}
            label = merged.get("name") or "+".join(merged["expect"]) or "legal"
            found.append((f"{path.stem}-{number}-{label}", merged))
    return tuple(found)


def text_of(case: dict[str, Any]) -> str:
    """The IR or the PTX of a case."""
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


def diagnostics(book: Rulebook, case: dict[str, Any]) -> tuple[Diagnostic, ...]:
    """What these rules find in a case."""
    text = text_of(case)
    contract, target = case.get("contract", "ptx"), case.get("target")
    if "instr" in case:
        where = context(book, target, version(case["ptx"]) if "ptx" in case else None)
        return tuple(report(book.under(contract), [text], where).diagnostics)
    # The nearest legal form, for which Z3 is asked, is in the hint only.
    options = Options(contract, target, ignore=PROTOCOL, mend="hint" in case)
    return tuple(check_source(book, Source("<text>", text), options).diagnostics)


def as_expected(found: tuple[Diagnostic, ...], case: dict[str, Any]) -> bool:
    """Whether exactly the codes of a case were reported."""
    return sorted(one.code for one in found) == sorted(case["expect"])
