"""Labels behind lines: the descriptors that a kernel makes, as ``tileproof descriptors`` computes them."""

from __future__ import annotations

from tileproof.base.source import Source
from tileproof.memory.listing import Listed, descriptors
from tileproof.ptx.module import is_ptx
from tileproof.server.project import project_of
from tileproof.server.replies import Document, Label


def labels(document: Document) -> list[Label]:
    """A label for each operand of an MMA that is read through a descriptor; none in PTX.

    Raises:
        Unusable: the settings or the rules of the project cannot be used.
    """
    source = Source(document.file, document.text)
    if is_ptx(source):
        return []
    project = project_of(document.file)
    return [Label(one.line, _words(one)) for one in descriptors(project.book, source, project.options.contract) or ()]


def _words(one: Listed) -> str:
    if one.swizzle is None:
        return "no descriptor"
    lbo = "dynamic" if one.lbo is None else one.lbo
    words = [one.operand or "", f"swizzle {one.swizzle}", f"LBO {lbo}", f"SBO {one.sbo}"]
    return "  ".join(filter(None, [*words, "" if one.value is None else f"0x{one.value:016x}"]))
