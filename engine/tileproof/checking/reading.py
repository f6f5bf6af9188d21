"""A file by its name, or a text, and the check of it."""

from __future__ import annotations

from pathlib import Path

from tileproof.base.source import Source
from tileproof.checking.contents import NOTHING, refusal, text_of
from tileproof.checking.file import check_source
from tileproof.judge.outcome import FileReport, Options
from tileproof.report.values import Unread
from tileproof.rulebase.book import Rulebook

IR_SUFFIXES = (".mlir", ".ptx")
_KERNEL = (b".entry", b"cuda.kernel", b"gpu.kernel", b"nvvm.kernel")  # else each function of a text may be one


def check_one(book: Rulebook, item: str | Source | Unread, options: Options) -> FileReport | Unread:
    """Check one file, by its name, or one text; an unreadable one stays unread."""
    source = read(item)
    if isinstance(source, Unread):
        return source
    report = check_source(book, source, options)
    return Unread(source.name, NOTHING) if report.empty else report


def read(item: str | Source | Unread) -> Source | Unread:
    """The text of a file by its name, or of a text itself; or why it cannot be read: it may be neither IR nor PTX."""
    source = _loaded(item) if isinstance(item, str) else item
    if isinstance(source, Unread):
        return source
    reason = refusal(source)
    return source if reason is None else Unread(source.name, reason)


def kernels_named(name: str) -> int:
    """About how many kernels a file has, by the words that begin or mark one; 1 where it has none or cannot be read."""
    try:
        data = Path(name).read_bytes()
    except (OSError, ValueError):
        return 1
    return max(map(data.count, _KERNEL)) or max(data.count(b"func"), 1)


def _loaded(name: str) -> Source | Unread:
    try:
        return text_of(name, Path(name).read_bytes())
    except IsADirectoryError:
        return Unread(name, f"no {' or '.join(IR_SUFFIXES)} file in this directory")
    except OSError as error:
        return Unread(name, error.strerror or str(error))
    except ValueError as error:  # a name with a zero byte
        return Unread(name, str(error))


__all__ = ["IR_SUFFIXES", "check_one", "kernels_named", "read"]
