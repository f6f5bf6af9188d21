"""The kernels of a text, each to be studied by itself, so that several processes can share them.

What a study finds is returned as it is kept, by the digest of the text that it read (``kept_outcomes``). A check takes
it for what was studied before, so the report does not depend on who studied a kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial

from tileproof.base.records import dataclass
from tileproof.base.source import Source
from tileproof.checking.kept_outcomes import Kept, memory
from tileproof.judge.outcome import Options
from tileproof.protocol.runs import Outcome
from tileproof.protocol.structuring import Unstructured
from tileproof.protocol.verify import Asked, Studied
from tileproof.ptx.module import is_ptx
from tileproof.rulebase.book import Rulebook


@dataclass(frozen=True, slots=True)
class _Kernel:
    """A kernel: the names under which its outcome may be kept, and the study of it."""

    names: tuple[str, str]
    study: Callable[[], object]


class Studies:
    """The kernels of a text that a check follows."""

    def __init__(self, book: Rulebook, source: Source, options: Options) -> None:
        options = options.current(book)
        self.source = source
        self.kept = Kept(book, options)
        self.kernels = (_of_ptx if is_ptx(source) else _of_ir)(book, source, options, self.kept)

    def unknown(self) -> tuple[int, ...]:
        """The numbers of the kernels of which nothing is kept, one of each that are alike."""
        open_ = ((one.names[0], at) for at, one in enumerate(self.kernels) if not any(map(self.kept.get, one.names)))
        found: dict[str, int] = {}
        for name, at in open_:
            found.setdefault(name, at)
        return tuple(found.values())

    def study(self, number: int) -> dict[str, bytes]:
        """What a study adds to what is kept, by its name; nothing of a kernel that the text does not have."""
        self.kept.added.clear()
        with suppress(Unstructured):  # a check finds it again
            for kernel in self.kernels[number : number + 1]:
                kernel.study()
        return dict(self.kept.added)


def remember(book: Rulebook, found: Mapping[str, bytes]) -> None:
    """Let checks of this process find what was studied in others."""
    for name, content in found.items():
        memory(book).add(name, content)


def _of_ptx(book: Rulebook, source: Source, options: Options, kept: Kept) -> list[_Kernel]:
    from tileproof.checking.kept_kernels import Kernels  # noqa: PLC0415  what the other form does not need
    from tileproof.checking.ptx import followed  # noqa: PLC0415

    graphs, functions = followed(book, source)
    kernels = Kernels(book, graphs, options, kept)
    return [_Kernel(kernels.names(one), partial(kernels.outcome, one)) for one in functions]


def _of_ir(book: Rulebook, source: Source, options: Options, kept: Kept) -> list[_Kernel]:
    from tileproof.checking.kept_functions import Functions  # noqa: PLC0415  as above
    from tileproof.checking.mlir import outcomes  # noqa: PLC0415
    from tileproof.mlir.scanner import scan  # noqa: PLC0415

    read = scan(source)
    functions = Functions(book, source, read.module.aliases, options, kept)
    kernels: list[_Kernel] = []

    def note(asked: Asked, study: Studied) -> Outcome | None:
        if not asked.early:  # else its outcome is not kept
            kernels.append(_Kernel(functions.names(asked), partial(functions.outcome, asked, study)))
        return None

    if not read.faults:
        list(outcomes(book, read.module, options, note))
    return kernels


__all__ = ["Studies", "remember"]
