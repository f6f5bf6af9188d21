"""Emission: the text of what was proved. How it reads is rule data (rules/emit); this package only follows it.

``sequence`` fills in a template, ``kernel`` makes an entry of sequences, ``inline`` writes one for a compiler.
"""
