"""Inline assembly as text: its instructions with their guards and labels, and what its operands are called.

LLVM writes ``$0`` for operands, results first, tied to constraints; the NVVM dialect ``{$r0}``, ``{$w0}``, ``{$rw0}``.
What is between the quotes is PTX, and is read as PTX. What an instruction does is said by the operation of the IR that
it is the same as, by the table ``assembly`` of rules/protocol: nothing here knows a step.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from tileproof.base.patterns import regex
from tileproof.base.records import dataclass, replace
from tileproof.base.source import Source
from tileproof.mlir.ir import Operation
from tileproof.protocol.counterparts import Counterpart, counterpart
from tileproof.protocol.steps import words
from tileproof.ptx.module import Module, Scope, read_module
from tileproof.ptx.text import Operand, in_elements, operands_of
from tileproof.rulebase.book import Rulebook

_QUOTED = regex(r'"((?:[^"\\]|\\.)*)"')
_ESCAPE = regex(r"\\([0-9A-Fa-f]{2}|.)")
_UNIQUE = regex(r"\$\{:uid\}")
_BRACED = regex(r"\{\$(r?w?\d+)\}|\$\{(\d+)(?::\w+)?\}")
_GROUP = regex(r"\b(ro|rw)\s*\(([^:)]*)")
_PAIR = regex(r"\|\s*([%$_a-zA-Z][\w$]*)")


@dataclass(frozen=True, slots=True)
class Statement:
    """An instruction of an assembly text.

    Attributes:
        text: the instruction as written; ``operands`` is None where it is not one of PTX.
        guard: the predicate that it is executed under, empty for none; ``negated``: where that is false.
        second: the second destination of ``d|p``, empty for none.
        labels: the labels before it.
        same: what it is the same as; None where it takes no part in the protocol.
        waits: whether it is the test of a loop that only waits.
        number: of the instruction in its module.
        scope: of its names.
    """

    opcode: str
    text: str
    operands: tuple[Operand, ...] | None
    guard: str
    negated: bool
    second: str
    labels: tuple[str, ...]
    same: Counterpart | None
    waits: bool = False
    number: int = -1
    scope: Scope | None = None

    @property
    def jumps_to(self) -> str:
        """The label that it branches to; empty for another instruction."""
        branches = self.opcode == "bra" or self.opcode.startswith("bra.")
        return self.operands[0].parts[0].names[0] if branches and self.operands and self.operands[0].parts else ""

    @property
    def acts(self) -> bool:
        """Whether it takes part in the protocol."""
        return self.same is not None and not self.same.computes


@dataclass(frozen=True, slots=True)
class Names:
    """What an assembly text calls operands and results.

    Attributes:
        text: the PTX.
        operands: for each operand of the operation its names.
        results: for each result its name; ``changed`` the operands that the text may write, with their names.
        predicate: the name of what guards all of it; empty for nothing.
    """

    text: str
    operands: tuple[tuple[str, ...], ...]
    results: tuple[str, ...]
    changed: tuple[tuple[int, str], ...] = ()
    predicate: str = ""


def names(operation: Operation) -> Names:
    """How an operation with inline assembly calls its operands and results."""
    count = len(operation.operands)
    if operation.name == "llvm.inline_asm":
        text, constraints = _asm_text(operation)
        return _by_constraints(text, constraints, count)
    written = words(operation)
    quoted = _QUOTED.findall(written)
    segments = operation.attribute("operandSegmentSizes")
    if segments is not None:
        sizes = [int(n) for n in re.findall(r"\d+", segments.text.partition(":")[2])]
    else:
        groups = {kind: inside.count("%") for kind, inside in _GROUP.findall(_QUOTED.sub("", written))}
        sizes = [groups.get("ro", 0), groups.get("rw", 0)]
    read, changed = [*sizes, 0, 0][:2]
    results = sum(result.count for result in operation.results)
    called: list[tuple[str, ...]] = [(f"$r{i}", f"${results + i}") for i in range(read)]
    called += [(f"$rw{i}", f"${results + read + i}") for i in range(changed)]
    guarded = count > read + changed
    called += [("$guard",)] * (count - read - changed)
    return Names(
        _plain(max(quoted, key=len, default="")),
        tuple(called),
        tuple(f"$w{i}" for i in range(results)),
        tuple((read + i, f"$rw{i}") for i in range(changed)),
        "$guard" if guarded else "",
    )


def _asm_text(operation: Operation) -> tuple[str, str]:
    string, constraints = operation.attribute("asm_string"), operation.attribute("constraints")
    if string is not None:
        return string.text.strip('"'), constraints.text.strip('"') if constraints is not None else ""
    quoted = [*_QUOTED.findall(operation.pieces[0]), "", ""]
    return quoted[0], quoted[1]


def _by_constraints(text: str, constraints: str, count: int) -> Names:
    """Results first, then operands; a digit ties an operand to the result of that number."""
    parts = [part for part in constraints.split(",") if part and not part.startswith("~")]
    outputs = [part for part in parts if part.startswith("=")]
    inputs = parts[len(outputs) :]
    called = []
    for i in range(count):
        tied = inputs[i] if i < len(inputs) else ""
        mine = f"${len(outputs) + i}"
        called.append((mine, f"${tied}") if tied.isdecimal() else (mine,))
    return Names(_plain(text), tuple(called), tuple(f"${i}" for i in range(len(outputs))))


def _plain(written: str) -> str:
    """The PTX in a string of the IR."""
    text = _ESCAPE.sub(lambda one: chr(int(one[1], 16)) if len(one[1]) == 2 else one[1], written)
    return _BRACED.sub(lambda one: f"${one[1] or one[2]}", _UNIQUE.sub("_uid", text)).replace("$$", "$")


@lru_cache(maxsize=1024)
def statements(book: Rulebook, text: str) -> tuple[Statement, ...]:
    """The instructions of an assembly text, loops that only wait for a barrier made one wait."""
    source = text if text.rstrip().endswith((";", "}")) else text + ";"
    module = read_module(book, Source("inline assembly", source))
    labels = list(module.labels)
    found = []
    for number, one in enumerate(module.instructions):
        mine = [name for at, name in labels if at <= one.start]
        del labels[: len(mine)]
        found.append(statement(book, module, number, tuple(mine)))
    if labels:
        found.append(Statement("", "", (), "", False, "", tuple(name for _, name in labels), None))
    return _waits(found)


def statement(book: Rulebook, module: Module, number: int, labels: tuple[str, ...] = ()) -> Statement:
    """An instruction of a module."""
    one = module.instructions[number]
    body = module.operands(one).strip()
    pair, operands = _PAIR.search(body), operands_of(body)
    if operands is not None and one.scope is not None and one.scope.has_vectors:
        operands = tuple(in_elements(operand, one.scope.registers) for operand in operands)
    return Statement(
        one.opcode,
        module.text[one.start : one.end],
        operands,
        one.guard,
        one.negated,
        pair[1] if pair is not None else "",
        labels,
        _as_written(counterpart(book, one.opcode), operands or ()),
        number=number,
        scope=one.scope,
    )


def _as_written(same: Counterpart | None, operands: Sequence[Operand]) -> Counterpart | None:
    """What an instruction is the same as; where an operand that may be left out is, those behind it move up."""
    if same is None or same.optional is None:
        return same
    at = same.optional
    if at < len(operands) and operands[at].parts and operands[at].parts[0].registers:
        return same
    return replace(same, operands=tuple(place - (place > at) for place in same.operands))


def _waits(found: Sequence[Statement]) -> tuple[Statement, ...]:
    """Replace each loop whose only steps test barriers by the tests, which wait; their branches go."""
    kept = list(found)
    for end in range(len(kept)):
        start = next((i for i in range(end + 1) if kept[end].jumps_to in kept[i].labels), None)
        if start is None or not kept[end].jumps_to:
            continue
        body = kept[start : end + 1]
        steps = [one for one in body if one.acts]
        after = kept[end + 1].labels if end + 1 < len(kept) else ()
        leaves = {one.jumps_to for one in body if one.jumps_to} - {kept[end].jumps_to}
        if not steps or not all(map(_tests, steps)) or not leaves <= set(after):
            continue
        for i in range(start, end + 1):
            one = kept[i]
            if one.jumps_to:
                kept[i] = Statement("", "", (), "", False, "", one.labels, None)
            elif one.acts:
                kept[i] = replace(one, waits=True)
    return tuple(kept)


def _tests(one: Statement) -> bool:
    """Whether a statement is a test of a phase of a barrier."""
    return one.same is not None and "_wait.parity" in one.same.operations[0]


@lru_cache(maxsize=4096)
def said(book: Rulebook, opcode: str) -> str:
    """What an operation of the IR would write for the modifiers of an opcode, and the opcode itself."""
    known, rows = book.enums["assembly_modifier"].by_spelling, book.shared_table("assembly_word").rows
    written = [str(rows[known[piece],][0]) for piece in opcode.split(".") if piece in known]
    return " ".join((*written, opcode))


__all__ = ["Names", "Statement", "names", "said", "statement", "statements"]
