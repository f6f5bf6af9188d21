"""Lark: grammars are compiled on first use, and every fault in the text is a ``SyntaxFault`` with its position.

Nesting and the size of integers are limited before Lark sees the text: hostile input ends in a fault, not in a stack
overflow.
"""

from __future__ import annotations

from typing import Any

from lark import Lark, Token, Transformer
from lark.exceptions import LarkError, UnexpectedInput, UnexpectedToken, VisitError

from tileproof.base import cache, resources
from tileproof.base.patterns import regex
from tileproof.syntax import MAX_DIGITS, MAX_LENGTH, MAX_NESTING, SyntaxFault

# Brackets that nest, quoted text passed over: what is inside it is parsed by itself. `<=` and a lone `>` are operators.
_BRACKET = regex(r"\"[^\"\\]*(?:\\.[^\"\\]*)*\"|[(\[{]|[)\]}]|<(?![=\s])|(?<![-\s])>(?!=)")
_LONG_INTEGER = regex(rf"\"[^\"\\]*(?:\\.[^\"\\]*)*\"|(?<![\w.])([0-9]{{{MAX_DIGITS + 1},}})")


def _guard(text: str) -> None:
    if len(text) > MAX_LENGTH:
        raise SyntaxFault(f"the text is longer than {MAX_LENGTH} characters", 0, 1)
    depth = 0
    for bracket in _BRACKET.finditer(text):
        if bracket[0][0] == '"':
            continue
        depth += 1 if bracket[0] in "([{<" else -1
        if depth > MAX_NESTING:
            raise SyntaxFault(f"brackets nest deeper than {MAX_NESTING}", bracket.start(), bracket.end())
    for number in _LONG_INTEGER.finditer(text):
        if number[1]:
            raise SyntaxFault("an integer does not fit in 64 bits", number.start(), number.end())


def run(parser: Lark, text: str, start: str) -> Any:
    """Parse ``text`` from the nonterminal ``start``.

    Raises:
        SyntaxFault: with the place and the piece of text that was not expected.
    """
    _guard(text)
    try:
        return parser.parse(text, start=start)
    except UnexpectedToken as fault:
        if fault.token.type == "$END":
            raise SyntaxFault("unexpected end", len(text), len(text)) from None
        at = fault.token.start_pos or 0
        raise SyntaxFault(f"unexpected '{fault.token}'", at, at + len(fault.token)) from None
    except UnexpectedInput as fault:
        at = fault.pos_in_stream or 0
        raise SyntaxFault(f"unexpected '{text[at : at + 1]}'", at, at + 1) from None
    except LarkError as fault:
        if isinstance(fault, VisitError) and isinstance(fault.orig_exc, SyntaxFault):
            raise fault.orig_exc from None
        raise SyntaxFault(str(fault), 0, len(text)) from None


def compile_grammar(name: str, start: list[str], transformer: Transformer[Token, Any] | None = None) -> Lark:
    """``grammar/NAME.lark`` as an LALR parser that applies the transformer while it parses."""
    text = resources.grammar(name)
    kept = cache.entry(f"grammar-{name}", [text, resources.grammar("rule_expression"), resources.grammar("layout")])
    return Lark(
        text,
        start=start,
        parser="lalr",
        lexer="contextual",
        transformer=transformer,
        maybe_placeholders=False,
        propagate_positions=False,
        cache=str(kept) if kept else False,
        import_paths=[str(resources.folder("grammar"))],
    )


def start_of(token: Token) -> int:
    """Where a token starts in the text that is parsed."""
    return token.start_pos or 0


def end_of(token: Token) -> int:
    """Where a token ends in the text that is parsed."""
    return token.end_pos or 0
