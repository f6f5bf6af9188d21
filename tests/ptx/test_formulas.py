"""Two registers have one number where they are computed alike, and only there."""

from __future__ import annotations

import pytest

from ptx.test_abstract import BOOK, graph_of
from tileproof.ptx.formulas import Formulas
from tileproof.ptx.values import Values


def formulas(body: str, *names: str) -> list[int]:
    """The numbers of registers at the end of a body."""
    graph = graph_of(body)
    scope = graph.module.instructions[graph.function.first].scope
    found = Formulas(Values(BOOK, graph))
    return [found.of(name, scope) for name in names]


ALIKE = {
    "moves of one number": ("mov.b32 r1, 5;", "mov.b32 r2, 5;"),
    "a place in the grid": (
        "mov.u32 r3, %ctaid.x; mul.wide.u32 l1, r3, 16;",
        "mov.u32 r4, %ctaid.x; mul.wide.u32 l2, r4, 16;",
    ),
    "a load of what the caller left": ("ld.global.nc.u32 r1, [l3+4];", "ld.global.nc.u32 r2, [l3+4];"),
    "a predicate": ("setp.lt.s32 p1, r3, 4;", "setp.lt.s32 p2, r3, 4;"),
}
APART = {
    "another number": ("mov.b32 r1, 5;", "mov.b32 r2, 6;"),
    "another instruction": ("add.s32 r1, r3, 1;", "sub.s32 r2, r3, 1;"),
    "another offset": ("ld.global.nc.u32 r1, [l3+4];", "ld.global.nc.u32 r2, [l3+8];"),
    "a register that is written twice": ("mov.b32 r1, 5;", "mov.b32 r2, 5; mov.b32 r2, 5;"),
    "a register that may be left as it is": ("mov.b32 r1, 5;", "@p3 mov.b32 r2, 5;"),
    "what others store meanwhile": ("ld.volatile.global.u32 r1, [l3];", "ld.volatile.global.u32 r2, [l3];"),
    "what an atomic operation returns": ("atom.global.add.u32 r1, [l3], 1;", "atom.global.add.u32 r2, [l3], 1;"),
    "the other half, and nobody has the first": ("mov.b64 {_, r1}, l3;", "mov.b64 {r2, _}, l3;"),
    "the opposite predicate": (
        "setp.lt.s32 p1|p2, r3, 4; selp.b32 r1, 1, 0, p2;",
        "setp.lt.s32 p3|p4, r3, 4; selp.b32 r2, 1, 0, p3;",
    ),
    "the other half": ("mov.b64 {r1, r5}, l3;", "mov.b64 {r6, r2}, l3;"),
}


@pytest.mark.parametrize("name", ALIKE)
def test_alike(name: str):
    one, other = ALIKE[name]
    first, second = ("l1", "l2") if "l1" in one else ("p1", "p2") if "p1" in one else ("r1", "r2")
    a, b = formulas(f"{one} {other}", first, second)
    assert a == b


@pytest.mark.parametrize("name", APART)
def test_apart(name: str):
    one, other = APART[name]
    a, b = formulas(f"{one} {other}", "r1", "r2")
    assert a != b


def test_what_it_is_a_sum_of():
    graph = graph_of("add.s64 l2, l1, 8; add.s64 l3, l2, -24; add.s64 l4, l3, l1; @p1 add.s64 l5, l4, 8;")
    scope = graph.module.instructions[graph.function.first].scope
    found = Formulas(Values(BOOK, graph))
    assert found.displaced("l3", scope) == ("l1", -16)
    assert found.displaced("l4", scope) == ("l4", 0)
    assert found.displaced("l5", scope) == ("l5", 0)


def test_addresses_with_one_pointer_are_in_one_array():
    body = """
      ld.param.u64 l1, [p0]; ld.param.u64 l2, [p1]; mov.u32 r1, %ctaid.x; mul.wide.s32 l3, r1, 4;
      add.s64 l4, l1, l3; add.s64 l5, l3, l1; add.s64 l6, l2, l3; mad.wide.s32 l7, r1, 8, l1;
      cvta.to.global.u64 l8, l2; mul.lo.s64 l9, l1, 4;"""
    graph = graph_of(body)
    scope = graph.module.instructions[graph.function.first].scope
    found = Formulas(Values(BOOK, graph))
    first, second, *rest = (found.array(name, scope) for name in ("l1", "l2", "l4", "l5", "l6", "l7", "l8", "l9"))
    assert first != second
    assert rest[:5] == [first, first, second, first, second]
    assert rest[5] not in (first, second)


def test_a_sum_of_sums_without_a_pointer_is_looked_through_once():
    body = "mov.u64 l1, 5;" + "".join(f"add.s64 l{i + 1}, l{i}, l{i};" for i in range(1, 35))
    graph = graph_of(body)
    scope = graph.module.instructions[graph.function.first].scope
    found = Formulas(Values(BOOK, graph))
    assert found.array("l35", scope) == found.of("l35", scope)
