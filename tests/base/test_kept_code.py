"""What is kept of code is found again under the same stamp; what is damaged or foreign is not, without a word."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tileproof.base import kept_code
from tileproof.base.kept_code import KeptCode

MAKER = b"this version\n"


def written(path: Path, **values: object) -> None:
    one = KeptCode(str(path), MAKER)
    for key, value in values.items():
        one.keep(key, (1, 2), value)
    one.save()


def found(path: Path, *keys: str) -> list[object]:
    one = KeptCode(str(path), MAKER)
    return [one.find(key, (1, 2)) for key in keys]


def test_what_is_kept_is_found_under_its_stamp_only(tmp_path: Path):
    written(tmp_path / "file", a=compile("x = 1", "a.py", "exec"), b=("text", 2))
    one = KeptCode(str(tmp_path / "file"), MAKER)
    names: dict[str, object] = {}
    exec(one.find("a", (1, 2)), names)
    assert names["x"] == 1
    assert one.find("b", (1, 2)) == ("text", 2)
    assert one.find("b", (1, 3)) is None
    assert one.find("c", (1, 2)) is None


def test_runs_add_to_each_other(tmp_path: Path):
    """Also those that began at the same time."""
    path = str(tmp_path / "file")
    one, two = KeptCode(path, MAKER), KeptCode(path, MAKER)
    one.keep("a", (1, 2), "a")
    two.keep("b", (1, 2), "b")
    one.save()
    two.save()
    assert found(tmp_path / "file", "a", "b") == ["a", "b"]


def test_nothing_is_written_where_nothing_is_new(tmp_path: Path):
    written(tmp_path / "file", a="a")
    before = (tmp_path / "file").stat().st_ino
    one = KeptCode(str(tmp_path / "file"), MAKER)
    one.find("a", (1, 2))
    one.save()
    assert (tmp_path / "file").stat().st_ino == before


def test_any_damage_loses_at_most_what_it_is_in(tmp_path: Path):
    path = tmp_path / "file"
    written(path, a="a" * 40, b="b" * 40)
    content = path.read_bytes()
    for place in range(len(content)):
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        a, b = found(path, "a", "b")
        assert a in (None, "a" * 40)
        assert b in (None, "b" * 40)
        assert None in (a, b)
    for size in range(len(content)):
        path.write_bytes(content[:size])
        assert found(path, "b") == [None]


def test_damage_is_not_written_as_whole_again(tmp_path: Path):
    path = tmp_path / "file"
    written(path, a="a" * 40)
    path.write_bytes(path.read_bytes()[:-1] + b"!")
    written(path, b="b")
    assert found(path, "a", "b") == [None, "b"]


@pytest.mark.parametrize(
    "foreign", [b"", b"text", MAKER, MAKER + b"\xff" * 8 + b"text", b"that version\n" + b"\0" * 80]
)
def test_a_foreign_file_is_written_anew(tmp_path: Path, foreign: bytes):
    (tmp_path / "file").write_bytes(foreign)
    assert found(tmp_path / "file", "a") == [None]
    written(tmp_path / "file", a="a")
    assert found(tmp_path / "file", "a") == ["a"]


def test_what_another_version_wrote_is_not_read(tmp_path: Path):
    written(tmp_path / "file", a="a")
    assert KeptCode(str(tmp_path / "file"), b"that version\n").find("a", (1, 2)) is None


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="files have no owners here")
def test_a_file_of_another_user_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    written(tmp_path / "file", a="a")
    user = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: user + 1)
    assert found(tmp_path / "file", "a") == [None]


def test_where_nothing_can_be_written_nothing_is(tmp_path: Path):
    written(tmp_path / "missing" / "file", a="a")
    (tmp_path / "file").mkdir()
    assert found(tmp_path / "file", "a") == [None]
    written(tmp_path / "file", a="a")
    assert [one.name for one in tmp_path.iterdir()] == ["file"]


def test_what_is_not_used_goes_before_the_file_is_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    written(tmp_path / "file", a="a" * 100, b="b" * 100)
    monkeypatch.setattr(kept_code, "MOST_BYTES", 150)
    one = KeptCode(str(tmp_path / "file"), MAKER)
    one.find("a", (1, 2))
    one.keep("c", (1, 2), "c")
    one.save()
    assert found(tmp_path / "file", "a", "b", "c") == ["a" * 100, None, "c"]


def test_where_two_texts_have_one_sum_each_gets_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(kept_code, "crc32", lambda _: 7)
    monkeypatch.setattr(kept_code, "_OPEN", [KeptCode(str(tmp_path / "file"), MAKER)])
    for _ in range(2):
        for text in ("1", "2"):
            assert eval(kept_code.compiled(text, "eval")) == int(text)
