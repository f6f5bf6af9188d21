"""A kernel with the bodies of the device functions that it calls in place of the calls, as a compiler inlines them.

Each call gets a body of its own: its registers and labels are those of a scope that no other call has. ``ret`` goes to
what is behind the call. What is stored to a parameter, and loaded from it, becomes a move to a register and from it:
of so many bytes at one place of one parameter of one call. Instructions keep their places in the text of the module;
those that are written anew have their text behind it, and ``Module.written`` says what they stand for.

A kernel is expanded wholly or not at all: a function that calls itself, or a text that grows too long, is not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from tileproof.base.patterns import regex
from tileproof.base.records import dataclass, field, replace
from tileproof.ptx.module import Function, Label, Module, Scope, Statement
from tileproof.ptx.names import names_in
from tileproof.ptx.text import operands_of
from tileproof.rulebase.book import Rulebook

_CALL = regex(
    r"\s*+(?:\((?P<results>[^()]*+)\)\s*+,\s*+)?(?P<name>[%$_a-zA-Z][\w$]*+)"
    r"\s*+(?:,\s*+\((?P<arguments>[^()]*+)\)\s*+)?\Z",
    re.ASCII,
)
_TYPE = regex(r"\.([bsuf])(8|16|32|64|128)\Z", re.ASCII)
_BYTE = 8
_DEEPEST = 32  # calls inside of calls: each is a few frames of the reader as well


@dataclass(slots=True)
class _Cell:
    """A parameter of one call: the registers that it became, by offset and size in bytes."""

    registers: dict[tuple[int, int], str] = field(default_factory=dict)


class _Refused(Exception):
    """A call cannot be expanded."""


def expanded(book: Rulebook, module: Module, function: Function, most: int) -> Module | None:
    """A module of one kernel and the functions without a body, with no call of any other; None where that is not done.

    Args:
        most: instructions.
    """
    bodies = {one.name: one for one in module.functions if one.body is not None}
    try:
        return _Expansion(book, module, bodies, most).of(function)
    except _Refused:
        return None


class _Expansion:
    def __init__(self, book: Rulebook, module: Module, bodies: Mapping[str, Function], most: int) -> None:
        self.module = module
        self.bodies = bodies
        self.most = most
        self.names = Scope(book, module.scope)  # what all of the kernel sees: parameters and ends of calls
        self.cells: dict[tuple[int, str], _Cell] = {}  # by the scope that declares a parameter, and its name
        self.calls = 0
        self.statements: list[Statement] = []
        self.originals: dict[Statement, Statement] = {}
        self.labels: list[Label] = []
        self.pieces: list[str] = []
        self.length = len(module.plain)

    def of(self, kernel: Function) -> Module:
        scopes = {id(self.module.scope): self.names}
        self.body(kernel, scopes, "", (kernel,))
        more = "".join(self.pieces)
        function = replace(
            kernel, first=0, last=len(self.statements), scope=scopes[id(kernel.scope)], labels=self.labels
        )
        return replace(
            self.module,
            text=self.module.text + more,
            plain=self.module.plain + more,
            instructions=self.statements,
            functions=[function, *(one for one in self.module.functions if one.body is None)],
            originals=self.originals,
        )

    def body(self, function: Function, scopes: dict[int, Scope], end: str, inside: tuple[Function, ...]) -> None:
        """The instructions of a function, which go to a label where it returns; a kernel ends there."""
        numbers = []
        for statement in self.module.instructions[function.first : function.last]:
            numbers.append(len(self.statements))
            one = replace(statement, scope=self.scope(statement.scope, scopes))
            if one.opcode.startswith("call"):
                self.call(one, statement, inside)
            elif one.opcode.startswith(("ld.param", "st.param")):
                self.statements += self.moved(one, statement)
            elif end and one.opcode.partition(".")[0] == "ret":
                self.statements.append(self.anew(one, statement, "bra", end))
            else:
                self.statements.append(one)
            if len(self.statements) > self.most:
                raise _Refused
        numbers.append(len(self.statements))
        for label in function.labels:
            scope = self.scope(label.scope, scopes)
            here = Label(label.name, label.start, numbers[label.statement - function.first], scope)
            scope.labels.setdefault(label.name, here)
            self.labels.append(here)

    def call(self, one: Statement, statement: Statement, inside: tuple[Function, ...]) -> None:
        """The body of the function that an instruction calls; the call where that has none in the module."""
        written = _CALL.match(self.module.operands(statement))
        callee = self.bodies.get(written["name"]) if written is not None else None
        if written is None or callee is None:
            if any(name in self.bodies for name in names_in(self.module.operands(statement))):
                raise _Refused
            self.statements.append(one)
            return
        given, taken = (_names(written[group] or "") for group in ("arguments", "results"))
        if callee in inside or len(inside) > _DEEPEST or len(given) != len(callee.parameters):
            raise _Refused
        if len(taken) != len(callee.results):
            raise _Refused
        self.calls += 1
        end = f"$end_of_call_{self.calls}"
        if one.guard:
            self.statements.append(self.anew(replace(one, negated=not one.negated), statement, "bra", end))
        scopes = {id(self.module.scope): self.names}
        formals = self.scope(callee.scope.outer or callee.scope, scopes)
        behind: list[Statement] = []
        for formal, name in zip((*callee.parameters, *callee.results), (*given, *taken), strict=True):
            cell = self.cell(one.scope, name)
            if cell is None:
                cell = _Cell()
                if formal.size in (2, 4, 8) and name != "_":
                    register, kind = self.register(cell, 0, formal.size), f"mov.b{formal.size * _BYTE}"
                    if formal in callee.parameters:
                        self.statements.append(self.anew(one, statement, kind, f"{register}, {name}"))
                    else:
                        behind.append(self.anew(one, statement, kind, f"{name}, {register}"))
            self.cells[id(formals), formal.name] = cell
            formals.variables[formal.name] = replace(formal, space="call")
        self.body(callee, scopes, end, (*inside, callee))
        here = Label(end, statement.start, len(self.statements), self.names)
        self.names.labels[end] = here
        self.labels.append(here)
        self.statements += behind

    # -- scopes

    def scope(self, scope: Scope, scopes: dict[int, Scope]) -> Scope:
        """The scope of one body that a scope of the module becomes."""
        found = scopes.get(id(scope))
        if found is None:
            assert scope.outer is not None
            found = scopes[id(scope)] = Scope(scope.book, self.scope(scope.outer, scopes))
            found.singles, found.prefixes, found.vectors = scope.singles, scope.prefixes, scope.vectors
            found.tables = scope.tables
            found.variables = dict(scope.variables)
        return found

    def cell(self, scope: Scope | None, name: str) -> _Cell | None:
        """A parameter of a call, of the function around it or of one in it; None of any other name."""
        while scope is not None and name not in scope.variables:
            scope = scope.outer
        if scope is None:
            return None
        found = self.cells.get((id(scope), name))
        variable = scope.variables[name]
        of_kernel = scope.outer is self.names  # the parameters of others are known from their calls
        if found is None and variable.space == "param" and not of_kernel:
            found = self.cells[id(scope), name] = _Cell()
            scope.variables[name] = replace(variable, space="call")  # whatever else asks for it knows nothing
        return found

    def register(self, cell: _Cell, offset: int, size: int) -> str:
        name = cell.registers.get((offset, size))
        if name is None:
            name = cell.registers[offset, size] = f"%parameter_{len(self.names.singles)}"
            self.names.singles[name] = f".b{max(size, 2) * _BYTE}"
        return name

    # -- instructions

    def anew(self, one: Statement, statement: Statement, opcode: str, operands: str) -> Statement:
        """An instruction under the same guard, with a text of its own, in place of one of the module."""
        text = f"\n{opcode} {operands};"
        start, self.length = self.length + 1, self.length + len(text)
        self.pieces.append(text)
        found = replace(
            one,
            start=start,
            end=self.length,
            opcode=opcode,
            opcode_start=start,
            gap=0,
            body_start=start + len(opcode) + 1,
        )
        self.originals[found] = statement
        return found

    def moved(self, one: Statement, statement: Statement) -> Iterator[Statement]:
        """What a store to a parameter of a call, or a load from one, is in registers."""
        written = self.module.operands(statement).strip()
        operands = operands_of(written) or ()
        loads = one.opcode.startswith("ld")
        address = operands[loads].parts[0] if len(operands) == 2 and operands[loads].parts else None
        kind = _TYPE.search(one.opcode)
        cell = self.cell(one.scope, address.names[0]) if address is not None and address.names else None
        if cell is None or kind is None or address is None:
            yield one
            return
        size = int(kind[2]) // _BYTE
        value = written.partition("[")[0] if loads else written.partition("]")[2]
        for i, name in enumerate(_names(value.strip().strip(",").strip().strip("{}"))):
            register = self.register(cell, address.offset + i * size, size)
            opcode, operand = f"mov.b{kind[2]}", register if loads else name
            if size == 1 and not loads:
                opcode, operand = "and.b16", f"{name}, 255"
            elif size < 4 and loads:
                sign = "s" if kind[1] == "s" else "u"
                opcode = f"cvt.{sign}32.{sign}{kind[2]}"
            yield self.anew(one, statement, opcode, f"{name if loads else register}, {operand}")


def _names(listed: str) -> list[str]:
    return [name for one in listed.split(",") if (name := one.strip())]


__all__ = ["expanded"]
