"""The errors of operations of the algebra without a result."""

from __future__ import annotations


class LayoutError(ValueError):
    """An operation that has no result. The message is one sentence: which mode failed which condition.

    Attributes:
        wording: the complaint of the ``cute`` dialect's own verifier for the same fault, where it has one.
    """

    def __init__(self, message: str, wording: str = "") -> None:
        super().__init__(message)
        self.wording = wording or message
