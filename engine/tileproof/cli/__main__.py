"""The program: ``tileproof`` and ``python -m tileproof.cli``."""

from __future__ import annotations

import atexit
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
    if (reconfigure := getattr(sys.stdout, "reconfigure", None)) is not None:
        reconfigure(errors="backslashreplace")  # as of standard error: a letter that the encoding lacks is no fault
    gc.disable()  # modules are no garbage
    atexit.register(gc.freeze)  # the interpreter collects cycles once more at its end, which is not needed
    from tileproof.cli import plain  # noqa: PLC0415

    if (said := plain.understood(sys.argv[1:])) is not None:
        gc.enable()
        sys.exit(plain.run(*said))
    from tileproof.cli.group import main  # noqa: PLC0415

    gc.enable()
    main()


if __name__ == "__main__":
    run()
