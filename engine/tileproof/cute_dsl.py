"""A hook for CuTe DSL: the IR of each function that ``cute.compile`` or a call traces is checked before it is compiled.

It stands where every release builds its module (``BaseDSL.build_module``), gets the module as it was traced, with
locations, and leaves it as it is.
"""

from __future__ import annotations

import functools
import sys
from typing import Any

from tileproof.in_process import Watch, function_being_compiled, watch

_METHOD = "build_module"
_watches: list[Watch] = []


def enable(action: str = "raise", **options: Any) -> Watch:
    """Check every function that CuTe DSL compiles from now on.

    Args:
        action: ``raise`` a ``KernelError`` where it is wrong, ``warn``, or only ``collect`` the reports.
        options: ``target``, ``contract``, ``select``, ``ignore``, ``thorough``, ``block``, ``cluster`` as of
            ``tileproof.check``.

    Raises:
        ImportError: nvidia-cutlass-dsl is not installed.
        ValueError: an unknown action or option.
    """
    return watch(action, options, _add, _remove)


def _dsl() -> Any:
    from importlib import import_module  # noqa: PLC0415

    return import_module("cutlass.base_dsl.dsl").BaseDSL


def _add(one: Watch) -> None:
    dsl = _dsl()
    if not hasattr(dsl.build_module, "tileproof_original"):
        original = dsl.build_module

        @functools.wraps(original)
        def build_module(self: Any, module: Any, function_name: str, *more: Any, **named: Any) -> Any:
            if _watches:
                name = function_being_compiled(sys._getframe(1), "funcBody") or function_name
                text = module.operation.get_asm(enable_debug_info=True)
                for each in tuple(_watches):
                    each.compiled(name, text, ".mlir")
            return original(self, module, function_name, *more, **named)

        build_module.tileproof_original = original  # type: ignore[attr-defined]
        setattr(dsl, _METHOD, build_module)
    _watches.append(one)


def _remove(one: Watch) -> None:
    if one in _watches:
        _watches.remove(one)
    dsl = _dsl()
    original = getattr(dsl.build_module, "tileproof_original", None)
    if original is not None and not _watches:
        setattr(dsl, _METHOD, original)
