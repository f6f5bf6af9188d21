"""MLIR text to ``ir.Module``: a scanner for the shape of the text.

The cost of reading IR is in its tens of thousands of tokens, so statements and brackets are found by hand; the pieces
that carry meaning, types and layouts, are parsed by their grammars, each distinct text once (``tileproof.syntax``).
``grammar/ir.lark`` defines the same shape as a grammar, and a test holds the two together over real files.

Faults do not stop the scanner: they are collected, the statement is skipped, and reading continues at the next one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from tileproof.base.patterns import regex
from tileproof.base.records import dataclass
from tileproof.base.source import Source, Span
from tileproof.mlir.ir import Alias, Argument, Attribute, Block, Module, Operation, Region, Result, TypeUse
from tileproof.mlir.tokens import (
    ATTRIBUTE,
    CLOSE,
    LABEL,
    NUMBER,
    OPEN,
    STRING,
    SYMBOL,
    TYPE,
    VALUE,
    WORD,
    Fault,
    Tokens,
    match_brackets,
    starts_statement,
    tokenise,
)

MAX_REGION_NESTING = 120
MAX_FAULTS = 100

_OPERATION = regex(r'^[ \t]*+(?:%[\w:, %]++=[ \t]*+)?+"?+(?:[a-z_]\w*+\.[a-z_]|(?:builtin\.)?module\b)', re.M)
# Operations whose braces hold a region even when these are empty.
_HAS_REGION = regex(r"(builtin\.)?module|gpu\.(module|func)|cuda\.kernel|scf\.|affine\.|[a-z_]+\.func$|func$")
_BUILTIN = {"module", "unrealized_conversion_cast"}
# Operations inside whose region the dialect prefix of their own dialect may be left out.
_NAMES_DIALECT = regex(r"[\w$]+\.func$|cuda\.kernel$")


@dataclass(frozen=True, slots=True)
class Scan:
    """What was read, what could not be read, and the comments (offset and text, slashes included)."""

    module: Module
    faults: tuple[Fault, ...]
    comments: tuple[tuple[int, str], ...]

    @property
    def holds_ir(self) -> bool:
        """Whether something was read, or a line at least begins as an operation of some dialect does."""
        return bool(self.module.items) or _OPERATION.search(self.module.text) is not None


class _Fault(Exception):
    def __init__(self, message: str, token: int) -> None:
        super().__init__(message)
        self.token = token


class _Unclosed(_Fault):
    """A bracket without partner, which was reported when brackets were matched."""

    def __init__(self, token: int) -> None:
        super().__init__("", token)


class _Reader:
    """Reads statements off the tokens. One instance a file; it holds nothing but the tokens and the faults."""

    def __init__(self, tokens: Tokens) -> None:
        self.tokens = tokens
        self.text = tokens.text
        self.kinds = tokens.kinds
        self.words = tokens.words
        self.starts = tokens.starts
        self.ends = tokens.ends
        self.leads = tokens.leads
        self.match = tokens.match

    # -- text

    def slice(self, first: int, stop: int) -> str:
        """The text of tokens ``first`` to ``stop - 1`` on one line, without comments."""
        if first >= stop:
            return ""
        piece = self.text[self.starts[first] : self.ends[stop - 1]]
        if "\n" not in piece:
            return piece
        parts = [self.words[first]]
        for i in range(first + 1, stop):
            gap = "" if self.starts[i] == self.ends[i - 1] else " "
            parts.append(gap + self.words[i])
        return "".join(parts)

    def span(self, first: int, stop: int) -> Span:
        return Span(self.starts[first], self.ends[max(first, stop - 1)])

    def type_use(self, i: int) -> TypeUse:
        return TypeUse(self.words[i], Span(self.starts[i], self.ends[i]))

    # -- structure

    def items(self) -> tuple[Alias | Operation, ...]:
        items: list[Alias | Operation] = []
        i, stop = 0, len(self.kinds)
        while i < stop:
            if self.kinds[i] in (TYPE, ATTRIBUTE) and i + 1 < stop and self.words[i + 1] == "=":
                end = self.statement_end(i + 1, stop)
                if end == i + 2:
                    self.fault("an alias needs a right-hand side", i)
                else:
                    spans = self.span(i, end), self.span(i + 2, end)
                    items.append(Alias(self.words[i], self.slice(i + 2, end), *spans))
                i = end
            else:
                operation, i = self.operation(i, stop, 0, "builtin")
                if operation is not None:
                    items.append(operation)
        return tuple(items)

    def fault(self, message: str, i: int) -> None:
        i = min(i, len(self.kinds) - 1)
        self.tokens.faults.append(Fault(message, Span(self.starts[i], self.ends[i])))

    def statement_end(self, i: int, stop: int, after_fault: bool = False) -> int:
        """The token after the statement that token ``i`` is in, by line breaks and brackets alone."""
        i += 1
        while i < stop:
            if self.leads[i] and starts_statement(self.tokens, i, after_fault=after_fault):
                break
            i = self.match.get(i, i) + 1 if self.kinds[i] == OPEN else i + 1
        return min(i, stop)

    def operation(self, i: int, stop: int, depth: int, dialect: str) -> tuple[Operation | None, int]:
        """The operation at token ``i``, and the token after it; None, with a fault noted, where there is none."""
        try:
            return self.read(i, stop, depth, dialect)
        except _Fault as fault:
            if not isinstance(fault, _Unclosed):
                self.fault(str(fault), fault.token)
            return None, self.statement_end(i, stop, after_fault=True)

    def read(self, first: int, stop: int, depth: int, dialect: str) -> tuple[Operation, int]:
        kinds, words = self.kinds, self.words
        i = first
        results: list[Result] = []
        while i < stop and kinds[i] == VALUE:
            name, count = words[i], 1
            i += 1
            if i + 1 < stop and words[i] == ":" and kinds[i + 1] == NUMBER:
                count = _small(words[i + 1], i + 1)
                i += 2
            results.append(Result(name, count))
            if i < stop and words[i] == ",":
                i += 1
                continue
            if i >= stop or words[i] != "=":
                raise _Fault("expected '=' and an operation", min(i, stop - 1))
            i += 1
            break
        if i >= stop or (results and kinds[i] == VALUE):
            raise _Fault("expected an operation", i - 1)
        if kinds[i] == STRING:
            return self.generic(first, i, stop, depth, tuple(results))
        if kinds[i] == WORD:
            return self.custom(first, i, stop, depth, dialect, tuple(results))
        raise _Fault(f"expected an operation, found '{words[i]}'", i)

    def region(self, i: int, stop: int, depth: int, owner: str, arguments: tuple[Argument, ...] = ()) -> Region:
        """The region of the operation ``owner`` whose braces enclose tokens ``i`` to ``stop - 1``."""
        dialect = owner.partition(".")[0] if _NAMES_DIALECT.match(owner) else "builtin"
        if depth > MAX_REGION_NESTING:
            raise _Fault(f"regions nest deeper than {MAX_REGION_NESTING}", i - 1)
        blocks: list[Block] = []
        label, header, operations = None, "", list[Operation]()
        started = bool(arguments)
        while i < stop:
            if self.kinds[i] == LABEL:
                if started or operations:
                    blocks.append(Block(label, arguments, tuple(operations), header))
                begin, label, arguments, operations = i, self.words[i], (), []
                i += 1
                if i < stop and self.words[i] == "(":
                    close = self.close(i)
                    arguments = self.arguments(i + 1, close)
                    i = close + 1
                if i >= stop or self.words[i] != ":":
                    raise _Fault("expected ':' after a block label", min(i, stop - 1))
                i += 1
                header, started = self.slice(begin, i), True
                continue
            operation, i = self.operation(i, stop, depth, dialect)
            if operation is not None:
                operations.append(operation)
        blocks.append(Block(label, arguments, tuple(operations), header))
        return Region(tuple(blocks))

    def close(self, i: int) -> int:
        close = self.match.get(i)
        if close is None:
            raise _Unclosed(i)
        return close

    def arguments(self, i: int, stop: int) -> tuple[Argument, ...]:
        """``%a: T, %b: T {attributes} loc(...)``."""
        found: list[Argument] = []
        while i < stop:
            if self.kinds[i] == VALUE:
                use = None
                if i + 2 < stop and self.words[i + 1] == ":":
                    use = self.whole_type(i + 2, stop)
                found.append(Argument(self.words[i], use))
                i += 1
            elif self.kinds[i] == OPEN:
                i = self.close(i) + 1
            else:
                i += 1
        return tuple(found)

    def whole_type(self, i: int, stop: int) -> TypeUse:
        """The type that starts at token ``i``; a function type spans several tokens."""
        if self.kinds[i] != OPEN:
            return self.type_use(i)
        end = self.close(i) + 1
        if end < stop and self.words[end] == "->":
            end = (self.close(end + 1) if self.kinds[end + 1] == OPEN else end + 1) + 1
        return TypeUse(self.slice(i, end), self.span(i, end))

    def attributes(self, i: int, stop: int) -> list[Attribute]:
        """Entries of ``{...}`` or ``<{...}>``. Properties may lack commas: then a name before ``=`` starts an entry."""
        kinds, words = self.kinds, self.words
        found: list[Attribute] = []
        while i < stop:
            if words[i] == ",":
                i += 1
                continue
            if kinds[i] not in (WORD, STRING):
                raise _Fault(f"expected an attribute name, found '{words[i]}'", i)
            first, name = i, words[i].strip('"')
            i += 1
            begin = i
            if i < stop and words[i] == "=":
                i += 1
                begin = i
                while i < stop and words[i] != ",":
                    named = kinds[i] in (WORD, STRING) and i + 1 < stop and words[i + 1] == "="
                    if named and i > begin and words[i - 1] != ":":
                        break
                    i = self.close(i) + 1 if kinds[i] == OPEN else i + 1
                if i == begin:
                    raise _Fault(f"attribute '{name}' has no value", begin - 1)
            found.append(Attribute(name, self.slice(begin, i), self.span(first, i)))
        return found

    def types(self, i: int, stop: int) -> tuple[tuple[TypeUse, ...], tuple[int, ...]]:
        """The types written in tokens ``i`` to ``stop - 1``, and how many of them each bracketed list holds."""
        found: list[TypeUse] = []
        groups: list[int] = []
        within = 0
        for j in range(i, stop):
            if self.words[j] == "[":
                within = self.close(j)
                groups.append(0)
            elif self.kinds[j] in (TYPE, WORD):
                found.append(self.type_use(j))
                if j < within:
                    groups[-1] += 1
                else:
                    groups.append(1)
        return tuple(found), tuple(groups)

    # -- the generic form: "name"(operands)[successors]<{properties}>({regions}) {attributes} : type

    def generic(self, first: int, i: int, stop: int, depth: int, results: tuple[Result, ...]) -> tuple[Operation, int]:
        kinds, words = self.kinds, self.words
        name = i
        i += 1
        if i >= stop or words[i] != "(":
            raise _Fault("expected '(' after the name of an operation in generic form", min(i, stop - 1))
        close = self.close(i)
        operands = tuple(words[j] for j in range(i + 1, close) if kinds[j] == VALUE)
        i = close + 1
        successors: tuple[str, ...] = ()
        attributes: list[Attribute] = []
        regions: list[Region] = []
        pieces: list[str] = []
        begin = first
        while i < stop and kinds[i] == OPEN:
            close = self.close(i)
            if words[i] == "[":
                successors = tuple(words[j] for j in range(i, close) if kinds[j] == LABEL)
            elif words[i] == "<" and words[i + 1] == "{":
                attributes += self.attributes(i + 2, self.close(i + 1))
            elif words[i] == "{":
                attributes += self.attributes(i + 1, close)
            elif words[i] == "(":
                j = i + 1
                while j < close:
                    if words[j] != "{":
                        raise _Fault(f"expected a region, found '{words[j]}'", j)
                    end = self.close(j)
                    pieces.append(self.slice(begin, j) + self.gap(j))
                    regions.append(self.region(j + 1, end, depth + 1, words[name][1:-1]))
                    begin = j = end + 1
                    if j < close and words[j] == ",":
                        j += 1
            else:
                break
            i = close + 1
        if i >= stop or words[i] != ":":
            raise _Fault("expected ':' and the type of the operation", min(i, stop - 1))
        end = self.signature_end(i + 1, stop)
        arrow = next((j for j in self.top(i + 1, end) if words[j] == "->"), None)
        if arrow is None:
            raise _Fault("expected a function type", i)
        pieces.append(self.gap(begin) * (begin != first) + self.slice(begin, end))
        inputs, _ = self.types(i + 1, arrow)
        outputs, _ = self.types(arrow + 1, self.before_location(arrow + 1, end))
        segments = next((a.text for a in attributes if a.name == "operandSegmentSizes"), None)
        groups = (1,) * len(inputs) if segments is None else tuple(map(int, re.findall(r"\b\d{1,6}\b", segments)))
        operation = Operation(
            words[name][1:-1],
            results,
            operands,
            tuple(attributes),
            inputs,
            outputs,
            tuple(regions),
            successors,
            True,
            tuple(pieces),
            groups,
            self.span(first, end),
            self.span(name, name + 1),
        )
        return operation, end

    def gap(self, i: int) -> str:
        """The space before token ``i``, as one blank or none."""
        return " " if i < len(self.kinds) and i and self.starts[i] != self.ends[i - 1] else ""

    def top(self, i: int, stop: int) -> Iterable[int]:
        """Tokens of a range outside brackets; an opening bracket represents its group."""
        while i < stop:
            yield i
            i = self.match.get(i, i) + 1 if self.kinds[i] == OPEN else i + 1

    def signature_end(self, i: int, stop: int) -> int:
        """The end of ``(types) -> types`` and a location after it."""
        i = (self.close(i) if self.kinds[i] == OPEN else i) + 1 if i < stop else i
        if i + 1 < stop and self.words[i] == "->":
            i = self.close(i + 1) + 1 if self.kinds[i + 1] == OPEN else i + 2
        if i + 1 < stop and self.words[i] == "loc" and self.words[i + 1] == "(":
            i = self.close(i + 1) + 1
        return i

    def before_location(self, i: int, stop: int) -> int:
        return next((j for j in self.top(i, stop) if self.words[j] == "loc"), stop)

    # -- the custom form: name, words of its own, regions and attributes in braces, types after the last colon

    def custom(
        self, first: int, name: int, stop: int, depth: int, dialect: str, results: tuple[Result, ...]
    ) -> tuple[Operation, int]:
        kinds, words, leads = self.kinds, self.words, self.leads
        written = words[name].partition("<")[0]
        op = written if "." in written else f"{dialect}.{written}"
        if op == f"builtin.{written}" and written not in _BUILTIN:
            raise _Fault(f"'{written}' is not an operation: expected dialect.name", name)
        i = name + 1
        operands: list[str] = []
        arguments: list[Argument] = []
        attributes: list[Attribute] = []
        regions: list[Region] = []
        successors: list[str] = []
        pieces: list[str] = []
        begin = first
        while i < stop:
            word, kind = words[i], kinds[i]
            if leads[i] and starts_statement(self.tokens, i):
                break
            if kind == OPEN:
                close = self.close(i)
                if word != "{":
                    if word == "(" and kinds[i - 1] == SYMBOL and i + 1 < close and self.is_argument_list(i + 1, close):
                        arguments += self.arguments(i + 1, close)
                    elif word == "<" and words[i + 1] == "{" and words[close - 1] == "}":
                        attributes += self.attributes(i + 2, self.close(i + 1))
                    else:
                        self.uses(i + 1, close, operands, arguments, successors)
                elif self.is_region(i, close, op):
                    pieces.append(self.slice(begin, i) + " ")
                    regions.append(self.region(i + 1, close, depth + 1, op, tuple(arguments)))
                    arguments, begin = [], close + 1
                else:
                    attributes += self.attributes(i + 1, close)
                i = close + 1
                continue
            if kind == VALUE:
                if i + 1 < stop and words[i + 1] == "=":
                    arguments.append(Argument(word))
                else:
                    operands.append(word)
            elif kind == LABEL:
                successors.append(word)
            elif kind == CLOSE:
                raise _Fault(f"unmatched '{word}'", i)
            i += 1
        tail = self.slice(begin, i)
        pieces.append(" " + tail if tail and regions else tail)
        inputs, outputs, groups = self.signature(name + 1, i)
        operation = Operation(
            op,
            results,
            tuple(operands),
            tuple(attributes),
            inputs,
            outputs,
            tuple(regions),
            tuple(successors),
            False,
            tuple(pieces),
            groups,
            self.span(first, i),
            Span(self.starts[name], self.starts[name] + len(written)),
        )
        return operation, i

    def signature(self, i: int, stop: int) -> tuple[tuple[TypeUse, ...], tuple[TypeUse, ...], tuple[int, ...]]:
        """Types before and after the arrow of a custom form: ``: T``, ``: (T) -> T``, ``: T to T``, ``-> (T) : T``."""
        words = self.words
        colon = arrow = None
        end = stop
        for j in self.top(i, stop):
            word = words[j]
            if word == ":":
                colon = j
            elif word in ("->", "to", "into") and (word == "->" or colon is not None):
                arrow = j
            elif word in ("{", "loc", "attributes"):
                end = j
                if colon is not None or arrow is not None:
                    break
        marks = sorted(mark for mark in (colon, arrow) if mark is not None)

        def after(mark: int | None) -> tuple[tuple[TypeUse, ...], tuple[int, ...]]:
            if mark is None:
                return (), ()
            return self.types(mark + 1, next((m for m in marks if m > mark), end if end > mark else stop))

        inputs, groups = after(colon)
        return inputs, after(arrow)[0], groups

    def is_argument_list(self, i: int, close: int) -> bool:
        return self.kinds[i] == VALUE and i + 1 < close and self.words[i + 1] == ":"

    def uses(self, i: int, stop: int, operands: list[str], arguments: list[Argument], successors: list[str]) -> None:
        """What is inside brackets: values, cases of a switch; ``%a = %b`` is a loop argument and its initial value."""
        for j in range(i, stop):
            if self.kinds[j] == VALUE:
                if j + 1 < stop and self.words[j + 1] == "=":
                    arguments.append(Argument(self.words[j]))
                else:
                    operands.append(self.words[j])
            elif self.kinds[j] == LABEL:
                successors.append(self.words[j])

    def is_region(self, i: int, close: int, op: str) -> bool:
        """Whether the braces at token ``i`` of a custom form hold operations or attributes."""
        if self.words[i - 1] == "attributes":
            return False
        if close == i + 1:
            return _HAS_REGION.match(op) is not None
        kind, following = self.kinds[i + 1], self.words[i + 2]
        if kind in (VALUE, LABEL):
            return True
        if kind == STRING:
            return following == "("
        if kind == WORD:
            if following in (",", "}"):
                return following == "}" and self.leads[i + 1]
            return following != "="
        return False


def _small(digits: str, token: int) -> int:
    if not digits.isdigit() or len(digits) > 6:
        raise _Fault(f"'{digits[:20]}' is not a number of results", token)
    return int(digits)


def scan(source: Source) -> Scan:
    """Read MLIR text. Never raises on bad text: what cannot be read is in ``faults``."""
    tokens = tokenise(source.text)
    match_brackets(tokens)
    reader = _Reader(tokens)
    items = reader.items()
    faults = sorted(dict.fromkeys(tokens.faults), key=lambda f: f.span)
    if len(faults) > MAX_FAULTS:
        faults[MAX_FAULTS:] = [Fault(f"{len(faults) - MAX_FAULTS} more faults from here on", faults[MAX_FAULTS].span)]
    return Scan(Module(items, source, tokens.types), tuple(faults), tuple(tokens.comments))
