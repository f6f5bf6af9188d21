"""A PTX module: its header, its instructions with their places, and the class of each name in its scope.

Statements are cut, not understood: an instruction outside the judged families is carried.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import field

from tileproof.base.records import dataclass
from tileproof.base.source import Source, Span
from tileproof.ptx.registers import of_type, special
from tileproof.rulebase.book import Rulebook

_SKIP = re.compile(r"(?:\s+|//[^\n]*|/\*(?s:.*?)\*/)+")
_COMMENT = re.compile(r"//[^\n]*|/\*(?s:.*?)\*/")
_LABEL = re.compile(r"[%$_a-zA-Z][\w$]*\s*:(?!:)")
_LINE = re.compile(r"\.(?:version|target|address_size|loc|file)\b[^\n;{}]*;?")
_HEADER = re.compile(r"\.(version|target)\s+([^\n/;]*)")
_DIRECTIVE = re.compile(r"[^;{}=]*(?:=[^;]*)?")
_REGISTERS = re.compile(r"\.reg\b((?:\s*\.\w+)+)\s+([^;]*)")
_GLOBAL = re.compile(r"\.global\b[^;{}()]*?([%$_a-zA-Z][\w$]*)\s*(?:\[[^\]]*\]\s*)*(?==|;)")
_NAME = re.compile(r"([%$_a-zA-Z][\w$]*)\s*(?:<\s*(\d+)\s*>)?")
_STATEMENT = re.compile(r"[^;]*;?")
_NUMBERED = re.compile(r"(.*?)(\d+)")


@dataclass(frozen=True, slots=True)
class Statement:
    """One instruction.

    Attributes:
        registers: the class of a name at this place; any other name is a symbol.
        body: the number of its function body, in the order of the file.
    """

    start: int
    end: int
    registers: Callable[[str], str | None]
    body: int


@dataclass(slots=True)
class Module:
    """What a PTX file holds.

    Attributes:
        version, target: as written in the header, with their places; None where they do not.
        comments: offsets and texts.
        labels: offsets and names.
    """

    version: tuple[str, Span] | None = None
    target: tuple[str, Span] | None = None
    instructions: list[Statement] = field(default_factory=list)
    comments: list[tuple[int, str]] = field(default_factory=list)
    labels: list[tuple[int, str]] = field(default_factory=list)


def is_ptx(source: Source) -> bool:
    """Whether a text is PTX: by its name, or by a version directive at the start of a line."""
    if source.name.endswith(".ptx"):
        return True
    return ".version" in source.text and re.search(r"^\s*\.version\s+\d", source.text, re.M) is not None


def read_module(book: Rulebook, source: Source) -> Module:
    """Cut a PTX file. Never raises: what cannot be cut is skipped."""
    return _Cutter(book, source.text).read()


class _Scope:
    """The registers of a block, and those of the blocks around it."""

    __slots__ = ("book", "outer", "prefixes", "singles", "variables")

    def __init__(self, book: Rulebook, outer: _Scope | None, variables: frozenset[str]) -> None:
        self.book = book
        self.variables = variables  # those in global memory
        self.outer = outer
        self.singles: dict[str, str] = {}
        self.prefixes: dict[str, tuple[str, int]] = {}

    def find(self, name: str) -> str | None:
        scope: _Scope | None = self
        numbered = _NUMBERED.fullmatch(name)
        while scope is not None:
            if name in scope.singles:
                return scope.singles[name]
            if numbered and numbered[1] in scope.prefixes:
                kind, count = scope.prefixes[numbered[1]]
                if int(numbered[2]) < count:
                    return kind
            scope = scope.outer
        return special(self.book, name) or (".global_symbol" if name in self.variables else ".symbol")

    def declare(self, types: str, names: str) -> None:
        found = [of_type(self.book, word) for word in types.replace(".", " ").split()]
        kind = next((k for k in found if k is not None), ".symbol")
        for name, count in _NAME.findall(names):
            if count:
                self.prefixes[name] = (kind, int(count))
            else:
                self.singles[name] = kind


class _Cutter:
    def __init__(self, book: Rulebook, text: str) -> None:
        self.text = text
        self.module = Module()
        self.scope = _Scope(book, None, frozenset(_GLOBAL.findall(text)))
        self.book = book
        self.bodies = 0

    def read(self) -> Module:
        at = 0
        while at < len(self.text):
            if skipped := _SKIP.match(self.text, at):
                self.comments(skipped)
                at = skipped.end()
            elif self.text[at] == "{":
                self.bodies += self.scope.outer is None
                self.scope, at = _Scope(self.book, self.scope, self.scope.variables), at + 1
            elif self.text[at] in "};":
                self.scope, at = (self.scope.outer or self.scope if self.text[at] == "}" else self.scope), at + 1
            elif label := _LABEL.match(self.text, at):
                self.module.labels.append((at, label[0][:-1].rstrip()))
                at = label.end()
            elif self.text[at] == ".":
                at = self.directive(at)
            else:
                at = self.statement(at)
        return self.module

    def comments(self, skipped: re.Match[str]) -> None:
        for comment in _COMMENT.finditer(skipped[0]):
            self.module.comments.append((skipped.start() + comment.start(), comment[0]))

    def directive(self, at: int) -> int:
        if line := _LINE.match(self.text, at):
            if header := _HEADER.match(line[0]):
                word = header[2].split(",")[0].strip()
                place = Span(at + header.start(2), at + header.start(2) + len(word))
                if header[1] == "version":
                    self.module.version = self.module.version or (word, place)
                else:
                    self.module.target = self.module.target or (word, place)
            return line.end()
        if registers := _REGISTERS.match(self.text, at):
            self.scope.declare(registers[1], registers[2])
            return registers.end()
        directive = _DIRECTIVE.match(self.text, at)
        return max(directive.end() if directive else at, at + 1)

    def statement(self, at: int) -> int:
        found = _STATEMENT.match(self.text, at)
        end = found.end() if found else at + 1
        self.module.instructions.append(Statement(at, end, self.scope.find, self.bodies))
        return max(end, at + 1)
