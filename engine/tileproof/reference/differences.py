"""Where the two contracts differ, as a compiler engineer reads it: by contradiction, the most important first.

The contracts differ rule by rule (``audit.contracts``). What a reader wants is the claim behind a rule: what the page
says, what stands against it, and one instruction, complete, for which it matters. So each rule that only one contract
has is put under the contradiction that names it (rules/pages/contradictions.rule), or under the facts it is about. Its
witness is text that ``legal`` answers differently in the two contracts: it is sought among the examples of the rule and
of its neighbours and judged by ``legal`` itself; only where no text shows it, a configuration of Z3 stands in.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import IntEnum
from itertools import combinations, islice

from tileproof.audit.contracts import Comparison, shown_facts
from tileproof.audit.contradictions import Proved, prove
from tileproof.base.diagnostic import Severity
from tileproof.base.records import dataclass
from tileproof.checking.examples import texts
from tileproof.checking.instruction import legal
from tileproof.evaluate.python import Check, Judge, judge_for
from tileproof.evaluate.solver import Answer
from tileproof.ptx.spell import said_by_forms
from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.contradiction import Accepts, Contradiction, Differ, Notes, Overlap
from tileproof.rulebase.declarations import HARDWARE, PAGES, Bounded, Rule
from tileproof.rulebase.expression import Scalar, facts_of

_NEIGHBOURS = 100
"""How many configurations near the examples of a rule and the legal instance are mended."""
_FOUND, _TEXTS = 4, 12
"""How many candidates of a rule are spelled, and how many texts of each are judged."""
_MENDED = 12
"""How often a candidate is mended."""
_LIKELY = (*range(17), 20, 24, 32, 48, 64, 96, 128, 256, 512, 1024)
"""Integers that facts have."""
_OPERANDS = (".class", ".registers", ".elements", ".selected", ".form")
"""Endings of facts that say how an operand is written."""


class Kind(IntEnum):
    """How much a difference matters, the most important first."""

    BITS = 0
    PAGES_ACCEPT = 1
    HARDWARE_ACCEPTS = 2
    READING = 3
    WITHIN_PAGES = 4
    OTHER = 5
    OPERANDS = 6


_TITLES = {
    Kind.BITS: "The same facts are packed into other bits",
    Kind.PAGES_ACCEPT: "The pages allow what the hardware rejects",
    Kind.HARDWARE_ACCEPTS: "The hardware accepts what the pages exclude",
    Kind.READING: "The pages state another number or name",
    Kind.WITHIN_PAGES: "The pages contradict themselves",
    Kind.OTHER: "Other limits that only one contract has",
    Kind.OPERANDS: "How operands are written",
}


@dataclass(frozen=True, slots=True)
class Witness:
    """A configuration that shows a difference.

    Attributes:
        text: an instruction or the type of an atom, for ``legal``; None where the facts are of neither.
        target: for ``legal``, and the PTX version where it is not the newest.
        facts: those that decide, where there is no text.
        values: what both sides make of it, by name.
    """

    text: str | None = None
    target: str | None = None
    facts: Mapping[str, Scalar] | None = None
    values: tuple[tuple[str, str], ...] = ()

    @property
    def command(self) -> str | None:
        """The command that shows it, but for ``--contract``."""
        if self.text is None or self.target is None:
            return None
        target, _, version = self.target.partition(", PTX ")
        return f"tileproof legal --target {target}{' --ptx ' + version if version else ''} '{self.text}'"


@dataclass(frozen=True, slots=True)
class Difference:
    """One contradiction, or one group of rules that only one contract has.

    Attributes:
        code: of the contradiction; None for a group of rules.
        accepting, rejecting: the contracts; None where no configuration is accepted by one only.
        rules: the codes of the rules that reject.
        sources: for each contract what it rests on.
        unsaid: why no instruction and no type of an atom shows it; empty where one does.
    """

    kind: Kind
    code: str | None
    schema: str | None
    claim: str
    against: str
    accepting: str | None
    rejecting: str | None
    rules: tuple[str, ...]
    witness: Witness | None
    sources: Mapping[str, tuple[str, ...]]
    unsaid: str

    @property
    def command(self) -> str:
        """The command that shows it: the witness, else the proof of the contradiction, else the rules."""
        said = self.witness.command if self.witness is not None else None
        shown = f"contradictions {self.code}" if self.code is not None else f"show {self.rules[0]}"
        return said or f"tileproof rules {shown}"


def differences(
    book: Rulebook, left: str, right: str, seconds: float, step: Callable[[], None] = lambda: None
) -> list[Difference]:
    """All differences; of the same importance those first that ``left`` accepts.

    Args:
        seconds: that Z3 may take for a query.
        step: called after each contradiction.
    """
    search = _Search(book, seconds)
    found, explained = [], set()
    for item in book.contradictions.values():
        one = _contradiction(search, item)
        found.append(one)
        explained |= {(code, one.accepting) for code in one.rules}
        step()
    groups: dict[tuple[str, str, bool], list[tuple[Rule, Witness]]] = {}
    for accepting, rejecting in ((PAGES, HARDWARE), (HARDWARE, PAGES)):
        for rule in _own(book, rejecting):
            if (rule.code, accepting) in explained:
                continue
            witness = search.witness(rule, rule.schema, accepting, rejecting, {})
            if witness is not None:
                operands = all(fact.endswith(_OPERANDS) for fact in _about(rule))
                groups.setdefault((rule.schema, accepting, operands), []).append((rule, witness))
    found += [_group(search, *key, members) for key, members in groups.items()]
    sides = {left: 0, right: 1}
    return sorted(
        found, key=lambda one: (one.kind, sides.get(one.accepting or left, 0), one.code or "~", one.schema or "")
    )


def _own(book: Rulebook, contract: str) -> Iterator[Rule]:
    """The error rules that only this contract has."""
    for rule in book.rules.values():
        if rule.contract == contract and rule.severity is Severity.ERROR:
            yield rule


def _about(rule: Rule) -> tuple[str, ...]:
    """The facts that a rule limits; where it applies is not among them."""
    return tuple(sorted(facts_of(rule.require) or rule.facts))


def _contradiction(search: _Search, item: Contradiction) -> Difference:
    book, seconds = search.book, search.seconds
    accepting: str | None = None
    codes: tuple[str, ...] = ()
    witness: Witness | None = None
    match item.proof:
        case Accepts(accepting, code, facts):
            kind = Kind.PAGES_ACCEPT if accepting == PAGES else Kind.HARDWARE_ACCEPTS
            rule, codes = book.rules[code], (code,)
            witness = search.witness(rule, item.schema or rule.schema, accepting, _other(accepting), dict(facts))
        case Notes(code):
            kind, codes = Kind.READING, (code,)
            witness = _noted(book, book.rules[code]) or _proved(prove(book, item, seconds))
        case Differ():
            kind, witness = Kind.BITS, _proved(prove(book, item, seconds))
        case _:
            kind, witness = Kind.READING, _proved(prove(book, item, seconds))
    if item.code.startswith(("RP1", "RP2")) and kind is not Kind.BITS:
        kind = Kind.WITHIN_PAGES
    rejecting = None if accepting is None else _other(accepting)
    sources: dict[str, tuple[str, ...]] = {"both sides": item.sources}
    for code in codes:
        sources[book.rules[code].contract or HARDWARE] = book.rules[code].sources
    schema = item.schema or (book.rules[codes[0]].schema if codes else None)
    unsaid = search.unsaid(schema, witness)
    if isinstance(item.proof, Differ | Overlap):
        unsaid = "it is about the bits of a packed word: `tileproof encode` and `decode` have them in both contracts"
    return Difference(
        kind, item.code, item.schema, item.claim, item.against, accepting, rejecting, codes, witness, sources, unsaid
    )


def _other(contract: str) -> str:
    return HARDWARE if contract == PAGES else PAGES


def _proved(proof: Proved) -> Witness:
    return Witness(facts=proof.facts, values=proof.values)


def _group(
    search: _Search, schema: str, accepting: str, operands: bool, members: list[tuple[Rule, Witness]]
) -> Difference:
    book, rejecting = search.book, _other(accepting)
    rules = [rule for rule, _ in members]
    facts = tuple(dict.fromkeys(fact for rule in rules for fact in _about(rule)))
    witness = next((one for _, one in members if one.text is not None), members[0][1])
    shown = next(rule for rule, one in members if one is witness)
    allowed = tuple(dict.fromkeys(source for rule in rules for source in _counterpart(book, rule, accepting)))
    sources = {
        accepting: allowed or (f"no rule of this contract limits {', '.join(facts)} so",),
        rejecting: tuple(dict.fromkeys(source for rule in rules for source in rule.sources)),
    }
    kind = Kind.OPERANDS if operands else Kind.OTHER
    claim = f"{accepting} does not limit {', '.join(facts)} so" if not operands else f"{accepting} takes other operands"
    against = f"{rejecting} has {'; '.join(f'{rule.code} {rule.name}' for rule in rules)} (the witness: {shown.code})"
    codes = tuple(rule.code for rule in rules)
    unsaid = search.unsaid(schema, witness)
    return Difference(kind, None, schema, claim, against, accepting, rejecting, codes, witness, sources, unsaid)


def _counterpart(book: Rulebook, rule: Rule, accepting: str) -> tuple[str, ...]:
    """The sources of the rules of the accepting contract that limit the same facts, and no others."""
    about = set(_about(rule))
    same = [
        other
        for other in book.rules_on(rule.schema, accepting, inherited=True)
        if other is not rule and other.severity is Severity.ERROR and about <= set(_about(other))
    ]
    exact = [other for other in same if set(_about(other)) == about] or same
    return tuple(dict.fromkeys(source for other in exact for source in other.sources))


# ------------------------------------------------------------------------------------------------------- witnesses


class _Search:
    """Seeks witnesses; remembers what it builds for each schema.

    A configuration is a candidate where the compiled rules of one contract accept it and the rule of the other rejects
    it. The search starts at the failing examples of the rule and mends what the accepting contract objects to.
    """

    def __init__(self, book: Rulebook, seconds: float) -> None:
        self.book = book
        self.seconds = seconds
        self.compared: dict[tuple[str, str], Comparison] = {}
        self.tried: dict[tuple[str, str], tuple[Scalar, ...]] = {}
        self.said: dict[str, tuple[str, ...]] = {}

    def witness(
        self, rule: Rule, schema: str, accepting: str, rejecting: str, given: dict[str, Scalar]
    ) -> Witness | None:
        """What one contract accepts and a rule of the other rejects; None where Z3 shows that there is nothing."""
        plain: dict[str, Scalar] | None = None
        for spoken in self.schemas(schema):
            for facts in self.candidates(rule, spoken, accepting, rejecting, given):
                plain = plain or facts
                for one in islice(texts(self.book, spoken, facts), _TEXTS):
                    if not legal(self.book.under(accepting), one.text, one.place).legal:
                        continue
                    verdict = legal(self.book.under(rejecting), one.text, one.place)
                    if not verdict.legal and rule.code in verdict.codes:
                        return Witness(one.text, one.where)
        if plain is None:
            plain = next(self.candidates(rule, schema, accepting, rejecting, given), None)
        if plain is not None:
            return Witness(facts={name: plain[name] for name in sorted(rule.facts | given.keys())})
        return self.solved(rule, schema, accepting, rejecting, given)

    def schemas(self, schema: str) -> tuple[str, ...]:
        """The schemas of the instructions and atoms that say its facts."""
        if schema not in self.said:
            declared = [one.schema for same in self.book.instructions.values() for one in same]
            declared += [one.schema for one in self.book.atoms.values()]
            said = (one for one in dict.fromkeys(declared) if schema in self.book.lineage(one))
            self.said[schema] = tuple(said)
        return self.said[schema]

    def unsaid(self, schema: str | None, witness: Witness | None) -> str:
        """Why a difference has no text as its witness; empty where it has."""
        if witness is not None and witness.text is not None:
            return ""
        if schema is None or schema == "pages":
            return "it is about numbers and names of the pages, of which no instruction is made"
        if not self.schemas(schema):
            return f"no instruction and no type of an atom states the facts of '{schema}'"
        return "no single instruction or type was found that the contracts answer differently for this reason alone"

    def solved(
        self, rule: Rule, schema: str, accepting: str, rejecting: str, given: dict[str, Scalar]
    ) -> Witness | None:
        """A configuration of Z3, as text where it has one."""
        if (schema, accepting) not in self.compared:
            self.compared[schema, accepting] = Comparison(self.book, schema, accepting, rejecting, self.seconds)
        compared = self.compared[schema, accepting]
        assigned = compared.encoder.assigned(given)
        wanted = [*compared.accepted, compared.encoder.reading(rule).violated, assigned]
        answer = compared.question.ask(*wanted)
        if answer.answer is Answer.UNSATISFIABLE:
            return None
        if answer.answer is Answer.UNKNOWN:
            return Witness(values=(("Z3", "no answer in time"),))
        model = {**self.book.schemas[schema].instance, **answer.model}
        for one in islice(texts(self.book, schema, model), _TEXTS):
            answers = [legal(self.book.under(contract), one.text, one.place) for contract in (accepting, rejecting)]
            if answers[0].legal and rule.code in answers[1].codes:
                return Witness(one.text, one.where)
        return Witness(facts={name: model[name] for name in sorted(rule.facts)})

    def candidates(
        self, rule: Rule, schema: str, accepting: str, rejecting: str, given: dict[str, Scalar]
    ) -> Iterator[dict[str, Scalar]]:
        """Configurations near the rule's examples that one contract accepts and the rule rejects, a few."""
        instance = dict(self.book.schemas[schema].instance)
        check = Check(self.book.under(rejecting), rule)
        judge = judge_for(self.book.under(accepting), schema)
        starts = [{**instance, **example.facts, **given} for example in rule.failing]
        starts += [{**instance, **given}, *self.starting(rule, schema, {**instance, **given}, given)]
        kept = {*given, *_about(rule)}
        found = tried = 0
        for start in starts:
            if not start.keys() <= instance.keys() or check(start) is not False:
                continue
            tried += 1
            if tried > _NEIGHBOURS:
                return
            mended = self.mended(start, check, judge, kept)
            if mended is not None:
                yield mended
                found += 1
                if found >= _FOUND:
                    return

    def starting(
        self, rule: Rule, schema: str, base: dict[str, Scalar], given: dict[str, Scalar]
    ) -> Iterator[dict[str, Scalar]]:
        """Configurations that differ from one in one or two facts of the rule."""
        names = [name for name in sorted(rule.facts) if name not in given]
        values = {name: self.values(schema, name) for name in names}
        for name, several in values.items():
            yield from ({**base, name: value} for value in several)
        pairs = (
            {**base, one: a, other: b}
            for one, other in combinations(names, 2)
            for a in values[one]
            for b in values[other]
        )
        yield from islice(pairs, 4 * _NEIGHBOURS)

    def values(self, schema: str, fact: str) -> tuple[Scalar, ...]:
        """Values of a fact that are tried: the likely integers, and what an instruction's operands can say."""
        if (schema, fact) not in self.tried:
            bounded = isinstance(self.book.schemas[schema].fields[fact], Bounded)
            known = self.book.domain(schema, fact)
            domain: Iterable[Scalar] = (value for value in _LIKELY if value in known) if bounded else known
            declared = (one for same in self.book.instructions.values() for one in same if one.schema == schema)
            told = {facts[fact] for one in declared for _, facts in said_by_forms(one) if fact in facts}
            self.tried[schema, fact] = tuple(value for value in domain if not told or value in told)
        return self.tried[schema, fact]

    def mended(self, facts: dict[str, Scalar], check: Check, judge: Judge, kept: set[str]) -> dict[str, Scalar] | None:
        """The configuration with other values for what the accepting contract objects to; the rule still rejects it."""
        for _ in range(_MENDED):
            wrong = _errors(judge, facts)
            if not wrong:
                return facts
            better: tuple[int, dict[str, Scalar]] | None = None
            for name in sorted(wrong[0].facts - kept):
                for value in self.values(judge.schema, name):
                    trial = {**facts, name: value}
                    if check(trial) is False:
                        left = len(_errors(judge, trial))
                        if left < len(wrong) and (better is None or left < better[0]):
                            better = left, trial
            if better is None:
                return None
            facts = better[1]
        return None


def _errors(judge: Judge, facts: Mapping[str, Scalar]) -> list[Rule]:
    return [rule for rule in judge.violated(dict(facts)) if rule.severity is Severity.ERROR]


def _noted(book: Rulebook, rule: Rule) -> Witness | None:
    """A text that the rule notes in the pages' contract, which is legal there."""
    for example in rule.failing:
        for one in islice(texts(book, rule.schema, {**book.schemas[rule.schema].instance, **example.facts}), _TEXTS):
            if rule.code in legal(book.under(PAGES), one.text, one.place).codes:
                return Witness(one.text, one.where, values=((f"in {PAGES}", f"{rule.code}, a note"),))
    return None


# -------------------------------------------------------------------------------------------------- how they are shown


def as_text(found: Iterable[Difference]) -> Iterator[str]:
    """The differences for people."""
    kind: Kind | None = None
    count = 0
    for one in found:
        if one.kind is not kind:
            kind = one.kind
            yield f"{'' if count == 0 else chr(10)}{_TITLES[one.kind]}"
        count += 1
        yield f"  {_headline(one)}"
        yield f"    claim    {one.claim}"
        yield f"    against  {one.against}"
        yield from (f"    {line}" for line in _shown(one))
        for contract, sources in one.sources.items():
            yield from (f"    {contract}: {source}" for source in sources)
    yield f"\n{count} differences"


def _headline(one: Difference) -> str:
    rules = ", ".join(one.rules)
    return f"{one.code or one.schema}{' (' + rules + ')' if rules else ''}"


def _shown(one: Difference, compared: bool = True) -> Iterator[str]:
    """The witness and the command.

    Args:
        compared: with what the contracts answer.
    """
    witness = one.witness or Witness()
    if witness.command is not None:
        ends = f"  # {one.accepting}: legal, {one.rejecting}: not" if compared and one.accepting else ""
        yield f"witness  {witness.command}{ends}"
    elif witness.facts:
        yield f"witness  {shown_facts(dict(witness.facts))}"
    yield from (f"         {name} = {value}" for name, value in witness.values)
    if one.unsaid:
        yield f"shown by {one.command}  # {one.unsaid}"


def as_markdown(found: Iterable[Difference]) -> Iterator[str]:
    """The differences as a page: a section a kind, a table row a difference."""
    kind: Kind | None = None
    for one in found:
        if one.kind is not kind:
            kind = one.kind
            yield f"\n## {_TITLES[one.kind]}\n"
            yield "| | claim | against | witness | sources |\n|---|---|---|---|---|"
        shown = [f"`{line.removeprefix('witness  ').strip()}`" for line in _shown(one, compared=False)]
        sources = [f"{contract}: {source}" for contract, several in one.sources.items() for source in several]
        cells = (_headline(one), one.claim, one.against, "<br>".join(shown), "<br>".join(sources))
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def as_json(found: Iterable[Difference]) -> str:
    """The differences as a JSON array."""
    rows = [
        {
            "kind": one.kind.name.lower(),
            "code": one.code,
            "schema": one.schema,
            "claim": one.claim,
            "against": one.against,
            "accepting": one.accepting,
            "rejecting": one.rejecting,
            "rules": list(one.rules),
            "command": one.command,
            "no_instruction": one.unsaid or None,
            "witness": None
            if one.witness is None
            else {
                "instr": one.witness.text,
                "target": one.witness.target,
                "command": one.witness.command,
                "facts": dict(one.witness.facts or {}),
                "values": dict(one.witness.values),
            },
            "sources": {contract: list(several) for contract, several in one.sources.items()},
        }
        for one in found
    ]
    return json.dumps(rows, indent=2)


__all__ = ["Difference", "Kind", "Witness", "as_json", "as_markdown", "as_text", "differences"]
