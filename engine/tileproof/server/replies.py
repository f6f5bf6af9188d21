"""What is asked of a worker and what it answers. Places in a text are offsets of characters."""

from __future__ import annotations

from tileproof.base.diagnostic import Edit, Fix
from tileproof.base.records import dataclass


class Unusable(Exception):
    """What keeps a text from being checked, in a sentence for its author: settings or rules that cannot be used."""


@dataclass(frozen=True, slots=True)
class Document:
    """A text as it is in the editor, and its file, which need not exist."""

    file: str
    text: str


@dataclass(frozen=True, slots=True)
class Mark:
    """A place in the text itself, and what happens there."""

    start: int
    end: int
    message: str


@dataclass(frozen=True, slots=True)
class Away:
    """A place in another file, and what it is. Line and column count from 1; a column of 0 is not known."""

    file: str
    line: int
    column: int
    message: str


@dataclass(frozen=True, slots=True)
class Found:
    """One finding.

    Attributes:
        severity: ``error``, ``warning`` or ``note``.
        href: where its rule is written down; empty where that has no address.
        unused: whether it says that its place has no effect.
        fix: what repairs it, where that is known to the letter.
    """

    start: int
    end: int
    severity: str
    code: str
    name: str
    message: str
    hint: str
    href: str
    unused: bool
    related: tuple[Mark | Away, ...]
    fix: Fix | None = None


@dataclass(frozen=True, slots=True)
class Checked:
    """The findings of a text; ``refused`` says why it was not checked: it is no IR and no PTX, or is excluded."""

    findings: tuple[Found, ...]
    refused: str = ""


@dataclass(frozen=True, slots=True)
class Page:
    """What is known of a piece of the text, in Markdown."""

    start: int
    end: int
    markdown: str


@dataclass(frozen=True, slots=True)
class LineEdit:
    """A piece of a line of another file replaced; ``before`` is what stands in front of it. Lines count from 1."""

    file: str
    line: int
    before: str
    removed: str
    text: str


@dataclass(frozen=True, slots=True)
class Action:
    """A change that is offered for a finding.

    Attributes:
        finding: its number among those that were asked about.
        repairs: whether it removes the cause, and not only the finding.
    """

    title: str
    finding: int
    repairs: bool
    edits: tuple[Edit | LineEdit, ...]


@dataclass(frozen=True, slots=True)
class Label:
    """A few words behind a line of the text; ``line`` counts from 1."""

    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Request:
    """One question.

    Attributes:
        verb: of ``worker.VERBS``.
        arguments: what the verb needs besides the text.
    """

    verb: str
    document: Document
    arguments: tuple[object, ...] = ()


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer, or the problem that there is instead, in a sentence for the author."""

    value: object = None
    problem: str = ""
