"""Texts as editors count in them: lines from 0, and columns in code units of the encoding that was agreed on."""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property

from tileproof.base.patterns import regex
from tileproof.base.records import dataclass

_END = regex(r"\r\n|\n|\r")
_WIDTHS = {"utf-8": 1, "utf-16": 2, "utf-32": 4}


def units(text: str, encoding: str) -> int:
    """The code units of a text. Encodings are named as the protocol does: ``utf-16``."""
    if text.isascii() or encoding == "utf-32":
        return len(text)
    form = encoding if encoding == "utf-8" else f"{encoding}-le"
    return len(text.encode(form, "surrogatepass")) // _WIDTHS[encoding]


@dataclass(frozen=True)
class Text:
    """A text and the encoding whose units count its columns."""

    content: str
    encoding: str = "utf-16"

    @cached_property
    def _lines(self) -> list[tuple[int, int]]:
        """Where each line starts, and where it ends without its line break."""
        lines, start = [], 0
        for end in _END.finditer(self.content):
            lines.append((start, end.start()))
            start = end.end()
        return [*lines, (start, len(self.content))]

    @cached_property
    def _starts(self) -> list[int]:
        return [start for start, _ in self._lines]

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column of an offset in characters; offsets outside the text mean its ends."""
        offset = min(max(offset, 0), len(self.content))
        line = bisect_right(self._starts, offset) - 1
        return line, units(self.content[self._starts[line] : offset], self.encoding)

    def offset(self, line: int, column: int) -> int:
        """The offset in characters of a place; beyond a line its end is meant, beyond the text the end of that.

        A column inside a character means its start.
        """
        if line >= len(self._lines):
            return len(self.content)
        start, end = self._lines[max(line, 0)]
        found = self.content[start:end]
        if found.isascii() or self.encoding == "utf-32":
            return start + min(max(column, 0), len(found))
        for i, character in enumerate(found):
            column -= units(character, self.encoding)
            if column < 0:
                return start + i
        return end

    def end_of(self, line: int) -> tuple[int, int]:
        """The place behind all characters of a line."""
        return self.place(self._lines[min(line, len(self._lines) - 1)][1])

    def with_change(self, first: tuple[int, int], last: tuple[int, int], new: str) -> Text:
        """The text with what is between two places replaced."""
        start, end = sorted((self.offset(*first), self.offset(*last)))
        return Text(self.content[:start] + new + self.content[end:], self.encoding)
