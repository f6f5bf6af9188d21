"""The program: ``tileproof`` and ``python -m tileproof.cli``."""

from __future__ import annotations

import gc
import sys

from tileproof import __version__


def run() -> None:
    """Run the command line. Which version this is, is said without loading it."""
    if sys.argv[1:] in (["--version"], ["-V"]):
        print(f"tileproof {__version__}")
        return
    from tileproof.cli.kept_modules import install  # noqa: PLC0415

    install()
    gc.disable()  # modules are no garbage
    from tileproof.cli.group import main  # noqa: PLC0415

    gc.enable()
    main()


if __name__ == "__main__":
    run()
