"""Many configurations of one schema at once, for autotuners.

A rule reads few facts, and a fact has few different values among many configurations. So each column is numbered once,
each rule is evaluated only for the distinct combinations of the facts it reads, and its answers are spread over the
rows. With numpy the spreading is done by numpy; without, by a dictionary.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from itertools import product
from typing import Any

from tileproof.base.diagnostic import Severity
from tileproof.base.records import dataclass
from tileproof.evaluate.python import Check, Judge
from tileproof.rulebase.declarations import Bounded
from tileproof.rulebase.expression import Scalar

DENSE = 1 << 20  # combinations up to which a table of all is cheaper than looking for those that occur


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
        ValueError: columns of different lengths, what is no column, a fact that the schema lacks, or a value that is
            none of its domain.
    """
    schema = judge.ruleset.book.schemas[judge.schema]
    coded = {}
    rows = -1
    for name, values in columns.items():
        if name not in schema.fields:
            raise ValueError(f"schema '{judge.schema}' has no fact '{name}'")
        try:
            column = _column(values)
        except TypeError:
            raise ValueError(f"'{name}' is no column of integers and names") from None
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
    """A column numbered; one of numpy's by numpy, whole columns at a time."""
    dtype = getattr(values, "dtype", None)
    if dtype is not None and dtype.kind in "iuU" and len(values) and values.ndim == 1:  # type: ignore[arg-type, attr-defined]
        found = _integers(values) if dtype.kind in "iu" else _symbols(values)
        if found is not None:
            return found
    if hasattr(values, "tolist"):
        values = values.tolist()
    elif not isinstance(values, list | tuple):
        values = list(values)
    numbers: dict[Any, int] = {value: i for i, value in enumerate(dict.fromkeys(values))}
    codes = map(numbers.__getitem__, values)
    return Column(tuple(map(_plain, numbers)), bytes(codes) if len(numbers) <= 256 else array("q", codes))


def _integers(values: Any) -> Column:
    """A column of integers: those of a narrow range are counted, which needs no sorting."""
    import numpy as np  # noqa: PLC0415  a column of numpy's: it is installed

    first, last = int(values.min()), int(values.max())
    if last - first >= DENSE or not -(1 << 62) < first <= last < 1 << 62:
        different, codes = np.unique(values, return_inverse=True)
        return Column(tuple(map(int, different)), codes)
    shifted = values.astype(np.int64) - first
    occurring = np.flatnonzero(np.bincount(shifted))
    numbers = np.zeros(last - first + 1, dtype=np.int64)
    numbers[occurring] = np.arange(len(occurring))
    return Column(tuple([first + int(value) for value in occurring]), numbers[shifted])


def _symbols(values: Any) -> Column | None:
    """A column of short strings of one byte a letter, read as integers of eight bytes; None for others."""
    import numpy as np  # noqa: PLC0415  a column of numpy's: it is installed

    width = values.dtype.itemsize // 4
    if width > _LETTERS or not values.dtype.isnative:
        return None
    letters = np.ascontiguousarray(values).view(np.uint32).reshape(len(values), width)
    if np.bitwise_or.reduce(letters, axis=None) > 0xFF:
        return None
    words = np.zeros((len(values), -(-width // 8)), dtype=np.uint64)
    words.view(np.uint8)[:, :width] = letters
    codes, count = _numbered(words[:, 0])
    for i in range(1, words.shape[1]):
        more, of_more = _numbered(words[:, i])
        codes, count = _numbered(codes.astype(np.uint64) * np.uint64(of_more) + more.astype(np.uint64))
    first = np.empty(count, dtype=np.int64)
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)  # of those that are assigned to one place the last stays
    return Column(tuple([_plain(str(value)) for value in values[first]]), codes)


_LETTERS = 32  # longer symbols are numbered one by one


def _numbered(keys: Any) -> tuple[Any, int]:
    """Integers of 64 bits as numbers from 0 on, equal for equal ones, and how many there are.

    Few are different: those of the first rows are sought among all, and then those that are missing.
    """
    import numpy as np  # noqa: PLC0415  a column of numpy's: it is installed

    known = np.unique(keys[:_FIRST])
    while True:
        codes = _places(known, keys)
        missing = keys[known[codes] != keys]
        if not len(missing):
            return codes, len(known)
        known = np.union1d(known, missing)


_FIRST = 4096


def _places(known: Any, keys: Any) -> Any:
    """For each key its place among those that are known, in their order; for another key any place.

    The highest bits of a product address a table, where a factor is found by which no two known keys collide.
    """
    import numpy as np  # noqa: PLC0415  a column of numpy's: it is installed

    for factor in _FACTORS:
        addresses = (known * np.uint64(factor)) >> np.uint64(64 - _BITS)
        if len(np.unique(addresses)) == len(known):
            table = np.zeros(1 << _BITS, dtype=np.uint8 if len(known) <= 256 else np.int64)
            table[addresses] = np.arange(len(known))
            return table[(keys * np.uint64(factor)) >> np.uint64(64 - _BITS)]
    return np.minimum(np.searchsorted(known, keys), len(known) - 1)


_BITS = 12
_FACTORS = tuple(0x9E3779B97F4A7C15 * (2 * i + 1) % (1 << 64) for i in range(16))  # of the golden ratio, odd


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

    def legal(self, checks: Sequence[Check]) -> list[bool]:
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
        read = dict(columns)
        kinds: dict[type, Any] = {bytes: numpy.uint8, array: numpy.int64}
        for name, column in columns.items():
            if type(column.codes) in kinds:
                read[name] = Column(column.values, numpy.frombuffer(column.codes, kinds[type(column.codes)]))
        super().__init__(read, rows)

    def legal(self, checks: Sequence[Check]) -> list[bool]:
        """For each row whether no check finds it violated; known violations are not evaluated again."""
        verdict = self.np.zeros(self.rows, dtype=bool)
        left = self.np.arange(self.rows)  # the rows that the columns still hold
        legal = self.np.ones(self.rows, dtype=bool)  # of those
        for i, check in enumerate(checks):
            legal &= ~self.violated(check)
            if 2 * self.np.count_nonzero(legal) < self.rows:
                kept = self.np.flatnonzero(legal)
                left = left[kept]
                read = frozenset[str]().union(*(check.rule.facts for check in checks[i + 1 :]))
                self.columns = {n: Column(c.values, c.codes[kept]) for n, c in self.columns.items() if n in read}
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
            combined *= len(options)
            combined += self.columns[name].codes
            count *= len(options)
        if count <= min(DENSE, 4 * self.rows):
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
