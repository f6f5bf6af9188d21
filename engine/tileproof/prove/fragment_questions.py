"""``prove fragment`` and ``prove gemm``: questions and answers about fragments."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tileproof.base.records import dataclass, replace
from tileproof.base.verdict import Known, Proved, Refuted, Unknown, Verdict
from tileproof.calculate.evaluate import evaluate
from tileproof.dialects.facts import MalformedAtom, atom_facts
from tileproof.dialects.fragments import fragments
from tileproof.dialects.values import Atom, TiledCopy, TiledMma, read_type
from tileproof.evaluate.fragments import (
    Facts,
    FragmentOperand,
    Fragments,
    Missing,
    declared,
    flattened,
    fragments_of,
    operand,
)
from tileproof.layout import Layout, LayoutError
from tileproof.prove import fragments as prove
from tileproof.prove import tiled
from tileproof.prove.ask import BadQuestion, table
from tileproof.ptx.opcode import read_opcode
from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.declarations import HARDWARE, PAGES, Bounded
from tileproof.rulebase.expression import Scalar
from tileproof.syntax import SyntaxFault

_SAME = {"D": "C", "METADATA": "E"}


@dataclass(frozen=True)
class FragmentAnswer:
    """A verdict and its subject.

    Attributes:
        about: the layout and its tile, where there is one.
    """

    verdict: Verdict
    about: Mapping[str, Known]


@dataclass(frozen=True)
class Found:
    """The fragments of an atom or an instruction, and by which declaration of the rule files."""

    name: str
    fragments: Fragments
    sources: tuple[str, ...]


# ------------------------------------------------------------------------------------------------- what is asked


def fragment(
    book: Rulebook,
    atom: str,
    role: str,
    *,
    contract: str,
    given: Sequence[str] = (),
    layout: str | None = None,
    copy: str | None = None,
    major: str = "k",
) -> FragmentAnswer:
    """The fragment of one operand, and its proof.

    Args:
        atom: a type of the IR, a PTX opcode or instruction, or the name of a fragment in the rule files.
        role: A, B, C or D, E (metadata), SFA, SFB, T (tensor memory), S, D of a copy.
        given: ``FACT=VALUE``, for facts that are not in the opcode.
        layout: a layout of one's own, to be compared with the true one.
        copy: an ldmatrix or stmatrix, to be compared with the operand.
        major: the contiguous mode in shared memory, for ``copy``.

    Raises:
        BadQuestion: there is no such atom, operand, fact or layout.
    """
    known = read_type(atom) if atom.startswith("!cute.tiled_") else None
    if isinstance(known, TiledMma):
        return _of_tiled(known, _SAME.get(role.upper(), role.upper()), layout)
    if isinstance(known, TiledCopy):
        return FragmentAnswer(tiled.copy_covers(known), {"layout": str(known.thread_values), "tile": str(known.tiler)})
    facts = _given(given)
    found = find(book, atom, HARDWARE, facts)
    true = _operand(found, role)
    about: dict[str, Known] = {"layout": str(true.layout), "tile": tuple(true.tile), "declaration": found.name}
    if contract == PAGES:
        about |= _arm(book, atom)
        return FragmentAnswer(_page(book, atom, facts, true.role, found), about)
    if layout is not None:
        return FragmentAnswer(prove.agrees(_layout(layout), true), about)
    if copy is not None:
        bits = found.fragments.facts.get("bits") if true.role in ("A", "B") else None
        matrices = _matrices(book, copy, bits if isinstance(bits, int) else None)
        return FragmentAnswer(prove.moves(matrices, true, major), about)
    return FragmentAnswer(prove.covers(true), about)


def question(book: Rulebook, atom: str, role: str, *, given: Sequence[str] = (), layout: str | None = None) -> str:
    """The question of ``fragment`` for an atom that is not tiled, as SMT-LIB 2: satisfiable if refuted.

    Raises:
        BadQuestion: there is no such atom, operand, fact or layout.
    """
    from tileproof.prove import ownership  # noqa: PLC0415  a verdict needs none of it

    true = _operand(_of_an_atom(book, atom, given), role)
    if layout is None:
        return ownership.covering(true).script().text()
    try:
        own = flattened(_layout(layout), true.tile)
    except Missing:
        raise BadQuestion(f"'{layout}' names a mode that {true.role} does not have") from None
    except LayoutError as fault:
        raise BadQuestion(str(fault)) from None
    return ownership.agreeing(own, true).text()


def gemm_question(book: Rulebook, atom: str, given: Sequence[str] = ()) -> str:
    """The question of ``gemm`` for an atom that is not tiled, as SMT-LIB 2: satisfiable if refuted.

    Raises:
        BadQuestion: there is no such atom or fact, or its fragments are not known.
    """
    from tileproof.prove import ownership  # noqa: PLC0415  a verdict needs none of it

    try:
        return ownership.multiplying(_of_an_atom(book, atom, given).fragments).text()
    except Missing:
        raise BadQuestion("not an MMA with known M, N and K") from None
    except KeyError as role:
        raise BadQuestion(f"the fragment of {role.args[0]} is not known") from None


def gemm_of_layouts_question(a: str, b: str, d: str) -> str:
    """The question of ``gemm_of_layouts``, as SMT-LIB 2.

    Raises:
        BadQuestion: one of them is not a layout, or extents are dynamic and differ.
    """
    from tileproof.prove import ownership  # noqa: PLC0415

    try:
        return ownership.composing(*map(_layout, (a, b, d))).text()
    except ValueError as error:
        raise BadQuestion(str(error)) from None


def _of_an_atom(book: Rulebook, atom: str, given: Sequence[str]) -> Found:
    if atom.startswith("!cute.tiled_"):
        raise BadQuestion("--smt2 writes the question of an atom, not of a tiled one")
    return find(book, atom, HARDWARE, _given(given))


def gemm(book: Rulebook, atom: str, given: Sequence[str] = ()) -> FragmentAnswer:
    """Do A, B and C of an atom or an instruction form a GEMM?

    Raises:
        BadQuestion: there is no such atom or fact.
    """
    known = read_type(atom) if atom.startswith("!cute.tiled_") else None
    if isinstance(known, TiledMma):
        for role in tiled.MMA_OPERANDS:
            verdict = tiled.mma_covers(known, role)
            if not isinstance(verdict, Proved):
                return FragmentAnswer(verdict, {"operand": role})
        atom = str(known.atom)
    found = find(book, atom, HARDWARE, _given(given))
    return FragmentAnswer(prove.gemm(found.fragments), {"declaration": found.name})


def gemm_of_layouts(a: str, b: str, d: str) -> FragmentAnswer:
    """Do three layouts form a GEMM?

    Raises:
        BadQuestion: one of them is not a layout.
    """
    return FragmentAnswer(prove.composes(*map(_layout, (a, b, d))), {})


def _of_tiled(mma: TiledMma, role: str, layout: str | None) -> FragmentAnswer:
    """A tiled MMA: its threads count through all of its atoms."""
    if role not in tiled.MMA_OPERANDS:
        raise BadQuestion(f"a tiled MMA has the operands A, B and C, not {role}")
    verdict = tiled.mma_covers(mma, role)
    if not isinstance(verdict, Proved):
        return FragmentAnswer(verdict, {})
    try:
        held = tiled.held_by_threads(mma, role)
    except LayoutError as fault:
        return FragmentAnswer(verdict if layout is None else Unknown(str(fault)), {})
    about: dict[str, Known] = {"layout": str(held.layout), "tile": held.tile}
    return FragmentAnswer(verdict if layout is None else prove.agrees(_layout(layout), held), about)


def find(book: Rulebook, text: str, contract: str, given: Mapping[str, Scalar | str]) -> Found:
    """The fragments of the atom or opcode in a text.

    Raises:
        BadQuestion: it names nothing whose fragments a rule file has.
    """
    named = book.fragments.get(text.strip())
    if text.lstrip().startswith(("!cute", "cute_nvgpu.")) and (named is None or "<" in text):
        return _of_type(book, text.strip(), contract)
    if named is not None:
        defaults = {
            name: value for taken in named.taken for name, value in zip(taken.facts, taken.default or (), strict=False)
        }
        facts: Facts = {**defaults, **_typed(book, named.schema.name, given, named.schema.fields)}
        found = fragments_of(book, named, facts)
        if found is None:
            raise BadQuestion(f"'{text}' requires more facts: {', '.join(named.schema.fields)}")
        return Found(text.strip(), found, named.sources)
    words = text.strip().removesuffix(";").split()
    opcode_text = next((word for word in words if not word.startswith("@")), "")
    opcode = read_opcode(book, opcode_text)
    if opcode.declaration is None or opcode.faults:
        raise BadQuestion(opcode.faults[0].stated.message if opcode.faults else f"'{text}' is not an instruction")
    schema = opcode.declaration.schema
    values: Facts = {**opcode.values, **_typed(book, schema, given, book.schemas[schema].fields)}
    for declaration, facts in declared(book, schema, values, contract):
        if declaration.contract == (None if contract == HARDWARE else contract):
            found = fragments_of(book, declaration, facts)
            if found is not None:
                return Found(declaration.types[0], found, declaration.sources)
    raise BadQuestion(f"no fragment is declared for '{opcode_text}'")


def _of_type(book: Rulebook, text: str, contract: str) -> Found:
    """The fragments of a type of the IR: those of the type itself, then those that its facts give."""
    atom = read_type(text if text.startswith("!") else "!" + text)
    if not isinstance(atom, Atom):
        raise BadQuestion(f"'{text}' is not an atom")
    name = atom.node.text.lstrip("!")
    own = fragments(atom.node) if contract == HARDWARE else None
    sources = book.fragments[name].sources if own is not None else ()
    if (declaration := book.atoms.get(name)) is not None:
        try:
            values = atom_facts(book, declaration, atom.node, 0).values
        except MalformedAtom as fault:
            raise BadQuestion(str(fault)) from None
        for other, facts in declared(book, declaration.schema, values, contract):
            if other.contract != (None if contract == HARDWARE else contract):
                continue
            more = fragments_of(book, other, facts)
            if more is not None and own is None:
                own, sources = more, other.sources
            elif more is not None and own is not None:
                own = replace(
                    own,
                    operands={**more.operands, **own.operands},
                    layouts={**more.layouts, **own.layouts},
                )
                sources = (*sources, *other.sources)
    if own is None:
        raise BadQuestion(f"no fragment is declared for '{text}'")
    return Found(name, own, sources)


def _operand(found: Found, role: str) -> FragmentOperand:
    wanted = role.upper()
    operands = found.fragments.operands
    if wanted not in operands:
        wanted = _SAME.get(wanted, wanted)
    if wanted not in operands:
        raise BadQuestion(f"'{found.name}' has no fragment of {role}: it has {', '.join(sorted(operands))}")
    return operands[wanted]


def _matrices(book: Rulebook, text: str, bits: int | None) -> prove.Matrices:
    """The registers of an ldmatrix or stmatrix, its elements counted in the width that the MMA gives them."""
    found = find(book, text, HARDWARE, {})
    facts = found.fragments.facts
    own, rows, columns = (facts.get(name) for name in ("bits", "rows", "columns"))
    role = "D" if "ldsm" in found.name else "S" if "stsm" in found.name else ""
    if not role or not isinstance(own, int) or not isinstance(rows, int) or not isinstance(columns, int):
        raise BadQuestion(f"'{text}' is neither ldmatrix nor stmatrix")
    width = bits or own
    if (width > own and own != 16) or width > 32:
        raise BadQuestion(f"'{text}' does not move elements of {width} bits")
    declaration = book.fragments[found.name]
    try:
        held = operand(book, declaration, role, {**facts, "bits": width}).layout
    except (Missing, LayoutError) as fault:
        raise BadQuestion(f"'{text}' does not move elements of {width} bits: {fault}") from None
    return prove.Matrices(text.split(maxsplit=1)[0], held, width, rows * columns * own // prove.ROW_BITS)


def _page(book: Rulebook, atom: str, facts: Mapping[str, Scalar | str], role: str, true: Found) -> Verdict:
    """What MMA Atoms SM70-SM120 says of the operand, against the hardware."""
    try:
        page = find(book, atom, PAGES, facts)
    except BadQuestion:
        return Unknown(f"'MMA Atoms SM70-SM120' has no operand table for '{atom}'")
    return prove.differs(page.fragments, role, true.fragments.operands[role])


def _arm(book: Rulebook, atom: str) -> dict[str, Known]:
    """The arm of the page's synthesizer that an instruction of a warp asks for: the one whose key it has, or none."""
    opcode = read_opcode(book, atom.split(maxsplit=1)[0] if atom.split() else "")
    values = opcode.values

    def cell(table: str, key: Scalar | None, column: str) -> Scalar | None:
        held = book.tables[table, PAGES]
        row, place = held.rows.get((key,)), held.column(column)  # type: ignore[arg-type]
        return row[place] if row is not None and place is not None else None  # type: ignore[return-value]

    key = (
        values.get("K"),
        values.get("M"),
        values.get("sparse"),
        cell("synthesizer_type", values.get("a.type"), "fp8"),
        cell("synthesizer_layout", values.get("a.layout"), "trans_a"),
    )
    declaration = opcode.declaration
    if declaration is None or "mma.plain.instruction" not in book.lineage(declaration.schema) or None in key:
        return {}
    for (arm,), row in book.tables["synthesizer", PAGES].rows.items():
        if row[: len(key)] == key:
            slots, elements = row[len(key)], row[len(key) + 1]
            return {"arm": str(arm)[1:], "slot_count": int(slots), "arm_elements": int(elements)}  # type: ignore[arg-type]
    return {"arm": "none"}


def _layout(text: str) -> Layout:
    try:
        value = evaluate(text)
    except (SyntaxFault, LayoutError) as fault:
        raise BadQuestion(f"'{text}' is not a layout: {fault}") from None
    if not isinstance(value, Layout):
        raise BadQuestion(f"'{text}' is not a layout")
    return value


def _given(given: Sequence[str]) -> dict[str, Scalar | str]:
    found: dict[str, Scalar | str] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals:
            raise BadQuestion(f"--set requires FACT=VALUE, not '{text}'")
        found[name.strip()] = value.strip()
    return found


def _typed(book: Rulebook, schema: str, given: Mapping[str, Any], fields: Mapping[str, Any]) -> dict[str, Scalar]:
    """Values as their facts have them."""
    typed: dict[str, Scalar] = {}
    for name, text in given.items():
        domain = fields.get(name)
        if domain is None:
            raise BadQuestion(f"'{schema}' has no fact '{name}'")
        if isinstance(domain, Bounded):
            if not str(text).isdecimal():
                raise BadQuestion(f"{name} must be a number, not '{text}'")
            typed[name] = int(text)
        else:
            member = f".{str(text).removeprefix('.')}"
            if member not in book.enums[domain.enum].members:
                raise BadQuestion(
                    f"'{text}' is not in {domain.enum}: {', '.join(m[1:] for m in book.enums[domain.enum].members)}"
                )
            typed[name] = member
    return typed


# ------------------------------------------------------------------------------------------------------- answers


def as_json(answer: FragmentAnswer) -> str:
    """One object: the verdict, the counterexample or the reason, and what it is about."""
    match answer.verdict:
        case Proved(by, statement, values):
            found: dict[str, Any] = {"verdict": "proved", "by": by, "statement": statement, "values": values}
        case Refuted(by, message, counterexample):
            found = {"verdict": "refuted", "by": by, "message": message, "counterexample": counterexample}
        case Unknown(reason):
            found = {"verdict": "unknown", "reason": reason}
    return json.dumps({**found, **answer.about})


def as_text(answer: FragmentAnswer) -> Iterator[str]:
    """The verdict in one sentence, then its values, one per line."""
    values: Mapping[str, Known] = {}
    match answer.verdict:
        case Proved(by, statement, values):
            yield f"proved by {by}: {statement}"
        case Refuted(by, message, values):
            yield f"refuted by {by}: {message}"
        case Unknown(reason):
            yield f"unknown: {reason}"
    yield from table({name: _known(value) for name, value in (*values.items(), *answer.about.items())})


def _known(value: Known) -> str:
    return "(" + ",".join(map(_known, value)) + ")" if isinstance(value, tuple) else str(value)


def status(answer: FragmentAnswer) -> int:
    """The exit status: unknown is never success."""
    return 0 if isinstance(answer.verdict, Proved) else 1
