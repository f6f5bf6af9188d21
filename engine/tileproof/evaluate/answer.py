"""The answers of a search for a configuration. Apart from the solver, which loads slowly."""

from __future__ import annotations

from enum import Enum


class Answer(Enum):
    """The answer to whether something can hold. Unknown is never a proof."""

    SATISFIABLE = "satisfiable"
    UNSATISFIABLE = "unsatisfiable"
    UNKNOWN = "unknown"
