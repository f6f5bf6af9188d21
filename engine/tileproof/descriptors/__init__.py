"""Canonical layouts of shared memory and the 64-bit descriptors that say them; no IR."""
