"""Digests of texts, by which what is in the cache is found again.

``hashlib`` has the function too, and loads OpenSSL for others: that takes four milliseconds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = ["blake2b"]

if TYPE_CHECKING:
    from hashlib import blake2b
else:
    try:
        from _blake2 import blake2b
    except ImportError:  # an interpreter that has it elsewhere
        from hashlib import blake2b
