"""The text of a repaired PTX instruction: what stays is as it was written, what is new has names of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tileproof.base.patterns import regex
from tileproof.base.records import dataclass
from tileproof.ptx.opcode import NONE, ptx_spellings
from tileproof.ptx.parse_facts import Lowered
from tileproof.ptx.registers import by_letter
from tileproof.ptx.spell import clause_text, operand_text
from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.declarations import EnumOrigin
from tileproof.rulebase.expression import Scalar
from tileproof.suggesting.nearest import Found
from tileproof.suggesting.reading import Attempt

_NAME = regex(r"(?<![\w.%$])([a-z])(\d+)\b", re.ASCII)


@dataclass(frozen=True, slots=True)
class Change:
    """One fact that the repair changes; ``before`` is None where the text left it open.

    A modifier or an operand that is no fact at all is the fact ``modifier`` or ``operand``, and ``after`` is ``.none``;
    ``operands`` is all of them in their order.
    """

    fact: str
    before: Scalar | None
    after: Scalar


def text_of(book: Rulebook, attempt: Attempt, found: Found) -> str:
    """The instruction with these facts; empty where its text cannot say them."""
    lowered = attempt.lowered
    assert lowered.instruction is not None
    instruction = lowered.instruction
    try:
        opcode = _opcode(book, attempt, found)
    except ValueError:
        return ""
    used: dict[str, int] = {}
    for letter, number in _NAME.findall(lowered.text[: instruction.opcode_start] + instruction.body):
        used[letter] = max(used.get(letter, 0), int(number) + 1)
    operands = []
    for i, names in enumerate(attempt.form.items):
        at = attempt.places[i]
        if at is None:
            operands.append(operand_text(attempt.form, i, found.facts, used))
            continue
        span = instruction.span(at)
        written = lowered.text[span.start : span.end]
        facts = [fact for fact in attempt.start.written if fact.rpartition(".")[0] in names]
        if facts and all(found.facts.get(fact) == attempt.start.written[fact] for fact in facts):
            operands.append(written)
            continue
        kept = {}
        parts = instruction.operands[at].parts
        if facts and len(parts) == len(names):
            kept = {
                name: written[part.start : part.end]
                for name, part in zip(names, parts, strict=True)
                if found.facts.get(f"{name}.class") == attempt.start.written.get(f"{name}.class")
            }
        operands.append(operand_text(attempt.form, i, found.facts, used, kept))
    guard = lowered.text[: instruction.opcode_start]
    if instruction.guard is not None and by_letter(book)(instruction.guard) not in (".pred", None):
        guard = guard.replace(instruction.guard, f"p{used.get('p', 0)}")
    return f"{guard}{opcode} {','.join(operands)};" if operands else f"{guard}{opcode};"


def _opcode(book: Rulebook, attempt: Attempt, found: Found) -> str:
    """The opcode: its tokens stay where they are, and new ones stand where the declaration writes them."""
    assert attempt.lowered.instruction is not None
    text, declaration = attempt.lowered.instruction.opcode, attempt.declaration
    replaced: dict[int, str] = {}
    added: list[tuple[int, str]] = []  # rank and token
    rank_of: dict[int, int] = {}
    rank: dict[str | int, int] = {item: i for i, item in enumerate(declaration.order)}
    for i, clause in enumerate(declaration.modifiers):
        said = list(clause_text(book, clause, found.facts))
        tokens = attempt.taken[i]
        for token in tokens:
            if token is not None:
                rank_of[token[1]] = rank[i]
        if isinstance(clause.origin, EnumOrigin) and said and len(tokens) == len(said):
            spelled = ptx_spellings(book, clause.origin.enum)
            for token, word in zip(tokens, said, strict=True):
                if token is None:
                    added.append((rank[i], word))
                elif spelled.get(token[0]) != spelled.get(word):
                    replaced[token[1]] = word
            continue
        there = [token for token in tokens if token is not None]
        for k, token in enumerate(there):
            if k >= len(said):
                replaced[token[1]] = ""
            elif token[0] != said[k]:
                replaced[token[1]] = said[k]
        added += [(rank[i], word) for word in said[len(there) :]]
    result, at = [declaration.name], len(declaration.name)
    kept: list[tuple[int, str]] = []  # rank and text, which is empty where a word went away
    present: set[str] = set()
    last = -1
    for word in text[at:].split(".")[1:]:
        if at == attempt.slot:
            kept.append((last, ""))
        modifier = f".{word}"
        last = rank_of.get(at, rank.get(modifier, last))
        present.add(modifier)
        kept.append((last, "" if at in attempt.dropped else replaced.get(at, modifier)))
        at += len(modifier)
    if at == attempt.slot:
        kept.append((last, ""))
    needed = (*declaration.selectors, *(flag.modifier for flag in declaration.always))
    added += [(rank[modifier], modifier) for modifier in needed if modifier not in present]
    for order, word in sorted(added, key=lambda item: item[0]):
        gap = next((k for k, (_, text) in enumerate(kept) if not text), None)
        if gap is not None:
            kept[gap] = (order, word)
        else:
            place = next((k for k, (other, _) in enumerate(kept) if other > order), len(kept))
            kept.insert(place, (order, word))
    return "".join([*result, *(word for _, word in kept)])


def changes_of(book: Rulebook, lowered: Lowered, attempt: Attempt, found: Found) -> Iterator[Change]:
    """What differs from the text, in the order of the schema."""
    assert lowered.instruction is not None and attempt.lowered.instruction is not None
    start = attempt.start
    opcodes = (lowered.instruction.opcode, attempt.lowered.instruction.opcode)
    if opcodes[0] != opcodes[1]:
        yield from _words(*(opcode.split(".") for opcode in opcodes))
    if any(fault.code == "PT009" for fault in lowered.faults):
        yield Change("guard", lowered.instruction.guard, ".pred")
    lowered = attempt.lowered
    assert lowered.instruction is not None
    for name in book.schemas[attempt.declaration.schema].fields:
        if name not in found.facts:
            continue
        before, after = start.written.get(name), found.facts[name]
        if name in start.written:
            if before != after:
                yield Change(name, before, after)
        elif name in start.open and not (name in lowered.values and lowered.values[name] == after):
            if after != NONE and not _of_operand(name):
                yield Change(name, None, after)
        elif name in start.fixed and name in lowered.values and lowered.values[name] != after:
            yield Change(name, lowered.values[name], after)
    text, name_end = lowered.instruction.opcode, len(attempt.declaration.name)
    at = name_end
    for word in text[name_end:].split(".")[1:]:
        if at in attempt.dropped:
            yield Change("modifier", f".{word}", NONE)
        at += len(word) + 1
    there = [place for place in attempt.places if place is not None]
    if there != sorted(there):
        written = [lowered.text[span.start : span.end] for span in map(lowered.instruction.span, range(len(there)))]
        yield Change("operands", ",".join(written), ",".join(written[place] for place in there))
    for i, place in enumerate(attempt.places):
        if place is None:
            yield Change("operand", None, f".{'.'.join(attempt.form.items[i])}")
    for j in range(len(lowered.instruction.operands)):
        if j not in attempt.places:
            span = lowered.instruction.span(j)
            yield Change("operand", lowered.text[span.start : span.end], NONE)


def _words(before: Sequence[str], after: Sequence[str]) -> Iterator[Change]:
    """The words of an opcode that another lacks, and those that this one lacks."""
    for word in before:
        if word not in after:
            yield Change("modifier", f".{word}", NONE)
    for word in after:
        if word not in before:
            yield Change("modifier", None, f".{word}")


def _of_operand(name: str) -> bool:
    return name.rpartition(".")[2] in ("class", "registers", "repeated", "value", "offset", "negated", "bracketed")
