"""The command, its forms, and the worked examples of the reference pages."""

from __future__ import annotations

import re
from pathlib import Path

import ptxas
import pytest
from test_sweep import run as assembled

import tileproof
from conftest import SHARED, command
from tileproof.checking.instruction import context
from tileproof.emitting.atom import BadAtom, NotLegal, Refused, emit_atom, read, sequence_of
from tileproof.evaluate.bitfields import unpack
from tileproof.rulebase.expression import Scalar

BOOK = tileproof.load_rules()
GOLDEN = Path(__file__).parent / "golden"
WGMMA = "!cute_nvgpu.sm90.mma<64x{n}x16, ab_major = ({a}, {b}), elem_type = (f16, f16, f32), frag_kind = {kind}>"
LDSM = '!cute_nvgpu.atom.ldsm<val_type = f16, mode = <"(8,8)">, sz_pattern = u16, num_matrices = 4, n>'


def emitted(atom: str, target: str, form: str = "ptx", contract: str = "ptx") -> str:
    return emit_atom(BOOK.under(contract), atom, context(BOOK, target), form)


def plain(text: str) -> str:
    """Without comments and white space, and with the registers that `...` stands for."""
    text = re.sub(r"//.*", "", text)
    whole = lambda m: ", ".join(f"%{m[1]}{i}" for i in range(int(m[2]), int(m[3]) + 1))  # noqa: E731
    text = re.sub(r"%([a-z]+)(\d+), \.\.\., %[a-z]+(\d+)", whole, text)
    return re.sub(r"\s+", "", text)


# The pages' own text, checklist: EMT02 (p1-sm80, p1-sm89), EMT03 (p1-sm90), EMT04 (p0), EMT05 (p1-sm100), EMT06
# (p1-sm120), EMT07 (p4).
@pytest.mark.parametrize("golden", sorted(GOLDEN.glob("*.txt")), ids=lambda path: path.stem)
def test_the_worked_examples_of_the_pages_EMT02_EMT03_EMT04_EMT05_EMT06_EMT07(golden: Path):
    atom, where, *lines = golden.read_text(encoding="utf-8").splitlines()
    target, form = where.removeprefix("# ").split()
    found = emitted(atom.removeprefix("# "), target, form.replace("-", "_"), "tileiras")
    expected = "\n".join(lines)
    if "{ %f0, %f1, ... }" in expected:  # "the list expands to the per-thread fragment count": N / 2 on page P0
        expected = expected.replace("%f0, %f1, ...", ", ".join(f"%f{i}" for i in range(64)))
    assert plain(found) == plain(expected)


@pytest.mark.skipif(not (SHARED / "reference").is_dir(), reason="no ../shared beside this checkout")
@pytest.mark.parametrize(("page", "begins"), [("000", "wgmma."), ("001", r"(?:wg)?mma\.|tcgen05\."), ("004", "llvm.")])
def test_no_worked_example_of_the_pages_is_left_out(page: str, begins: str):
    """Each instruction that a page spells with its operands, and each intrinsic it names, stands in a golden file."""
    (path,) = (SHARED / "reference").glob(f"{page}_*.txt")
    text = path.read_text(encoding="utf-8")
    golden = [plain("".join(path.read_text(encoding="utf-8").splitlines(True)[2:])) for path in GOLDEN.glob("*.txt")]
    if page == "004":
        examples = re.findall(r"llvm\.nvvm\.wgmma\.[\w.]+", text)
    else:  # to the first line that ends the statement, or an empty one
        examples = re.findall(rf"(?m)^((?:{begins})[\w.:]+\n?[ \t]+[\[{{][^;]*?(?:;|\n\n))", text)
    assert len(examples) == {"000": 1, "001": 11, "004": 5}[page]
    for example in examples:
        assert any(plain(example).split("=f")[0] in one for one in golden), example


@pytest.mark.parametrize(
    ("target", "path"),
    [
        ("sm_70", "NVVM intrinsic"),
        ("sm_75", "NVVM intrinsic"),
        ("sm_80", "inline asm"),
        ("sm_89", "inline asm"),
        ("sm_90a", "inline asm"),
        ("sm_100a", "MachineInstr"),
        ("sm_103a", "MachineInstr"),
        ("sm_120a", "MachineInstr"),
        ("sm_121a", "MachineInstr"),
    ],
)
def test_one_emission_path_for_each_tier_EMT01(target: str, path: str):
    tier = BOOK.tables["target", "tileiras"].rows[f".{target}",][0]
    member = BOOK.tables["emission_path", "tileiras"].rows[str(tier),][0]
    assert BOOK.enums["emission_path"].members[str(member)] == (path,)


def test_the_path_stands_above_what_the_pages_write_EMT01():
    assert emitted("mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32", "sm_70", contract="tileiras").startswith(
        "// NVVM intrinsic: mma.sync.m8n8k*\n"
    )
    intrinsic = emitted("mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32", "sm_70", "llvm", "tileiras")
    assert intrinsic == "llvm.nvvm.mma.m8n8k4.row.col.f32.f32\n"


@pytest.mark.parametrize("n", range(8, 257, 8))
def test_one_intrinsic_for_each_width_EMT07(n: int):
    lines = emitted(WGMMA.format(n=n, a="k", b="k", kind="ss"), "sm_90a", "llvm", "tileiras").splitlines()
    assert lines[1] == f"llvm.nvvm.wgmma.mma_async.sync.aligned.m64n{n}k16.f32.f16.f16"


@pytest.mark.parametrize(
    ("types", "k", "ends"),
    [
        ("(f16, f16, f16)", 16, ".f16.f16.f16"),
        ("(si8, si8, i32)", 32, ".s32.s8.s8.satfinite"),
        ("(i1, i1, i32)", 256, ".and.popc"),
    ],
)
def test_integers_saturate_and_bits_count_on_the_pages_EMT03(types: str, k: int, ends: str):
    atom = f"!cute_nvgpu.sm90.mma<64x64x{k}, ab_major = (k, k), elem_type = {types}, frag_kind = rs>"
    text = emitted(atom, "sm_90a", contract="tileiras")
    line = next(line for line in text.splitlines() if line.startswith("wgmma.mma_async"))
    assert line.endswith(ends)
    assert "{%r" in text, "A in registers is a tuple"
    assert ("1, 1," in text) == types.startswith("(f")


@pytest.mark.parametrize(("a", "b"), [("k", "k"), ("k", "mn"), ("mn", "k"), ("mn", "mn")])
@ptxas.needs_ptxas
def test_the_four_parts_with_the_majors_as_immediates_EMT03(a: str, b: str, tmp_path: Path):
    text = emitted(WGMMA.format(n=64, a=a, b=b, kind="ss"), "sm_90a")
    order = [text.index(word) for word in ("wgmma.fence", "wgmma.mma_async", "wgmma.commit_group", "wgmma.wait_group")]
    assert order == sorted(order)
    assert f",1,1,{int(a == 'mn')},{int(b == 'mn')};" in text
    assert not assembled("sm_90a", text, tmp_path, quick=False)


@pytest.mark.parametrize(
    "opcode",
    [
        "tcgen05.mma.cta_group::1.kind::f16",
        "tcgen05.mma.sp.cta_group::1.kind::f16",
        "tcgen05.mma.cta_group::2.kind::tf32",
        "tcgen05.mma.cta_group::1.kind::i8",
        "tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale.scale_vec::1X",
        "tcgen05.mma.sp.cta_group::2.kind::mxf4.block_scale.scale_vec::2X",
        "tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.block16",
        "tcgen05.mma.ws.cta_group::1.kind::f8f6f4",
        "tcgen05.mma.ws.sp.cta_group::1.kind::f16.collector::b2::fill",
        "tcgen05.mma.cta_group::1.kind::f16.collector::a::fill",
        "tcgen05.mma.cta_group::1.kind::f16.collector::a::lastuse",
    ],
)
@ptxas.needs_ptxas
def test_tensor_memory_in_all_its_forms_EMT05(opcode: str, tmp_path: Path):
    text = emitted(opcode, "sm_100a")
    assert not assembled("sm_100a", text, tmp_path, quick=False), text
    assert set(opcode.split(".")[2:]) <= set(
        re.split(r"[. ]", next(x for x in text.splitlines() if "tcgen05.mma" in x))
    )


@pytest.mark.parametrize(
    ("opcode", "target"),
    [
        ("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", "sm_80"),
        ("mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32", "sm_80"),
        ("mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.satfinite.s32.s8.u8.s32", "sm_86"),
        ("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32", "sm_89"),
        (
            "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e2m1.f32.ue8m0",
            "sm_120a",
        ),
        (
            "mma.sp::ordered_metadata.sync.aligned.m16n8k128.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32"
            ".e2m1.e2m1.f32.ue4m3",
            "sm_120a",
        ),
        ("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16", "sm_75"),
        ("ldmatrix.sync.aligned.m16n16.x2.trans.shared.b8x16.b4x16_p64", "sm_100a"),
        ("stmatrix.sync.aligned.m8n8.x2.shared.b16", "sm_90"),
        ("movmatrix.sync.aligned.m8n8.trans.b16", "sm_75"),
        ("cp.async.cg.shared.global", "sm_80"),
        ("cp.async.bulk.commit_group", "sm_90"),
        ("tcgen05.ld.sync.aligned.32x32b.x64.b32", "sm_100a"),
        ("tcgen05.cp.cta_group::1.128x256b", "sm_100a"),
        ("mbarrier.init.shared.b64", "sm_80"),
        ("fence.proxy.async", "sm_90"),
        (LDSM, "sm_80"),
        ("!cute_nvgpu.atom.simt_async_copy<f16, cache = global, 128 b>", "sm_80"),
        ("!cute_nvgpu.atom.tmem_load<f32, 32 DP, 32 bit, x8>", "sm_100a"),
        ("!cute_nvgpu.atom.tmem_store<f32, 16 DP, 256 bit, x2>", "sm_100a"),
        ("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f16", "sm_75"),
    ],
)
@ptxas.needs_ptxas
def test_what_is_emitted_assembles_EMT02_EMT06(opcode: str, target: str, tmp_path: Path):
    text = emitted(opcode, target)
    assert not assembled(target, text, tmp_path, quick=False), text


@pytest.mark.parametrize(("a", "b"), [("k", "k"), ("mn", "mn")])
def test_the_descriptors_are_those_of_legal_layouts(a: str, b: str):
    asked = read(BOOK.under("ptx"), WGMMA.format(n=64, a=a, b=b, kind="ss"), context(BOOK, "sm_90a"))
    setup = "\n".join(sequence_of(BOOK, asked).parts["setup"])
    words = re.findall(r"or\.b64 (l\d), wide, (0x[0-9a-f]{16});", setup)
    assert [name for name, _ in words] == ["l0", "l1"]
    for _, word in words:
        facts: dict[str, Scalar] = unpack(BOOK.under("ptx"), "wgmma.descriptor", int(word, 16))
        assert facts["address"] == 0
        assert facts["swizzle"] == (".b32" if a == "k" else ".b128")


def test_the_instruction_descriptor_is_that_of_the_atom():
    atom = (
        "!cute_nvgpu.sm100.mma<256x96x32, num_cta = 2, ab_major = (mn, k), elem_type = (f8E4M3FN, f8E5M2, f16),"
        " frag_kind = ss>"
    )
    asked = read(BOOK.under("ptx"), atom, context(BOOK, "sm_100a"))
    words = re.findall(r"mov\.b32 r\d, (0x[0-9a-f]+);", "\n".join(sequence_of(BOOK, asked).parts["setup"]))
    facts = unpack(BOOK.under("ptx"), "tcgen05.instruction_descriptor", int(words[0], 16), {"kind": ".f8f6f4"})
    expected = {"M": 256, "N": 96, "a.type": ".e4m3", "b.type": ".e5m2", "d.type": ".f16", "a.major": ".mn"}
    assert {name: facts[name] for name in expected} == expected


def test_inline_assembly_ties_its_accumulator_EMT04():
    text = emitted(WGMMA.format(n=8, a="k", b="k", kind="ss"), "sm_90a", "inline_asm")
    assert '"=f,=f,=f,=f,0,1,2,3,l,l,r,~{memory}"(float %f0,' in text
    assert ': "+f"(f0), "+f"(f1), "+f"(f2), "+f"(f3)\n  : "l"(l0), "l"(l1), "r"(p0)' in text
    assert "setp.ne.b32 p0, %6, 0;" in text
    assert "setp.ne.b32 p0, $10, 0;" in text


@pytest.mark.parametrize(
    ("arguments", "status", "shown"),
    [
        (("--atom", "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16", "--target", "sm_90a"), 0, "wait_group"),
        (("--atom", WGMMA.format(n=100, a="k", b="k", kind="ss"), "--target", "sm_90a"), 1, "WG101"),
        (("--atom", WGMMA.format(n=64, a="k", b="k", kind="ss"), "--target", "sm_100a"), 1, "TG101"),
        (("--atom", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "--target", "sm_70"), 1, "MM131"),
        (("--atom", "wgmma.fence.sync.aligned;", "--target", "sm_90"), 1, "WG140"),
        (("--atom", "what is this", "--target", "sm_90a"), 1, "PT00"),
        (("--atom", "foo", "--target", "sm_90a"), 2, "unknown instruction"),
        (("--atom", "", "--target", "sm_90a"), 2, "there is no atom"),
        (("--atom", "wgmma.fence.sync.aligned", "--target", "sm_91"), 2, "unknown target"),
        (("--atom", "wgmma.fence.sync.aligned", "--target", "sm_90a", "--contract", "tileiras"), 2, "have no form"),
        ((), 2, "one file or --atom"),
    ],
)
def test_the_command_line(arguments: tuple[str, ...], status: int, shown: str):
    done = command("emit", *arguments)
    assert done.returncode == status, done.stdout + done.stderr
    assert shown in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    if status:
        assert ".entry" not in done.stdout


def test_what_is_refused_says_why():
    with pytest.raises(Refused) as refused:
        emitted(WGMMA.format(n=100, a="k", b="k", kind="ss"), "sm_90a")
    assert [d.code for d in refused.value.report.diagnostics] == ["WG101"]
    with pytest.raises(NotLegal, match="WG140"):
        emitted("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16", "sm_90")
    with pytest.raises(BadAtom):
        emitted("!cute_nvgpu.nothing<>", "sm_90a")
