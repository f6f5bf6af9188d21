"""Facts as they are typed on the command line: ``N=64``, ``swizzle=128``, ``a.type=bf16``."""

from __future__ import annotations

from collections.abc import Iterable

from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.declarations import Bounded
from tileproof.rulebase.expression import Scalar


class BadQuery(ValueError):
    """A name, an argument or a value that there is not; the message names what there is."""


def arguments(given: Iterable[str]) -> dict[str, str]:
    """``NAME=VALUE`` texts by their names.

    Raises:
        BadQuery: one has another form, or a name is given twice.
    """
    found: dict[str, str] = {}
    for argument in given:
        name, equals, value = argument.partition("=")
        if not equals:
            raise BadQuery(f"an argument is NAME=VALUE, not '{argument}'")
        if name in found:
            raise BadQuery(f"argument '{name}' is given twice")
        found[name] = value
    return found


def value_of(book: Rulebook, schema: str, name: str, text: str) -> Scalar:
    """The value of a fact of a schema: an integer in its bounds, or a member of its enum by name or spelling.

    Raises:
        BadQuery: the schema has no such fact, or the fact no such value.
    """
    fields = book.schemas[schema].fields
    if name not in fields:
        raise BadQuery(f"unknown field '{name}'; use {', '.join(fields)}")
    kind = fields[name]
    if isinstance(kind, Bounded):
        value = integer(name, text)
        if not kind.first <= value <= kind.last:
            raise BadQuery(f"{name} = {text} is out of range: it is from {kind.first} to {kind.last}")
        return value
    enum = book.enums[kind.enum]
    known = {**{member[1:]: member for member in enum.members}, **enum.by_spelling}
    member = known.get(text) or known.get(text.removeprefix("."))
    if member is None:
        raise BadQuery(f"{name} = {text} is unknown: it is {', '.join(one[1:] for one in enum.members)}")
    return member


def integer(name: str, text: str) -> int:
    """An integer, decimal or with 0x or 0b.

    Raises:
        BadQuery: it is none.
    """
    try:
        return int(text, 0)
    except ValueError:
        raise BadQuery(f"{name} is an integer, not '{text}'") from None
