"""``TILEPROOF=1``: a program that imports tileproof has its kernels checked, whatever it imports later.

``TILEPROOF=warn`` warns instead of raising. A hook of a framework is put in place as soon as that was imported.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

# The module whose import says that a framework is in use, and our module with its hook.
FRAMEWORKS = {"cutlass.base_dsl.dsl": "tileproof.cute_dsl", "triton.knobs": "tileproof.triton"}


def install(value: str) -> None:
    """Put the hooks in place, of what is imported already at once."""
    action = "warn" if value == "warn" else "raise"
    if not any(isinstance(one, _Finder) for one in sys.meta_path):
        sys.meta_path.insert(0, _Finder(action))
    for framework, ours in FRAMEWORKS.items():
        if framework in sys.modules:
            import_module(ours).enable(action)


class _Finder(MetaPathFinder):
    """Finds a framework as the other finders do, and enables its hook behind its import."""

    def __init__(self, action: str) -> None:
        self.action = action

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in FRAMEWORKS:
            return None
        for finder in sys.meta_path:
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(fullname, path, target)
            if spec is not None:
                if spec.loader is not None:
                    spec.loader = _Loader(spec.loader, FRAMEWORKS[fullname], self.action)
                return spec
        return None


class _Loader(Loader):
    """A loader that enables a hook when the module is there."""

    def __init__(self, loader: Any, ours: str, action: str) -> None:
        self.loader = loader
        self.ours = ours
        self.action = action

    def __getattr__(self, name: str) -> Any:
        return getattr(self.loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        module: ModuleType | None = self.loader.create_module(spec)
        return module

    def exec_module(self, module: ModuleType) -> None:
        self.loader.exec_module(module)
        import_module(self.ours).enable(self.action)
