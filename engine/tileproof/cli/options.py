"""What commands share: the rule base, inputs, progress, how a report is written. Imports wait for their use."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

if TYPE_CHECKING:
    from threading import Timer

    from tileproof.base.source import Source
    from tileproof.judge.launches import StatedLaunch
    from tileproof.judge.outcome import Options
    from tileproof.report.values import Report, Unread
    from tileproof.rulebase.book import Rulebook

FORMATS = ("text", "json", "sarif", "github", "gitlab", "junit", "html")
PARALLEL_BYTES = 100_000  # from here on a second process pays for its start
_MOMENT = 1.0  # seconds


def tell(message: str) -> None:
    """One line on standard error."""
    print(message, file=sys.stderr, flush=True)


def fail(message: str) -> NoReturn:
    """One clear line, and exit status 2, also where standard output keeps what it cannot write."""
    tell(f"tileproof: {message}")
    try:
        sys.stdout.flush()
    except OSError:  # else the interpreter tries once more at its end, and exits with a status of its own
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(2)


def rule_options(command: Callable[..., Any]) -> Callable[..., Any]:
    import click  # noqa: PLC0415  a plain check does not load it

    return click.option(
        "--rules",
        "folders",
        multiple=True,
        metavar="DIR",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        help="A folder with more rule files (*.rule); repeatable.",
    )(command)


def launch_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """How kernels are launched whose text does not say it."""
    import click  # noqa: PLC0415  a plain check does not load it

    command = click.option(
        "--cluster",
        metavar="X[,Y,Z]",
        help="CTAs in a cluster, of kernels whose text does not say it: 2 or 2,1,1.",
    )(command)
    return click.option(
        "--block",
        metavar="X[,Y,Z]",
        help="Threads in a CTA, of kernels whose text does not say it: 128 or 32,4.",
    )(command)


def launches_said(
    book: Rulebook, block: str | None, cluster: str | None, options: Options | None = None
) -> tuple[StatedLaunch, ...]:
    """What the command line says of launches, and behind it what the project does; exits where no launch is so.

    Args:
        options: those of the project; None: its settings are read.
    """
    from tileproof.judge.launches import check_launches, stated_launches  # noqa: PLC0415

    if options is None:
        from tileproof.checking import settings  # noqa: PLC0415

        options = settings.find(Path.cwd()).options()
    try:
        said = stated_launches(block, cluster)
    except ValueError as error:
        fail(f"--{error}")
    launches = (*said, *options.launches)
    try:
        check_launches(book, launches)
    except ValueError as error:
        fail(str(error))
    return launches


def load_rules(
    folders: Iterable[Path], more: Iterable[Path] = (), status: int = 2, whole: bool = False
) -> tuple[Rulebook, tuple[Source, ...]]:
    """The rulebook with the project's own rules; exits with a status and the faults where it cannot be used.

    Args:
        more: rule files, which may be among those of the folders.
        whole: with the chapters that no kernel is judged by.
    """
    from tileproof.checking import settings  # noqa: PLC0415
    from tileproof.checking.implemented import load_implemented  # noqa: PLC0415
    from tileproof.rulebase.load import RuleError, default_files, rule_file, rule_files, shipped_files  # noqa: PLC0415

    files = shipped_files() if whole else default_files()
    try:
        for folder in (*settings.find(Path.cwd()).rules, *folders):
            if not folder.is_dir():
                fail(f"{folder}: no such rules folder")
            files += rule_files(folder)
        for path in more:
            if source_name(path, files) is None:
                files += (rule_file(path),)
        with no_garbage_collection():
            return load_implemented(files), files
    except RuleError as error:
        for fault in error.faults:
            tell(f"{fault.place}: error: {fault.message}")
        sys.exit(status)
    except (settings.ConfigError, OSError) as error:
        fail(str(error))


def source_name(path: Path, files: Iterable[Source]) -> str | None:
    """The name by which a rule file is loaded already: of ours, its path below the folder that holds rules/."""
    from tileproof.base import resources  # noqa: PLC0415

    ours = resources.folder("rules").resolve().parent
    wanted = path.resolve()
    return next((file.name for file in files if wanted in (Path(file.name).resolve(), ours / file.name)), None)


@contextmanager
def errors_in_a_line() -> Iterator[None]:
    """What cannot be written, on a full disk say, is one line and exit status 2."""
    try:
        yield
    except BrokenPipeError:  # a reader that stops early, which is no error
        raise
    except OSError as error:
        fail(f"{error.filename or 'standard output'}: {error.strerror or error}")


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Reading IR and rules makes many small values and no cycles: collecting cycles is a third of the time."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.unfreeze()  # now all that was made counts as old: to look through it at once would be a twentieth again
        gc.enable()


def listed(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(item for value in values for item in value.replace(",", " ").split())


def inputs(name: str) -> list[str | Source | Unread]:
    """The inputs of an argument: standard input, a file, the IR below a directory, or the matches of a glob."""
    from tileproof import api  # noqa: PLC0415
    from tileproof.checking.contents import text_of  # noqa: PLC0415

    if name == "-":
        return [text_of("-", sys.stdin.buffer.read())]
    if any(mark in name for mark in "*?[") and not os.path.lexists(name):
        from glob import glob  # noqa: PLC0415

        if matches := sorted(glob(name, recursive=True)):  # noqa: PTH207  Path.glob() raises on some patterns
            return [item for match in matches for item in api.expand(match)]
    return list(api.expand(name))


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def processes(jobs: int | None, items: list[str | Source | Unread]) -> int:
    """How many processes to use: as many as are asked for (0: one per core), else by the sizes of the files."""
    if jobs is not None:
        return jobs or cores()
    sizes = (os.stat(item).st_size for item in items if isinstance(item, str) and os.path.isfile(item))  # noqa: PTH113, PTH116  as given
    return cores() if sum(sizes) > PARALLEL_BYTES else 1


class progress:  # noqa: N801  reads as a function
    """A progress bar on a terminal for what takes longer than a moment; nothing in a pipe.

    Args:
        total: the steps, None where they are not known.
    """

    def __init__(self, total: int | None, what: str = "checking") -> None:
        self.total = total
        self.what = what
        self.done = 0
        self.timer: Timer | None = None
        self.bar: Any = None

    def __enter__(self) -> progress:
        if sys.stderr.isatty():
            from threading import Timer  # noqa: PLC0415

            self.timer = Timer(_MOMENT, self.show)
            self.timer.daemon = True
            self.timer.start()
        return self

    def __call__(self) -> None:
        """One more step is done."""
        self.done += 1
        self.tell()

    def more(self, steps: int) -> None:
        """There are more steps."""
        if self.total is not None:
            self.total += steps
        self.tell()

    def show(self) -> None:
        from rich.console import Console  # noqa: PLC0415
        from rich.progress import Progress  # noqa: PLC0415

        bar = Progress(console=Console(stderr=True), transient=True)
        bar.add_task(self.what, total=None)
        bar.start()
        self.bar = bar
        self.tell()

    def tell(self) -> None:
        if self.bar is not None:  # of a single step nothing is known but that it is not done
            self.bar.update(0, total=None if self.total == 1 else self.total, completed=self.done)

    def __exit__(self, *_: object) -> None:
        if self.timer is not None:
            self.timer.cancel()
            self.timer.join()
        if self.bar is not None:
            self.bar.stop()


def write(report: Report, form: str, colourless: bool, file: TextIO | None = None) -> None:
    """Write a report to a file, or to standard output; what could not be read also to standard error."""
    from importlib import import_module  # noqa: PLC0415

    module = import_module(f"tileproof.report.{form}")
    colour = False
    if form == "text":
        wanted = sys.stdout.isatty() or os.environ.get("FORCE_COLOR", "0") not in ("", "0")
        colour = file is None and wanted and not colourless and not os.environ.get("NO_COLOR")
        lines: Iterable[str] = module.render(report, module.coloured if colour else module.plain)
    elif form == "html":
        from tileproof.drawing.findings import pictures_of  # noqa: PLC0415  what no other format needs

        lines = [module.render(report, pictures_of(report))]
    else:
        rendered = module.render(report)
        lines = [rendered] if isinstance(rendered, str) else rendered
    for line in lines:
        print(line, file=file)
    print(end="", file=file, flush=True)  # a reader that is gone is noticed here, not when the interpreter ends
    for unread in report.unread:
        tell(f"tileproof: {unread.name}: {unread.reason}")
