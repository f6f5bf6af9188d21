"""All rule files together."""

from __future__ import annotations

from collections.abc import MutableMapping
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, TypeAlias

from tileproof.base.records import dataclass
from tileproof.rulebase.bitfield import Canonical, Word
from tileproof.rulebase.declarations import (
    CONTRACTS,
    Atom,
    Bounded,
    Enum,
    Enumerated,
    Finding,
    Instruction,
    MoreMembers,
    MoreRows,
    Rule,
    Schema,
    Table,
    Unjudged,
)
from tileproof.rulebase.expression import Scalar
from tileproof.rulebase.fragment import Fragment
from tileproof.rulebase.references import Reference
from tileproof.rulebase.template import Lowering, Template

if TYPE_CHECKING:
    from tileproof.rulebase.contradiction import Contradiction

Declaration: TypeAlias = (
    "Reference | Enum | MoreMembers | Table | MoreRows | Schema | Atom | Unjudged | Instruction | Fragment | Word"
    " | Canonical | Lowering | Template | Rule | Finding | Contradiction"
)


@dataclass(frozen=True, eq=False)
class Rulebook:
    """All rule files together."""

    enums: MutableMapping[str, Enum]
    tables: MutableMapping[tuple[str, str], Table]  # by name and contract
    schemas: MutableMapping[str, Schema]
    atoms: MutableMapping[str, Atom]  # by type, however the enum atom spells it
    unjudged: MutableMapping[str, Unjudged]  # by type
    rules: MutableMapping[str, Rule]
    findings: MutableMapping[str, Finding]
    instructions: MutableMapping[str, tuple[Instruction, ...]]  # by name
    fragments: MutableMapping[str, Fragment]  # by type
    words: MutableMapping[tuple[str, str], tuple[Word, ...]]  # by name and contract
    canonical: MutableMapping[str, Canonical]
    lowerings: MutableMapping[tuple[str, str], tuple[Lowering, ...]]  # by schema and contract
    templates: MutableMapping[tuple[str, str], tuple[Template, ...]]  # by schema and contract
    references: MutableMapping[str, Reference]  # by title
    contradictions: MutableMapping[str, Contradiction]  # by code

    def rules_on(self, schema: str, contract: str, inherited: bool = False) -> tuple[Rule, ...]:
        """The rules of a schema in a contract, in the order of the files.

        Args:
            inherited: with those of the schemas that it extends, unless a rule there replaces them.
        """
        schemas = self.lineage(schema) if inherited else (schema,)
        codes = [code for one in schemas for code in self.codes_on.get(one, ())]
        if len(schemas) > 1:
            codes.sort(key=self._places.__getitem__)
        found = [rule for rule in map(self.rules.__getitem__, codes) if rule.contract in (None, contract)]
        replaced = {code for rule in found for code in rule.replaces}
        return tuple(rule for rule in found if rule.code not in replaced)

    @cached_property
    def codes_on(self) -> dict[str, tuple[str, ...]]:
        """The codes of the rules of each schema that has any, in the order of the files."""
        codes: dict[str, list[str]] = {}
        for code, rule in self.rules.items():
            codes.setdefault(rule.schema, []).append(code)
        return {schema: tuple(of) for schema, of in codes.items()}

    @cached_property
    def _places(self) -> dict[str, int]:
        """The place of each rule in the order of the files."""
        return {code: place for place, code in enumerate(self.rules)}

    def lineage(self, schema: str) -> tuple[str, ...]:
        """A schema and all that it extends."""
        names = [schema]
        for name in names:
            names += [parent for parent in self.schemas[name].parents if parent not in names]
        return tuple(names)

    def shared_table(self, name: str) -> Table:
        """The table of a name, which is the same in every contract.

        Raises:
            KeyError: there is none, or the contracts have tables of their own.
        """
        found = self.tables[name, CONTRACTS[0]]
        if found.contract is not None:
            raise KeyError(name)
        return found

    def under(self, contract: str) -> Ruleset:
        """The rules as they are in a contract."""
        return _ruleset(self, contract)

    def domain(self, schema: str, fact: str) -> tuple[Scalar, ...] | range:
        """All values of a fact, in order."""
        match self.schemas[schema].fields[fact]:
            case Enumerated(enum):
                return tuple(self.enums[enum].members)
            case Bounded(first, last):
                return range(first, last + 1)

    def documented(self) -> dict[str, Rule | Finding]:
        """Everything that has a code, in the order of the codes."""
        everything: dict[str, Rule | Finding] = {**self.findings, **self.rules}
        return dict(sorted(everything.items()))

    @cached_property
    def by_name(self) -> dict[str, Rule | Finding]:
        """Everything that has a code, by its name and by the names that it had before."""
        known = self.documented().values()
        return {name: item for item in known for name in item.former} | {item.name: item for item in known}

    def named(self, name: str) -> Rule | Finding | None:
        """What has this code or name, now or before."""
        return self.findings.get(name) or self.rules.get(name) or self.by_name.get(name)


@dataclass(frozen=True, eq=False)
class Ruleset:
    """A rulebook in one contract: what the hardware and ptxas accept, or what the reference pages say.

    There is one for each book and contract (``Rulebook.under``), so that caches find it by its identity.
    """

    book: Rulebook
    contract: str

    def table(self, name: str) -> Table:
        """The table of a name in this contract."""
        return self.book.tables[name, self.contract]

    def rules_on(self, schema: str, inherited: bool = False) -> tuple[Rule, ...]:
        """The rules of a schema, in the order of the files; ``inherited``: with those of the schemas it extends."""
        return self.book.rules_on(schema, self.contract, inherited)


@lru_cache(maxsize=64)
def _ruleset(book: Rulebook, contract: str) -> Ruleset:
    return Ruleset(book, contract)
