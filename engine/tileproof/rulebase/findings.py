"""What the engine reports, in the words of the rule files: it passes a code, a case and facts, never a sentence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

from tileproof.base.patterns import regex
from tileproof.base.records import dataclass
from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.declarations import Case, Finding, Table

_PLACEHOLDER = regex(r"\{(?:(\w+)\()?(\w+)\)?\}")


@dataclass(frozen=True, slots=True)
class Stated:
    """A finding at one place, in words."""

    code: str
    message: str
    hint: str


def state(book: Rulebook, code: str, case: str, /, **facts: object) -> Stated:
    """What a finding says in one of its cases.

    Raises:
        ValueError: the finding has no such case, or the case declares other facts.
    """
    found = book.findings[code]
    chosen = found.cases.get(case)
    if chosen is None:
        raise ValueError(f"{code} has no case '{case}'")
    if facts.keys() != chosen.facts.keys():
        raise ValueError(f"{code} {case} states {', '.join(chosen.facts)}, not {', '.join(facts)}")
    return Stated(
        code, _filled(book, chosen, chosen.message, facts), _filled(book, chosen, chosen.hint, facts) or found.hint
    )


def place(book: Rulebook, code: str, case: str, name: str, facts: Mapping[str, object]) -> str:
    """What a finding says of one of the other places that it is about."""
    found = book.findings[code]
    return _filled(book, found.cases[case], found.places[name], facts)


def _filled(book: Rulebook, case: Case, text: str, facts: Mapping[str, object]) -> str:
    if "{" not in text:
        return text
    return "".join([one if isinstance(one, str) else _value(book, case, one, facts) for one in _pieces(text)])


def _value(book: Rulebook, case: Case, placeholder: tuple[str | None, str], facts: Mapping[str, object]) -> str:
    table, fact = placeholder
    given = facts[fact]
    if table is not None:
        return str(book.shared_table(table).rows[str(given),][0])
    enum = case.facts[fact]
    return book.enums[enum].members[str(given)][0] if enum is not None else str(given)


@lru_cache(maxsize=1024)
def _pieces(text: str) -> tuple[str | tuple[str | None, str], ...]:
    """A text cut at its placeholders, of which each is the table that it asks, if it does, and the fact."""
    pieces: list[str | tuple[str | None, str]] = []
    at = 0
    for found in _PLACEHOLDER.finditer(text):
        pieces += [text[at : found.start()], (found[1], found[2])]
        at = found.end()
    return (*pieces, text[at:])


def problems(book: Rulebook, finding: Finding) -> Iterator[tuple[Case, str]]:
    """What is wrong with the cases of a finding: placeholders without a fact, facts without a use."""
    for case in finding.cases.values():
        texts = (case.message, case.hint, *finding.places.values())
        used = set()
        for table, fact in (found.groups() for text in texts for found in _PLACEHOLDER.finditer(text)):
            used.add(fact)
            if fact not in case.facts:
                yield (
                    case,
                    f"{{{fact}}} is not a fact of case '{case.name}': declare it, as in case {case.name} ({fact})",
                )
            elif table is not None and (wrong := _lookup(book, table, case.facts[fact])):
                yield case, f"{{{table}({fact})}}: {wrong}"
        for fact, enum in case.facts.items():
            if fact not in used:
                yield case, f"no text of case '{case.name}' uses its fact '{fact}': write {{{fact}}} or delete it"
            if enum is None:
                continue
            if enum not in book.enums:
                yield case, f"no enum is called '{enum}'"
            elif any(not spellings for spellings in book.enums[enum].members.values()):
                yield case, f"every member of '{enum}' needs a spelling, which the message shows"
        if any("{" in rest or "}" in rest for rest in (_PLACEHOLDER.sub("", text) for text in texts)):
            yield case, f"case '{case.name}': a placeholder is {{fact}} or {{table(fact)}}"


def _lookup(book: Rulebook, name: str, enum: str | None) -> str:
    """Why a table cannot be asked for a fact; empty where it can."""
    try:
        table: Table = book.shared_table(name)
    except KeyError:
        return f"no table of both contracts is called '{name}'"
    if enum is None or [key for _, key in table.keys] != [enum] or len(table.columns) != 1:
        return f"'{name}' needs one key, the enum of the fact, and one column"
    missing = [member for member in book.enums[enum].members if (member,) not in table.rows]
    return f"'{name}' has no row for {', '.join(missing)}" if missing else ""


__all__ = ["Stated", "place", "problems", "state"]
