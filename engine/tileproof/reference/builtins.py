"""One builtin of the front end: its id, its gate, its instruction, and what the legality rules say of that.

Everything is read from rules/builtins. The instruction is made as that of an atom is (``ptx.select``): a lowering gives
its facts, what they leave open is chosen by the rules, and the targets that have it are those with a legal choice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from tileproof.base.patterns import regex
from tileproof.base.records import dataclass
from tileproof.checking.instruction import Verdict, context, legal
from tileproof.ptx.select import lower_atom
from tileproof.reference.tables import Row, number, numbers, rows, spelled
from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.declarations import HARDWARE
from tileproof.rulebase.expression import Value

_DIGITS = regex(r"\d+")


@dataclass(frozen=True, slots=True)
class Gate:
    """What the function that emits a builtin compares with the architecture.

    Attributes:
        functions: its two copies, of the AsmPrinter and of the backend.
        expression: the comparison; empty where the page gives none.
        since: the first SM that passes; None where the page gives no comparison.
        partly: the SM where only some variants pass; None where there is none.
    """

    function: str
    functions: tuple[str, str]
    expression: str
    since: int | None
    partly: int | None
    note: str


@dataclass(frozen=True, slots=True)
class Builtin:
    """One builtin.

    Attributes:
        member: of the enum ``builtin``.
        first, last: its id is one of these; they are equal where the page determines it.
        basis: what says so.
        types: of the fragment, or of A and B, C and D.
        operands: as the page lists them: of an MMA with their values where it gives them.
        llvm: its intrinsic in LLVM; empty where there is none.
        lookup: the tables from its id to an intrinsic, with the entry; empty where no table has it.
    """

    member: str
    name: str
    first: int
    last: int
    basis: str
    family: str
    operation: str
    shape: str
    types: tuple[str, ...]
    gate: Gate | None
    operands: tuple[str, ...]
    llvm: str
    lookup: tuple[str, ...]

    @property
    def ids(self) -> str:
        """The id, or those that it may be."""
        return str(self.first) if self.first == self.last else f"{self.first}-{self.last}"


@dataclass(frozen=True, slots=True)
class Judged:
    """A builtin's instruction and where it is legal.

    Attributes:
        ptx: the instruction; registers are named by class. Empty where no target has it.
        targets: those that have it, by the rules of the hardware.
        target: of which it was asked; None for none.
        passes: whether the page's gate lets that target pass; None where there is no gate or no target, or where it
            lets only some variants pass.
        verdict: of the rules, on that target.
    """

    ptx: str
    targets: tuple[str, ...]
    target: str | None
    passes: bool | None
    verdict: Verdict | None


def builtins(book: Rulebook) -> tuple[Builtin, ...]:
    """All builtins, in the order of their ids."""
    return _all(book)


@lru_cache(maxsize=4)
def _all(book: Rulebook) -> tuple[Builtin, ...]:
    made = [_made(book, member, row) for member, row in rows(book, "builtin").items()]
    return tuple(sorted(made, key=lambda one: (one.first, one.last)))


def _made(book: Rulebook, member: str, row: Row) -> Builtin:
    first, last = number(row["id"]), number(row["last"])
    types: tuple[Value, ...] = (row["type"],)
    if spelled(book, "builtin_operation", row["operation"]) == spelled(book, "builtin_operation", ".mma"):
        types = (row["type"], row["c"], row["d"])
    return Builtin(
        member=member,
        name=spelled(book, "builtin", member),
        first=first,
        last=last,
        basis=spelled(book, "builtin_basis", row["basis"]),
        family=spelled(book, "builtin_family", row["family"]),
        operation=spelled(book, "builtin_operation", row["operation"]),
        shape=spelled(book, "builtin_tile", row["tile"]),
        types=tuple(str(one)[1:] for one in types),
        gate=_gate(book, row),
        operands=tuple(_operands(book, member, str(row["operation"]))),
        llvm=_llvm(book, row),
        lookup=tuple(_lookups(book, first)) if first == last else (),
    )


def _operands(book: Rulebook, member: str, operation: str) -> Iterator[str]:
    """The operands: of WGMMA as its argument layout has them, of another MMA as its handler does."""
    wgmma = rows(book, "wgmma_builtin").get(member)
    if wgmma is not None:
        yield spelled(book, "wgmma_chain", wgmma["chain"])
    elif operation == ".mma":
        for key, row in rows(book, "mma_operand").items():
            values = sorted(numbers(row["values"]))
            yield spelled(book, "mma_operand", key) + (f" ({values[0]} to {values[-1]})" if values else "")


def _llvm(book: Rulebook, row: Row) -> str:
    found = book.shared_table("builtin_llvm").rows.get((str(row["family"]), str(row["operation"])))
    parts = {name: str(row[name])[1:] for name in ("type", "c", "d", "combine")}
    return str(found[0]).format(shape=spelled(book, "builtin_tile", row["tile"]), **parts) if found is not None else ""


def _gate(book: Rulebook, row: Row) -> Gate | None:
    table = book.shared_table("builtin_gate")
    found = table.rows.get((str(row["family"]), str(row["operation"])))
    if found is None:
        return None
    function, gated = map(str, found)
    copies = rows(book, "mma_function")[function]
    pair = (str(copies["asm_printer"]), str(copies["backend"]))
    name = spelled(book, "mma_function", function)
    if gated == ".no":
        return Gate(name, pair, "", None, None, "")
    gate = rows(book, "gate")[function]
    since = number(gate["least"]) // number(gate["per_sm"])
    partial = rows(book, "partial_gate").get(function)
    partly = number(partial["architecture"]) if partial is not None else None
    return Gate(name, pair, str(gate["expression"]), since, partly, str(gate["note"]))


def _lookups(book: Rulebook, identifier: int) -> Iterator[str]:
    for row in rows(book, "builtin_lookup").values():
        first = number(row["first"])
        if first <= identifier <= number(row["last"]):
            yield f"NVVM {row['nvvm']}, entry {identifier - first}"
        first = number(row["edg_first"])
        if first <= identifier <= number(row["edg_last"]):
            yield f"EDG {row['edg']}, entry {identifier - first}"


def judged(book: Rulebook, builtin: Builtin, target: str | None = None) -> Judged:
    """The instruction of a builtin and where it is legal.

    Raises:
        BadRequest: no such target.
    """
    where = None if target is None else context(book, target)
    spellings = _spellings(book, builtin.member)
    targets = tuple(name for name in spellings if spellings[name])
    ptx = next(filter(None, [spellings.get(target or "", ""), *spellings.values()]), "")
    passes = verdict = None
    if where is not None and target is not None:
        gate = builtin.gate
        if gate is not None and gate.since is not None and _architecture(target) != gate.partly:
            passes = _architecture(target) >= gate.since
        verdict = legal(book.under(HARDWARE), ptx, where) if ptx else None
    return Judged(ptx, targets, target, passes, verdict)


@lru_cache(maxsize=256)
def _spellings(book: Rulebook, member: str) -> Mapping[str, str]:
    """The instruction of a builtin on each target; empty where it has none."""
    found = {}
    for name in book.enums["target"].members:
        lowered = lower_atom(book.under(HARDWARE), context(book, name[1:]), "builtin", {"name": member})
        found[name[1:]] = lowered.text if lowered is not None else ""
    return found


def _architecture(target: str) -> int:
    """The number of an SM in the name of its target."""
    digits = _DIGITS.search(target)
    assert digits is not None, "targets are sm_ and a number"
    return int(digits[0])


def as_json(builtin: Builtin, judgement: Judged | None = None) -> dict[str, Any]:
    """A builtin as a JSON object; ``ptx`` and ``targets`` where it was judged, ``verdict`` where a target was given."""
    gate = builtin.gate
    found: dict[str, Any] = {
        "kind": "builtin",
        "name": builtin.name,
        "id": builtin.first if builtin.first == builtin.last else None,
        "ids": [builtin.first, builtin.last],
        "basis": builtin.basis,
        "family": builtin.family,
        "operation": builtin.operation,
        "shape": builtin.shape,
        "types": list(builtin.types),
        "operands": list(builtin.operands),
        "llvm": builtin.llvm or None,
        "lookup": list(builtin.lookup),
        "gate": None
        if gate is None
        else {
            "function": gate.function,
            "copies": list(gate.functions),
            "expression": gate.expression or None,
            "since": gate.since,
            "note": gate.note or None,
        },
    }
    if judgement is not None:
        found |= {"ptx": judgement.ptx or None, "targets": list(judgement.targets)}
        if judgement.verdict is not None:
            verdict = judgement.verdict
            found["verdict"] = {
                "target": judgement.target,
                "passes_gate": judgement.passes,
                "legal": verdict.legal,
                "codes": list(verdict.codes),
                "message": verdict.message,
            }
    return found


def lines(builtin: Builtin, judgement: Judged) -> Iterator[tuple[str, str]]:
    """What is shown of a builtin: a label and a text each."""
    yield "id", f"{builtin.ids} ({builtin.basis})"
    yield "does", f"{builtin.family}, {builtin.operation}, {builtin.shape} {' '.join(builtin.types)}"
    for one in builtin.lookup:
        yield "table", one
    for one in builtin.operands:
        yield "operand", one
    if builtin.llvm:
        yield "llvm", builtin.llvm
    gate = builtin.gate
    if gate is None:
        yield "gate", "the page names no function that emits it"
    else:
        says = f"{gate.expression}: from SM {gate.since} on" if gate.since is not None else "no threshold on the page"
        note = f"; {gate.note}" if gate.note else ""
        yield "gate", f"{says} ({gate.function}: {gate.functions[0]}, {gate.functions[1]}{note})"
    yield "ptx", judgement.ptx or "no target has this instruction"
    yield "targets", " ".join(judgement.targets) or "none"
    if judgement.verdict is not None:
        if judgement.passes is not None:
            yield "gate says", f"{judgement.target} {'passes' if judgement.passes else 'does not pass'}"
        verdict = judgement.verdict
        codes = ", ".join(verdict.codes)
        said = f"legal{' (' + codes + ')' if codes else ''}" if verdict.legal else f"{codes}: {verdict.message}"
        yield "rules say", f"{judgement.target}: {said}"
