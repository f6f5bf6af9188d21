"""The conditions of branches and loops as formulas of the integers that nothing is known of.

The integers that decide are written through the values that have one writer, or two where a branch decides between
them. As in the machine, no sum is too long for its word.

The name of an operation does not say all that it does: one is that of ``mul.lo`` and ``mul.hi`` of PTX, of conversions
and moves. So each formula is held against the function that the machine computes, of numbers of all kinds; what is
another one is unknown. Unsigned operations are known of what is not below 0.

A value that several instructions write is another integer in each of its uses: it may have changed between them. But
what a loop adds a number to in each turn, and only the loop reads, is what it began with and so many times the number.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from tileproof.base.patterns import regex
from tileproof.base.records import dataclass, field
from tileproof.evaluate.integers import Integer, value, variables_of
from tileproof.protocol.deciding import supposed
from tileproof.protocol.program import Instruction
from tileproof.protocol.steps import words

_DEEP = 60  # formulas of formulas
_OPERATIONS = {
    **{"addi": "add", "subi": "subtract", "muli": "multiply", "minsi": "least", "maxsi": "largest"},
    **{"floordivsi": "floor", "ceildivsi": "ceiling", "ceildivui": "ceiling", "divsi": "quotient", "divui": "quotient"},
    **{"remsi": "remainder", "remui": "remainder", "select": "select"},
    **{"tuple_add": "add", "tuple_sub": "subtract", "tuple_mul": "multiply", "tuple_div": "quotient"},
    "tuple_mod": "remainder",
}
_DIVISIONS = {"floor", "ceiling", "quotient", "remainder"}  # by what may be nothing they give any number
_SAME = {"extui", "extsi", "index_cast", "make_int_tuple", "make_warp_uniform", "get_scalars", "get_leaves"}
_UNSIGNED = {"divui", "remui", "ceildivui", "shrui"}
_SHIFTS = {"shli": "multiply", "shrsi": "floor", "shrui": "floor"}
_NATURAL = (0, 1, 5, 300, 70_000)
_BELOW = (-1, -7, -300)
_WIDE = (1 << 32) + 5  # that a conversion to a word cuts off
_WORD = 1 << 31  # numbers from here on are too long for a signed word
_WORDS = 1 << 32  # less a mask without a sign: the bits that it leaves out
_MOST_SHIFT = 63
_COMPARISONS = {
    **{"eq": ("equal", False, False), "ne": ("equal", False, True), "slt": ("below", False, False)},
    **{"sge": ("below", False, True), "sgt": ("below", True, False), "sle": ("below", True, True)},
    **{"ult": ("below_unsigned", False, False), "uge": ("below_unsigned", False, True)},
    **{"ugt": ("below_unsigned", True, False), "ule": ("below_unsigned", True, True)},
}
"""How a comparison follows from another one: of its operands the other way round, and negated."""
_TRUTHS = {"equal", "below", "below_unsigned", "not", "both", "either"}
_COMPARED = regex(r"cmpi\s+\"?(\w+)")
# The place of a thread or a CTA, or how many there are: it stays, and is not below 0.
_PLACE = regex(r"nvvm\.read\.ptx\.sreg\.(?:n?tid|(?:cluster\.)?n?cta(?:id|rank))")
_JOINED = ("branch", "meet")  # they name what was moved on the ways between them
_ALONE, _TWO, _CHOOSING = 1, 2, 3  # operands
_TURNS = "turns"  # how often a loop goes around that tests at its end, by where its counter begins and the bound
_BACK = 2  # from where a loop moves what it carries to what comes behind it, with the jump back
_STEPS = (1, 2, 3, 4, 8, 16, 32, 64, 128)  # of a counter


@dataclass(slots=True)
class Conditions:
    """The conditions in a program.

    Attributes:
        terms: of integers that the kernel gets or loads, by the variable that stands for each.
        places: the variables of the places of a thread and a CTA, by the operation that reads each.
        turns: the variable of the turn that a loop is in, by the place of its test; how often it goes around bounds it.
        readers: the places that read each value, once that was asked.
    """

    code: Sequence[Instruction]
    guards: Sequence[int]
    writers: dict[int, list[int]] = field(default_factory=dict)
    known: dict[int, Integer] = field(default_factory=dict)
    places: dict[str, Integer] = field(default_factory=dict)
    terms: dict[Integer, int] = field(default_factory=dict)
    turns: dict[int, Integer] = field(default_factory=dict)
    readers: dict[int, list[int]] = field(default_factory=dict)
    count: int = 0

    def __post_init__(self) -> None:
        for place, one in enumerate(self.code):
            for slot in one.outputs if one.kind not in _JOINED else ():
                self.writers.setdefault(slot, []).append(place)

    def condition(self, guard: int, way: bool) -> Integer | None:
        """What holds where threads go one way at a branch or into a loop; None where nothing is said of it."""
        one = self.code[guard]
        if one.kind == "test":
            low, high, _ = one.inputs
            return Integer("below", (self.of(low, _DEEP), self.of(high, _DEEP))) if way else None
        truth = self.of(one.inputs[0], _DEEP)
        if truth.how == "variable":
            return None
        return truth if way else Integer("not", (truth,))

    def bounded(self, conditions: Sequence[Integer]) -> list[Integer]:
        """Conditions, and that each turn of a loop they are about is one that the loop has."""
        said, loops = list(conditions), dict(zip(self.turns.values(), self.turns, strict=True))
        done: set[Integer] = set()
        for one in said:  # which grows
            for turn in variables_of(one):
                at = loops.get(turn)
                if at is not None and turn not in done and self.code[at].kind == "test":
                    done.add(turn)
                    low, high, _ = self.code[at].inputs
                    length = Integer("subtract", (self.of(high, _DEEP), self.of(low, _DEEP)))
                    said.append(Integer("below", (turn, length)))
        return said

    def of(self, slot: int, deep: int) -> Integer:
        """The formula of a value."""
        found = self.known.get(slot)
        if found is not None:
            return found
        written = self.writers.get(slot, ())
        formula = self.formula(slot, written, deep) if deep else None
        if formula is None:
            formula = self.variable()
            if len(written) > 1:
                return formula  # it may have changed where it is used again
            self.terms.update((formula, term) for one in written for term in supposed(self.code[one])[1])
        self.known[slot] = formula
        return formula

    def formula(self, slot: int, written: Sequence[int], deep: int) -> Integer | None:
        given = {term for one in written for term in supposed(self.code[one])[0]}
        if len(given) == _ALONE and all(self.code[one].make is not None for one in written):
            return self.given(*given)
        if len(written) == _TWO:
            return self.chosen(slot, written, deep) or self.carried(slot, written, deep)
        if len(written) != 1:
            return None
        one = self.code[written[0]]
        if one.kind == "move":
            return self.of(one.inputs[one.outputs.index(slot)], deep - 1)
        if one.kind == "effect" and _PLACE.match(one.operation.name) is not None:
            return self.places.setdefault(one.operation.name, self.variable(natural=True))
        return self.computed(one, deep) if one.kind == "compute" and len(one.outputs) == _ALONE else None

    def given(self, term: int) -> Integer:
        """The variable of an integer that the kernel gets, wherever it is read."""
        found = next((one for one, other in self.terms.items() if other == term), None)
        if found is None:
            found = self.variable()
            self.terms[found] = term
        return found

    def chosen(self, slot: int, written: Sequence[int], deep: int) -> Integer | None:
        """A value that is moved from one of two, as a branch says."""
        then, otherwise = written
        branch = self.guards[then]
        if branch < 0 or branch != self.guards[otherwise] or self.code[branch].kind != "branch":
            return None
        if not then < self.code[branch].other <= otherwise or {self.code[one].kind for one in written} != {"move"}:
            return None
        moved = [self.code[one].inputs[self.code[one].outputs.index(slot)] for one in written]
        return Integer("select", tuple(self.of(one, deep - 1) for one in (self.code[branch].inputs[0], *moved)))

    def carried(self, slot: int, written: Sequence[int], deep: int) -> Integer | None:
        """A value that a loop carries: one that it adds a number to in each turn and alone reads, or that it leaves."""
        before, back = written
        loop = next((at for at in range(before + 1, back) if self.code[at].target == back + _BACK), -1)
        if loop < 0 or self.code[loop].kind not in ("test", "check") or self.code[before].kind != "move":
            return None
        if self.code[back].kind != "move":
            return None
        last, first = (self.code[at].inputs[self.code[at].outputs.index(slot)] for at in (back, before))
        if all(at > back for at in self.read_at(slot)):
            return self.left(loop, first, last, deep)
        if not all(loop <= at <= back for at in self.read_at(slot)):
            return None
        step = self.added(last, slot)
        if step is None or (self.code[loop].kind == "test" and self.step(loop) != 1):
            return None
        turn = self.turns.get(loop)
        if turn is None:
            turn = self.turns[loop] = self.variable(natural=True)
        times = Integer("multiply", (turn, Integer("number", value=step)))
        return Integer("add", (self.of(first, deep - 1), times))

    def left(self, loop: int, first: int, last: int, deep: int) -> Integer | None:
        """What a counted loop leaves that is the same in each turn; what was there before where it has none."""
        if self.code[loop].kind != "test":
            return None
        found = self.of(last, deep - 1)
        if any(one in self.turns.values() for one in variables_of(found)):
            return None
        low, high, _ = self.code[loop].inputs
        count = self.writers.get(high, ())
        if len(count) == 1 and self.code[count[0]].operation.name == _TURNS:
            return found  # it tests at its end
        entered = Integer("below", (self.of(low, deep - 1), self.of(high, deep - 1)))
        return Integer("select", (entered, found, self.of(first, deep - 1)))

    def step(self, loop: int) -> int | None:
        """The number that the counter of a counted loop goes by."""
        found = self.of(self.code[loop].inputs[-1], _DEEP)
        return found.value if found.how == "number" else None

    def added(self, slot: int, start: int) -> int | None:
        """The number that is added to a value until it is another one; None of anything else."""
        total = 0
        while slot != start:
            written = self.writers.get(slot, ())
            one = self.code[written[0]] if len(written) == 1 else None
            if one is None or one.operation.name != "arith.addi" or len(one.inputs) != _TWO:
                return None
            fixed = {each: found.value for each in one.inputs if (found := self.literal(each)) is not None}
            if len(fixed) != 1:
                return None
            total += sum(fixed.values())
            slot = next(each for each in one.inputs if each not in fixed)
        return total

    def literal(self, slot: int) -> Integer | None:
        """A number that stands in the text."""
        written = self.writers.get(slot, ())
        if len(written) != 1 or self.code[written[0]].kind != "compute":
            return None
        found = self.of(slot, _DEEP) if not self.code[written[0]].inputs else None
        return found if found is not None and found.how == "number" else None

    def read_at(self, slot: int) -> Sequence[int]:
        """The places that read a value."""
        if not self.readers:
            for place, one in enumerate(self.code):
                for each in one.inputs:
                    self.readers.setdefault(each, []).append(place)
        return self.readers.get(slot, ())

    def computed(self, one: Instruction, deep: int) -> Integer | None:
        name = one.operation.name.rpartition(".")[2]
        if not one.inputs:
            constant = _result(one) if one.function is not None and one.make is None else None
            return None if constant is None else Integer("number", value=constant)
        parts = tuple(self.of(slot, deep - 1) for slot in one.inputs)
        if len(parts) == _ALONE and parts[0].how in _TRUTHS and (_result(one, 0), _result(one, 1)) == (1, 0):
            return Integer("not", parts)
        if len(parts) == _ALONE:
            if name not in _SAME or not _leaves_alone(one, _NATURAL):
                return None
            if _leaves_alone(one, (*_BELOW, _WIDE)):
                return parts[0]
            fits = Integer("below_unsigned", (parts[0], Integer("number", value=_WORD)))
            return Integer("select", (fits, parts[0], self.variable()))
        if name == _TURNS:
            return self.often(one, parts)
        if name == "cmpi" and len(parts) == _TWO:
            return _compared(one, parts)
        if name == "andi" and len(parts) == _TWO and any(one.how in _TRUTHS for one in parts):
            # The lowest bit of what nothing is known of, such as whether this thread is elected.
            open_ = [one.how == "variable" and one not in self.terms for one in parts]
            bits = [Integer("not", (self.variable(),)) if unknown else None for unknown in open_]
            parts = tuple(bit or one for bit, one in zip(bits, parts, strict=True))
        if name in ("andi", "ori", "xori") and len(parts) == _TWO and (found := _combined(name, parts)) is not None:
            return found
        for formula in _candidates(name, parts):
            for least in (_BELOW, ()):
                if _agrees(one, formula, parts, (*least, *_NATURAL)):
                    return self.signed(formula, parts, name in _UNSIGNED or not least)
        return None

    def often(self, one: Instruction, parts: Sequence[Integer]) -> Integer | None:
        """How often a loop goes around that counts up to a bound."""
        start, bound = parts
        for step in _STEPS:
            size, none, single = (Integer("number", value=number) for number in (step, 0, 1))
            for ahead in (0, step):
                far = Integer("subtract", (bound, Integer("add", (start, Integer("number", value=ahead)))))
                up = Integer("largest", (Integer("ceiling", (far, size)), none))
                formula = Integer("add", (single, up))
                for least in (_BELOW, ()):
                    if _agrees(one, formula, parts, (*least, *_NATURAL)):
                        return self.signed(formula, parts, not least)
                exact = Integer("equal", (Integer("remainder", (far, size)), none))
                whole = Integer("multiply", (exact, Integer("not", (Integer("below", (far, none)),))))
                formula = Integer("add", (single, Integer("floor", (far, size))))
                if _agrees(one, formula, parts, _NATURAL, whole):
                    return Integer("select", (whole, formula, self.variable()))
        return None

    def signed(self, formula: Integer, parts: Sequence[Integer], unsigned: bool) -> Integer:
        """A formula of parts; where it is that of unsigned integers, of those that are not below 0."""
        open_ = [one for one in parts if not one.natural and not (one.how == "number" and one.value >= 0)]
        for one in open_ if unsigned else ():
            below = Integer("below", (one, Integer("number")))
            formula = Integer("select", (below, self.variable(), formula))
        return formula

    def variable(self, natural: bool = False) -> Integer:
        self.count += 1
        return Integer("variable", value=self.count, natural=natural)


def _result(one: Instruction, *given: int | None) -> int | None:
    """The integer that an operation gives, perhaps as a tuple of one; None of anything else."""
    found = one.function(*given) if one.function is not None else None
    while isinstance(found, tuple) and len(found) == _ALONE:
        (found,) = found
    return found if type(found) is int else None


def _leaves_alone(one: Instruction, numbers: Sequence[int]) -> bool:
    """Whether an operation gives integers as they are; of the algebra of CuTe that is what its name says."""
    return one.function is None or all(_result(one, n) == n for n in numbers)


def _candidates(name: str, parts: Sequence[Integer]) -> Iterator[Integer]:
    """What an operation may compute by its name."""
    how, last = _OPERATIONS.get(name, ""), parts[-1]
    if how == "select" and len(parts) == _CHOOSING:
        yield Integer(how, tuple(parts))
        yield Integer(how, (last, *parts[:-1]))  # PTX has the truth last
    elif name in _SHIFTS and len(parts) == _TWO and last.how == "number" and 0 <= last.value <= _MOST_SHIFT:
        yield Integer(_SHIFTS[name], (parts[0], Integer("number", value=1 << last.value)))
    elif name == "andi" and len(parts) == _TWO:
        yield from _masked(*parts)
        yield from _masked(*parts[::-1])
    elif name == "mad" and len(parts) == _CHOOSING:
        yield Integer("add", (Integer("multiply", tuple(parts[:_TWO])), last))
    elif how and len(parts) == _TWO and not (how in _DIVISIONS and (last.how != "number" or last.value <= 0)):
        yield Integer(how, tuple(parts))


def _masked(one: Integer, mask: Integer) -> Iterator[Integer]:
    """The lowest bits of an integer, or all others."""
    if mask.how != "number":
        return
    for bits in (mask.value + 1, -mask.value, _WORDS - mask.value, _WORD - mask.value):
        if 0 < bits <= _WORD and not bits & bits - 1:
            size = Integer("number", value=bits)
            whole = Integer("multiply", (Integer("floor", (one, size)), size))
            yield Integer("subtract", (one, whole)) if bits == mask.value + 1 else whole


def _agrees(
    one: Instruction,
    formula: Integer,
    parts: Sequence[Integer],
    samples: Sequence[int],
    where: Integer | None = None,
) -> bool:
    """Whether the machine computes an operation of these parts so, where the result fits into a word.

    Args:
        where: a condition on the parts; of others the machine says nothing.
    """
    if one.function is None:
        return False
    free = tuple(dict.fromkeys(part for part in parts if part.how != "number"))
    for numbers in product(samples, repeat=len(free)):
        known: dict[Integer, int | None] = dict(zip(free, numbers, strict=True))
        given = [part.value if part.how == "number" else known[part] for part in parts]
        expected = value(formula, known)
        if where is not None and not value(where, known):
            if _result(one, *given) is not None:
                return False
            continue
        if expected is not None and abs(expected) < _WORD and _result(one, *given) != expected:
            return False
    return True


def _compared(one: Instruction, parts: Sequence[Integer]) -> Integer | None:
    said = _COMPARED.search(words(one.operation))
    how = _COMPARISONS.get(said[1]) if said is not None else None
    if how is None:
        return None
    name, swapped, negated = how
    found = Integer(name, tuple(parts[::-1] if swapped else parts))
    return Integer("not", (found,)) if negated else found


def _combined(name: str, parts: Sequence[Integer]) -> Integer | None:
    """Truths that are combined; None of other integers, whose bits are."""
    a, b = parts
    if a.how == "number" and b.how in _TRUTHS:
        a, b = b, a
    if a.how not in _TRUTHS or not (b.how in _TRUTHS or (b.how == "number" and b.value in (0, 1))):
        return None
    if name == "andi":
        return Integer("both", (a, b))
    if name == "ori":
        return Integer("either", (a, b))
    return Integer("not", (Integer("equal", (a, b)),))


__all__ = ["Conditions"]
