"""Shuffles, votes and counts of bits in the IR decide how often a ring is gone around."""

from __future__ import annotations

import pytest

import tileproof
from protocol.rings import ring

# What computes the number of turns of the warp that fills, and that number, which the warp that drains writes out.
COUNTS = {
    "down": ("%m = nvvm.shfl.sync down %all, %lane, %c1, %last : i32 -> i32\n{pick}", 4),
    "up": ("%m = nvvm.shfl.sync up %all, %lane, %c1, %c0 : i32 -> i32\n{pick}", 2),
    "exchanged": ("%m = nvvm.shfl.sync bfly %all, %lane, %c1, %last : i32 -> i32\n{pick}", 2),
    "of one lane": ("%n_ = nvvm.shfl.sync idx %all, %lane, %three, %last : i32 -> i32", 3),
    "generic": (
        '%m = "nvvm.shfl.sync"(%all, %lane, %c1, %last) <{kind = #nvvm<shfl_kind down>}> : (i32, i32, i32, i32)'
        " -> i32\n"
        "{pick}",
        4,
    ),
    "votes": (
        "%few = arith.cmpi slt, %lane, %three : i32\n%votes = nvvm.vote.sync ballot %all, %few -> i32\n"
        "%n_ = math.ctpop %votes : i32",
        3,
    ),
    "first vote": (
        "%few = arith.cmpi sge, %lane, %three : i32\n%votes = nvvm.vote.sync ballot %all, %few -> i32\n"
        "%n_ = math.cttz %votes : i32",
        3,
    ),
    "leading": ('%n_ = "llvm.intr.ctlz"(%big) <{is_zero_poison = false}> : (i32) -> i32', 3),
    "sum": (
        "%few = arith.cmpi slt, %lane, %three : i32\n%own = arith.select %few, %c1, %c0 : i32\n"
        "%n_ = nvvm.redux.sync add %own, %all : i32 -> i32",
        3,
    ),
    "prefix sum": (
        "%above = nvvm.shfl.sync up %all, %c1, %c1, %c0 : i32 -> i32\n%some = arith.cmpi sge, %lane, %c1 : i32\n"
        "%more = arith.select %some, %above, %c0 : i32\n%m = arith.addi %more, %lane : i32\n{pick}",
        4,
    ),
}
PICK = "%n_ = nvvm.shfl.sync idx %all, %m, %three, %last : i32 -> i32"


def kernel(count: str, turns: int) -> str:
    before = f"""    %all = arith.constant -1 : i32
    %last = arith.constant 31 : i32
    %three = arith.constant 3 : i32
    %big = arith.constant 268435456 : i32
    %lane = nvvm.read.ptx.sreg.laneid : i32
    %turns = arith.constant {turns} : i32
    {count.replace("{pick}", PICK)}
"""
    first, rest = ring(2).replace("    %first =", f"{before}    %first =").split("    }} else {".replace("}}", "}"), 1)
    return f"{first.replace('to %n ', 'to %n_ ')}    }} else {{{rest.replace('to %n ', 'to %turns ')}"


@pytest.mark.parametrize(("count", "turns"), COUNTS.values(), ids=COUNTS)
def test_what_a_warp_computes_together_is_known(count: str, turns: int):
    (right,) = tileproof.check(kernel(count, turns)).files
    assert [one.message for one in right.diagnostics] == []
    assert [one.status for one in right.kernels] == ["followed"]
    wrong = tileproof.check(kernel(count, turns + 1)).diagnostics
    assert "PR126" in {one.code for one in wrong if one.severity.value == "error"}
