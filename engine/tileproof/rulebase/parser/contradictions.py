"""Contradictions in rule files to the values of ``rulebase.contradiction``, by grammar/rules.lark.

Those values are imported where they are made: a check needs the parser for placeholders, and no contradiction.
"""

from __future__ import annotations

import ast
from types import ModuleType
from typing import TYPE_CHECKING, Any

from lark import Token

from tileproof.rulebase.declarations import PAGES
from tileproof.rulebase.expression import Expression
from tileproof.rulebase.parser.fragments import Part, cited
from tileproof.rulebase.parser.references import ReferenceBuilder
from tileproof.syntax import SyntaxFault

if TYPE_CHECKING:
    from tileproof.rulebase.contradiction import Contradiction


class ContradictionBuilder(ReferenceBuilder):
    """Reductions of ``contradiction`` and what is in it."""

    def claim(self, items: list[Token]) -> Part:
        return Part("claim", _text(items))

    def against(self, items: list[Token]) -> Part:
        return Part("against", _text(items))

    def for_all(self, items: list[Expression]) -> Part:
        return Part("proof", _values().Always(items[0]))

    def for_some(self, items: list[Expression]) -> Part:
        return Part("proof", _values().Some(items[0]))

    def accepts(self, items: list[Any]) -> Part:
        contract, code, *given = items
        facts = tuple((str(name), value) for name, value in filter(None, given))
        return Part("proof", _values().Accepts(str(contract), str(code), facts))

    def notes(self, items: list[Token]) -> Part:
        return Part("proof", _values().Notes(str(items[0])))

    def overlap(self, items: list[Token]) -> Part:
        word, one, other = map(str, items)
        return Part("proof", _values().Overlap(word, (one, other)))

    def packed_in(self, items: list[Any]) -> Part:
        name, *contract = items
        chosen = next((part.value for part in contract if isinstance(part, Part)), PAGES)
        return Part("word", (str(name), chosen))

    def differ(self, items: list[Part]) -> Part:
        one, other = (part.value for part in items)
        return Part("proof", _values().Differ((one, other)))

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
        made: Contradiction = _values().Contradiction(
            code=str(code),
            name=str(name),
            schema=schema,
            claim=held["claim"],
            against=held["against"],
            proof=held["proof"],
            citations=cited(parts),
            place=self._place(code),
        )
        return made


def _values() -> ModuleType:
    from tileproof.rulebase import contradiction  # noqa: PLC0415  see above

    return contradiction


def _text(tokens: list[Token]) -> str:
    return "".join(str(ast.literal_eval(str(token))) for token in tokens)
