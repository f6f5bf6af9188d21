"""Legal MMA configurations for a partial description, the best first.

A *family* is a schema with the facts M, N and K: what an atom of the IR and the PTX instruction of the same operation
have in common. Its legal configurations are found by ``search``; one counts only if the whole instruction, operands and
all, has a legal form on the target (contract tileiras: or if the target has the atom).

Ranking: fewest instructions for the tile; then fewest bytes of A and B that these read; then the configuration nearest
to the schema's legal instance (K-major before MN-major, and so on). Without a tile both are counted for the least tile
that all the candidates divide, so that they compare.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import lcm, prod

from tileproof.diagnostic import Severity
from tileproof.evaluate import judge_for
from tileproof.lowering import instruction_schemas, instructions_on, legal_form, lower_atom
from tileproof.mending import ir_spelling
from tileproof.rule import Atom, Instruction, Rulebook, Scalar
from tileproof.search import legal_configurations

SHAPE = ("M", "N", "K")


@dataclass(frozen=True, slots=True)
class Query:
    """What is wanted.

    Attributes:
        facts: values that a configuration must have, by fact; a family without such a fact does not come into question.
            Sparse configurations are found where ``sparse`` is asked for.
        tile: M, N and K of the tile, in elements; an atom must divide it.
    """

    contract: str
    context: Mapping[str, Scalar]
    facts: Mapping[str, tuple[Scalar, ...]]
    tile: tuple[int, int, int] | None = None


@dataclass(frozen=True, slots=True)
class Family:
    """A schema with M, N and K, its atoms, and the instructions whose schemas extend it."""

    schema: str
    atoms: tuple[Atom, ...]
    instructions: tuple[Instruction, ...]


@dataclass(frozen=True, slots=True)
class Suggestion:
    """One legal configuration.

    Attributes:
        instructions: how many the tile takes; traffic: bytes of A and B that these read.
        ptx: the instruction, registers named by class; empty where PTX has no instruction of its own for the atom.
        atom: the CuTe type; empty where CuTe has none.
    """

    family: str
    facts: Mapping[str, Scalar]
    instructions: int
    traffic: int
    tile: tuple[int, int, int]
    ptx: str
    atom: str

    @property
    def why(self) -> str:
        """Why it stands where it stands."""
        m, n, k = self.tile
        plural = "" if self.instructions == 1 else "s"
        return f"{self.instructions} instruction{plural} for {m}x{n}x{k}, reading {self.traffic} bytes of A and B"


@lru_cache(maxsize=8)
def families(book: Rulebook) -> tuple[Family, ...]:
    """All families, in the order of the rule files; what every GPU has is not the tensor core's."""
    shaped = [
        name for name, schema in book.schemas.items() if all(fact in schema.fields for fact in (*SHAPE, "a.type"))
    ]
    declared = [atom for atom in book.atoms.values() if atom.schema in shaped and _needs(book, atom) != ".baseline"]
    based: dict[str, list[Instruction]] = {atom.schema: [] for atom in declared}
    for instruction in (item for same in book.instructions.values() for item in same if item.schema in shaped):
        common = [name for name in book.lineage(instruction.schema) if name in shaped]
        bases = [name for name in common if name in based] or [name for name in common if not _is_ptx(book, name)]
        based.setdefault((bases or [instruction.schema])[0], []).append(instruction)
    return tuple(
        Family(schema, tuple(atom for atom in declared if atom.schema == schema), tuple(based[schema]))
        for schema in shaped
        if schema in based
    )


def _is_ptx(book: Rulebook, schema: str) -> bool:
    return "ptx" in book.lineage(schema)


def _needs(book: Rulebook, atom: Atom) -> str | None:
    """The feature that an atom needs, where the registry knows it."""
    member = book.enums["atom"].by_spelling.get(atom.type)
    table = book.tables["atom", "ptx"]
    return str(table.rows[member,][table.column("needs") or 0]) if member is not None else None


def suggest(book: Rulebook, query: Query) -> list[Suggestion]:
    """All legal configurations that fit a query, ranked."""
    found = [
        (family, facts, ptx, atom) for family in families(book) for facts, ptx, atom in _of_family(book, family, query)
    ]
    tile = query.tile or _common([facts for _, facts, _, _ in found])
    suggestions = []
    for family, facts, ptx, atom in found:
        shape = [_integer(facts[name]) for name in SHAPE]
        count = prod(-(-whole // part) for whole, part in zip(tile, shape, strict=True))
        m, n, k = shape
        bits = m * k * _bits(book, facts["a.type"]) + n * k * _bits(book, facts["b.type"])
        suggestions.append(Suggestion(family.schema, facts, count, count * bits // 8, tile, ptx, atom))
    order = {family.schema: i for i, family in enumerate(families(book))}

    def rank(suggestion: Suggestion) -> tuple[int, int, int, int]:
        instance = book.schemas[suggestion.family].instance
        unlike = sum(suggestion.facts[name] != value for name, value in instance.items() if name in suggestion.facts)
        return (suggestion.instructions, suggestion.traffic, unlike, order[suggestion.family])

    return sorted(suggestions, key=rank)


def _common(configurations: Iterable[Mapping[str, Scalar]]) -> tuple[int, int, int]:
    shapes = list(configurations)
    m, n, k = (lcm(*(_integer(facts[name]) for facts in shapes)) if shapes else 1 for name in SHAPE)
    return m, n, k


def _integer(value: Scalar) -> int:
    assert isinstance(value, int), "M, N and K are numbers"
    return value


def _bits(book: Rulebook, element: Scalar) -> int:
    bits = book.tables["element", "ptx"].rows[str(element),][0]
    assert isinstance(bits, int), "rules/elements.rule"
    return bits


def _of_family(book: Rulebook, family: Family, query: Query) -> Iterator[tuple[Mapping[str, Scalar], str, str]]:
    """The legal configurations of one family, each with its PTX instruction and its CuTe type."""
    options = _options(book, family.schema, query)
    if options is None:
        return
    judge = judge_for(book, query.contract, family.schema)
    atoms = [atom for atom in family.atoms if _target_has(book, query, atom)]
    # What the target has no instruction for at all need not be asked of each configuration.
    where = query.context
    to = instruction_schemas(book, query.contract, family.schema)
    lowered = [item for name in to for item in instructions_on(book, name)]
    instructions = [
        item for item in lowered or family.instructions if legal_form(book, query.contract, where, item, {}) is not None
    ]
    # The reference pages know atoms that no instruction does; the hardware runs nothing else.
    if not instructions and (query.contract == "ptx" or not atoms):
        return
    for facts in legal_configurations(judge, options):
        found = lower_atom(book, query.contract, where, family.schema, facts, instructions)
        atom = next((spelled for one in atoms if (spelled := atom_type(book, one, facts))), "")
        if found is not None or (atom and query.contract != "ptx"):
            yield facts, found.text if found is not None else "", atom


def _options(book: Rulebook, schema: str, query: Query) -> dict[str, Sequence[Scalar]] | None:
    """The values to try for each fact; None where the family lacks a fact that is asked for."""
    fields = book.schemas[schema].fields
    if not query.facts.keys() <= fields.keys():
        return None
    options: dict[str, Sequence[Scalar]] = {}
    for fact in fields:
        values: Sequence[Scalar] = tuple(book.domain(schema, fact))
        if fact in query.context:
            values = (query.context[fact],)
        elif fact == "sparse" and fact not in query.facts:
            values = (book.schemas[schema].instance[fact],)
        elif fact in query.facts:
            values = tuple(value for value in values if value in query.facts[fact])
        elif fact in SHAPE and query.tile is not None:
            whole = query.tile[SHAPE.index(fact)]
            values = tuple(value for value in values if isinstance(value, int) and value > 0 and whole % value == 0)
        options[fact] = values
    return options


def _target_has(book: Rulebook, query: Query, atom: Atom) -> bool:
    """Whether the target has what an atom needs."""
    needs, member = _needs(book, atom), book.enums["atom"].by_spelling.get(atom.type)
    if needs is None or member is None:
        return True
    facts: dict[str, Scalar] = {"target": query.context["target"], "atom": member, "needs": needs}
    violated = judge_for(book, query.contract, "atom").violated(facts)
    return all(rule.severity is not Severity.ERROR for rule in violated)


def atom_type(book: Rulebook, atom: Atom, facts: Mapping[str, Scalar]) -> str:
    """The type of an atom with these facts, such as ``!cute_nvgpu.sm90.mma<64x128x16, ...>``.

    Empty where the declaration has a parameter that the facts do not give.
    """
    pieces = []
    for binding in atom.bindings:
        if any(fact not in facts for fact in binding.facts):
            return ""
        values = tuple(facts[fact] for fact in binding.facts)
        if values == binding.default:
            continue
        if binding.translation and not {member for _, member in binding.translation}.issuperset(values):
            return ""
        spelled = [ir_spelling(book, atom, fact, facts[fact]) for fact in binding.facts]
        if isinstance(binding.parameter, int):
            pieces.append("x".join(spelled))
        else:
            text = spelled[0] if len(spelled) == 1 else f"({', '.join(spelled)})"
            pieces.append(f"{binding.parameter} = {text}")
    return f"!{atom.type}<{', '.join(pieces)}>"
