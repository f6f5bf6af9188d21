"""A text of PTX as each declaration and each form of operands reads it, whether it fits or not.

That is where a repair starts: what the text says of the facts of an instruction, which of them it leaves open, and how
many modifiers and operands are too many or missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import combinations

from tileproof.base.records import dataclass
from tileproof.base.spelling import get_close_matches
from tileproof.ptx.opcode import Opcode, ptx_spellings, read_as
from tileproof.ptx.parse_facts import Lowered, fits, operand_facts, part_class
from tileproof.ptx.registers import by_letter
from tileproof.ptx.select import legal_form
from tileproof.ptx.text import Operand
from tileproof.rulebase.book import Rulebook, Ruleset
from tileproof.rulebase.declarations import Bounded, EnumOrigin, FlagOrigin, Instruction, OperandForm
from tileproof.rulebase.expression import Scalar
from tileproof.suggesting.nearest import Piece, Start

_WIDE = 600  # values; of a fact with more those near the present one and some usual ones are tried
_USUAL_NUMBERS = (0, 1, 2, 4, 8, 16, 32, 64, 128, 256)
# What a person writes as an operand; other classes stay where they are legal.
_CLASSES = (".b32", ".f32", ".b64", ".f64", ".b16", ".pred", ".integer")
_MOVED = 2  # edits of an operand that stands in another place
_WHOLE = 100  # what a change of an operand counts where they are aligned; one of an unusual class counts 1


@dataclass(frozen=True, slots=True)
class Attempt:
    """A text as that of one declaration and one form of operands.

    Attributes:
        operands: how many operands are to change for that alone; surplus: modifiers that no clause takes; missing:
            modifiers that must be there and are not.
        places: for each operand of the form the number of the written one that stands there, or None.
        taken: for each clause the tokens of the opcode that say it, by their offsets; None where one is missing.
        dropped: offsets of the tokens that no clause takes; slot: where a word was left out.
    """

    lowered: Lowered
    declaration: Instruction
    form: OperandForm
    operands: int
    surplus: int
    missing: int
    start: Start
    places: tuple[int | None, ...]
    taken: tuple[tuple[tuple[str, int] | None, ...], ...]
    dropped: frozenset[int]
    slot: int | None

    def least(self, changed: int) -> int:
        """The fewest edits that a repair with so many changed pieces can have: a modifier may take another's place."""
        together = -(-(self.surplus + self.missing + changed) // 2)
        return self.operands + max(self.surplus, self.missing, together)


def attempts(
    ruleset: Ruleset,
    lowered: Lowered,
    slot: int | None,
    where: Mapping[str, Scalar],
    free: bool,
    moved: bool = False,
) -> Iterator[Attempt]:
    """The readings of a text by the declarations of its name.

    Args:
        slot: where a word was left out.
        free: the target and the PTX version may change.
        moved: those with the operands in another order instead.
    """
    assert lowered.instruction is not None and lowered.declaration is not None
    book, instruction = ruleset.book, lowered.instruction
    for declaration in book.instructions[lowered.declaration.name]:
        if not free and legal_form(ruleset, where, declaration, {}) is None:
            continue  # the target does not have it
        opcode = read_as(book, declaration, instruction.opcode)
        dropped = frozenset(fault.span.start for fault in opcode.faults if fault.span.start)
        words = instruction.opcode[len(declaration.name) :].split(".")[1:]
        absent = [
            one
            for one in (*(flag.modifier for flag in declaration.always), *declaration.selectors)
            if one[1:] not in words
        ]
        usual = book.schemas[declaration.schema].instance
        forms: list[tuple[OperandForm, int, tuple[int | None, ...]]]
        if moved:
            forms = [(f, _MOVED, way) for f in declaration.forms for way in rearranged(book, f, instruction.operands)]
        else:
            forms = [(f, *way) for f in declaration.forms for way in _ways(book, f, instruction.operands, usual)]
        for values, taken, missing in _alignments(declaration, opcode):
            said = _Said(values, taken, dropped, len(absent) + missing, slot)
            for form, cost, places in forms:
                yield _attempt(ruleset, lowered, declaration, said, form, cost, places, where, free)


@dataclass(frozen=True, slots=True)
class _Said:
    """What an opcode says of a declaration's facts, and what it lacks and has too many; see ``Attempt``."""

    values: Mapping[str, Scalar]
    taken: tuple[tuple[tuple[str, int] | None, ...], ...]
    dropped: frozenset[int]
    missing: int
    slot: int | None


def _alignments(
    declaration: Instruction, opcode: Opcode
) -> Iterator[tuple[dict[str, Scalar], tuple[tuple[tuple[str, int] | None, ...], ...], int]]:
    """The facts of an opcode, which tokens say them, and how many are missing.

    Where a clause has fewer tokens than facts, each of these may be the missing one.
    """
    short = [
        i
        for i, (clause, found) in enumerate(zip(declaration.modifiers, opcode.modifiers, strict=True))
        if isinstance(clause.origin, EnumOrigin) and 0 < len(found) < len(clause.facts)
    ]
    ways = [combinations(range(len(declaration.modifiers[i].facts)), len(opcode.modifiers[i])) for i in short[:1]]
    for chosen in ways[0] if ways else ((),):
        values: dict[str, Scalar] = {}
        taken: list[tuple[tuple[str, int] | None, ...]] = []
        missing = 0
        for i, (clause, found) in enumerate(zip(declaration.modifiers, opcode.modifiers, strict=True)):
            tokens = [(text, at) for _, text, at in found]
            if isinstance(clause.origin, EnumOrigin) and 0 < len(found) < len(clause.facts):
                places = chosen if i in short[:1] else tuple(range(len(found)))
                spread: list[tuple[str, int] | None] = [None] * len(clause.facts)
                for place, token, (value, _, _) in zip(places, tokens, found, strict=True):
                    spread[place] = token
                    values[clause.facts[place]] = value
                missing += len(clause.facts) - len(found)
                taken.append(tuple(spread))
                continue
            taken.append(tuple(tokens))
            if found or clause.default is not None:
                for fact in clause.facts:
                    if fact in opcode.values:
                        values[fact] = opcode.values[fact]
            else:
                missing += len(clause.facts) if isinstance(clause.origin, EnumOrigin) else 1
        yield values, tuple(taken), missing


def _ways(
    book: Rulebook, form: OperandForm, operands: Sequence[Operand], usual: Mapping[str, Scalar]
) -> list[tuple[int, tuple[int | None, ...]]]:
    """How written operands may stand in the places of a form: the best way, and those with one more or one less."""
    rows, columns = len(form.items), len(operands)
    ways = [_aligned(book, form, operands, usual)]
    for left_out in range(columns) if columns == rows + 1 else ():
        chosen = [j for j in range(columns) if j != left_out]
        if all(fits(form, i, operands[j]) for i, j in enumerate(chosen)):
            ways.append((1, tuple(chosen)))
    for empty in range(rows) if rows == columns + 1 else ():
        spread: list[int | None] = list(range(columns))
        spread.insert(empty, None)
        if all(j is None or fits(form, i, operands[j]) for i, j in enumerate(spread)):
            ways.append((1, tuple(spread)))
    return list(dict.fromkeys(ways))


def rearranged(book: Rulebook, form: OperandForm, operands: Sequence[Operand]) -> Iterator[tuple[int, ...]]:
    """The orders in which two operands have changed places or one stands elsewhere, the least change first.

    Only those that differ in what stands where: two registers of one class may well be as the author meant them.
    """
    kinds = [(part_class(book, one.parts[0], by_letter(book)), one.shape) for one in operands if one.parts]
    if len(form.items) != len(operands) or len(kinds) < len(operands):
        return
    orders: dict[tuple[int, ...], None] = {}
    for i, j in combinations(range(len(operands)), 2):
        for source, target in ((i, j), (j, i)):
            order = list(range(len(operands)))
            order.insert(target, order.pop(source))
            orders[tuple(order)] = None
        order = list(range(len(operands)))
        order[i], order[j] = j, i
        orders[tuple(order)] = None
    seen = {tuple(kinds)}
    for way in sorted(orders, key=lambda way: sum(a > b for a, b in combinations(way, 2))):
        there = tuple(kinds[j] for j in way)
        if there not in seen and all(fits(form, i, operands[j]) for i, j in enumerate(way)):
            seen.add(there)
            yield way


def _aligned(
    book: Rulebook, form: OperandForm, operands: Sequence[Operand], usual: Mapping[str, Scalar]
) -> tuple[int, tuple[int | None, ...]]:
    """Which operand stands in which place of a form with the fewest changes, and how many these are."""
    rows, columns = len(form.items), len(operands)
    if rows == columns and all(fits(form, i, operand) for i, operand in enumerate(operands)):
        return 0, tuple(range(rows))

    def unlike(i: int, j: int) -> int:
        if not fits(form, i, operands[j]):
            return _WHOLE
        found = part_class(book, operands[j].parts[0], by_letter(book))
        return int(found != usual.get(f"{form.items[i][0]}.class", found))

    cost = [[_WHOLE * (i + j) for j in range(columns + 1)] for i in range(rows + 1)]
    for i in range(1, rows + 1):
        for j in range(1, columns + 1):
            same = cost[i - 1][j - 1] + unlike(i - 1, j - 1)
            cost[i][j] = min(same, cost[i - 1][j] + _WHOLE, cost[i][j - 1] + _WHOLE)
    places: list[int | None] = [None] * rows
    i, j, changed = rows, columns, 0
    while i or j:
        # What is missing or too much is so at the end, where nothing says otherwise.
        if i and cost[i][j] == cost[i - 1][j] + _WHOLE:
            i, changed = i - 1, changed + 1
        elif j and cost[i][j] == cost[i][j - 1] + _WHOLE:
            j, changed = j - 1, changed + 1
        else:
            i, j = i - 1, j - 1
            places[i] = j
            changed += not fits(form, i, operands[j])
    return changed, tuple(places)


def _attempt(
    ruleset: Ruleset,
    lowered: Lowered,
    declaration: Instruction,
    opcode: _Said,
    form: OperandForm,
    cost: int,
    places: tuple[int | None, ...],
    where: Mapping[str, Scalar],
    free: bool,
) -> Attempt:
    assert lowered.instruction is not None
    book = ruleset.book
    schema = book.schemas[declaration.schema]
    fixed: dict[str, Scalar] = {"ignored": ".no", "formats": 0, **dict(declaration.sets), **dict(form.sets)}
    fixed = {name: value for name, value in fixed.items() if name in schema.fields}
    written: dict[str, Scalar] = {}
    pieces: list[Piece] = []
    opened: dict[str, Sequence[Scalar]] = {}
    for name, value in where.items():
        if name in schema.fields and free:
            written[name] = value
            pieces.append(Piece(name, {name: tuple(book.domain(schema.name, name))}))
        elif name in schema.fields:
            fixed[name] = value
    unknown = _words_at(lowered, opcode.dropped)
    for number, (names, said) in enumerate(_sayable(book, declaration)):
        pieces.append(Piece(f"modifier {number}", {name: said[name] for name in names if name not in fixed}))
        for name in names:
            if name in opcode.values and name not in fixed:
                written[name] = opcode.values[name]
            elif name not in fixed:
                opened[name] = _meant(book, declaration, name, usual_first(schema.instance, name, said[name]), unknown)
    for i, parts in enumerate(form.items):
        facts = [fact for fact in schema.fields if fact.rpartition(".")[0] in parts and fact not in fixed]
        at = places[i]
        operand = lowered.instruction.operands[at] if at is not None else None
        read = None
        if operand is not None and fits(form, i, operand):
            read = operand_facts(book, schema.name, form, i, operand, by_letter(book))
            cost += read is None
        told = {fact: _values(book, schema.name, fact, (read or {}).get(fact)) for fact in facts}
        if read is None:
            opened |= {fact: usual_first(schema.instance, fact, told[fact]) for fact in facts}
        else:
            written |= {fact: read[fact] for fact in facts if fact in read}
            pieces.append(Piece(f"operand {i}", told))
    start = Start(fixed, written, opened, pieces)
    surplus, missing = len(opcode.dropped), opcode.missing
    taken, dropped, slot = opcode.taken, opcode.dropped, opcode.slot
    return Attempt(lowered, declaration, form, cost, surplus, missing, start, places, taken, dropped, slot)


def _words_at(lowered: Lowered, offsets: frozenset[int]) -> list[str]:
    assert lowered.instruction is not None
    opcode = lowered.instruction.opcode
    return [opcode[at:].split(".")[1] for at in sorted(offsets) if opcode[at] == "."]


def _meant(
    book: Rulebook, declaration: Instruction, fact: str, values: Sequence[Scalar], unknown: Sequence[str]
) -> Sequence[Scalar]:
    """The value whose word is nearly one of some unknown words, then the others as they are."""
    enums = [
        one.origin.enum for one in declaration.modifiers if fact in one.facts and isinstance(one.origin, EnumOrigin)
    ]
    words = {word[1:]: value for enum in enums for word, value in ptx_spellings(book, enum).items() if value in values}
    close = [name for word in unknown for name in get_close_matches(word, words, 1)] if unknown else []
    return tuple(dict.fromkeys([*(words[name] for name in close), *values]))


def usual_first(instance: Mapping[str, Scalar], fact: str, values: Sequence[Scalar]) -> Sequence[Scalar]:
    usual = instance[fact]
    return (usual, *(value for value in values if value != usual)) if usual in values else values


@lru_cache(maxsize=1024)
def _sayable(
    book: Rulebook, declaration: Instruction
) -> tuple[tuple[tuple[str, ...], dict[str, tuple[Scalar, ...]]], ...]:
    """For each modifier that an author writes at once its facts, and what it can say of each."""
    found: list[tuple[tuple[str, ...], dict[str, tuple[Scalar, ...]]]] = []
    for clause in declaration.modifiers:
        match clause.origin:
            case EnumOrigin(enum=enum):
                spelled = tuple(dict.fromkeys(ptx_spellings(book, enum).values()))
                for i, fact in enumerate(clause.facts):
                    default = () if clause.default is None else (clause.default[i],)
                    found.append(((fact,), {fact: tuple(dict.fromkeys((*default, *spelled)))}))
            case FlagOrigin():
                found.append((clause.facts, dict.fromkeys(clause.facts, (".no", ".yes"))))
            case _:
                said = {fact: tuple(book.domain(declaration.schema, fact)) for fact in clause.facts}
                found.append((clause.facts, said))
    return tuple(found)


def _values(book: Rulebook, schema: str, fact: str, present: Scalar | None) -> tuple[Scalar, ...]:
    """The values of a fact of an operand that a person might write."""
    domain = book.domain(schema, fact)
    if fact.endswith(".class"):
        return tuple(value for value in domain if value in _CLASSES or value == present)
    if fact.endswith(".repeated"):
        return (".no",) if present != ".yes" else (".no", ".yes")
    if isinstance(book.schemas[schema].fields[fact], Bounded) and len(domain) > _WIDE:
        near = range(present - 64, present + 65) if isinstance(present, int) else range(0)
        return tuple(sorted({value for value in (*_USUAL_NUMBERS, *near) if value in domain}))
    return tuple(domain)
