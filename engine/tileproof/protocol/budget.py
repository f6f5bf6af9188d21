"""The budget of the abstract machine, as rules/protocol/exploration.rule states it."""

from __future__ import annotations

from functools import lru_cache

from tileproof.rulebase.book import Rulebook


@lru_cache(maxsize=64)
def limit(book: Rulebook, name: str, thorough: bool = False, ptx: bool = False) -> int:
    """A limit, by its member of the enum ``exploration`` without the dot; ``ptx``: of a kernel in PTX."""
    values = book.shared_table("exploration").rows[f".{name}",]
    value = values[1 if thorough else 2 if ptx else 0]
    assert isinstance(value, int), "rules/protocol/exploration.rule"
    return value
