"""Kernels checked in the program that compiles them: what the hooks for CuTe DSL and Triton share.

    import tileproof
    tileproof.cute_dsl.enable()           # or, before the program starts, TILEPROOF=1 and `import tileproof`
    cute.compile(gemm, a, b, c)           # raises tileproof.KernelError where the kernel is wrong

A hook changes nothing of what is compiled. ``disable()``, or the end of a ``with`` block, takes it away.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

from tileproof.base.records import dataclass
from tileproof.base.source import Source
from tileproof.report.values import Report

ACTIONS = ("raise", "warn", "collect")


class KernelError(RuntimeError):
    """A kernel is wrong; ``report`` says how."""

    def __init__(self, message: str, report: Report) -> None:
        super().__init__(message)
        self.report = report


class KernelWarning(UserWarning):
    """A kernel is wrong."""


@dataclass(slots=True)
class Kernel:
    """A kernel that was compiled.

    Attributes:
        name: the name of its Python function.
    """

    name: str
    report: Report

    @property
    def wrong(self) -> bool:
        """Whether it has an error."""
        return any(file.wrong for file in self.report.files)

    def __str__(self) -> str:
        """The report as text."""
        from tileproof.report import text  # noqa: PLC0415

        return "\n".join((f"kernel {self.name}:", *text.render(self.report)))


class Watch:
    """The kernels that were compiled while a hook was in place.

    Attributes:
        kernels: in the order in which they were compiled.
    """

    def __init__(self, action: str, check: Callable[[Source], Report], remove: Callable[[Watch], None]) -> None:
        self.action = action
        self.check = check
        self.remove = remove
        self.kernels: list[Kernel] = []

    def compiled(self, name: str, text: str, suffix: str) -> None:
        """Check a kernel, and raise or warn where it is wrong.

        Raises:
            KernelError: it is wrong, and the action is ``raise``.
        """
        kernel = Kernel(name, self.check(Source(f"{name}{suffix}", text)))
        self.kernels.append(kernel)
        if not kernel.wrong or self.action == "collect":
            return
        if self.action == "warn":
            warnings.warn(str(kernel), KernelWarning, stacklevel=2)
        else:
            raise KernelError(str(kernel), kernel.report)

    def disable(self) -> None:
        """Take the hook away; once more does nothing."""
        self.remove(self)

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, *_: object) -> None:
        self.disable()


def watch(
    action: str, options: dict[str, object], add: Callable[[Watch], None], remove: Callable[[Watch], None]
) -> Watch:
    """A new watch, added.

    Args:
        options: of ``tileproof.check``: ``target``, ``contract``, ``select``, ``ignore``, ``thorough``,
            ``block``, ``cluster``.

    Raises:
        ValueError: an unknown action, option, contract, target or rule.
    """
    from tileproof import api  # noqa: PLC0415
    from tileproof.judge.launches import stated_launches  # noqa: PLC0415
    from tileproof.judge.outcome import Options  # noqa: PLC0415

    if action not in ACTIONS:
        raise ValueError(f"unknown action '{action}'; use {', '.join(ACTIONS)}")
    unknown = options.keys() - {"target", "contract", "select", "ignore", "thorough", "block", "cluster"}
    if unknown:
        raise ValueError(f"unknown options {', '.join(sorted(unknown))}; use those of tileproof.check")
    given = {
        name: tuple(value) if isinstance(value, Sequence) and name in ("select", "ignore") else value
        for name, value in options.items()
        if name not in ("block", "cluster")
    }
    launches = stated_launches(options.get("block"), options.get("cluster"))
    book = api.load_rules()
    wanted = Options(**{"contract": "ptx", "launches": launches, **given})  # type: ignore[arg-type]
    api.validate(book, wanted)
    found = Watch(action, lambda source: api.check_all(book, [source], wanted), remove)
    add(found)
    return found


def function_being_compiled(frame: FrameType | None, local: str) -> str | None:
    """The name of the function that some caller has in a local variable."""
    while frame is not None:
        value = frame.f_locals.get(local)
        name = getattr(value, "__name__", None)
        if isinstance(name, str):
            return name
        frame = frame.f_back
    return None


@contextmanager
def collecting(enablers: Sequence[Callable[..., Watch]], **options: object) -> Iterator[list[Watch]]:
    """Watches of all frameworks that are loaded, which collect."""
    watches: list[Watch] = []
    try:
        for enable in enablers:
            watches.append(enable("collect", **options))
        yield watches
    finally:
        for one in watches:
            one.disable()
