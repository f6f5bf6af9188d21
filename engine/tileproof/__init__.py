"""A declarative rule-engine verifier for NVIDIA tensor-core code.

    import tileproof

    report = tileproof.check("kernel.mlir", target="sm_90a")
    for diagnostic in report.diagnostics:
        print(diagnostic.code, diagnostic.message)

    module = tileproof.parse(text).module

    verdict = tileproof.prove.equivalent("(4,8):(8,1)", "(4,(2,4)):(8,(1,2))")

The functions are imported on first use: ``tileproof --version`` pays for none of them.
"""

from __future__ import annotations

from os import environ as _environment

TYPE_CHECKING = False  # as type checkers know it; `typing` takes longer to load than `--version` to run
if TYPE_CHECKING:
    from tileproof import cute_dsl, prove, triton
    from tileproof.api import (
        check,
        descriptor,
        emit,
        legal,
        legal_many,
        load_rules,
        parse,
        repair,
        schedule,
        suggest,
        suggest_columns,
    )
    from tileproof.in_process import KernelError, KernelWarning
    from tileproof.layout import Layout
    from tileproof.report.values import Report

__version__ = "0.1.0"
__all__ = [
    "KernelError",
    "KernelWarning",
    "Layout",
    "Report",
    "__version__",
    "check",
    "cute_dsl",
    "descriptor",
    "emit",
    "legal",
    "legal_many",
    "load_rules",
    "parse",
    "prove",
    "repair",
    "schedule",
    "suggest",
    "suggest_columns",
    "triton",
]

_MODULES = ("cute_dsl", "prove", "triton")
_HOMES = {
    "check": "tileproof.api",
    "descriptor": "tileproof.api",
    "emit": "tileproof.api",
    "legal": "tileproof.api",
    "legal_many": "tileproof.api",
    "repair": "tileproof.api",
    "schedule": "tileproof.api",
    "suggest": "tileproof.api",
    "suggest_columns": "tileproof.api",
    "parse": "tileproof.api",
    "load_rules": "tileproof.api",
    "KernelError": "tileproof.in_process",
    "KernelWarning": "tileproof.in_process",
    "Layout": "tileproof.layout",
    "Report": "tileproof.report.values",
}


def __getattr__(name: str) -> object:
    from importlib import import_module  # noqa: PLC0415

    if name in _MODULES:
        return import_module(f"tileproof.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'tileproof' has no attribute '{name}'")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


if "TILEPROOF" in _environment and _environment["TILEPROOF"] not in ("", "0"):
    from tileproof.import_hook import install as _install

    _install(_environment["TILEPROOF"])
