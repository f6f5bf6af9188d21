"""Regular expressions that are compiled when they are first used.

Compiling one takes half a millisecond. The modules that check a file state a hundred and seventy, and it needs forty.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

__all__ = ["regex"]


class _Pattern:
    """What ``re.compile`` gives, made when an attribute of it is asked for; from then on this has its attributes."""

    def __init__(self, text: str, flags: int = 0) -> None:
        self._stated = (text, flags)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        compiled = re.compile(*self._stated)
        vars(self).update({one: getattr(compiled, one) for one in dir(compiled) if not one.startswith("_")})
        return getattr(compiled, name)


if TYPE_CHECKING:
    from re import compile as regex  # what a pattern is to its users
else:
    regex = _Pattern
