"""Emission: PTX for verified code. The sequences are rule data (rules/emit); this package only follows them.

``sequence`` fills in a template, ``kernel`` makes an entry of sequences, ``inline`` writes one for a compiler.
"""
