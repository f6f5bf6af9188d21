"""``check``: from a text to its diagnostics.

A file is scanned; each distinct type in it is parsed once, its layouts with it; the atoms found there and the
operations that use them become facts; the rules judge the facts. One cause gives one error: an atom is judged once a
file, where it first occurs, and the uses of an illegal atom are not judged.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cached_property, lru_cache, partial
from itertools import chain

from tileproof.base.diagnostic import Diagnostic, Edit, Fix, Related, Severity
from tileproof.base.patterns import regex
from tileproof.base.records import dataclass, replace
from tileproof.base.source import Source, Span
from tileproof.checking.assembly_multiplies import multiplies
from tileproof.checking.consequences import merged
from tileproof.checking.coverage import covered, unjudged
from tileproof.checking.coverage import malformed as malformed_kernel
from tileproof.checking.kept_functions import Functions
from tileproof.checking.kept_outcomes import line
from tileproof.checking.notes import note
from tileproof.checking.protocol import diagnostic
from tileproof.dialects.atom_names import unknown_atom
from tileproof.dialects.configuration import Facts, WrongWord
from tileproof.dialects.facts import MalformedAtom, atom_facts
from tileproof.dialects.forms import Forms
from tileproof.dialects.operands import field_set, resolve
from tileproof.dialects.operations import Operations
from tileproof.dialects.type_flow import conflicts
from tileproof.dialects.values import ALGEBRA, LAYOUTS, Other, read_type
from tileproof.dialects.versions import is_published
from tileproof.dialects.wellformed import malformed, with_error
from tileproof.evaluate.python import Judge
from tileproof.judge import target
from tileproof.judge.coverage import KernelCoverage
from tileproof.judge.launches import of_kernel
from tileproof.judge.messages import render
from tileproof.judge.outcome import FileReport, Options, errors_in, finding, finish
from tileproof.judge.spans import span_of
from tileproof.judge.target import Target
from tileproof.memory.built_descriptors import assembled
from tileproof.memory.descriptors import made, operand_facts
from tileproof.memory.fills import Fills
from tileproof.memory.overlaps import sharing
from tileproof.memory.tensor_maps import kernel_arguments, map_facts
from tileproof.mlir.ir import Alias, Module, Operation
from tileproof.mlir.scanner import Scan, scan
from tileproof.mlir.types import Kind, Node
from tileproof.protocol.counterparts import relevant
from tileproof.protocol.launch_limits import launch_facts
from tileproof.protocol.runs import Outcome
from tileproof.protocol.verify import Asked, Studied, kernels
from tileproof.protocol.verify import verify as verify_protocol
from tileproof.rulebase.book import Rulebook, Ruleset
from tileproof.rulebase.declarations import Atom
from tileproof.rulebase.expression import Scalar
from tileproof.rulebase.findings import Stated, state
from tileproof.syntax import SyntaxFault
from tileproof.syntax.layouts import layout as parse_layout
from tileproof.syntax.types import type_tree
from tileproof.uses.copies import Binding, Copy, Definitions, read_copy
from tileproof.uses.gemm import Gemm, read_gemm
from tileproof.uses.tiled import partition_facts, tiled_facts
from tileproof.uses.wgmma_pages import four_op_facts

_MOST_MENDED = 4  # illegal atoms of a file whose nearest legal form is looked for


_ATOM = regex(r"!cute_nvgpu\.(?:atom\.\w|sm\d+\.\w*mma|SM\d+\.\w*mma)")


_GENERATION = regex(r"(?i:sm)(\d+)\.mma$")


_ASSEMBLES = regex(
    r"nvvm\.tcgen05\.mma|wgmma\.mma_async|tma_load|tma_store|cp\.async\.bulk\.|atom\.bulk_copy"
)  # else there is nothing to follow


MAX_LAYOUT = 20_000  # characters; real layouts have a hundred


@lru_cache(maxsize=64)
def judge_of(ruleset: Ruleset, schema: str) -> Judge:
    """The compiled rules of a schema."""
    # What a gemm inherits from its atom was judged at the atom.
    return Judge(ruleset, schema, inherited=not schema.endswith(".gemm"))


def check_ir(book: Rulebook, source: Source, options: Options) -> FileReport:
    """Check one text of MLIR."""
    return _Check(book, source, options).report()


@dataclass(frozen=True, slots=True)
class _AtomUse:
    """An atom where it first occurs."""

    node: Node
    offset: int
    member: str  # of the enum `atom`


class _Check:
    """One run over one file."""

    def __init__(self, book: Rulebook, source: Source, options: Options) -> None:
        self.book = book
        self.source = source
        self.options = options
        self.ruleset = book.under(options.contract)
        self.scan: Scan = scan(source)
        self.aliases: dict[str, Alias] = self.scan.module.aliases
        self.diagnostics: list[Diagnostic] = []
        self.atoms: dict[str, _AtomUse] = {}
        self.illegal: set[str] = set()
        self.misused: set[Span] = set()  # operands that are not the atom which their operation needs
        self.held: dict[str, tuple[str, _AtomUse] | None] = {}
        self.mended = 0
        self.kernels: list[KernelCoverage] = []

    def report(self) -> FileReport:
        if not self.scan.holds_ir:
            return FileReport(self.source, (), None, empty=True)
        for fault in self.scan.faults:
            self.find(fault.span, state(self.book, "IR001", "here", problem=fault.message))
        self.read_types()
        uses = dict(self.operations_with_needs())
        needs = [self.needs("atom", use.member) for use in self.atoms.values()]
        needs += [self.needs("operation", member) for member in uses]
        asked = f".{self.options.target}" if self.options.target else None
        chosen = target.choose(self.ruleset, self.source, needs, asked)
        for text, use in self.atoms.items():
            self.judge_atom(text, use, chosen)
        if chosen is not None:
            for member, operation in uses.items():
                self.judge_operation(member, operation, chosen)
        self.judge_uses()
        self.judge_descriptors()
        self.judge_assembled()
        self.judge_launches(chosen)
        self.judge_tilings()
        self.judge_types()
        self.judge_protocol()
        self.judge_four_ops()
        if len(self.diagnostics) > 1:
            self.diagnostics = merged(self.book, self.options, self.diagnostics)
        found = finish(self.book, self.source, self.options, self.located(), self.scan.comments)
        unknown = unjudged(self.book, [operation.name for operation in self.scan.module.walk()])
        silenced = errors_in(self.diagnostics) and not errors_in(found)
        return FileReport(self.source, found, chosen, kernels=tuple(self.kernels), unjudged=unknown, silenced=silenced)

    def located(self) -> list[Diagnostic]:
        """The findings, with their places in the user's source where the text has locations."""
        if not self.diagnostics or "loc(" not in self.source.text:
            return self.diagnostics
        from tileproof.checking.origins import Origins  # noqa: PLC0415  Lark, which a file without findings does not need

        origins = Origins(self.source, self.scan.module)
        return [origins.placed(one) for one in self.diagnostics]

    # -- reporting

    def find(self, span: Span, stated: Stated) -> None:
        """Report a finding of the engine."""
        self.diagnostics.append(finding(self.book, self.source, span, stated))

    def judge(self, facts: Facts) -> bool:
        """Report the rules that a configuration violates; whether none of them is an error."""
        judge = judge_of(self.ruleset, facts.schema)
        ends = self.book.enums["joined_end"].members if facts.related else {}
        related = tuple(Related(span, ends[end][0]) for end, span in facts.related)
        legal = True
        for rule in judge.violated(facts.values):
            legal = legal and rule.severity is not Severity.ERROR
            message = render(judge, rule, rule.message, facts) or rule.message
            hint = render(judge, rule, rule.hint, facts)
            span = span_of(rule, facts)
            self.diagnostics.append(
                Diagnostic(
                    *(self.source, span, rule.code, rule.name, rule.severity, message, hint, rule.sources),
                    related=related,
                    fix=self.word_fix(facts.wrong) if facts.wrong is not None else None,
                )
            )
        return legal

    def word_fix(self, wrong: WrongWord) -> Fix | None:
        """The edits that make a word what it has to be, where constants decide it."""
        from tileproof.memory.word_repairs import repaired  # noqa: PLC0415  most words are right

        edits = repaired(self.ruleset, self.source, self.scan.module.operations, wrong)
        said = ", ".join(f"{name} {value}" for name, value in wrong.right.items())
        return Fix(said, edits, safe=True) if edits else None

    # -- types

    def read_types(self) -> None:
        """Parse each distinct dialect type and find the atoms in it."""
        for text, offset in self.scan.module.types.items():
            if text.startswith(("!cute.", "!cute_nvgpu.", "#cute.")):
                self.read_type(text, offset)
            elif text[0] == "!" and "." not in text and "<" not in text and text not in self.aliases:
                self.find(Span(offset, offset + len(text)), state(self.book, "IR005", "here", alias=text))

    def read_type(self, text: str, offset: int) -> None:
        try:
            tree = type_tree(text)
        except SyntaxFault as fault:
            span = Span(offset + fault.start, offset + fault.end)
            self.find(span, state(self.book, "IR002", "here", problem=fault))
            return
        if tree.text[1:].removeprefix("cute.") in ALGEBRA and tree.children and tree.children[0].kind is not Kind.TEXT:
            first = tree.children[0]
            self.find(Span(offset + first.start, offset + first.end), state(self.book, "IR002", "unquoted"))
            return
        atoms, forms = self.book.enums["atom"].by_spelling, Forms.of(self.book)
        for node in tree.walk():
            if node.kind is Kind.TEXT:
                self.read_layout(node, tree, offset)
            elif node.kind is Kind.TYPE and (member := atoms.get(node.text[1:])):
                self.atoms.setdefault(text[node.start : node.end], _AtomUse(node, offset, member))
            elif node.kind is Kind.TYPE and _ATOM.match(node.text):
                self.unknown_atom(node.text[1:], offset + node.start)
            elif node.kind is Kind.TYPE and (note := forms.unknown_type(node.text)) is not None:
                self.find(Span(offset + node.start, offset + node.start + len(node.text)), note)

    def unknown_atom(self, name: str, start: int) -> None:
        """A name that looks like an atom's and is none; the closest one that there is."""
        span = Span(start, start + 1 + len(name))
        generation = _GENERATION.search(name)
        tiers = self.book.enums["tier"].members
        if generation is not None and any(tier.startswith(f".sm{generation[1]}_") for tier in tiers):
            self.find(span, state(self.book, "AT002", "here", generation=generation[1]))
            return
        self.find(span, unknown_atom(self.book, name))

    def read_layout(self, node: Node, tree: Node, offset: int) -> None:
        what = tree.text.rpartition(".")[2] if len(tree.positional) == 1 else "layout"
        try:
            if len(node.text) > MAX_LAYOUT:
                raise SyntaxFault(f"longer than {MAX_LAYOUT} characters", 0, 1)
            value = parse_layout(node.text)
        except SyntaxFault as fault:
            start = offset + node.start
            span = Span(start + fault.start, start + max(fault.end, fault.start + 1))
            if self.published and what in LAYOUTS and (complaint := with_error(node.text)) is not None:
                self.find(span, state(self.book, "IR003", "meaning", problem=complaint))
                return
            self.find(span, state(self.book, "IR003", "syntax", kind=what, text=_short(node.text), problem=fault))
            return
        if (complaint := malformed(what, value, self.published)) is not None:
            span = Span(offset + node.start, offset + node.end)
            self.find(span, state(self.book, "IR003", "meaning", problem=complaint))

    @cached_property
    def published(self) -> bool:
        """Whether the file is of the published generation of the dialect."""
        return is_published(self.scan.module)

    # -- atoms and operations

    def needs(self, table: str, member: str) -> str:
        """The feature that an atom or an operation needs."""
        need = self.book.tables[table, self.options.contract].rows[member,][0]
        assert isinstance(need, str)
        return need

    def judge_atom(self, text: str, use: _AtomUse, chosen: Target | None) -> None:
        name = Span(use.offset + use.node.start, use.offset + use.node.start + len(use.node.text))
        if chosen is not None:
            values: dict[str, Scalar] = {"target": chosen.name, "atom": use.member}
            values["needs"] = self.needs("atom", use.member)
            if not self.judge(Facts("atom", values, {"atom": use.node.text[1:]}, {}, name)):
                self.illegal.add(text)
                return
        declaration = self.book.atoms.get(use.node.text[1:])
        if declaration is None:
            return
        try:
            facts = atom_facts(self.book, declaration, use.node, use.offset)
        except MalformedAtom as fault:
            self.find(fault.span, fault.stated)
            self.illegal.add(text)
            return
        if chosen is not None and chosen.stated and "target" in self.book.schemas[facts.schema].fields:
            facts = replace(facts, values={**facts.values, "target": chosen.name})
        before = len(self.diagnostics)
        if not self.judge(replace(facts, span=name)):
            self.illegal.add(text)
            self.mend(before, text, declaration, chosen)

    def mend(self, first: int, text: str, declaration: Atom, chosen: Target | None) -> None:
        """Append the nearest legal form of an illegal atom to the hint of the first error about it."""
        at = next(i for i in range(first, len(self.diagnostics)) if self.diagnostics[i].severity is Severity.ERROR)
        found = self.diagnostics[at]
        shown = self.options.reports(found.code, found.name) and not self.options.verify
        if not shown or not self.options.mend or self.mended == _MOST_MENDED:
            return
        self.mended += 1
        from tileproof.suggesting.repair import repair_atom  # noqa: PLC0415  most atoms are legal

        where = {"target": chosen.name} if chosen is not None and chosen.stated else {}
        repair = repair_atom(self.ruleset, declaration, type_tree(text), text, where=where)
        if repair.text:
            nearest = f"the nearest legal atom is {repair.text}"
            places = re.finditer(re.escape(text) + r"(?![\w.<$])", self.source.text)
            edits = tuple(Edit(Span(one.start(), one.end()), repair.text) for one in places)
            hint = f"{found.hint}; {nearest}" if found.hint else nearest
            self.diagnostics[at] = replace(found, hint=hint, fix=Fix(f"use {repair.text}", edits, safe=False))

    @cached_property
    def operation_kinds(self) -> list[tuple[str, str]]:
        """Beginnings of operation names and the member of each, the longest first."""
        spellings = self.book.enums["operation"].by_spelling
        return sorted(spellings.items(), key=lambda item: -len(item[0]))

    def operations_with_needs(self) -> Iterator[tuple[str, Operation]]:
        """The first operation of each kind that needs something of the target, last kind first."""
        seen: set[str] = set()
        first: dict[str, Operation] = {}
        for operation in self.scan.module.walk():
            first.setdefault(operation.name, operation)
        for operation in first.values():
            for beginning, member in self.operation_kinds:
                if operation.name.startswith(beginning):
                    if member not in seen:
                        seen.add(member)
                        yield member, operation
                    break

    def judge_operation(self, member: str, operation: Operation, chosen: Target) -> None:
        values: dict[str, Scalar] = {"target": chosen.name, "operation": member}
        values["needs"] = self.needs("operation", member)
        self.judge(Facts("operation", values, {"operation": operation.name}, {}, operation.name_span))

    def judge_uses(self) -> None:
        """The operations that execute atoms, as the interfaces of the atoms demand."""
        kinds = self.book.enums["atom_use"].by_spelling
        definitions = Definitions()
        for operation in self.scan.module.walk():
            if (member := kinds.get(operation.name)) is not None and self.judge_use(operation, member):
                if (gemm := read_gemm(self.book, operation, self.aliases)) is not None:
                    self.judge_gemm(gemm)
                elif (copy := read_copy(self.book, operation, self.aliases)) is not None:
                    self.judge_copy(copy, definitions.binding(copy.value))
            definitions.add(operation, self.aliases)

    def judge_descriptors(self) -> None:
        """The operands in shared memory that descriptors are made of: one question a kind of memory."""
        asked: set[object] = set()
        for one in made(self.book, self.scan.module.operations, self.aliases):
            question = (
                *(one.word, one.operand, one.major, one.extents, one.pointer, one.whole, one.layout, one.mismatch),
                one.atom,
            )
            if question not in asked and not any(atom in one.atom for atom in self.illegal):
                asked.add(question)
                self.judge(operand_facts(self.ruleset, one))

    def judge_assembled(self) -> None:
        """Assembled descriptors, TMA writes and shared users of memory: each finding once."""
        text, operations = self.source.text, self.scan.module.operations
        if "smem" not in text:
            return
        arguments = kernel_arguments(self.book, operations, self.aliases) if _ASSEMBLES.search(text) else {}
        parts = [sharing(self.book, operations, self.aliases, arguments)]
        if _ASSEMBLES.search(text):
            inside, fills = partial(multiplies, self.book), Fills(Operations.of(self.book), arguments)
            parts.append(assembled(self.ruleset, operations, self.aliases, fills, inside))
            parts.append(map_facts(self.book, arguments, fills.copies))
        seen: set[object] = set()
        for facts in chain.from_iterable(parts):
            key = (facts.schema, tuple(sorted(facts.values.items())), tuple(sorted(facts.spelled.items())))
            if key not in seen:
                seen.add(key)
                self.judge(facts)

    def judge_launches(self, chosen: Target | None) -> None:
        """Each kernel against its launch and the target."""
        operations, text = self.scan.module.operations, self.source.text
        if "smem" not in text and "multicast" not in text:
            return
        named = chosen.name if chosen is not None and chosen.stated else None
        for kernel in kernels(operations):
            seen: set[object] = set()
            for facts in launch_facts(self.book, kernel, operations, self.aliases, named):
                key = (facts.schema, tuple(sorted(facts.values.items())))
                if key not in seen:
                    seen.add(key)
                    self.judge(facts)

    def judge_use(self, operation: Operation, member: str) -> bool:
        """Whether the first operand of an operation is an atom with the interface that the operation needs."""
        if not operation.inputs:
            return False
        use = operation.inputs[0]
        text = resolve(use.text, self.aliases)
        found = self.atom_in(text)
        if found is None:
            known = read_type(text)
            if isinstance(known, Other) and text.startswith("!cute"):
                return False  # a tiled copy of something that is not understood, or an unknown atom
            values, spelled = {"atom": ".unregistered", "operation": member}, text
        else:
            values, spelled = {"atom": found[1].member, "operation": member}, found[1].node.text[1:]
        names = {"atom": spelled, "operation": operation.name}
        legal = self.judge(Facts("atom.use", values, names, {"atom": use.span}, use.span))
        if not legal:
            self.misused.add(use.span)
        return legal

    def judge_copy(self, copy: Copy, binding: Binding | None) -> None:
        """The use of a copy atom; that of an illegal one is not judged."""
        found = self.atom_in(copy.atom)
        if found is None or found[0] in self.illegal:
            return
        use = found[1]
        declaration = self.book.atoms.get(use.node.text[1:])
        atom = atom_facts(self.book, declaration, use.node, use.offset) if declaration is not None else None
        self.judge(copy.facts(self.book, use.member, found[0], atom, binding))

    def judge_gemm(self, gemm: Gemm) -> None:
        """The use of an MMA atom; that of an illegal one is not judged."""
        found = self.atom_in(gemm.atom)
        if found is None or found[0] in self.illegal:
            return
        use = found[1]
        name = use.node.text[1:]
        declaration = self.book.atoms.get(name)
        atom = atom_facts(self.book, declaration, use.node, use.offset) if declaration is not None else None
        legal = self.judge(gemm.facts(self.book, use.member, name, self.fields_set, atom))
        uses = (
            s for s in self.book.schemas.values() if declaration and declaration.schema in self.book.lineage(s.name)
        )
        schema = next((s for s in uses if s.name.endswith(".gemm")), None)
        if legal and atom is not None and schema is not None:
            self.judge(gemm.facts_with(self.book, schema.name, atom))

    def judge_tilings(self) -> None:
        """Tiled atoms that do not cover their tile, and tensors that are not a whole number of tiles."""
        for text, offset in self.scan.module.types.items():
            if text.startswith(("!cute.tiled_mma", "!cute.tiled_copy")) and self.on_legal_atom(text):
                for facts in tiled_facts(resolve(text, self.aliases), Span(offset, offset + len(text))):
                    self.judge(facts)
        for operation in self.scan.module.walk():
            partition = partition_facts(operation, self.aliases)
            if partition is not None and self.on_legal_atom(resolve(operation.inputs[0].text, self.aliases)):
                self.judge(partition)

    def on_legal_atom(self, text: str) -> bool:
        """Whether a type holds an atom that is not reported already."""
        found = self.atom_in(text)
        return found is not None and found[0] not in self.illegal

    def judge_types(self) -> None:
        """Types that contradict each other between the definition of a value and its use."""
        for conflict in conflicts(self.scan.module, self.illegal, self.book):
            operation = conflict.operation
            if conflict.stated.code == "IR023" and conflict.span in self.misused:
                continue  # which atom the operation needs is said already
            found = finding(self.book, self.source, conflict.span, conflict.stated)
            echo = f"'{operation.name}' op failed to infer returned types"
            edits = (Edit(conflict.span, conflict.instead),)
            fix = Fix(f"declare {conflict.instead}", edits, safe=True) if conflict.instead else None
            self.diagnostics.append(replace(found, anchor=operation.name_span.start, echoes=(echo,), fix=fix))

    def judge_protocol(self) -> None:
        """The asynchronous protocol of each kernel; that of a malformed text is not followed."""
        if not relevant(self.book, self.source.text):
            return
        if self.scan.faults:
            unread = [malformed_kernel(self.book, self.source, one) for one in kernels(self.scan.module.operations)]
            self.kernels += [one for one in unread if one is not None]  # without a note: the error says it
            return
        kept = Functions(self.book, self.source, self.aliases, self.options).outcome
        for outcome in outcomes(self.book, self.scan.module, self.options, kept):
            for fault in outcome.faults:
                self.diagnostics.append(diagnostic(self.book, self.source, fault))
            kernel = covered(self.book, self.source, outcome)
            if kernel is not None:
                self.kernels.append(kernel)
                self.diagnostics += filter(None, [note(self.book, self.source, kernel)])

    def judge_four_ops(self) -> None:
        """The operations around ``nvvm.wgmma.mma_async``, as the reference pages require them."""
        if "nvvm.wgmma.mma_async" in self.source.text:
            for facts in four_op_facts(self.book, self.scan.module.operations):
                self.judge(facts)

    @cached_property
    def fields_set(self) -> frozenset[str]:
        """Fields that the file sets on atoms: these may carry scale factors and metadata instead of the operands."""
        return frozenset(filter(None, map(field_set, self.scan.module.walk())))

    def atom_in(self, text: str) -> tuple[str, _AtomUse] | None:
        """The atom in a type, itself or inside a tiled one."""
        if text not in self.held:
            self.held[text] = self.find_atom(text)
        return self.held[text]

    def find_atom(self, text: str) -> tuple[str, _AtomUse] | None:
        """``atom_in``, looked up."""
        try:
            tree = type_tree(text)
        except SyntaxFault:
            return None
        for node in tree.walk():
            if (use := self.atoms.get(text[node.start : node.end])) is not None:
                return text[node.start : node.end], use
        return None


def outcomes(
    book: Rulebook, module: Module, options: Options, kept: Callable[[Asked, Studied], Outcome | None]
) -> Iterator[Outcome]:
    """The outcomes of the kernels of a well-formed text.

    Args:
        kept: as of ``protocol.verify.verify``.
    """
    if relevant(book, module.text):
        yield from verify_protocol(
            *(book, module.operations, module.aliases),
            explain=options.explain_path,
            thorough=options.thorough,
            line=line,
            kept=kept,
            said=partial(of_kernel, options.launches),
        )


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."
