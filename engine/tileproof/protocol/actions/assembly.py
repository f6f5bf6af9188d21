"""Inline assembly: its instructions one by one, as far as they take part in the protocol or compute addresses."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

from tileproof.base.records import dataclass
from tileproof.mlir.ir import Operation
from tileproof.protocol.actions.barriers import proxy_fence
from tileproof.protocol.actions.base import Action, registrar
from tileproof.protocol.actions.copies import bulk_across, bulk_load, bulk_read, sized
from tileproof.protocol.actions.elements import post
from tileproof.protocol.machine import Machine, Unfollowed
from tileproof.protocol.program import Instruction
from tileproof.protocol.steps import words
from tileproof.protocol.values import Address, Value, lift
from tileproof.protocol.warps import ThreadSet
from tileproof.rulebase.book import Rulebook

ACTIONS: dict[str, Action] = {}
action = registrar(ACTIONS)


@dataclass(frozen=True, slots=True)
class PtxStatement:
    """A PTX instruction: its opcode, and its operands as written, without brackets."""

    opcode: str
    operands: tuple[str, ...]


_TEXT = re.compile(r'"((?:[^"\\]|\\.)*)"')
_ESCAPE = re.compile(r"\\([0-9A-Fa-f]{2}|.)")
_NAME = re.compile(r"[$%\w.]+")
_BEFORE = re.compile(r"(?:[\w$]+:(?!:)\s*)?(?:@!?[\w$%]+\s+)?")
_HIDDEN = re.compile(r"@|[\w$]+:(?!:)")  # a predicate, a label: control flow is not one path


def _plain(found: re.Match[str]) -> str:
    return chr(int(found[1], 16)) if len(found[1]) == 2 else found[1]


@lru_cache(maxsize=1024)
def statements(written: str) -> tuple[tuple[PtxStatement, ...], bool]:
    """The instructions of an assembly text as the IR writes it, and whether they are executed one after the other."""
    text = re.sub(r"\{\$(\w+)\}", r"$\1", _ESCAPE.sub(_plain, written))
    text = re.sub(r"//[^\n]*", "", text)
    found = []
    for piece in re.split(r"[;{}]\s", text.replace(";", "; ").replace("{\n", "{ \n") + " "):
        line = _BEFORE.sub("", piece.strip().strip("{};").strip())
        opcode, _, rest = line.replace("\t", " ").partition(" ")
        if opcode and not opcode.startswith("."):
            found.append(PtxStatement(opcode, tuple(_NAME.findall(rest))))
    return tuple(found), _HIDDEN.search(text.replace("::", "")) is None


@lru_cache(maxsize=4096)
def step_of(book: Rulebook, opcode: str) -> str:
    """What an opcode does, by the table ``assembly``; empty where it takes no part in the protocol."""
    known = book.enums["assembly_opcode"].by_spelling
    begins = max((one for one in known if opcode.startswith(one)), key=len, default=None)
    return str(book.shared_table("assembly").rows[known[begins],][0])[1:] if begins is not None else ""


_COMPUTED: dict[str, Callable[[int, int], int | None]] = {
    "mul.hi.u32": lambda a, b: (a * b) >> 32 if a >= 0 and b >= 0 else None,
    "shl.b32": lambda a, b: a << b if 0 <= b < 32 else None,
    "shr.u32": lambda a, b: a >> b if a >= 0 <= b else None,
    "add.s32": operator.add,
    "add.u32": operator.add,
}


# The members of the enum `assembly_step`, without their dots, that `_assembly` executes or refuses by name.
STEPS = frozenset({"unknown", "proxy_fence", "bulk_out", "bulk_in", "bulk_across", "remote_store"})


@action("opaque")
def _assembly(machine: Machine, thread_set: ThreadSet, instruction: Instruction) -> int:
    operation = instruction.operation
    written = max(_TEXT.findall(words(operation)), key=len, default="")
    found, straight = statements(written)
    names = _names(operation, thread_set, instruction)
    for one in found:
        step = step_of(machine.book, one.opcode)
        if step == "unknown" or (step and not straight):
            raise Unfollowed(operation, "assembly")
        values = [_value(text, names) for text in one.operands]
        if step == "proxy_fence":
            proxy_fence(machine, thread_set, instruction)
        elif step:
            _execute(machine, thread_set, operation, step, one, values)
            if step == "remote_store" and isinstance(values[0], Address):
                count, bits = _vector(one.opcode)
                parts = (
                    [names.get(f"{one.operands[1]}.{part}") for part in "xyzw"[:count]] if count > 1 else [values[1]]
                )
                for i, part in enumerate(parts):
                    post(
                        machine,
                        thread_set,
                        replace(replace(values[0], unit=8).moved(i * bits // 8), extent=bits // 8),
                        part,
                    )
        elif one.operands:
            names[one.operands[0]] = _computed(one.opcode, values[1:]) if straight else None
    for i, slot in enumerate(instruction.outputs):
        thread_set.values[slot] = names.get(f"${i}", names.get(f"$w{i}"))
    return thread_set.place + 1


def _names(operation: Operation, thread_set: ThreadSet, instruction: Instruction) -> dict[str, Value]:
    """The operands by the names that the text gives them: ``$n`` counts results too, ``$rn`` does not."""
    results = sum(result.count for result in operation.results)
    found: dict[str, Value] = {}
    for i, slot in enumerate(instruction.inputs):
        found[f"${results + i}"] = found[f"$r{i}"] = thread_set.values[slot]
    return found


def _value(text: str, names: dict[str, Value]) -> Value:
    return int(text) if text.isdigit() else names.get(text)


def _computed(opcode: str, values: list[Value]) -> Value:
    """The result of an instruction on integers or addresses; None for what is not known."""
    if opcode.startswith("mov.") and len(values) == 1:
        return values[0]
    function = _COMPUTED.get(opcode)
    return lift(function)(*values) if function is not None and len(values) == 2 else None


def _execute(
    machine: Machine, thread_set: ThreadSet, operation: Operation, step: str, one: PtxStatement, values: list[Value]
) -> None:
    """One instruction that takes part in the protocol."""
    places = [value if isinstance(value, Address) else None for value in values]
    if step == "bulk_out" and len(values) > 2:
        bulk_read(machine, thread_set, operation, sized(places[1], _integer(values[2])))
    elif step == "bulk_in" and len(values) > 3:
        bulk_load(machine, thread_set, operation, places[0], places[3], _integer(values[2]))
    elif step == "bulk_across" and len(values) > 3:
        bulk_across(machine, thread_set, operation, places[0], places[1], places[3], _integer(values[2]))
    elif step == "remote_store" and len(values) > 2:
        count, bits = _vector(one.opcode)
        bulk_load(machine, thread_set, operation, places[0], places[-1], count * bits // 8)
    else:
        raise Unfollowed(operation, "assembly")


def _vector(opcode: str) -> tuple[int, int]:
    """How many elements an instruction stores, and their bits."""
    count = re.search(r"\.v(\d)", opcode)
    return int(count[1]) if count is not None else 1, int(re.findall(r"\d+", opcode)[-1])


def _integer(value: Value) -> int | None:
    return value if isinstance(value, int) else None


__all__ = ["ACTIONS", "PtxStatement", "statements", "step_of"]
