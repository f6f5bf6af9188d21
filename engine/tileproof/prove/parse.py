"""The layout or memory reference of a question, as a map with named dynamic leaves.

Three texts are read: a layout (``(8,64):(64,1)``), a composed layout (``S<3,3,3> o 0 o (8,64):(64,1)``), whose swizzle
acts on element indices, and a memory reference (``!cute.memref<f16, smem, align<128>, S<3,4,3>, "(8,64):(64,1)">``),
whose swizzle acts on byte addresses. A dynamic leaf may have a name, ``?m{div=16}``: one name, one value, and once its
type is said ``?m`` suffices. A leaf without a name is called by its place among those without, ``?0``, ``?1``, ...
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from tileproof.base.patterns import regex
from tileproof.base.records import dataclass, replace
from tileproof.calculate.evaluate import MAX_TEXT, check_value
from tileproof.layout import Basis, ComposedLayout, Dynamic, Layout, LayoutError, Swizzle, Tuple
from tileproof.layout.tuples import leaves as tuple_leaves
from tileproof.prove.maps import Inner, Leaf, Map, Profile, Scale, Stage, flat, window
from tileproof.prove.symbols import LeafFacts, Number, Symbol, times
from tileproof.syntax import SyntaxFault

AnyText = str | Layout | ComposedLayout
"""A layout, or its text."""

_DYNAMIC = regex(r"\?([A-Za-z_]\w*)?(?=\s*(\{)?)")
_SPACE = regex(r"\s+")

Name = tuple[str | None, bool]
"""The name of a dynamic leaf, and whether nothing is said there of its type."""


@dataclass(frozen=True)
class MemoryLayout:
    """A layout with the known properties of its memory.

    Attributes:
        text: as it is printed in statements.
        elements: the map from leaf coordinates to element offsets (or to coordinates).
        bits: of an element; None where no element type is given.
        swizzle: of byte addresses, applied last.
        align: of the base address in bytes; None: aligned to whatever is needed.
    """

    text: str
    elements: Map
    symbols: tuple[Symbol, ...]
    bits: int | None = None
    swizzle: Swizzle | None = None
    align: int | None = None

    @property
    def size(self) -> Number:
        return self.elements.size

    @property
    def window(self) -> int:
        """The period in bytes of the swizzle of byte addresses; 1 without one."""
        return window(self.swizzle) if self.swizzle is not None and self.swizzle.bits else 1

    def addresses(self, base: Symbol | None = None) -> Map:
        """The map to bit addresses, relative to a base that is a multiple of every window or to a symbolic one.

        Raises:
            LayoutError: there is no element type, or the layout maps to coordinates.
        """
        if self.bits is None:
            raise LayoutError("missing element type for addresses: use --element, such as --element f16")
        if len(self.elements.start) != 1:
            raise LayoutError(f"{self.text} maps to coordinates, not to addresses")
        stages: list[Stage] = [] if base is None else [Scale(1, times(base.number, 8))]
        if self.swizzle is not None:
            stages.append(Swizzle(self.swizzle.bits, self.swizzle.base + 3, self.swizzle.shift))
        return self.elements.scaled(self.bits).after(*stages)

    def in_elements(self) -> Map:
        """The map to element offsets with the swizzle of the pointer, which must move whole elements.

        Raises:
            LayoutError: it does not, or the bits of an element are not a power of two.
        """
        if self.swizzle is None or self.swizzle.bits == 0:
            return self.elements
        assert self.bits is not None
        power = self.bits.bit_length() - 1
        if self.bits != 1 << power or self.swizzle.base + 3 < power:
            raise LayoutError(f"the byte-address swizzle {self.swizzle} splits elements of {self.bits} bits")
        on_elements = Swizzle(self.swizzle.bits, self.swizzle.base + 3 - power, self.swizzle.shift)
        return self.elements.after(on_elements)


def base_of(alignment: int, period: int) -> Symbol | None:
    """The base address as a dynamic leaf, in bytes, modulo a period; None where it is a multiple of that."""
    if alignment % period == 0:
        return None
    return Symbol("base", alignment, 0, max(period - 1, 0))


def facts(operands: Iterable[MemoryLayout], assume: Iterable[str] = (), base: Symbol | None = None) -> LeafFacts:
    """The known properties of the dynamic leaves of all operands.

    Raises:
        LayoutError: one name is used for leaves of different kinds, or an assumption cannot be read.
    """
    symbols: dict[str, Symbol] = {}
    for operand in operands:
        for symbol in operand.symbols:
            known = symbols.setdefault(symbol.name, symbol)
            if (known.div, known.most) != (symbol.div, symbol.most):
                raise LayoutError(f"{symbol.name} has two types: use different names for different leaves")
            symbols[symbol.name] = replace(known, least=max(known.least, symbol.least))
    if base is not None:
        symbols[base.name] = base
    texts = tuple(assume)
    if not texts:
        return LeafFacts(tuple(symbols.values()))
    from tileproof.prove.assumptions import read_assumptions  # noqa: PLC0415 - loads a grammar

    return read_assumptions(texts, symbols)


def read(
    what: AnyText,
    bits: int | None = None,
    swizzle: str | Swizzle | None = None,
    align: int | None = None,
    beside: MemoryLayout | None = None,
) -> MemoryLayout:
    """A layout from its text or value.

    Args:
        beside: the operand whose dynamic leaves this one's share: by name, and those without a name in their order.
        bits: of an element, if the text is not a memory reference.
        swizzle: of byte addresses, likewise.
        align: of the base address in bytes, likewise.

    Raises:
        SyntaxFault: the text cannot be read.
        LayoutError: it is not a layout, or malformed.
    """
    names: list[Name] = []
    value: object = what
    if isinstance(what, str):
        if len(what) > MAX_TEXT:
            raise SyntaxFault(f"a layout has at most {MAX_TEXT} characters", MAX_TEXT, len(what))
        names = [(found[1], found[2] is None) for found in _DYNAMIC.finditer(what)]
        text = _DYNAMIC.sub("?", what).strip()
        if "memref<" in text:
            value, bits, swizzle, align = _reference(text, bits, swizzle, align)
        else:
            from tileproof.syntax.layouts import layout  # noqa: PLC0415 - values need no parser

            value = layout(text)
    if not isinstance(value, Layout | ComposedLayout):
        raise LayoutError(f"expects a layout, but got '{what}'")
    check_value(value)
    pointer = _swizzle(swizzle)
    if pointer is not None and bits is None:
        raise LayoutError("missing element type for a byte-address swizzle: use --element, such as --element f16")
    if align is not None and (align < 1 or align & (align - 1)):
        raise LayoutError(f"the alignment must be a power of two, not {align}")
    elements, symbols = _map(value, _Namer(names, beside.symbols if beside else ()))
    shown = _SPACE.sub(" ", what.strip()) if isinstance(what, str) else str(what)
    return MemoryLayout(shown, elements, symbols, bits, pointer, align)


def _swizzle(swizzle: str | Swizzle | None) -> Swizzle | None:
    if isinstance(swizzle, str):
        from tileproof.syntax.layouts import layout  # noqa: PLC0415

        value = layout(swizzle)
        if not isinstance(value, Swizzle):
            raise LayoutError(f"expects a swizzle such as S<3,4,3>, but got '{swizzle}'")
        swizzle = value
    if swizzle is not None:
        check_value(swizzle)
    return swizzle


def _reference(
    text: str, bits: int | None, swizzle: str | Swizzle | None, align: int | None
) -> tuple[object, int | None, str | Swizzle | None, int | None]:
    from tileproof.dialects.values import Pointer, Tensor, element_bits, read_type  # noqa: PLC0415 - seldom needed

    kind = read_type(text if text.startswith("!cute.") else f"!cute.{text}")
    if not isinstance(kind, Tensor) or not isinstance(kind.iterator, Pointer):
        raise LayoutError(f"invalid memory reference: {text}")
    pointer = kind.iterator
    return (
        kind.layout,
        element_bits(pointer.element) or bits,
        swizzle if swizzle is not None else pointer.swizzle,
        align if align is not None else max(1, pointer.alignment // 8),
    )


class _Namer:
    """Gives each dynamic leaf, in the order of the text, its symbol."""

    def __init__(self, names: list[Name], beside: tuple[Symbol, ...]) -> None:
        self.names = iter(names)
        self.beside = {symbol.name: symbol for symbol in beside}
        self.anonymous = 0
        self.symbols: dict[str, Symbol] = {}

    def number(self, leaf: object, least: int) -> Number:
        if isinstance(leaf, int):
            return leaf
        if isinstance(leaf, Dynamic):
            name, bare = next(self.names, (None, True))
            if name is None:
                symbol = self._anonymous(leaf)
            else:
                known = self.symbols.get("?" + name) or self.beside.get("?" + name)
                symbol = known if known and bare else Symbol("?" + name, leaf.div, 0, _most(leaf))
                if known is not None and (known.div, known.most) != (symbol.div, symbol.most):
                    raise LayoutError(f"{symbol.name} has two types: use different names for different leaves")
            least = max(least, self.symbols[symbol.name].least if symbol.name in self.symbols else 0)
            self.symbols[symbol.name] = replace(symbol, least=least)
            return symbol.number
        raise LayoutError(f"expects an integer, but got {leaf}")

    def _anonymous(self, leaf: Dynamic) -> Symbol:
        name = f"?{self.anonymous}"
        self.anonymous += 1
        other = self.beside.get(name)
        if other is not None and (other.div, other.most) != (leaf.div, _most(leaf)):
            name += "'"  # leaves of different types are not the same
        return Symbol(name, leaf.div, 0, _most(leaf))

    def profile(self, shape: Tuple) -> Profile:
        if isinstance(shape, tuple):
            return tuple(map(self.profile, shape))
        return self.number(shape, 1)


def _most(leaf: Dynamic) -> int:
    return (1 << (leaf.width - 1)) - 1


def _map(value: Layout | ComposedLayout, namer: _Namer) -> tuple[Map, tuple[Symbol, ...]]:
    if isinstance(value, Layout):
        shape, strides = namer.profile(value.shape), _strides(namer, value.stride)
        return _summed(shape, strides, []), tuple(namer.symbols.values())
    stages: list[Stage] = []
    if isinstance(value.inner, Swizzle):
        stages = [value.inner] if value.inner.bits else []
    elif isinstance(value.inner, Layout):
        extents, steps = list(flat(namer.profile(value.inner.shape))), _strides(namer, value.inner.stride)
        if any(path for path, _ in steps):
            raise LayoutError(f"the inner layout {value.inner} must map to offsets, not to coordinates")
        stages = [Inner(tuple(zip(extents, (step for _, step in steps), strict=True)))]
    starts = _start(namer, value.offset, ())
    shape, strides = namer.profile(value.outer.shape), _strides(namer, value.outer.stride)
    result = _summed(shape, strides, starts)
    if stages and len(result.start) != 1:
        raise LayoutError(f"the inner part {value.inner} requires an integer, not a coordinate")
    return replace(result, stages=tuple(stages)), tuple(namer.symbols.values())


Step = tuple[tuple[int, ...], Number]
"""Along which mode of a coordinate (none: an offset), and how far."""


def _strides(namer: _Namer, strides: Tuple) -> list[Step]:
    found: list[Step] = []
    for stride in tuple_leaves(strides):
        if isinstance(stride, Basis):
            if isinstance(stride.value, Fraction):
                raise LayoutError(f"the step {stride} falls between elements")
            found.append((tuple(reversed(stride.path)), namer.number(stride.value, 0)))
        elif isinstance(stride, int | Dynamic):
            found.append(((), namer.number(stride, 0)))
        else:
            raise LayoutError(f"expects an integer stride, but got {stride}")
    return found


def _start(namer: _Namer, offset: Tuple, path: tuple[int, ...]) -> list[Step]:
    if isinstance(offset, tuple):
        return [step for place, part in enumerate(offset) for step in _start(namer, part, (*path, place))]
    return [(path, namer.number(offset, 0))]


def _summed(shape: Profile, strides: list[Step], starts: list[Step]) -> Map:
    paths = sorted({path for path, _ in [*strides, *starts] if path})
    plain = any(step != 0 for path, step in [*strides, *starts] if not path)
    if paths and plain:
        raise LayoutError("integer strides and scaled-basis strides cannot be mixed")
    if any(a != b and b[: len(a)] == a for a in paths for b in paths):
        raise LayoutError("one scaled basis is along a mode, another along a part of it")
    axes: list[tuple[int, ...]] = [*paths] or [()]
    leaves = tuple(
        Leaf(extent, tuple(step if path == axis or (not paths and not path) else 0 for axis in axes))
        for extent, (path, step) in zip(flat(shape), strides, strict=True)
    )
    start: list[Number] = [next((step for path, step in starts if path == axis), 0) for axis in axes]
    return Map(shape, leaves, tuple(start), (), tuple(axes))
