"""What is known of a kernel in IR, kept by the text that its study reads.

So equal kernels of a file are studied once, and of a file in which another kernel, or the host code, was edited none is
studied again. The study of a kernel is given the kernel, how it is launched, the sizes of the boxes of its tensor maps,
and aliases of types (``protocol.verify.Asked``): no other function, global or attribute of the module. The digest is of
these, with the aliases that the text of the kernel names, by way of others as well, and one sign for its name. A kernel
that may begin before the one launched before it ends reads that one too, and is studied each time.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress

from tileproof.base.patterns import regex
from tileproof.base.source import Source, Span
from tileproof.checking import kept_outcomes
from tileproof.checking.kept_outcomes import Elsewhere, Kept, digest, with_lines
from tileproof.judge.outcome import Options
from tileproof.memory.tensor_maps import kernel_name
from tileproof.mlir.ir import Alias, Operation
from tileproof.protocol.runs import Outcome
from tileproof.protocol.verify import Asked, Studied
from tileproof.rulebase.book import Rulebook

_PLACE = regex(r"loc\s*+\(")  # how aliases begin that only tell places in a source


class Functions:
    """The kernels of a module, each with its outcome."""

    def __init__(
        self,
        book: Rulebook,
        source: Source,
        aliases: Mapping[str, Alias],
        options: Options,
        kept: Kept | None = None,
    ) -> None:
        self.source = source
        self.options = options
        self.kept = kept or Kept(book, options)
        self.aliases = {one.name: one.text for one in aliases.values() if _PLACE.match(one.text) is None}

    def outcome(self, asked: Asked, study: Studied) -> Outcome | None:
        """The outcome of a study, whose hints say lines by ``line``, from memory or the cache where they have it."""
        if asked.early:
            return self.said(study())
        operations = tuple(asked.kernel.walk())
        places = self.places(asked)
        alike, equal = self.names(asked, places)
        for name in (alike, equal):
            content = self.kept.get(name)
            if content is None:
                continue
            with suppress(Exception):  # a damaged one may raise anything
                found = kept_outcomes.read(io.BytesIO(content), places, operations)
                found = with_lines(found, lambda at: f"<at {places.outside_at(at)}>")
                self.kept.memory.add(name, content)
                return self.said(found)
        outcome = study()
        if outcome is not None:
            with suppress(Elsewhere):
                moved = with_lines(outcome, lambda at: f"<at {places.inside_at(at)}>")
                content = kept_outcomes.written(moved, places, operations)
                self.kept.add(equal if places.name.encode() in content else alike, content)
        return self.said(outcome)

    def said(self, outcome: Outcome | None) -> Outcome | None:
        """An outcome whose hints say lines."""
        return outcome and with_lines(outcome, lambda at: str(self.source.position(at).line))

    def places(self, asked: Asked) -> _Places:
        return _Places(asked.kernel, self.source.text[slice(*asked.kernel.span)])

    def names(self, asked: Asked, places: _Places | None = None) -> tuple[str, str]:
        """The names under which an outcome is kept: that of all kernels like this one, and that of its very text."""
        places = places or self.places(asked)
        text = places.text
        alike = digest(
            *(repr(self.options.explain_path), repr(self.options.thorough), asked.kernel.name),
            *(text[: places.before], text[places.behind :]),
            *(repr(asked.launched), repr(sorted(asked.boxes.items()))),
            *(f"{name} = {meaning}" for name, meaning in sorted(self.named(text))),
        )
        return alike, digest(alike, text)

    def named(self, text: str) -> Iterator[tuple[str, str]]:
        """The aliases that a text may name, and those that these name."""
        unknown, texts = dict(self.aliases), [text]
        while texts:
            one = texts.pop()
            for name in [name for name in unknown if name in one]:
                texts.append(unknown.pop(name))
                yield name, texts[-1]


class _Places:
    """Where a kernel is in a file: places before its name count from its beginning, others from its end."""

    def __init__(self, kernel: Operation, text: str) -> None:
        self.text = text
        self.start, self.end = kernel.span
        self.name = kernel_name(kernel) or ""
        found = re.search(rf"(?<![\w$.-]){re.escape(self.name)}(?![\w$.-])", text) if self.name else None
        self.before, self.behind = found.span() if found is not None else (0, 0)

    def inside(self, span: Span) -> tuple[int, int]:
        return self.inside_at(span.start), self.inside_at(span.end)

    def outside(self, start: int, end: int) -> Span:
        return Span(self.outside_at(start), self.outside_at(end))

    def inside_at(self, at: int) -> int:
        at -= self.start
        if 0 <= at <= self.before:
            return at
        at -= self.end - self.start
        if self.behind - (self.end - self.start) <= at <= 0:
            return at - 1
        raise Elsewhere

    def outside_at(self, at: int) -> int:
        return self.start + at if at >= 0 else self.end + at + 1


__all__ = ["Functions"]
