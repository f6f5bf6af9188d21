"""``emit FILE``: entries for the MMAs and copies of a module that was checked, with the descriptors it makes, and one
for each kernel that orders them by itself.

An entry of an MMA or a copy holds one instruction of the operation, the first of its tile, with the protocol around
it. What starts where in shared memory is known to the kernel alone: here A starts at 0 and B after it. The entry of a
kernel holds its own fences, barriers, commits and waits in the order of the text, and names MMAs and copies between.
"""

from __future__ import annotations

from collections.abc import Mapping

from tileproof.base.diagnostic import Severity
from tileproof.base.records import dataclass
from tileproof.base.source import Source
from tileproof.checking.file import check_source
from tileproof.checking.instruction import context, legal
from tileproof.descriptors.canonical import NoDescriptor, Undecided
from tileproof.dialects.facts import MalformedAtom, atom_facts
from tileproof.dialects.operands import resolve
from tileproof.dialects.operations import Operations
from tileproof.emitting import kernel
from tileproof.emitting.atom import BadAtom, Refused
from tileproof.emitting.sequence import Placed, Sequence, lone, sequence
from tileproof.evaluate import bitfields
from tileproof.evaluate.hardware import swizzle_period
from tileproof.judge.outcome import Options
from tileproof.layout import cosize
from tileproof.memory.descriptors import Made, made
from tileproof.memory.known_bits import Known, fold
from tileproof.memory.listing import described
from tileproof.memory.origins import definitions
from tileproof.memory.pointers import Places
from tileproof.mlir.ir import Operation
from tileproof.mlir.scanner import Scan, scan
from tileproof.mlir.scopes import Scope, walk
from tileproof.mlir.types import Kind
from tileproof.protocol.verify import kernels
from tileproof.ptx.opcode import read_opcode
from tileproof.ptx.select import Lowered, lower_atom
from tileproof.report.values import Report
from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.declarations import HARDWARE
from tileproof.rulebase.expression import Scalar
from tileproof.suggesting.families import families
from tileproof.syntax import SyntaxFault
from tileproof.syntax.types import type_tree
from tileproof.uses.copies import read_copy
from tileproof.uses.nvvm import SCHEMA, is_raw, raw_facts

_DISTANCE = 32  # periods of the longest swizzle from A to B where a kernel made their descriptors by itself


@dataclass(frozen=True, slots=True)
class _Use:
    """An operation in PTX.

    Attributes:
        what: ``mma`` or ``copy``, which have entries of their own, else ``protocol``.
        of: the atom's type, or the name of the operation.
        sequence: None where it becomes no instruction of its own.
        missing: why a descriptor is not known, by operand.
    """

    operation: Operation
    what: str
    of: str
    sequence: Sequence | None
    missing: Mapping[str, str]


def emit_file(book: Rulebook, source: Source, target: str | None = None) -> str:
    """A PTX module for a file of IR.

    Args:
        target: such as ``sm_90a``; None for that of the IR, else the lowest that supports its atoms.

    Raises:
        Refused: the file has errors.
        BadAtom: it holds no IR, or no operation that becomes an instruction.
    """
    options = Options(HARDWARE, target)
    report = check_source(book, source, options)
    if report.empty:
        raise BadAtom(f"{source.name}: holds no IR")
    if any(d.severity is Severity.ERROR for d in report.diagnostics):
        raise Refused(Report((report,), (), options, book))
    found = scan(source)
    if not found.holds_ir or report.target is None:
        raise BadAtom(f"{source.name}: nothing to emit")
    return module_of(book, found, source, context(book, str(report.target)))


def module_of(book: Rulebook, found: Scan, source: Source, where: dict[str, Scalar]) -> str:
    """A PTX module for a module of IR, whose errors are not checked.

    Args:
        where: target and PTX version.

    Raises:
        BadAtom: it holds nothing that becomes an instruction, or one that the target does not support.
    """
    emitter = _Emitter(book, found, source, where)
    for top in kernels(found.module.operations):
        emitter.kernel(top)
    if not emitter.entries:
        raise BadAtom(f"{source.name}: no MMA, copy or synchronisation operation to emit")
    return kernel.module(book, where, emitter.entries) + "".join(f"{note}\n" for note in emitter.notes)


class _Emitter:
    """The entries of a module, kernel by kernel."""

    def __init__(self, book: Rulebook, found: Scan, source: Source, where: dict[str, Scalar]) -> None:
        self.book = book
        self.operations = Operations.of(book)
        self.source = source
        self.where = where
        self.aliases = found.module.aliases
        self.descriptors = _Descriptors(book, found)
        self.places = Places(self.operations, self.aliases)
        self.entries: list[tuple[str, list[Sequence], list[str]]] = []
        self.notes: list[str] = []

    def kernel(self, top: Operation) -> None:
        """The entries of one function."""
        protocol: list[Sequence] = []
        own = False
        for operation, scope in walk((top,)):
            use = self.raw(operation, scope) if is_raw(self.book, operation) else self.atom(operation, scope)
            if use is None:
                continue
            line, _ = self.source.position(operation.span.start)
            place = f"{self.source.name}:{line}"
            if use.sequence is None:
                on = str(self.where["target"])[1:]
                self.notes.append(f"// {place}: {operation.name} of {use.of}: no instruction on {on}")
                continue
            if use.what == "protocol":
                protocol.append(use.sequence.step(f"{place}: {operation.name}"))
                own = True
                continue
            name = f"{use.what}_{len(self.entries)}_line_{line}"
            title = f"{place}: {operation.name}" + (f" of {use.of}" if use.of != operation.name else "")
            comments = [title, *(f"{name}: {reason}; it is loaded" for name, reason in use.missing.items())]
            self.entries.append((name, [use.sequence], comments))
            protocol.append(Sequence.note(f"{place}: {operation.name}, see {name}"))
        if own:
            line, _ = self.source.position(top.span.start)
            title = f"{self.source.name}:{line}: the synchronisation operations of the kernel, in textual order"
            self.entries.append((f"protocol_{len(self.entries)}_line_{line}", protocol, [title]))

    def atom(self, operation: Operation, scope: Scope) -> _Use | None:
        """A use of an atom; None for any other operation."""
        what = self.operations.step(operation.name)
        if what not in ("mma", "copy") or not operation.inputs:
            return None
        text = resolve(operation.inputs[0].text, self.aliases)
        try:
            tree = type_tree(text)
            node = next((n for n in tree.walk() if n.kind is Kind.TYPE and n.text.lstrip("!") in self.book.atoms), None)
            if node is None:
                return None
            declaration = self.book.atoms[node.text.lstrip("!")]
            facts = {**self.sides(operation), **atom_facts(self.book, declaration, node, 0).values}
        except (SyntaxFault, MalformedAtom):
            return None
        otherwise = next((f.instructions for f in families(self.book) if f.schema == declaration.schema), ())
        lowered = lower_atom(self.book.under(HARDWARE), self.where, declaration.schema, facts, otherwise)
        placed, missing = self.descriptors.placed(operation, scope)
        one = (
            sequence(self.book.under(HARDWARE), lowered, placed)
            if lowered is not None
            else lone(self.book.under(HARDWARE), declaration.schema, facts)
        )
        return _Use(operation, what, text[node.start : node.end], one, missing if lowered is not None else {})

    def sides(self, operation: Operation) -> dict[str, Scalar]:
        """Where a copy reads and writes, as far as its operands show."""
        copy = read_copy(self.book, operation, self.aliases)
        if copy is None:
            return {}
        found = copy.facts(self.book, ".unregistered", "", None, None).values
        return {side: found[side] for side in ("source", "destination") if side in found}

    def raw(self, operation: Operation, scope: Scope) -> _Use:
        """An operation of the NVVM dialect."""
        facts = raw_facts(self.book, operation, scope)
        lowered = lower_atom(self.book.under(HARDWARE), self.where, SCHEMA, facts)
        if lowered is None:
            own = lone(self.book.under(HARDWARE), SCHEMA, facts)
            self.refuse_illegal(operation, own)
            return _Use(operation, "protocol", operation.name, own, {})
        placed, missing = self.assembled(operation, lowered, scope)
        lowered = self.with_shape(lowered)
        one = sequence(self.book.under(HARDWARE), lowered, placed)
        what = "mma" if "mma" in operation.name else "copy"
        return _Use(operation, what, operation.name, one, missing)

    def refuse_illegal(self, operation: Operation, own: Sequence | None) -> None:
        """Raise if the target does not support an instruction of an operation."""
        for line in own.parts["emit"] if own is not None else ():
            if read_opcode(self.book, line.split()[0].rstrip(";")).declaration is not None:
                verdict = legal(self.book.under(HARDWARE), line, self.where)
                if not verdict.legal:
                    at, _ = self.source.position(operation.span.start)
                    code = ", ".join(verdict.codes)
                    raise BadAtom(
                        f"{self.source.name}:{at}: {operation.name} is not emitted: {verdict.message} ({code})"
                    )

    def assembled(
        self, operation: Operation, lowered: Lowered, scope: Scope
    ) -> tuple[dict[str, Placed], dict[str, str]]:
        """The descriptors that the kernel assembles for an MMA; only the address in them may be unknown."""
        placed: dict[str, Placed] = {}
        missing: dict[str, str] = {}
        hopper = operation.name.endswith("wgmma.mma_async")
        first, words = (0, "wgmma.descriptor") if hopper else (1, "tcgen05.descriptor")
        address = next(f.mask for word in self.book.words[words, HARDWARE] for f in word.fields if f.name == "start")
        for i, name in enumerate(("a", "b")):
            facts = lowered.spelled.facts
            if f"{name}.class" not in facts or facts.get(f"{name}.source", ".smem_desc") != ".smem_desc":
                continue
            known: Known = fold(self.book, operation.operands[first + i], scope, self.places)
            if known.unknown & ~address:
                missing[name] = "its descriptor is a run-time value"
            else:
                placed[name] = Placed(i * _DISTANCE * swizzle_period(self.book), known.ones & ~address)
        return placed, missing

    def with_shape(self, lowered: Lowered) -> Lowered:
        """A tensor-memory MMA with the N of its instruction descriptor."""
        word, kind = lowered.facts.get("fourth"), lowered.facts.get("kind")
        if not isinstance(word, int) or not isinstance(kind, str):
            return lowered
        try:
            known = bitfields.unpack(self.book.under(HARDWARE), "tcgen05.instruction_descriptor", word, {"kind": kind})
        except bitfields.PackError:
            return lowered
        return Lowered(lowered.spelled, lowered.by, {**lowered.facts, "N": known["N"]})


class _Descriptors:
    """The descriptors of a module, by the operations that use them."""

    def __init__(self, book: Rulebook, found: Scan) -> None:
        self.book = book
        self.operations = Operations.of(book)
        self.made = {id(one.operation): one for one in made(book, found.module.operations, found.module.aliases)}

    def placed(self, operation: Operation, scope: Scope) -> tuple[dict[str, Placed], dict[str, str]]:
        """The places of A and B, as far as known, and the reasons where not."""
        offset, period = 0, swizzle_period(self.book)
        placed: dict[str, Placed] = {}
        missing: dict[str, str] = {}
        for one in filter(None, (self.origin(name, scope) for name in operation.operands)):
            name = (one.operand or "").lower()
            if not name or name in placed:
                continue
            try:
                known = described(self.book.under(HARDWARE), one)
            except (NoDescriptor, Undecided) as error:
                missing[name] = str(error)
                continue
            placed[name] = Placed(offset, known.value)
            elements = cosize(one.layout)
            size = elements * one.bits // 8 if isinstance(elements, int) else 0
            offset += -(-size // period) * period
        return placed, missing

    def origin(self, value: str, scope: Scope) -> Made | None:
        """The operation that made the descriptor that a value is, or is a part of."""
        chain = definitions(value, scope, self.operations)
        return next((self.made[id(one.operation)] for one in chain if id(one.operation) in self.made), None)
