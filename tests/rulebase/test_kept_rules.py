"""A rulebook is found in the cache by the text of its files, and made anew where what is there is damaged."""

from __future__ import annotations

from pathlib import Path

import pytest

from tileproof.base import cache
from tileproof.base.source import Source
from tileproof.rulebase import collect
from tileproof.rulebase.load import load

TEXT = """
enum kind { .f16 "half"; .s8 "char"; }
schema thing "a thing" { N : 0..40 = 8; type : kind = .f16; } reference "nowhere" {}
rule XX1 some-fault on thing {
  require N != 9
  error "N = {N}"
  source "nowhere"
  pass { N = 8 }
  fail { N = 9 }
}
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(cache, "folder", lambda: tmp_path)
    load.cache_clear()
    yield tmp_path
    load.cache_clear()


def said() -> tuple[list[str], str, list[str]]:
    """All that is read of the book, by another call than the last one."""
    load.cache_clear()
    book = load((Source("test.rule", TEXT),))
    return list(book.enums["kind"].members), book.rules["XX1"].name, list(book.schemas)


def test_it_is_read_once(home: Path, monkeypatch: pytest.MonkeyPatch):
    first = said()
    assert first == ([".f16", ".s8"], "some-fault", ["thing"])
    monkeypatch.setattr(collect, "collected", None)
    assert said() == first


def test_damage_anywhere_is_repaired(home: Path):
    """Also in a part that is read when the rest is in use."""
    first = said()
    [path] = home.glob("rules-*.parts")
    content = path.read_bytes()
    for place in range(0, len(content), max(1, len(content) // 40)):
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        assert said() == first
    for size in (0, 10, len(content) // 2, len(content) - 1):
        path.write_bytes(content[:size])
        assert said() == first
        path.write_bytes(content)


def test_where_nothing_can_be_kept_it_is_read_each_time(home: Path, monkeypatch: pytest.MonkeyPatch):
    first = said()
    [path] = home.glob("rules-*.parts")
    path.unlink()
    path.mkdir()
    assert said() == first
    monkeypatch.setattr(cache, "folder", lambda: None)
    assert said() == first
