"""Which step of the protocol an operation is, by the tables in rules/protocol."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from functools import lru_cache

from tileproof.base.patterns import regex
from tileproof.base.records import dataclass
from tileproof.dialects.forms import Forms
from tileproof.dialects.operands import resolve
from tileproof.dialects.operations import Operations
from tileproof.mlir.ir import Alias, Operation
from tileproof.protocol.counterparts import PURE
from tileproof.rulebase.book import Rulebook


@dataclass(frozen=True, slots=True)
class Step:
    """What an operation does in the protocol.

    Attributes:
        name: of the step, a member of the enum ``protocol_step`` without its dot.
        first, second, third: the places of the operands that matter.
        copy: of a copy, the member of ``protocol_copy`` that its atom is, without its dot.
    """

    name: str
    first: int
    second: int
    third: int
    copy: str = ""

    @property
    def pure(self) -> bool:
        """Whether it only has a result."""
        return self.name in PURE


@lru_cache(maxsize=8)
def _copies(book: Rulebook) -> tuple[tuple[str, str], ...]:
    """Copies by a piece of the atom's type."""
    return tuple((spelling, member[1:]) for spelling, member in book.enums["protocol_copy"].by_spelling.items())


_INTEGERS = regex(r"!cute\.memref<[su]?i\d+, rmem\b")
_ALIAS = regex(r"![A-Za-z_][\w$]*(?![\w.<$])")


def effects(
    book: Rulebook, aliases: dict[str, Alias], registers: bool = True, early: Collection[int] = ()
) -> Callable[[Operation, Sequence[str]], Step | None]:
    """The step of each operation of a module.

    Args:
        registers: whether accesses to all registers matter, which they do beside wgmma: else to integers alone.
        early: reads of what the grid before may still write, by ``id``: beside them waits for that grid matter.
    """
    operations, copies = Operations.of(book), _copies(book)
    atoms: dict[str, str] = {}

    def atom_of(text: str) -> str:
        found = atoms.get(text)
        if found is None:
            whole = _ALIAS.sub(lambda m: resolve(m[0], aliases), text)
            found = atoms[text] = next((kind for piece, kind in copies if piece in whole), "")
        return found

    def step(operation: Operation, types: Sequence[str]) -> Step | None:
        known = operations.step_of(operation)
        if known is not None and known.step == "grid_wait":
            return Step("grid_wait", 0, 0, 0) if early and "wait" in words(operation) else None
        if id(operation) in early and known is not None and known.step == "read":
            return Step("global_read", 0, 0, 0)
        if known is None:
            return _UNKNOWN if may_synchronise(book, operation.name, types) else None
        if known.step in ("read", "write"):
            at = known.first
            text = types[at] if at < len(types) else ""
            if operation.name.startswith("cute.") and ("gmem" in text or not text):
                return None
            if operation.name.startswith("cute.") and not registers and "rmem" in text:
                if _INTEGERS.match(text) is None:
                    return None
                name = "register_read" if known.step == "read" else "write"  # what is kept there may matter
                return Step(name, known.first, known.second, known.third)
            if not operation.name.startswith("cute.") and "ptr<3>" not in text and "ptr<7>" not in text:
                return None
        if known.step in _ELEMENTS and not any("ptr<3>" in text or "ptr<7>" in text for text in types[:1]):
            counts = known.step == "atomic" and _COUNTER.search(words(operation)) is not None
            return Step("counter", 0, 0, 0) if counts else None
        copy = atom_of(types[0]) if known.step == "copy" and types else ""
        return Step(known.step, known.first, known.second, known.third, copy)

    return step


_UNKNOWN = Step("unknown", 0, 0, 0)
_COUNTER = regex(r"(?:atomicrmw\s+|atomic_op<)(?:inc|add)\b")
_ELEMENTS = ("atomic", "matrix_load", "matrix_store")  # they matter in shared memory alone


def may_synchronise(book: Rulebook, name: str, types: Sequence[str]) -> bool:
    """Whether nothing is known of an operation that is given shared or tensor memory, by the types of its operands."""
    return _unknown_name(book, name) and any(_shared(book).search(text) is not None for text in types)


@lru_cache(maxsize=8)
def _shared(book: Rulebook) -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, book.enums["shared_memory_type"].by_spelling)))


@lru_cache(maxsize=4096)
def _unknown_name(book: Rulebook, name: str) -> bool:
    """Whether an operation that is no step may be one: a call, one that no dialect has, or one of the hardware."""
    if name in Operations.of(book).aliasing or name.startswith(tuple(book.enums["unordered_operation"].by_spelling)):
        return False
    forms = Forms.of(book)
    foreign = name.partition(".")[0] not in forms.dialects or name not in forms.operations
    return foreign or name.startswith("nvvm.") or name in book.enums["called_operation"].by_spelling


_NUMBER = regex(r"(?<![\w%.<#-])\d+(?![\w.>])")


def number(operation: Operation, *names: str) -> int | None:
    """An attribute that the custom form writes as a bare number."""
    for name in names:
        attribute = operation.attribute(name)
        if attribute is not None and (found := re.match(r"-?\d+", attribute.text)) is not None:
            return int(found[0])
    rest = operation.pieces[0].partition(operation.name)[2] if not operation.generic else ""
    found = _NUMBER.search(rest)
    return int(found[0]) if found is not None else None


def words(operation: Operation) -> str:
    """All that an operation writes besides its operands: what attributes say in either form."""
    return " ".join((*operation.pieces, *(f"{a.name} {a.text}" for a in operation.attributes)))


def of_wgmma(book: Rulebook, operation: Operation) -> bool:
    """Whether an operation is of wgmma, perhaps in inline assembly: then accesses to registers matter."""
    if operation.name.startswith("nvvm.wgmma"):
        return True
    return Operations.of(book).step(operation.name) == "opaque" and "wgmma." in words(operation)
