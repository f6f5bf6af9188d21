"""Which known words a misspelled one is like: ``.alligned`` is ``.aligned``.

As ``difflib`` says, which is loaded where there is a misspelled word.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache


def get_close_matches(word: str, known: Iterable[str], most: int = 3, least: float = 0.6) -> list[str]:
    """The most alike, the best first, of those that are alike enough; see ``difflib.get_close_matches``."""
    import difflib  # noqa: PLC0415

    return difflib.get_close_matches(word, list(known), most, least)


@lru_cache(maxsize=65536)
def closest(word: str, known: tuple[str, ...]) -> str | None:
    """The known word most like another, by difflib's ratio of at least 0.6; the same words are misspelled often.

    How many letters two words share bounds the ratio from above: few words need the real one.
    """
    letters, length = _letters(word), len(word)
    bounded = [
        (bound, -i, other)
        for i, (other, size, of_other) in enumerate(_sized(known))
        if (bound := 2 * (letters & of_other).bit_count() / (length + size)) >= _LEAST
    ]
    best, least = None, _LEAST
    for bound, _, other in sorted(bounded, reverse=True):
        if bound < least or (best is not None and bound <= least):
            break
        ratio = _ratio(other, word)
        if ratio > least or (best is None and ratio == least):
            best, least = other, ratio
    return best


_LEAST = 0.6


@lru_cache(maxsize=65536)
def _ratio(other: str, word: str) -> float:
    """How alike two words are to difflib: instructions have many modifiers in common."""
    import difflib  # noqa: PLC0415

    return difflib.SequenceMatcher(None, other, word).ratio()


@lru_cache(maxsize=1024)
def _sized(known: tuple[str, ...]) -> tuple[tuple[str, int, int], ...]:
    """Each word with its length and its letters."""
    return tuple((word, len(word), _letters(word)) for word in known)


@lru_cache(maxsize=4096)
def _letters(word: str) -> int:
    """The letters of a word as a set of bits, one for the first of each letter, one for the second, up to 8."""
    seen: dict[str, int] = {}
    bits = 0
    for letter in word:
        count = seen.get(letter, 0)
        seen[letter] = count + 1
        bits |= 1 << (8 * (ord(letter) & 127) + min(count, 7))
    return bits
