"""Constant expressions of PTX: integers, C's operators on them, casts to 64 bits (PTX ISA, Constant Expressions)."""

from __future__ import annotations

import re

from tileproof.base.patterns import regex
from tileproof.syntax import MAX_DIGITS

_TOKEN = regex(
    r"\s*(?:(?P<integer>0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)U?(?![\w.])|(?P<cast>\(\s*\.[su]64\s*\))"
    r"|(?P<operator><<|>>|<=|>=|==|!=|&&|\|\||%(?!\w)|[-+*/&|^<>?:()~!]))\s*",
    re.ASCII,
)
# The tighter an operator binds, the greater its number.
_BINDING = {
    **{"||": 1, "&&": 2, "|": 3, "^": 4, "&": 5, "==": 6, "!=": 6, "<": 7, ">": 7, "<=": 7, ">=": 7},
    **{"<<": 8, ">>": 8, "+": 9, "-": 9, "*": 10, "/": 10, "%": 10},
}
_DEEPEST = 100


class _NoConstant(Exception):
    """The text is not a constant expression."""


def constant(text: str) -> int | None:
    """The value of a constant expression as a signed number of 64 bits, or None where the text is none."""
    try:
        return _Reader(text).whole()
    except _NoConstant:
        return None


def integer(digits: str) -> int | None:
    """The value of an integer literal; None of one that is none (``08``), or that is too long."""
    if len(digits) > MAX_DIGITS + 1:
        return None
    octal = digits[0] == "0" and digits.isdecimal()
    if octal and set(digits) & set("89"):
        return None
    return int(digits, 8 if octal else 0)


class _Reader:
    def __init__(self, text: str) -> None:
        self.tokens: list[str | int] = []
        at = 0
        while at < len(text):
            found = _TOKEN.match(text, at)
            if found is None:
                raise _NoConstant
            if found["integer"]:
                value = integer(found["integer"])
                if value is None:
                    raise _NoConstant
                self.tokens.append(value)
            else:
                self.tokens.append("cast" if found["cast"] else found["operator"])
            at = found.end()
        self.at = 0
        self.depth = 0

    def whole(self) -> int:
        value = self.choice()
        if self.at < len(self.tokens):
            raise _NoConstant
        return _signed(value)

    def next(self) -> str | int | None:
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def choice(self) -> int:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise _NoConstant
        condition = self.binary(1)
        if self.next() == "?":
            self.at += 1
            first = self.choice()
            if self.next() != ":":
                raise _NoConstant
            self.at += 1
            second = self.choice()
            condition = first if condition else second
        self.depth -= 1
        return condition

    def binary(self, least: int) -> int:
        left = self.unary()
        while isinstance(operator := self.next(), str) and _BINDING.get(operator, 0) >= least:
            self.at += 1
            left = _signed(_apply(operator, left, self.binary(_BINDING[operator] + 1)))
        return left

    def unary(self) -> int:
        prefixes = []
        while (token := self.next()) in ("+", "-", "~", "!", "cast"):
            prefixes.append(token)
            self.at += 1
        self.at += 1
        if isinstance(token, int):
            value = token
        elif token == "(":
            value = self.choice()
            if self.next() != ")":
                raise _NoConstant
            self.at += 1
        else:
            raise _NoConstant
        for prefix in reversed(prefixes):
            value = {"-": -value, "~": ~value, "!": int(value == 0)}.get(str(prefix), value)
        return value


def _apply(operator: str, left: int, right: int) -> int:
    if operator in ("/", "%"):
        if right == 0:
            raise _NoConstant
        quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
        return quotient if operator == "/" else left - quotient * right
    if operator in ("<<", ">>"):
        return left << (right & 63) if operator == "<<" else left >> (right & 63)
    match operator:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "&":
            return left & right
        case "|":
            return left | right
        case "^":
            return left ^ right
    return int(
        {
            "==": left == right,
            "!=": left != right,
            "<": left < right,
            ">": left > right,
            "<=": left <= right,
            ">=": left >= right,
            "&&": bool(left) and bool(right),
            "||": bool(left) or bool(right),
        }[operator]
    )


def _signed(value: int) -> int:
    """A number's 64 bits as ptxas keeps them."""
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)
