"""The entities that operations work on: memory references, descriptors and the atoms that use them."""

from __future__ import annotations

from tileproof.base.patterns import regex
from tileproof.base.records import dataclass
from tileproof.dialects.values import Descriptor, Pointer, Tensor, read_type
from tileproof.layout.values import ComposedLayout, Layout, Tuple
from tileproof.mlir.ir import Alias, Operation


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
        return static_size(outer.shape[0] if isinstance(outer.shape, tuple) and outer.shape else outer.shape)


def static_size(shape: Tuple) -> int | None:
    """The number of elements in a shape; None where it is not static."""
    if isinstance(shape, tuple):
        product = 1
        for mode in shape:
            extent = static_size(mode)
            if extent is None:
                return None
            product *= extent
        return product
    return shape if isinstance(shape, int) else None


_FIELD = regex(r"set_value<(\w+)>|field = #[\w.]+<(\w+)>")


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
    """What memory a type, free of aliases, stands for; None where it stands for none or cannot be read."""
    match read_type(text):
        case Tensor(Descriptor(), layout):
            return Memory("smem_desc_view", "", layout)
        case Tensor(Pointer(element=element, space=space), layout):
            return Memory(space, element, layout)
    return None
