"""Which known word a misspelled one is most like: ``.alligned`` is ``.aligned``."""

from __future__ import annotations

from difflib import SequenceMatcher
from functools import lru_cache


@lru_cache(maxsize=65536)
def closest(word: str, known: tuple[str, ...]) -> str | None:
    """The known word most like another, by difflib's ratio of at least 0.6; the same words are misspelled often.

    How many letters two words share bounds the ratio from above: few words need the real one.
    """
    letters, length = _letters(word), len(word)
    bounded = []
    for i, (other, size, of_other) in enumerate(_sized(known)):
        bound = 2 * (letters & of_other).bit_count() / (length + size)
        if bound >= 0.6:
            bounded.append((bound, -i, other))
    best, least = None, 0.6
    matcher = SequenceMatcher(b=word)
    for bound, _, other in sorted(bounded, reverse=True):
        if bound < least or (best is not None and bound <= least):
            break
        matcher.set_seq1(other)
        ratio = matcher.ratio()
        if ratio > least or (best is None and ratio == least):
            best, least = other, ratio
    return best


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
