"""Results of files that did not change, kept in the cache: what a text gives under the same rules, options and code.

What a finding depends on outside its file, comments in the user's source and the settings of files, is not kept but
applied anew. Entries are bounded in all: those that were not used for longest go.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import cast

from tileproof import __version__
from tileproof.base import cache, pickles, resources
from tileproof.base.digest import blake2b
from tileproof.base.files import replace_bytes
from tileproof.base.records import replace
from tileproof.base.source import Source
from tileproof.judge.outcome import FileReport, Options

MOST_BYTES = 100_000_000
_SUFFIX = ".result"


def state_of(files: tuple[Source, ...]) -> str:
    """What results depend on besides text and options: the rule files, and the code, by its files' times and sizes."""
    digest = blake2b(__version__.encode())
    for file in files:
        digest.update(f"{file.name}\0{file.text}\0".encode())
    folders = [str(resources.PACKAGE)]
    while folders:
        with os.scandir(folders.pop()) as inside:
            for one in sorted(inside, key=lambda entry: entry.name):
                if one.is_dir():
                    folders.append(one.path)
                elif one.name.endswith(".py"):
                    stat = one.stat()
                    digest.update(f"{one.path}\0{stat.st_mtime_ns}\0{stat.st_size}\0".encode())
    return digest.hexdigest()


def kept(source: Source, options: Options, ptx: bool, make: Callable[[], FileReport]) -> FileReport:
    """The result of ``make``, from the cache where that has it; always made where ``options.state`` is empty."""
    path = _path(source, options, ptx)
    if path is None:
        return make()
    try:
        found = cast(FileReport, _Reader(io.BytesIO(path.read_bytes()), source).load())
        os.utime(path)
        return found
    except Exception:  # it is not there; a damaged one may raise anything
        found = make()
    content = io.BytesIO()
    _Writer(content, source).dump(found)
    with suppress(OSError):
        replace_bytes(path, content.getvalue())
    return found


def is_known(source: Source, options: Options, ptx: bool) -> bool:
    """Whether the cache has a result."""
    path = _path(source, options, ptx)
    return path is not None and path.exists()


def _path(source: Source, options: Options, ptx: bool) -> Path | None:
    """Where the result of a text is kept; None where none is."""
    where = folder() if options.state else None
    if where is None:
        return None
    asked = replace(options, root="", per_file_ignores=(), severities=(), statistics=False)
    digest = blake2b(f"{asked}\0{ptx}\0{source.text}".encode("utf-8", "surrogatepass"))
    return where / f"{digest.hexdigest()[:40]}{_SUFFIX}"


def prune(most: int = MOST_BYTES) -> None:
    """Remove what was not used for longest, until the rest is no larger than so many bytes."""
    where = folder()
    if where is None:
        return
    try:
        with os.scandir(where) as inside:
            entries = sorted(((one.stat().st_mtime_ns, one.stat().st_size, one.path) for one in inside), reverse=True)
        total = 0
        for _, size, path in entries:
            total += size
            if total > most:
                Path(path).unlink(missing_ok=True)
    except OSError:
        pass


def folder() -> Path | None:
    """Where results are kept; None where there is no cache."""
    home = cache.folder()
    if home is None:
        return None
    try:
        (home / "results").mkdir(mode=0o700, exist_ok=True)
    except OSError:
        return None
    return home / "results"


class _Writer(pickles.Pickler):
    """Leaves the text out: who asks has it."""

    def __init__(self, file: io.BytesIO, source: Source) -> None:
        super().__init__(file, pickles.NEWEST)
        self.source = source

    def persistent_id(self, value: object) -> str | None:
        return "source" if value is self.source else None


class _Reader(pickles.Unpickler):
    def __init__(self, file: io.BytesIO, source: Source) -> None:
        super().__init__(file)
        self.source = source

    def persistent_load(self, _: object) -> Source:
        return self.source
