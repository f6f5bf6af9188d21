"""Which known words a misspelled one is like: as ``difflib`` says, which is loaded where there is one."""

from __future__ import annotations

from collections.abc import Iterable


def get_close_matches(word: str, known: Iterable[str], most: int = 3, least: float = 0.6) -> list[str]:
    """The most alike, the best first, of those that are alike enough; see ``difflib.get_close_matches``."""
    import difflib  # noqa: PLC0415

    return difflib.get_close_matches(word, list(known), most, least)
