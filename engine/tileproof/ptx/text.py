"""The text of one PTX instruction, cut into opcode and operands.

Operand texts repeat by the thousand (``{r0,r1,r2,r3}``): each distinct one is cut once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from tileproof.base.patterns import regex
from tileproof.base.records import dataclass, replace
from tileproof.base.source import Span
from tileproof.ptx.constant import constant, integer
from tileproof.syntax import MAX_DIGITS, SyntaxFault

_NAME = r"[%$_a-zA-Z][\w$]*(?:\.\w+)*"
_OPCODE = r"[a-z]\w*(?:\.\w+(?:::\w+)*)*(?:\s*::\w+)?(?:\s*\.\w+(?:::\w+)*)*"
_INSTRUCTION = regex(
    rf"\s*(?:@\s*(!?)\s*({_NAME})\s+)?({_OPCODE})(?![\w.:])\s*([^\s;@]*+(?:\s++[^\s;@]++)*+)\s*;\s*(?://[^\n]*)?",
    re.ASCII,
)
_BLANKS = regex(r"\s+")
_COMMENT = regex(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_OPERAND = regex(r"(\s*(\{[^{}\[\]]*\}|\[(?:[^{}\[\]]|\{[^{}\[\]]*\})*\]|[^,{}\[\]]+?)\s*(?:,|$))", re.ASCII)
_PART = regex(r"\s*(\{[^{}]*\}|[^,{}]+?)\s*(?:,|$)", re.ASCII)
_PAIR = regex(rf"({_NAME})\s*\|\s*{_NAME}", re.ASCII)
# What is added to a register is a constant expression: `r0+-8`. ptxas reads no `r0-8`.
_SCALAR = regex(rf"(!?)\s*({_NAME})(?:\s*\+(.+))?", re.ASCII | re.DOTALL)
_INTEGER = regex(r"([+-]?)\s*(0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)U?", re.ASCII)
_FLOAT32 = regex(r"0[fF][0-9a-fA-F]{8}", re.ASCII)  # ptxas reads no sign before it
_FLOAT64 = regex(r"[+\-\s]*(?:0[dD][0-9a-fA-F]{16}|\d+\.\d*(?:[eE][-+]?\d+)?|\d+[eE][-+]?\d+)", re.ASCII)

# What a constant is, by members of the enum operand_class. A literal without 0f is a double to ptxas.
INTEGER, FLOAT32, FLOAT64, SINK = ".integer", ".float32", ".float64", ".sink"


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """A register, a constant or a tuple of such.

    Attributes:
        names: the registers and symbols in it; of a constant its class, such as ``.integer``.
        registers: the length of the tuple; 0 where it is none.
        value: of an integer.
        offset: what is added to a register or a symbol; outside brackets 1 for a sum that adds 0.
        start, end: offsets from the beginning of the operand.
        values: of a tuple, the ``value`` of each member.
        bits: of a floating-point constant that is written in its bits, those as a signed integer.
    """

    names: tuple[str, ...]
    registers: int
    value: int | None
    offset: int
    negated: bool
    start: int
    end: int
    values: tuple[int | None, ...] = ()
    bits: int | None = None

    @property
    def members(self) -> tuple[Part, ...]:
        """The members of a tuple, each by itself."""
        pairs = zip(self.names, self.values, strict=True) if self.registers else ()
        return tuple(Part((name,), 0, value, 0, False, self.start, self.end) for name, value in pairs)

    @property
    def repeated(self) -> bool:
        """Whether a register is in the tuple twice."""
        registers = [name for name in self.names if name[0] != "."]
        return len(set(registers)) < len(registers)


@dataclass(frozen=True, slots=True, eq=False)
class Operand:
    """One operand: an address of one or more parts, or one part.

    Attributes:
        shape: what decides which form an operand fits: whether it is an address, how many parts it has, whether the
            first is a tuple, and of how many members.
    """

    parts: tuple[Part, ...]
    address: bool
    shape: tuple[bool, int, bool, int]


class Instruction(NamedTuple):
    """An instruction and the places of its pieces in the text. A tuple, for many are made.

    Attributes:
        opcode: without the blanks and comments that may stand before a modifier; ``written``: with them.
        body: the text of the operands, which starts at ``body_start``.
    """

    opcode: str
    opcode_start: int
    guard: str | None
    guard_start: int
    operands: tuple[Operand, ...]
    body: str
    body_start: int
    written: str

    @property
    def gaps(self) -> tuple[int, ...]:
        """Where in the opcode blanks or comments stand, counted in ``opcode``."""
        return tuple(place.start() - taken for taken, place in _numbered(_BLANKS.finditer(self.written)))

    def opcode_span(self, span: Span) -> Span:
        """The place in the text of a part of the opcode."""
        if self.written == self.opcode:
            return Span(self.opcode_start + span.start, self.opcode_start + span.end)
        places = [i for i, character in enumerate(self.written) if not character.isspace()]
        end = places[span.end - 1] + 1 if span.end > span.start else places[span.start]
        return Span(self.opcode_start + places[span.start], self.opcode_start + end)

    def span(self, i: int) -> Span:
        """The place of an operand. Only diagnostics ask for it."""
        found = next(islice(_OPERAND.finditer(self.body), i, None))
        return Span(self.body_start + found.start(2), self.body_start + found.end(2))

    @property
    def guard_span(self) -> Span:
        return Span(self.guard_start, self.guard_start + len(self.guard or ""))


def cut(text: str) -> Instruction:
    """One instruction, its semicolon included.

    Raises:
        SyntaxFault: the text is not in grammar/ptx.lark.
    """
    found = _INSTRUCTION.fullmatch(text)
    if found is None and "/" in text:
        found = _INSTRUCTION.fullmatch(_COMMENT.sub(lambda comment: " " * len(comment[0]), text))
    if found is None:
        raise _fault(text)
    _, guard, opcode, body = found.groups()
    operands = operands_of(body)
    if operands is None:
        raise _fault(text)
    written = opcode
    if " " in opcode or "\n" in opcode or not opcode.isprintable():
        opcode = "".join(opcode.split())
    return Instruction(opcode, found.start(3), guard, found.start(2), operands, body, found.start(4), written)


def _numbered(gaps: Iterator[re.Match[str]]) -> Iterator[tuple[int, re.Match[str]]]:
    """Each gap with the number of blanks before it."""
    taken = 0
    for gap in gaps:
        yield taken, gap
        taken += len(gap[0])


@lru_cache(maxsize=65536)
def operands_of(body: str) -> tuple[Operand, ...] | None:
    """The operands in a text; None where it is not all operands."""
    pieces = _OPERAND.findall(body)
    if sum([len(whole) for whole, _ in pieces]) != len(body) or body.endswith(","):
        return None
    operands = []
    for _, piece in pieces:
        operand = _operand(piece)
        if operand is None:
            return None
        operands.append(operand)
    return tuple(operands)


def in_elements(operand: Operand, registers: Callable[[str], tuple[str, ...]]) -> Operand:
    """An operand in which the tuple of its elements stands for each vector.

    Args:
        registers: those that a name stands for.
    """
    found = tuple(_in_elements(part, registers) for part in operand.parts)
    return operand if found == operand.parts else _made(found, operand.address)


def _in_elements(part: Part, registers: Callable[[str], tuple[str, ...]]) -> Part:
    each = [registers(name) if name[0] != "." else (name,) for name in part.names]
    names = tuple(name for one in each for name in one)
    if names == part.names:
        return part
    if part.registers or len(names) > 1:
        values = tuple(value for one, value in zip(each, part.values or (None,), strict=True) for _ in one)
        return replace(part, names=names, registers=len(names), values=values)
    return replace(part, names=names)


def _fault(text: str) -> SyntaxFault:
    from tileproof.syntax.ptx import fault  # noqa: PLC0415  Lark is imported only to say what is wrong

    return fault(text) or SyntaxFault("this is not one PTX instruction", 0, len(text))


@lru_cache(maxsize=65536)
def _operand(text: str) -> Operand | None:
    if text[0] != "[":
        if pair := _PAIR.fullmatch(text):  # two destinations, `d|p`, count as the first
            text = pair[1]
        part = _part(text, 0)
        if part is not None and "+" in text and not part.offset and not part.registers and part.names[0][0] != ".":
            part = replace(part, offset=1)  # also what adds 0 is a sum, which cannot be written to
        return _made((part,), address=False) if part is not None else None
    inner, at = text[1:-1], 0
    parts: list[Part] = []
    while at < len(inner):
        piece = _PART.match(inner, at)
        part = _part(piece[1], 1 + piece.start(1)) if piece else None
        if piece is None or part is None or (part.registers and not parts):
            return None
        parts.append(part)
        at = piece.end()
    # Before a comma ptxas reads no sum, not even one that adds 0; other sums are a rule's to judge.
    if len(parts) > 1 and not parts[0].offset and "+" in text[parts[0].start : parts[0].end].lstrip("+"):
        return None
    return _made(tuple(parts), address=True) if parts and not inner.rstrip().endswith(",") else None


def _made(parts: tuple[Part, ...], address: bool) -> Operand:
    first = parts[0]
    return Operand(parts, address, (address, len(parts), first.registers > 0, first.registers))


def _part(text: str, start: int) -> Part | None:
    end = start + len(text)
    if text[0] != "{":
        scalar = _scalar(text)
        if scalar is None:
            return None
        return Part((scalar[0],), 0, *scalar[1:], start, end, bits=_bits(text) if scalar[0][0] == "." else None)
    if not text[1:-1].strip():
        return Part((), 0, None, 0, negated=False, start=start, end=end)
    names, values = [], []
    for element in text[1:-1].split(","):
        scalar = _scalar(element.strip())
        if scalar is None or scalar[2] or scalar[3]:  # neither displaced nor negated
            return None
        names.append(scalar[0])
        values.append(scalar[1])
    return Part(tuple(names), len(names), None, 0, False, start, end, tuple(values))


def _bits(text: str) -> int | None:
    """The bits of a constant such as 0f3F800000."""
    if text[:2] not in ("0f", "0F", "0d", "0D"):
        return None
    half = 1 << 4 * len(text[2:]) - 1
    return (int(text[2:], 16) ^ half) - half


@lru_cache(maxsize=4096)
def _scalar(text: str) -> tuple[str, int | None, int, bool] | None:
    """Name or class of a constant, its value, what is added, and whether it is negated."""
    if text == "_":
        return SINK, None, 0, False
    if found := _SCALAR.fullmatch(text):
        offset = constant(found[3]) if found[3] else 0
        return (found[2], None, offset, bool(found[1])) if offset is not None and not (found[1] and found[3]) else None
    if found := _INTEGER.fullmatch(text):
        if len(found[2]) > MAX_DIGITS + 1:  # leading zeros are allowed; ptxas: "Constant overflow"
            return None if found[2][0] in "123456789" else (INTEGER, None, 0, False)
        value = integer(found[2])
        return (INTEGER, -value if found[1] == "-" else value, 0, False) if value is not None else None
    if _FLOAT32.fullmatch(text):
        return FLOAT32, None, 0, False
    if _FLOAT64.fullmatch(text):
        return FLOAT64, None, 0, False
    value = constant(text)
    return (INTEGER, value, 0, False) if value is not None else None
