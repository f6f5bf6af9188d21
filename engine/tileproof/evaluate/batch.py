"""Many configurations of one schema at once, for autotuners.

A rule reads few facts, and a fact has few different values among many configurations. So each column is numbered once,
each rule is evaluated only for the distinct combinations of the facts it reads, and its answers are spread over the
rows. With numpy the spreading is done by numpy; without, by a dictionary.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from itertools import product
from typing import Any

from tileproof.base.diagnostic import Severity
from tileproof.base.records import dataclass
from tileproof.evaluate.python import Check, Judge
from tileproof.rulebase.declarations import Bounded
from tileproof.rulebase.expression import Scalar

_DENSE = 1 << 20  # combinations up to which a table of all is cheaper than looking for those that occur


@dataclass(frozen=True, slots=True)
class Column:
    """One fact of all configurations: the different values, and for each row which of them it has."""

    values: tuple[Scalar, ...]
    codes: Any


def legal_many(judge: Judge, columns: Mapping[str, Iterable[Scalar]]) -> list[bool]:
    """For each row whether no rule of severity error is violated.

    Args:
        columns: facts by name, all of one length; a fact that is left out is unknown.

    Raises:
        ValueError: columns of different lengths, a fact that the schema lacks, or a value that is none of its domain.
    """
    schema = judge.ruleset.book.schemas[judge.schema]
    coded = {}
    rows = -1
    for name, values in columns.items():
        if name not in schema.fields:
            raise ValueError(f"schema '{judge.schema}' has no fact '{name}'")
        column = _column(values)
        for value in column.values:
            if isinstance(value, int) is not isinstance(schema.fields[name], Bounded) or (
                isinstance(value, str) and value not in judge.ruleset.book.domain(judge.schema, name)
            ):
                raise ValueError(f"{value!r} is not a value of '{name}'")
        if rows not in (-1, len(column.codes)):
            raise ValueError(f"'{name}' has {len(column.codes)} rows, not {rows}")
        rows = len(column.codes)
        coded[name] = column
    if rows < 0:
        return []
    verdicts = _Vectorised(coded, rows) if find_spec("numpy") is not None else _Plain(coded, rows)
    return verdicts.legal([check for check in judge.checks if check.rule.severity is Severity.ERROR])


def transposed(rows: Sequence[Mapping[str, Scalar]]) -> dict[str, list[Scalar]]:
    """Rows as columns.

    Raises:
        ValueError: a row has other facts than the first.
    """
    if not rows:
        return {}
    names = rows[0].keys()
    for i, row in enumerate(rows):
        if row.keys() != names:
            raise ValueError(f"row {i} and row 0 have different facts")
    return {name: [row[name] for row in rows] for name in names}


def _column(values: Iterable[Any]) -> Column:
    if hasattr(values, "dtype") and values.dtype.kind in "iu":
        import numpy as np  # noqa: PLC0415  a column of numpy's: it is installed

        different, inverse = np.unique(np.asarray(values), return_inverse=True)
        return Column(tuple(map(int, different)), inverse)
    if hasattr(values, "tolist"):  # numpy's strings one by one are slow
        values = values.tolist()
    numbers: dict[Any, int] = {}
    codes = [numbers.setdefault(value, len(numbers)) for value in values]
    return Column(tuple(map(_plain, numbers)), codes)


def _plain(value: Any) -> Scalar:
    """A value of Python's own, a symbol with its dot."""
    if isinstance(value, str):
        return str(value) if value.startswith(".") else f".{value}"
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise ValueError(f"{value!r} is neither an integer nor a symbol")
    return int(value)


class _Plain:
    """Verdicts of all rows as lists."""

    def __init__(self, columns: Mapping[str, Column], rows: int) -> None:
        self.columns = columns
        self.rows = rows

    def legal(self, checks: Iterable[Check]) -> list[bool]:
        """For each row whether no check finds it violated."""
        illegal = [False] * self.rows
        for check in checks:
            illegal = [i or v for i, v in zip(illegal, self.violated(check), strict=True)]
        return [not row for row in illegal]

    def violated(self, check: Check) -> Any:
        names = [name for name in sorted(check.rule.facts) if name in self.columns]
        if not names:
            return [check({}) is False] * self.rows
        values = [self.columns[name].values for name in names]
        answers: dict[tuple[int, ...], bool] = {}
        found = []
        for codes in zip(*(self.columns[name].codes for name in names), strict=True):
            answer = answers.get(codes)
            if answer is None:
                facts = {name: options[code] for name, options, code in zip(names, values, codes, strict=True)}
                answer = answers[codes] = check(facts) is False
            found.append(answer)
        return found


class _Vectorised(_Plain):
    """Verdicts of all rows as numpy arrays."""

    def __init__(self, columns: Mapping[str, Column], rows: int) -> None:
        import numpy  # noqa: PLC0415  only where it is installed

        self.np = numpy
        coded = {name: Column(c.values, numpy.asarray(c.codes, dtype=numpy.int64)) for name, c in columns.items()}
        super().__init__(coded, rows)

    def legal(self, checks: Iterable[Check]) -> list[bool]:
        """For each row whether no check finds it violated; known violations are not evaluated again."""
        verdict = self.np.zeros(self.rows, dtype=bool)
        left = self.np.arange(self.rows)  # the rows that the columns still hold
        legal = self.np.ones(self.rows, dtype=bool)  # of those
        for check in checks:
            legal &= ~self.violated(check)
            if 2 * self.np.count_nonzero(legal) < self.rows:
                left = left[legal]
                self.columns = {name: Column(c.values, c.codes[legal]) for name, c in self.columns.items()}
                self.rows = len(left)
                legal = self.np.ones(self.rows, dtype=bool)
        verdict[left[legal]] = True
        return verdict.tolist()

    def violated(self, check: Check) -> Any:
        names = [name for name in sorted(check.rule.facts) if name in self.columns]
        if not names:
            return self.np.full(self.rows, check({}) is False)
        values = [self.columns[name].values for name in names]
        combined = self.np.zeros(self.rows, dtype=self.np.int64)
        count = 1
        for name, options in zip(names, values, strict=True):
            combined = combined * len(options) + self.columns[name].codes
            count *= len(options)
        if count <= min(_DENSE, 4 * self.rows):
            occurs = self.np.bincount(combined, minlength=count) > 0
            points: Iterable[tuple[Scalar, ...]] = product(*values)
        else:
            _, first, combined = self.np.unique(combined, return_index=True, return_inverse=True)
            occurs = self.np.ones(len(first), dtype=bool)
            rows = zip(*(self.columns[name].codes[first] for name in names), strict=True)
            points = (tuple(known[code] for known, code in zip(values, row, strict=True)) for row in rows)
        answers = [
            bool(there) and check(dict(zip(names, point, strict=True))) is False
            for there, point in zip(occurs, points, strict=True)
        ]
        return self.np.array(answers, dtype=bool)[combined]
