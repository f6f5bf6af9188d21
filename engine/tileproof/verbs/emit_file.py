"""``emit FILE``: an entry for each MMA and each copy of a module that was checked, with the descriptors it makes.

An entry holds one instruction of the operation, the first of its tile, with the protocol around it. What starts where
in shared memory is known to the kernel alone: here A starts at 0 and B behind it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tileproof.candidates import families
from tileproof.canonical import NoDescriptor, Undecided
from tileproof.diagnostic import Severity
from tileproof.dialects.descriptors import Made, made
from tileproof.dialects.entities import resolve
from tileproof.dialects.types import Kind
from tileproof.emit import kernel
from tileproof.emit.placing import ALIGNMENT
from tileproof.emit.sequence import Placed, Sequence, sequence
from tileproof.facts import MalformedAtom, atom_facts
from tileproof.ir import Operation
from tileproof.layout import cosize
from tileproof.lowering import Lowered, lower_atom
from tileproof.report.values import Report
from tileproof.rule import Rulebook, Scalar
from tileproof.scan import Scan, scan
from tileproof.source import Source
from tileproof.syntax import SyntaxFault
from tileproof.syntax.types import type_tree
from tileproof.verbs.check import check_source
from tileproof.verbs.descriptors import described
from tileproof.verbs.emit import BadAtom, Refused
from tileproof.verbs.legal import context
from tileproof.verbs.outcome import Options

OPERATIONS = ("cute.gemm", "cute.mma_atom_call", "cute.copy", "cute.copy_atom_call")
_CHAIN = 64  # operations between a descriptor and its use


@dataclass(frozen=True, slots=True)
class _Use:
    """One operation on an atom, with the atom's instruction; None where it has none of its own."""

    operation: Operation
    atom: str
    lowered: Lowered | None


def emit_file(book: Rulebook, source: Source, target: str | None = None) -> str:
    """A PTX module for a file of IR.

    Args:
        target: such as ``sm_90a``; None for what the IR names, else the least that admits its atoms.

    Raises:
        Refused: the file has errors.
        BadAtom: it holds no IR, or no operation that becomes an instruction.
    """
    options = Options("ptx", target)
    report = check_source(book, source, options)
    if report.empty:
        raise BadAtom(f"{source.name}: holds no IR")
    if any(d.severity is Severity.ERROR for d in report.diagnostics):
        raise Refused(Report((report,), (), options, book))
    found = scan(source)
    if not found.holds_ir or report.target is None:
        raise BadAtom(f"{source.name}: there is nothing to emit in it")
    where = context(book, str(report.target))
    maker = _Descriptors(book, found)
    entries: list[tuple[str, list[Sequence], list[str]]] = []
    notes = []
    for use in _uses(book, found, where, maker):
        line, _ = source.position(use.operation.span.start)
        title = f"{source.name}:{line}: {use.operation.name} of {use.atom}"
        if use.lowered is None:
            notes.append(f"// {title}: the compiler's own loads, stores or arithmetic")
            continue
        placed, missing = maker.placed(use.operation)
        one = sequence(book, "ptx", use.lowered, placed)
        assert one is not None, "every instruction has a sequence"
        kind = "mma" if use.operation.name in OPERATIONS[:2] else "copy"
        comments = [title, *(f"{name}: {reason}; it is loaded" for name, reason in missing.items())]
        entries.append((f"{kind}_{len(entries)}_line_{line}", [one], comments))
    if not entries:
        raise BadAtom(f"{source.name}: it holds no MMA and no copy that has an instruction of its own")
    return kernel.module(book, where, entries) + "".join(f"{note}\n" for note in notes)


def _uses(book: Rulebook, found: Scan, where: dict[str, Scalar], maker: _Descriptors) -> Iterator[_Use]:
    aliases = found.module.aliases
    for operation in found.module.walk():
        maker.note(operation)
        if operation.name not in OPERATIONS or not operation.inputs:
            continue
        text = resolve(operation.inputs[0].text, aliases)
        try:
            tree = type_tree(text)
            node = next((n for n in tree.walk() if n.kind is Kind.TYPE and n.text.lstrip("!") in book.atoms), None)
            if node is None:
                continue
            declaration = book.atoms[node.text.lstrip("!")]
            facts = atom_facts(book, declaration, node, 0).values
        except (SyntaxFault, MalformedAtom):
            continue
        otherwise = next((f.instructions for f in families(book) if f.schema == declaration.schema), ())
        lowered = lower_atom(book, "ptx", where, declaration.schema, facts, otherwise)
        yield _Use(operation, text[node.start : node.end], lowered)


class _Descriptors:
    """The descriptors of a module, by the operations that use them. Names are followed as far as the text was read."""

    def __init__(self, book: Rulebook, found: Scan) -> None:
        self.book = book
        self.made = {id(one.operation): one for one in made(book, found.module.operations, found.module.aliases)}
        self.defined: dict[str, Operation] = {}

    def note(self, operation: Operation) -> None:
        """An operation that was read: its results mean this from here on."""
        self.defined.update({result.name: operation for result in operation.results})

    def placed(self, operation: Operation) -> tuple[dict[str, Placed], dict[str, str]]:
        """Where A and B lie, as far as it is known, and why one is not."""
        offset = 0
        placed: dict[str, Placed] = {}
        missing: dict[str, str] = {}
        for one in filter(None, map(self.origin, operation.operands)):
            name = (one.operand or "").lower()
            if not name or name in placed:
                continue
            try:
                known = described(self.book, "ptx", one)
            except (NoDescriptor, Undecided) as error:
                missing[name] = str(error)
                continue
            placed[name] = Placed(offset, known.value)
            elements = cosize(one.layout)
            size = elements * one.bits // 8 if isinstance(elements, int) else 0
            offset += -(-size // ALIGNMENT) * ALIGNMENT
        return placed, missing

    def origin(self, value: str) -> Made | None:
        """The operation that made the descriptor that a value is, or is a part of."""
        for _ in range(_CHAIN):
            operation = self.defined.get(value)
            if operation is None:
                return None
            if id(operation) in self.made:
                return self.made[id(operation)]
            if not operation.operands:
                return None
            value = operation.operands[0]
        return None
