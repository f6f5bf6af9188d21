"""Texts as editors count in them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tileproof.server.texts import Text, units

CLEF = "\N{MUSICAL SYMBOL G CLEF}"
ENCODINGS = {"utf-8": "utf-8", "utf-16": "utf-16-le", "utf-32": "utf-32-le"}
TEXTS = st.text(st.sampled_from(f"ab{CLEF}\N{GREEK SMALL LETTER PI}\n\r\u2028\f"), max_size=30)


@pytest.mark.parametrize(
    ("content", "line", "column", "offset"),
    [
        ("ab\ncd", 1, 1, 4),
        ("ab\r\ncd", 1, 1, 5),
        ("ab\rcd", 1, 1, 4),
        ("ab\fcd\u2028ef\x85gh", 0, 7, 7),  # ends of lines elsewhere, not here
        (f"{CLEF}b", 0, 2, 1),
        (f"{CLEF}b", 0, 1, 0),  # inside a character
        ("ab\ncd", 0, 99, 2),
        ("ab\ncd", 99, 0, 5),
        ("", 0, 0, 0),
        ("ab\n", 1, 0, 3),
    ],
)
def test_offsets(content: str, line: int, column: int, offset: int):
    assert Text(content).offset(line, column) == offset


@given(TEXTS, st.sampled_from(sorted(ENCODINGS)))
def test_places_and_offsets_are_inverse(content: str, encoding: str):
    text = Text(content, encoding)
    for offset in range(len(content) + 1):
        if content[offset - 1 : offset + 1] == "\r\n":
            continue  # inside the end of a line there is no place
        line, column = text.place(offset)
        assert text.offset(line, column) == offset
        width = len("a".encode(ENCODINGS[encoding]))
        start = text.offset(line, 0)
        assert column == len(content[start:offset].encode(ENCODINGS[encoding])) // width


@given(TEXTS, TEXTS, st.integers(0, 30), st.integers(0, 30))
def test_a_change_replaces_what_is_between_its_places(content: str, new: str, first: int, last: int):
    text = Text(content)
    first, last = sorted((min(first, len(content)), min(last, len(content))))
    start, end = text.offset(*text.place(first)), text.offset(*text.place(last))
    changed = text.with_change(text.place(first), text.place(last), new)
    assert changed.content == content[:start] + new + content[end:]
    assert text.with_change(text.place(last), text.place(first), new) == changed


def test_units_of_half_a_pair():
    assert units("\ud834", "utf-16") == 1
