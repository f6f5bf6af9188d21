"""The rules and settings that hold for a file: those of its folder, as ``check`` has them there."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from tileproof import api
from tileproof.base.records import dataclass
from tileproof.base.source import Source
from tileproof.checking import settings
from tileproof.checking.implemented import load_implemented
from tileproof.checking.results import state_of
from tileproof.judge.outcome import Options
from tileproof.rulebase.book import Rulebook
from tileproof.rulebase.load import RuleError, default_files, rule_files
from tileproof.server.replies import Unusable


@dataclass(frozen=True, slots=True)
class Project:
    """What holds for a file. ``files``: the rule files."""

    settings: settings.Config
    files: tuple[Source, ...]
    book: Rulebook
    options: Options

    @property
    def state(self) -> str:
        """What results in the cache depend on besides the text."""
        return _state(self.files)


@lru_cache(maxsize=4)
def _state(files: tuple[Source, ...]) -> str:
    return state_of(files)


def project_of(file: str) -> Project:
    """What holds for a file.

    Raises:
        Unusable: the settings or the project's own rules cannot be used; the message says where.
    """
    try:
        found = settings.find(Path(file).absolute().parent)
        files = default_files()
        for folder in found.rules:
            if not folder.is_dir():
                raise Unusable(f"{folder}: no such rules folder")
            files += rule_files(folder)
        book = load_implemented(files)
        options = found.options()
        api.validate(book, options)
    except RuleError as error:
        first, more = error.faults[0], len(error.faults) - 1
        raise Unusable(f"{first.place}: {first.message}" + (f" (and {more} more)" if more else "")) from None
    except (settings.ConfigError, OSError, ValueError) as error:
        raise Unusable(str(error)) from None
    return Project(found, files, book, options)
