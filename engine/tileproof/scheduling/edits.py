"""Where operations can be inserted into a text, and the text with insertions. All other bytes stay as they are."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate

from tileproof.base.patterns import regex
from tileproof.base.records import dataclass
from tileproof.base.source import Source
from tileproof.mlir.ir import Block, Operation
from tileproof.protocol.verify import KERNELS


@dataclass(frozen=True, slots=True)
class Gap:
    """A place between two operations of a block.

    Attributes:
        block: the block, by the offset of its first operation.
        index: of the operation that follows; the number of operations where none does.
        offset: the beginning of a line.
        indent: what the lines around begin with.
        form: how the operations around are written: ``custom``, ``generic`` or ``ptx``.
    """

    block: int
    index: int
    offset: int
    indent: str
    form: str


@dataclass(frozen=True, slots=True)
class Home:
    """Where an operation is: at an index of a block of ``parent``."""

    parent: Operation | None
    block: Block
    index: int


_REST = regex(r"[ \t\r]*(loc\(.*\))?[ \t\r]*(//.*)?$")


class InsertionPoints:
    """The insertion points of a text. Operations are identified by the offsets at which they start."""

    def __init__(self, source: Source, operations: Sequence[Operation]) -> None:
        self.source = source
        self.homes: dict[int, Home] = {}
        self.operations: dict[int, Operation] = {}
        for operation in operations:
            self._enter(operation)

    def _enter(self, operation: Operation) -> None:
        self.operations[operation.span.start] = operation
        for region in operation.regions:
            for block in region.blocks:
                for index, inner in enumerate(block.operations):
                    self.homes[inner.span.start] = Home(operation, block, index)
                    self._enter(inner)

    def enclosing(self, start: int) -> Iterator[Operation]:
        """The operations around one, from the inside, without the kernel itself."""
        home = self.homes.get(start)
        while home is not None and home.parent is not None and home.parent.span.start in self.homes:
            upper = self.homes[home.parent.span.start]
            if upper.parent is None or upper.parent.name.endswith("module"):
                return
            yield home.parent
            home = upper

    def kernel_of(self, start: int) -> Operation | None:
        """The kernel that an operation is in."""
        home = self.homes.get(start)
        while home is not None and home.parent is not None:
            if home.parent.name in KERNELS:
                return home.parent
            home = self.homes.get(home.parent.span.start)
        return None

    def gap(self, block: Block, index: int) -> Gap | None:
        """The place before the operation at an index; None where that shares its line with another."""
        text = self.source.text
        if index < len(block.operations):
            near = block.operations[index]
            start = text.rfind("\n", 0, near.span.start) + 1
            if text[start : near.span.start].strip():
                return None
            offset = start
        else:
            near = block.operations[-1]
            start = text.rfind("\n", 0, near.span.start) + 1
            end = text.find("\n", near.span.end)
            if end < 0 or _REST.match(text[near.span.end : end]) is None or text[start : near.span.start].strip():
                return None
            offset = end + 1
        indent = text[start : near.span.start]
        return Gap(block.operations[0].span.start, index, offset, indent, "generic" if near.generic else "custom")

    def beside(self, start: int, after: bool) -> Gap | None:
        """The place directly before or after an operation."""
        home = self.homes.get(start)
        return self.gap(home.block, home.index + after) if home is not None else None

    def later(self, gap: Gap) -> list[Gap]:
        """The places of the same block after one, in order; none is after the terminator."""
        home = self.homes[gap.block]
        count = len(home.block.operations)
        found = [self.gap(home.block, index) for index in range(gap.index + 1, count)]
        return [one for one in found if one is not None]


@dataclass(frozen=True, slots=True)
class InsertedLine:
    """A line to insert; lines at one place are in the order of ``rank``."""

    gap: Gap
    rank: int
    text: str


class Edited:
    """A text with lines inserted, and where each piece of it comes from."""

    def __init__(self, text: str, lines: Sequence[InsertedLine]) -> None:
        end = "\r\n" if "\r\n" in text else "\n"
        pieces, at, self._starts, sizes = [], 0, [0], [0]
        for line in sorted(lines, key=lambda one: (one.gap.offset, one.rank, one.text)):
            whole = f"{line.gap.indent}{line.text}{end}"
            pieces += [text[at : line.gap.offset], whole]
            at = line.gap.offset
            sizes.append(len(whole))
            self._starts.append(at)
        self._shifts = list(accumulate(sizes))
        self._begins = [start + shift for start, shift in zip(self._starts, self._shifts, strict=True)]
        self.text = "".join((*pieces, text[at:]))

    def origin(self, offset: int) -> int:
        """The offset of a character in the original text; negative where it was inserted there."""
        at = bisect_right(self._begins, offset) - 1
        old = offset - self._shifts[at]
        if at + 1 < len(self._starts) and old >= self._starts[at + 1]:
            return -self._starts[at + 1] - 1
        return old


__all__ = ["Edited", "Gap", "Home", "InsertedLine", "InsertionPoints"]
