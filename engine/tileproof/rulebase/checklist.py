"""The checklist of the reference pages: its rows, and the declarations that carry each.

A row is a member of the enum ``checklist``; a declaration carries it where one of its sources says ``covers``.
"""

from __future__ import annotations

from collections.abc import Iterator

from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.fault import RuleFault
from tileproof.rulebase.references import Cited

CHECKLIST = "checklist"


def carriers(book: Rulebook) -> Iterator[tuple[str, str, Cited]]:
    """Every declaration with sources: what it is, its name, itself."""
    yield from (("rule", code, item) for code, item in book.rules.items())
    yield from (("finding", code, item) for code, item in book.findings.items())
    yield from (("table", item.name, item) for item in dict.fromkeys(book.tables.values()))
    yield from (("word", item.name, item) for item in dict.fromkeys(w for same in book.words.values() for w in same))
    yield from (("fragment", item.types[0], item) for item in dict.fromkeys(book.fragments.values()))
    yield from (("canonical", name, item) for name, item in book.canonical.items())
    for lowering in dict.fromkeys(item for same in book.lowerings.values() for item in same):
        yield "lowering", f"{lowering.schema} to {lowering.to}", lowering
    for template in dict.fromkeys(item for same in book.templates.values() for item in same):
        yield "template", template.name, template
    yield from (("contradiction", code, item) for code, item in book.contradictions.items())


def strange_rows(book: Rulebook) -> Iterator[RuleFault]:
    """Rows that sources claim to cover and that are none; nothing where the checklist is not loaded."""
    if CHECKLIST not in book.enums:
        return
    known = book.enums[CHECKLIST].members
    for what, name, item in carriers(book):
        for citation in item.citations:
            for row in citation.covers:
                if f".{row}" not in known:
                    yield RuleFault(citation.place, f"{what} '{name}' covers '{row}', which is no row of the checklist")
