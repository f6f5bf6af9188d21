"""The releases of CuTe DSL whose IR a text may be, and the types that older ones spell in another way.

All is judged by the newest release. Where a text has another type than that gives, it is right all the same if a
release that may have written the text gives it: rules/versions.rule says which do, the functions here what the other
type is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache

from tileproof.base.records import dataclass
from tileproof.dialects.infer.tensormap import default_format
from tileproof.dialects.values import Algebraic, Atom, CoordIterator, Pointer, Tensor, Type, element_bits, read_type
from tileproof.evaluate.hardware import limit
from tileproof.layout.tuples import transform
from tileproof.layout.values import Layout, Leaf
from tileproof.mlir.types import Node
from tileproof.rulebase.book import Rulebook


@dataclass(frozen=True, slots=True)
class Releases:
    """A range of releases, each as an integer: 405 for 4.5."""

    first: int
    last: int

    def __and__(self, other: Releases) -> Releases:
        return Releases(max(self.first, other.first), min(self.last, other.last))

    def __bool__(self) -> bool:
        return self.first <= self.last


def releases_of(book: Rulebook, text: str) -> Releases:
    """The releases that may have written a text; all of them where its words do not say, or contradict each other."""
    known = _ranges(book, "release_word")
    every = Releases(min(one.first for one in known.values()), max(one.last for one in known.values()))
    found = every
    for word, releases in known.items():
        if word in text and re.search(rf"{re.escape(word)}(?![\w.])", text) is not None:
            found &= releases
    return found or every


def spelled_alike(book: Rulebook, releases: Releases, newest: str, written: str) -> bool:
    """Whether a type is what one of these releases has where the newest one has another; both free of aliases."""
    a, b = read_type(newest), read_type(written)
    rows = _ranges(book, "release_type", spelled=False)
    return any(rows[member] & releases and same(book, a, b) for member, same in _FORMER.items() if member in rows)


@lru_cache(maxsize=16)
def _ranges(book: Rulebook, table: str, spelled: bool = True) -> Mapping[str, Releases]:
    """The releases of each row, by the spelling of its member or by the member."""
    found = {}
    for spelling, member in book.enums[table].by_spelling.items():
        first, last = book.shared_table(table).rows[member,]
        assert isinstance(first, int) and isinstance(last, int)
        found[spelling if spelled else member[1:]] = Releases(first, last)
    return found


# ---------------------------------------------------------------------------------------------------- former types


def _tuple_iterator(book: Rulebook, newest: Type, former: Type) -> bool:
    """Where a coordinate tensor starts, as a plain tuple."""
    match newest, former:
        case CoordIterator(start), Algebraic("int_tuple", value):
            return start == value
    return False


def _internal_type(book: Rulebook, newest: Type, former: Type) -> bool:
    """A TMA atom with the element type in shared memory, in place of the format that follows from it."""
    if not isinstance(newest, Atom) or not isinstance(former, Atom):
        return False
    new, old = newest.node, former.node
    format_, internal = _word(new, "tma_format"), _word(old, "internal_val_type")
    return (
        bool(format_)
        and new.text == old.text
        and [*_others(new, "tma_format")] == [*_others(old, "internal_val_type")]
        and element_bits(internal) is not None
        and default_format(internal) == format_
    )


def _word(node: Node, name: str) -> str:
    """The one word that a parameter is; empty where there is none."""
    found = node.parameter(name)
    if found is None:
        return ""
    return found.text if not found.children else found.children[0].text


def _others(node: Node, name: str) -> Iterator[Node]:
    return (child for child in node.children if child.key != name)


def _narrow_lanes(book: Rulebook, newest: Type, former: Type) -> bool:
    """A fragment in tensor memory whose lanes are as far apart as those of 32-bit elements."""
    match newest, former:
        case Tensor(Pointer(space="tmem") as pointer, Layout() as new), Tensor(Pointer() as other, Layout() as old):
            bits, column, lane = element_bits(pointer.element), limit(book, "column_bits"), 1 << limit(book, "lane_bit")
            if pointer != other or new.shape != old.shape or bits is None or column % bits:
                return False
            wide = lane * (column // bits)

            def narrow(stride: Leaf) -> Leaf:
                return lane if stride == wide else stride

            return transform(narrow, new.stride) == old.stride
    return False


_FORMER: Mapping[str, Callable[[Rulebook, Type, Type], bool]] = {
    "tuple_iterator": _tuple_iterator,
    "internal_type": _internal_type,
    "narrow_lanes": _narrow_lanes,
}
