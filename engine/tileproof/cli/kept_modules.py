"""The modules of tileproof are loaded from what is kept of their code (``base/kept_code.py``).

One look at a source, whether it is as old and as large as when it was compiled, is all that is asked of the file
system for a module; the interpreter's own way looks through folders, and opens a file for each. All that is not kept,
or is no plain file of Python, goes that way.
"""

from __future__ import annotations

import atexit
import os
import sys
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader

from tileproof.base.kept_code import PACKAGE, opened

TYPE_CHECKING = False  # as type checkers know it
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import CodeType, ModuleType

    from tileproof.base.kept_code import KeptCode
    from tileproof.base.parts import Stamp

_OURS = "tileproof."


def install() -> None:
    """From now on modules of tileproof are kept; nothing, where there is no cache."""
    code = opened()
    if code is not None and not any(isinstance(one, _Finder) for one in sys.meta_path):
        sys.meta_path.insert(0, _Finder(code))
        atexit.register(code.save)


class _Finder:
    """Finds the modules whose code is kept, and has that of others kept."""

    def __init__(self, code: KeptCode) -> None:
        self.code = code

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not name.startswith(_OURS):
            return None
        if (kept := self._kept(name)) is not None:
            return kept
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and type(spec.loader) is SourceFileLoader:
            stamp = _stamp(spec.loader.path)
            if stamp is not None:
                spec.loader = _Loader(name, spec.loader.path, self.code, stamp)
        return spec

    def _kept(self, name: str) -> ModuleSpec | None:
        """How a module is loaded of which there is an entry, and a source where it was."""
        stem = f"{PACKAGE}{os.sep}{name[len(_OURS) :].replace('.', os.sep)}"
        for file, folder in ((f"{stem}.py", None), (f"{stem}{os.sep}__init__.py", stem)):
            if self.code.knows(file) and (stamp := _stamp(file)) is not None:
                spec = ModuleSpec(name, _Loader(name, file, self.code, stamp), origin=file)
                spec.submodule_search_locations = [folder] if folder is not None else None
                spec.has_location = True
                spec.cached = self.code.path  # otherwise the name of a file beside the source is made up
                return spec
        return None


class _Loader(SourceFileLoader):
    """Loads a module from what is kept of it; otherwise as ever, and keeps it."""

    def __init__(self, name: str, path: str, code: KeptCode, stamp: Stamp) -> None:
        super().__init__(name, path)
        self._code = code
        self._stamp = stamp

    def get_code(self, fullname: str) -> CodeType | None:
        found: CodeType | None = self._code.find(self.path, self._stamp)
        if found is None:
            found = super().get_code(fullname)
            self._code.keep(self.path, self._stamp, found)
        return found


def _stamp(file: str) -> Stamp | None:
    """Time and size of a source, before it is read."""
    try:
        status = os.stat(file)  # noqa: PTH116
    except OSError:
        return None
    return (status.st_mtime_ns, status.st_size)
