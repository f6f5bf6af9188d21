"""What takes part in the protocol, by its name: operations of the IR, and instructions as what they are the same as."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from tileproof.base.patterns import regex
from tileproof.base.records import dataclass
from tileproof.dialects.operations import Operations
from tileproof.rulebase.book import Rulebook

_NAMES = regex(r"\b(nvvm\.[\w.]*\w)(?: <(\w+)>)?")
PURE = frozenset({"elect", "index", "peer", "allocate", "tmem_address", "register_read", "counter"})
"""The steps that only have a result."""


def relevant(book: Rulebook, text: str) -> bool:
    """Whether a text can hold anything asynchronous: one of the words of the enum ``protocol_word``."""
    return _words(book).search(text) is not None


@lru_cache(maxsize=8)
def _words(book: Rulebook) -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, book.enums["protocol_word"].by_spelling)))


def is_step(book: Rulebook, name: str) -> bool:
    """Whether an operation of this name is a step of the protocol and does more than access memory."""
    step = Operations.of(book).step(name)
    return step not in ("", "read", "write") and step not in PURE


@dataclass(frozen=True, slots=True)
class Counterpart:
    """Operations of the IR that an instruction is the same as, one after the other.

    Attributes:
        operations: names, with what the operation writes after its name.
        operands: the operands of the instruction that are theirs, in their order.
        named: those that the operation writes by a name.
        optional: a tuple that may be left out, so that those behind it move up.
    """

    operations: tuple[str, ...]
    operands: tuple[int, ...]
    named: tuple[tuple[str, int], ...]
    optional: int | None = None

    @property
    def computes(self) -> bool:
        """Whether it only computes."""
        return self.operations[0].startswith("arith.")


@lru_cache(maxsize=4096)
def counterpart(book: Rulebook, opcode: str) -> Counterpart | None:
    """What an opcode is the same as, by the table ``assembly``; None where it takes no part in the protocol."""
    pieces = opcode.split(".")
    found = [one for one in _rows(book) if one[0][0] == pieces[0] and _in_order(one[0], pieces)]
    return max(found, key=lambda one: (len(one[0]), sum(map(len, one[0]))))[1] if found else None


def _in_order(wanted: Sequence[str], pieces: Sequence[str]) -> bool:
    rest = iter(pieces)
    return all(one in rest for one in wanted)


@lru_cache(maxsize=8)
def _rows(book: Rulebook) -> tuple[tuple[tuple[str, ...], Counterpart | None], ...]:
    rows = book.shared_table("assembly").rows
    found = []
    for spelling, member in book.enums["assembly_opcode"].by_spelling.items():
        operation, operands = map(str, rows[member,])
        places = operands.split()
        held = Counterpart(
            tuple(one.strip() for one in operation.split(";")),
            tuple(int(one) for one in places if one.isdecimal()),
            tuple((one.partition("=")[0], int(one.partition("=")[2])) for one in places if "=" in one),
            next((int(one[:-1]) for one in places if one.endswith("?")), None),
        )
        found.append((tuple(spelling.split(".")), held if operation else None))
    return tuple(found)


@lru_cache(maxsize=256)
def opcode_of(book: Rulebook, name: str, kind: str = "") -> str:
    """How PTX calls an operation of the IR: the shortest opcode that is the same; the name where there is none.

    Args:
        kind: what the operation writes in angle brackets; a part of the opcode.
    """
    same = [".".join(one) for one, held in _rows(book) if held is not None and held.operations[0] == name]
    return min((one for one in same if kind in one), key=len, default=f"{name} <{kind}>" if kind else name)


def in_ptx(book: Rulebook, said: str) -> str:
    """What is said of operations of the IR, by the opcodes that PTX has for them."""
    return _NAMES.sub(lambda one: opcode_of(book, one[1], one[2] or ""), said)
