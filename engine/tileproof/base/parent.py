"""Processes that work for another one."""

from __future__ import annotations

import os


def end_with_parent() -> None:
    """End this process when the one that started it ends, in whichever way: also when that was killed."""
    from multiprocessing import parent_process  # noqa: PLC0415
    from threading import Thread  # noqa: PLC0415

    parent = parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
        os._exit(1)

    if parent is not None:
        Thread(target=watch, daemon=True).start()


__all__ = ["end_with_parent"]
