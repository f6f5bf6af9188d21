"""The places of findings in the source that the IR was compiled from, by the locations that it carries.

CuTe DSL prints them where CUTE_DSL_LINEINFO is set, MLIR tools with -mlir-print-debuginfo.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from functools import cached_property
from operator import attrgetter

from tileproof.base.diagnostic import Diagnostic, Origin
from tileproof.base.patterns import regex
from tileproof.base.records import replace
from tileproof.base.source import Source
from tileproof.mlir.ir import Module, Operation
from tileproof.syntax import SyntaxFault
from tileproof.syntax.locations import aliases, frames

_LOCATION = regex(r"\bloc\s*\(")
_LIBRARY = regex(r"[\\/](?:site|dist)-packages[\\/]|[\\/]lib[\\/]python\d[\d.]*[\\/]|^<")


def own_first(places: Sequence[Origin]) -> tuple[Origin, ...]:
    """Places from the innermost call outwards, the innermost one that no installed library holds in front."""
    own = next((one for one in places if _LIBRARY.search(one.file) is None), None)
    return tuple(places) if own is None else (own, *(one for one in places if one != own))


class Origins:
    """The locations of a module."""

    def __init__(self, source: Source, module: Module) -> None:
        self.source = source
        self.module = module

    @cached_property
    def named(self) -> dict[str, str]:
        return aliases(self.source.text)

    @cached_property
    def operations(self) -> list[Operation]:
        return sorted(self.module.walk(), key=attrgetter("span.start"))

    def at(self, offset: int) -> tuple[Origin, ...]:
        """The places that the operation around an offset comes from, the user's own first; none where it says none."""
        above = bisect_right(self.operations, offset, key=attrgetter("span.start"))
        around = (one for one in reversed(self.operations[:above]) if offset < one.span.end)
        operation = next(around, None)
        if operation is None:
            return ()
        end = operation.span.end
        # A location may hold strings with anything in them: it is what begins last and is whole.
        last = self.source.text.rfind("\n", operation.span.start, end) + 1
        text = self.source.text[max(last, operation.span.start) : end]
        for one in reversed(list(_LOCATION.finditer(text))):
            try:
                return own_first(frames(text[one.start() :], self.named))
            except SyntaxFault:
                continue
        return ()

    def placed(self, diagnostic: Diagnostic) -> Diagnostic:
        """A diagnostic with its places in the user's source, those of its related places as well."""
        related = tuple(replace(one, origins=self.at(one.span.start)) for one in diagnostic.related)
        return replace(diagnostic, origins=self.at(diagnostic.span.start), related=related)
