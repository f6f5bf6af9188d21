"""One mistake, one finding: what only follows from another finding of the file becomes a place of that one.

Which finding explains which others is rule data (table ``consequence``). Two belong together where they name one place:
a box of another size is said at the tensor map, and the bytes that its copies then deliver follow. Two findings about
the type of an MMA that differ in the operand alone, A or B, are one as well, and so are those that many operations have
for one before them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tileproof.base.diagnostic import Diagnostic, Related
from tileproof.base.patterns import regex
from tileproof.base.records import replace
from tileproof.base.source import Span
from tileproof.judge.outcome import Options
from tileproof.rulebase.book import Rulebook

_PLACES = 12  # that a finding names
_OPERAND = regex(r"\b[AB]\b")
_LIKEWISE = "likewise"


def merged(book: Rulebook, options: Options, found: Sequence[Diagnostic]) -> list[Diagnostic]:
    """The findings of a file without those that only follow from others, in their order.

    Args:
        options: what is not wanted explains nothing.
    """
    causes, rows = book.enums["cause"].by_spelling, book.shared_table("consequence").rows
    explains: dict[int, list[Diagnostic]] = {}
    for at, one in enumerate(found):
        member = causes.get(one.code)
        effects = rows[member,][0] if member is not None else None
        if not isinstance(effects, frozenset) or not options.reports(one.code, one.name):
            continue
        codes = {code for effect in effects for code in book.enums["effect"].members[str(effect)]}
        places = _places(one)
        mine = [other for other in found if other.code in codes and places & _places(other)]
        said = {other.message for other in mine}
        explains[at] = [other for other in found if other in mine or (other.code in codes and other.message in said)]
    gone = {id(other) for others in explains.values() for other in others}
    kept = [_with(one, explains.get(at, ())) for at, one in enumerate(found) if id(one) not in gone]
    return one_of_many(book, _one_of_both(kept, book.enums["of_both_operands"].by_spelling))


def one_of_many(book: Rulebook, found: Sequence[Diagnostic]) -> list[Diagnostic]:
    """The findings of a file with one for each operation that many wait for too little, which has all their places."""
    codes = book.enums["of_earlier"].by_spelling
    groups: dict[object, list[Diagnostic]] = {}
    for one in found:
        alike = one.code in codes and one.related
        groups.setdefault((one.code, one.related[0].span) if alike else id(one), []).append(one)
    return [_with(one, others) for one, *others in groups.values()]


def one_of_copies(found: Sequence[Diagnostic], home: Callable[[int], object]) -> list[Diagnostic]:
    """The findings with one for each place in the user's source, of those that its copies in one kernel have.

    A compiler unrolls loops: what is wrong in one line is wrong in each copy of it. Findings that are repaired each by
    itself are kept.

    Args:
        home: what an offset is in.
    """
    groups: dict[object, list[Diagnostic]] = {}
    for one in found:
        alike = one.origins and one.fix is None
        key = (one.code, one.severity, one.hint, one.origins, home(one.span.start))
        groups.setdefault(key if alike else id(one), []).append(one)
    return [_copied(one, others) for one, *others in groups.values()]


def _copied(one: Diagnostic, others: Sequence[Diagnostic]) -> Diagnostic:
    """A finding with the places of its copies, all of them: each is a finding of its own that is not said."""
    copies = (Related(other.span, _LIKEWISE, other.origins) for other in others)
    return replace(one, related=(*one.related, *copies)) if others else one


def _places(one: Diagnostic) -> set[int]:
    return {one.span.start, one.place, *(place.span.start for place in one.related)}


def _with(one: Diagnostic, others: Sequence[Diagnostic]) -> Diagnostic:
    """A finding with the places of others, which say what happens there."""
    related = {place.span.start: place for place in one.related}
    for other in others:
        for place in (Related(other.span, other.message), *other.related):
            if place.span.start != one.span.start and len(related) < _PLACES:
                related.setdefault(place.span.start, place)
    return replace(one, related=tuple(related.values())) if others else one


def _one_of_both(found: Sequence[Diagnostic], codes: Mapping[str, str]) -> list[Diagnostic]:
    """Of two findings of some codes that say the same of A and of B the first one."""
    kept: list[Diagnostic] = []
    open_: dict[tuple[str, str], tuple[int, str]] = {}  # where one of a kind is, and of which operand
    for one in found:
        operands = set(_OPERAND.findall(one.message))
        if len(operands) != 1 or one.code not in codes:
            kept.append(one)
            continue
        operand, key = operands.pop(), (one.code, _OPERAND.sub("", one.message))
        first = open_.pop(key, None)
        if first is None or first[1] == operand:
            open_[key] = (len(kept), operand)
            kept.append(one)
        else:
            related = (*kept[first[0]].related, *_likewise(one.span, one.related))
            kept[first[0]] = replace(kept[first[0]], related=related[:_PLACES])
    return kept


def _likewise(span: Span, related: Sequence[Related]) -> tuple[Related, ...]:
    return (Related(span, _LIKEWISE), *related)


__all__ = ["merged", "one_of_copies", "one_of_many"]
