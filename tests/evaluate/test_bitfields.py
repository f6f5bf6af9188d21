"""Packed words: golden values, the round trip, what each refuses, and where the contracts differ."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tileproof
from tileproof.audit.bitfields import check_word, differing
from tileproof.base.source import Source
from tileproof.evaluate.bitfields import PackError, pack, show, unpack
from tileproof.rulebase.load import RuleError, load

BOOK = tileproof.load_rules()
SWIZZLES = list(BOOK.enums["smem_swizzle"].members)


def facts(
    address: int = 0, lbo: int = 16, sbo: int = 1024, base: int = 0, swizzle: str = ".b128", mode: str = ".relative"
):
    return {"address": address, "lbo": lbo, "sbo": sbo, "base_offset": base, "swizzle": swizzle, "lbo_mode": mode}


def test_the_worked_example_of_the_page_DSC01():
    """Page P1, WGMMA Descriptor Round-Trip."""
    word = 0x0010000002001000
    example = facts(address=0x1000 << 4, lbo=2048, sbo=0)
    del example["lbo_mode"]
    assert pack(BOOK.under("tileiras"), "wgmma.descriptor", example) == word
    assert unpack(BOOK.under("tileiras"), "wgmma.descriptor", word) == example


def test_golden_values_of_the_hardware_DSC02():
    """FACTS 2; CuTe DSL writes the first into the PTX of its Hopper GEMM."""
    assert pack(BOOK.under("ptx"), "wgmma.descriptor", facts()) == 0x4000004000010000
    assert pack(BOOK.under("ptx"), "tcgen05.descriptor", facts()) == 0x4000404000010000


def test_contracts_pack_differently_DSC02():
    found = {}
    for field, sentence in differing(BOOK, "wgmma.descriptor", 5):
        found.setdefault(field, []).append(sentence)
    assert set(found) == {"lbo", "sbo", "base_offset", "swizzle"}
    assert found["lbo"][0] == "bits 16-29 in ptx, bits 14-29 in tileiras"
    assert found["lbo"][1].startswith("differs for lbo = ")
    assert found["swizzle"] == ["bits 62-63 in ptx, bits 52-53 in tileiras"]
    assert list(differing(BOOK, "tcgen05.descriptor", 5)) == []


@pytest.mark.parametrize(("contract", "name"), sorted(BOOK.words, reverse=True))
def test_z3_proves_the_round_trip_DSC02(contract, name):
    (name, contract) = (contract, name)
    for word in BOOK.words[name, contract]:
        assert [str(fault) for fault in check_word(BOOK.under(contract), word, 10)] == []


def broken(fields: str) -> list[str]:
    text = (
        'enum truth { .no; .yes; } reference "here" {}\n'
        'schema toy "a toy" { x : 0..100 = 0; y : 0..100 = 0; t : truth = .no; }\n'
        'table toy_bit (t: truth) -> code source "here" { .no 0; .yes 0; }\n'
        f'bits toy 16 on toy {{ source "here" {fields} }}\n'
    )
    book = load((Source("toy.rule", text),))
    return [fault.claim for fault in check_word(book.under("ptx"), book.words["toy", "ptx"][0], 10)]


def test_z3_refutes_broken_words():
    assert broken("x 0..6 = x; y 8..14 = y;") == []
    assert broken("x 0..5 = x;") == ["'x' always has a code that fits in bits 0-5"]
    assert broken("x 0..6 = x / 2;") == ["unpacking 'x' gives the packed value"]
    assert broken("t 0 = toy_bit(t);") == ["unpacking 't' gives the packed value"]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ("x 0..6 = x; y 6..9 = y;", "bits 6-9 of 'y' belong to another field as well"),
        ("x 10..16 = x;", "'x' ends at bit 16 of a word of 16 bits"),
        ("x 6..0 = x;", "the bits of 'x' run upwards"),
        ("x 0..6 = x + 1;", "'x' of 'toy' cannot be read back"),
        ("x 0..6 = z;", "schema 'toy' has no fact 'z'"),
    ],
)
def test_declarations_are_checked(fields, message):
    with pytest.raises(RuleError, match=message.replace("+", r"\+")):
        broken(fields)


@given(
    address=st.integers(0, 16383),
    lbo=st.integers(0, 16383),
    sbo=st.integers(0, 16383),
    base=st.integers(0, 7),
    swizzle=st.sampled_from(SWIZZLES),
    mode=st.sampled_from([".relative", ".absolute"]),
)
def test_round_trip_and_independent_formula_DSC03(address, lbo, sbo, base, swizzle, mode):
    """The words against the bit positions of FACTS 2, written here a second time."""
    given_facts = facts(address * 16, lbo * 16, sbo * 16, base, swizzle, mode)
    codes = {".none": 0, ".b128_atom32": 1, ".b128": 2, ".b64": 4, ".b32": 6}
    expected = address | lbo << 16 | sbo << 32 | 1 << 46 | base << 49 | (mode == ".absolute") << 52
    expected |= codes[swizzle] << 61
    word = pack(BOOK.under("ptx"), "tcgen05.descriptor", given_facts)
    assert word == expected
    assert unpack(BOOK.under("ptx"), "tcgen05.descriptor", word) == given_facts
    if swizzle != ".b128_atom32":
        del given_facts["lbo_mode"]
        hopper = {".none": 0, ".b128": 1, ".b64": 2, ".b32": 3}
        word = pack(BOOK.under("ptx"), "wgmma.descriptor", given_facts)
        assert word == address | lbo << 16 | sbo << 32 | base << 49 | hopper[swizzle] << 62
        assert unpack(BOOK.under("ptx"), "wgmma.descriptor", word) == given_facts


def test_swizzle_modes_read_one_table_DSC04():
    """Bytes of a row by mode, as page P0 lists them, and the period of S<bits,base,shift>."""
    codes = BOOK.tables["wgmma_swizzle", "tileiras"].rows
    rows = BOOK.tables["smem_swizzle", "tileiras"].rows
    assert {codes[mode][0]: rows[mode][3] for mode in codes} == {0: 16, 1: 128, 2: 64, 3: 32}
    for bits, base, shift, _, pattern in rows.values():
        assert pattern == (1 << bits + base + shift if bits else 16)


@pytest.mark.parametrize(
    ("name", "changed", "message"),
    [
        ("wgmma.descriptor", {"address": 8}, "'start' of wgmma.descriptor cannot hold address = 8"),
        ("wgmma.descriptor", {"lbo": 1 << 18}, "does not fit in 'lbo' of wgmma.descriptor, bits 16-29"),
        ("wgmma.descriptor", {"swizzle": ".b128_atom32"}, "'swizzle' of wgmma.descriptor has no code"),
        ("wgmma.descriptor", {"sbo": -16}, "does not fit in 'sbo'"),
        ("nothing", {}, "unknown word 'nothing'"),
    ],
)
def test_what_cannot_be_packed_DSC03(name, changed, message):
    with pytest.raises(PackError, match=message):
        pack(BOOK.under("ptx"), name, {**facts(), **changed})


@pytest.mark.parametrize(
    ("word", "message"),
    [
        (0x6000404000010000, "3 in bits 61-63 is not a valid"),
        (0x4000004000010000, "0 in bits 46-48 is not a valid"),
        (0x4000404000014000, "bit 14 of tcgen05.descriptor is set"),
        (1 << 64, "does not fit in 64 bits"),
        (-1, "does not fit in 64 bits"),
    ],
)
def test_what_cannot_be_unpacked(word, message):
    with pytest.raises(PackError, match=message):
        unpack(BOOK.under("ptx"), "tcgen05.descriptor", word)


INSTRUCTIONS = [  # CUTLASS's own descriptors of these kinds, and those in the corpus
    (0x08200010, {"kind": ".f16", "M": 128, "N": 128, "a.type": ".f16", "b.type": ".f16", "d.type": ".f32"}),
    (
        0x10418410,
        {"kind": ".f16", "M": 256, "N": 256, "a.type": ".f16", "b.type": ".bf16", "d.type": ".f32", "a.major": ".mn"},
    ),
    (0x08200910, {"kind": ".tf32", "M": 128, "N": 128, "a.type": ".tf32", "b.type": ".tf32", "d.type": ".f32"}),
    (0x04040420, {"kind": ".i8", "M": 64, "N": 16, "a.type": ".u8", "b.type": ".s8", "d.type": ".s32"}),
    (0x08A00280, {"kind": ".mxf8f6f4", "M": 128, "N": 128, "a.type": ".e2m1", "b.type": ".e4m3", "sf.type": ".ue8m0"}),
    (0x08200480, {"kind": ".mxf4nvf4", "M": 128, "N": 128, "a.type": ".e2m1", "b.type": ".e2m1", "sf.type": ".ue4m3"}),
]


@pytest.mark.parametrize(("word", "expected"), INSTRUCTIONS)
def test_instruction_descriptors_by_hand(word, expected):
    name = "tcgen05.instruction_descriptor"
    known = {"kind": expected["kind"]}
    found = unpack(BOOK.under("ptx"), name, word, known)
    assert {fact: found[fact] for fact in expected} == expected
    assert pack(BOOK.under("ptx"), name, found) == word
    shown = show(BOOK.under("ptx"), name, word, known)
    assert sum(field.code << field.bits[0] for field in shown) == word
