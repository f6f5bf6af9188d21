"""Compiled grammars and rules, kept under the user's cache directory and found again by their content.

Compiling them takes longer than checking a kernel. Nothing here can make a run fail: what is missing, damaged or not
ours is made anew, and where nothing can be written nothing is. Entries are pickles, so only files that belong to the
user are read.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TypeVar, cast
from zlib import crc32

from tileproof import __version__
from tileproof.base.files import replace_bytes

T = TypeVar("T")


@cache
def folder() -> Path | None:
    """The cache directory, made if need be; None where there is none. ``TILEPROOF_CACHE_DIR`` moves it, empty: none."""
    chosen = os.environ.get("TILEPROOF_CACHE_DIR")
    if chosen == "":
        return None
    try:
        path = Path(chosen) if chosen else _usual()
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (OSError, RuntimeError):
        return None
    return path if _ours(path) else None


def _usual() -> Path:
    """Where programs of this system keep such files."""
    if sys.platform == "linux":  # as platformdirs has it, which takes longer to import than a small file to check
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tileproof"
    from platformdirs import user_cache_path  # noqa: PLC0415

    return user_cache_path("tileproof", appauthor=False)


def _ours(path: Path) -> bool:
    return not hasattr(os, "getuid") or path.stat().st_uid == os.getuid()


def entry(kind: str, content: Iterable[str]) -> Path | None:
    """The file for something made from ``content`` by this version of tileproof and Python."""
    home = folder()
    if home is None:
        return None
    digest = hashlib.sha256(f"{__version__} {sys.version}".encode())
    for text in content:
        digest.update(text.encode())
        digest.update(b"\0")
    return home / f"{kind}-{digest.hexdigest()[:32]}.pickle"


def made(kind: str, content: Iterable[str], make: Callable[[], T]) -> T:
    """The result of ``make``, from the cache if possible."""
    path = entry(kind, content)
    if path is None:
        return make()
    try:
        if _ours(path):
            found = path.read_bytes()
            if found[:_SUM] == _sum(found[_SUM:]):
                return cast(T, pickle.loads(found[_SUM:]))
    except Exception:  # a damaged pickle may raise anything
        pass
    value = make()
    written = pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
    with suppress(OSError):
        replace_bytes(path, _sum(written) + written)
    return value


_SUM = 4  # bytes in front of an entry, by which a damaged one is known even where only a part of it is read at once


def _sum(content: bytes) -> bytes:
    return crc32(content).to_bytes(_SUM, "big")
