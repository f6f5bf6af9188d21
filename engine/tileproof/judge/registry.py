"""The registry of atoms, read from rules/: required features, interfaces and memory spaces of the operands.

Generic code uses interfaces and never compares mnemonics. ``AtomContract`` is the common record; an MMA atom adds
``MmaAtomContract``, a copy atom ``CopyAtomContract``.
"""

from __future__ import annotations

from collections.abc import Iterator

from tileproof.base.diagnostic import Severity
from tileproof.base.records import dataclass
from tileproof.evaluate.python import judge_for
from tileproof.rulebase.book import Rulebook, Ruleset
from tileproof.rulebase.declarations import Table
from tileproof.rulebase.expression import Scalar, Value


@dataclass(frozen=True, slots=True)
class MmaAtomContract:
    """Memory spaces of A, B and D of an MMA atom, and its further operands."""

    a: frozenset[str]
    b: frozenset[str]
    d: frozenset[str]
    supports_sparse: bool
    supports_block_scale: bool


@dataclass(frozen=True, slots=True)
class CopyAtomContract:
    """Source and destination memory space of a copy atom, and the kind of copy.

    Attributes:
        value_bits: the bits of one copy; empty if the atom's parameters have them.
        needs_barrier: it completes on an mbarrier.
        instruction: the PTX instructions that it becomes.
    """

    source: frozenset[str]
    destination: frozenset[str]
    value_bits: frozenset[int]
    is_async: bool
    uses_tma_descriptor: bool
    supports_prefetch: bool
    needs_barrier: bool
    instruction: str


@dataclass(frozen=True, slots=True)
class AtomContract:
    """One atom of the registry.

    Attributes:
        mnemonics: its spellings in IR.
        interfaces: in the words of the reference, ``CopyAtom``.
        verifier: the interface whose verifier checks an instance; None if it is not an atom.
        targets: the targets that have it.
    """

    name: str
    mnemonics: tuple[str, ...]
    min_tier: str
    interfaces: tuple[str, ...]
    verifier: str | None
    targets: tuple[str, ...]
    mma: MmaAtomContract | None
    copy: CopyAtomContract | None


def contracts(ruleset: Ruleset) -> Iterator[AtomContract]:
    """Every atom of the registry."""
    for member, mnemonics in ruleset.book.enums["atom"].members.items():
        if (member,) in ruleset.table("atom").rows:
            yield _contract(ruleset, member, mnemonics)


def contract_of(book: Rulebook, mnemonic: str, contract: str) -> AtomContract | None:
    """The atom of a mnemonic, with or without ``cute_nvgpu.``; None where there is none."""
    spellings = book.enums["atom"].by_spelling
    member = spellings.get(mnemonic) or spellings.get(f"cute_nvgpu.{mnemonic}")
    if member is None or (member,) not in book.tables["atom", contract].rows:
        return None
    return _contract(book.under(contract), member, book.enums["atom"].members[member])


def verifier(book: Rulebook, member: str, contract: str) -> str | None:
    """The first interface of the dispatch order that an atom implements; None for none of them."""
    _, interfaces, _ = book.tables["registry", contract].rows[member,]
    order = {key[0]: row[0] for key, row in book.tables["dispatch", contract].rows.items()}
    return min(_names(interfaces) & order.keys(), key=lambda name: int(str(order[name])), default=None)


def target_has(ruleset: Ruleset, target: Scalar, member: str, needs: str) -> bool:
    """Whether the rules about atoms and targets let a target have an atom, which needs a feature."""
    facts: dict[str, Scalar] = {"target": target, "atom": member, "needs": needs}
    violated = judge_for(ruleset, "atom").violated(facts)
    return all(rule.severity is not Severity.ERROR for rule in violated)


def as_text(atom: AtomContract) -> str:
    """The record as ``explain`` shows it."""
    lines = [f"{atom.mnemonics[0]}: since {atom.min_tier}, implements {', '.join(atom.interfaces)}"]
    lines += [f"  also spelled {name}" for name in atom.mnemonics[1:]]
    if atom.verifier is not None:
        lines.append(f"  checked by the verifier of {atom.verifier}")
    if (mma := atom.mma) is not None:
        for role, places in (("A", mma.a), ("B", mma.b), ("D", mma.d)):
            lines.append(f"  {role} in {' or '.join(sorted(places))}")
        lines += ["  with sparse metadata"] * mma.supports_sparse + ["  with scale factors"] * mma.supports_block_scale
    if (copy := atom.copy) is not None:
        lines.append(f"  from {' or '.join(sorted(copy.source))} to {' or '.join(sorted(copy.destination))}")
        lines.append(f"  becomes {copy.instruction}")
        if copy.value_bits:
            lines.append(f"  moves {', '.join(map(str, sorted(copy.value_bits)))} bits at once")
        flags = {
            "asynchronous": copy.is_async,
            "driven by a TMA descriptor": copy.uses_tma_descriptor,
            "prefetches": copy.supports_prefetch,
            "must be bound to an mbarrier": copy.needs_barrier,
        }
        lines += [f"  {word}" for word, holds in flags.items() if holds]
    lines.append(f"  targets: {', '.join(atom.targets) or 'none'}")
    return "\n".join(lines)


def porting(book: Rulebook) -> dict[str, tuple[str, str]]:
    """The IR counterpart of each CUTLASS concept, and the difference."""
    spellings = book.enums["cutlass_concept"].members
    rows = book.shared_table("porting").rows
    return {spellings[key[0]][0]: (str(form), str(note)) for key, (form, note) in rows.items()}


def _contract(ruleset: Ruleset, member: str, mnemonics: tuple[str, ...]) -> AtomContract:
    tier, interfaces, _ = ruleset.table("registry").rows[member,]
    names = ruleset.book.enums["interface"].members
    (needs,) = ruleset.table("atom").rows[member,]
    roster = [target for (target,) in ruleset.table("target").rows]
    judge = verifier(ruleset.book, member, ruleset.contract)
    return AtomContract(
        member[1:],
        mnemonics,
        str(tier)[1:],
        tuple(spelled[0] for name, spelled in names.items() if name in _names(interfaces)),
        None if judge is None else names[judge][0],
        tuple(target[1:] for target in roster if target_has(ruleset, target, member, str(needs))),
        _mma(ruleset.book, ruleset.table("mma_operands"), member),
        _copy(ruleset.book, ruleset.table("copy_contract"), member, ".prefetch" in _names(interfaces)),
    )


def _mma(book: Rulebook, table: Table, member: str) -> MmaAtomContract | None:
    row = table.rows.get((member,))
    if row is None:
        return None
    a, b, d, metadata, scales = row
    return MmaAtomContract(_places(book, a), _places(book, b), _places(book, d), metadata == ".yes", scales == ".yes")


def _copy(book: Rulebook, table: Table, member: str, prefetches: bool) -> CopyAtomContract | None:
    row = table.rows.get((member,))
    if row is None:
        return None
    cells = dict(zip(table.columns, row, strict=True))
    bits = cells["bits"]
    assert isinstance(bits, frozenset), "rules/copy/atoms.rule"
    return CopyAtomContract(
        _places(book, cells["source"]),
        _places(book, cells["destination"]),
        frozenset(size for size in bits if isinstance(size, int) and size),
        cells["async"] == ".yes",
        cells["descriptor"] == ".yes",
        prefetches,
        cells["barrier"] == ".yes",
        str(cells["ptx"]),
    )


def _names(value: Value) -> frozenset[str]:
    assert isinstance(value, frozenset), "a set of names in rules/"
    return frozenset(str(name) for name in value)


def _places(book: Rulebook, value: Value) -> frozenset[str]:
    return frozenset(book.enums["residency"].members[name][0] for name in _names(value))
