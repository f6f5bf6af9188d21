"""What makes two findings of different runs the same one: baselines and code scanning go by it.

IR and PTX are made anew at each run: lines move, values get other numbers, types other aliases. So a fingerprint is of
the rule, the file by its name from a folder, and the text of the line without the names and numbers that a compiler
chooses: the line of the user's own source where the text says it. Findings that are equal in all this are counted.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import PurePath

from tileproof.base.diagnostic import Diagnostic
from tileproof.base.patterns import regex
from tileproof.report.origins import line_of

_CHOSEN = regex(
    r"\bloc\s*\([^()]*(?:\([^()]*\))*[^()]*\)|%[\w$.#:-]+|[!#][A-Za-z_][\w$]*(?![\w.<$])|\^\w+|\$L\w+|//.*|(?<=_)\d+\b"
)
_SPACE = regex(r"\s+")


def fingerprints(diagnostics: Iterable[Diagnostic], folder: str) -> Iterator[tuple[str, Diagnostic]]:
    """Diagnostics with their fingerprints, 16 hexadecimal digits; equal ones are told apart by their order.

    Args:
        folder: from which the names of files count.
    """
    seen: Counter[str] = Counter()
    for diagnostic in diagnostics:
        origin = diagnostic.origin
        written = line_of(origin) if origin is not None else ""
        if origin is not None and written:
            file, line = origin.file, written
        else:
            file = diagnostic.source.name
            line = _CHOSEN.sub(" ", diagnostic.source.line(diagnostic.source.position(diagnostic.span.start).line))
        same = "\0".join((diagnostic.code, _from(file, folder), _SPACE.sub(" ", line).strip()))
        yield hashlib.sha256(f"{same}\0{seen[same]}".encode()).hexdigest()[:16], diagnostic
        seen[same] += 1


def _from(file: str, folder: str) -> str:
    """The path of a file below a folder; of another file its name alone, since folders of dumps come and go."""
    near = PurePath(os.path.relpath(file, folder))
    return near.name if near.parts[:1] == (os.pardir,) else near.as_posix()
