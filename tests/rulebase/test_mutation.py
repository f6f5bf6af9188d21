"""Constants of rule files are held by tests: a sample of the mutation run, and the run itself (``mutation.py``)."""

from __future__ import annotations

from collections import Counter
from functools import cache

import pytest
from rule_mutants import Mutant, changed, constants, declarations, mutants

from rulebase.mutation import Bench, equivalent
from tileproof.base.source import Source

BENCH = Bench()
ENOUGH = 0.95  # of the mutants that mean something else
# Of a review: each of them passed the whole suite once.
SURVIVED = {
    "rules/tcgen05/alloc.rule": ("{32, 64, 128, 256, 512}", "{32, 64, 128, 192, 512}"),
    "rules/copy/cp_async.rule": ("require bits in {0, 128}", "require bits in {0, 64}"),
    "rules/protocol/schedule.rule": (".bodies   7", ".bodies   0"),
}


@cache
def all_mutants() -> list[Mutant]:
    return [mutant for file in BENCH.files for mutant in mutants(BENCH.book, file)]


def file_of(name: str) -> Source:
    return next(file for file in BENCH.files if file.name == name)


def outcomes(bench: Bench, some: list[Mutant]) -> tuple[Counter[str], list[str]]:
    """How many are noticed by what, and the names of those that nothing notices."""
    known = equivalent()
    told = {mutant.name: bench.noticed(mutant) for mutant in some if mutant.name not in known}
    return Counter(one.partition(":")[0] for one in told.values()), [name for name, one in told.items() if not one]


@pytest.mark.parametrize("name", SURVIVED)
def test_what_survived_a_review_is_noticed(name: str):
    file, (old, new) = file_of(name), SURVIVED[name]
    at = file.text.index(old)
    pieces = next(one for one in declarations(file) if one[0].start <= at < one[-1].end)
    start, end = pieces[0].start, pieces[-1].end
    mutant = Mutant(file, 1, 1, start, end, pieces[0].text, old, new, file.text[start:end].replace(old, new, 1))
    assert Bench(asking=False).noticed(mutant) in ("example", "record")


@pytest.mark.sweep
def test_a_sample_of_mutants_is_noticed():
    told, survivors = outcomes(BENCH, all_mutants()[::797])
    assert len(survivors) <= (1 - ENOUGH) * told.total(), survivors
    assert min(told[name] for name in ("refused", "example", "case", "record")) > 0  # each of them is at work


@pytest.mark.long
def test_all_mutants_are_noticed():
    told, survivors = outcomes(BENCH, all_mutants())
    assert len(survivors) <= (1 - ENOUGH) * told.total(), survivors


def test_equivalent_mutants_are_mutants_and_have_a_reason():
    files = [file_of(name) for name in {one.partition(":")[0] for one in equivalent()}]
    names = {mutant.name for file in files for mutant in mutants(BENCH.book, file)}
    assert equivalent().keys() <= names
    assert all(len(reason.split()) > 4 for reason in equivalent().values())


TEXT = """enum kind { .a "x 1"; .b; .c; }   # 7 is no constant here
table t (kind: kind) -> n, set source "a manual, 9.2" { .a | .b 8 {.a, .b}; .c 16 {.c}; }
rule R1 n on s refines R2 {
  when    ptx >= 8.6 and kind in {.a, .b}
  require N in 8..256 step 8 or t(kind).n == 2
  error "not 5" hint "7" source "8"
  pass { N = 8 } fail { kind = .c }
}
"""


def test_constants_are_what_is_neither_text_nor_example_nor_column():
    file = Source("rules/toy.rule", TEXT)
    enums = {"kind": (".a", ".b", ".c")}
    found = [(pieces[i].text, changed(pieces, i, enums)) for pieces in declarations(file) for i in constants(pieces)]
    assert found == [
        (".a", [".a_"]),
        (".b", [".b_"]),
        (".c", [".c_"]),
        *[(".a", [".c"]), (".b", [".c"]), ("8", ["9"]), (".a", [".c"]), (".b", [".c"])],
        *[(".c", [".a"]), ("16", ["17"]), (".c", [".a"])],
        *[("8.6", ["8.7"]), (".a", [".c"]), (".b", [".c"])],
        *[("8", ["16"]), ("256", ["264"]), ("8", ["9"]), ("2", ["3"])],
    ]
