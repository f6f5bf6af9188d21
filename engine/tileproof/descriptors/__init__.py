"""Canonical layouts of shared memory and the 64-bit descriptors that encode them; no IR."""
