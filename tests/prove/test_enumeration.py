"""Verdicts equal enumeration: of static questions always, of dynamic ones at whatever values the leaves have."""

from __future__ import annotations

import re

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from strategies import dynamic, layouts, respelled

from tileproof import layout as cute
from tileproof import prove
from tileproof.base.verdict import Proved, Refuted, Unknown
from tileproof.layout import LayoutError
from tileproof.prove import maps
from tileproof.syntax.layouts import layout as parse

pytest.importorskip("numpy", reason="numpy is not installed: it is what verdicts are compared with")
import enumeration as count

NAME = re.compile(r"\?(\w+)\{div=\d+\}")


def holds(verdict):
    """True or False; a static question is never open."""
    assert isinstance(verdict, Proved | Refuted), verdict
    return isinstance(verdict, Proved)


@given(respelled(layouts()))
def test_equivalent(pair):
    first, second = pair
    try:
        verdict = prove.equivalent(first, second)
    except (LayoutError, ValueError):
        assume(False)
    assert holds(verdict) == count.equivalent(first, second)
    if isinstance(verdict, Refuted) and "index" in verdict.counterexample:
        index = verdict.counterexample["index"]
        offsets = tuple(cute.crd2idx(index, parse(text)) for text in pair)
        assert offsets == (verdict.counterexample["offset_1"], verdict.counterexample["offset_2"])
        assert offsets[0] != offsets[1]
        for number, text in enumerate(pair, 1):
            assert (
                cute.show(cute.idx2crd(index, cute.get_shape(parse(text))))
                == verdict.counterexample[f"coordinate_{number}"]
            )


@given(layouts())
def test_injective(text):
    verdict = prove.injective(text)
    assert holds(verdict) == count.injective(text)
    if isinstance(verdict, Refuted):
        first, second = verdict.counterexample["coordinate_1"], verdict.counterexample["coordinate_2"]
        assert first != second
        assert all(cute.crd2idx(parse(c), parse(text)) == verdict.counterexample["offset"] for c in (first, second))


@given(layouts())
def test_bijective(text):
    assert holds(prove.bijective(text)) == count.bijective(text)


@given(layouts(), st.booleans(), st.data())
def test_covers(text, at_least_once, data):
    size = cute.size(parse(text))
    tile = data.draw(
        st.sampled_from(sorted({size, max(1, size // 2), size + 1, int(max(count.values(text))) + 1} - {0}))
    )
    assume(tile > 0)
    verdict = prove.covers(text, str(tile), at_least_once=at_least_once)
    assert holds(verdict) == count.covers(text, tile, at_least_once)


@given(layouts(modes=2, swizzled=False), st.sampled_from((None, "S<1,3,3>", "S<1,4,3>", "S<2,4,3>")), st.data())
def test_aligned(text, swizzle, data):
    width, vector = data.draw(st.sampled_from((1, 2, 4))), data.draw(st.sampled_from((1, 2, 3, 4, 8)))
    mode, align = data.draw(st.integers(0, 1)), data.draw(st.sampled_from((1, 2, 4, 8, 16)))
    verdict = prove.aligned(text, vector, element=8 * width, size=align, mode=mode, swizzle=swizzle)
    cells = count.cells(text, width, swizzle)
    assert holds(verdict) == count.aligned(cells if mode == 1 else cells.T, vector, width, align)


ACCESSES = [("ld.shared.b32", 4, 32), ("st.shared.v2.b32", 8, 16), ("ld.shared.b128", 16, 8), ("ld.shared.u16", 2, 32)]


@given(
    layouts(modes=2, swizzled=False, extents=(1, 2, 4, 8, 16, 32), most=512),
    st.sampled_from(ACCESSES),
    st.sampled_from((None, "S<1,4,3>", "S<3,4,3>", "S<2,4,2>")),
    st.sampled_from((1, 2, 4)),
)
def test_conflict_free(text, access, swizzle, width):
    name, size, phase = access
    assume(size % width == 0)
    verdict = prove.conflict_free(text, name, element=8 * width, swizzle=swizzle)
    cells = count.cells(text, width, swizzle)
    if not count.aligned(cells, size // width, width, size):
        assert isinstance(verdict, Refuted)
        assert "degree" not in verdict.counterexample
        return
    degree = count.degree(cells, size // width, width, phase)
    found = verdict.values if isinstance(verdict, Proved) else verdict.counterexample
    assert holds(verdict) == (degree == 1)
    assert found["degree"] == degree


@given(st.integers(1, 4), st.sampled_from((8, 16, 24)), st.integers(1, 4), st.data())
def test_conflict_free_matrices(matrices, pad, chunks, data):
    """Tiles of rows of 16 bytes; padded rows, swizzled rows, M-major ones."""
    rows, columns = 8 * matrices, 8 * chunks
    swizzle = data.draw(st.sampled_from((None, "S<1,4,3>", "S<2,4,3>", "S<3,4,3>")))
    mode = data.draw(st.integers(0, 1))
    stride = columns + pad
    text = f"({rows},{columns}):({stride},1)" if mode else f"({columns},{rows}):(1,{stride})"
    verdict = prove.conflict_free(text, "ldmatrix.x1", element="f16", swizzle=swizzle)
    cells = count.cells(text, 2, swizzle)
    degree = count.degree(cells if mode else cells.T, 8, 2, 8)
    assert holds(verdict) == (degree == 1)
    assert isinstance(verdict, Proved) or verdict.counterexample["degree"] == degree


@given(
    layouts(modes=2, swizzled=False, extents=(2, 4, 8), most=128),
    layouts(modes=2, swizzled=False, extents=(2, 4, 8), most=64),
)
def test_thread_values_go_through_the_memory(memory, threads):
    """With --tv the answer is that of the composed function."""
    memory_size, reached = cute.size(parse(memory)), count.values(threads)
    assume(int(reached.min()) >= 0 and int(reached.max()) < memory_size)
    verdict = prove.conflict_free(memory, "ld.shared.b32", element="f32", tv=threads)
    shape = tuple(cute.product(mode) for mode in reversed(cute.get_shape(parse(threads))))
    cells = (4 * count.values(memory)[reached]).reshape(shape).T
    assert holds(verdict) == (count.degree(cells, 1, 4, 32) == 1)


def at(text, values):
    return NAME.sub(lambda found: str(values[found[1]]), text)


@st.composite
def questions(draw):
    """A dynamic question and its static twin, as functions of the values."""
    kind = draw(st.sampled_from(("equivalent", "injective", "bijective", "covers")))
    text, names = draw(dynamic())
    if kind == "equivalent":
        other = at(text, dict.fromkeys(names, 8)) if draw(st.integers(0, 3)) == 0 else text
        if other == text and draw(st.booleans()):
            other = re.sub(r"^S<\d,\d,-?\d> o 0 o ", "", text)
        return (text, names), (
            lambda **more: prove.equivalent(text, other, **more),
            lambda values: count.equivalent(at(text, values), at(other, values)),
        )
    if kind == "covers":
        tile = draw(st.sampled_from((8, 16, 32)))
        return (text, names), (
            lambda **more: prove.covers(text, str(tile), **more),
            lambda values: count.covers(at(text, values), tile),
        )
    ask, counted = (prove.injective, count.injective) if kind == "injective" else (prove.bijective, count.bijective)
    return (text, names), (lambda **more: ask(text, **more), lambda values: counted(at(text, values)))


@given(questions(), st.data())
@settings(max_examples=30)
def test_a_proof_holds_at_whatever_values_and_a_counterexample_at_its_own(question, data):
    (text, names), (ask, counted) = question
    verdict = ask(timeout=0.5)
    if isinstance(verdict, Unknown):
        assert "Z3 gave no answer" in verdict.reason
    elif isinstance(verdict, Refuted):
        values = {name: verdict.counterexample[f"?{name}"] for name in names}
        assert all(values[name] % div == 0 for name, div in names.items())
        if max(values.values()) <= 4096:
            assert not counted(values)
    else:
        shape = text.split(" o ")[-1].split(":")[0]
        for _ in range(8):
            values = {
                name: div * data.draw(st.integers(1 if f"?{name}{{" in shape else 0, 5)) for name, div in names.items()
            }
            assert counted(values), values


@given(layouts(), layouts())
def test_without_numpy_the_verdicts_are_the_same(first, second):
    asked = [(prove.injective, (first,)), (prove.bijective, (first,)), (prove.equivalent, (first, second))]
    with_lists = [ask(*arguments) for ask, arguments in asked]
    before = maps.VECTORISED
    maps.VECTORISED = 1
    try:
        assert [ask(*arguments) for ask, arguments in asked] == with_lists
    finally:
        maps.VECTORISED = before


@given(
    st.sampled_from((16, 24, 32, 64)),
    st.sampled_from((1, 2, 4, 8, 64)),
    st.sampled_from((None, "S<1,4,3>", "S<2,4,3>", "S<3,4,3>", "S<3,3,3>")),
    st.integers(1, 3),
    st.sampled_from((None, 8, 72, 128)),
)
def test_dynamic_tiles_agree_with_their_instances(columns, div, swizzle, most, rest):
    """Any number of rows, and a leading dimension of which a divisor, or a remainder, is known."""
    text = f"(?m{{div=8}},{columns}):(?d{{div={div}}},1)"
    assume_ = () if rest is None or rest % div else (f"d % 128 == {rest % 128}",)
    step = div if not assume_ else 128
    leads = list(range(rest % 128 if assume_ else 0, 4 * step, step))
    at_values = [f"({8 * most},{columns}):({d},1)" for d in leads]
    whole = [count.aligned(count.cells(static, 2, swizzle), 8, 2, 16) for static in at_values]
    free = [
        fits and count.degree(count.cells(static, 2, swizzle), 8, 2, 8) == 1
        for fits, static in zip(whole, at_values, strict=True)
    ]
    aligned = prove.aligned(text, 8, element="f16", swizzle=swizzle, assume=assume_, timeout=1)
    conflict = prove.conflict_free(text, "ldmatrix", element="f16", swizzle=swizzle, assume=assume_, timeout=1)
    for verdict, instances, ask in (
        (aligned, whole, lambda static: prove.aligned(static, 8, element="f16", swizzle=swizzle)),
        (conflict, free, lambda static: prove.conflict_free(static, "ldmatrix", element="f16", swizzle=swizzle)),
    ):
        if isinstance(verdict, Proved):
            assert all(instances)
        else:
            assert isinstance(verdict, Refuted), verdict
            found = verdict.counterexample
            assert found["?d"] % div == 0
            assert isinstance(ask(f"({found['?m']},{columns}):({found['?d']},1)"), Refuted)


ASSUMED = (
    "d % {of} == {left}",
    "d % {of} != {left}",
    "d % {of} < {left} + 8",
    "d - k == {left}",
    "(d - k) % {of} == {left}",
    "d / 8 % 2 == {left} / 8 % 2",
    "d % 16 == k % 16",
    "k + {left} <= d",
    "2*d - k == {left}",
)


@settings(max_examples=30)
@given(
    st.sampled_from(("(?m{{div=8}},?k{{div={least}}}):(?d{{div={div}}},1)", "(?m{{div=8}},?k{{div={least}}}):(?d,1)")),
    st.sampled_from((8, 16, 64)),
    st.sampled_from((1, 8, 16)),
    st.lists(st.sampled_from(ASSUMED), min_size=1, max_size=2, unique=True),
    st.sampled_from((8, 12, 16, 24, 32, 64)),
    st.sampled_from((0, 4, 8, 16, 24)),
    st.sampled_from((None, None, "S<2,4,3>", "S<3,4,3>")),
)
def test_padded_leading_dimensions_agree_with_their_instances(text, least, div, assumed, of, left, swizzle):
    """What is assumed, worked out by Python itself, and numpy on all small tiles that it admits."""
    text = text.format(least=least, div=div)
    step = div if f"div={div}}},1" in text else 1
    assumed = [one.format(of=of, left=left) for one in assumed]
    ruled = [one.replace("/", "//") for one in assumed]

    def admits(k, d):
        return all(eval(one, {"k": k, "d": d}) for one in ruled)

    def free(m, k, d):
        cells = count.cells(f"({m},{k}):({d},1)", 2, swizzle)
        return count.aligned(cells, 8, 2, 16) and count.degree(cells, 8, 2, 8) == 1

    verdict = prove.conflict_free(text, "ldmatrix", element="f16", swizzle=swizzle, assume=assumed, timeout=2)
    tiles = [(k, d) for k in range(least, 260, least) for d in range(0, 260, step) if admits(k, d)]
    match verdict:
        case Proved():
            chosen = tiles[:: max(1, len(tiles) // 40)]
            assert all(free(16, k, d) for k, d in chosen)
        case Refuted(_, _, found):
            m, k, d = found["?m"], found["?k"], found["?d"]
            assert admits(k, d)
            assert (m % 8, k % least, d % step) == (0, 0, 0)
            if m * d < 1 << 20:
                assert not free(m, k, d)
        case Unknown(reason):
            assert not tiles, reason
