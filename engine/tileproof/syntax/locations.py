"""Places in the user's source, as the locations of MLIR give them, by grammar/location.lark."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import TypeAlias

from lark import Lark, Token, Transformer

from tileproof.base.diagnostic import Origin
from tileproof.base.patterns import regex
from tileproof.syntax import SyntaxFault
from tileproof.syntax.driver import compile_grammar, run

Place: TypeAlias = "Origin | str | tuple[Place, ...]"  # a place, the name of one, or places from the innermost call out

_ESCAPE = regex(r"\\([0-9A-Fa-f]{2}|.)")
_DEEPEST = 200  # aliases of aliases


class _Builder(Transformer[Token, Place]):
    """Reductions of grammar/location.lark."""

    def start(self, items: list[Place]) -> Place:
        return items[0]

    def file(self, items: list[Token]) -> Place:
        return Origin.compiled_from(_string(items[0]), int(items[1]), int(items[2]))

    def range(self, _: list[Token]) -> Place:
        return ()

    def named(self, items: list[Place]) -> Place:
        return items[1] if len(items) > 1 else ()

    def call(self, items: list[Place]) -> Place:
        return tuple(items)

    fused = call

    def metadata(self, _: list[Token]) -> Place:
        return ()

    def unknown(self, _: list[Token]) -> Place:
        return ()

    def alias(self, items: list[Token]) -> Place:
        return str(items[0])


def _string(token: Token) -> str:
    return _ESCAPE.sub(lambda one: chr(int(one[1], 16)) if len(one[1]) == 2 else one[1], token[1:-1])


@cache
def _parser() -> Lark:
    return compile_grammar("location", ["start"], _Builder())


def aliases(text: str) -> dict[str, str]:
    """The locations that a text gives names: ``#loc3 = loc(...)``, as they are written."""
    return {one[1]: one[2] for one in re.finditer(r"^(#[\w$.-]+)\s*=\s*(loc\s*\(.*\))[ \t]*$", text, re.M)}


def frames(text: str, named: Mapping[str, str]) -> tuple[Origin, ...]:
    """The places that a location names, each call behind what it calls.

    Args:
        text: ``loc(...)``.
        named: the names that may stand in it.

    Raises:
        SyntaxFault: the text is no location.
    """
    return tuple(dict.fromkeys(_flat(run(_parser(), text, "start"), named, 0)))


def _flat(place: Place, named: Mapping[str, str], depth: int) -> tuple[Origin, ...]:
    if depth > _DEEPEST:
        return ()
    if isinstance(place, Origin):
        return (place,) if place.line else ()
    if isinstance(place, str):
        try:
            return _flat(run(_parser(), named[place], "start"), named, depth + 1) if place in named else ()
        except SyntaxFault:
            return ()
    return tuple(one for inner in place for one in _flat(inner, named, depth + 1))
