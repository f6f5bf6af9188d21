"""What the verdicts must be: static questions counted out with numpy, by the meaning of the words and nothing else."""

from __future__ import annotations

import numpy as np

from tileproof import layout as cute
from tileproof.layout import apply_swizzle
from tileproof.syntax.layouts import layout as parse


def values(text):
    layout = parse(text)
    return np.asarray(cute.crd2idx_many(np.arange(cute.size(layout)), layout))


def equivalent(first, second):
    a, b = values(first), values(second)
    return len(a) == len(b) and bool((a == b).all())


def injective(text):
    found = values(text)
    return len(np.unique(found)) == len(found)


def bijective(text):
    found = values(text)
    return bool((np.sort(found) == np.arange(len(found))).all())


def covers(text, tile, at_least_once=False):
    found = values(text)
    reached = np.unique(found) if at_least_once else np.sort(found)
    return len(reached) == tile and bool((reached == np.arange(tile)).all())


def byte_addresses(text, width, swizzle=None):
    """The first byte of each element, by index."""
    found = values(text) * width
    if swizzle is not None:
        found = np.array([apply_swizzle(parse(swizzle), int(v)) for v in found])
    return found


def cells(text, width, swizzle=None):
    """The addresses of a layout with two modes, as an array [first mode, second mode]."""
    shape = cute.get_shape(parse(text))
    return byte_addresses(text, width, swizzle).reshape(tuple(cute.product(mode) for mode in reversed(shape))).T


def aligned(rows, vector, width, align):
    """``rows``: [others, run]."""
    if rows.shape[1] % vector:
        return False
    vectors = rows.reshape(-1, vector)
    steps = vectors[:, :1] + width * np.arange(vector)
    return bool((vectors == steps).all() and (vectors[:, 0] % align == 0).all())


def degree(lanes, vector, width, phase):
    """The worst phase: the most words that one bank must give. ``lanes``: [lane, value], every access whole."""
    worst = 1
    for first in range(0, lanes.shape[0], phase):
        for start in range(0, lanes.shape[1], vector):
            words = {
                int(byte) // 4
                for address in lanes[first : first + phase, start]
                for byte in range(address, address + vector * width)
            }
            banks = [word % 32 for word in words]
            worst = max(worst, *map(banks.count, banks))
    return worst
