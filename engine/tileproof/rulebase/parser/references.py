"""Declarations of references, and the citations of sources, by grammar/rules.lark."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from lark import Token

from tileproof.base.source import Span
from tileproof.rulebase.expression import Place
from tileproof.rulebase.parser.fragments import Part
from tileproof.rulebase.parser.templates import TemplateBuilder
from tileproof.rulebase.references import HOLE, Citation, Reference
from tileproof.syntax import SyntaxFault
from tileproof.syntax.driver import end_of, start_of


class ReferenceBuilder(TemplateBuilder):
    """Reductions of ``reference`` and ``source``."""

    def section(self, items: list[Token]) -> Part:
        *names, address = items
        return Part("section", [(name, _text(name), _text(address)) for name in names])

    def version_of(self, items: list[Token]) -> Part:
        return Part("version", _text(items[0]))

    def url(self, items: list[Token]) -> Part:
        return Part("url", _text(items[0]))

    def pattern(self, items: list[Token]) -> Part:
        return Part("pattern", _text(items[0]))

    def reference(self, items: list[Any]) -> Reference:
        title, *parts = items
        given = {part.kind: part.value for part in parts if part.kind != "section"}
        sections: dict[str, str] = {}
        for token, name, address in (one for part in parts if part.kind == "section" for one in part.value):
            if name in sections:
                raise SyntaxFault(f"section '{name}' is declared twice", *self._place(token).span)
            sections[name] = address
        url, pattern = given.get("url", ""), given.get("pattern", "")
        if pattern and pattern.count(HOLE) != url.count(HOLE):
            raise SyntaxFault("a pattern has as many {} as the address that it fills", *self._place(title).span)
        return Reference(_text(title), given.get("version", ""), url, pattern, sections, self._place(title))

    def covers(self, items: list[Token]) -> Part:
        return Part("covers", tuple(map(str, items)))

    def source(self, items: list[Any]) -> Part:
        """The citations between semicolons, each with its place in the file."""
        covers = items.pop().value if isinstance(items[-1], Part) else ()
        text, places = _text(*items), _offsets(items)
        citations, at = [], 0
        for piece in text.split(";"):
            start = at + len(piece) - len(piece.lstrip())
            at += len(piece) + 1
            if not piece.strip():
                raise SyntaxFault("a source has nothing between two semicolons", *self._place(items[0]).span)
            last = places[start + len(piece.strip()) - 1]
            citations.append(Citation(piece.strip(), Place(self.file, Span(places[start], last + 1)), covers=covers))
        return Part("source", tuple(citations))


def _text(*tokens: Token) -> str:
    """Adjacent strings are one, as in Python."""
    return "".join(str(ast.literal_eval(str(token))) for token in tokens)


def _offsets(tokens: Sequence[Token]) -> list[int]:
    """The place in the file of each character of adjacent strings; of a string with escapes, where it begins."""
    offsets: list[int] = []
    for token in tokens:
        start, length = start_of(token), len(_text(token))
        plain = end_of(token) - start == length + 2
        offsets += range(start + 1, start + 1 + length) if plain else [start] * length
    return offsets
