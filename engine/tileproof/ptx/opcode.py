"""The facts of an opcode: which declaration its name and modifiers choose, and what each modifier says.

Modifiers are a bag to ptxas: ``mma.m16n8k16.sync.aligned`` is ``mma.sync.aligned.m16n8k16``. Only those of one kind,
such as the four types of an MMA, have an order among themselves.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache

from tileproof.rule import EnumOrigin, FlagOrigin, Instruction, Modifiers, PatternOrigin, Rulebook, Scalar
from tileproof.source import Span

NONE = ".none"
"""The member of an enum that stands for the absence of a modifier: it is not spelled."""


UNSPELLED = "."
"""Among the spellings of a member: the IR has it, PTX has no modifier for it."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that keeps an instruction from having facts; the code is one of the findings of rules/ptx.rule."""

    code: str
    message: str
    span: Span


@dataclass(frozen=True, slots=True)
class Opcode:
    """What an opcode says. Spans count from its beginning.

    Attributes:
        values: facts; spelled: those that stand there, as they are written.
    """

    declaration: Instruction | None
    values: dict[str, Scalar]
    spelled: dict[str, str]
    spans: dict[str, Span]
    faults: tuple[Fault, ...]


@lru_cache(maxsize=65536)
def read_opcode(book: Rulebook, text: str) -> Opcode:
    """The facts of an opcode such as ``wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16``."""
    words = text.split(".")
    name = next((name for k in range(len(words), 0, -1) if (name := ".".join(words[:k])) in book.instructions), None)
    if name is None:
        close = _closest(".".join(words[:2]), tuple(book.instructions))
        hint = f"; the nearest that is known is '{close}'" if close else ""
        message = f"'{_first_words(text)}' is no instruction that tileproof judges{hint}"
        return Opcode(None, {}, {}, {}, (Fault("PT002", message, Span(0, len(text))),))
    modifiers = []
    at = len(name)
    for word in words[name.count(".") + 1 :]:
        modifiers.append((f".{word}", Span(at, at + len(word) + 1)))
        at += len(word) + 1
    found = None
    for declaration in _choose(book.instructions[name], {modifier for modifier, _ in modifiers}):
        found = _Reader(book, declaration, Span(0, len(name))).read(modifiers)
        if not found.faults:
            return found
    assert found is not None
    return found


@lru_cache(maxsize=65536)
def _closest(word: str, known: tuple[str, ...]) -> str | None:
    """The known word most like another; looking is slow, and the same words are misspelled again and again."""
    return next(iter(get_close_matches(word, known, 1, 0.6)), None)


def _first_words(text: str) -> str:
    return text if len(text) <= 40 else text[:37] + "..."


def _choose(declarations: tuple[Instruction, ...], modifiers: set[str]) -> list[Instruction]:
    """The declarations that most of the modifiers ask for; those with the fewest selectors where none asks for any."""
    fitting = [d for d in declarations if modifiers.issuperset(d.selectors)]
    count = max((len(d.selectors) for d in fitting), default=min(len(d.selectors) for d in declarations))
    return [d for d in fitting or declarations if len(d.selectors) == count]


class _Slot:
    """The modifiers of one clause, filled one by one."""

    __slots__ = ("clause", "found", "known", "pattern", "size")

    def __init__(self, book: Rulebook, clause: Modifiers) -> None:
        self.clause = clause
        self.found: list[tuple[Scalar, str, Span]] = []
        self.known: dict[str, Scalar] = {}
        self.pattern: re.Pattern[str] | None = None
        self.size = len(clause.facts)
        match clause.origin:
            case EnumOrigin(enum):
                self.known = ptx_spellings(book, enum)
            case FlagOrigin(modifier):
                self.known = {modifier: ".yes"}
            case PatternOrigin():
                self.pattern, self.size = compiled(clause.origin), 1

    def takes(self, modifier: str) -> bool:
        return modifier in self.known or (self.pattern is not None and self.pattern.fullmatch(modifier) is not None)

    @property
    def full(self) -> bool:
        return len(self.found) >= self.size

    def values(self) -> tuple[Scalar, ...] | None:
        """The values of the facts, or None where modifiers are missing."""
        if not self.found:
            return self.clause.default
        if not self.full:
            return None
        if self.pattern is not None:
            matched = self.pattern.fullmatch(self.found[0][1])
            assert matched is not None
            return tuple(map(int, matched.groups()))
        return tuple(value for value, _, _ in self.found)


@lru_cache(maxsize=256)
def ptx_spellings(book: Rulebook, enum: str) -> dict[str, Scalar]:
    """How the members of an enum stand in PTX: as named, or as those of their spellings that begin with a dot."""
    spelled: dict[str, Scalar] = {}
    for member, spellings in book.enums[enum].members.items():
        if member == NONE or UNSPELLED in spellings:
            continue
        for spelling in [s for s in spellings if s.startswith(".")] or [member]:
            spelled[spelling] = member
    return spelled


@lru_cache(maxsize=64)
def compiled(origin: PatternOrigin) -> re.Pattern[str]:
    """``m{}n{}k{}`` as a pattern of a modifier, its dot included."""
    return re.compile(r"\." + r"(\d{1,9})".join(map(re.escape, origin.pattern.split("{}"))), re.ASCII)


class _Reader:
    def __init__(self, book: Rulebook, declaration: Instruction, name: Span) -> None:
        self.declaration = declaration
        self.name = name
        self.slots = [_Slot(book, clause) for clause in declaration.modifiers]
        self.formats = ptx_spellings(book, "swallowed")
        self.formats_seen = 0
        self.swallowed = {*declaration.ignores, *self.formats}
        self.ignored = False
        self.faults: list[Fault] = []

    def read(self, modifiers: list[tuple[str, Span]]) -> Opcode:
        repeatable = {flag.modifier: flag.many for flag in self.declaration.always}
        repeatable.update(dict.fromkeys(self.declaration.selectors, False))
        present: set[str] = set()
        for modifier, span in modifiers:
            if modifier not in repeatable:
                self.place(modifier, span)
            elif modifier in present and not repeatable[modifier]:
                self.fault("PT005", f"{modifier} stands here twice", span)
            present.add(modifier)
        for modifier in repeatable:
            if modifier not in present:
                self.fault("PT004", f"'{self.declaration.name}' needs {modifier}", self.name)
        values, spelled, spans = dict(self.declaration.sets), dict[str, str](), dict[str, Span]()
        values["ignored"], values["formats"] = ".yes" if self.ignored else ".no", self.formats_seen
        for slot in self.slots:
            given = slot.values()
            if given is None:
                self.fault("PT004", f"'{self.declaration.name}' needs {_what(slot)}", self.name)
                continue
            values.update(zip(slot.clause.facts, given, strict=True))
            spelled.update(self.spelled(slot, given))
            for i, fact in enumerate(slot.clause.facts):
                if slot.found:
                    spans[fact] = slot.found[min(i, len(slot.found) - 1)][2]
        return Opcode(self.declaration, values, spelled, spans, tuple(self.faults))

    def spelled(self, slot: _Slot, given: tuple[Scalar, ...]) -> Iterator[tuple[str, str]]:
        """Facts as they stand in the opcode; a flag has no spelling of its own."""
        if isinstance(slot.clause.origin, EnumOrigin):
            for fact, (_, text, _) in zip(slot.clause.facts, slot.found, strict=False):
                yield fact, text.removeprefix(".")
        elif slot.pattern is not None and slot.found:
            for fact, value in zip(slot.clause.facts, given, strict=True):
                yield fact, str(value)

    def place(self, modifier: str, span: Span) -> None:
        """Put a modifier where it belongs."""
        knowing = [slot for slot in self.slots if slot.takes(modifier)]
        for slot in knowing:
            if not slot.full:
                slot.found.append((slot.known.get(modifier, modifier), modifier, span))
                return
        if knowing and any(isinstance(s.clause.origin, FlagOrigin) and s.clause.origin.many for s in knowing):
            return
        if knowing:
            takes = f"'{self.declaration.name}' takes {_what(knowing[0])}"
            self.fault("PT005", f"{modifier} is one too many: {takes}", span)
        elif modifier in self.swallowed:
            self.ignored = True
            self.formats_seen += modifier in self.formats
        else:
            known = [*self.always(), *(word for slot in self.slots for word in slot.known)]
            close = _closest(modifier, tuple(known))
            hint = f"; did you mean {close}?" if close else ""
            self.fault("PT003", f"'{self.declaration.name}' takes no modifier {modifier}{hint}", span)

    def always(self) -> list[str]:
        return [flag.modifier for flag in self.declaration.always]

    def fault(self, code: str, message: str, span: Span) -> None:
        self.faults.append(Fault(code, message, span))


def _what(slot: _Slot) -> str:
    """The modifiers of a slot in words."""
    count = slot.size
    match slot.clause.origin:
        case EnumOrigin(enum):
            shown = list(slot.known)
            listed = ", ".join(shown[:6]) + (", ..." if len(shown) > 6 else "")
            return f"{'one' if count == 1 else count} of {listed} ({enum.replace('_', ' ')})"
        case FlagOrigin(modifier):
            return modifier
        case PatternOrigin(pattern):
            holes = iter(name.rpartition(".")[2] for name in slot.clause.facts)
            return "." + re.sub(r"\{\}", lambda _: f"<{next(holes)}>", pattern)
