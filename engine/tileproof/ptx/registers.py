"""Which class a name is of: by its first letter in a lone instruction, by ``.reg`` declarations in a module.

The classes, the types of ``.reg`` and the special registers are data: the enum ``operand_class`` in rules/ptx.rule.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from tileproof.base.patterns import regex
from tileproof.rulebase.book import Rulebook

_LETTER = regex(r"([a-z])\d+", re.ASCII)
_VARIABLE = regex(r"[a-zA-Z]\w*[a-zA-Z_]", re.ASCII)


@lru_cache(maxsize=8)
def by_letter(book: Rulebook) -> Callable[[str], str | None]:
    """``r3`` is .b32, ``f0`` .f32, ``d1`` .f64, ``l2`` .b64, ``h4`` .b16, ``p0`` .pred.

    A name such as ``smem`` is that of a variable; anything else is unknown.
    """

    def find(name: str) -> str | None:
        if found := _LETTER.fullmatch(name):
            return of_type(book, found[1])
        return ".symbol" if _VARIABLE.fullmatch(name) else special(book, name)

    return find


def special(book: Rulebook, name: str) -> str | None:
    """The class of a special register such as ``%tid.x``; None for another name."""
    if not name.startswith("%"):
        return None
    return book.enums["operand_class"].by_spelling.get(name.partition(".")[0])


def of_type(book: Rulebook, name: str) -> str | None:
    """The class of the registers that ``.reg .b32`` declares, by ``b32``."""
    return book.enums["operand_class"].by_spelling.get(name)
