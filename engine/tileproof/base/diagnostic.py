"""Diagnostics: what is wrong, where, and the fix."""

from __future__ import annotations

from enum import Enum

from tileproof.base.records import dataclass
from tileproof.base.shown import described
from tileproof.base.source import Source, Span


class Severity(Enum):
    """The severity. Only errors fail a run unless ``--fail-on`` says otherwise."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"

    @property
    def rank(self) -> int:
        """0 for notes, 1 for warnings, 2 for errors."""
        return ("note", "warning", "error").index(self.value)


@dataclass(frozen=True, slots=True)
class Origin:
    """A place in a source that the text was compiled from. Line and column count from 1; a column of 0 is not known."""

    file: str
    line: int
    column: int

    @classmethod
    def compiled_from(cls, file: str, line: int, column: int) -> Origin:
        """The place that a compiler names: those of Python kernels (CuTe DSL, Triton) count columns from 0."""
        return cls(file, line, column + 1 if column and file.endswith(".py") else column)

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}" if self.column else f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class Related:
    """A related place of a finding, and what happens there; ``origins`` as those of the finding."""

    span: Span
    message: str
    origins: tuple[Origin, ...] = ()


@dataclass(frozen=True, slots=True)
class Edit:
    """A text in place of that of a span; of an empty span, before it."""

    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class Fix:
    """Edits of the text that repair a finding.

    Attributes:
        what: they do, in a few words.
        safe: whether the author can only have meant this.
    """

    what: str
    edits: tuple[Edit, ...]
    safe: bool


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding at one place.

    Attributes:
        code, name: of the rule that it violates.
        message, hint: one sentence each, in the user's terms.
        sources: the sources of the fact.
        anchor: the offset at which MLIR's verifier would report it, where that is not the span's.
        echoes: further messages of that verifier.
        related: the other places that it is about, in the order in which things happen.
        origins: its places in the sources that the text was compiled from, where it says them: the user's own first,
            then those of inlined code and of its callers, from the innermost outwards.
        fix: what repairs it, where that is known to the letter.
    """

    source: Source
    span: Span
    code: str
    name: str
    severity: Severity
    message: str
    hint: str = ""
    sources: tuple[str, ...] = ()
    anchor: int | None = None
    echoes: tuple[str, ...] = ()
    related: tuple[Related, ...] = ()
    origins: tuple[Origin, ...] = ()
    fix: Fix | None = None

    def __repr__(self) -> str:
        line, column = self.source.position(self.span.start)
        return f"<{self.source.name}:{line}:{column}: {self.severity.value}: {self.message} [{self.code} {self.name}]>"

    def _repr_html_(self) -> str:
        return described(self)

    @property
    def origin(self) -> Origin | None:
        """The place in the user's own source, where the text says it."""
        return self.origins[0] if self.origins else None

    @property
    def place(self) -> int:
        """The offset at which MLIR's verifier would report it."""
        return self.span.start if self.anchor is None else self.anchor

    @property
    def order(self) -> tuple[int, int, str]:
        """Sort key within one file: place, then code."""
        return (self.span.start, self.span.end, self.code)
