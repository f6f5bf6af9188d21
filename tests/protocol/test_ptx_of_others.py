"""What kernels of other projects showed: TransformerEngine, DeepEP, SageAttention, ggml, flash-linear-attention."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

import tileproof
from protocol.test_ptx_practices import edited
from tileproof.protocol.lengths import of_passed_loops

HEAD = ".version 8.6\n.target sm_90a\n.address_size 64\n.shared .align 1024 .b8 smem[16384];\n"


def codes(text: str) -> set[str]:
    return {one.code for one in tileproof.check(text).diagnostics if one.severity.value == "error"}


def reasons(text: str) -> dict[str, str]:
    (kernel,) = tileproof.check(text).files[0].kernels
    return {one.case: one.hint for one in kernel.reasons}


# Each thread writes the word of its row and column, and reads it after a barrier; as rows of 32 threads they lie apart.
ROWS = (
    HEAD
    + """.visible .entry rows() {bound}
{{
  .reg .b32 %r<9>;
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %tid.{axis};
  mad.lo.s32 %r3, %r2, 128, 0;
  mad.lo.s32 %r3, %r1, 4, %r3;
  mov.b32 %r4, smem;
  add.s32 %r4, %r4, %r3;
  st.shared.b32 [%r4], %r1;
  bar.sync 0;
  xor.b32 %r3, %r3, 128;
  mov.b32 %r5, smem;
  add.s32 %r5, %r5, %r3;
  ld.shared.b32 %r6, [%r5];
  {again}
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;
  ret;
}}
"""
)


def apart(text: str, meet: str) -> str:
    """The same where a thread reads what its neighbour in the row has written, and only some threads meet."""
    return edited(text, ("  bar.sync 0;\n", f"  {meet}\n"), ("%r3, 128;", "%r3, 4;"))


@pytest.mark.parametrize("bound", [".maxntid 128, 1, 1", ".maxntid 128", ""])
def test_threads_lie_in_rows_where_a_kernel_asks_for_its_row(bound: str):
    text = ROWS.format(bound=bound, axis="y", again="")
    assert codes(text) == set()
    assert reasons(text) == {}  # so it is with rows of any length
    text = apart(text, "bar.warp.sync -1;")  # in longer rows another warp writes there
    assert codes(text) == set()
    assert reasons(text) == {"assumed_block": "declare it: .reqntid 32, 4, 1; or say it: --block 32,4,1"}


@pytest.mark.parametrize(
    ("most", "meet", "declared"),
    [(128, "bar.warp.sync -1;", "32, 1, 4"), (384, "add.s32 %r2, %r2, 1;\n  bar.sync %r2, 128;", "128, 1, 3")],
)
def test_rows_lie_along_the_third_dimension_where_a_kernel_asks_for_that_alone(most: int, meet: str, declared: str):
    """As in XQA of FlashInfer, where a row is a warpgroup."""
    text = apart(ROWS.format(bound=f".maxntid {most}, 1, 1", axis="z", again=""), meet)
    if most > 128:
        text = edited(text, ("%r2, 128, 0", "%r2, 512, 0"))
    assert codes(text) == set()
    said = declared.replace(" ", "")
    assert reasons(text) == {"assumed_block": f"declare it: .reqntid {declared}; or say it: --block {said}"}


def test_rows_do_not_hide_what_is_wrong_in_all_of_them():
    """The second write is not ordered after the read of the thread one row below."""
    text = ROWS.format(bound=".reqntid 32, 4, 1", axis="y", again="st.shared.b32 [%r4], %r6;")
    assert codes(text) == {"PR116"}


def test_a_kernel_that_asks_for_no_row_has_the_threads_that_it_may_have():
    text = ROWS.format(bound=".maxntid 32, 1, 1", axis="x", again="")
    assert reasons(text) == {}


# The base of dynamic shared memory is rounded up as TransformerEngine does: by a number less the address.
ROUNDED = (
    HEAD.replace(".shared .align 1024 .b8 smem[16384];", ".extern .shared .align 16 .b8 smem[];")
    + """.visible .entry rounded(.param .u64 from)
.reqntid 32, 1, 1
{{
  .reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %rd<5>;
  .shared .align 8 .b8 bar[8];
  ld.param.u64 %rd1, [from];
  mov.b32 %r1, smem;
  cvt.u64.u32 %rd2, %r1;
  cvta.shared.u64 %rd3, %rd2;
  cvt.u32.u64 %r2, %rd3;
  sub.s32 %r3, 128, %r2;
  and.b32 %r3, %r3, 127;
  add.s32 %r4, %r1, %r3;
  mov.b32 %r5, bar;
  mov.u32 %r6, %tid.x;
  setp.ne.s32 %p1, %r6, 0;
  @%p1 bra REST;
  mbarrier.init.shared::cta.b64 [%r5], 1;
  fence.mbarrier_init.release.cluster;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r5], 512;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r4], [%rd1], {size}, [%r5];
REST:
  bar.sync 0;
AGAIN:
  mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r5], 0;
  {wait}
  ld.shared.b32 %r7, [%r4+64];
  ret;
}}
"""
)


def test_an_address_that_is_rounded_up_by_what_is_missing_is_followed():
    good = ROUNDED.format(size=512, wait="@!%p2 bra AGAIN;")
    (kernel,) = tileproof.check(good).files[0].kernels
    assert (codes(good), kernel.status, kernel.executed) == (set(), "followed", kernel.steps)
    assert "PR111" in codes(ROUNDED.format(size=512, wait=""))
    assert codes(ROUNDED.format(size=256, wait="@!%p2 bra AGAIN;")) == {"PR124"}


# A number less an address is no address: what is computed of it but its lowest bits is not known.
@pytest.mark.parametrize("change", ["add.s32 %r3, %r3, 8;", "xor.b32 %r3, %r3, 64;", "shr.u32 %r3, %r3, 3;"])
def test_of_a_number_less_an_address_only_the_lowest_bits_are_known(change: str):
    text = ROUNDED.format(size=512, wait="@!%p2 bra AGAIN;").replace("  and.b32 %r3", f"  {change}\n  and.b32 %r3")
    assert codes(text) == set()
    assert reasons(text)


# A bulk copy of as many bytes as the kernel gets, less more than a run supposes: that is no number of bytes.
NEGATIVE = ROUNDED.replace("(.param .u64 from)", "(.param .u64 from, .param .u32 many)").replace(
    "  ld.param.u64", "  ld.param.u32 %r8, [many];\n  sub.s32 %r8, %r8, 1000000;\n  ld.param.u64", 1
)


def test_a_number_of_bytes_below_zero_is_not_known():
    text = NEGATIVE.format(size="%r8", wait="@!%p2 bra AGAIN;")
    assert codes(text) == set()
    assert "failure" not in reasons(text)
    assert "copy_bytes" in reasons(text)


# As many warps meet as the kernel gets: a run may suppose more than there are, or another barrier than there is.
MEETING = (
    HEAD
    + """.visible .entry meeting(.param .u32 warps)
.reqntid 128, 1, 1
{{
  .reg .b32 %r<5>;
  ld.param.u32 %r1, [warps];
  add.s32 %r1, %r1, 100;
  mov.b32 %r3, 40;
  mov.b32 %r4, 4;
  shl.b32 %r2, {count}, 5;
  bar.sync {id}, %r2;
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;
  ret;
}}
"""
)


@pytest.mark.parametrize(("count", "id_", "case"), [("%r1", "1", "thread_count"), ("%r4", "%r1", "barrier_id")])
def test_how_many_threads_meet_where_is_not_judged_by_what_is_supposed(count: str, id_: str, case: str):
    assert codes(MEETING.format(count=count, id=id_)) == set()
    assert case in reasons(MEETING.format(count=count, id=id_))
    assert codes(MEETING.format(count="%r3", id="1")) == {"PR131"}
    assert "PR132" in codes(MEETING.format(count="%r4", id="99"))


# A kernel each path of which fails, as compilers leave of an assertion that is false.
TRAPPED = (
    HEAD
    + """.visible .entry trapped(.param .u64 from)
.reqntid 32, 1, 1
{{
  .reg .b32 %r<5>; .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [from];
  mov.b32 %r1, smem;
  cp.async.ca.shared.global [%r1], [%rd1], 4;
  cp.async.commit_group;
  {end}
}}
"""
)


def test_what_ends_in_a_trap_leaves_nothing_undone():
    assert codes(TRAPPED.format(end="ret;")) == {"PR109"}
    assert "PR109" in codes(TRAPPED.format(end="LOOP: bra LOOP;"))
    text = TRAPPED.format(end="trap;")
    assert codes(text) == set()
    assert set(reasons(text)) == {"trap"}


# One warp waits for what another one arrives for; that one checks an integer first, and says what is wrong.
ASSERTED = (
    HEAD
    + """.visible .entry asserted(.param .u32 limit)
.reqntid 64, 1, 1
{{
  .reg .pred %p<8>; .reg .b32 %r<8>;
  .shared .align 8 .b64 bar;
  mov.u32 %r1, %tid.x;
  mov.b32 %r2, bar;
  ld.param.u32 %r3, [limit];
  setp.ne.u32 %p1, %r1, 0;
  @%p1 bra READY;
  mbarrier.init.shared::cta.b64 [%r2], 1;
READY:
  bar.sync 0;
  setp.ne.u32 %p2, %r1, 32;
  @%p2 bra OTHERS;
  {check}
SAY:
  and.b32 %r4, %r1, 31;
  setp.ne.u32 %p4, %r4, 0;
  @%p4 bra FAIL;
  st.shared.b32 [%r2], %r3;
FAIL:
  trap;
ARRIVE:
  mbarrier.arrive.shared::cta.b64 _, [%r2];
  bra END;
OTHERS:
  setp.ne.u32 %p5, %r1, 0;
  @%p5 bra END;
WAIT:
  mbarrier.try_wait.parity.shared::cta.b64 %p6, [%r2], 0;
  @!%p6 bra WAIT;
END:
  ret;
}}
"""
)


def test_what_is_done_before_a_trap_is_no_way_of_a_correct_kernel():
    text = ASSERTED.format(check="setp.eq.u32 %p3, %r3, 7; @!%p3 bra ARRIVE;")
    assert list(reasons(text)) == []
    dead = "  trap;\n  mbarrier.arrive.shared::cta.b64 _, [%r2];\n  bra FAIL;\n"  # nobody comes behind a trap
    assert list(reasons(text.replace("  trap;\n", dead))) == []


def test_a_role_each_path_of_which_ends_in_a_trap_is_not_followed():
    """What waits for it waits for nothing: the trap ends the kernel."""
    text = ASSERTED.format(check="mbarrier.arrive.shared::cta.b64 _, [%r2];")
    assert codes(text) == set()
    assert set(reasons(text)) == {"trapped"}


# A tile is stored from in front of where threads exchange data; both are written without a gap between them.
TILE = (
    HEAD
    + """.visible .entry tile(.param .align 64 .b8 map[128], .param .u32 turns)
.reqntid 32, 1, 1
{{
  .reg .pred %p<4>; .reg .b32 %r<12>; .reg .b64 %rd<3>;
  ld.param.u32 %r9, [turns];
  mov.b64 %rd1, map;
  mov.u32 %r1, %tid.x;
  shl.b32 %r2, %r1, 4;
  mov.b32 %r3, smem;
  add.s32 %r4, %r3, %r2;
  add.s32 %r5, %r4, 512;
  setp.ne.s32 %p1, %r1, 0;
  mov.b32 %r8, 0;
TURN:
  st.shared.v4.b32 [%r5], {{%r1, %r1, %r1, %r1}};
  bar.warp.sync -1;
  xor.b32 %r6, %r2, 16;
  add.s32 %r6, %r6, %r3;
  {read}
  bar.warp.sync -1;
  cp.async.bulk.wait_group.read 0;
  bar.warp.sync -1;
  st.shared.v4.b32 [%r4], {{%r1, %r1, %r1, %r1}};
  fence.proxy.async.shared::cta;
  bar.warp.sync -1;
  @%p1 bra NEXT;
  cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd1, {{%r8, %r8}}], [%r3];
NEXT:
  cp.async.bulk.commit_group;
  add.s32 %r8, %r8, 1;
  setp.lt.s32 %p2, %r8, %r9;
  @%p2 bra TURN;
  cp.async.bulk.wait_group.read 0;
  ret;
}}
"""
)


def test_what_threads_read_behind_a_tile_is_none_of_it():
    read = "ld.shared.v4.b32 {%r7, %r7, %r10, %r11}, [%r6+512];"
    assert codes(TILE.format(read=read)) == set()
    assert codes(TILE.format(read="")) == {"PR112"}
    early = TILE.format(read=read).replace("  cp.async.bulk.wait_group.read 0;\n  bar.warp.sync", "  bar.warp.sync", 1)
    assert codes(early) == {"PR112"}


def test_what_threads_write_in_another_way_behind_a_tile_is_none_of_it():
    """Scale factors that a warp transposes in place, by words, lie behind the tile that others store (TileLang)."""
    word = "shr.u32 %r10, %r2, 2;\n  add.s32 %r10, %r10, %r3;\n  st.shared.b32 [%r10+512], %r1;"
    words = TILE.format(read="").replace("st.shared.v4.b32 [%r5], {%r1, %r1, %r1, %r1};", word)
    assert codes(words) == set()
    assert codes(words.replace("  cp.async.bulk.wait_group.read 0;\n  bar.warp.sync", "  bar.warp.sync", 1)) == {
        "PR112"
    }


# One thread copies and then expects the bytes; it and the others arrive: the phase must not end without that one.
ALL_ARRIVE = (
    HEAD
    + """.visible .entry all_arrive(.param .align 64 .b8 map[128])
.reqntid 32, 1, 1
{{
  .reg .pred %p<3>; .reg .b32 %r<6>; .reg .b64 %rd<3>;
  .shared .align 8 .b8 bar[8];
  mov.b64 %rd1, map;
  mov.b32 %r1, smem;
  mov.b32 %r2, bar;
  mov.b32 %r5, 0;
  mov.u32 %r3, %tid.x;
  setp.ne.s32 %p1, %r3, 0;
  @%p1 bra READY;
  mbarrier.init.shared::cta.b64 [%r2], {count};
  fence.mbarrier_init.release.cluster;
READY:
  bar.sync 0;
  @!%p1 bra COPY;
  mbarrier.arrive.shared::cta.b64 _, [%r2];
  bra WAIT;
COPY:
  cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r1], [%rd1, {{%r5}}], [%r2];
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 512;
WAIT:
  mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r2], 0;
  @!%p2 bra WAIT;
  ld.shared.b32 %r4, [%r1];
  bar.sync 0;
  @%p1 bra END;
  mbarrier.inval.shared::cta.b64 [%r2];
END:
  ret;
}}
"""
)


def test_a_phase_that_ends_without_the_thread_that_copies_has_not_its_bytes():
    assert codes(ALL_ARRIVE.format(count=32)) == set()
    assert codes(ALL_ARRIVE.format(count=31)) == {"PR111"}


# The second of two neighbours in a list says where a group ends: a kernel leaves where that has nothing.
GROUP = (
    HEAD
    + """.visible .entry group(.param .u64 ends)
.reqntid 64, 1, 1
{{
  .reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %rd<4>;
  .shared .align 8 .b8 bar[8];
  ld.param.u64 %rd1, [ends];
  ld.global.b32 %r1, [%rd1];
  add.s64 %rd2, %rd1, 4;
  ld.global.b32 %r2, [%rd2];
  setp.eq.s32 %p1, %r1, %r2;
  @%p1 bra END;
  mov.b32 %r3, bar;
  mov.u32 %r4, %tid.x;
  setp.ne.s32 %p1, %r4, 0;
  @%p1 bra READY;
  {init}
READY:
  bar.sync 0;
  mbarrier.arrive.shared::cta.b64 _, [%r3];
WAIT:
  mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r3], 0;
  @!%p2 bra WAIT;
END:
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;
  ret;
}}
"""
)


def test_neighbours_in_memory_differ_however_their_addresses_are_computed():
    assert codes(GROUP.format(init="mbarrier.init.shared::cta.b64 [%r3], 64;")) == set()
    assert codes(GROUP.format(init="mbarrier.init.shared::cta.b64 [%r3], 65;")) == {"PR125"}
    assert "PR120" in codes(GROUP.format(init=""))


@pytest.mark.parametrize(
    ("passes", "calm", "steps", "left"),
    [(True, True, 99, 0), (False, True, 99, 1), (True, False, 99, 1), (True, True, 80, 1)],
)
def test_surplus_arrivals_are_open_where_a_loop_was_passed_and_a_longer_run_has_none(passes, calm, steps, left):
    said: list[tuple[str, object]] = []
    kernel = SimpleNamespace(span=SimpleNamespace(start=7))
    fault = SimpleNamespace(code="PR122", operation=kernel)
    coverage = SimpleNamespace(executed=frozenset({1, 2}))
    long = SimpleNamespace(passes_loops=lambda: passes, machine=SimpleNamespace(coverage=coverage, steps=90))
    others = [SimpleNamespace(calm=calm, executed=frozenset({1, 2, 3}), places=frozenset(), steps=steps)]
    study = SimpleNamespace(ran=others, doubt=lambda case, operation, about: said.append((case, about)))
    faults = [fault]
    of_passed_loops(study, long, faults)
    assert (len(faults), said) == (left, [("loop_turns", fault)] * (1 - left))
