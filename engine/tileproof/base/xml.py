"""What no XML document can hold, and what stands in its place."""

from __future__ import annotations

from tileproof.base.patterns import regex

_OUTSIDE = regex("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # XML 1.0, production 2


def writable(text: str) -> str:
    """A text with the replacement character for each one that XML does not allow."""
    return _OUTSIDE.sub("\ufffd", text)
