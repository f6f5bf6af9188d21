"""Verdicts of a proof: proved, refuted or unknown.

A proof is about values of a kernel: coordinates, byte addresses, fields of a descriptor. A
refutation always carries such values; `unknown` always has a reason, and never counts as success.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from tileproof.base.records import dataclass

Known: TypeAlias = "int | str | bool | tuple[Known, ...]"


@dataclass(frozen=True, slots=True)
class Proved:
    """The claim holds for all values.

    Attributes:
        by: how it was decided: ``algebra``, ``enumeration`` or ``z3``.
        statement: the claim in one sentence.
        values: further results (of `--solve`: the solution).
    """

    by: str
    statement: str
    values: Mapping[str, Known]


@dataclass(frozen=True, slots=True)
class Refuted:
    """The claim is false.

    Attributes:
        message: what is wrong, in one sentence.
        counterexample: where: coordinates, indices, byte addresses, by name, in the order of printing.
    """

    by: str
    message: str
    counterexample: Mapping[str, Known]


@dataclass(frozen=True, slots=True)
class Unknown:
    """Not decided: the time budget, or a construct that cannot be expressed."""

    reason: str


Verdict: TypeAlias = Proved | Refuted | Unknown
