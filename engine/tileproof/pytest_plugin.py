"""A plugin for pytest: ``--tileproof`` fails each test that compiles a wrong kernel, with CuTe DSL or Triton.

The fixture ``tileproof_kernels`` gives a test the kernels that it compiled, and leaves the judgement to it.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tileproof.in_process import Kernel

_FIXTURE = "tileproof_kernels"
_FRAMEWORKS = {"cutlass": "tileproof.cute_dsl", "triton": "tileproof.triton"}


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("tileproof")
    group.addoption("--tileproof", action="store_true", help="fail tests that compile wrong kernels")


@contextmanager
def _watched() -> Iterator[list[Kernel]]:
    """The kernels of the frameworks that are installed; complete when the context ends."""
    from importlib import import_module  # noqa: PLC0415

    from tileproof.in_process import collecting  # noqa: PLC0415

    enablers = [import_module(ours).enable for theirs, ours in _FRAMEWORKS.items() if find_spec(theirs) is not None]
    kernels: list[Kernel] = []
    with collecting(enablers) as watches:
        for one in watches:
            one.kernels = kernels
        yield kernels


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, None]:
    if not item.config.getoption("--tileproof") or _FIXTURE in getattr(item, "fixturenames", ()):
        yield
        return
    with _watched() as kernels:
        outcome = yield
    wrong = [kernel for kernel in kernels if kernel.wrong]
    if wrong:
        outcome.force_exception(pytest.fail.Exception("\n".join(map(str, wrong)), pytrace=False))


@pytest.fixture
def tileproof_kernels() -> Iterator[list[Kernel]]:
    """The kernels that this test compiles, each with its ``name`` and ``report``, as they are compiled."""
    with _watched() as kernels:
        yield kernels
