"""An instruction's text from its facts: the inverse of ``parse_facts``.

``lower(book, spell(...))`` gives the facts back, which a test shows for every declaration.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

from tileproof.ptx.opcode import ptx_spellings
from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.declarations import (
    EnumOrigin,
    FlagOrigin,
    Instruction,
    Modifiers,
    Notation,
    OperandForm,
    PatternOrigin,
)
from tileproof.rulebase.expression import Scalar

# A register of each class, as `legal` names them; any other operand is itself.
_LETTERS = {".b16": "h", ".b32": "r", ".f32": "f", ".b64": "l", ".f64": "d", ".b128": "q", ".pred": "p"}
_CONSTANTS = {".float32": "0f3f800000", ".float64": "1.5", ".sink": "_"}
_CONSTANTS |= {".special": "%laneid", ".special64": "%clock64"}
# Members of a tuple that are together of a class.
_MEMBERS = {
    ".mixed32": (".b32", ".f32"),
    ".mixed_pred": (".b32", ".pred"),
    ".mixed_sink": (".b32", ".sink"),
    ".sink_f32": (".f32", ".sink"),
    ".sink64": (".f64", ".sink"),
    ".mixed_special": (".b32", ".special"),
    ".source32": (".b32", ".integer"),
    ".source_f32": (".f32", ".float32"),
    ".source64": (".b64", ".integer"),
    ".mixed": (".b32", ".b64"),
}


def forms_of(declaration: Instruction, facts: Mapping[str, Scalar]) -> tuple[OperandForm, ...]:
    """The forms of an instruction's operands that say nothing else than the facts do."""
    return tuple(
        form for form, said in said_by_forms(declaration) if all(facts.get(name, v) == v for name, v in said.items())
    )


@lru_cache(maxsize=1024)
def said_by_forms(declaration: Instruction) -> tuple[tuple[OperandForm, dict[str, Scalar]], ...]:
    """Each form with the facts that it says: its own, and of the instruction's those that another form says."""
    told = {name for form in declaration.forms for name, _ in form.sets}
    common = {name: value for name, value in declaration.sets if name in told}
    return tuple((form, {**common, **dict(form.sets)}) for form in declaration.forms)


def spell(
    book: Rulebook, declaration: Instruction, facts: Mapping[str, Scalar], form: OperandForm | None = None
) -> str:
    """An instruction with these facts; registers are named by class and numbered from 0 through all operands.

    Args:
        form: how to write its operands; without one the first that fits the facts.

    Raises:
        ValueError: no form of the operands fits, or a fact has a value that only the IR can spell.
    """
    chosen = form or next(iter(forms_of(declaration, facts)), None)
    if chosen is None:
        raise ValueError(f"no operands of '{declaration.name}' match these facts")
    opcode = opcode_of(book, declaration, facts)
    operands = ",".join(operand_texts(chosen, facts))
    return f"{opcode} {operands};" if operands else f"{opcode};"


def opcode_of(book: Rulebook, declaration: Instruction, facts: Mapping[str, Scalar]) -> str:
    """The opcode with these facts; raises ValueError where one has a value that only the IR can spell."""
    return declaration.name + "".join(_modifiers(book, declaration, facts))


def _modifiers(book: Rulebook, declaration: Instruction, facts: Mapping[str, Scalar]) -> Iterator[str]:
    for item in declaration.order:
        if isinstance(item, str):
            yield item
        else:
            yield from clause_text(book, declaration.modifiers[item], facts)


def clause_text(book: Rulebook, clause: Modifiers, facts: Mapping[str, Scalar]) -> Iterator[str]:
    """The modifiers of a clause; raises ValueError where a fact has a value that only the IR can spell."""
    values = tuple(facts[name] for name in clause.facts)
    match clause.origin:
        case FlagOrigin(modifier):
            if values == (".yes",):
                yield modifier
        case _ if values == clause.default:
            return
        case EnumOrigin(enum=enum):
            for value in values:
                if value not in _spelling(book, enum):
                    raise ValueError(f"PTX has no modifier for {value}")
                yield _spelling(book, enum)[value]
        case PatternOrigin(pattern):
            yield "." + pattern.format(*values)


@lru_cache(maxsize=256)
def _spelling(book: Rulebook, enum: str) -> dict[Scalar, str]:
    """The first PTX spelling of each member."""
    return {member: text for text, member in reversed(ptx_spellings(book, enum).items())}


def operands_by_name(form: OperandForm, facts: Mapping[str, Scalar]) -> dict[str, str]:
    """The part of each name, as ``operand_texts`` writes it."""
    used: dict[str, int] = {}
    found = {}
    for names, notation in zip(form.items, form.notations, strict=True):
        lone = notation in (Notation.ADDRESS, Notation.EITHER)
        found.update({name: _part(name, facts, used, notation, lone and i == 0) for i, name in enumerate(names)})
    return found


def operand_texts(form: OperandForm, facts: Mapping[str, Scalar]) -> list[str]:
    """The operands of an instruction with these facts, registers numbered from 0 through all of them."""
    used: dict[str, int] = {}
    return [operand_text(form, i, facts, used) for i in range(len(form.items))]


def operand_text(
    form: OperandForm, i: int, facts: Mapping[str, Scalar], used: dict[str, int], kept: Mapping[str, str] | None = None
) -> str:
    """One operand.

    Args:
        used: for each letter the next number of a new register; it is counted on.
        kept: parts as they are written already, by name: of these the registers stay, as many as are needed.
    """
    names, notation = form.items[i], form.notations[i]
    # An address begins with one register: where forms share a fact, its tuple belongs to another form.
    lone = notation in (Notation.ADDRESS, Notation.EITHER)
    texts = []
    for at, name in enumerate(names):
        if kept is not None and name in kept:
            texts.append(_kept(kept[name], name, facts, used, notation, lone and at == 0))
        else:
            texts.append(_part(name, facts, used, notation, lone and at == 0))
    text = ",".join(texts)
    bracketed = notation is Notation.ADDRESS
    if notation is Notation.EITHER:
        bracketed = facts.get(f"{names[0]}.bracketed") != ".no"
    return f"[{text}]" if bracketed else f"{{{text}}}" if notation is Notation.MEMBERS else text


def _kept(
    text: str, name: str, facts: Mapping[str, Scalar], used: dict[str, int], notation: Notation, lone: bool
) -> str:
    """A part of which the class stays: its registers, fewer of them, or new ones behind them."""
    kind = str(facts.get(f"{name}.class", ".b32"))
    count = facts.get(f"{name}.registers", 0)
    assert isinstance(count, int), "a number of registers"
    present = [one.strip() for one in text.strip("{} ").split(",") if one.strip()]
    if (count > 0 and not lone) or notation is Notation.TUPLE:
        if facts.get(f"{name}.repeated") != ".yes":
            present = list(dict.fromkeys(present))
        kinds = _MEMBERS.get(kind, (kind,))
        fresh = [_element(kinds[k % len(kinds)], k, used) for k in range(len(present), max(count, 1))]
        return "{" + ",".join([*present[: max(count, 1)], *fresh]) + "}"
    if kind not in _LETTERS or not present:
        return _part(name, facts, used, notation, lone)
    sign = "!" if facts.get(f"{name}.negated") == ".yes" else ""
    offset = facts.get(f"{name}.offset", 0)
    return sign + present[0].lstrip("! ").partition("+")[0].strip() + (f"+{offset}" if offset else "")


def _part(name: str, facts: Mapping[str, Scalar], used: dict[str, int], notation: Notation, lone: bool) -> str:
    kind = str(facts.get(f"{name}.class", ".b32"))
    count = facts.get(f"{name}.registers", 0)
    assert isinstance(count, int), "a number of registers"
    sign = "!" if facts.get(f"{name}.negated") == ".yes" else ""
    if (count > 0 and not lone) or notation is Notation.TUPLE:
        kinds = _MEMBERS.get(kind, (kind,))
        elements = [_element(kinds[i % len(kinds)], i, used) for i in range(max(count, 1))]
        if facts.get(f"{name}.repeated") == ".yes":
            elements[-1] = elements[0]
        return "{" + ",".join(elements) + "}"
    if kind == ".integer":
        return str(facts.get(f"{name}.value", 0))
    offset = facts.get(f"{name}.offset", 0)
    return sign + _element(kind, 0, used) + (f"+{offset}" if offset else "")


def _element(kind: str, i: int, used: dict[str, int]) -> str:
    if kind == ".integer":
        return str(i)
    letter = _LETTERS.get(kind)
    if letter is None:
        return _CONSTANTS.get(kind, "smem")
    number = used.get(letter, 0)
    used[letter] = number + 1
    return f"{letter}{number}"
