"""A pattern is what the standard library compiles, later."""

from __future__ import annotations

import re

import pytest

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
