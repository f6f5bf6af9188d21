"""What reference page P0 says of operand layouts, in contract tileiras, and where the hardware differs."""

from __future__ import annotations

from itertools import product

import pytest

from tileproof.base.verdict import Proved, Refuted, Unknown
from tileproof.evaluate.python import judge_for
from tileproof.prove import fragment_questions as verb
from tileproof.rulebase.expression import Scalar
from tileproof.rulebase.load import default_files, load

BOOK = load(default_files())
SYNTHESIZER = BOOK.tables["synthesizer", "tileiras"]


def violated(**facts: Scalar) -> set[str]:
    judge = judge_for(BOOK.under("tileiras"), "synthesizer")
    return {rule.code for rule in judge.violated({**BOOK.schemas["synthesizer"].instance, **facts})}


def test_seven_arms_and_no_fallthrough_LAY01():
    arms = {row[:5]: row for row in SYNTHESIZER.rows.values()}
    assert len(arms) == len(SYNTHESIZER.rows) == 7
    truth = (".no", ".yes")
    for key in product((4, 8, 16, 32, 64), (8, 16), truth, truth, truth):
        k, m, sparse, fp8, trans_a = key
        found = violated(K=k, M=m, sparse=sparse, fp8=fp8, trans_a=trans_a)
        assert ("LA101" in found) is (key not in arms), key


def test_results_stand_in_slots_and_metadata_in_slot_3_LAY01():
    slots = [row[:2] for row in BOOK.tables["synthesizer_slot", "tileiras"].rows.values()]
    assert slots == [(operand, 152 * place) for place, operand in enumerate("ABCE")]
    for row in SYNTHESIZER.rows.values():
        k, m, sparse, fp8, trans_a, count, *_ = row
        assert count == (4 if sparse == ".yes" else 3)
        for slot_count in (2, 3, 4):
            found = violated(K=k, M=m, sparse=sparse, fp8=fp8, trans_a=trans_a, slot_count=slot_count)
            assert ("LA102" in found) is (slot_count != count)


def test_stride_triples_and_the_bits_of_metadata_LAY02():
    triples = {key: row for (key,), row in BOOK.tables["stride_triple", "tileiras"].rows.items()}
    strides = {name: row[0] for name, row in triples.items()}
    assert strides[".dense_a"] == frozenset({128, 256, 1024})
    bits = set(BOOK.tables["metadata_stride_bit", "tileiras"].rows.values())
    assert bits == {(21, 26, 27)}
    assert strides[".sparse_metadata"] == {1 << bit for bit in next(iter(bits))}
    sparse_arms = {arm for (arm,), row in SYNTHESIZER.rows.items() if row[2] == ".yes"}
    assert triples[".sparse_metadata"][2] == sparse_arms == {".arm_2", ".arm_5"}
    assert triples[".dense_a"][2] == triples[".dense_b"][2] == {arm for (arm,) in SYNTHESIZER.rows} - sparse_arms


def test_the_true_fragments_have_none_of_the_strides_that_the_page_gives_metadata_LAY02():
    """The largest stride of a fragment of these arms is that of the last mode of K: nothing is near bit 21."""
    for row in SYNTHESIZER.rows.values():
        for operand in verb.find(BOOK, instruction(str(row[7])), "ptx", {}).fragments.operands.values():
            assert max(int(number) for number in numbers(str(operand.flat).partition(":")[2])) < 1 << 12


def numbers(text: str) -> list[str]:
    return text.replace("(", " ").replace(")", " ").replace(",", " ").split()


def instruction(form: str) -> str:
    """The form that a row of the table gives, with all four types and a layout that exists."""
    words = form.replace("row.row", "row.col").split(".")
    types = words[words.index("col") + 1 :]
    d = {"f16": "f16", "s8": "s32", "e4m3": "f32"}[types[0]]
    return ".".join([*words[: words.index("col") + 1], d, types[0], types[0], d])


def test_elements_of_each_arm_by_the_page_and_in_truth_LAY03():
    found = {}
    for (arm,), row in SYNTHESIZER.rows.items():
        k, m, sparse, fp8, trans_a, slots, elements, form = row
        for count in (4, 8, 16):
            facts = {"K": k, "M": m, "sparse": sparse, "fp8": fp8, "trans_a": trans_a, "slot_count": slots}
            assert ("LA103" in violated(**facts, elements=count)) is (count != elements)
        true = verb.fragment(BOOK, instruction(str(form)), "A", contract="ptx").verdict
        assert isinstance(true, Proved)
        found[arm] = (elements, true.values["per_thread"])
    # The page's class "dense f16" is that of K = 16: with K = 8 a thread has four elements.
    assert {arm: counts for arm, counts in found.items() if counts[0] != counts[1]} == {".arm_6": (8, 4)}
    assert found[".arm_5"] == (8, 8)  # half of the dense 16


F16K8 = "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32"
F16K16 = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
SPARSE = "mma.sp.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32"
FP8 = "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32"
WGMMA = "wgmma.mma_async.sync.aligned.m64n{}k16.f32.f16.f16"
SCALED = "mma.sync.aligned.kind::mxf8f6f4.block_scale.m16n8k32.row.col.f32.{0}.{0}.f32.ue8m0"
_MMA = "num_cta = 1, ab_major = (k, k), elem_type = ({0}, {0}, f32), frag_kind = ss"
UMMA = f"!cute_nvgpu.sm100.mma<64x128x16, {_MMA.format('f16')}, c_scale_exp = 0>"
UMMA_BS = f"!cute_nvgpu.sm100.mma_bs<128x128x64, {_MMA.format('f4E2M1FN')}, sf_type = f8E8M0FNU, vec_size = 32>"

# Instruction, operand: the page's footprint and the true values of thread 0, the first value that differs and the two
# coordinates there, and the number of elements of the footprint where it is not that of the page's own count.
DIFFERENCES = [
    (F16K8, "A", "(2,2,2):(8,1,16)", "(2,2):(16,8)", 1, (8, 0), (0, 1), 8),
    (F16K8, "B", "(2,2):(1,16)", "2:8", 1, (1, 0), (0, 1), 4),
    (F16K8, "C", "(2,2,2):(4,1,8)", "(2,2):(16,8)", 1, (4, 0), (0, 1), 8),
    (F16K16, "A", "(2,2,2,2):(1,16,8,128)", "(2,2,2):(16,8,128)", 1, (1, 0), (0, 1), 16),
    (F16K16, "B", "(2,2,2):(1,8,16)", "(2,2):(8,64)", 1, (1, 0), (0, 1), 8),
    (F16K16, "C", "(2,2,2):(4,1,8)", "(2,2):(16,8)", 1, (4, 0), (0, 1), 8),
    (SPARSE, "A", "(2,2,2):(1,32,128)", "(4,2):(16,8)", 1, (1, 0), (0, 1), None),
    (SPARSE, "B", "(2,2,2):(1,16,32)", "(4,2):(8,128)", 1, (1, 0), (0, 1), None),
    (SPARSE, "C", "(2,2,2):(4,1,8)", "(2,2):(16,8)", 1, (4, 0), (0, 1), 8),
    (FP8, "A", "(2,2,2,2):(1,32,16,256)", "(4,2,2):(16,8,256)", 1, (1, 0), (0, 1), None),
    (FP8, "B", "(2,2,2):(1,16,32)", "(4,2):(8,128)", 1, (1, 0), (0, 1), None),
    (FP8, "C", "(2,2,2):(4,1,8)", "(2,2):(16,8)", 1, (4, 0), (0, 1), 8),
]


@pytest.mark.parametrize(("atom", "role", "page", "true", "value", "given", "held", "size"), DIFFERENCES)
def test_every_footprint_of_the_page_differs_from_the_true_map_LAY04(atom, role, page, true, value, given, held, size):
    verdict = verb.fragment(BOOK, atom, role, contract="tileiras").verdict
    assert isinstance(verdict, Refuted)
    found = verdict.counterexample
    assert (found["page_layout"], found["true_layout"]) == (page, true)
    assert (found["value"], found["given"], found["true"]) == (value, given, held)
    assert found.get("page_layout_elements") == size
    assert found["page_elements"] == found["true_elements"]  # the counts of the tables are right


def test_the_page_has_no_footprint_beyond_these_LAY04():
    listed = {(atom, role) for atom, role, *_ in DIFFERENCES}
    pages = [d for d in dict.fromkeys(BOOK.fragments.values()) if d.contract == "tileiras"]
    footprints = sum(1 for page in pages for row in page.rows if row.role != "threads")
    assert footprints == len(listed) == 12


COUNTS = [  # instruction, operand, elements of a thread or of an instruction by the page and in truth
    (WGMMA.format(8), "A", 8, 8),
    (WGMMA.format(8), "C", 4, 4),
    (WGMMA.format(128), "C", 64, 64),
    (WGMMA.format(256), "C", 128, 128),
    (UMMA, "A", 1024, 1024),
    (UMMA, "B", 2048, 2048),
    (UMMA, "C", 8192, 8192),
    (UMMA_BS, "A", 8192, 8192),
    (UMMA_BS, "C", 16384, 16384),
    (SCALED.format("e4m3"), "A", 16, 16),
    (SCALED.format("e4m3"), "B", 8, 8),
    (SCALED.format("e4m3"), "C", 4, 4),
    (SCALED.format("e2m1"), "A", 8, 16),  # with K = 32 an e2m1 has a byte of its register, like any other type
    (SCALED.format("e2m1"), "B", 4, 8),
]


@pytest.mark.parametrize(("atom", "role", "page", "true"), COUNTS)
def test_counts_of_the_page_are_compared_with_the_true_ones_LAY04(atom, role, page, true):
    verdict = verb.fragment(BOOK, atom, role, contract="tileiras").verdict
    assert isinstance(verdict, Proved if page == true else Refuted)
    found = verdict.values if isinstance(verdict, Proved) else verdict.counterexample
    assert (found["page_elements"], found["true_elements"]) == (page, true)


def test_a_warp_has_128_pairs_of_metadata_where_the_page_says_16_LAY04():
    page = verb.find(BOOK, SPARSE, "tileiras", {}).fragments.facts
    e = verb.find(BOOK, SPARSE, "ptx", {}).fragments.operands["E"]
    rows, kept, _ = e.tile
    assert (page["e.pairs"], rows * kept // 2) == (16, 128)


def test_the_answer_in_contract_tileiras_names_the_arm_LAY01():
    for atom, arm, slots, elements in ((F16K16, "arm_0", 3, 8), (SPARSE, "arm_5", 4, 8), (FP8, "arm_4", 3, 16)):
        about = verb.fragment(BOOK, atom, "A", contract="tileiras").about
        assert (about["arm"], about["slot_count"], about["arm_elements"]) == (arm, slots, elements)
    unmatched = "mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32"
    assert verb.fragment(BOOK, unmatched, "A", contract="tileiras").about["arm"] == "none"
    assert "arm" not in verb.fragment(BOOK, SCALED.format("e4m3"), "A", contract="tileiras").about


def test_where_the_page_says_nothing_the_answer_is_unknown():
    answer = verb.fragment(BOOK, "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", "A", contract="tileiras")
    assert isinstance(answer.verdict, Unknown)
    assert verb.status(answer) == 1
