"""A file of parts, each of which is read when it is asked for.

The file begins with what it was made by and an index. Each part has a *stamp*, what must be the same for it to hold (of
a module time and size of its source), and a sum, by which damage is known before anything is made of it. To read all of
such a file takes longer than all that a run needs of it. What is damaged, foreign or another user's has no parts.
"""

from __future__ import annotations

import marshal
import os
from zlib import crc32

from tileproof.base.cache_folder import ours

TYPE_CHECKING = False  # as type checkers know it; `typing` takes longer to load than this
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    Stamp: TypeAlias = "tuple[int, ...]"
    Place: TypeAlias = "tuple[Stamp, int, int, int]"  # stamp, first byte, length, sum

WORD = 4  # bytes of a number in the file
_HEAD = 65536  # bytes in which the index usually ends


class Parts:
    """The parts of a file; none where it is not what we wrote."""

    def __init__(self, path: str, maker: bytes) -> None:
        self.places: dict[str, Place] = {}
        self._file = -1
        self._first = 0
        try:
            self._file = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0))
            status = os.fstat(self._file)
        except OSError:
            return
        start = len(maker)
        begin = start + 2 * WORD
        head = self._read(0, _HEAD)
        size, found = (int.from_bytes(head[at : at + WORD], "big") for at in (start, start + WORD))
        if ours(status) and head[:start] == maker and 0 < size < status.st_size:
            index = head[begin : begin + size] if begin + size <= len(head) else self._read(begin, size)
            if crc32(index) == found:
                self.places = marshal.loads(index)
                self._first = begin + size

    def part(self, key: str) -> bytes | None:
        """The bytes of a part; None where there is none or they are damaged."""
        place = self.places.get(key)
        if place is None:
            return None
        _, at, size, found = place
        part = self._read(self._first + at, size)
        return part if crc32(part) == found else None

    def __del__(self, close: Callable[[int], None] = os.close) -> None:
        if self._file >= 0:
            close(self._file)

    def _read(self, at: int, size: int) -> bytes:
        try:
            if hasattr(os, "pread"):  # processes that are forked share the place that is read next
                return os.pread(self._file, size, at)
            os.lseek(self._file, at, os.SEEK_SET)
            return os.read(self._file, size)
        except OSError:
            return b""

    def close(self) -> None:
        """Read no more of it: some systems replace no file that is open."""
        self.places = {}
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
