"""What operations of PTX need beside an order: memory that holds something, whole warpgroups and pairs, CTAs that are there.

The same findings as those of ``facts`` in the IR: each kernel is right as it is written, and wrong with one change.
"""

# ruff: noqa: E501  lines of PTX

from __future__ import annotations

from pathlib import Path

import pytest
from ptxas import assembled, needs_ptxas

import tileproof
from protocol.test_ptx_practices import HEAD, edited, verified

FOLDER = Path(__file__).parent / "ptx"
COLUMNS = (FOLDER / "column_halves.ptx").read_text(encoding="utf-8")
MEMORY = (FOLDER / "tensor_memory.ptx").read_text(encoding="utf-8")

# Of a pair of CTAs, or of two that have nothing to do with each other, the second one has lanes of its own.
SECOND = edited(
    MEMORY.replace("%r<30>", "%r<40>"),
    (".reqntid 128, 1, 1\n", ".reqntid 128, 1, 1\n.reqnctapercluster 2, 1, 1\n"),
    (
        "  add.s32 %r7, %r5, %r6;\n",
        "  mov.u32 %r30, %cluster_ctarank;\n  shl.b32 %r31, %r30, 23;\n  add.s32 %r6, %r6, %r31;\n  add.s32 %r7, %r5, %r6;\n",
    ),
)

# One warpgroup gives registers back, the other one takes them.
REGISTERS = (
    HEAD.replace("sm_100a", "sm_90a")
    + """.visible .entry registers(.param .u64 from)
.reqntid 256, 1, 1
{
  .reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %rd<4>;
  mov.u32 %r1, %tid.x;
  shr.u32 %r2, %r1, 5;
  shfl.sync.idx.b32 %r3, %r2, 0, 31, -1;
  mov.b32 %r4, smem;
  shl.b32 %r5, %r1, 4;
  add.s32 %r5, %r4, %r5;
  ld.param.u64 %rd1, [from];
  cp.async.cg.shared.global [%r5], [%rd1], 16;
  cp.async.commit_group;
  cp.async.wait_group 0;
  setp.gt.s32 %p1, %r3, 3;
  @%p1 bra SECOND;
  setmaxnreg.dec.sync.aligned.u32 40;
  bra END;
SECOND:
  setmaxnreg.inc.sync.aligned.u32 232;
END:
  ret;
}
"""
)

# All warps ask for as many: ptxas lets the kernel begin with so many then (lmdeploy).
GROWN = edited(
    REGISTERS,
    ("  @%p1 bra SECOND;\n  setmaxnreg.dec.sync.aligned.u32 40;\n  bra END;\nSECOND:\n", ""),
    ("u32 232", "u32 96"),
)

COPY = REGISTERS[REGISTERS.index("  cp.async.cg") : REGISTERS.index("  setp.gt.s32 %p1")]
REGISTERS_FIRST = edited(REGISTERS, (COPY, ""), ("END:\n", "END:\n" + COPY))

# Each CTA of a pair tells the other one that it is done, and waits for what that says.
FAREWELL = (
    HEAD.replace("sm_100a", "sm_90a")
    + """.visible .entry farewell()
.reqntid 32, 1, 1
.reqnctapercluster 2, 1, 1
{
  .reg .pred %p<4>; .reg .b32 %r<9>;
  mov.u32 %r1, %tid.x;
  mov.b32 %r2, smem;
  setp.ne.u32 %p1, %r1, 0;
  @%p1 bra READY;
  mbarrier.init.shared::cta.b64 [%r2], 1;
  fence.mbarrier_init.release.cluster;
READY:
  barrier.cluster.arrive.release.aligned;
  barrier.cluster.wait.acquire.aligned;
  @%p1 bra WAIT;
  mov.u32 %r3, %cluster_ctarank;
  xor.b32 %r3, %r3, 1;
  mapa.shared::cluster.u32 %r4, %r2, %r3;
  mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r4];
WAIT:
  mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [%r2], 0;
  @!%p2 bra WAIT;
  ret;
}
"""
)

# Each CTA writes to its own memory what the other one reads, or to the memory of that one what it reads itself.
PEER = "  mov.u32 %r3, %cluster_ctarank;\n  xor.b32 %r3, %r3, 1;\n  mapa.shared::cluster.u32 %r5, %r2, %r3;\n"
TOGETHER = "  barrier.cluster.arrive.release.aligned;\n  barrier.cluster.wait.acquire.aligned;\n"
SENT, WAITED = "  mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r4];\n", "  @!%p2 bra WAIT;\n"
FETCHED = edited(
    FAREWELL,
    (SENT, "  st.shared.b32 [%r2+64], %r3;\n" + SENT),
    (WAITED, f"{WAITED}{PEER}  ld.shared::cluster.b32 %r6, [%r5+64];\n{TOGETHER}"),
)
# One thread fills what all read.
FILLED = (
    HEAD
    + """.visible .entry filled()
.reqntid 64, 1, 1
{
  .reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %rd<3>;
  mov.u32 %r1, %tid.x;
  mov.b32 %r2, smem;
  cvt.u64.u32 %rd1, %r2;
  setp.ne.u32 %p1, %r1, 0;
  @%p1 bra FILLED;
  mbarrier.init.shared::cta.b64 [%r2+2048], 1;
  st.bulk.weak.shared::cta [%rd1], 2048, 0;
FILLED:
  bar.sync 0; // filled
  shl.b32 %r3, %r1, 2;
  add.s32 %r3, %r2, %r3;
  ld.shared.b32 %r4, [%r3+1024];
  ret;
}
"""
)

# Only one of them fetches: the other one goes on to the barrier of the cluster meanwhile.
ONE_FETCHES = edited(
    FETCHED,
    ("WAIT:\n", "WAIT:\n  mov.u32 %r7, %cluster_ctarank;\n  setp.ne.u32 %p3, %r7, 0;\n  @%p3 bra DONE;\nLOOK:\n"),
    ("  @!%p2 bra WAIT;\n", "  @!%p2 bra LOOK;\n"),
    ("  ld.shared::cluster.b32 %r6, [%r5+64];\n", "  ld.shared::cluster.b32 %r6, [%r5+64];\nDONE:\n"),
)
STORE = "  st.shared::cluster.b32 [%r5+64], %r3;\n"
PUSHED = edited(FAREWELL, (SENT, PEER + STORE + SENT), (WAITED, WAITED + "  ld.shared.b32 %r6, [%r2+64];\n"))

# Threads of both CTAs of a pair write what the leader multiplies, once they have arrived at its mbarrier.
HANDED = (
    HEAD
    + """.visible .entry handed()
.reqntid 128, 1, 1
.reqnctapercluster 2, 1, 1
{
  .reg .pred %p<9>; .reg .b32 %r<30>; .reg .b64 %rd<6>; .reg .b16 %rs<3>;
  mov.u32 %r1, %tid.x;
  shr.u32 %r2, %r1, 5;
  shfl.sync.idx.b32 %r2, %r2, 0, 31, -1;
  mov.b32 %r3, smem;
  mov.u32 %r4, %cluster_ctarank;
  setp.ne.u32 %p1, %r2, 0;
  setp.ne.u32 %p2, %r1, 0;
  @%p1 bra ALLOCATED;
  tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%r3+16384], 32;
  tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned;
  @%p2 bra ALLOCATED;
  mbarrier.init.shared::cta.b64 [%r3+16392], 2;
  mbarrier.init.shared::cta.b64 [%r3+16400], 1;
  fence.mbarrier_init.release.cluster;
ALLOCATED:
  tcgen05.fence::before_thread_sync;
  barrier.cluster.arrive.release.aligned;
  barrier.cluster.wait.acquire.aligned;
  tcgen05.fence::after_thread_sync;
  ld.shared.b32 %r6, [%r3+16384];
  shl.b32 %r7, %r1, 4;
  add.s32 %r7, %r3, %r7;
  st.shared.v4.b32 [%r7], {%r1, %r1, %r1, %r1};
  fence.proxy.async.shared::cta;
  bar.sync 0;
  @%p2 bra HANDED;
  add.s32 %r8, %r3, 16392;
  mapa.shared::cluster.u32 %r9, %r8, 0;
  mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r9];
HANDED:
  setp.ne.u32 %p3, %r4, 0;
  or.pred %p4, %p1, %p3;
  @%p4 bra DONE;
FULL:
  mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p5, [%r3+16392], 0;
  @!%p5 bra FULL;
  tcgen05.fence::after_thread_sync;
  bfe.u32 %r15, %r3, 4, 14;
  cvt.u64.u32 %rd1, %r15;
  or.b64 %rd2, %rd1, 4611756662116581376;
  mov.b32 %r16, 134742032;
  mov.pred %p6, 0;
  mov.b16 %rs1, 3;
  elect.sync _|%p7, -1;
  @%p7 tcgen05.mma.cta_group::2.kind::f16 [%r6], %rd2, %rd2, %r16, %p6;
  @%p7 tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%r3+16400], %rs1;
DONE:
  mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p5, [%r3+16400], 0;
  @!%p5 bra DONE;
  tcgen05.fence::after_thread_sync;
  bar.sync 0;
  @%p1 bra FREED;
  tcgen05.dealloc.cta_group::2.sync.aligned.b32 %r6, 32;
FREED:
  barrier.cluster.arrive.release.aligned;
  barrier.cluster.wait.acquire.aligned;
  ret;
}
"""
)

# A pair of CTAs allocates tensor memory together.
PAIR = edited(
    MEMORY.replace("cta_group::1", "cta_group::2"),
    (".reqntid 128, 1, 1\n", ".reqntid 128, 1, 1\n.reqnctapercluster 2, 1, 1\n"),
)

# Warps of a pair count the lanes of their half of a tile of 128 rows (FlashInfer, cake_dsv4).
HALVES = edited(PAIR, ("  shl.b32 %r6, %r4, 21;\n", "  and.b32 %r6, %r4, 1;\n  shl.b32 %r6, %r6, 21;\n"))

# Nobody writes to the accumulator before the first MMA.
FRESH = (
    COLUMNS[: COLUMNS.index("  tcgen05.st")]
    + COLUMNS[COLUMNS.index("  tcgen05.fence::before_thread_sync;\n  bar.sync 0;\n  bfe") :]
)
LANES_OF_D = FRESH.replace("%r16, %p3;", "%r16, {%r1, %r1, %r1, %r1}, %p3;")
CLEARED = "  mov.pred %p3, 0;"

# The first MMA accumulates onto a tile that tcgen05.cp has brought, in the upper half of what is allocated
# (triton-lang/triton, python/tutorials/gluon/10-tcgen05-copy.py).
COPIED = edited(
    FRESH,
    ("[%r4], 32;", "[%r4], 64;"),
    ("  ld.shared.b32 %r6, [%r4];\n", "  ld.shared.b32 %r41, [%r4];\n  add.s32 %r6, %r41, 32;\n"),
    (CLEARED, "  mov.pred %p3, 1;"),
    (
        "  @%p1 bra FIRST;\n  tcgen05.fence::after_thread_sync;\n  elect.sync _|%p4, -1;\n",
        "  @%p1 bra FIRST;\n  tcgen05.fence::after_thread_sync;\n  elect.sync _|%p4, -1;\n"
        "  @%p4 tcgen05.cp.cta_group::1.128x256b [%r6], %rd3;\n",
    ),
    ("b32 %r6, 32;", "b32 %r41, 64;"),
)
FENCED = "  tcgen05.fence::before_thread_sync;\n  bar.sync 0;\n  bfe"
UNFENCED = "  bar.sync 0;\n  bfe"
LANES = "  shl.b32 %r7, %r2, 21;\n"
READ = "  tcgen05.fence::before_thread_sync;\n  bar.sync 0;\n  tcgen05.fence::after_thread_sync;\n  ld.shared.b32 %r6, [%r4];\n"
EARLY = "  ld.shared.b32 %r6, [%r4];\n  tcgen05.fence::before_thread_sync;\n  bar.sync 0;\n  tcgen05.fence::after_thread_sync;\n"
LAST = ("  setp.ne.u32 %p1, %r2, 0;\n", "  setp.ne.u32 %p1, %r2, 7;\n")
ELECTED = ("  setp.eq.u32 %p2, %r1, 0;\n", "  setp.eq.u32 %p2, %r1, 224;\n")

RIGHT = {
    "columns": COLUMNS,
    "fresh": FRESH,
    "some lanes of D": LANES_OF_D,
    "accumulates onto a copy": COPIED,
    "allocated by the last warp": edited(COLUMNS, LAST, ELECTED),
    "lanes of the second CTA": SECOND,
    "registers": REGISTERS,
    "registers before all else": REGISTERS_FIRST,
    "farewell": FAREWELL,
    "fetched": FETCHED,
    "fetched by one": ONE_FETCHES,
    "filled": FILLED,
    "pushed": PUSHED,
    "handed": HANDED,
    "handed without a word on the scope": HANDED.replace("mbarrier.arrive.release.cluster.", "mbarrier.arrive."),
    "pair": PAIR,
    "lanes of half a tile": HALVES,
    "registers that all warps ask for": GROWN,
}

WRONG = {
    "the first MMA accumulates": (edited(FRESH, (CLEARED, "  mov.pred %p3, 1;")), {"PR170"}),
    "it does so for some lanes": (edited(LANES_OF_D, (CLEARED, "  mov.pred %p3, 1;")), {"PR170"}),
    "the copy is below what the first MMA accumulates onto": (
        edited(
            COPIED,
            ("  @%p4 tcgen05.cp", "  add.s32 %r42, %r6, -8;\n  @%p4 tcgen05.cp"),
            ("128x256b [%r6]", "128x256b [%r42]"),
        ),
        {"PR170"},
    ),
    "no fence before the barrier": (edited(COLUMNS, (FENCED, UNFENCED)), {"PR115"}),
    "lanes of the next warp": (
        edited(COLUMNS, (LANES, "  add.s32 %r40, %r2, 1;\n  shl.b32 %r7, %r40, 21;\n")),
        {"PR175"},
    ),
    "lanes of half a tile in a CTA alone": (
        edited(MEMORY, ("  shl.b32 %r6, %r4, 21;\n", "  and.b32 %r6, %r4, 1;\n  shl.b32 %r6, %r6, 21;\n")),
        {"PR175"},
    ),
    "lanes of the next half": (
        edited(HALVES, ("  and.b32 %r6, %r4, 1;\n", "  and.b32 %r6, %r4, 1;\n  xor.b32 %r6, %r6, 1;\n")),
        {"PR175"},
    ),
    "lanes of the other CTA": (
        edited(SECOND, ("%cluster_ctarank;\n", "%cluster_ctarank;\n  xor.b32 %r30, %r30, 1;\n")),
        {"PR175"},
    ),
    "the address is read before the barrier": (edited(COLUMNS, (READ, EARLY)), {"PR153"}),
    "the address is read before it is written": (edited(COLUMNS, (READ, EARLY), LAST, ELECTED), {"PR153"}),
    "registers that nobody gives back": (edited(REGISTERS, ("  setmaxnreg.dec.sync.aligned.u32 40;\n", "")), {"PR160"}),
    "registers that all warps ask for, and no CTA has": (
        edited(GROWN, ("u32 96", "u32 256"), ("256, 1, 1", "384, 1, 1")),
        {"PR160"},
    ),
    "registers that nobody gives back before all else": (
        edited(REGISTERS_FIRST, ("  setmaxnreg.dec.sync.aligned.u32 40;\n", "")),
        {"PR160"},
    ),
    "a warp gives back more than its warpgroup": (
        edited(
            REGISTERS,
            (
                "  setmaxnreg.dec.sync.aligned.u32 40;\n",
                "  setp.eq.s32 %p2, %r3, 0;\n  @%p2 bra FIRST;\n  setmaxnreg.dec.sync.aligned.u32 40;\n  bra END;\nFIRST:\n  setmaxnreg.dec.sync.aligned.u32 24;\n",
            ),
        ),
        {"PR174"},
    ),
    "registers increased to fewer": (
        edited(REGISTERS, ("  bra END;\n", "  setmaxnreg.inc.sync.aligned.u32 32;\n  bra END;\n")),
        {"PR173"},
    ),
    "handed in the scope of a CTA": (
        edited(HANDED, ("mbarrier.arrive.release.cluster.", "mbarrier.arrive.release.cta.")),
        {"PR181"},
    ),
    "fetched before it is there": (edited(FETCHED, (WAITED, "")), {"PR116"}),
    "fetched from a CTA that ends": (FETCHED[::-1].replace(TOGETHER[::-1], "", 1)[::-1], {"PR171"}),
    "fetched in the scope of a CTA": (edited(FETCHED, ("arrive.release.cluster.s", "arrive.release.cta.s")), {"PR181"}),
    "read while it is filled": (edited(FILLED, ("  bar.sync 0; // filled\n", "")), {"PR116"}),
    "fetched by one, in the scope of a CTA": (
        edited(ONE_FETCHES, ("arrive.release.cluster.s", "arrive.release.cta.s")),
        {"PR181"},
    ),
    "pushed, and read before it is there": (edited(PUSHED, (WAITED, "")), {"PR116"}),
    "pushed behind the arrival": (edited(PUSHED, (STORE + SENT, SENT + STORE)), {"PR116"}),
    "nobody waits": (edited(FAREWELL, ("  @!%p2 bra WAIT;\n", "")), {"PR171"}),
    "one of the pair allocates": (
        edited(
            PAIR.replace("%r<30>", "%r<40>"),
            (
                "  @%p1 bra ALLOCATED;\n",
                "  @%p1 bra ALLOCATED;\n  mov.u32 %r30, %cluster_ctarank;\n  setp.ne.s32 %p2, %r30, 0;\n  @%p2 bra ALLOCATED;\n",
            ),
        ),
        {"PR172"},
    ),
}


@pytest.mark.parametrize("text", RIGHT.values(), ids=RIGHT)
def test_what_kernels_do_is_right(text: str):
    verified(text)


@pytest.mark.parametrize("name", WRONG)
def test_one_change_of_it_is_found(name: str):
    text, expected = WRONG[name]
    assert {one.code for one in tileproof.check(text).diagnostics if one.severity.value != "note"} == expected


@needs_ptxas
def test_ptxas_assembles_right_and_wrong(tmp_path: Path):
    for text in (*RIGHT.values(), *(text for text, _ in WRONG.values())):
        done = assembled(text, tmp_path, whole=True)
        assert done.returncode == 0, done.stderr
