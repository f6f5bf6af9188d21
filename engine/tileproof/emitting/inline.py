"""A sequence as inline assembly: the constraint string of LLVM, and CUDA C++'s ``asm volatile``.

Results are outputs, an accumulator is an output tied to an input of the same number, all other registers are inputs. A
predicate cannot be passed: it comes in as an integer and is made inside. Nor can a variable in shared memory that the
kernel around would declare, such as the mbarrier of a commit: its address in shared memory comes in.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from tileproof.base.patterns import regex
from tileproof.base.records import dataclass
from tileproof.emitting.kernel import SMEM, Register, register
from tileproof.emitting.sequence import Sequence
from tileproof.rulebase.book import Rulebook

_NAME = regex(r"(?<![\w%.])([a-z]\d+)\b", re.ASCII)
_VARIABLE = regex(r"\.shared\b.*\s([A-Za-z_]\w*)\s*(?:\[\d*\])?;", re.ASCII)
_CONSTANT = regex(r"mov\.[bus](?:32|64) (\w+), (0x[0-9a-f]+|\d+);", re.ASCII)
ADDRESS = "r0"
"""A register of the class that holds an address in shared memory."""


@dataclass(frozen=True, slots=True)
class Inline:
    """The assembly of a sequence and its operands.

    Attributes:
        outputs, inputs: registers, or variables by their address, with their kinds.
        updated: how many of the outputs, the last ones, are inputs as well.
        constants: the values of inputs that are known, such as an instruction descriptor.
    """

    lines: tuple[str, ...]
    outputs: tuple[tuple[str, Register], ...]
    inputs: tuple[tuple[str, Register], ...]
    updated: int
    constants: tuple[tuple[str, str], ...] = ()

    def numbered(self, mark: str, tied: bool) -> tuple[str, ...]:
        """The lines with ``$0`` or ``%0`` for registers.

        Args:
            tied: whether the accumulator's inputs have numbers of their own, as in LLVM.
        """
        skipped = self.updated if tied else 0
        numbers = {name: i for i, (name, _) in enumerate(self.outputs)}
        numbers |= {name: i + len(self.outputs) + skipped for i, (name, _) in enumerate(self.inputs)}
        passed = {name for name, kind in self.inputs if kind.type == "pred"}

        def place(match: re.Match[str]) -> str:
            name = match[0]
            return name if name not in numbers or name in passed else f"{mark}{numbers[name]}"

        made = [
            *declarations_of(passed),
            *(f"setp.ne.b32 {name}, {mark}{numbers[name]}, 0;" for name in sorted(passed)),
        ]
        escaped = [line.replace(mark, mark * 2) for line in self.lines]
        variables = [name for name in numbers if _NAME.fullmatch(name) is None]
        name = re.compile("|".join([_NAME.pattern, *(rf"(?<![\w%.]){one}\b" for one in variables)]), re.ASCII)
        return (*made, *(name.sub(place, line) for line in escaped))


def declarations_of(predicates: set[str]) -> list[str]:
    """``.reg .pred`` for the predicates that are made inside."""
    return [f".reg .pred {', '.join(sorted(predicates))};"] if predicates else []


def inline(book: Rulebook, one: Sequence) -> Inline:
    """The ``emit`` lines of a sequence, with the registers that they use."""
    text = " ".join(one.parts["emit"])
    present = set(_NAME.findall(text))

    def kinds(names: tuple[str, ...]) -> tuple[tuple[str, Register], ...]:
        found = ((name, register(book, name)) for name in names if name in present)
        return tuple((name, kind) for name, kind in found if kind is not None)

    written = kinds(one.registers(*one.writes)) if one.writes else ()
    updated = kinds(one.registers(*one.updates)) if one.updates else ()
    results = {name for name, _ in (*written, *updated)}
    inputs = tuple(pair for pair in kinds(one.registers()) if pair[0] not in results)
    given = {name for name, _ in inputs}
    found = (_CONSTANT.fullmatch(line) for line in one.parts["setup"])
    constants = tuple((match[1], match[2]) for match in found if match is not None and match[1] in given)
    return Inline(
        one.parts["emit"], (*written, *updated), (*inputs, *_variables(book, one, text)), len(updated), constants
    )


def _variables(book: Rulebook, one: Sequence, text: str) -> Iterator[tuple[str, Register]]:
    """The variables in shared memory that the lines name."""
    address = register(book, ADDRESS)
    assert address is not None, "rules/emit/registers.rule"
    declared = (_VARIABLE.search(line) for part in ("module", "setup") for line in one.parts[part])
    names = [*(match[1] for match in declared if match is not None), SMEM]
    for name in dict.fromkeys(names):
        if re.search(rf"(?<![\w%.]){name}\b", text):
            yield name, address


def constraints(found: Inline) -> str:
    """LLVM's constraint string: outputs, the inputs tied to them, other inputs, and that memory changes."""
    first = len(found.outputs) - found.updated
    return ",".join(
        [
            *(f"={kind.constraint}" for _, kind in found.outputs),
            *(str(i) for i in range(first, len(found.outputs))),
            *(kind.constraint for _, kind in found.inputs),
            "~{memory}",
        ]
    )


def _arguments(found: Inline) -> tuple[tuple[str, Register], ...]:
    return (*found.outputs[len(found.outputs) - found.updated :], *found.inputs)


def _block(lines: tuple[str, ...]) -> tuple[str, ...]:
    return lines if len(lines) == 1 else ("{", *lines, "}")


def as_llvm(found: Inline) -> list[str]:
    """A call of inline assembly in LLVM IR."""
    text = "\\0A".join(_block(found.numbered("$", tied=True)))
    given = ", ".join(f"{kind.llvm} %{name}" for name, kind in _arguments(found))
    result = _struct([kind.llvm for _, kind in found.outputs], "{ {} }", "void")
    target = "%d = " if found.outputs else ""
    return [f'{target}call {result} asm sideeffect "{text}", "{constraints(found)}"({given})']


def as_mlir(found: Inline) -> list[str]:
    """The operation ``llvm.inline_asm``."""
    text = "\\0A".join(_block(found.numbered("$", tied=True)))
    arguments = _arguments(found)
    given = ", ".join(f"%{name}" for name, _ in arguments)
    types = ", ".join(kind.mlir for _, kind in arguments)
    result = _struct([kind.mlir for _, kind in found.outputs], "!llvm.struct<({})>", "()")
    target = "%d = " if found.outputs else ""
    asm = f'llvm.inline_asm has_side_effects asm_dialect = att "{text}", "{constraints(found)}"'
    return [f"{target}{asm}{' ' if given else ''}{given} : ({types}) -> {result}"]


def as_cuda(found: Inline) -> list[str]:
    """A statement ``asm volatile`` in CUDA C++; each operand is a variable named after its register."""
    first = len(found.outputs) - found.updated
    lines = _block(found.numbered("%", tied=False))
    outputs = [
        f'"{"=" if i < first else "+"}{kind.constraint}"({name})' for i, (name, kind) in enumerate(found.outputs)
    ]
    inputs = [f'"{kind.constraint}"({name})' for name, kind in found.inputs]
    declared = _declared((*found.outputs, *found.inputs), dict(found.constants))
    return [
        *declared,
        "asm volatile(",
        *(f'  "{line}\\n"' for line in lines),
        f"  : {', '.join(outputs)}",
        f"  : {', '.join(inputs)}",
        '  : "memory");',
    ]


def _declared(registers: tuple[tuple[str, Register], ...], constants: Mapping[str, str]) -> list[str]:
    by_kind: dict[str, list[str]] = {}
    for name, kind in registers:
        if _NAME.fullmatch(name) is not None:
            known = f" = {constants[name]}" if name in constants else ""
            by_kind.setdefault(kind.cuda, []).append(f"{name}{known}")
    addresses = [
        f"{kind.cuda} {name};  // address in shared memory: __cvta_generic_to_shared(&{name})"
        for name, kind in registers
        if _NAME.fullmatch(name) is None
    ]
    return [*(f"{kind} {', '.join(names)};" for kind, names in by_kind.items()), *addresses]


def _struct(types: list[str], shape: str, empty: str, join: Callable[[list[str]], str] = ", ".join) -> str:
    if not types:
        return empty
    return types[0] if len(types) == 1 else shape.replace("{}", join(types))
