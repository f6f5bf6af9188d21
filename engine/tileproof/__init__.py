"""A declarative rule-engine verifier for NVIDIA tensor-core code."""

__version__ = "0.1.0"
