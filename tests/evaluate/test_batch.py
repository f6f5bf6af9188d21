"""Many configurations at once get the same answers as one by one, with numpy and without."""

from __future__ import annotations

import random
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tileproof
from tileproof.base.diagnostic import Severity
from tileproof.evaluate import batch
from tileproof.evaluate.python import judge_for
from tileproof.rulebase.expression import Scalar

BOOK = tileproof.load_rules()
SCHEMAS = ["wgmma.mma_async", "wgmma.gemm", "tcgen05.mma", "mma.use", "atom"]


def columns(schema: str, rows: int) -> dict[str, list[Scalar]]:
    rng = random.Random(schema)
    instance = BOOK.schemas[schema].instance
    found = {}
    for fact in BOOK.schemas[schema].fields:
        domain = BOOK.domain(schema, fact)
        found[fact] = [instance[fact] if rng.random() < 0.7 else rng.choice(domain) for _ in range(rows)]
    return found


@pytest.fixture(params=["numpy", "plain"])
def without_numpy(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "plain":
        monkeypatch.setattr(batch, "find_spec", lambda _: None)
    else:
        pytest.importorskip("numpy", reason="numpy is not installed")


@pytest.mark.parametrize("schema", SCHEMAS)
@pytest.mark.usefixtures("without_numpy")
def test_many_are_judged_as_one_by_one(schema: str):
    facts = columns(schema, 3000)
    judge = judge_for(BOOK.under("ptx"), schema)
    one_by_one = []
    for i in range(3000):
        row = {name: values[i] for name, values in facts.items()}
        one_by_one.append(all(rule.severity is not Severity.ERROR for rule in judge.violated(row)))
    assert tileproof.legal_many(schema, facts) == one_by_one
    assert 0 < sum(one_by_one) < 3000
    rows = [{name: values[i] for name, values in facts.items()} for i in range(100)]
    assert tileproof.legal_many(schema, rows) == one_by_one[:100]


def test_symbols_may_lack_their_dot_and_integers_may_be_numpys():
    numpy = pytest.importorskip("numpy", reason="numpy is not installed")
    widths = numpy.arange(8, 265, 8)
    found = tileproof.legal_many("wgmma.mma_async", {"N": widths, "a.type": ["f16"] * len(widths)})
    assert found == [int(width) <= 256 for width in widths]


@pytest.mark.parametrize("schema", SCHEMAS)
def test_columns_of_numpy_give_what_lists_give(schema: str):
    numpy = pytest.importorskip("numpy", reason="numpy is not installed")
    facts = columns(schema, 3000)
    arrays = {name: numpy.array(values) for name, values in facts.items()}
    assert tileproof.legal_many(schema, arrays) == tileproof.legal_many(schema, facts)


SYMBOLS = st.text("abc.\x00é€", max_size=4) | st.sampled_from(
    ["e4m3", "f32", ".float32", "collector::a::fill", "x" * 40]
)


@given(st.lists(SYMBOLS, min_size=1, max_size=30))
def test_a_column_of_strings_is_numbered_as_a_list_is(texts: list[str]):
    numpy = pytest.importorskip("numpy", reason="numpy is not installed")
    array = numpy.array(texts)  # cuts zeros at the end
    of_array, of_list = batch._column(array), batch._column(array.tolist())
    told = [[column.values[code] for code in column.codes] for column in (of_array, of_list)]
    assert told[0] == told[1]


@given(st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 300), min_size=1, max_size=30))
def test_a_column_of_integers_is_numbered_whatever_they_are(integers: list[int]):
    numpy = pytest.importorskip("numpy", reason="numpy is not installed")
    column = batch._column(numpy.array(integers, dtype=numpy.int64))
    assert [column.values[code] for code in column.codes] == integers


def test_more_symbols_than_a_table_tells_apart_are_numbered_too():
    numpy = pytest.importorskip("numpy", reason="numpy is not installed")
    texts = [f".m{i}n{7 * i % 5000}" for i in range(5000)]
    column = batch._column(numpy.array(texts))
    assert [column.values[code] for code in column.codes] == texts


@pytest.mark.parametrize(
    ("schema", "facts", "complaint"),
    [
        ("wgmmma", {"N": [8]}, "unknown schema 'wgmmma'"),
        ("wgmma.mma_async", {"n": [8]}, "has no fact 'n'"),
        ("wgmma.mma_async", {"N": ["f16"]}, "'.f16' is not a value of 'N'"),
        ("wgmma.mma_async", {"a.type": [8]}, "8 is not a value of 'a.type'"),
        ("wgmma.mma_async", {"a.type": [None]}, "None is neither an integer nor a symbol"),
        ("wgmma.mma_async", {"a.type": ["f15"]}, "'.f15' is not a value of 'a.type'"),
        ("wgmma.mma_async", {"N": [8], "M": [64, 64]}, "'M' has 2 rows, not 1"),
        ("wgmma.mma_async", {"N": 8}, "'N' is no column of integers and names"),
        ("wgmma.mma_async", {"N": [[8]]}, "'N' is no column of integers and names"),
        ("wgmma.mma_async", [{"N": 8}, {"M": 64}], "row 1 and row 0 have different facts"),
    ],
)
def test_what_is_no_configuration_is_refused(schema: str, facts: Mapping[str, list[Scalar]], complaint: str):
    with pytest.raises(ValueError, match=complaint):
        tileproof.legal_many(schema, facts)
    with pytest.raises(ValueError, match=complaint):
        tileproof.legal_many(schema, facts, target="sm_90a" if schema == "wgmma.mma_async" else None)


def test_an_array_of_two_dimensions_is_no_column():
    numpy = pytest.importorskip("numpy", reason="numpy is not installed")
    with pytest.raises(ValueError, match="'N' is no column"):
        tileproof.legal_many("wgmma.mma_async", {"N": numpy.full((2, 2), 8)})


def test_no_rows_are_no_answers():
    assert tileproof.legal_many("wgmma.mma_async", []) == []
