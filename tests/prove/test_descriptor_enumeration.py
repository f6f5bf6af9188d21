"""``prove descriptor`` against numpy: random canonical layouts of all swizzles, as they are and changed.

What is true is counted out by itself: for each swizzle of the hardware, the strides that the layout would need are read
off two addresses, and then every element of the tile is compared, address by address.
"""

from __future__ import annotations

import random

import pytest

import tileproof
from tileproof.base.verdict import Proved, Refuted
from tileproof.layout import crd2idx
from tileproof.prove import descriptor
from tileproof.syntax.layouts import layout as parse

np = pytest.importorskip("numpy", reason="numpy is not installed: it is what verdicts are compared with")

BOOK = tileproof.load_rules()
ATOM = "!cute_nvgpu.sm100.mma<{m}x{n}x{k}, num_cta = 1, ab_major = ({major}, {major}), elem_type = ({e}, {e}, f32), frag_kind = ss, c_scale_exp = 0>"  # noqa: E501
HOPPER = "!cute_nvgpu.sm90.mma<64x{n}x{k}, ab_major = ({major}, {major}), elem_type = ({e}, {e}, f32), frag_kind = ss>"
ELEMENTS = {16: ("f16", "f16"), 32: ("tf32", "f32"), 8: ("f8E4M3FN", "f8E4M3FN")}
ROW = {"none": 1, "32": 2, "64": 4, "128": 8, "128b32": 8}  # units of 16 bytes
SWIZZLES = {"none": (0, 4, 3), "32": (1, 4, 3), "64": (2, 4, 3), "128": (3, 4, 3), "128b32": (2, 5, 2)}


def swizzled(swizzle, address):
    bits, base, shift = swizzle
    read = address & ((1 << bits) - 1) << base + shift
    return address ^ read >> shift


def offsets(major, swizzle, t, lbo, sbo, rows, columns):
    """Elements from the start, [mn, k], in the words of the PTX ISA: core matrices, and the strides between them."""
    mn, k = np.arange(rows)[:, None], np.arange(columns)[None, :]
    width = ROW[swizzle]
    if major == "k":
        return mn % 8 * t * width + mn // 8 * sbo + k % t + k // t * (lbo if swizzle == "none" else t)
    group = 4 if swizzle == "128b32" else 8
    across, along = (sbo, lbo) if swizzle == "none" else (lbo, sbo)
    unit = mn % t + mn // t % width * t + mn // (t * width) * across
    return unit + k % group * t * width + k // group * along


def fits(major, swizzle, t, rows, columns):
    if major == "k":
        return swizzle != "128b32" and rows % 8 == 0 and columns % t == 0
    return rows % (t * ROW[swizzle]) == 0 and columns % (4 if swizzle == "128b32" else 8) == 0


def readers(major, bits, addresses):
    """The swizzles, with LBO and SBO in elements, under which a descriptor reads these byte addresses, [mn, k]."""
    rows, columns = addresses.shape
    t = 128 // bits
    for swizzle, hardware in SWIZZLES.items():
        if not fits(major, swizzle, t, rows, columns):
            continue
        start = swizzled(hardware, addresses[0, 0])
        plain = (swizzled(hardware, addresses) - start) * 8 // bits
        group = (4 if swizzle == "128b32" else 8) if major == "mn" else t
        block = 8 if major == "k" else t * ROW[swizzle]
        down = int(plain[block, 0]) if block < rows else 0
        along = int(plain[0, group]) if group < columns else 0
        lbo, sbo = {
            ("k", False): (0, down),
            ("k", True): (along, down),
            ("mn", False): (down, along),
            ("mn", True): (along, down),
        }[major, swizzle == "none"]
        in_bytes = [stride * bits // 8 for stride in (lbo, sbo)]
        if start % 16 or any(not 0 <= stride < 1 << 18 or stride % 16 for stride in in_bytes):
            continue
        if (offsets(major, swizzle, t, lbo, sbo, rows, columns) == plain).all():
            yield swizzle, *in_bytes


def as_layout(values, bits):
    """The layout with these offsets, by doubling; None where it is none."""

    def axis(line):
        extents, strides, at = [], [], 1
        while at < len(line):
            extents.append(2)
            strides.append(int(line[at] - line[0]))
            at *= 2
        return extents or [1], strides or [0]

    (m, dm), (k, dk) = axis(values[:, 0]), axis(values[0, :])
    text = (
        f"(({','.join(map(str, m))}),({','.join(map(str, k))})):(({','.join(map(str, dm))}),({','.join(map(str, dk))}))"
    )
    down = np.array([sum(s for i, s in enumerate(dm) if x >> i & 1) for x in range(values.shape[0])])
    across = np.array([sum(s for i, s in enumerate(dk) if x >> i & 1) for x in range(values.shape[1])])
    whole = down[:, None] + across[None, :]
    return text if values[0, 0] == 0 and (whole == values).all() else None


def changed(text, rng):
    """The layout with one stride that is another."""
    head, _, tail = text.partition(":")
    numbers = tail.strip("()").replace("),(", ",").split(",")
    place = rng.randrange(len(numbers))
    before = numbers[place]
    numbers[place] = str(rng.choice((int(before) * 2, int(before) + 8, int(before) + 64, 1024, 16, 0)))
    counts = [part.count(",") + 1 for part in head.strip("()").split("),(")]
    return f"{head}:(({','.join(numbers[: counts[0]])}),({','.join(numbers[counts[0] :])}))"


def addresses_of(text, swizzle, bits, rows, columns):
    layout = parse(text)
    plain = np.array([[crd2idx((mn, k), layout) for k in range(columns)] for mn in range(rows)])
    return swizzled(swizzle, plain * bits // 8)


def questions(count, seed):
    """(atom, operand, element, layout, swizzle on bytes, what reads it, how it was made)."""
    rng = random.Random(seed)
    made = 0
    while made < count:
        bits, major, swizzle = rng.choice((8, 16, 32)), rng.choice(("k", "mn")), rng.choice(list(SWIZZLES))
        hopper = rng.random() < 0.3 and swizzle != "128b32"
        rows, columns, t = rng.choice((64, 128)), 256 // bits, 128 // bits
        if hopper:
            rows = 64
        if not fits(major, swizzle, t, rows, columns):
            continue
        unit = ROW[swizzle] * t
        lbo, sbo = (rng.choice((1, 2, 4, 8, 16)) * rng.choice((8 * unit, unit, 64 * t)) for _ in "ls")
        hardware = swizzled(SWIZZLES[swizzle], offsets(major, swizzle, t, lbo, sbo, rows, columns) * bits // 8)
        own = rng.choice((SWIZZLES[swizzle], *SWIZZLES.values(), (1, 4, 4), (1, 5, 3), (3, 4, 4), (2, 4, 5)))
        text = as_layout(swizzled(own, hardware) * 8 // bits, bits)
        if text is None or (swizzled(own, swizzled(own, hardware)) != hardware).any():
            continue
        how = "as it is"
        if rng.random() < 0.5:
            text, how = changed(text, rng), "a stride changed"
        element, stored = ELEMENTS[bits]
        m = "mn" if major == "mn" else "k"
        atom = (HOPPER if hopper else ATOM).format(m=rows, n=rows, k=columns, major=m, e=element)
        truth = [*readers(major, bits, addresses_of(text, own, bits, rows, columns))]
        if hopper:
            truth = [one for one in truth if one[0] != "128b32"]
        made += 1
        yield atom, rng.choice("AB"), stored, text, own, truth, how


@pytest.mark.parametrize(("count", "seed"), [(12, 1), pytest.param(150, 2, marks=pytest.mark.sweep)])
def test_verdicts_equal_enumeration_of_addresses(count, seed):
    verdicts, seen = {True: 0, False: 0}, set()
    for atom, operand, stored, text, own, truth, how in questions(count, seed):
        given = f"S<{own[0]},{own[1]},{own[2]}>" if own[0] else None
        asked = descriptor.question(BOOK, atom, operand, text, stored, given)
        answer = descriptor.prove(BOOK.under("ptx"), asked).verdict
        expected = bool(truth)
        case = (atom, operand, text, own, truth, how, answer)
        assert isinstance(answer, Proved if expected else Refuted), case
        verdicts[expected] += 1
        if isinstance(answer, Proved):
            found = {name: answer.values[name] for name in ("swizzle", "lbo", "sbo")}
            unread = str(answer.values.get("not_read", ""))
            assert any(
                swizzle == found["swizzle"]
                and ("lbo" in unread or lbo == found["lbo"])
                and ("sbo" in unread or sbo == found["sbo"])
                for swizzle, lbo, sbo in truth
            ), case
            seen.add((found["swizzle"], SWIZZLES[str(found["swizzle"])] == own))
            # The descriptor itself is confirmed, and one of another stride or swizzle is not.
            value = int(str(answer.values["value"]), 16)
            for other in (value, value ^ 1 << 61, value ^ 1 << 33, value ^ 1 << 17):
                again = descriptor.question(BOOK, atom, operand, text, stored, given, hex(other))
                said = descriptor.prove(BOOK.under("ptx"), again).verdict
                assert isinstance(said, Proved if _reads(asked.atom, other, truth, unread) else Refuted), (case, other)
    assert min(verdicts.values()) > count // 6, verdicts
    if count > 100:  # enough for every swizzle to come up
        assert {swizzle for swizzle, same in seen if same} == set(SWIZZLES)
        assert len({swizzle for swizzle, same in seen if not same}) >= 2, seen


def _reads(atom, value, truth, unread):
    """Does a descriptor, by its bits alone, say one of these swizzles and strides?"""
    hopper = "sm90" in atom
    lbo, sbo = (value >> 16 & 0x3FFF) * 16, (value >> 32 & 0x3FFF) * 16
    codes = {0: "none", 1: "128", 2: "64", 3: "32"} if hopper else {0: "none", 1: "128b32", 2: "128", 4: "64", 6: "32"}
    swizzle = codes.get(value >> (62 if hopper else 61))
    between = value >> 46 & 0xFFFF == 0 if hopper else value >> 46 & 0x7FFF == 1
    clean = between and value >> 14 & 3 == 0 and value >> 30 & 3 == 0
    return clean and any(
        (one, "lbo" in unread or low, "sbo" in unread or high)
        == (swizzle, "lbo" in unread or lbo, "sbo" in unread or sbo)
        for one, low, high in truth
    )


def test_a_swizzle_that_moves_no_more_than_a_shorter_one():
    """Rows of 32 bytes under the swizzle of 64: bit 8 is never set, and the descriptor is one of 32 bytes."""
    atom = ATOM.format(m=128, n=128, k=32, major="k", e="f8E4M3FN")
    text = "S<2,4,3> o 0 o ((8,16),(32,{})):((32,1024),(1,{}))"
    for tiles, step, expected in ((1, 16384, Proved), (4, 16384, Proved), (4, 256, Refuted)):
        asked = descriptor.question(BOOK, atom, "A", text.format(tiles, step), "f8E4M3FN")
        answer = descriptor.prove(BOOK.under("ptx"), asked).verdict
        assert isinstance(answer, expected), (tiles, step, answer)
    # Eight rows 512 bytes after the first eight do set it for another tile of eight rows only.
    for sbo, expected in ((512, Proved), (256, Refuted), (768, Refuted)):
        text = f"S<2,4,3> o 0 o ((8,16),(32,1)):((32,{sbo}),(1,16384))"
        asked = descriptor.question(BOOK, atom, "A", text, "f8E4M3FN")
        assert isinstance(descriptor.prove(BOOK.under("ptx"), asked).verdict, expected), sbo


def test_all_swizzles_are_tried_alike():
    members, rows = BOOK.enums["smem_swizzle"].members, BOOK.shared_table("smem_swizzle").rows
    assert {members[mode][0]: row[:3] for (mode,), row in rows.items()} == SWIZZLES
