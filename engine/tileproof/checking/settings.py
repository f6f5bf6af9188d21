"""Settings of a project: the nearest ``tileproof.toml``, or ``pyproject.toml``, at or above a folder.

The nearest file wins, and holds alone. In one folder ``tileproof.toml`` comes before ``pyproject.toml``. A
``pyproject.toml`` speaks for its folder even where it has no ``[tool.tileproof]``: it is the root of its project.
"""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tileproof.base.records import dataclass

if TYPE_CHECKING:
    from tileproof.judge.outcome import Options

LISTS = ("select", "ignore", "rules", "exclude")
WORDS = ("target", "contract", "fail-on", "baseline")
SWITCHES = ("require-verified",)
TABLES = ("per-file-ignores", "severity", "launch")
KEYS = (*LISTS, *WORDS, *SWITCHES, *TABLES)
LEVELS = ("error", "warning", "note")

_OWN = "tileproof.toml"
_SHARED = "pyproject.toml"


class ConfigError(ValueError):
    """Settings that cannot be used."""


@dataclass(frozen=True, slots=True)
class Config:
    """The settings of a project; the command line overrides them.

    Attributes:
        path: the file that has them; None where no file does.
        rules: folders with the project's own rule files.
        exclude: files that are not checked, as patterns of their names from the folder of ``path``.
        launch: patterns of names of kernels, each with the block and the cluster of those whose text does not say it.
        per_file_ignores: patterns of names, and the rules that are not reported for such files.
        severity: codes or names of rules with the severity that they have here.
        baseline: the file with the findings that are known.
    """

    path: Path | None = None
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    rules: tuple[Path, ...] = ()
    exclude: tuple[str, ...] = ()
    target: str | None = None
    contract: str | None = None
    fail_on: str | None = None
    baseline: Path | None = None
    require_verified: bool = False
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    severity: tuple[tuple[str, str], ...] = ()
    launch: tuple[tuple[str, dict[str, Any]], ...] = ()

    @property
    def folder(self) -> Path:
        """The folder from which patterns count."""
        return self.path.parent if self.path is not None else Path.cwd()

    def options(self) -> Options:
        """How to check here."""
        from tileproof.base.diagnostic import Severity  # noqa: PLC0415  `tileproof config` needs none of these
        from tileproof.judge.launches import StatedLaunch, dimensions  # noqa: PLC0415
        from tileproof.judge.outcome import Options  # noqa: PLC0415

        return Options(
            self.contract or "ptx",
            self.target,
            self.select,
            self.ignore,
            root=str(self.folder),
            per_file_ignores=self.per_file_ignores,
            severities=tuple((rule, Severity(level)) for rule, level in self.severity),
            launches=tuple(
                StatedLaunch(pattern, **{what: dimensions(numbers) for what, numbers in said.items()})
                for pattern, said in self.launch
            ),
        )


def find(folder: Path) -> Config:
    """The settings that hold in a folder.

    Raises:
        ConfigError: the file is not TOML, or a setting is unknown or of the wrong type.
    """
    for parent in (folder, *folder.parents):
        for path in (parent / _OWN, parent / _SHARED):
            if path.is_file():
                try:
                    text = path.read_text(encoding="utf-8")
                except (OSError, UnicodeDecodeError) as error:
                    raise ConfigError(f"{path}: {error}") from None
                return _read(path, text) if path.name == _OWN or "tool.tileproof" in text else Config()
    return Config()


def _read(path: Path, text: str) -> Config:
    import tomllib  # noqa: PLC0415  most runs have no settings

    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r" \(at (?:line (\d+), column (\d+)|end of document)\)$", str(error))
        lines = text.rstrip().splitlines() or [""]
        place = f"{found[1]}:{found[2]}" if found is not None and found[1] else f"{len(lines)}:{len(lines[-1]) + 1}"
        raise ConfigError(f"{path}:{place}: {str(error).partition(' (at ')[0]}") from None
    if path.name == _SHARED:
        table = table.get("tool", {}).get("tileproof", {})
    for name, value in table.items():
        problem = _problem(name, value)
        if problem is not None:
            where = f" in {'[tool.tileproof]' if path.name == _SHARED else _OWN}" if name not in KEYS else ""
            line = _line(text, name, path.name == _SHARED)
            raise ConfigError(f"{path}:{line}: {problem.format(where=where)}")
    settings: dict[str, Any] = {name.replace("-", "_"): value for name, value in table.items()}
    for name in LISTS:
        settings[name] = tuple(settings.get(name, ()))
    settings["rules"] = tuple(path.parent / folder for folder in settings["rules"])
    if "baseline" in settings:
        settings["baseline"] = path.parent / settings["baseline"]
    ignores = settings.get("per_file_ignores", {})
    settings["per_file_ignores"] = tuple((pattern, tuple(codes)) for pattern, codes in ignores.items())
    for name in ("severity", "launch"):
        settings[name] = tuple(settings.get(name, {}).items())
    return Config(path, **settings)


def _line(text: str, name: str, shared: bool) -> int:
    """The line of a setting: of its key, or of the header of its table; 1 where it is written in another way."""
    spelled = rf"[\"']?{re.escape(name)}[\"']?"
    own = next(re.finditer(r"(?m)^\s*\[\s*tool\s*\.\s*tileproof\b", text), None) if shared else None
    start = own.start() if own is not None else 0
    found = re.compile(rf"(?m)^[ \t]*(?:{spelled}\s*[=.]|\[\s*(?:tool\.tileproof\.)?{spelled}\s*\])").search(
        text, start
    )
    return text.count("\n", 0, found.start()) + 1 if found is not None else 1


def _problem(name: str, value: object) -> str | None:
    """What is wrong with a setting."""
    if name not in KEYS:
        from difflib import get_close_matches  # noqa: PLC0415

        close = get_close_matches(name, KEYS, 1)
        nearest = f"; the nearest is '{close[0]}'" if close else ""
        return f"unknown setting '{name}'{{where}}{nearest}"
    if name in SWITCHES:
        return None if isinstance(value, bool) else f"'{name}' must be true or false"
    if name == "per-file-ignores":
        fine = isinstance(value, dict) and all(map(_is_words, value.values()))
        return None if fine else f"'{name}' must be a table of lists of rules by patterns of file names"
    if name == "severity":
        fine = isinstance(value, dict) and all(one in LEVELS for one in value.values())
        return None if fine else f"'{name}' must be a table of {', '.join(LEVELS[:-1])} or {LEVELS[-1]} by rules"
    if name == "launch":
        fine = isinstance(value, dict) and all(map(_is_launch, value.values()))
        return None if fine else f"'{name}' must be a table of block and cluster, such as 128 or [2, 1, 1], by kernels"
    if name in LISTS:
        return None if _is_words(value) else f"'{name}' must be a list of strings"
    return None if isinstance(value, str) else f"'{name}' must be a string"


def _is_launch(value: object) -> bool:
    from tileproof.judge.launches import dimensions  # noqa: PLC0415  few projects say it

    if not isinstance(value, dict) or not value.keys() <= {"block", "cluster"}:
        return False
    with suppress(ValueError):
        return all(map(dimensions, value.values()))
    return False


def _is_words(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)
