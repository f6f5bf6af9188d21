"""What an inference function sees, and the table of these functions by operation.

An inference function answers with the result types that the dialect infers, with None where it cannot say, and raises
``LayoutError`` where the dialect refuses the operation. It never guesses: a wrong answer would be a false alarm.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TypeAlias

from tileproof.base.records import dataclass
from tileproof.dialects.values import TUPLES, Algebraic, Tensor, Type
from tileproof.layout.values import ComposedLayout, Layout, Swizzle, Tile, Tuple
from tileproof.rulebase.book import Rulebook
from tileproof.syntax import SyntaxFault
from tileproof.syntax.layouts import layout as parse_layout

AnyLayout: TypeAlias = Layout | ComposedLayout
Results: TypeAlias = "tuple[Type, ...] | None"


@dataclass(frozen=True, slots=True)
class Call:
    """One use of an operation.

    Attributes:
        parameters: attributes by name, as written in either form.
        declared: the result types that the text declares; empty where it declares none.
        book: the rules whose fragments count; None for those of tileproof.
    """

    name: str
    operands: tuple[Type, ...]
    parameters: Mapping[str, str]
    declared: tuple[Type, ...]
    book: Rulebook | None = None

    def integers(self, name: str) -> tuple[int, ...] | None:
        """A parameter that is an integer or a list of them: ``3 : i32``, ``[0, 1]``, ``array<i32: 0, 1>``."""
        text = self.parameters.get(name)
        if text is None:
            return None
        return tuple(map(int, re.findall(r"(?<![\w-])-?\d+", text.removeprefix("array<i32").partition(" : ")[0])))

    def integer(self, name: str) -> int:
        """A parameter that is one integer."""
        found = self.integers(name)
        if found is None or len(found) != 1:
            raise Unknown
        return found[0]

    def tuple_text(self, name: str) -> Tuple | None:
        """A parameter that is a tuple: ``#cute.coord<"(1,_,1)">`` or only the quoted text."""
        text = self.parameters.get(name)
        if text is None:
            return None
        quoted = re.search(r'"([^"]*)"', text)
        if quoted is None:
            raise Unknown
        try:
            value = parse_layout(quoted[1])
        except SyntaxFault:
            raise Unknown from None
        if isinstance(value, Layout | ComposedLayout | Swizzle | Tile):
            raise Unknown
        return value


INDEX = "index"  # the parameter that type_flow adds: the value of an operand that is a constant
BY_INDEX = frozenset({"cute.get_flat_coord", "cute.get_hier_coord", "cute.get_integral_coord"})


def known_index(call: Call) -> int | None:
    """The first operand's value where it is a constant; only the operations of ``BY_INDEX`` are told."""
    found = call.integers(INDEX)
    return None if found is None else found[0]


class Unknown(Exception):
    """The inference function cannot say: an operand or a parameter is not of the form that it understands."""


Inference: TypeAlias = Callable[[Call], Results]

TABLE: dict[str, Inference] = {}


def infers(*names: str, dialect: str = "cute") -> Callable[[Inference], Inference]:
    """Enter a function into the table, for these operations of a dialect."""

    def enter(function: Inference) -> Inference:
        for name in names:
            TABLE[f"{dialect}.{name}"] = function
        return function

    return enter


# -- operands by kind


def operand(call: Call, index: int) -> Type:
    """The operand's type; Unknown where the operation has fewer."""
    if index >= len(call.operands):
        raise Unknown
    return call.operands[index]


def tuple_operand(call: Call, index: int) -> Tuple:
    """The value of a shape, stride, coordinate or integer tuple."""
    found = operand(call, index)
    if not isinstance(found, Algebraic) or found.kind not in TUPLES:
        raise Unknown
    return found.value  # type: ignore[return-value]


def layout_of(value: Type) -> AnyLayout:
    """The layout of a layout or of a tensor."""
    if isinstance(value, Tensor):
        return value.layout
    if isinstance(value, Algebraic) and isinstance(value.value, Layout | ComposedLayout):
        return value.value
    raise Unknown


def layout_operand(call: Call, index: int) -> AnyLayout:
    """The layout of a layout or tensor operand."""
    return layout_of(operand(call, index))


def tiler_operand(call: Call, index: int) -> Layout | Tile | Tuple:
    """A tiler: a tile, a layout or a shape."""
    found = operand(call, index)
    if not isinstance(found, Algebraic) or isinstance(found.value, Swizzle | ComposedLayout):
        raise Unknown
    return found.value


# -- results


def with_layout(value: Type, layout: AnyLayout) -> Type:
    """The type of a layout or tensor operand after its layout has changed."""
    if isinstance(value, Tensor):
        return Tensor(value.iterator, layout)
    return of_layout(layout, composed=isinstance(value, Algebraic) and value.kind == "composed_layout")


def of_layout(layout: AnyLayout, composed: bool = False) -> Algebraic:
    """A layout's type. A composed layout whose swizzle does nothing prints as a layout and keeps its kind."""
    return Algebraic("composed_layout" if composed or isinstance(layout, ComposedLayout) else "layout", layout)


def on_layout(value: Type, function: Callable[[AnyLayout], AnyLayout]) -> Type:
    """The type with the function applied to its layout."""
    return with_layout(value, function(layout_of(value)))


def int_tuple(value: Tuple) -> Algebraic:
    """An integer tuple's type."""
    return Algebraic("int_tuple", value)
