"""``emit``: the instruction sequence of an atom, or of each MMA and copy of a file, for an assembler or a compiler."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from tileproof.base.diagnostic import Severity
from tileproof.base.records import dataclass
from tileproof.checking import instruction as verdicts
from tileproof.dialects.facts import MalformedAtom, atom_facts
from tileproof.emitting import inline as asm
from tileproof.emitting import kernel
from tileproof.emitting.operands import place
from tileproof.emitting.sequence import Placed, Sequence, lone, sequence, template_for, text_of
from tileproof.evaluate.python import judge_for
from tileproof.judge.messages import version_text
from tileproof.mlir.types import Kind
from tileproof.ptx.opcode import read_opcode
from tileproof.ptx.parse_facts import lower
from tileproof.ptx.registers import by_letter
from tileproof.ptx.select import Lowered, Spelled, legal_form, lower_atom
from tileproof.report.values import Report
from tileproof.rulebase.book import Rulebook, Ruleset
from tileproof.rulebase.declarations import HARDWARE, Atom
from tileproof.rulebase.expression import Scalar
from tileproof.suggesting.families import atom_type, families
from tileproof.syntax import SyntaxFault
from tileproof.syntax.types import type_tree


class BadAtom(ValueError):
    """A text that is neither an atom nor an instruction, or one without anything to emit."""


class NotLegal(ValueError):
    """An opcode that the target does not support with any operands."""


class Refused(ValueError):
    """Illegal code is not emitted; ``report`` has the faults."""

    def __init__(self, report: Report) -> None:
        super().__init__("nothing is emitted")
        self.report = report


@dataclass(frozen=True, slots=True)
class Asked:
    """An atom or an instruction that is to be emitted.

    Attributes:
        schema: whose facts they are.
        atom: the text of the type; for an instruction the type of the same MMA, or nothing.
        lowered: its instruction; None where a template spells it by itself.
    """

    schema: str
    facts: Mapping[str, Scalar]
    atom: str
    lowered: Lowered | None


def emit_atom(ruleset: Ruleset, text: str, where: dict[str, Scalar], form: str = "ptx") -> str:
    """The sequence of one atom or PTX instruction.

    Args:
        where: target and PTX version.
        form: ``ptx``, ``inline_asm``, ``nvvm`` or ``llvm``.

    Raises:
        Refused: it is not legal on the target.
        NotLegal: it is an opcode without operands, and none would make it legal.
        BadAtom: the text is neither, or there is nothing to emit for it.
    """
    asked = read(ruleset, text, where)
    return (
        "\n".join(
            _page(ruleset, asked, where, form)
            if ruleset.contract == "tileiras"
            else _lines(ruleset.book, asked, where, form)
        ).rstrip("\n")
        + "\n"
    )


def read(ruleset: Ruleset, text: str, where: dict[str, Scalar]) -> Asked:
    """The atom or opcode of a text, checked; raises as ``emit_atom`` does."""
    stripped = text.strip().removesuffix(";").strip() if not verdicts.is_atom(text) else text.strip()
    if not stripped:
        raise BadAtom("there is no atom")
    if verdicts.is_atom(stripped):
        return _atom(ruleset, stripped if stripped.startswith("!") else f"!{stripped}", where)
    return _instruction(ruleset, stripped, where)


def _refuse(ruleset: Ruleset, text: str, where: dict[str, Scalar]) -> None:
    report = verdicts.report(ruleset, [text], where, any_type=True)
    if any(d.severity is Severity.ERROR for d in report.diagnostics):
        raise Refused(report)


def _atom(ruleset: Ruleset, text: str, where: dict[str, Scalar]) -> Asked:
    _refuse(ruleset, text, where)
    try:
        tree = type_tree(text)
        node = next(n for n in tree.walk() if n.kind is Kind.TYPE and n.text.lstrip("!") in ruleset.book.atoms)
        declaration: Atom = ruleset.book.atoms[node.text.lstrip("!")]
        facts = atom_facts(ruleset.book, declaration, node, 0).values
    except (SyntaxFault, MalformedAtom) as error:
        raise BadAtom(str(error)) from None
    except StopIteration:
        named = next((n for n in ruleset.book.enums["atom"].by_spelling if re.search(rf"{re.escape(n)}\b", text)), None)
        raise BadAtom(
            f"'{text}' has no atom that is declared in rules/"
            if named is None
            else f"nothing is emitted: the rules do not declare the parameters of {named.partition('.')[2]}"
        ) from None
    otherwise = next((f.instructions for f in families(ruleset.book) if f.schema == declaration.schema), ())
    lowered = lower_atom(ruleset, where, declaration.schema, facts, otherwise)
    if lowered is None and ruleset.contract == HARDWARE and lone(ruleset, declaration.schema, facts) is None:
        raise BadAtom(f"no PTX instruction for {text} on {str(where['target'])[1:]}")
    inner = text[node.start : node.end]
    return Asked(declaration.schema, facts, inner if inner.startswith("!") else f"!{inner}", lowered)


def _instruction(ruleset: Ruleset, text: str, where: dict[str, Scalar]) -> Asked:
    opcode = text.split(maxsplit=1)[0]
    if opcode != text:
        _refuse(ruleset, f"{text};", where)
        found = lower(ruleset.book, f"{text};", by_letter(ruleset.book))
        assert found.declaration is not None and found.form is not None, "it is legal"
        spelled: Spelled | None = Spelled(
            ruleset.book, found.declaration, found.form, {**found.values, **where}, f"{text};"
        )
    else:
        read = read_opcode(ruleset.book, opcode)
        if read.faults or read.declaration is None:
            raise BadAtom(read.faults[0].stated.message)
        spelled = legal_form(ruleset, where, read.declaration, read.values)
        if spelled is None:
            raise NotLegal(_why(ruleset, opcode, {**read.values, **where}, read.declaration.schema))
    assert spelled is not None
    facts = spelled.facts
    family = next((f for f in families(ruleset.book) if spelled.declaration in f.instructions), None)
    known = (
        {name: facts[name] for name in ruleset.book.schemas[family.schema].fields if name in facts} if family else {}
    )
    atoms = (atom_type(ruleset.book, one, known) for one in (family.atoms if family is not None else ()))
    return Asked(spelled.declaration.schema, facts, next(filter(None, atoms), ""), Lowered(spelled, None, facts))


def _why(ruleset: Ruleset, opcode: str, facts: dict[str, Scalar], schema: str) -> str:
    """Which rules an opcode without operands breaks."""
    broken = [r for r in judge_for(ruleset, schema).violated(facts) if r.severity is Severity.ERROR]
    named = ", ".join(f"{rule.code} {rule.name}" for rule in broken)
    target = f"{str(facts['target'])[1:]}, PTX {version_text(facts['ptx'])}"
    return f"'{opcode}' is not legal on {target}" + (f": {named}" if named else ", with any operands")


def sequence_of(book: Rulebook, asked: Asked, placed: Mapping[str, Placed] | None = None) -> Sequence:
    """The sequence of an atom in PTX; without ``placed`` its operands have the best layouts."""
    if asked.lowered is None:
        own = lone(book.under(HARDWARE), asked.schema, asked.facts)
        assert own is not None, "asked when it was read"
        return own
    if placed is None:
        spots = place(book, asked.atom, {**asked.facts, **asked.lowered.facts}) if asked.atom else {}
        placed = {name: one for name, (one, _) in spots.items()}
    found = sequence(book.under(HARDWARE), asked.lowered, placed)
    assert found is not None, "every instruction has a sequence"
    return found


def _lines(book: Rulebook, asked: Asked, where: Mapping[str, Scalar], form: str) -> Iterable[str]:
    one = sequence_of(book, asked)
    if form == "ptx":
        return [kernel.module(book, where, [("kernel", [one], [asked.atom or one.instruction])])]
    written = asm.inline(book, one)
    if form == "inline_asm":
        return [*asm.as_cuda(written), "", *asm.as_llvm(written)]
    own = sequence(book.under(HARDWARE), asked.lowered, {}, form) if asked.lowered is not None else None
    if own is not None:
        return own.parts["emit"]
    return asm.as_mlir(written) if form == "nvvm" else asm.as_llvm(written)


def _page(ruleset: Ruleset, asked: Asked, where: Mapping[str, Scalar], form: str) -> Iterable[str]:
    """The form of the reference pages, mistakes included."""
    facts = {**asked.facts, **where}
    template = template_for(ruleset, asked.schema, form, facts)
    if template is None:
        raise BadAtom(f"the reference pages have no form {form.replace('_', '-')} of this")
    lines = text_of(ruleset, template, facts)
    return [f"// {path}", *lines] if form == "ptx" and (path := _path(ruleset, where)) else lines


def _path(ruleset: Ruleset, where: Mapping[str, Scalar]) -> str:
    """By which path the reference pages emit the MMAs of a target; empty if they do not define it."""
    targets = ruleset.table("target")
    tier = targets.rows[str(where["target"]),][targets.column("tier") or 0]
    row = ruleset.table("emission_path").rows.get((str(tier),))
    return f"{ruleset.book.enums['emission_path'].members[str(row[0])][0]}: {row[1]}" if row is not None else ""
