"""``tileproof check``: a file to its report, a single instruction, what a test file expects, ``run``."""
