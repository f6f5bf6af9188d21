"""Where facts are written down: the documents that rule files declare, and the places in them that sources cite."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tileproof.base.patterns import regex
from tileproof.base.records import dataclass, field, replace
from tileproof.base.spelling import get_close_matches
from tileproof.rulebase.expression import Place

HOLE = "{}"  # in an address or a pattern
DEVIATION = "deviation: "  # before a citation that says what we knowingly do otherwise
_END = regex(r"(?=[,:;( ]|$)")  # what may follow a title or the name of a section
_PATH = regex(r",\s*([^,:;\s]*[^,:;\s.])")


@dataclass(frozen=True, eq=False)
class Reference:
    """A document, a program or a collection of either.

    Attributes:
        title: what sources call it.
        url: its address; empty where it is not online. A ``{}`` in it is filled with the section of a citation.
        pattern: the form of a citation that needs no title, such as ``{}/{}#{}``; its holes fill those of ``url``.
        sections: of those that citations name, what leads to them from ``url``; where there are any, a citation
            names one.
    """

    title: str
    version: str
    url: str
    pattern: str
    sections: dict[str, str]
    place: Place = field(repr=False)

    def address(self, *parts: str) -> str:
        """The address with its holes filled; without parts, of the whole."""
        url = self.url
        for part in parts:
            url = url.replace(HOLE, part, 1)
        return url.replace(HOLE, "")


@dataclass(frozen=True, slots=True)
class Citation:
    """One place in one reference, as ``PTX ISA, wgmma.mma_async, Matrix shape``.

    Attributes:
        url: the address that opens it; empty where there is none.
        covers: rows of the checklist of the reference pages that the declaration with this source carries.
    """

    text: str
    place: Place = field(repr=False, compare=False)
    reference: str = ""
    section: str = ""
    url: str = ""
    covers: tuple[str, ...] = ()


class Cited:
    """What has citations: ``sources`` are their texts, ``urls`` in the same order their addresses."""

    citations: tuple[Citation, ...]

    @property
    def sources(self) -> tuple[str, ...]:
        """What the fact is taken from, one text a citation."""
        return tuple(citation.text for citation in self.citations)

    @property
    def urls(self) -> tuple[str, ...]:
        """The address of each source; empty where it has none."""
        return tuple(citation.url for citation in self.citations)

    @property
    def covers(self) -> tuple[str, ...]:
        """The rows of the checklist of the reference pages that it carries."""
        return tuple(dict.fromkeys(row for citation in self.citations for row in citation.covers))


class UnknownSource(ValueError):
    """A citation that names no declared reference, or no declared section of one."""


def resolve(citation: Citation, references: dict[str, Reference]) -> Citation:
    """The citation with the reference that it names.

    Raises:
        UnknownSource: with the nearest names.
    """
    text = citation.text.removeprefix(DEVIATION)
    for reference in references.values():
        if reference.pattern and (found := _pattern(reference.pattern).match(text)):
            url = reference.address(*found.groups())
            return replace(citation, reference=reference.title, section=found[0], url=url)
    title = _longest(text, references)
    if title is None:
        near = _nearest(text.split(",")[0], references)
        raise UnknownSource(
            f"the source '{text}' begins with no declared reference{near}; declare it: reference TITLE {{}}"
        )
    reference, rest = references[title], text[len(title) :]
    section = _section(rest, reference)
    if reference.sections:
        if section is None:
            near = _nearest(rest.strip(" ,:"), reference.sections)
            raise UnknownSource(f"the source '{text}' names no declared section of '{title}'{near}")
        url = reference.url + reference.sections[section] if reference.url else ""
    else:
        url = reference.address(section) if section else reference.address()
    return replace(citation, reference=title, section=section or "", url=url)


def _section(rest: str, reference: Reference) -> str | None:
    if reference.sections:
        return _longest(rest.lstrip(", "), reference.sections) if rest.startswith(",") else None
    if HOLE in reference.url:
        path = _PATH.match(rest)
        return path[1] if path else None
    return None


def _longest(text: str, names: Iterable[str]) -> str | None:
    """The longest of the names that the text begins with."""
    fitting = [name for name in names if text.startswith(name) and _END.match(text, len(name))]
    return max(fitting, key=len, default=None)


def _nearest(text: str, names: Iterable[str]) -> str:
    known = list(names)
    cut = text[: max(map(len, known), default=0)]
    near = get_close_matches(cut, known, 3, 0.5) or get_close_matches(text.partition(",")[0], known, 3, 0.3)
    return f"; nearest: {', '.join(repr(name) for name in near)}" if near else ""


def _pattern(pattern: str) -> re.Pattern[str]:
    pieces = map(re.escape, pattern.split(HOLE))
    return re.compile(r"([A-Za-z0-9_.-]+)".join(pieces) + _END.pattern)
