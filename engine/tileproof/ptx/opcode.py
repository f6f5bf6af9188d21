"""The facts of an opcode: which declaration its name and modifiers choose, and what each modifier says.

Modifiers are a bag to ptxas: ``mma.m16n8k16.sync.aligned`` is ``mma.sync.aligned.m16n8k16``. Only those of one kind,
such as the four types of an MMA, have an order among themselves.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import TypeAlias

from tileproof.base.records import dataclass
from tileproof.base.source import Span
from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.declarations import EnumOrigin, FlagOrigin, Instruction, Modifiers, PatternOrigin
from tileproof.rulebase.expression import Scalar
from tileproof.rulebase.findings import Stated, state

NONE = ".none"
"""The member of an enum that stands for the absence of a modifier: it is not spelled."""


UNSPELLED = "."
"""Among the spellings of a member: the IR has it, PTX has no modifier for it."""


@dataclass(frozen=True, slots=True)
class InstructionFault:
    """Something that keeps an instruction from having facts: a finding of rules/ptx.rule."""

    stated: Stated
    span: Span

    @property
    def code(self) -> str:
        """Of the finding."""
        return self.stated.code


@dataclass(frozen=True)
class Opcode:
    """What an opcode says. Spans count from its beginning.

    Attributes:
        values: facts.
        modifiers: for each clause of the declaration those that it took.
    """

    declaration: Instruction | None
    values: dict[str, Scalar]
    modifiers: tuple[tuple[_Modifier, ...], ...]
    faults: tuple[InstructionFault, ...]

    @property
    def taken(self) -> list[tuple[Modifiers, tuple[_Modifier, ...]]]:
        """The clauses that took modifiers, and these."""
        clauses = self.declaration.modifiers if self.declaration is not None else ()
        return [(clause, found) for clause, found in zip(clauses, self.modifiers, strict=True) if found]

    @cached_property
    def spelled(self) -> dict[str, str]:
        """Facts as written in the opcode; a flag has no spelling of its own."""
        found = {}
        for clause, modifiers in self.taken:
            if isinstance(clause.origin, PatternOrigin):
                found.update({fact: str(self.values[fact]) for fact in clause.facts if fact in self.values})
            elif isinstance(clause.origin, EnumOrigin):
                found.update({fact: text[1:] for fact, (_, text, _) in zip(clause.facts, modifiers, strict=False)})
        return found

    @property
    def spans(self) -> dict[str, Span]:
        """The place of each fact."""
        found = {}
        for clause, modifiers in self.taken:
            for i, fact in enumerate(clause.facts):
                _, text, start = modifiers[min(i, len(modifiers) - 1)]
                found[fact] = Span(start, start + len(text))
        return found


_Modifier: TypeAlias = "tuple[Scalar, str, int]"  # value, text with its dot, offset


@lru_cache(maxsize=65536)
def read_opcode(book: Rulebook, text: str) -> Opcode:
    """The facts of an opcode such as ``wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16``."""
    words = text.split(".")
    for count in range(min(len(words), _most_words(book)), 0, -1):
        name = ".".join(words[:count])
        if name in book.instructions:
            break
    else:
        close = _closest(".".join(words[:2]), tuple(book.instructions))
        if close:
            stated = state(book, "PT002", "near", opcode=_first_words(text), nearest=close)
        else:
            stated = state(book, "PT002", "here", opcode=_first_words(text))
        return Opcode(None, {}, (), (InstructionFault(stated, Span(0, len(text))),))
    modifiers = [f".{word}" for word in words[count:]]
    found = None
    for plan in _chosen(_plans(book, name), modifiers):
        found = _Reader(book, plan, len(name)).read(modifiers)
        if not found.faults:
            return found
    assert found is not None
    return found


def nearest_name(book: Rulebook, text: str) -> tuple[str, str] | None:
    """The words at the beginning of an opcode that are nearly the name of an instruction, and that name."""
    from difflib import SequenceMatcher  # noqa: PLC0415  for what is wrong only

    words = text.split(".")
    tried = [".".join(words[:count]) for count in range(min(len(words), _most_words(book)), 0, -1)]
    pairs = [(beginning, close) for beginning in tried if (close := _closest(beginning, tuple(book.instructions)))]
    scored = [(SequenceMatcher(None, beginning, close).ratio(), beginning, close) for beginning, close in pairs]
    return max(scored)[1:] if scored else None


def read_as(book: Rulebook, declaration: Instruction, text: str) -> Opcode:
    """An opcode as one of a declaration; modifiers that this does not know are faults."""
    plan = next(plan for plan in _plans(book, declaration.name) if plan.declaration is declaration)
    modifiers = [f".{word}" for word in text[len(declaration.name) :].split(".")[1:]]
    return _Reader(book, plan, len(declaration.name)).read(modifiers)


def _chosen(plans: tuple[_Plan, ...], modifiers: list[str]) -> tuple[_Plan, ...]:
    """The declarations that most of the modifiers ask for; where none asks for any, the simplest."""
    if len(plans) == 1:
        return plans
    fitting = [plan for plan in plans if all(word in modifiers for word in plan.declaration.selectors)]
    sizes = [len(plan.declaration.selectors) for plan in fitting or plans]
    size = max(sizes) if fitting else min(sizes)
    return tuple(plan for plan, own in zip(fitting or plans, sizes, strict=True) if own == size)


@lru_cache(maxsize=8)
def _most_words(book: Rulebook) -> int:
    return max(name.count(".") for name in book.instructions) + 1


@lru_cache(maxsize=65536)
def _closest(word: str, known: tuple[str, ...]) -> str | None:
    """The known word most like another, by difflib's ratio of at least 0.6; the same words are misspelled often.

    How many letters two words share bounds the ratio from above: few words need the real one.
    """
    from difflib import SequenceMatcher  # noqa: PLC0415  for what is wrong only

    letters, length = _letters(word), len(word)
    bounded = []
    for i, (other, size, of_other) in enumerate(_sized(known)):
        bound = 2 * (letters & of_other).bit_count() / (length + size)
        if bound >= 0.6:
            bounded.append((bound, -i, other))
    best, least = None, 0.6
    matcher = SequenceMatcher(b=word)
    for bound, _, other in sorted(bounded, reverse=True):
        if bound < least or (best is not None and bound <= least):
            break
        matcher.set_seq1(other)
        ratio = matcher.ratio()
        if ratio > least or (best is None and ratio == least):
            best, least = other, ratio
    return best


@lru_cache(maxsize=1024)
def _sized(known: tuple[str, ...]) -> tuple[tuple[str, int, int], ...]:
    """Each word with its length and its letters."""
    return tuple((word, len(word), _letters(word)) for word in known)


@lru_cache(maxsize=4096)
def _letters(word: str) -> int:
    """The letters of a word as a set of bits, one for the first of each letter, one for the second, up to 8."""
    seen: dict[str, int] = {}
    bits = 0
    for letter in word:
        count = seen.get(letter, 0)
        seen[letter] = count + 1
        bits |= 1 << (8 * (ord(letter) & 127) + min(count, 7))
    return bits


def _first_words(text: str) -> str:
    return text if len(text) <= 40 else text[:37] + "..."


@lru_cache(maxsize=256)
def ptx_spellings(book: Rulebook, enum: str) -> dict[str, Scalar]:
    """How the members of an enum are spelled in PTX: as named, or as those of their spellings that begin with a dot."""
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


@lru_cache(maxsize=4096)
def _integers(origin: PatternOrigin, modifier: str) -> tuple[int, ...]:
    """The texts in the holes of a pattern that a modifier matches."""
    matched = compiled(origin).fullmatch(modifier)
    assert matched is not None, "a clause takes what its pattern matches"
    return tuple(map(int, matched.groups()))


@dataclass(frozen=True, eq=False)
class _Plan:
    """One declaration made ready to read opcodes.

    Attributes:
        known: for each modifier of an enum or a flag the clauses that take it, and its value there.
        patterns: clauses whose modifiers hold integers.
        sizes: for each clause how many modifiers it takes.
        repeatable: the modifiers that must be there, and whether they may be there twice.
        needed: for each clause of an enum with a star those that it follows: the nearest clause before it that must be
            there, and the nearest such clause that has a star.
    """

    declaration: Instruction
    known: dict[str, tuple[tuple[int, Scalar], ...]]
    patterns: tuple[tuple[int, re.Pattern[str]], ...]
    sizes: tuple[int, ...]
    repeatable: dict[str, bool]
    formats: frozenset[str]
    needed: tuple[tuple[int, ...], ...]

    @cached_property
    def expected(self) -> tuple[str, ...]:
        """The modifiers of each clause in words."""
        return tuple(map(self._expected, range(len(self.sizes))))

    def _expected(self, i: int) -> str:
        clause = self.declaration.modifiers[i]
        match clause.origin:
            case EnumOrigin(enum=enum):
                shown = [word for word, takers in self.known.items() if any(at == i for at, _ in takers)]
                listed = ", ".join(shown[:6]) + (", ..." if len(shown) > 6 else "")
                return f"{'one' if self.sizes[i] == 1 else self.sizes[i]} of {listed} ({enum.replace('_', ' ')})"
            case FlagOrigin(modifier):
                return modifier
            case PatternOrigin(pattern):
                holes = iter(name.rpartition(".")[2] for name in clause.facts)
                return "." + re.sub(r"\{\}", lambda _: f"<{next(holes)}>", pattern)

    @cached_property
    def words(self) -> tuple[str, ...]:
        """All modifiers that it knows by name."""
        return (*(flag.modifier for flag in self.declaration.always), *self.known)


@lru_cache(maxsize=65536)
def _takers(plan: _Plan, modifier: str) -> tuple[tuple[int, Scalar], ...]:
    """The clauses that a modifier belongs to, in their order."""
    found = plan.known.get(modifier, ())
    matched = [(i, modifier) for i, pattern in plan.patterns if pattern.fullmatch(modifier)]
    return tuple(sorted([*found, *matched], key=lambda item: item[0])) if matched else found


@lru_cache(maxsize=1024)
def _plans(book: Rulebook, name: str) -> tuple[_Plan, ...]:
    return tuple(_plan(book, declaration) for declaration in book.instructions[name])


def _plan(book: Rulebook, declaration: Instruction) -> _Plan:
    known: dict[str, list[tuple[int, Scalar]]] = {}
    patterns, sizes = [], []
    for i, clause in enumerate(declaration.modifiers):
        sizes.append(len(clause.facts))
        match clause.origin:
            case EnumOrigin(enum=enum):
                for spelling, member in ptx_spellings(book, enum).items():
                    known.setdefault(spelling, []).append((i, member))
            case FlagOrigin(modifier):
                known.setdefault(modifier, []).append((i, ".yes"))
            case PatternOrigin():
                patterns.append((i, compiled(clause.origin)))
                sizes[-1] = 1
    repeatable = {flag.modifier: flag.many for flag in declaration.always}
    repeatable.update(dict.fromkeys(declaration.selectors, False))
    return _Plan(
        declaration,
        {word: tuple(takers) for word, takers in known.items()},
        tuple(patterns),
        tuple(sizes),
        repeatable,
        frozenset(ptx_spellings(book, "swallowed")),
        tuple(_needed(declaration, i) for i in range(len(declaration.modifiers))),
    )


def _needed(declaration: Instruction, i: int) -> tuple[int, ...]:
    clauses = declaration.modifiers
    origin = clauses[i].origin
    if not isinstance(origin, EnumOrigin) or not (origin.many or origin.behind):
        return ()
    before = [k for k in range(i - 1, -1, -1) if clauses[k].default is None]
    starred = [k for k in before if isinstance(star := clauses[k].origin, EnumOrigin) and star.many]
    once = [k for k in before if k not in starred]
    return (*once[:1], *starred[:1])


class _Reader:
    """Reads the modifiers of one opcode."""

    def __init__(self, book: Rulebook, plan: _Plan, start: int) -> None:
        self.book = book
        self.plan = plan
        self.start = start  # of the modifiers, which is the length of the name
        self.found: list[list[_Modifier]] = [[] for _ in plan.sizes]
        self.formats = 0
        self.ignored = False
        self.faults: list[InstructionFault] = []

    def read(self, modifiers: list[str]) -> Opcode:
        plan, declaration = self.plan, self.plan.declaration
        repeatable = plan.repeatable
        present: set[str] = set()
        at = self.start
        for modifier in modifiers:
            if modifier not in repeatable:
                self.place(modifier, at)
            elif modifier in present and not repeatable[modifier]:
                self.fault(state(self.book, "PT005", "twice", modifier=modifier), at, modifier)
            present.add(modifier)
            at += len(modifier)
        for modifier in repeatable:
            if modifier not in present:
                stated = state(self.book, "PT004", "here", instruction=declaration.name, modifier=modifier)
                self.fault(stated, 0, declaration.name)
        values: dict[str, Scalar] = dict(declaration.sets)
        values["ignored"], values["formats"] = ".yes" if self.ignored else ".no", self.formats
        given: Sequence[Scalar] | None
        for i, (clause, found) in enumerate(zip(declaration.modifiers, self.found, strict=True)):
            if not found:
                given = clause.default
            elif len(found) < plan.sizes[i]:
                given = None
            elif isinstance(clause.origin, PatternOrigin):
                given = _integers(clause.origin, found[0][1])
            else:
                given = [value for value, _, _ in found]
            if given is None:
                stated = state(self.book, "PT004", "here", instruction=declaration.name, modifier=plan.expected[i])
                self.fault(stated, 0, declaration.name)
            else:
                values.update(zip(clause.facts, given, strict=True))
        return Opcode(declaration, values, tuple(map(tuple, self.found)), tuple(self.faults))

    def place(self, modifier: str, at: int) -> None:
        """Put a modifier where it belongs."""
        plan = self.plan
        takers = _takers(plan, modifier)
        for i, value in takers:
            if not self.ready(i):
                continue
            found = self.found[i]
            if len(found) < plan.sizes[i]:
                found.append((value, modifier, at))
                return
            origin = plan.declaration.modifiers[i].origin
            if isinstance(origin, FlagOrigin | EnumOrigin) and origin.many:
                return  # swallowed
        name = plan.declaration.name
        if takers:
            expected = plan.expected[takers[0][0]]
            stated = state(self.book, "PT005", "surplus", instruction=name, modifier=modifier, expected=expected)
            self.fault(stated, at, modifier)
        elif modifier in plan.formats or modifier in plan.declaration.ignores:
            self.ignored = True
            self.formats += modifier in plan.formats
        else:
            close = _closest(modifier, plan.words)
            if close:
                stated = state(self.book, "PT003", "near", instruction=name, modifier=modifier, nearest=close)
            else:
                stated = state(self.book, "PT003", "here", instruction=name, modifier=modifier)
            self.fault(stated, at, modifier)

    def ready(self, i: int) -> bool:
        """Whether a clause may take a modifier: one with a star, or behind, only after the nearest that must be there.

        ``ptxas`` forgets surplus types behind the types of an instruction, not before them.
        """
        return all(len(self.found[before]) == self.plan.sizes[before] for before in self.plan.needed[i])

    def fault(self, stated: Stated, start: int, text: str) -> None:
        self.faults.append(InstructionFault(stated, Span(start, start + len(text))))
