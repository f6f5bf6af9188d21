"""The facts of an opcode: which declaration its name and modifiers choose, and what each modifier says.

Modifiers are a bag to ptxas: ``mma.m16n8k16.sync.aligned`` is ``mma.sync.aligned.m16n8k16``. Only those of one kind,
such as the four types of an MMA, have an order among themselves.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property, lru_cache, partial
from itertools import accumulate
from typing import NamedTuple, TypeAlias, cast

from tileproof.base.patterns import regex
from tileproof.base.records import dataclass
from tileproof.base.source import Span
from tileproof.base.spelling import closest
from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.declarations import EnumOrigin, FlagOrigin, Instruction, PatternOrigin
from tileproof.rulebase.expression import Scalar
from tileproof.rulebase.findings import Stated, state

NONE = ".none"
"""The member of an enum that stands for the absence of a modifier: it is not spelled."""


UNSPELLED = "."
"""Among the spellings of a member: the IR has it, PTX has no modifier for it."""


class InstructionFault(NamedTuple):
    """Something that keeps an instruction from having facts: a finding of rules/ptx.rule.

    Most who ask need its code alone: words and place are found when they are asked for.

    Attributes:
        tell: gives the finding in words and its place.
    """

    code: str
    tell: Callable[[], tuple[Stated, Span]]

    @classmethod
    def told(cls, stated: Stated, span: Span) -> InstructionFault:
        """One that is in words already."""
        return cls(stated.code, lambda: (stated, span))

    @property
    def stated(self) -> Stated:
        """The finding in words."""
        return self.tell()[0]

    @property
    def span(self) -> Span:
        """The place."""
        return self.tell()[1]


@dataclass(frozen=True)
class Opcode:
    """What an opcode says. Spans count from its beginning.

    Attributes:
        plan: of the declaration that it chose; None where it begins with no name of an instruction.
        words: its modifiers with their dots, which follow the name.
        taken: for each clause of the declaration which of them it took; None where it took none.
        swallowed: modifiers that ptxas swallows without a word, and how many of them are formats.
    """

    plan: _Plan | None
    words: list[str]
    taken: _Taken
    swallowed: tuple[int, int]
    faults: tuple[InstructionFault, ...]

    @property
    def declaration(self) -> Instruction | None:
        """The declaration that it chose."""
        return self.plan.declaration if self.plan is not None else None

    @cached_property
    def values(self) -> dict[str, Scalar]:
        """Facts. An opcode with faults is hardly ever asked for them."""
        return self.plan.values(self.words, self.taken, *self.swallowed) if self.plan is not None else {}

    @property
    def modifiers(self) -> tuple[tuple[tuple[Scalar, str, int], ...], ...]:
        """For each clause of the declaration those that it took: the value, the text with its dot, the offset."""
        if self.plan is None:
            return ()
        words, meanings = self.words, self.plan.meanings
        offsets = list(accumulate(map(len, words), initial=len(self.plan.declaration.name)))
        return tuple(
            tuple((meanings[i].get(words[at], words[at]), words[at], offsets[at]) for at in places or ())
            for i, places in enumerate(self.taken)
        )

    @cached_property
    def spelled(self) -> dict[str, str]:
        """Facts as written in the opcode; a flag has no spelling of its own."""
        found: dict[str, str] = {}
        words = self.words
        for clause, places in zip(self.declaration.modifiers if self.declaration else (), self.taken, strict=True):
            if places is None:
                continue
            if isinstance(clause.origin, PatternOrigin):
                found.update({fact: str(self.values[fact]) for fact in clause.facts if fact in self.values})
            elif isinstance(clause.origin, EnumOrigin):
                for fact, at in zip(clause.facts, places, strict=False):
                    found[fact] = words[at][1:]
        return found

    @property
    def spans(self) -> dict[str, Span]:
        """The place of each fact."""
        found = {}
        for clause, modifiers in zip(
            self.declaration.modifiers if self.declaration else (), self.modifiers, strict=True
        ):
            for i, fact in enumerate(clause.facts if modifiers else ()):
                _, text, start = modifiers[min(i, len(modifiers) - 1)]
                found[fact] = Span(start, start + len(text))
        return found


_Taken: TypeAlias = "list[list[int] | None]"
_MODIFIER = regex(r"\.[^.]*+")


@lru_cache(maxsize=65536)
def read_opcode(book: Rulebook, text: str) -> Opcode:
    """The facts of an opcode such as ``wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16``."""
    words = text.split(".")
    names, most = _beginnings(book)
    for count in range(min(len(words), most.get(words[0], 0)), 0, -1):
        name = ".".join(words[:count])
        if name in names:
            break
    else:
        return Opcode(None, [], [], (0, 0), (InstructionFault("PT002", partial(_unknown_name, book, text)),))
    modifiers = _MODIFIER.findall(text, len(name))
    plans, selectors = _plans(book, name)
    if len(plans) > 1:
        plans = _chosen(book, name, selectors.intersection(modifiers))
    found = None
    for plan in plans:
        found = _Reader(book, plan, modifiers).read()
        if not found.faults:
            return found
    assert found is not None
    return found


def _unknown_name(book: Rulebook, text: str) -> tuple[Stated, Span]:
    close = closest(".".join(text.split(".")[:2]), _names(book))
    if close:
        stated = state(book, "PT002", "near", opcode=_first_words(text), nearest=close)
    else:
        stated = state(book, "PT002", "here", opcode=_first_words(text))
    return stated, Span(0, len(text))


def nearest_name(book: Rulebook, text: str) -> tuple[str, str] | None:
    """The words at the beginning of an opcode that are nearly the name of an instruction, and that name."""
    from difflib import SequenceMatcher  # noqa: PLC0415  for what is wrong only

    words = text.split(".")
    tried = [".".join(words[:count]) for count in range(min(len(words), max(_beginnings(book)[1].values())), 0, -1)]
    pairs = [(beginning, close) for beginning in tried if (close := closest(beginning, _names(book)))]
    scored = [(SequenceMatcher(None, beginning, close).ratio(), beginning, close) for beginning, close in pairs]
    return max(scored)[1:] if scored else None


def read_as(book: Rulebook, declaration: Instruction, text: str) -> Opcode:
    """An opcode as one of a declaration; modifiers that this does not know are faults."""
    plan = next(plan for plan in _plans(book, declaration.name)[0] if plan.declaration is declaration)
    modifiers = _MODIFIER.findall(text, len(declaration.name))
    return _Reader(book, plan, modifiers).read()


@lru_cache(maxsize=4096)
def _chosen(book: Rulebook, name: str, selectors: frozenset[str]) -> tuple[_Plan, ...]:
    """The declarations that most of the selectors ask for; where none asks for any, the simplest.

    Args:
        selectors: those of the name's declarations that are among an opcode's modifiers.
    """
    plans, _ = _plans(book, name)
    fitting = [plan for plan in plans if selectors.issuperset(plan.declaration.selectors)]
    sizes = [len(plan.declaration.selectors) for plan in fitting or plans]
    size = max(sizes) if fitting else min(sizes)
    return tuple(plan for plan, own in zip(fitting or plans, sizes, strict=True) if own == size)


@lru_cache(maxsize=8)
def _names(book: Rulebook) -> tuple[str, ...]:
    """The names of instructions, in their order."""
    return tuple(book.instructions)


@lru_cache(maxsize=8)
def _beginnings(book: Rulebook) -> tuple[frozenset[str], dict[str, int]]:
    """The names of instructions, and for each word that one begins with the most words of such a name."""
    most: dict[str, int] = {}
    for name in book.instructions:
        first = name.partition(".")[0]
        most[first] = max(most.get(first, 0), name.count(".") + 1)
    return frozenset(book.instructions), most


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
        known: for each modifier of an enum or a flag the clauses that take it, in their order, and its value there.
        alone: of those that belong to one clause, whatever is before them, this, and how many it takes.
        meanings: for each clause of an enum or a flag what its modifiers say.
        patterns: clauses whose modifiers hold integers.
        sizes: for each clause how many modifiers it takes.
        swallows: the clauses that take further modifiers and say nothing by them.
        repeatable: the modifiers that must be there, and whether they may be there twice.
        needed: for clauses of an enum with a star those that it follows: the nearest clause before it that must be
            there, and the nearest such clause that has a star.
        musts: the clauses that must have one modifier.
        several: those that take several; of each how many, and whether it may have none.
        usual: the facts of an opcode without modifiers, in the order of the clauses; None where a modifier must say it.
    """

    declaration: Instruction
    known: dict[str, tuple[tuple[int, Scalar], ...]]
    alone: dict[str, tuple[int, int]]
    meanings: tuple[dict[str, Scalar], ...]
    patterns: tuple[tuple[int, re.Pattern[str]], ...]
    sizes: tuple[int, ...]
    swallows: frozenset[int]
    repeatable: dict[str, bool]
    formats: frozenset[str]
    needed: dict[int, tuple[int, ...]]
    musts: tuple[int, ...]
    several: tuple[tuple[int, int, bool], ...]
    usual: dict[str, Scalar | None]

    def values(self, words: list[str], taken: _Taken, swallowed: int, formats: int) -> dict[str, Scalar]:
        """The facts of an opcode, of the clauses that have all their modifiers."""
        clauses = self.declaration.modifiers
        values = self.usual.copy()
        if swallowed:
            values["ignored"], values["formats"] = ".yes", formats
        for clause, meaning, places in zip(clauses, self.meanings, taken, strict=True):
            if places is None:
                continue
            if isinstance(clause.origin, PatternOrigin):
                values.update(zip(clause.facts, _integers(clause.origin, words[places[0]]), strict=True))
            else:
                for fact, at in zip(clause.facts, places, strict=False):
                    values[fact] = meaning[words[at]]
        lacking = self.lacking(taken)
        for i in lacking:
            values.update(dict.fromkeys(clauses[i].facts))
        if lacking:
            return {name: value for name, value in values.items() if value is not None}
        return cast("dict[str, Scalar]", values)  # nothing lacks that a modifier must say

    def lacking(self, taken: _Taken) -> list[int]:
        """The clauses that lack modifiers."""
        lacking = [i for i in self.musts if taken[i] is None]
        for i, size, optional in self.several:
            found = taken[i]
            if len(found) < size if found is not None else not optional:
                lacking.append(i)
        return sorted(lacking) if len(lacking) > 1 else lacking

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
def _matching(plan: _Plan, modifier: str) -> tuple[tuple[int, Scalar], ...]:
    """The clauses of patterns that a modifier belongs to."""
    return tuple((i, modifier) for i, pattern in plan.patterns if pattern.fullmatch(modifier))


@lru_cache(maxsize=1024)
def _plans(book: Rulebook, name: str) -> tuple[tuple[_Plan, ...], frozenset[str]]:
    """The declarations of a name, and the selectors of all of them."""
    plans = tuple(_plan(book, declaration) for declaration in book.instructions[name])
    return plans, frozenset(word for plan in plans for word in plan.declaration.selectors)


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
    for word, takers in known.items():
        takers += [(i, word) for i, pattern in patterns if pattern.fullmatch(word)]
        takers.sort(key=lambda item: item[0])
    repeatable = {flag.modifier: flag.many for flag in declaration.always}
    repeatable.update(dict.fromkeys(declaration.selectors, False))
    clauses = declaration.modifiers
    needed = {i: before for i in range(len(clauses)) if (before := _needed(declaration, i))}
    return _Plan(
        declaration,
        {word: tuple(takers) for word, takers in known.items()},
        {
            word: (i, sizes[i])
            for word, ((i, _), *more) in known.items()
            if not more and i not in needed and word not in repeatable
        },
        tuple(
            {word: value for word, takers in known.items() for at, value in takers if at == i}
            for i in range(len(clauses))
        ),
        tuple(patterns),
        tuple(sizes),
        frozenset(i for i, clause in enumerate(clauses) if getattr(clause.origin, "many", False)),
        repeatable,
        frozenset(ptx_spellings(book, "swallowed")),
        needed,
        tuple(i for i, clause in enumerate(clauses) if clause.default is None and sizes[i] == 1),
        tuple((i, size, clauses[i].default is not None) for i, size in enumerate(sizes) if size > 1),
        {**dict(declaration.sets), "ignored": ".no", "formats": 0, **_usual(declaration)},
    )


def _usual(declaration: Instruction) -> dict[str, Scalar | None]:
    usual: dict[str, Scalar | None] = {}
    for clause in declaration.modifiers:
        usual.update(zip(clause.facts, clause.default or (None,) * len(clause.facts), strict=True))
    return usual


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

    def __init__(self, book: Rulebook, plan: _Plan, modifiers: list[str]) -> None:
        self.book = book
        self.plan = plan
        self.modifiers = modifiers
        self.taken: _Taken = [None] * len(plan.sizes)
        self.formats = self.swallowed = 0
        self.faults: list[InstructionFault] = []

    def read(self) -> Opcode:
        """What the modifiers say."""
        self.sort()
        for clause in self.plan.lacking(self.taken):
            self.fault("PT004", partial(_missing, self.book, self.plan, clause))
        return Opcode(self.plan, self.modifiers, self.taken, (self.swallowed, self.formats), tuple(self.faults))

    def sort(self) -> None:
        """Give each modifier to the clause that it belongs to. All opcodes go through here: few calls, short ways."""
        plan, taken = self.plan, self.taken
        alone, repeatable = plan.alone, plan.repeatable
        present = set()
        for at, modifier in enumerate(self.modifiers):
            one = alone.get(modifier)
            if one is not None:
                i, size = one
                before = taken[i]
                if before is None:
                    taken[i] = [at]
                elif len(before) < size:
                    before.append(at)
                elif i not in plan.swallows:
                    self.refuse(at, i)
            elif modifier in repeatable:
                if modifier in present and not repeatable[modifier]:
                    self.fault("PT005", partial(_twice, self.book, modifier, self.offset(at)))
                present.add(modifier)
            else:
                self.place(at, modifier)
        if len(present) < len(repeatable):
            for modifier in repeatable:
                if modifier not in present:
                    self.fault("PT004", partial(_absent, self.book, plan, modifier))

    def place(self, at: int, modifier: str) -> None:
        """Give a modifier to the first clause that may take it."""
        plan, taken = self.plan, self.taken
        takers = plan.known.get(modifier) or (_matching(plan, modifier) if plan.patterns else ())
        for i, _ in takers:
            if i in plan.needed and not self.ready(i):
                continue
            before = taken[i]
            if before is None:
                taken[i] = [at]
                return
            if len(before) < plan.sizes[i]:
                before.append(at)
                return
            if i in plan.swallows:
                return
        if takers:
            self.refuse(at, takers[0][0])
        elif modifier in plan.formats or modifier in plan.declaration.ignores:
            self.swallowed += 1
            self.formats += modifier in plan.formats
        else:
            self.fault("PT003", partial(_unknown, self.book, plan, modifier, self.offset(at)))

    def refuse(self, at: int, clause: int) -> None:
        """A modifier that its clause does not take."""
        tell = partial(_surplus, self.book, self.plan, self.modifiers[at], self.offset(at), clause)
        self.fault("PT005", tell)

    def offset(self, at: int) -> int:
        """Where a modifier begins."""
        return len(self.plan.declaration.name) + sum(map(len, self.modifiers[:at]))

    def ready(self, i: int) -> bool:
        """Whether a clause may take a modifier: one with a star, or behind, only after the nearest that must be there.

        ``ptxas`` forgets surplus types behind the types of an instruction, not before them.
        """
        taken, sizes = self.taken, self.plan.sizes
        return all(len(taken[before] or ()) == sizes[before] for before in self.plan.needed[i])

    def fault(self, code: str, tell: Callable[[], tuple[Stated, Span]]) -> None:
        self.faults.append(InstructionFault(code, tell))


# What faults say, and where. They know nothing of the reader: it would keep itself alive by its faults.


def _twice(book: Rulebook, modifier: str, at: int) -> tuple[Stated, Span]:
    return state(book, "PT005", "twice", modifier=modifier), _span(at, modifier)


def _surplus(book: Rulebook, plan: _Plan, modifier: str, at: int, taker: int) -> tuple[Stated, Span]:
    name, expected = plan.declaration.name, plan.expected[taker]
    return state(book, "PT005", "surplus", instruction=name, modifier=modifier, expected=expected), _span(at, modifier)


def _unknown(book: Rulebook, plan: _Plan, modifier: str, at: int) -> tuple[Stated, Span]:
    name = plan.declaration.name
    if close := closest(modifier, plan.words):
        stated = state(book, "PT003", "near", instruction=name, modifier=modifier, nearest=close)
    else:
        stated = state(book, "PT003", "here", instruction=name, modifier=modifier)
    return stated, _span(at, modifier)


def _absent(book: Rulebook, plan: _Plan, modifier: str) -> tuple[Stated, Span]:
    name = plan.declaration.name
    return state(book, "PT004", "here", instruction=name, modifier=modifier), _span(0, name)


def _missing(book: Rulebook, plan: _Plan, clause: int) -> tuple[Stated, Span]:
    return _absent(book, plan, plan.expected[clause])


def _span(start: int, text: str) -> Span:
    return Span(start, start + len(text))
