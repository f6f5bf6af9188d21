"""Proofs: pure functions from what a kernel claims to a verdict."""
