"""Contradictions in rule files to the values of ``rulebase.contradiction``, by grammar/rules.lark."""

from __future__ import annotations

import ast
from typing import Any

from lark import Token

from tileproof.rulebase.contradiction import Accepts, Always, Contradiction, Differ, Notes, Overlap, Some
from tileproof.rulebase.declarations import PAGES
from tileproof.rulebase.expression import Expression
from tileproof.rulebase.parser.fragments import Part, cited
from tileproof.rulebase.parser.references import ReferenceBuilder
from tileproof.syntax import SyntaxFault


class ContradictionBuilder(ReferenceBuilder):
    """Reductions of ``contradiction`` and what is in it."""

    def claim(self, items: list[Token]) -> Part:
        return Part("claim", _text(items))

    def against(self, items: list[Token]) -> Part:
        return Part("against", _text(items))

    def for_all(self, items: list[Expression]) -> Part:
        return Part("proof", Always(items[0]))

    def for_some(self, items: list[Expression]) -> Part:
        return Part("proof", Some(items[0]))

    def accepts(self, items: list[Any]) -> Part:
        contract, code, *given = items
        facts = tuple((str(name), value) for name, value in filter(None, given))
        return Part("proof", Accepts(str(contract), str(code), facts))

    def notes(self, items: list[Token]) -> Part:
        return Part("proof", Notes(str(items[0])))

    def overlap(self, items: list[Token]) -> Part:
        word, one, other = map(str, items)
        return Part("proof", Overlap(word, (one, other)))

    def packed_in(self, items: list[Any]) -> Part:
        name, *contract = items
        chosen = next((part.value for part in contract if isinstance(part, Part)), PAGES)
        return Part("word", (str(name), chosen))

    def differ(self, items: list[Part]) -> Part:
        one, other = (part.value for part in items)
        return Part("proof", Differ((one, other)))

    def contradiction(self, items: list[Any]) -> Contradiction:
        code, name, *rest = items
        schema = next((str(item) for item in rest if isinstance(item, Token)), None)
        parts = [item for item in rest if isinstance(item, Part)]
        held: dict[str, Any] = {}
        for part in parts:
            if part.kind in held and part.kind != "source":
                raise SyntaxFault(f"a contradiction has one {part.kind}", *self._place(code).span)
            held[part.kind] = part.value
        for kind in ("claim", "against", "proof", "source"):
            if kind not in held:
                raise SyntaxFault(f"a contradiction needs a {kind}", *self._place(code).span)
        return Contradiction(
            code=str(code),
            name=str(name),
            schema=schema,
            claim=held["claim"],
            against=held["against"],
            proof=held["proof"],
            citations=cited(parts),
            place=self._place(code),
        )


def _text(tokens: list[Token]) -> str:
    return "".join(str(ast.literal_eval(str(token))) for token in tokens)
