"""Types as trees: what grammar/types.lark reads, before any dialect gives it a meaning.

Offsets count from the start of the type's text, so that a diagnostic can point at one extent of a shape.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

from tileproof.base.records import dataclass, field


class Kind(Enum):
    """The kind of a node of a type's text."""

    TYPE = "type"  # !cute.ptr<...>, vector<...>, f16: text is the name, children the parameters
    DIMS = "dims"  # 64x128x16
    NUMBER = "number"
    TEXT = "text"  # a quoted string; text is what is between the quotes
    GROUP = "group"  # (...), [...], {...}, <...>, or several atoms between two commas; text is the bracket
    MARK = "mark"  # ->, :, ?, *
    SYMBOL = "symbol"  # @name


@dataclass(frozen=True, slots=True)
class Node:
    """One piece of a type.

    Attributes:
        key: the name in ``name = piece``, else empty.
        start, end: offsets into the type's text, in characters.
    """

    kind: Kind
    text: str
    children: tuple[Node, ...] = ()
    key: str = ""
    start: int = field(default=0, compare=False)
    end: int = field(default=0, compare=False)

    def parameter(self, key: str) -> Node | None:
        """The parameter ``key = ...``."""
        return next((child for child in self.children if child.key == key), None)

    @property
    def positional(self) -> tuple[Node, ...]:
        """Parameters without a name, in order."""
        return tuple(child for child in self.children if not child.key)

    def walk(self) -> Iterator[Node]:
        """This node and all below it."""
        yield self
        for child in self.children:
            yield from child.walk()
