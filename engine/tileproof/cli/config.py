"""Settings of a project: ``[tool.tileproof]`` in the nearest ``pyproject.toml`` at or above a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tileproof.base.records import dataclass

LISTS = ("select", "ignore", "rules")
WORDS = ("target", "contract", "fail-on")
SWITCHES = ("require-verified",)


class ConfigError(ValueError):
    """Settings that cannot be used."""


@dataclass(frozen=True, slots=True)
class Config:
    """The settings of a project; the command line overrides them.

    Attributes:
        rules: folders with the project's own rule files.
    """

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    rules: tuple[Path, ...] = ()
    target: str | None = None
    contract: str | None = None
    fail_on: str | None = None
    require_verified: bool = False


def find(folder: Path) -> Config:
    """The settings that hold in a folder.

    Raises:
        ConfigError: the file is not TOML, or a setting is unknown or of the wrong type.
    """
    for parent in (folder, *folder.parents):
        path = parent / "pyproject.toml"
        if path.is_file():
            text = path.read_text(encoding="utf-8")
            return _read(path, text) if "tool.tileproof" in text else Config()
    return Config()


def _read(path: Path, text: str) -> Config:
    import tomllib  # noqa: PLC0415  most runs have no settings

    try:
        table = tomllib.loads(text).get("tool", {}).get("tileproof", {})
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: {error}") from None
    for name, value in table.items():
        if name not in LISTS + WORDS + SWITCHES:
            raise ConfigError(f"{path}: unknown setting '{name}' in [tool.tileproof]")
        if name in SWITCHES:
            if not isinstance(value, bool):
                raise ConfigError(f"{path}: '{name}' must be true or false")
            continue
        words = isinstance(value, list) and all(isinstance(item, str) for item in value)
        if not (words if name in LISTS else isinstance(value, str)):
            raise ConfigError(f"{path}: '{name}' must be a {'list of strings' if name in LISTS else 'string'}")
    settings: dict[str, Any] = {name.replace("-", "_"): value for name, value in table.items()}
    for name in LISTS:
        settings[name] = tuple(settings.get(name, ()))
    settings["rules"] = tuple(path.parent / folder for folder in settings["rules"])
    return Config(**settings)
