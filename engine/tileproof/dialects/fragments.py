"""The thread-value layouts of an atom, by the fragments that rules/fragments declares.

An MMA's layouts come as the dialect writes them: a coordinate ``(m,k)`` of a tile of M rows is the index ``m + M*k``. A
copy's count values. An operand for which no row holds has no layout: it is not known who holds what.
"""

from __future__ import annotations

from functools import lru_cache

from tileproof.base.patterns import regex
from tileproof.evaluate.fragments import Fragments, Missing, fragments_of
from tileproof.mlir.types import Kind, Node
from tileproof.rulebase import load
from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.expression import Scalar
from tileproof.rulebase.fragment import BITS, INTEGER, Fragment, Taken

_ELEMENT = regex(r"(?:f|bf|tf|i|si|ui)(\d{1,4})(?!\d)")
_INTEGER = regex(r"(?<![\w])x?(\d{1,9})(?!\d)")


def fragments(node: Node, book: Rulebook | None = None) -> Fragments | None:
    """The fragments of an atom's type, or None where the rule files (those of tileproof, unless given) do not say."""
    book = shipped() if book is None else book
    declaration = book.fragments.get(node.text.lstrip("!"))
    return None if declaration is None else _read(book, declaration, node)


@lru_cache(maxsize=1)
def shipped() -> Rulebook:
    """The rule files of tileproof."""
    return load.load(load.default_files())


@lru_cache(maxsize=4096)
def _read(book: Rulebook, declaration: Fragment, node: Node) -> Fragments | None:
    facts: dict[str, Scalar] = {}
    try:
        for taken in declaration.taken:
            facts.update(zip(taken.facts, _values(book, taken, node), strict=False))
    except Missing:
        return None
    return fragments_of(book, declaration, facts)


# -- facts


def _values(book: Rulebook, taken: Taken, node: Node) -> list[Scalar]:
    """What a parameter says, one value for each fact."""
    if taken.parameter is None:
        parameter = None
    elif isinstance(taken.parameter, int):
        positional = node.positional
        parameter = positional[taken.parameter] if taken.parameter < len(positional) else None
    else:
        parameter = node.parameter(taken.parameter)
    if parameter is None:
        if taken.default is None and taken.parameter is not None:
            raise Missing
        return list(taken.default or ())
    words = _words(parameter)
    values: list[Scalar]
    if taken.kind == INTEGER:
        values = [int(found) for word in words for found in _INTEGER.findall(" ".join(word.split("x")))]
    elif taken.kind == BITS:
        values = [int(found[1]) for word in words if (found := _ELEMENT.match(word))]
    else:
        known = book.enums[taken.kind].by_spelling
        values = [known[word] for word in words if word in known]
    if len(values) != len(taken.facts):
        raise Missing
    return values


def _words(node: Node) -> list[str]:
    """The texts of the leaves of a parameter, in order."""
    if node.kind is Kind.GROUP or (node.kind is Kind.TYPE and node.children):
        return [word for child in node.children for word in _words(child)]
    return [node.text]
