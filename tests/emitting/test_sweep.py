"""Whatever `suggest` calls legal is emitted as PTX that ptxas assembles, without a word about serialised wgmma.

In CI a random tenth of the configurations of one target of each generation, and of the hundred thousands of tensor
memory a tenth of the widths. All of them: `pytest -m long tests/emitting/test_sweep.py`, ten minutes a target of tensor
memory, a few for the others. Each is emitted; of texts that differ in hexadecimal constants alone, which are the bits
of descriptors, one is assembled: ptxas does not look into them.
"""

from __future__ import annotations

import random
import re
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import ptxas
import pytest

import tileproof
from tileproof.checking.instruction import context
from tileproof.emitting.kernel import module
from tileproof.emitting.sequence import Placed, sequence
from tileproof.ptx.select import lower_atom
from tileproof.rulebase.expression import Scalar
from tileproof.suggesting.configurations import Query, Suggestion, families, suggest

BOOK = tileproof.load_rules()
OTHERWISE = {family.schema: family.instructions for family in families(BOOK)}
TARGETS = [member[1:] for member in BOOK.enums["target"].members]
FORGOTTEN = {"sm_70", "sm_72"}  # by ptxas 13; the extra installs no older one
TENSOR_MEMORY = [
    target
    for target in TARGETS
    if any(f.schema == "umma" for f in families(BOOK))
    and tileproof.legal("tcgen05.wait::ld.sync.aligned;", target).legal
]
# One of each large generation; the long run has all.
IN_CI = {"sm_80", "sm_90a", "sm_100a", "sm_120a"}
SEED = 20261121
BATCH = 200
# Where operands lie is no matter of these tests; tests/emitting/test_emit.py asks for real places.
PLACED = {"a": Placed(0, 0x4000404000010000), "b": Placed(32768, 0x4000404000010000)}


def configurations(target: str, facts: dict[str, tuple[Scalar, ...]]) -> list[Suggestion]:
    where = context(BOOK, target)
    return [
        *suggest(BOOK, Query("ptx", where, facts)),
        *suggest(BOOK, Query("ptx", where, {**facts, "sparse": (".yes",)})),
    ]


def unlike(chosen: Sequence[Suggestion]) -> list[Suggestion]:
    """One of those that differ only in the bits of the instruction descriptor."""
    return list({(one.family, one.ptx, one.facts["N"]): one for one in chosen}.values())


def texts(target: str, chosen: Sequence[Suggestion]) -> Iterator[tuple[str, str]]:
    """For each configuration what it is and its entry."""
    where = context(BOOK, target)
    for one in chosen:
        lowered = lower_atom(BOOK.under("ptx"), where, one.family, one.facts, OTHERWISE[one.family])
        assert lowered is not None, f"{one.family} {one.facts} is suggested and cannot be emitted"
        assert lowered.text == one.ptx
        emitted = sequence(BOOK.under("ptx"), lowered, PLACED)
        assert emitted is not None
        yield f"{one.family} {dict(one.facts)}", module(BOOK, where, [("NAME", [emitted], [])])


def assemble(target: str, found: dict[str, str], folder: Path, quick: bool) -> None:
    """Assemble entries in batches; a batch that fails is told by its first entry that fails alone."""
    items = list(found.items())
    for start in range(0, len(items), BATCH):
        batch = items[start : start + BATCH]
        said = run(target, joined([text for text, _ in batch]), folder, quick)
        if said:
            for text, what in batch:
                alone = run(target, joined([text]), folder, quick)
                assert not alone, f"{target}: {what}\n{alone}\n{text}"
            pytest.fail(f"{target}: {said}")


def joined(modules: Sequence[str]) -> str:
    """One module of the entries of several."""
    head: list[str] = []
    entries = []
    for i, text in enumerate(modules):
        before, _, entry = text.partition("// ") if "// " in text else text.partition(".visible")
        head += before.splitlines()
        entries.append(f".visible{entry}".replace("NAME", f"k{i}", 1))
    return "\n".join([*dict.fromkeys(head), *entries])


def run(target: str, text: str, folder: Path, quick: bool) -> str:
    """What ptxas says against a module; empty where nothing."""
    program = ptxas.find()
    assert program is not None
    source = folder / "batch.ptx"
    source.write_text(text, encoding="ascii")
    command = [str(program), "-arch", target, *(["-O0"] if quick else []), str(source), "-o", str(folder / "out.cubin")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    said = done.stdout + done.stderr
    # C7509 to C7519: a fence or a wait of wgmma is missing, or accumulators are touched, and ptxas serialises.
    bad = done.returncode != 0 or re.search(r"C75(09|1\d)|serializ|wgmma", said)
    return said[:2000] or f"exit status {done.returncode}" if bad else ""


@ptxas.needs_ptxas
@pytest.mark.parametrize(
    "target",
    [pytest.param(t, marks=() if t in IN_CI else pytest.mark.long) for t in TARGETS if t not in FORGOTTEN],
)
def test_a_tenth_of_what_is_suggested_assembles(target: str, tmp_path: Path):
    chance = random.Random(f"{SEED} {target}")
    if target in TENSOR_MEMORY:
        widths = tuple(chance.sample(range(8, 257, 8), 3))
        chosen = unlike(configurations(target, {"N": widths}))
    else:
        everything = configurations(target, {})
        chosen = chance.sample(everything, len(everything) // 10)
    found = {text: what for what, text in texts(target, chosen)}
    assert len(found) > 4
    assemble(target, found, tmp_path, quick=False)


@pytest.mark.long
@ptxas.needs_ptxas
@pytest.mark.parametrize("target", [t for t in TARGETS if t not in FORGOTTEN])
def test_all_that_is_suggested_assembles(target: str, tmp_path: Path):
    seen: set[str] = set()
    batch: dict[str, str] = {}
    for what, text in texts(target, configurations(target, {})):
        shape = re.sub(r"\b0x[0-9a-f]+", "0x", text)
        if shape not in seen:
            seen.add(shape)
            batch[text] = what
        if len(batch) == BATCH:
            assemble(target, batch, tmp_path, quick=False)
            batch.clear()
    assemble(target, batch, tmp_path, quick=False)
    assert len(seen) > 90


@ptxas.needs_ptxas
def test_the_sweep_notices_a_wgmma_that_ptxas_serialises(tmp_path: Path):
    """The same entry with its accumulator touched between the instruction and the wait."""
    chosen = configurations("sm_90a", {"N": (16,), "d.type": (".f32",), "a.type": (".f16",)})
    what, text = next(item for item in texts("sm_90a", chosen) if "wgmma" in item[1])
    assert run("sm_90a", joined([text]), tmp_path, quick=False) == "", what
    touched = text.replace("wgmma.commit_group", "add.f32 f0, f0, f0;\n wgmma.commit_group")
    assert touched != text
    assert "C75" in run("sm_90a", joined([touched]), tmp_path, quick=False) or "wgmma" in run(
        "sm_90a", joined([touched]), tmp_path, quick=False
    )
