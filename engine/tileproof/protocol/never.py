"""Ways of branches and loops that no thread takes, whatever integers a kernel gets: what is behind them is no step.

A compiler keeps the loop over the tiles that a mask touches where a window is never so long, the main part of a loop
that it unrolled where it has three turns, the tail of queries that are none. Runs do not come there, and one that is
told to go has integers that contradict each other. Here the integers that decide are written as formulas of those that
nothing is known of, through the values that have one writer, or two where a branch decides between them; if no numbers
fulfil the conditions on the way there, nobody goes there. As in the machine, no sum is too long for its word.

A value that several instructions write is another integer in each of its uses: it may have changed between them.
"""

from __future__ import annotations

from collections.abc import Sequence

from tileproof.base.patterns import regex
from tileproof.base.records import dataclass, field
from tileproof.evaluate.answer import Answer
from tileproof.evaluate.integers import Integer, tried
from tileproof.protocol.explore import Exploration, chain_of, guards_of
from tileproof.protocol.program import Instruction
from tileproof.protocol.steps import words

_DEEP = 60  # formulas of formulas
_OPERATIONS = {
    **{"addi": "add", "subi": "subtract", "muli": "multiply", "minsi": "least", "maxsi": "largest"},
    **{"floordivsi": "floor", "ceildivsi": "ceiling", "ceildivui": "ceiling", "divsi": "quotient", "divui": "quotient"},
    **{"remsi": "remainder", "remui": "remainder"},
    **{"tuple_add": "add", "tuple_sub": "subtract", "tuple_mul": "multiply", "tuple_div": "quotient"},
    "tuple_mod": "remainder",
}
_DIVISIONS = {"floor", "ceiling", "quotient", "remainder"}  # by what may be nothing they give any number
_SAME = {"extui", "extsi", "trunci", "index_cast", "make_int_tuple", "get_scalars", "get_leaves"}
_SHIFTS = {"shli": "multiply", "shrsi": "floor", "shrui": "floor"}
_MOST_SHIFT = 63
_COMPARISONS = {
    **{"eq": ("equal", False, False), "ne": ("equal", False, True), "slt": ("below", False, False)},
    **{"sge": ("below", False, True), "sgt": ("below", True, False), "sle": ("below", True, True)},
    **{"ult": ("below_unsigned", False, False), "uge": ("below_unsigned", False, True)},
    **{"ugt": ("below_unsigned", True, False), "ule": ("below_unsigned", True, True)},
}
"""How a comparison follows from another one: of its operands the other way round, and negated."""
_TRUTHS = {"equal", "below", "below_unsigned", "not"}
_COMPARED = regex(r"cmpi\s+\"?(\w+)")
_PLACE = regex(r"nvvm\.read\.ptx\.sreg\.(?:cluster\.)?n?cta(?:id|rank)")  # of a CTA: it stays, and is not below 0
_JOINED = ("branch", "meet")  # they name what was moved on the ways between them
_ALONE, _TWO, _CHOOSING = 1, 2, 3  # operands


def impossible_ways(
    code: Sequence[Instruction], reached: Exploration, seconds: float, most: int
) -> set[tuple[int, bool]]:
    """The ways of branches and loops, by place, that no numbers lead to: those that keep steps from being executed.

    Args:
        seconds: the budget for one way.
        most: how many ways to ask about.
    """
    formulas, guards = _Formulas(code, guards_of(code)), guards_of(code)
    asked: dict[tuple[int, bool], bool] = {}
    for place, one in enumerate(code):
        if one.effect is None or one.effect.pure or id(one.operation) in reached.executed:
            continue
        before: list[Integer] = []
        for guard, way in chain_of(code, guards, place):
            condition = formulas.condition(guard, way)
            if condition is not None:
                before.append(condition)
            if way in reached.went.get(guard, ()):
                continue
            key = guard, way
            if key not in asked and condition is not None and len(asked) < most:
                asked[key] = _contradict(before, seconds)
            if asked.get(key):
                break
    return {key for key, never in asked.items() if never}


def _contradict(conditions: Sequence[Integer], seconds: float) -> bool:
    if tried(conditions):
        return False
    from tileproof.evaluate.solver import fulfilled  # noqa: PLC0415

    return fulfilled(conditions, seconds) is Answer.UNSATISFIABLE


@dataclass(slots=True)
class _Formulas:
    code: Sequence[Instruction]
    guards: Sequence[int]
    writers: dict[int, list[int]] = field(default_factory=dict)
    known: dict[int, Integer] = field(default_factory=dict)
    places: dict[str, Integer] = field(default_factory=dict)
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
        self.known[slot] = formula
        return formula

    def formula(self, slot: int, written: Sequence[int], deep: int) -> Integer | None:
        if len(written) == _TWO:
            return self.chosen(slot, written, deep)
        if len(written) != 1:
            return None
        one = self.code[written[0]]
        if one.kind == "move":
            return self.of(one.inputs[one.outputs.index(slot)], deep - 1)
        if one.kind == "effect" and _PLACE.match(one.operation.name) is not None:
            return self.places.setdefault(one.operation.name, self.variable(natural=True))
        return self.computed(one, deep) if one.kind == "compute" and len(one.outputs) == _ALONE else None

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

    def computed(self, one: Instruction, deep: int) -> Integer | None:
        name = one.operation.name.rpartition(".")[2]
        if not one.inputs:
            values = one.function() if one.function is not None and one.make is None else ()
            (value,) = values if isinstance(values, tuple) and len(values) == _ALONE else (None,)
            return Integer("number", value=value) if type(value) is int else None
        parts = tuple(self.of(slot, deep - 1) for slot in one.inputs)
        if len(parts) == _ALONE:
            return parts[0] if name in _SAME else None
        if name == "select":
            return Integer(name, parts) if len(parts) == _CHOOSING else None
        if len(parts) != _TWO:  # a constant may be in the text of an operation
            return None
        if name in _OPERATIONS:
            how, last = _OPERATIONS[name], parts[1]
            open_ = how in _DIVISIONS and (last.how != "number" or last.value <= 0)
            return None if open_ else Integer(how, parts)
        if name in _SHIFTS:
            by = parts[1]
            if by.how != "number" or not 0 <= by.value <= _MOST_SHIFT:
                return None
            return Integer(_SHIFTS[name], (parts[0], Integer("number", value=1 << by.value)))
        if name == "cmpi":
            return _compared(one, parts)
        if name in ("andi", "ori", "xori"):
            return _combined(name, parts)
        return None

    def variable(self, natural: bool = False) -> Integer:
        self.count += 1
        return Integer("variable", value=self.count, natural=natural)


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
        return Integer("multiply", (a, b))
    if name == "ori":
        return Integer("largest", (a, b))
    return Integer("not", (Integer("equal", (a, b)),))


__all__ = ["impossible_ways"]
