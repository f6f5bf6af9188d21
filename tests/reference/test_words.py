"""Packed words: the round trip of random words, the page's tables, what means nothing, and the two commands."""

from __future__ import annotations

import contextlib
import json
import random
import re
from functools import cache
from itertools import product
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import tileproof
from tileproof.base.diagnostic import Severity
from tileproof.cli import main
from tileproof.evaluate.bitfields import PackError, choices, lost, pack, unpack, word_for
from tileproof.evaluate.python import judge_for
from tileproof.evaluate.solver import Answer, Question
from tileproof.evaluate.z3 import Encoder
from tileproof.reference import words
from tileproof.reference.tables import number, rows
from tileproof.rulebase.bitfield import BitField, Word
from tileproof.rulebase.declarations import Bounded
from tileproof.rulebase.expression import Scalar, facts_of

BOOK = tileproof.load_rules()
GOLDEN = Path(__file__).parent / "golden"
SETS = [(name, contract, i) for (name, contract), same in sorted(BOOK.words.items()) for i in range(len(same))]


def run(command: str, *arguments: str) -> Result:
    result = CliRunner().invoke(main, [command, *arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


@cache
def codes(contract: str, field: BitField, known: tuple[tuple[str, Scalar], ...]) -> tuple[int, ...]:
    """The codes that a field may have; none where it may have all."""
    shown = choices(BOOK.under(contract), field, dict(known))
    constant = re.fullmatch(r"\d+", shown)
    return (int(constant[0]),) if constant else tuple(map(int, re.findall(r"(\d+) \(", shown)))


def meaningful(name: str, contract: str, word: Word, given: random.Random) -> tuple[int, dict[str, Scalar]]:
    """A random word that means something, and the facts that choose its declaration."""
    ruleset, schema = BOOK.under(contract), BOOK.schemas[word.schema]
    deciding = sorted(facts_of(word.when)) if word.when is not None else []
    known: dict[str, Scalar] = {}
    while word.when is not None and not known:
        trial = {fact: given.choice(BOOK.domain(schema.name, fact)) for fact in deciding}
        known = trial if word_for(ruleset, name, trial) is word else {}
    value = 0
    for field in word.fields:
        if field.over:
            continue
        listed = codes(contract, field, tuple(known.items()))
        value |= (given.choice(listed) if listed else given.getrandbits(field.width)) << field.low
    return value, known


def trip(name: str, contract: str, i: int, times: int) -> None:
    word, given, seen = BOOK.words[name, contract][i], random.Random(f"{name} {contract} {i}"), set()
    ruleset, fields = BOOK.under(contract), BOOK.schemas[word.schema].fields
    for _ in range(times):
        value, known = meaningful(name, contract, word, given)
        facts = unpack(ruleset, name, value, known)
        assert pack(ruleset, name, facts) == value, hex(value)
        held = {fact for field in word.fields for fact in facts_of(field.value)}
        for fact in held & facts.keys():
            kind = fields[fact]
            assert isinstance(kind, Bounded) or facts[fact] in BOOK.enums[kind.enum].members
        if word.fields[0].over == () and not any(field.over for field in word.fields):
            assert lost(ruleset, name, facts) == ()
        seen.add(value)
        # One more bit: it is another word, or it means nothing.
        flipped = value ^ 1 << given.randrange(word.width)
        with contextlib.suppress(PackError):
            assert unpack(ruleset, name, flipped, known) != facts
    assert len(seen) > min(times, 1 << sum(f.width for f in word.fields if not f.over)) // 40


@pytest.mark.parametrize(("name", "contract", "i"), SETS)
def test_random_words_round_trip_DSC06(name: str, contract: str, i: int):
    trip(name, contract, i, 200)


@pytest.mark.parametrize(
    "times", [pytest.param(1_000, marks=pytest.mark.sweep), pytest.param(10_000, marks=pytest.mark.long)]
)
@pytest.mark.parametrize(("name", "contract", "i"), SETS)
def test_thousands_of_random_words_round_trip_DSC06_DSC08(name: str, contract: str, i: int, times: int):
    trip(name, contract, i, times)


def test_random_bits_decode_or_are_refused_by_name_DSC06():
    given = random.Random(18)
    ruleset = BOOK.under("tileiras")
    for _ in range(500):
        value = given.getrandbits(64) & 0xFF_1FFFFFF7 & ~(given.getrandbits(8) << 32)
        try:
            assert pack(ruleset, "mma.word", unpack(ruleset, "mma.word", value)) == value
        except PackError as error:
            assert re.search(r"in bits \d+-\d+ is not a valid '\w+' of mma.word", str(error))
            assert error.hint.startswith("use ")


# -- the page's tables


def test_the_list_of_field_sets_is_as_it_was(request: pytest.FixtureRequest):
    text = run("decode", "--list").stdout + json.dumps(words.listing(BOOK), indent=1) + "\n"
    path = GOLDEN / "words.txt"
    if request.config.getoption("--regenerate"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


def test_overlapping_fields_are_read_in_both_ways_DSC06():
    ruleset = BOOK.under("tileiras")
    facts = unpack(ruleset, "mma.word", 0x12_0006_0601)
    assert (facts["rowcol"], facts["mid"], facts["rnd"]) == (".col", ".a", ".rn")
    assert "rnd" not in unpack(ruleset, "mma.word", 0x12_0006_0605), "no rounding mode is 5"
    both = {**facts, "rowcol": ".row", "rnd": ".rn"}
    assert [field.name for field in lost(ruleset, "mma.word", both)] == ["rowcol"]
    # The solver finds the pairs that cannot be told apart.
    word = word_for(ruleset, "mma.word", {})
    sharing = {(field.name, other) for field in word.fields for other in field.over}
    assert sharing == {("rnd", "rowcol"), ("rnd", "mid")}


def test_shapes_and_types_of_the_word_DSC07():
    shapes, types = rows(BOOK, "mma_word_shape"), rows(BOOK, "mma_word_type")
    assert (len(shapes), len(types)) == (16, 11)
    codes = {number(row["code"]) for row in shapes.values()}
    assert codes == {1, 2, 3, 4, 5, 6, *range(0x10, 0x1A)}
    for name, row in shapes.items():
        assert name == f".m{row['M']}n{row['N']}k{row['K']}"
    text = rows(BOOK, "mma_word_string")[".m16n8k16"]
    assert number(text["value"]).to_bytes(number(text["bytes"]), "little") == b"m16n8k16"
    # The types against the table of elements: tf32 has 19 bits of 32, and the enum has no 8-bit floats.
    elements = rows(BOOK, "element")
    assert {name for name, row in types.items() if row["bits"] != elements[name]["bits"]} == {".tf32"}
    assert not {".e4m3", ".e5m2"} & types.keys()


@pytest.mark.parametrize("code", [0, *range(12, 256)])
def test_wrong_types_are_refused_with_the_message_of_the_page_DSC07(code: int):
    for low, field in ((8, "aty"), (16, "bty")):
        word = 0x12_0006_0600 & ~(0xFF << low) | code << low
        with pytest.raises(PackError, match=rf"Wrong MMA element type: {code} in bits {low}-{low + 7} .*'{field}'"):
            unpack(BOOK.under("tileiras"), "mma.word", word)


@pytest.mark.parametrize("code", [0, *range(7, 16), *range(26, 256)])
def test_unknown_shapes_are_refused_DSC07(code: int):
    with pytest.raises(PackError, match=rf"unknown shape code: {code} in bits 32-39") as error:
        unpack(BOOK.under("tileiras"), "mma.word", code << 32 | 0x60600)
    assert "16 (m16n8k4)" in error.value.hint


def test_the_formula_of_the_configuration_omits_a_bit_DSC08():
    ruleset = BOOK.under("tileiras")
    fields = [field.name for field in BOOK.words["wgmma.config", "tileiras"][0].fields]
    bits = rows(BOOK, "wgmma_config_bit")
    assert [f".{name}" for name in fields] == list(bits)
    for flags in product((".no", ".yes"), repeat=5):
        facts = dict(zip(fields, flags, strict=True))
        word, formula = pack(ruleset, "wgmma.config", facts), pack(ruleset, "wgmma.config_formula", facts)
        assert word == sum((flag == ".yes") << number(bits[f".{name}"]["bit"]) for name, flag in facts.items())
        assert word - formula == 8 * (facts["sign_b"] == ".yes")


def test_entries_of_fence_commit_and_wait_DSC09():
    ruleset = BOOK.under("tileiras")
    entries = rows(BOOK, "fence_entry")
    assert [row["id"] for row in entries.values()] == list(range(745, 751))
    for row in entries.values():
        for low, high in product((0, 1), repeat=2):
            facts = {name: row[name] for name in ("trans_a", "shape", "a_nregs", "b_nregs", "trans_b")}
            facts |= {"padding": 0, "rowcol.low": (".no", ".yes")[low], "rowcol.high": (".no", ".yes")[high]}
            rowcol = low | high << 1
            word = pack(ruleset, "wgmma.fence", facts)
            # In the words of the page.
            expected = facts["trans_a"] | facts["shape"] << 4 | facts["a_nregs"] << 8 | facts["b_nregs"] << 16
            expected |= 0x2000000 if (rowcol & 2) == 0 else 0x1000000
            expected |= ((rowcol & 1) + 1) << 26
            assert word == expected | facts["trans_b"] << 32
            assert [field.name for field in lost(ruleset, "wgmma.fence", facts)] == ["b_nregs"]


def test_entries_of_fence_are_words_of_the_mma_builtins_of_these_ids_DSC09():
    """Read as the packed word of an MMA they name shape, types and operation of BMMA, DMMA, TF32 and BF16."""
    book = tileproof.load_rules()
    told = rows(book, "fence_builtin")
    for entry, row in rows(book, "fence_entry").items():
        word = number(row["shape"]) << 4 | number(row["a_nregs"]) << 8 | number(row["b_nregs"]) << 16
        facts = unpack(book.under("tileiras"), "mma.word", word | number(row["trans_b"]) << 32)
        assert facts["a.type"] == facts["b.type"] == told[entry]["type"]
        assert (facts["shape"], facts["opc"]) == (told[entry]["shape"], told[entry]["operation"])


def test_entries_of_the_async_load_DSC09():
    ruleset, shapes = BOOK.under("tileiras"), rows(BOOK, "mma_word_shape")
    entries = rows(BOOK, "load_entry")
    assert [row["id"] for row in entries.values()] == list(range(753, 765))
    codes = {row["code"]: name for name, row in shapes.items()}
    loaded = []
    for row in entries.values():
        facts = {"rowcol": 1, **{name: row[name] for name in ("variant", "nregs", "shape")}}
        word = pack(ruleset, "wgmma.load", facts)
        assert word == number(row["shape"]) << 32 | number(row["nregs"]) << 4 | 1 | number(row["variant"]) << 1
        assert unpack(ruleset, "wgmma.load", word) == facts
        loaded.append((codes[row["shape"]], "abc"[number(row["variant"])]))
    # Three loads of DMMA, three of TF32, and A and B of each shape of BF16.
    assert loaded[:6] == [(".m8n8k4", x) for x in "abc"] + [(".m16n16k8", x) for x in "abc"]
    assert loaded[6:] == [(shape, x) for shape in (".m16n16k16", ".m32n8k16", ".m8n32k16") for x in "ab"]


def test_the_control_word_and_the_collector_DSC10():
    assert run("encode", "tcgen05.control", "kind=tf32", "sparse=yes").stdout == "0x00000160\n"
    assert (
        run("encode", "tcgen05.control", "kind=mxf4", "block_alias=block32", "cta_group=two").stdout == "0x000003c2\n"
    )
    assert [row["code"] for row in rows(BOOK, "tcgen05_kind_code").values()] == [0, 1, 2, 3, 4, 5, 7]
    assert run("decode", "0", "--as", "tcgen05.collector").exit_code == 1
    both = run("decode", "2", "--as", "tcgen05.collector", "ashift=yes")
    assert both.exit_code == 1 and "Cannot combine with .ashift: .collector::a::fill" in both.stdout
    assert run("decode", "1", "--as", "tcgen05.collector", "ashift=yes").exit_code == 0


def test_constraints_of_the_control_word_against_the_rules_of_tcgen05_DSC10():
    """All words: what the page rejects and the rules of the hardware accept, and the reverse."""
    pages, hardware = judge_for(BOOK.under("tileiras"), "tcgen05.control"), judge_for(BOOK.under("ptx"), "tcgen05.mma")
    base = dict(BOOK.schemas["tcgen05.mma"].instance)
    differing: dict[str, set[str]] = {"page rejects": set(), "page accepts": set()}
    vectors = {".mxf8f6f4": ".block32", ".mxf4": ".block32", ".mxf4nvf4": ".block16"}
    for target, ws, group, scale, sparse, kind in product(
        (".sm_100a", ".sm_100f", ".sm_103a", ".sm_110a"),
        (".no", ".yes"),
        (".one", ".two"),
        (".no", ".yes"),
        (".no", ".yes"),
        BOOK.enums["tcgen05_kind"].members,
    ):
        word = {"target": target, "ws": ws, "cta_group": group, "scale_input": scale, "sparse": sparse, "kind": kind}
        word |= {"scale_vector": 0, "block_alias": ".block16"}
        scaled = kind in vectors
        facts = {**base, "target": target, "ptx": 905, "ws": ws, "cta_group": group, "sparse": sparse, "kind": kind}
        facts |= {"block_scale": ".yes" if scaled else ".no", "scale_vector": vectors.get(kind, ".none")}
        facts |= {"scaled": scale, "mask.registers": 8 if group == ".two" else 4}
        accepted = not [r for r in pages.violated(word) if r.severity is Severity.ERROR]
        legal = not [r for r in hardware.violated(facts) if r.severity is Severity.ERROR]
        if accepted != legal:
            side = "page accepts" if accepted else "page rejects"
            differing[side].add(f"{kind} {target}" + " scale" * (scale == ".yes") + " ws" * (ws == ".yes"))
    # The scale of the accumulator: the page refuses it where the hardware has it, and allows it on sm_110.
    assert {".f16 .sm_100a scale", ".tf32 .sm_103a scale"} <= differing["page rejects"]
    assert {".f16 .sm_110a scale", ".i8 .sm_103a"} <= differing["page accepts"]
    assert not any(re.fullmatch(r"\.(f16|tf32) \.sm_100a( ws)?", one) for one in differing["page rejects"])
    assert all("scale" in one or "sm_103a" in one for one in differing["page accepts"])


def test_strings_of_the_scaled_operands_DSC11():
    ruleset = BOOK.under("tileiras")
    texts = {}
    for bit, field in enumerate(BOOK.words["tcgen05.scaled", "tileiras"][0].fields):
        for value in (0, 1):
            shown = words.as_json(words.decode(BOOK, "tcgen05.scaled", str(value << bit), {}))["fields"][bit]
            texts.setdefault(field.name, []).append(shown["facts"][field.name])
    signs, flags = ["1", "-1"], ["0", "1"]
    assert texts == {"scaleD": flags, "negA": signs, "negB": signs, "transA": flags, "transB": flags}
    assert pack(ruleset, "tcgen05.scaled", unpack(ruleset, "tcgen05.scaled", 31)) == 31


def test_the_packed_return_and_its_tag_MMA12():
    triples = [(32, 32, 0x2000000020), (64, 16, 0x4000000010), (64, 32, 0x4000000020)]
    for k, size, value in triples:
        assert run("encode", "umma.packed_return", f"atom_K={k}", f"vecSize={size}").stdout == f"0x{value:016x}\n"
        assert value & 7 == 0, "the tag in the low three bits is the same for all"
    assert run("decode", "0", "--as", "umma.packed_return").exit_code == 1
    encoder = Encoder(BOOK.under("tileiras"), "umma.packed_return")
    kept = [encoder.reading(rule).kept for rule in BOOK.rules_on("umma.packed_return", "tileiras")]
    solved = Question(encoder, 10).ask(*kept, encoder.variables["vecSize"] % 8 != 0)
    assert solved.answer is Answer.UNSATISFIABLE


def test_the_control_word_of_emitted_instructions_DSC10():
    """Page P1 writes it as the last operand: kind in bits 6-8, CTA group in bit 1, sparsity in bit 5."""
    atom = "!cute_nvgpu.sm100.mma<{}x64x{}, num_cta = {}, ab_major = (k, k), elem_type = ({}, {}, f32), frag_kind = ts>"
    for m, k, ctas, type_, word in ((64, 32, 1, "f16", 0xC0), (128, 32, 2, "bf16", 0xC2), (64, 16, 1, "tf32", 0x140)):
        text = run(
            "emit", "--contract", "tileiras", "--target", "sm_100a", "--atom", atom.format(m, k, ctas, type_, type_)
        )
        assert text.exit_code == 0, text.output
        assert f"// packed control word {word:#x}" in text.stdout
        assert run("decode", hex(word), "--as", "tcgen05.control").exit_code == 0


# -- the commands


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["0x4000004000010000", "--as", "wgmma.descriptor"], 0, "swizzle = 128"),
        (["0b1", "--as", "wgmma.config"], 0, "accumulate = yes"),
        (["0x0010_0000_0200_1000", "--as", "wgmma.descriptor", "--contract", "tileiras"], 0, "lbo = 2048"),
        (["0x8200490", "--as", "tcgen05.instruction_descriptor", "kind=f16"], 0, "N = 128"),
        (["0x20", "--as", "wgmma.config"], 1, "bit 5 of wgmma.config is set, but is in no field"),
        (["0x180", "--as", "tcgen05.control"], 1, "6 in bits 6-8 is not a valid 'kind'"),
        (["0x120006060c", "--as", "mma.word"], 1, "bit 3 of mma.word is set"),
        (["0x6000404000000000", "--as", "tcgen05.descriptor"], 1, "use 0 (none), 1 (128b32), 2 (128)"),
        (["0x101", "--as", "tcgen05.control"], 0, "kind = i8"),
        (["0x1c1", "--as", "tcgen05.control"], 1, "PW101: Weight stationary"),
        (["0x8200491", "--as", "tcgen05.instruction_descriptor", "kind=tf32"], 1, "not a valid 'a'"),
        (["0x8200490", "--as", "tcgen05.instruction_descriptor"], 2, "give kind=f16|tf32"),
        (["0x8200490", "--as", "tcgen05.instruction_descriptor", "kind=f64"], 2, "kind = f64 is unknown: it is f16"),
        (["0x8200490", "--as", "tcgen05.instruction_descriptor", "colour=f64"], 2, "unknown field 'colour'"),
        (["0x100000000", "--as", "wgmma.config"], 2, "no word of 32 bits"),
        (["-1", "--as", "wgmma.config"], 2, "no word of 32 bits"),
        (["12x", "--as", "wgmma.config"], 2, "is an integer, not '12x'"),
        (["", "--as", "wgmma.config"], 2, "is an integer, not ''"),
        (["1", "--as", "wgmma.confg"], 2, "nearest: wgmma.config"),
        (["1", "--as", "mma.word", "--contract", "ptx"], 2, "declared in contract tileiras only"),
        (["1"], 2, "requires a word and --as"),
        (["--as", "mma.word"], 2, "requires a word and --as"),
        (["1", "--as", "mma.word", "--list"], 2, "--list takes neither"),
        (["1", "--as", "mma.word", "stray"], 2, "an argument is NAME=VALUE"),
    ],
)
def test_decode(arguments: list[str], status: int, said: str):
    result = run("decode", *arguments)
    assert result.exit_code == status, result.output
    assert said in result.stdout + result.stderr
    assert status < 2 or len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["wgmma.descriptor", "lbo=16", "sbo=1024", "swizzle=128"], 0, "0x4000004000010000"),
        (["tcgen05.descriptor", "lbo=16", "sbo=1024", "swizzle=128"], 0, "0x4000404000010000"),
        (
            ["wgmma.descriptor", "--contract", "tileiras", "start=0x1000", "lbo=2048", "swizzle=b128"],
            0,
            "0x0010000002001000",
        ),
        (["mma.word", "aty=6", "bty=f16", "shape=m16n8k16"], 0, "0x0000001200060600"),
        (["mma.word", "a.type=f16", "b.type=f16", "shape=0x12"], 2, "shape = 0x12 is unknown"),
        (["mma.word"], 2, "mma.word needs a.type (bits 8-15)"),
        (["mma.word", "aty=12"], 2, "12 in bits 8-15 is not a valid 'aty'"),
        (["mma.word", "colour=1"], 2, "unknown field 'colour' of mma.word; use rowcol"),
        (["mma.word", "satf=maybe"], 2, "satf = maybe is unknown: it is no, yes"),
        (["wgmma.fence", "a_nregs=256"], 2, "it is from 0 to 255"),
        (["wgmma.fence", "a_nregs=x"], 2, "is an integer"),
        (["wgmma.fence", "a_nregs"], 2, "an argument is NAME=VALUE"),
        (["wgmma.fence", "shape=1", "shape=2"], 2, "given twice"),
        (["wgmma.descriptor", "lbo=8"], 2, "not a multiple of the unit"),
        (["wgmma.descriptor", "swizzle=128b32"], 2, "has no code for swizzle = .b128_atom32; use 0 (none)"),
        (["tcgen05.control", "ws=yes", "cta_group=two", "kind=f16"], 1, "PW101"),
        (["tcgen05.instruction_descriptor", "N=64"], 2, "has several layouts: give kind="),
        (["tcgen05.instruction_descriptor", "kind=f16", "M=128", "N=128", "d=1", "a=1", "b=1"], 0, "0x08200490"),
        (["nonsense"], 2, "no field set is called"),
        ([], 2, "Missing argument"),
    ],
)
def test_encode(arguments: list[str], status: int, said: str):
    result = run("encode", *arguments)
    assert result.exit_code == status, result.output
    assert said in result.stdout + result.stderr


def test_json_can_be_encoded_again():
    decoded = json.loads(run("decode", "0x1914060601", "--as", "mma.word", "--format", "json").stdout)
    assert (decoded["contract"], decoded["width"], decoded["lost"]) == ("tileiras", 64, [])
    given = [f"{fact}={value}" for field in decoded["fields"] for fact, value in field["facts"].items()]
    assert json.loads(run("encode", "mma.word", *given, "--format", "json").stdout)["value"] == decoded["value"]
