"""``prove descriptor``: whether a descriptor encodes a layout, and whether a given one does."""

from __future__ import annotations

from itertools import product
from pathlib import Path

from tileproof.base.patterns import regex
from tileproof.base.records import dataclass, replace
from tileproof.base.verdict import Known, Proved, Refuted, Unknown, Verdict
from tileproof.calculate.evaluate import check_value
from tileproof.descriptors.acting import descriptors
from tileproof.descriptors.canonical import (
    Attempt,
    NoDescriptor,
    OperandDescriptor,
    Tile,
    TiledOperand,
    Undecided,
    byte_address,
    canonical_forms,
    describe,
    described,
    operand,
    spelled,
    swizzle_mode,
)
from tileproof.dialects.values import Pointer, Tensor, element_bits, read_type
from tileproof.evaluate import bitfields
from tileproof.evaluate.hardware import swizzle_period
from tileproof.layout import LayoutError
from tileproof.layout.values import ComposedLayout, Layout, Swizzle
from tileproof.memory.descriptors import atom_node, operand_of
from tileproof.prove.ask import BadQuestion
from tileproof.rulebase.book import Rulebook, Ruleset
from tileproof.rulebase.expression import Scalar
from tileproof.syntax.layouts import layout as parse_layout

_CONTAINER = regex(r"i(8|16|32|64)")


@dataclass(frozen=True, slots=True)
class Asked:
    """A layout, and the operand of an atom that it is to be.

    Attributes:
        of_bytes: a swizzle of byte addresses, beside the layout.
        solve: whether a layout without a swizzle may be given one, and either major.
        value: a descriptor that is to describe the layout; None asks for one.
    """

    atom: str
    operand: str
    layout: Layout | ComposedLayout
    bits: int
    of_bytes: Swizzle | None
    value: int | None = None
    solve: bool = False


def question(
    book: Rulebook,
    atom: str,
    operand_name: str,
    layout: str,
    element: str | None,
    swizzle: str | None = None,
    value: str | None = None,
    solve: bool = False,
) -> Asked:
    """Parse the texts of a question.

    Args:
        layout: a layout, or a memory reference of the IR.
        element: in shared memory, by its name in PTX or in the IR; required if the layout is not a memory reference.

    Raises:
        BadQuestion: a text that means nothing.
        SyntaxFault: the layout is none.
    """
    name = operand_name.upper()
    if name not in ("A", "B"):
        raise BadQuestion(f"the operand must be A or B, not '{operand_name}'")
    of_bytes: Swizzle | None = None
    found: object
    if layout.startswith("!"):
        memory = read_type(layout)
        if not isinstance(memory, Tensor) or not isinstance(memory.iterator, Pointer):
            raise BadQuestion(f"'{layout}' is not a memory reference")
        found, of_bytes, element = memory.layout, memory.iterator.swizzle, element or memory.iterator.element
    else:
        found = parse_layout(layout)
    if not isinstance(found, Layout | ComposedLayout):
        raise BadQuestion(f"'{layout}' is not a layout")
    try:
        check_value(found)
    except LayoutError as fault:
        raise BadQuestion(f"'{layout}' is not a layout: {fault}") from None
    if element is None:
        raise BadQuestion("missing element type: use --element, such as --element f16")
    if swizzle is not None:
        given = parse_layout(swizzle)
        if not isinstance(given, Swizzle):
            raise BadQuestion(f"'{swizzle}' is not a swizzle such as S<3,4,3>")
        of_bytes = given
    bits = _bits(book, element)
    if (
        isinstance(found, ComposedLayout)
        and isinstance(found.inner, Swizzle)
        and of_bytes is None
        and swizzle_mode(book, found.inner, bits, of_bytes=False) is None
        and swizzle_mode(book, found.inner, bits, of_bytes=True) is not None
    ):
        # As the manual writes canonical layouts. No swizzle of the tensor core is one on elements and one on bytes.
        of_bytes = found.inner
        found = found.outer if found.offset == 0 else ComposedLayout(None, found.offset, found.outer)
    word: int | None = None
    if value is not None:
        try:
            word = int(value, 0)
        except ValueError:
            raise BadQuestion(f"'{value}' is not a descriptor such as 0x4000004000010000") from None
    return Asked(atom, name, found, bits, of_bytes, word, solve)


def _bits(book: Rulebook, element: str) -> int:
    member = "." + element.removeprefix(".")
    rows = book.shared_table("element").rows
    known = book.enums["element"].by_spelling.get(element, member)
    width = rows[known,][0] if (known,) in rows else element_bits(element) if _CONTAINER.fullmatch(element) else None
    if not isinstance(width, int):
        raise BadQuestion(f"unknown element type '{element}'")
    return width


@dataclass(frozen=True, slots=True)
class DescriptorAnswer:
    """A claim and its verdict.

    Attributes:
        statement: the claim in a sentence.
        compared: the layout of a tile and the canonical one that it is, or comes nearest to, where there is one.
    """

    statement: str
    verdict: Verdict
    compared: tuple[Layout, Layout] | None = None


def write_smt2(path: Path, answer: DescriptorAnswer) -> None:
    """The question whether the two layouts are one, for another solver: satisfiable where they are not.

    Raises:
        BadQuestion: there are no two layouts to compare, or the file cannot be written.
    """
    from tileproof.prove import questions  # noqa: PLC0415  what the question itself does not need

    if answer.compared is None:
        raise BadQuestion("no two layouts to compare: nothing to write for a solver")
    one, other = map(str, answer.compared)
    claim = questions.equivalent(one, other)
    try:
        path.write_text(claim.script().text(), encoding="utf-8")
    except OSError as error:
        raise BadQuestion(f"{path}: {error.strerror or error}") from None


def atom_operand(book: Rulebook, asked: Asked) -> tuple[str, str, tuple[int, int]]:
    """The packed word, the major and the extents that the atom has for the operand.

    Raises:
        BadQuestion: the atom has no descriptors.
    """
    node = atom_node(asked.atom if asked.atom.startswith("!") else f"!{asked.atom}")
    known = operand_of(book, node, asked.operand) if node is not None else None
    if known is None:
        raise BadQuestion(f"'{asked.atom}' is not an MMA atom that reads {asked.operand} through a descriptor")
    return known


def prove(ruleset: Ruleset, asked: Asked) -> DescriptorAnswer:
    """Is there such a descriptor, or is the given one it?

    Raises:
        BadQuestion: the atom has no descriptors.
    """
    word, major, extents = atom_operand(ruleset.book, asked)
    name = asked.atom.lstrip("!").partition("<")[0]
    swizzled = f", {asked.of_bytes} on byte addresses" if asked.of_bytes is not None else ""
    what = f"{asked.operand} of {name} laid out as {asked.layout}{swizzled}"
    statement = f"{asked.value:#018x} describes {what}" if asked.value is not None else f"a descriptor describes {what}"
    if asked.solve and asked.of_bytes is None and not isinstance(asked.layout, ComposedLayout):
        try:
            whole = operand(ruleset.book, asked.layout, asked.bits, extents, asked.of_bytes)
        except NoDescriptor as error:
            return DescriptorAnswer(statement, Refuted("algebra", str(error), {}))
        return DescriptorAnswer(statement, *_solved(ruleset, word, whole))
    given = asked.layout, asked.bits, extents, asked.of_bytes
    majors = (".k", ".mn") if asked.solve else (major,)
    try:
        whole, found = descriptors(ruleset, word, *given, majors, every=asked.value is not None)
    except Undecided as error:
        return DescriptorAnswer(statement, Unknown(str(error)))
    except NoDescriptor as error:
        tile = _tile(ruleset.book, asked, extents)
        refuted = _refuted(ruleset.book, str(error), error.attempts, asked.bits)
        return DescriptorAnswer(statement, refuted, _nearest(tile, error.attempts) if tile is not None else None)
    if asked.value is not None:
        wrong = [_wrong_fields(ruleset, one, replace(whole.tile, start=one.start), asked.value) for one in found]
        if wrong[0] is not None and None not in wrong:
            return DescriptorAnswer(statement, wrong[0])
        found = (found[wrong.index(None)],)
    if asked.solve:
        statement = (
            f"{whole.tile.layout} is canonical, {found[0].major[1:]}-major with the swizzle"
            f" {spelled(ruleset.book, found[0].swizzle)}"
        )
    return DescriptorAnswer(
        statement, _proved(ruleset.book, statement, found[0], whole), (whole.tile.layout, found[0].canonical)
    )


def _tile(book: Rulebook, asked: Asked, extents: tuple[int, int]) -> Tile | None:
    try:
        return operand(book, asked.layout, asked.bits, extents, asked.of_bytes).tile
    except NoDescriptor:
        return None


def _nearest(tile: Tile, attempts: tuple[Attempt, ...]) -> tuple[Layout, Layout] | None:
    found = [attempt.canonical for attempt in attempts if attempt.canonical is not None]
    return (tile.layout, found[0]) if found else None


def _proved(book: Rulebook, statement: str, found: OperandDescriptor, whole: TiledOperand) -> Verdict:
    try:
        return Proved("algebra", statement, _values(book, found, whole))
    except NoDescriptor as error:
        return Refuted("algebra", str(error), {})


def _values(book: Rulebook, found: OperandDescriptor, whole: TiledOperand) -> dict[str, Known]:
    values: dict[str, Known] = {
        "value": f"0x{found.value:016x}",
        "major": found.major[1:],
        "swizzle": spelled(book, found.swizzle),
        "lbo": found.lbo,
        "sbo": found.sbo,
        "canonical": str(found.canonical),
    }
    if found.unread:
        values["not_read"] = ", ".join(sorted(found.unread))
    if (view := whole.view) is not None:
        values["steps"] = str(view)
    return values


def _refuted(book: Rulebook, message: str, attempts: tuple[Attempt, ...], bits: int) -> Refuted:
    """The first coordinate where the form that was tried last fails; the others by name."""
    counterexample: dict[str, Known] = {}
    for attempt in attempts:
        if attempt.coordinate is not None and attempt.found is not None and attempt.expected is not None:
            counterexample["mn"], counterexample["k"] = attempt.coordinate
            counterexample["layout_byte"] = _byte(attempt.found, bits)
            counterexample["canonical_byte"] = _byte(attempt.expected, bits)
            break
    if attempts:
        tried = (f"{a.form.major[1:]}-major, swizzle {spelled(book, a.form.swizzle)}: {a.reason}" for a in attempts)
        counterexample["tried"] = tuple(tried)
    return Refuted("algebra", message, counterexample)


def _byte(elements: int, bits: int) -> Known:
    return elements * bits // 8 if elements * bits % 8 == 0 else f"{elements * bits / 8:g}"


def _solved(ruleset: Ruleset, word: str, whole: TiledOperand) -> tuple[Verdict, tuple[Layout, Layout] | None]:
    """The descriptor under which some major and swizzle describe a layout that has no swizzle yet."""
    tile = whole.tile
    attempts: list[Attempt] = []
    for form in canonical_forms(ruleset.book, None, None):
        as_form = replace(tile, swizzle=form.swizzle)
        try:
            found = describe(ruleset, word, as_form, form.major)
        except Undecided as error:
            return Unknown(str(error)), None
        except NoDescriptor as error:
            attempts += error.attempts or (Attempt(form, str(error)),)
            continue
        statement = (
            f"{tile.layout} is canonical, {form.major[1:]}-major with the swizzle {spelled(ruleset.book, form.swizzle)}"
        )
        return _proved(ruleset.book, statement, found, whole), (tile.layout, found.canonical)
    tried = tuple(attempts)
    return _refuted(ruleset.book, f"{tile.layout} is not a canonical layout", tried, tile.bits), _nearest(tile, tried)


def _wrong_fields(ruleset: Ruleset, found: OperandDescriptor, tile: Tile, value: int) -> Refuted | None:
    """The first field of a given descriptor that is another than it must be.

    Its start address is any, but for a layout that begins somewhere in its memory: that begins at a multiple of the
    period of the longest swizzle.
    """
    try:
        given = bitfields.unpack(ruleset, found.word, value)
    except bitfields.PackError as error:
        return Refuted(
            "algebra", f"{value:#x} is not a valid {found.word}: {error}", {"field": "", "given": hex(value)}
        )
    wanted: dict[str, Scalar] = found.facts
    wrong = [
        name for name in given if name != "address" and name not in found.unread and given[name] != wanted.get(name)
    ]
    address = given["address"]
    assert isinstance(address, int)
    if tile.start and (address - tile.start) % swizzle_period(ruleset.book):
        wrong.insert(0, "address")
    if not wrong:
        return None
    name = wrong[0]
    where = next(s for s in bitfields.show(ruleset, found.word, value) if name in dict(s.facts))
    message = (
        f"'{name}' is {_word(ruleset.book, given[name])} (bits {where.bits[0]}-{where.bits[1]}), the layout needs"
        f" {_word(ruleset.book, wanted[name])}"
    )
    at = {} if name == "address" else _first_wrong(ruleset.book, found, tile, given)
    return Refuted(
        "algebra",
        message,
        {
            "field": name,
            "given": _word(ruleset.book, given[name]),
            "needed": _word(ruleset.book, wanted[name]),
            **at,
            "value": f"0x{found.value:016x}",
        },
    )


def _word(book: Rulebook, value: Scalar) -> Known:
    if isinstance(value, int):
        return value
    return spelled(book, value) if value in book.enums["smem_swizzle"].members else value.removeprefix(".")


def _first_wrong(book: Rulebook, found: OperandDescriptor, tile: Tile, given: dict[str, Scalar]) -> dict[str, Known]:
    """The first coordinate that the given descriptor maps elsewhere."""
    swizzle, lbo, sbo = given["swizzle"], given["lbo"], given["sbo"]
    assert isinstance(swizzle, str) and isinstance(lbo, int) and isinstance(sbo, int)
    for form in canonical_forms(book, found.major, swizzle):
        read = described(book, form, tile, lbo, sbo)
        if read is None:
            continue
        rows, columns = tile.extents
        for k, mn in product(range(columns), range(rows)):
            here = byte_address(book, tile.layout, tile.bits, found.swizzle, (mn, k))
            there = byte_address(book, read, tile.bits, swizzle, (mn, k))
            if here != there:
                return {"mn": mn, "k": k, "layout_byte": here, "descriptor_byte": there}
    return {}
