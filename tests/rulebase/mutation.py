"""A mutation run over rule constants: is each number and each member of an enum in rules/ held by some test?

    export PYTHONPATH=tests:tests/common
    python -m rulebase.mutation                            # all 21,000 mutants, an hour or two
    python -m rulebase.mutation rules/copy --every 10 --survivors

Running the suite once a mutant would take months. Instead each mutant is loaded in this process, only its declaration
being read again, and judged by the checks of the default suite that can notice it: those that read what it declares,
which is found out by running each check once on a rulebase that notes what is read. They are, in this order:

1. ``refused``: loading, with the checks that need no solver;
2. ``example``: the examples in the rules, which tests/rulebase/test_examples_of_rules.py runs;
3. ``case``: the cases of tests/checking, the instructions that ptxas judged, the fragments that NVIDIA's dialect and
   the PTX ISA have, and other texts whose findings or
   output tests compare with what is written beside them: the bugs and facts of tests/protocol, the cases of
   tests/dataflow, the pages' worked examples of emission;
4. ``record``: the records of tests/rulebase, which only say that something changed.

The first three state the truth independently of the rule; the last mirrors the rule file. The outcome tells them apart.
"""

from __future__ import annotations

import argparse
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path

import emit_cases
import fragment_answers
import isa_fragments
import rule_cases
from boundaries import judged
from rule_examples import unlike_what_they_say
from rule_mutants import Mutant, mutants
from rule_records import of_rule, of_text, of_word

from dataflow.test_paths import CASES, text_of
from tileproof.base.source import Source
from tileproof.checking.expectations import split, verify
from tileproof.checking.file import check_source
from tileproof.checking.instruction import context
from tileproof.emitting.atom import emit_atom
from tileproof.judge.outcome import Options
from tileproof.rulebase import collect
from tileproof.rulebase.bitfield import Canonical, Word
from tileproof.rulebase.book import Declaration, Rulebook
from tileproof.rulebase.declarations import (
    CONTRACTS,
    Atom,
    Enum,
    Instruction,
    MoreMembers,
    MoreRows,
    Rule,
    Schema,
    Table,
)
from tileproof.rulebase.expression import Lookup, walk
from tileproof.rulebase.fault import RuleError, RuleFault
from tileproof.rulebase.fragment import Fragment
from tileproof.rulebase.load import readers, shipped_files
from tileproof.rulebase.parser import rules as syntax
from tileproof.rulebase.resolve import Resolver
from tileproof.rulebase.template import Lowering, Template
from tileproof.rulebase.total import missing_rows
from tileproof.syntax import SyntaxFault

TESTS = Path(__file__).resolve().parents[1]
EQUIVALENT = Path(__file__).parent / "equivalent_mutants.toml"
Read = tuple[str, Hashable]  # a part of the rulebook: a shelf, and a name on it


@dataclass(frozen=True)
class Check:
    """A check of the default suite that needs a rulebook and says something that can be compared."""

    name: str
    codes: frozenset[str]
    run: Callable[[Rulebook], Hashable]


class _Shelf(dict):  # type: ignore[type-arg]
    """A part of a rulebook that notes what is read of it."""

    def __init__(self, items: dict, name: str, log: set[Read]) -> None:
        super().__init__(items)
        self.name, self.log = name, log

    def __getitem__(self, key):
        self.log.add((self.name, key))
        return super().__getitem__(key)

    def get(self, key, default=None):
        self.log.add((self.name, key))
        return super().get(key, default)


class _Watched(Rulebook):
    """A rulebook that notes what is read of it."""

    def rules_on(self, schema: str, contract: str, inherited: bool = False) -> tuple[Rule, ...]:
        log: set[Read] = self.enums.log  # type: ignore[attr-defined]
        log |= {("rules", name) for name in (self.lineage(schema) if inherited else (schema,))}
        return super().rules_on(schema, contract, inherited)


def checks() -> Iterator[Check]:
    """What the default suite compares with what is written down."""
    for name, case in rule_cases.cases():
        yield Check(
            f"cases: {name}",
            frozenset(case["expect"]),
            lambda book, case=case: rule_cases.as_expected(rule_cases.diagnostics(book, case), case),
        )
    for name in judged():
        yield Check(f"judged by ptxas: {name}", frozenset(), _Judged(name))
    for name in fragment_answers.kept():
        yield Check(f"fragments of NVIDIA's dialect: {name}", frozenset(), _Held(name))
    for one in isa_fragments.held():
        yield Check(f"fragments of the PTX ISA: {one.opcode} {one.role}", frozenset(), one.as_rules_say)
    for atom, target, says in emit_cases.ATOMS:
        yield Check(f"emitted: {atom}", frozenset(), _Says(atom, target, says))
    for folder in ("protocol/bugs", "protocol/facts"):
        for path in sorted((TESTS / folder).glob("*.mlir")):
            for number, part in enumerate(split(Source(path.name, path.read_text(encoding="utf-8")))):
                yield Check(f"{folder}/{path.name}-{number}", frozenset(), _Expected(part))
    for case in CASES:
        yield Check(f"dataflow: {case['name']}", frozenset(code for code, _ in case["expect"]), _Flow(case))
    for path in sorted((TESTS / "emitting" / "golden").glob("*.txt")):
        yield Check(f"emitting/{path.name}", frozenset(), _Emitted(path))


@dataclass(frozen=True)
class _Judged:
    name: str

    def __call__(self, book: Rulebook) -> Hashable:
        return all(one.as_ptxas_says(book) for one in judged()[self.name])


@dataclass(frozen=True)
class _Held:
    name: str

    def __call__(self, book: Rulebook) -> Hashable:
        return all(one.as_rules_say(book) for one in fragment_answers.kept()[self.name])


@dataclass(frozen=True)
class _Says:
    atom: str
    target: str
    says: str

    def __call__(self, book: Rulebook) -> Hashable:
        return self.says in emit_atom(book.under("ptx"), f"!cute_nvgpu.atom.{self.atom}", context(book, self.target))


@dataclass(frozen=True)
class _Expected:
    part: Source

    def __call__(self, book: Rulebook) -> Hashable:
        found = check_source(book, self.part, Options("ptx", mend=False)).diagnostics
        return tuple(map(str, verify(self.part, found)))


@dataclass(frozen=True, eq=False)
class _Flow:
    case: dict

    def __call__(self, book: Rulebook) -> Hashable:
        source = Source("case.ptx", text_of(self.case))
        return tuple(one.code for one in check_source(book, source, Options("ptx", ignore=("PR190",))).diagnostics)


@dataclass(frozen=True)
class _Emitted:
    path: Path

    def __call__(self, book: Rulebook) -> Hashable:
        atom, where = self.path.read_text(encoding="utf-8").splitlines()[:2]
        target, form = where.removeprefix("# ").split()
        ruleset = book.under("tileiras")
        return emit_atom(ruleset, atom.removeprefix("# "), context(book, target), form.replace("-", "_"))


@dataclass
class Bench:
    """The rule files as they are, and the checks with what each of them reads."""

    files: tuple[Source, ...] = field(default_factory=shipped_files)
    asking: bool = True  # whether cases are asked; they take a quarter of a minute once

    @cached_property
    def declared(self) -> list[Declaration]:
        """The declarations of all files, in order, their sources looked up."""
        found: list[Declaration] = []
        for file in self.files:
            found += collect._declared(file, readers())
        return list(collect._with_references(found, []))

    @cached_property
    def book(self) -> Rulebook:
        """The rulebook as it is."""
        return collect._collect(self.declared, [])

    @cached_property
    def reads(self) -> dict[Read, list[Check]]:
        """For each part of the rulebook the checks that read it, those that read least first."""
        found: list[tuple[int, Check, set[Read]]] = []
        for check in checks():
            log: set[Read] = set()
            shelves = {one.name: _Shelf(getattr(self.book, one.name), one.name, log) for one in fields(Rulebook)}
            self.outcomes[check.name] = check.run(_Watched(**shelves))
            found.append((len(log), check, log))
        by_part: dict[Read, list[Check]] = {}
        for _, check, log in sorted(found, key=lambda item: item[0]):
            for part in log:
                by_part.setdefault(part, []).append(check)
        return by_part

    @cached_property
    def outcomes(self) -> dict[str, Hashable]:
        """What each check says of the rules as they are."""
        return {}

    def recorded(self, code: str) -> list[str]:
        """The record of a rule as it is."""
        if code not in self._records:
            self._records[code] = list(of_rule(self.book, self.book.rules[code]))
        return self._records[code]

    @cached_property
    def _records(self) -> dict[str, list[str]]:
        return {}

    @cached_property
    def readers_of(self) -> dict[str, set[str]]:
        """For each table the rules that read it."""
        found: dict[str, set[str]] = {}
        for rule in self.book.rules.values():
            for whole in (rule.require, *([rule.when] if rule.when is not None else [])):
                for part in walk(whole):
                    if isinstance(part, Lookup):
                        found.setdefault(part.table, set()).add(rule.code)
        return found

    def load(self, mutant: Mutant, text: str) -> tuple[Rulebook, list[Declaration]]:
        """The rulebook of a mutant, and the declarations that are other than before.

        Raises:
            RuleError: the files are refused.
        """
        try:
            new = syntax.declarations(Source(mutant.file.name, text))
        except SyntaxFault as fault:
            raise RuleError([]) from fault
        faults: list[RuleFault] = []
        new = list(collect._with_references([*(d for d in self.declared if _titled(d)), *new], faults))[-len(new) :]
        inside = [i for i, one in enumerate(self.declared) if _within(one, mutant)]
        whole = [*self.declared[: inside[0]], *new, *self.declared[inside[-1] + 1 :]]
        book = collect._collect(whole, faults)
        if faults:
            raise RuleError(faults)
        resolver = Resolver(book)
        for one in new:
            faults += _resolved(resolver, book, one)
        if faults:
            raise RuleError(faults)
        return book, new

    def noticed(self, mutant: Mutant) -> str:
        """By what a mutant is noticed; empty where by nothing."""
        outcome = "refused"
        for text in (mutant.text, *(text for _, text in mutant.others)):
            try:
                book, new = self.load(mutant, text)
            except RuleError:
                continue
            except Exception as fault:  # what loading does not expect is noticed all the same
                outcome = f"refused: {type(fault).__name__}"
                continue
            return self._checked(mutant, text, book, new)
        return outcome

    def _checked(self, mutant: Mutant, text: str, book: Rulebook, new: Sequence[Declaration]) -> str:
        codes = self.rules_of(new)
        try:
            for code in codes:
                if code not in book.rules or any(unlike_what_they_say(book, book.rules[code])):
                    return "example"
        except Exception:  # a check that fails is a test that fails
            return "example"
        mine = {one.code for one in new if isinstance(one, Rule)}
        parts = _parts(new) if self.asking else ()
        relevant = list(dict.fromkeys(check for part in parts for check in self.reads.get(part, ())))
        for check in sorted(relevant, key=lambda check: not (check.codes & mine)):
            try:
                if check.run(book) != self.outcomes[check.name]:
                    return f"case: {check.name}"
            except Exception:
                return f"case: {check.name}"
        return "record" if self._recorded(mutant, text, book, new, codes) else self._whole(mutant)

    def _recorded(
        self, mutant: Mutant, text: str, book: Rulebook, new: Sequence[Declaration], codes: Sequence[str]
    ) -> bool:
        for code in codes:
            if list(of_rule(book, book.rules[code], self.book)) != self.recorded(code):
                return True
        for one in new:
            if isinstance(one, Word):
                (before,) = (x for x in self.declared if isinstance(x, Word) and _within(x, mutant))
                if list(of_word(book, one)) != list(of_word(self.book, before)):
                    return True
        before_text = mutant.file.text[mutant.start : mutant.end]
        return list(of_text(Source("x", text))) != list(of_text(Source("x", before_text)))

    def _whole(self, mutant: Mutant) -> str:
        """What only all files together show: rows that a total table lacks."""
        files = tuple(mutant.whole if file is mutant.file else file for file in self.files)
        try:
            collect.collected(files, readers())
        except RuleError:
            return "refused"
        return ""

    def rules_of(self, new: Sequence[Declaration]) -> list[str]:
        """The rules whose verdicts may be others."""
        codes: list[str] = []
        for one in new:
            if isinstance(one, Rule):
                codes += [one.code]
            elif isinstance(one, Table | MoreRows):
                codes += sorted(self.readers_of.get(one.name if isinstance(one, Table) else one.table, ()))
            elif isinstance(one, Schema):
                codes += [rule.code for rule in self.book.rules.values() if one.name in self.book.lineage(rule.schema)]
        return codes


def _titled(one: Declaration) -> bool:
    return type(one).__name__ == "Reference"


def _within(one: Declaration, mutant: Mutant) -> bool:
    place = one.place
    return place.source.name == mutant.file.name and mutant.start <= place.span.start < mutant.end


def _parts(new: Sequence[Declaration]) -> Iterator[Read]:
    """The parts of a rulebook that declarations make."""
    for one in new:
        match one:
            case Rule():
                yield "rules", one.schema
            case Table():
                yield from (("tables", (one.name, contract)) for contract in CONTRACTS)
            case MoreRows():
                yield from (("tables", (one.table, contract)) for contract in CONTRACTS)
            case Enum():
                yield "enums", one.name
            case MoreMembers():
                yield "enums", one.enum
            case Schema():
                yield "schemas", one.name
            case Instruction():
                yield "instructions", one.name
            case Atom():
                yield from (("atoms", name) for name in one.types)
            case Fragment():
                yield from (("fragments", name) for name in one.types)
            case Word():
                yield from (("words", (one.name, contract)) for contract in CONTRACTS)
            case Canonical():
                yield "canonical", one.name
            case Lowering():
                yield from (("lowerings", (one.schema, contract)) for contract in CONTRACTS)
            case Template():
                yield from (("templates", (one.schema, contract)) for contract in CONTRACTS)


def _resolved(resolver: Resolver, book: Rulebook, one: Declaration) -> Iterator[RuleFault]:
    """What loading says of one declaration."""
    match one:
        case Table():
            yield from resolver.table(one)
        case Rule():
            yield from resolver.rule(one)
        case Schema():
            yield from resolver.schema(book.schemas[one.name])
        case Atom():
            yield from resolver.atom(one)
        case Instruction():
            yield from resolver.instruction(one)
        case Fragment():
            yield from resolver.fragment(one)
        case Word():
            yield from resolver.word(one)
        case Canonical():
            yield from resolver.canonical(one)
        case Lowering():
            yield from resolver.lowering(one)
        case Template():
            yield from resolver.template(one)
        case Enum() | MoreMembers():
            yield from resolver.faults()
            yield from missing_rows(book)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*", default=["rules"], help="rule files or folders, as rules/copy")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only each N-th mutant")
    parser.add_argument("--survivors", action="store_true", help="list those that nothing notices, or only a record")
    chosen = parser.parse_args()
    bench = Bench()
    known = equivalent()
    total: Counter[str] = Counter()
    began = time.monotonic()
    for file in bench.files:
        if not any(file.name == path or file.name.startswith(f"{path.rstrip('/')}/") for path in chosen.paths):
            continue
        told: Counter[str] = Counter()
        for mutant in list(mutants(bench.book, file))[:: chosen.every]:
            outcome = "equivalent" if mutant.name in known else bench.noticed(mutant).partition(":")[0]
            told[outcome or "survived"] += 1
            if chosen.survivors and outcome in ("", "record"):
                print(f"  {outcome or 'survived'}: {mutant.name}", flush=True)
        total += told
        print(f"{file.name}: {_told(told)}", flush=True)
    print(f"{sum(total.values())} mutants in {time.monotonic() - began:.0f} s: {_told(total)}")


def _told(outcomes: Counter[str]) -> str:
    return ", ".join(f"{outcomes[name]} {name}" for name in ORDER if outcomes[name])


ORDER = ("refused", "example", "case", "record", "equivalent", "survived")


def equivalent() -> dict[str, str]:
    """Mutants that mean the same as the rules do, each with the reason, by ``Mutant.name``."""
    if not EQUIVALENT.exists():
        return {}
    data = tomllib.loads(EQUIVALENT.read_text(encoding="utf-8"))
    return {name: entry["reason"] for entry in data["equivalent"] for name in entry["mutants"]}


if __name__ == "__main__":
    main()
