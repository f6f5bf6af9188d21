"""The user's own source, as reports show it."""

from __future__ import annotations

import os

from tileproof.base.diagnostic import Origin
from tileproof.base.records import replace


def file_of(origin: Origin) -> str:
    """The name of its file: from the working directory where it lies below that, else as the compiler wrote it."""
    try:
        near = os.path.relpath(origin.file)
    except ValueError:  # on another drive
        return origin.file
    return origin.file if near.startswith(os.pardir) else near


def place_of(origin: Origin) -> str:
    """``file:line:column``, without a column that is not known."""
    return str(replace(origin, file=file_of(origin)))


def line_of(origin: Origin) -> str:
    """The line of the source; empty where the file is not here."""
    from linecache import checkcache, getline  # noqa: PLC0415  most reports quote no source

    checkcache(origin.file)
    return getline(origin.file, origin.line).rstrip("\r\n")
