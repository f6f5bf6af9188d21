"""Where the cache is. Apart from what is kept there, for the command line asks this before it loads anything else."""

from __future__ import annotations

import os
import sys
from functools import cache


@cache
def cache_folder() -> str | None:
    """The cache directory, made if need be; None where there is none. ``TILEPROOF_CACHE_DIR`` moves it, empty: none."""
    chosen = os.environ.get("TILEPROOF_CACHE_DIR")
    if chosen == "":
        return None
    try:
        path = chosen or _usual()
        os.makedirs(path, mode=0o700, exist_ok=True)  # noqa: PTH103  `pathlib` takes longer to import than all this
        return path if ours(os.stat(path)) else None  # noqa: PTH116
    except OSError:
        return None


def ours(status: os.stat_result) -> bool:
    """Whether a file or folder belongs to the user: what others may have written is not read."""
    return not hasattr(os, "getuid") or status.st_uid == os.getuid()


def _usual() -> str:
    """Where programs of this system keep such files."""
    if sys.platform == "linux":  # as platformdirs has it, which takes longer to import than a small file to check
        home = os.path.expanduser("~")  # noqa: PTH111
        chosen = os.environ.get("XDG_CACHE_HOME")
        if not chosen and home == "~":
            raise FileNotFoundError("the user has no home")
        return os.path.join(chosen or os.path.join(home, ".cache"), "tileproof")  # noqa: PTH118
    from platformdirs import user_cache_dir  # noqa: PLC0415

    return user_cache_dir("tileproof", appauthor=False)
