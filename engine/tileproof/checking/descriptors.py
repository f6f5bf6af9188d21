"""``descriptors`` of a text, which is IR or PTX."""

from __future__ import annotations

from tileproof.base.source import Source
from tileproof.memory.listing import Listed
from tileproof.ptx.module import is_ptx
from tileproof.report.values import Unread
from tileproof.rulebase.book import Rulebook


def descriptors(book: Rulebook, source: Source, contract: str) -> list[Listed] | Unread:
    """The shared-memory descriptors of a text, in textual order, or why there is nothing to list."""
    if is_ptx(source):
        return _of_ptx(book, source, contract)
    from tileproof.memory.listing import descriptors  # noqa: PLC0415  what PTX does not need

    found = descriptors(book, source, contract)
    return Unread(source.name, "holds no IR") if found is None else found


def _of_ptx(book: Rulebook, source: Source, contract: str) -> list[Listed] | Unread:
    from tileproof.dataflow.listing import descriptors_of_ptx  # noqa: PLC0415  what IR does not need
    from tileproof.ptx.module import read_module  # noqa: PLC0415
    from tileproof.ptx.names import name_faults  # noqa: PLC0415
    from tileproof.rulebase.findings import state  # noqa: PLC0415

    module = read_module(book, source)
    for fault in (*module.faults, *name_faults(book, module)):
        line, column = source.position(fault.span.start)
        said = state(book, fault.code, fault.case, **fault.facts).message
        return Unread(f"{source.name}:{line}:{column}", said)
    return list(descriptors_of_ptx(book.under(contract), source, module))
