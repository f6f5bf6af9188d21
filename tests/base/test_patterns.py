"""A pattern is what the standard library compiles, later."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tileproof import api  # noqa: F401  its modules state patterns
from tileproof.base import kept_code, patterns
from tileproof.base.kept_code import KeptCode
from tileproof.base.patterns import regex


def test_nothing_is_compiled_before_it_is_used():
    unfinished = regex("(")
    with pytest.raises(re.error):
        unfinished.match("(")


@pytest.mark.parametrize("text", ["", "ab12", "a1 b22 c"])
@pytest.mark.parametrize("stated", [(r"(?P<word>[a-z])(\d+)",), (r"[A-Z](\d)", re.IGNORECASE)])
def test_it_finds_what_the_standard_library_finds(stated: tuple, text: str):
    ours, theirs = regex(*stated), re.compile(*stated)
    assert ours.findall(text) == theirs.findall(text)
    assert [found.span() for found in ours.finditer(text)] == [found.span() for found in theirs.finditer(text)]
    assert ours.sub(r"<\1>", text) == theirs.sub(r"<\1>", text)
    assert (ours.pattern, ours.flags, ours.groups) == (theirs.pattern, theirs.flags, theirs.groups)


def test_a_kept_pattern_is_the_standard_library_s(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Patterns are equal where text, flags and the numbers of the matcher are. All that the modules state are kept."""
    stated = {(r"(?P<a>x)|(?i:y)", re.MULTILINE | re.ASCII), ("é+[^b-d]", re.IGNORECASE)}
    for name, module in list(sys.modules.items()):
        if name.startswith("tileproof."):
            stated |= {one._stated for one in vars(module).values() if isinstance(one, patterns._Pattern)}
    assert len(stated) > 40
    for found in (0, len(stated)):
        code = KeptCode(str(tmp_path / "file"), b"")
        monkeypatch.setattr(kept_code, "_OPEN", [code])
        for text, flags in stated:
            ours, theirs = patterns._compiled(text, flags), re.compile(text, flags)
            assert ours == theirs
            assert (ours.groupindex, ours.groups) == (theirs.groupindex, theirs.groups)
        assert len(code._used) == len(stated)
        assert code._changed == (found == 0)
        code.save()
        with pytest.raises(re.error):
            patterns._compiled("(", 0)


def test_where_the_matcher_is_made_otherwise_a_pattern_is_compiled_as_usual(monkeypatch: pytest.MonkeyPatch):
    def other(*_: object) -> None:
        raise TypeError("another number of arguments")

    monkeypatch.setattr(kept_code, "_OPEN", [KeptCode("", b"")])
    monkeypatch.setattr(patterns, "_parts", other)
    assert patterns._compiled("a+", 0) == re.compile("a+")
