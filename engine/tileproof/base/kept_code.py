"""Compiled code of this installation, kept in one file of the cache.

To start costs more than to check a small kernel, and most of the start is to make code: of two hundred modules, of the
functions that rules and records become, of regular expressions. The interpreter keeps the first only, beside the
sources, in a file a module, and not where the sources cannot be written or ``PYTHONDONTWRITEBYTECODE`` is set, as it is
in most containers; then each start compiles them all. That variable asks not to write beside the sources, which nothing
here does: the file is in the cache of tileproof, and there is none where ``TILEPROOF_CACHE_DIR`` is empty.

The file begins with what it was made by and an index. An entry has a *stamp*, what must be the same for it to hold (of
a module time and size of its source), and a sum, by which damage is known before it is executed. A run adds what it
lacked when it ends. Only the command line opens the file: a library leaves its users' cache alone unless asked.
"""

from __future__ import annotations

import marshal
import os
import sys
from zlib import crc32

from tileproof import __version__
from tileproof.base.cache_folder import cache_folder, ours

TYPE_CHECKING = False  # as type checkers know it; `typing` takes longer to load than this
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType
    from typing import Any, TypeAlias

    Stamp: TypeAlias = "tuple[int, ...]"
    Place: TypeAlias = "tuple[Stamp, int, int, int]"  # stamp, first byte, length, sum

MOST_BYTES = 32_000_000  # beyond, what a run did not use goes
PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120  see `cache_folder`
_HEAD = 65536  # bytes in which the index usually ends
_WORD = 4  # bytes of a number in the file


class KeptCode:
    """The entries of one file, and what a run adds to them."""

    def __init__(self, path: str, maker: bytes) -> None:
        self.path = path
        self._maker = maker
        self._places: dict[str, Place] = {}
        self._file = -1
        self._first = 0
        self._used: dict[str, tuple[Stamp, bytes]] = {}
        self._changed = False
        self._open()

    def _open(self) -> None:
        """Find what the file has; nothing, where there is none or it is not what we wrote."""
        try:
            file = os.open(self.path, os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0))
        except OSError:
            return
        self._file = file
        status = os.fstat(file)
        start = len(self._maker)
        begin = start + 2 * _WORD
        head = self._part(0, _HEAD)
        size, found = (int.from_bytes(head[at : at + _WORD], "big") for at in (start, start + _WORD))
        if ours(status) and head[:start] == self._maker and 0 < size < status.st_size:
            index = head[begin : begin + size] if begin + size <= len(head) else self._part(begin, size)
            if crc32(index) == found:
                self._places = marshal.loads(index)
                self._first = begin + size

    def _part(self, at: int, size: int) -> bytes:
        """Bytes of the file: to read all of it takes longer than the parts that a run needs."""
        try:
            if hasattr(os, "pread"):  # processes that are forked share the place that is read next
                return os.pread(self._file, size, at)
            os.lseek(self._file, at, os.SEEK_SET)
            return os.read(self._file, size)
        except OSError:
            return b""

    def _close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
        self._places, self._file = {}, -1

    def knows(self, key: str) -> bool:
        """Whether there is an entry, of whatever stamp."""
        return key in self._places

    def find(self, key: str, stamp: Stamp) -> Any:
        """The value of a key, None where there is none with this stamp."""
        part = self._kept(key)
        if part is None or stamp != self._places[key][0]:
            return None
        self._used[key] = (stamp, part)
        return marshal.loads(part)

    def _kept(self, key: str) -> bytes | None:
        """The bytes of an entry; None where there is none or they are damaged."""
        place = self._places.get(key)
        if place is None:
            return None
        _, at, size, found = place
        part = self._part(self._first + at, size)
        return part if crc32(part) == found else None

    def keep(self, key: str, stamp: Stamp, value: Any) -> None:
        """Add a value, which the interpreter can marshal."""
        self._used[key] = (stamp, marshal.dumps(value))
        self._changed = True

    def save(self) -> None:
        """Write the file again where something was added, with what other runs have added; nothing can fail here."""
        if not self._changed:
            return
        from contextlib import suppress  # noqa: PLC0415  few runs write
        from pathlib import Path  # noqa: PLC0415

        from tileproof.base.files import replace_bytes  # noqa: PLC0415

        self._close()
        self._open()
        parts: dict[str, tuple[Stamp, bytes]] = {}
        if sum(size for _, _, size, _ in self._places.values()) < MOST_BYTES:
            for key, (stamp, *_) in self._places.items():
                if (part := self._kept(key)) is not None:
                    parts[key] = (stamp, part)
        self._close()
        parts |= self._used
        places: dict[str, Place] = {}
        at = 0
        for key, (stamp, part) in parts.items():
            places[key] = (stamp, at, len(part), crc32(part))
            at += len(part)
        index = marshal.dumps(places)
        words = [number.to_bytes(_WORD, "big") for number in (len(index), crc32(index))]
        content = b"".join([self._maker, *words, index, *(part for _, part in parts.values())])
        with suppress(OSError):
            replace_bytes(Path(self.path), content)
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
