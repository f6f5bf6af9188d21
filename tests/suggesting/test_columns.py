"""`suggest_columns`: the configurations of `suggest`, each fact a column; and what it is made of."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

import tileproof
from tileproof.evaluate.batch import Column
from tileproof.evaluate.enumerate import distinct, legal_columns, legal_configurations
from tileproof.evaluate.python import judge_for

np = pytest.importorskip("numpy", reason="numpy is not installed")
BOOK = tileproof.load_rules()


def rows(columns: dict[str, Any]) -> Counter[frozenset[tuple[str, object]]]:
    lists = [column.tolist() for column in columns.values()]
    every = (dict(zip(columns, row, strict=True)) for row in zip(*lists, strict=True))
    return Counter(frozenset((name, value) for name, value in row.items() if value != "") for row in every)


@pytest.mark.parametrize(
    ("target", "asked"),
    [
        ("sm_75", {}),
        ("sm_90a", {}),
        ("sm_90a", {"contract": "tileiras", "facts": {"a.type": (".f16",), "N": (8, 24), "K": (8, 16, 32)}}),
        pytest.param("sm_90a", {"warps": 8, "facts": {"a.type": (".f16", ".s8")}}, marks=pytest.mark.sweep),
        ("sm_90a", {"tile": (128, 192, 64), "facts": {"a.type": (".bf16",)}}),
        pytest.param("sm_100a", {"sparsity": "dense", "facts": {"M": (128,)}}, marks=pytest.mark.sweep),
        ("sm_100a", {"sparsity": "sparse", "tile": (256, 64, 64)}),
        ("sm_120a", {}),
        pytest.param("sm_100a", {}, marks=pytest.mark.sweep),
    ],
)
def test_columns_are_the_configurations_that_suggest_lists_one_by_one(target: str, asked: dict[str, Any]):
    listed: dict[str, Counter[frozenset[tuple[str, object]]]] = {}
    for one in tileproof.suggest(target, **asked):
        listed.setdefault(one.family, Counter())[frozenset(one.facts.items())] += 1
    found = tileproof.suggest_columns(target, **asked)
    assert {family: rows(columns) for family, columns in found.items()} == listed
    assert listed


def test_a_contract_that_leaves_the_depth_open_has_none_of_depth_zero():
    """The reference pages name no K of a sparse wgmma, and the domain begins with 0: ``suggest`` divided by it."""
    asked = {"contract": "tileiras", "facts": {"a.type": (".f16",), "N": (8,), "K": (0, 32)}, "sparsity": "sparse"}
    found = tileproof.suggest("sm_90a", **asked)
    assert {one.facts["sparse.K"] for one in found} == {32}
    assert set(tileproof.suggest_columns("sm_90a", **asked)["wgmma.sparse"]["sparse.K"].tolist()) == {32}


def test_nothing_fits_and_no_such_target():
    assert tileproof.suggest_columns("sm_90a", facts={"a.type": (".f16",), "d.type": (".s32",)}) == {}
    with pytest.raises(ValueError, match="unknown target"):
        tileproof.suggest_columns("sm_1")


@pytest.mark.parametrize("schema", ["wgmma.mma_async", "wgmma.sparse", "umma"])
def test_columns_are_in_the_order_of_the_search(schema: str):
    judge = judge_for(BOOK.under("ptx"), schema)
    instance = BOOK.schemas[schema].instance
    options = {name: (value,) for name, value in instance.items()}
    for name in ("N", "a.type", "b.type", "d.type", "K"):
        options[name] = tuple(dict.fromkeys((instance[name], *BOOK.domain(schema, name)[:33])))
    columns, count = legal_columns(judge, options)
    one_by_one = list(legal_configurations(judge, options, many=True))
    names = list(columns)
    values = [[columns[name].values[code] for code in columns[name].codes] for name in names]
    assert [dict(zip(names, row, strict=True)) for row in zip(*values, strict=True)] == one_by_one
    assert count == len(one_by_one) > 0


def test_combinations_of_more_values_than_an_integer_holds():
    columns = [Column(tuple(range(1 << 16)), np.array([7, 7, 65535, 7, 65535])) for _ in range(5)]
    first, which = distinct(columns, 5)
    assert sorted(first.tolist()) == [0, 2]
    assert [first[one] for one in which] == [0, 0, 2, 0, 2]
