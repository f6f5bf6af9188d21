"""Legal MMA configurations for a partial description, the best first.

A *family* is a schema with the facts M, N and K: what an atom of the IR and the PTX instruction of the same operation
have in common. Its legal configurations are found by ``evaluate.enumerate``; one counts only if the whole instruction,
operands and all, has a legal form on the target (contract tileiras: or if the target has the atom).

Ranking: what multiplies a dense A before what needs a 2:4 sparse one; fewest instructions for the tile (where warps
share it, of each of them); then fewest bytes of A and B that these read; then the configuration nearest to the legal
instance of the schema (K-major before MN-major, and so on). Without a tile both are counted for a tile of the largest
M, N and K among the candidates, so that they compare; an instruction that it does not fill counts whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from math import prod

from tileproof.base.records import dataclass
from tileproof.evaluate.enumerate import legal_configurations
from tileproof.evaluate.hardware import limit
from tileproof.evaluate.python import judge_for
from tileproof.judge.registry import target_has
from tileproof.ptx.select import instruction_schemas, instructions_on, legal_form, lower_atom
from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.declarations import HARDWARE, Atom, Instruction
from tileproof.rulebase.expression import Number, Scalar
from tileproof.rulebase.fragment import LayoutLeaf
from tileproof.suggesting.repair import ir_spelling

SHAPE = ("M", "N", "K")
SPARSE_K = "sparse.K"  # the K of an instruction that inherits the rules of a dense one
_SAME = {"scale.type": "sf.type"}  # two schemas' names for the type of a scale factor


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
class Family:
    """A schema with M, N and K, its atoms, and the instructions whose schemas extend it.

    Attributes:
        fields: the facts that make a configuration; the rest of an instruction's are its operands.
        sparse: whether A is sparse; None if a fact determines it.
        threads: how many execute an instruction together; 1 where one thread issues it for a CTA.
    """

    schema: str
    atoms: tuple[Atom, ...]
    instructions: tuple[Instruction, ...]
    fields: tuple[str, ...]
    sparse: bool | None
    threads: int

    @property
    def shape(self) -> tuple[str, str, str]:
        """The facts that are M, N and K."""
        return ("M", "N", SPARSE_K if SPARSE_K in self.fields else "K")


@dataclass(frozen=True, slots=True)
class Suggestion:
    """One legal configuration.

    Attributes:
        instructions: the number for the tile, per warp or warpgroup that shares it; traffic: bytes of A and B that
            all of them read.
        sparse: whether A is 2:4 sparse.
        ptx: the instruction, registers named by class; empty if PTX has no instruction for the atom.
        atom: the CuTe type; empty where CuTe has none.
    """

    family: str
    facts: Mapping[str, Scalar]
    instructions: int
    traffic: int
    tile: tuple[int, int, int]
    ptx: str
    atom: str
    sparse: bool

    @property
    def why(self) -> str:
        """The reason for its rank."""
        m, n, k = self.tile
        plural = "" if self.instructions == 1 else "s"
        kind = " with a sparse A" if self.sparse else ""
        return f"{self.instructions} instruction{plural} for {m}x{n}x{k}{kind}, reading {self.traffic} bytes of A and B"


@lru_cache(maxsize=8)
def families(book: Rulebook) -> tuple[Family, ...]:
    """All families, in the order of the rule files; what every GPU has is not the tensor core's."""
    shaped = [
        name for name, schema in book.schemas.items() if all(fact in schema.fields for fact in (*SHAPE, "a.type"))
    ]
    declared = [
        atom
        for atom in dict.fromkeys(book.atoms.values())
        if atom.schema in shaped and _needs(book, atom) != ".baseline"
    ]
    based: dict[str, list[Instruction]] = {atom.schema: [] for atom in declared}
    fields = {name: tuple(book.schemas[name].fields) for name in shaped}
    for instruction in (item for same in book.instructions.values() for item in same if item.schema in shaped):
        common = [name for name in book.lineage(instruction.schema) if name in shaped]
        bases = [name for name in common if name in based] or [name for name in common if not _is_ptx(book, name)]
        base = (bases or [instruction.schema])[0]
        if SPARSE_K in fields[instruction.schema]:
            fields[instruction.schema] = (*(name for name in fields[base] if name != "K"), SPARSE_K)
            base = instruction.schema
        based.setdefault(base, []).append(instruction)
    found = []
    for schema in shaped:
        if schema in based:
            atoms = tuple(atom for atom in declared if atom.schema == schema)
            sparse = _sparse(fields[schema], based[schema])
            threads = _threads(book, [*(atom.type for atom in atoms), schema])
            found.append(Family(schema, atoms, tuple(based[schema]), fields[schema], sparse, threads))
    return tuple(found)


def _sparse(fields: Sequence[str], instructions: Sequence[Instruction]) -> bool | None:
    """Whether A is sparse in a family; None if the fact ``sparse`` determines it."""
    if "sparse" in fields:
        return None
    return SPARSE_K in fields or any(dict(item.sets).get("sparse") == ".yes" for item in instructions)


def _threads(book: Rulebook, names: Sequence[str]) -> int:
    """The number of threads that execute an instruction, from the fragments; a warp by default."""
    for name in names:
        for row in book.fragments[name].rows if name in book.fragments else ():
            shape = getattr(row.layout, "shape", None)
            if row.role == "threads" and isinstance(shape, LayoutLeaf) and isinstance(shape.value, Number):
                return shape.value.value
    return limit(book, "warp_threads")


def _is_ptx(book: Rulebook, schema: str) -> bool:
    return "ptx" in book.lineage(schema)


def _needs(book: Rulebook, atom: Atom) -> str | None:
    """The feature that an atom requires, if it is in the registry."""
    member = book.enums["atom"].by_spelling.get(atom.type)
    table = book.shared_table("atom")
    return str(table.rows[member,][table.column("needs") or 0]) if member is not None else None


def suggest(book: Rulebook, query: Query) -> list[Suggestion]:
    """All legal configurations that fit a query, ranked."""
    found = [
        (family, facts, ptx, atom) for family in families(book) for facts, ptx, atom in _of_family(book, family, query)
    ]
    tile = query.tile or _largest([tuple(_integer(facts[n]) for n in family.shape) for family, facts, _, _ in found])
    suggestions = []
    for family, facts, ptx, atom in found:
        shape = [_integer(facts[name]) for name in family.shape]
        sparse = facts["sparse"] == ".yes" if family.sparse is None else family.sparse
        count = prod(-(-whole // part) for whole, part in zip(tile, shape, strict=True))
        m, n, k = shape
        bits = m * k * _bits(book, facts["a.type"]) // (2 if sparse else 1) + n * k * _bits(book, facts["b.type"])
        each = -(-count // _sharers(book, family, query))
        suggestions.append(Suggestion(family.schema, facts, each, count * bits // 8, tile, ptx, atom, sparse))
    order = {family.schema: i for i, family in enumerate(families(book))}

    def rank(suggestion: Suggestion) -> tuple[bool, int, int, int, int]:
        instance = book.schemas[suggestion.family].instance
        unlike = sum(suggestion.facts[name] != value for name, value in instance.items() if name in suggestion.facts)
        return (suggestion.sparse, suggestion.instructions, suggestion.traffic, unlike, order[suggestion.family])

    return sorted(suggestions, key=rank)


def _sharers(book: Rulebook, family: Family, query: Query) -> int:
    """How many warps, or warpgroups, issue instructions for the tile; 0 where not even one is whole."""
    warp = limit(book, "warp_threads")
    if query.warps is None or family.threads < warp:
        return 1
    return query.warps * warp // family.threads


def _largest(shapes: Sequence[tuple[int, ...]]) -> tuple[int, int, int]:
    m, n, k = (max((shape[i] for shape in shapes), default=1) for i in range(3))
    return m, n, k


def _integer(value: Scalar) -> int:
    assert isinstance(value, int), "M, N and K are numbers"
    return value


def _bits(book: Rulebook, element: Scalar) -> int:
    bits = book.shared_table("element").rows[str(element),][0]
    assert isinstance(bits, int), "rules/elements.rule"
    return bits


def _of_family(book: Rulebook, family: Family, query: Query) -> Iterator[tuple[Mapping[str, Scalar], str, str]]:
    """The legal configurations of one family, each with its PTX instruction and its CuTe type."""
    options = _options(book, family, query)
    if options is None or not _sharers(book, family, query):
        return
    judge = judge_for(book.under(query.contract), family.schema)
    atoms = [atom for atom in family.atoms if _target_has(book, query, atom)]
    # Without any instruction on the target no configuration needs a check.
    where = query.context
    to = instruction_schemas(book.under(query.contract), family.schema)
    lowered = [item for name in to for item in instructions_on(book, name)]
    instructions = [
        item
        for item in lowered or family.instructions
        if legal_form(book.under(query.contract), where, item, {}) is not None
    ]
    # The reference pages have atoms without an instruction, which the hardware cannot execute.
    if not instructions and (query.contract == HARDWARE or not atoms):
        return
    for facts in legal_configurations(judge, options):
        found = lower_atom(book.under(query.contract), where, family.schema, facts, instructions)
        atom = next((spelled for one in atoms if (spelled := atom_type(book, one, facts))), "")
        if found is not None or (atom and query.contract != HARDWARE):
            yield facts, found.text if found is not None else "", atom


def _options(book: Rulebook, family: Family, query: Query) -> dict[str, Sequence[Scalar]] | None:
    """The values to try for each fact; None if the family lacks a fact of the query."""
    if family.sparse is not None and query.sparsity == ("dense" if family.sparse else "sparse"):
        return None
    wanted = {_named(family, fact): values for fact, values in query.facts.items()}
    if not wanted.keys() <= set(family.fields):
        return None
    if _SAME.get("scale.type") in wanted and "scale.type" in query.facts:  # the IR has one E4M3, with and without sign
        wanted["sf.type"] = tuple(".e4m3" if value == ".ue4m3" else value for value in wanted["sf.type"])
    options: dict[str, Sequence[Scalar]] = {}
    for fact in family.fields:
        values: Sequence[Scalar] = tuple(book.domain(family.schema, fact))
        if fact in query.context:
            values = (query.context[fact],)
        elif fact in wanted:
            values = tuple(value for value in values if value in wanted[fact])
        elif fact == "sparse" and query.sparsity != "any":
            values = (".yes" if query.sparsity == "sparse" else ".no",)
        elif fact in family.shape and query.tile is not None:
            whole = query.tile[family.shape.index(fact)]
            values = tuple(value for value in values if isinstance(value, int) and value > 0 and whole % value == 0)
        options[fact] = values
    return options


def _named(family: Family, fact: str) -> str:
    """The name of a fact in a family."""
    if fact == "K":
        return family.shape[2]
    return _SAME[fact] if fact not in family.fields and fact in _SAME else fact


def _target_has(book: Rulebook, query: Query, atom: Atom) -> bool:
    """Whether the target has the feature that an atom requires."""
    needs, member = _needs(book, atom), book.enums["atom"].by_spelling.get(atom.type)
    if needs is None or member is None:
        return True
    return target_has(book.under(query.contract), query.context["target"], member, needs)


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
