"""Text with a name, and places in it."""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property
from typing import NamedTuple

from tileproof.base.records import dataclass


class Span(NamedTuple):
    """A half-open range of characters of a text."""

    start: int
    end: int


class Position(NamedTuple):
    """A place as people count it: line and column both start at 1."""

    line: int
    column: int


@dataclass(frozen=True)
class Source:
    """A text and the name it is reported under (a path exactly as the user gave it, or ``-``)."""

    name: str
    text: str

    @cached_property
    def _line_starts(self) -> list[int]:
        starts, at = [0], self.text.find("\n")
        while at >= 0:
            starts.append(at + 1)
            at = self.text.find("\n", at + 1)
        return starts

    def position(self, offset: int) -> Position:
        """Line and column of a character offset; offsets beyond the end mean the end."""
        offset = min(offset, len(self.text))
        line = bisect_right(self._line_starts, offset)
        return Position(line, offset - self._line_starts[line - 1] + 1)

    def line(self, number: int) -> str:
        """The text of one line (counted from 1) without its line break."""
        start = self._line_starts[number - 1]
        end = self.text.find("\n", start)
        return self.text[start : len(self.text) if end < 0 else end].rstrip("\r")

    def line_start(self, number: int) -> int:
        """The offset at which a line (counted from 1) starts."""
        return self._line_starts[number - 1]
