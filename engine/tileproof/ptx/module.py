"""A PTX module: header, functions with their performance directives, instructions, scopes, variables and source places.

A scanner of regular expressions cuts the text into tiles, each a statement with the blanks and comments before it; the
tiles together are the text, byte for byte. Statements are cut here, not judged: ``text`` reads operands, ``opcode`` the
facts of an opcode. What is malformed becomes a fault with its place, and reading goes on behind it. Time is linear in
the length of the text, whatever is wrong with it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from tileproof.base.diagnostic import Origin
from tileproof.base.patterns import regex
from tileproof.base.records import dataclass, field
from tileproof.base.source import Source, Span
from tileproof.ptx.constant import constant
from tileproof.ptx.inlined import Calls, Place
from tileproof.ptx.registers import of_type, special
from tileproof.rulebase.book import Rulebook

_NAME = r"[%$_a-zA-Z][\w$]*+"
_BODY = r'(?:[^;"{}]++|\{[^{};]*+\}|"[^"]*+")*+'
_TILE = regex(
    rf"\s*+(?:(?P<label>{_NAME})\s*+:(?!:)"
    rf"|(?P<instruction>(?:@\s*+(?P<not>!?)\s*+(?P<guard>{_NAME})\s*+)?"
    rf"(?P<opcode>[a-z]\w*+(?:(?:\.|::)\w++)*+)(?P<gapped>(?:\s*+(?:\.|::)\w++)*+)(?!\s*+[.:])(?P<body>{_BODY}));"
    rf"|(?P<directive>\.[a-zA-Z_]\w*+)|(?P<brace>[{{}}])|(?P<end>\Z))",
    re.ASCII,
)
_UNFINISHED = regex(rf"\s*+(?P<statement>(?:@\s*+!?\s*+{_NAME}\s*+)?[a-z][\w.:]*+){_BODY}", re.ASCII)
_BLANK = regex(r"\s*+", re.ASCII)
_COMMENT = regex(r'"[^"\n]*+"|//[^\n]*+|/\*(?:[^*]++|\*(?!/))*+\*/')  # or a string, in which there is none

_LOC = regex(
    r"\.loc\s++(\d++)\s++(\d++)\s++(\d++)(?:\s*+,\s*+function_name\s++(?P<function>[^\s,;]++(?:\s*+\+\s*+\d++)?)"
    r"\s*+,\s*+inlined_at\s++(?P<file>\d++)\s++(?P<line>\d++)\s++(?P<column>\d++))?(?:\s*+;)?",
    re.ASCII,
)
_FILE = regex(r'\.file\s++(\d++)\s++"([^"\n]*+)"(?:\s*+,\s*+\d++)*+(?:\s*+;)?', re.ASCII)
_HEADER = regex(r"\.(version|target|address_size)\s++([\w.]++)(?:\s*+,\s*+[\w.]++)*+(?:\s*+;)?", re.ASCII)
_SECTION = regex(r"\.section\s++[\w.$]++\s*+\{[^{}]*+\}", re.ASCII)
_PRAGMA = regex(r'\.pragma\s*+((?:"[^"\n]*+"(?:\s*+,\s*+)?+)++)\s*+;', re.ASCII)
_REGISTERS = regex(r"\.reg\s*+((?:\.\w++\s*+)++)([^;{}:]*+);", re.ASCII)
_DECLARED = regex(rf"({_NAME})\s*+(?:<\s*+(\d++)\s*+>)?", re.ASCII)
_VARIABLE = regex(
    r"((?:\.(?:visible|extern|weak|common)\s*+)*+)\.(global|shared|const|local|param|tex)(?:::\w++)?\b"
    r"([^;={}()]*+)(?:=\s*+(?:\{|[^;{}]*+))?",
    re.ASCII,
)
_SIZES = regex(r"\[\s*+([^\]]*?)\s*+\]")
_FUNCTION = regex(
    r"((?:\.(?:visible|extern|weak|common)\s*+)*+)\.(entry|func)\b\s*+((?:\.\w++\s*+)*+)"
    rf"(?:\((?P<results>[^(){{}};]*+)\)\s*+)?(?P<name>{_NAME})\s*+(?:\((?P<parameters>[^(){{}};]*+)\))?"
    r'(?P<performance>(?:[^{;"]++|"[^"\n]*+"\s*+;?)*+)',
    re.ASCII,
)
_PERFORMANCE = regex(r"\.([a-z]\w*+)\s*+((?:\d++\s*+,?\s*+)*+)", re.ASCII)
_PARAMETER = regex(rf"\.param\b([^,()\[]*?)({_NAME})\s*+((?:\[[^\]]*+\])*+)\s*+(?:,|\Z)", re.ASCII)
_TARGETS = regex(r"\.(branchtargets|calltargets)\s++([^;{}]*+);", re.ASCII)
_PROTOTYPE = regex(r"\.callprototype\b[^;{}]*+;", re.ASCII)
_REST = regex(r'(?:[^;{}"\n]++|"[^"\n]*+")*+;?')
_ALIGN = regex(r"\.align\s*+(\d+)", re.ASCII)
_TYPE = regex(r"\.([a-z]+)(\d+)(?:x(\d))?(?!\w)", re.ASCII)
_VECTOR = regex(r"\.v([248])(?!\w)", re.ASCII)
_NAMED = regex(rf"({_NAME})\s*+((?:\[[^\]]*+\]\s*+)*+)\Z", re.ASCII)
_WORD = regex(r"\.[a-zA-Z_]\w*+", re.ASCII)
_BRACE = regex(r"[{}]")
_JUNK = regex(r"[^\n;{}]*+;?")

_COORDINATES, _COLOURS = "xyzw", "rgba"
_LINKAGE = frozenset({".visible", ".extern", ".weak", ".common"})
_SPACES = frozenset({".global", ".shared", ".const", ".local", ".param", ".tex"})
_MOST_FAULTS = 100  # of one module; a binary file has no end of them


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable, or a parameter of a function.

    Attributes:
        space: ``global``, ``shared``, ``const``, ``local``, ``param`` or ``tex``; ``call`` of what was a parameter of a
            function whose body is a part of the kernel now.
        alignment: in bytes; that of its elements where none is written.
        size: in bytes; None where the text does not say it, as of dynamic shared memory.
    """

    name: str
    space: str
    alignment: int
    size: int | None
    external: bool
    span: Span


@dataclass(frozen=True, slots=True)
class Label:
    """A label: its offset, and the number of the statement that follows it among those of the module."""

    name: str
    start: int
    statement: int
    scope: Scope


@dataclass(slots=True, eq=False)
class Statement:
    """One instruction.

    Attributes:
        start, end: offsets of its text, from the guard to behind the semicolon.
        opcode: as ptxas reads it, without the blanks and comments that may stand in it; empty where there is none.
        opcode_start: its offset.
        gap: where the first blank or comment stands in the opcode, counted in ``opcode``; 0 where none does.
        guard: the predicate that it is executed under; empty for none. ``negated``: where that is false.
        body_start: the offset of its operands.
        scope: of its names.
        frame: the index of its source place in ``Module.frames``; -1 where none is written.
        body: the number of its function body, in the order of the file.
    """

    start: int
    end: int
    opcode: str
    opcode_start: int
    gap: int
    guard: str
    negated: bool
    body_start: int
    scope: Scope
    frame: int
    body: int

    @property
    def registers(self) -> Callable[[str], str | None]:
        """The class of a name at this place; any other name is a symbol."""
        return self.scope.find


@dataclass(slots=True, eq=False)
class Function:
    """A kernel or a device function.

    Attributes:
        start: the offset of its declaration.
        span: of its name.
        kind: ``entry`` or ``func``.
        results, parameters: its parameters.
        performance: its performance directives, as ``{"reqntid": (128, 1, 1), "explicitcluster": ()}``.
        body: where its body begins and ends, braces included; None of a declaration.
        first, last: the numbers of its statements in the module, half open.
        number: of its body, as statements have it.
        labels: those of all its scopes, in the order of the text.
        pragmas: offsets and texts.
    """

    name: str
    start: int
    span: Span
    kind: str
    results: tuple[Variable, ...]
    parameters: tuple[Variable, ...]
    performance: dict[str, tuple[int, ...]]
    body: Span | None
    first: int
    last: int
    number: int
    scope: Scope
    labels: list[Label] = field(default_factory=list)
    pragmas: list[tuple[int, str]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Fault:
    """What is malformed: the finding and its case that say it, and their facts.

    Attributes:
        at: other places that it is about, by the names that the finding gives them.
    """

    code: str
    case: str
    span: Span
    facts: dict[str, str]
    at: tuple[tuple[str, Span], ...] = ()


def fault(code: str, case: str, span: Span, at: tuple[tuple[str, Span], ...] = (), **facts: str) -> Fault:
    """A fault, its facts by their names."""
    return Fault(code, case, span, facts, at)


@dataclass(slots=True, eq=False)
class Module:
    """What a PTX file holds.

    Attributes:
        plain: the text with blanks for its comments.
        version, target: as written in the header, with their places; None where they do not.
        tables: the lists of branch or call targets, by scope and label.
        files: names by number, as ``.file`` gives them; ``frames``: the source places in the order of ``.loc``.
        faults: at most a hundred, in textual order.
        originals: the instructions that others stand for, whose own text is behind that of the file (``expanded``).
    """

    text: str
    plain: str
    scope: Scope
    version: tuple[str, Span] | None = None
    target: tuple[str, Span] | None = None
    instructions: list[Statement] = field(default_factory=list)
    functions: list[Function] = field(default_factory=list)
    labels: list[tuple[int, str]] = field(default_factory=list)
    files: dict[int, str] = field(default_factory=dict)
    frames: list[Place] = field(default_factory=list)
    pragmas: list[tuple[int, str]] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    originals: dict[Statement, Statement] = field(default_factory=dict)

    @property
    def comments(self) -> list[tuple[int, str]]:
        """Offsets and texts of the comments."""
        found = _COMMENT.finditer(self.text) if "/" in self.text else ()
        return [(one.start(), one[0]) for one in found if one[0][0] == "/"]

    def source_places(self, statement: Statement) -> list[tuple[int, int, int]]:
        """File, line and column of an instruction in its sources: the user's first, then from the innermost call out.

        The user's is the innermost call that stands in the file in which the kernel begins, and not that of a library.
        """
        if statement.frame < 0:
            return []
        first = next((one for one in self.instructions if one.body == statement.body and one.frame >= 0), statement)
        outermost = self._chain(first)[-1][0]
        chain = self._chain(statement)
        own = next((one for one in chain if one[0] == outermost), chain[0])
        chain.sort(key=lambda one: one is not own)
        return [one for one in chain if one[0] in self.files and one[1]]

    def _chain(self, statement: Statement) -> list[tuple[int, int, int]]:
        """The place of an instruction, then the calls that it was inlined at, the innermost first."""
        here = self.frames[statement.frame]
        chain = [(here.file, here.line, here.column)]
        while here.inlined is not None:
            chain.append(here.inlined)
            if here.caller < 0:
                break
            here = self.frames[here.caller]
        return chain

    def origins(self, statement: Statement) -> tuple[Origin, ...]:
        """The same places with the names of the files, columns counted from 1."""
        places = self.source_places(statement)
        return tuple(Origin.compiled_from(self.files[file], *place) for file, *place in places)

    def written(self, statement: Statement) -> Statement:
        """The instruction of the file that one is, or stands for."""
        return self.originals.get(statement, statement)

    def operands(self, statement: Statement) -> str:
        """The operands of an instruction, without comments and the semicolon."""
        return self.plain[statement.body_start : statement.end - 1]


def is_ptx(source: Source) -> bool:
    """Whether a text is PTX: by its name, or by a version directive at the start of a line."""
    if source.name.endswith(".ptx"):
        return True
    return ".version" in source.text and re.search(r"^\s*\.version\s+\d", source.text, re.M) is not None


def read_module(book: Rulebook, source: Source) -> Module:
    """Read a PTX file. Never raises: what is malformed is a fault of the module, and is skipped."""
    return _Reader(book, source.text).read()


def tiles(book: Rulebook, source: Source) -> Iterator[Span]:
    """The pieces that a text is cut into, without a gap and without an overlap."""
    ends: list[int] = []
    _Reader(book, source.text, ends).read()
    start = 0
    for end in ends:
        yield Span(start, end)
        start = end


class Scope:
    """The names of a block, and those of the blocks around it."""

    __slots__ = ("book", "found", "labels", "outer", "prefixes", "singles", "tables", "variables", "vectors")

    def __init__(self, book: Rulebook, outer: Scope | None) -> None:
        self.book = book
        self.outer = outer
        self.found: dict[str, tuple[str, Scope] | None] = {}  # what was asked for, since all was declared
        self.singles: dict[str, str] = {}
        self.vectors: dict[str, int] = {}  # how many elements, by name or prefix
        self.prefixes: dict[str, tuple[str, int]] = {}
        self.variables: dict[str, Variable] = {}
        self.labels: dict[str, Label] = {}
        self.tables: dict[str, tuple[str, ...]] = {}

    def find(self, name: str) -> str | None:
        """The class of a name, of the enum ``operand_class``."""
        found = self.register(name)
        if found is not None:
            return found[0]
        kind = special(self.book, name)
        if kind is not None:
            return kind
        variable = self.variable(name)
        return ".global_symbol" if variable is not None and variable.space == "global" else ".symbol"

    def register(self, name: str) -> tuple[str, Scope] | None:
        """The class of a register and the scope that declares it; None of a name that is no register."""
        try:
            return self.found[name]
        except KeyError:
            found = self.found[name] = self._register(name)
            return found

    def _register(self, name: str) -> tuple[str, Scope] | None:
        scope: Scope | None = self
        prefix = name.rstrip("0123456789")
        number = name[len(prefix) :]
        while scope is not None:
            if name in scope.singles:
                return scope.singles[name], scope
            if number and prefix in scope.prefixes:
                kind, count = scope.prefixes[prefix]
                if len(number) < 10 and int(number) < count:
                    return kind, scope
            scope = scope.outer
        vector, _, element = name.partition(".")
        return self.register(vector) if len(element) == 1 and element in self._selectors(vector) else None

    def registers(self, name: str) -> tuple[str, ...]:
        """The registers that a name stands for: of a vector, as ``.reg .v2 .b32 pair;`` declares it, its elements.

        An element has two names, as of a coordinate and as of a colour: ``pair.g`` is ``pair.y``.
        """
        if selectors := self._selectors(name):
            return tuple(f"{name}.{one}" for one in selectors[: len(selectors) // 2])
        vector, _, element = name.partition(".")
        selectors = self._selectors(vector) if len(element) == 1 else ""
        if element not in selectors or not selectors:
            return (name,)
        return (f"{vector}.{selectors[selectors.index(element) % (len(selectors) // 2)]}",)

    def _selectors(self, name: str) -> str:
        """What the elements of a vector are called, and again by their second names; empty of any other name."""
        found = self.register(name)
        vectors = found[1].vectors if found is not None else {}
        count = vectors.get(name) or vectors.get(name.rstrip("0123456789"), 0)
        return _COORDINATES[:count] + _COLOURS[:count]

    @property
    def has_vectors(self) -> bool:
        """Whether a register here may be a vector."""
        scope: Scope | None = self
        while scope is not None and not scope.vectors:
            scope = scope.outer
        return scope is not None

    def variable(self, name: str) -> Variable | None:
        """The variable or parameter of a name."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.variables:
                return scope.variables[name]
            scope = scope.outer
        return None

    def label(self, name: str) -> Label | None:
        """The label of a name: a branch reaches those of its own block and of the blocks around it."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.labels:
                return scope.labels[name]
            scope = scope.outer
        return None

    def table(self, name: str) -> tuple[str, ...] | None:
        """The list of branch or call targets of a name."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.tables:
                return scope.tables[name]
            scope = scope.outer
        return None

    def declare(self, types: str, names: str) -> None:
        """Registers of a type, as ``.reg .b32 %r<9>, x;`` declares them."""
        found = [of_type(self.book, word) for word in types.replace(".", " ").split()]
        kind = next((k for k in found if k is not None), ".symbol")
        vector = _VECTOR.search(types)
        for name, count in _DECLARED.findall(names):
            if count:
                self.prefixes[name] = (kind, int(count) if len(count) < 10 else 10**9)
            else:
                self.singles[name] = kind
            if vector is not None:
                self.vectors[name] = int(vector[1])


class _Reader:
    def __init__(self, book: Rulebook, text: str, ends: list[int] | None = None) -> None:
        self.text = _without_comments(text)
        self.book = book
        self.module = Module(text, self.text, Scope(book, None))
        self.scope = self.module.scope
        self.opened: list[int] = []  # offsets of the braces that are open
        self.function: Function | None = None
        self.bodies = 0
        self.frame = -1
        self.calls = Calls(self.module.frames)
        self.ends = ends

    def read(self) -> Module:
        text, match = self.text, _TILE.match
        statements, ends = self.module.instructions, self.ends
        at, size = 0, len(text)
        while at < size:
            found = match(text, at)
            if found is None:
                at = self.malformed(at)
            elif (kind := found.lastgroup) == "body" or kind == "instruction":
                opcode, gap = found["opcode"], 0
                if gapped := found["gapped"]:
                    gap, opcode = len(opcode), opcode + "".join(gapped.split())
                end = found.end()
                start, opcode_start, body = found.start("instruction"), found.start("opcode"), found.start("body")
                guard = found["guard"] or ""
                statements.append(
                    Statement(
                        start, end, opcode, opcode_start, gap, guard, bool(found["not"]), body, self.scope, self.frame,
                        self.bodies,
                    )
                )  # fmt: skip
                at = end
            elif kind == "label":
                at = self.label(found)
            elif kind == "directive":
                at = self.directive(found.start("directive"))
            elif kind == "brace":
                at = found.end()
                self.brace(at - 1)
            else:
                at = size
            if ends is not None:
                ends.append(at)
        for start in self.opened[:_MOST_FAULTS]:
            self.fault("PT013", "unclosed", start, start + 1)
        if not text.isascii():
            self.foreign()
        self.module.faults.sort(key=lambda one: one.span)
        return self.module

    # -- statements

    def brace(self, at: int) -> None:
        if self.text[at] == "{":
            if not self.opened:
                self.bodies += 1
            self.opened.append(at)
            self.scope = Scope(self.book, self.scope)
        elif self.opened:
            self.opened.pop()
            self.scope = self.scope.outer or self.scope
            if not self.opened and self.function is not None:
                assert self.function.body is not None
                self.function.body = Span(self.function.body.start, at + 1)
                self.function.last = len(self.module.instructions)
                self.scope, self.function = self.module.scope, None
        else:
            self.fault("PT013", "stray", at, at + 1)

    def label(self, found: re.Match[str]) -> int:
        name, start = found["label"], found.start("label")
        self.module.labels.append((start, name))
        behind = _BLANK.match(self.text, found.end())
        assert behind is not None
        if self.text.startswith((".branchtargets", ".calltargets", ".callprototype"), behind.end()):
            listed = _TARGETS.match(self.text, behind.end())
            if listed is not None:
                self.scope.tables[name] = tuple(one.strip() for one in listed[2].split(","))
                return listed.end()
            prototype = _PROTOTYPE.match(self.text, behind.end())
            self.scope.tables[name] = ()
            return prototype.end() if prototype is not None else found.end()
        label = Label(name, start, len(self.module.instructions), self.scope)
        first = self.scope.labels.get(name)
        if first is not None:
            places = (("first", Span(first.start, first.start + len(name))),)
            self.fault("PT014", "label", start, start + len(name), at=places, name=name)
        elif name in self.scope.singles:
            self.fault("PT014", "register", start, start + len(name), name=name)
        else:
            self.scope.labels[name] = label
        if self.function is not None:
            self.function.labels.append(label)
        return found.end()

    def directive(self, at: int) -> int:
        word = _WORD.match(self.text, at)
        assert word is not None
        end = self.known_directive(at, word[0])
        if end is not None:
            return end
        rest = _REST.match(self.text, word.end())
        assert rest is not None
        end = rest.end()
        if word[0] in _DIRECTIVES:
            self.fault("PT013", "directive", at, word.end(), directive=word[0])
        elif word[0] not in _SKIPPED:
            self.fault("PT013", "unknown", at, word.end(), directive=word[0])
        return end

    def known_directive(self, at: int, word: str) -> int | None:
        """Read a directive; None of one that is unknown or malformed."""
        text, module = self.text, self.module
        match word:
            case ".loc":
                if (found := _LOC.match(text, at)) is None:
                    return None
                call = (int(found["file"]), int(found["line"]), int(found["column"])) if found["file"] else None
                self.frame = self.calls.add(int(found[1]), int(found[2]), int(found[3]), found["function"] or "", call)
            case ".reg":
                if (found := _REGISTERS.match(text, at)) is None:
                    return None
                self.scope.declare(found[1], found[2])
            case ".file":
                if (found := _FILE.match(text, at)) is None:
                    return None
                module.files[int(found[1])] = found[2]
            case ".pragma":
                if (found := _PRAGMA.match(text, at)) is None:
                    return None
                pragmas = module.pragmas if self.function is None else self.function.pragmas
                pragmas += [(at, one) for one in re.findall(r'"([^"]*)"', found[1])]
            case ".version" | ".target" | ".address_size":
                if (found := _HEADER.match(text, at)) is None:
                    return None
                if found[1] == "version":
                    module.version = module.version or (found[2], Span(*found.span(2)))
                elif found[1] == "target":
                    module.target = module.target or (found[2], Span(*found.span(2)))
            case ".section":
                if (found := _SECTION.match(text, at)) is None:
                    return None
            case ".branchtargets" | ".calltargets" | ".callprototype":
                return None  # without a label
            case _:
                return self.declaration(at, word)
        return found.end()

    def declaration(self, at: int, word: str) -> int | None:
        """A function or a variable."""
        if word not in _LINKAGE and word not in _SPACES and word not in (".entry", ".func"):
            return None
        if (found := _VARIABLE.match(self.text, at)) is not None:
            return self.variable(found)
        found = _FUNCTION.match(self.text, at)
        if found is None or self.function is not None:
            return None
        scope = Scope(self.book, self.module.scope)
        results, parameters = self.parameters(found, "results"), self.parameters(found, "parameters")
        scope.variables.update({one.name: one for one in (*results, *parameters)})
        performance = {
            name: tuple(int(one) for one in re.findall(r"\d{1,18}", values))
            for name, values in _PERFORMANCE.findall(found["performance"])
        }
        first = len(self.module.instructions)
        begins = self.text[found.end() : found.end() + 1] == "{"
        function = Function(
            found["name"],
            at,
            Span(*found.span("name")),
            found[2],
            results,
            parameters,
            performance,
            Span(found.end(), len(self.text)) if begins else None,
            first,
            first,
            0,
            scope,
        )
        self.module.functions.append(function)
        if begins:
            self.scope, self.function = scope, function
            self.brace(found.end())
            function.scope, function.number = self.scope, self.bodies
            function.last = len(self.module.instructions)
            return found.end() + 1
        return found.end() + (self.text[found.end() : found.end() + 1] == ";")

    def parameters(self, found: re.Match[str], group: str) -> tuple[Variable, ...]:
        written = found[group]
        if not written:
            return ()
        offset = found.start(group)
        return tuple(
            _variable(one[2], "param", one[1], one[3], False, Span(offset + one.start(2), offset + one.end(2)))
            for one in _PARAMETER.finditer(written)
        )

    def variable(self, found: re.Match[str]) -> int | None:
        """A variable, or several of one type, with what they are initialised with."""
        end = found.end()
        if self.text[end - 1 : end] == "{":
            depth = 1
            while depth and (brace := _BRACE.search(self.text, end)) is not None:
                depth += 1 if brace[0] == "{" else -1
                end = brace.end()
            end = end if not depth else len(self.text)
            end = _BLANK.match(self.text, end).end()  # type: ignore[union-attr]
        if self.text[end : end + 1] != ";":
            return None
        external = ".extern" in found[1]
        kind, *others = (one.rstrip() for one in found[3].split(","))
        name = _NAMED.search(kind)
        if name is None:
            return None
        types = kind[: name.start(1)]
        for piece in (kind, *others):
            named = _NAMED.search(piece)
            if named is not None:
                place = self.text.find(named[1], found.start(3))
                span = Span(place, place + len(named[1]))
                self.scope.variables[named[1]] = _variable(named[1], found[2], types, named[2], external, span)
        return end + 1

    # -- what is malformed

    def malformed(self, at: int) -> int:
        """Skip what is no statement, and say what is wrong."""
        text = self.text
        start = _BLANK.match(text, at).end()  # type: ignore[union-attr]
        if text.startswith("/*", start):
            self.fault("PT013", "comment", start, start + 2)
            return len(text)
        unfinished = _UNFINISHED.match(text, at)
        if unfinished is not None:
            written = unfinished.span("statement")
            if text.startswith(";", unfinished.end()):
                self.fault("PT013", "modifier", *written)
                return unfinished.end() + 1
            self.fault("PT013", "semicolon", *written)
            return unfinished.end()
        if text[start] == ";":
            self.fault("PT013", "empty", start, start + 1)
            return start + 1
        junk = _JUNK.match(text, start)
        assert junk is not None
        end = max(junk.end(), start + 1)
        if not text[start].isascii():
            self.fault("PT013", "foreign", start, start + 1)
            return end
        shown = text[start : min(end, start + 20)].encode("ascii", "replace").decode()
        self.fault("PT013", "junk", start, end, text=shown)
        return end

    def foreign(self) -> None:
        """Characters outside ASCII: ptxas reads them in comments only."""
        if not self.text.isascii() and all(one.case != "foreign" for one in self.module.faults):
            at = next(i for i, character in enumerate(self.text) if ord(character) > 127)
            self.fault("PT013", "foreign", at, at + 1)

    def fault(
        self, code: str, case: str, start: int, end: int, at: tuple[tuple[str, Span], ...] = (), **facts: str
    ) -> None:
        if len(self.module.faults) < _MOST_FAULTS:
            self.module.faults.append(Fault(code, case, Span(start, end), facts, at))


_SKIPPED = frozenset({".alias", ".attribute", ".language", ".noreturn"})
_DIRECTIVES = frozenset(
    {".loc", ".reg", ".file", ".pragma", ".version", ".target", ".address_size", ".section", ".entry", ".func"}
    | {".branchtargets", ".calltargets", ".callprototype"}
    | _LINKAGE
    | _SPACES
)


def _without_comments(text: str) -> str:
    """The text with blanks for its comments."""
    if "/" not in text:
        return text
    return _COMMENT.sub(lambda one: one[0] if one[0][0] == '"' else " " * len(one[0]), text)


def _variable(name: str, space: str, types: str, sizes: str, external: bool, span: Span) -> Variable:
    """A variable of a type, such as ``.align 16 .b8`` with ``[4][8]``."""
    element = 0
    aligned = _ALIGN.search(types)
    if found := _TYPE.search(types.replace(aligned[0], "") if aligned else types):
        element = int(found[2]) // 8 * int(found[3] or 1) if len(found[2]) < 5 else 0
    if vector := _VECTOR.search(types):
        element *= int(vector[1])
    size: int | None = element
    for count in _SIZES.findall(sizes):
        number = constant(count) if count else None
        size = size * number if number is not None and size is not None else None
    alignment = int(aligned[1]) if aligned and len(aligned[1]) < 10 else max(element, 1)
    return Variable(name, space, alignment, size, external, span)
