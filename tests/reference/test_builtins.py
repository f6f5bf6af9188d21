"""Builtins and intrinsics of the reference pages: the tables, ids in both directions, what the rules say of them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from conftest import SHARED
from tileproof.cli import main
from tileproof.evaluate.solver import Answer, Question, unequal
from tileproof.evaluate.z3 import Encoder
from tileproof.reference import shown
from tileproof.reference.builtins import builtins, judged
from tileproof.reference.selection import NoMeaning, meanings, named, select
from tileproof.reference.tables import numbers, rows
from tileproof.rulebase.expression import Comparison, Connective, Fact, Lookup, Symbol
from tileproof.rulebase.load import load, shipped_files

BOOK = load(shipped_files())
GOLDEN = Path(__file__).parent / "golden"
PAGES = sorted(SHARED.glob("reference/003_*.txt"))


def run(*arguments: str) -> Result:
    result = CliRunner().invoke(main, ["builtin", *arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def by_name(name: str):
    found = named(BOOK, name)
    assert not isinstance(found, tuple)
    return found


def test_the_list_is_as_it_was_BLT01(request: pytest.FixtureRequest):
    text = "\n".join(shown.everything(BOOK).lines) + "\n"
    path = GOLDEN / "builtins.txt"
    if request.config.getoption("--regenerate"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


def test_every_id_of_the_sections_on_wmma_has_a_builtin_BLT01():
    """678 to 757 have one each; of 758 to 764 the page leaves six names open; four are of WGMMA."""
    owners = {i: [one.name for one in builtins(BOOK) if one.first <= i <= one.last] for i in range(678, 769)}
    assert {i for i, names in owners.items() if len(names) != 1} == set(range(758, 765))
    assert all(len(owners[i]) == 6 for i in range(758, 765))
    assert len(builtins(BOOK)) == 90


@pytest.mark.parametrize(
    ("name", "ids"),
    [
        ("__hmma_m16n16k16_ld_a", "678"),
        ("__hmma_m8n32k16_mma_f32f32", "707"),
        ("__imma_m32n8k16_mma_u8", "723"),
        ("__imma_m8n8k32_mma_u4", "739"),
        ("__bmma_m8n8k128_mma_and_popc_b1", "745"),
        ("__dmma_m8n8k4_mma_f64", "746"),
        ("__mma_tf32_m16n16k8_ld_c", "757"),
        ("__mma_bf16_m8n32k16_ld_b", "758-764"),
        ("wgmma_mma_async_f8", "768"),
    ],
)
def test_ids_of_names_BLT01(name: str, ids: str):
    assert by_name(name).ids == ids


def test_the_tables_of_the_page_are_copied_right_BLT04_BLT08():
    """Of the page itself, where it lies beside the checkout: checklist: BLT04 BLT08 TGT05"""
    if not PAGES:
        pytest.skip("no ../shared beside this checkout")
    page = PAGES[0].read_text(encoding="utf-8")
    by_n = [tuple(map(int, row)) for row in re.findall(r"^\| (\d+) \| (10\d{3}) \| (10\d{3}) \|$", page, re.M)]
    table = rows(BOOK, "wgmma_dispatch").values()
    assert by_n == [(row["N"], row["integer"], row["float"]) for row in table]
    known = {(row["asm_printer"], row["backend"]) for row in rows(BOOK, "mma_function").values()}
    assert set(re.findall(r"(sub_21\w{5}) \| (sub_3\w{6}) \|", page)) == known
    gates = re.findall(r"^(sub_\w+) (\w+) \| ([^|]*0x\w+) \| SM (\S+) \|", page.replace("| sub", "sub"), re.M)
    assert {expression.strip() for _, _, expression, _ in gates} == {
        str(row["expression"]) for row in rows(BOOK, "gate").values()
    }


def test_lookup_tables_fragment_counts_and_the_bit_test_BLT02():
    lookups = rows(BOOK, "builtin_lookup")
    assert [row["entries"] for row in lookups.values()] == [30, 24, 13]
    assert by_name("__imma_m16n16k16_ld_a_s8").lookup == (
        "EDG dword_42810C0, entry 30",
        "NVVM dword_3F147E0, entry 0",
        "EDG dword_4281060, entry 0",
    )
    assert by_name("__bmma_m8n8k128_mma_and_popc_b1").lookup == (), "745 is in no table, the last one ends at 744"
    counted = [i for row in rows(BOOK, "fragment_count").values() for i in numbers(row["intrinsics"])]
    assert len(counted) == len(set(counted)), "no intrinsic has two counts"
    assert 0x22BB in numbers(rows(BOOK, "fragment_count")[".imma_int4"]["intrinsics"])
    test = rows(BOOK, "fragment_bit_test")[".nvvm"]
    mask, offset = test["mask"], test["offset"]
    assert mask == 0x300C003
    assert [bit for bit in range(32) if int(str(mask)) >> bit & 1] == [0, 1, 14, 15, 24, 25]
    mmas = {i for row in rows(BOOK, "fragment_iteration").values() for i in numbers(row["intrinsics"])}
    assert all(i + int(str(offset)) > 63 for i in mmas), "as it is written, no intrinsic of the page is in reach"


def test_fragments_of_the_page_and_registers_of_ptx_BLT02():
    """HMMA loads 8 elements of A and B and 4 or 8 of C and D, as many as wmma has registers."""
    row = rows(BOOK, "fragment_iteration")[".hmma"]
    seen = set()
    for one in builtins(BOOK):
        if one.family == "HMMA" and one.operation == "multiply and add":
            tuples = re.findall(r"\{([^}]*)\}", judged(BOOK, one).ptx)
            d, a, b, c = (len(part.split(",")) for part in tuples)
            assert {a} == numbers(row["load_a"]) and {b} == numbers(row["load_b"])
            assert c in numbers(row["load_c"]) and d in numbers(row["store_d"])
            seen.add((c, d))
    assert seen == {(4, 4), (4, 8), (8, 4), (8, 8)}


def test_gates_against_the_legality_rules_BLT01_TGT05():
    """The page's gate and the first target that the rules know agree, but for the binary MMA and 4-bit integers."""
    differing = {}
    for one in builtins(BOOK):
        first = int(re.sub(r"\D", "", judged(BOOK, one).targets[0]))
        if one.gate is not None and one.gate.since is not None and one.gate.since != first:
            differing.setdefault((one.family, one.gate.since), set()).add(first)
    # No target is between SM 72 and 75; of SM 72 the gate lets only the first variants pass.
    # .and.popc is of SM 80, which the gate of the binary MMA does not say.
    assert differing == {("BMMA", 73): {75, 80}, ("IMMA, INT4", 72): {75}}
    partial = judged(BOOK, by_name("__imma_m8n8k32_mma_s4"), "sm_72")
    assert partial.passes is None and partial.verdict is not None and not partial.verdict.legal


def test_wgmma_builtins_and_their_arguments_BLT03():
    chains = {name: row["chain"] for name, row in rows(BOOK, "wgmma_builtin").items()}
    assert list(chains.values()) == [".full", ".short", ".reduced", ".minimal"]
    assert [by_name(f"__wgmma_mma_async_{t}").first for t in ("f16", "bf16", "tf32", "f8")] == [765, 766, 767, 768]
    assert judged(BOOK, by_name("__wgmma_mma_async_f8")).targets == ("sm_90a",)
    assert len(rows(BOOK, "wgmma_argument")) == 8
    assert by_name("__wgmma_mma_async_f16").operands == ("6 chained: A, B, C, scaleA, scaleD, negate/saturation",)
    assert by_name("__hmma_m16n16k16_mma_f16f16").operands[-1] == "rowcol: layouts of A and B (0 to 3)"


@pytest.mark.parametrize("row", rows(BOOK, "wgmma_dispatch").values(), ids=lambda row: str(row["N"]))
def test_selection_by_n_both_ways_BLT04(row):
    for element, odd in (("integer", 0), ("float", 1)):
        chosen = select(BOOK, by_name("__wgmma_mma_async_tf32"), {"N": str(row["N"]), "element": element})
        (found,) = chosen.by_n
        assert (found % 2, chosen.faults) == (odd, ())
        (meaning,) = meanings(BOOK, found)
        assert (meaning.name, meaning.said) == (f"WGMMA by N, {element} elements", f"N = {row['N']}")


def test_what_the_page_leaves_open_is_undetermined_BLT05():
    f16 = by_name("__wgmma_mma_async_f16")
    assert select(BOOK, f16, {"size": "128"}).by_size == (5308, 5309)
    assert select(BOOK, f16, {"size": "8", "element": "float"}).by_size == (5357, 5429)
    assert select(BOOK, by_name("__wgmma_mma_async_f8"), {"size": "128"}).by_size == ()
    sized, block = meanings(BOOK, 5332)
    assert sized.said == "accumulator size 16" and "N = 64" in block.said and "approximate" in block.said
    for identifier in range(5304, 5448):
        found = meanings(BOOK, identifier)
        assert len(found) == 2 or (len(found[0].candidates) == 4 and "undetermined" in found[0].said)


def test_opcodes_of_tcgen05_are_one_of_eight_variants_BLT06():
    for identifier in range(4905, 4941):
        (opcode,) = meanings(BOOK, identifier)
        assert len(opcode.candidates) == 8
    (row,) = rows(BOOK, "tcgen05_isd").values()
    assert int(str(row["last"])) - int(str(row["first"])) + 1 == row["opcodes"]
    variants = rows(BOOK, "tcgen05_variant")
    sure = {kind for name, one in variants.items() if name != ".fp4" for kind in frozenset(one["kinds"])}
    assert set(BOOK.enums["tcgen05_kind"].members) - sure == {".f8f6f4"}
    with pytest.raises(NoMeaning):
        meanings(BOOK, 4941)


def test_the_reference_of_intrinsics_BLT07():
    assert [meanings(BOOK, i)[0].name for i in (9062, 9067, 9145)] == [
        "llvm.nvvm.wgmma.fence.aligned",
        "llvm.nvvm.wgmma.mma.async",
        "llvm.nvvm.wgmma.store",
    ]
    for row in rows(BOOK, "intrinsic").values():
        assert int(str(row["last"])) - int(str(row["first"])) + 1 == row["entries"]


def test_the_intrinsic_of_a_shape_and_types_has_the_ids_of_its_n_BLT07():
    prefix = "llvm.nvvm.wgmma.mma_async.sync.aligned"
    found = run(f"{prefix}.m64n128k16.f32.f16.f16")
    assert found.exit_code == 0
    assert "N = 128: 10666 (integer) or 10667 (float)" in found.stdout
    assert "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16" in found.stdout
    assert "no intrinsic by N" in run(f"{prefix}.m64n100k16.f32.f16.f16").stdout
    assert run(f"{prefix}.m64n128k16.f32.f16.colour").exit_code == 2


def test_copies_of_backend_functions_BLT08():
    gate = by_name("__imma_m16n16k16_mma_s8").gate
    assert gate is not None and gate.functions == ("sub_21E1D20", "sub_36E8630")
    copies = rows(BOOK, "mma_function")
    assert len({row["asm_printer"] for row in copies.values()} | {row["backend"] for row in copies.values()}) == 20


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        # checklist: DIA08 BLT09
        (["wgmma_mma_async_f16", "overflow=yes"], 1, "unexpected constant overflow in __wgmma_mma_async operand"),
        (["wgmma_mma_async_f16", "N=100"], 1, "N only supported for powers of two"),
        (["wgmma_mma_async_f16", "N=512"], 0, "no intrinsic has it"),
        (["wgmma_mma_async_f16", "call=store", "rowcol=2"], 1, "'rowcol' operand can be 0 or 1 only"),
        (["wgmma_mma_async_f16", "call=fence", "rowcol=2", "N=8"], 0, "by N"),
        (["wgmma_mma_async_f16", "rowcol=4"], 1, "Invalid 'rowcol' operand 4"),
    ],
)
def test_checks_of_calls_with_the_messages_of_the_page_DIA08(arguments: list[str], status: int, said: str):
    result = run(*arguments)
    assert result.exit_code == status
    assert said in result.stdout


def test_satf_is_not_consumed_by_one_intrinsic_BLT09():
    rules = {rule.code: rule for rule in BOOK.rules_on("mma.call", "tileiras")}
    assert set(rules) == {"BT105", "BT106"}
    assert rules["BT106"].failing[0].facts == {"intrinsic": 8279}
    (only,) = (one for one in meanings(BOOK, 8279))
    assert only.said == "an MMA without the operand satf"


# -- the command


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["__hmma_m16n16k16_ld_a"], 0),
        (["HMMA_m16n16k16_ld_a", "--target", "sm_90"], 0),
        (["10690"], 0),
        (["0x2fd"], 0),
        (["llvm.nvvm.wgmma.store"], 0),
        (["--list"], 0),
        (["753"], 1),
        (["758"], 1),
        (["771"], 1),
        (["10656"], 1),
        (["--", "-5"], 1),
        (["99999999999999999999999"], 1),
        (["__hmma"], 2),
        (["nonsense"], 2),
        ([], 2),
        (["--list", "765"], 2),
        (["765", "N=8"], 2),
        (["0x"], 2),
        (["765", "--target", "sm_1"], 2),
        (["__hmma_m16n16k16_ld_a", "N=8"], 2),
        (["wgmma_mma_async_f16", "N"], 2),
        (["wgmma_mma_async_f16", "N=x"], 2),
        (["wgmma_mma_async_f16", "N=8", "N=8"], 2),
        (["wgmma_mma_async_f16", "colour=red"], 2),
        (["wgmma_mma_async_f16", "element=complex"], 2),
        (["wgmma_mma_async_f16", "rowcol=99"], 2),
    ],
)
def test_exit_status(arguments: list[str], status: int):
    result = run(*arguments)
    assert result.exit_code == status
    assert len(result.stderr.splitlines()) == (status == 2 or (status == 1 and not result.stdout))


def test_a_gap_and_an_ambiguous_name_name_what_is_near():
    assert run("10656").stderr.endswith("nearest: 10654, 10655\n")
    assert "__hmma_m16n16k16_ld_b" in run("__hmma").stderr
    assert "__dmma_m8n8k4_ld_b, WGMMA MMA async load" in run("753").stdout
    with pytest.raises(NoMeaning, match="ids are 678-770, 4905-4940, 5304-5447, 8279-8280, 8887-8889, 8891-8897"):
        meanings(BOOK, 677)
    assert run("fence.aligned").stderr.endswith("nearest: llvm.nvvm.wgmma.fence.aligned\n")


def test_json_has_what_the_text_has():
    one = json.loads(run("__imma_m16n16k16_mma_s8", "--target", "sm_70", "--format", "json").stdout)
    assert (one["id"], one["gate"]["since"], one["verdict"]["passes_gate"]) == (714, 72, False)
    assert one["verdict"]["codes"] == ["WM118"]
    several = json.loads(run("753", "--format", "json").stdout)
    assert several["ambiguous"] and [found["kind"] for found in several["meanings"]] == ["builtin", "group"]
    everything = json.loads(run("--list", "--format", "json").stdout)
    assert [len(everything[key]) for key in ("builtins", "groups", "intrinsics", "by_n")] == [90, 5, 6, 32]


def test_z3_proves_that_the_map_by_n_is_injective_BLT04():
    """Two entries with different keys have different ids."""
    encoder = Encoder(BOOK.under("tileiras"), "wgmma.dispatch")
    one, defined = encoder.term(Lookup("wgmma_intrinsic", (Fact("n"), Fact("element")), None))
    other, also = encoder.term(Lookup("wgmma_intrinsic", (Fact("n2"), Fact("element2")), None))
    keys = [Comparison("==", Fact(key), Fact(f"{key}2")) for key in ("n", "element")]
    differing = encoder.not_true(Connective("and", tuple(keys)))
    question = Question(encoder, 20)
    assert question.ask(defined, also, differing, one == other).answer is Answer.UNSATISFIABLE
    # What the proof is of can happen: different keys, and ids that are neighbours.
    assert question.ask(defined, also, differing, one == other + 1).answer is Answer.SATISFIABLE
    # The even ids are for integers, the odd ones for floats.
    integer = encoder.true(Comparison("==", Fact("element"), Symbol(".integer")))
    assert question.ask(defined, unequal(integer, one % 2 == 0)).answer is Answer.UNSATISFIABLE


def test_sizes_have_ids_of_their_own_BLT05():
    ids = [i for row in rows(BOOK, "wgmma_size").values() for kind in ("integer", "float") for i in numbers(row[kind])]
    (extent,) = rows(BOOK, "wgmma_grid_extent").values()
    assert len(ids) == len(set(ids)) == 12
    assert all(int(str(extent["first"])) <= i <= int(str(extent["last"])) for i in ids)
    # Each is the fifth of a block of 24, whatever the blocks are.
    offsets = {(i - int(str(extent["first"]))) % int(str(extent["stride"])) for i in ids}
    assert offsets == {4, 5}
