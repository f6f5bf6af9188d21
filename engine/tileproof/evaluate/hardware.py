"""Hardware numbers, as rules/ state them: limits of rules/hardware.rule, and what fields of packed words count in."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from tileproof.base.records import dataclass
from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.declarations import HARDWARE
from tileproof.rulebase.expression import Arithmetic, Number, Scalar


@lru_cache(maxsize=256)
def limit(book: Rulebook, name: str) -> int:
    """A number that the hardware sets, by its member of the enum ``hardware`` without the dot."""
    (value,) = book.shared_table("hardware").rows[f".{name}",]
    assert isinstance(value, int), "rules/hardware.rule"
    return value


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a packed word.

    Attributes:
        low: its lowest bit.
        width: bits.
        unit: what the field counts in, in units of the fact: 16 where it holds ``address / 16``.
    """

    low: int
    width: int
    unit: int

    @property
    def reach(self) -> int:
        """What the fact is less than, in its own units."""
        return self.unit << self.width


@lru_cache(maxsize=256)
def field(book: Rulebook, word: str, name: str) -> Field:
    """A field of a packed word of the hardware, which is declared once."""
    (declared,) = book.words[word, HARDWARE]
    one = next(one for one in declared.fields if one.name == name)
    match one.value:
        case Arithmetic("/", _, Number(unit)):
            return Field(one.low, one.width, unit)
    return Field(one.low, one.width, 1)


def smem_bits(book: Rulebook, facts: Mapping[str, Scalar], operand: str) -> int:
    """The bits of an operand's element in shared memory."""
    container = book.shared_table("smem_container").rows.get((str(facts.get("kind")),))
    row = container or book.shared_table("element").rows[str(facts[f"{operand}.type"]),]
    assert isinstance(row[0], int), "rules/elements.rule"
    return row[0]


def descriptor_unit(book: Rulebook) -> int:
    """The bytes that a shared-memory descriptor counts in. A row of a core matrix has as many."""
    return field(book, "tcgen05.descriptor", "start").unit


def descriptor_reach(book: Rulebook) -> int:
    """The bytes that a shared-memory descriptor can address, from the first one on."""
    return field(book, "tcgen05.descriptor", "start").reach


def swizzle_period(book: Rulebook) -> int:
    """The bytes after which the longest swizzle of shared memory repeats: operands that begin there may have any."""
    return _largest_of_swizzles(book, "pattern")


def swizzle_row(book: Rulebook, swizzle: str) -> int:
    """The bytes of a row of a swizzle of shared memory."""
    return _of_swizzle(book, swizzle, "row")


def swizzle_pattern(book: Rulebook, swizzle: str) -> int:
    """The bytes after which a swizzle of shared memory repeats: those of eight rows."""
    return _of_swizzle(book, swizzle, "pattern")


def _of_swizzle(book: Rulebook, swizzle: str, column: str) -> int:
    table = book.shared_table("smem_swizzle")
    found = table.rows[swizzle,][table.columns.index(column)]
    assert isinstance(found, int), "rules/descriptor/smem.rule"
    return found


def widest_row(book: Rulebook) -> int:
    """The bytes of the rows of the widest swizzle of shared memory: a wider box of a tensor map has none."""
    return _largest_of_swizzles(book, "row")


@lru_cache(maxsize=8)
def _largest_of_swizzles(book: Rulebook, name: str) -> int:
    table = book.shared_table("smem_swizzle")
    column = table.columns.index(name)
    return max(cell for row in table.rows.values() if isinstance(cell := row[column], int))
