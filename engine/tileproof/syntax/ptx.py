"""PTX instructions by grammar/ptx.lark: where a text is not an instruction, and why."""

from __future__ import annotations

from functools import cache

from lark import Lark

from tileproof.syntax import SyntaxFault
from tileproof.syntax.driver import compile_grammar, run


@cache
def _parser() -> Lark:
    return compile_grammar("ptx", ["start"])


def fault(text: str) -> SyntaxFault | None:
    """The fault of a text that is not one PTX instruction, or None."""
    try:
        run(_parser(), text, "start")
    except SyntaxFault as found:
        return found
    return None
