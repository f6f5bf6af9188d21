"""``layout``: expressions of the layout algebra, one at a time or a stream of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from tileproof.calculate.evaluate import FUNCTIONS, evaluate
from tileproof.layout import LayoutError, Value, show_value
from tileproof.syntax import SyntaxFault


class ExpressionError(ValueError):
    """An expression without a value; the message says why in one sentence."""


def value_of(expression: str) -> str:
    """The value of an expression, printed as CuTe prints it.

    Raises:
        ExpressionError: the text is not an expression, or an operation in it has no result.
    """
    return show_value(evaluated(expression))


def evaluated(expression: str) -> Value:
    """The value of an expression.

    Raises:
        ExpressionError: the text is not an expression, or an operation in it has no result.
    """
    try:
        return evaluate(expression)
    except SyntaxFault as fault:
        raise ExpressionError(f"column {fault.start + 1}: {fault}") from None
    except LayoutError as refused:
        raise ExpressionError(str(refused)) from None


def answers(lines: Iterable[str]) -> Iterator[str]:
    """For each line ``{"expr": ...}`` a line ``{"result": ...}`` or ``{"error": ...}``; blank lines are skipped."""
    for line in lines:
        if line.strip():
            yield json.dumps(_answer(line))


def _answer(line: str) -> dict[str, str]:
    try:
        asked = json.loads(line)
    except (ValueError, RecursionError) as error:
        return {"error": f"invalid JSON: {error}"}
    expression = asked.get("expr") if isinstance(asked, dict) else None
    if not isinstance(expression, str):
        return {"error": 'expected an object with a string "expr"'}
    try:
        return {"result": value_of(expression)}
    except ExpressionError as error:
        return {"error": str(error)}


def functions() -> Iterator[str]:
    """One line a function of the expression language."""
    names = [f"{name}({function.signature})" for name, function in FUNCTIONS.items()]
    width = max(map(len, names))
    for name, function in zip(names, FUNCTIONS.values(), strict=True):
        yield f"{name.ljust(width)}  {function.doc}"
