"""Sequences as a self-contained kernel: its operands come from ``source``, its results go to ``destination``.

Both are arrays in global memory in which each thread has a row: what it reads, register by register, what it writes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

from tileproof.base.records import dataclass
from tileproof.emitting.sequence import Sequence
from tileproof.evaluate.hardware import swizzle_period
from tileproof.ptx.registers import by_letter
from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.expression import Scalar


@dataclass(frozen=True, slots=True)
class Register:
    """Declaration and memory form of a class of registers: a row of the table ``operand_register``."""

    type: str
    bytes: int
    constraint: str
    cuda: str
    llvm: str
    mlir: str


@lru_cache(maxsize=64)
def register(book: Rulebook, name: str) -> Register | None:
    """The class of a register such as ``r3``; None if it is not a register that can be declared."""
    member = by_letter(book)(name)
    row = book.shared_table("operand_register").rows.get((member or "",))
    if row is None:
        return None
    kind, size, constraint, cuda, llvm, mlir = row
    assert isinstance(size, int), "rules/emit/registers.rule"
    return Register(str(kind), size, str(constraint), str(cuda), str(llvm), str(mlir))


def module(
    book: Rulebook,
    where: Mapping[str, Scalar],
    entries: Iterable[tuple[str, Iterable[Sequence], Iterable[str]]],
    parameters: Iterable[str] = (),
) -> str:
    """A PTX module of entries, each with its name, its sequences one after the other, and comments.

    Args:
        where: target and PTX version.
        parameters: further addresses of the entries, after ``PARAMETERS``.
    """
    version = int(where["ptx"])
    lines = [
        f".version {version // 100}.{version % 100}",
        f".target {str(where['target'])[1:]}",
        ".address_size 64",
        "",
    ]
    declared: list[str] = []
    texts: list[str] = []
    for name, sequences, comments in entries:
        kept = list(sequences)
        declared += [line for one in kept for line in one.parts["module"]]
        symbol = f".shared .align {swizzle_period(book)} .b8 {SMEM}[{_LENGTH}];"
        declared += [symbol for one in kept if SMEM in one.operands.values()]
        texts += entry(book, name, kept, comments, parameters)
    return "\n".join([*lines, *dict.fromkeys(declared), *([""] if declared else []), *texts]) + "\n"


_LENGTH = 4096  # bytes of shared memory that a lone instruction is given
SMEM = "smem"
"""The variable in shared memory that an operand names where no template declares one."""
PARAMETERS = ("from", "to")


def entry(
    book: Rulebook,
    name: str,
    sequences: list[Sequence],
    comments: Iterable[str] = (),
    parameters: Iterable[str] = (),
) -> list[str]:
    """The lines of one entry.

    Args:
        parameters: further addresses, after ``PARAMETERS``.
    """
    directives = dict.fromkeys(line for one in sequences for line in one.parts["entry"])
    lines = [
        *(f"// {comment}" for comment in comments),
        f".visible .entry {name}({', '.join(f'.param .b64 {one}' for one in (*PARAMETERS, *parameters))})",
        *directives,
        "{",
    ]
    for one in sequences:
        lines += [f"  // {one.title}"] if one.title else []
        lines += ["  {", *(f"  {line}" for line in body(book, one)), "  }"] if one.parts["emit"] else []
    return [*lines, "  ret;", "}"]


def body(book: Rulebook, one: Sequence) -> list[str]:
    """One sequence with its registers: declared, loaded, and stored."""
    results = one.registers(*one.writes, *one.updates) if one.writes or one.updates else ()
    only_written = one.registers(*one.writes) if one.writes else ()
    made = one.registers(*one.made) if one.made else ()
    loaded = [name for name in one.registers() if name not in only_written and name not in made]
    lines = declarations(book, one.registers())
    lines += [
        ".reg .b64 source, destination;",
        ".reg .b32 thread, word;",
        "mov.u32 thread, %tid.x;",
        "ld.param.b64 source, [from];",
        "ld.param.b64 destination, [to];",
        "cvta.to.global.u64 source, source;",
        "cvta.to.global.u64 destination, destination;",
    ]
    lines += _moves(book, "source", loaded, store=False, uniform=one.uniform)
    lines += [*one.parts["setup"], *one.parts["emit"], *one.parts["finish"]]
    lines += _moves(book, "destination", results, store=True)
    return ["  " + line for line in lines]


def declarations(book: Rulebook, names: Iterable[str]) -> list[str]:
    """``.reg`` for registers named by class and number."""
    counts: dict[str, int] = {}
    for name in names:
        counts[name[0]] = max(counts.get(name[0], 0), int(name[1:]) + 1)
    found = [(letter, count, register(book, f"{letter}0")) for letter, count in counts.items()]
    return [f".reg .{kind.type} {letter}<{count}>;" for letter, count, kind in found if kind is not None]


def _moves(book: Rulebook, base: str, names: Iterable[str], store: bool, uniform: bool = False) -> list[str]:
    """Loads or stores of registers, contiguous in the thread's row, each at a multiple of its size.

    Args:
        uniform: all threads have the first row.
    """
    lines: list[str] = []
    at = 0
    for name in names:
        kind = register(book, name)
        if kind is None:
            continue
        at = -(-at // kind.bytes) * kind.bytes
        if store:
            lines.append(f"st.global.{kind.type} [{base}+{at}], {name};")
        elif kind.type == "pred":
            lines += [f"ld.global.b32 word, [{base}+{at}];", f"setp.ne.b32 {name}, word, 0;"]
        else:
            lines.append(f"ld.global.{kind.type} {name}, [{base}+{at}];")
        at += kind.bytes
    if not lines:
        return []
    row = -(-at // 16) * 16
    if uniform:
        return lines
    return [f"mad.wide.u32 {base}, thread, {row}, {base};", *lines]
