"""The public bugs 18 to 30 of asynchronous kernels: each has cases that are found and repaired twins that are clean.

A case of ``bugs/`` says what is expected of it in the way of MLIR; a text without expectations is a repaired twin.
"""

# checklist: PRO01 PRO05 PRO06 PRO08

from __future__ import annotations

import difflib
from pathlib import Path

import pytest

import tileproof
from tileproof.base.source import Source
from tileproof.checking.expectations import expectations, split
from tileproof.checking.expectations import verify as unmet
from tileproof.mlir.scanner import scan
from tileproof.protocol.verify import verify

BUGS = Path(__file__).parent / "bugs"
BOOK = tileproof.load_rules()

# The causes that are named, by the number of the bug; the last have no public report.
CAUSES = {
    "BUGS 18": {"PR101", "PR112"},
    "BUGS 19": {"PR103"},
    "BUGS 20": {"PR110", "PR123"},
    "BUGS 21": {"PR112"},
    "BUGS 22": {"PR114", "PR115"},
    "BUGS 23": {"PR126"},
    "BUGS 24": {"PR124"},
    "BUGS 25": {"PR127"},
    "BUGS 26": {"PR120"},
    "BUGS 27": {"PR133"},
    "BUGS 28": {"PR140"},
    "BUGS 29": {"PR114", "PR153", "PR159"},
    "BUGS 30": {"PR158"},
    "tcgen05.wait": {"PR114", "PR118"},
    "setmaxregister": {"PR160", "PR161"},
    "words of a descriptor": {"PR112"},
}
FILES = {
    "tcgen05.wait": "load_unwaited.mlir",
    "setmaxregister": "register_budget.mlir",
    "words of a descriptor": "descriptor_words.mlir",
}


def parts(bug: str) -> list[Source]:
    """The texts about one bug, without the empty lines that stand for those before."""
    number = bug.removeprefix("BUGS ")
    (path,) = BUGS.glob(FILES.get(bug, f"{number}_*.mlir"))
    return [Source(path.name, part.text.lstrip("\n")) for part in split(Source(path.name, path.read_text("utf-8")))]


@pytest.mark.parametrize("bug", CAUSES)
def test_bug_is_found_with_its_cause(bug):
    cases = [part for part in parts(bug) if expectations(part)]
    assert cases
    codes = set()
    for case in cases:
        found = tileproof.check(case.text).diagnostics
        assert list(unmet(case, found)) == []
        codes |= {diagnostic.code for diagnostic in found}
    assert codes == CAUSES[bug]


@pytest.mark.parametrize("bug", CAUSES)
def test_repaired_twin_is_clean(bug):
    twins = [part for part in parts(bug) if not expectations(part)]
    assert twins
    for twin in twins:
        assert tileproof.check(twin.text).diagnostics == ()
        module = scan(twin).module
        outcomes = list(verify(BOOK, module.operations, module.aliases))
        assert [outcome.doubts for outcome in outcomes] == [()]


@pytest.mark.parametrize("bug", CAUSES)
def test_case_differs_from_its_twin_by_little(bug):
    """What is found is the fault, not something else that the case happens to have."""
    previous: list[Source] = []
    for part in parts(bug):
        if expectations(part):
            previous.append(part)
            continue
        for case in previous:
            assert changed(case.text, part.text) <= 6
        previous = []
    assert previous == []


def changed(case: str, twin: str) -> int:
    """The lines that only one of two texts has, comments aside."""
    lines = [[line.strip() for line in text.split("\n") if "//" not in line and line.strip()] for text in (case, twin)]
    return sum(line[:2] in ("+ ", "- ") for line in difflib.ndiff(*lines))


CAST = " = builtin.unrealized_conversion_cast %tile_iter : !cute.ptr<i8, smem, align<1024>> to !llvm.ptr<3>\n"
ALIGNED = """
    %word = llvm.ptrtoint %unaligned : !llvm.ptr<3> to i32
    %c128 = arith.constant 128 : i32
    %mask = arith.constant -128 : i32
    %more = arith.addi %word, %c128 : i32
    %less = arith.subi %more, %c1 : i32
    %down = arith.andi %less, %mask : i32
    %tile = llvm.inttoptr %down : i32 to !llvm.ptr<3>
"""


@pytest.mark.parametrize("number", [0, 1], ids=["bad", "good"])
def test_memory_that_is_aligned_by_arithmetic_is_followed(number: int):
    """Earlier releases of the DSL allocate so: up to the next multiple of 128 bytes."""
    text = parts("words of a descriptor")[number].text
    assert text.count(f"%tile{CAST}") == 1
    result = tileproof.check(text.replace(f"%tile{CAST}", f"%unaligned{CAST}{ALIGNED}"))
    assert [one.code for one in result.diagnostics] == (["PR112"] if number == 0 else [])
    (kernel,) = result.files[0].kernels
    assert (kernel.executed, kernel.reasons) == (kernel.steps, ())


@pytest.mark.parametrize("made", ["muli %address, %odd", "shrsi %address, %odd", "shrui %address, %wide"])
def test_what_is_no_address_any_more_is_not_taken_for_one(made: str):
    text = parts("words of a descriptor")[1].text
    place = "    %start = arith"
    assert text.count(place) == 1
    other = (
        f"    %odd = arith.constant -1 : i32\n    %wide = arith.constant 2147483647 : i32\n"
        f"    %made = arith.{made} : i32\n    %lost = llvm.inttoptr %made : i32 to !llvm.ptr<3>\n"
        f"    nvvm.mbarrier.init %lost, %c1 : !llvm.ptr<3>, i32\n"
    )
    (found,) = tileproof.check(text.replace(place, other + place)).diagnostics
    assert (found.code, "the address of the barrier is not known" in found.message) == ("PR190", True)
