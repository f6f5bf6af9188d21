"""What a report of a fault needs: the versions of what tileproof runs on, and where it keeps things."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version

_PACKAGES = (
    "click",
    "lark",
    "networkx",
    "rich",
    "z3-solver",
    "pygls",
    "nvidia-cutlass-dsl",
    "triton",
    "nvidia-cuda-nvcc",
)


def about() -> Iterator[str]:
    """A line each."""
    from tileproof.base import cache, resources  # noqa: PLC0415
    from tileproof.checking.results import state_of  # noqa: PLC0415
    from tileproof.rulebase.load import default_files  # noqa: PLC0415

    yield f"python {platform.python_version()} ({sys.executable}) on {platform.platform()}"
    yield f"package {resources.PACKAGE}"
    yield f"rules {resources.folder('rules')}, {len(default_files())} files, state {state_of(default_files())[:12]}"
    yield f"cache {cache.folder() or 'none'}"
    for name in _PACKAGES:
        try:
            yield f"{name} {version(name)}"
        except PackageNotFoundError:
            yield f"{name} is not installed"
