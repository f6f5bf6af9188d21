"""What is kept is found again; what is damaged or foreign is made anew without a word."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from tileproof.base import cache


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(cache, "folder", lambda: tmp_path)
    return tmp_path


def refuse() -> bytes:
    raise AssertionError("made twice")


def test_what_was_made_is_found(home: Path):
    assert cache.made("kind", ["text"], lambda: b"value") == b"value"
    assert cache.made("kind", ["text"], refuse) == b"value"


@pytest.mark.parametrize("place", [0, 10, -10])
def test_a_damaged_entry_is_made_anew(home: Path, place: int):
    """Also where the damage is in bytes that are only unpickled later."""
    cache.made("kind", ["text"], lambda: b"v" * 100)
    [entry] = home.iterdir()
    content = bytearray(entry.read_bytes())
    content[place] ^= 1
    entry.write_bytes(content)
    assert cache.made("kind", ["text"], lambda: b"value") == b"value"
    assert cache.made("kind", ["text"], refuse) == b"value"


@pytest.mark.parametrize("foreign", [b"", b"text", pickle.dumps({})])
def test_a_foreign_entry_is_made_anew(home: Path, foreign: bytes):
    path = cache.entry("kind", ["text"])
    assert path is not None
    path.write_bytes(foreign)
    assert cache.made("kind", ["text"], lambda: b"value") == b"value"
