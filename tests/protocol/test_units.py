"""What the integers of a kernel in PTX count in its long run: elements, or turns of the loops that they decide."""

from __future__ import annotations

import pytest
from test_ptx_kernels import RING
from test_ptx_practices import edited

import tileproof
from tileproof.base.source import Source
from tileproof.protocol import verify
from tileproof.protocol.deciding import turns_written
from tileproof.protocol.folding import Extents
from tileproof.protocol.study import Study
from tileproof.protocol.verify import verify_function
from tileproof.ptx.graph import Graphs
from tileproof.ptx.module import read_module

BOOK = tileproof.load_rules()
READ = "  ld.shared.b32 %r26, [%r25];\n  mbarrier.arrive.shared::cta.b64 _, [%r21+16];\n"
IN_TILES = RING.replace("%r5, %r5, 1;", "%r5, %r5, 64;")  # both roles take 64 elements in a turn


def study(text: str) -> Study:
    """The study of the only kernel of a module."""
    module = read_module(BOOK, Source("kernel.ptx", text))
    found: list[Study] = []
    verify_function(BOOK, Graphs(BOOK, module).of(module.functions[0]), seen=lambda _, one: found.append(one))
    (one,) = found
    return one


def turns(one: Study) -> list[int]:
    """How often the counted loops of the long run went around."""
    assert one.begun is not None
    coverage = one.begun.machine.coverage
    return [coverage.lengths[at] for at in sorted(coverage.went) if one.compiled.code[at].kind == "test"]


def found(text: str) -> set[str]:
    return {one.code for one in tileproof.check(text).diagnostics if one.severity.value == "error"}


def test_an_integer_counts_turns_where_loops_go_by_one():
    one = study(RING)
    assert [unit for _, unit in one.units] == [1]
    assert turns(one) == [one.shape.extent] * 2
    assert one.begun is not None and one.begun.machine.steps < 1000


def test_an_integer_counts_elements_where_loops_take_a_tile_of_them():
    """The usual run: it goes around no loop more often than it takes to show the rings."""
    one = study(IN_TILES)
    assert one.units == ()
    assert turns(one) == [2 * one.shape.extent] * 2  # of tiles with 128 elements


def test_a_loop_that_takes_many_elements_goes_around_often_enough():
    """One integer is the length of a loop that goes by one element and of loops that go by 16."""
    ahead = """  mov.b32 %r27, 0;
AHEAD:
  st.shared.b32 [%r2+9000], %r27;
  add.s32 %r27, %r27, 1;
  setp.lt.s32 %p8, %r27, %r4;
  @%p8 bra AHEAD;
  bar.sync 0;
"""
    text = RING.replace("%r5, %r5, 1;", "%r5, %r5, 16;").replace(
        "  mov.b32 %r5, 0;\n", ahead + "  mov.b32 %r5, 0;\n", 1
    )
    one = study(text)
    ((_, unit),) = one.units
    assert 1 < unit < 128
    first, *roles = turns(one)
    assert first == unit * one.shape.extent
    assert all(one.shape.extent <= length < first for length in roles)


# Tiles of batches and heads, of which each CTA has a part, and rows that both roles take 128 of in a turn (attention).
OF_HEADS = (
    RING.replace(".param .u32 tiles)", ".param .u32 batches, .param .u32 heads, .param .u32 rows)")
    .replace("%r<30>", "%r<40>")
    .replace(
        "  ld.param.u32 %r4, [tiles];\n",
        """  ld.param.u32 %r4, [rows];
  add.s32 %r4, %r4, 127;
  shr.u32 %r4, %r4, 7;
  ld.param.u32 %r30, [batches];
  ld.param.u32 %r31, [heads];
  mul.lo.s32 %r30, %r30, %r31;
  mul.lo.s32 %r30, %r30, %r4;
  div.u32 %r30, %r30, 96;
  mov.b32 %r32, 0;
""",
    )
    .replace("PRODUCER:\n", "FILL:\n  mov.b32 %r5, 0;\nPRODUCER:\n", 1)
    .replace(
        "  @%p5 bra PRODUCER;\n",
        """  @%p5 bra PRODUCER;
  add.s32 %r32, %r32, 1;
  setp.lt.s32 %p8, %r32, %r30;
  @%p8 bra FILL;
""",
    )
    .replace("CONSUMER:\n", "TAKE:\n  mov.b32 %r5, 0;\nCONSUMER:\n", 1)
    .replace("bra CONSUMER;\n  elect", "bra TAKE;\n  elect")
    .replace(
        " bra CONSUMER;\n",
        """ bra CONSUMER;
  add.s32 %r32, %r32, 1;
  setp.lt.s32 %p8, %r32, %r30;
  @%p8 bra TAKE;
""",
    )
)


def test_integers_of_one_loop_may_count_in_other_units():
    """Batches and heads count by themselves, rows in tiles: with few rows no ring goes round, with many batches no run
    comes to its end."""
    one = study(OF_HEADS)
    assert len(one.units) == 2 and all(unit < 8 for _, unit in one.units)
    *inner, outer, other = sorted(turns(one))
    assert inner == [one.shape.extent] * 2 and outer == other > one.shape.extent
    assert found(OF_HEADS) == set()


# A CTA finds its rows by the heads and batches, and takes all of a cache in pages: their product is a length.
OF_PAGES = (
    RING.replace(".param .u32 tiles)", ".param .u32 heads, .param .u32 batches, .param .u32 pages, .param .u32 rows)")
    .replace("%r<30>", "%r<40>")
    .replace(
        "  ld.param.u32 %r4, [tiles];\n",
        """  ld.param.u32 %r30, [heads];
  ld.param.u32 %r31, [batches];
  ld.param.u32 %r32, [pages];
  ld.param.u32 %r33, [rows];
  mul.lo.s32 %r4, %r32, %r33;
  mov.u32 %r34, %ctaid.x;
  div.u32 %r34, %r34, %r30;
  div.u32 %r34, %r34, %r31;
  add.s32 %r34, %r34, 127;
  add.s32 %r4, %r4, %r34;
  shr.u32 %r4, %r4, 7;
""",
    )
)


def test_a_length_that_is_a_product_counts_in_its_factors_alone():
    """The integers that the place of a CTA is computed by decide it as well, and are no reason that it is long."""
    one = study(OF_PAGES)
    assert one.unsettled and found(OF_PAGES) == set()
    factors = one.launched_as(one.shape)
    factors.makers, factors.units = True, ()
    factors.begin()
    assert not factors.unsettled and len(factors.units) == 2
    assert all(one.shape.extent <= length <= 8 * one.shape.extent for length in turns(factors))


def test_units_are_sought_otherwise_where_something_is_left_open(monkeypatch: pytest.MonkeyPatch):
    """And what is found then counts where nothing is open."""
    open_: list[bool] = []
    monkeypatch.setattr(verify, "_open", lambda outcome: open_.pop(0))
    for answers, makers in (([False], False), ([True, False], True), ([True, True], False)):
        open_[:] = answers
        assert (study(OF_PAGES).makers, open_) == (makers, [])


def test_an_integer_is_one_by_whatever_register_its_address_is_given():
    """Roles that read it in different ways go around equally often (nvcc, kernels whose parameters are a struct)."""
    apart = edited(
        RING,
        ("  mov.b64 %rd1, map;\n", "  mov.b64 %rd1, map;\n  mov.b64 %rd7, tiles;\n  add.s64 %rd8, %rd7, 64;\n"),
        ("  setp.eq.s32 %p2,", "  ld.param.u32 %r29, [%rd8+-64];\n  setp.eq.s32 %p2,"),
        ("  setp.lt.s32 %p7, %r5, %r4;\n", "  setp.lt.s32 %p7, %r5, %r29;\n"),
    )
    one = study(apart)
    assert len(one.units) == 1
    assert turns(one) == [one.shape.extent] * 2
    assert found(apart) == set()


def test_a_kernel_whose_usual_run_has_no_end_is_run_to_where_it_hangs():
    release = "  mbarrier.arrive.shared::cta.b64 _, [%r21+16];\n"
    assert found(OF_HEADS.replace(release, "")) == {"PR126"}


def test_the_lengths_of_loops_are_computed_of_the_integers():
    one = study(RING)
    terms = [term for term, _ in one.units]
    for unit in (1, 3, 128):
        size = Extents(7, 7, units=tuple((term, unit) for term in terms))
        assert set(turns_written(one.compiled.code, size).values()) == {7 * unit}
    assert turns_written(one.compiled.code) == {}


@pytest.mark.parametrize("text", [RING, IN_TILES], ids=["turns", "elements"])
@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("  mbarrier.arrive.shared::cta.b64 _, [%r21+16];\n", "", "PR126"),  # nobody releases a stage
        ("[%r3+16], 32;", "[%r3+16], 33;", "PR125"),  # a release too few
        ("  ld.shared.b32 %r26, [%r25];\n", "", None),  # nothing wrong: nobody reads a stage
        (READ, "\n".join(reversed(READ.splitlines())) + "\n", "PR112"),  # a stage is released, and read then
    ],
    ids=["release", "count", "unread", "early"],
)
def test_the_same_is_found_however_it_counts(text: str, old: str, new: str, code: str | None):
    assert found(text) == set() and text.count(old) == 1
    assert found(text.replace(old, new)) == (set() if code is None else {code})
