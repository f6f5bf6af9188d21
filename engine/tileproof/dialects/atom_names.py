"""Names that look like an atom's and are none."""

from __future__ import annotations

from tileproof.base.spelling import get_close_matches
from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.findings import Stated, state

_DIALECT = "cute_nvgpu."
_NEAR = 0.6  # of get_close_matches, without the dialect and in lower case: less is no spelling mistake


def nearest_atom(book: Rulebook, name: str) -> str | None:
    """The atom whose name, in any of its spellings, is most like a name; None where it is like none."""
    known = {spelling.removeprefix(_DIALECT).lower(): spelling for spelling in book.enums["atom"].by_spelling}
    close = get_close_matches(name.removeprefix(_DIALECT).lower(), known, 1, _NEAR)
    return known[close[0]] if close else None


def unknown_atom(book: Rulebook, name: str) -> Stated:
    """Finding AT001 about a name that looks like an atom's."""
    nearest = nearest_atom(book, name)
    if nearest is None:
        return state(book, "AT001", "here", name=name)
    return state(book, "AT001", "near", name=name, nearest=nearest)


__all__ = ["nearest_atom", "unknown_atom"]
