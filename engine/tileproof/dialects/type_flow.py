"""The types of values from where they are defined to where they are used.

One walk over a module, in textual order. Each value has the type that its definition declares, or, where the custom
form leaves that out, the one that is inferred. What neither says stays unknown and is not a fault. Where the two
disagree, or a use writes another type than the definition has, there is a ``TypeConflict``; the value's type is unknown
from there on, so that one cause gives one conflict.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterator, Sequence
from functools import lru_cache

from tileproof.base.patterns import regex
from tileproof.base.records import dataclass
from tileproof.base.source import Span
from tileproof.dialects.conditions import refusal, said
from tileproof.dialects.forms import Fault, Forms, Types
from tileproof.dialects.infer import Outcome, Refusal, infer
from tileproof.dialects.infer.call import BY_INDEX, INDEX
from tileproof.dialects.operands import resolve
from tileproof.dialects.releases import Releases, releases_of, spelled_alike
from tileproof.dialects.values import Algebraic, Other, Tensor, Type, read_type
from tileproof.dialects.versions import is_published, refuses, tolerates
from tileproof.layout import LayoutError, equivalent
from tileproof.layout.values import ComposedLayout, Layout
from tileproof.mlir.ir import Block, Module, Operation, TypeUse
from tileproof.mlir.signature import Signature, lists_operands, parameters, reorders_operands, result_count, signature
from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.findings import Stated, state
from tileproof.rulebase.load import default_files, load


@dataclass(frozen=True, slots=True)
class TypeConflict:
    """A contradiction, in the words of the dialect's own verifier where it has some.

    Attributes:
        stated: the finding of rules/ir.rule.
        span: the type that is wrong.
        operation: where a verifier would report it.
        instead: the text that the span should have; empty where that is not known.
    """

    stated: Stated
    span: Span
    operation: Operation
    instead: str = ""


def conflicts(module: Module, illegal: Collection[str] = (), book: Rulebook | None = None) -> Iterator[TypeConflict]:
    """Everything that contradicts itself in a module, in textual order.

    Args:
        illegal: texts of atoms that are reported already: an operation on one of them is not judged.
        book: the rules whose fragments of atoms count; None for those of tileproof.
    """
    return _Flow(module, illegal, load(default_files()) if book is None else book).run()


Parameters = tuple[tuple[str, str], ...]

_INFERRED = ("cute.", "cute_nvgpu.")  # dialects whose result types follow from the operands


class _Flow:
    """One walk. ``types`` holds the values in scope with their types, free of aliases; ``constants`` the operations
    that define constants.
    """

    def __init__(self, module: Module, illegal: Collection[str], book: Rulebook) -> None:
        self.module = module
        self.book = book
        self.illegal = illegal
        self.aliases = module.aliases
        self.published = is_published(module)
        self.forms = Forms.of(book)
        self.unknown: set[str] = set()  # names that are reported
        self.types: dict[str, str] = {}
        self.releases: Releases | None = None
        self.constants: dict[str, Operation] = {}
        self.resolved: dict[str, str] = {}

    def run(self) -> Iterator[TypeConflict]:
        for operation in self.module.operations:
            yield from self.operation(operation)

    def text(self, use: TypeUse) -> str:
        """The type without aliases."""
        found = self.resolved.get(use.text)
        if found is None:
            found = self.resolved[use.text] = resolve(use.text, self.aliases)
        return found

    def operation(self, operation: Operation) -> Iterator[TypeConflict]:
        written = signature(operation)
        seen = yield from self.uses(operation, written)
        results = None if written.results is None else tuple(map(self.text, written.results))
        if operation.name not in self.forms.operations:
            yield from self.unknown_name(operation)
        legal = seen is not None and self.legal(seen, results or ())
        fault = self.forms.fault(operation, seen, results or (), self.published) if seen is not None and legal else None
        if fault is not None and written.operands is not None and (operation.generic or lists_operands(operation)):
            # An older release verified the types that it wrote, not those that they are in the newest one.
            fault = self.forms.fault(operation, tuple(map(self.text, written.operands)), results or (), self.published)
        operands = _known(seen) if seen is not None and legal and operation.name.startswith(_INFERRED) else None
        if fault is not None and (operation.generic or results is not None or fault.operand is None):
            operands = None  # only a custom form without result types is inferred before its operands are verified
        if operands is not None:
            attributes = self.parameters(operation)
            outcome = infer(operation.name, operands, attributes, results or (), self.book)
            if self.published:
                outcome = _as_published(operation.name, operands, attributes, outcome)
            if isinstance(outcome, Refusal):
                fault = None
                yield _refused(self.book, operation, written, outcome)
            elif outcome is not None:
                inferred = tuple(map(str, outcome))
                if results is None and len(inferred) != (bound := result_count(operation)):
                    if bound:
                        yield _unbound(self.book, operation, len(inferred))
                elif results is None:
                    results = inferred
                elif not self.agree(operation.name, operands, inferred, results):
                    yield _mismatch(self.book, operation, written, inferred, results)
                    results = None
        if fault is not None:
            yield TypeConflict(fault.stated, _place(fault, operation, written), operation)
        for index, region in enumerate(operation.regions):
            around, self.types = self.types, dict(self.types)
            constants, self.constants = self.constants, dict(self.constants)
            for block in region.blocks:
                self.define_arguments(operation, index, block)
                for inner in block.operations:
                    yield from self.operation(inner)
            self.types, self.constants = around, constants
        self.define(operation, results)

    def parameters(self, operation: Operation) -> tuple[tuple[str, str], ...]:
        """The attributes, and the value of an index where the dialect looks at that as well."""
        written = parameters(operation)
        if operation.name in BY_INDEX and operation.operands:
            constant = self.constants.get(operation.operands[0])
            if constant is not None and (value := _integer(constant)) is not None:
                return (*written, (INDEX, value))
        return written

    def unknown_name(self, operation: Operation) -> Iterator[TypeConflict]:
        """The note on a name that its dialect does not have, once a module."""
        name = operation.name
        if name not in self.unknown:
            self.unknown.add(name)
            if (note := self.forms.unknown_operation(name)) is not None:
                yield TypeConflict(note, operation.name_span, operation)

    def uses(self, operation: Operation, written: Signature) -> Generator[TypeConflict, None, Types | None]:
        """The types of the operands as the operation writes them, or else as they are defined; None where unknown.

        All are None where the two differ: then it is not clear what the operation works on.
        """
        defined = tuple([self.types.get(name) for name in operation.operands])
        if not operation.generic and reorders_operands(operation):
            return (None,) * len(defined)
        if written.operands is None or not (operation.generic or lists_operands(operation)):
            return defined
        texts = tuple(map(self.text, written.operands))
        agreed, meant = True, list(texts)
        whole = zip(operation.operands, written.operands, texts, defined, strict=True)
        for i, (name, use, text, definition) in enumerate(whole):
            if definition is not None and not same_type(text, definition):
                if self.former(definition, text):
                    meant[i] = definition
                    continue
                agreed = False
                self.types.pop(name, None)
                if self.legal((text, definition)):
                    yield _misuse(self.book, operation, use.span, name, text, definition)
        return tuple(meant) if agreed else None

    def legal(self, *types: Sequence[str | None]) -> bool:
        """Is no atom in these types one that is reported already?"""
        return not any(atom in text for atom in self.illegal for texts in types for text in texts if text is not None)

    def agree(self, name: str, operands: Sequence[str], inferred: Sequence[str], declared: Sequence[str]) -> bool:
        """Do the declared results say what was inferred, as far as this generation of the dialect tells?"""
        if len(inferred) == len(declared) and all(map(same_type, inferred, declared)):
            return True
        if self.published:
            return tolerates(name, operands, inferred, declared)
        return len(inferred) == len(declared) and all(
            same_type(a, b) or self.former(a, b) for a, b in zip(inferred, declared, strict=True)
        )

    def former(self, newest: str, written: str) -> bool:
        """Whether a type is what an older release, which may have written this module, has for this one."""
        if self.releases is None:
            source = self.module.source
            self.releases = releases_of(self.book, "" if source is None else source.text)
        return spelled_alike(self.book, self.releases, newest, written)

    def define(self, operation: Operation, types: Sequence[str] | None) -> None:
        """Give the operation's results their types."""
        if operation.name == "arith.constant" and operation.results:
            self.constants[operation.results[0].name] = operation
        names: list[str] = []
        for result in operation.results:
            names += [result.name] if result.count == 1 else [f"{result.name}#{i}" for i in range(result.count)]
        if types is not None and len(types) == len(names):
            self.types.update(zip(names, types, strict=True))
        else:
            for name in names:
                self.types.pop(name, None)

    def define_arguments(self, operation: Operation, region: int, block: Block) -> None:
        """Give the arguments of a block their types: written, or those of the loop that they belong to."""
        carried: Sequence[TypeUse | None] = ()
        if operation.name == "scf.for":
            carried = (operation.inputs[0] if operation.inputs else None, *operation.outputs)
        elif operation.name == "scf.while" and region == 0:
            carried = operation.inputs
        for index, argument in enumerate(block.arguments):
            use = argument.type or (carried[index] if len(carried) == len(block.arguments) else None)
            if use is not None:
                self.types[argument.name] = self.text(use)
            else:
                self.types.pop(argument.name, None)


@lru_cache(maxsize=65536)
def same_type(a: str, b: str) -> bool:
    """Do two texts, free of aliases, write one type?"""
    if a == b:
        return True
    one, other = read_type(a), read_type(b)
    if isinstance(one, Other) or isinstance(other, Other):
        # An alias inside the parameters of a type is not resolved, and a type not understood is not compared.
        return type(one) is type(other)
    return one == other


_INTEGER = regex(r"-?\d+(?=\s*:\s*i\d)")


def _integer(constant: Operation) -> str | None:
    """The value of an integer constant as text, in either form; None for one of another type."""
    value = constant.attribute("value") if constant.generic else None
    text = value.text if value is not None else constant.pieces[0].partition(constant.name)[2].strip()
    found = _INTEGER.match(text)
    return None if found is None else found[0]


def _as_published(name: str, operands: tuple[str, ...], attributes: Parameters, outcome: Outcome) -> Outcome:
    """The outcome in the published generation: what it refuses besides, and in its own words."""
    complaint = refuses(name, operands) or refusal(name, operands, attributes)
    if complaint is not None:
        return Refusal(complaint, complaint)
    if isinstance(outcome, Refusal):
        return Refusal(said(name, operands, outcome.wording), outcome.reason)
    return outcome


# ------------------------------------------------------------------------------------------------------- conflicts


def _mismatch(
    book: Rulebook, operation: Operation, written: Signature, inferred: Sequence[str], declared: Sequence[str]
) -> TypeConflict:
    """An operation declares other results than it has."""
    name, given, wanted = operation.name, _quoted(inferred), _quoted(declared)
    pairs = [(read_type(a), read_type(b)) for a, b in zip(inferred, declared, strict=False)]
    alike = len(inferred) == len(declared) and all(_same_function(a, b) for a, b in pairs)
    if alike:
        stated = state(book, "IR020", "same_function", operation=name, inferred=given, declared=wanted)
    else:
        stated = state(book, "IR020", "here", operation=name, inferred=given, declared=wanted)
    instead = ", ".join(inferred) if written.results and len(written.results) == len(inferred) else ""
    return TypeConflict(stated, _span(written.results, operation), operation, instead)


def _misuse(book: Rulebook, operation: Operation, span: Span, value: str, written: str, defined: str) -> TypeConflict:
    """An operation writes another type for an operand than its definition has."""
    stated = state(book, "IR021", "here", value=value, written=written, defined=defined)
    return TypeConflict(stated, span, operation)


def _unbound(book: Rulebook, operation: Operation, count: int) -> TypeConflict:
    """An operation binds another number of results than it has."""
    stated = state(book, "IR023", "results", count=count, bound=result_count(operation))
    return TypeConflict(stated, operation.name_span, operation)


def _refused(book: Rulebook, operation: Operation, written: Signature, refusal: Refusal) -> TypeConflict:
    """An operation that has no result for these operands."""
    name, said = operation.name, refusal.wording
    if refusal.reason != said:
        stated = state(book, "IR022", "because", operation=name, refusal=said, reason=refusal.reason)
    else:
        stated = state(book, "IR022", "here", operation=name, refusal=said)
    return TypeConflict(stated, _span(written.operands or written.results, operation), operation)


def _known(types: Types) -> tuple[str, ...] | None:
    """The types, if all are known."""
    known = tuple([text for text in types if text is not None])
    return known if len(known) == len(types) else None


def _place(fault: Fault, operation: Operation, written: Signature) -> Span:
    """The type that is wrong, where it is written, or the operation's name."""
    if fault.operand is not None and written.operands is not None:
        return written.operands[fault.operand].span
    if fault.result is not None and written.results is not None:
        return written.results[fault.result].span
    return operation.name_span


def _quoted(types: Sequence[str]) -> str:
    return ", ".join(f"'{text}'" for text in types)


def _span(uses: Sequence[TypeUse] | None, operation: Operation) -> Span:
    """The types from the first to the last, or the operation's name where it writes none."""
    return Span(uses[0].span.start, uses[-1].span.end) if uses else operation.name_span


def _same_function(a: Type, b: Type) -> bool:
    """Do two layouts, alone or in tensors, take every index to the same offset?"""
    try:
        match a, b:
            case Tensor(), Tensor():
                return a.iterator == b.iterator and equivalent(a.layout, b.layout) is True
            case Algebraic(), Algebraic() if a.kind == b.kind:
                if isinstance(a.value, Layout | ComposedLayout) and isinstance(b.value, Layout | ComposedLayout):
                    return equivalent(a.value, b.value) is True
    except LayoutError:
        return False  # one of them has no offsets, or none that fit 64 bits
    return a == b
