"""``tileproof check`` with the options that hooks and editors give it, without click.

To load click takes a third of the time of a small check. What a command line says is read here only where there is
nothing to doubt about it; all else, help and mistakes among it, is click's. That both read the same is tested.
"""

from __future__ import annotations

import os
import sys

from tileproof.checking.settings import LEVELS
from tileproof.cli.options import FORMATS, errors_in_a_line, no_garbage_collection

TYPE_CHECKING = False  # as type checkers know it
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

_FLAGS = {
    "--explain-path": "explain_path",
    "--no-cache": "anew",
    "--require-verified": "require_verified",
    "--statistics": "statistics",
    "--thorough": "thorough",
}
_VALUES = {"--fail-on": ("fail_on", LEVELS), "--format": ("form", FORMATS)}


def understood(arguments: Sequence[str]) -> tuple[tuple[str, ...], dict[str, Any]] | None:
    """The files of a plain check and what it says to ``Wanted.of``; None where click is to read it.

    Args:
        arguments: of the command line, behind the name of the program.
    """
    if arguments[:1] != ["check"] or "TILEPROOF_NO_CACHE" in os.environ or os.name == "nt":
        return None
    files: list[str] = []
    given: dict[str, Any] = {}
    rest = iter(arguments[1:])
    for one in rest:
        name, equals, value = one.partition("=")
        if name in _FLAGS and not equals:
            given[_FLAGS[name]] = True
        elif name in _VALUES:
            option, values = _VALUES[name]
            given[option] = value if equals else next(rest, "")
            if given[option] not in values:
                return None
        elif one.startswith("-") and one != "-":
            return None
        else:
            files.append(one)
    return (tuple(files), given) if files else None


def run(files: tuple[str, ...], given: dict[str, Any]) -> int:
    """Check files; the exit status."""
    from tileproof.cli.checking import Wanted, check_files  # noqa: PLC0415

    try:
        with errors_in_a_line():
            with no_garbage_collection():
                wanted = Wanted.of(**given)
            return check_files(wanted, files)
    except KeyboardInterrupt:
        print("\nAborted!", file=sys.stderr)
    except BrokenPipeError:  # a reader that stops early
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for what the interpreter writes at its end
    return 1
