"""What is known of the integers in the registers of a PTX function before it runs.

A value is asked for at a place. What it depends on are the definitions that reach that place: where a register is
written once, that one; else those that the control-flow graph lets through. Of these definitions the least solution is
computed, loops included: a definition begins with nothing and grows, its range is widened after a few rounds. What no
rule of arithmetic here covers, such as a load, may be anything.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property, lru_cache

from tileproof.base.patterns import regex
from tileproof.base.records import dataclass, replace
from tileproof.evaluate.hardware import limit
from tileproof.ptx import abstract
from tileproof.ptx.abstract import Integer, anything, of_constant, of_range
from tileproof.ptx.graph import Graph
from tileproof.ptx.module import Scope, Statement
from tileproof.ptx.remainders import less_a_multiple
from tileproof.ptx.text import Operand, Part, operands_of
from tileproof.ptx.vocabulary import word_of
from tileproof.rulebase.book import Rulebook

Definition = tuple[int, str]
"""A statement's number in the module, and the name of a register that it writes, as it stands there."""

_WRITTEN = regex(r"\s*+(?:\{([^{}]*+)\}|([%$_a-zA-Z][\w$]*+))(?:\s*+\|\s*+([%$_a-zA-Z][\w$]*+))?", re.ASCII)
_RETURNED = regex(r"\s*+\(([^()]*+)\)")
_WIDTHS = {".b16": 16, ".b32": 32, ".f32": 32, ".b64": 64, ".f64": 64, ".b128": 128, ".b8": 8, ".pred": 1}
_TYPE = regex(r"[usbf](8|16|32|64|128)\Z")
_EQUALITY = ("setp.eq.", "setp.ne.")
_ALIKE = ("eq", "ne")  # comparisons that are the same with and without a sign
_ROUNDS = 4  # after which ranges are widened
_STAGES = 64  # of a ring, at most, whose index is compared with their number
_MOST = 20_000  # evaluations of one question; beyond it the answer is anything


def written(book: Rulebook, body: str, opcode: str) -> tuple[str, ...]:
    """The names that an instruction writes."""
    if opcode.startswith("call"):
        returned = _RETURNED.match(body)
        return tuple(one for name in returned[1].split(",") if (one := name.strip())) if returned is not None else ()
    if not word_of(book, opcode).writes:
        return ()
    found = _WRITTEN.match(body)
    return () if found is None else _names(found)


def _names(found: re.Match[str]) -> tuple[str, ...]:
    names = [one.strip() for one in found[1].split(",")] if found[1] is not None else [found[2]]
    return tuple(one for one in (*names, found[3]) if one and one != "_")


class Values:
    """The values of one function."""

    def __init__(self, book: Rulebook, graph: Graph) -> None:
        self.book = book
        self.graph = graph
        self.module = graph.module
        self.known: dict[Definition, Integer] = {}
        self._reaching: dict[tuple[str, int, int], frozenset[Definition]] = {}
        self._pending: dict[Definition, Integer] = {}

    @cached_property
    def block_of(self) -> dict[int, int]:
        """The block of each statement."""
        return {number: one.number for one in self.graph.blocks for number in range(one.first, one.last)}

    @cached_property
    def definitions(self) -> dict[tuple[str, int], list[Definition]]:
        """The definitions of each register, by its name and its scope, in textual order."""
        found: dict[tuple[str, int], list[Definition]] = {}
        book, plain = self.book, self.module.plain
        statements = self.module.instructions
        silent = {opcode for opcode in {one.opcode for one in statements} if not word_of(book, opcode).writes}
        match = _WRITTEN.match
        for number in range(self.graph.function.first, self.graph.function.last):
            one = statements[number]
            if one.opcode.startswith("call"):
                names = written(book, plain[one.body_start : one.end - 1], one.opcode)
            elif one.opcode in silent or (first := match(plain, one.body_start, one.end)) is None:
                continue
            else:
                names = (first[2],) if first[2] is not None and first[3] is None else _names(first)
            for name in names:
                declared = one.scope.register(name)
                key = (name, id(declared[1]) if declared is not None else 0)
                if key in found:
                    found[key].append((number, name))
                else:
                    found[key] = [(number, name)]
        return found

    # -- questions

    def operands(self, number: int) -> tuple[Operand, ...]:
        """The operands of a statement; none where they cannot be read."""
        return operands_of(self.module.operands(self.module.instructions[number]).strip()) or ()

    def operand(self, number: int, index: int, width: int = 64) -> Integer:
        """The value of an operand, or of the first part of an address."""
        operands = self.operands(number)
        if index >= len(operands) or not operands[index].parts:
            return anything(width)
        return self.part(number, operands[index].parts[0], width)

    def holds(self, number: int) -> bool | None:
        """Whether the predicate that a statement is executed under holds; None where it may or may not."""
        (operand,) = operands_of(self.module.instructions[number].guard) or (None,)
        value = self.part(number, operand.parts[0], 1).value if operand is not None else None
        return None if value is None else bool(value)

    def part(self, number: int, part: Part, width: int) -> Integer:
        """The value of a register, a constant, the address of a variable, with what is added to it."""
        wanted = self._inputs(number, part)
        for one in wanted:
            if one not in self.known:
                self._solve(one)
        return self._part(number, part, width)

    def _inputs(self, number: int, part: Part) -> list[Definition]:
        """The definitions that reach the registers of an operand."""
        found: list[Definition] = []
        scope = self.module.instructions[number].scope
        for name in part.names:
            if name[0] != ".":
                found += self.reaching(number, name, scope)
        return found

    def reaching(self, number: int, name: str, scope: Scope) -> frozenset[Definition] | tuple[Definition, ...]:
        """The definitions of a register that reach a statement from before it."""
        declared = scope.register(name)
        if declared is None:
            return ()
        key = (name, id(declared[1]))
        everything = self.definitions.get(key, ())
        if len(everything) <= 1:
            return tuple(everything)
        block = self.block_of[number]
        inside = [one for one in everything if self.graph.blocks[block].first <= one[0] < number]
        found: set[Definition] = set()
        for one in reversed(inside):
            found.add(one)
            if not self.module.instructions[one[0]].guard:
                return frozenset(found)
        return frozenset(found) | self._entering(key, block)

    def _entering(self, key: tuple[str, int], block: int) -> frozenset[Definition]:
        """The definitions of a register that reach the beginning of a block."""
        known = self._reaching.get((key[0], key[1], block))
        if known is not None:
            return known
        last: dict[int, list[Definition]] = {}
        for one in self.definitions[key]:
            last.setdefault(self.block_of[one[0]], []).append(one)
        found: set[Definition] = set()
        todo, seen = [*self.graph.blocks[block].predecessors], set[int]()
        while todo:
            number = todo.pop()
            if number in seen:
                continue
            seen.add(number)
            for one in reversed(last.get(number, ())):
                found.add(one)
                if not self.module.instructions[one[0]].guard:
                    break
            else:
                todo += self.graph.blocks[number].predecessors
        self._reaching[key[0], key[1], block] = frozenset(found)
        return self._reaching[key[0], key[1], block]

    # -- the least solution

    def _solve(self, root: Definition) -> None:
        """The values of a definition and of all that it depends on."""
        inputs: dict[Definition, list[Definition]] = {}
        users: dict[Definition, list[Definition]] = {}
        order: list[Definition] = []
        todo = [root]
        while todo:
            one = todo.pop()
            if one in inputs or one in self.known:
                continue
            inputs[one] = [other for part in self._sources(one[0]) for other in self._inputs(one[0], part)]
            order.append(one)
            for other in inputs[one]:
                users.setdefault(other, []).append(one)
                todo.append(other)
            if len(inputs) > _MOST:
                self.known.update((each, anything(self._width(each))) for each in inputs)
                return
        waiting = dict.fromkeys(reversed(order))
        rounds: dict[Definition, int] = {}
        values: dict[Definition, Integer] = {}
        self._pending = values
        stages = max((1 + self._compared(number) for number, _ in order), default=0)
        steps = 0
        while waiting:
            one = next(iter(waiting))
            del waiting[one]
            steps += 1
            new = self._evaluate(one) if steps <= _MOST else anything(self._width(one))
            old = values.get(one)
            if new is None or new == old:
                continue
            if old is not None:
                new = abstract.join(old, new)
                rounds[one] = rounds.get(one, 0) + 1
                if rounds[one] > _ROUNDS and new.high > stages:
                    new = abstract.widen(old, new)
                if new == old:
                    continue
            values[one] = new
            waiting.update(dict.fromkeys(other for other in users.get(one, ()) if other in inputs))
        for one in order:
            self.known[one] = values.get(one) or anything(self._width(one))
        self._pending = {}

    def differs(self, number: int, predicate: Part, register: Part) -> tuple[int, bool] | None:
        """The number that a register has where a predicate finds two integers equal, and whether it holds where they
        differ.

        The register, which an instruction of a number reads, is compared, or is what is compared and a number more: in
        one block, for in another one it may be what was compared in another turn of a loop.
        """
        if len(predicate.names) != 1 or predicate.negated or len(register.names) != 1 or register.offset:
            return None
        at = self.before(number, predicate.names[0])
        opcode = self.module.instructions[at].opcode if at is not None else ""
        if at is None or not opcode.startswith(_EQUALITY):
            return None
        (read, against), other, more, used = self._with_number(at), register.names[0], 0, number
        if read != other:
            summed = self.before(number, other)
            if summed is None or not self.module.instructions[summed].opcode.startswith("add."):
                return None
            (summand, more), used = self._with_number(summed), summed
            if summand != read:
                return None
        if read is None or self.written_between(read, number, min(at, used), max(at, used)):
            return None
        return against + more, opcode.startswith("setp.ne")

    def before(self, number: int, name: str) -> int | None:
        """The one instruction before another one in its block that gives a register the value which that one reads."""
        found = self.reaching(number, name, self.module.instructions[number].scope)
        at = next(iter(found))[0] if len(found) == 1 else number
        return at if at < number and self.block_of[at] == self.block_of[number] else None

    def same_register(self, name: str, first: int, other: str, second: int) -> bool:
        """Whether two instructions, by their numbers, name one register: blocks have registers of their own."""
        declared = [self.module.instructions[at].scope.register(one) for one, at in ((name, first), (other, second))]
        mine, theirs = declared
        return name == other and mine is not None and theirs is not None and mine[1] is theirs[1]

    def written_between(self, name: str, number: int, first: int, last: int) -> bool:
        """Whether a register, as an instruction of a number names it, is written from one instruction up to another."""
        declared = self.module.instructions[number].scope.register(name)
        written = self.definitions.get((name, id(declared[1]) if declared is not None else 0), ())
        return any(first <= at < last for at, _ in written)

    def _compared(self, number: int) -> int:
        """The number of stages that an instruction compares an index of a ring with, perhaps; 0 for none."""
        if not self.module.instructions[number].opcode.startswith(_EQUALITY):
            return 0
        read, value = self._with_number(number)
        return value if read is not None and 0 < value < _STAGES else 0

    def _with_number(self, number: int) -> tuple[str | None, int]:
        """The register and the number that an instruction reads; None where it reads something else."""
        operands = self.operands(number)
        read, value = (one.parts[0] for one in operands[1:3]) if len(operands) == 3 else (None, None)
        if read is None or value is None or value.value is None or len(read.names) != 1 or read.offset or read.negated:
            return None, 0
        return read.names[0], value.value

    def _width(self, one: Definition) -> int:
        declared = self.module.instructions[one[0]].scope.register(one[1])
        return _WIDTHS.get(declared[0], 64) if declared is not None else 64

    def _sources(self, number: int) -> list[Part]:
        """The parts of the operands that an instruction computes with; none of one that gives anything."""
        opcode = self.module.instructions[number].opcode
        if word_of(self.book, opcode).name not in _TRANSFER:
            return []
        operands = self.operands(number)
        return [part for operand in operands[1:] for part in operand.parts]

    def _evaluate(self, one: Definition) -> Integer | None:
        """What an instruction makes of the values so far; None where one of them has none yet."""
        number, name = one
        statement = self.module.instructions[number]
        word = word_of(self.book, statement.opcode)
        width = self._width(one)
        transfer = _TRANSFER.get(word.name)
        operands = self.operands(number)
        if transfer is None or not operands or operands[0].address:
            return anything(width)
        pieces = statement.opcode.split(".")[1:]
        return transfer(_Reading(self, number, statement, operands, pieces, name, width))

    def _defined(self, number: int, name: str, scope: Scope) -> Integer | None:
        """The join of the definitions of a register that reach a statement, so far."""
        found: Integer | None = None
        for one in self.reaching(number, name, scope):
            value = self.known.get(one) or self._pending.get(one)
            if value is not None:
                found = value if found is None else abstract.join(found, value)
        return found

    def _part(self, number: int, part: Part, width: int) -> Integer:
        found = self.so_far(number, part, width)
        return found if found is not None else anything(width)

    def so_far(self, number: int, part: Part, width: int) -> Integer | None:
        """The value of a part of an operand in the solution so far; None where it has none yet."""
        scope = self.module.instructions[number].scope
        if part.registers:
            pieces = [self.so_far(number, member, width // part.registers) for member in part.members]
            if any(piece is None for piece in pieces):
                return None
            return abstract.concatenate([piece for piece in pieces if piece is not None])
        if part.value is not None:
            return of_constant(width, part.value)
        name = part.names[0] if part.names else "."
        if name[0] == ".":
            return anything(width)
        declared = scope.register(name)
        found: Integer | None
        if declared is not None:
            if not self.reaching(number, name, scope):
                return anything(width)  # written nowhere before
            found = self._defined(number, name, scope)
            if found is None:
                return None
        elif (special := self.special(name, width)) is not None:
            found = special
        else:
            found = self.address(scope, name, width)
        if found.width != width:
            found = abstract.resize(found, width)
        if part.offset:
            found = abstract.add(found, of_constant(width, part.offset))
        if part.negated:
            found = abstract.exclude(found, of_constant(width, 1))
        return found

    def address(self, scope: Scope, name: str, width: int) -> Integer:
        """The address of a variable."""
        variable = scope.variable(name)
        if variable is None or variable.space not in ("shared", "param"):
            return anything(width)
        if variable.space == "param":
            return replace(anything(width), symbol=name, offset=0)
        bits = _address_bits(self.book)
        zeros = (variable.alignment & -variable.alignment) - 1
        high = (1 << bits) - 1
        return Integer(width, 0, high & ~zeros, 0, high & ~zeros, name, 0)

    def special(self, name: str, width: int) -> Integer | None:
        """A special register by its range; None of a name that is none."""
        if not name.startswith("%"):
            return None
        base, _, axis = name.partition(".")
        threads = self.graph.function.performance.get("reqntid") or ()
        counts = dict(zip("xyz", (*threads, 1, 1, 1)[:3], strict=True)) if threads else {}
        most = limit(self.book, "cta_threads")
        warp = limit(self.book, "warp_threads")
        if base == "%tid":
            return of_range(width, 0, counts.get(axis, most) - 1)
        if base == "%ntid":
            count = counts.get(axis)
            return of_constant(width, count) if count is not None else of_range(width, 1, most)
        if base == "%laneid":
            return of_range(width, 0, warp - 1)
        if base == "%warpid":
            return of_range(width, 0, most // warp - 1)
        cluster = self.graph.function.performance.get("reqnctapercluster")
        if base == "%cluster_ctarank" and cluster:
            count = 1
            for one in cluster:
                count *= one
            return of_range(width, 0, max(count, 1) - 1)
        return anything(width)


@lru_cache(maxsize=8)
def _address_bits(book: Rulebook) -> int:
    """The bits of an address in shared memory."""
    from tileproof.evaluate.hardware import field  # noqa: PLC0415

    return (field(book, "tcgen05.descriptor", "start").reach - 1).bit_length()


@dataclass(frozen=True, slots=True, eq=False)
class _Reading:
    """One instruction that is evaluated for one of the names that it writes."""

    values: Values
    number: int
    statement: Statement
    operands: tuple[Operand, ...]
    pieces: list[str]
    name: str
    width: int

    def get(self, index: int, width: int | None = None) -> Integer | None:
        if index >= len(self.operands) or self.operands[index].address:
            return anything(width or self.width)
        return self.values.so_far(self.number, self.operands[index].parts[0], width or self.width)

    @property
    def signed(self) -> bool:
        return bool(self.pieces) and self.pieces[-1].startswith("s")

    @property
    def integers(self) -> bool:
        """Whether the type of the instruction is one of integers or bits."""
        return bool(self.pieces) and self.pieces[-1][:1] in "usbp"


def _binary(compute: Callable[[Integer, Integer], Integer]) -> Callable[[_Reading], Integer | None]:
    def transfer(one: _Reading) -> Integer | None:
        a, b = one.get(1), one.get(2)
        if not one.integers:
            return anything(one.width)
        return None if a is None or b is None else compute(a, b)

    return transfer


def _subtract(one: _Reading) -> Integer | None:
    """``sub``, also as the last instruction of a remainder."""
    a, b = one.get(1), one.get(2)
    if a is None or b is None or not one.integers:
        return None if one.integers else anything(one.width)
    found = less_a_multiple(one.values, one.number, a)
    return found if found is not None else abstract.subtract(a, b)


def _quotient(one: _Reading) -> Integer | None:
    """``div`` and ``rem`` of unsigned integers by one number."""
    a, b = one.get(1), one.get(2)
    if a is None or b is None:
        return None
    if one.signed or not one.integers or not b.value:
        return anything(one.width)
    if one.statement.opcode.startswith("div"):
        return of_range(one.width, a.low // b.value, a.high // b.value)
    return of_range(one.width, 0, min(a.high, b.value - 1))


def _shift(compute: Callable[[Integer, Integer, bool], Integer]) -> Callable[[_Reading], Integer | None]:
    def transfer(one: _Reading) -> Integer | None:
        a, b = one.get(1), one.get(2, 32)
        return None if a is None or b is None else compute(a, b, one.signed)

    return transfer


def _move(one: _Reading) -> Integer | None:
    target = one.operands[0].parts[0]
    if target.registers:  # mov.b64 {lo, hi}, x
        a = one.get(1, one.width * target.registers)
        if a is None or one.name not in target.names:
            return a if a is None else anything(one.width)
        return abstract.part_of(a, target.names.index(one.name), target.registers)
    return one.get(1)


def _convert(one: _Reading) -> Integer | None:
    types = [piece for piece in one.pieces if _TYPE.match(piece)]
    if len(types) != 2 or any(piece[0] == "f" for piece in types) or "sat" in one.pieces:
        return anything(one.width)
    to, of = (int(_TYPE.match(piece)[1]) for piece in types)  # type: ignore[index]
    a = one.get(1, of)
    if a is None:
        return None
    narrow = abstract.resize(a, to, signed=types[1][0] == "s")
    return abstract.resize(narrow, one.width, signed=types[0][0] == "s")


def _multiply(one: _Reading) -> Integer | None:
    """``mul.lo``, ``mul.wide``, ``mad.lo`` and ``mad.wide``."""
    wide = "wide" in one.pieces
    width = one.width // 2 if wide else one.width
    a, b = one.get(1, width), one.get(2, width)
    if a is None or b is None:
        return None
    if not one.integers:
        return anything(one.width)
    if wide:
        a, b = abstract.resize(a, one.width, one.signed), abstract.resize(b, one.width, one.signed)
    product = abstract.multiply(a, b, one.width)
    if not one.statement.opcode.startswith("mad"):
        return product
    c = one.get(3)
    return None if c is None else abstract.add(product, c)


def _select(one: _Reading) -> Integer | None:
    a, b, chosen = one.get(1), one.get(2), one.get(3, 1)
    if a is None or b is None or chosen is None:
        return a or b
    yes = _unequal(one, 1, a, True) if chosen.value != 0 else None
    no = _unequal(one, 2, b, False) if chosen.value != 1 else None
    return yes or no if yes is None or no is None else abstract.join(yes, no)


def _unequal(one: _Reading, index: int, value: Integer, holds: bool) -> Integer | None:
    """An operand of ``selp`` without the number that it differs from where it is chosen; None where it never is.

    Args:
        holds: whether it is chosen where the predicate holds.
    """
    predicate, operand = (one.operands[at].parts for at in (3, index))
    found = one.values.differs(one.number, predicate[0], operand[0]) if len(predicate) == len(operand) == 1 else None
    if found is None:
        return value
    number, where = found
    return abstract.without(value, number & (1 << one.width) - 1) if where is holds else value


def _extract(one: _Reading) -> Integer | None:
    """``bfe`` of unsigned integers."""
    a, first, count = one.get(1), one.get(2, 32), one.get(3, 32)
    if a is None or first is None or count is None:
        return None
    if one.signed or first.value is None or count.value is None or not 0 < count.value <= one.width:
        return anything(one.width)
    return abstract.conjoin(abstract.shift_right(a, first), of_constant(one.width, (1 << count.value) - 1))


def _insert(one: _Reading) -> Integer | None:
    """``bfi``: the lowest bits of the first in the second."""
    a, b, first, count = one.get(1), one.get(2), one.get(3, 32), one.get(4, 32)
    if a is None or b is None or first is None or count is None:
        return None
    if first.value is None or count.value is None:
        return anything(one.width)
    mask = ((1 << count.value) - 1) << first.value
    inside = abstract.conjoin(abstract.shift_left(a, first), of_constant(one.width, mask))
    return abstract.disjoin(inside, abstract.conjoin(b, of_constant(one.width, ~mask)))


def _least(one: _Reading) -> Integer | None:
    a, b = one.get(1), one.get(2)
    if a is None or b is None:
        return None
    sign = 1 << one.width - 1
    if not one.integers or (one.signed and (a.high | b.high) & sign):
        return anything(one.width)
    if one.statement.opcode.startswith("min"):
        return of_range(one.width, min(a.low, b.low), min(a.high, b.high))
    return of_range(one.width, max(a.low, b.low), max(a.high, b.high))


def _table(one: _Reading) -> Integer | None:
    a, b, c, table = one.get(1), one.get(2), one.get(3), one.get(4)
    if a is None or b is None or c is None or table is None:
        return None
    return anything(one.width) if table.value is None else abstract.select_bits(a, b, c, table.value)


def _shuffle(one: _Reading) -> Integer | None:
    """What another lane has: any of the values of the register."""
    return anything(one.width) if one.width == 1 else one.get(1)


def _compare(one: _Reading) -> Integer | None:
    kind = one.pieces[-1] if one.pieces else ""
    found = _TYPE.match(kind)
    target = one.operands[0].parts[0]
    if found is None or kind[0] == "f" or len(one.operands) != 3 or one.name != target.names[0]:
        return anything(1)
    a, b = one.get(1, int(found[1])), one.get(2, int(found[1]))
    if a is None or b is None:
        return None
    sign = 1 << int(found[1]) - 1
    if kind[0] == "s" and one.pieces[0] not in _ALIKE:
        if any(each.low < sign <= each.high for each in (a, b)):
            return anything(1)
        a, b = (abstract.add(each, of_constant(each.width, sign)) for each in (a, b))
    answer = _compared(one.pieces[0], a, b)
    return anything(1) if answer is None else of_constant(1, answer)


def _compared(how: str, a: Integer, b: Integer) -> bool | None:
    differs = bool(a.ones & ~(b.ones | b.unknown) or b.ones & ~(a.ones | a.unknown)) or a.high < b.low or b.high < a.low
    match how:
        case "eq" | "ne":
            equal = True if a.value is not None and a.value == b.value else (False if differs else None)
            return equal if equal is None or how == "eq" else not equal
        case "lt" | "lo":
            return True if a.high < b.low else (False if a.low >= b.high else None)
        case "le" | "ls":
            return True if a.high <= b.low else (False if a.low > b.high else None)
        case "gt" | "hi":
            return True if a.low > b.high else (False if a.high <= b.low else None)
        case "ge" | "hs":
            return True if a.low >= b.high else (False if a.high < b.low else None)
    return None


_TRANSFER: dict[str, Callable[[_Reading], Integer | None]] = {
    "mov": _move,
    "cvt": _convert,
    "cvta": lambda one: anything(one.width),
    "add": _binary(abstract.add),
    "sub": _subtract,
    "div": _quotient,
    "rem": _quotient,
    "mul.lo": _multiply,
    "mul.wide": _multiply,
    "mad.lo": _multiply,
    "mad.wide": _multiply,
    "and": _binary(abstract.conjoin),
    "or": _binary(abstract.disjoin),
    "xor": _binary(abstract.exclude),
    "not": lambda one: None if (a := one.get(1)) is None else abstract.invert(a),
    "neg": lambda one: None if (a := one.get(1)) is None else abstract.negate(a),
    "shl": _shift(lambda a, b, _: abstract.shift_left(a, b)),
    "shr": _shift(abstract.shift_right),
    "selp": _select,
    "min": _least,
    "max": _least,
    "bfe": _extract,
    "bfi": _insert,
    "lop3": _table,
    "shfl": _shuffle,
    "setp": _compare,
}
