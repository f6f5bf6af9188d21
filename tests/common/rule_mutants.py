"""Rule files with one constant changed: each number, each version and each member of an enum, once.

Constants are found in the text, so that nothing a rule file can say is forgotten; what a change means is for the tests
to find out (``rulebase/mutation.py``). Not changed are texts (messages, sources, templates), which say what a reader
sees, and the examples of a rule, which are tests themselves. A number becomes the next one; the end of a range with a
step becomes the next that differs; a version the next minor one; a member of an enum the next member of that enum that
is not already beside it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tileproof.base.source import Source
from tileproof.rulebase.book import Rulebook

TOKEN = re.compile(
    r'(?P<comment>#[^\n]*)|(?P<string>"(?:[^"\\\n]|\\.)*")|(?P<word>[A-Za-z_][\w]*(?:\.[A-Za-z_]\w*)*)'
    r"|(?P<symbol>\.[A-Za-z_]\w*(?:::\w+)*)|(?P<version>\d+\.\d+)|(?P<number>\d+)|(?P<dots>\.\.)|(?P<mark>[^\s])"
)
EXAMPLES = {"pass", "fail"}
UNREAD = {"covers", "source", "refines", "replaces"}
JUDGING_NOTHING = {"reference", "finding", "contradiction", "unjudged"}  # declarations of words alone


@dataclass(frozen=True)
class Token:
    """A piece of a rule file; comments and white space are none."""

    kind: str
    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)


@dataclass(frozen=True)
class Mutant:
    """A rule file with one constant changed.

    Attributes:
        start, end: the top-level declaration that it is in, as a part of the file's text.
        text: that declaration with the change.
        others: further changes, and the declaration with each: what to try where the rule files refuse this one, since
            members of several enums are called alike.
    """

    file: Source
    line: int
    column: int
    start: int
    end: int
    keyword: str
    old: str
    new: str
    text: str
    others: tuple[tuple[str, str], ...] = ()

    @property
    def name(self) -> str:
        """Where and what, as it stands in lists of mutants."""
        return f"{self.file.name}:{self.line}:{self.column} {self.old} -> {self.new}"

    @property
    def whole(self) -> Source:
        """The whole file with the change."""
        return Source(self.file.name, self.file.text[: self.start] + self.text + self.file.text[self.end :])


def tokens(text: str) -> list[Token]:
    """The pieces of a rule file."""
    return [
        Token(str(found.lastgroup), found[0], found.start())
        for found in TOKEN.finditer(text)
        if found.lastgroup != "comment"
    ]


def declarations(file: Source) -> Iterator[list[Token]]:
    """The top-level declarations of a file: each up to its closing brace, or to its semicolon."""
    gathered: list[Token] = []
    depth = 0
    for token in tokens(file.text):
        gathered.append(token)
        if token.kind != "mark":
            continue
        depth += {"{": 1, "}": -1}.get(token.text, 0)
        if depth == 0 and token.text in "};":
            yield gathered
            gathered = []


def mutants(book: Rulebook, file: Source) -> Iterator[Mutant]:
    """All mutants of a file, in the order of its text.

    Args:
        book: all rules as they are, of which the enums are asked.
    """
    enums = {name: tuple(enum.members) for name, enum in book.enums.items()}
    for pieces in declarations(file):
        keyword = pieces[1].text if pieces[0].text == "extend" else pieces[0].text
        if keyword in JUDGING_NOTHING:
            continue
        start, end = pieces[0].start, pieces[-1].end
        for i in constants(pieces):
            token = pieces[i]
            line, column = file.position(token.start)
            changes = [
                (new, file.text[start : token.start] + new + file.text[token.end : end])
                for new in changed(pieces, i, enums)
            ]
            if changes:
                yield Mutant(file, line, column, start, end, keyword, token.text, *changes[0], tuple(changes[1:]))


def constants(pieces: list[Token]) -> Iterator[int]:
    """The positions of the constants of a declaration. A name right behind a bracket is the column of a table."""
    i, silent = 0, False
    while i < len(pieces):
        token = pieces[i]
        if token.kind == "word" and token.text in EXAMPLES and pieces[i + 1].text == "{":
            while pieces[i].text != "}":
                i += 1
        elif token.kind == "word" or token.text in ("{", ";"):
            silent = token.text in UNREAD
        elif token.kind in ("symbol", "version", "number") and not silent and not _column(pieces, i):
            yield i
        i += 1


def _column(pieces: list[Token], i: int) -> bool:
    return i > 0 and pieces[i - 1].text == ")" and pieces[i - 1].end == pieces[i].start


def changed(pieces: list[Token], i: int, enums: Mapping[str, tuple[str, ...]]) -> list[str]:
    """What stands at a place instead, the likeliest first; empty where there is nothing else."""
    token = pieces[i]
    if token.kind == "number":
        return [str(int(token.text) + _step(pieces, i))]
    if token.kind == "version":
        major, minor = token.text.split(".")
        return [f"{major}.{int(minor) + 1}"]
    if pieces[0].text == "enum" or (pieces[0].text == "extend" and pieces[1].text == "enum"):
        return [f"{token.text}_"] if pieces[i - 1].text in "{;" else []  # a name that nothing means that speaks of it
    beside = {one.text for one in _beside(pieces, i)}
    homes = [members for members in enums.values() if token.text in members]
    # Of several enums with such a member the one that has most of what stands beside it, then the smaller one.
    homes.sort(key=lambda members: (-len(beside & set(members)), len(members)))
    found: list[str] = []
    for home in homes:
        at = home.index(token.text)
        found += [one for one in (*home[at + 1 :], *home[:at]) if one not in beside][:1]
    return list(dict.fromkeys(found))


def _step(pieces: list[Token], i: int) -> int:
    """By how much a number is changed: the ends of a range with a step by that step."""
    for behind in (i + 1, i + 3):
        if behind + 1 < len(pieces) and pieces[behind].text == "step":
            ranged = behind == i + 1 or pieces[i + 1].text == ".."
            if ranged:
                return int(pieces[behind + 1].text)
    return 1


def _beside(pieces: list[Token], i: int) -> Iterator[Token]:
    """The members in the same braces or among the same alternatives."""
    low = high = i
    while low > 0 and pieces[low - 1].text in (",", "|") and pieces[low - 2].kind == "symbol":
        low -= 2
    while high + 2 < len(pieces) and pieces[high + 1].text in (",", "|") and pieces[high + 2].kind == "symbol":
        high += 2
    yield from (one for one in pieces[low : high + 1] if one.kind == "symbol")
