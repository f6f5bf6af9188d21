"""Files of parts are written whole, and added to by writing them again; few runs do."""

from __future__ import annotations

import marshal
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING
from zlib import crc32

from tileproof.base.files import replace_bytes
from tileproof.base.parts import WORD, Parts

if TYPE_CHECKING:
    from tileproof.base.parts import Place, Stamp


def add_parts(path: str, maker: bytes, added: dict[str, tuple[Stamp, bytes]], most: int) -> None:
    """Write a file with what it has, if that is less than so many bytes, and more; where that fails it is as it was."""
    before = Parts(path, maker)
    parts: dict[str, tuple[Stamp, bytes]] = {}
    if sum(size for _, _, size, _ in before.places.values()) < most:
        for key, (stamp, *_) in before.places.items():
            if (part := before.part(key)) is not None:
                parts[key] = (stamp, part)
    before.close()
    write_parts(path, maker, parts | added)


def write_parts(path: str, maker: bytes, parts: dict[str, tuple[Stamp, bytes]]) -> None:
    """Write a file of these parts; where that fails it is as it was."""
    places: dict[str, Place] = {}
    at = 0
    for key, (stamp, part) in parts.items():
        places[key] = (stamp, at, len(part), crc32(part))
        at += len(part)
    index = marshal.dumps(places)
    words = [number.to_bytes(WORD, "big") for number in (len(index), crc32(index))]
    with suppress(OSError):
        replace_bytes(Path(path), b"".join([maker, *words, index, *(part for _, part in parts.values())]))
