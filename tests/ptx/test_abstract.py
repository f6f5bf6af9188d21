"""Abstract integers contain every result of concrete ones; graphs agree with networkx; values are those of the text."""

from __future__ import annotations

import operator
import random
from collections.abc import Callable

import networkx
import pytest

import tileproof
from tileproof.base.source import Source
from tileproof.ptx import abstract
from tileproof.ptx.abstract import Integer, of_constant
from tileproof.ptx.graph import Graph
from tileproof.ptx.module import read_module
from tileproof.ptx.values import Values

BOOK = tileproof.load_rules()
WIDTH = 6
MASK = (1 << WIDTH) - 1


def _signed(value: int) -> int:
    return value - (1 << WIDTH) if value >> WIDTH - 1 else value


OPERATIONS: dict[str, tuple[Callable[[Integer, Integer], Integer], Callable[[int, int], int]]] = {
    "add": (abstract.add, lambda a, b: a + b & MASK),
    "subtract": (abstract.subtract, lambda a, b: a - b & MASK),
    "multiply": (lambda a, b: abstract.multiply(a, b, WIDTH), lambda a, b: a * b & MASK),
    "and": (abstract.conjoin, lambda a, b: a & b),
    "or": (abstract.disjoin, lambda a, b: a | b),
    "xor": (abstract.exclude, lambda a, b: a ^ b),
    "not": (lambda a, b: abstract.invert(a), lambda a, b: ~a & MASK),
    "negate": (lambda a, b: abstract.negate(a), lambda a, b: -a & MASK),
    "shl": (abstract.shift_left, lambda a, b: a << min(b, WIDTH) & MASK),
    "shr": (abstract.shift_right, lambda a, b: a >> min(b, WIDTH)),
    "sar": (lambda a, b: abstract.shift_right(a, b, True), lambda a, b: _signed(a) >> min(b, WIDTH) & MASK),
    "extend": (lambda a, b: abstract.resize(a, 2 * WIDTH), lambda a, b: a),
    "sign-extend": (lambda a, b: abstract.resize(a, 2 * WIDTH, True), lambda a, b: _signed(a) & (1 << 2 * WIDTH) - 1),
    "truncate": (lambda a, b: abstract.resize(a, 3), lambda a, b: a & 7),
    "concatenate": (lambda a, b: abstract.concatenate([a, b]), lambda a, b: b << WIDTH | a),
    "high-half": (lambda a, b: abstract.part_of(a, 1, 2), lambda a, b: a >> 3),
    "lop3": (lambda a, b: abstract.select_bits(a, b, a, 0x96), lambda a, b: a ^ b ^ a),
    "join": (abstract.join, lambda a, b: a),
    "widen": (lambda a, b: abstract.widen(a, abstract.join(a, b)), lambda a, b: b),
}


def members(one: Integer) -> list[int]:
    inside = range(1 << one.width)
    return [x for x in inside if x & ~one.unknown == one.ones and one.low <= x <= one.high]


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_concrete_result_is_in_the_abstract_one(name: str):
    compute, concrete = OPERATIONS[name]
    rng = random.Random(name)
    for _ in range(150):
        pair = []
        for _ in range(2):
            low, high = sorted(rng.randrange(1 << WIDTH) for _ in range(2))
            bits = Integer(WIDTH, ones := rng.randrange(1 << WIDTH), rng.randrange(1 << WIDTH) & ~ones, 0, MASK)
            pair.append(rng.choice([abstract.of_range(WIDTH, low, high), bits, of_constant(WIDTH, low)]))
        a, b = pair
        found = compute(a, b)
        for x in members(a):
            for y in members(b):
                result = concrete(x, y)
                assert result & ~found.unknown == found.ones, (a, b, x, y, found)
                assert found.low <= result <= found.high, (a, b, x, y, found)


HEAD = ".version 9.0\n.target sm_100a\n.address_size 64\n.shared .align 1024 .b8 smem[65536];\n"


def graph_of(body: str) -> Graph:
    registers = ".reg .b32 r<30>; .reg .b64 l<9>; .reg .pred p<9>;\n"
    text = f"{HEAD}.entry k() .reqntid 128 {{\n{registers}{body}\nret;\n}}\n"
    module = read_module(BOOK, Source("k.ptx", text))
    assert module.faults == []
    return Graph(BOOK, module, module.functions[0])


def test_random_graphs_agree_with_networkx():
    for seed in range(60):
        rng = random.Random(seed)
        count = rng.randint(2, 14)
        lines = []
        for i in range(count):
            kind, to = rng.choice(["bra", "guarded", "falls", "ret", "table"]), f"L{rng.randrange(count)}"
            plain = {"bra": f"bra {to};", "guarded": f"@p1 bra {to};", "falls": "mov.b32 r1, 2;", "ret": "ret;"}
            other = f"L{rng.randrange(count)}"
            text = plain.get(kind) or f"T{i}: .branchtargets {to}, {other};\nbrx.idx r1, T{i};"
            lines.append(f"L{i}: mov.b32 r1, {i};\n{text}")
        graph = graph_of("\n".join(lines))
        known = networkx.DiGraph()
        known.add_nodes_from(range(len(graph.blocks)))
        known.add_edges_from((block.number, after) for block in graph.blocks for after in block.successors)
        assert all(sorted(known.predecessors(b.number)) == sorted(b.predecessors) for b in graph.blocks)
        reached = {0} | networkx.descendants(known, 0)
        assert set(graph.order) == reached
        for number in reached - {0}:
            assert graph.dominators[number] == networkx.immediate_dominators(known, 0)[number]
        end = len(graph.blocks)
        known.add_edges_from((block.number, end) for block in graph.blocks if not block.successors)
        post = networkx.immediate_dominators(known.reverse(), end)
        for number in range(end):
            expected = post.get(number, end)
            assert graph.post_dominators[number] == (-1 if expected == end else expected)
        inside = known.subgraph(reached)
        loops = [c for c in networkx.strongly_connected_components(inside) if len(c) > 1]
        loops += [{n} for n in reached if known.has_edge(n, n)]
        assert bool(loops) == bool(graph.loops or graph.irreducible)
        for loop in graph.loops:
            assert all(graph.dominates(loop.header, number) for number in loop.blocks)


def value(body: str, name: str, width: int = 32) -> Integer:
    """The value of a register at the end of a body."""
    graph = graph_of(f"{body}\nmov.b{width} {'l8' if width == 64 else 'r29'}, {name};")
    last = graph.function.last - 2
    return Values(BOOK, graph).operand(last, 1, width)


def test_what_is_known_of_registers():
    assert value("mov.b32 r1, 5; add.s32 r2, r1, -7;", "r2").value == 2**32 - 2
    warp = value("mov.u32 r1, %tid.x; shr.u32 r2, r1, 5; shfl.sync.idx.b32 r3, r2, 0, 31, -1;", "r3")
    assert (warp.low, warp.high) == (0, 3)
    address = value("mov.b32 r1, smem; add.s32 r2, r1, 2048;", "r2")
    assert (address.symbol, address.offset, address.bits(0, 9)) == ("smem", 2048, 0)
    word = value(
        "mov.b32 r1, smem; shr.u32 r2, r1, 4; and.b32 r3, r2, 16383; cvt.u64.u32 l1, r3;"
        "or.b64 l2, l1, 0x4000404000010000; add.s64 l3, l2, 2;",
        "l3",
        64,
    )
    assert (word.bits(61, 63), word.bits(32, 45), word.bits(16, 29), word.bits(46, 48)) == (2, 64, 1, 1)
    halves = value("mov.b64 l1, {r1, r2}; mov.b32 r2, 7; mov.b64 l1, {r1, r2}; mov.b64 {r3, r4}, l1;", "r4")
    assert halves.value == 7


def by_multiplication(width: int, bits: int, divisor: int, factor: int, shift: int, add: str = "") -> Integer:
    """What is known of a remainder by a number, of an integer or of its lowest bits, as compilers compute it."""
    low = f"and.b{width} s2, s1, {(1 << bits) - 1}; mul.lo.s{width} s3, s2, {factor};"
    high = f"mul.hi.u{width} s3, s1, {factor};"
    body = f"""{{ .reg .b{width} s<7>; ld.shared.b{width} s1, [smem]; {low if bits < width else high}
    shr.u{width} s4, s3, {shift}; mul.lo.s{width} s5, s4, {divisor}; {add} sub.s{width} s6, s1, s5;
    {f"cvt.u32.u{width} r1, s6;" if width == 16 else "mov.b32 r1, s6;"} }}"""
    return value(body, "r1")


@pytest.mark.parametrize(
    ("width", "bits", "divisor", "factor", "shift"),
    [
        (16, 8, 6, 171, 10),
        (16, 8, 3, 171, 9),
        (16, 8, 5, 205, 10),
        (32, 32, 3, 0xAAAAAAAB, 1),
        (32, 32, 10, 0xCCCCCCCD, 3),
    ],
)
def test_a_remainder_that_is_computed_by_multiplication(width: int, bits: int, divisor: int, factor: int, shift: int):
    found = by_multiplication(width, bits, divisor, factor, shift)
    low = (divisor - 1).bit_length()
    assert found.unknown & (1 << bits) - 1 == (1 << low) - 1
    assert (found.high == (1 << width) - 1 - (1 << bits) + (1 << low)) if bits < width else (found.high == divisor - 1)
    everything = [x - x * factor // (1 << shift + (width if bits == width else 0)) * divisor for x in range(1 << 8)]
    assert everything == [x % divisor for x in range(1 << 8)]  # the multiplication is one by that number
    for wrong in (
        by_multiplication(width, bits, divisor, factor - 1, shift),
        by_multiplication(width, bits, divisor, factor, shift + 1),
    ):
        assert wrong.unknown == (1 << width) - 1
    assert (
        by_multiplication(width, bits, divisor, factor, shift, f"ld.shared.b{width} s1, [smem+8];").unknown
        == (1 << width) - 1
    )


def test_a_remainder_is_one_of_the_register_that_is_divided():
    """Not of another one that a block has by the same name."""
    body = """ld.shared.b32 r1, [smem]; ld.shared.b32 r2, [smem+4];
    mul.hi.u32 r3, {0}, 0xAAAAAAAB; shr.u32 r4, r3, 1; mul.lo.s32 r5, r4, 3; sub.s32 r6, r1, r5;"""
    assert value(body.format("r1"), "r6").high == 2
    assert value(body.format("r2"), "r6") == abstract.anything(32)
    inner = """ld.shared.b32 r1, [smem];
    { .reg .b32 r1; ld.shared.b32 r1, [smem+4]; mul.hi.u32 r3, r1, 0xAAAAAAAB; }
    shr.u32 r4, r3, 1; mul.lo.s32 r5, r4, 3; sub.s32 r6, r1, r5;"""
    assert value(inner, "r6") == abstract.anything(32)


def test_quotients_and_remainders_of_instructions():
    low = "ld.shared.b32 r1, [smem]; and.b32 r2, r1, 63;"
    assert [
        (one.low, one.high)
        for one in (value(f"{low} rem.u32 r3, r2, 5;", "r3"), value(f"{low} div.u32 r3, r2, 5;", "r3"))
    ] == [(0, 4), (0, 12)]
    assert (
        value(f"{low} rem.s32 r3, r2, 5;", "r3") == value(f"{low} rem.u32 r3, r2, r1;", "r3") == abstract.anything(32)
    )


RING = "mov.b32 r1, 0; T: mov.b32 r3, r1; {turn} setp.lt.s32 p2, r4, r5; @p2 bra T;"
TURNS = {
    "the next one is compared": "add.s32 r2, r1, 1; setp.eq.b32 p1, r2, {n}; selp.b32 r1, 0, r2, p1;",
    "or this one": "add.s32 r2, r1, 1; setp.eq.s32 p1, r1, {last}; selp.b32 r1, 0, r2, p1;",
    "where they differ": "add.s32 r2, r1, 1; setp.ne.s32 p1, r2, {n}; selp.b32 r1, r2, 0, p1;",
    "a number that is set before": "add.s32 r2, r1, 1; setp.ne.s32 p1, r1, {last}; selp.b32 r1, r2, 0, p1;",
}


@pytest.mark.parametrize("stages", [2, 3, 5, 9, 40])
@pytest.mark.parametrize("turn", TURNS.values(), ids=TURNS)
def test_an_index_of_a_ring_is_less_than_its_stages(turn: str, stages: int):
    found = value(RING.format(turn=turn.format(n=stages, last=stages - 1)), "r3")
    assert (found.low, found.high) == (0, stages - 1)


@pytest.mark.parametrize(
    ("turn", "reached"),
    [
        ("add.s32 r2, r1, 1; setp.eq.b32 p1, r2, 5; selp.b32 r1, r2, 4, p1;", 5),  # chosen where it is equal
        ("add.s32 r2, r1, 2; setp.eq.b32 p1, r2, 5; selp.b32 r1, 0, r2, p1;", 1000),  # goes past it
        ("setp.eq.b32 p1, r2, 5; add.s32 r2, r1, 1; selp.b32 r1, 0, r2, p1;", 5),  # that of another turn is compared
        ("setp.eq.b32 p1, r1, 4; selp.b32 r1, 0, r2, p1; add.s32 r2, r1, 1;", 5),  # that of another turn is chosen
        ("add.s32 r2, r1, 1; mov.b32 r1, r6; setp.eq.b32 p1, r1, 4; selp.b32 r1, 0, r2, p1;", 1000),  # another one
        ("add.s32 r2, r1, 1; setp.eq.b32 p1, r6, 5; selp.b32 r1, 0, r2, p1;", 1000),
        ("add.s32 r2, r1, 1; setp.eq.b32 p1, r2, 5; @p2 bra U; mov.b32 r2, r6; U: selp.b32 r1, 0, r2, p1;", 1000),
    ],
)
def test_what_is_no_such_index_may_be_larger(turn: str, reached: int):
    assert value(RING.format(turn=turn), "r3").high >= reached


COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}


@pytest.mark.parametrize("kind", ["u32", "s32"])
def test_a_predicate_holds_where_every_pair_compares_so(kind: str):
    """Of integers from ranges of eight around zero and around where the sign changes."""
    rng, decided, settled = random.Random(kind), 0, 0
    for _ in range(200):
        how, starts = rng.choice([*COMPARISONS]), [rng.choice([0, 1 << 31]) + rng.randrange(-20, 20) for _ in range(2)]
        graph = graph_of(
            f"mov.u32 r1, %laneid; and.b32 r1, r1, 7; shfl.sync.idx.b32 r3, r1, 0, 31, -1; add.s32 r2, r1, {starts[0]};"
            f"add.s32 r4, r3, {starts[1]}; setp.{how}.{kind} p1, r2, r4; @p1 bra E; E:"
        )
        branch = next(i for i, one in enumerate(graph.module.instructions) if one.opcode == "bra")
        bias = 1 << 31 if kind == "s32" else 0
        left, right = ([(start + i + bias & 0xFFFFFFFF) for i in range(8)] for start in starts)
        answers = {COMPARISONS[how](a, b) for a in left for b in right}
        found = Values(BOOK, graph).holds(branch)
        assert found is None or answers == {found}
        decided += found is not None
        settled += len(answers) == 1
    assert decided > 0.8 * settled


def test_values_are_those_of_the_definitions_that_arrive():
    assert value("mov.b32 r1, 1; mov.b32 r1, 2;", "r1").value == 2
    assert value("mov.b32 r1, 1; @p1 mov.b32 r1, 3;", "r1").bits(1, 31) is None
    joined = value("@p1 bra A; mov.b32 r1, 4; bra B; A: mov.b32 r1, 6; B:", "r1")
    assert (joined.low, joined.high, joined.bits(2, 2), joined.value) == (4, 6, 1, None)
    assert value("{ .reg .b32 s; mov.b32 s, 3; mov.b32 r1, s; } { .reg .b32 s; mov.b32 s, 5; }", "r1").value == 3


def test_loops_have_a_least_solution():
    counter = value("mov.b32 r1, 0; L: add.s32 r1, r1, 8; and.b32 r1, r1, 63; @p1 bra L;", "r1")
    assert (counter.bits(0, 2), counter.high) == (0, 56)
    grows = value("mov.b32 r1, 4; L: add.s32 r1, r1, 4; @p1 bra L;", "r1")
    assert grows.bits(0, 1) == 0 and grows.value is None
    flips = value("mov.b32 r1, 0; L: xor.b32 r1, r1, 1; @p1 bra L;", "r1")
    assert (flips.low, flips.high) == (0, 1)
