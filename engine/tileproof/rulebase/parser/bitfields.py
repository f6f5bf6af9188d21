"""Declarations of packed words and canonical layouts to values of ``rulebase.bitfield``, by grammar/rules.lark."""

from __future__ import annotations

import ast
from typing import Any

from lark import Token

from tileproof.base.source import Span
from tileproof.rulebase.bitfield import BitField, Canonical, Form, Word
from tileproof.rulebase.expression import Expression
from tileproof.rulebase.parser.fragments import FragmentBuilder, Part, cited
from tileproof.syntax import SyntaxFault


class WordBuilder(FragmentBuilder):
    """Reductions of ``bits`` and ``canonical`` and what is in them."""

    def guard(self, items: list[Expression]) -> Part:
        return Part("when", items[0])

    def bit_field(self, items: list[Any]) -> Part:
        name, low, *rest = items
        high = rest[0] if isinstance(rest[0], Token) else low
        if int(high) < int(low):
            raise SyntaxFault(f"the bits of '{name}' run upwards", *self._place(low).span)
        extra = {part.kind: part.value for part in rest if isinstance(part, Part)}
        value = next(item for item in rest if item is not None and not isinstance(item, (Token, Part)))
        over, otherwise = extra.get("over", ()), extra.get("otherwise", "")
        return Part("bits", (name, BitField(str(name), int(low), int(high), value, over, otherwise)))

    def over(self, items: list[Token]) -> Part:
        return Part("over", tuple(map(str, items)))

    def otherwise(self, items: list[Token]) -> Part:
        return Part("otherwise", "".join(str(ast.literal_eval(str(token))) for token in items))

    def bits(self, items: list[Any]) -> Word:
        tokens = [item for item in items if isinstance(item, Token)]
        parts = [item for item in items if isinstance(item, Part)]
        name, width, schema = tokens
        fields: list[BitField] = []
        for token, field in (part.value for part in parts if part.kind == "bits"):
            span: Span = self._place(token).span
            if field.high >= int(width):
                raise SyntaxFault(f"'{field.name}' ends at bit {field.high} of a word of {width} bits", *span)
            shared = {other.name: other for other in fields if other.mask & field.mask}
            if strange := [other for other in field.over if other not in shared]:
                raise SyntaxFault(f"'{field.name}' shares no bit with '{strange[0]}'", *span)
            if any(other not in field.over for other in shared):
                raise SyntaxFault(f"{field} of '{field.name}' belong to another field as well", *span)
            fields.append(field)
        contracts = [part.value for part in parts if part.kind == "contract"]
        guards = [part.value for part in parts if part.kind == "when"]
        return Word(
            name=str(name),
            width=int(width),
            schema=str(schema),
            contract=contracts[0] if contracts else None,
            when=guards[0] if guards else None,
            fields=tuple(fields),
            citations=cited(parts),
            place=self._place(name),
        )

    def form(self, items: list[Any]) -> Form:
        major, swizzle, layout, *written = items
        return Form(
            str(major), str(swizzle), layout, tuple((str(name), value) for name, value in filter(None, written))
        )

    def canonical(self, items: list[Any]) -> Canonical:
        name, *rest = items
        forms = tuple(item for item in rest if isinstance(item, Form))
        citations = cited([item for item in rest if isinstance(item, Part)])
        return Canonical(str(name), forms, citations, self._place(name))
