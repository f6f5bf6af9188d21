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
            return cast(T, pickle.loads(path.read_bytes()))
    except Exception:  # a damaged pickle may raise anything
        pass
    value = make()
    with suppress(OSError):
        replace_bytes(path, pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL))
    return value
