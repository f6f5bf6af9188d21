"""Declarations of lowerings and templates to the values of ``tileproof.rulebase.template``, by grammar/rules.lark."""

from __future__ import annotations

import ast
from typing import Any

from lark import Token

from tileproof.rulebase.parser.bitfields import WordBuilder
from tileproof.rulebase.parser.fragments import Part, cited
from tileproof.rulebase.template import FORMS, Line, Lowering, Template
from tileproof.syntax import SyntaxFault


class TemplateBuilder(WordBuilder):
    """Reductions of ``lowering`` and ``template`` and what is in them."""

    def line(self, items: list[Any]) -> Line:
        part, *rest = items
        texts = [item for item in rest if isinstance(item, Token)]
        when = next((item for item in rest if item is not None and not isinstance(item, Token)), None)
        return Line(str(part), "".join(str(ast.literal_eval(str(text))) for text in texts), when)

    def carried(self, items: list[Any]) -> Part:
        pairs = [item.value for item in items if isinstance(item, Part)]
        when = next((item for item in items if item is not None and not isinstance(item, Part)), None)
        return Part("carried", tuple((name, value, when) for name, value in pairs))

    def writes(self, items: list[Token]) -> Part:
        return Part("writes", tuple(map(str, items)))

    def updates(self, items: list[Token]) -> Part:
        return Part("updates", tuple(map(str, items)))

    def defaults(self, items: list[tuple[Token, Any]]) -> Part:
        return Part("defaults", tuple((str(name), value) for name, value in items))

    def lowering(self, items: list[Any]) -> Lowering:
        schema, to, *rest = items
        parts = [item for item in rest if isinstance(item, Part)]
        return Lowering(
            schema=str(schema),
            to=str(to),
            contract=_one("contract", parts),
            when=_one("when", parts),
            carried=tuple(item for part in parts if part.kind == "carried" for item in part.value),
            lines=tuple(item for item in rest if isinstance(item, Line)),
            citations=cited(parts),
            place=self._place(schema),
        )

    def template(self, items: list[Any]) -> Template:
        name, schema, *rest = items
        parts = [item for item in rest if isinstance(item, Part)]
        form = next((str(item) for item in rest if isinstance(item, Token)), FORMS[0])
        if form not in FORMS:
            raise SyntaxFault(f"a template is written as {', '.join(FORMS)}, not as {form}", *self._place(name).span)

        def listed(kind: str) -> tuple[Any, ...]:
            return tuple(item for part in parts if part.kind == kind for item in part.value)

        return Template(
            name=str(name),
            schema=str(schema),
            contract=_one("contract", parts),
            form=form,
            when=_one("when", parts),
            writes=listed("writes"),
            updates=listed("updates"),
            defaults=listed("defaults"),
            carried=listed("carried"),
            lines=tuple(item for item in rest if isinstance(item, Line)),
            citations=cited(parts),
            place=self._place(name),
        )


def _one(kind: str, parts: list[Part]) -> Any:
    return next((part.value for part in parts if part.kind == kind), None)
