"""Types and operations of the IR to the facts that rules speak of.

How a type gives facts is rule data (the ``atom`` declarations); this module only follows it. Each fact remembers the
piece of text it came from, so that a diagnostic can underline ``100`` in ``64x100x16``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tileproof.base.records import dataclass, field
from tileproof.base.source import Span
from tileproof.base.spelling import get_close_matches
from tileproof.dialects.configuration import Facts
from tileproof.dialects.operands import static_size
from tileproof.dialects.values import element_bits
from tileproof.layout.values import Layout
from tileproof.mlir.types import Kind, Node
from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.declarations import Atom, Binding, Bounded, Enumerated
from tileproof.rulebase.expression import Scalar
from tileproof.rulebase.findings import Stated, state
from tileproof.syntax import MAX_DIGITS, SyntaxFault
from tileproof.syntax.layouts import layout as parse_layout


class MalformedAtom(ValueError):
    """An atom whose parameters do not fit its declaration."""

    def __init__(self, stated: Stated, span: Span) -> None:
        super().__init__(stated.message)
        self.stated = stated
        self.span = span


@dataclass(slots=True)
class _Collected:
    values: dict[str, Scalar] = field(default_factory=dict)
    spelled: dict[str, str] = field(default_factory=dict)
    spans: dict[str, Span] = field(default_factory=dict)


def atom_facts(book: Rulebook, atom: Atom, node: Node, offset: int, partial: bool = False) -> Facts:
    """The facts of an atom type.

    Args:
        node: the atom's type.
        offset: where the text of the type that holds it starts.
        partial: a parameter may be missing; its facts are then unknown.

    Raises:
        MalformedAtom: a parameter is missing, superfluous, or has a value that its fact cannot have.
    """
    _named_once(book, atom, node, offset)
    found = _Collected(dict(atom.sets))
    for binding in atom.bindings:
        if binding.facts and not (partial and _missing(binding, node)):
            _bind(book, atom, binding, node, offset, found)
    span = Span(offset + node.start, offset + node.end)
    return Facts(atom.schema, found.values, found.spelled, found.spans, span)


def _missing(binding: Binding, node: Node) -> bool:
    """Whether a type lacks a parameter that must be there."""
    if binding.default is not None:
        return False
    if isinstance(binding.parameter, int):
        return binding.parameter >= len(node.positional)
    return node.parameter(binding.parameter) is None


def _named_once(book: Rulebook, atom: Atom, node: Node, offset: int) -> None:
    """That no parameter is written twice, and that none is a misspelling of one that is not there.

    Other names are carried: the dialect has parameters that no rule reads.
    """
    name = node.text.lstrip("!")
    known = {binding.parameter for binding in atom.bindings if isinstance(binding.parameter, str) and binding.facts}
    given = [child for child in node.children if child.key]
    absent = sorted(known - {child.key for child in given})
    seen: set[str] = set()
    for child in given:
        span = Span(offset + child.start, offset + child.end)
        if child.key in seen:
            raise MalformedAtom(state(book, "IR004", "twice", atom=name, parameter=child.key), span)
        seen.add(child.key)
        if child.key not in known and (close := get_close_matches(child.key, absent, 1, 0.8)):
            stated = state(book, "IR004", "misspelled", atom=name, parameter=child.key, nearest=close[0])
            raise MalformedAtom(stated, span)


def _bind(book: Rulebook, atom: Atom, binding: Binding, node: Node, offset: int, found: _Collected) -> None:
    name = node.text.lstrip("!")
    if isinstance(binding.parameter, int):
        positional = node.positional
        parameter = positional[binding.parameter] if binding.parameter < len(positional) else None
        what = f"its parameter {binding.parameter + 1}"
    else:
        parameter, what = node.parameter(binding.parameter), f"'{binding.parameter}'"
    if parameter is None:
        if binding.default is None:
            stated = state(book, "IR004", "missing", atom=name, parameter=what)
            raise MalformedAtom(stated, Span(offset + node.start, offset + node.end))
        found.values.update(zip(binding.facts, binding.default, strict=True))
        return
    schema = book.schemas[atom.schema]
    counted = not binding.pattern and all(isinstance(schema.fields[fact], Bounded) for fact in binding.facts)
    if counted and _measure(binding, parameter, offset, found):
        return
    matched = binding.pattern and not binding.translation
    pieces = list(_matched(parameter, binding.pattern) if matched else _pieces(parameter))
    if len(pieces) != len(binding.facts):
        if matched:
            pattern = binding.pattern.replace("{}", "<integer>")
            stated = state(book, "IR004", "pattern", atom=name, parameter=what, pattern=pattern)
        else:
            count, found_ = len(binding.facts), len(pieces)
            stated = state(book, "IR004", "count", atom=name, parameter=what, count=count, found=found_)
        raise MalformedAtom(stated, Span(offset + parameter.start, offset + parameter.end))
    translation = dict(binding.translation)
    for fact, (text, start, end) in zip(binding.facts, pieces, strict=True):
        span = Span(offset + start, offset + end)
        match schema.fields[fact]:
            case Bounded():
                if not text.removeprefix("-").isdecimal():
                    stated = state(book, "IR004", "integer", atom=name, parameter=what, value=text)
                    raise MalformedAtom(stated, span)
                if len(text) > MAX_DIGITS:
                    raise MalformedAtom(state(book, "IR004", "too_large", atom=name, parameter=what), span)
                found.values[fact] = int(text)
            case Enumerated(enum):
                known = translation or book.enums[enum].by_spelling
                if text not in known:
                    listed = ", ".join(known)
                    stated = state(book, "IR004", "member", atom=name, parameter=what, value=text, known=listed)
                    raise MalformedAtom(stated, span)
                found.values[fact] = known[text]
        found.spelled[fact] = text
        found.spans[fact] = span


def _measure(binding: Binding, parameter: Node, offset: int, found: _Collected) -> bool:
    """Integers that a type or a layout stands for: the bits of a type; the rank of a layout and its largest extent.

    A type of unknown size gives no fact. Returns whether the parameter is one of the two at all.
    """
    inner = parameter
    while inner.kind is Kind.GROUP and len(inner.children) == 1:
        inner = inner.children[0]
    values: tuple[int, ...]
    if inner.kind is Kind.TEXT:
        try:
            value = parse_layout(inner.text)
        except SyntaxFault:
            return True  # reported where layouts are read
        shape = value.shape if isinstance(value, Layout) else ()
        modes = shape if isinstance(shape, tuple) else (shape,)
        sizes = [size for size in map(static_size, modes) if size is not None]
        values = (len(modes), max(sizes, default=0))
    elif inner.kind is Kind.TYPE and inner is parameter:
        bits = element_bits(inner.text)
        values = (bits,) if bits is not None else ()
    else:
        return False
    for fact, number in zip(binding.facts, values, strict=False):
        found.values[fact] = number
        found.spelled[fact] = str(number)
        found.spans[fact] = Span(offset + inner.start, offset + inner.end)
    return True


def _matched(node: Node, pattern: str) -> Iterator[tuple[str, int, int]]:
    """The integers in a parameter such as ``32 DP``, printed with single spaces; none where it does not fit."""
    text = " ".join(piece for piece, _, _ in _pieces(node))
    found = re.fullmatch(r"(\d+)".join(map(re.escape, pattern.split("{}"))), text, re.ASCII)
    if found is None:
        return
    for i in range(1, pattern.count("{}") + 1):
        yield found[i], node.start + found.start(i), node.start + found.end(i)


def _pieces(node: Node) -> Iterator[tuple[str, int, int]]:
    """The single values in a parameter: extents of a shape, members of a tuple, or the parameter itself."""
    if node.kind is Kind.DIMS:
        at = node.start
        for extent in node.text.rstrip("x").split("x"):
            yield extent, at, at + len(extent)
            at += len(extent) + 1
    elif node.kind is Kind.GROUP:
        for child in node.children:
            yield from _pieces(child)
    elif node.kind is Kind.MARK and node.text == "->":
        return
    else:
        yield node.text, node.start, node.end
