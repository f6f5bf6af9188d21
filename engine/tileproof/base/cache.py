"""Compiled grammars and rules, kept under the user's cache directory and found again by their content.

Compiling them takes longer than checking a kernel. Nothing here can make a run fail: what is missing, damaged or not
ours is made anew, and where nothing can be written nothing is. Entries are pickles, so only files that belong to the
user are read.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar, cast
from zlib import crc32

from tileproof import __version__
from tileproof.base import pickles
from tileproof.base.cache_folder import cache_folder, ours
from tileproof.base.digest import blake2b
from tileproof.base.files import replace_bytes

T = TypeVar("T")


def folder() -> Path | None:
    """The cache directory; None where there is none."""
    home = cache_folder()
    return Path(home) if home is not None else None


def entry(kind: str, content: Iterable[str], suffix: str = "pickle") -> Path | None:
    """The file for something made from ``content`` by this version of tileproof and Python."""
    home = folder()
    if home is None:
        return None
    digest = blake2b(f"{__version__} {sys.version}".encode())
    for text in content:
        digest.update(text.encode())
        digest.update(b"\0")
    return home / f"{kind}-{digest.hexdigest()[:32]}.{suffix}"


def made(kind: str, content: Iterable[str], make: Callable[[], T]) -> T:
    """The result of ``make``, from the cache if possible."""
    path = entry(kind, content)
    if path is None:
        return make()
    try:
        if ours(path.stat()):
            found = path.read_bytes()
            if found[:_SUM] == _sum(found[_SUM:]):
                return cast(T, pickles.loads(found[_SUM:]))
    except Exception:  # a damaged pickle may raise anything
        pass
    value = make()
    written = pickles.dumps(value, pickles.NEWEST)
    with suppress(OSError):
        replace_bytes(path, _sum(written) + written)
    return value


_SUM = 4  # bytes in front of an entry, by which a damaged one is known even where only a part of it is read at once


def _sum(content: bytes) -> bytes:
    return crc32(content).to_bytes(_SUM, "big")
