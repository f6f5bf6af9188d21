"""``prove``: a question about layouts from its texts to a verdict, and verdicts as text and json."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tileproof.base.verdict import Known, Proved, Refuted, Unknown, Verdict
from tileproof.layout import LayoutError
from tileproof.prove.claim import Claim, decide
from tileproof.syntax import SyntaxFault


class BadQuestion(ValueError):
    """A question without an answer; the message says why in one sentence."""


def ask(question: Callable[..., Claim], *arguments: Any, seconds: float, smt2: Path | None) -> tuple[str, Verdict]:
    """The claim and the verdict. With ``smt2`` the question is also written there, for another solver.

    Raises:
        BadQuestion: the question makes no sense, or the file cannot be written.
    """
    try:
        claim = question(*arguments)
        if smt2 is not None:
            smt2.write_text(claim.script().text(), encoding="utf-8")
        return claim.statement, decide(claim, seconds)
    except SyntaxFault as fault:
        raise BadQuestion(f"column {fault.start + 1}: {fault}") from None
    except LayoutError as refused:
        raise BadQuestion(str(refused)) from None
    except OSError as error:
        raise BadQuestion(f"{smt2}: {error.strerror or error}") from None


def status(verdict: Verdict) -> int:
    """The exit status: 0 proved, 1 refuted, and 1 if unknown."""
    return 0 if isinstance(verdict, Proved) else 1


def as_json(statement: str, verdict: Verdict) -> str:
    """One object; missing parts are null."""
    found: dict[str, object] = dict.fromkeys(
        ("verdict", "by", "statement", "message", "counterexample", "reason", "values")
    )
    found["statement"] = statement
    match verdict:
        case Proved(by, full, values):
            found |= {"verdict": "proved", "by": by, "statement": full, "values": dict(values) or None}
        case Refuted(by, message, counterexample):
            found |= {"verdict": "refuted", "by": by, "message": message, "counterexample": dict(counterexample)}
        case Unknown(reason):
            found |= {"verdict": "unknown", "reason": reason}
    return json.dumps(found)


def as_text(statement: str, verdict: Verdict) -> Iterator[str]:
    """The verdict in a line, followed by its values."""
    match verdict:
        case Proved(by, full, values):
            yield f"proved by {by}: {full}"
            yield from table(dict(values))
        case Refuted(by, message, counterexample):
            yield f"refuted by {by}: {message}"
            yield from table(dict(counterexample))
        case Unknown(reason):
            yield f"unknown: {statement}: {reason}"


def table(values: Mapping[str, Known]) -> Iterator[str]:
    """Names and values below a verdict, one a line."""
    width = max(map(len, values), default=0)
    for name, value in values.items():
        shown = "  ".join(map(str, value)) if isinstance(value, tuple) else str(value)
        yield f"  {name.replace('_', ' ').ljust(width)}  {shown}"
