"""Regular expressions that are compiled when they are first used, and then kept.

Compiling one takes a fifth of a millisecond. The modules that check a file state a hundred and seventy, and it needs
fifty. What the standard library compiles one to, numbers for its matcher, is kept with the code of modules: to make a
pattern of them takes 4 microseconds. How to ask for the numbers is not documented; where it is otherwise than here,
the pattern is compiled as usual.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from tileproof.base.kept_code import is_open, made

__all__ = ["regex"]


class _Pattern:
    """What ``re.compile`` gives, made when an attribute of it is asked for; from then on this has its attributes."""

    def __init__(self, text: str, flags: int = 0) -> None:
        self._stated = (text, flags)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        compiled = _compiled(*self._stated)
        vars(self).update({one: getattr(compiled, one) for one in dir(compiled) if not one.startswith("_")})
        return getattr(compiled, name)


def _compiled(text: str, flags: int) -> re.Pattern[str]:
    if not is_open():
        return re.compile(text, flags)
    try:
        import _sre  # type: ignore[import-not-found]  # noqa: PLC0415

        parts = made(f"pattern {_sre.MAGIC}", f"{int(flags)} {text}", lambda: _parts(text, flags))
        pattern: re.Pattern[str] = _sre.compile(*parts)
        return pattern
    except (ImportError, AttributeError, TypeError, ValueError, RuntimeError):
        return re.compile(text, flags)


def _parts(text: str, flags: int) -> tuple[Any, ...]:
    """What ``re.compile`` gives to its matcher."""
    from re import _compiler, _parser  # type: ignore[attr-defined]  # noqa: PLC0415

    tree = _parser.parse(text, flags)
    code = [int(one) for one in _compiler._code(tree, flags)]
    groups: dict[str, int] = tree.state.groupdict
    names: list[str | None] = [None] * tree.state.groups
    for name, place in groups.items():
        names[place] = name
    return (text, int(flags | tree.state.flags), code, tree.state.groups - 1, groups, tuple(names))


if TYPE_CHECKING:
    from re import compile as regex  # what a pattern is to its users
else:
    regex = _Pattern
