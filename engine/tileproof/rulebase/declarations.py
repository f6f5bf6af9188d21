"""What rule files declare, as values: enums, tables, schemas, atoms, instructions, rules and findings.

A rule says what must hold of a *configuration*: a set of named facts (``N``, ``a.type``) that one schema declares with
their domains. The text of a rule is read once, into these values, and from there twice: ``evaluate.python`` makes a
Python function of it, ``evaluate.z3`` a Z3 formula. Neither knows any hardware: the hardware is in rules/.

A rule is silent, not violated, where a fact it reads is unknown or a table it reads has no row: another rule objects
to such a configuration, or none does.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum as PythonEnum
from functools import cached_property
from itertools import product
from typing import TypeAlias

from tileproof.base.diagnostic import Severity
from tileproof.base.records import dataclass, field
from tileproof.rulebase.expression import Expression, Place, Scalar, Value, facts_of
from tileproof.rulebase.references import Citation, Cited

HARDWARE, PAGES = CONTRACTS = ("ptx", "tileiras")
"""What the hardware and ptxas accept, and what the reference pages say."""


@dataclass(frozen=True, eq=False)
class Enum:
    """A finite set of names, each with its spellings in IR; the first spelling is the one we print."""

    name: str
    members: dict[str, tuple[str, ...]]
    place: Place = field(repr=False)
    places: dict[str, Place] = field(repr=False)  # of the members

    @cached_property
    def index(self) -> dict[str, int]:
        """The position of each member."""
        return {member: i for i, member in enumerate(self.members)}

    @cached_property
    def by_spelling(self) -> dict[str, str]:
        """The member that a spelling in IR stands for."""
        return {spelling: member for member, spellings in self.members.items() for spelling in spellings}


@dataclass(frozen=True, slots=True)
class Enumerated:
    """The domain of a fact that is a member of an enum."""

    enum: str


@dataclass(frozen=True, slots=True)
class Bounded:
    """The domain of a fact that is an integer; the bounds say where readings are compared and repairs are sought."""

    first: int
    last: int


Domain: TypeAlias = "Enumerated | Bounded"


@dataclass(frozen=True, eq=False)
class MoreMembers:
    """``extend enum``: further members of an enum that is declared elsewhere, or further spellings of its members."""

    enum: str
    members: dict[str, tuple[str, ...]]
    place: Place = field(repr=False)
    places: dict[str, Place] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Total:
    """That a table has a row for every combination of its keys.

    Attributes:
        when: only for those where it holds.
        of: only for those that a row of this table has, in its columns that are called like the keys.
    """

    when: Expression | None
    of: str | None


@dataclass(frozen=True, eq=False)
class Table(Cited):
    """Finitely many rows from keys (members of enums) to columns."""

    name: str
    keys: tuple[tuple[str, str], ...]  # name and enum
    columns: tuple[str, ...]
    contract: str | None
    total: Total | None
    rows: dict[tuple[str, ...], tuple[Value, ...]]
    citations: tuple[Citation, ...]
    place: Place = field(repr=False)
    places: dict[tuple[str, ...], Place] = field(repr=False)  # of the rows

    def add(self, cells: Sequence[tuple[str, ...] | Value], place: Place) -> None:
        """Add a row; its first cells are alternatives of the keys.

        Raises:
            ValueError: it has not as many cells as the table, a key is not a member of an enum, or there is such a row.
        """
        keys, columns = len(self.keys), len(self.columns)
        if len(cells) != keys + columns:
            raise ValueError(f"a row of this table has {keys + columns} cells, not {len(cells)}")
        alternatives = [cell for cell in cells[:keys] if isinstance(cell, tuple)]
        if len(alternatives) != keys:
            raise ValueError("the keys of a table are members of enums")
        values = tuple(cell[0] if isinstance(cell, tuple) else cell for cell in cells[keys:])
        for key in product(*alternatives):
            if key in self.rows:
                raise ValueError(f"the table has two rows for {' '.join(key)}")
            self.rows[key] = values
            self.places[key] = place

    def column(self, name: str | None) -> int | None:
        """The position of a column; without a name, of the only one."""
        if name is None:
            return 0 if len(self.columns) == 1 else None
        return self.columns.index(name) if name in self.columns else None


@dataclass(frozen=True, eq=False)
class MoreRows(Cited):
    """``extend table``: further rows of a table that is declared elsewhere; ``cells``: keys and columns of each."""

    table: str
    contract: str | None
    cells: tuple[tuple[Place, tuple[tuple[str, ...] | Value, ...]], ...]
    citations: tuple[Citation, ...]
    place: Place = field(repr=False)


@dataclass(frozen=True, eq=False)
class Schema:
    """The facts that make up a configuration, their domains, and one legal instance."""

    name: str
    title: str
    parents: tuple[str, ...]
    fields: dict[str, Domain]
    instance: dict[str, Scalar]
    place: Place = field(repr=False)


@dataclass(frozen=True, slots=True)
class Binding:
    """Facts taken from one parameter of a type: by position (int) or by name.

    ``pattern``: such as ``{} DP``, whose holes are the integers; empty where the parameter is the value. With a
    translation how its words are written, such as ``<{}>``.
    ``always``: the default is written too; ``unwritten``: nothing but the default can be written. ``written``: the
    value of a parameter that no rule reads, without facts.
    """

    facts: tuple[str, ...]
    parameter: int | str
    pattern: str
    translation: tuple[tuple[str, str], ...]
    default: tuple[Scalar, ...] | None
    always: bool = False
    unwritten: bool = False
    written: str = ""


@dataclass(frozen=True, eq=False)
class Atom:
    """How types of the IR give the facts of a schema. ``sets``: facts that every such atom has.

    ``types``: spellings of members of the enum ``atom``. A member with one declaration is read by it however it is
    spelled; where it has several, each of its spellings has its own.
    """

    types: tuple[str, ...]
    schema: str
    bindings: tuple[Binding, ...]
    sets: tuple[tuple[str, Scalar], ...]
    place: Place = field(repr=False)

    @property
    def type(self) -> str:
        """The spelling that is printed."""
        return self.types[0]


@dataclass(frozen=True, eq=False)
class Unjudged:
    """Types of atoms whose parameters no rule judges, and why that is right."""

    types: tuple[str, ...]
    reason: str
    place: Place = field(repr=False)


@dataclass(frozen=True, slots=True)
class Modifiers:
    """Facts taken from modifiers of a PTX opcode, in the order of the opcode.

    Attributes:
        origin: an enum whose members are the modifiers; a flag such as ``.satfinite``; or a pattern such as
            ``m{}n{}k{}``, whose holes are the integers.
        default: the values where the modifiers are absent; None where they must be there.
    """

    facts: tuple[str, ...]
    origin: EnumOrigin | FlagOrigin | PatternOrigin
    default: tuple[Scalar, ...] | None


@dataclass(frozen=True, slots=True)
class EnumOrigin:
    """Modifiers that are members of an enum.

    Attributes:
        many: further ones may follow, only the first ones say something.
        behind: they follow those of the nearest required clause before; so do those of ``many``.
    """

    enum: str
    many: bool = False
    behind: bool = False


@dataclass(frozen=True, slots=True)
class FlagOrigin:
    """A modifier that is there or not: ``.yes`` or ``.no``. ``many``: it may be there repeatedly."""

    modifier: str
    many: bool = False


@dataclass(frozen=True, slots=True)
class PatternOrigin:
    """One modifier with integers in it."""

    pattern: str


class Notation(PythonEnum):
    """How an operand is written."""

    VALUE = "d"  # a register, a constant, or a tuple of such
    TUPLE = "{d}"
    MEMBERS = "{a, b}"  # a tuple whose members have names
    ADDRESS = "[p]"
    EITHER = "(p)"  # an address whose brackets ptxas does not ask for


@dataclass(frozen=True, slots=True)
class OperandForm:
    """One way to write the operands of an instruction.

    Attributes:
        items: for each operand the names of its parts: more than one for an address of several parts, and for a tuple
            whose members have names.
        sets: facts that this form gives.
    """

    items: tuple[tuple[str, ...], ...]
    notations: tuple[Notation, ...]
    sets: tuple[tuple[str, Scalar], ...]


@dataclass(frozen=True, eq=False)
class Instruction:
    """How a PTX instruction gives the facts of a schema.

    Attributes:
        name: the beginning of the opcode, such as ``cp.async.bulk``.
        selectors: modifiers that choose this declaration among those of the name.
        always: modifiers that must be there.
        ignores: modifiers that ptxas swallows without a word.
        sets: facts that every such instruction has.
        order: how the opcode is written behind the name: modifiers themselves, clauses of modifiers by number.
    """

    name: str
    selectors: tuple[str, ...]
    schema: str
    always: tuple[FlagOrigin, ...]
    ignores: tuple[str, ...]
    modifiers: tuple[Modifiers, ...]
    sets: tuple[tuple[str, Scalar], ...]
    forms: tuple[OperandForm, ...]
    order: tuple[str | int, ...]
    place: Place = field(repr=False)


@dataclass(frozen=True, eq=False)
class Example:
    """Facts that differ from the schema's legal instance."""

    facts: dict[str, Scalar]
    place: Place = field(repr=False)


@dataclass(frozen=True, eq=False)
class Rule(Cited):
    """One thing that must hold.

    Attributes:
        code, name: ``WG101`` and ``wgmma-invalid-n``; the name states the fault.
        contract: ``ptx``, ``tileiras`` or None for both.
        refines: codes; where one of those rules is violated, this rule is silent.
        replaces: codes of rules on schemas that this rule's schema extends: there this rule replaces them.
        message, hint: text with ``{expression}`` placeholders.
        why: what goes wrong on the machine where the rule is violated; may be empty.
    """

    code: str
    name: str
    former: tuple[str, ...]  # names that it had before
    schema: str
    contract: str | None
    refines: tuple[str, ...]
    replaces: tuple[str, ...]
    when: Expression | None
    require: Expression
    severity: Severity
    message: str
    hint: str
    why: str
    citations: tuple[Citation, ...]
    passing: tuple[Example, ...]
    failing: tuple[Example, ...]
    place: Place = field(repr=False)

    @cached_property
    def facts(self) -> frozenset[str]:
        """The facts that decide the rule."""
        return facts_of(self.require) | (facts_of(self.when) if self.when is not None else frozenset())


@dataclass(frozen=True, eq=False)
class Case:
    """One wording of a finding.

    Attributes:
        facts: what the engine passes, each with the enum that it is a member of, or None.
        message, hint: text with the placeholders ``{fact}`` and ``{table(fact)}``; without a hint, that of the finding.
    """

    name: str
    facts: dict[str, str | None]
    message: str
    hint: str
    place: Place = field(repr=False)


@dataclass(frozen=True, eq=False)
class Finding(Cited):
    """A diagnostic of the engine itself (a parse error, an unused suppression), documented like a rule.

    Attributes:
        message, hint: the general statement, without placeholders; ``why`` as of a rule.
        cases: what is said at one place, by name.
        places: what is said of the other places that the finding is about, by their names; placeholders are facts of
            every case.
    """

    code: str
    name: str
    former: tuple[str, ...]  # names that it had before
    severity: Severity
    message: str
    hint: str
    why: str
    citations: tuple[Citation, ...]
    cases: dict[str, Case]
    places: dict[str, str]
    place: Place = field(repr=False)
