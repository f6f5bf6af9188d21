"""Type text to trees: what is well-formed here, every other text by grammar/types.lark."""

from __future__ import annotations

from functools import lru_cache

from tileproof.base.patterns import regex
from tileproof.base.records import replace
from tileproof.mlir.types import Kind, Node
from tileproof.syntax import MAX_DIGITS, MAX_NESTING

# The terminals of grammar/types.lark, in the order of their priorities.
_TOKEN = regex(
    r"(?P<dims>[0-9?]+(?:x[0-9?]+)+(?![A-Za-z0-9_?])|(?:[0-9?*]+x)+(?=[A-Za-z!]))"
    r"|(?P<number>-?(?:[0-9]+(?:\.[0-9]*(?:[eE][-+]?[0-9]+)?)?|0x[0-9A-Fa-f]+))"
    r"|(?P<name>[!#]?[A-Za-z_][\w$.]*)"
    r"|(?P<symbol>@[\w$.]+)"
    r"|(?P<text>\"[^\"\\]*(?:\\.[^\"\\]*)*\")"
    r"|(?P<mark>->|[:?*])"
    r"|[(\[{<]|[)\]}>]|[,=]"
    r"|[ \t\r\n]+"
)
_CLOSING = {"(": ")", "[": "]", "{": "}", "<": ">"}
_LEAVES = {kind.value: kind for kind in (Kind.DIMS, Kind.NUMBER, Kind.SYMBOL, Kind.MARK)}
_LONG_INTEGER = regex(rf"[0-9]{{{MAX_DIGITS + 1},}}")


@lru_cache(maxsize=65536)
def type_tree(text: str) -> Node:
    """The tree of a type or a dialect attribute.

    Raises:
        SyntaxFault: the text is not in grammar/types.lark.
    """
    try:
        return _Reader(text).whole()
    except _Unlike:
        from tileproof.syntax.type_grammar import parsed  # noqa: PLC0415  Lark is imported only for such text

        return parsed(text)


class _Unlike(Exception):
    """Text that cannot be read here."""


class _Reader:
    """The tokens of one text, each with its kind (a bracket's is itself) and its place, and how many are read."""

    __slots__ = ("at", "tokens")

    def __init__(self, text: str) -> None:
        self.tokens: list[tuple[str, str, int]] = []
        self.at = end = 0
        for found in _TOKEN.finditer(text):
            if found.start() != end:
                raise _Unlike
            end = found.end()
            kind = found.lastgroup or found[0]
            if not kind.isspace():
                self.tokens.append((kind, found[0], found.start()))
        opened = sum(kind in _CLOSING for kind, _, _ in self.tokens)
        if end != len(text) or opened > MAX_NESTING or _LONG_INTEGER.search(text) is not None:
            raise _Unlike
        self.tokens.append(("end", "", end))

    def whole(self) -> Node:
        """All of the text: a type with its parameters, or the type of a function."""
        kind, token, start = self.next()
        node = self.named(token, start) if kind == "name" else self.bracketed(token, start)
        if kind == "(":
            _, arrow, _ = self.next()
            of_result, token, start = self.next()
            if arrow != "->" or of_result not in ("name", "("):
                raise _Unlike
            result = self.named(token, start) if of_result == "name" else self.bracketed(token, start)
            node = Node(Kind.GROUP, "->", (node, result), "", node.start, result.end)
        elif kind != "name":
            raise _Unlike
        if self.next()[0] != "end":
            raise _Unlike
        return node

    def next(self) -> tuple[str, str, int]:
        """The next token."""
        token = self.tokens[self.at]
        self.at += token[0] != "end"
        return token

    def named(self, name: str, start: int) -> Node:
        """The type of that name, with its parameters."""
        kind, token, at = self.tokens[self.at]
        if kind != "<":
            return Node(Kind.TYPE, name, (), "", start, start + len(name))
        self.at += 1
        angle = self.bracketed(token, at)
        return Node(Kind.TYPE, name, angle.children, "", start, angle.end)

    def bracketed(self, opening: str, start: int) -> Node:
        """What stands between brackets, up to the closing one."""
        closing = _CLOSING.get(opening)
        if closing is None:
            raise _Unlike
        children: list[Node] = []
        kind, token, at = self.next()
        while kind != closing:
            group = [self.parameter(kind, token, at)]
            while (first := self.next())[0] not in (",", closing):
                group.append(self.parameter(*first))
            if len(group) == 1 or any(one.key for one in group):
                children += group
            else:
                children.append(Node(Kind.GROUP, "", tuple(group), "", group[0].start, group[-1].end))
            kind, token, at = first if first[0] == closing else self.next()
            if kind == closing and first[0] == ",":
                raise _Unlike
        return Node(Kind.GROUP, opening, tuple(children), "", start, at + 1)

    def parameter(self, kind: str, token: str, start: int) -> Node:
        """One atom, with the name it may have."""
        if kind == "name" and self.tokens[self.at][0] == "=" and token[0] not in "!#":
            self.at += 1
            return replace(self.atom(*self.next()), key=token)
        return self.atom(kind, token, start)

    def atom(self, kind: str, token: str, start: int) -> Node:
        """One atom."""
        if kind == "name":
            return self.named(token, start)
        if kind == "text":
            return Node(Kind.TEXT, token[1:-1], (), "", start + 1, start + len(token) - 1)
        if kind in _LEAVES:
            return Node(_LEAVES[kind], token, (), "", start, start + len(token))
        return self.bracketed(token, start)
