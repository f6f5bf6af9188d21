"""PTX instructions to ask ptxas about, mostly illegal: made from the instruction declarations and tables of the rules.

A walk through the legal configurations of each declaration gives a pool of legal instructions; the samples are those
with a few facts or a few pieces of their text changed. Nothing here knows any hardware.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass

from tileproof.evaluate import judge_for
from tileproof.ptx.spell import forms_of, spell
from tileproof.rule import Bounded, EnumOrigin, FlagOrigin, Instruction, Rulebook, Scalar

CLASSES = (
    *(".b32", ".f32", ".b64", ".f64", ".b16", ".pred"),
    *(".integer", ".float32", ".float64", ".sink", ".special"),
    *(".mixed32", ".mixed_sink", ".mixed_special", ".source32"),
)
# ptxas takes such a tuple or ends in an internal error, by what stands around it: there is nothing to agree with.
_PREDICATE_AMONG_REGISTERS = re.compile(r"\{(?:[^}]*\b[rf]\d+[^}]*\bp\d|[^}]*\bp\d+[^}]*\b[rf]\d)")


@dataclass(frozen=True, slots=True)
class Sample:
    """One instruction for one target and PTX version, and how it came about."""

    target: str
    ptx: tuple[int, int]
    text: str
    origin: str


class Pool:
    """Legal configurations of one declaration, found by a random walk from the schema's instance."""

    def __init__(self, book: Rulebook, declaration: Instruction, rng: random.Random, size: int) -> None:
        self.book = book
        self.declaration = declaration
        self.judge = judge_for(book, "ptx", declaration.schema)
        self.schema = book.schemas[declaration.schema]
        self.configurations = list(self.walk(rng, size))

    def walk(self, rng: random.Random, size: int) -> Iterator[dict[str, Scalar]]:
        """Change a few facts at random, then mend what is broken; yield what is legal."""
        present = {**self.schema.instance, **dict(self.declaration.sets)}
        present.update(rng.choice(self.declaration.forms).sets)
        found = 0
        for _ in range(size * 20):
            if found >= size:
                return
            trial = dict(present)
            for fact in rng.sample(sorted(trial), min(len(trial), rng.randint(1, 3))):
                trial[fact] = rng.choice(self.book.domain(self.schema.name, fact))
            trial.update(self.declaration.sets)
            trial.update(rng.choice(self.declaration.forms).sets)
            # A lone instruction has no variables that it could name.
            if self.mend(trial, rng) and ".symbol" not in trial.values():
                present = trial
                found += 1
                yield dict(trial)

    def mend(self, trial: dict[str, Scalar], rng: random.Random) -> bool:
        """Set facts of violated rules to values that satisfy all rules about them, a bounded number of times."""
        fixed = {name for name, _ in self.declaration.sets}
        for _ in range(30):
            broken = [rule for rule in self.judge.violated(trial) if rule.severity.rank == 2]
            if not broken:
                return bool(forms_of(self.declaration, trial))
            facts = sorted(broken[0].facts - fixed)
            if not facts:
                return False
            fact = rng.choice(facts)
            legal = self.judge.legal(trial, fact) if rng.random() < 0.8 else ()
            trial[fact] = rng.choice(legal or self.book.domain(self.schema.name, fact))
        return False


def version(number: Scalar) -> tuple[int, int]:
    assert isinstance(number, int)
    return number // 100, number % 100


def samples(
    book: Rulebook, seed: int, count: int, places: list[tuple[str, tuple[int, int]]], pool: int = 40
) -> Iterator[Sample]:
    """Instructions of all declarations in turn.

    Args:
        places: targets and PTX versions; each sample is for one of them, so that ptxas can be asked in batches.
    """
    rng = random.Random(seed)
    declarations = [item for same in book.instructions.values() for item in same]
    pools = [Pool(book, declaration, rng, pool) for declaration in declarations]
    vocabulary = sorted(_vocabulary(book))
    for i in range(count):
        chosen = pools[i % len(pools)]
        if not chosen.configurations:
            continue
        target, ptx = rng.choice(places)
        facts = dict(rng.choice(chosen.configurations))
        origin = "legal"
        if rng.random() < 0.6:
            origin = "facts"
            for fact in rng.sample(sorted(facts), rng.choice((1, 1, 1, 2, 3))):
                facts[fact] = _other(book, chosen.schema.fields[fact], facts[fact], chosen.schema.name, fact, rng)
        forms = forms_of(chosen.declaration, facts)
        try:
            text = spell(book, chosen.declaration, facts, rng.choice(forms or chosen.declaration.forms))
        except ValueError:  # only the IR has a word for one of the facts
            continue
        if rng.random() < 0.35:
            origin = "text"
            for _ in range(rng.choice((1, 1, 2))):
                text = edit(text, vocabulary, rng)
        if _PREDICATE_AMONG_REGISTERS.search(text):
            continue
        if "smem" in text:  # a variable: whether it is one of shared memory, a lone instruction does not say
            continue
        yield Sample(target, ptx, text, origin)


def _other(book: Rulebook, domain: object, value: Scalar, schema: str, fact: str, rng: random.Random) -> Scalar:
    """Another value of a fact, near the present one more often than far."""
    if isinstance(domain, Bounded) and isinstance(value, int) and rng.random() < 0.7:
        near = (value + 1, value - 1, value * 2, value // 2, value + 8, value - 8, domain.first, domain.last, -value)
        return rng.choice([n for n in near if fact.endswith(".value") or domain.first <= n <= domain.last])
    if fact.endswith(".class"):
        return rng.choice(CLASSES)
    return rng.choice(book.domain(schema, fact))


def _vocabulary(book: Rulebook) -> set[str]:
    """All modifiers that any declaration knows."""
    words = set()
    for declaration in (item for same in book.instructions.values() for item in same):
        words |= {*declaration.selectors, *(flag.modifier for flag in declaration.always)}
        for clause in declaration.modifiers:
            if isinstance(clause.origin, FlagOrigin):
                words.add(clause.origin.modifier)
            elif isinstance(clause.origin, EnumOrigin):
                words |= {str(m) for m in book.enums[clause.origin.enum].members if str(m).count(".") == 1}
    return words


def edit(text: str, vocabulary: list[str], rng: random.Random) -> str:
    """One random change of an instruction's text that leaves it readable."""
    opcode, _, rest = text.rstrip(";").partition(" ")
    words = opcode.split(".")
    operands = re.findall(r"\{[^}]*\}|\[(?:[^\[\]{}]|\{[^}]*\})*\]|[^,]+", rest)
    kind = rng.choice(("drop", "double", "swap", "replace", "insert", "operand", "register", "count", "immediate"))
    at = rng.randrange(1, len(words)) if len(words) > 1 else 0
    if kind == "drop" and at:
        del words[at]
    elif kind == "double" and at:
        words.insert(rng.randrange(1, len(words) + 1), words[at])
    elif kind == "swap" and at:
        other = rng.randrange(1, len(words))
        words[at], words[other] = words[other], words[at]
    elif kind == "replace" and at:
        words[at] = rng.choice(vocabulary)[1:]
    elif kind == "insert":
        words.insert(rng.randrange(1, len(words) + 1), rng.choice(vocabulary)[1:])
    elif operands:
        i = rng.randrange(len(operands))
        if kind == "operand":
            if rng.random() < 0.5:
                del operands[i]
            else:
                operands.insert(i, rng.choice(("r9", "l9", "p1", "0", "1", "[r9]", "{r9}", "{r8,r9}", "f9")))
        elif kind == "register":
            letter = rng.choice("rfdlhp")
            operands[i] = re.sub(r"\b[rfdlhp](\d+)", rf"{letter}\1", operands[i], count=rng.choice((0, 1)))
        elif kind == "count" and operands[i].startswith("{"):
            inner = operands[i][1:-1].split(",")
            inner = inner[:-1] if rng.random() < 0.5 and len(inner) > 1 else [*inner, inner[-1]]
            operands[i] = "{" + ",".join(inner) + "}"
        elif kind == "immediate":
            operands[i] = str(rng.choice((-1, 0, 1, 2, 3, 4, 7, 8, 16, 31, 32, 64, 255, 1 << 16)))
    # A dot-word at the front would change the name; names of instructions are no modifiers to ptxas.
    return ".".join(words) + (" " + ",".join(operands) if operands else "") + ";"
