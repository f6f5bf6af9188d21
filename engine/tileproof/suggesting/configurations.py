"""Legal MMA configurations for a partial description, the best first.

A *family* (``suggesting.families``) is a schema with the facts M, N and K: what an atom of the IR and the PTX
instruction of the same operation have in common. Its legal configurations are found by ``evaluate.enumerate``; one
counts only if an instruction can say it on the target (contract tileiras: or if the target has the atom). What only the
instruction says and what changes the result (layouts, the type of C, saturation, the operation on bits) belongs to the
configuration too. An atom stands beside the instruction that it is lowered to.

Ranking: what the user would try first, then the fewest instructions for the tile (where warps share it, of each of
them), then the fewest bytes of A and B as they are stored in shared memory, then K-major operands in shared memory
before others. Tried first is what the description leaves open as usual: A dense, without scale factors, B of A's type,
the accumulator of rules/mma/usual.rule, no option; and an MMA of which PTX specifies where each thread has which
elements, unlike wmma. Without a tile both are counted for a tile of the largest M, N and K among the usual ones, so
that they compare; an instruction that it does not fill counts whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any, TypeAlias

from tileproof.base.records import dataclass
from tileproof.evaluate.enumerate import distinct, legal_columns, legal_configurations
from tileproof.evaluate.hardware import limit, smem_bits
from tileproof.evaluate.python import judge_for
from tileproof.judge.registry import target_has
from tileproof.ptx.opcode import read_opcode
from tileproof.ptx.select import carry, holds, instructions_on, legal_form
from tileproof.rulebase.book import Rulebook, Ruleset
from tileproof.rulebase.declarations import HARDWARE, EnumOrigin, Instruction
from tileproof.rulebase.expression import Scalar, facts_of
from tileproof.rulebase.template import Lowering
from tileproof.suggesting.families import COMPUTES, Family, atom_with, families, feature_of

_SCALES = ("scale.type", "sf.type", "vec_size")
_OPTIONS = ("satfinite", "ws", "c_scale")  # of an atom: usually the value of the schema's legal instance
_PLACES = {"a.major": ".k", "b.major": ".k", "a.source": ".smem_desc", "a.layout": ".row", "b.layout": ".col"}
_Values: TypeAlias = "tuple[Scalar, ...]"


@dataclass(frozen=True, slots=True)
class Query:
    """The query.

    Attributes:
        facts: values that a configuration must have, by fact; a family without such a fact does not come into question.
        tile: M, N and K of the tile, in elements; an atom must divide it.
        sparsity: ``any``, ``dense`` or ``sparse``: whether A is 2:4 sparse.
        warps: how many share the tile; an atom that more threads execute does not come into question.
    """

    contract: str
    context: Mapping[str, Scalar]
    facts: Mapping[str, tuple[Scalar, ...]]
    tile: tuple[int, int, int] | None = None
    sparsity: str = "any"
    warps: int | None = None


@dataclass(frozen=True, slots=True)
class Suggestion:
    """One legal configuration.

    Attributes:
        configuration: its facts, as the families of the query keep them.
        instructions: the number for the tile, per warp or warpgroup that shares it; traffic: bytes of A and B, as they
            are stored in shared memory, that all of them read.
        unusual: why it does not come first: what it has that a description does not mean unless it says so.
        displaced: how many of the operands that the query leaves open are not K-major or not in shared memory.
    """

    members: _Members
    configuration: _Values
    choice: int
    instructions: int
    traffic: int
    tile: tuple[int, int, int]
    unusual: tuple[str, ...]
    displaced: int

    @property
    def family(self) -> str:
        """The schema."""
        return self.members.family.schema

    @property
    def facts(self) -> dict[str, Scalar]:
        """The facts of the configuration."""
        return self.members.facts(self.configuration, self.choice)

    @property
    def sparse(self) -> bool:
        """Whether A is 2:4 sparse."""
        return self.members.sparse(self.configuration)

    @property
    def ptx(self) -> str:
        """The instruction, registers named by class; empty if PTX has no instruction for the atom."""
        return self.members.instruction(self.configuration, self.choice)

    @property
    def atom(self) -> str:
        """The CuTe type; empty where CuTe has none."""
        return self.members.atom(self.configuration, self.choice)

    @property
    def why(self) -> str:
        """The reason for its rank."""
        m, n, k = self.tile
        plural = "" if self.instructions == 1 else "s"
        kind = " with a sparse A" if self.sparse else ""
        why = f"{self.instructions} instruction{plural} for {m}x{n}x{k}{kind}, reading {self.traffic} bytes of A and B"
        if self.unusual:
            why += f"; behind what is usual: {', '.join(self.unusual)}"
        if not self.members.family.placed:
            why += "; MMAs whose fragments PTX specifies come first"
        if self.displaced:
            why += "; among equals K-major operands in shared memory come first"
        return why


def suggest(book: Rulebook, query: Query) -> list[Suggestion]:
    """All legal configurations that fit a query, ranked."""
    return _Ranking(book, query, usual_only=False).suggestions


def legal_columns_of(book: Rulebook, query: Query) -> dict[str, dict[str, Any]]:
    """All legal configurations that fit a query, not ranked: by family, the facts as columns of numpy's."""
    found = {members.family.schema: members.columns() for members in _members(book, query)}
    return {family: columns for family, columns in found.items() if columns}


def as_asked(book: Rulebook, query: Query) -> list[Suggestion]:
    """The configurations that a description means; where there is none, all that fit it."""
    found = _Ranking(book, query, usual_only=True).suggestions
    return found or suggest(book, query)


def contradiction(book: Rulebook, query: Query) -> tuple[str, ...]:
    """Of the facts of a query that nothing fits, some that contradict each other and of which none can be left out.

    ``tile`` and ``sparsity`` are among the names where they are part of it; nothing where the target has no MMA at all.
    """
    asked = [*query.facts, *(("sparsity",) if query.sparsity != "any" else ()), *(("tile",) if query.tile else ())]
    asked += ["warps"] if query.warps is not None else []
    kept = list(asked)
    for name in reversed(asked):  # what was named first is what the description is about
        rest = [other for other in kept if other != name]
        if not _possible(book, _only(query, rest)):
            kept = rest
    return tuple(kept)


def _only(query: Query, names: Sequence[str]) -> Query:
    """A query with some of its facts."""
    return Query(
        query.contract,
        query.context,
        {name: values for name, values in query.facts.items() if name in names},
        query.tile if "tile" in names else None,
        query.sparsity if "sparsity" in names else "any",
        query.warps if "warps" in names else None,
    )


def _possible(book: Rulebook, query: Query) -> bool:
    return any(next(members.all(members.options()), None) for members in _members(book, query))


def _members(book: Rulebook, query: Query) -> Iterator[_Members]:
    for family in families(book):
        members = _Members(book, family, query)
        if members.come_into_question():
            yield members


class _Ranking:
    """The configurations of all families in their order.

    Args:
        usual_only: only what a description means unless it says something else.
    """

    def __init__(self, book: Rulebook, query: Query, usual_only: bool) -> None:
        self.book = book
        self.query = query
        everyone = list(_members(book, query))
        usual = [(one, found) for one in everyone for options in one.usual() for found in one.all(options, first=True)]
        self.tile = query.tile or self._largest(usual)
        if usual_only:
            found: Iterable[tuple[_Members, tuple[_Values, int]]] = usual
        else:
            found = ((one, each) for one in everyone for each in one.all(one.options()))
        if self.tile is None:
            found = list(found)
            self.tile = self._largest(found)
        self.suggestions = self.sorted(found)

    def _largest(self, found: Sequence[tuple[_Members, tuple[_Values, int]]]) -> tuple[int, int, int] | None:
        """A tile of the largest M, N and K."""
        shapes = {one.shape(values) for one, (values, _) in found}
        if not shapes:
            return None
        m, n, k = (max(shape[i] for shape in shapes) for i in range(3))
        # A sparse instruction is as deep as two dense ones: it has to fill the tile too.
        return m, n, 2 * k if self.query.sparsity == "any" else k

    def sorted(self, found: Iterable[tuple[_Members, tuple[_Values, int]]]) -> list[Suggestion]:
        if self.tile is None:
            return []
        order = {family.schema: i for i, family in enumerate(families(self.book))}
        ranked: list[tuple[tuple[int, ...], int, Suggestion]] = []
        for members, (values, choice) in found:
            instructions, traffic = members.cost(values, choice, self.tile)
            unusual, first = members.unusual(values, choice)
            displaced = members.displaced(values, choice)
            *tried_first, late = first
            rest = (late, displaced, order[members.family.schema])
            key = (*tried_first, not members.family.placed, instructions, traffic, *rest)
            one = Suggestion(members, values, choice, instructions, traffic, self.tile, unusual, displaced)
            ranked.append((key, len(ranked), one))
        ranked.sort()
        return [one for _, _, one in ranked]


class _Members:
    """The legal configurations of one family that a query allows.

    A configuration is a tuple of the values of the family's fields. To each there are choices of what only the
    instruction says (``COMPUTES``), by number; the usual one is 0.
    """

    def __init__(self, book: Rulebook, family: Family, query: Query) -> None:
        self.book = book
        self.family = family
        self.query = query
        self.ruleset: Ruleset = book.under(query.contract)
        self.fields = family.fields
        self.at = {name: i for i, name in enumerate(self.fields)}
        self.lowerings: tuple[Lowering, ...] = book.lowerings.get((family.schema, query.contract), ())
        schemas = [lowering.to for lowering in self.lowerings] or [one.schema for one in family.instructions]
        self.schemas = tuple(dict.fromkeys(schemas))
        self.judged = family.schema
        if not self.lowerings and len(self.schemas) == 1 and query.contract == HARDWARE:
            self.judged = self.schemas[0]  # its rules are among those of the instruction
        self.wanted = {family.named(fact): values for fact, values in query.facts.items()}
        if "sf.type" in self.fields and "scale.type" in query.facts:  # the IR has one E4M3, with and without sign
            self.wanted["sf.type"] = tuple(".e4m3" if v == ".ue4m3" else v for v in self.wanted["sf.type"])
        self.computes = tuple(
            name
            for name in COMPUTES
            if name not in self.fields and any(name in book.schemas[schema].fields for schema in self.schemas)
            if query.contract == HARDWARE and name not in self.carried_names
        )

    @cached_property
    def carried_names(self) -> frozenset[str]:
        """The facts of the instruction that a lowering gives."""
        return frozenset(name for lowering in self.lowerings for name, _, _ in lowering.carried)

    # -- which come into question

    def come_into_question(self) -> bool:
        family, query = self.family, self.query
        if family.sparse is not None and query.sparsity == ("dense" if family.sparse else "sparse"):
            return False
        if not self.wanted.keys() <= {*self.fields, *self.computes} or not self.sharers:
            return False
        return bool(self.declarations) or (query.contract != HARDWARE and bool(self.atoms))

    @cached_property
    def declarations(self) -> tuple[Instruction, ...]:
        """The instructions that the target has."""
        every = [one for schema in self.schemas for one in instructions_on(self.book, schema)]
        return tuple(one for one in every if legal_form(self.ruleset, self.query.context, one, {}) is not None)

    @cached_property
    def atoms(self) -> tuple[tuple[str, Callable[[Mapping[str, Scalar]], str]], ...]:
        """The atoms that the target has, each with what gives its type."""
        found = []
        for atom in self.family.atoms:
            needs, member = feature_of(self.book, atom), self.book.enums["atom"].by_spelling.get(atom.type)
            known = needs is not None and member is not None
            if not known or target_has(self.ruleset, self.query.context["target"], str(member), str(needs)):
                found.append((atom.type, lambda facts, atom=atom: atom_with(self.ruleset, atom, facts)))
        return tuple(found)

    @cached_property
    def sharers(self) -> int:
        """How many warps, or warpgroups, issue instructions for the tile; 0 where not even one is whole."""
        warp = limit(self.book, "warp_threads")
        if self.query.warps is None or self.family.threads < warp:
            return 1
        return self.query.warps * warp // self.family.threads

    # -- what to try

    def options(self) -> dict[str, Sequence[Scalar]]:
        """The values to try for each field."""
        query, book = self.query, self.book
        options: dict[str, Sequence[Scalar]] = {}
        for fact in self.fields:
            values: Sequence[Scalar] = tuple(book.domain(self.family.schema, fact))
            if fact in query.context:
                values = (query.context[fact],)
            elif fact in self.wanted:
                values = tuple(value for value in values if value in self.wanted[fact])
            elif fact == "sparse" and query.sparsity != "any":
                values = (".yes" if query.sparsity == "sparse" else ".no",)
            if fact in self.told_by_forms:
                values = tuple(value for value in values if value in self.told_by_forms[fact])
            if fact in self.family.shape:
                whole = query.tile[self.family.shape.index(fact)] if query.tile is not None else 0
                values = tuple(v for v in values if isinstance(v, int) and v > 0 and whole % v == 0)
            options[fact] = values
        return options

    @cached_property
    def told_by_forms(self) -> dict[str, set[Scalar]]:
        """The values of the facts that the forms of the operands say, where no lowering gives them."""
        told: dict[str, set[Scalar]] = {}
        for one in self.declarations:
            for form in one.forms:
                for name, value in form.sets:
                    told.setdefault(name, set()).add(value)
        every = [{name for name, _ in form.sets} for one in self.declarations for form in one.forms]
        return {
            name: values
            for name, values in told.items()
            if self.query.contract == HARDWARE
            and name not in self.carried_names
            and all(name in said for said in every)
        }

    def usual(self) -> Iterator[dict[str, Sequence[Scalar]]]:
        """The values to try, for each type of A, where only what a description means counts."""
        if self.is_sparse_alone or self.is_scaled:
            return
        options = self.options()
        instance = self.book.schemas[self.family.schema].instance
        for fact in ("sparse", *_OPTIONS):
            if fact in options and fact not in self.wanted and not (fact == "sparse" and self.query.sparsity != "any"):
                options[fact] = [value for value in options[fact] if value == self.usually(fact, instance)]
        for a in options["a.type"]:
            narrowed = {**options, "a.type": (a,)}
            if "b.type" not in self.wanted:
                narrowed["b.type"] = [value for value in options["b.type"] if value == a]
            for fact in ("d.type", "c.type"):
                if fact in narrowed and fact not in self.wanted:
                    narrowed[fact] = [v for v in options[fact] if v == self.accumulator(a, "d.type")]
            yield narrowed

    @staticmethod
    def usually(fact: str, instance: Mapping[str, Scalar]) -> Scalar:
        return ".no" if fact == "sparse" else instance[fact]

    @property
    def is_sparse_alone(self) -> bool:
        """Whether the family is sparse and the query did not ask for that."""
        return self.family.sparse is True and self.query.sparsity == "any"

    @cached_property
    def is_scaled(self) -> bool:
        """Whether the family is block-scaled and the query did not ask for that."""
        scales = [name for name in _SCALES if name in self.fields]
        return bool(scales) and not any(name in self.wanted for name in scales)

    def accumulator(self, a: Scalar, fact: str) -> Scalar:
        """The accumulator that is usual for a type of A; what the query names is."""
        named = self.wanted.get(fact, ())
        if len(named) == 1:
            return named[0]
        row = self.book.shared_table("usual").rows.get((str(a),))
        return row[0] if row is not None and isinstance(row[0], str) else ""

    # -- the search

    def all(self, options: Mapping[str, Sequence[Scalar]], first: bool = False) -> Iterator[tuple[_Values, int]]:
        """The legal configurations with some of the values, each with the number of a choice.

        Args:
            first: only the usual choice of each.
        """
        for facts in legal_configurations(judge_for(self.ruleset, self.judged), self.tried(options), many=True):
            values = tuple([facts[name] for name in self.fields])
            if self.choice(values) is None:
                if self.alone(values):
                    yield values, 0
            else:
                for i in range(1 if first else len(self.choices(values))):
                    yield values, i

    def tried(self, options: Mapping[str, Sequence[Scalar]]) -> dict[str, Sequence[Scalar]]:
        """The values to try for each fact of what is judged."""
        schema = self.book.schemas[self.judged]
        given = {name: (value,) for name, value in self.query.context.items() if name in schema.fields}
        direct = self.judged != self.family.schema
        sets = {name: (value,) for name, value in self.common_sets.items() if name not in self.fields} if direct else {}
        return {**given, **sets, **{name: options[name] for name in self.fields}}

    def alone(self, values: _Values) -> bool:
        """Whether a configuration that no instruction can say counts, as that of an atom."""
        return self.query.contract != HARDWARE and bool(self.atom(values, 0))

    def columns(self) -> dict[str, Any]:
        """The facts of all legal configurations as columns of numpy's, in the order of ``all``.

        Where only some instructions of the family say a fact, it is empty for the others.
        """
        import numpy as np  # noqa: PLC0415  who asks for columns has it

        columns, rows = legal_columns(judge_for(self.ruleset, self.judged), self.tried(self.options()))
        if not rows:
            return {}
        kept = [columns[name] for name in self.fields]

        def values(row: int) -> _Values:
            return tuple([column.values[column.codes[row]] for column in kept])

        first, which = distinct([kept[i] for i in self.relevant], rows)
        ways = [self.choices(values(row)) for row in first.tolist()]
        counts = np.array([len(one) for one in ways], dtype=np.int64)
        added = counts[which]
        if self.query.contract != HARDWARE:
            for row in np.flatnonzero(added == 0).tolist():
                added[row] = self.alone(values(row))
        found = {
            name: np.array(column.values)[np.repeat(column.codes, added)]
            for name, column in zip(self.fields, kept, strict=True)
        }
        names = dict.fromkeys(name for one in ways for choice in one for name in choice.computed)
        if names:
            own = np.cumsum(added) - added
            number = np.arange(int(added.sum())) - np.repeat(own, added)
            begins = np.cumsum(counts) - counts
            at = np.where(np.repeat(counts[which], added) > 0, np.repeat(begins[which], added) + number, -1)
            for name in names:
                told = [choice.computed.get(name, "") for one in ways for choice in one]
                found[name] = np.array([*told, ""])[at]
        return found

    @cached_property
    def common_sets(self) -> dict[str, Scalar]:
        """The facts that all instructions of the family have by their names."""
        every = [dict(one.sets) for one in self.declarations]
        return {k: v for k, v in every[0].items() if all(one.get(k) == v for one in every)} if every else {}

    @cached_property
    def relevant(self) -> tuple[int, ...]:
        """The places of the fields on which it depends how instructions can say a configuration.

        Where a lowering leads to the instruction these are what it reads, and what rules read that are not the atom's
        own: one that reads a fact of an operand too is met by the choice of the operand.
        """
        if not self.lowerings:
            return tuple(range(len(self.fields)))
        names: set[str] = set()
        own = {check.rule.code for check in judge_for(self.ruleset, self.judged).checks}
        for lowering in self.lowerings:
            names |= facts_of(lowering.when) if lowering.when is not None else set()
            for _, expression, when in lowering.carried:
                names |= facts_of(expression) | (facts_of(when) if when is not None else frozenset())
            known = {*self.fields, *self.computes, *self.carried_names, *self.query.context}
            known |= {name for one in self.declarations for name, _ in one.sets}
            for check in judge_for(self.ruleset, lowering.to).checks:
                if check.rule.code not in own and check.rule.facts <= known:
                    names |= check.rule.facts
        # What forms and modifiers say.
        for one in self.declarations:
            names |= {name for form in one.forms for name, _ in form.sets} | {name for name, _ in one.sets}
            names |= {f for clause in one.modifiers for f in clause.facts if isinstance(clause.origin, EnumOrigin)}
        return tuple(i for i, name in enumerate(self.fields) if name in names)

    def choices(self, values: _Values) -> tuple[_Choice, ...]:
        """How instructions can say a configuration, the usual first; nothing where none can on the target."""
        key = tuple([values[i] for i in self.relevant])
        found = self._choices.get(key)
        if found is None:
            facts = dict(zip(self.fields, values, strict=True))
            found = self._choices[key] = tuple(self._found(facts))
        return found

    def choice(self, values: _Values, number: int = 0) -> _Choice | None:
        """One way to say a configuration; None where there is none."""
        if number:
            return self.choices(values)[number]
        key = tuple([values[i] for i in self.relevant])
        if key not in self._first:
            facts = dict(zip(self.fields, values, strict=True))
            self._first[key] = next(self._found(facts), None)
        return self._first[key]

    @cached_property
    def _first(self) -> dict[_Values, _Choice | None]:
        return {}

    @cached_property
    def _choices(self) -> dict[_Values, tuple[_Choice, ...]]:
        return {}

    def _found(self, facts: Mapping[str, Scalar]) -> Iterator[_Choice]:
        for schema, carried in self._carried(facts):
            seen = False
            names = [name for name in self.computes if name in self.book.schemas[schema].fields]
            for computed in self._computed(schema, carried, names):
                known = {**carried, **computed}
                if any(self._can_say(one, known) for one in self.declarations if one.schema == schema):
                    yield _Choice(schema, known.get("kind", ""), computed)
                    seen = True
            if seen:
                return  # of several lowerings the first that applies counts

    def _carried(self, facts: Mapping[str, Scalar]) -> Iterator[tuple[str, dict[str, Scalar]]]:
        if not self.lowerings:
            for schema in self.schemas:
                fields = self.book.schemas[schema].fields
                yield schema, {name: value for name, value in facts.items() if name in fields}
        for lowering in self.lowerings:
            if holds(self.ruleset, lowering.when, facts):
                carried = carry(self.ruleset, lowering, facts)
                if carried is not None:
                    yield lowering.to, carried

    def _computed(
        self, schema: str, carried: Mapping[str, Scalar], names: Sequence[str]
    ) -> Iterator[dict[str, Scalar]]:
        """The values of the facts that only the instruction says, by the rules that read them."""
        if not names:
            yield {}
            return
        book, instance = self.book, self.book.schemas[schema].instance
        known = {**carried, **self.query.context, **self.common_sets}
        fields = book.schemas[schema].fields
        options: dict[str, Sequence[Scalar]] = {name: (v,) for name, v in known.items() if name in fields}
        for name in names:
            if name in self.common_sets:
                continue
            usual = carried.get("d.type", instance[name]) if name == "c.type" else instance[name]
            domain = book.domain(schema, name)
            values = (usual, *(value for value in domain if value != usual))
            options[name] = tuple(v for v in values if v in self.wanted.get(name, values))
        judge = judge_for(self.ruleset, schema)
        for found in legal_configurations(judge, options, clean=True, about=frozenset(names)):
            yield {name: found[name] for name in names}

    def _can_say(self, declaration: Instruction, known: Mapping[str, Scalar]) -> bool:
        """Whether an instruction of this declaration with these facts is legal, and is read as having them."""
        found = legal_form(self.ruleset, self.query.context, declaration, known)
        if found is None:
            return False
        # What an opcode says must be what is read from it: `.xor` alone is the first of two operations.
        read = read_opcode(self.book, found.text.split(maxsplit=1)[0])
        return not read.faults and all(read.values.get(name, value) == value for name, value in known.items())

    # -- of one configuration

    def facts(self, values: _Values, choice: int) -> dict[str, Scalar]:
        facts = dict(zip(self.fields, values, strict=True))
        chosen = self.choice(values, choice)
        return {**facts, **chosen.computed} if chosen is not None else facts

    def instruction(self, values: _Values, choice: int) -> str:
        """The text of the instruction; empty where there is none."""
        chosen = self.choice(values, choice)
        if chosen is None:
            return ""
        if self.spoken is None:
            return self._text(values, chosen)
        key = (tuple([values[i] for i in self.spoken]), choice)
        known = self._texts.get(key)
        if known is None:
            known = self._texts[key] = self._text(values, chosen)
        return known

    @cached_property
    def spoken(self) -> tuple[int, ...] | None:
        """The places of the fields that the text shows, where it shows but some of them."""
        shown = {name for schema in self.schemas for name in self.book.schemas[schema].fields}
        hidden = [name for name in self.fields if name not in shown and self.at[name] not in self.relevant]
        return tuple(i for i, name in enumerate(self.fields) if name not in hidden) if hidden else None

    def _text(self, values: _Values, choice: _Choice) -> str:
        facts = dict(zip(self.fields, values, strict=True))
        for schema, carried in self._carried(facts):
            for declaration in self.declarations if schema == choice.schema else ():
                if declaration.schema == schema:
                    known = {**carried, **choice.computed}
                    found = legal_form(self.ruleset, self.query.context, declaration, known)
                    if found is not None:
                        return found.text
        return ""

    @cached_property
    def _texts(self) -> dict[tuple[_Values, int], str]:
        return {}

    def atom(self, values: _Values, choice: int) -> str:
        """The type of the atom that is lowered to the instruction."""
        if choice:
            return ""
        facts = dict(zip(self.fields, values, strict=True))
        return next((spelled for _, spell in self.atoms if (spelled := spell(facts))), "")

    def shape(self, values: _Values) -> tuple[int, int, int]:
        m, n, k = (_integer(values[self.at[name]]) for name in self.family.shape)
        return m, n, k

    def sparse(self, values: _Values) -> bool:
        if self.family.sparse is None:
            return values[self.at["sparse"]] == ".yes"
        return self.family.sparse

    def cost(self, values: _Values, choice: int, tile: tuple[int, int, int]) -> tuple[int, int]:
        """Instructions for a tile of each of those that share it, and bytes of A and B that all read."""
        m, n, k = self.shape(values)
        count = -(-tile[0] // m) * -(-tile[1] // n) * -(-tile[2] // k)
        chosen = self.choice(values, choice)
        kind = chosen.kind if chosen is not None else ""
        a, b = _stored(self.book, values[self.at["a.type"]], values[self.at["b.type"]], kind)
        bits = m * k * a // (2 if self.sparse(values) else 1) + n * k * b
        return -(-count // self.sharers), count * bits // 8

    def unusual(self, values: _Values, choice: int) -> tuple[tuple[str, ...], tuple[int, ...]]:
        """What is not usual about a configuration, in words, and what it is ranked by before anything else."""
        key = (tuple([values[i] for i in self.judging]), choice)
        known = self._unusual.get(key)
        if known is None:
            known = self._unusual[key] = self._told(self.facts(values, choice), values, choice)
        return known

    @cached_property
    def judging(self) -> tuple[int, ...]:
        """The places of the fields that say what is usual."""
        names = {"a.type", "b.type", "d.type", "c.type", "sparse", *_OPTIONS}
        return tuple(
            sorted(
                {i for name, i in self.at.items() if name in names} | (set(self.relevant) if self.computes else set())
            )
        )

    @cached_property
    def _unusual(self) -> dict[tuple[_Values, int], tuple[tuple[str, ...], tuple[int, ...]]]:
        return {}

    def _told(
        self, facts: Mapping[str, Scalar], values: _Values, choice: int
    ) -> tuple[tuple[str, ...], tuple[int, ...]]:
        told = []
        sparse = self.sparse(values) and self.query.sparsity == "any"
        if sparse:
            told.append("A is sparse")
        if self.is_scaled:
            told.append("block-scaled")
        a = facts["a.type"]
        if "b.type" not in self.wanted and facts["b.type"] != a:
            told.append(f"B is {_plain(facts['b.type'])}")
        if "d.type" not in self.wanted and facts["d.type"] != self.accumulator(a, "d.type"):
            told.append(f"the accumulator is {_plain(facts['d.type'])}")
        instance = self.book.schemas[self.family.schema].instance
        for fact in _OPTIONS:
            if fact in self.at and fact not in self.wanted and facts[fact] != instance[fact]:
                told.append(fact if facts[fact] == ".yes" else f"{fact} = {_plain(facts[fact])}")
        # What only the instruction says counts among equals.
        before = len(told)
        expected = self.accumulator(a, "d.type")
        if "c.type" in facts and "c.type" not in self.wanted and facts["c.type"] not in (expected, facts["d.type"]):
            told.append(f"C is {_plain(facts['c.type'])}")
        if choice and (usual := self.choice(values)) is not None:
            told += [
                f"{name} = {_plain(facts[name])}"
                for name, value in usual.computed.items()
                if facts[name] != value and name not in self.wanted and name not in ("c.type", *_PLACES)
            ]
        late = len(told) - before
        row = self.book.shared_table("usual").rows.get((str(a),))
        order = int(str(row[1])) if row is not None and "a.type" not in self.wanted else 0
        return tuple(told), (int(sparse), int(self.is_scaled), len(told) - late - sparse - self.is_scaled, order, late)

    def displaced(self, values: _Values, choice: int) -> int:
        """How many operands are not K-major or not in shared memory, of those that the query leaves open."""
        count = 0
        for fact, usual in _PLACES.items():
            if fact in self.at and values[self.at[fact]] != usual:
                count += 1
        if choice and (chosen := self.choice(values, choice)) is not None:
            count += sum(chosen.computed.get(fact, usual) != usual for fact, usual in _PLACES.items())
        return count


@dataclass(frozen=True, slots=True)
class _Choice:
    """One way to say a configuration.

    Attributes:
        kind: of the instruction; nothing where it has none.
        computed: the facts that no atom says.
    """

    schema: str
    kind: Scalar
    computed: Mapping[str, Scalar]


@lru_cache(maxsize=4096)
def _stored(book: Rulebook, a: Scalar, b: Scalar, kind: Scalar) -> tuple[int, int]:
    facts = {"a.type": a, "b.type": b, "kind": kind}
    return smem_bits(book, facts, "a"), smem_bits(book, facts, "b")


def _integer(value: Scalar) -> int:
    assert isinstance(value, int), "M, N and K are numbers"
    return value


def _plain(value: Scalar) -> str:
    return str(value).removeprefix(".")
