"""What the editor shows over a place: a layout, an atom, an instruction or operation, a rule that a comment names."""

from __future__ import annotations

from bisect import bisect_right
from functools import lru_cache

from tileproof.base.patterns import regex
from tileproof.base.records import dataclass
from tileproof.base.source import Source, Span
from tileproof.checking.explain import find
from tileproof.checking.instruction import BadRequest, context, diagnostics
from tileproof.checking.pages import atom_page, instruction_page, operation_page, rule_page
from tileproof.judge.suppressions import suppressions_anywhere
from tileproof.judge.target import choose
from tileproof.mlir.ir import Operation
from tileproof.mlir.scanner import Scan, scan
from tileproof.mlir.types import Kind, Node
from tileproof.protocol.counterparts import is_step
from tileproof.protocol.rings import barriers_at
from tileproof.ptx.module import is_ptx, read_module
from tileproof.rulebase.book import Rulebook, Ruleset
from tileproof.server.pictures import described
from tileproof.server.project import Project, project_of
from tileproof.server.replies import Document, Page
from tileproof.syntax import SyntaxFault
from tileproof.syntax.layouts import layout
from tileproof.syntax.types import type_tree

_ALIAS = regex(r"[!#][A-Za-z_][\w$.]*")
_MARK = "tileproof:"
_MOST_BARRIERS = 8  # that a page lists


@dataclass(frozen=True, slots=True)
class TypeAt:
    """A type at a place of a text.

    Attributes:
        start: of what is written there, the type or an alias of it.
        length: of what is written there.
        node: the innermost piece of the type at the place; all of it where an alias is there.
    """

    text: str
    start: int
    length: int
    tree: Node
    node: Node

    @property
    def span(self) -> Span:
        """What is written there."""
        return Span(self.start, self.start + self.length)


def page(document: Document, offset: int) -> Page | None:
    """What is known of the place; None where nothing is.

    Raises:
        Unusable: the settings or the rules of the project cannot be used.
    """
    source = Source(document.file, document.text)
    project = project_of(document.file)
    found = _rule(project.book, source, offset)
    if found is not None:
        return found
    return _instruction(project, source, offset) if is_ptx(source) else _in_ir(project, source, offset)


@lru_cache(maxsize=4)
def scanned(source: Source) -> Scan:
    """The IR of a text: the author looks at several places of one text."""
    return scan(source)


def type_at(source: Source, offset: int) -> TypeAt | None:
    """The type that is written at a place, an alias of one as what it stands for."""
    module = scanned(source).module
    start = source.line_start(source.position(offset).line)
    for at in range(offset, start - 1, -1):
        if source.text[at : at + 1] not in ("!", "#"):
            continue
        alias = _ALIAS.match(source.text, at)
        meant = module.aliases.get(alias[0]) if alias is not None and offset < alias.end() else None
        if meant is not None and alias is not None:
            return _read(meant.text, at, len(alias[0]), None)
        texts = [one for one in module.types if at + len(one) > offset and source.text.startswith(one, at)]
        if texts and (found := _read(text := max(texts, key=len), at, len(text), offset - at)):
            return found
    return None


def enclosing(tree: Node, kind: Kind, at: int) -> list[Node]:
    """The nodes of a kind around a place of a type, from the outermost inwards."""
    return [node for node in tree.walk() if node.kind is kind and node.start <= at < node.end]


def _read(text: str, start: int, length: int, at: int | None) -> TypeAt | None:
    try:
        tree = type_tree(text)
    except SyntaxFault:
        return None
    around = [] if at is None else [node for node in tree.walk() if node.start <= at < node.end]
    return TypeAt(text, start, length, tree, around[-1] if around else tree)


def _rule(book: Rulebook, source: Source, offset: int) -> Page | None:
    """The rule that a suppression comment names at a place."""
    number = source.position(offset).line
    start, line = source.line_start(number), source.line(number)
    if _MARK not in line:
        return None
    for one in suppressions_anywhere(Source(source.name, line)):
        if start + one.span.start <= offset <= start + one.span.end and (item := find(book, one.code)) is not None:
            return Page(start + one.span.start, start + one.span.end, rule_page(book, item))
    return None


def _in_ir(project: Project, source: Source, offset: int) -> Page | None:
    ruleset = project.book.under(project.options.contract)
    found = type_at(source, offset)
    if found is not None:
        return _type(ruleset, project, source, found, offset)
    operation = _operation(scanned(source), offset)
    text = None if operation is None else operation_page(ruleset, operation.name)
    if operation is None or text is None:
        return None
    if is_step(project.book, operation.name) and (names := _barriers(project.book, source).get(operation.span.start)):
        shown = [f"- {name}" for name in names[:_MOST_BARRIERS]]
        shown += [f"- and {len(names) - _MOST_BARRIERS} more"] * (len(names) > _MOST_BARRIERS)
        text += "\n\nIn a run of the abstract machine it comes to\n" + "\n".join(shown)
    return Page(*operation.name_span, text)


@lru_cache(maxsize=2)
def _barriers(book: Rulebook, source: Source) -> dict[int, tuple[str, ...]]:
    """The barriers that operations come to; none where the text has faults."""
    found = scanned(source)
    return {} if found.faults else barriers_at(book, found.module.operations, found.module.aliases)


def _type(ruleset: Ruleset, project: Project, source: Source, found: TypeAt, offset: int) -> Page | None:
    """The layout at the place, or else the atom around it, or else what of both the type holds."""
    atoms = ruleset.book.enums["atom"].by_spelling
    nodes = [found.node, *(node for node in found.tree.walk() if node.kind in (Kind.TYPE, Kind.TEXT))]
    around = [node for node in reversed(enclosing(found.tree, Kind.TYPE, found.node.start)) if node.text[1:] in atoms]
    if found.node.kind is not Kind.TEXT and around:
        nodes = around
    for node in nodes:
        if node.kind is Kind.TEXT:
            try:
                lines = described(layout(node.text))
            except SyntaxFault:
                continue
            return Page(*_span(found, node, offset), "\n".join(lines))
        if node.kind is Kind.TYPE and (member := atoms.get(node.text[1:])) is not None:
            asked = f".{project.options.target}" if project.options.target else None
            need = str(ruleset.table("atom").rows[member,][0])
            target = choose(ruleset, source, [need], asked)
            if target is not None:
                return Page(*_span(found, node, offset), atom_page(ruleset, node, found.text, str(target)))
    return None


def _span(found: TypeAt, node: Node, offset: int) -> Span:
    """The piece of a type that a page is about, or all that is written there, where the place is not in the piece."""
    piece = Span(found.start + node.start, found.start + node.end)
    return piece if found.length == len(found.text) and piece.start <= offset < piece.end else found.span


def _operation(found: Scan, offset: int) -> Operation | None:
    """The operation whose name is at a place."""
    for operation in found.module.walk():
        if operation.name_span.start <= offset < operation.name_span.end:
            return operation
    return None


def _instruction(project: Project, source: Source, offset: int) -> Page | None:
    module = read_module(project.book, source)
    at = bisect_right(module.instructions, offset, key=lambda one: one.start) - 1
    if at < 0:
        return None
    statement = module.instructions[at]
    end = statement.opcode_start + len(statement.opcode)
    if not statement.opcode_start <= offset < end:
        return None
    ruleset = project.book.under(project.options.contract)
    said = ""
    target = project.options.target or (module.target[0] if module.target is not None else "")
    try:
        where = context(project.book, target)
        found = diagnostics(ruleset, source, statement.start, statement.end, statement.registers, where)
        codes = ", ".join(dict.fromkeys(one.code for one in found))
        said = f"On {target}: {codes or 'legal'}"
    except BadRequest:
        pass  # the finding on the target says so
    text = instruction_page(ruleset, statement.opcode, said)
    return None if text is None else Page(statement.opcode_start, end, text)
