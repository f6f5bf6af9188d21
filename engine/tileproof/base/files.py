"""Files replaced whole or not at all: an interrupted run or a full disk leaves what was there."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def replace_file(path: Path, text: str) -> None:
    """Write a text in UTF-8 to a file, which keeps its mode; a link stays one.

    Raises:
        OSError: it cannot be written, and is as it was.
    """
    target = path.resolve()
    mode = target.stat().st_mode & 0o7777 if target.exists() else None
    if mode is not None and not os.access(target, os.W_OK):
        raise PermissionError(13, "Permission denied", str(path))
    replace_bytes(target, text.encode(), 0o666 & ~_umask() if mode is None else mode)


def replace_bytes(path: Path, content: bytes, mode: int = 0o600) -> None:
    """Write a file anew.

    Raises:
        OSError: it cannot be written, and is as it was.
    """
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    written = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        written.chmod(mode)
        written.replace(path)
    except BaseException:
        written.unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
