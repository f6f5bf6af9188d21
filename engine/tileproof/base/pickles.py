"""Pickles by the standard library's module in C alone.

``pickle`` itself has all of it in Python as well, and finds the names of its codes by a pattern: to import that takes
two milliseconds, as long as to read the rules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = ["NEWEST", "Pickler", "Unpickler", "dumps", "load", "loads"]

NEWEST = -1  # the newest protocol, as `pickle.HIGHEST_PROTOCOL`

if TYPE_CHECKING:
    from pickle import Pickler, Unpickler, dumps, load, loads
else:
    try:
        from _pickle import Pickler, Unpickler, dumps, load, loads
    except ImportError:  # an interpreter without that module
        from pickle import Pickler, Unpickler, dumps, load, loads
