"""Files replaced whole or not at all: an interrupted run or a full disk leaves what was there."""

from __future__ import annotations

import os
from pathlib import Path


def replace_file(path: Path, text: str) -> None:
    """Write a text in UTF-8 to a file, which keeps its mode; a link stays one, and so does a device or a pipe.

    Raises:
        OSError: it cannot be written, and is as it was; the error names it.
    """
    try:
        _replace(path, text)
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(path)) from None


def _replace(path: Path, text: str) -> None:
    if path.exists() and not path.is_file():
        with path.open("w", encoding="utf-8", newline="") as stream:
            stream.write(text)
        return
    target = path.resolve()
    mode = target.stat().st_mode & 0o7777 if target.exists() else None
    if mode is not None and not os.access(target, os.W_OK):
        raise PermissionError(13, "Permission denied")
    replace_bytes(target, text.encode(), 0o666 & ~_umask() if mode is None else mode)


def replace_bytes(path: Path, data: bytes, mode: int = 0o600) -> None:
    """Make a file of bytes, or replace it, in one step; what was written of it goes where that fails.

    Raises:
        OSError: it cannot be written.
    """
    import tempfile  # noqa: PLC0415  most runs write nothing

    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:64]}.")
    written = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        written.chmod(mode)
        written.replace(path)
    except BaseException:
        written.unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
