"""``python -m tileproof.cli``."""

from tileproof.cli import main

main()
