"""Colours, light and dark: a wheel of hues for what repeats, as banks do, and a ramp for what grows, as offsets do.

They are made in OKLCH, where colours of one lightness look equally light, so that dark text is legible on all light
ones, and light text on all dark ones.
"""

from __future__ import annotations

from functools import lru_cache
from math import cos, radians, sin

from tileproof.base.records import dataclass


@dataclass(frozen=True, slots=True)
class Palette:
    """Colours by number, as ``#rrggbb``: for a light page, and for a dark one.

    Attributes:
        name: of its own, as a class of CSS: pictures with other palettes may be on the same page.
    """

    name: str
    light: tuple[str, ...]
    dark: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.light)


@lru_cache(maxsize=16)
def wheel(count: int) -> Palette:
    """Hues around the circle: neighbours are alike, and the last is like the first."""
    hues = [20 + 360 * i / count for i in range(count)]
    # Every other colour is a little lighter: neighbours can be told apart.
    light = tuple(oklch(0.88 if i % 2 else 0.83, 0.09, hue) for i, hue in enumerate(hues))
    return Palette(
        f"wheel{count}", light, tuple(oklch(0.42 if i % 2 else 0.36, 0.09, hue) for i, hue in enumerate(hues))
    )


@lru_cache(maxsize=16)
def ramp(count: int) -> Palette:
    """From pale to strong."""
    steps = [i / max(count - 1, 1) for i in range(count)]
    light = tuple(oklch(0.97 - 0.27 * x, 0.02 + 0.10 * x, 215 + 75 * x) for x in steps)
    return Palette(f"ramp{count}", light, tuple(oklch(0.27 + 0.24 * x, 0.03 + 0.11 * x, 215 + 75 * x) for x in steps))


def oklch(lightness: float, chroma: float, hue: float) -> str:
    """A colour of sRGB, clipped to what can be shown.

    Args:
        lightness: from 0 to 1; chroma: from 0 to about 0.3; hue: degrees.
    """
    a, b = chroma * cos(radians(hue)), chroma * sin(radians(hue))
    long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    middle = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
    linear = (
        4.0767416621 * long - 3.3077115913 * middle + 0.2309699292 * short,
        -1.2684380046 * long + 2.6097574011 * middle - 0.3413193965 * short,
        -0.0041960863 * long - 0.7034186147 * middle + 1.7076147010 * short,
    )
    return "#" + "".join(f"{round(255 * _gamma(min(max(one, 0.0), 1.0))):02x}" for one in linear)


def _gamma(value: float) -> float:
    return 12.92 * value if value <= 0.0031308 else 1.055 * float(value ** (1 / 2.4)) - 0.055
