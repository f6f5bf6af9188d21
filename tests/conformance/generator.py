"""PTX instructions to ask ptxas about, mostly illegal: made from the instruction declarations and tables of the rules.

A walk through the legal configurations of each declaration gives a pool of legal instructions; the samples are those
with a few facts or a few pieces of their text changed. Nothing here knows any hardware.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

from tileproof.base.diagnostic import Severity
from tileproof.evaluate.enumerate import ordered
from tileproof.evaluate.python import Facts, judge_for, scan_of
from tileproof.ptx.opcode import ptx_spellings
from tileproof.ptx.parse_facts import lower
from tileproof.ptx.registers import by_letter
from tileproof.ptx.spell import forms_of, spell
from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.declarations import Bounded, EnumOrigin, FlagOrigin, Instruction, OperandForm, PatternOrigin
from tileproof.rulebase.expression import Scalar

CLASSES = (
    *(".b32", ".f32", ".b64", ".f64", ".b16", ".pred"),
    *(".integer", ".float32", ".float64", ".sink", ".special"),
    *(".mixed32", ".mixed_sink", ".sink_f32", ".sink64", ".mixed_special", ".source32"),
)
# ptxas takes such a tuple or ends in an internal error, by what stands around it: there is nothing to agree with.
_PREDICATE_AMONG_REGISTERS = re.compile(r"\{(?:[^}]*(?:\b[rf]\d+|%)[^}]*\bp\d|[^}]*\bp\d+[^}]*(?:\b[rf]\d|%))")


@dataclass(frozen=True, slots=True)
class Sample:
    """One instruction for one target and PTX version, and how it came about."""

    target: str
    ptx: tuple[int, int]
    text: str
    origin: str


@dataclass(frozen=True, slots=True)
class Configuration:
    """A legal configuration and the place where it is legal."""

    facts: dict[str, Scalar]
    target: str
    ptx: tuple[int, int]


# Not in an instruction's text.
_ELSEWHERE = {"target", "ptx", "ignored", "formats"}


class Pool:
    """Legal configurations of one declaration, found by a search that tries the values in random order."""

    def __init__(self, book: Rulebook, declaration: Instruction, rng: random.Random, size: int) -> None:
        self.book = book
        self.declaration = declaration
        self.judge = judge_for(book.under("ptx"), declaration.schema)
        self.schema = book.schemas[declaration.schema]
        self.changeable = sorted(set(self.schema.fields) - _ELSEWHERE)
        self.checks = [check for check in self.judge.checks if check.rule.severity is Severity.ERROR]
        self.domains = {fact: _some(book.domain(self.schema.name, fact), rng) for fact in self.schema.fields}
        for clause in declaration.modifiers:  # the enum of a clause may have fewer members than the domain of its fact
            if isinstance(clause.origin, EnumOrigin):
                members = {*ptx_spellings(book, clause.origin.enum).values(), *(clause.default or ())}
                for fact in clause.facts:
                    narrow = tuple(value for value in self.domains[fact] if value in members)
                    self.domains[fact] = narrow or self.domains[fact]
        self.order = ordered(self.checks, self.domains | {name: (value,) for name, value in declaration.sets})
        self.of_opcode = {"target", *(fact for clause in declaration.modifiers for fact in clause.facts)}
        self.optional = {f for clause in declaration.modifiers if clause.default is not None for f in clause.facts}
        self.configurations = list(islice(self.find(rng, 4 * size + 400), size))

    def find(self, rng: random.Random, attempts: int) -> Iterator[Configuration]:
        """The schema's instance, and what is found for goals: one or two facts with random values.

        The modifiers are any; operands are as users write them unless a rule or a goal forbids it, or by a dice.
        """
        for attempt in range(attempts):
            form = rng.choice(self.declaration.forms)
            count = min(len(self.schema.fields), rng.choice((0, 1, 1, 2)))
            present = {fact: rng.choice(self.domains[fact]) for fact in rng.sample(sorted(self.domains), count)}
            present.update(self.declaration.sets)
            present.update(form.sets)
            values = dict(self.domains)
            for fact, domain in self.domains.items():
                usual = self.schema.instance[fact] if self.schema.instance[fact] in domain else domain[0]
                plain = rng.random() < 0.7 if fact in self.optional else fact not in self.of_opcode
                plain = plain and (attempt % 2 == 0 or rng.random() < 0.8)
                shuffled = rng.sample(domain, len(domain))
                values[fact] = (usual, *shuffled) if plain or attempt == 0 else tuple(shuffled)
            order = [*present, *(fact for fact in self.order if fact not in present)]
            found = self.extend({}, order, {**values, **{k: (v,) for k, v in present.items()}}, [8000])
            # A lone instruction has no variables that it could name.
            if found is not None and ".symbol" not in found.values() and self.readable(found, form):
                yield Configuration(found, str(found["target"])[1:], version(found["ptx"]))

    def extend(
        self,
        present: dict[str, Scalar],
        order: list[str],
        values: dict[str, tuple[Scalar, ...]],
        budget: list[int],
    ) -> dict[str, Scalar] | None:
        """The first legal choice of a value for each fact, or None where the budget of trials is spent before."""
        if len(present) == len(order):
            return present
        fact = order[len(present)]
        for value in values[fact]:
            budget[0] -= 1
            if budget[0] < 0:
                return None
            present[fact] = value
            if not self.readers[fact](present) and (found := self.extend(present, order, values, budget)):
                return found
            del present[fact]
        return None

    @cached_property
    def readers(self) -> dict[str, Callable[[Facts], list[int]]]:
        """What finds violated rules among those that read a fact: all in one function, for speed."""
        rules = [check.rule for check in self.checks]
        mine = {fact: [rule for rule in rules if fact in rule.facts] for fact in self.domains}
        return {fact: scan_of(self.book.under("ptx"), some) for fact, some in mine.items()}

    def readable(self, facts: dict[str, Scalar], form: OperandForm) -> bool:
        """Whether the text with these facts says what they say, as far as it matters."""
        try:
            lowered = lower(self.book, spell(self.book, self.declaration, facts, form), by_letter(self.book))
        except ValueError:
            return False
        values = {**lowered.values, "target": facts["target"], "ptx": facts["ptx"]}
        return not lowered.faults and all(rule.severity is not Severity.ERROR for rule in self.judge.violated(values))


def _some(domain: Sequence[Scalar], rng: random.Random) -> tuple[Scalar, ...]:
    """A domain; of a very long one its ends, what is near 0, powers of two and some others."""
    if len(domain) <= 400:
        return tuple(domain)
    few = {*domain[:20], *domain[-20:], *range(-20, 300), *(1 << k for k in range(9, 40)), *rng.sample(domain, 40)}
    return tuple(value for value in sorted(few, key=int) if value in domain)


def version(number: Scalar) -> tuple[int, int]:
    assert isinstance(number, int)
    return number // 100, number % 100


def samples(
    book: Rulebook,
    seed: int,
    count: int,
    places: list[tuple[str, tuple[int, int]]],
    pool: int = 30,
    share: slice = slice(None),
) -> Iterator[Sample]:
    """Instructions of all declarations, those with more facts more often.

    Args:
        places: targets and PTX versions; each sample is for one of them, so that ptxas can be asked in batches.
        pool: legal configurations of a declaration from which samples are made; more of one with more facts.
        share: which of the declarations, where several tests divide them.
    """
    rng = random.Random(seed)
    pools, chances = [], []
    declarations = [(one, len(same)) for same in book.instructions.values() for one in same]
    for declaration, alike in declarations[share]:
        richness = len(book.schemas[declaration.schema].fields) ** 2
        pools.append(Pool(book, declaration, rng, pool + pool * richness // alike // 240))
        chances.append(richness / alike**0.5)
    words = Words(book, [configuration.facts for pool in pools for configuration in pool.configurations])
    where = Places(places)
    last: dict[str, str] = {}
    for chosen in rng.choices(pools, chances, k=count):
        base = rng.choice(chosen.configurations)
        facts = dict(base.facts)
        origin = "legal"
        if rng.random() < 0.5:
            origin = "facts"
            for fact in rng.sample(chosen.changeable, min(len(chosen.changeable), rng.choice((1, 1, 1, 1, 2, 3)))):
                facts[fact] = _other(book, chosen.schema.fields[fact], facts[fact], chosen.schema.name, fact, rng)
        # Sometimes operands of a form that belongs to other modifiers.
        forms = forms_of(chosen.declaration, facts) if rng.random() < 0.95 else ()
        try:
            text = spell(book, chosen.declaration, facts, rng.choice(forms or chosen.declaration.forms))
        except ValueError:  # only the IR has a word for one of the facts
            continue
        before, last[chosen.declaration.name] = last.get(chosen.declaration.name, text), text
        if rng.random() < 0.4:
            origin = "text"
            for _ in range(rng.choice((1, 1, 1, 2))):
                text = edit(text, words, before, rng)
        if _PREDICATE_AMONG_REGISTERS.search(text):
            continue
        if "smem" in text:  # a variable: whether it is one of shared memory, a lone instruction does not say
            continue
        yield Sample(*where.choose(base, rng), text, origin)


class Places:
    """Where to ask about a configuration: where it is legal, or near that, or anywhere."""

    def __init__(self, places: list[tuple[str, tuple[int, int]]]) -> None:
        self.places = places
        self.known = set(places)
        self.versions: dict[str, list[tuple[int, int]]] = {}
        for target, ptx in sorted(self.known):
            self.versions.setdefault(target, []).append(ptx)

    def choose(self, base: Configuration, rng: random.Random) -> tuple[str, tuple[int, int]]:
        dice = rng.random()
        versions = self.versions.get(base.target)
        if versions is None or dice < 0.15:
            return rng.choice(self.places)
        if dice < 0.55:
            return base.target, versions[-1]
        if dice < 0.75 and base.ptx in versions:
            return base.target, base.ptx
        if dice < 0.85:
            return base.target, rng.choice(versions)
        number = base.target.rstrip("af")
        relatives = [
            target for target in self.versions if target.rstrip("af") == number or target[-1] == base.target[-1]
        ]
        target = rng.choice(relatives)
        return target, rng.choice((self.versions[target][-1], rng.choice(self.versions[target])))


def _other(book: Rulebook, domain: object, value: Scalar, schema: str, fact: str, rng: random.Random) -> Scalar:
    """Another value of a fact, near the present one more often than far."""
    if isinstance(domain, Bounded) and isinstance(value, int) and rng.random() < 0.7:
        near = (value + 1, value - 1, value * 2, value // 2, value + 8, value - 8, domain.first, domain.last, -value)
        return rng.choice([n for n in near if fact.endswith(".value") or domain.first <= n <= domain.last])
    if fact.endswith(".class"):
        return rng.choice(CLASSES)
    return rng.choice(book.domain(schema, fact))


class Words:
    """The modifiers that any declaration knows, and which of them are of one kind."""

    def __init__(self, book: Rulebook, configurations: list[dict[str, Scalar]]) -> None:
        self.kinds: list[list[str]] = []
        everything: set[str] = set()
        patterns: dict[str, set[str]] = {}
        enums: set[str] = set()
        for declaration in (item for same in book.instructions.values() for item in same):
            everything |= {*declaration.selectors, *(flag.modifier for flag in declaration.always)}
            for clause in declaration.modifiers:
                match clause.origin:
                    case FlagOrigin(modifier):
                        everything.add(modifier)
                    case EnumOrigin(enum):
                        enums.add(enum)
                    case PatternOrigin(pattern):
                        spelled = patterns.setdefault(pattern, set())
                        for facts in configurations:
                            if all(name in facts for name in clause.facts):
                                spelled.add("." + pattern.format(*(facts[name] for name in clause.facts)))
        self.kinds = [sorted(ptx_spellings(book, enum)) for enum in sorted(enums)]
        self.kinds += [sorted(spelled) for spelled in patterns.values()]
        self.all = sorted(everything.union(*self.kinds))

    def kin(self, word: str, rng: random.Random) -> str:
        """A modifier of the same kind as another, or any where it has no kind."""
        return rng.choice(rng.choice([kind for kind in self.kinds if word in kind] or [self.all]))


_OPERAND = re.compile(r"\{[^}]*\}|\[(?:[^\[\]{}]|\{[^}]*\})*\]|[^,]+")
_IMMEDIATES = (-1, 0, 1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 24, 31, 32, 64, 128, 255, 256, 512, 1 << 16, 1 << 32)
_OF_MODIFIERS = ("drop", "double", "move", "replace", "insert", "kin", "kin", "kin")
_OF_OPERANDS = (
    *("operand", "register", "count", "immediate", "permute", "again", "wrap", "bracket", "offset", "literal"),
    *("other operands", "constant"),
)


def edit(text: str, words: Words, other: str, rng: random.Random) -> str:
    """One random change of an instruction's text that leaves it readable.

    Args:
        other: another instruction of the name, whose operands it may get.
    """
    opcode, _, rest = text.rstrip(";").partition(" ")
    pieces = opcode.split(".")
    operands = _OPERAND.findall(rest)
    if rng.random() < 0.03:
        return f"@{rng.choice(('p9', '!p9', 'r9'))} {text}"
    if rng.random() < 0.45 and len(pieces) > 1:
        _edit_opcode(pieces, words, rng)
    elif operands:
        kind = rng.choice(_OF_OPERANDS)
        if kind == "other operands":
            operands = _OPERAND.findall(other.rstrip(";").partition(" ")[2])
        else:
            _edit_operands(operands, kind, rng)
    # A dot-word at the front would change the name; names of instructions are no modifiers to ptxas.
    return ".".join(pieces) + (" " + ",".join(operands) if operands else "") + ";"


def _edit_opcode(pieces: list[str], words: Words, rng: random.Random) -> None:
    kind = rng.choice(_OF_MODIFIERS)
    at = rng.randrange(1, len(pieces))
    if kind == "drop":
        del pieces[at]
    elif kind == "double":
        pieces.insert(rng.randrange(1, len(pieces) + 1), pieces[at])
    elif kind == "move":
        piece = pieces.pop(at)
        pieces.insert(rng.randrange(1, len(pieces) + 1), piece)
    elif kind == "replace":
        pieces[at] = rng.choice(words.all)[1:]
    elif kind == "insert":
        pieces.insert(rng.randrange(1, len(pieces) + 1), rng.choice(words.all)[1:])
    else:
        pieces[at] = words.kin("." + pieces[at], rng)[1:]


def _edit_operands(operands: list[str], kind: str, rng: random.Random) -> None:
    i = rng.randrange(len(operands))
    whole = operands[i]
    if kind == "operand":
        if rng.random() < 0.5:
            del operands[i]
        else:
            added = rng.choice(("r9", "l9", "p1", "0", "1", "[r9]", "[l9]", "{r9}", "{r8,r9}", "f9", "h9"))
            operands.insert(rng.choice((i, i + 1)), added)
    elif kind == "register":
        letter = rng.choice("rfdlhp")
        operands[i] = re.sub(r"\b[rfdlhp](\d+)\b", rf"{letter}\1", whole, count=rng.choice((0, 1)))
    elif kind == "count" and whole.startswith("{"):
        inner = whole[1:-1].split(",")
        size = rng.choice((len(inner) - 1, len(inner) + 1, len(inner) * 2, len(inner) // 2, 1))
        operands[i] = "{" + ",".join((inner * 2)[: max(size, 1)]) + "}"
    elif kind == "again" and whole.startswith("{"):
        operands[i] = re.sub(r",[^,]*\}$", "," + whole[1:-1].split(",")[0] + "}", whole)
    elif kind == "immediate":
        operands[i] = str(rng.choice(_IMMEDIATES))
    elif kind == "constant" and "%" not in whole:  # a register for a number and the reverse
        if re.fullmatch(r"-?\d+", whole):
            operands[i] = rng.choice("rlhpf") + "9"
        else:
            operands[i] = re.sub(r"\b[rfdlhp]\d+\b", str(rng.choice(_IMMEDIATES)), whole, count=1)
    elif kind == "permute":
        j = rng.randrange(len(operands))
        operands[i], operands[j] = operands[j], operands[i]
    elif kind == "wrap":
        operands[i] = whole[1:-1] if whole.startswith("{") and "," not in whole else "{" + whole + "}"
        if whole.startswith("["):
            operands[i] = whole
    elif kind == "bracket":
        operands[i] = whole[1:-1] if whole.startswith("[") and "," not in whole else f"[{whole}]"
        if "{" in whole and not whole.startswith("["):
            operands[i] = whole
    elif kind == "offset":
        offset = rng.choice(("+4", "+16", "-8", "+1"))
        operands[i] = re.sub(r"^(\[?)([rl]\d+)\b", rf"\1\2{offset}", whole)
    elif kind == "literal":  # the same number, or another, written in another way
        if re.fullmatch(r"\d+", whole):
            operands[i] = rng.choice(
                (hex(int(whole)), bin(int(whole)), f"{whole}U", f"-{whole}", f"{whole}.0", f"({whole})")
            )
        elif whole.startswith("p"):
            operands[i] = "!" + whole


def varied(book: Rulebook, seed: int, base: Sequence[Sample], count: int) -> list[Sample]:
    """Samples of which about a third have their opcodes changed further: half of all opcodes are new."""
    rng = random.Random(seed)
    words = Words(book, [])
    words.kinds = [kind for kind in words.kinds if kind]
    found = []
    for _ in range(count):
        one = rng.choice(base)
        opcode, blank, rest = one.text.partition(" ")
        pieces = opcode.removesuffix(";").split(".")
        if rng.random() < 0.35 and len(pieces) > 1 and not opcode.startswith("@"):
            _edit_opcode(pieces, words, rng)
        text = ".".join(pieces) + (blank + rest if blank else ";")
        found.append(Sample(one.target, one.ptx, text, "opcode"))
    return found
