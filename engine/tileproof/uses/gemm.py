"""``cute.gemm(atom, d, a, b, c)``: an MMA atom and its operands, as the facts that rules speak of.

``a`` and ``b`` may come as lists: the operand, then sparse metadata or scale factors.
"""

from __future__ import annotations

from collections.abc import Set

from tileproof.base.records import dataclass
from tileproof.dialects.configuration import Facts
from tileproof.dialects.operands import Memory, memory, resolve, static_size
from tileproof.dialects.operations import Operations
from tileproof.layout.basics import has_scaled_basis, is_static_layout
from tileproof.layout.tuples import compact, is_static_tuple
from tileproof.layout.values import ComposedLayout, Layout, Tuple
from tileproof.mlir.ir import Alias, Operation, TypeUse
from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.expression import Scalar

ROLES = ("d", "a", "b", "c")  # in the order of the operands, after the atom


@dataclass(frozen=True, slots=True)
class Gemm:
    """One use of an MMA atom.

    Attributes:
        atom: the type of the atom, aliases resolved.
        operands: the memory of each operand; a missing role has none.
        uses: the types of the operands as written, extra operands after their own.
        extra: the last extra operand of a role, aliases resolved: its scale factors, where it has any.
    """

    operation: Operation
    atom: str
    operands: dict[str, Memory]
    uses: dict[str, tuple[TypeUse, ...]]
    extra: dict[str, str]

    def facts(self, book: Rulebook, member: str, name: str, fields: Set[str], atom: Facts | None) -> Facts:
        """The facts of the schema ``mma.use``, which every MMA atom has.

        Args:
            member, name: the atom, as a member of the enum ``atom`` and as written.
            fields: the fields that the file sets on atoms, which may carry what else would be an extra operand.
            atom: the facts of the atom itself, if its parameters are known.
        """
        values: dict[str, Scalar] = {
            "atom": member,
            "a.extra": len(self.uses["a"]) - 1 + len(fields & {"sf_a", "metadata"}),
            "b.extra": len(self.uses["b"]) - 1 + len(fields & {"sf_b"}),
        }
        spelled = {"atom": name}
        for fact in ("a.type", "b.type", "d.type"):
            if atom is not None and fact in atom.values:
                values[fact], spelled[fact] = atom.values[fact], atom.spelled.get(fact, str(atom.values[fact])[1:])
        for role, operand in self.operands.items():
            if role != "c":
                values[f"{role}.residency"], spelled[f"{role}.residency"] = _member(book, "residency", operand.space)
                if operand.element:
                    values[f"{role}.element"], spelled[f"{role}.element"] = _member(book, "element", operand.element)
                values[f"{role}.composed"] = ".yes" if isinstance(operand.layout, ComposedLayout) else ".no"
            if operand.rank is not None:
                values[f"{role}.rank"] = operand.rank
            spelled[f"{role}.composed"] = spelled[f"{role}.rank"] = str(operand.layout)
            spelled[f"{role}.operand"], values[f"{role}.operand"] = self.uses[role][0].text, ".yes"
        for role, fact in (("a", "sfa.element"), ("b", "sfb.element")):
            extra = memory(self.extra[role]) if role in self.extra else None
            if extra is not None and extra.element:
                values[fact], spelled[fact] = _member(book, "element", extra.element)
        values |= self._extents()
        values["static"], values["canonical"] = ".yes", ".yes"
        for role, operand in self.operands.items():
            layout = operand.layout
            if not isinstance(layout, Layout) or role == "c":
                continue
            if values["static"] == ".yes" and not (is_static_layout(layout) and not has_scaled_basis(layout)):
                values["static"], spelled["static"] = ".no", str(layout)
            elif values["canonical"] == ".yes" and operand.space == "rmem":
                shape, stride = _first(layout.shape), _first(layout.stride)
                if is_static_tuple(shape) and (reference := compact(shape)) != stride:
                    values["canonical"], spelled["canonical"] = ".no", str(Layout(shape, reference))
        return self._placed("mma.use", values, spelled)

    def _extents(self) -> dict[str, Scalar]:
        """The extents of the modes after the first, which an operation on several atoms shares among its operands."""
        found: dict[str, Scalar] = {}
        for role, names in (("a", "MK"), ("b", "NK"), ("d", "MN")):
            operand = self.operands.get(role)
            shape = getattr(operand.layout, "shape", None) if operand is not None else None
            if not isinstance(shape, tuple) or len(shape) > 3:
                continue
            for name, size in zip(("value", *names), map(static_size, shape), strict=False):
                if size is not None:
                    found[f"{role}.{name}"] = size
        return found

    def facts_with(self, book: Rulebook, schema: str, atom: Facts) -> Facts:
        """The facts of the atom itself together with those of its operands, in a schema that extends the atom's."""
        values, spelled = dict(atom.values), dict(atom.spelled)
        for role, operand in self.operands.items():
            if role != "c":
                values[f"{role}.residency"], spelled[f"{role}.residency"] = _member(book, "residency", operand.space)
        if (accumulator := self.operands.get("d")) is not None:
            values["d.element"], spelled["d.element"] = _member(book, "element", accumulator.element)
            if accumulator.first_mode is not None:
                values["d.values"] = accumulator.first_mode
        return self._placed(schema, values, spelled)

    def _placed(self, schema: str, values: dict[str, Scalar], spelled: dict[str, str]) -> Facts:
        """The place of the facts of an operand: its type in the operation."""
        spans = {
            f"{role}.{fact}": uses[0].span
            for role, uses in self.uses.items()
            for fact in ("residency", "composed", "rank", "element", "values", "operand", "value", *"MNK")
        }
        return Facts(schema, values, spelled, spans, self.operation.name_span)


def _first(mode: Tuple) -> Tuple:
    return mode[0] if isinstance(mode, tuple) and mode else mode


def _member(book: Rulebook, enum: str, word: str) -> tuple[str, str]:
    """The member of an enum that a word means, and the word."""
    return book.enums[enum].by_spelling.get(word, word), word


def read_gemm(book: Rulebook, operation: Operation, aliases: dict[str, Alias]) -> Gemm | None:
    """The parts of a ``cute.gemm``; None for any other operation and for one that is incomplete."""
    groups = operation.input_groups
    if Operations.of(book).step(operation.name) != "mma" or len(groups) != 1 + len(ROLES) or not all(groups):
        return None
    uses = dict(zip(ROLES, groups[1:], strict=True))
    found = {role: memory(resolve(group[0].text, aliases)) for role, group in uses.items()}
    operands = {role: operand for role, operand in found.items() if operand is not None}
    extra = {role: resolve(group[-1].text, aliases) for role, group in uses.items() if len(group) > 1}
    return Gemm(operation, resolve(groups[0][0].text, aliases), operands, uses, extra)
