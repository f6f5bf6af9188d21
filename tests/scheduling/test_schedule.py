"""What is taken out of a kernel comes back: no operation is shorter in flight, no fence is executed more often.

kernels/ has small kernels whose first line says what is taken out; they are the golden outputs as well.
"""

# checklist: PRO03 PRO07

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from dataclasses import replace
from itertools import combinations, product
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import tileproof
from conftest import SHARED, corpus_files
from scheduling.comparison import compared, exceptions, faults, kernels, name_of, taken_out
from scheduling.flights import ByRun, of_text
from tileproof.base.source import Source
from tileproof.cli import main
from tileproof.evaluate.solver import minimal
from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.load import default_files, load
from tileproof.scheduling.needs import Timeline, flown, meets
from tileproof.scheduling.order import needed
from tileproof.scheduling.placing import place
from tileproof.scheduling.plan import Insertion, insertables
from tileproof.scheduling.synthesis import Relaxation, Scheduler, schedule
from tileproof.scheduling.trials import Trials

BOOK = tileproof.load_rules()

needs_corpus = pytest.mark.skipif(not corpus_files(), reason="no ../shared beside this checkout")


def without(text: str, lines: tuple[tuple[int, str], ...]) -> str:
    """A text without the lines of these numbers."""
    gone = {number for number, _ in lines}
    return "".join(one for i, one in enumerate(text.splitlines(keepends=True), 1) if i not in gone)


def in_flight(source: Source) -> ByRun:
    return of_text(BOOK, source)


def rescheduled(text: str, what: str, name: str = "kernel.mlir") -> list[str]:
    """What was inserted for what was taken out."""
    stripped, gone = taken_out(text, what)
    assert gone
    found = schedule(BOOK, Source(name, stripped))
    before = faults(BOOK, Source(name, text))
    assert set(faults(BOOK, found.source)) <= set(before)  # warnings of the kernel as it was stay
    assert found.verified
    assert found.complete
    assert in_flight(found.source).worse(in_flight(Source(name, text))) == []
    inserted = [line for _, line in found.inserted]
    assert without(found.source.text, found.inserted) == stripped
    lines = found.source.text.splitlines()
    assert all(lines[number - 1].strip() == line for number, line in found.inserted)
    return inserted


FIXTURE = """\
module {
  gpu.module @kernels {
    cuda.kernel @copy(%arg0: !cute.ptr<f16, gmem, align<16>>) {
      %c0_i32 = arith.constant 0 : i32
      %c4_i32 = arith.constant 4 : i32
      %c1_i32 = arith.constant 1 : i32
      %smem = cute.memref.alloca() : !cute.memref<f16, smem, align<128>, "1024:1">
      %atom = cute.make_atom() : () -> !cute_nvgpu.atom.simt_async_copy<f16, cache = global, 128 b>
      %from = cute.make_view(%arg0) : !cute.memref<f16, gmem, align<16>, "1024:1">
      cute.copy_atom_call(%atom, %from, %smem) : (!cute_nvgpu.atom.simt_async_copy<f16, cache = global, 128 b>, \
!cute.memref<f16, gmem, align<16>, "1024:1">, !cute.memref<f16, smem, align<128>, "1024:1">)
      // a comment that stays
      nvvm.cp.async.commit.group
      nvvm.cp.async.wait.group 0
      nvvm.barrier
      %all = cute.memref.load_vec(%smem) : (!cute.memref<f16, smem, align<128>, "1024:1">) -> vector<1024xf16>
      cuda.return
    }
  }
}
"""
WRITTEN = """\
      cute.memref.store_vec(%values, %smem) : (vector<1024xf16>, !cute.memref<f16, smem, align<128>, "1024:1">) -> ()
      nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
      nvvm.cp.async.bulk.global.shared.cta %out, %from, %bytes : !llvm.ptr<1>, !llvm.ptr<3>
      nvvm.cp.async.bulk.commit.group
"""
STORES = f"""\
module {{
  gpu.module @kernels {{
    cuda.kernel @store(%out: !llvm.ptr<1>, %values: vector<1024xf16>)
        attributes {{nvvm.reqntid = array<i32: 1, 1, 1>}} {{
      %bytes = arith.constant 2048 : i32
      %smem = cute.memref.alloca() : !cute.memref<f16, smem, align<128>, "1024:1">
      %iter = cute.get_iter(%smem) : !cute.memref<f16, smem, align<128>, "1024:1">
      %from = builtin.unrealized_conversion_cast %iter : !cute.ptr<f16, smem, align<128>> to !llvm.ptr<3>
{WRITTEN}      nvvm.cp.async.bulk.wait_group 0 {{read}}
{WRITTEN}      cuda.return
    }}
  }}
}}
"""
VENDOR = '"vendor.fence"(%smem) : (!cute.memref<f16, smem, align<128>, "1024:1">) -> ()'
UNREPAIRABLE = FIXTURE.replace("%c4_i32", "%c16_i32").replace("constant 4", "constant 16")
UNREPAIRABLE = UNREPAIRABLE.replace("nvvm.barrier", "nvvm.barrier id = %c16_i32")


def test_a_copy_is_committed_and_waited_for():
    assert rescheduled(FIXTURE, "async")


def test_a_load_of_tensor_memory_is_waited_for_before_the_memory_is_freed():
    text = (Path(__file__).parents[1] / "protocol" / "bugs" / "load_unwaited.mlir").read_text().split("// -----")[1]
    stripped, gone = taken_out(text, "tcgen05")
    assert gone == ["nvvm.tcgen05.wait <load>"]
    assert [line for _, line in schedule(BOOK, Source("kernel.mlir", stripped)).inserted] == gone


def test_the_last_stores_are_waited_for():
    """Where nothing waits for stores at all (PR107), and where a wait is there for others only (PR106)."""
    assert rescheduled(STORES, "bulk")[-1] == "nvvm.cp.async.bulk.wait_group 0 {read}"
    one = STORES.replace(WRITTEN, "", 1)
    stripped, gone = taken_out(one.replace("cuda.return", "nvvm.cp.async.bulk.wait_group 0 {read}"), "bulk")
    assert [line for _, line in schedule(BOOK, Source("kernel.mlir", stripped)).inserted] == gone[-2:]


def test_z3_shows_that_a_small_schedule_is_minimal():
    stripped, _ = taken_out(FIXTURE, "async")
    assert schedule(BOOK, Source("kernel.mlir", stripped)).minimal
    assert schedule(BOOK, Source("kernel.mlir", FIXTURE)).minimal


@given(
    strongest=st.lists(st.integers(1, 3), min_size=1, max_size=4),
    wanted=st.lists(st.dictionaries(st.integers(0, 3), st.integers(1, 3), min_size=1, max_size=2), max_size=4),
)
@settings(max_examples=30, deadline=None)
def test_the_minimal_choices_are_those_of_brute_force(strongest, wanted):
    """Each need is met by one of some operations that is strong enough."""

    def enough(choice: tuple[int, ...]) -> bool:
        return all(any(i < len(choice) and choice[i] >= power for i, power in need.items()) for need in wanted)

    right = [one for one in product(*(range(most + 1) for most in strongest)) if enough(one)]
    least = {one for one in right if not any(other != one and below(other, one) for other in right)}
    found = minimal(strongest, enough, 1000)
    assert found is not None
    assert set(found) == least
    assert len(least) < 2 or minimal(strongest, enough, len(least) - 1) is None


def below(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    return all(a <= b for a, b in zip(one, other, strict=True))


@given(
    count=st.integers(1, 6),
    wanted=st.lists(st.sets(st.integers(0, 5), min_size=1, max_size=3), max_size=4),
)
@settings(max_examples=60, deadline=None)
def test_nothing_that_is_left_can_be_removed(count, wanted):
    """Each need is met by one of some places."""

    def enough(places) -> bool:
        return all(any(place in need for place in places) for need in wanted)

    found = needed(range(count), enough)
    if not enough(range(count)):
        assert found is None
        return
    assert found is not None
    assert enough(found)
    assert not any(enough([one for one in found if one != gone]) for gone in found)


@st.composite
def histories(draw):
    """A warp that issues and commits a few operations and comes to slots, some again, and what it needs."""
    held = Timeline()
    kinds = draw(st.lists(st.sampled_from(["issue", "commit", "visit", "visit"]), min_size=2, max_size=14))
    for moment, kind in enumerate(kinds, 1):
        if kind == "issue":
            held.issues.append(moment)
            held.groups.append(len(held.commits))
            held.steps.append(moment)
        elif kind == "commit":
            held.commits.append(100)
        else:
            held.visits.append((draw(st.integers(0, 4)), moment, len(held.commits), moment))
    wanted = []
    for start, group in zip(held.issues, held.groups, strict=True):
        places = {}
        for slot, when, committed, _ in reversed(held.visits):
            if when > start and committed > group:
                places[slot] = max(places.get(slot, 0), committed - group - 1)
        if places and draw(st.booleans()):
            wanted.append(tuple(places.items()))
    return held, wanted


@given(histories())
@settings(max_examples=60, deadline=None)
def test_no_choice_of_waits_is_longer_in_flight(history):
    """All waits at five slots that leave up to two groups in flight, or are not there, against the choice."""
    held, wanted = history
    found = place("async", wanted, [held], 2)
    assert found is not None
    assert found.proved
    assert meets(found.chosen, wanted)
    best = flown(found.chosen, [held], grouped=True)
    for strengths in product((None, 0, 1, 2), repeat=5):
        other = {slot: left for slot, left in enumerate(strengths) if left is not None}
        if meets(other, wanted):
            assert flown(other, [held], grouped=True) <= best


KERNELS = sorted(Path(__file__).with_name("kernels").glob("*.mlir"))


def bare(text: str) -> str:
    """A kernel without what its first line says."""
    wanted = re.match(r"// without: (.*)\n", text)
    assert wanted is not None
    lines = text.splitlines(keepends=True)
    return "".join(line for line in lines if line.startswith("//") or not re.search(wanted[1], line))


@pytest.mark.parametrize("path", KERNELS, ids=lambda path: path.stem)
def test_a_small_kernel_comes_back_as_it_was(path: Path):
    text = path.read_text()
    assert bare(text) != text
    found = schedule(BOOK, Source(path.name, bare(text)))
    assert found.source.text == text
    assert found.verified
    assert found.complete


@pytest.mark.parametrize("name", ["async_two_tiles_of_one_group", "wgmma_pipelined_by_one"])
def test_no_placement_of_all_is_better(name: str):
    """Brute force on the machine: all pairs of waits at all slots, leaving up to two groups in flight."""
    path = next(path for path in KERNELS if path.stem == name)
    scheduler = Scheduler(BOOK, Source(path.name, bare(path.read_text())))
    start, _ = scheduler.enough()
    trials = Trials(BOOK, scheduler.form, scheduler.acts, scheduler.heeded, start)
    trials.most = 1 << 40
    scheduler.begin(trials)
    trials.active = list(trials.runs)
    search = Relaxation(scheduler, trials, start)
    fenced, _ = search.fenced()
    best, proved = search.best(tuple(one for one in fenced if not one.waits))
    assert proved
    fixed = tuple(one for one in best if not one.waits)
    kind = next(one.kind for one in best if one.waits)
    waits = [Insertion(kind, gap.offset, gap, left) for gap in trials.places.values() for left in range(3)]
    tried = right = 0
    for pair in combinations(waits, 2):
        tried += 1
        if trials.fits((*fixed, *pair)):
            right += 1
            assert search.value((*fixed, *pair))[0] <= search.value(best)[0]
    assert 0 < right < tried


def test_a_wait_that_is_moved_later_or_weaker_is_better():
    text = next(path for path in KERNELS if path.stem == "async_ring").read_text()
    usual = in_flight(Source("usual", text))
    sooner = in_flight(Source("sooner", text.replace("wait.group 1", "wait.group 0", 1)))
    assert sooner.worse(usual) == ["async"]
    assert usual.worse(sooner) == []
    fenced = text.replace("      nvvm.barrier\n", "      nvvm.fence.mbarrier.init\n      nvvm.barrier\n", 1)
    assert in_flight(Source("fenced", fenced)).worse(usual) == ["init_fence"]


def test_flights_are_those_of_each_warp():
    """Two warps that wait alike have twice the flights of one, whether they go together or apart."""
    block = "cuda.kernel @copy(%arg0: !cute.ptr<f16, gmem, align<16>>)"
    assert block in FIXTURE
    steps = []
    for threads in (32, 64):
        text = FIXTURE.replace(block, f"{block} attributes {{nvvm.reqntid = array<i32: {threads}, 1, 1>}}")
        text = text.replace("      nvvm.cp.async.wait", "      nvvm.barrier\n      nvvm.cp.async.wait")
        (flights,) = in_flight(Source("k.mlir", text)).runs.values()
        steps.append(flights.steps["async"])
    assert 0 < 2 * steps[0] == steps[1]


# One of each architecture and kind of operation, and what is taken out of it; the sweep takes every second.
SAMPLE = [
    ("corpus/sm_80/sgemm__default", "all"),
    ("corpus/sm_80/fa2__f16_d64", "async"),
    ("corpus/sm_90a/dense_gemm__default", "all"),
    ("corpus/sm_100a/tut_tma_v2__default", "all"),
    ("field/sm_100a/ct_prim_tcgen05_2cta_mma_tma_store", "all"),
    ("versions/4.6.3/sm_80__ampere_sgemm", "async"),
]


@needs_corpus
@pytest.mark.parametrize(
    ("name", "what"),
    [pytest.param(*one, marks=pytest.mark.long if i % 2 else pytest.mark.sweep) for i, one in enumerate(SAMPLE)],
)
def test_no_place_is_worse_than_in_the_original(name: str, what: str):
    assert rescheduled((SHARED / f"{name}.mlir").read_text(), what, name)


@pytest.fixture(scope="module")
def poor() -> Rulebook:
    """The rules with a budget of nothing for trials."""

    def without(source: Source) -> Source:
        text, count = re.subn(r"(?m)^(  \.schedule_\w+ +)\d+ +\d+ +\d+;", r"\g<1>0 0 0;", source.text)
        assert count == 3 * source.name.endswith("exploration.rule")
        return Source(source.name, text)

    return load(tuple(map(without, default_files())))


def test_a_search_without_a_budget_still_verifies(poor: Rulebook):
    """What is next to each operation is right; it is only not as good as what the search finds."""
    text = next(path for path in KERNELS if path.stem == "async_ring").read_text()
    found = schedule(poor, Source("kernel.mlir", bare(text)))
    assert found.verified
    assert not found.complete
    assert not found.minimal
    assert in_flight(found.source).worse(in_flight(Source("usual", text))) == ["async"]


def test_trials_end_with_their_budget():
    text = next(path for path in KERNELS if path.stem == "bulk_and_fences").read_text()
    scheduler = Scheduler(BOOK, Source("kernel.mlir", bare(text)))
    start, _ = scheduler.enough()
    trials = Trials(BOOK, scheduler.form, scheduler.acts, scheduler.heeded, start)
    scheduler.begin(trials)
    trials.most = trials.spent + 1
    before = trials.count
    assert [trials.fits(start[:n]) for n in range(len(start))] == [False] * len(start)
    assert trials.count <= before + 2


@pytest.fixture(scope="module")
def pipelined() -> Relaxation:
    """The search for the waits of a kernel with wgmma."""
    text = next(path for path in KERNELS if path.stem == "wgmma_pipelined_by_one").read_text()
    scheduler = Scheduler(BOOK, Source("kernel.mlir", bare(text)))
    start, _ = scheduler.enough()
    trials = Trials(BOOK, scheduler.form, scheduler.acts, scheduler.heeded, start)
    trials.most = 1 << 40
    scheduler.begin(trials)
    return Relaxation(scheduler, trials, start)


def test_a_plan_without_slots_is_refused_by_all_that_tries_it(pipelined: Relaxation):
    trials, start = pipelined.trials, pipelined.start
    nowhere = (replace(start[0], gap=replace(start[0].gap, block=-1)),)
    assert trials.possible
    assert trials.fill(start)
    assert not trials.fill(nowhere)
    assert not trials.fits(nowhere)
    assert trials.flights(nowhere) is None
    assert trials.needed(nowhere) is None
    assert trials.lacked(nowhere) == []
    assert not trials.refuted(nowhere)
    assert not trials.refuted(nowhere, told=False)
    assert pipelined.value(nowhere) < pipelined.value(start)
    known = list(trials.active)
    trials.begin(nowhere, {("PR103", 0)})
    assert trials.active == known


def test_the_runs_that_matter_come_to_all_that_is_inserted(pipelined: Relaxation):
    trials = pipelined.trials
    reached = {one for _, ran in trials.runs for one in ran.executed} & set(trials.strongest)
    trials.active, known = [], trials.active
    trials.cover()
    assert reached == {one for _, ran in trials.active for one in ran.executed} & set(trials.strongest)
    assert reached
    trials.active = known


def test_threads_of_a_warp_that_come_alone_do_not_wait_for_wgmma(pipelined: Relaxation):
    (wait,) = {one.kind for one in pipelined.start if one.waits}
    first, second = list(pipelined.trials.places)[:2]
    pipelined.trials.divided.add(first)
    need = ((first, 0), (second, 1))
    assert pipelined.by_whole_warps(wait, {need}) == {((second, 1),)}
    assert place("wgmma", pipelined.by_whole_warps(wait, {need[:1]}), [], 2) is None
    alone = next(kind for kind in insertables(BOOK).values() if kind.queue == "bulk" and kind.role == ".wait")
    assert pipelined.by_whole_warps(alone, {need}) == {need}
    pipelined.trials.divided.discard(first)


@pytest.mark.parametrize("name", ["bulk_and_fences", "proxy_fence_of_stores"])
def test_what_fences_are_for_says_which_are_needed(name: str):
    """Of fences at all places those are left that are left when the machine tries each."""
    text = next(path for path in KERNELS if path.stem == name).read_text()
    scheduler = Scheduler(BOOK, Source("kernel.mlir", bare(text)))
    start, _ = scheduler.enough()
    trials = Trials(BOOK, scheduler.form, scheduler.acts, scheduler.heeded, start)
    trials.most = 1 << 40
    scheduler.begin(trials)
    search = Relaxation(scheduler, trials, start)
    kind = next(one.kind for one in start if one.kind.name == ".proxy_fence")
    rest = tuple(one for one in start if one.kind != kind)
    every = (Insertion(kind, gap.offset, gap) for gap in trials.places.values())
    order = tuple(sorted(every, key=search.depth))
    tried = search.fewest(order, rest)
    before = trials.count
    told = search.by_needs(kind, (order,), rest, None)
    assert told == (*tried, *rest)
    assert 0 < len(tried) < len(order)
    assert trials.count <= before + 2
    assert search.by_needs(kind, ((),), rest, None) is None
    assert not trials.fits(rest)


def test_lines_end_as_in_the_file():
    stripped, _ = taken_out(FIXTURE, "async")
    found = schedule(BOOK, Source("kernel.mlir", stripped.replace("\n", "\r\n")))
    assert found.inserted
    assert found.source.text.count("\n") == found.source.text.count("\r\n")


def test_nothing_is_inserted_where_nothing_lacks():
    found = schedule(BOOK, Source("kernel.mlir", FIXTURE))
    assert (found.source.text, found.inserted, found.verified) == (FIXTURE, (), True)


def test_what_no_insertion_repairs_is_left():
    found = schedule(BOOK, Source("kernel.mlir", UNREPAIRABLE))
    assert not found.verified
    assert {one.code for one in found.left} == {"PR132", "PR190"}
    assert (found.source.text, found.inserted) == (UNREPAIRABLE, ())


def test_each_run_of_the_verifier_is_progress():
    stripped, _ = taken_out(FIXTURE, "async")
    steps: list[None] = []
    found = schedule(BOOK, Source("kernel.mlir", stripped), lambda: steps.append(None))
    assert len(steps) == found.trials > 1


def test_the_library_takes_text():
    stripped, _ = taken_out(FIXTURE, "async")
    assert tileproof.schedule(stripped).verified
    with pytest.raises(ValueError, match=r"holds no IR|<text>"):
        tileproof.schedule("not IR at all\n")


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(main, ["schedule", *arguments])
    return result.exit_code, result.stdout


@pytest.fixture
def stripped(tmp_path: Path) -> Path:
    path = tmp_path / "kernel.mlir"
    path.write_text(taken_out(FIXTURE, "async")[0])
    return path


def test_the_result_is_printed(stripped: Path):
    result = CliRunner().invoke(main, ["schedule", str(stripped)])
    assert result.exit_code == 0
    assert "nvvm.cp.async.wait.group 0" in result.stdout
    assert "inserted nvvm.cp.async.wait.group 0" in result.stderr
    assert "the insertions are minimal (Z3)" in result.stderr


def test_the_result_is_written(stripped: Path, tmp_path: Path):
    path = tmp_path / "result.mlir"
    assert run(str(stripped), "-o", str(path)) == (0, "")
    assert run(str(path)) == (0, path.read_text())


def test_findings_that_are_left_fail(tmp_path: Path):
    path = tmp_path / "kernel.mlir"
    path.write_text(UNREPAIRABLE)
    result = CliRunner().invoke(main, ["schedule", str(path)])
    assert result.exit_code == 1
    assert "error[PR132]" in result.stderr


@pytest.mark.parametrize(
    ("change", "line", "reason"),
    [
        (("nvvm.barrier", "nvvm.barrier id = %c16_i32"), 12, "error[PR132]"),
        (
            ("nvvm.barrier", '"vendor.fence"(%smem) : (!cute.memref<f16, smem, align<128>, "1024:1">) -> ()'),
            12,
            "PR190",
        ),
    ],
)
def test_a_kernel_that_cannot_be_followed_is_left_untouched(change, line: int, reason: str, tmp_path: Path):
    """Places are those of the text as it is, although insertions were tried."""
    path = tmp_path / "kernel.mlir"
    text = taken_out(FIXTURE, "async")[0].replace("constant 4", "constant 16").replace("%c4_i32", "%c16_i32")
    path.write_text(text.replace(*change))
    result = CliRunner().invoke(main, ["schedule", str(path)])
    assert result.exit_code == 1
    assert result.stdout == path.read_text()
    assert "inserted" not in result.stderr
    assert re.search(rf"kernel.mlir:{line}:\d+: .*{re.escape(reason)}", result.stderr), result.stderr
    assert "left as it is" in result.stderr


@pytest.mark.parametrize(
    "arguments", [["missing.mlir"], [], ["{file}", "--graph", "g.png"], ["{file}", "-o", "/no/dir"]]
)
def test_bad_arguments(arguments: list[str], stripped: Path):
    assert run(*(one.replace("{file}", str(stripped)) for one in arguments))[0] == 2


def test_text_that_is_no_ir(tmp_path: Path):
    path = tmp_path / "kernel.mlir"
    path.write_text("# words\n")
    assert run(str(path))[0] == 2


def test_the_graph_shows_what_is_issued_and_waited_for(stripped: Path, tmp_path: Path):
    drawn = tmp_path / "graph.json"
    assert run(str(stripped), "--graph", str(drawn))[0] == 0
    graph = json.loads(drawn.read_text())
    names = {node["id"]: node["name"] for node in graph["nodes"]}
    edges = {(names[edge["source"]], names[edge["target"]], edge["kind"]) for edge in graph["edges"]}
    assert ("cute.copy_atom_call", "nvvm.cp.async.commit.group", "issue") in edges
    assert ("cute.copy_atom_call", "nvvm.cp.async.wait.group", "wait") in edges
    assert ("nvvm.cp.async.wait.group", "nvvm.barrier", "order") in edges
    dot = tmp_path / "graph.dot"
    assert run(str(stripped), "--graph", str(dot))[0] == 0
    assert dot.read_text().startswith("digraph protocol {")


def test_networkx_is_imported_for_the_graph_only():
    code = "import sys, tileproof.cli, tileproof.api, tileproof.scheduling.text; sys.exit('networkx' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@needs_corpus
@pytest.mark.parametrize(
    ("name", "what"),
    [
        pytest.param("sm_90a/dense_gemm__default", "wgmma", marks=pytest.mark.sweep),
        pytest.param("sm_80/tensorop_gemm__default", "async", marks=pytest.mark.sweep),
        pytest.param("sm_90a/dense_gemm_persistent__default", "wgmma", marks=pytest.mark.long),
        pytest.param("sm_90a/dense_gemm__default", "proxy", marks=pytest.mark.long),
        pytest.param("sm_90a/dense_gemm__default", "bulk", marks=pytest.mark.long),
    ],
)
def test_what_is_taken_out_comes_back(name: str, what: str):
    assert rescheduled((SHARED / "corpus" / f"{name}.mlir").read_text(), what)


@needs_corpus
@pytest.mark.long
@pytest.mark.parametrize("path", kernels(), ids=name_of)
def test_what_comes_back_is_as_good_as_what_was_there(path: Path):
    """All kernels of others; what is worse has its reason in exceptions.toml."""
    found = compared(BOOK, path)
    if found is not None:
        assert found.worse == exceptions().get(found.name, ())


def test_each_exception_has_a_reason_and_says_what_is_worse():
    table = tomllib.loads(Path(__file__).with_name("exceptions.toml").read_text())["exception"]
    files = [file for one in table for file in one["files"]]
    assert len(files) == len(set(files))
    assert all(one["worse"] and len(one["reason"].split()) > 5 for one in table)
    assert all((SHARED / file).is_file() for file in files if SHARED.is_dir())


@needs_corpus
@pytest.mark.parametrize("name", ["sm_90a/dense_gemm__default", "sm_80/fa2__f16_d64", "sm_100a/dense_gemm__default"])
def test_real_kernels_stay_as_they_are(name: str):
    text = (SHARED / "corpus" / f"{name}.mlir").read_text()
    found = schedule(BOOK, Source(name, text))
    assert (found.source.text, found.trials) == (text, 1)
