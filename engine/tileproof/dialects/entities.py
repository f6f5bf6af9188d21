"""The entities that operations work on: memory references, descriptors and the atoms that use them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tileproof.dialects.types import Kind, Node
from tileproof.ir import Alias, Operation
from tileproof.layout.values import ComposedLayout, Layout, Tuple
from tileproof.syntax import SyntaxFault
from tileproof.syntax.layouts import layout as parse_layout
from tileproof.syntax.types import type_tree


@dataclass(frozen=True, slots=True)
class Memory:
    """A value that stands for memory: ``!cute.memref`` or ``!cute_nvgpu.smem_desc_view``.

    Attributes:
        space: ``gmem``, ``smem``, ``rmem``, ``tmem``, ``generic``, or ``smem_desc_view`` for a descriptor.
        element: the element type's name; empty for a descriptor, which has none.
        layout: coordinates to offsets in elements.
    """

    space: str
    element: str
    layout: Layout | ComposedLayout | None

    @property
    def rank(self) -> int | None:
        """The number of modes of the layout."""
        outer = self.layout.outer if isinstance(self.layout, ComposedLayout) else self.layout
        if outer is None:
            return None
        return len(outer.shape) if isinstance(outer.shape, tuple) else 1

    @property
    def first_mode(self) -> int | None:
        """The static number of elements in the first mode: what one thread holds for one atom; else None."""
        outer = self.layout.outer if isinstance(self.layout, ComposedLayout) else self.layout
        if outer is None:
            return None
        return _extent(outer.shape[0] if isinstance(outer.shape, tuple) and outer.shape else outer.shape)


def _extent(shape: Tuple) -> int | None:
    if isinstance(shape, tuple):
        product = 1
        for mode in shape:
            extent = _extent(mode)
            if extent is None:
                return None
            product *= extent
        return product
    return shape if isinstance(shape, int) else None


_FIELD = re.compile(r"set_value<(\w+)>|field = #[\w.]+<(\w+)>")


def field_set(operation: Operation) -> str | None:
    """The field that ``cute_nvgpu.atom.set_value`` gives a value: ``accum_c``, ``sf_a``, ``tma_bar``, ..."""
    if operation.name != "cute_nvgpu.atom.set_value":
        return None
    found = _FIELD.search(operation.pieces[0])
    return found and (found[1] or found[2])


def resolve(text: str, aliases: dict[str, Alias]) -> str:
    """The text that a type alias stands for; other text is its own. Aliases of aliases are followed, cycles are not."""
    seen = set()
    while text in aliases and text not in seen:
        seen.add(text)
        text = aliases[text].text
    return text


def memory(text: str) -> Memory | None:
    """What memory a type stands for, or None where it stands for none or cannot be read."""
    if not text.startswith(("!cute.memref<", "!cute_nvgpu.smem_desc_view<")):
        return None
    try:
        node = type_tree(text)
        return Memory(*_space(node), _layout(node))
    except SyntaxFault:
        return None


def _space(node: Node) -> tuple[str, str]:
    if node.text == "!cute_nvgpu.smem_desc_view":
        return "smem_desc_view", ""
    words = [child.text for child in node.positional if child.kind is Kind.TYPE]
    return (words[1] if len(words) > 1 else "generic"), (words[0] if words else "")


def _layout(node: Node) -> Layout | ComposedLayout | None:
    texts = [child.text for child in node.positional if child.kind is Kind.TEXT]
    value = parse_layout(texts[-1]) if texts else None
    return value if isinstance(value, (Layout, ComposedLayout)) else None
