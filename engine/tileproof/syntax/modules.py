"""The shape of a module by grammar/ir.lark: the definition that ``tileproof.mlir.scanner`` is tested against."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from lark import Lark, Token, Tree

from tileproof.base.records import dataclass
from tileproof.syntax.driver import compile_grammar, run


@dataclass(frozen=True, slots=True)
class Outline:
    """One operation: its name as written (quotes stripped), the results it defines, and the depth of its region."""

    name: str
    results: tuple[str, ...]
    depth: int


@cache
def _modules() -> Lark:
    return compile_grammar("ir", ["start"])


def outlines(text: str) -> list[Outline]:
    """The operations of a module in textual order.

    Raises:
        SyntaxFault: the text is not in grammar/ir.lark.
    """
    return list(_outlines(run(_modules(), text, "start"), 0))


def _outlines(tree: Tree[Token], depth: int) -> Iterator[Outline]:
    for child in tree.children:
        if not isinstance(child, Tree):
            continue
        if child.data == "operation":
            results = next((part for part in child.children if isinstance(part, Tree) and part.data == "results"), None)
            listed = [] if results is None else [result for result in results.children if isinstance(result, Tree)]
            name = next(part for part in child.children if isinstance(part, Token))
            yield Outline(name.strip('"'), tuple(str(result.children[0]) for result in listed), depth)
        yield from _outlines(child, depth + (child.data == "region"))
