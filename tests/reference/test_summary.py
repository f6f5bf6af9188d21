"""The page's summary of shapes, types and architectures against the legality rules of both contracts."""

from __future__ import annotations

from pathlib import Path

import pytest

from tileproof.checking.instruction import context
from tileproof.ptx.select import legal_form
from tileproof.reference.tables import rows
from tileproof.rulebase.expression import Scalar
from tileproof.rulebase.load import load, shipped_files

BOOK = load(shipped_files())
GOLDEN = Path(__file__).parent / "golden" / "summary.txt"
TARGETS = [name[1:] for name in BOOK.enums["target"].members]


def number(target: str) -> int:
    return int("".join(digit for digit in target if digit.isdigit()))


def first_target(contract: str, facts: dict[str, Scalar]) -> str:
    """The first target on which a dense mma or wmma.mma has these shape and types."""
    for target in TARGETS:
        for name in ("mma", "wmma.mma"):
            for declaration in (one for one in BOOK.instructions[name] if not one.selectors):
                if legal_form(BOOK.under(contract), context(BOOK, target), declaration, facts) is not None:
                    return target
    return "never"


def differences() -> list[str]:
    found = []
    for row in rows(BOOK, "mma_summary").values():
        shape = rows(BOOK, "mma_word_shape")[str(row["shape"])]
        tile = {name: shape[name] for name in "MNK"}
        assert isinstance(row["inputs"], frozenset) and isinstance(row["accumulators"], frozenset)
        for inputs in sorted(map(str, row["inputs"])):
            for sums in sorted(map(str, row["accumulators"])):
                facts = {**tile, "a.type": inputs, "b.type": inputs, "c.type": sums, "d.type": sums}
                first = {contract: first_target(contract, facts) for contract in ("ptx", "tileiras")}
                if any(target == "never" or number(target) != row["sm"] for target in first.values()):
                    found.append(
                        f"{str(row['shape'])[1:]:<10} {inputs[1:]:<4} {sums[1:]:<3}  page SM {row['sm']}"
                        f"  ptx {first['ptx']:<6}  tileiras {first['tileiras']}"
                    )
    return found


@pytest.mark.sweep
def test_each_difference_of_the_summary_is_known_MMA16(request: pytest.FixtureRequest):
    """A row of the golden file is a difference: the page's first SM, and the first target of each contract."""
    text = "\n".join(differences()) + "\n"
    if request.config.getoption("--regenerate"):
        GOLDEN.write_text(text, encoding="utf-8")
    assert text == GOLDEN.read_text(encoding="utf-8")


def test_shapes_that_the_hardware_lacks_are_in_the_golden_file_MMA16():
    known = GOLDEN.read_text(encoding="utf-8")
    for line in (
        "m16n8k4    f64  f64  page SM 80  ptx sm_90",
        "m8n8k64    s4   s32  page SM 75  ptx never",
        "m16n8k16   tf32 f32  page SM 80  ptx never",
    ):
        assert line in known
