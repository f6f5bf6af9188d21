"""Type text to trees, by grammar/types.lark."""

from __future__ import annotations

from functools import cache
from typing import Any

from lark import Lark, Token, Transformer

from tileproof.base.records import replace
from tileproof.mlir.types import Kind, Node
from tileproof.syntax.driver import compile_grammar, end_of, run, start_of


class _TypeBuilder(Transformer[Token, Any]):
    """Reductions of grammar/types.lark to ``tileproof.mlir.types.Node``."""

    def named(self, items: list[Any]) -> Node:
        name, *angle = items
        children, end = (angle[0].children, angle[0].end) if angle else ((), end_of(name))
        return Node(Kind.TYPE, str(name), children, "", start_of(name), end)

    def function(self, items: list[Any]) -> Node:
        nodes = [item for item in items if isinstance(item, Node)]
        return Node(Kind.GROUP, "->", tuple(nodes), "", nodes[0].start, nodes[-1].end)

    def group(self, items: list[Node]) -> Node:
        return Node(Kind.GROUP, "", tuple(items), "", items[0].start, items[-1].end)

    def parameter(self, items: list[Any]) -> Node:
        *key, node = items
        named: Node = replace(node, key=str(key[0])) if key else node
        return named

    def _bracketed(self, items: list[Any]) -> Node:
        children: list[Node] = []
        for item in items:
            if isinstance(item, Node):
                run_on = item.kind is Kind.GROUP and not item.text and any(child.key for child in item.children)
                children += item.children if run_on else (item,)
        return Node(Kind.GROUP, str(items[0]), tuple(children), "", start_of(items[0]), end_of(items[-1]))

    angle = parens = brackets = braces = _bracketed

    def _leaf(self, kind: Kind, token: Token) -> Node:
        return Node(kind, str(token), (), "", start_of(token), end_of(token))

    def dims(self, items: list[Token]) -> Node:
        return self._leaf(Kind.DIMS, items[0])

    def number(self, items: list[Token]) -> Node:
        return self._leaf(Kind.NUMBER, items[0])

    def symbol(self, items: list[Token]) -> Node:
        return self._leaf(Kind.SYMBOL, items[0])

    def mark(self, items: list[Token]) -> Node:
        return self._leaf(Kind.MARK, items[0])

    def text(self, items: list[Token]) -> Node:
        return Node(Kind.TEXT, items[0][1:-1], (), "", start_of(items[0]) + 1, end_of(items[0]) - 1)


@cache
def _types() -> Lark:
    return compile_grammar("types", ["type"], _TypeBuilder())


def parsed(text: str) -> Node:
    """The tree of a type or a dialect attribute.

    Raises:
        SyntaxFault: the text is not in grammar/types.lark.
    """
    node: Node = run(_types(), text, "type")
    return node
