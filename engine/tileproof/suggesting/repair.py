"""The nearest legal form of an illegal instruction or atom, and the rules in conflict.

Nearest is what changes the fewest pieces of the text (``suggesting.nearest``), then the fewest facts, then moves values
least. A modifier is a piece and an operand is one; an operand that stays keeps its registers, and registers that are
added have names that are not in the text. The target and the PTX version are the author's: they change only if that is
allowed, and only where nothing else helps.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache

from tileproof.base.diagnostic import Severity
from tileproof.base.patterns import regex
from tileproof.base.records import dataclass
from tileproof.base.spelling import get_close_matches
from tileproof.dialects.facts import atom_facts
from tileproof.evaluate.answer import Answer
from tileproof.evaluate.python import judge_for
from tileproof.judge.messages import version_text
from tileproof.mlir.types import Node
from tileproof.ptx.opcode import nearest_name
from tileproof.ptx.parse_facts import Lowered, lower
from tileproof.ptx.registers import by_letter
from tileproof.ptx.text import cut
from tileproof.rulebase.book import Rulebook, Ruleset
from tileproof.rulebase.declarations import (
    Atom,
    Bounded,
    Rule,
)
from tileproof.rulebase.expression import Scalar
from tileproof.suggesting.families import atom_with, ir_spelling
from tileproof.suggesting.nearest import Found, Piece, Start, distance, nearest
from tileproof.suggesting.reading import Attempt, attempts, usual_first
from tileproof.suggesting.writing import Change, changes_of, text_of

_MOST_PIECES = 6  # that a repair changes
_MOST_SETS = 3000  # of changed pieces that are tried for one text
_WIDE = 600  # values; of a fact with more those near the present one and some usual ones are tried
_USUAL_NUMBERS = (0, 1, 2, 4, 8, 16, 32, 64, 128, 256)
# What a person writes as an operand; other classes stay where they are legal.
_CLASSES = (".b32", ".f32", ".b64", ".f64", ".b16", ".pred", ".integer")
_NESTED = regex(r"\{\s*\{([^{}]*)\}\s*\}", re.ASCII)
_NAME = regex(r"(?<![\w.%$])([a-z])(\d+)\b", re.ASCII)


@dataclass(frozen=True, slots=True)
class Conflict:
    """Facts and rules that cannot hold together, none of which can be left out."""

    facts: tuple[str, ...]
    codes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Repair:
    """The outcome.

    Attributes:
        answer: unsatisfiable if nothing near is legal, unknown after the time limit: then there is no text.
        text: the legal form.
        elsewhere: what would be legal with another PTX version or target, where nothing is with these, or not nearly.
    """

    answer: Answer
    text: str
    changes: tuple[Change, ...]
    conflict: Conflict
    elsewhere: str = ""


def repair_instruction(
    ruleset: Ruleset, text: str, where: Mapping[str, Scalar], seconds: float = 5.0, allow_target: bool = False
) -> Repair:
    """The nearest legal form of a PTX instruction.

    Args:
        where: target and PTX version.
        allow_target: whether these may change where nothing else helps.

    Raises:
        ValueError: the text has no instruction that the rules declare, nor one of nearly this name.
    """
    book = ruleset.book
    text = _NESTED.sub(r"{\1}", text)
    lowered = lower(book, text, by_letter(book))
    if lowered.instruction is None:
        raise ValueError(lowered.faults[0].stated.message)
    broken = _broken(ruleset, lowered, where)
    conflict = _conflict(lowered, broken, where)
    if not lowered.faults and not broken:
        return Repair(Answer.SATISFIABLE, text, (), conflict)
    search = _Search(ruleset, lowered, where, time.monotonic() + seconds)
    if lowered.declaration is None and not search.otherwise:
        raise ValueError(lowered.faults[0].stated.message)
    best = search.best(free=False)
    if best is None and allow_target:
        best = search.best(free=True)
    if best is not None:
        other = _as_it_is(ruleset, lowered, where) if {"target", "ptx"} & {*conflict.facts} and best.cost > 1 else ""
        return Repair(Answer.SATISFIABLE, best.text, best.changes, conflict, other)
    other = "" if allow_target else _elsewhere(search.as_written(free=True))
    return Repair(Answer.UNKNOWN if search.late else Answer.UNSATISFIABLE, "", (), conflict, other)


def _as_it_is(ruleset: Ruleset, lowered: Lowered, where: Mapping[str, Scalar]) -> str:
    """The instruction with what has it as it is written: the last PTX version of its target, else the first target."""
    table, own = ruleset.book.shared_table("target"), str(where["target"])
    column = table.column("last")
    assert column is not None, "rules/targets.rule"
    for target in [own, *(key[0] for key in table.rows)]:
        last = table.rows[target,][column]
        assert isinstance(last, int)
        if not _broken(ruleset, lowered, {"target": target, "ptx": last}):
            needed = f"ptx {version_text(last)}" if target == own else f"target {target[1:]}"
            return f"{lowered.text.strip()} ({needed})"
    return ""


def _elsewhere(best: _Mended | None) -> str:
    """A repair with another PTX version or target, with what it changes of them."""
    if best is None:
        return ""
    place = [f"{c.fact} {_shown(c)}" for c in best.changes if c.fact in ("target", "ptx")]
    return f"{best.text} ({', '.join(place)})"


def _shown(change: Change) -> str:
    return version_text(change.after) if change.fact == "ptx" else str(change.after).removeprefix(".")


def _broken(ruleset: Ruleset, lowered: Lowered, where: Mapping[str, Scalar]) -> list[Rule]:
    """The rules of severity error that an instruction violates."""
    if lowered.declaration is None or lowered.faults:
        return []
    found = judge_for(ruleset, lowered.declaration.schema).violated({**lowered.values, **where})
    return [rule for rule in found if rule.severity is Severity.ERROR]


def _conflict(lowered: Lowered, broken: Sequence[Rule], where: Mapping[str, Scalar]) -> Conflict:
    """The violated rule with the fewest facts; a text without facts has its faults."""
    if lowered.faults:
        return Conflict((), tuple(dict.fromkeys(fault.code for fault in lowered.faults)))
    if not broken:
        return Conflict((), ())
    present = {**lowered.values, **where}
    rule = min(broken, key=lambda rule: (len(rule.facts), rule.code))
    return Conflict(tuple(sorted(rule.facts & present.keys())), (rule.code,))


@dataclass(frozen=True, slots=True)
class _Mended:
    cost: int
    text: str
    changes: tuple[Change, ...]


class _Search:
    """The cheapest repair of a text. What a repair costs is the number of modifiers and operands that differ."""

    def __init__(self, ruleset: Ruleset, lowered: Lowered, where: Mapping[str, Scalar], deadline: float) -> None:
        self.ruleset = ruleset
        self.lowered = lowered
        self.where = where
        self.deadline = deadline
        self.budget = [_MOST_SETS]
        self.pieces = _pieces(lowered.text)

    @property
    def late(self) -> bool:
        return time.monotonic() > self.deadline or self.budget[0] <= 0

    def best(self, free: bool) -> _Mended | None:
        """The cheapest repair; ``free``: the target and the PTX version may change too."""
        best = self.as_written(free)
        if best is None or best.cost > 1:
            best = self.rearranged(best, free)
        # A word too many or another name may hide what the others mean.
        if best is None or best.cost > 1:
            best = self.among(self.otherwise, best, free)
        return best

    def as_written(self, free: bool) -> _Mended | None:
        """The cheapest repair of the text with all its words, misspelled ones as what they nearly are."""
        if self.lowered.declaration is None:
            return None
        return self.among([(self.lowered, None)], self.among(self.respelled, None, free), free)

    @cached_property
    def respelled(self) -> list[tuple[Lowered, int | None]]:
        """The text with a longer name, where the next words are nearly those of that name."""
        book, instruction, declaration = self.ruleset.book, self.lowered.instruction, self.lowered.declaration
        assert instruction is not None and declaration is not None
        if not self.lowered.faults:
            return []
        head = self.lowered.text[: instruction.opcode_start]
        tail = self.lowered.text[instruction.opcode_start + len(instruction.opcode) :]
        words, own = instruction.opcode.split("."), declaration.name.split(".")
        found: list[tuple[Lowered, int | None]] = []
        for other in book.instructions:
            name = other.split(".")
            pairs = list(zip(words[len(own) : len(name)], name[len(own) :], strict=False))
            longer = name[: len(own)] == own and len(own) < len(name) <= len(words)
            if longer and all(get_close_matches(word, [meant]) for word, meant in pairs):
                lowered = lower(book, f"{head}{'.'.join([*name, *words[len(name) :]])}{tail}", by_letter(book))
                if lowered.declaration is not None:
                    found.append((lowered, None))
        return found

    def rearranged(self, best: _Mended | None, free: bool) -> _Mended | None:
        """The same operands in another order, where that costs no more: they keep their registers."""
        if self.lowered.declaration is None:
            return best
        bound = best.cost + 1 if best is not None else _MOST_PIECES + 1
        for attempt in attempts(self.ruleset, self.lowered, None, self.where, free, moved=True):
            if attempt.least(0) < bound:
                found = self.of(attempt, None, bound, bound - 1 - attempt.least(0))
                if found is not None:
                    best, bound = found, found.cost
        return best

    @cached_property
    def otherwise(self) -> list[tuple[Lowered, int | None]]:
        """The text without one of its words, and where that stood; and with a name that differs in one word."""
        assert self.lowered.instruction is not None
        book, instruction = self.ruleset.book, self.lowered.instruction
        head = self.lowered.text[: instruction.opcode_start]
        tail = self.lowered.text[instruction.opcode_start + len(instruction.opcode) :]
        words = instruction.opcode.split(".")
        opcodes: dict[str, int | None] = {}
        for i in range(1, len(words)):
            opcodes.setdefault(".".join(words[:i] + words[i + 1 :]), len(".".join(words[:i])))
        if self.lowered.declaration is not None:
            name = self.lowered.declaration.name.split(".")
            for other in book.instructions:
                if other.split(".")[0] == name[0] and distance(other.split("."), name) == 1:
                    opcodes.setdefault(".".join([other, *words[len(name) :]]), None)
        elif (close := nearest_name(book, instruction.opcode)) is not None:
            opcodes.setdefault(close[1] + instruction.opcode[len(close[0]) :], None)
        found = []
        for opcode, slot in opcodes.items():
            lowered = lower(book, f"{head}{opcode}{tail}", by_letter(book))
            if lowered.instruction is not None and lowered.declaration is not None:
                found.append((lowered, slot))
        return found

    def among(self, variants: Sequence[tuple[Lowered, int | None]], best: _Mended | None, free: bool) -> _Mended | None:
        """The cheapest repair of some texts, counted from the one that was asked about."""
        texts = [text for text, _ in variants]
        every = [one for text, slot in variants for one in attempts(self.ruleset, text, slot, self.where, free)]
        extra = {id(text): _cost(self.pieces, _pieces(text.text)) for text in texts}

        def least(one: Attempt, changed: int) -> int:
            # A word that was left out may stand for one that is added.
            away = extra[id(one.lowered)]
            return max(one.least(changed), -(-(2 * one.least(changed) + away) // 2) - away if away else 0)

        for attempt in sorted(every, key=lambda one: one.least(0)):
            bound = best.cost if best is not None else _MOST_PIECES + 1
            if self.late or attempt.least(0) >= bound + bool(extra[id(attempt.lowered)]):
                break
            best = self.of(attempt, best, bound)
        return best

    def of(self, attempt: Attempt, best: _Mended | None, bound: int, most: int = _MOST_PIECES) -> _Mended | None:
        """The cheapest repair of one reading that costs less than ``bound`` and changes at most so many pieces."""
        book = self.ruleset.book
        own = self.lowered.declaration
        # Another name of as many words means another operation; a longer one says more of the same.
        name = attempt.declaration.name
        renamed = own is not None and own.name != name and own.name.count(".") == name.count(".")
        texts: dict[int, str] = {}
        kept: list[Found] = []  # by whose identity the texts are found

        def accepted(one: Found) -> bool:
            text = text_of(book, attempt, one)
            again = lower(book, text, by_letter(book)) if text else None
            place = {name: one.facts.get(name, value) for name, value in self.where.items()}
            if again is None or again.faults or _broken(self.ruleset, again, place):
                return False
            kept.append(one)
            texts[id(one)] = text
            return True

        judge = judge_for(self.ruleset, attempt.declaration.schema)
        levels = nearest(judge, attempt.start, most, accepted, self.deadline, self.budget)
        for changed, found in enumerate(levels):
            for one in found:
                place = sum(name in one.changed for name in ("target", "ptx"))
                cost = _cost(self.pieces, _pieces(texts[id(one)])) + place + renamed
                if cost < bound:
                    bound, best = (
                        cost,
                        _Mended(cost, texts[id(one)], tuple(changes_of(book, self.lowered, attempt, one))),
                    )
            if attempt.least(changed + 1) >= bound:
                break
        return best


def _pieces(text: str) -> tuple[list[str], list[str]]:
    """The words of an opcode, its guard first, and the operands."""
    found = cut(text)
    guard = text[: found.opcode_start].strip()
    spans = [found.span(i) for i in range(len(found.operands))]
    return [guard, *found.opcode.split(".")], ["".join(text[span.start : span.end].split()) for span in spans]


def _cost(before: tuple[list[str], list[str]], after: tuple[list[str], list[str]]) -> int:
    return distance(before[0], after[0]) + distance(before[1], after[1])


# -- atoms


def repair_atom(
    ruleset: Ruleset,
    atom: Atom,
    node: Node,
    text: str,
    seconds: float = 5.0,
    where: Mapping[str, Scalar] | None = None,
    partial: bool = False,
) -> Repair:
    """The nearest legal form of an atom type such as ``cute_nvgpu.sm90.mma<64x100x16, ...>``.

    Args:
        where: the target, where it is known.
        partial: what the text leaves out is open, and is written in the answer.

    Raises:
        MalformedAtom: a parameter has no meaning; without ``partial`` also where one is missing.
    """
    facts = atom_facts(ruleset.book, atom, node, 0, partial)
    judge = judge_for(ruleset, atom.schema)
    schema = ruleset.book.schemas[atom.schema]
    given = {name: value for name, value in (where or {}).items() if name in schema.fields}
    sets = dict(atom.sets)
    present = {name: value for name, value in facts.values.items() if name not in sets}
    bound = [name for binding in atom.bindings for name in binding.facts]
    missing = [name for name in bound if name not in facts.values]
    pieces = []
    for binding in atom.bindings:
        values = {name: _said_in_ir(ruleset.book, atom, name) for name in binding.facts}
        if all(isinstance(schema.fields[name], Bounded) for name in binding.facts) and binding.facts:
            pieces.append(Piece(" ".join(binding.facts), values))
        else:
            pieces += [Piece(name, {name: said}) for name, said in values.items()]
    opened = {name: usual_first(schema.instance, name, _said_in_ir(ruleset.book, atom, name)) for name in missing}
    known = {**facts.values, **given}
    broken = [rule for rule in judge.violated(known) if rule.severity is Severity.ERROR]
    conflict = Conflict((), ())
    if broken:
        rule = min(broken, key=lambda rule: (len(rule.facts), rule.code))
        conflict = Conflict(tuple(sorted(rule.facts & known.keys())), (rule.code,))
    start = Start({**sets, **given}, present, opened, pieces)
    deadline = time.monotonic() + seconds
    levels = nearest(judge, start, len(pieces), lambda _: True, deadline, [_MOST_SETS])
    found = next((level[0] for level in levels if level), None)
    if found is None:
        late = time.monotonic() > deadline
        return Repair(Answer.UNKNOWN if late else Answer.UNSATISFIABLE, "", (), conflict)
    changes = tuple(
        Change(name, facts.values.get(name), found.facts[name])
        for name in dict.fromkeys(bound)
        if found.facts.get(name) != facts.values.get(name)
    )
    if missing:
        whole = atom_with(ruleset, atom, found.facts)
        mended = text[: node.start] + whole[not node.text.startswith("!") :] + text[node.end :]
    else:
        mended = text
        written = {change.fact: ir_spelling(ruleset.book, atom, change.fact, change.after) for change in changes}
        for fact, span in sorted(facts.spans.items(), key=lambda item: -item[1].start):
            if fact in written:
                mended = mended[: span.start] + written[fact] + mended[span.end :]
        if any(fact not in facts.spans for fact in written):  # a default that the text does not show
            whole = atom_with(ruleset, atom, found.facts)
            mended = text[: node.start] + whole[not node.text.startswith("!") :] + text[node.end :]
    return Repair(Answer.SATISFIABLE, mended, changes, conflict)


@lru_cache(maxsize=1024)
def _said_in_ir(book: Rulebook, atom: Atom, fact: str) -> tuple[Scalar, ...]:
    """The values of a fact that a type can spell."""
    domain = tuple(book.domain(atom.schema, fact))
    for binding in atom.bindings:
        if fact in binding.facts and binding.translation:
            members = [member for _, member in binding.translation]
            return tuple(value for value in domain if value in members or value in (binding.default or ()))
    return domain
