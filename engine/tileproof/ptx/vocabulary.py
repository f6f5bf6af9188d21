"""Which instruction an opcode is of, and what rules/ptx_instructions.rule says of all instructions.

An instruction is judged where rules declare it, known to be outside where the table of the others names it, and unknown
otherwise.
"""

from __future__ import annotations

from functools import lru_cache

from tileproof.base.records import dataclass
from tileproof.base.spelling import get_close_matches
from tileproof.rulebase.book import Rulebook

_ALIKE = 0.85  # an unknown name this near to that of a judged instruction is a misspelling of it


@dataclass(frozen=True, slots=True)
class Word:
    """What an opcode begins with.

    Attributes:
        name: of the instruction, the longest that fits; empty of an unknown one.
        judged: whether rules judge it, also as a misspelling of an instruction that they judge.
        known: whether it is judged or known to be outside.
        jump: ``branch``, ``indexed`` or ``end``; empty of an instruction that the next one follows.
        writes: whether its first operand is what it writes, unless that is an address.
    """

    name: str
    judged: bool
    known: bool
    jump: str
    writes: bool

    @property
    def core(self) -> str:
        """What ptxas reads as one word: no blank may stand in it."""
        return self.name.partition("::")[0]


@lru_cache(maxsize=4096)
def word_of(book: Rulebook, opcode: str) -> Word:
    """What an opcode is, by its longest beginning that names an instruction."""
    pieces = opcode.split(".")
    outside = book.enums["outside_instruction"].by_spelling
    name, judged = "", False
    for count in range(len(pieces), 0, -1):
        beginning = ".".join(pieces[:count])
        if beginning in book.instructions:
            name, judged = beginning, True
            break
        if beginning in outside:
            name = beginning
            break
    if not name:
        judged = misspelled(book, opcode)
    jump = book.enums["ptx_jump"].by_spelling.get(name, "")[1:]
    writes = name not in book.enums["ptx_reads_first"].by_spelling
    return Word(name, judged, judged or bool(name), jump, writes)


def misspelled(book: Rulebook, opcode: str) -> bool:
    """Whether an unknown opcode is so near to a judged instruction that it is meant to be that."""
    pieces = opcode.split(".")
    names = [".".join(pieces[:count]) for count in range(1, len(pieces) + 1)]
    return any(get_close_matches(name, book.instructions, 1, _ALIKE) for name in names)


def nearest(book: Rulebook, opcode: str) -> str | None:
    """The instruction that an unknown opcode is most like; None where it is like none."""
    known = (*book.instructions, *book.enums["outside_instruction"].by_spelling)
    pieces = opcode.split(".")
    for count in range(min(len(pieces), 4), 0, -1):
        if close := get_close_matches(".".join(pieces[:count]), known, 1, 0.7):
            return close[0]
    return None
