"""``descriptors``: the 64-bit descriptor of every operand in shared memory that a kernel makes one of."""

from __future__ import annotations

from collections.abc import Iterator

from tileproof.base.diagnostic import Origin
from tileproof.base.records import dataclass
from tileproof.base.source import Source
from tileproof.descriptors.canonical import NoDescriptor, OperandDescriptor, Undecided, describe, operand, spelled
from tileproof.layout.values import ComposedLayout
from tileproof.memory.descriptors import Made, made
from tileproof.mlir.scanner import Scan, scan
from tileproof.rulebase.book import Rulebook, Ruleset


@dataclass(frozen=True, slots=True)
class Listed:
    """One descriptor of a file.

    Attributes:
        operand: ``A`` or ``B``; None if the operation does not determine it.
        swizzle: ``0``, ``32``, ``64``, ``128`` or ``128b32``; None where no descriptor is known.
        lbo, sbo: bytes; None where they are known only in the kernel.
        value: the 64 bits at address 0; None if some of them are not static: ``reason`` has them.
        origin: the user's source of it, where PTX says it.
    """

    file: str
    line: int
    column: int
    operand: str | None
    swizzle: str | None
    lbo: int | None
    sbo: int | None
    value: int | None
    reason: str | None
    origin: Origin | None = None

    def as_json(self) -> dict[str, object]:
        """The fields as DESIGN names them."""
        swizzle: object = int(self.swizzle) if self.swizzle is not None and self.swizzle.isdecimal() else self.swizzle
        found: dict[str, object] = {"file": self.file, "line": self.line, "column": self.column}
        found |= {"operand": self.operand, "swizzle": swizzle, "lbo": self.lbo, "sbo": self.sbo}
        found["value"] = None if self.value is None else f"0x{self.value:016x}"
        if self.reason is not None:
            found["reason"] = self.reason
        if self.origin is not None:
            found["origin"] = {"file": self.origin.file, "line": self.origin.line, "column": self.origin.column}
        return found

    def __str__(self) -> str:
        """One line for the reader."""
        place = f"{self.file}:{self.line}:{self.column}: {self.operand or '-'}"
        source = f"  ({self.origin})" if self.origin is not None else ""
        if self.swizzle is None:
            return f"{place}  {self.reason}{source}"
        lbo, sbo = ("dynamic" if one is None else one for one in (self.lbo, self.sbo))
        value = self.reason if self.value is None else f"0x{self.value:016x}"
        return f"{place}  swizzle {self.swizzle}  lbo {lbo}  sbo {sbo}  {value}{source}"


def descriptors(book: Rulebook, source: Source, contract: str) -> list[Listed] | None:
    """The descriptors that a file of IR makes, in textual order; None where it holds no IR."""
    found = scan(source)
    return list(_all(book, found, source, contract)) if found.holds_ir else None


def _all(book: Rulebook, found: Scan, source: Source, contract: str) -> Iterator[Listed]:
    for one in made(book, found.module.operations, found.module.aliases):
        line, column = source.position(one.operation.span.start)
        yield _listed(book.under(contract), source.name, line, column, one)


def described(ruleset: Ruleset, one: Made) -> OperandDescriptor:
    """The descriptor that an operation makes, by the layout of its memory; raises as ``describe`` does."""
    return describe(
        ruleset, one.word, operand(ruleset.book, one.layout, one.bits, one.extents, one.swizzle).tile, one.major
    )


def _listed(ruleset: Ruleset, file: str, line: int, column: int, one: Made) -> Listed:
    try:
        known = described(ruleset, one)
    except (NoDescriptor, Undecided) as error:
        return Listed(file, line, column, one.operand, None, None, None, None, str(error))
    swizzle = spelled(ruleset.book, known.swizzle)
    if one.absolute:
        reason = "bits 16-29 are the absolute address of the next buffer, a run-time value"
        return Listed(file, line, column, one.operand, swizzle, None, known.sbo, None, reason)
    offset = one.layout.offset if isinstance(one.layout, ComposedLayout) else 0
    if offset != 0 and not isinstance(offset, int):
        return Listed(
            file, line, column, one.operand, swizzle, known.lbo, known.sbo, None, f"the layout starts at {offset}"
        )
    return Listed(file, line, column, one.operand, swizzle, known.lbo, known.sbo, known.value, None)
