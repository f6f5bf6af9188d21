"""MMAs by the operation: the atoms of the IR and the PTX instructions that share a schema with M, N and K."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import product

from tileproof.base.diagnostic import Severity
from tileproof.base.records import dataclass
from tileproof.evaluate.hardware import limit
from tileproof.evaluate.python import Check, judge_for
from tileproof.rulebase.book import Rulebook, Ruleset
from tileproof.rulebase.declarations import Atom, Binding, Enumerated, Instruction
from tileproof.rulebase.expression import Number, Scalar
from tileproof.rulebase.fragment import LayoutLeaf

SHAPE = ("M", "N", "K")
SPARSE_K = "sparse.K"  # the K of an instruction that inherits the rules of a dense one
# What an instruction computes and no atom says; the rest of what it has beyond an atom is how it is written.
COMPUTES = (
    *("c.type", "a.layout", "b.layout", "ordered", "kind", "operation", "reduction", "rounding", "satfinite"),
    *("b1.combine", "b1.sum"),
)
# How the IR writes an atom, which no instruction has: the tier of its name, the target that it is promoted to.
_WRITTEN = ("home", "promoted")


@dataclass(frozen=True, slots=True)
class Family:
    """A schema with M, N and K, its atoms, and the instructions whose schemas extend it.

    Attributes:
        fields: the facts that make a configuration; the rest of an instruction's are its operands.
        sparse: whether A is sparse; None if a fact determines it.
        threads: how many execute an instruction together; 1 where one thread issues it for a CTA.
        placed: whether there is a fragment, which says where each thread has which elements.
    """

    schema: str
    atoms: tuple[Atom, ...]
    instructions: tuple[Instruction, ...]
    fields: tuple[str, ...]
    sparse: bool | None
    threads: int
    placed: bool

    @property
    def shape(self) -> tuple[str, str, str]:
        """The facts that are M, N and K."""
        return ("M", "N", SPARSE_K if SPARSE_K in self.fields else "K")

    def named(self, fact: str) -> str:
        """The name of a fact in this family."""
        if fact == "K":
            return self.shape[2]
        return _SAME[fact] if fact not in self.fields and fact in _SAME else fact


_SAME = {"scale.type": "sf.type"}  # two schemas' names for the type of a scale factor


@lru_cache(maxsize=8)
def families(book: Rulebook) -> tuple[Family, ...]:
    """All families, in the order of the rule files; what every GPU has is not the tensor core's."""
    shaped = [
        name for name, schema in book.schemas.items() if all(fact in schema.fields for fact in (*SHAPE, "a.type"))
    ]
    declared = [
        atom
        for atom in dict.fromkeys(book.atoms.values())
        if atom.schema in shaped and feature_of(book, atom) != ".baseline"
    ]
    based: dict[str, list[Instruction]] = {atom.schema: [] for atom in declared}
    fields = {name: _fields(book, name) for name in shaped}
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
            names = [*(atom.type for atom in atoms), schema]
            placed = any(name in book.fragments for name in names)
            threads = _threads(book, names)
            found.append(Family(schema, atoms, tuple(based[schema]), fields[schema], sparse, threads, placed))
    return tuple(found)


def _fields(book: Rulebook, schema: str) -> tuple[str, ...]:
    """The facts of a schema without the target and how the IR writes an atom."""
    fields = book.schemas[schema].fields
    return tuple(name for name in fields if name not in _WRITTEN and fields[name] != Enumerated("target"))


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


def feature_of(book: Rulebook, atom: Atom) -> str | None:
    """The feature that an atom requires, if it is in the registry."""
    member = book.enums["atom"].by_spelling.get(atom.type)
    table = book.shared_table("atom")
    return str(table.rows[member,][table.column("needs") or 0]) if member is not None else None


def atom_with(ruleset: Ruleset, atom: Atom, facts: Mapping[str, Scalar]) -> str:
    """The type of an atom that is legal and has these facts; empty where there is none.

    What the facts leave open is how the IR writes it, and the first value that is legal is taken.
    """
    if any(facts.get(name, value) != value for name, value in atom.sets):
        return ""
    known = {**facts, **dict(atom.sets)}
    fields = ruleset.book.schemas[atom.schema].fields
    fixed = tuple(name for name in _WRITTEN if name in fields)
    free = [name for name in fixed if name not in known]
    checks = _checks_of(ruleset, atom.schema, fixed) if fixed else ()
    for values in product(*(ruleset.book.domain(atom.schema, name) for name in free)):
        trial = {**known, **dict(zip(free, values, strict=True))}
        if all(check(trial) is not False for check in checks):
            return atom_type(ruleset.book, atom, trial)
    return ""


@lru_cache(maxsize=64)
def _checks_of(ruleset: Ruleset, schema: str, facts: tuple[str, ...]) -> tuple[Check, ...]:
    """The rules of severity error that read one of some facts."""
    checks = judge_for(ruleset, schema).checks
    errors = (check for check in checks if check.rule.severity is Severity.ERROR)
    return tuple(check for check in errors if not check.rule.facts.isdisjoint(facts))


def atom_type(book: Rulebook, atom: Atom, facts: Mapping[str, Scalar]) -> str:
    """The type of an atom with these facts, such as ``!cute_nvgpu.sm90.mma<64x128x16, ...>``.

    Empty where the declaration has a parameter that the facts do not give, or says another fact than they do.
    """
    if any(facts.get(name, value) != value for name, value in atom.sets):
        return ""
    pieces = []
    for binding in atom.bindings:
        try:
            values = tuple([facts[fact] for fact in binding.facts])
        except KeyError:
            return ""
        piece = _parameter(book, atom, binding, values)
        if piece is None:
            return ""
        if piece:
            pieces.append(piece)
    return f"!{atom.type}<{', '.join(pieces)}>"


@lru_cache(maxsize=4096)
def _parameter(book: Rulebook, atom: Atom, binding: Binding, values: tuple[Scalar, ...]) -> str | None:
    """A parameter as it is written; empty where it is left out, None where it cannot say these values."""
    if binding.written:
        return f"{binding.parameter} = {binding.written}"
    if values == binding.default and not binding.always:
        return ""
    if binding.unwritten:
        return None
    if binding.translation and not {member for _, member in binding.translation}.issuperset(values):
        return None
    spelled = [ir_spelling(book, atom, fact, value) for fact, value in zip(binding.facts, values, strict=True)]
    if isinstance(binding.parameter, int):
        return "x".join(spelled)
    return f"{binding.parameter} = {spelled[0] if len(spelled) == 1 else '(' + ', '.join(spelled) + ')'}"


def ir_spelling(book: Rulebook, atom: Atom, fact: str, value: Scalar) -> str:
    """The spelling of a fact's value as an atom's parameter."""
    for binding in atom.bindings:
        if fact in binding.facts:
            for spelling, member in binding.translation:
                if member == value:
                    return binding.pattern.replace("{}", spelling) if binding.pattern else spelling
    match book.schemas[atom.schema].fields[fact]:
        case Enumerated(enum) if spellings := book.enums[enum].members.get(str(value)):
            return spellings[0]
    return str(value).removeprefix(".")
