"""Rule files to a rulebook, which is kept in the cache: a check finds it there and reads no rule file's syntax."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from tileproof.base import cache, resources
from tileproof.base.source import Source, Span
from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.expression import Place
from tileproof.rulebase.fault import RuleError, RuleFault
from tileproof.rulebase.stored import Stored

__all__ = ["RuleError", "default_files", "load", "rule_file", "rule_files", "shipped_files"]


def rule_files(folder: Path) -> tuple[Source, ...]:
    """The ``*.rule`` files below a folder, in the order of their paths.

    Raises:
        OSError: a file cannot be read.
        RuleError: a file is not UTF-8.
    """
    return tuple(map(rule_file, sorted(folder.rglob("*.rule"))))


def rule_file(path: Path) -> Source:
    """One rule file, named by its path. Raises as ``rule_files``."""
    content = path.read_bytes()
    try:
        return Source(str(path), content.decode("utf-8"))
    except UnicodeDecodeError as error:
        at = len(content[: error.start].decode("utf-8"))
        place = Place(Source(str(path), content.decode("utf-8", "replace")), Span(at, at + 1))
        raise RuleError([RuleFault(place, "this is not UTF-8 text")]) from None


# The code that reads rule files, and that of the values it makes.
_READERS = (resources.PACKAGE / "base/records.py", *sorted((resources.PACKAGE / "rulebase").rglob("*.py")))


# Chapters that no kernel is judged by, only shown and compared: a check does not read them.
_REFERENCE = ("builtins", "pages")


@lru_cache(maxsize=1)
def default_files() -> tuple[Source, ...]:
    """The rule files that judge, named by their path below rules/."""
    return _shipped(reference=False)


@lru_cache(maxsize=1)
def shipped_files() -> tuple[Source, ...]:
    """All rule files that ship with tileproof: those that judge, and the reference chapters."""
    return _shipped(reference=True)


def _shipped(reference: bool) -> tuple[Source, ...]:
    folder = resources.folder("rules")
    names = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*.rule")}
    return tuple(
        Source(f"rules/{name}", path.read_text(encoding="utf-8"))
        for name, path in sorted(names.items(), key=lambda item: item[1])
        if reference or name.partition("/")[0] not in _REFERENCE
    )


@lru_cache(maxsize=8)
def load(files: tuple[Source, ...]) -> Rulebook:
    """Read rule files into one rulebook, or find the one that was made of the same text before.

    Raises:
        RuleError: with every fault found, each at its line and column.
    """
    texts = [text for file in files for text in (file.name, file.text)]
    return cache.made("rules", [*readers(), *texts], lambda: _read(files)).book(files)


def _read(files: tuple[Source, ...]) -> Stored:
    from tileproof.rulebase.collect import collected  # noqa: PLC0415  not where the book is in the cache

    return Stored.of(collected(files, readers()), files)


@lru_cache(maxsize=1)
def readers() -> tuple[str, ...]:
    """What a rulebook in the cache depends on besides the rule files: the code and the grammars that read them."""
    code = [path.read_text(encoding="utf-8") for path in _READERS]
    return (*code, *(resources.grammar(name) for name in ("rule_expression", "rules")))
