"""Readings of what rules declare: Python functions, Z3 formulas, packed words, fragments, search over facts."""
