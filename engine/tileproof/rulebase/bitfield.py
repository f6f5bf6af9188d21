"""Packed words and canonical layouts as rule files state them: which value is in which bits, and what memory a
descriptor describes.

A *word* is a descriptor: a 64-bit description of an operand in shared memory, or the 32-bit description of an MMA. One
declaration serves the constructor, the decoder, the printer and the proofs (``evaluate.bitfields``). A *form* is a
layout of shared memory that the tensor core reads by itself, with two strides, LBO and SBO, that the descriptor gives
it (``descriptors.canonical``). This module has the abstract syntax of both declarations.
"""

from __future__ import annotations

from tileproof.base.records import dataclass, field
from tileproof.rulebase.expression import Arithmetic, Expression, Fact, Lookup, Number, Place, Scalar
from tileproof.rulebase.fragment import ThreadValues
from tileproof.rulebase.references import Citation, Cited

# What the extents and strides of a form are made of.
FORM_FACTS = ("T", "m", "k", "LBO", "SBO")


@dataclass(frozen=True, slots=True)
class BitField:
    """Bits ``low`` to ``high``, both included, and the integer in them.

    Attributes:
        over: the fields that it shares bits with, in a word that is read in several ways.
        otherwise: what is said of a code that its table does not have, in the words of the source.
    """

    name: str
    low: int
    high: int
    value: Expression
    over: tuple[str, ...] = ()
    otherwise: str = ""

    @property
    def width(self) -> int:
        """The number of bits."""
        return self.high - self.low + 1

    @property
    def mask(self) -> int:
        """The bits of the field in the word."""
        return (1 << self.high + 1) - (1 << self.low)

    def __str__(self) -> str:
        return f"bits {self.low}-{self.high}" if self.width > 1 else f"bit {self.low}"


@dataclass(frozen=True, eq=False)
class Word(Cited):
    """A packed word over the facts of a schema. Bits that belong to no field are zero.

    Attributes:
        when: where this word is the one that counts, among several of one name.
    """

    name: str
    width: int
    schema: str
    contract: str | None
    when: Expression | None
    fields: tuple[BitField, ...]
    citations: tuple[Citation, ...]
    place: Place = field(repr=False)


@dataclass(frozen=True, slots=True)
class Form:
    """A canonical layout of an operand: ``(mn, k)`` to offsets in elements, before the swizzle of the addresses.

    Its extents and strides are made of T (the elements in 16 bytes), m and k (free extents), LBO and SBO (free
    strides).

    Attributes:
        written: strides that the hardware does not read in this form, and the bytes that are written for them.
    """

    major: str
    swizzle: str
    layout: ThreadValues
    written: tuple[tuple[str, Scalar], ...]


@dataclass(frozen=True, eq=False)
class Canonical(Cited):
    """The canonical layouts of one kind of descriptor, the preferred ones first."""

    name: str
    forms: tuple[Form, ...]
    citations: tuple[Citation, ...]
    place: Place = field(repr=False)


def invertible(value: Expression) -> bool:
    """Whether the value of a field tells the facts it is made of, given those of other fields."""
    match value:
        case Number() | Fact() | Arithmetic("/", Fact(), Number()):
            return True
        case Lookup(arguments=arguments):
            return all(isinstance(argument, Fact) for argument in arguments)
        case _:
            return False
