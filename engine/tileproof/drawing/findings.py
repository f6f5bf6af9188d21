"""The pictures of findings, for a report: the protocol around a finding, the memory of an operand, layouts it names.

A page must stay one that a browser opens at once, and be made in the time of a few checks: kernels that are run again,
pictures and bytes are bounded, and how many findings have none for that is known.
"""

from __future__ import annotations

from collections.abc import Iterator

from tileproof.base.diagnostic import Diagnostic, Severity
from tileproof.base.patterns import regex
from tileproof.base.source import Source
from tileproof.calculate.text import ExpressionError, evaluated
from tileproof.descriptors.canonical import NoDescriptor, Undecided
from tileproof.drawing.banks import shared_banks
from tileproof.drawing.descriptors import picture_of as descriptor_picture
from tileproof.drawing.grids import to_svg
from tileproof.drawing.kernels import Kernel, kernels_of
from tileproof.drawing.layouts import picture_of as layout_picture
from tileproof.drawing.picture import NoPicture, Picture
from tileproof.drawing.protocols import Timeline
from tileproof.layout import LayoutError
from tileproof.memory.descriptors import Made, made
from tileproof.memory.listing import described
from tileproof.mlir.scanner import scan
from tileproof.ptx.module import is_ptx
from tileproof.report.html import Pictures
from tileproof.report.values import Report

_FILES, _PICTURES, _BYTES = 8, 24, 2_000_000  # files that are read again, pictures, and bytes of them all
_ROWS = 32  # of the protocol around a finding
_PROTOCOL = "PR"
_LAYOUT = regex(r"(?:S<\d+,\d+,\d+> o \S+ o )?(?:\([^\s\"<>]*\)|\d+):(?:\([^\s\"<>]*\)|\d+)")
_LAYOUTS = 2  # of one finding
_CELLS = 1024  # of a layout


def pictures_of(report: Report) -> Pictures:
    """The pictures of a report, as titles with SVG documents."""
    drawn: dict[int, tuple[tuple[str, str], ...]] = {}
    files: dict[int, _File] = {}
    count = size = left = 0
    for i, one in enumerate(report.diagnostics):
        if one.severity is Severity.NOTE:
            continue
        file = files.get(id(one.source))
        if file is None and (len(files) == _FILES or count >= _PICTURES):
            left += 1
            continue
        if file is None:
            file = files[id(one.source)] = _File(report, one.source)
        mine: list[tuple[str, str]] = []
        for picture in file.pictures(one):
            svg = to_svg(picture, count)
            if count == _PICTURES or size + len(svg) > _BYTES:
                left += 1
                break
            mine.append((picture.title, svg))
            count, size = count + 1, size + len(svg)
        if mine:
            drawn[i] = tuple(mine)
    return Pictures(drawn, left)


class _File:
    """A text with what its pictures need, which is made when the first one asks for it."""

    def __init__(self, report: Report, source: Source) -> None:
        self.report, self.source = report, source
        self.kernels: list[Kernel] | None = None
        self.timelines: dict[int, Timeline] = {}
        self.operands: list[Made] | None = None

    def pictures(self, finding: Diagnostic) -> Iterator[Picture]:
        """The pictures of a finding."""
        if finding.code.startswith(_PROTOCOL):
            yield from self.protocol(finding)
            return
        operand = self.operand(finding)
        drawn = None if operand is None else self.descriptor(operand)
        if drawn is not None:
            yield drawn
        else:
            yield from self.layouts(finding, None if operand is None else operand.bits)

    def protocol(self, finding: Diagnostic) -> Iterator[Picture]:
        """The run of the kernel that a finding is in, around it."""
        if self.kernels is None:
            try:
                options = self.report.options
                self.kernels = kernels_of(
                    self.report.book,
                    self.source,
                    contract=options.contract,
                    thorough=options.thorough,
                    launches=options.launches,
                )
            except NoPicture:
                self.kernels = []
        for number, one in enumerate(self.kernels):
            if any((mine.code, mine.span) == (finding.code, finding.span) for mine in one.findings):
                if number not in self.timelines:
                    self.timelines[number] = Timeline(one)
                yield self.timelines[number].picture(finding.span, _ROWS)
                return

    def operand(self, finding: Diagnostic) -> Made | None:
        """The operand in shared memory that a finding is at."""
        if self.operands is None:
            self.operands = []
            if not is_ptx(self.source) and (read := scan(self.source)).holds_ir and not read.faults:
                self.operands = list(made(self.report.book, read.module.operations, read.module.aliases))
        for one in self.operands:
            if one.operation.span.start <= finding.span.start < one.operation.span.end or one.span == finding.span:
                return one
        return None

    def descriptor(self, operand: Made) -> Picture | None:
        """The memory that is read through the descriptor of an operand; None where it has none."""
        book = self.report.book
        try:
            known = described(book.under(self.report.options.contract), operand)
            return descriptor_picture(book, known, operand.bits, operand.extents, shared_banks(book))
        except (NoDescriptor, NoPicture, Undecided):
            return None

    def layouts(self, finding: Diagnostic, bits: int | None) -> Iterator[Picture]:
        """The static layouts that a finding names: in its text, else in what it is at.

        Args:
            bits: of an element in shared memory, whose banks are the colours then.
        """
        written = f"{finding.message} {finding.hint}"
        at = self.source.text[finding.span.start : finding.span.end]
        found = dict.fromkeys(_LAYOUT.findall(written)) or dict.fromkeys(_LAYOUT.findall(at))
        banks = shared_banks(self.report.book)
        for text in list(found)[:_LAYOUTS]:
            try:
                picture = layout_picture(evaluated(text), "bank" if bits else "offset", bits, banks)
            except (ExpressionError, LayoutError, NoPicture):
                continue
            if sum(1 for panel in picture.panels for _ in panel.all_cells()) <= _CELLS:
                yield picture


__all__ = ["pictures_of"]
