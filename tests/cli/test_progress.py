"""Progress on a terminal, for what takes longer than a moment."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable

import pytest

from tileproof.cli import options
from tileproof.cli.options import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> Callable[[int | None, float], str]:
    def show(total: int | None, moment: float) -> str:
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setattr(sys, "stderr", Terminal())
        monkeypatch.setattr(options, "_MOMENT", moment)
        bar = progress(total, "checking")
        with bar as step:
            if bar.timer is not None and not moment:
                bar.timer.join()
            step()
            bar.more(3)
            step()
        assert isinstance(sys.stderr, Terminal)
        return sys.stderr.getvalue()

    return show


def test_long_work_shows_how_much_is_done(shown: Callable[[int | None, float], str]):
    assert "checking" in (said := shown(5, 0))
    assert " 25%" in said  # two steps of eight


def test_work_of_an_unknown_length_is_shown_as_well(shown: Callable[[int | None, float], str]):
    assert "checking" in shown(None, 0)


def test_short_work_shows_nothing(shown: Callable[[int | None, float], str]):
    assert shown(5, 60) == ""


def test_a_pipe_has_no_progress(capsys: pytest.CaptureFixture[str]):
    with progress(100) as step:
        step()
        assert step.timer is None
    assert capsys.readouterr() == ("", "")
