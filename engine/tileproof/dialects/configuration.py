"""Facts as rules read them, with the places that they came from: a record that PTX and the IR share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tileproof.base.records import dataclass
from tileproof.base.source import Span

if TYPE_CHECKING:
    from tileproof.mlir.ir import Operation
    from tileproof.rulebase.expression import Scalar


@dataclass(frozen=True, slots=True)
class WrongWord:
    """A packed word that a kernel assembles, with fields that have to be others.

    Attributes:
        maker: the operation whose result it is.
        word: its declaration, as ``tcgen05.descriptor``.
        right: the fields, each an integer, as they have to be.
    """

    maker: Operation
    word: str
    right: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Facts:
    """A configuration and its place.

    Attributes:
        spelled: facts as the user wrote them.
        spans: offsets of each fact's text; facts that were computed have none.
        span: the piece of text that the configuration as a whole stands for.
        related: other places that the configuration is about: each a member of the enum ``joined_end``.
        wrong: the word that the configuration is about, where it is known what it has to be.
    """

    schema: str
    values: Mapping[str, Scalar]
    spelled: Mapping[str, str]
    spans: Mapping[str, Span]
    span: Span
    related: tuple[tuple[str, Span], ...] = ()
    wrong: WrongWord | None = None


__all__ = ["Facts", "WrongWord"]
