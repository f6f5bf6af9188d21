"""Random layouts, static and dynamic, as text."""

from __future__ import annotations

from math import prod

import layout_cases as trees
from hypothesis import assume
from hypothesis import strategies as st

from tileproof.layout import show

profiles = st.recursive(st.just(0), lambda inner: st.lists(inner, min_size=1, max_size=3).map(tuple), max_leaves=4)
swizzles = st.sampled_from(["S<1,0,1>", "S<1,1,2>", "S<2,0,2>", "S<2,1,-3>", "S<1,2,3>", "S<3,3,3>", "S<2,3,3>"])


def _spread(draw, sizes):
    """Strides: compact in some order, with gaps, with overlaps, zero, negative."""
    kind = draw(st.sampled_from(("compact", "compact", "gaps", "wild")))
    strides, running = [0] * len(sizes), 1
    for place in draw(st.permutations(range(len(sizes)))):
        strides[place] = running
        running *= sizes[place] * (draw(st.sampled_from((1, 1, 2))) if kind == "gaps" else 1)
    if kind == "wild":
        strides = [draw(st.sampled_from((0, 1, 2, 3, 4, 6, 8, 16, -1, -4))) for _ in sizes]
    return strides


@st.composite
def layouts(draw, most=256, extents=(1, 2, 3, 4, 6, 8), swizzled=True, modes=None):
    """The text of a static layout, perhaps under a swizzle and at an offset."""
    tree = draw(profiles) if modes is None else tuple(draw(profiles) for _ in range(modes))
    sizes = [draw(st.sampled_from(extents)) for _ in trees.leaves(tree)]
    assume(prod(sizes) <= most)
    shape = show(trees.refill(tree, list(sizes)))
    stride = show(trees.refill(tree, _spread(draw, sizes)))
    plain = f"{shape}:{stride}"
    if not swizzled or draw(st.booleans()):
        return plain
    return f"{draw(swizzles)} o {draw(st.sampled_from((0, 0, 1, 4, 64)))} o {plain}"


@st.composite
def respelled(draw, text):
    """A pair of a layout and the same function, or nearly so, spelled otherwise."""
    from tileproof import layout as cute  # noqa: PLC0415 - tests may lack nothing, but this one is used once
    from tileproof.syntax.layouts import layout as parse  # noqa: PLC0415

    first = draw(text)
    if draw(st.booleans()):
        return first, str(cute.coalesce(parse(first)))
    place = draw(st.integers(0, len(first) - 1))
    digits = "0123456789"
    if first[place] not in digits:
        return first, first
    other = first[:place] + draw(st.sampled_from("12348")) + first[place + 1 :]
    return first, other


@st.composite
def dynamic(draw, most=64):
    """A layout with named dynamic leaves, and for each name its divisor."""
    tree = draw(profiles)
    sizes = [draw(st.sampled_from((1, 2, 3, 4, 8))) for _ in trees.leaves(tree)]
    assume(prod(sizes) <= most)
    strides = _spread(draw, sizes)
    leaves = [*sizes, *strides]
    names: dict[str, int] = {}
    for place in draw(st.lists(st.integers(0, len(leaves) - 1), min_size=1, max_size=2, unique=True)):
        name, div = f"d{place}", draw(st.sampled_from((1, 2, 4, 8)))
        names[name] = div
        leaves[place] = f"?{name}{{div={div}}}"
    half = len(sizes)
    shape, stride = (show(trees.refill(tree, [*part])).replace("'", "") for part in (leaves[:half], leaves[half:]))
    text = f"{shape}:{stride}"
    if draw(st.booleans()):
        text = f"{draw(swizzles)} o 0 o {text}"
    return text, names
