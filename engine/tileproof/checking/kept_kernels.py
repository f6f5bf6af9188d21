"""What is known of a kernel in PTX, kept by the text that its study reads.

So equal kernels of a file are studied once, and of a file in which one kernel was edited only that one is studied. The
study of a kernel reads its text, and of the module around it the header, variables and declarations, and the bodies of
device functions where it calls any. It reads no other kernel, and no place in a source (``.loc``, ``.file``, sections).
What the kernel and its labels are called tells them apart from others, and means nothing else. The digest is of that
text, with numbers for labels and one sign for the name; places in what is kept are places in that text. An outcome that
says a name in words is that of kernels of this very text only, and one with a place in what the study does not read is
not kept. Findings become diagnostics anew, so that lines, suppressions and settings are always those of the file.
"""

from __future__ import annotations

import io
import re
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import suppress
from operator import itemgetter
from typing import cast

from tileproof.base import pickles
from tileproof.base.patterns import regex
from tileproof.base.records import dataclass, field
from tileproof.base.source import Span
from tileproof.checking import kept_outcomes
from tileproof.checking.kept_outcomes import Elsewhere, Kept, digest, line, with_lines
from tileproof.judge.launches import of_kernel
from tileproof.judge.outcome import Options
from tileproof.mlir.ir import Attribute, Operation
from tileproof.protocol.runs import Outcome
from tileproof.protocol.verify import verify_function
from tileproof.ptx.graph import Graphs
from tileproof.ptx.module import Function, Module
from tileproof.rulebase.book import Rulebook

_LOCAL = b"$L"  # how labels begin that compilers make
_LABEL = regex(r"\$L[\w$]*+", re.ASCII)
_LINE = regex(r"\.loc\b[^\n;]*+", re.ASCII)
_BLANKS = regex(r"\s{3,}+", re.ASCII)  # one or two are between most lines
_DEBUG = regex(r'\.file\s++\d++\s++"[^"\n]*+"[^\n;]*+|\.section\s++[\w.$]++\s*+\{[^{}]*+\}', re.ASCII)


class Kernels:
    """The kernels of a module, each with its outcome."""

    def __init__(self, book: Rulebook, graphs: Graphs, options: Options, kept: Kept | None = None) -> None:
        self.book = book
        self.graphs = graphs
        self.options = options
        self.kept = kept or Kept(book, options)
        self.between: list[Span] | None = None

    def outcome(self, function: Function) -> Outcome | None:
        """The outcome of ``verify_function``, hints with lines by ``line``, from memory or the cache if there.

        Raises:
            Unstructured: as of ``verify_function``.
        """
        explain, thorough = self.options.explain_path, self.options.thorough
        read, said = self.read(function), of_kernel(self.options.launches, function.name)
        alike, equal = self.names(function, read)
        for name in (alike, equal):
            content = self.kept.get(name)
            if content is None:
                continue
            with suppress(Exception):  # a damaged one may raise anything
                found = _outcome(content, read, function)
                found = with_lines(found, lambda at: f"<at {read.outside(at, at + 1).start}>")
                self.kept.memory.add(name, content)
                return found
        outcome = verify_function(self.book, self.graphs.whole(function), explain, thorough, line, said=said)
        if outcome is not None:
            with suppress(Elsewhere):
                content = _written(with_lines(outcome, lambda at: f"<at {read.inside(Span(at, at + 1))[0]}>"), read)
                self.kept.add(
                    equal if any(one in content for one in (function.name.encode(), _LOCAL)) else alike, content
                )
        return outcome

    def names(self, function: Function, read: _Read | None = None) -> tuple[str, str]:
        """The names under which an outcome is kept: that of all kernels like this one, and that of its very text."""
        read = read or self.read(function)
        said = str(of_kernel(self.options.launches, function.name))
        asked = (str(self.options.explain_path), str(self.options.thorough), said, read.text)
        return digest(*asked), digest(*asked, read.written)

    # -- what a study reads

    def read(self, function: Function) -> _Read:
        """The text that the study of a kernel reads."""
        module = self.graphs.module
        assert function.body is not None
        if self.between is None:
            self.between = [one for one in _between(module) if one.start < one.end]
        start, end = function.start, function.body.end
        written = module.plain[start:end]
        pieces = [*self.between, Span(start, end)]
        names = []
        if "call" in written:
            bodies = [one for one in module.functions if one.body is not None and one is not function]
            pieces += [Span(one.start, one.body.end) for one in bodies if one.kind == "func" and one.body is not None]
            names = [one.name for one in bodies if one.kind != "func"]
        read = _Read(written, tuple(sorted(names)))
        for piece in sorted(pieces):
            at = piece.start
            if at == start:
                for token, text in _tokens(function, written):
                    read.copy(module.plain, at, token.start)
                    read.add(token.start, token.end, text)
                    at = token.end
            read.copy(module.plain, at, piece.end)
        return read


@dataclass(slots=True)
class _Read:
    """The text that a study reads, in regions: pieces of the module as they are, and signs that stand for others.

    Attributes:
        written: the kernel as it is written.
        callable: the other kernels of the module, where this one calls anything.
        regions: of each the place in the module and in this text, as four offsets.
    """

    written: str
    callable: tuple[str, ...]
    pieces: list[str] = field(default_factory=list)
    regions: list[tuple[int, int, int, int]] = field(default_factory=list)
    length: int = 0

    @property
    def text(self) -> str:
        return "\0".join((*self.callable, "".join(self.pieces)))

    def copy(self, plain: str, start: int, end: int) -> None:
        """Add a piece of the module as it is, but for how much of it is blank, as comments are."""
        for blank in _BLANKS.finditer(plain, start, end):
            self.add(start, blank.start(), plain[start : blank.start()])
            start = blank.end()
            self.add(blank.start(), start, " ")
        self.add(start, end, plain[start:end])

    def add(self, start: int, end: int, text: str) -> None:
        """Add a sign or a text that stands for a piece of the module."""
        if start < end:
            self.pieces.append(text)
            self.regions.append((start, end, self.length, self.length + len(text)))
            self.length += len(text)

    def inside(self, span: Span) -> tuple[int, int]:
        """A place of the module as one of this text."""
        return self.moved(span.start, span.end, 0)

    def outside(self, start: int, end: int) -> Span:
        """A place of this text as one of the module."""
        return Span(*self.moved(start, end, 2))

    def moved(self, start: int, end: int, side: int) -> tuple[int, int]:
        first = self.at(start, side, start)
        return first, self.at(end - 1, side, end) if end > start else first

    def at(self, character: int, side: int, edge: int) -> int:
        """A boundary of a character on the other side; ``edge`` is its offset on this side."""
        found = bisect_right(self.regions, character, key=itemgetter(side)) - 1
        region = self.regions[found] if found >= 0 else (0, 0, 0, 0)
        low, high, other, most = *region[side : side + 2], *region[2 - side : 4 - side]
        if not low <= character < high:
            raise Elsewhere
        if high - low == most - other:
            return other + edge - low
        if edge not in (low, high):
            raise Elsewhere
        return other if edge == low else most


def _between(module: Module) -> Iterator[Span]:
    """What is outside of functions that have a body, but for what only tells places in a source."""
    ends = [Span(one.start, one.body.end) for one in module.functions if one.body is not None]
    at = 0
    for start, end in (*ends, Span(len(module.plain), 0)):
        for debug in _DEBUG.finditer(module.plain, at, max(at, start)):
            yield _stripped(module.plain, at, debug.start())
            at = debug.end()
        yield _stripped(module.plain, at, max(at, start))
        at = max(at, end)


def _stripped(text: str, start: int, end: int) -> Span:
    """A piece of a text without the blanks around it."""
    piece = text[start:end]
    start += len(piece) - len(piece.lstrip())
    return Span(start, start + len(piece.strip()))


def _tokens(function: Function, written: str) -> Iterator[tuple[Span, str]]:
    """The places of the text of a kernel that signs stand for, and the signs."""
    labels = {one.name for one in function.labels}
    name = rf"{re.escape(function.name)}(?=(?:_param_\d+)?(?![\w$]))"
    found = [(*one.span(), "\1") for one in _LINE.finditer(written)]
    found += [(*one.span(), "") for one in _LABEL.finditer(written) if one[0] in labels]
    found += [(*one.span(), "\2") for one in re.finditer(name, written, re.ASCII)]
    numbers: dict[str, int] = {}
    at = 0
    for start, end, sign in sorted(found):
        part_of_word = sign != "\1" and start and (written[start - 1].isalnum() or written[start - 1] in "_$%")
        if start < at or part_of_word:
            continue
        at = end
        label = written[start:end]
        text = sign or f"\3{numbers.setdefault(label, len(numbers))}\3"
        yield Span(function.start + start, function.start + end), text


# -- outcomes as bytes


def _written(outcome: Outcome, read: _Read) -> bytes:
    """An outcome as bytes, its places those of the text that the study reads."""
    attributes = pickles.dumps(outcome.kernel.attributes, pickles.NEWEST)
    return attributes + kept_outcomes.written(outcome, read, (outcome.kernel,))


def _outcome(content: bytes, read: _Read, function: Function) -> Outcome:
    file = io.BytesIO(content)
    attributes = cast("tuple[Attribute, ...]", pickles.load(file))
    kernel = Operation(
        *("llvm.func", (), (), attributes, (), (), (), (), False, ("",)),
        span=function.span,
        name_span=function.span,
    )
    return kept_outcomes.read(file, read, (kernel,))


__all__ = ["Kernels"]
