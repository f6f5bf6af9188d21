"""From text to trees: every grammar under ``grammar/`` is read in this package, by Lark (``driver``).

Types and layouts repeat the same few forms by the thousand: ``types`` and ``layouts`` read what is well-formed with a
pattern for its tokens and a few lines, in a fifth of the time, and leave every other text to the grammar, which says
what is wrong. Lark is imported only then; a test holds that both readings agree.
"""

from __future__ import annotations

MAX_LENGTH = 4_000_000
MAX_NESTING = 64
MAX_DIGITS = 19  # of a 64-bit integer


class SyntaxFault(ValueError):
    """Text that its grammar does not accept.

    Attributes:
        start, end: offsets into the text, in characters.
    """

    def __init__(self, message: str, start: int, end: int) -> None:
        super().__init__(message)
        self.start = start
        self.end = max(end, start)
