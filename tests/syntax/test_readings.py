"""Well-formed types and layouts are read without the grammar: what both can read they read alike."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tileproof.syntax import SyntaxFault, layout_grammar, layouts, type_grammar, types

TYPES = (
    '!cute.memref<f16, smem, align<128>, S<3,4,3>, "(8,64):(64,1)">',
    "!cute_nvgpu.sm90.mma<64x128x16, ab_major = (k, k), elem_type = (f16, f16, f32), frag_kind = ss>",
    "!cute_nvgpu.atom.tmem_load<f32, 32 DP, 32 bit, x32>",
    '!cute_nvgpu.atom.tma_load<f16, copy_bits = 65536, g_stride = <"()"> tma_gbasis = <"(64):(1@0)">>',
    "!lir.pipeline<2, SM90_TMA_LOAD -> SM100_MMA_1SM_SS, cta>",
    "!llvm.struct<(f32, vector<4x2xf32>, !llvm.array<?x*xi8>, @name, {a = 1.5e-3, 0x1F})>",
    "(i32, !llvm.ptr<3>) -> (f32, [i1])",
    "#cute.x<a b = 1 c, ?: *>",
)
LAYOUTS = (
    "S<3,4,-3> o 0 o ((8,?{i64 div=16}),(64,1)):((64,512@1),(1,0))",
    "(1,0) o (?,(_,3)):(?{div=8}@1,(1/2@0@1,1@2))",
    "[128:1;(4,2):(2,1);_;[3;()]]",
    "(8):(1) o 0 o 4:1",
    "-1",
    "S<2,4,3>",
)
CHARACTERS = '()<>[]{},:;?*_@-=x0189!#"\\ oSid/v.\n'


def changed(seeds: tuple[str, ...]) -> st.SearchStrategy[str]:
    """Seeds with a few characters dropped, inserted or doubled."""

    def change(text: str, edits: list[tuple[int, str]]) -> str:
        for place, new in edits:
            at = place % (len(text) + 1)
            text = text[:at] + new + text[at + (not new) :]
        return text

    edits = st.lists(st.tuples(st.integers(0, 200), st.sampled_from(["", *CHARACTERS, *seeds])), max_size=3)
    return st.builds(change, st.sampled_from(seeds), edits)


def agree(text: str, read: Callable[[str], object], parsed: Callable[[str], object]) -> None:
    try:
        by_grammar = parsed(text)
    except SyntaxFault as fault:
        with pytest.raises(SyntaxFault) as raised:
            read(text)
        assert (str(raised.value), raised.value.start, raised.value.end) == (str(fault), fault.start, fault.end)
    else:
        assert repr(read(text)) == repr(by_grammar)  # places included, which do not count for equality


@settings(max_examples=150, deadline=None)
@given(changed(TYPES))
@example("!a<" * 70 + ">" * 70)
@example("!a<" + "9" * 20 + ">")
def test_types_are_read_as_by_the_grammar(text):
    agree(text, types.type_tree.__wrapped__, type_grammar.parsed)


@settings(max_examples=150, deadline=None)
@given(changed(LAYOUTS))
@example("(" * 70 + ")" * 70)
@example("9" * 20 + ":1")
@example("1:1/0@0")
@example("?{div=0}")
def test_layouts_are_read_as_by_the_grammar(text):
    agree(text, layouts.layout.__wrapped__, layout_grammar.parsed)


@pytest.mark.parametrize("text", TYPES)
def test_good_types_need_no_grammar(text, monkeypatch):
    monkeypatch.setattr(type_grammar, "parsed", None)
    assert types.type_tree.__wrapped__(text).end == len(text)


@pytest.mark.parametrize("text", LAYOUTS)
def test_good_layouts_need_no_grammar(text, monkeypatch):
    monkeypatch.setattr(layout_grammar, "parsed", None)
    assert layouts.layout.__wrapped__(text) is not None
