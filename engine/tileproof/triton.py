"""A hook for Triton: the PTX of each kernel is checked when it was compiled, or found in Triton's cache.

Triton 3.4 and later tell a listener which files a compilation has (``triton.knobs.compilation.listener``).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tileproof.in_process import Watch, watch

_watches: list[Watch] = []


def enable(action: str = "raise", **options: Any) -> Watch:
    """Check every kernel that Triton compiles from now on.

    Args:
        action: ``raise`` a ``KernelError`` where it is wrong, ``warn``, or only ``collect`` the reports.
        options: ``target``, ``contract``, ``select``, ``ignore``, ``thorough``, ``block``, ``cluster`` as of
            ``tileproof.check``.

    Raises:
        ImportError: Triton is not installed, or is older than 3.4.
        ValueError: an unknown action or option.
    """
    return watch(action, options, _add, _remove)


class _Listener:
    """Hands the PTX of a compilation to the watches, and everything to the listener that was there."""

    def __init__(self, before: Any) -> None:
        self.before = before

    def __call__(self, src: Any, metadata: Any, metadata_group: Mapping[str, str], times: Any, cache_hit: bool) -> None:
        if self.before is not None:
            self.before(src=src, metadata=metadata, metadata_group=metadata_group, times=times, cache_hit=cache_hit)
        for name, path in metadata_group.items():
            if name.endswith(".ptx"):
                text = Path(path).read_text(encoding="utf-8")
                for each in tuple(_watches):
                    each.compiled(name.removesuffix(".ptx"), text, ".ptx")


def _knobs() -> Any:
    from importlib import import_module  # noqa: PLC0415

    knobs = import_module("triton.knobs")
    if not hasattr(knobs.compilation, "listener"):
        raise ImportError("tileproof needs Triton 3.4 or later, which tells a listener what it compiles")
    return knobs


def _add(one: Watch) -> None:
    compilation = _knobs().compilation
    if not isinstance(compilation.listener, _Listener):
        compilation.listener = _Listener(compilation.listener)
    _watches.append(one)


def _remove(one: Watch) -> None:
    if one in _watches:
        _watches.remove(one)
    compilation = _knobs().compilation
    if isinstance(compilation.listener, _Listener) and not _watches:
        compilation.listener = compilation.listener.before
