"""Rule files to a rulebook, which is kept in the cache: a check finds it there and reads no rule file's syntax."""

from __future__ import annotations

from functools import cache as cached
from functools import lru_cache
from pathlib import Path

from tileproof.base import cache, pickles, resources
from tileproof.base.parts import Parts
from tileproof.base.source import Source, Span
from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.expression import Place
from tileproof.rulebase.fault import RuleError, RuleFault
from tileproof.rulebase.stored import Stored, packed

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
    below = resources.below(resources.folder("rules"), ".rule")
    return tuple(
        Source(f"rules/{name}", resources.text(path))
        for name, path in below.items()
        if reference or name.partition("/")[0] not in _REFERENCE
    )


@lru_cache(maxsize=8)
def load(files: tuple[Source, ...]) -> Rulebook:
    """Read rule files into one rulebook, or find the one that was made of the same text before.

    Raises:
        RuleError: with every fault found, each at its line and column.
    """
    path = cache.entry("rules", [*readers(), *(text for file in files for text in (file.name, file.text))], "parts")

    @cached
    def made() -> tuple[Stored, dict[str, bytes]]:
        return _made(files, path)

    if path is None:
        stored, parts = made()
        return stored.book(parts.__getitem__, files)
    kept = Parts(str(path), _MAKER)
    outline = kept.part(_OUTLINE)
    stored = pickles.loads(outline) if outline is not None else made()[0]
    return stored.book(lambda name: kept.part(name) or made()[1][name], files)


_MAKER = b"tileproof rules\n"  # by which code, the name of the file says
_OUTLINE = ""  # the part that says where all else is


def _made(files: tuple[Source, ...], path: Path | None) -> tuple[Stored, dict[str, bytes]]:
    """A rulebook to be stored, made of rule files; it is written as well, if there is a path."""
    from tileproof.rulebase.collect import collected  # noqa: PLC0415  not where the book is in the cache

    stored, parts = packed(collected(files, readers()), files)
    if path is not None:
        from tileproof.base.parts_written import write_parts  # noqa: PLC0415

        whole = {_OUTLINE: pickles.dumps(stored, pickles.NEWEST), **parts}
        write_parts(str(path), _MAKER, {name: ((), part) for name, part in whole.items()})
    return stored, parts


@lru_cache(maxsize=1)
def readers() -> tuple[str, ...]:
    """What a rulebook in the cache depends on besides the rule files: the code and the grammars that read them."""
    code = resources.below(resources.PACKAGE / "rulebase", ".py").values()
    paths = [str(resources.PACKAGE / "base/records.py"), *code]
    return (*map(resources.text, paths), *(resources.grammar(name) for name in ("rule_expression", "rules")))
