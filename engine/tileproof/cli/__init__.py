"""The command line: one module a command, loaded when it is named, because start-up time is a feature.

The group of all commands is in ``group``; what commands share is in ``options`` and ``checking``.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as type checkers know it; `typing` takes longer to load than all else here
if TYPE_CHECKING:
    from tileproof.cli.group import COMMANDS, main

__all__ = ["COMMANDS", "main"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'tileproof.cli' has no attribute '{name}'")
    from tileproof.cli import group  # noqa: PLC0415  `--version` needs none of it

    return getattr(group, name)
