"""Compiled code of this installation, kept in one file of the cache.

To start costs more than to check a small kernel, and most of the start is to make code: of two hundred modules, of the
functions that rules and records become, of regular expressions. The interpreter keeps the first only, beside the
sources, in a file a module, and not where the sources cannot be written or ``PYTHONDONTWRITEBYTECODE`` is set, as it is
in most containers; then each start compiles them all. That variable asks not to write beside the sources, which nothing
here does: the file is in the cache of tileproof, and there is none where ``TILEPROOF_CACHE_DIR`` is empty.

A run adds what it lacked when it ends. Only the command line opens the file: a library leaves its users' cache alone
unless asked.
"""

from __future__ import annotations

import marshal
import os
import sys
from zlib import crc32

from tileproof import __version__
from tileproof.base.cache_folder import cache_folder
from tileproof.base.parts import Parts

TYPE_CHECKING = False  # as type checkers know it
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType
    from typing import Any

    from tileproof.base.parts import Stamp

MOST_BYTES = 32_000_000  # beyond, what a run did not use goes
PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120  see `cache_folder`


class KeptCode:
    """The entries of one file, and what a run adds to them."""

    def __init__(self, path: str, maker: bytes) -> None:
        self.path = path
        self._maker = maker
        self._parts = Parts(path, maker)
        self._used: dict[str, tuple[Stamp, bytes]] = {}
        self._changed = False

    def knows(self, key: str) -> bool:
        """Whether there is an entry, of whatever stamp."""
        return key in self._parts.places

    def find(self, key: str, stamp: Stamp) -> Any:
        """The value of a key, None where there is none with this stamp."""
        place = self._parts.places.get(key)
        if place is None or place[0] != stamp:
            return None
        part = self._parts.part(key)
        if part is None:
            return None
        self._used[key] = (stamp, part)
        return marshal.loads(part)

    def keep(self, key: str, stamp: Stamp, value: Any) -> None:
        """Add a value, which the interpreter can marshal."""
        self._used[key] = (stamp, marshal.dumps(value))
        self._changed = True

    def save(self) -> None:
        """Write the file again where something was added, with what other runs have added; nothing can fail here."""
        if self._changed:
            from tileproof.base.parts_written import add_parts  # noqa: PLC0415  few runs write

            self._parts.close()
            add_parts(self.path, self._maker, self._used, MOST_BYTES)
            self._changed = False


_OPEN: list[KeptCode] = []  # none, or the one of this process


def opened() -> KeptCode | None:
    """From now on code is kept in this process; None where there is no cache."""
    folder = cache_folder()
    if folder is None:
        return None
    if not _OPEN:
        maker = f"{__version__}\0{sys.version}\0{sys.flags.optimize}\0{PACKAGE}\n".encode("utf-8", "surrogateescape")
        _OPEN.append(KeptCode(f"{folder}/code-{crc32(maker):08x}.kept", maker))
    return _OPEN[0]


def is_open() -> bool:
    """Whether code is kept in this process."""
    return bool(_OPEN)


def made(kind: str, text: str, make: Callable[[], Any]) -> Any:
    """The result of ``make``, which depends on the text alone, from what is kept if it is there."""
    if not _OPEN:
        return make()
    key = f"{kind} {crc32(text.encode('utf-8', 'surrogatepass'))}"
    found = _OPEN[0].find(key, ())
    if found is not None and found[0] == text:
        return found[1]
    value = make()
    _OPEN[0].keep(key, (), (text, value))
    return value


def compiled(text: str, mode: str) -> CodeType:
    """What ``compile`` makes of a text without a file."""
    code: CodeType = made(mode, text, lambda: compile(text, "<string>", mode))
    return code
