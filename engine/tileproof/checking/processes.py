"""Files that several processes check together, and kernels of one file that they study.

Most of the time of a check is the study of kernels. So a file that has much of all text is not left to one process: its
kernels are studied by all, and then it is checked with what they found.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextvars import ContextVar
from queue import SimpleQueue
from typing import TypeAlias

from tileproof.base.parent import end_with_parent
from tileproof.base.records import dataclass
from tileproof.base.source import Source
from tileproof.checking.file import is_checked
from tileproof.checking.reading import check_one, kernels_named, read
from tileproof.checking.studies import Studies, remember
from tileproof.judge.outcome import FileReport, Options
from tileproof.report.values import Unread
from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.load import load

_Result: TypeAlias = "FileReport | Unread | tuple[int, ...] | dict[str, bytes]"
"""What a task gives: a report; the numbers of kernels to be studied; what a study found."""

_SHARE = 4  # files with less than such a part of what a process has to check are not shared out


@dataclass(frozen=True, slots=True)
class _Work:
    """What a process that checks files is given once."""

    files: tuple[Source, ...]
    options: Options

    @property
    def book(self) -> Rulebook:
        return load(self.files)

    def begin(self) -> None:
        """Make ready: the rules are loaded, and are not looked through for garbage any more."""
        end_with_parent()
        _WORK.set(self)
        load(self.files)
        gc.disable()
        gc.freeze()


_WORK: ContextVar[_Work] = ContextVar("_WORK")
_OPEN: ContextVar[Studies | None] = ContextVar("_OPEN", default=None)
"""Those of the file of which this process studied a kernel last."""


def check_in_processes(
    jobs: int,
    names: Sequence[str],
    files: tuple[Source, ...],
    options: Options,
    progress: Callable[[], None] = lambda: None,
    more: Callable[[int], None] = lambda steps: None,
) -> list[FileReport | Unread]:
    """Check files by their names, the largest first, so that no process is left alone with one at the end.

    Args:
        files: those of the rules.
        progress: called after each file, and after each kernel that is studied by itself.
        more: told how many kernels those are, once that is known of a file.
    """
    sizes = [_size(name) for name in names]
    least = sum(sizes) // (jobs * _SHARE)  # bytes of a file that is shared out
    work = _Work(files, options)
    reports: dict[int, FileReport | Unread] = {}
    found: dict[int, dict[str, bytes]] = {}  # by studies
    left: dict[int, int] = {}  # studies, by file
    with ProcessPoolExecutor(jobs, initializer=work.begin) as pool:
        order = sorted(range(len(names)), key=lambda at: -sizes[at])
        running: dict[Future[_Result], int] = {}
        done: SimpleQueue[Future[_Result]] = SimpleQueue()

        def begin(at: int, task: Callable[..., _Result], *given: object) -> None:
            future = pool.submit(task, names[at], *given)
            running[future] = at
            future.add_done_callback(done.put)

        for at in order:
            begin(at, _check_or_share) if sizes[at] > least else begin(at, _check, {})
        while running:
            future = done.get()
            at, result = running.pop(future), future.result()
            if isinstance(result, tuple):
                found[at], left[at] = {}, len(result)
                more(len(result))
                for number in result:
                    begin(at, _study, number)
                continue
            progress()
            if isinstance(result, dict):
                found[at].update(result)
                left[at] -= 1
                if not left[at]:
                    begin(at, _check, found.pop(at))
            else:
                reports[at] = result
    return [reports[at] for at in range(len(names))]


def _size(name: str) -> int:
    try:
        return os.stat(name).st_size  # noqa: PTH116  a name that is no path has no size
    except (OSError, ValueError):
        return 0


# -- in a process that did ``_Work.begin``


def _check(name: str, studied: Mapping[str, bytes]) -> FileReport | Unread:
    """Check one file, of which something was studied before."""
    work = _WORK.get()
    remember(work.book, studied)
    report = check_one(work.book, name, work.options)
    gc.collect()  # only of this file: memory does not grow with the number of files
    return report


def _check_or_share(name: str) -> FileReport | Unread | tuple[int, ...]:
    """Check one file; or the numbers of its kernels, where several are to be studied."""
    work = _WORK.get()
    source = read(name) if kernels_named(name) > 1 and not work.options.split else None
    if isinstance(source, Source) and not is_checked(work.book, source, work.options):
        unknown = _studies(source).unknown()
        if len(unknown) > 1:
            return unknown
    return _check(name, {})


def _study(name: str, number: int) -> dict[str, bytes]:
    """What the study of one kernel of a file adds to what is kept; nothing where the file changed in between."""
    source = read(name)
    found = {} if isinstance(source, Unread) else _studies(source).study(number)
    gc.collect()
    return found


def _studies(source: Source) -> Studies:
    """The kernels of a file, which this process may know from the last one that it studied."""
    found = _OPEN.get()
    if found is None or found.source != source:
        work = _WORK.get()
        _OPEN.set(None)
        gc.unfreeze()
        gc.collect()
        found = Studies(work.book, source, work.options)
        gc.freeze()  # a text and its graphs are not looked through after each kernel
        _OPEN.set(found)
    return found


__all__ = ["check_in_processes"]
